"""Data augmentation against a closed form (monotone missing values) and against its own prior.

Every comparison is in Monte Carlo standard errors; with at most 60 normal deviates a test, one
beyond 5 has probability 60 * 5.7e-7 = 3e-5, and seeds are fixed.
"""

import numpy as np
import pytest
from arviz_stats.base import array_stats
from paces import fast_only

from bayesgen.inference import incomplete_normal as module
from bayesgen.inference.data_augmentation import augment
from bayesgen.inference.incomplete_normal import IncompleteNormal
from bayesgen.likelihoods import MultivariateNormal

P = 3
DRAWS = 700
LIMIT = 5.0
"""Monte Carlo standard errors."""


def monotone(rng, *, n=40, n_classes=2):
    """Rows that show the first one, two or three columns, and never a later one alone."""
    y = np.arange(n) % n_classes
    x = rng.standard_normal((n, P)) @ rng.standard_normal((P, P)) + y[:, None]
    shown = rng.integers(1, P + 1, size=n)
    x[np.arange(P) >= shown[:, None]] = np.nan
    return x, y


def prior_of(covariance, p=P):
    matrix = np.eye(p) + 0.3 * (1 - np.eye(p))
    return MultivariateNormal(
        covariance=covariance, mean=0.2, mean_rows=1.5, scale=matrix, covariance_rows=6.0
    )


def sequential(params):
    """Return mean and variance of column 0 and the regression of each column on those before.

    shape (..., entry); under a normal-inverse-Wishart the columns' entries are independent, and
    rows that show a column's predecessors but not the column say nothing about its regression.
    """
    mean, factor = params["mean"], params["cholesky"]
    diagonal = np.diagonal(factor, axis1=-2, axis2=-1)
    slope = np.eye(P) - np.linalg.inv(factor / diagonal[..., None, :])
    unit = np.broadcast_to(slope, (*mean.shape, P))
    intercept = mean - (unit @ mean[..., None])[..., 0]
    i, j = np.tril_indices(P, -1)
    parts = (np.log(diagonal), slope[..., i, j], intercept)
    return [part.reshape(*mean.shape[:-2], *part.shape[-2:]) for part in parts]


def closed_form(prior, x, y, weight, rng, n=20_000):
    """Return exact draws of the same entries: each column from the rows that show it."""
    found = []
    for j in range(P):
        rows = ~np.isnan(x[:, j])
        some = prior.take("feature", np.arange(j + 1))
        s = some.statistics(x[rows, : j + 1], y[rows], weight[rows], n_classes=len(prior.mean))
        params = some.posterior(s).draw(rng, n)
        pad = {
            "mean": np.zeros((n, len(prior.mean), P)),
            "cholesky": np.zeros((n, len(prior.scale), P, P)),
        }
        pad["cholesky"] += np.eye(P)
        pad["mean"][..., : j + 1] = params["mean"]
        pad["cholesky"][..., : j + 1, : j + 1] = params["cholesky"]
        spread, slope, intercept = sequential(pad)
        below = np.tril_indices(P, -1)[0] == j
        found.append((spread[..., j], slope[..., below], intercept[..., j]))
    spreads, slopes, intercepts = zip(*found, strict=True)
    return [np.stack(spreads, -1), np.concatenate(slopes, -1), np.stack(intercepts, -1)]


def worst_deviate(params, exact):
    """Largest difference of bounded moments, in Monte Carlo standard errors.

    Entries are squashed by tanh at their own scale: regressions have tails so long that raw second
    moments of a few thousand draws are far from normal.
    """
    worst = 0.0
    for mine, theirs in zip(sequential(params), exact, strict=True):
        mine, theirs = mine.reshape(*mine.shape[:2], -1), theirs.reshape(len(theirs), -1)
        low, centre, high = np.quantile(theirs, [0.25, 0.5, 0.75], axis=0)
        for power in (1, 2):
            found = np.tanh((mine - centre) / (high - low)) ** power
            oracle = np.tanh((theirs - centre) / (high - low)) ** power
            size = array_stats.ess(found, chain_axis=0, draw_axis=1, method="mean")
            error2 = found.var(axis=(0, 1)) / size + oracle.var(0) / len(oracle)
            gap = found.mean(axis=(0, 1)) - oracle.mean(0)
            worst = max(worst, float((np.abs(gap) / np.sqrt(error2)).max()))
    return worst


WEIGHTS = {
    "ones": np.ones,
    "integers": lambda n: np.random.default_rng(5).integers(0, 4, n).astype(float),
    "reals": lambda n: np.random.default_rng(6).uniform(0.2, 1.6, n),
    "small": lambda n: np.full(n, 0.3),
}
ROWS = {"ones": 40, "integers": 40, "reals": 16, "small": 12}


