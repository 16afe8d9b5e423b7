"""Categorical likelihood for columns of levels, with a Dirichlet prior per class and column."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Float, Num

from bayesgen.likelihoods.base import Guess, require_unit_sums
from bayesgen.likelihoods.columnwise import Cell, Columnwise
from bayesgen.likelihoods.description import literal
from bayesgen.likelihoods.dirichlet import (
    dirichlets,
    kept_levels,
    log_gammas,
    log_ratios,
    log_sums,
    segments,
    simplexes_transform,
    starts,
)
from bayesgen.likelihoods.exponential_family import SufficientStatistics
from bayesgen.likelihoods.special_functions import log_rising_factorial, namespace
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Transform, Weights

ROWS_PER_LEVEL = 2.0
COUNTED_ROWS = 8192
"""Rows counted at once: 8192 x 20 positions are 1.3 MB, about a second-level cache (measured)."""


@dataclasses.dataclass(frozen=True, eq=False)
class CategoricalStatistics(SufficientStatistics):
    """count: weight of each level of each column within each class, shape (class, level)."""

    count: np.ndarray
    n_levels: LevelCounts
    axes: ClassVar = {"count": ("class", "level")}

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., class, level)."""
        return self.count.shape

    def pooled(self) -> "CategoricalStatistics":
        """Return the counts over all classes, as of one class."""
        return CategoricalStatistics(self.count.sum(axis=-2, keepdims=True), self.n_levels)

    def total_features(self) -> Traceable:
        """Return the counts: the features of a row are its 0/1 levels."""
        return self.count

    def per_column(self) -> Traceable:
        """Return the weight of observed cells, shape (class, feature)."""
        return self.count @ segments(self.n_levels)

    def per_level(self) -> np.ndarray:
        """Return the weight of each flat level over all classes."""
        return self.count.sum(axis=0)

    def take(self, axis: str, index: np.ndarray) -> "CategoricalStatistics":
        """Keep classes or flat levels."""
        n_levels = kept_levels(self.n_levels, index) if axis == "level" else self.n_levels
        count = np.take(self.count, index, {"class": -2, "level": -1}[axis])
        return CategoricalStatistics(count, n_levels)

    def reindex_levels(self, index: np.ndarray, n_levels: LevelCounts) -> "CategoricalStatistics":
        """Return the counts over grown columns; old flat level i is at index[i]."""
        count = np.zeros((len(self.count), sum(n_levels)))
        count[:, index] = self.count
        return CategoricalStatistics(count, n_levels)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Categorical(Columnwise):
    r"""x | class ~ Categorical(p) for each column, with p ~ Dirichlet(rows * probs).

    Update with counts c of n observed rows, per class and column: rows' = rows + n,
    probs' = (rows probs + c) / rows'. The predictive probability of a level is its entry of probs'.
    Levels are those declared or observed in any class; a level with neither a stated guess nor a
    row is uninformative.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.4.

    Args:
        probs: guess of the levels' probabilities. None: the column's overall fractions (the
            m-estimate); "uniform"; a number (then levels * probs must be 1); or one number per
            level, columns side by side.
        rows: prior strength of that guess in rows, > 0; a number or one per column, or "learn".
            None: rows_per_level times the number of levels of the column.
        rows_per_level: prior strength per level, > 0. The default, 2, had the lowest log loss on
            tables of levels with 24 rows, at no loss with all rows (benchmarks/calibration.py).
        n_levels: number of levels of each column, filled in from the table.

    Raises:
        InvalidArgument: probabilities that are negative or do not sum to one, a prior strength not
            above 0.

    Example:
        >>> import bayesgen as bg
        >>> import numpy as np
        >>> x, y = np.array([[0], [0], [1]]), np.array([0, 0, 1])
        >>> laplace = bg.Categorical.laplace(1)
        >>> statistics = laplace.statistics(x, y, np.ones(3), n_classes=2, n_levels=(2,))
        >>> laplace.complete(statistics).posterior(statistics).probs
        array([[0.75      , 0.25      ],
               [0.33333333, 0.66666667]])
    """

    probs: float | Num[np.ndarray, "..."] | Sequence[float] | Literal["uniform"] | None = None
    rows: Guess = None
    rows_per_level: float | int = ROWS_PER_LEVEL
    n_levels: LevelCounts = ()

    kind: ClassVar[str] = "levels"
    lost_levels_are_missing: ClassVar[bool] = True
    distribution_words: ClassVar[str] = "fractions of levels"
    param_words: ClassVar = {"probs": "probability"}
    axes: ClassVar = {"probs": ("class", "level"), "rows": ("class", "feature")}
    supports: ClassVar = {"probs": "simplex"}
    program_priors: ClassVar = {"probs": "dist.Dirichlet(rows * probs)"}
    program_cells: ClassVar[str] = "dist.Categorical(probs[y])"
    param_axes: ClassVar = {"probs": ("class", "level")}
    hyperparameters: ClassVar = {
        "probs": "simplex",
        **dict.fromkeys(("rows", "rows_per_level"), "positive"),
    }
    scalars: ClassVar = ("rows_per_level",)
    words: ClassVar = {"probs": ("uniform",)}
    hyperparameter_grid: ClassVar = {"rows": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)}

    @classmethod
    def laplace(cls, count: float | int = 1) -> "Categorical":
        """Return the prior that adds `count` to every level: (c + count) / (n + count L)."""
        return cls(probs="uniform", rows_per_level=count)

    @classmethod
    def m_estimate(cls, rows: float | int) -> "Categorical":
        """Return the prior of strength `rows` around the overall fractions: (c + m p) / (n + m)."""
        return cls(probs=None, rows=rows)

    # -- counts of levels --------------------------------------------------------------------------

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> CategoricalStatistics:
        """Return the weight of each level within each class; code -1 is missing."""
        # one slot more for each column, in front, for missing cells
        size = sum(n_levels) + len(n_levels)
        slot = starts(tuple(n + 1 for n in n_levels)) + 1
        even = bool((weight == 1).all())
        counts = np.zeros(n_classes * size)
        first = np.arange(n_classes)[:, None] * size + slot
        for start in range(0, len(y), COUNTED_ROWS):
            rows = slice(start, start + COUNTED_ROWS)
            cells = first.take(y[rows], axis=0)
            cells += x[rows]
            weights = None if even else np.repeat(weight[rows], cells.shape[1])
            counts += np.bincount(cells.ravel(), weights, minlength=len(counts))
        levels = np.delete(np.arange(size), slot - 1)
        return CategoricalStatistics(counts.reshape(n_classes, size)[:, levels], tuple(n_levels))

    def cell(self, x: Cell) -> tuple[Cell, ...]:
        """Return the one-hot levels of all columns side by side; 0 for a missing cell."""
        out = np.zeros((len(x), sum(self.n_levels)))
        for j, first in enumerate(starts(self.n_levels)):
            seen = np.flatnonzero(x[:, j] >= 0)
            out[seen, first + x[seen, j]] = 1.0
        return (out,)

    # -- the prior and its update ------------------------------------------------------------------

    def complete(self, statistics: CategoricalStatistics) -> "Categorical":
        """Fill in the guess from overall fractions and broadcast every array."""
        sizes = np.array(statistics.n_levels)
        stated = self.with_arrays({"n_levels": statistics.n_levels})
        if isinstance(self.probs, str):
            stated = stated.with_arrays({"probs": 1.0 / stated.over_levels(sizes)})
        filled = super(Categorical, stated).complete(statistics)
        if self.probs is not None:
            require_unit_sums("Categorical", filled.probs @ segments(statistics.n_levels))
        return filled.with_arrays({"rows_per_level": ROWS_PER_LEVEL})

    def guess(self, statistics: CategoricalStatistics) -> dict[str, Cell]:
        """Return overall fractions, 0 for levels without a row, and rows of each column."""
        fractions = np.nan_to_num(self.estimate(statistics)["probs"])
        return {"probs": fractions, "rows": self.rows_per_level * np.maximum(self.n_levels, 1)}

    def _shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        return {"probs": shape, "rows": (*shape[:-1], len(self.n_levels))}

    def over_levels(self, columns: Traceable) -> Traceable:
        """Broadcast values of columns to their levels."""
        return columns[..., np.repeat(np.arange(len(self.n_levels)), self.n_levels)]

    def concentration(self) -> Traceable:
        """Return the Dirichlet concentration rows * probs."""
        return self.over_levels(self.rows) * self.probs

    def posterior(self, statistics: CategoricalStatistics) -> "Categorical":
        """Return rows + n and (rows probs + count) / (rows + n)."""
        rows = self.rows + statistics.per_column()
        probs = (self.concentration() + statistics.count) / self.over_levels(rows)
        return self.with_arrays({"probs": probs, "rows": rows})

    def log_evidence_cells(self, statistics: CategoricalStatistics) -> Traceable:
        """Return log Gamma(rows probs + count) / Gamma(rows probs), less that of column sums."""
        levels, columns = self._log_evidence_terms(statistics)
        return namespace(levels).concat([levels, -columns], axis=-1)

    def log_evidence_columns(self, statistics: CategoricalStatistics) -> Traceable:
        """Return log p(each column given classes), parameters integrated out, (..., feature)."""
        levels, columns = self._log_evidence_terms(statistics)
        return (levels @ segments(self.n_levels) - columns).sum(axis=-2)

    def _log_evidence_terms(self, statistics: CategoricalStatistics) -> tuple[Traceable, Traceable]:
        """Return the log Gamma ratios of the levels, and of the sums of columns."""
        xp = namespace(self.rows, self.probs)
        # a level of probability 0 has no count; 0 has no gradient in the branch not taken either
        concentration = xp.where(self.probs > 0, self.concentration(), 1.0)
        levels = log_rising_factorial(concentration, statistics.count)
        return levels, log_rising_factorial(self.rows, statistics.per_column())

    # -- some of the levels ------------------------------------------------------------------------

    def uninformative(self) -> np.ndarray:
        """Return a mask of the flat levels without a stated guess or a row."""
        return (self.probs == 0).all(axis=-2)

    def take(self, axis: str, index: np.ndarray) -> "Categorical":
        """Keep classes or flat levels."""
        kept = super().take(axis, index)
        if axis == "level":
            object.__setattr__(kept, "n_levels", kept_levels(self.n_levels, index))
        return kept

    # -- densities ---------------------------------------------------------------------------------

    def coefficients(self, xp: Any, probs: Traceable) -> tuple[Traceable | float, ...]:
        """Return log probs."""
        return (xp.log(probs),)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class), by table look-up.

        One indexing per column takes two thirds of the time of a product with one-hot levels.
        """
        first, table = starts(self.n_levels), np.moveaxis(_log_table(params["probs"]), -1, 0).copy()

        def log_density(x: Block) -> Float[np.ndarray, "row ..."]:
            out = np.zeros((len(x), *table.shape[1:]))
            for j in range(x.shape[1]):
                out += table[np.where(x[:, j] < 0, -1, first[j] + x[:, j])]
            return out

        return log_density

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of log probs, by the look-up."""
        return self.log_density_fn({"probs": self.probs})

    def log_predictive_cell(self, x: Cell) -> Cell:
        """Return log probs of codes, 0 of missing ones."""
        table = _log_table(self.probs)
        place = np.where(x < 0, table.shape[-1] - 1, starts(self.n_levels) + x)
        wide = table.reshape(*[1] * (place.ndim - table.ndim), *table.shape)
        return np.take_along_axis(wide, place, axis=-1)

    # -- draws and estimates -----------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the probabilities, (draw, class, level)."""
        logs = log_gammas(rng, self.concentration(), n)
        return {"probs": np.exp(logs - self.over_levels(log_sums(logs, self.n_levels)))}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        Gamma(a + 1) is Gamma(a) plus an exponential: the update adds one to the row's own level.
        """
        level = log_gammas(rng, self.concentration(), n)
        column = log_sums(level, self.n_levels)
        extra = np.log(rng.exponential(size=column.shape))
        first, draws = starts(self.n_levels), np.arange(n)[:, None]

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            out = np.zeros((*own.shape, self.probs.shape[0]))
            for j in np.flatnonzero(self.n_levels):
                seen, at = x[:, j] >= 0, first[j] + np.maximum(x[:, j], 0)
                # (draw, class, row) -> (draw, row, class)
                terms = np.swapaxes(level[:, :, at], 1, 2) - column[:, None, :, j]
                plus = extra[draws, own, j]
                mine = np.logaddexp(level[draws, own, at], plus)
                mine -= np.logaddexp(column[draws, own, j], plus)
                np.put_along_axis(terms, own[..., None], mine[..., None], axis=2)
                out += np.where(seen[:, None], terms, 0.0)
            return out

        return log_density

    def estimate(self, statistics: CategoricalStatistics) -> dict[str, Cell]:
        """Return relative frequencies."""
        return {"probs": statistics.count / self.over_levels(statistics.per_column())}

    def _unseen(self, statistics: CategoricalStatistics) -> np.ndarray:
        return statistics.per_column() == 0

    def simulate_cell(self, rng: np.random.Generator, probs: Cell) -> Cell:
        """Return one level per column for each row of probabilities."""
        out = np.full((len(probs), len(self.n_levels)), -1)
        for j, (first, size) in enumerate(zip(starts(self.n_levels), self.n_levels, strict=True)):
            if size:
                steps = probs[:, first : first + size].cumsum(axis=1)
                u = rng.random(len(probs))[:, None] * steps[:, -1:]
                out[:, j] = (u >= steps[:, :-1]).sum(axis=1)
        return out

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn: a level's predictive is its mean."""
        return self.fill_given({"probs": self.probs}, x, own, rng)

    # -- the program -------------------------------------------------------------------------------

    def story(self, name: str) -> Params:
        """Sample every column's probabilities in every class, all columns side by side."""
        import numpyro

        with numpyro.plate(f"{name}.class", self.probs.shape[0], dim=-1):
            prior = dirichlets()(self.concentration(), self.n_levels)
            return {"probs": numpyro.sample(f"{name}.probs", prior)}

    def program_numbers(self) -> dict[str, str | list[str]]:
        """Return the numbers of each column with a level; strengths multiply (class, level)."""
        levels = np.split(self.probs, starts(self.n_levels)[1:], axis=-1)
        read = [j for j, n in enumerate(self.n_levels) if n]
        return {
            "probs": [literal(levels[j]) for j in read],
            "rows": [literal(self.rows[:, j, None], 2) for j in read],
        }

    def whitening(self, statistics: CategoricalStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return the free levels, and center and width of their posterior log-ratios."""
        return {"probs": log_ratios(self.posterior(statistics).concentration(), self.n_levels)}

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the softmax of center + width u."""
        return simplexes_transform()(*arrays, self.n_levels)


def _log_table(probs: Float[np.ndarray, "*batch level"]) -> Float[np.ndarray, "*batch entry"]:
    """Return log probs of each level and, as a last entry, 0 for missing cells."""
    with np.errstate(divide="ignore"):
        return np.concatenate([np.log(probs), np.zeros((*probs.shape[:-1], 1))], axis=-1)
