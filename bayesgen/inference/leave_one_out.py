"""Leave-one-out: scores of the rows of a fit, each given the others.

The statistics of a row are subtracted from those of all rows, and prior guesses that depend on the
data are completed again without it, so that scores equal those of a refit for each row. Each kind
of block has its own way:

* closed forms subtract, many rows at once where formulas allow a leading axis of rows
  (`Vectorised`), the others row by row, equal rows once;
* kernels, whose statistics are rows, take the terms of a row out of their sums
  (`LeaveOneOut`);
* where missing cells rule out the closed form, rows are dealt to folds, and the expected cells of
  the other rows are found without the fold (`Block.by_folds`).

Draws have no statistics: `diagnose.left_out_by_importance` reweighs them instead.
"""

import copy
import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array, issparse

from bayesgen.classes import ClassPrior
from bayesgen.inference.components import take_rows
from bayesgen.inference.groups import groups_of
from bayesgen.inference.missing import IncompleteData, em, expected_statistics, missing_cells
from bayesgen.inference.scores import Scores
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.dirichlet import without_levels
from bayesgen.likelihoods.normal_statistics import class_moments
from bayesgen.likelihoods.protocols import (
    CellDistribution,
    Conjugate,
    LeaveOneOut,
    Vectorised,
    required,
)
from bayesgen.likelihoods.selection import Selection
from bayesgen.membership import Entries, codes_of
from bayesgen.model import ModelStatistics, statistics_of
from bayesgen.problem import Problem
from bayesgen.schema import GROUPS
from bayesgen.typing import Block as Rows
from bayesgen.typing import Encoded, Joint, Labels, LevelCounts, Membership, Params, Weights

BATCH_FLOATS = 100_000
"""Numbers in the statistics of all rows of a batch: .8 MB. Arrays of five times as many take twice
the time for a shared or an own covariance (measured at 8 to 20 columns): their memory is given back
to the system, and set to zero again, at every step."""
FOLDS, STEPS_WITHOUT = 5, 5
"""Folds of incomplete rows, and steps of EM without each, from the center of all rows. Of 200 rows
of 20 columns with 30 % of the cells missing a class-specific normal had a score of .8 nats without
these steps, and of 1.6 on new rows."""
SAME = 1e-6
"""Difference of distances that counts as rounding, so that folds are the same for rows in another
order or other units."""

ROUNDING = 1e-12
"""Share of the weight of equal rows that counts as none of it."""

Positions = Int[np.ndarray, " judged"]
S = TypeVar("S", bound=Statistics)


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledRows:
    """Labeled rows of a fit, some of which are left out in turn.

    encoded: by block. y: class codes, or shares of the classes: such a row is left out of all of
    its classes at once. weight: of each. away: the weight that leaves with a row that is left out,
    which may be more than its own: its copies leave with it. judged: positions of the rows that are
    left out; None: all. copies: a number that equal rows share; None: each leaves alone. known:
    scores of blocks by their content, which members of a stack have in common; None: none are kept.
    """

    encoded: Encoded
    y: Membership
    weight: Weights
    away: Weights
    judged: Positions | None = None
    copies: Int[np.ndarray, " row"] | None = None
    known: dict[bytes, Float[np.ndarray, "..."]] | None = None

    @functools.cached_property
    def content(self) -> bytes | None:
        """A digest of the labels and weights, and of which rows are left out."""
        return _digest(self.y, self.weight, self.away, self.judged, self.copies)

    @property
    def left_out(self) -> "LabelledRows":
        """The rows that are left out, without the others."""
        return self if self.judged is None else self.at(self.judged)

    def at(self, where: Positions) -> "LabelledRows":
        """Return some of the rows, all of them left out."""
        encoded = take_rows(self.encoded, where)
        copies = None if self.copies is None else self.copies[where]
        return LabelledRows(
            encoded, self.y[where], self.weight[where], self.away[where], copies=copies
        )

    def remaining(self, gone: Positions) -> Weights:
        """Return the weights of all rows where some leave, and with each the rest of its weight.

        What leaves with a row beyond its own weight is taken from its copies, and from all of them
        alike, which no statistic of equal rows can tell.
        """
        copies = np.arange(len(self.weight)) if self.copies is None else self.copies
        total, lost = (
            np.bincount(copies[where], part, minlength=copies.max(initial=-1) + 1)
            for where, part in ((slice(None), self.weight), (gone, self.away[gone]))
        )
        left = np.clip(1 - lost / np.where(total > 0, total, 1.0), 0.0, 1.0)
        return self.weight * np.where(left > ROUNDING, left, 0.0)[copies]

    def judging(self, where: Positions) -> "LabelledRows":
        """Return the same rows, of which some are left out."""
        return dataclasses.replace(self, judged=where)


