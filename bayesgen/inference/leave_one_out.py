"""Exact leave-one-out prediction by subtracting the statistics of each row.

Prior guesses that depend on the data are recomputed without the row, so the results equal those of
refitting once per row. Families whose formulas allow a leading axis of rows (`Vectorised`) score
many rows at once; the others score row by row, equal rows once.
"""

import dataclasses
from typing import Any

import numpy as np
from scipy.sparse import issparse

from bayesgen.classes import ClassPrior
from bayesgen.inference.missing import LeftOut, expected_statistics, missing_cells
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.normal_statistics import class_moments
from bayesgen.likelihoods.protocols import LeaveOneOut, Vectorised, required
from bayesgen.model import ModelStatistics
from bayesgen.problem import Problem
from bayesgen.typing import Block, Joint, Labels, Weights

BATCH_FLOATS = 500_000
"""Numbers in the statistics of all rows of a batch: 4 MB, which a third-level cache holds."""


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """All training rows of one block, and the weight removed when each is left out.

    x: the rows, encoded. y: their class codes. weight: their weights. away: the part of its weight
    removed when the row is left out. n_classes, n_levels: as of statistics.
    """

    x: Block
    y: Labels
    weight: Weights
    away: Weights
    n_classes: int
    n_levels: tuple[int, ...] = ()

    def at(self, which: np.ndarray | slice) -> "Rows":
        """Return a subset of the rows, by position or mask."""
        parts = {name: getattr(self, name)[which] for name in ("x", "y", "weight", "away")}
        return dataclasses.replace(self, **parts)

    def lost(self, likelihood: Likelihood) -> Statistics:
        """Return the statistics removed when each of these rows is left out."""
        return self._statistics(likelihood, self.away)

    def without(self, likelihood: Likelihood, i: int) -> Statistics:
        """Return the statistics of all rows but one, without subtraction."""
        weight = self.weight.copy()
        weight[i] -= self.away[i]
        left = np.flatnonzero(weight > 0)
        return self.at(left)._statistics(likelihood, weight[left])

    def _statistics(self, likelihood: Likelihood, weight: Weights) -> Statistics:
        sizes = {"n_classes": self.n_classes, "n_levels": self.n_levels}
        return likelihood.statistics(self.x, self.y, weight, **sizes)


