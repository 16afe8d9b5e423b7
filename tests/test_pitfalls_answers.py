"""What went wrong in other libraries, one test for each: numbers 17 to 29 of the list.

Each docstring is the pitfall in words, with the library that fell into it.
"""

import itertools

import numpy as np
import pytest
from scipy import integrate, stats

import bayesgen as bg

NORMALS = (bg.NaiveBayes, bg.LDA, bg.QDA)
every_normal = pytest.mark.parametrize("make", NORMALS)
METHODS = ("exact", "mle", "map")
every_method = pytest.mark.parametrize("method", METHODS)


@pytest.fixture(scope="module")
def iris():
    X, y = bg.datasets.load_iris()
    return X.to_numpy(), y.to_numpy()


@every_normal
@every_method
def test_pitfall_17_probabilities_sum_to_one(make, method, iris):
    """Probabilities did not sum to one, at the extremes above all (several)."""
    X, y = iris
    clf = make(inference=method).fit(X, y)
    spread = X.std(axis=0)
    for far in (0, 1, 40, 1e3, 1e8, 1e100):
        proba = clf.predict_proba(np.concatenate([X + far * spread, X - far * spread]))
        assert ((proba >= 0) & (proba <= 1)).all()
        np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)


@every_normal
@every_method
def test_pitfall_18_one_class(make, method, iris):
    """Rows of one class gave a model that answers 1, or an obscure error (sklearn #17401)."""
    X, _ = iris
    with pytest.raises(bg.errors.TooFewClasses, match="y has 1 class, 'only'; at least two"):
        make(inference=method).fit(X, ["only"] * 150)


@pytest.mark.parametrize(
    "class_prior",
    [[1.0, 1.0, 1.0], [0.5, 0.5, 0.1], [0.5, 0.5, 0.0], [1.5, -0.3, -0.2], [0.5, 0.5]],
)
@every_normal
def test_pitfall_19_priors(make, class_prior, iris):
    """A sum of 3 was accepted, fit wrote over the user's prior (QDA of sklearn, pomegranate)."""
    X, y = iris
    with pytest.raises(bg.errors.InvalidPrior, match="class_prior"):
        make(class_prior=class_prior).fit(X, y)
    given = [0.2, 0.3, 0.5]
    clf = make(class_prior=given).fit(X, y)
    assert clf.class_prior is given
    np.testing.assert_allclose(clf.predict_proba([[np.nan] * 4])[0], given, rtol=1e-12)
    # rounding of 1e-9 in what was typed is no error
    make(class_prior=[1 / 3, 1 / 3, 0.333333333]).fit(X, y)


@every_normal
def test_pitfall_20_batches_of_classes(make, iris):
    """A batch that lacks or brings a class failed (scikit-learn #13280, cuML)."""
    X, y = iris
    whole = make().fit(X, y).predict_proba(X)
    for order in itertools.permutations(("setosa", "versicolor", "virginica")):
        clf = make()
        for name in order:
            clf.partial_fit(X[y == name], y[y == name])
        np.testing.assert_allclose(clf.predict_proba(X), whole, rtol=0, atol=1e-9)


@every_normal
@every_method
def test_pitfall_21_labels_and_single_rows(make, method, iris, rng):
    """Order of labels, one-row input and text labels mixed up the columns (naivebayes)."""
    X, y = iris
    order = rng.permutation(150)
    clf = make(inference=method).fit(X, y)
    shuffled = make(inference=method).fit(X[order], y[order])
    assert shuffled.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    proba = clf.predict_proba(X)
    np.testing.assert_allclose(shuffled.predict_proba(X), proba, rtol=0, atol=1e-9)
    for i in (0, 70, 149):
        np.testing.assert_allclose(clf.predict_proba(X[i : i + 1])[0], proba[i], rtol=0, atol=1e-14)
        assert clf.predict(X[i : i + 1]).shape == (1,)
    # names that sort the other way round, numbers, booleans
    renamed = np.array([{"setosa": "z", "versicolor": "y", "virginica": "x"}[c] for c in y])
    other = make(inference=method).fit(X, renamed)
    np.testing.assert_allclose(other.predict_proba(X)[:, ::-1], proba, rtol=0, atol=1e-12)
    for labels in (np.unique(y, return_inverse=True)[1] * 10, (y == "setosa")):
        fitted = make(inference=method).fit(X, labels)
        assert fitted.predict(X).dtype == labels.dtype