def leave_one_out(
    problem: Problem, rows: LabelledRows, centers: Mapping[str, Params] | None = None
) -> Scores:
    """Return the scores of rows, each given the others; parts are the blocks.

    Exact where every likelihood is conjugate, given how columns are transformed, which stays, and
    no cell of a joint block is missing. Where the problem has no guesses to complete again, its
    model stays, and rows of the problem need not be among the rows (those without a label).

    Args:
        problem: of all rows.
        rows: labeled ones, all of them if guesses are completed again.
        centers: parameters at which missing cells are expected under a model that stays, by block;
            by default the mode.
    """
    if problem.statistics.groups:
        return _by_group(problem, rows)
    reader, left_out = problem.reader, rows.left_out
    log_classes = log_classes_without(problem, left_out)
    n_rows, n_classes = log_classes.shape
    parts = np.zeros((n_rows, len(reader.selections), n_classes))
    if problem.guesses is None:
        for i, (name, x) in enumerate(reader.read(left_out.encoded).items()):
            center = None if centers is None else centers[name]
            prior, statistics = problem.model.blocks[name], problem.statistics.blocks[name]
            parts[:, i] = _under_one_prior(prior, statistics, x, left_out, n_classes, center)
    else:
        for i, block in enumerate(blocks(problem, rows).values()):
            parts[:, i] = block.scores()
    joint = log_classes + parts.sum(axis=1) + reader.log_abs_det_jacobian(left_out.encoded)
    return Scores(joint, log_classes, parts)


def _by_group(problem: Problem, rows: LabelledRows) -> Scores:
    """Return the scores of rows, each left out of its group; other groups and their guess stay."""
    rows, groups = rows.left_out, groups_of(problem)
    codes, scores = rows.encoded[GROUPS][:, 0], []
    places = [np.flatnonzero(codes == group) for group in groups.problems]
    for part, where in zip(groups.problems.values(), places, strict=True):
        scores.append(leave_one_out(part, rows.at(where)))
    order = np.argsort(np.concatenate(places))
    arrays = ([getattr(s, name) for s in scores] for name in ("joint", "log_classes", "parts"))
    return Scores(*(np.concatenate(array)[order] for array in arrays))


def blocks(problem: Problem, rows: LabelledRows) -> "dict[str, Block]":
    """Return the blocks of rows whose problem has guesses to complete again."""
    guesses, priors, size = (
        problem.open_guesses,
        problem.model.blocks,
        len(problem.statistics.count),
    )
    likelihoods, statistics = guesses.blocks, guesses.statistics.blocks
    return {
        n: Block(likelihoods[n], priors[n], part, statistics[n], rows.encoded[n], rows, size)
        for n, part in problem.reader.selections.items()
    }


def log_classes_without(
    problem: Problem, rows: LabelledRows, added: Float[np.ndarray, "*new class"] | float = 0.0
) -> Float[np.ndarray, "*new row class"]:
    """Return log P(y = k given the rows without i), shape (row, class).

    added: the weights, by class, of other rows that are added by themselves, along leading axes.
    """
    total, prior = problem.statistics.count + added, problem.model.classes
    empirical = problem.guesses is not None and problem.guesses.empirical
    *lead, n_classes = total.shape
    out = np.empty((*lead, len(rows.y), n_classes))
    if rows.y.ndim == 1:
        # a tenth of the time of distinct lines of several columns
        pairs, which = np.unique(rows.y + 1j * rows.away, return_inverse=True)
        distinct = np.equal(pairs.real[:, None], np.arange(n_classes)) * pairs.imag[:, None]
    else:
        lost = rows.away[:, None] * rows.y
        distinct, which = np.unique(lost, axis=0, return_inverse=True)
    for *new, i in np.ndindex(*lead, len(distinct)):
        count = total[*new] - distinct[i]
        count = np.where(count > 1e-9 * distinct[i].sum(), count, 0.0)
        if empirical:
            prior = ClassPrior(count / count.sum(), np.inf)
        out[*new, which == i] = prior.posterior(count).log_predictive()
    return out


