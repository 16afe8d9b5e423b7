"""Levels: one categorical distribution per class and column, with a Dirichlet prior."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float, Num
from scipy.special import gammaln

from bayesgen.errors import InvalidPrior
from bayesgen.likelihoods.base import Repair
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
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.likelihoods.hyperparameters import Guess, broadcast_guess, require_positive
from bayesgen.likelihoods.level_counts import CategoricalStatistics, cross_tables, look_up
from bayesgen.likelihoods.level_subset import narrowed, widened
from bayesgen.typing import Block, Evidence, Joint, Labels, Params, Traceable, Transform, Weights

ROWS_PER_LEVEL = 2.0


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Categorical(ExponentialFamily[CategoricalStatistics]):
    r"""x | class ~ Categorical(p) for each column, with p ~ Dirichlet(rows * probs).

    Update with counts c of n observed rows, per class and column: rows' = rows + n,
    probs' = (rows probs + c) / rows'. The predictive of a level is its probs'. Levels are those
    declared or seen in any class; a level that nobody stated and no row showed tells nothing.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.4.

    Args:
        probs: guess of the levels' probabilities. None: the column's overall fractions (the
            m-estimate); "uniform"; a number (then levels * probs must be 1); or one number per
            level, columns side by side.
        rows: how many rows that guess is worth, > 0; a number or one per column, or "learn". None:
            rows_per_level times the number of levels of the column.
        rows_per_level: that share of each level, > 0. The default, 2, had the lowest log loss on
            tables of levels with 24 rows without losing any with all (benchmarks/calibration.py).

    Raises:
        InvalidPrior: probabilities that are negative or do not sum to one, a worth not above 0.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([[0], [0], [1]]), np.array([0, 0, 1])
        >>> laplace = Categorical.laplace(1)
        >>> statistics = laplace.statistics(x, y, np.ones(3), n_classes=2, n_levels=(2,))
        >>> laplace.complete(statistics).posterior(statistics).probs
        array([[0.75      , 0.25      ],
               [0.33333333, 0.66666667]])
    """

    probs: float | Num[np.ndarray, "..."] | Sequence[float] | Literal["uniform"] | None = None
    rows: Guess = None
    rows_per_level: float | int = ROWS_PER_LEVEL
    n_levels: tuple[int, ...] = ()

    kind: ClassVar[str] = "levels"
    axes: ClassVar = {"probs": ("class", "level"), "rows": ("class", "feature")}
    param_axes: ClassVar = {"probs": ("class", "level")}
    subset_axis: ClassVar[str] = "level"
    vectorised: ClassVar[bool] = True
    hyperparameter_grid: ClassVar = {"rows": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)}

    def __post_init__(self) -> None:
        """Refuse worths that are not positive and guesses that are no probabilities."""
        require_positive(self, "rows", "rows_per_level")
        if self.probs is not None and not isinstance(self.probs, str):
            probs = np.asarray(self.probs, dtype=float)
            if not np.isfinite(probs).all() or (probs <= 0).any():
                raise InvalidPrior.not_probabilities("Categorical", "probs", self.probs)

    @classmethod
    def laplace(cls, count: float | int = 1) -> "Categorical":
        """Return the prior that adds `count` to every level: (c + count) / (n + count L)."""
        return cls(probs="uniform", rows_per_level=count)

    @classmethod
    def m_estimate(cls, rows: float | int) -> "Categorical":
        """Return the prior worth `rows` rows of the overall fractions: (c + m p) / (n + m)."""
        return cls(probs=None, rows=rows)

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> CategoricalStatistics:
        """Return the counts of levels by class; code -1 is missing."""
        count = cross_tables(x, y, weight, n_classes, n_levels)
        return CategoricalStatistics(count, tuple(n_levels))

    def complete(self, statistics: CategoricalStatistics) -> "Categorical":
        """Fill the guess from overall fractions and give every array its shape."""
        n_levels, shape = statistics.n_levels, statistics.count.shape
        probs = broadcast_guess("Categorical", "probs", self._guess(statistics), shape)
        sums = probs @ segments(n_levels)
        unseen = (sums == 0) if self.probs is None else np.zeros(sums.shape, dtype=bool)
        if not np.allclose(sums[~unseen], 1.0, rtol=0, atol=1e-8):
            raise InvalidPrior.does_not_sum_to_one("Categorical.probs", sums[~unseen])
        rows = self.rows
        if rows is None:
            rows = self.rows_per_level * np.maximum(n_levels, 1)
        rows = broadcast_guess("Categorical", "rows", rows, (*shape[:-1], len(n_levels)))
        filled = self.with_arrays({"probs": probs, "rows": rows})
        object.__setattr__(filled, "n_levels", n_levels)
        object.__setattr__(filled, "rows_per_level", ROWS_PER_LEVEL)
        return filled

    def _guess(self, statistics: CategoricalStatistics) -> object:
        size = segments(statistics.n_levels).sum(axis=0) @ segments(statistics.n_levels).T
        if isinstance(self.probs, str):
            return 1.0 / size
        if self.probs is not None:
            return self.probs
        pooled = statistics.count.sum(axis=-2, keepdims=True)
        totals = statistics.per_column().sum(axis=-2, keepdims=True)
        totals = totals @ segments(statistics.n_levels).T
        return np.divide(pooled, totals, out=np.zeros_like(pooled), where=totals > 0)

    def uninformative(self) -> np.ndarray:
        """Return which flat levels nobody stated and no row showed."""
        return (self.probs == 0).all(axis=-2)

    def take(self, axis: str, index: np.ndarray) -> "Categorical":
        """Keep classes or flat levels."""
        kept = super().take(axis, index)
        if axis == "level":
            object.__setattr__(kept, "n_levels", kept_levels(self.n_levels, index))
        return kept

    def select(self, x: Block, index: np.ndarray) -> Block:
        """Return codes among the kept levels; a code that was not kept is missing."""
        return narrowed(x, index, self.n_levels)

    def restore(self, x: Block, index: np.ndarray, blank: Block) -> Block:
        """Return codes among all levels: undoes `select`."""
        return widened(x, index, self.n_levels, blank)

    def posterior(self, statistics: CategoricalStatistics) -> "Categorical":
        """Return rows + n and (rows probs + count) / (rows + n)."""
        rows = self.rows + statistics.per_column()
        wide = segments(self.n_levels).T
        probs = (self.rows @ wide * self.probs + statistics.count) / (rows @ wide)
        return self.with_arrays({"probs": probs, "rows": rows})

    def concentration(self) -> Traceable:
        """Return the Dirichlet concentration rows * probs."""
        return self.rows @ segments(self.n_levels).T * self.probs

    def log_evidence(self, statistics: CategoricalStatistics) -> Evidence:
        """Return the sum of log Dirichlet-multinomial terms (sequences, not counts)."""
        after = self.posterior(statistics)
        before, late = self.concentration(), after.concentration()
        levels = np.where(before > 0, gammaln(late) - gammaln(before), 0.0)
        columns = gammaln(self.rows) - gammaln(after.rows)
        return columns.sum(axis=(-2, -1)) + levels.sum(axis=(-2, -1))

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log probs, shape (row, class)."""
        return look_up(self.probs, self.n_levels)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return what the i-th of priors along a leading axis says of row i, (row, class)."""
        out = np.zeros(self.probs.shape[:2])
        for j, first in enumerate(starts(self.n_levels)):
            seen = np.flatnonzero(x[:, j] >= 0)
            out[seen] += np.log(self.probs[seen, :, first + x[seen, j]])
        return out

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params) by look-up: a one-hot GEMM without the zeros."""
        return look_up(params["probs"], self.n_levels)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the probabilities, (draw, class, level)."""
        logs = log_gammas(rng, self.concentration(), n)
        return {"probs": np.exp(logs - log_sums(logs, self.n_levels) @ segments(self.n_levels).T)}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        Gamma(a + 1) is Gamma(a) plus an exponential: the update adds one to the row's own level.
        """
        level = log_gammas(rng, self.concentration(), n)
        column = log_sums(level, self.n_levels)
        extra = np.log(rng.exponential(size=column.shape))
        first = starts(self.n_levels)

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            out = np.zeros((*own.shape, self.probs.shape[0]))
            for j in np.flatnonzero(self.n_levels):
                seen = x[:, j] >= 0
                # (draw, class, row) -> (draw, row, class)
                here = np.swapaxes(level[:, :, first[j] + np.maximum(x[:, j], 0)], 1, 2)
                mine = own[..., None] == np.arange(out.shape[-1])
                plus = np.where(mine, extra[:, None, :, j], -np.inf)
                terms = np.logaddexp(here, plus) - np.logaddexp(column[:, None, :, j], plus)
                out += np.where(seen[:, None], terms, 0.0)
            return out

        return log_density

    def mode(self) -> Params:
        """Return probs: the mode in log-odds, (count + rows probs) / (n + rows) after updating."""
        return {"probs": self.probs}

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of log probs: the Jacobian of softmax."""
        return params["probs"].__array_namespace__().log(params["probs"]).sum()

    def maximum_likelihood(
        self,
        statistics: CategoricalStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return relative frequencies; a class without an observed cell takes the pooled ones."""
        wide = segments(statistics.n_levels).T
        pooled = statistics.count.sum(axis=0)
        seen = (pooled @ wide.T) @ wide
        # a column never observed has its stated guess
        pooled = np.divide(pooled, seen, out=self.probs.mean(axis=0), where=seen > 0)
        n = statistics.per_column()
        frequencies = np.divide(
            statistics.count, n @ wide, out=np.zeros_like(statistics.count), where=n @ wide > 0
        )
        empty = n == 0
        findings = [Repair("pooled", *map(int, at)) for at in np.argwhere(empty)]
        return {"probs": np.where(empty @ wide > 0, pooled, frequencies)}, findings

    def initial_params(self, statistics: CategoricalStatistics) -> Params:
        """Return the pooled fractions for every class, one row of the guess added."""
        pooled = statistics.count.sum(axis=0) + self.probs.mean(axis=0)
        wide = segments(statistics.n_levels).T
        return {
            "probs": np.broadcast_to(pooled / ((pooled @ wide.T) @ wide), statistics.count.shape)
        }

    def features(self, x: Block) -> Float[np.ndarray, "row level"]:
        """Return the 0/1 levels of rows; a missing cell has none."""
        out = np.zeros((len(x), sum(self.n_levels)))
        for j, first in enumerate(starts(self.n_levels)):
            seen = np.flatnonzero(x[:, j] >= 0)
            out[seen, first + x[seen, j]] = 1.0
        return out

    def natural(self, params: Params) -> Traceable:
        """Return log probs, shape (..., class, level)."""
        with np.errstate(divide="ignore"):
            return params["probs"].__array_namespace__().log(params["probs"])

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return one level per column of each row's class."""
        out = np.full((len(y), len(self.n_levels)), -1)
        for j, (first, size) in enumerate(zip(starts(self.n_levels), self.n_levels, strict=True)):
            if size:
                steps = params["probs"][:, first : first + size].cumsum(axis=1)
                u = rng.random(len(y))[:, None] * steps[y, -1:]
                out[:, j] = (u >= steps[y][:, :-1]).sum(axis=1)
        return out

    def story(self, name: str) -> Params:
        """Sample every column's probabilities in every class."""
        import numpyro

        with numpyro.plate(f"{name}.class", self.probs.shape[0], dim=-1):
            prior = dirichlets()(self.concentration(), self.n_levels)
            return {"probs": numpyro.sample(f"{name}.probs", prior)}

    def whitening(self, statistics: CategoricalStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return which levels are free, and centre and width of their posterior log-ratios."""
        return {"probs": log_ratios(self.posterior(statistics).concentration(), self.n_levels)}

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the softmax of centre + width u."""
        return simplexes_transform()(*arrays, self.n_levels)