@every_normal
@every_method
def test_pitfall_22_weights(make, method, iris, rng):
    """A class of weight zero took log(0) (scikit-learn); whole weights are repeated rows."""
    X, y = iris
    weight = rng.integers(0, 4, 150)
    repeated = np.repeat(np.arange(150), weight)
    found = make(inference=method).fit(X, y, sample_weight=weight.astype(float))
    expected = make(inference=method).fit(X[repeated], y[repeated])
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=0, atol=1e-9)
    # a class without weight is a class that is not there
    without = make(inference=method).fit(X, y, sample_weight=(y != "setosa").astype(float))
    assert without.classes_.tolist() == ["versicolor", "virginica"]
    expected = make(inference=method).fit(X[50:], y[50:])
    np.testing.assert_allclose(without.predict_proba(X), expected.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_pitfall_23_predictive_formula(make):
    """A Gamma ratio was forgotten and scales were mixed (MASS, method = "predictive").

    Unequal classes of one column, against quadrature over the variance.
    """
    x = np.array([0.1, 0.9, 1.4, 3.0, 3.2, 4.1, 2.6, 5.0, 3.3])
    y = np.array([0] * 3 + [1] * 6)
    prior = {"mean": 1.0, "mean_rows": 0.7, "scale": 0.8, "covariance_rows": 3.0}
    clf = make(**prior, class_prior="uniform").fit(x[:, None], y)
    groups = [x[y == 0], x[y == 1]]
    at = 2.0

    def given_variance(v, k):
        """Rows and the new x of class k given the variance: means integrated out by hand."""
        out = stats.invgamma(1.5, scale=1.2).pdf(v)
        for c, g in enumerate(groups):
            rows = np.append(g, at) if c == k else g
            if make is bg.QDA and c != k:
                continue
            n = len(rows)
            covariance = v * (np.eye(n) + np.ones((n, n)) / 0.7)
            out *= stats.multivariate_normal(np.ones(n), covariance).pdf(rows)
        return out

    expected = np.array(
        [integrate.quad(given_variance, 0, 200, (k,), epsabs=0, limit=300)[0] for k in (0, 1)]
    )
    if make is bg.QDA:
        for k, g in enumerate(groups):

            def rows_alone(v, g=g):
                n = len(g)
                covariance = v * (np.eye(n) + np.ones((n, n)) / 0.7)
                normal = stats.multivariate_normal(np.ones(n), covariance)
                return stats.invgamma(1.5, scale=1.2).pdf(v) * normal.pdf(g)

            expected[k] /= integrate.quad(rows_alone, 0, 200, epsabs=0, limit=300)[0]
    found = clf.predict_proba([[at]])[0]
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-6)


