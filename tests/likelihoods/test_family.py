"""Family: any NumPyro distribution, against scipy, the conjugate twin, and hostile columns."""

import jax
import numpy as np
import numpyro.distributions as dist
import pandas as pd
import pytest
from paces import fast_only
from scalar_distributions import COLUMNS, N, Y
from sklearn.base import clone

import bayesgen as bg
from bayesgen.errors import DegenerateEstimate
from bayesgen.likelihoods import Family
from bayesgen.likelihoods.distinct_rows import distinct_values
from bayesgen.likelihoods.family import default_prior
from bayesgen.likelihoods.family.default_prior import modes


def fitted(family, x, y=Y, n_classes=3):
    """Return the completed family and the mode and widths of each class's posterior."""
    x = x[:, None] if x.ndim == 1 else x
    rows = family.statistics(x, y, np.ones(len(x)), n_classes=n_classes)
    part = family.complete(rows)
    return part, part.whitening(rows), rows


def densities(part, found, x):
    """Return log densities, (row, class), at u = the modes."""
    u = np.stack([mode for mode, *_ in found.values()], axis=-1)
    with jax.enable_x64(True):
        params = jax.device_get(part.declaration.params(u))
    return part.log_density_fn(params)(x[:, None])


# -- estimates -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", COLUMNS)
def test_newton_lands_on_the_fit_of_scipy(name):
    """Without any prior; the prior's own fit and that of the classes run the same program."""
    column = COLUMNS[name]
    family = Family(column.distribution)
    rows = distinct_values(column.x[:, None], Y, np.ones(N), 3)
    size = len(family.declaration.names)
    u, _, _ = modes(family.declaration, rows, rows.y, np.zeros((3, size, size)))
    with jax.enable_x64(True):
        found = jax.device_get(family.declaration.params(u))
    for k in range(3):
        expected = column.fit(column.x[k == Y])
        for parameter, value in expected.items():
            np.testing.assert_allclose(found[parameter][k], value, rtol=2e-5, err_msg=parameter)


UNITS = [("Gamma", 1e7, 0.0), ("LogNormal", 1e-6, 0.0), ("StudentT", -1e-5, 3.0)]


@pytest.mark.parametrize(
    ("name", "scale", "origin"),
    [pytest.param(*unit, marks=[pytest.mark.slow] * (unit[0] != "LogNormal")) for unit in UNITS],
)
def test_units_change_no_probability(name, scale, origin):
    x = COLUMNS[name].x
    family = Family(COLUMNS[name].distribution)
    change = []
    for a, b in ((1.0, 0.0), (scale, origin)):
        part, found, _ = fitted(family, x * a + b)
        change.append(densities(part, found, x * a + b))
    change = change[1] - change[0]
    np.testing.assert_allclose(change, -np.log(abs(scale)), atol=1e-8)


def test_the_default_prior_is_strength_its_rows():
    """A normal column: one row knows its mean within sd, and its log sd within sqrt(1/2)."""
    x = COLUMNS["StudentT"].x
    for rows in (1.0, 4.0):
        part, found, _ = fitted(Family(dist.Normal, rows=rows), x)
        np.testing.assert_allclose(part.centre[0, 0], [x.mean(), np.log(x.std())], rtol=1e-9)
        expected = np.diag([x.std(), 0.5**0.5]) / rows**0.5
        np.testing.assert_allclose(part.factor[0], expected, rtol=1e-6, atol=1e-6)
    assert set(found) == {"loc", "scale"}


@pytest.mark.slow
def test_what_rows_do_not_tell_is_capped():
    """A uniform column is no t with few degrees of freedom: 4 times e^2 either way is all."""
    part, found, _ = fitted(Family(dist.StudentT), np.linspace(-1.0, 1.0, N))
    assert 1.5 < part.factor[0, 0, 0] <= 2
    assert 2 < part.centre[0, 0, 0] < 6
    assert all((width > 0).all() and (mode < 10).all() for mode, width, _ in found.values())


