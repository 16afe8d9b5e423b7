"""Families that keep rows, for the laws: any distribution, and kernel densities.

What is written once for all distributions is tried on one of positive numbers and one of counts;
tests/likelihoods/test_family.py has a table of the others. (Densities of negative binomials sum to
one within 1e-7 only: numpyro takes them from jax's betaln.)
"""

import dataclasses

import numpy as np
import numpyro.distributions as dist
from case import Case, Table, some_classes

from bayesgen.likelihoods import Family, KernelDensity, KernelDiscriminant, Likelihood

UNITS = np.array([1.0, 20.0, 0.3])


def some_sizes(rng: np.random.Generator, n: int) -> Table:
    """Return three columns of positive numbers in different units."""
    y = some_classes(rng, n)
    shape = np.array([[2.0, 3.0, 5.0], [4.0, 2.5, 3.0], [3.0, 6.0, 2.0]])
    return rng.gamma(shape[y]) * UNITS, y


def some_counts_with_zeros(rng: np.random.Generator, n: int) -> Table:
    """Return three columns of counts, a fifth of them kept at zero."""
    y = some_classes(rng, n)
    rate = np.array([[0.5, 2.0, 4.0], [1.5, 2.5, 1.0], [3.0, 0.7, 2.0]])
    return rng.poisson(rate[y]) * (rng.random((n, 3)) < 0.8).astype(float), y


def some_lumps(rng: np.random.Generator, n: int) -> Table:
    """Return three columns with two humps in one class."""
    y = some_classes(rng, n)
    hump = np.where(y == 1, rng.choice([-2.0, 2.0], n), 0.5 * y)
    return (hump[:, None] + rng.standard_normal((n, 3))) * UNITS + 5 * UNITS, y


def positive_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights over positive numbers: the trapezoid rule for their logarithms."""
    t = np.linspace(-30.0, 7.0, 300)
    nodes = np.nanmean(x[:, j]) * np.exp(t)
    return nodes, nodes * (t[1] - t[0])


def count_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts so far out that what is left has no weight."""
    return np.arange(100.0), np.ones(100)


def lump_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights of the trapezoid rule, which is exact enough for bumps that wide."""
    away = 6 * np.nanstd(x[:, j])
    nodes = np.linspace(np.nanmin(x[:, j]) - away, np.nanmax(x[:, j]) + away, 300)
    return nodes, np.full(300, nodes[1] - nodes[0])


def smooth_line(x: np.ndarray, j: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights over all numbers, tails among them: the trapezoid rule in sinh t."""
    t = np.linspace(-6.0, 6.0, 301)
    center, spread = np.nanmean(x[:, j]), np.nanstd(x[:, j])
    return center + spread * np.sinh(t), spread * np.cosh(t) * (t[1] - t[0])


def scaled_lumps(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return columns in other units, one of them upside down; bandwidths have no unit."""
    return x * np.array([2.5, -0.1, 60.0]) + np.array([-3.0, 7.0, 100.0]), prior


def other_lumps(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return columns in other units, one of them upside down, and the bandwidths in these units."""
    a, b = np.array([2.5, -0.1, 60.0]), np.array([-3.0, 7.0, 100.0])
    if isinstance(prior.bandwidth, np.ndarray):
        prior = dataclasses.replace(prior, bandwidth=prior.bandwidth * np.abs(a))
    return x * a + b, prior


def same_units(x: np.ndarray, prior: Likelihood) -> tuple[np.ndarray, Likelihood]:
    """Return the same."""
    return x, prior


def near_the_centre(part: Family, rng: np.random.Generator, n: int) -> dict:
    """Return parameters near those of all classes together."""
    import jax

    u = part.centre + 0.2 * rng.standard_normal((n, *part.centre.shape))
    with jax.enable_x64(True):
        return jax.device_get(part.declaration.params(u))


BANDWIDTH = np.array([[0.7, 1.0, 0.6], [1.1, 0.8, 0.9], [0.8, 0.7, 1.2]]) * UNITS
NO_PARAMETER = "the bandwidth is known, or averaged over: there is no parameter"

PLUG_IN = {
    "law_story": NO_PARAMETER,
    "law_mode": NO_PARAMETER,
    "law_average": NO_PARAMETER,
    "law_update": NO_PARAMETER,
    "law_sequence": "rows come in by complete, as centres; posterior has nothing to add",
    "law_bayes": "the density is made of the rows, so that they have no evidence",
}
CENTERS = {
    "law_mode": "weights of rows have a posterior, and no estimate",
    "law_bayes": "the density is made of the rows, so that they have no evidence",
    "law_update": "parameters are weights of the fitted rows; a new row adds one",
}

ROWS = {
    "Family gamma": Case(
        Family(dist.Gamma, rows=2.0),
        Family(dist.Gamma),
        some_sizes,
        np.nan,
        positive_line,
        same_units,
        params=near_the_centre,
    ),
    "Family counts": Case(
        Family(dist.ZeroInflatedPoisson, priors={"rate": dist.Gamma(2.0, 1.0)}),
        Family(dist.ZeroInflatedPoisson),
        some_counts_with_zeros,
        np.nan,
        count_line,
        same_units,
        params=near_the_centre,
    ),
    "KernelDensity": Case(
        KernelDensity(bandwidth=BANDWIDTH),
        KernelDensity(),
        some_lumps,
        np.nan,
        lump_line,
        other_lumps,
        exempt=PLUG_IN,
    ),
    "KernelDiscriminant": Case(
        KernelDiscriminant(0.7),
        KernelDiscriminant(0.4, base_rows=3.0),
        some_lumps,
        np.nan,
        smooth_line,
        scaled_lumps,
        exempt=CENTERS,
    ),
    "KernelDiscriminant learned": Case(
        KernelDiscriminant(base_rows=0.5, centers=20),
        KernelDiscriminant(),
        some_lumps,
        np.nan,
        smooth_line,
        scaled_lumps,
        exempt=CENTERS
        | {
            "law_units": "which rows are centers depends on their order by value",
            "leave_one_out": "bandwidths keep the weights that the other rows give them; "
            "test_kernel_discriminant.py",
        },
    ),
    "KernelDensity learned": Case(
        KernelDensity("learn"),
        KernelDensity("learn"),
        some_lumps,
        np.nan,
        smooth_line,
        other_lumps,
        exempt=PLUG_IN
        | {
            "leave_one_out": "bandwidths keep the weights that the other rows give them; "
            "test_kernel_density.py",
        },
    ),
}
