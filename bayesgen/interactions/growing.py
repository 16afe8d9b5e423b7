"""Classification trees, grown on bootstrap samples of rows.

A split has the least sum of squares of the class indicators around their means, which is Gini's
criterion. Trees are of two kinds (`KINDS`): one tries a few columns at each split, so that trees
differ, the other many, so that columns which say nothing alone are found together. A forest has
trees of the kind that predicts rows out of its bags better, by more than the standard error of the
difference of both log scores, else half of each.

The rows of a bootstrap sample are Poisson counts of mean weight. Counts are drawn for rows, and
columns are tried, in an order and a direction that their content determines (`content_order.py`).

Source: Breiman (2001), Machine Learning 45, 5-32; Oza and Russell (2001), Online bagging and
boosting, Artificial Intelligence and Statistics (Poisson counts).
"""

import dataclasses
import functools
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int, Num

from bayesgen.interactions.content_order import ContentOrder
from bayesgen.interactions.term import Cell
from bayesgen.likelihoods.distinct_rows import Rows
from bayesgen.typing import Labels

if TYPE_CHECKING:
    from sklearn.tree import DecisionTreeRegressor

FEWEST, MOST, ROWS = 80, 400, 120_000
"""Trees of a forest, at least and at most, and rows of all bags together, between the two. Where a
forest joins, on ten kinds of tables, 200 had a mean log loss lower by .0018 (standard error .0009)
than 100, and 400 by .0020. With 400 another forest moves P by two thirds of what it does with 150
(XOR of two numbers, 300 rows), at 1.3 to 1.5 times the time of the fit."""
LEAF_ROWS = 1.0
"""Prior strength of the class fractions in a leaf, in rows: .3 and 2 were as good within .0004."""
PILOT = 40
"""Trees of each kind that say whether a forest joins, and of which kind all of it should be."""
HALFWAY = 0.5 + 1e-7
"""Place of a threshold between neighbors, from the lower one in the direction in which the column
is read. A value halfway between them, as 1.5 is between whole numbers, goes with the lower one
however the threshold is rounded."""


@dataclasses.dataclass(frozen=True)
class Kind:
    """How a tree is grown.

    tried: columns tried at a split, at most; the square root of their number if that is more.
    least: rows of a bag in a leaf.
    """

    tried: int
    least: int

    def columns(self, size: int) -> int:
        """Return how many of columns are tried at a split."""
        return max(int(np.sqrt(size)), min(size, self.tried))


KINDS = Kind(1, 1), Kind(12, 5)
"""With the first kind alone the log loss of XOR of two among 5 and 8 numbers, 300 rows, was higher
by .04 and .08; with the second alone that of glass by .06. A second kind that tries half of the
columns gains half as much. Shares of both kinds that maximize the log score of rows out of the bag
gained .002 less on six kinds of simulated tables, .0005 less on six real ones."""


@dataclasses.dataclass(frozen=True, eq=False)
class Gaps:
    """The missing cells of ranks, column by column, and the observed ones of the same columns.

    row, column: of the missing cells. which: of these columns each is in. seen: row of each
    observed cell. rank: of it. start: where the observed cells of each column begin.
    """

    row: Int[np.ndarray, " gap"]
    column: Int[np.ndarray, " gap"]
    which: Int[np.ndarray, " gap"]
    seen: Int[np.ndarray, " cell"]
    rank: Num[np.ndarray, " cell"]
    start: Int[np.ndarray, " column"]

    @classmethod
    def of(cls, ranks: Num[np.ndarray, "row varying"]) -> "Gaps":
        """Return the missing cells of ranks, -1."""
        missing = (ranks < 0).T
        columns = np.flatnonzero(missing.any(axis=1))
        which, row = np.nonzero(missing[columns])
        of_seen, seen = np.nonzero(~missing[columns])
        start = np.searchsorted(of_seen, np.arange(len(columns)))
        return cls(row, columns[which], which, seen, ranks[seen, columns[of_seen]], start)

    def drawn(
        self, count: Int[np.ndarray, " row"], rng: np.random.Generator
    ) -> Num[np.ndarray, " gap"]:
        """Return ranks of the missing cells, drawn from those of the rows in a bag."""
        each = count[self.seen]
        total = np.add.reduceat(each, self.start)
        if not total.all():  # no row of the bag has the cell: from all rows
            size = np.diff(self.start, append=len(each))
            each = np.where(np.repeat(total, size) > 0, each, 1)
            total = np.where(total > 0, total, size)
        upto = each.cumsum()
        before = upto[self.start] - each[self.start]
        at = before[self.which] + rng.random(len(self.row)) * total[self.which]
        place = np.maximum(np.searchsorted(upto, at), self.start[self.which])
        return self.rank[place]