def test_map_is_that_of_the_conjugate_twin():
    """Poisson with a Gamma prior on its rate: closed form, SVI, and predictions."""
    X = pd.DataFrame({"a": COLUMNS["ZeroInflatedPoisson"].x})
    X.loc[::7, "a"] = np.nan
    twin = Family(dist.Poisson, priors={"rate": dist.Gamma(4.0, 2.0)})
    found, expected = (
        bg.NaiveBayes(likelihood, inference="map").fit(X, Y)
        for likelihood in (twin, bg.Poisson(rate=2.0, rows=2.0))
    )
    assert found.report_.converged
    rate = found.posterior_.components.params["family"]["rate"]
    np.testing.assert_allclose(
        rate, expected.posterior_.components.params["poisson"]["rate"], rtol=1e-9
    )
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), atol=1e-9)


@pytest.mark.slow
def test_maximum_likelihood_by_svi(gamma):
    """The estimator's own way, missing cells and weights included."""
    X, weight, clf = gamma
    params = clf.posterior_.components.params["family"]
    for k in range(3):
        x = X["a"].to_numpy()[(k == Y) & ~np.isnan(X["a"])]
        w = weight[(k == Y) & ~np.isnan(X["a"])].astype(int)
        for parameter, value in COLUMNS["Gamma"].fit(x.repeat(w)).items():
            np.testing.assert_allclose(params[parameter][0, 0, k, 0], value, rtol=1e-5)
    assert clf.report_.converged


@pytest.fixture(scope="module")
def gamma():
    X = pd.DataFrame({"a": COLUMNS["Gamma"].x})
    X.loc[::5, "a"] = np.nan
    weight = 1.0 + np.arange(N) % 2
    return X, weight, bg.NaiveBayes(Family(dist.Gamma), inference="mle").fit(X, Y, weight)


# -- cells -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_new_cell_outside_the_support_is_impossible(gamma):
    clf = gamma[2]
    new = pd.DataFrame({"a": [0.0, -3.0, np.nan, 1e300 * 1e-150, 20.0]})
    with pytest.warns(DegenerateEstimate, match="2 of 5 rows"):
        probs = clf.predict_proba(new)
    joint = clf.predict_joint_log_proba(new)
    assert (joint[:2] == -np.inf).all() and np.isfinite(joint[2:]).all()
    np.testing.assert_allclose(probs[:3], 1 / 3, atol=0.02)
    assert np.isfinite(probs).all()


def test_gradients_are_finite_with_missing_cells():
    x = np.where(np.arange(2 * N).reshape(N, 2) % 5 == 0, np.nan, COLUMNS["Gamma"].x[:, None])
    family = Family(dist.Gamma)
    rows = family.statistics(x, Y, np.ones(N), n_classes=3)
    params = {"concentration": np.full((3, 2), 1e-3), "rate": np.full((3, 2), 1e6)}
    with jax.enable_x64(True):
        found = jax.grad(lambda p: family.log_likelihood(p, rows))(
            {name: jax.numpy.asarray(value) for name, value in params.items()}
        )
    assert all(np.isfinite(value).all() for value in found.values())


HOSTILE = {
    "four fifths are equal": np.where(np.arange(N) % 5, 0.0, np.arange(N)),
    "constant in a class": np.where(Y == 1, 2.0, np.arange(N)),
    "one value a class": Y.astype(float),
    "large": np.sin(np.arange(N)) * 1e100,
    "small": np.sin(np.arange(N)) * 1e-100,
    "far out": np.append(np.sin(np.arange(N - 1.0)), 1e12),
    "a class is missing": np.where(Y == 1, np.nan, np.arange(N)),
    "a class has one row": np.where((Y == 1) & (np.arange(N) > 1), np.nan, np.arange(N)),
}


@pytest.mark.slow
def test_hostile_columns_are_finite():
    """Also where the likelihood has no maximum: modes, widths, and densities."""
    part, found, _ = fitted(Family(dist.StudentT), np.stack([*HOSTILE.values()], axis=1))
    modes = np.stack([mode for mode, *_ in found.values()], axis=-1)
    widths = np.stack([width for _, width, _ in found.values()], axis=-1)
    with jax.enable_x64(True):
        params = jax.device_get(part.declaration.params(modes))
    cells = np.array([-1e9, 0.0, 1.0, np.nan, 1e140])
    for j, name in enumerate(HOSTILE):
        assert np.isfinite(modes[:, j]).all() and np.isfinite(widths[:, j]).all(), name
        assert (widths[:, j] > 0).all(), name
        alone = np.full((5, len(HOSTILE)), np.nan)
        alone[:, j] = cells
        assert not np.isnan(part.log_density_fn(params)(alone)).any(), name


