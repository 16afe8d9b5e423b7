"""The log_prior group: log densities as scipy has them, power-scaling as refits have it."""

import arviz_stats as az
import numpy as np
import pandas as pd
import pytest
from arviz_stats.psense import power_scale_dataset
from scipy import stats

import bayesgen as bg


def numbers():
    """Return 36 rows of two numbers in three classes."""
    rng = np.random.default_rng(0)
    y = np.arange(36) % 3
    return pd.DataFrame(rng.normal(size=(36, 2)) + y[:, None], columns=["a", "b"]), y


def normal(p, **stated):
    """Mean given variance, variance scaled-inverse-chi-squared: worked out by scipy."""
    mean, variance = (p[f"normal.{name}"].values for name in ("mean", "variance"))
    spread = np.sqrt(variance / stated["mean_rows"])
    rows = stated["variance_rows"]
    out = stats.norm(stated["mean"], spread).logpdf(mean).sum((2, 3))
    scale = rows * stated["variance"] / 2
    return out + stats.invgamma(rows / 2, scale=scale).logpdf(variance).sum((2, 3))


def multivariate(p, **stated):
    """Mean given covariance, covariance inverse-Wishart; one covariance where all share it."""
    mean, sigma = (p[f"normal.{name}"].values for name in ("mean", "covariance"))
    rows, size = stated["covariance_rows"], mean.shape[-1]
    matrices = sigma if sigma.ndim == 5 else sigma[:, :, None]
    wishart = stats.invwishart(size - 1 + rows, rows * stated["scale"] * np.eye(size))
    out = np.zeros(mean.shape[:2])
    for at in np.ndindex(mean.shape[:2]):
        out[at] = sum(wishart.logpdf(matrix) for matrix in matrices[at])
        for k, one in enumerate(mean[at]):
            matrix = matrices[at][min(k, len(matrices[at]) - 1)] / stated["mean_rows"]
            out[at] += stats.multivariate_normal(np.full(size, stated["mean"]), matrix).logpdf(one)
    return out


NORMAL = {"mean": 0.5, "mean_rows": 2.0, "variance": 1.5, "variance_rows": 4.0}
WISHART = {"mean": 0.5, "mean_rows": 2.0, "scale": 1.5, "covariance_rows": 4.0}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clf", "expected", "stated"),
    [
        (bg.NaiveBayes(bg.Normal(**NORMAL)), normal, NORMAL),
        (bg.QDA(**WISHART), multivariate, WISHART),
        (bg.LDA(**WISHART), multivariate, WISHART),
    ],
)
def test_log_prior_of_normals_is_that_of_scipy(clf, expected, stated):
    X, y = numbers()
    # a shift of the columns: parameters are shown in the user's units, and so is the guess
    tree = clf.fit(X, y).to_datatree(draws=16, replicates=1)
    found, p = tree["log_prior"], tree["posterior"]
    assert set(found.data_vars) == {"class", "normal"}
    assert all(v.dims == ("chain", "draw") for v in found.data_vars.values())
    np.testing.assert_allclose(found["normal"].values, expected(p, **stated), rtol=1e-9)
    probs = p["class.probs"].values
    classes = [[stats.dirichlet(np.ones(3)).logpdf(one) for one in chain] for chain in probs]
    np.testing.assert_allclose(found["class"].values, classes, rtol=1e-9)


@pytest.mark.slow
def test_log_prior_of_levels_counts_and_bits_is_that_of_scipy():
    rng = np.random.default_rng(1)
    y = np.arange(30) % 2
    X = pd.DataFrame(
        {"n": rng.poisson(3, 30), "bit": rng.integers(0, 2, 30), "level": [*"abc"] * 10}
    )
    spec = {
        "n": bg.Poisson(rate=2.0, rows=3.0),
        "bit": bg.Bernoulli(prob=0.25, rows=4.0),
        "level": bg.Categorical(probs=1 / 3, rows=6.0),
    }
    clf = bg.NaiveBayes(spec, class_prior={0: 0.4, 1: 0.6}).fit(X, y)
    tree = clf.to_datatree(draws=16, replicates=1)
    found, p = tree["log_prior"], tree["posterior"]
    # class probabilities that are known have no prior
    assert set(found.data_vars) == {"n", "bit", "level"}
    rate, prob = p["n.rate"].values, p["bit.prob"].values
    expected = stats.gamma(6, scale=1 / 3).logpdf(rate).sum((2, 3))
    np.testing.assert_allclose(found["n"].values, expected, rtol=1e-9)
    expected = stats.beta(1, 3).logpdf(prob).sum((2, 3))
    np.testing.assert_allclose(found["bit"].values, expected, rtol=1e-9)
    level = p["level.probs"].values.reshape(16, 2, 3)
    expected = [stats.dirichlet([2, 2, 2]).logpdf(one.T).sum() for one in level]
    np.testing.assert_allclose(found["level"].values.ravel(), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "clf",
    [
        bg.QDA(prior="reference"),
        bg.LDA(inference="mle"),
        bg.NaiveBayes(bg.Normal(variance_rows="learn")),
    ],
)
def test_log_prior_is_absent_without_a_density_of_the_whole_prior(clf):
    tree = clf.fit(*numbers()).to_datatree(draws=16, replicates=1)
    assert "posterior" in tree.children and "log_prior" not in tree.children