@dataclasses.dataclass(frozen=True, eq=False)
class Ranks:
    """Rows with the rank of each value among the distinct values of its column.

    Trees are grown on ranks: no unit, and no difference below single precision, matters. Rows, the
    features that vary, and classes are in the order that their content determines, and features are
    read in its direction.

    ranks: (row, varying); of missing cells -1. y: class of each row. order: positions of the rows.
    varying: which features vary. reflected: which of these are read from the highest value down.
    values: distinct ones, rising, feature by feature. start, size: where those of each feature
    begin, and how many there are.
    """

    ranks: Num[np.ndarray, "row varying"]
    y: Labels
    order: Int[np.ndarray, " row"]
    varying: Int[np.ndarray, " varying"]
    reflected: Bool[np.ndarray, " varying"]
    values: Float[np.ndarray, " value"]
    start: Int[np.ndarray, " varying"]
    size: Int[np.ndarray, " varying"]

    @classmethod
    def of(cls, rows: Rows) -> "Ranks":
        """Return the ranks of distinct rows."""
        ranks, values = np.full(rows.x.shape, -1), []
        for j, cell in enumerate(rows.x.T):
            seen = ~np.isnan(cell)
            distinct, ranks[seen, j] = np.unique(cell[seen], return_inverse=True)
            values.append(distinct)
        size = np.array([len(distinct) for distinct in values], dtype=int)
        varying = np.flatnonzero(size > 1)
        ranks, top = ranks[:, varying], size[varying] - 1
        told = ContentOrder.of(ranks, top, rows.y, rows.weight, rows.n_classes)
        ranks = np.where(told.reflected & (ranks >= 0), top - ranks, ranks)
        ranks = ranks[np.ix_(told.rows, told.columns)].astype(np.float32)
        varying, reflected = varying[told.columns], told.reflected[told.columns]
        whole, sizes = np.concatenate([*(values[j] for j in varying), np.empty(0)]), size[varying]
        y, start = np.argsort(told.classes)[rows.y[told.rows]], np.cumsum(sizes) - sizes
        return cls(ranks, y, told.rows, varying, reflected, whole, start, sizes)

    @functools.cached_property
    def gaps(self) -> Gaps | None:
        """The missing cells; None: there are none."""
        return Gaps.of(self.ranks) if (self.ranks < 0).any() else None

    def filled(
        self, count: Int[np.ndarray, " row"], rng: np.random.Generator
    ) -> Num[np.ndarray, "row varying"]:
        """Return ranks whose missing cells are drawn from those of the rows in a bag."""
        if self.gaps is None:
            return self.ranks
        out = self.ranks.copy()
        out[self.gaps.row, self.gaps.column] = self.gaps.drawn(count, rng)
        return out

    def thresholds(
        self, column: Int[np.ndarray, " node"], rank: Float[np.ndarray, " node"]
    ) -> Float[np.ndarray, " node"]:
        """Return the value between the neighbors of a rank at which a node splits."""
        out, inner = np.zeros(len(rank)), column >= 0
        column, below = column[inner], np.floor(rank[inner]).astype(int)
        reflected = self.reflected[column]
        below = self.start[column] + np.where(reflected, self.size[column] - 2 - below, below)
        low, high = self.values[below], self.values[below + 1]
        out[inner] = low + (high - low) * np.where(reflected, 1 - HALFWAY, HALFWAY)
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class Tree:
    """A tree grown on the rows of a bag.

    count: of each distinct row in the bag. grown: by scikit-learn; None: there was nothing to
    split. spoken: probability of the class of each row that is out of the bag, else 0.
    """

    count: Int[np.ndarray, " row"]
    grown: "DecisionTreeRegressor | None"
    spoken: Float[np.ndarray, " row"]

    def nodes(self, ranks: Ranks) -> dict[str, np.ndarray]:
        """Return the nodes, the root first.

        Siblings are neighbors, the one of the lower values first.
        """
        if self.grown is None:
            root = {"column": -1, "threshold": 0.0, "child": -1, "left": 0.0}
            return {name: np.array([value]) for name, value in root.items()}
        tree = self.grown.tree_
        inner = tree.children_left >= 0
        column = np.where(inner, tree.feature, -1).astype(int)
        down = inner & ranks.reflected[column]
        lower = np.where(down, tree.children_right, tree.children_left)
        upper = np.where(down, tree.children_left, tree.children_right)
        # siblings side by side: the root, then the children of inner nodes in turn
        parents = np.flatnonzero(inner)
        order = np.concatenate([[0], np.stack([lower[parents], upper[parents]], 1).ravel()])
        order = order.astype(int)
        place = np.empty(len(order), dtype=int)
        place[order] = np.arange(len(order))
        size = tree.weighted_n_node_samples
        left = np.where(inner, size[lower] / size, 0.0)
        child = np.where(inner, place[lower], -1)
        threshold = ranks.thresholds(column, tree.threshold)
        column = np.where(inner, ranks.varying[column], -1)
        return {
            "column": column[order],
            "threshold": threshold[order],
            "child": child[order],
            "left": left[order],
        }