# -- a model that is completed again ---------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Block:
    """A block of rows that are left out in turn.

    likelihood: guesses as the user left them. prior: the same, completed from all rows, over the
    positions of `selection`. statistics: of all rows, over all positions. x: all rows, encoded.
    rows: their labels and weights. added: statistics of other rows, which are never left out.
    """

    likelihood: Likelihood
    prior: Likelihood
    selection: Selection
    statistics: Statistics
    x: Rows
    rows: LabelledRows
    n_classes: int
    added: Statistics | None = None

    @property
    def subtracts(self) -> bool:
        """Whether the statistics of a row are taken from those of all."""
        incomplete = self.statistics.has_missing
        return not (isinstance(self.prior, LeaveOneOut) or incomplete)

    def with_added(self, added: Statistics) -> "Block":
        """Return the block and other rows, which are never left out; it must subtract.

        What was found of its own rows stays: none becomes indispensable by another row. Which
        levels are read does not: those of the other rows alone are read too.
        """
        other, total = copy.copy(self), self.statistics + added
        completed = self.likelihood.complete(total)
        selection = Selection.of(completed, completed.uninformative())
        vars(other).update(statistics=total, added=added, indispensable=self.indispensable)
        vars(other).update(prior=selection.take(completed), selection=selection)
        return other

    @property
    def judged(self) -> Positions:
        """The positions of the rows that are left out."""
        return np.arange(len(self.rows.y)) if self.rows.judged is None else self.rows.judged

    def scores(self) -> Joint:
        """Return log p(x_i given y = k, the rows without i), shape (judged, class)."""
        known = self.rows.known
        if known is None:
            return self.found()
        key = _digest(self.likelihood, self.statistics, self.x, self.n_classes, self.rows.content)
        if key is None:
            return self.found()
        if key not in known:
            known[key] = self.found()
        return known[key]

    def found(self) -> Joint:
        """Return the scores, found anew."""
        rows, block, judged = self.rows, self, self.judged
        y, weight, away = rows.y[judged], rows.weight[judged], rows.away[judged]
        if isinstance(self.prior, LeaveOneOut) and y.ndim == 1:
            x = self.selection.read(self.x[judged])
            statistics = self.selection.take(self.statistics)
            out = self.prior.leave_one_out(statistics, x, y, weight, away)
        elif not isinstance(self.likelihood, Vectorised) or issparse(self.x):
            return self.one_by_one(judged)
        else:
            if self.statistics.has_missing:
                block = self.zero_filled()
                statistics = self.selection.take(block.statistics)
                incomplete = missing_cells(self.prior, statistics)
                if incomplete is not None:
                    return block.by_folds(incomplete, judged)
            out = np.full((len(judged), self.n_classes), np.nan)
            usual = np.flatnonzero(~np.isin(judged, block.indispensable))
            for places in _batches(block.statistics, usual):
                out[places] = block.subtracted(judged[places])
        refit = np.isnan(out).any(axis=1) | np.isin(judged, block.indispensable)
        for place in np.flatnonzero(refit).tolist():
            out[place] = block.refitted(int(judged[place]))
        return out

    def scores_beside(self, x: Rows, y: Labels) -> Float[np.ndarray, "new judged class"]:
        """Return the scores after each of some rows was added by itself; the block must subtract.

        x: encoded new rows, of weight 1. y: their classes.
        """
        if isinstance(self.likelihood, Vectorised) and not issparse(x):
            out = self._scores_beside_together(x, y)
        else:
            out = np.full((len(y), len(self.judged), self.n_classes), np.nan)
        for i in np.flatnonzero(np.isnan(out).any(axis=(1, 2))).tolist():
            at = slice(i, i + 1)
            added = statistics_of(
                self.likelihood, x[at], y[at], np.ones(1), self.n_classes, self._n_levels
            )
            out[i] = self.with_added(added).scores()
        return out

    def _scores_beside_together(self, x: Rows, y: Labels) -> Float[np.ndarray, "new judged class"]:
        """Return `scores_beside` of a `Vectorised` family, for all pairs of rows at once.

        NaN: rows that cannot be subtracted, and new rows that are incomplete in a joint block, or
        with which other positions tell classes apart.
        """
        judged = self.judged
        out = np.full((len(y), len(judged), self.n_classes), np.nan)
        alone = self.likelihood.statistics_per_row(x, np.ones(len(y)), self._n_levels)
        if alone.has_missing:
            return out
        usual = np.flatnonzero(~np.isin(judged, self.indispensable))
        new, place = np.repeat(np.arange(len(y)), len(usual)), np.tile(usual, len(y))
        for pairs in _batches(self.statistics, np.arange(len(new))):
            row, at = new[pairs], place[pairs]
            beside = NewRows(alone.take("class", row), y[row])
            out[row, at] = self.subtracted(judged[at], beside)
        return out

    @functools.cached_property
    def indispensable(self) -> Positions:
        """The rows that cannot be subtracted (see the function `indispensable`)."""
        if self.likelihood.kind != "numbers":
            return np.empty(0, dtype=int)
        return indispensable(self.x, self.rows.y, self.rows.weight, self.rows.away)

    def _statistics_of(self, where: Positions, weight: Weights) -> Statistics:
        """Return the statistics of some of the rows under other weights."""
        y, n_levels = self.rows.y[where], self._n_levels
        return statistics_of(self.likelihood, self.x[where], y, weight, self.n_classes, n_levels)

    @property
    def _n_levels(self) -> tuple[int, ...]:
        return getattr(self.statistics, "n_levels", ())

    def subtracted(self, where: Positions, beside: "NewRows | None" = None) -> Joint:
        """Return the scores of some rows of a `Vectorised` family, all at once.

        NaN: without the row another column is constant, which its guess needs.

        beside: a row for each that is added to the others; None: none is.
        """
        x, y, away = self.x[where], self.rows.y[where], self.rows.away[where]
        alone = functools.partial(_alone, self.likelihood, x, self._n_levels)
        if beside is None:
            others = without_each(self.statistics, y, away, alone)
        else:
            each = self.statistics.with_each(beside.alone, beside.y)
            others = without_each(each, y, away, alone, at=np.arange(len(where)))
        prior = self.likelihood.complete(others)
        uninformative = prior.uninformative()
        alike = self.selection.leaves_out(uninformative)
        if uninformative is not None and prior.lost_levels_are_missing:
            x = without_levels(x, uninformative, self._n_levels)
            alike = self.selection.reads_all(uninformative)
        alike = np.broadcast_to(alike, len(where))
        if not alike.all():
            out = np.full((len(where), self.n_classes), np.nan)
            if alike.any():
                some = np.flatnonzero(alike)
                out[some] = self.subtracted(where[some], beside and beside.take(some))
            return out
        # of the type of the likelihood
        prior = cast(Vectorised, self.selection.take(prior))
        others, read = self.selection.take(others), self.selection.read(x)
        return prior.log_predictive_updated(others, read)

    def one_by_one(self, where: Positions) -> Joint:
        """Return the scores of some rows of any family, equal rows once."""
        rows, incomplete = self.rows, self.statistics.has_missing
        out, known = np.zeros((len(where), self.n_classes)), {}
        for place, i in enumerate(where.tolist()):
            x, away = self.x[i : i + 1], rows.away[i : i + 1]
            cells = i if issparse(x) else x.tobytes()
            key = cells, rows.y[i].tobytes(), float(rows.weight[i]), float(away[0])
            if key not in known and incomplete:
                known[key] = self.refitted(i)
            elif key not in known:
                others = self.statistics - self._statistics_of(np.array([i]), away)
                known[key] = scored(self.likelihood, others, x, self.n_classes)
            out[place] = known[key]
        return out

    def refitted(self, i: int) -> np.ndarray:
        """Return the scores of a row by a fit to the others, without subtraction."""
        weight = self.rows.remaining(np.array([i]))
        others = np.flatnonzero(weight)
        statistics = self._statistics_of(others, weight[others])
        if self.added is not None:
            statistics = statistics + self.added
        return scored(self.likelihood, statistics, self.x[i : i + 1], self.n_classes)

    # -- incomplete rows ---------------------------------------------------------------------------

    def zero_filled(self) -> "Block":
        """Return the block, missing values of uninformative columns filled with 0 if no others are.

        Such a column, never observed or constant, is then constant: the rows count as complete. A
        row without any informative cell has none at all: its constant says nothing, and a row of
        that cell alone would count as incomplete.
        """
        index, statistics = self.selection.index, self.selection.take(self.statistics)
        if index is None or self.selection.n_levels or statistics.has_missing:
            return self
        informative = self.x[:, index]
        shown = ~np.isnan(informative).all(axis=1, keepdims=True)
        x = np.where(shown, np.zeros_like(self.x), np.nan)
        x[:, index] = informative
        statistics = statistics.reindex("feature", index, x.shape[1])
        return dataclasses.replace(self, statistics=statistics, x=x)

    def by_folds(self, incomplete: IncompleteData, judged: Positions) -> Joint:
        """Return the scores of rows where missing values rule out the closed form.

        Incomplete rows count by their expected statistics, and those of a left-out row are
        subtracted. At the mode of all rows the expected cells of the other rows would still rest on
        the row: with a covariance for each class and few rows per column it would be predicted far
        too well. So each fold of rows has prior guesses and parameters without its rows.

        incomplete: the inference from all rows.
        """
        x, y, away = self.selection.read(self.x), self.rows.y, self.rows.away
        folds = fold_of_each(incomplete, x[judged], codes_of(y[judged]))
        out = np.empty((len(folds), self.n_classes))
        for fold in np.unique(folds).tolist():
            positions = np.flatnonzero(folds == fold)
            prior, statistics = self._without(judged[positions])
            data = missing_cells(prior, statistics)
            if data is None:  # no other row is incomplete
                data = dataclasses.replace(incomplete, statistics=statistics)
            center = em(data, incomplete.center, STEPS_WITHOUT)[0]
            filled = incomplete.filled(center)
            for places in _batches(filled, positions):
                where = judged[places]
                out[places] = _incomplete_batch(
                    prior, filled, x[where], y[where], away[where], center
                )
        return out

    def _without(self, fold: Positions) -> tuple[Likelihood, Statistics]:
        """Return the prior and the statistics that the rows outside a fold give."""
        weight = self.rows.remaining(fold)
        others = np.flatnonzero(weight)
        statistics = self._statistics_of(others, weight[others])
        prior = self.likelihood.complete(statistics)
        # without some rows another column may be constant: its guess needs them
        alike = self.selection.leaves_out(prior.uninformative())
        prior = self.selection.take(prior) if alike else self.prior
        return prior, self.selection.take(statistics)


