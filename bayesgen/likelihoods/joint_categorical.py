"""Joint categorical likelihood: one probability table over all combinations of levels per class."""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Num

from bayesgen.errors.operations import incomplete_rows
from bayesgen.likelihoods import contingency_tables as tables
from bayesgen.likelihoods import distinct_rows
from bayesgen.likelihoods.base import (
    broadcast_guess,
    require_unit_sums,
)
from bayesgen.likelihoods.contingency_tables import Pattern
from bayesgen.likelihoods.dirichlet import (
    kept_codes,
    kept_levels,
    log_gammas,
    narrowed,
    starts,
)
from bayesgen.likelihoods.dirichlet_vector import DirichletVector, VectorStatistics
from bayesgen.likelihoods.remainder import Sum
from bayesgen.typing import Block, Labels, LevelCounts, Params, Traceable, Weights

FAMILY = "JointCategorical"


@dataclasses.dataclass(frozen=True, eq=False)
class JointStatistics(VectorStatistics):
    """Counts of complete rows, and the incomplete rows; empty rows are left out.

    count: weight of the complete rows in each cell, (class, cell).
    partial: distinct incomplete rows, codes and -1, (entry, feature), in order of pattern, class
    and codes. partial_class, partial_weight: their classes and weights, (entry,).
    patterns: the observed columns of these rows, and the number of successive rows of each pattern.
    """

    partial: np.ndarray
    partial_class: np.ndarray
    partial_weight: np.ndarray
    n_levels: LevelCounts
    patterns: tuple[tuple[Pattern, int], ...]
    axes: ClassVar = {
        "count": ("class", "cell"),
        "partial": ("entry", "feature"),
        "partial_class": ("entry",),
        "partial_weight": ("entry",),
    }
    weighted: ClassVar = ("count", "partial_weight")

    def __add__(self, other: "JointStatistics") -> "JointStatistics":
        """Return the statistics of the rows of both."""
        return self._joined(self.count + other.count, other, other.partial_weight)

    def __sub__(self, other: "JointStatistics") -> "JointStatistics":
        """Return the statistics without the rows of the other, which must be among them."""
        count = self.count - other.count
        # a remainder this small is rounding
        count = np.where(count > 1e-9 * other.count, count, 0.0)
        return self._joined(count, other, -other.partial_weight)

    def sums(self) -> tuple[Sum, ...]:
        """Return the weights of classes, which show strange incomplete rows, and of cells."""
        weight = self.class_weight()[:, None]
        return (Sum(weight, weight), *super().sums())

    def only_classes(self, stay: np.ndarray) -> "JointStatistics":
        """Return the statistics of some of the classes; the others have no rows."""
        own = np.searchsorted(stay, self.partial_class)
        return self.with_arrays({"count": self.count[stay], "partial_class": own})

    def class_weight(self) -> Float[np.ndarray, " class"]:
        """Return the weight of the rows of each class."""
        partial = np.bincount(self.partial_class, self.partial_weight, minlength=len(self.count))
        return self.count.sum(axis=1) + partial

    def per_level(self) -> Float[np.ndarray, " level"]:
        """Return the weight of each flat level over all classes."""
        columns = zip(self.per_column(), self.n_levels, strict=True)
        return np.concatenate([weight[:n] for weight, n in columns])

    def _joined(
        self, count: np.ndarray, other: "JointStatistics", weight: np.ndarray
    ) -> "JointStatistics":
        x = np.concatenate([self.partial, other.partial])
        y = np.concatenate([self.partial_class, other.partial_class])
        return _collect(count, x, y, np.concatenate([self.partial_weight, weight]), self.n_levels)

    @property
    def has_missing(self) -> bool:
        """Whether a row with a missing value could lie in more than one cell."""
        hidden = (np.array(self.n_levels)[~np.array(pattern)] for pattern, _ in self.patterns)
        return any((n_levels > 1).any() for n_levels in hidden)

    def by_pattern(self) -> Iterator[tuple[Pattern, Traceable, Traceable, Traceable]]:
        """Yield each pattern of incomplete rows, with class, cell and weight of its rows.

        Cells are those of the table of the observed columns. Runs on NumPy and traced JAX arrays.
        """
        end = 0
        for pattern, n in self.patterns:
            at, end = slice(end, end + n), end + n
            cell = tables.cells(self.partial[at], self.n_levels, pattern)
            yield pattern, self.partial_class[at], cell, self.partial_weight[at]

    def totals(self) -> Float[np.ndarray, "class cell"]:
        """Return the counts of all rows, each of which must determine its cell."""
        if self.has_missing:
            raise incomplete_rows(FAMILY)
        out = self.count.copy()
        for _, own, cell, weight in self.by_pattern():
            np.add.at(out, (own, cell), weight)
        return out

    def expected(self, probs: Float[np.ndarray, "class cell"]) -> "JointStatistics":
        """Return expected counts of the completed rows given their observed cells and table."""
        out = self.count.copy()
        for pattern, own, cell, weight in self.by_pattern():
            fits = tables.summed(probs, self.n_levels, pattern)
            ratio = np.zeros_like(fits)
            ratio[own, cell] = weight
            np.divide(ratio, fits, out=ratio, where=ratio > 0)
            out += probs * tables.repeated(ratio, self.n_levels, pattern)
        none = self.partial[:0]
        return JointStatistics(out, none, none[:, 0], np.empty(0), self.n_levels, ())

    def per_column(self) -> list[Float[np.ndarray, " level"]]:
        """Return the observed weight of each level of each column over all classes."""
        table = self.count.sum(axis=0).reshape(tables.shape(self.n_levels))
        out = []
        for j, size in enumerate(table.shape):
            seen = self.partial[:, j] >= 0
            more = np.bincount(self.partial[seen, j], self.partial_weight[seen], minlength=size)
            out.append(table.sum(axis=tuple(np.delete(np.arange(table.ndim), j))) + more)
        return out

    def take(self, axis: str, index: np.ndarray) -> "JointStatistics":
        """Keep flat levels; a column that keeps none is summed out."""
        if axis != "level":
            return super().take(axis, index)
        count = kept_cells(self.count, index, self.n_levels)
        partial = narrowed(self.partial, index, self.n_levels)
        n_levels = kept_levels(self.n_levels, index)
        return _collect(count, partial, self.partial_class, self.partial_weight, n_levels)

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "JointStatistics":
        """Return a copy whose classes have grown to `size`; old class k is at index[k]."""
        grown = super().reindex(axis, index, size)
        own = np.asarray(index, dtype=int)[self.partial_class]
        return _collect(grown.count, self.partial, own, self.partial_weight, self.n_levels)

    def reindex_levels(self, index: np.ndarray, n_levels: LevelCounts) -> "JointStatistics":
        """Return a copy over grown columns; old flat level i is at index[i]."""
        places = zip(starts(self.n_levels), self.n_levels, starts(n_levels), strict=True)
        # the last entry serves missing cells
        code = [np.append(index[a : a + n] - b, -1).astype(int) for a, n, b in places]
        new = [column[: max(n, 1)] for column, n in zip(code, self.n_levels, strict=True)]
        count = np.zeros((len(self.count), *tables.shape(n_levels)))
        old = self.count.reshape(-1, *tables.shape(self.n_levels))
        count[np.ix_(np.arange(len(count)), *new)] = old
        partial = np.stack([c[self.partial[:, j]] for j, c in enumerate(code)], axis=1)
        flat = count.reshape(len(count), -1)
        return _collect(flat, partial, self.partial_class, self.partial_weight, n_levels)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class JointCategorical(DirichletVector[JointStatistics]):
    r"""x | class ~ Categorical(p) over all combinations of levels, p ~ Dirichlet(rows * probs).

    Columns may depend on each other arbitrarily, at the cost of a table whose size is multiplied by
    every column. Update with counts c of n complete rows: rows' = rows + n, probs' = (rows probs +
    c) / rows'. The predictive probability of a combination is its entry of probs'; missing columns
    are summed out. With incomplete rows at fit there is no closed form: Newton's method finds the
    mode or maximum (MAP, MLE), and importance sampling, data augmentation or NUTS draws from the
    posterior; no row is dropped or imputed by a single value. Levels are those declared or observed
    in any class, and every combination of them is a cell.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.4.

    Args:
        probs: guess of the cells' probabilities. None: the product of the columns' overall
            fractions: columns independent, classes alike; "uniform"; a number (then
            cells * probs must be 1); or an array of shape (level of column 1, level of column 2,
            ...) or (cell,), with an axis of classes in front if it differs by class. Cells are in
            lexicographic order: the last column varies fastest.
        rows: prior strength of that guess in rows, > 0; a number or one per class. 8 had the lowest
            log loss over subsets of two to five columns of nine tables, 20 to 200 rows each.
        rows_per_cell: if given, rows = rows_per_cell * (number of cells).
        n_levels: number of levels of each column, filled in from the table.
        idle: positions of columns without an observed cell and a guess, filled in from the table.

    Raises:
        InvalidArgument: probabilities that are not above 0 or do not sum to one, a prior strength
            not above 0.

    Example:
        >>> import bayesgen as bg
        >>> import numpy as np
        >>> x, y = np.array([[0, 0], [1, 1], [1, 1]]), np.array([0, 0, 1])
        >>> laplace = bg.JointCategorical.laplace(1)
        >>> statistics = laplace.statistics(x, y, np.ones(3), n_classes=2, n_levels=(2, 2))
        >>> after = laplace.complete(statistics).posterior(statistics)
        >>> np.exp(after.log_predictive(np.array([[1, 1], [1, -1]]))).round(4)
        array([[0.3333, 0.4   ],
               [0.5   , 0.6   ]])
    """

    probs: float | Num[np.ndarray, "..."] | Sequence | Literal["uniform"] | None = None
    rows: float | int | Num[np.ndarray, "..."] = 8.0
    rows_per_cell: float | int | None = None
    n_levels: LevelCounts = ()
    idle: tuple[int, ...] = ()
    """Columns without an observed cell and without a stated guess; found by `complete`."""

    kind: ClassVar[str] = "levels"
    distribution_words: ClassVar[str] = "fractions of all combinations of levels"
    joint: ClassVar[bool] = True
    no_program: ClassVar[str] = "a table of all combinations of levels is too long to read"
    most_cells: ClassVar[int | None] = tables.MOST_CELLS
    axes: ClassVar = {"probs": ("class", "cell"), "rows": ("class",)}
    param_axes: ClassVar = {"probs": ("class", "cell")}
    hyperparameters: ClassVar = {
        "probs": "simplex",
        **dict.fromkeys(("rows", "rows_per_cell"), "positive"),
    }
    scalars: ClassVar = ("rows_per_cell",)

    def axis_labels(
        self, columns: Sequence[str], levels: Sequence[str]
    ) -> dict[str, Sequence[str]]:
        """Return "a=x, b=y" for every combination of levels, the last column fastest."""
        ends = itertools.accumulate(self.n_levels, initial=0)
        by_column = [levels[start:stop] for start, stop in itertools.pairwise(ends)]
        return {"cell": [", ".join(cell) for cell in itertools.product(*by_column)]}

    @classmethod
    def laplace(cls, count: float | int = 1) -> "JointCategorical":
        """Return the prior that adds `count` to every cell: (c + count) / (n + count cells)."""
        return cls(probs="uniform", rows_per_cell=count)

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> JointStatistics:
        """Return the counts of complete rows by class and cell, and the incomplete rows."""
        nothing = np.zeros((n_classes, tables.n_cells(n_levels)))
        return _collect(nothing, x, y, weight, tuple(n_levels))

    def complete(self, statistics: JointStatistics) -> "JointCategorical":
        """Fill in the guess from overall fractions and broadcast every array."""
        n_classes, n_cells = statistics.count.shape
        probs = broadcast_guess(FAMILY, "probs", self._guess(statistics), statistics.count.shape)
        require_unit_sums(FAMILY, probs.sum(axis=1))
        strength = self.rows if self.rows_per_cell is None else self.rows_per_cell * n_cells
        seen = zip(statistics.n_levels, statistics.per_column(), strict=True)
        never = (j for j, (n, count) in enumerate(seen) if n and not count.any())
        return self.with_arrays(
            {
                "probs": probs,
                "rows": broadcast_guess(FAMILY, "rows", strength, (n_classes,)),
                "rows_per_cell": None,
                "n_levels": statistics.n_levels,
                "idle": tuple(never) if self.probs is None else (),
            }
        )

    def _guess(self, statistics: JointStatistics) -> object:
        n_classes, n_cells = statistics.count.shape
        if isinstance(self.probs, str):
            return 1.0 / n_cells
        if self.probs is None:
            return functools.reduce(np.multiply.outer, _fractions(statistics)).ravel()
        stated, n_levels = np.asarray(self.probs, dtype=float), statistics.n_levels
        # one axis of cells instead of one for each column
        wide = stated.shape in (n_levels, (n_classes, *n_levels))
        return stated.reshape(-1, math.prod(n_levels)) if wide else stated

    def uninformative(self) -> np.ndarray:
        """Return the flat levels without a stated guess and without an observed cell."""
        wide = self.probs.sum(axis=0).reshape(tables.shape(self.n_levels))
        out = []
        for j, n in enumerate(self.n_levels):
            slices = wide.sum(axis=tuple(i for i in range(wide.ndim) if i != j))
            out.append(np.full(n, fill_value=True) if j in self.idle else slices[:n] == 0)
        return np.concatenate(out)

    def take(self, axis: str, index: np.ndarray) -> "JointCategorical":
        """Keep classes or flat levels; a column that keeps no level is summed out."""
        if axis != "level":
            return super().take(axis, index)
        probs = kept_cells(self.probs, index, self.n_levels)
        n_levels = kept_levels(self.n_levels, index)
        return self.with_arrays({"probs": probs, "n_levels": n_levels, "idle": ()})

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log of the sum of probs over consistent cells, shape (row, class)."""
        return self.log_density_fn({"probs": self.probs})

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, draw, class)."""
        return tables.look_up(params["probs"], self.n_levels, _log_of_sums)

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        The cells that fit a row sum to a share Beta(a, rows - a). Gamma(a + 1) is Gamma(a) plus an
        exponential: the update adds one exponential to the share and to the whole.
        """
        gammas = log_gammas(rng, self.concentration(), n)
        whole = np.logaddexp.reduce(gammas, axis=-1)
        extra = np.log(rng.exponential(size=whole.shape))
        score = tables.look_up(gammas, self.n_levels, tables.log_summed)

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            # (row, draw, class) -> (draw, row, class)
            here = np.swapaxes(score(x), 0, 1)
            mine = own[..., None] == np.arange(here.shape[-1])
            plus = np.where(mine, extra[:, None], -np.inf)
            share = np.logaddexp(here, plus) - np.logaddexp(whole[:, None], plus)
            return np.where((x >= 0).any(axis=1)[:, None], share, 0.0)

        return log_density

    def log_likelihood(self, params: Params, statistics: JointStatistics) -> Traceable:
        """Return log p(rows given params): complete rows by cell, others by observed part."""
        probs, total = params["probs"], super().log_likelihood(params, statistics)
        xp = probs.__array_namespace__()
        with np.errstate(divide="ignore"):
            for pattern, own, cell, weight in statistics.by_pattern():
                fits = xp.log(tables.summed(probs, self.n_levels, pattern))
                total = total + fits[..., own, cell] @ weight
        return total

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn: a cell's predictive is its mean."""
        return self.fill_given({"probs": self.probs}, x, own, rng)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        n_levels = self.n_levels
        out = np.where(x < 0, self.simulate(params, own, rng), x)
        for pattern, rows in tables.by_pattern(x >= 0):
            fits = tables.fitting(n_levels, pattern)[tables.cells(x[rows], n_levels, pattern)]
            steps = params["probs"][own[rows, None], fits].cumsum(axis=1)
            place = (rng.random((len(rows), 1)) * steps[:, -1:] >= steps).sum(axis=1)
            cell = fits[np.arange(len(rows)), np.minimum(place, fits.shape[1] - 1)]
            codes = np.stack(np.unravel_index(cell, tables.shape(n_levels)), axis=1)
            codes = np.where(np.array(n_levels) > 0, codes, -1)
            out[rows] = np.where(x[rows] >= 0, x[rows], codes)
        return out

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return one cell of its class's table for each row, as codes."""
        cell, u = np.empty(len(y), dtype=int), rng.random(len(y))
        for k in np.unique(y):
            steps = params["probs"][k].cumsum()
            mine = y == k
            place = np.searchsorted(steps, u[mine] * steps[-1], side="right")
            cell[mine] = np.minimum(place, len(steps) - 1)
        codes = np.stack(np.unravel_index(cell, tables.shape(self.n_levels)), axis=1)
        return np.where(np.array(self.n_levels) > 0, codes, -1)


