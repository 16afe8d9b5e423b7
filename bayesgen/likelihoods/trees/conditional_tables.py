"""Conditional probability tables of a tree of levels: draws, estimates, scores, simulation.

probs[s, b] is the probability of level b of a column given level s of its parent; a root has the
same in every s, and where the parent has no such level there is 0.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.dirichlet import log_gammas, segments, starts
from bayesgen.likelihoods.trees import forest_sums
from bayesgen.likelihoods.trees.forest_sums import Parents
from bayesgen.typing import Block, Evidence, Labels, Params

MESSAGE_FLOATS = 1_000_000
"""Numbers in the messages of a chunk of rows: 8 MB."""

Levels = tuple[int, ...]
PairTables = Float[np.ndarray, "*table level level"]


def places(x: Block, n_levels: Levels) -> Int[np.ndarray, "row feature"]:
    """Return the flat level of each cell; an arbitrary one where it is missing."""
    last = max(sum(n_levels) - 1, 0)
    return np.minimum(starts(n_levels) + np.maximum(x, 0), last)


def _columns(n_levels: Levels) -> Int[np.ndarray, " level"]:
    """Return the column of each flat level."""
    return np.repeat(np.arange(len(n_levels)), n_levels)


def _roots(parent: Parents, n_levels: Levels) -> Bool[np.ndarray, "*batch 1 level"]:
    """Return which flat levels are those of a root."""
    return (parent == np.arange(len(n_levels)))[..., None, _columns(n_levels)]


def _parent_levels(
    parent: Parents, n_levels: Levels
) -> tuple[Int[np.ndarray, "*batch slot level"], Bool[np.ndarray, "*batch slot level"]]:
    """Return the flat level that stands for slot s of the parent of b, and whether it exists."""
    slot = np.arange(max(n_levels, default=0))[:, None]
    above = parent[..., None, _columns(n_levels)]
    there = slot < np.array(n_levels)[above]
    return np.where(there, starts(n_levels)[above] + slot, 0), there


def _gathered(
    table: PairTables, parent: Parents, n_levels: Levels
) -> Float[np.ndarray, "*batch slot level"]:
    """Return the entries of each column and its parent in a table of pairs of levels.

    A root has its own diagonal in every slot. The axes before are those of `parent`, to which the
    table broadcasts.
    """
    above, there = _parent_levels(parent, n_levels)
    level, root = np.arange(sum(n_levels)), _roots(parent, n_levels)
    table = np.broadcast_to(table, (*parent.shape[:-1], *table.shape[-2:]))
    index = np.ix_(*map(np.arange, parent.shape[:-1]))
    index = tuple(i[..., None, None] for i in index)
    here = table[(*index, np.where(root, level, above), level)]
    return np.where(there | root, here, 0.0)


def _normalized(weight: np.ndarray, parent: Parents, n_levels: Levels, other: np.ndarray) -> Params:
    """Return parent and conditional probabilities in proportion to weights (..., slot, level).

    Where a parent's level has no weight at all, the probabilities are `other`, (..., level).
    """
    wide = segments(n_levels)
    totals = (weight @ wide) @ wide.T
    probs = np.divide(weight, totals, out=np.zeros_like(weight), where=totals > 0)
    there = _parent_levels(parent, n_levels)[1] | _roots(parent, n_levels)
    probs = np.where((totals == 0) & there, other[..., None, :], probs)
    return {"parent": parent, "probs": probs}


def given_forest(
    weight: PairTables,
    parent: Parents,
    guess: Float[np.ndarray, "class level"],
    n_levels: Levels,
) -> Params:
    """Return tables in proportion to the weights of pairs of levels, singles on the diagonal.

    If a level of the parent has no weight, its children have their marginal probabilities; if these
    have no weight either, those of the guess.
    """
    wide = segments(n_levels)
    single = np.diagonal(weight, axis1=-2, axis2=-1)
    totals = (single @ wide) @ wide.T
    alone = np.divide(single, totals, out=guess.copy(), where=totals > 0)
    return _normalized(_gathered(weight, parent, n_levels), parent, n_levels, alone)


def draw(
    rng: np.random.Generator, concentration: PairTables, parent: Parents, n_levels: Levels
) -> Params:
    """Return tables drawn given forests, (draw, class, feature): Dirichlet for a parent's level."""
    shape = _gathered(concentration, parent, n_levels)
    logs = log_gammas(rng, np.where(shape > 0, shape, 1.0), 1)[0]
    logs = np.where(shape > 0, logs, -np.inf)
    logs = np.where(_roots(parent, n_levels), logs[..., :1, :], logs)
    # relative to the largest of each table: small concentrations give logs below any exponent
    parts = np.split(logs, starts(n_levels)[1:], axis=-1)
    tops = np.stack([part.max(axis=-1, initial=-np.inf) for part in parts], axis=-1)
    tops = np.where(np.isneginf(tops), 0.0, tops) @ segments(n_levels).T
    nothing = np.zeros((*logs.shape[:-2], logs.shape[-1]))
    return _normalized(np.exp(logs - tops), parent, n_levels, nothing)


def mutual_information(count: PairTables, n_levels: Levels) -> Float[np.ndarray, "*table v u"]:
    """Return rows times the mutual information of each pair of columns."""
    wide, single = segments(n_levels), np.diagonal(count, axis1=-2, axis2=-1)
    n = (single @ wide).max(axis=-1, initial=0.0)[:, None, None]
    expected = single[..., :, None] * single[..., None, :]
    ratio = np.divide(count * n, expected, out=np.ones_like(count), where=count > 0)
    return wide.T @ (count * np.log(ratio)) @ wide