def _digest(*values: object) -> bytes | None:
    """Return a digest of values by their content; None where a function is part of it."""
    digest = hashlib.blake2b(digest_size=16)
    try:
        for part in _contents(values):
            digest.update(part)
    except TypeError:
        return None
    return digest.digest()


def _contents(value: object) -> Iterator[bytes]:
    """Yield the content of arrays, dataclasses, mappings, sequences, numbers and text.

    Raises:
        TypeError: it is none of these.
    """
    match value:
        case None | bool() | int() | float() | str() | bytes() | type():
            yield f"{value!r};".encode()
        case np.ndarray() | np.generic() if value.dtype.kind != "O":
            yield f"{value.dtype.str}{value.shape};".encode()
            yield value.tobytes()
        case np.ndarray() | tuple() | list():
            yield f"{len(value)} of {type(value).__name__};".encode()
            for part in value:
                yield from _contents(part)
        case Mapping():
            yield from _contents([*value.items()])
        case csr_array():
            yield from _contents((value.shape, value.indptr, value.indices, value.data))
        case _ if dataclasses.is_dataclass(value):
            # classes of one name may differ
            yield f"{type(value)!r} {id(type(value))};".encode()
            for field in dataclasses.fields(value):
                yield from _contents(getattr(value, field.name))
        case _:
            raise TypeError(f"no content of a {type(value).__name__} is known")