def deviate(rng, covariance, weights):
    x, y = monotone(rng, n=ROWS[weights])
    weight = WEIGHTS[weights](len(y))
    prior = prior_of(covariance)
    statistics = prior.statistics(x, y, weight, n_classes=2)
    prior = prior.complete(statistics)
    data = IncompleteNormal(prior, statistics)
    params, report = augment(data, rng, draws=DRAWS, warmup=100, chains=4)
    assert params["mean"].shape == (4, DRAWS, 2, P)
    assert params["cholesky"].shape == (4, DRAWS, len(prior.scale), P, P)
    if weights in ("reals", "small"):
        cells = module._cells(statistics)
        assert cells.excess.any() or cells.left.has_missing
    # a step that is not accepted leaves the mean where it was
    report["always_moved"] = bool((np.diff(params["mean"], axis=1) != 0).all())
    return worst_deviate(params, closed_form(prior, x, y, weight, rng)), report


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
@pytest.mark.parametrize("weights", fast_only(["small"], WEIGHTS))
def test_monotone_missing_values_give_the_closed_form(rng, covariance, weights):
    worst, report = deviate(rng, covariance, weights)
    assert worst < LIMIT
    assert report["r_hat"] < 1.03
    assert report["ess"] > 100
    assert report["always_moved"] == (weights in ("ones", "integers"))


def no_wishart(cells, shape, rng):
    return np.zeros(shape)


def no_lack(cells, params):
    return np.zeros((len(params["mean"]), len(cells.rows.count)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault", "weights"),
    [("_bartlett", no_wishart, "ones"), ("_lacking", no_lack, "small")],
)
def test_planted_fault_is_found(rng, monkeypatch, name, fault, weights):
    monkeypatch.setattr(module, name, fault)
    assert deviate(rng, "shared", weights)[0] > LIMIT


def one_step(prior, rng, n, times):
    """Return entries of parameters from the prior, and of those one step on given their rows."""
    before, after = [], []
    drawn = prior.draw(rng, times)
    y = np.arange(n) % len(prior.mean)
    for t in range(times):
        params = {name: value[t] for name, value in drawn.items()}
        x = prior.simulate(params, y, rng)
        x[rng.random(x.shape) < 0.4] = np.nan
        statistics = prior.statistics(x, y, np.ones(n), n_classes=len(prior.mean))
        cells, now = module._cells(statistics), {k: v[None] for k, v in params.items()}
        step = module._parameters(prior, *module._filled(cells, now, rng), rng)
        before.append(summary(now))
        after.append(summary(step))
    return np.concatenate(before), np.concatenate(after)


def summary(params):
    """Means, log standard deviations, correlations and squares of the means."""
    mean, factor = params["mean"], params["cholesky"]
    sd = np.sqrt((factor**2).sum(-1))
    unit = factor / sd[..., None]
    i, j = np.tril_indices(factor.shape[-1], -1)
    correlation = (unit @ np.swapaxes(unit, -1, -2))[..., i, j]
    parts = (mean, np.log(sd), correlation, correlation**2, np.tanh(mean) ** 2, np.log(sd) ** 2)
    return np.concatenate([part.reshape(len(mean), -1) for part in parts], axis=1)


def joint_deviate(rng, covariance, times=700):
    statistics = MultivariateNormal().statistics(
        np.zeros((0, 4)), np.zeros(0, dtype=int), np.zeros(0), n_classes=2
    )
    prior = prior_of(covariance, p=4).with_arrays({"covariance_rows": 4.0}).complete(statistics)
    before, after = one_step(prior, rng, 10, times)
    gap = after - before
    return np.abs(gap.mean(0) / (gap.std(0) / np.sqrt(times))).max()


@pytest.mark.parametrize("covariance", fast_only(["shared"], ["per_class", "shared"]))
def test_one_step_given_simulated_rows_leaves_the_prior(rng, covariance):
    assert joint_deviate(rng, covariance) < LIMIT


@pytest.mark.slow
def test_a_wrong_degree_of_freedom_moves_the_prior(rng, monkeypatch):
    right = module._cells

    def one_more(statistics):
        cells = right(statistics)
        object.__setattr__(cells, "degrees", cells.degrees + 1)
        return cells

    monkeypatch.setattr(module, "_cells", one_more)
    assert joint_deviate(rng, "per_class") > LIMIT


def test_equal_generators_give_equal_draws(rng):
    x, y = monotone(rng)
    likelihood = MultivariateNormal()
    statistics = likelihood.statistics(x, y, np.ones(len(y)), n_classes=2)
    prior = likelihood.complete(statistics)
    data = IncompleteNormal(prior, statistics)
    runs = [
        augment(data, np.random.default_rng(3), draws=20, warmup=5, chains=2)[0] for _ in range(2)
    ]
    for name, value in runs[0].items():
        np.testing.assert_array_equal(value, runs[1][name])
        assert value.shape[:2] == (2, 20)