def log_density_fn(params: Params, n_levels: Levels) -> Callable[[Block], np.ndarray]:
    """Return x -> log p(observed part of x), shape (row, *draw, class)."""
    parent, probs = params["parent"], params["probs"]
    batch, q = parent.shape[:-1], parent.shape[-1]
    order, parent = forest_sums.downwards(parent).reshape(-1, q), parent.reshape(-1, q)
    with np.errstate(divide="ignore"):
        logs = np.log(probs).reshape(len(parent), *probs.shape[-2:])
    trees = _Trees(parent, order, logs, n_levels)
    wide = q * logs.shape[1] ** 2

    def log_density(x: Block) -> np.ndarray:
        out, full = np.empty((len(x), len(parent))), (x >= 0).all(axis=1)
        for rows, score, width in ((full, trees.complete, q), (~full, trees.summed, wide)):
            at = np.flatnonzero(rows)
            for part in row_chunks(
                len(at), max(1, MESSAGE_FLOATS // (len(parent) * max(width, 1)))
            ):
                out[at[part]] = score(x[at[part]])
        return out.reshape(len(x), *batch)

    return log_density


@dataclasses.dataclass(frozen=True, eq=False)
class _Trees:
    """The trees of all draws and classes, one in each lane.

    order: columns from the roots down. logs: of the tables.
    """

    parent: Int[np.ndarray, "lane feature"]
    order: Int[np.ndarray, "lane feature"]
    logs: Float[np.ndarray, "lane slot level"]
    n_levels: Levels

    def complete(self, x: Block) -> Float[np.ndarray, "row lane"]:
        """Return the log density of complete rows: one entry of a table for each cell."""
        lane, level = np.arange(len(self.parent)), places(x, self.n_levels)
        out = np.zeros((len(x), len(lane)))
        for v, above in enumerate(self.parent.T):
            slot = np.where(above == v, 0, x[:, above])
            out += self.logs[lane, slot, level[:, v, None]]
        return out

    def summed(self, x: Block) -> Float[np.ndarray, "row lane"]:
        """Return the log density of observed cells; messages from the leaves up sum the others."""
        parent, logs, first = self.parent, self.logs, starts(self.n_levels)
        lane, seen, size = np.arange(len(parent)), x >= 0, logs.shape[1]
        # the sum of messages to each level of each column, (row, lane, feature, level)
        below = np.zeros((len(x), *parent.shape, size))
        out = np.zeros((len(x), len(parent)))
        levels, sizes = np.arange(size), np.array(self.n_levels)
        for v in self.order.T[::-1]:
            above = parent[lane, v]
            mine = below[:, lane, v]
            open_ = np.where(seen[:, v, None], levels == x[:, v, None], levels < sizes[v][:, None])
            mine = np.where(open_, mine, -np.inf)
            place = np.minimum(first[v][:, None] + levels, logs.shape[2] - 1)
            table = logs[lane[:, None, None], levels[:, None], place[:, None]]
            sent = _log_sums(table + mine[:, :, None])
            root = above == v
            out += np.where(root & (sizes[v] > 0), sent[..., 0], 0.0)
            below[:, lane, above] += np.where((root | (sizes[v] == 0))[:, None], 0.0, sent)
        return np.where(seen.any(axis=1)[:, None], out, 0.0)


def _log_sums(logs: np.ndarray) -> np.ndarray:
    top = logs.max(axis=-1)
    top = np.where(np.isneginf(top), 0.0, top)
    with np.errstate(divide="ignore"):
        return top + np.log(np.exp(logs - top[..., None]).sum(axis=-1))


def log_likelihood(params: Params, count: PairTables, n_levels: Levels) -> Evidence:
    """Return log p(complete rows given params) from their counts of pairs, summed over classes."""
    parent, probs = params["parent"], params["probs"]
    with np.errstate(divide="ignore"):
        logs = np.log(probs)
    seen = _gathered(count, parent, n_levels)
    first = np.arange(seen.shape[-2])[:, None] == 0
    seen = np.where(_roots(parent, n_levels) & ~first, 0.0, seen)
    return (np.where(seen == 0, 0.0, logs) * seen).sum(axis=(-3, -2, -1))


def simulate(params: Params, y: Labels, rng: np.random.Generator, n_levels: Levels) -> Block:
    """Simulate one row for each label, parents before children; a column without levels is -1."""
    parent, probs, first = params["parent"], params["probs"], starts(n_levels)
    order = forest_sums.downwards(parent)
    out, u = np.full((len(y), len(n_levels)), -1), rng.random((len(y), len(n_levels)))
    for k in np.unique(y):
        mine = np.flatnonzero(y == k)
        for v in (v for v in order[k] if n_levels[v]):
            slot = 0 if parent[k, v] == v else out[mine, parent[k, v]]
            at = slice(first[v], first[v] + n_levels[v])
            steps = np.broadcast_to(probs[k, slot, at], (len(mine), n_levels[v])).cumsum(axis=1)
            out[mine, v] = (u[mine, v, None] * steps[:, -1:] >= steps[:, :-1]).sum(axis=1)
    return out
