"""A joint normal whose rows lack cells: mode, maximum likelihood and Gibbs steps on statistics.

Newton's method maximizes the density of what was observed (`newton`, `observed_normal`). It begins
where one step of EM leads from the columns' own moments: the expected moments of the filled rows
(`expected_moments`), then the closed form for complete rows. Gibbs steps: `normal_gibbs`.

Source: Dempster, Laird and Rubin (1977); Little and Rubin, Statistical Analysis with Missing Data
(2nd ed.), section 11.2.
"""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.inference.expected_moments import expected, transpose
from bayesgen.inference.incomplete_data import IncompleteData, missing_cells
from bayesgen.inference.newton import OptimumReport, maximise
from bayesgen.inference.normal_gibbs import gibbs
from bayesgen.inference.observed_normal import observed_normal
from bayesgen.likelihoods import MultivariateNormal, Repair, Statistics
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.multivariate_normal import (
    MultivariateNormalStatistics,
    parameters,
    priors,
)
from bayesgen.likelihoods.multivariate_normal.statistics import gather
from bayesgen.typing import Block, Labels, Params, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteNormal(IncompleteData):
    """Means and covariances of rows of which some lack cells.

    Columns without a unit (`likelihood.uninformative()`) must have been left out. For
    `maximum_likelihood` only whether the covariance is shared is read of the likelihood; the others
    take its prior, which is completed and conjugate.
    """

    likelihood: MultivariateNormal
    statistics: MultivariateNormalStatistics

    def maximum_likelihood(
        self, *, bias_corrected: bool = False, variance_floor: float = 1e-9
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return means and Cholesky factors of greatest likelihood, and what was mended.

        Args:
            bias_corrected: multiply the variance of a column with n observed cells by
                n / (n - means), means being 1, or the number of classes that share it; correlations
                stay. Where nothing is missing that is S / (n - means).
            variance_floor: share of a column's variance that replaces a smaller one ("singular").

        A class or a column of a class may be empty (reported as "pooled": its estimate is where the
        pooled moments led).
        """
        likelihood, statistics = self.likelihood, self.statistics
        observed = statistics.marginal()
        narrowest = np.sqrt(parameters.EIGENVALUE_FLOOR)
        cells = observed_normal(likelihood, statistics, prior=False, narrowest=narrowest)
        start = likelihood.initial_params(statistics)
        start, _ = _complete_maximum(likelihood, statistics, start, variance_floor)
        top, converged, steps = maximise(cells.at(start))
        params, findings = _complete_maximum(likelihood, statistics, top.params, variance_floor)
        seen = observed.count
        blank = np.argwhere((seen == 0) & (seen > 0).any(axis=1, keepdims=True))
        findings += [Repair("pooled", int(k), int(j)) for k, j in blank]
        if bias_corrected:
            params, more = _bias_corrected(likelihood, statistics, params, variance_floor)
            findings += [finding for finding in more if finding not in findings]
        final = _log_likelihood(likelihood, statistics, params)
        gradient_norm = top.gradient_norm / max(cells.rows.sum(), 1.0)
        return params, findings, OptimumReport(converged, steps, gradient_norm, final)

    def mode(self) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior against |Sigma|^-(p+1)/2 given the observed cells.

        A class without rows ends at the mode of its prior.
        """
        prior, statistics = self.likelihood, self.statistics
        cells = observed_normal(prior, statistics, prior=True)
        start = prior.posterior(expected(statistics, prior.initial_params(statistics))).mode()
        top, converged, steps = maximise(cells.at(start))
        rows = statistics.count.sum() + statistics.cell_count.sum()
        gradient_norm = top.gradient_norm / max(float(rows), 1.0)
        final = _log_likelihood(prior, statistics, top.params)
        return top.params, OptimumReport(converged, steps, gradient_norm, final)

    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield means and Cholesky factors, step by step (see `normal_gibbs`)."""
        return gibbs(self.likelihood, self.statistics, rng, chains)

    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return means and the lower triangles of Cholesky factors."""
        mean, factor = params["mean"], params["cholesky"]
        i, j = np.tril_indices(factor.shape[-1])
        entries = [mean, factor[..., i, j]]
        return np.concatenate([x.reshape(*mean.shape[:2], -1) for x in entries], axis=-1)

    def expected(self) -> tuple[MultivariateNormalStatistics, OptimumReport]:
        """Return expected moments at the mode under the conjugate prior, whatever the prior is."""
        params, account = self._conjugate_mode
        return expected(self.statistics, params), account

    @functools.cached_property
    def _conjugate_mode(self) -> tuple[Params, OptimumReport]:
        conjugate = self.likelihood.with_arrays({"prior": "conjugate"})
        return IncompleteNormal(conjugate, self.statistics).mode()

    def expected_statistics_per_row(
        self, x: Block, y: Labels, weight: Weights
    ) -> MultivariateNormalStatistics:
        """Return the expected moments of each row by itself, shape (row, ...)."""
        alone = gather(x, np.arange(len(y)), weight, len(y))
        mode, _ = self._conjugate_mode
        factor = mode["cholesky"]
        own = {"mean": mode["mean"][y], "cholesky": factor if len(factor) == 1 else factor[y]}
        return expected(alone, own)


@missing_cells.register(HyperparameterMixture)
def averaged_missing(
    likelihood: HyperparameterMixture, statistics: Statistics
) -> IncompleteData | None:
    """Return what stands in for the closed form of the member of most weight."""
    return missing_cells(likelihood.heaviest(), statistics)


@missing_cells.register(MultivariateNormal)
def incomplete_normal_of(
    likelihood: MultivariateNormal, statistics: MultivariateNormalStatistics
) -> IncompleteData | None:
    """Return what stands in for the closed form of a joint normal, if cells are missing."""
    return IncompleteNormal(likelihood, statistics) if statistics.has_missing else None


def _complete_maximum(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    params: Params,
    variance_floor: float,
) -> tuple[Params, list[Repair]]:
    return parameters.maximum_likelihood(
        expected(statistics, params),
        guess=priors.guessed_variance(likelihood),
        shared=likelihood.shared,
        bias_corrected=False,
        variance_floor=variance_floor,
        observed=statistics.marginal(),
    )


def _bias_corrected(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    params: Params,
    variance_floor: float,
) -> tuple[Params, list[Repair]]:
    """Return the same correlations with variances times n / (n - means); 0 is floored."""
    marginal = statistics.marginal()
    n = _pool(marginal.count, likelihood)
    means = len(marginal.count) if likelihood.shared else 1
    ratio = np.divide(n, n - means, out=np.zeros_like(n), where=n > means)
    # never observed: the pooled estimate stays as it is
    factor = np.sqrt(np.where(n == 0, 1.0, ratio))[..., None] * params["cholesky"]
    floor = variance_floor * marginal.pooled()[1]
    mended = [parameters.mended_factor(matrix, floor) for matrix in factor @ transpose(factor)]
    findings = [
        Repair("singular", None if likelihood.shared else k)
        for k, (_, changed) in enumerate(mended)
        if changed
    ]
    factors = np.array([factor for factor, _ in mended])
    return {"mean": params["mean"], "cholesky": factors}, findings


def _log_likelihood(
    likelihood: MultivariateNormal, statistics: MultivariateNormalStatistics, params: Params
) -> float:
    one_draw = {name: value[None] for name, value in params.items()}
    return float(likelihood.log_likelihood(one_draw, statistics)[0])


def _pool(values: np.ndarray, likelihood: MultivariateNormal) -> np.ndarray:
    return values.sum(axis=0, keepdims=True) if likelihood.shared else values
