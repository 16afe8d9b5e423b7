"""Sums over all forests, random forests drawn by weight, and the forest of greatest weight.

A rooted forest gives every column at most one parent, without a cycle; a column without a parent is
a root. Its weight is the product of weight[child, parent] over its edges. With one more node, to
which every root points with weight 1, rooted forests are trees that lead to that node, and their
weights sum to det(diag(row sums of W) + I - W): the matrix-tree theorem (Tutte 1948; Meila and
Jaakkola 2006, Tractable Bayesian learning of tree belief networks).

Weights are evidence ratios, which reach e^1000 and more, where an ordinary determinant is rounding
error. Here nodes are eliminated one by one (Grassmann, Taksar and Heyman 1985): eliminating v links
its neighbors i and j by w_iv w_vj / W_v, where W_v is the sum of the weights that leave v. Only
sums, products and ratios of positive numbers occur, so no digits are lost.

Weights come as logarithms, shape (..., child, parent); minus infinity forbids an edge, and the
diagonal is not read.
"""

import numpy as np
from jaxtyping import Float, Int

LogWeights = Float[np.ndarray, "*batch child parent"]
Parents = Int[np.ndarray, "*batch feature"]
"""The parent of every column; a root is its own."""

DIRECT = 300.0
"""Largest |log weight| for float64: products of two ratios of such weights do not underflow.
Beyond, logarithms are added, at two to four times the time; long double is not much faster."""
LANE_FLOATS = 200_000
"""Weights eliminated at once: 1.6 MB, about a second-level cache."""