@dataclasses.dataclass(frozen=True, eq=False)
class Growing:
    """Rows on which trees are grown, and what is drawn for them.

    cells: where rows have the columns. rows: distinct ones. ranks: of their cells. rng: of bags and
    filled cells. tried: of the columns tried at a split.
    """

    cells: tuple[Cell, ...]
    rows: Rows
    ranks: Ranks
    rng: np.random.Generator
    tried: np.random.RandomState

    @classmethod
    def of(cls, cells: tuple[Cell, ...], rows: Rows, seed: int) -> "Growing":
        """Return the start of a forest of distinct rows; seed: of all that is drawn."""
        rng = np.random.default_rng(seed)
        tried = np.random.RandomState(rng.integers(2**31 - 1))
        return cls(cells, rows, Ranks.of(rows), rng, tried)

    @functools.cached_property
    def weight(self) -> Float[np.ndarray, " row"]:
        """The weights of the rows, in the order of the ranks."""
        return self.rows.weight[self.ranks.order]

    @functools.cached_property
    def labels(self) -> Float[np.ndarray, "row class"]:
        """Indicators of the class of each row."""
        return (self.ranks.y[:, None] == np.arange(self.rows.n_classes)).astype(float)

    @functools.cached_property
    def pilots(self) -> list[list[Tree]]:
        """The first trees of each kind."""
        return [[self.tree(kind) for _ in range(PILOT)] for kind in KINDS]

    def few(self) -> list[Tree]:
        """Return the first trees of both kinds."""
        return [tree for trees in self.pilots for tree in trees]

    def all(self) -> list[Tree]:
        """Return all trees, of the kind that rows out of the bag ask for."""
        size = int(np.clip(ROWS // max(len(self.rows.y), 1), FEWEST, MOST))
        out = []
        for kind, pilot, wanted in zip(KINDS, self.pilots, self.wanted(size), strict=True):
            more = (self.tree(kind) for _ in range(wanted - PILOT))
            out += [*pilot[:wanted], *more]
        return out

    def wanted(self, size: int) -> list[int]:
        """Return how many of so many trees are of each of two kinds, by what the first ones say."""
        outside = np.array([[t.count == 0 for t in trees] for trees in self.pilots]).sum(axis=1)
        spoken = np.array([[t.spoken for t in trees] for trees in self.pilots]).sum(axis=1)
        heard = outside.all(axis=0)
        first, second = np.log(spoken[:, heard] / outside[:, heard])
        gain, weight = second - first, self.weight[heard]
        total = weight @ gain
        error = np.sqrt(weight @ (gain - total / weight.sum()) ** 2) if len(weight) else np.inf
        if abs(total) <= error:
            return [size - size // 2, size // 2]
        return [0, size] if total > 0 else [size, 0]

    def tree(self, kind: Kind) -> Tree:
        """Return a tree grown on a bag of the rows."""
        from sklearn.tree import DecisionTreeRegressor

        count = self.rng.poisson(self.weight)
        if not count.any() or not len(self.ranks.varying):
            return Tree(count, None, self.fractions[self.ranks.y] * (count == 0))
        cells = self.ranks.filled(count, self.rng)
        tree = DecisionTreeRegressor(
            max_features=kind.columns(cells.shape[1]),
            min_weight_fraction_leaf=min((kind.least - 0.5) / count.sum(), 0.5),
            random_state=self.tried,
        )
        tree.fit(cells, self.labels, sample_weight=count.astype(float), check_input=False)
        return Tree(count, tree, self.spoken(tree, cells, count == 0))

    @functools.cached_property
    def fractions(self) -> Float[np.ndarray, " class"]:
        """Class fractions of all rows, one row of each class added."""
        count = self.weight @ self.labels + 1
        return count / count.sum()

    def spoken(
        self,
        tree: "DecisionTreeRegressor",
        cells: Num[np.ndarray, "row varying"],
        outside: Bool[np.ndarray, " row"],
    ) -> Float[np.ndarray, " row"]:
        """Return the probability of the class of rows out of the bag, 0 of the others."""
        out, y = np.zeros(len(cells)), self.ranks.y[outside]
        leaf = tree.apply(cells[outside], check_input=False)
        rows = tree.tree_.weighted_n_node_samples[leaf]
        share = tree.tree_.value[leaf, y, 0]
        out[outside] = (rows * share + LEAF_ROWS * self.fractions[y]) / (rows + LEAF_ROWS)
        return out