def leave_one_out(
    likelihood: Likelihood,
    full: Likelihood,
    statistics: Statistics,
    rows: Rows,
    judged: np.ndarray | None = None,
) -> Joint:
    """Return log p(x_i given y = k, the rows without i), shape (judged, class).

    posterior(S - s_i) is the posterior without row i.

    Args:
        likelihood: guesses as the user left them.
        full: the same, completed from all rows.
        statistics: of all rows.
        rows: all of them.
        judged: which of them are left out in turn; None: all.
    """
    judged = np.arange(len(rows.y)) if judged is None else judged
    uninformative = full.uninformative()
    if uninformative is None:
        uninformative = np.zeros(1, dtype=bool)
    if uninformative.all():
        return np.zeros((len(judged), rows.n_classes))
    some = rows.at(judged)
    if isinstance(full, LeaveOneOut):
        own = full.leave_one_out(statistics, some.x, some.y, some.weight, some.away)
        again = np.isnan(own).any(axis=1) | np.isin(judged, _indispensable(rows))
        own[again] = one_by_one(likelihood, statistics, rows, judged[again])
        return own
    if not isinstance(likelihood, Vectorised) or issparse(rows.x):
        return one_by_one(likelihood, statistics, rows, judged)
    if getattr(statistics, "has_missing", False):
        statistics, x = _zero_filled(statistics, rows.x, full, uninformative)
        rows = dataclasses.replace(rows, x=x)
        incomplete = _incomplete(likelihood, statistics, full, uninformative, rows, judged)
        if incomplete is not None:
            return incomplete.scores(rows.away)
    apart = _indispensable(rows) if likelihood.kind == "numbers" else np.empty(0, dtype=int)
    out = np.empty((len(rows.y), rows.n_classes))
    width = sum(np.size(getattr(statistics, name)) for name in statistics.axes)
    apart = np.intersect1d(apart, judged)
    usual = np.setdiff1d(judged, apart)
    size = max(1, BATCH_FLOATS // max(width, 1))
    for start in range(0, len(usual), size):
        some = usual[start : start + size]
        out[some] = _batch(likelihood, statistics, full, uninformative, rows, some)
    for i in apart.tolist():
        out[i] = scored(likelihood, rows.without(likelihood, i), rows.x[i : i + 1], rows.n_classes)
    return out[judged]


def _indispensable(rows: Rows) -> np.ndarray:
    """Return the rows that require a refit, since subtraction would leave only rounding error."""
    return np.union1d(_lonely(rows), _holding_all(rows))


def _lonely(rows: Rows) -> np.ndarray:
    """Return the rows without which some column is constant.

    Without them its variance is 0, and subtraction leaves only rounding error.
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
    """Return the rows without which some column no longer varies within any class."""
    y, away = rows.y, rows.away[:, None]
    count, mean, scatter = class_moments(rows.x, y, rows.weight, rows.n_classes)
    left = count[y] - away
    share = np.divide(away * count[y], left, out=np.zeros_like(left), where=left > 0)
    held = np.nan_to_num(share * (rows.x - mean[y]) ** 2)
    return np.flatnonzero(((held > 0) & (held >= (1 - 1e-9) * scatter.sum(axis=0))).any(axis=1))


def _zero_filled(
    statistics: Statistics, x: Block, full: Likelihood, uninformative: np.ndarray
) -> tuple[Statistics, Block]:
    """Return statistics and rows, missing values of uninformative columns filled with 0.

    Such a column, never observed or constant, is then constant, so that the rows count as complete.
    """
    if full.subset_axis != "feature" or not uninformative.any():
        return statistics, x
    kept = np.flatnonzero(~uninformative)
    part = statistics.take("feature", kept)
    if getattr(part, "has_missing", False):
        return statistics, x
    return part.reindex("feature", kept, x.shape[1]), np.where(uninformative, 0.0, x)


def _incomplete(
    likelihood: Likelihood,
    statistics: Statistics,
    full: Likelihood,
    uninformative: np.ndarray,
    rows: Rows,
    judged: np.ndarray,
) -> LeftOut | None:
    """Return the rows left out where missing values rule out the closed form; None otherwise.

    Rows give their expected statistics: an approximation, like the posterior (see `Expected`).
    """
    kept = np.flatnonzero(~uninformative) if uninformative.any() else None

    def informative(every: Statistics | Likelihood) -> Any:
        return every if kept is None else every.take(full.subset_axis, kept)

    def completed(some: np.ndarray, weight: Weights) -> tuple[Likelihood, Statistics]:
        others = rows.at(some)._statistics(likelihood, weight)
        prior = likelihood.complete(others)
        constant = prior.uninformative()
        # without some rows another column may be constant: its guess needs them
        same = constant is None or np.array_equal(constant, uninformative)
        return informative(prior if same else full), informative(others)

    data = missing_cells(informative(full), informative(statistics))
    if data is None:
        return None
    x = rows.x if kept is None else full.select(rows.x, kept)
    return LeftOut(data, x, rows.y, rows.weight, judged, rows.n_classes, completed)


def _batch(
    likelihood: Likelihood,
    statistics: Statistics,
    full: Likelihood,
    uninformative: np.ndarray,
    rows: Rows,
    some: np.ndarray,
) -> Joint:
    """Return what `leave_one_out` returns for some rows of a `Vectorised` family, all at once.

    full, uninformative: the likelihood completed from all rows, and its uninformative positions.
    """
    part, n = rows.at(some), len(some)
    # the statistics that each row removes, along a leading axis
    alone = likelihood.statistics_per_row(part.x, part.away, part.n_levels)
    rest, x = statistics.without_each(alone, part.y), part.x
    prior = likelihood.complete(rest)
    own = prior.uninformative()
    differs = np.zeros(n, dtype=bool) if own is None else (own != uninformative).any(axis=-1)
    if differs.any():  # without some row a column is constant: these rows are scored one by one
        out = np.empty((n, rows.n_classes))
        out[differs] = one_by_one(likelihood, statistics, rows, some[differs])
        if not differs.all():
            others = some[~differs]
            out[~differs] = _batch(likelihood, statistics, full, uninformative, rows, others)
        return out
    if uninformative.any():
        kept, axis = np.flatnonzero(~uninformative), likelihood.subset_axis
        prior, rest, x = prior.take(axis, kept), rest.take(axis, kept), full.select(x, kept)
    return required(prior, Vectorised).log_predictive_updated(rest, x)


def one_by_one(
    likelihood: Likelihood, statistics: Statistics, rows: Rows, some: np.ndarray
) -> Joint:
    """Return the result of `leave_one_out` for some rows of any family, equal rows once."""
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
    """Return the log predictive of one row given the statistics of the others, shape (class,)."""
    uniform = ClassPrior(np.full(n_classes, 1 / n_classes), np.inf)
    counts = ModelStatistics(np.zeros(n_classes), {"": rest})
    problem = Problem.of(uniform, {"": likelihood}, counts)
    if not problem.model.blocks:
        return np.zeros(n_classes)
    # where a joint block has missing values: the closed form of expected statistics
    filled = expected_statistics(problem.model, problem.statistics)[0]
    posterior = problem.model.posterior(filled).closed_forms[""]
    return posterior.log_predictive(problem.reader.read({"": x})[""])[0]