def test_a_column_that_says_nothing_is_left_out(gamma):
    def constant(family):
        rows = family.statistics(np.full((N, 1), 3.0), Y, np.ones(N), n_classes=3)
        return bool(default_prior._constant(family.declaration, rows))

    assert constant(Family(dist.StudentT))
    # counts have a scale of their own, and so has what every prior is stated for
    assert not constant(Family(dist.Poisson))
    assert not constant(Family(dist.HalfNormal, {"scale": dist.LogNormal(0.0, 1.0)}))
    X, weight, alone = gamma
    more = X.assign(b=np.nan, c=3.0)
    with pytest.warns(bg.errors.SuspiciousColumn) as reported:
        clf = clone(alone).fit(more, Y, weight)
    assert sorted(str(w.message)[:10] for w in reported) == ["column 'b'", "column 'c'"]
    np.testing.assert_allclose(clf.predict_proba(more), alone.predict_proba(X), atol=1e-9)


def test_a_saved_model_answers_alike(gamma, tmp_path):
    X, _, clf = gamma
    clf.save(tmp_path / "gamma.bgm")
    np.testing.assert_array_equal(
        bg.load(tmp_path / "gamma.bgm").predict_proba(X), clf.predict_proba(X)
    )


@pytest.mark.slow
def test_rows_are_simulated(gamma):
    X, _, clf = gamma
    sample, labels = clf.sample(200, random_state=0)
    mean = X.groupby(Y)["a"].mean()
    # a Gamma of at most 5 has sd 20 sqrt(5): 5 standard errors of 60 rows
    assert (np.abs(sample.groupby(labels)["a"].mean() - mean) < 5 * 45 / 60**0.5).all()
    assert (sample["a"] > 0).all()


# -- slow ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", fast_only([], COLUMNS, slow=["ZeroInflatedPoisson", "VonMises"]))
def test_every_distribution_by_svi(name):
    """MLE is scipy's fit."""
    column = COLUMNS[name]
    X = pd.DataFrame({"a": column.x})
    clf = bg.NaiveBayes(Family(column.distribution), inference="mle").fit(X, Y)
    assert clf.report_.converged
    for k in range(3):
        for parameter, value in column.fit(column.x[k == Y]).items():
            found = clf.posterior_.components.params["family"][parameter][0, 0, k, 0]
            if (name, parameter) == ("VonMises", "loc"):
                # an angle is one and the same after a full turn
                found = value + np.angle(np.exp(1j * (found - value)))
            np.testing.assert_allclose(found, value, rtol=1e-4, err_msg=parameter)


# each compiles a sampler: of numbers, of angles and of counts before a change lands
SAMPLED = [
    pytest.param(
        name,
        marks=pytest.mark.slow if name == "Gamma" else pytest.mark.nightly,
    )
    for name in COLUMNS
]


@pytest.mark.parametrize("name", SAMPLED)
def test_every_distribution_by_nuts(name):
    """Draws average to probabilities near those of the mode."""
    X, family = pd.DataFrame({"a": COLUMNS[name].x}), Family(COLUMNS[name].distribution)
    sampler = bg.NUTS(draws=500, warmup=500)
    drawn = bg.NaiveBayes(family, inference=sampler, random_state=0).fit(X, Y)
    assert drawn.report_.converged, drawn.report_
    near = bg.NaiveBayes(family, inference="map").fit(X, Y).predict_proba(X)
    assert np.abs(drawn.predict_proba(X) - near).max() < 0.15


@pytest.mark.slow
def test_nuts_agrees_with_the_conjugate_twin():
    X = pd.DataFrame({"a": COLUMNS["ZeroInflatedPoisson"].x, "b": COLUMNS["NegativeBinomial2"].x})
    twin = Family(dist.Poisson, priors={"rate": dist.Gamma(4.0, 2.0)})
    drawn = bg.NaiveBayes(twin, random_state=0).fit(X, Y)
    exact = bg.NaiveBayes(bg.Poisson(rate=2.0, rows=2.0)).fit(X, Y)
    assert drawn.inference_ == "nuts" and drawn.report_.converged
    np.testing.assert_allclose(drawn.predict_proba(X), exact.predict_proba(X), atol=0.02)
    np.testing.assert_allclose(drawn.predict_interval(X), exact.predict_interval(X), atol=0.05)
