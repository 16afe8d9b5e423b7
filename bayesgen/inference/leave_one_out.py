"""Exact leave-one-out: each row predicted from all the others, its statistics taken away.

Guesses that come from the columns are made again without the row, so the answers are those of as
many fits. Families whose formulas bear a leading axis of rows (`vectorised`) answer for many rows
at once; the others row by row, equal rows together.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from bayesgen.classes import ClassPrior
from bayesgen.inference.incomplete_data import expected_statistics, missing_cells
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.normal_statistics import class_moments
from bayesgen.model import ModelStatistics, complete_model
from bayesgen.typing import Block, Joint, Labels, Weights

BATCH_FLOATS = 500_000
"""Numbers in the statistics of all rows of a batch: 4 MB, which a third-level cache holds."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """All rows of a fit in one block, and what is taken away where one of them is left out.

    x: the rows, encoded. y: their class codes. weight: their weights. away: what of its weight a
    row that is left out loses; by default all. n_classes, n_levels: as of statistics.
    """

    x: Block
    y: Labels
    weight: Weights
    away: Weights
    n_classes: int
    n_levels: tuple[int, ...] = ()

    def at(self, which: np.ndarray) -> "Rows":
        """Return some of them, or a mask of them."""
        parts = {name: getattr(self, name)[which] for name in ("x", "y", "weight", "away")}
        return dataclasses.replace(self, **parts)

    def lost(self, likelihood: Likelihood) -> Statistics:
        """Return the statistics of what is taken away."""
        return self._log_proba(likelihood, self.away)

    def without(self, likelihood: Likelihood, i: int) -> Statistics:
        """Return the statistics of all rows but one, from these rows alone."""
        weight = self.weight.copy()
        weight[i] -= self.away[i]
        left = np.flatnonzero(weight > 0)
        return self.at(left)._log_proba(likelihood, weight[left])

    def _log_proba(self, likelihood: Likelihood, weight: Weights) -> Statistics:
        sizes = {"n_classes": self.n_classes, "n_levels": self.n_levels}
        return likelihood.statistics(self.x, self.y, weight, **sizes)


def leave_one_out(likelihood: Likelihood, statistics: Statistics, rows: Rows) -> Joint:
    """Return log p(x_i given y = k, the rows without i), shape (row, class).

    posterior(S - s_i) is the posterior without row i.

    Args:
        likelihood: guesses as the user left them.
        statistics: of all rows.
        rows: all of them.
    """
    if not likelihood.vectorised or issparse(rows.x):
        return one_by_one(likelihood, statistics, rows, np.arange(len(rows.y)))
    uninformative = likelihood.complete(statistics).uninformative()
    if uninformative is not None and uninformative.all():
        return np.zeros((len(rows.y), rows.n_classes))
    statistics, x = _with_a_say(likelihood, statistics, rows.x)
    rows = dataclasses.replace(rows, x=x)
    score = _with_missing(likelihood, statistics, rows.n_classes)
    out = np.empty((len(rows.y), rows.n_classes))
    width = sum(np.size(value) for value in statistics.arrays().values())
    again = likelihood.kind == "numbers" and not score
    lonely = _indispensable(rows) if again else np.empty(0, dtype=int)
    usual = np.setdiff1d(np.arange(len(rows.y)), lonely)
    for part in row_chunks(len(usual), max(1, BATCH_FLOATS // max(width, 1))):
        some = usual[part]
        out[some] = score(rows.at(some)) if score else batch(likelihood, statistics, rows, some)
    for i in lonely.tolist():
        out[i] = scored(likelihood, rows.without(likelihood, i), rows.x[i : i + 1], rows.n_classes)
    return out


def _indispensable(rows: Rows) -> np.ndarray:
    """Return the rows that are left out by another fit: subtraction would leave rounding alone."""
    return np.union1d(_lonely(rows), _holding_all(rows))


def _lonely(rows: Rows) -> np.ndarray:
    """Return the rows without which some column holds one value only.

    Taking them away leaves what rounding left of its variance, where there is none.
    """
    out: set[int] = set()
    for column in rows.x.T:
        seen = np.flatnonzero(~np.isnan(column))
        if len(seen) > 2:
            low, high = column[seen].min(), column[seen].max()
            for value, other in ((low, high), (high, low)):
                here = seen[column[seen] == value]
                if len(here) == 1 and (column[seen] == other).sum() == len(seen) - 1:
                    out.add(int(here[0]))
    gone = [i for i in sorted(out) if rows.away[i] >= rows.weight[i]]
    return np.array(gone, dtype=int)


def _holding_all(rows: Rows) -> np.ndarray:
    """Return the rows without which some column no longer varies within any class.

    What taking them away leaves is rounding too.
    """
    y, away = rows.y, rows.away[:, None]
    count, mean, scatter = class_moments(rows.x, y, rows.weight, rows.n_classes)
    left = count[y] - away
    worth = np.divide(away * count[y], left, out=np.zeros_like(left), where=left > 0)
    held = np.nan_to_num(worth * (rows.x - mean[y]) ** 2)
    return np.flatnonzero(((held > 0) & (held >= (1 - 1e-9) * scatter.sum(axis=0))).any(axis=1))


def _with_a_say(
    likelihood: Likelihood, statistics: Statistics, x: Block
) -> tuple[Statistics, Block]:
    """Return statistics and rows, missing values of uninformative columns filled by 0.

    Such a column, never observed or constant, is constant then, and says nothing without any row.
    """
    if not getattr(statistics, "has_missing", False) or likelihood.subset_axis != "feature":
        return statistics, x
    uninformative = likelihood.complete(statistics).uninformative()
    if uninformative is None or not uninformative.any():
        return statistics, x
    kept = np.flatnonzero(~uninformative)
    part = statistics.take("feature", kept)
    if getattr(part, "has_missing", False):
        return statistics, x
    return part.reindex("feature", kept, x.shape[1]), np.where(uninformative, 0.0, x)


def _with_missing(
    likelihood: Likelihood, statistics: Statistics, n_classes: int
) -> Callable[[Rows], Joint] | None:
    """Return how rows are scored where missing values stand in the way of the closed form.

    Rows give their expected statistics at the mode of all rows, whose guesses are kept too: an
    approximation, like the posterior (see `Expected`).
    """
    full = likelihood.complete(statistics)
    uninformative = full.uninformative()
    kept = np.flatnonzero(~uninformative) if uninformative is not None else np.arange(0)
    prior, seen = full, statistics
    if uninformative is not None and uninformative.any():
        axis = likelihood.subset_axis
        prior, seen = full.take(axis, kept), statistics.take(axis, kept)
    found = missing_cells(prior, seen)
    if found is None:
        return None
    whole, _ = found.expected()

    def score(rows: Rows) -> Joint:
        x = rows.x if prior is full else full.select(rows.x, kept)
        alone = found.expected_statistics_per_row(x, rows.y, rows.away)
        return prior.log_predictive_updated(whole - placed(alone, rows.y, n_classes), x)

    return score


def batch(likelihood: Likelihood, statistics: Statistics, rows: Rows, some: np.ndarray) -> Joint:
    """Return what `leave_one_out` returns of some rows at once, where a family is `vectorised`."""
    part = rows.at(some)
    full, x = likelihood.complete(statistics), part.x
    rest = statistics - apart(likelihood, part)
    prior, uninformative = likelihood.complete(rest), full.uninformative()
    if uninformative is not None:
        usual = np.all(prior.uninformative() == uninformative, axis=-1)
        if not usual.all():  # without some row a column is constant: these rows go one by one
            out = np.empty((len(some), rows.n_classes))
            for method, which in ((batch, usual), (one_by_one, ~usual)):
                if which.any():
                    out[which] = method(likelihood, statistics, rows, some[which])
            return out
        if uninformative.any():
            kept, axis = np.flatnonzero(~uninformative), likelihood.subset_axis
            prior, rest, x = prior.take(axis, kept), rest.take(axis, kept), full.select(x, kept)
    return prior.log_predictive_updated(rest, x)


def apart(likelihood: Likelihood, rows: Rows) -> Statistics:
    """Return what each row takes away with it, which stands along a leading axis."""
    n = len(rows.y)
    alone = dataclasses.replace(rows, y=np.arange(n), n_classes=n).lost(likelihood)
    return placed(alone, rows.y, rows.n_classes)


def placed(alone: Statistics, y: Labels, n_classes: int) -> Statistics:
    """Return statistics of rows that stand in place of classes, each row's in its own class."""
    at, arrays = np.arange(len(y)), {}
    for name, value in alone.arrays().items():
        if alone.axes[name][:1] == ("class",):
            arrays[name] = np.zeros((len(y), n_classes, *value.shape[1:]))
            arrays[name][at, y] = value
    return alone.with_arrays(arrays)