def test_pitfall_24_mean_of_conditionals(rng):
    """The mean over draws of p(y given x, theta) was taken for the predictive (common).

    With 3 and 6 rows in two one-column classes and far from both, the two differ widely.
    """
    X = np.array([[0.0], [0.2], [-0.2], [5.0], [6.0], [4.0], [7.0], [3.0], [5.0]])
    y = np.array([0] * 3 + [1] * 6)
    exact = bg.QDA(mean_rows=0.1, covariance_rows=1.0, random_state=0).fit(X, y)
    params = exact.posterior_.parameters(rng, 20_000)
    point = np.array([[-4.0]])
    family = exact.posterior_.families["normal"]
    joint = np.log(params["class"]["probs"]) + family.density(params["normal"])(point)[0]
    conditional = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    wrong = conditional.mean(axis=0)[1]
    right = exact.predict_proba(point)[0, 1]
    assert wrong > right + 0.15
    weight = np.exp(np.logaddexp.reduce(joint, axis=1))
    mended = (weight * conditional[:, 1]).sum() / weight.sum()
    # five standard errors of the weighted mean (false alarm 6e-7)
    error = np.sqrt((weight**2 * (conditional[:, 1] - right) ** 2).sum()) / weight.sum()
    assert abs(mended - right) < 5 * error < 0.1
    draws = exact.predict_draws(point).to_numpy()[:, 0, 1]
    assert abs(draws.mean() - right) < 5 * draws.std() / np.sqrt(len(draws))


@pytest.mark.slow
@pytest.mark.parametrize("make", NORMALS)
def test_pitfall_24_nuts_meets_the_closed_form(make, iris):
    """The same through NUTS: predictions from draws are those of the closed form."""
    X, y = iris
    X, y = X[50:][::5], y[50:][::5]
    exact = make().fit(X, y)
    draws = make(inference=bg.NUTS(draws=1000, warmup=500, chains=4, progress=False)).fit(X, y)
    assert draws.inference_ == "nuts"
    # 4,000 draws whose weights leave hundreds effective: a standard error below .01 in each row
    np.testing.assert_allclose(draws.predict_proba(X), exact.predict_proba(X), rtol=0, atol=0.05)
    ends, expected = draws.predict_interval(X), exact.predict_interval(X)
    assert np.abs(ends - expected).mean() < 0.03


def test_pitfall_27_few_rows(iris):
    """Few rows in a bin drew a confident reliability curve (scikit-learn #30664).

    Here: probabilities that rest on few rows say so by wide intervals.
    """
    X, y = iris
    some = [*range(50, 54), *range(100, 104)]
    few = bg.QDA(random_state=0).fit(X[some], y[some])
    many = bg.QDA(random_state=0).fit(X[50:], y[50:])
    width = [np.diff(clf.predict_interval(X[50:]), axis=2).mean() for clf in (few, many)]
    assert width[0] > 2 * width[1]


@pytest.mark.slow
@pytest.mark.parametrize("solver", [bg.MLE(solver="svi"), bg.MAP(solver="svi")])
@pytest.mark.parametrize("make", NORMALS)
def test_pitfall_28_optimiser_that_drifts(make, solver, iris):
    """Variational inference stopped or drifted in silence.

    BFGS from the default start stopped at a loss of 41,998 where 33,794 is possible; Adam with a
    constant step was .046 off.
    """
    X, y = iris
    svi = make(inference=solver).fit(X, y)
    closed = make(inference=type(solver)()).fit(X, y)
    assert svi.report_.converged
    assert 0 <= svi.report_.details["gradient_norm"] < 1
    for name, value in closed.posterior_.params["normal"].items():
        found = svi.posterior_.params["normal"][name]
        scale = np.abs(value).max()
        np.testing.assert_allclose(found, value, rtol=1e-4, atol=1e-4 * scale)


@pytest.mark.slow
def test_pitfall_29_the_caller_keeps_float32(iris):
    """Switching JAX to 64 bits for the whole process changed the caller's own programs."""
    import jax
    import jax.numpy as jnp

    def program():
        x = jnp.linspace(0.0, 1.0, 100)
        return jax.jit(lambda v: (v**3).sum())(x)

    before = program()
    X, y = iris
    short = bg.NUTS(draws=300, warmup=300, chains=2, progress=False)
    for inference in (short, bg.MAP(solver="svi")):
        bg.NaiveBayes(inference=inference).fit(X, y).predict_proba(X[:2])
    after = program()
    assert before.dtype == after.dtype == jnp.float32
    assert before == after
    assert not jax.config.read("jax_enable_x64")
