"""Columns of many kinds, and the maximum likelihood that scipy finds for each class."""

import dataclasses
from collections.abc import Callable

import numpy as np
import numpyro.distributions as dist
from scipy import optimize, stats

N = 240
Y = np.arange(N) % 3
RNG = np.random.default_rng(7)


@dataclasses.dataclass(frozen=True)
class Column:
    """A distribution, a column of three classes, and x -> its maximum likelihood estimate."""

    distribution: Callable
    x: np.ndarray
    fit: Callable[[np.ndarray], dict[str, float]]


def gamma(x: np.ndarray) -> dict[str, float]:
    shape, _, scale = stats.gamma.fit(x, floc=0)
    return {"concentration": shape, "rate": 1 / scale}


def log_normal(x: np.ndarray) -> dict[str, float]:
    spread, _, scale = stats.lognorm.fit(x, floc=0)
    return {"loc": np.log(scale), "scale": spread}


def beta(x: np.ndarray) -> dict[str, float]:
    a, b, _, _ = stats.beta.fit(x, floc=0, fscale=1)
    return {"concentration1": a, "concentration0": b}


def von_mises(x: np.ndarray) -> dict[str, float]:
    kappa, loc, _ = stats.vonmises.fit(x, fscale=1)
    return {"loc": loc, "concentration": kappa}


def weibull(x: np.ndarray) -> dict[str, float]:
    shape, _, scale = stats.weibull_min.fit(x, floc=0)
    return {"scale": scale, "concentration": shape}


def by_simplex(names: str, log_density: Callable, start: Callable) -> Callable:
    """Return a fit by scipy's simplex; parameters are told as u, see `log_density`."""

    def fit(x: np.ndarray) -> dict[str, float]:
        options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000}
        found = optimize.minimize(
            lambda u: -log_density(x, *u)[0].sum(), start(x), method="Nelder-Mead", options=options
        )
        return dict(zip(names.split(), log_density(x, *found.x)[1], strict=True))

    return fit


def student(x: np.ndarray, df: float, loc: float, scale: float) -> tuple:
    return stats.t.logpdf(x, np.exp(df), loc, np.exp(scale)), (np.exp(df), loc, np.exp(scale))


def clumped(x: np.ndarray, mean: float, size: float) -> tuple:
    mean, size = np.exp(mean), np.exp(size)
    return stats.nbinom.logpmf(x, size, size / (size + mean)), (mean, size)


def inflated(x: np.ndarray, odds: float, rate: float) -> tuple:
    gate, rate = 1 / (1 + np.exp(-odds)), np.exp(rate)
    zeros = np.where(x == 0, np.log(gate), -np.inf)
    logs = np.logaddexp(zeros, np.log1p(-gate) + stats.poisson.logpmf(x, rate))
    return logs, (gate, rate)


COLUMNS = {
    "Gamma": Column(dist.Gamma, RNG.gamma(2.0 + Y) * 20, gamma),
    "LogNormal": Column(dist.LogNormal, np.exp(RNG.normal(Y - 9.0, 1 + Y)), log_normal),
    "StudentT": Column(
        dist.StudentT,
        RNG.standard_t(3, N) * 1e3 + 5e3 * Y,
        by_simplex("df loc scale", student, lambda x: (1.0, np.median(x), np.log(x.std()))),
    ),
    "Weibull": Column(dist.Weibull, RNG.weibull(1.5 + Y) * 3, weibull),
    "Beta": Column(dist.Beta, RNG.beta(2.0 + Y, 3), beta),
    "VonMises": Column(dist.VonMises, RNG.vonmises(3.0 - 2 * Y, 2), von_mises),
    "NegativeBinomial2": Column(
        dist.NegativeBinomial2,
        RNG.negative_binomial(3, 0.3, N).astype(float),
        by_simplex("mean concentration", clumped, lambda x: (np.log(x.mean()), 0.0)),
    ),
    "ZeroInflatedPoisson": Column(
        dist.ZeroInflatedPoisson,
        RNG.poisson(3.0 + Y) * (RNG.random(N) < 0.7).astype(float),
        by_simplex("gate rate", inflated, lambda x: (0.0, np.log(x.mean()))),
    ),
}
