"""Maximum likelihood and mode of a joint normal whose rows lack cells, from moments by cell.

Newton's method climbs the density of what was observed (`newton`, `observed_normal`). It begins
where one step of EM leads from the columns' own moments: the expected moments of the filled rows,
then the closed form for complete rows.
Source: Dempster, Laird and Rubin (1977); Little and Rubin, Statistical Analysis with Missing Data
(2nd ed.), section 11.2.
"""

import numpy as np

from bayesgen.inference.cells import expected as expected
from bayesgen.inference.cells import transpose
from bayesgen.inference.newton import OptimumReport, maximise
from bayesgen.inference.observed_normal import observed_normal
from bayesgen.likelihoods import Finding, MultivariateNormal
from bayesgen.likelihoods.multivariate_normal import (
    MultivariateNormalStatistics,
    parameters,
    priors,
)
from bayesgen.typing import Params


def maximum_likelihood(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    *,
    bias_corrected: bool = False,
    variance_floor: float = 1e-9,
) -> tuple[Params, list[Finding], OptimumReport]:
    """Return the parameters of greatest likelihood of the observed cells, and what was mended.

    Columns without a unit (`likelihood.inert()`) must have been left out.

    Args:
        likelihood: says whether the covariance is shared; its prior is not used.
        statistics: of rows with holes; a class or a column of a class may be empty (reported as
            "pooled": its estimate is where the pooled moments led).
        bias_corrected: multiply the variance of a column with n observed cells by n / (n - means),
            means being 1, or the number of classes that share it; correlations stay. Without holes
            that is S / (n - means).
        variance_floor: share of a column's variance that replaces a smaller one ("singular").
    """
    observed = statistics.marginal()
    narrowest = np.sqrt(parameters.EIGENVALUE_FLOOR)
    cells = observed_normal(likelihood, statistics, prior=False, narrowest=narrowest)
    start = likelihood.start(statistics)
    start, _ = _complete_maximum(likelihood, statistics, start, variance_floor)
    top, converged, steps = maximise(cells.at(start))
    params, findings = _complete_maximum(likelihood, statistics, top.params, variance_floor)
    seen = observed.count
    blank = np.argwhere((seen == 0) & (seen > 0).any(axis=1, keepdims=True))
    findings += [Finding("pooled", int(k), int(j)) for k, j in blank]
    if bias_corrected:
        params, more = _bias_corrected(likelihood, statistics, params, variance_floor)
        findings += [finding for finding in more if finding not in findings]
    final = _log_likelihood(likelihood, statistics, params)
    gradient_norm = top.gradient_norm / max(cells.rows.sum(), 1.0)
    return params, findings, OptimumReport(converged, steps, gradient_norm, final)


def mode(
    prior: MultivariateNormal, statistics: MultivariateNormalStatistics
) -> tuple[Params, OptimumReport]:
    """Return the mode of the posterior against |Sigma|^-(p+1)/2 given the observed cells.

    prior is completed and conjugate; a class without rows ends at the mode of its prior.
    """
    cells = observed_normal(prior, statistics, prior=True)
    start = prior.posterior(expected(statistics, prior.start(statistics))).mode()
    top, converged, steps = maximise(cells.at(start))
    rows = statistics.count.sum() + statistics.cell_count.sum()
    gradient_norm = top.gradient_norm / max(float(rows), 1.0)
    final = _log_likelihood(prior, statistics, top.params)
    return top.params, OptimumReport(converged, steps, gradient_norm, final)


def _complete_maximum(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    params: Params,
    variance_floor: float,
) -> tuple[Params, list[Finding]]:
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
) -> tuple[Params, list[Finding]]:
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
        Finding("singular", None if likelihood.shared else k)
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
