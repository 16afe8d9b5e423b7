"""Family on columns of little and of great spread beside their mean: scipy's fit is the oracle.

A shape and a rate are nearly one parameter where the spread is small (their logarithms correlate by
1 - 5e-5 at a hundredth of the mean): a long thin ridge, on which nothing may stop halfway.
"""

import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from paces import fast_only
from scalar_distributions import by_simplex, gamma, log_normal, student
from scipy import optimize, special, stats
from sklearn.datasets import load_wine

import bayesgen as bg

SPREADS = (0.01, 0.1, 1.0)
"""Standard deviation over mean, of the first class; 1.2 times it, of the second."""
N = 300
Y = np.arange(N) % 2


def weibull_shape(spread: float) -> float:
    def off(shape: float) -> float:
        return special.gamma(1 + 2 / shape) / special.gamma(1 + 1 / shape) ** 2 - 1 - spread**2

    return optimize.brentq(off, 0.3, 400)


def draw_gamma(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    return 3 * rng.gamma(spread**-2.0) * spread**2


def draw_inverse_gamma(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    shape = 2 + spread**-2.0
    return 3 * (shape - 1) / rng.gamma(shape)


def draw_weibull(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    return 3 * rng.weibull([weibull_shape(value) for value in spread])


def draw_log_normal(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    return 3 * np.exp(rng.normal(size=len(spread)) * np.sqrt(np.log1p(spread**2)))


def draw_beta(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    """Return cells of mean .3, whose deviation could be at most 1.5 times that."""
    total = 0.7 / (0.3 * spread**2) - 1
    return rng.beta(0.3 * total, 0.7 * total)


def draw_counts(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    """Return counts of mean 1e5: more spread than a Poisson's, which is .003 of that."""
    return rng.poisson(1e5 * rng.gamma(size := 1 / (spread**2 - 1e-5)) / size).astype(float)


def draw_student(rng: np.random.Generator, spread: np.ndarray) -> np.ndarray:
    return 3 + 3 * spread * rng.standard_t(4, len(spread)) / 2**0.5


def inverse_gamma(x: np.ndarray) -> dict[str, float]:
    """Return the fit: 1 / x is a gamma."""
    return gamma(1 / x)


def middle_and_total(x: np.ndarray, odds: float, total: float) -> tuple:
    one, zero = np.exp(total) * special.expit(odds), np.exp(total) * special.expit(-odds)
    return stats.beta.logpdf(x, one, zero), (one, zero)


def logs_of_weibull(x: np.ndarray, scale: float, shape: float) -> tuple:
    scale, shape = np.exp(scale), np.exp(shape)
    return stats.weibull_min.logpdf(x, shape, 0, scale), (scale, shape)


def mean_and_size(x: np.ndarray, mean: float, size: float) -> tuple:
    mean, size = np.exp(mean), np.exp(size)
    return stats.nbinom.logpmf(x, size, size / (size + mean)), (mean, size)


def start_of_beta(x: np.ndarray) -> tuple[float, float]:
    return special.logit(x.mean()), np.log(x.mean() * (1 - x.mean()) / x.var())


def start_of_weibull(x: np.ndarray) -> tuple[float, float]:
    return np.log(x).mean(), -np.log(np.log(x).std())


def start_of_counts(x: np.ndarray) -> tuple[float, float]:
    return np.log(x.mean()), np.log(x.mean() ** 2 / (x.var() - x.mean()))


def start_of_student(x: np.ndarray) -> tuple[float, float, float]:
    return 1.0, np.median(x), np.log(x.std())


FAMILIES = {
    "Gamma": (draw_gamma, gamma),
    "InverseGamma": (draw_inverse_gamma, inverse_gamma),
    "LogNormal": (draw_log_normal, log_normal),
    "Weibull": (
        draw_weibull,
        by_simplex("scale concentration", logs_of_weibull, start_of_weibull),
    ),
    "Beta": (
        draw_beta,
        by_simplex("concentration1 concentration0", middle_and_total, start_of_beta),
    ),
    "NegativeBinomial2": (
        draw_counts,
        by_simplex("mean concentration", mean_and_size, start_of_counts),
    ),
    "StudentT": (draw_student, by_simplex("df loc scale", student, start_of_student)),
}


@pytest.mark.parametrize("name", fast_only([], FAMILIES, slow=["Gamma", "StudentT"]))
def test_maximum_likelihood_is_that_of_scipy(name):
    """Every parameter, of every class and spread; a fit that does not converge would warn."""
    draw, fit = FAMILIES[name]
    rng = np.random.default_rng(16)
    X = pd.DataFrame({f"{s:g}": draw(rng, s * (1 + 0.2 * Y)) for s in SPREADS})
    clf = bg.NaiveBayes(bg.Family(getattr(dist, name)), inference="mle").fit(X, Y)
    assert clf.report_.converged
    # in posterior deviations, of which there are sqrt(N / 2) to a logarithm: below 1e-4 of that
    assert clf.report_.details["gradient_norm"] < 1e-4
    found = clf.posterior_.components.params["family"]
    for j, column in enumerate(X):
        for k in (0, 1):
            expected = fit(X[column].to_numpy()[k == Y])
            # rounding leaves the simplex 1e-5 about (the height is flat for 1e-8 of its size)
            for parameter, value in expected.items():
                np.testing.assert_allclose(
                    found[parameter][0, 0, k, j], value, rtol=1e-4, err_msg=f"{column} {parameter}"
                )


@pytest.mark.slow
def test_mode_is_that_of_scipy():
    """Under stated priors; flat are the logarithms of both parameters, as `MAP` says."""
    rng = np.random.default_rng(17)
    X = pd.DataFrame({f"{s:g}": draw_gamma(rng, s * (1 + 0.2 * Y)) for s in SPREADS})
    priors = {"concentration": dist.LogNormal(3.0, 2.0), "rate": dist.Gamma(2.0, 0.01)}
    clf = bg.NaiveBayes(bg.Family(dist.Gamma, priors), inference="map").fit(X, Y)
    assert clf.report_.converged

    def log_posterior(x: np.ndarray, mean: float, shape: float) -> tuple:
        shape = np.exp(shape)
        rate = shape / np.exp(mean)
        prior = stats.lognorm.logpdf(shape, 2.0, scale=np.exp(3.0)) + np.log(shape)
        prior += stats.gamma.logpdf(rate, 2.0, scale=100.0) + np.log(rate)
        height = stats.gamma.logpdf(x, shape, scale=1 / rate).sum() + prior
        return np.atleast_1d(height), (shape, rate)

    def start(x: np.ndarray) -> tuple[float, float]:
        return np.log(x.mean()), np.log(x.mean() ** 2 / x.var())

    fit = by_simplex("concentration rate", log_posterior, start)
    for j, column in enumerate(X):
        for k in (0, 1):
            for parameter, value in fit(X[column].to_numpy()[k == Y]).items():
                found = clf.posterior_.components.params["family"][parameter][0, 0, k, j]
                np.testing.assert_allclose(found, value, rtol=1e-4, err_msg=f"{column} {parameter}")


@pytest.mark.slow
def test_alcohol_of_wine_is_sampled():
    """The sampler sees no ridge: default draws do for shape and rate, and sit on the maximum."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X[["alcohol"]]
    family = bg.Family(dist.Gamma)
    best = bg.NaiveBayes(family, inference="mle").fit(X, y).posterior_.components.params["family"]
    clf = bg.NaiveBayes(family, inference=bg.NUTS(), random_state=0).fit(X, y)
    assert clf.report_.converged and clf.report_.details["divergences"] == 0
    summary = clf.summary()
    assert (summary["ess_bulk"].astype(float) >= 400).all()
    assert (summary["r_hat"].astype(float) <= 1.01).all()
    params = clf.posterior_.components.params["family"]
    for k in range(3):
        x = X["alcohol"].to_numpy()[y == k]
        for parameter, value in gamma(x).items():
            np.testing.assert_allclose(best[parameter][0, 0, k, 0], value, rtol=1e-4)
        # a logarithm of the shape is known to sqrt(2 / n); 1 row of prior and the skewness of its
        # posterior move the mean by less than a deviation
        logs = np.log(params["concentration"][..., k, 0])
        off = logs.mean() - np.log(gamma(x)["concentration"])
        assert abs(off) < (2 / len(x)) ** 0.5
        np.testing.assert_allclose(logs.std(), (2 / len(x)) ** 0.5, rtol=0.2)
