"""Tables, and answers worked out by hand, for the tests of what went wrong in other libraries."""

import dataclasses
from functools import cache, partial

import numpy as np
import pandas as pd
import pytest
from cases import CASES
from scipy import integrate, stats
from sklearn.naive_bayes import MultinomialNB

import bayesgen as bg
from bayesgen.calibrate import reliability

METHODS = ("exact", "mle", "map")
NORMALS = (bg.NaiveBayes, bg.LDA, bg.QDA)
close = partial(np.testing.assert_allclose, rtol=0, atol=1e-9)
exactly = partial(np.testing.assert_allclose, rtol=0, atol=1e-12)

FEW = bg.Augmentation(draws=100, warmup=50, chains=2)
LONG = bg.NUTS(draws=1000, warmup=500, chains=4, progress=False)
SHORT = bg.NUTS(draws=300, warmup=300, chains=2, progress=False)
SVI = [bg.MLE(solver="svi"), bg.MAP(solver="svi")]
SMOOTHING = [bg.Categorical(), bg.Categorical.laplace(0.5), bg.Categorical.m_estimate(2)]
NO_PRIORS = [[1.0, 1.0, 1.0], [0.5, 0.5, 0.1], [0.5, 0.5, 0.0], [1.5, -0.3, -0.2], [0.5, 0.5]]
FAMILIES = [
    name if case.vague.conjugate else pytest.param(name, marks=pytest.mark.slow)
    for name, case in CASES.items()
]
LEVELS_OF_THEIR_OWN = (
    pd.DataFrame({"a": list("xxyyzz"), "b": list("uvuvww")}),
    list("AABBCC"),
    pd.DataFrame({"a": ["x", "x"], "b": ["w", "u"]}),
)
"""Each class has levels that the others lack; rows that mix them."""
TWO_LEVELS = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
COERCED = [
    (bg.Categorical(), [1.0, 1.7, 0.0, 2.0], bg.errors.InvalidData, "column 'dose' holds 1.7"),
    (bg.Bernoulli(), [1.0, 1.7, 0.0, 2.0], bg.errors.InvalidData, "column 'dose' holds 1.7"),
    (bg.Bernoulli(), list("abca"), bg.errors.InvalidData, "column 'dose' holds 3 levels"),
]


@dataclasses.dataclass(frozen=True)
class Fit:
    """A classifier of normals under one method; called with rows it is fitted to them."""

    make: type
    method: str

    def new(self):
        return self.make(inference=self.method)

    def __call__(self, *rows, **options):
        return self.new().fit(*rows, **options)


# each classifier by two methods, each method by two classifiers: what a method does to one
# covariance it does to the others
FITS = [
    *((bg.NaiveBayes, how) for how in ("exact", "mle")),
    *((bg.LDA, how) for how in ("exact", "map")),
    *((bg.QDA, how) for how in ("mle", "map")),
]
EVERY = {
    "fit": [Fit(make, how) for make, how in FITS],
    "make": NORMALS,
    "joint": NORMALS[1:],
    "method": METHODS,
}


def blobs(rng, n=40, p=2, k=2, gap=2.0):
    """Return n rows of k classes whose means are `gap` apart in every column."""
    y = np.arange(n) % k
    return rng.standard_normal((n, p)) + gap * y[:, None], y


@cache
def iris():
    X, y = bg.datasets.load_iris()
    return X.to_numpy(), y.to_numpy()


def in_other_units(X):
    """Return columns far smaller, larger, upside down, and far from zero."""
    for scale, shift in (([1e-4, 1e4], [0, 0]), ([-1e6, 1e-9], [5, 7]), ([1, 1], [1e6, -1e6])):
        yield X * scale + np.multiply(shift, scale)


def in_batches(clf, X, y, batches):
    for rows in batches:
        clf.partial_fit(X[rows], y[rows])
    return clf


def assert_sums_to_one(proba):
    assert ((proba >= 0) & (proba <= 1)).all()
    exactly(proba.sum(axis=1), 1)


def integral(density):
    """Return the integral over a line of which the rest weighs nothing."""
    return integrate.quad_vec(density, -15, 15, epsabs=1e-12)[0]


def assert_positive_definite(factor):
    assert (np.linalg.eigvalsh(factor @ np.swapaxes(factor, -1, -2)) > 0).all()


def assert_near(values, weight, mean):
    """A weighted mean is near to another: five standard errors, a false alarm of 6e-7."""
    error = np.sqrt((weight**2 * (values - mean) ** 2).sum()) / weight.sum()
    assert abs(weight @ values / weight.sum() - mean) < 5 * error < 0.1


def one_by_one(clf, X):
    return np.concatenate([clf.predict_proba(row[None]) for row in X])


def declared(X):
    """Return a frame whose first column declares a level that no row shows."""
    return X.astype({"a": pd.CategoricalDtype(["x", "y", "teal"])})


def assert_inside(proba, margin=0.0):
    assert ((proba > margin) & (proba < 1 - margin)).all()


def assert_same_parameters(one, other, rtol):
    for name, value in other.posterior_.components.params["normal"].items():
        found = one.posterior_.components.params["normal"][name]
        np.testing.assert_allclose(found, value, rtol=rtol, atol=rtol * np.abs(value).max())


def of_given_spread(make):
    """Return a classifier whose variance is stated."""
    return make(bg.Normal(variance=1.0)) if make is bg.NaiveBayes else make(scale=1.0)


def two_heaps():
    """Return two classes of one column, around 0 and around 30."""
    noise = np.tile([-1.0, 0.0, 1.0], 4)
    return np.concatenate([noise, 30 + noise])[:, None], np.repeat(["A", "B"], 12)


