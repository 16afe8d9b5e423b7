"""A joint normal whose rows have holes: modes and data augmentation on statistics."""

import dataclasses
import functools

import numpy as np

from bayesgen.inference import incomplete_normal
from bayesgen.inference.augment import augment
from bayesgen.inference.holes import Holes, holes
from bayesgen.inference.newton import OptimumReport
from bayesgen.likelihoods import Finding, MultivariateNormal, Statistics
from bayesgen.likelihoods.averaged import Averaged
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.likelihoods.multivariate_normal.statistics import gather
from bayesgen.typing import Block, Labels, Params, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class NormalHoles(Holes):
    """Means and covariances of rows of which some lack cells."""

    likelihood: MultivariateNormal
    statistics: MultivariateNormalStatistics

    def maximum_likelihood(
        self, *, bias_corrected: bool, variance_floor: float
    ) -> tuple[Params, list[Finding], OptimumReport]:
        """Return means and Cholesky factors of greatest likelihood."""
        return incomplete_normal.maximum_likelihood(
            self.likelihood,
            self.statistics,
            bias_corrected=bias_corrected,
            variance_floor=variance_floor,
        )

    def mode(self) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior under the conjugate prior."""
        return incomplete_normal.mode(self.likelihood, self.statistics)

    def augment(
        self, rng: np.random.Generator, *, draws: int, warmup: int, chains: int
    ) -> tuple[Params, dict[str, float]]:
        """Return posterior draws under the conjugate prior."""
        return augment(
            self.likelihood, self.statistics, rng, draws=draws, warmup=warmup, chains=chains
        )

    def expected(self) -> tuple[MultivariateNormalStatistics, OptimumReport]:
        """Return expected moments at the mode under the conjugate prior, whatever the prior is."""
        params, account = self._conjugate_mode
        return incomplete_normal.expected(self.statistics, params), account

    @functools.cached_property
    def _conjugate_mode(self) -> tuple[Params, OptimumReport]:
        conjugate = self.likelihood.with_arrays({"prior": "conjugate"})
        return incomplete_normal.mode(conjugate, self.statistics)

    def expected_alone(self, x: Block, y: Labels, weight: Weights) -> MultivariateNormalStatistics:
        """Return the expected moments of each row by itself, shape (row, ...)."""
        alone = gather(x, np.arange(len(y)), weight, len(y))
        mode, _ = self._conjugate_mode
        factor = mode["cholesky"]
        own = {"mean": mode["mean"][y], "cholesky": factor if len(factor) == 1 else factor[y]}
        return incomplete_normal.expected(alone, own)


@holes.register(Averaged)
def averaged_holes(likelihood: Averaged, statistics: Statistics) -> Holes | None:
    """Return what stands in for the closed form of the member of most weight."""
    return holes(likelihood.heaviest(), statistics)


@holes.register(MultivariateNormal)
def normal_holes(
    likelihood: MultivariateNormal, statistics: MultivariateNormalStatistics
) -> Holes | None:
    """Return what stands in for the closed form of a joint normal, if rows have holes."""
    return NormalHoles(likelihood, statistics) if statistics.has_holes else None
