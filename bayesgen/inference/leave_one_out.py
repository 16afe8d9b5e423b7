"""Exact leave-one-out: each row predicted from all the others, its statistics taken away.

Guesses that come from the columns are made again without the row, so the answers are those of as
many fits. Families whose formulas bear a leading axis of rows (`batched`) answer for many rows at
once; the others row by row, equal rows together.
"""

from collections.abc import Callable

import numpy as np
from scipy.sparse import issparse

from bayesgen.classes import ClassPrior
from bayesgen.inference.holes import holes
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.arrays import spread
from bayesgen.likelihoods.moments import blocks, class_moments
from bayesgen.model import ModelStatistics, complete_model
from bayesgen.typing import Block, Joint, Labels, Weights

BATCH_FLOATS = 500_000
"""Numbers in the statistics of all rows of a batch: 4 MB, which a third-level cache holds."""


def leave_one_out(
    likelihood: Likelihood,
    statistics: Statistics,
    x: Block,
    y: Labels,
    weight: Weights,
    *,
    n_classes: int,
    n_levels: tuple[int, ...] = (),
) -> Joint:
    """Return log p(x_i given y = k, the rows without i), shape (row, class).

    posterior(S - s_i) is the posterior without row i, which counts with its whole weight.

    Args:
        likelihood: guesses as the user left them.
        statistics: of all rows.
        x: the rows, encoded.
        y: their class codes.
        weight: their weights.
        n_classes: how many classes there are.
        n_levels: how many levels each column has.
    """
    sizes = {"n_classes": n_classes, "n_levels": n_levels}
    if not likelihood.batched or issparse(x):
        return one_by_one(likelihood, statistics, x, y, weight, **sizes)
    inert = likelihood.complete(statistics).inert()
    if inert is not None and inert.all():
        return np.zeros((len(y), n_classes))
    statistics, x = _with_a_say(likelihood, statistics, x)
    score = _with_holes(likelihood, statistics, n_classes)
    out = np.empty((len(y), n_classes))
    width = sum(np.size(value) for value in statistics.arrays().values())
    again = likelihood.kind == "numbers" and not score
    lonely = _indispensable(x, y, weight, n_classes) if again else np.empty(0, dtype=int)
    usual = np.setdiff1d(np.arange(len(y)), lonely)
    for part in blocks(len(usual), max(1, BATCH_FLOATS // max(width, 1))):
        rows = usual[part]
        some = x[rows], y[rows], weight[rows]
        out[rows] = score(*some) if score else batch(likelihood, statistics, *some, **sizes)
    for i in lonely:
        others = np.arange(len(y)) != i
        rest = likelihood.statistics(x[others], y[others], weight[others], **sizes)
        out[i] = scored(likelihood, rest, x[i : i + 1], n_classes)
    return out


def _indispensable(x: Block, y: Labels, weight: Weights, n_classes: int) -> np.ndarray:
    """Return the rows that are left out by another fit: subtraction would leave rounding alone."""
    return np.union1d(_lonely(x), _holding_all(x, y, weight, n_classes))


def _lonely(x: Block) -> np.ndarray:
    """Return the rows without which some column holds one value only.

    Taking them away leaves what rounding left of its variance, where there is none.
    """
    out: set[int] = set()
    for column in x.T:
        seen = np.flatnonzero(~np.isnan(column))
        if len(seen) > 2:
            low, high = column[seen].min(), column[seen].max()
            for value, other in ((low, high), (high, low)):
                here = seen[column[seen] == value]
                if len(here) == 1 and (column[seen] == other).sum() == len(seen) - 1:
                    out.add(int(here[0]))
    return np.array(sorted(out), dtype=int)


def _holding_all(x: Block, y: Labels, weight: Weights, n_classes: int) -> np.ndarray:
    """Return the rows without which some column no longer varies within any class.

    What taking them away leaves is rounding too.
    """
    count, mean, scatter = class_moments(x, y, weight, n_classes)
    left = count[y] - weight[:, None]
    worth = np.divide(weight[:, None] * count[y], left, out=np.zeros_like(left), where=left > 0)
    held = np.nan_to_num(worth * (x - mean[y]) ** 2)
    return np.flatnonzero(((held > 0) & (held >= (1 - 1e-9) * scatter.sum(axis=0))).any(axis=1))


def _with_a_say(
    likelihood: Likelihood, statistics: Statistics, x: Block
) -> tuple[Statistics, Block]:
    """Return statistics and rows whose only holes, in columns that say nothing, are filled by 0.

    Such a column, never observed or constant, is constant then, and says nothing without any row.
    """
    if not getattr(statistics, "has_holes", False) or likelihood.inert_axis != "feature":
        return statistics, x
    inert = likelihood.complete(statistics).inert()
    if inert is None or not inert.any():
        return statistics, x
    kept = np.flatnonzero(~inert)
    part = statistics.take("feature", kept)
    if getattr(part, "has_holes", False):
        return statistics, x
    arrays = {
        name: spread(value, part.axes[name], "feature", kept, x.shape[1])
        for name, value in part.arrays().items()
    }
    return part.with_arrays(arrays), np.where(inert, 0.0, x)


def _with_holes(
    likelihood: Likelihood, statistics: Statistics, n_classes: int
) -> Callable[[Block, Labels, Weights], Joint] | None:
    """Return how rows are scored where holes stand in the way of the closed form.

    Rows give their expected statistics at the mode of all rows, whose guesses are kept too: an
    approximation, like the posterior (see `Expected`).
    """
    full = likelihood.complete(statistics)
    inert = full.inert()
    kept = np.flatnonzero(~inert) if inert is not None else np.arange(0)
    prior, seen = full, statistics
    if inert is not None and inert.any():
        axis = likelihood.inert_axis
        prior, seen = full.take(axis, kept), statistics.take(axis, kept)
    found = holes(prior, seen)
    if found is None:
        return None
    whole = found.expected()

    def score(x: Block, y: Labels, weight: Weights) -> Joint:
        if prior is not full:
            x = full.view(x, kept)
        rest = whole - placed(found.expected_alone(x, y, weight), y, n_classes)
        return prior.log_predictive_after(rest, x)

    return score


def batch(
    likelihood: Likelihood,
    statistics: Statistics,
    x: Block,
    y: Labels,
    weight: Weights,
    *,
    n_classes: int,
    n_levels: tuple[int, ...],
) -> Joint:
    """Return what `leave_one_out` returns, for a family that is `batched`: all rows at once."""
    full = likelihood.complete(statistics)
    rest = statistics - apart(likelihood, x, y, weight, n_classes=n_classes, n_levels=n_levels)
    prior, inert = likelihood.complete(rest), full.inert()
    if inert is not None:
        usual = np.all(prior.inert() == inert, axis=-1)
        if not usual.all():  # without some row a column is constant: these rows go one by one
            return _in_two(likelihood, statistics, x, y, weight, usual, n_classes, n_levels)
        if inert.any():
            kept, axis = np.flatnonzero(~inert), likelihood.inert_axis
            prior, rest, x = prior.take(axis, kept), rest.take(axis, kept), full.view(x, kept)
    return prior.log_predictive_after(rest, x)


def _in_two(
    likelihood: Likelihood,
    statistics: Statistics,
    x: Block,
    y: Labels,
    weight: Weights,
    usual: np.ndarray,
    n_classes: int,
    n_levels: tuple[int, ...],
) -> Joint:
    out = np.empty((len(y), n_classes))
    for method, rows in ((batch, usual), (one_by_one, ~usual)):
        if rows.any():
            out[rows] = method(
                likelihood,
                statistics,
                x[rows],
                y[rows],
                weight[rows],
                n_classes=n_classes,
                n_levels=n_levels,
            )
    return out


def apart(
    likelihood: Likelihood,
    x: Block,
    y: Labels,
    weight: Weights,
    *,
    n_classes: int,
    n_levels: tuple[int, ...],
) -> Statistics:
    """Return the statistics of each row by itself, which stand along a leading axis."""
    at = np.arange(len(y))
    alone = likelihood.statistics(x, at, weight, n_classes=len(y), n_levels=n_levels)
    return placed(alone, y, n_classes)


def placed(alone: Statistics, y: Labels, n_classes: int) -> Statistics:
    """Return statistics of rows that stand in place of classes, each row's in its own class."""
    at, arrays = np.arange(len(y)), {}
    for name, value in alone.arrays().items():
        if alone.axes[name][:1] == ("class",):
            arrays[name] = np.zeros((len(y), n_classes, *value.shape[1:]))
            arrays[name][at, y] = value
    return alone.with_arrays(arrays)


def one_by_one(
    likelihood: Likelihood,
    statistics: Statistics,
    x: Block,
    y: Labels,
    weight: Weights,
    *,
    n_classes: int,
    n_levels: tuple[int, ...],
) -> Joint:
    """Return what `leave_one_out` returns, for any family: equal rows once, row by row."""
    sizes = {"n_classes": n_classes, "n_levels": n_levels}
    holes = getattr(statistics, "has_holes", False)
    out, known = np.zeros((len(y), n_classes)), {}
    for i in range(len(y)):
        at = slice(i, i + 1)
        key = None if issparse(x) else (x[at].tobytes(), int(y[i]), float(weight[i]))
        if key is None or key not in known:
            if holes:
                others = np.delete(np.arange(len(y)), i)
                rest = likelihood.statistics(x[others], y[others], weight[others], **sizes)
            else:
                rest = statistics - likelihood.statistics(x[at], y[at], weight[at], **sizes)
            known[key] = scored(likelihood, rest, x[at], n_classes)
        out[i] = known[key]
    return out


def scored(likelihood: Likelihood, rest: Statistics, x: Block, n_classes: int) -> np.ndarray:
    """Return what the rows behind `rest` say of one other row, shape (class,)."""
    uniform = ClassPrior(np.full(n_classes, 1 / n_classes), np.inf)
    counts = ModelStatistics(np.zeros(n_classes), {"": rest})
    model, kept, reader = complete_model(uniform, {"": likelihood}, counts)
    if not model.blocks:
        return np.zeros(n_classes)
    posterior = model.posterior(kept).blocks[""]
    return posterior.log_predictive(reader.read({"": x})[""])[0]