@dataclasses.dataclass(frozen=True, eq=False)
class NewRows:
    """Rows that are added by themselves.

    alone: the statistics of each, with rows in place of classes. y: their classes.
    """

    alone: Statistics
    y: Labels

    def take(self, at: Positions) -> "NewRows":
        """Return some of the rows."""
        return NewRows(self.alone.take("class", at), self.y[at])


def without_each(
    statistics: S,
    y: Membership,
    away: Weights,
    alone: Callable[[Entries], S],
    at: Positions | None = None,
) -> S:
    """Return statistics without each of several rows, whole, along a leading axis of rows.

    Args:
        statistics: of all rows.
        y: classes of the rows that are left out.
        away: how much of its weight each loses, in all of its classes.
        alone: entries of rows -> the statistics of each, with entries in place of classes.
        at: positions of the rows along the leading axis that the statistics have already.
    """
    if y.ndim == 1:
        return statistics.without_each(alone(Entries(np.arange(len(y)), y, away)), y, at)
    for part in Entries.in_turn(y, away):
        place = None if at is None else at[part.row]
        statistics = statistics.without_each(alone(part), part.code, place)
        # every row has a first class
        at = np.arange(len(y)) if at is None else at
    return statistics


def _alone(prior: Likelihood, x: Rows, n_levels: LevelCounts, part: Entries) -> Statistics:
    """Return the statistics of each of the entries of some rows."""
    return prior.statistics_per_row(x[part.row], part.weight, n_levels)