def one_by_one(
    likelihood: Likelihood, statistics: Statistics, rows: Rows, some: np.ndarray
) -> Joint:
    """Return what `leave_one_out` returns of some rows, for any family: equal rows once."""
    missing_cells = getattr(statistics, "has_missing", False)
    out, known = np.zeros((len(some), rows.n_classes)), {}
    for place, i in enumerate(some.tolist()):
        one = rows.at(np.array([i]))
        about = int(one.y[0]), float(one.weight[0]), float(one.away[0])
        key = None if issparse(one.x) else (one.x.tobytes(), *about)
        if key is None or key not in known:
            rest = (
                rows.without(likelihood, i) if missing_cells else statistics - one.lost(likelihood)
            )
            known[key] = scored(likelihood, rest, one.x, rows.n_classes)
        out[place] = known[key]
    return out


def scored(likelihood: Likelihood, rest: Statistics, x: Block, n_classes: int) -> np.ndarray:
    """Return what the rows behind `rest` say of one other row, shape (class,)."""
    uniform = ClassPrior(np.full(n_classes, 1 / n_classes), np.inf)
    counts = ModelStatistics(np.zeros(n_classes), {"": rest})
    model, kept, reader = complete_model(uniform, {"": likelihood}, counts)
    if not model.blocks:
        return np.zeros(n_classes)
    # where a joint block misses cells: the closed form of what is expected of them
    filled = expected_statistics(model, kept)[0]
    posterior = model.posterior(filled).blocks[""]
    return posterior.log_predictive(reader.read({"": x})[""])[0]
