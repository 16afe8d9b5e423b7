"""The DataTree: groups, names and numbers from every method, and arviz's functions on it."""

import arviz_stats as az
import numpy as np
import pytest
from paces import fast_only
from scipy import stats

import bayesgen as bg
from bayesgen.errors import InvalidData, UnsupportedOperation

ROWS = ("log_likelihood_conditional", "log_likelihood_joint", "observed_data", "constant_data")
EVERY = {"posterior", "prior", "log_prior", *ROWS, "posterior_predictive", "prior_predictive"}


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X.iloc[::4].reset_index(drop=True), y.iloc[::4].reset_index(drop=True)
    return bg.NaiveBayes(random_state=0).fit(X, y), X, y


@pytest.fixture(scope="module")
def tree(titanic):
    return titanic[0].to_datatree(draws=400, replicates=20)


def test_groups(tree):
    assert set(tree.children) == EVERY


def test_names_are_the_users(tree):
    posterior = tree["posterior"]
    assert posterior["class"].values.tolist() == ["no", "yes"]
    assert posterior["normal.mean"].dims == ("chain", "draw", "class", "normal.feature")
    assert posterior["normal.feature"].values.tolist() == ["age"]
    levels = posterior["categorical.level"].values.tolist()
    assert levels[:2] == ["sex=female", "sex=male"] and "passengerClass=3rd" in levels
    shares = posterior["categorical.probs"]
    ones = shares.sel({"categorical.level": ["sex=female", "sex=male"]}).sum("categorical.level")
    np.testing.assert_allclose(ones, 1.0, rtol=1e-12)


def test_parameters_are_in_the_users_unit(titanic, tree):
    clf, X, y = titanic
    mean = tree["posterior"]["normal.mean"].mean(("chain", "draw")).values[:, 0]
    error = tree["posterior"]["normal.mean"].std(("chain", "draw")).values[:, 0] / 20
    exact = clf.posterior_.components.model.blocks["normal"].mean[:, 0]
    assert (np.abs(mean - exact) < 5 * error).all()
    assert (np.abs(mean - X.age.groupby(y).mean().values) < 2).all()


def test_prior_is_what_was_stated():
    """Four standard errors of 4,000 draws."""
    X, y = bg.datasets.load_iris()
    prior = bg.Normal(mean=100.0, mean_rows=4.0, variance=9.0, variance_rows=6.0)
    tree = bg.NaiveBayes(prior, random_state=0).fit(X, y).to_datatree(draws=4000, replicates=2)
    variance = tree["prior"]["normal.variance"].values.reshape(4000, -1)
    ks = stats.kstest(variance[:, 0], stats.invgamma(3, scale=27).cdf)
    assert ks.pvalue > 1e-4
    mean = tree["prior"]["normal.mean"].values.reshape(4000, -1)[:, 0]
    assert abs(mean.mean() - 100) < 4 * mean.std() / np.sqrt(4000)


def test_log_likelihoods_are_log_densities(titanic, tree):
    clf, X, y = titanic
    joint, own = tree["log_likelihood_joint"]["xy"].values, (y == "yes").astype(int).values
    exact = clf.predict_joint_log_proba(X)[np.arange(len(X)), own]
    draws = np.exp(joint.reshape(400, -1))
    error = draws.std(axis=0) / 20
    assert (np.abs(draws.mean(axis=0) - np.exp(exact)) < 5 * error).all()
    conditional = tree["log_likelihood_conditional"]["y"].values
    assert (conditional <= 0).all() and (conditional >= joint).all()


def test_observed_data_are_the_columns(titanic, tree):
    _, X, y = titanic
    np.testing.assert_allclose(tree["observed_data"]["age"].values, X.age.values, rtol=1e-13)
    codes = (X.sex == "male").astype(float).values
    np.testing.assert_array_equal(tree["observed_data"]["sex"].values, codes)
    assert (tree["constant_data"]["y"].values == (y == "yes")).all()


def test_replicates_look_like_the_rows(titanic, tree):
    """Ages of survivors: mean over replicates within 5 standard errors of the posterior's."""
    _, _, y = titanic
    ages = tree["posterior_predictive"]["age"].values[0][:, (y == "yes").values]
    assert ages.shape[0] == 20
    expected = tree["posterior"]["normal.mean"].sel({"class": "yes"})
    error = np.sqrt(float(expected.var()) / 20 + ages.var() / ages.size)
    assert abs(ages.mean() - float(expected.mean())) < 5 * error


def test_rows_of_the_users_own_choice(titanic):
    clf, X, y = titanic
    tree = clf.to_datatree(X.iloc[:7], y.iloc[:7], draws=40, replicates=3)
    assert tree["log_likelihood_conditional"]["y"].shape == (4, 10, 7)
    with pytest.raises(InvalidData, match="maybe"):
        clf.to_datatree(X.iloc[:2], ["maybe", "yes"])


def test_rows_are_not_copied_along(titanic):
    clf, X, y = titanic
    parts = bg.NaiveBayes().partial_fit(X, y)
    for other in (clf.with_class_prior("uniform"), parts):
        with pytest.raises(UnsupportedOperation, match=r"to_datatree\(X, y\)"):
            other.to_datatree()
        assert set(other.to_datatree(X, y, draws=40, replicates=2).children) == EVERY