def _fractions(statistics: JointStatistics) -> list[np.ndarray]:
    """Return the fractions of each column; a column never observed has equal ones."""
    counts = statistics.per_column()
    return [c / c.sum() if c.any() else np.full(len(c), 1 / len(c)) for c in counts]


def _log_of_sums(table: np.ndarray, n_levels: LevelCounts, pattern: tables.Pattern) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(tables.summed(table, n_levels, pattern))


def _collect(
    count: Float[np.ndarray, "class cell"],
    x: Block,
    y: Labels,
    weight: Weights,
    n_levels: LevelCounts,
) -> JointStatistics:
    """Return statistics with rows added to counts: the complete ones there, the others in order."""
    complete = (x >= 0).all(axis=1)
    n_classes, size = count.shape
    every = (True,) * x.shape[1]
    cell = y[complete] * size + tables.cells(x[complete], n_levels, every)
    more = np.bincount(cell, weight[complete], minlength=count.size).reshape(count.shape)
    left = distinct_rows.gather(x[~complete], y[~complete], weight[~complete], n_classes)
    seen = left.x >= 0
    # stable: within a pattern rows keep the order of class and codes
    order = np.lexsort(seen.T[::-1])
    new = np.flatnonzero((seen[order][1:] != seen[order][:-1]).any(axis=1)) + 1
    sizes = np.diff([0, *new, len(order)]) if len(order) else []
    firsts = seen[order][[0, *new]] if len(order) else []
    patterns = zip((tuple(p.tolist()) for p in firsts), map(int, sizes), strict=True)
    return JointStatistics(
        count + more, left.x[order], left.y[order], left.weight[order], n_levels, tuple(patterns)
    )


def kept_cells(table: np.ndarray, index: np.ndarray, n_levels: LevelCounts) -> np.ndarray:
    """Return tables (..., cell) of the kept flat levels; a column without any is summed out."""
    batch = table.shape[:-1]
    wide = table.reshape(*batch, *tables.shape(n_levels))
    for j, kept in enumerate(kept_codes(index, n_levels)):
        axis = len(batch) + j
        wide = np.take(wide, kept, axis) if len(kept) else wide.sum(axis=axis, keepdims=True)
    return wide.reshape(*batch, -1)