def indispensable(x: Rows, y: Membership, weight: Weights, away: Weights) -> Positions:
    """Return the rows without which some column no longer varies, in any class or at all.

    To subtract one would leave its variance a rounding error.

    Args:
        x: rows of numbers.
        y: their classes.
        weight: of each.
        away: the part of its weight that each loses.
    """
    holds = _holds_a_column(x, np.zeros(len(y), dtype=int), weight, away)
    if y.ndim == 1:
        return np.flatnonzero(holds | _holds_a_column(x, y, weight, away))
    entries, gone = Entries.of(y, weight), Entries.of(y, away).weight
    in_class = _holds_a_column(x[entries.row], entries.code, entries.weight, gone)
    holds[entries.row[in_class]] = True
    return np.flatnonzero(holds)


def _holds_a_column(x: Rows, y: Labels, weight: Weights, away: Weights) -> Bool[np.ndarray, " row"]:
    """Return whether some column varies within classes by a row alone."""
    count, mean, scatter = class_moments(x, y, weight, int(y.max(initial=0)) + 1)
    left = count[y] - away[:, None]
    lost = away[:, None] * count[y]
    share = np.divide(lost, left, out=np.zeros_like(left), where=left > 0)
    held = np.nan_to_num(share * (x - mean[y]) ** 2)
    return ((held > 0) & (held >= (1 - 1e-9) * scatter.sum(axis=0))).any(axis=1)


def scored(likelihood: Likelihood, others: Statistics, x: Rows, n_classes: int) -> np.ndarray:
    """Return the log predictive of one row given the statistics of the others, shape (class,)."""
    uniform = ClassPrior(np.full(n_classes, 1 / n_classes), np.inf)
    counts = ModelStatistics(np.zeros(n_classes), {"": others})
    problem = Problem.of(uniform, {"": likelihood}, counts)
    if not problem.model.blocks:
        return np.zeros(n_classes)
    # where a joint block has missing values: the closed form of expected statistics
    filled = expected_statistics(problem.model, problem.statistics)[0]
    posterior = problem.model.posterior(filled).closed_forms[""]
    return posterior.log_predictive(problem.reader.read({"": x})[""])[0]


