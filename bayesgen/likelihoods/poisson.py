"""Counts: one Poisson per class and column, with a Gamma prior on the rate."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse
from scipy.special import digamma, gammaln, polygamma

from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.exponential_family import ExponentialFamily, SufficientStatistics
from bayesgen.likelihoods.gammas import gamma_quantiles
from bayesgen.likelihoods.hyperparameters import Guess, broadcast_guess, require_positive
from bayesgen.likelihoods.normal_statistics import one_hot, row_chunks
from bayesgen.likelihoods.rising import log_rising_factorial
from bayesgen.likelihoods.sparse_columns import (
    count_sums,
    negative_binomial_scores,
    rate_draws,
    rate_scores,
)
from bayesgen.likelihoods.sparse_rows import kept_columns
from bayesgen.likelihoods.sparse_scores import dispatch_sparse
from bayesgen.typing import (
    Block,
    Evidence,
    Joint,
    Kept,
    Labels,
    Params,
    Traceable,
    Transform,
    Weights,
)


@dataclasses.dataclass(frozen=True, eq=False)
class PoissonStatistics(SufficientStatistics):
    """What rows say about rates: weighted, missing cells left out; each of shape (class, feature).

    count: weight of the observed cells. total: their sum, in counts.
    log_factorials: sum of log x!, which no parameter enters.
    """

    count: np.ndarray
    total: np.ndarray
    log_factorials: np.ndarray
    axes: ClassVar = {n: ("class", "feature") for n in ("count", "total", "log_factorials")}

    def total_features(self) -> Traceable:
        """Return sums of x, 1 and -log x!, shape (class, 3 feature)."""
        xp = self.count.__array_namespace__()
        return xp.concat([self.total, self.count, -self.log_factorials], axis=-1)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Poisson(ExponentialFamily[PoissonStatistics]):
    r"""x | class ~ Poisson(lambda) for each column, with lambda ~ Gamma(rate * rows, rows).

    Update with total t of n observed rows, per class and column: rows' = rows + n,
    rate' = (rows rate + t) / rows'. The predictive is the negative binomial of rows' rate' failures
    and success probability rows' / (rows' + 1).

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 2.6.

    Args:
        rate: guess of the mean count, > 0, in counts a row; a number, one per column, or
            (class, feature). None: the column's overall mean.
        rows: how many rows that guess is worth, > 0.

    Raises:
        InvalidPrior: a rate or a worth not above 0.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([[3.0], [5.0], [0.0]]), np.array([0, 0, 1])
        >>> prior = Poisson(rate=2.0, rows=1)
        >>> statistics = prior.statistics(x, y, np.ones(3), n_classes=2)
        >>> prior.complete(statistics).posterior(statistics).rate
        array([[3.33333333],
               [1.        ]])
    """

    rate: Guess = None
    rows: Guess = 1.0

    kind: ClassVar[str] = "counts"
    vectorised: ClassVar[bool] = True
    hyperparameter_grid: ClassVar = {"rows": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}
    sparse: ClassVar[bool] = True
    axes: ClassVar = {"rate": ("class", "feature"), "rows": ("class", "feature")}
    param_axes: ClassVar = {"rate": ("class", "feature")}

    def __post_init__(self) -> None:
        """Refuse a rate or a worth that is not positive."""
        require_positive(self, "rate", "rows")

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> PoissonStatistics:
        """Return weight, total and log factorials of each class and column."""
        if issparse(x):
            return PoissonStatistics(*count_sums(x, y, weight, n_classes))
        sums = np.zeros((n_classes, 3 * x.shape[1]))
        for rows in row_chunks(len(x)):
            sums += (one_hot(y[rows], n_classes) * weight[rows]) @ self.features(x[rows])
        total, count, minus_log_factorials = np.split(sums, 3, axis=1)
        return PoissonStatistics(count, total, -minus_log_factorials)

    def complete(self, statistics: PoissonStatistics) -> "Poisson":
        """Fill the guess from overall means and give every array its shape.

        Where every count is 0, half a count over one row more stands in: a rate of 0 has no prior.
        """
        total, n = (s.sum(axis=-2, keepdims=True) for s in (statistics.total, statistics.count))
        mean = np.where(total > 0, total / np.where(n > 0, n, 1.0), 0.5 / (n + 1))
        rate = np.where(n > 0, mean, np.nan) if self.rate is None else self.rate
        shape = statistics.count.shape
        return self.with_arrays(
            {
                "rate": broadcast_guess("Poisson", "rate", rate, shape),
                "rows": broadcast_guess("Poisson", "rows", self.rows, shape),
            }
        )

    def uninformative(self) -> np.ndarray:
        """Return which columns were never observed, without a stated guess."""
        return np.isnan(self.rate).any(axis=-2)

    def select(self, x: Block, index: np.ndarray) -> Kept:
        """Return the columns that were kept."""
        return kept_columns(x, index)

    def posterior(self, statistics: PoissonStatistics) -> "Poisson":
        """Return rows + n and (rows rate + total) / (rows + n)."""
        rows = self.rows + statistics.count
        rate = (self.rows * self.rate + statistics.total) / rows
        return self.with_arrays({"rate": rate, "rows": rows})

    def log_evidence(self, statistics: PoissonStatistics) -> Evidence:
        """Return the sum of log Gamma ratios over log factorials."""
        after = self.posterior(statistics)
        gammas = _log_normaliser(after) - _log_normaliser(self)
        return (gammas - statistics.log_factorials).sum(axis=(-2, -1))

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log negative binomial, shape (row, class)."""
        shape, rows = self.rows * self.rate, self.rows
        return dispatch_sparse(self._predictive, lambda: negative_binomial_scores(shape, rows))

    def _predictive(self) -> Callable[[np.ndarray], np.ndarray]:
        shape, rows = self.rows * self.rate, self.rows
        constant = -shape * np.log1p(1 / rows)

        def log_predictive(x: Block) -> np.ndarray:
            out = np.empty((len(x), len(shape)))
            for k in range(len(shape)):
                terms = log_rising_factorial(shape[k], x) - gammaln(x + 1) - x * np.log(rows[k] + 1)
                out[:, k] = np.where(np.isnan(x), 0.0, terms + constant[k]).sum(axis=1)
            return out

        return log_predictive

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return what the i-th of priors along a leading axis says of row i, (row, class)."""
        shape, x = self.rows * self.rate, x[:, None]
        terms = log_rising_factorial(shape, x) - gammaln(x + 1)
        terms -= shape * np.log1p(1 / self.rows) + x * np.log(self.rows + 1)
        return terms.sum(axis=-1, where=~np.isnan(x))

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the rates, (draw, class, feature)."""
        shape = self.rows * self.rate
        return {"rate": rng.standard_gamma(shape, (n, *shape.shape)) / self.rows}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        All rows share uniform numbers; each takes the quantile of its own Gamma there. Compressed
        rows have Gamma variables of their own columns instead.
        """
        seed, shape = int(rng.integers(2**63)), self.rows * self.rate
        return dispatch_sparse(
            lambda: self._rate_draws(np.random.default_rng(seed), n),
            lambda: rate_draws(shape, self.rows, seed, n),
        )

    def _rate_draws(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        uniform = rng.random((n, *self.rate.shape))

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            out = np.empty((*own.shape, len(self.rate)))
            known = np.nan_to_num(x)
            for k in range(len(self.rate)):
                mine = (own == k)[..., None]
                shape = self.rows[k] * self.rate[k]
                gamma = gamma_quantiles(shape, known, uniform[:, k], mine[..., 0])
                rate = np.maximum(gamma, np.finfo(float).tiny) / (self.rows[k] + mine)
                terms = known * np.log(rate) - rate - gammaln(known + 1)
                out[..., k] = np.where(np.isnan(x), 0.0, terms).sum(axis=-1)
            return out

        return log_density

    def mode(self) -> Params:
        """Return rate: the mode in log lambda."""
        return {"rate": self.rate}

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of log rate: d lambda / d log lambda = lambda."""
        return params["rate"].__array_namespace__().log(params["rate"]).sum()

    def maximum_likelihood(
        self,
        statistics: PoissonStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return mean counts; a class without an observed cell takes the pooled one."""
        total, n = statistics.total, statistics.count
        pooled_rows = n.sum(axis=0)
        pooled = total.sum(axis=0) / np.where(pooled_rows > 0, pooled_rows, 1.0)
        pooled = np.where(pooled_rows > 0, pooled, self.rate)
        rate = np.where(n > 0, total / np.where(n > 0, n, 1.0), pooled)
        return {"rate": rate}, [Repair("pooled", *map(int, at)) for at in np.argwhere(n == 0)]

    def initial_params(self, statistics: PoissonStatistics) -> Params:
        """Return the pooled rate for every class, one row of the guess added."""
        total = statistics.total.sum(axis=0) + self.rate.mean(axis=0)
        rate = total / (statistics.count.sum(axis=0) + 1)
        return {"rate": np.broadcast_to(rate, statistics.count.shape)}

    def features(self, x: Block) -> Float[np.ndarray, "row natural"]:
        """Return x, 1 and -log x! of observed cells, 0 of missing ones."""
        observed = ~np.isnan(x)
        known = np.where(observed, x, 0.0)
        return np.concatenate([known, observed, -gammaln(known + 1)], axis=1)

    def natural(self, params: Params) -> Traceable:
        """Return log rate, -rate and 1, shape (..., class, 3 feature)."""
        rate = params["rate"]
        xp = rate.__array_namespace__()
        with np.errstate(divide="ignore"):
            return xp.concat([xp.log(rate), -rate, xp.ones_like(rate)], axis=-1)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class)."""
        dense = super().log_density_fn
        return dispatch_sparse(lambda: dense(params), lambda: rate_scores(params["rate"]))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return counts of each row's class."""
        return rng.poisson(params["rate"][y]).astype(float)

    def story(self, name: str) -> Params:
        """Sample the rate for every class and column."""
        import numpyro
        import numpyro.distributions as dist

        n_classes, n_features = self.rate.shape
        feature = numpyro.plate(f"{name}.feature", n_features, dim=-1)
        with feature, numpyro.plate(f"{name}.class", n_classes, dim=-2):
            prior = dist.Gamma(self.rows * self.rate, self.rows)
            return {"rate": numpyro.sample(f"{name}.rate", prior)}

    def whitening(self, statistics: PoissonStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return mean and sd of the posterior log rate."""
        after = self.posterior(statistics)
        shape = after.rows * after.rate
        return {"rate": (digamma(shape) - np.log(after.rows), np.sqrt(polygamma(1, shape)))}

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return exp of centre + width u."""
        from numpyro.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform

        return ComposeTransform([AffineTransform(*arrays), ExpTransform()])


def _log_normaliser(prior: Poisson) -> np.ndarray:
    shape = prior.rows * prior.rate
    return gammaln(shape) - shape * np.log(prior.rows)