# --- power-scaling: a Gamma prior to a power is a Gamma prior, rows to a power have that weight ---

RATE, ROWS = 6.0, 8.0
"""A guess above what the rows show, and about as strong as they are."""


def counts():
    rng = np.random.default_rng(2)
    return pd.DataFrame({"n": rng.poisson(2.0, 24)}), np.arange(24) % 2


def poisson(alpha=1.0):
    """Return the classifier whose prior of the rates is Gamma(RATE ROWS, ROWS) to a power."""
    shape = alpha * (RATE * ROWS - 1) + 1
    family = bg.Poisson(rate=shape / (alpha * ROWS), rows=alpha * ROWS)
    return bg.NaiveBayes(family, random_state=0)


@pytest.fixture(scope="module")
def tree():
    """Return the tree as power-scaling of the likelihood wants it: with that of rows and labels."""
    out = poisson().fit(*counts()).to_datatree(draws=8000, replicates=1)
    out["log_likelihood"] = out["log_likelihood_joint"]
    return out


@pytest.mark.parametrize("group", ["prior", "likelihood"])
def test_power_scaling_agrees_with_refits(tree, group):
    """Means under the power 1 +- .25: within 5 standard errors, and on the refit's side of 1."""
    (X, y), name = counts(), {"prior": "log_prior", "likelihood": "log_likelihood"}[group]
    log = sum(v.sum([d for d in v.dims if d not in ("chain", "draw")]) for v in tree[name].values())
    log, rate = log.values.ravel(), tree["posterior"]["poisson.rate"].values.reshape(8000, 2)
    exact = {1.0: poisson().fit(X, y).posterior_.components.model.blocks["poisson"].rate[:, 0]}
    for alpha in (0.75, 1.25):
        if group == "prior":
            refit = poisson(alpha).fit(X, y)
        else:
            refit = poisson().fit(X, y, sample_weight=np.full(len(y), alpha))
        exact[alpha] = refit.posterior_.components.model.blocks["poisson"].rate[:, 0]
        weight = np.exp((alpha - 1) * (log - log.max()))
        weight /= weight.sum()
        error = np.sqrt((weight[:, None] ** 2 * (rate - weight @ rate) ** 2).sum(axis=0))
        assert (np.abs(weight @ rate - exact[alpha]) < 5 * error).all()
        assert (np.abs(exact[alpha] - exact[1.0]) > 10 * error).all()
    # arviz's own way there: the change has the sign of the refits'
    scaled = power_scale_dataset(tree, group, (0.75, 1.25), ["chain", "draw"], None, None)
    means = scaled["poisson.rate"].mean("sample").values[..., 0]
    sign = np.sign(exact[1.25] - exact[0.75])
    np.testing.assert_array_equal(np.sign(means[2] - means[0]), sign)
    assert (sign == (1 if group == "prior" else -1)).all()


def test_psense_finds_the_strong_prior(tree):
    found = az.psense_summary(tree)
    strong = found.loc[[name for name in found.index if "rate" in name]]
    assert (strong["prior"] > 0.05).all() and (strong["likelihood"] > 0.05).all()
    weak = bg.NaiveBayes(bg.Poisson(rate=2.0, rows=0.1), random_state=0).fit(*counts())
    other = weak.to_datatree(draws=4000, replicates=1)
    other["log_likelihood"] = other["log_likelihood_joint"]
    found = az.psense_summary(other)
    assert (found.loc[strong.index, "prior"] < strong["prior"] / 5).all()
