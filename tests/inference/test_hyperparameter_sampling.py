"""Learned prior strengths by NUTS: one evidence for NumPy and JAX, a fine grid, refusals."""

import dataclasses

import jax
import laws
import numpy as np
import numpyro.distributions as dist
import pytest
from cases import CASES
from paces import fast_only
from scipy.special import logsumexp

import bayesgen as bg
from bayesgen.classes import ClassPrior
from bayesgen.errors import UnsupportedOperation
from bayesgen.inference import NUTS, nuts
from bayesgen.inference import hyperparameter_sampling as learning
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture, averaged
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.problem import Problem

LEARNED = {
    "Normal": {"mean_rows": (0.03, 10.0), "variance_rows": (0.5, 32.0)},
    "Normal shared": {"mean_rows": (0.03, 10.0), "variance_rows": (0.5, 32.0)},
    "MultivariateNormal": {"mean_rows": (0.03, 3.0), "covariance_rows": (0.5, 100.0)},
    "MultivariateNormal shared": {"covariance_rows": (0.5, 100.0)},
    "sliding": {"covariance_rows": (0.5, 100.0), "correlation": (0.0, 0.99)},
    "Categorical": {"rows": (0.25, 256.0)},
    "Bernoulli": {"rows": (0.25, 256.0)},
    "Poisson": {"rows": (0.1, 30.0)},
}


def built(name, n=25, seed=3, grids=None):
    """Return a family averaged over the ends of its grids, completed, statistics and rows."""
    case = CASES["MultivariateNormal" if name == "sliding" else name]
    # guesses stay those of the columns: a scale that is stated has no pooled correlations
    prior = averaged(case.vague, grids or LEARNED[name])
    x, y = case.rows(np.random.default_rng(seed), n, False)
    statistics = laws.statistics(case, prior, x, y)
    return prior.complete(statistics), statistics, x