def log_partition(log_weight: LogWeights, *, mutual: bool = False) -> Float[np.ndarray, "*batch"]:
    """Return the log of the sum over all rooted forests of their weights.

    Exact to rounding: relative error of the sum about 1e-15 times the number of columns.

    mutual: an edge weighs the same both ways, and only the lower triangle is read; half the time.

    Example:
        >>> # two columns: both roots, or either one a child of the other
        >>> float(np.exp(log_partition(np.log(np.full((2, 2), 3.0)))).round(12))
        7.0
    """
    *batch, q, _ = log_weight.shape
    if q == 0:
        return np.zeros(batch)
    flat = np.moveaxis(log_weight.reshape(-1, q, q), 0, -1)
    flat = np.where(np.eye(q, dtype=bool)[..., None], -np.inf, flat)
    size = np.where(np.isneginf(flat), 0.0, np.abs(flat)).max(axis=(0, 1), initial=0.0)
    out = np.empty(flat.shape[-1])
    if mutual and (size > DIRECT).any():
        flat = np.where(np.tri(q, dtype=bool)[..., None], flat, np.swapaxes(flat, 0, 1))
    direct = _direct_mutual if mutual else _direct
    for method, some in ((direct, size <= DIRECT), (_logs, size > DIRECT)):
        lanes = np.flatnonzero(some)
        step = max(1, LANE_FLOATS // max(q * q, 1))
        for start in range(0, len(lanes), step):
            at = lanes[start : start + step]
            out[at] = method(flat if len(at) == len(out) else flat[..., at])
    return out.reshape(batch)


def _direct(log_weight: np.ndarray) -> np.ndarray:
    """Eliminate the last node, again and again; weights are (child, parent, lane)."""
    weight = np.exp(log_weight)
    root = np.ones_like(weight[:, 0])
    total = np.zeros(weight.shape[-1])
    for v in range(len(weight) - 1, -1, -1):
        leaving = weight[v, :v].sum(axis=0) + root[v]
        total += np.log(leaving)
        share, last = weight[v, :v] / leaving, root[v] / leaving
        for i in range(v):
            weight[i, :v] += weight[i, v] * share
            weight[i, i] = 0.0
        root[:v] += weight[:v, v] * last
    return total


def _direct_mutual(log_weight: np.ndarray) -> np.ndarray:
    """Do the same, in the lower triangle, for symmetric weights, which elimination keeps so."""
    weight = np.exp(log_weight)
    root = np.ones_like(weight[:, 0])
    total = np.zeros(weight.shape[-1])
    for v in range(len(weight) - 1, -1, -1):
        mine = weight[v, :v]
        leaving = mine.sum(axis=0) + root[v]
        total += np.log(leaving)
        share = mine / leaving
        for i in range(1, v):
            weight[i, :i] += mine[i] * share[:i]
        root[:v] += share * root[v]
    return total


def _logs(log_weight: np.ndarray) -> np.ndarray:
    weight = log_weight.copy()
    root = np.zeros_like(weight[:, 0])
    total = np.zeros(weight.shape[-1])
    for v in range(len(weight) - 1, -1, -1):
        leaving = _log_sum(np.concatenate([weight[v, :v], root[v, None]]))
        total += leaving
        share, last = weight[v, :v] - leaving, root[v] - leaving
        for i in range(v):
            weight[i, :v] = np.logaddexp(weight[i, :v], weight[i, v] + share)
            weight[i, i] = -np.inf
        root[:v] = np.logaddexp(root[:v], weight[:v, v] + last)
    return total


def _log_sum(logs: np.ndarray) -> np.ndarray:
    """Return log-sum-exp over the first axis; at least one entry must be finite."""
    top = logs.max(axis=0)
    return top + np.log(np.exp(logs - top).sum(axis=0))


class Stages:
    """The weights before every elimination, to draw forests from by putting the nodes back.

    log_weight: (lane, child, parent). Memory: lanes * columns^3 numbers.
    """

    def __init__(self, log_weight: Float[np.ndarray, "lane child parent"]) -> None:
        """Eliminate all columns; the last position of every axis of nodes is the root's."""
        lanes, q, _ = log_weight.shape
        weight = np.zeros((lanes, q, q + 1))
        weight[..., :q] = np.where(np.eye(q, dtype=bool), -np.inf, log_weight)
        self.size, self.steps = q, [weight]
        for v in range(q - 1, 0, -1):
            here = self.steps[-1]
            left = np.append(np.arange(v), v + 1)
            share = here[:, v, left] - _log_sum(here[:, v, left].T)[:, None]
            weight = np.logaddexp(here[:, :v][..., left], here[:, :v, v, None] + share[:, None])
            weight[:, np.arange(v), np.arange(v)] = -np.inf
            self.steps.append(weight)
        self.steps.reverse()

    def draw(self, rng: np.random.Generator, lane: Int[np.ndarray, " draw"]) -> Parents:
        """Return one forest for each entry of `lane`, drawn in proportion to its weight.

        Node v comes back into a tree of the others. The weight of an edge from i to j of that tree
        is a sum of two terms: the edge was direct, or led through v, with probabilities in
        proportion to the terms. Nodes whose edge led through v get v as parent, and v takes as
        parent one of the nodes that still reach the root, in proportion to its weights (the trees
        over the parts that come apart sum to the same: Cayley's formula). No walk is simulated:
        Wilson's algorithm needs e^1000 steps where two columns repeat each other.

        Source: Colbourn, Myrvold and Neufeld (1996), Two algorithms for unranking arborescences.
        """
        parent = np.zeros((len(lane), 0), dtype=int)
        for v, weight in enumerate(self.steps):
            # the root was node v and is node v + 1 now
            parent = np.where(parent == v, v + 1, parent)
            parent = _put_back(rng.random((len(lane), v + 1)), weight, lane, parent)
        return np.where(parent == self.size, np.arange(self.size), parent)


def _put_back(
    u: np.ndarray, weight: np.ndarray, lane: np.ndarray, parent: np.ndarray
) -> np.ndarray:
    """Return trees with one node more, in the position before the root; u: uniform numbers."""
    v, others = parent.shape[1], np.arange(parent.shape[1])
    leaving = weight[lane, v]
    total = _log_sum(np.delete(weight[:, v], v, axis=1).T)
    direct = weight[lane[:, None], others, parent]
    through = (weight[:, :v, v] - total[:, None])[lane]
    through += np.take_along_axis(leaving, parent, axis=1)
    # P(through) = 1 / (1 + e^(direct - through))
    with np.errstate(over="ignore", invalid="ignore"):
        odds = np.exp(np.where(np.isneginf(through), np.inf, direct - through))
    cut = u[:, :v] * (1 + odds) < 1
    allowed = np.ones(leaving.shape, dtype=bool)
    allowed[:, v] = False
    some = np.flatnonzero(cut.any(axis=1))
    allowed[some, :v] = _reaching(~cut[some], parent[some], v + 1)
    logs = np.where(allowed, leaving, -np.inf)
    odds = np.exp(logs - logs.max(axis=1, keepdims=True)).cumsum(axis=1)
    own = (u[:, v:] * odds[:, -1:] >= odds).sum(axis=1)
    return np.append(np.where(cut, v, parent), own[:, None], axis=1)


def _reaching(alive: np.ndarray, parent: np.ndarray, root: int) -> np.ndarray:
    """Return which nodes reach the root through nodes that are alive, by doubling the steps."""
    n, v = alive.shape
    # one position more, for the root
    parent = np.append(np.where(parent == root, v, parent), np.full((n, 1), v), axis=1)
    alive = np.append(alive, np.ones((n, 1), dtype=bool), axis=1)
    at = np.arange(n)[:, None]
    while (parent != v).any():
        alive = alive & alive[at, parent]
        parent = parent[at, parent]
    return alive[:, :v]


def edge_probs(log_weight: LogWeights) -> LogWeights:
    """Return the probability that a forest drawn by weight has the edge, (..., child, parent).

    The derivative of `log_partition`, by the elimination in reverse. Absolute error about 1e-15
    times the number of columns.
    """
    *batch, q, _ = log_weight.shape
    if q == 0:
        return np.zeros(log_weight.shape)
    stages = Stages(log_weight.reshape(-1, q, q))
    # positions: children below v, then parents below v and the root
    probs = np.ones((len(stages.steps[0]), 0, 1))
    for v, weight in enumerate(stages.steps):
        left = np.append(np.arange(v), v + 1)
        leaving = weight[:, v, left]
        share = leaving - _log_sum(leaving.T)[:, None]
        own, into = weight[:, :v][..., left], weight[:, :v, v, None]
        through = into + share[:, None]
        # an edge without a way through the node has the share 0
        none = np.isneginf(through)
        with np.errstate(over="ignore"):
            odds = np.exp(np.where(none, 0.0, own) - np.where(none, 0.0, through))
        passing = np.where(none, 0.0, probs / (1 + odds))
        out = np.zeros((len(weight), v + 1, v + 2))
        out[:, :v, left] = probs - passing
        out[:, :v, v] = passing.sum(axis=-1)
        out[:, v, left] = np.exp(share) * (1 - passing.sum(axis=(1, 2)))[:, None] + passing.sum(
            axis=1
        )
        probs = out
    return probs[..., :q].reshape(*batch, q, q)


def heaviest(log_weight: LogWeights, *, whole: bool) -> Parents:
    """Return the forest of greatest weight, or the spanning tree (whole), by Prim's algorithm.

    The weights must be symmetric. Source: Chow and Liu (1968), Approximating discrete probability
    distributions with dependence trees.
    """
    *batch, q, _ = log_weight.shape
    flat = log_weight.reshape(-1, q, q)
    parents = np.zeros((len(flat), q), dtype=int)
    for one, weight in zip(parents, flat, strict=True):
        alone = -np.inf if whole else 0.0
        best, origin = np.full(q, alone), np.arange(q)
        left = np.ones(q, dtype=bool)
        for _ in range(q):
            v = int(np.where(left, best, -np.inf).argmax()) if left.sum() < q else 0
            left[v], one[v] = False, origin[v]
            closer = left & (weight[:, v] > best)
            best[closer], origin[closer] = weight[closer, v], v
    return parents.reshape(*batch, q)


def downwards(parent: Parents) -> Int[np.ndarray, "*batch feature"]:
    """Return an order of the columns in which parents come before their children."""
    depth = np.zeros_like(parent)
    above = np.broadcast_to(np.arange(parent.shape[-1]), parent.shape)
    for _ in range(parent.shape[-1]):
        up = np.take_along_axis(parent, above, axis=-1)
        if (up == above).all():
            break
        depth += up != above
        above = up
    return np.argsort(depth, axis=-1, kind="stable")