@pytest.mark.parametrize("inference", fast_only(["mle"], ["mle", "map", "exact"]))
@pytest.mark.parametrize("family", [bg.LDA, bg.QDA])
def test_covariances_stand_for_factors(family, inference):
    X, y = bg.datasets.load_iris()
    clf = family(inference=inference, random_state=0).fit(X, y)
    tree = clf.to_datatree(draws=200, replicates=2)
    covariance = tree["posterior"]["normal.covariance"]
    axes = ("normal.feature", "normal.feature_2")
    assert covariance.dims[-2:] == axes
    assert ("class" in covariance.dims) == (family is bg.QDA)
    middle = covariance.mean(("chain", "draw")).values.reshape(-1, 4, 4)[0]
    pooled = (X - X.groupby(y).transform("mean")) if family is bg.LDA else X[y == "setosa"]
    np.testing.assert_allclose(middle, np.cov(pooled.values.T), atol=0.12)


def test_improper_prior_has_no_groups():
    X, y = bg.datasets.load_iris()
    tree = bg.QDA(prior="reference", random_state=0).fit(X, y).to_datatree(draws=40, replicates=2)
    assert "prior_predictive" not in tree.children
    assert "log_prior" not in tree.children
    assert set(tree["prior"].data_vars) == {"class.probs"}


@pytest.mark.slow
def test_augmentation_and_constant_columns():
    X, y = bg.datasets.load_iris()
    X = X.assign(flat=1.0).mask(np.random.default_rng(0).random((150, 5)) < 0.1)
    method = bg.Augmentation(draws=100, warmup=50, chains=2)
    with pytest.warns(bg.errors.BayesgenWarning):
        clf = bg.QDA(inference=method, random_state=0).fit(X, y)
    tree = clf.to_datatree(replicates=2)
    assert tree["posterior"]["normal.mean"].shape == (2, 100, 3, 4)
    assert np.isnan(tree["observed_data"]["sepal_length"].values).any()
    assert np.isfinite(tree["log_likelihood"]["y"].values).all()


def test_summary(titanic):
    clf = titanic[0]
    table = clf.summary()
    exact = clf.posterior_.components.model.blocks["normal"].mean
    assert float(table.loc["normal.mean[no, age]", "mean"]) == pytest.approx(exact[0, 0], abs=0.2)
    assert (table["r_hat"].astype(float) < 1.05).all()


# --- arviz on it -------------------------------------------------------------------------------


def test_arviz_compares_what_is_exact(titanic):
    clf, X, y = titanic
    poor = bg.NaiveBayes(random_state=0).fit(X[["age"]], y)
    found = az.compare({"all columns": clf.loo(kind="elpd"), "age alone": poor.loo(kind="elpd")})
    assert found.index[0] == "all columns"


@pytest.mark.slow
def test_sampler_statistics_and_plots():
    """NUTS has sample_stats; rank, trace, forest, energy and predictive plots can be drawn."""
    import arviz_plots as azp
    import matplotlib as mpl

    X, y = bg.datasets.load_iris()
    with mpl.rc_context({"backend": "agg"}):
        method = bg.NUTS(draws=500, warmup=300, chains=2, progress=False)
        tree = bg.NaiveBayes(inference=method, random_state=0).fit(X, y).to_datatree(replicates=5)
        assert {"diverging", "energy", "lp"} <= set(tree["sample_stats"].data_vars)
        names = ["normal.mean"]
        azp.plot_rank(tree, var_names=names, backend="matplotlib")
        azp.plot_trace(tree, var_names=names, backend="matplotlib")
        azp.plot_forest(tree, var_names=names, backend="matplotlib")
        azp.plot_energy(tree, backend="matplotlib")
        azp.plot_ppc_dist(tree, var_names=["sepal_length"], num_samples=5, backend="matplotlib")


@pytest.mark.slow
def test_a_story_of_the_users_own():
    """Sites under their own names, from posterior and prior; log densities of its rows."""
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def petals(x, y=None, *, n_classes):
        probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
        with numpyro.plate("class", n_classes):
            middle = numpyro.sample("middle", dist.Normal(4.0, 2.0))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(probs), obs=y)
            numpyro.sample("x", dist.Normal(middle[y], 0.5), obs=x[:, 0])

    X, y = bg.datasets.load_iris()
    clf = bg.GenerativeClassifier(story=petals, inference="map").fit(X[["petal_length"]], y)
    tree = clf.to_datatree(draws=400, replicates=2)
    rows = {*ROWS} - {"log_likelihood_conditional"} | {"log_likelihood"}  # no exact leave-one-out
    assert set(tree.children) == {"posterior", "prior", "log_prior", *rows}
    assert set(tree["posterior"].data_vars) == {"class.probs", "probs", "middle"}
    prior = tree["prior"]["middle"].values
    assert prior.shape == (4, 100, 3) and abs(prior.mean() - 4) < 5 * 2 / np.sqrt(1200)
    middle = tree["posterior"]["middle"].values[0, 0]
    found = tree["log_prior"]["middle"].values
    np.testing.assert_allclose(found, [[stats.norm.logpdf(middle, 4, 2).sum()]])
    assert tree["log_prior"]["probs"].values == pytest.approx(np.log(2))  # 1 / (area of a simplex)
    own = np.searchsorted(clf.classes_, y)
    expected = stats.norm.logpdf(X.petal_length, middle[own], 0.5)
    expected += np.log(tree["posterior"]["probs"].values[0, 0][own])
    np.testing.assert_allclose(tree["log_likelihood_joint"]["xy"].values[0, 0], expected)
    assert tree["observed_data"]["x"].shape == (150, 1)
