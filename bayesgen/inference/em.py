"""Maximum likelihood and mode of a joint normal whose rows have holes, by EM on statistics.

The E-step needs no rows: given the parameters, the expected moments of a cell's filled rows are an
affine map of its observed moments plus its weight times a conditional covariance. The M-step is
the closed form for complete rows.
Source: Dempster, Laird and Rubin (1977); Little and Rubin, Statistical Analysis with Missing Data
(2nd ed.), section 11.2.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.inference import climb as climbing
from bayesgen.inference.cells import expected as expected
from bayesgen.inference.cells import transpose
from bayesgen.inference.climb import EMReport as EMReport
from bayesgen.likelihoods import Finding, MultivariateNormal
from bayesgen.likelihoods.multivariate_normal import (
    MultivariateNormalStatistics,
    parameters,
    priors,
)
from bayesgen.typing import Params

MAX_STEPS = climbing.MAX_STEPS


def maximum_likelihood(
    likelihood: MultivariateNormal,
    statistics: MultivariateNormalStatistics,
    *,
    bias_corrected: bool = False,
    variance_floor: float = 1e-9,
) -> tuple[Params, list[Finding], EMReport]:
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
    floor = variance_floor * observed.pooled()[1]

    def step(params: Params) -> Params:
        return _complete_maximum(likelihood, statistics, params, variance_floor)[0]

    def objective(params: Params) -> float:
        return _log_likelihood(likelihood, statistics, params)

    params, converged, steps = _climb(
        step, objective, likelihood.start(statistics), _leap_above(floor)
    )
    filled = expected(statistics, params)
    rows = _pool(filled.count, likelihood)
    target = _Target(filled.mean, filled.count, _pool(filled.scatter, likelihood), rows)
    gradient_norm = target.gradient_norm(params) / rows.sum()
    params, findings = _complete_maximum(likelihood, statistics, params, variance_floor)
    seen = observed.count
    blank = np.argwhere((seen == 0) & (seen > 0).any(axis=1, keepdims=True))
    findings += [Finding("pooled", int(k), int(j)) for k, j in blank]
    if bias_corrected:
        params, more = _bias_corrected(likelihood, statistics, params, variance_floor)
        findings += [finding for finding in more if finding not in findings]
    final = _log_likelihood(likelihood, statistics, params)
    return params, findings, EMReport(converged, steps, float(gradient_norm), final)


def mode(
    prior: MultivariateNormal, statistics: MultivariateNormalStatistics
) -> tuple[Params, EMReport]:
    """Return the mode of the posterior against |Sigma|^-(p+1)/2 given the observed cells.

    prior is completed and conjugate; a class without rows ends at the mode of its prior.
    """
    log_prior = _prior_target(prior)

    def step(params: Params) -> Params:
        return prior.posterior(expected(statistics, params)).mode()

    def objective(params: Params) -> float:
        return _log_likelihood(prior, statistics, params) + log_prior.log_density(params)

    params, converged, steps = _climb(step, objective, step(prior.start(statistics)), _leap)
    filled = expected(statistics, params)
    gradient_norm = _prior_target(prior.posterior(filled)).gradient_norm(params)
    gradient_norm /= max(filled.count.sum(), 1.0)
    final = _log_likelihood(prior, statistics, params)
    return params, EMReport(converged, steps, float(gradient_norm), final)


@dataclasses.dataclass(frozen=True, eq=False)
class _Target:
    """-(divisor log|Sigma| + tr Sigma^-1 (scatter + sum of rows (mean - mu)(mean - mu)')) / 2.

    Both the log density of complete rows and a normal-inverse-Wishart have this form. The gradient
    of the observed log density is that of its expectation over the holes (Fisher's identity).
    """

    mean: Float[np.ndarray, "class feature"]
    rows: Float[np.ndarray, " class"]
    scatter: Float[np.ndarray, "covariance feature feature"]
    divisor: Float[np.ndarray, " covariance"]

    def _whitened(self, params: Params) -> tuple[np.ndarray, np.ndarray]:
        inverse = np.linalg.inv(params["cholesky"])
        delta = (inverse @ (self.mean - params["mean"])[..., None])[..., 0]
        outer = self.rows[:, None, None] * delta[:, :, None] * delta[:, None, :]
        if len(inverse) == 1:
            outer = outer.sum(axis=0, keepdims=True)
        return delta, inverse @ self.scatter @ transpose(inverse) + outer

    def log_density(self, params: Params) -> float:
        squares = np.trace(self._whitened(params)[1], axis1=1, axis2=2)
        log_det = 2 * np.log(np.diagonal(params["cholesky"], axis1=1, axis2=2)).sum(axis=1)
        return float(-0.5 * (self.divisor * log_det + squares).sum())

    def gradient_norm(self, params: Params) -> float:
        delta, squares = self._whitened(params)
        slope = 0.5 * (squares - self.divisor[:, None, None] * np.eye(delta.shape[1]))
        return float(np.sqrt((slope**2).sum() + ((self.rows[:, None] * delta) ** 2).sum()))


def _prior_target(prior: MultivariateNormal) -> _Target:
    guess = prior.arrays()
    divisor = prior.degrees + (len(guess["mean"]) if prior.shared else 1)
    matrices = guess["covariance_rows"][:, None, None] * guess["scale"]
    return _Target(guess["mean"], guess["mean_rows"], matrices, divisor)


def _climb(
    step: Callable[[Params], Params],
    objective: Callable[[Params], float],
    params: Params,
    leap: Callable[[Params, Params, Params], Params],
) -> tuple[Params, bool, int]:
    return climbing.climb(step, objective, params, change=_change, leap=leap, max_steps=MAX_STEPS)


def _leap(start: Params, first: Params, second: Params) -> Params:
    """Return where two steps lead, in unconstrained coordinates."""
    scale = _sd(start)
    flat = climbing.extrapolated(*(_flat(params, scale) for params in (start, first, second)))
    return _unflat(flat, start, scale)


def _leap_above(floor: np.ndarray) -> Callable[[Params, Params, Params], Params]:
    """Return `_leap` without those under the floors, where the likelihood may have no bound."""

    def leap(start: Params, first: Params, second: Params) -> Params:
        far = _leap(start, first, second)
        mended = all(parameters.is_mended(factor, floor) for factor in far["cholesky"])
        return far if mended else second

    return leap


def _flat(params: Params, scale: np.ndarray) -> np.ndarray:
    """Return unconstrained coordinates: means, log diagonals and the rest of the factors."""
    factor = params["cholesky"] / scale[..., None]
    eye = np.eye(factor.shape[-1], dtype=bool)
    logs = np.log(np.where(eye, factor, 1.0))
    return np.concatenate([(params["mean"] / scale).ravel(), np.where(eye, logs, factor).ravel()])


def _unflat(flat: np.ndarray, like: Params, scale: np.ndarray) -> Params:
    mean, factor = np.split(flat, [like["mean"].size])
    factor = factor.reshape(like["cholesky"].shape)
    eye = np.eye(factor.shape[-1], dtype=bool)
    with np.errstate(over="ignore", invalid="ignore"):
        factor = np.where(eye, np.exp(np.where(eye, factor, 0.0)), factor) * scale[..., None]
    return {"mean": mean.reshape(like["mean"].shape) * scale, "cholesky": factor}


def _change(new: Params, old: Params) -> float:
    """Return the largest change of a mean or factor entry, in standard deviations."""
    scale = _sd(old)
    mean = np.abs(new["mean"] - old["mean"]) / scale
    factor = np.abs(new["cholesky"] - old["cholesky"]) / scale[..., None]
    return float(max(mean.max(), factor.max()))


def _sd(params: Params) -> Float[np.ndarray, "covariance feature"]:
    return np.sqrt((params["cholesky"] ** 2).sum(axis=-1))


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