def contradicting_pairs(rng):
    """Return 90 rows: every two of three columns are seen together, all three never."""
    rows = rng.standard_normal((90, 1)) + 0.1 * rng.standard_normal((90, 3))
    rows[30:60, 2] *= -1
    for block, column in enumerate((2, 0, 1)):
        rows[30 * block : 30 * (block + 1), column] = np.nan
    return rows


def plugged_in(make, X, y):
    """Return class probabilities at the maximum likelihood estimates, by scipy."""
    groups = [X[y == c] for c in np.unique(y)]
    shared = sum(len(g) * np.cov(g.T, ddof=0) for g in groups) / len(X)
    covariance = {
        bg.LDA: lambda g: shared,
        bg.QDA: lambda g: np.cov(g.T, ddof=0),
        bg.NaiveBayes: lambda g: np.diag(g.var(axis=0)),
    }[make]
    joint = [
        len(g) / len(X) * stats.multivariate_normal(g.mean(0), covariance(g)).pdf(X) for g in groups
    ]
    return np.stack(joint, axis=1) / np.sum(joint, axis=0)[:, None]


# three rows and six of one column, and the prior of the test
GROUPS = (np.array([0.1, 0.9, 1.4]), np.array([3.0, 3.2, 4.1, 2.6, 5.0, 3.3]))
PRIOR = {"mean": 1.0, "mean_rows": 0.7, "scale": 0.8, "covariance_rows": 3.0}


def _given_variance(v, samples):
    """Return the density of samples with means integrated out by hand, times the prior of v."""
    out = stats.invgamma(1.5, scale=1.2).pdf(v)
    for x in samples:
        covariance = v * (np.eye(len(x)) + np.ones((len(x), len(x))) / 0.7)
        out *= stats.multivariate_normal(np.ones(len(x)), covariance).pdf(x)
    return out


def _over_variance(samples):
    return integrate.quad(_given_variance, 0, 200, (samples,), epsabs=0, limit=300)[0]


def by_quadrature(make, at):
    """Return class probabilities of the value `at`, by quadrature over the variances."""
    joint = []
    for k in (0, 1):
        own, other = np.append(GROUPS[k], at), GROUPS[1 - k]
        shared = make is bg.LDA
        value = _over_variance([own, other] if shared else [own])
        joint.append(value if shared else value / _over_variance([GROUPS[k]]))
    return np.array(joint) / sum(joint)


FAR = np.array([[-4.0]])


def far_from_both_classes(rng):
    """Return a fit to 3 and 6 rows, and of the row FAR: P(second class), and by draws.

    By draws: p(second class given x, theta) and the weight p(x given theta) of each.
    """
    X = np.array([0.0, 0.2, -0.2, 5.0, 6.0, 4.0, 7.0, 3.0, 5.0])[:, None]
    clf = bg.QDA(mean_rows=0.1, covariance_rows=1.0, random_state=0).fit(X, [0] * 3 + [1] * 6)
    params = clf.posterior_.components.parameters(rng, 20_000)
    density = clf.posterior_.families["normal"].log_density_fn(params["normal"])(FAR)[0]
    joint = np.exp(np.log(params["class"]["probs"]) + density)
    weight = joint.sum(axis=1)
    return clf, clf.predict_proba(FAR)[0, 1], joint[:, 1] / weight, weight


def assert_every_answer(clf, X):
    """Every public method answers, with one answer a row."""
    assert len(clf.sample(3, random_state=0)[1]) == 3
    assert_sums_to_one(clf.predict_proba(X))
    names = ("predict_log_proba", "predict_joint_log_proba", "decision_function", "score_samples")
    for name in (*names, "predict", "decide"):
        answer = getattr(clf, name)(X)
        assert len(answer) == len(X)
        assert not np.isnan(answer.astype(float)).any()


TEXTS, TEXT_OF_75_WORDS = (np.array([[6, 27], [30, 25]]), ["a", "b"]), np.array([[25, 50]])


def all_urns():
    """Return class probabilities of the text with words' probabilities integrated out."""
    urns = [stats.dirichlet_multinomial(1 + row, 75) for row in TEXTS[0]]
    joint = np.array([[urn.pmf(TEXT_OF_75_WORDS[0]) for urn in urns]])
    return joint / joint.sum()


def mean_urns():
    """Return them with the posterior means plugged in."""
    return MultinomialNB(fit_prior=False).fit(*TEXTS).predict_proba(TEXT_OF_75_WORDS)


def interval_width(rows):
    """Return the mean width of intervals for two sorts of iris, fitted to some of 100 rows."""
    X, y = (part[50:] for part in iris())
    some = slice(None, None, 100 // rows)
    clf = bg.QDA(random_state=0).fit(X[some], y[some])
    return np.diff(clf.predict_interval(X), axis=2).mean()


def band_width(n, rng):
    """Return the mean width of a reliability curve's band, which counts each of n rows once."""
    stated = np.tile([[0.3, 0.7]], (n, 1))
    curve = reliability(rng.permutation(n) % 2, stated, (0, 1), rng=rng)[0]
    assert curve.histogram["rows"].sum() == curve.blocks["rows"].sum() == n
    return np.diff(curve.band[["lower", "upper"]]).mean()


def float32_program():
    """Return what a caller's own JAX program of 32 bits says."""
    import jax
    import jax.numpy as jnp

    assert not jax.config.read("jax_enable_x64")
    return jax.jit(lambda v: (v**3).sum())(jnp.linspace(0.0, 1.0, 100))