def fold_of_each(incomplete: IncompleteData, x: Rows, y: Labels) -> Positions:
    """Return the fold of each row: rows of a class in turn, by their distance from its center.

    Distances are those of log densities, which depend neither on the order of rows and columns nor
    on units. Equal rows are in one fold.
    """
    params = incomplete.center
    prior = required(incomplete.likelihood, Conjugate)
    score = prior.posterior(incomplete.filled(params)).log_predictive
    center = np.where(np.isnan(x), np.nan, params["mean"][y])
    distance = (score(center) - score(x))[np.arange(len(y)), y]
    out = np.zeros(len(y), dtype=int)
    for k in np.unique(y).tolist():
        rows = np.flatnonzero(y == k)
        order = rows[np.argsort(distance[rows], kind="stable")]
        out[order[1:]] = np.cumsum(np.diff(distance[order]) > SAME) % FOLDS
    return out


# -- a model that stays ----------------------------------------------------------------------------


def _under_one_prior(
    prior: Likelihood,
    statistics: Statistics,
    x: Rows,
    rows: LabelledRows,
    n_classes: int,
    center: Params | None,
) -> Joint:
    """Return log p(x_i given y = k, the rows without i) under a prior that stays, (row, class).

    Args:
        prior: completed.
        statistics: of all rows, among them perhaps some without a label.
        x: the rows that are left out.
        rows: their labels and weights.
        n_classes: number of classes.
        center: parameters at which missing cells are expected; None for the mode.
    """
    out = np.empty((len(rows.y), n_classes))
    n_levels = getattr(statistics, "n_levels", ())
    batches = all(isinstance(part, Vectorised) for part in prior.components)
    if not (batches and isinstance(prior, Vectorised)) or issparse(x):
        closed = required(prior, Conjugate)
        for i in range(len(rows.y)):
            row = slice(i, i + 1)
            removed = statistics_of(prior, x[row], rows.y[row], rows.away[row], n_classes, n_levels)
            others = _filled(prior, statistics - removed, center)
            out[i] = closed.posterior(others).log_predictive(x[row])[0]
        return out
    filled, incomplete = _filled(prior, statistics, center), missing_cells(prior, statistics)
    for where in _batches(filled, np.arange(len(rows.y))):
        y, away = rows.y[where], rows.away[where]
        if incomplete is None:
            alone = functools.partial(_alone, prior, x[where], n_levels)
            others = without_each(filled, y, away, alone)
            out[where] = prior.log_predictive_updated(others, x[where])
        else:
            params = incomplete.center if center is None else center
            out[where] = _incomplete_batch(prior, filled, x[where], y, away, params)
    return out


def _filled(prior: Likelihood, statistics: Statistics, center: Params | None) -> Statistics:
    """Return statistics of complete rows: missing cells, if any, are expected at the center.

    center: None for the mode.
    """
    incomplete = missing_cells(prior, statistics)
    if incomplete is None:
        return statistics
    return incomplete.expected()[0] if center is None else incomplete.filled(center)


def _incomplete_batch(
    prior: Likelihood, filled: Statistics, x: Rows, y: Membership, away: Weights, params: Params
) -> Joint:
    """Return the log predictive of each row by the others.

    Missing cells are integrated out, and so what a row loses there does not matter to it under one
    prior; it does to the weights of a mixture of priors, where it loses their expectation.

    Args:
        prior: completed.
        filled: statistics of all rows, with the expected ones of incomplete rows.
        x: rows to leave out, one at a time.
        y: their classes.
        away: how much of its weight each loses.
        params: at which missing cells are expected.
    """
    cells = np.nan_to_num(x)
    family = prior.components[0]
    mixed = len(prior.components) > 1 and np.isnan(x).any()

    def alone(part: Entries) -> Statistics:
        if not (mixed and isinstance(family, CellDistribution)):
            return prior.statistics_per_row(cells[part.row], part.weight)
        gaps = x[part.row]
        location, _, _ = family.conditional_given(params, gaps, part.code)
        return prior.statistics_per_row(np.where(np.isnan(gaps), location, gaps), part.weight)

    others = without_each(filled, y, away, alone)
    return required(prior, Vectorised).log_predictive_updated(others, x)


def _batches(statistics: Statistics, positions: Positions) -> list[np.ndarray]:
    """Return positions, as many at once as have BATCH_FLOATS numbers in their statistics."""
    width = sum(np.size(getattr(statistics, name)) for name in statistics.axes)
    size = max(1, BATCH_FLOATS // max(width, 1))
    return [positions[start : start + size] for start in range(0, len(positions), size)]
