"""Base class of conjugate families whose columns are independent given class and parameters.

A family supplies the formulas for one cell in about ten short methods. Statistics, scores,
evidence, leave-one-out, estimates, programs, sparse rows and imputation follow from them. See
`Poisson` for the pattern, and the page "Add a likelihood" of the documentation.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array, issparse

from bayesgen.likelihoods import sparse, supports
from bayesgen.likelihoods.base import (
    CHUNK_ROWS,
    Likelihood,
    Repair,
    broadcast_guess,
    fill_cell_by_cell,
    one_hot,
    row_chunks,
)
from bayesgen.likelihoods.description import literal
from bayesgen.likelihoods.exponential_family import ExponentialFamily, SufficientStatistics
from bayesgen.likelihoods.protocols import require_evidence
from bayesgen.typing import (
    Block,
    Evidence,
    Joint,
    Labels,
    LevelCounts,
    Params,
    Traceable,
    Weights,
)

MANY_CLASSES = 100
"""Classes above which sums are sparse products: of rows left out each stands for a class."""
CELLS = ("class", "feature")
"""The axes of a hyperparameter or a parameter with one value for each class and column."""
SCORED_CELLS = 1 << 18
"""Cells times classes scored at once: 2 MB."""
WHITENING_DRAWS = 400
"""Draws of the posterior whose quantiles give a sampler its scales."""
CACHE_FLOATS = 4_000_000
"""Densities of draws kept for the next row: 32 MB."""

C = TypeVar("C", bound="Columnwise")
Cell = Traceable
"""Cells, or values of each of them: any shape that broadcasts to (..., class, feature)."""
Sums = Any
"""Statistics of a family: `CellSums`, or those that its own `statistics` returns, with `shape`,
`pooled` and `total_features`."""


@dataclasses.dataclass(frozen=True, eq=False)
class CellSums(SufficientStatistics):
    """Weighted sums of the statistics of observed cells, shape (class, statistic, feature).

    signed: positions of the statistics that may be negative.
    """

    values: np.ndarray
    signed: tuple[int, ...] = ()
    axes: ClassVar = {"values": ("class", "statistic", "feature")}

    @property
    def shape(self) -> tuple[int, ...]:
        """(..., class, feature)."""
        return (*self.values.shape[:-2], self.values.shape[-1])

    def __iter__(self) -> Iterator[Traceable]:
        """Yield each statistic, of shape (..., class, feature)."""
        return (self.values[..., s, :] for s in range(self.values.shape[-2]))

    def pooled(self) -> "CellSums":
        """Return the sums over all classes, as of one class."""
        return self.with_arrays({"values": self.values.sum(axis=-3, keepdims=True)})

    def total_features(self) -> Traceable:
        """Return the sums side by side, shape (..., class, statistic * feature)."""
        *lead, n, p = self.values.shape
        return self.values.reshape(*lead, n * p)


class Columnwise(ExponentialFamily[CellSums]):
    """A conjugate family with independent columns.

    A subclass is a frozen dataclass whose fields are prior guesses and strengths. It declares
    `axes` (the fields, of axes `CELLS`), `supports` (parameter -> the name of its support) and,
    where settings may be learned, `hyperparameter_grid`; and it writes the methods that are
    abstract here. `posterior` and `log_evidence_cells` must run on NumPy and on traced JAX arrays:
    functions for both are in `bayesgen.likelihoods.special_functions`.
    """

    signed: ClassVar[tuple[int, ...]] = ()
    """Positions of the statistics of `cell` that may be negative, so that a sum of some rows may
    exceed that of all; the others are taken to be nonnegative."""

    @property
    def hyperparameters(self) -> dict[str, str]:
        """The range of a guess is the support of its parameter; strengths are positive."""
        stated = [f.name for f in dataclasses.fields(self) if f.init and f.name in self.axes]
        return {name: self.supports.get(name, "positive") for name in stated}

    @property
    def param_axes(self) -> dict[str, tuple[str, ...]]:
        """The axes of each parameter after the draw axes."""
        return dict.fromkeys(self.supports, CELLS)

    # -- one cell: what a family writes ----------------------------------------------------------

    @abc.abstractmethod
    def cell(self, x: Cell) -> tuple[Cell, ...]:
        """Return the sufficient statistics of observed cells, each of the shape of x."""

    @abc.abstractmethod
    def guess(self, statistics: Sums) -> dict[str, Cell]:
        """Return guesses from pooled sums; NaN where a column is uninformative about a guess."""

    @abc.abstractmethod
    def posterior(self: C, statistics: Sums) -> C:
        """Return the prior updated by statistics: the same type, ready for more."""

    @abc.abstractmethod
    def log_evidence_cells(self, statistics: Sums) -> Traceable:
        """Return log p(cells of each class and column), parameters integrated out."""

    @abc.abstractmethod
    def log_predictive_cell(self, x: Cell) -> Cell:
        """Return log p(x given y = k), parameters integrated out.

        x broadcasts to (..., feature).
        """

    @abc.abstractmethod
    def coefficients(self, xp: Any, **params: Traceable) -> tuple[Traceable | float, ...]:
        """Return the weight of each statistic in the log density, of functions of namespace xp."""

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n independent draws of the parameters, each (draw, class, feature)."""

    @abc.abstractmethod
    def estimate(self, statistics: Sums) -> dict[str, Cell]:
        """Return the maximum likelihood estimates; 0 / 0 where nothing was observed."""

    @abc.abstractmethod
    def simulate_cell(self, rng: np.random.Generator, **params: Cell) -> Cell:
        """Return one simulated cell for each entry of the parameters, (row, feature).

        Hyperparameters are those of the class of each row, too: they have the same shape.
        """

    @property
    @abc.abstractmethod
    def program_priors(self) -> Mapping[str, str]:
        """The prior of each parameter as NumPyro code of the fields and the parameters before."""

    # -- sums over rows --------------------------------------------------------------------------

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Sums:
        """Return the sums of the cells' statistics; missing cells have weight zero."""
        if issparse(x):
            return CellSums(sparse.cell_sums(self.cell, x, y, weight, n_classes), self.signed)
        n = len(self.cell(np.ones(0)))
        sums = np.zeros((n_classes, n * x.shape[1]))
        for rows in row_chunks(len(x)):
            if n_classes > MANY_CLASSES:
                place = y[rows], np.arange(len(y[rows]))
                member = csr_array((weight[rows], place), shape=(n_classes, len(y[rows])))
            else:
                member = one_hot(y[rows], n_classes) * weight[rows]
            sums += member @ self.features(x[rows])
        return CellSums(sums.reshape(n_classes, n, x.shape[1]), self.signed)

    def features(self, x: Block) -> Float[np.ndarray, "row natural"]:
        """Return the statistics of cells side by side, 0 for missing ones."""
        known, missing = _filled(x)
        out = np.concatenate(self.cell(known), axis=1).astype(float, copy=False)
        if missing is not None:
            out[np.tile(missing, out.shape[1] // max(x.shape[1], 1))] = 0.0
        return out

    # -- the prior and its update ----------------------------------------------------------------

    def complete(self: C, statistics: Sums) -> C:
        """Fill in guesses of None from the pooled columns and broadcast every array."""
        stated = {name: getattr(self, name) for name in self.axes}
        shape, guess = statistics.shape, {}
        if any(value is None for value in stated.values()):
            with np.errstate(divide="ignore", invalid="ignore"):
                guess = self.guess(statistics.pooled())
        values = {n: guess[n] if value is None else value for n, value in stated.items()}
        family, shapes = type(self).__name__, self._shapes(shape)
        return self.with_arrays(
            {n: broadcast_guess(family, n, value, shapes[n]) for n, value in values.items()}
        )

    def _shapes(self, shape: tuple[int, ...]) -> dict[str, tuple[int, ...]]:
        """Return the shape of each hyperparameter, (..., class, feature) being that of sums."""
        return dict.fromkeys(self.axes, shape)

    def uninformative(self) -> np.ndarray:
        """Return a mask of the columns without a usable guess, stated or from the data."""
        return np.any([np.isnan(getattr(self, n)).any(axis=-2) for n in self.axes], axis=0)

    def log_evidence(self, statistics: Sums) -> Evidence:
        """Return log p(columns given classes), parameters integrated out."""
        require_evidence(self)
        return self.log_evidence_cells(statistics).sum(axis=(-2, -1))

    def log_evidence_columns(self, statistics: Sums) -> Traceable:
        """Return log p(each column given classes), parameters integrated out, (..., feature)."""
        return self.log_evidence_cells(statistics).sum(axis=-2)

    # -- rows, parameters integrated out ---------------------------------------------------------

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of the cells' log predictives, (row, class)."""
        n_classes, p = next(iter(self.arrays().values())).shape

        dense = dense_predictive(self.log_predictive_paired, n_classes, p)

        def cells(x: Cell, column: np.ndarray) -> Cell:
            return self.take("feature", column).log_predictive_cell(x)

        score = sparse.by_form(lambda: dense, lambda: sparse.cell_scores(p, cells))
        return impossible_outside(self, score)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return log p(x_i given y = k) by the i-th of priors on a leading axis, (row, class)."""
        return sum_of_cells(self.log_predictive_cell, x)

    def log_predictive_updated(self, statistics: Sums, x: Block) -> Joint:
        """Return `log_predictive_paired` after updating by statistics with that leading axis."""
        return self.posterior(statistics).log_predictive_paired(x)

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class."""
        score = _UpdatedByRow(self, int(rng.integers(2**63)), n)
        return impossible_outside(self, score, axis=1)

    def updated_draws(self, seed: tuple[int, ...], n: int) -> Callable[[float | None], Params]:
        """Return value -> n draws after one cell of that value in each class; None: before.

        All values share the same random numbers.
        """

        def draws(value: float | None) -> Params:
            after = self
            if value is not None:
                n_classes = len(next(iter(self.arrays().values())))
                sums = np.array([float(part[0]) for part in self.cell(np.array([value]))])
                after = self.posterior(CellSums(np.tile(sums[:, None], (n_classes, 1, 1))))
            return after.draw(np.random.default_rng(seed), n)

        return draws

    def log_density_cell(self, params: Params, value: float) -> np.ndarray:
        """Return the log density of one value, of the shape of the parameters."""
        with np.errstate(divide="ignore"):
            weights = self.coefficients(np, **params)
        out = np.zeros_like(next(iter(params.values())))
        for statistic, weight in zip(self.cell(np.array([value])), weights, strict=True):
            if statistic[0]:  # 0 times -inf is 0
                out += statistic[0] * weight
        return out

    # -- parameters ------------------------------------------------------------------------------

    def mode(self) -> Params:
        """Return the mode in unconstrained values: the guesses, for priors parameterized by it."""
        return {name: getattr(self, name) for name in self.supports}

    def maximum_likelihood(
        self, statistics: Sums, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return the estimates; a class without an observed cell takes the pooled one.

        A column that was never observed takes its stated guess, averaged over classes.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            own = self.estimate(statistics)
            pooled = self.estimate(statistics.pooled())
        params = {}
        for name, value in own.items():
            guess = getattr(self, name).mean(axis=-2, keepdims=True)
            rescue = np.where(np.isnan(pooled[name]), guess, pooled[name])
            params[name] = np.where(np.isnan(value), rescue, value)
        unseen = np.argwhere(self._unseen(statistics))
        return params, [Repair("pooled", *map(int, at)) for at in unseen]

    def _unseen(self, statistics: Sums) -> np.ndarray:
        """Return which classes have no observed cell of a column, (class, feature)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.any([np.isnan(value) for value in self.estimate(statistics).values()], axis=0)

    def initial_params(self, statistics: Sums) -> Params:
        """Return the mode given the pooled rows, the same for every class."""
        shapes = {name: array.shape for name, array in statistics.arrays().items()}
        pooled = statistics.pooled().arrays().items()
        alike = {name: np.broadcast_to(sums, shapes[name]) for name, sums in pooled}
        return self.posterior(statistics.with_arrays(alike)).mode()

    # -- rows given parameters -------------------------------------------------------------------

    def natural(self, params: Params) -> Traceable:
        """Return the weights of the statistics side by side, shape (..., class, natural)."""
        weights = self._weights(params)
        return weights[0].__array_namespace__().concat(weights, axis=-1)

    def _weights(self, params: Params) -> list[Traceable]:
        xp = next(iter(params.values())).__array_namespace__()
        shape = np.broadcast_shapes(*(value.shape for value in params.values()))
        with np.errstate(divide="ignore"):
            weights = self.coefficients(xp, **params)
        return [xp.broadcast_to(xp.asarray(weight), shape) for weight in weights]

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class)."""
        dense = super().log_density_fn
        score = sparse.by_form(
            lambda: dense(params),
            lambda: sparse.linear_scores(self.cell, np.stack(self._weights(params), axis=-2)),
        )
        return impossible_outside(self, score)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return one simulated row for each label."""
        shape = np.broadcast_shapes(*(value.shape for value in params.values()))
        own = {n: np.broadcast_to(value, shape)[y] for n, value in params.items()}
        cells = self.take("class", y).simulate_cell(rng, **own)
        return cells if self.kind == "levels" else cells.astype(float)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given the data and their class, `own`.

        Cells are independent, so each has its own draw of the parameters.
        """
        by_row = self.take("class", own)
        params = {n: v[0] for n, v in by_row.draw(rng, 1).items()}
        return np.where(np.isnan(x), by_row.simulate_cell(rng, **params), x)

    fill_given = fill_cell_by_cell

    # -- the program -----------------------------------------------------------------------------

    def story(self, name: str) -> Params:
        """Sample every class and column from `program_priors`, each given those before it.

        That code is a constant of the class, which its text shows: none comes from data or a file.
        """
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        known, params = {"jnp": jnp, "dist": dist, **self.arrays()}, {}
        for n, code in self.program_priors.items():
            prior, site = eval(code, known | params), f"{name}.{n}"
            with numpyro.plate_stack(site, prior.batch_shape):
                params[n] = numpyro.sample(site, prior)
        return params

    def program_numbers(self) -> dict[str, str | list[str]]:
        """Return the numbers of each column."""
        shape = np.broadcast_shapes(*(value.shape for value in self.arrays().values()))
        stated = {n: getattr(self, n) for n in self.axes if n in self.hyperparameters}
        # a setting that cells have by class is written for every class, even where all have one;
        # a guess only has the name of the parameter that cells have
        set_by_class = [
            n for n in stated if n not in self.program_priors and f"{n}[y]" in self.program_cells
        ]
        lead = {n: int(n not in set_by_class) for n in stated}
        return {
            n: [literal(v, lead[n]) for v in np.broadcast_to(value, (len(value), shape[1])).T]
            for n, value in stated.items()
        }

    def whitening(self, statistics: Sums) -> dict[str, tuple[np.ndarray, ...]]:
        """Return center and width of the posterior of unconstrained values, from draws."""
        draws = self.posterior(statistics).draw(np.random.default_rng(0), WHITENING_DRAWS)
        return supports.whitening(self.supports, draws)


def impossible_outside(
    part: Likelihood, score: Callable[..., np.ndarray], axis: int = 0
) -> Callable[..., np.ndarray]:
    """Return a log density of rows that is -inf where a cell lies outside the support.

    The formulas of a family never meet such a cell: it is scored as a missing one.

    Args:
        part: whose support it is.
        score: of rows, and of what comes after them.
        axis: that of the rows in what it returns.
    """

    def log_density(x: Block, *more: np.ndarray) -> np.ndarray:
        outside = part.out_of_support(x)
        rows, columns = ((), ()) if outside is None else outside.nonzero()
        if not len(rows):
            return score(x, *more)
        x = x.astype(float)
        x[rows, columns] = np.nan
        out = score(x, *more)
        np.moveaxis(out, axis, 0)[rows] = -np.inf
        return out

    return log_density


def sum_of_cells(log_density: Callable[[Cell], Cell], x: Block) -> Joint:
    """Return the sum over observed columns of the cells' log densities, (row, class).

    log_density: cells, (row, 1, feature) -> (row, class, feature).
    """
    known, missing = _filled(x)
    cells = log_density(known[:, None])
    return cells.sum(axis=-1, where=True if missing is None else ~missing[:, None])


def dense_predictive(
    score: Callable[[Block], Joint], n_classes: int, n_columns: int
) -> Callable[[Block], Joint]:
    """Return x -> scores of dense rows, (row, class), so many at once as a cache holds."""
    size = min(CHUNK_ROWS, SCORED_CELLS // max(n_classes * n_columns, 1) + 1)

    def dense(x: Block) -> Joint:
        out = np.empty((len(x), n_classes))
        for rows in row_chunks(len(x), size):
            out[rows] = score(x[rows])
        return out

    return dense


class _UpdatedByRow:
    """(x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta comes from the posterior updated, for class own[draw, row] alone, by the row x itself.
    Columns are independent, so that a cell updates its own column; each distinct value of a column
    is updated once. All values of a column share its random numbers, so the result for a row
    depends neither on other rows nor on whether rows are sparse.
    """

    def __init__(self, posterior: Columnwise, seed: int, n: int) -> None:
        self.posterior, self.seed, self.n = posterior, seed, n
        self.n_classes, self.size = next(iter(posterior.arrays().values())).shape
        kept = functools.lru_cache(max(16, CACHE_FLOATS // (3 * n * self.n_classes)))
        self.column, self.score = kept(self._column), kept(self._score)

    def __call__(self, x: Block, own: np.ndarray) -> Float[np.ndarray, "draw row class"]:
        """Return the log densities of rows, dense or sparse."""
        mine = own[..., None] == np.arange(self.n_classes)
        out = np.zeros(mine.shape)
        if issparse(x):
            rows = csr_array(x)
            for i in range(x.shape[0]):
                at = slice(rows.indptr[i], rows.indptr[i + 1])
                before, after = self._sparse_row(rows.indices[at], rows.data[at])
                out[:, i] = np.where(mine[:, i], after, before)
            return out
        for j in range(self.size):
            before, after = self._cells(j, x[:, j])
            out += np.where(mine, after, before)
        return out

    def _column(self, j: int) -> tuple[Columnwise, Callable[[float | None], Params], Params]:
        part = self.posterior.take("feature", np.array([j]))
        draws = part.updated_draws((self.seed, j), self.n)
        return part, draws, draws(None)

    def _score(self, j: int, value: float) -> Float[np.ndarray, "2 draw class"]:
        part, draws, before = self.column(j)
        scores = [part.log_density_cell(params, value) for params in (before, draws(value))]
        return np.stack(scores)[..., 0]

    def _cells(self, j: int, x: np.ndarray) -> Float[np.ndarray, "2 draw row class"]:
        """Return log densities of the cells of a column, 0 for missing ones."""
        values, place = np.unique(x, return_inverse=True)
        scores = [self.score(j, value) for value in values[~np.isnan(values)].tolist()]
        # a missing value is the last one
        table = [*scores, np.zeros((2, self.n, self.n_classes))]
        return np.stack(table, axis=2)[:, :, place]

    @functools.cached_property
    def _zeros(self) -> Float[np.ndarray, "2 draw class"]:
        """Log densities of a row of zeros."""
        total = np.zeros((2, self.n, self.n_classes))
        for j in range(self.size):
            total += self.score(j, 0.0)
        return total

    def _sparse_row(
        self, indices: np.ndarray, data: np.ndarray
    ) -> Float[np.ndarray, "2 draw class"]:
        total = self._zeros.copy()
        for j, value in zip(indices.tolist(), data.tolist(), strict=True):
            if value != 0:
                total -= self.score(j, 0.0)
                total += self.score(j, float(value)) if value == value else 0.0
        return total


def _filled(x: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Return rows with observed values in place of missing cells, and the mask or None."""
    missing = np.isnan(x)
    if not missing.any():
        return x, None
    somewhere = int(np.argmin(missing))
    return np.where(missing, 1.0 if missing.flat[somewhere] else x.flat[somewhere], x), missing
