r"""A forest of classification trees with Dirichlet leaves, as one part of a log-linear pool.

Trees of two kinds, with few and with many columns tried at each split, are grown on bootstrap
samples of the rows (`growing.py`). The class of a row in a leaf has a Dirichlet prior of strength
LEAF_ROWS around the class fractions pi of all rows, so that

    p(y = k given x) = mean over trees of (c_k + a pi_k) / (sum_j c_j + a),  a = LEAF_ROWS,

with c the weights of the bootstrap sample's rows in the leaf of x. The part of the pool is
p(y = k given x) / pi_k, which is p(x given y = k) up to a constant of the row:

    mean over trees of c_k / (sum_j c_j + a) / pi_k + mean over trees of a / (sum_j c_j + a).

A split on a missing cell sends the row both ways, in proportion to the weights of the rows seen on
either side. Trees are grown on rows whose missing cells are drawn from the column.

The rows of a bootstrap sample are Poisson counts of mean weight, so that a row is out of the bag of
a third of the trees: left out, it is predicted by these alone. That is a prediction without the
row, by a forest of fewer trees; it is not the refit without it.

Other names, another order and x in place of -x grow the same trees.

Source: Breiman (2001), Machine Learning 45, 5-32; Correia, Peharz and de Campos (2020), Joints in
random forests, Advances in Neural Information Processing Systems 33; Oza and Russell (2001), Online
bagging and boosting, Artificial Intelligence and Statistics (Poisson counts).
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from bayesgen.interactions.growing import LEAF_ROWS, Growing, Tree
from bayesgen.interactions.term import Cell, Term
from bayesgen.likelihoods.base import is_missing, row_chunks
from bayesgen.likelihoods.distinct_rows import gather
from bayesgen.membership import Entries
from bayesgen.typing import Encoded, Joint, Labels, Membership, Numbers, Weights

CHUNK = 512
"""Rows that go down all trees at once."""
STEPS = 4
"""Steps down the trees between two looks for rows that have reached a leaf."""
DRAWN_FLOATS = 4_000_000
"""Probabilities of leaves by draw that are held at once: 32 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class Forest(Term):
    """Trees side by side, and the rows that are in their leaves.

    cells: where rows have the columns. column: feature that a node splits on, one of the columns of
    `features`, or -1 of a leaf. threshold: rows up to it go left. child: position of the left
    child; the right one follows. left: share of a row with a missing cell that goes left. root: of
    each tree. leaf, row, mass: which leaf has which share of which row, times its count in the
    bag. bag: counts, (tree, entry). y, weight: classes and weights of the distinct rows. key:
    a digest of the cells and the class of each. n_classes: number of classes.
    """

    cells: tuple[Cell, ...]
    column: Int[np.ndarray, " node"]
    threshold: Float[np.ndarray, " node"]
    child: Int[np.ndarray, " node"]
    left: Float[np.ndarray, " node"]
    root: Int[np.ndarray, " tree"]
    leaf: Int[np.ndarray, " place"]
    row: Int[np.ndarray, " place"]
    mass: Float[np.ndarray, " place"]
    bag: Int[np.ndarray, "tree entry"]
    y: Int[np.ndarray, " entry"]
    weight: Float[np.ndarray, " entry"]
    key: Int[np.ndarray, " entry"]
    n_classes: int
    axes: ClassVar = {
        **dict.fromkeys(("column", "threshold", "child", "left"), ("node",)),
        "root": ("tree",),
        **dict.fromkeys(("leaf", "row", "mass"), ("place",)),
        "bag": ("tree", "entry"),
        **dict.fromkeys(("y", "weight", "key"), ("entry",)),
    }

    @property
    def title(self) -> str:
        """The word "forest"."""
        return "forest"

    @property
    def splits(self) -> bool:
        """Whether some tree has a split."""
        return bool((self.column >= 0).any())

    # -- growing -----------------------------------------------------------------------------------

    @classmethod
    def grown(
        cls,
        cells: Sequence[Cell],
        encoded: Encoded,
        y: Membership,
        weight: Weights,
        n_classes: int,
        seed: int = 0,
    ) -> "Forest":
        """Return a forest grown from rows; arguments as of `begun`."""
        growing = begun(cells, encoded, y, weight, n_classes, seed)
        return cls.of(growing, growing.all())

    @classmethod
    def of(cls, growing: Growing, trees: Sequence[Tree]) -> "Forest":
        """Return the forest of trees that were grown on rows."""
        rows, ranks = growing.rows, growing.ranks
        bag = np.empty((len(trees), len(rows.y)), dtype=int)
        bag[:, ranks.order] = [tree.count for tree in trees]
        nodes = [tree.nodes(ranks) for tree in trees]
        size = np.array([len(tree["column"]) for tree in nodes])
        root = np.cumsum(size) - size
        arrays = {name: np.concatenate([tree[name] for tree in nodes]) for name in nodes[0]}
        inner = arrays["column"] >= 0
        arrays["child"] = np.where(inner, arrays["child"] + np.repeat(root, size), -1)
        empty = np.empty(0, dtype=int)
        forest = cls(
            growing.cells,
            **arrays,
            root=root,
            leaf=empty,
            row=empty,
            mass=np.empty(0),
            bag=bag,
            y=rows.y,
            weight=rows.weight,
            key=row_keys(rows.x, rows.y),
            n_classes=rows.n_classes,
        )
        places = [(empty, empty, np.empty(0))]  # of a table without an observed cell
        for place in row_chunks(len(rows.y), CHUNK):
            row, tree, leaf, share = forest.leaves_of(rows.x[place])
            places.append((place.start + row, leaf, bag[tree, place.start + row] * share))
        row, leaf, mass = (np.concatenate(part) for part in zip(*places, strict=True))
        inside = mass > 0
        return forest.with_arrays({"row": row[inside], "leaf": leaf[inside], "mass": mass[inside]})

    # -- rows going down the trees -----------------------------------------------------------------

    def leaves_of(
        self, x: Numbers
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Float[np.ndarray, " place"]]:
        """Return row, tree, leaf and share of rows that went down every tree."""
        n_rows, n_trees = len(x), len(self.root)
        if complete(x).all():
            rows, trees = np.tile(np.arange(n_rows), n_trees), np.repeat(np.arange(n_trees), n_rows)
            return rows, trees, self.leaf_of_complete(x).ravel(), np.ones(n_trees * n_rows)
        row, tree = np.tile(np.arange(n_rows), n_trees), np.repeat(np.arange(n_trees), n_rows)
        node, share, done = np.repeat(self.root, n_rows), np.ones(len(row)), []
        while len(row):
            column = self.column[node]
            inner = column >= 0
            if not inner.all():
                out = ~inner
                done.append((row[out], tree[out], node[out], share[out]))
                row, tree, node, share = row[inner], tree[inner], node[inner], share[inner]
                column = column[inner]
            cell = x[row, column]
            right = cell > self.threshold[node]
            gap = np.flatnonzero(np.isnan(cell))
            if len(gap):
                left = self.left[node[gap]]
                row, tree = np.append(row, row[gap]), np.append(tree, tree[gap])
                node, right = np.append(node, node[gap]), np.append(right, np.ones(len(gap), bool))
                share = np.append(share, share[gap] * (1 - left))
                share[gap] *= left
            node = self.child[node] + right
        rows, trees, leaves, shares = (np.concatenate(part) for part in zip(*done, strict=True))
        return rows, trees, leaves, shares

    def leaf_of_complete(self, x: Numbers) -> Int[np.ndarray, "tree row"]:
        """Return the leaf of each row without missing cells in every tree."""
        n_rows, n_columns = x.shape
        column, threshold, child = self._steps
        cells = np.ascontiguousarray(x).ravel()
        node = np.repeat(self.root, n_rows)
        first = np.tile(n_columns * np.arange(n_rows), len(self.root))
        leaf, place = node.copy(), np.arange(len(node))
        while len(place):
            for _ in range(STEPS):
                right = cells.take(first + column.take(node)) > threshold.take(node)
                node = child.take(node) + right
            leaf[place] = node
            inner = np.flatnonzero(self.column.take(node) >= 0)
            place, node, first = (array.take(inner) for array in (place, node, first))
        return leaf.reshape(-1, n_rows)

    @functools.cached_property
    def _steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column, threshold and left child of each node; a leaf has itself for a child."""
        leaf = self.column < 0
        itself = np.where(leaf, np.arange(len(leaf)), self.child)
        return np.maximum(self.column, 0), np.where(leaf, np.inf, self.threshold), itself

    def _fractions(
        self, less: Float[np.ndarray, "*row class"] | float = 0.0
    ) -> Float[np.ndarray, "*row class"]:
        """Return class fractions pi of all rows, less some weight, one row of each class added."""
        count = np.bincount(self.y, self.weight, minlength=self.n_classes) - less + 1
        return count / count.sum(axis=-1, keepdims=True)

    def _in_leaves(self, weight: Float[np.ndarray, "entry draw"]) -> Float[np.ndarray, "node ..."]:
        """Return c_k / (sum_j c_j + a) of each leaf, then a / (sum_j c_j + a), by draw.

        weight: of the distinct rows, times their counts in the bags. Shape (node, class + 1, draw).
        """
        inside = csr_array((self.mass, (self.leaf, self.row)), (len(self.column), len(self.y)))
        label = (self.y[:, None] == np.arange(self.n_classes + 1))[..., None]
        out = inside @ (label * weight[:, None]).reshape(len(self.y), -1)
        out = out.reshape(len(self.column), self.n_classes + 1, -1)
        out[:, -1] = LEAF_ROWS
        return out / out.sum(axis=1, keepdims=True)

    # -- class probabilities -----------------------------------------------------------------------

    def log_density(self, encoded: Encoded) -> Joint:
        """Return the log of the mean class probabilities over trees, less that of pi."""
        x = features(self.cells, encoded)
        means = np.empty((len(x), self.n_classes + 1))
        for part in row_chunks(len(x), CHUNK):
            means[part] = self._means_of(x[part])
        return self._log_ratio(means, self._fractions())

    def _means_of(self, x: Numbers) -> Float[np.ndarray, "row entry"]:
        """Return the means over trees of `_leaves_alone` of rows."""
        out, whole = np.empty((len(x), self.n_classes + 1)), complete(x)
        rows, others = np.flatnonzero(whole), np.flatnonzero(~whole)
        if len(rows):
            leaf, n_trees = self.leaf_of_complete(x[rows]), len(self.root)
            start, share = np.arange(0, leaf.size + 1, n_trees), np.full(leaf.size, 1 / n_trees)
            shape = len(rows), len(self.column)
            places = csr_array((share, leaf.T.ravel(), start), shape)
            out[rows] = (places @ self._leaves_alone).toarray()
        if len(others):
            places = self._means(*self._places(x[others]), len(others))
            out[others] = (places @ self._leaves_alone).toarray()
        return out

    def left_out(self, encoded: Encoded, y: Membership, away: Weights) -> Joint:
        """Return the same by the trees that have a row out of the bag.

        Of a row of weight w a part that is left out is out of the bag of c rows with probability
        (1 - part / w)^c. A row of several classes is out of a bag that has it in none of them.
        """
        out, less, start = [], [], 0
        for x, (row, tree, leaf, share) in self._chunks(encoded):
            part = slice(start, start := start + len(x))
            outside, lost = self._spared(x, y[part], away[part])
            spoken = outside.mean(axis=0)
            share = share * (outside / np.where(spoken > 0, spoken, 1.0))[tree, row]
            out.append((self._means(row, tree, leaf, share, len(x)) @ self._leaves_alone).toarray())
            less.append(lost)
        return self._log_ratio(np.concatenate(out), self._fractions(np.concatenate(less)))

    def _spared(
        self, x: Numbers, y: Membership, away: Weights
    ) -> tuple[Float[np.ndarray, "tree row"], Float[np.ndarray, "row class"]]:
        """Return how likely a row is out of each bag, and what its classes lose by that."""
        lost, outside = np.zeros((len(x), self.n_classes)), np.empty(0)
        for turn, rows in enumerate(Entries.in_turn(y, away)):
            entry = row_positions(self.key, rows.of_rows(x), rows.code)
            known = np.maximum(entry, 0)
            gone = np.where(entry >= 0, rows.weight, 0.0)
            stays = np.clip(1 - gone / self.weight[known], 0.0, 1.0)
            spared = stays ** self.bag[:, known]
            if turn:
                outside[:, rows.row] *= spared
            else:  # every row has a first class
                outside = spared
            lost[rows.row, rows.code] = gone
        return outside, lost

    def outside(
        self, encoded: Encoded, y: Membership, away: Weights
    ) -> Float[np.ndarray, "tree row"]:
        """Return how likely a row is out of the bag of each tree; see `left_out`."""
        return self._spared(features(self.cells, encoded), y, away)[0]

    def inside(self, encoded: Encoded) -> csr_array:
        """Return which share of each row is in each leaf of every tree, (row, node)."""
        x = features(self.cells, encoded)
        row, _, leaf, share = self._places(x)
        return csr_array((share, (row, leaf)), (len(x), len(self.column)))

    def draws(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Encoded], Float[np.ndarray, "row class draw"]]:
        """Return rows -> the log ratio where rows have Gamma weights, a Bayesian bootstrap.

        All trees share the weights, so that their errors do not average out. Source: Rubin (1981),
        Annals of Statistics 9, 130-134.
        """
        weight = rng.gamma(self.weight[:, None], size=(len(self.y), n)) / self.weight[:, None]
        size = max(1, DRAWN_FLOATS // (len(self.column) * self.n_classes))
        parts = [slice(a, min(a + size, n)) for a in range(0, n, size)]

        def given_draws(encoded: Encoded) -> Float[np.ndarray, "row class draw"]:
            chunks, logs, fractions = list(self._chunks(encoded)), [], self._fractions()
            for part in parts:
                in_leaves = self._in_leaves(weight[:, part])
                flat = in_leaves.reshape(len(in_leaves), -1)
                means = [self._means(*place, len(x)) @ flat for x, place in chunks]
                mean = np.concatenate(means).reshape(-1, *in_leaves.shape[1:])
                logs.append(self._log_ratio(mean, fractions[:, None]))
            return np.concatenate(logs, axis=2)

        return given_draws

    @functools.cached_property
    def _leaves_alone(self) -> csr_array:
        """The same of the weights of the rows, (node, class + 1): few classes are in a leaf."""
        leaves = np.flatnonzero(self.column < 0)
        prior = np.full(len(leaves), LEAF_ROWS), np.full(len(leaves), self.n_classes)
        node = np.append(self.leaf, leaves)
        mass, label = np.append(self.mass, prior[0]), np.append(self.y[self.row], prior[1])
        total = np.bincount(node, mass, minlength=len(self.column))
        shape = len(self.column), self.n_classes + 1
        return csr_array((mass / total[node], (node, label)), shape)

    @staticmethod
    def _log_ratio(
        means: Float[np.ndarray, "row ..."], fractions: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "row class *draw"]:
        """Return log p(y = k given x) - log pi_k from the means over trees of `_in_leaves`.

        A row without cells, or in the bag of every tree, of which no tree speaks, says nothing.
        """
        silent = ~means.any(axis=1, keepdims=True)
        return np.log(np.where(silent, 1.0, means[:, :-1] / fractions + means[:, -1:]))

    def _chunks(self, encoded: Encoded) -> Iterator[tuple[Numbers, tuple[np.ndarray, ...]]]:
        """Yield chunks of rows, with row, tree, leaf and share of each leaf that they are in."""
        x = features(self.cells, encoded)
        for part in row_chunks(len(x), CHUNK):
            yield x[part], self._places(x[part])

    def _places(self, x: Numbers) -> tuple[np.ndarray, ...]:
        """Return what `leaves_of` does; a row without an observed cell is in no leaf."""
        row, tree, leaf, share = self.leaves_of(x)
        return row, tree, leaf, np.where(np.isnan(x).all(axis=1)[row], 0.0, share)

    def _means(
        self,
        row: np.ndarray,
        tree: np.ndarray,
        leaf: np.ndarray,
        share: Float[np.ndarray, " place"],
        n_rows: int,
    ) -> csr_array:
        """Return the matrix, (row, node), of means over trees of the leaves of each row."""
        return csr_array((share / len(self.root), (row, leaf)), (n_rows, len(self.column)))

    def shifted(self, origin: Mapping[str, np.ndarray]) -> "Forest":
        """Return the forest of x + origin when this one is of x; origin: by block."""
        by = origins(self.cells, origin)
        inner = self.column >= 0
        moved = self.threshold + np.where(inner, by[self.column], 0.0)
        return self.with_arrays({"threshold": moved})


def begun(
    cells: Sequence[Cell],
    encoded: Encoded,
    y: Membership,
    weight: Weights,
    n_classes: int,
    seed: int = 0,
) -> Growing:
    """Return the start of a forest; neither the order of rows nor that of cells matters.

    Args:
        cells: columns.
        encoded: rows.
        y: their class codes, or shares of the classes: a bag then has each class apart.
        weight: of the rows.
        n_classes: number of classes.
        seed: of bootstrap samples, filled cells and columns tried.
    """
    cells = varying(cells, encoded)
    entries, x = Entries.of(y, weight), features(cells, encoded)
    x = x if y.ndim == 1 else x[entries.row]
    return Growing.of(cells, gather(x, entries.code, entries.weight, n_classes), seed)


def complete(x: Numbers) -> Bool[np.ndarray, " row"]:
    """Return which rows have every cell, and at least one."""
    return ~np.isnan(x).any(axis=1) & bool(x.shape[1])


def features(cells: Sequence[Cell], encoded: Encoded) -> Numbers:
    """Return rows as numbers: of a column of more than two levels an indicator of each level."""
    out = [np.empty((len(next(iter(encoded.values()))), 0))]
    for cell in cells:
        x = cell.of(encoded)
        if not cell.levels:
            out.append(x[:, None])
            continue
        found = (x[:, None] == np.arange(cell.levels)[-_width(cell) :]).astype(float)
        out.append(np.where(x[:, None] < 0, np.nan, found))
    return np.concatenate(out, axis=1)


def varying(cells: Sequence[Cell], encoded: Encoded) -> tuple[Cell, ...]:
    """Return the columns in which the observed cells of rows differ."""
    columns = [(cell, cell.of(encoded)) for cell in cells]
    return tuple(cell for cell, x in columns if len(np.unique(x[~is_missing(x)])) > 1)


def _width(cell: Cell) -> int:
    """Return the number of features of a column."""
    return cell.levels if cell.levels > 2 else 1


def row_keys(x: Numbers, y: Labels) -> Int[np.ndarray, " row"]:
    """Return a digest of the cells and the class of each row."""
    # one zero, and one NaN
    cells = np.where(np.isnan(x), np.nan, x + 0.0)
    digests = [
        hashlib.blake2b(row.tobytes() + bytes(str(k), "ascii"), digest_size=8).digest()
        for row, k in zip(cells, y.tolist(), strict=True)
    ]
    return np.frombuffer(b"".join(digests), dtype=np.int64)


def row_positions(key: Int[np.ndarray, " entry"], x: Numbers, y: Labels) -> Int[np.ndarray, " row"]:
    """Return which of distinct rows, by their digests, each row is, -1 of a row of none."""
    keys = row_keys(x, y)
    order = np.argsort(key)
    place = np.minimum(np.searchsorted(key, keys, sorter=order), len(order) - 1)
    return np.where(key[order[place]] == keys, order[place], -1)


def origins(cells: Sequence[Cell], origin: Mapping[str, np.ndarray]) -> np.ndarray:
    """Return the offset of each feature; origin: of the columns of numbers, by block."""
    return np.concatenate(
        [
            np.zeros(_width(cell))
            if cell.levels or cell.block not in origin
            else origin[cell.block][[cell.position]]
            for cell in cells
        ]
    )