def traced(part, statistics, values):
    """Return the evidence as JAX computes it."""
    template, slopes = learning.line(part.members)
    with jax.enable_x64(True):

        def evidence(prior, rows, values):
            family = learning.under(template.with_arrays(prior), slopes, values)
            return family.log_evidence(statistics.with_arrays(rows))

        values = {name: np.array(value) for name, value in values.items()}
        arrays = template.arrays(), statistics.arrays()
        found, slope = jax.jit(jax.value_and_grad(evidence, argnums=2))(*arrays, values)
        assert all(np.isfinite(value) for value in slope.values())
        return float(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", LEARNED)
def test_evidence_is_one_formula_for_numpy_and_jax(name):
    part, statistics, _ = built(name)
    rng = np.random.default_rng(0)
    for _ in range(3):
        values = {n: rng.uniform(low, high) for n, (low, high) in LEARNED[name].items()}
        wanted = learning.given(part.members, values).log_evidence(statistics)
        assert traced(part, statistics, values) == pytest.approx(float(wanted), rel=1e-10)
    for member in part.members:
        own = {n: float(np.ravel(getattr(member, n))[0]) for n in LEARNED[name]}
        found, wanted = learning.given(part.members, own), member.log_evidence(statistics)
        assert found.log_evidence(statistics) == pytest.approx(float(wanted), rel=1e-10)
    if name == "sliding":
        slope = learning.line(part.members)[1]["correlation"]["scale"]
        assert np.abs(slope).max() > 0.01


SAMPLER = NUTS(draws=500, warmup=300, chains=4, progress=False)


def sampled(part, statistics, sampler=SAMPLER):
    model = Model(ClassPrior(np.full(3, 1 / 3), np.inf), {"block": part})
    counts = ModelStatistics(np.ones(3), {"block": statistics})
    problem = Problem(model, counts, Reader({"block": Selection()}))
    return sampler.infer(problem, 0)


def fine(name, settings):
    """Return the grid of the same prior, even over logarithms, at the middles of narrow cells."""
    middles = (np.arange(settings) + 0.5) / settings

    def values(setting, low, high):
        if setting == "correlation":
            return tuple(1 - (1 - low) * ((1 - high) / (1 - low)) ** middles)
        return tuple(low * (high / low) ** middles)

    return {n: values(n, *ends) for n, ends in LEARNED[name].items()}


def meets_the_grid(name):
    """Compare log densities of rows averaged over drawn prior strengths with those over a grid.

    Of logarithms, because densities far out are the doing of a few draws, whose error no sample
    tells.
    """
    part, statistics, x = built(name)
    fit = sampled(part, statistics)
    assert fit.report.converged, fit.report
    grids = [built(name, grids=fine(name, n))[0].posterior(statistics) for n in (24, 48)]
    rows = x[:6].copy()
    if rows.dtype.kind == "f" and name not in ("Bernoulli", "Poisson"):
        rows = np.concatenate([rows, rows + 30 * np.nanstd(x, axis=0)])
    mixed = fit.model.blocks["block"]
    drawn, *every = (
        np.stack([member.log_predictive(rows) for member in found.members])
        for found in (mixed, *grids)
    )
    np.testing.assert_allclose(
        mixed.log_predictive(rows), logsumexp(drawn, axis=0) - np.log(len(drawn)), rtol=1e-9
    )
    coarse, wanted = (
        np.tensordot(np.exp(grid.log_weight), each, axes=1)
        for grid, each in zip(grids, every, strict=True)
    )
    # the draws that answers rest on are thinned, and count for less than they are
    size = min(fit.report.details["ess"], len(mixed.members))
    error = drawn.std(axis=0) / np.sqrt(size)
    gap = np.abs(drawn.mean(axis=0) - wanted)
    # a grid half as fine tells what the cells of this one are worth
    assert (gap <= 5 * error + np.abs(coarse - wanted)).all(), (gap / error).max()


@pytest.mark.slow
def test_meets_a_fine_grid():
    meets_the_grid("Normal")


@pytest.mark.parametrize(
    "name", fast_only([], [name for name in LEARNED if name != "Normal"], slow=["Categorical"])
)
def test_every_family_meets_a_fine_grid(name):
    meets_the_grid(name)


@pytest.mark.slow
def test_a_prior_of_another_measure_is_caught(monkeypatch):
    """Even over the strength in place of its logarithm."""
    right = learning.StrengthsTarget.terms

    def wrong(self, tree, u):
        import jax.numpy as jnp

        found, values = right(self, tree, u), self.values(tree, u)
        return found | {"prior": sum(jnp.log(value) for value in values.values())}

    monkeypatch.setattr(learning.StrengthsTarget, "terms", wrong)
    nuts.compiled.cache_clear()
    try:
        with pytest.raises(AssertionError):
            meets_the_grid("Normal")
    finally:
        nuts.compiled.cache_clear()


@pytest.mark.slow
def test_a_whole_table():
    """Blocks of several families, one of them with stated prior strengths, through an estimator."""
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[::9], y[::9]
    likelihood = {
        "age": bg.Normal(variance_rows="learn", mean_rows="learn"),
        "sex": bg.Categorical(rows="learn"),
        "passengerClass": bg.Categorical(),
    }
    short = NUTS(draws=150, warmup=150, chains=2)
    clf = bg.GenerativeClassifier(likelihood, inference=short, random_state=0).fit(X, y)
    exact = bg.GenerativeClassifier(likelihood, random_state=0).fit(X, y)
    assert clf.inference_ == "nuts"
    assert isinstance(clf.posterior_.components.model.blocks["age"], HyperparameterMixture)
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(proba, exact.predict_proba(X), atol=0.03)
    interval = clf.predict_interval(X[:9])
    assert (interval[..., 0] <= interval[..., 1]).all()
    low, high = 0.03, 10.0
    assert low < clf.report_.details["age.mean_rows"] < high
    other = dataclasses.replace(short, draws=150)
    again = bg.GenerativeClassifier(likelihood, inference=other, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), proba)


@pytest.mark.slow
def test_saved_and_loaded(tmp_path):
    X, y = bg.datasets.load_iris()
    sampler = NUTS(draws=20, warmup=20, chains=2, checkpoint=str(tmp_path / "run.bgm"))
    clf = bg.NaiveBayes(bg.Normal(variance_rows="learn"), inference=sampler, random_state=0)
    with pytest.warns(bg.errors.NotConverged):
        clf.fit(X, y)
    clf.save(tmp_path / "m.bgm")
    loaded = bg.load(tmp_path / "m.bgm")
    np.testing.assert_array_equal(loaded.predict_proba(X), clf.predict_proba(X))
    with pytest.warns(bg.errors.NotConverged):
        again = bg.NaiveBayes(bg.Normal(variance_rows="learn"), inference=sampler).fit(X, y)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


@pytest.mark.slow
def test_what_is_refused():
    X, y = bg.datasets.load_iris()
    short = NUTS(draws=10, warmup=10, chains=1)
    columns = list(X)
    mixed = {columns[0]: bg.Normal(mean_rows="learn"), columns[1]: bg.Family(dist.Gamma)}
    for likelihood, words in (
        (bg.MultivariateNormal(prior="lkj", mean_rows="learn"), "or use prior='conjugate'"),
        (mixed, "State the prior strengths"),
    ):
        remainder = "drop" if likelihood is mixed else None
        with pytest.raises(UnsupportedOperation, match=words):
            bg.GenerativeClassifier(likelihood, remainder=remainder, inference=short).fit(X, y)
    gaps = X.copy()
    gaps.iloc[3, 1] = np.nan
    with pytest.raises(UnsupportedOperation, match="miss"):
        bg.QDA(mean_rows="learn", inference=short).fit(gaps, y)
