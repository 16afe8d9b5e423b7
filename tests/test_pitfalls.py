"""What went wrong in other libraries, one test for each: numbers 1 to 16 of the list.

Each docstring is the pitfall in words, with the library that fell into it.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import bayesgen as bg

NORMALS = (bg.NaiveBayes, bg.LDA, bg.QDA)
every_normal = pytest.mark.parametrize("make", NORMALS)
METHODS = ("exact", "mle", "map")
every_method = pytest.mark.parametrize("method", METHODS)


def blobs(rng, n=40, p=2, k=2, gap=2.0):
    """Return n rows of k classes whose means are `gap` apart in every column."""
    y = np.arange(n) % k
    return rng.standard_normal((n, p)) + gap * y[:, None], y


@every_normal
@every_method
def test_pitfall_01_scale_of_columns(make, method, rng):
    """A floor on variances followed the largest column (scikit-learn's GaussianNB, #24732).

    Columns of sd 1e-4 and 1e4 gave accuracy .55; rescaled ones 1.0.
    """
    X, y = blobs(rng, gap=4.0)
    expected = make(inference=method).fit(X, y).predict_proba(X)
    for scale, shift in (([1e-4, 1e4], [0, 0]), ([-1e6, 1e-9], [5, 7]), ([1, 1], [1e6, -1e6])):
        moved = X * scale + np.multiply(shift, scale)
        found = make(inference=method).fit(moved, y).predict_proba(moved)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    assert (expected.argmax(axis=1) == y).mean() > 0.95


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SingularCovariance")
@every_normal
@every_method
def test_pitfall_02_smoothing_by_batch(make, method, rng):
    """Smoothing came anew from each batch, partial_fit was not fit (scikit-learn #14054)."""
    X, y = blobs(rng, n=60)
    whole = make(inference=method).fit(X, y).predict_proba(X)
    for size in (7, 20, 59):
        parts = make(inference=method)
        for rows in np.split(rng.permutation(60), range(size, 60, size)):
            parts.partial_fit(X[rows], y[rows])
        np.testing.assert_allclose(parts.predict_proba(X), whole, rtol=0, atol=1e-9)


@every_normal
def test_pitfall_03_constant_columns(make, rng):
    """A constant column, or nothing but constant columns, gave NaN (scikit-learn 1.9)."""
    X, y = blobs(rng)
    constant = np.column_stack([X, np.full(40, 3.7)])
    with pytest.warns(bg.errors.UninformativeColumn, match="'x2' is constant"):
        clf = make().fit(constant, y)
    expected = make().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(constant), expected, rtol=0, atol=1e-12)
    with pytest.warns(bg.errors.UninformativeColumn):
        nothing = make().fit(np.full((40, 2), 1e8), y)
    np.testing.assert_allclose(nothing.predict_proba(np.zeros((3, 2))), 0.5, atol=1e-15)
    stated = {"likelihood": bg.Normal(variance=1.0)} if make is bg.NaiveBayes else {"scale": 1.0}
    proba = make(**stated).fit(constant, y).predict_proba(constant)
    assert np.isfinite(proba).all()


@every_normal
def test_pitfall_04_one_row_or_no_spread_in_a_class(make, rng):
    """One row in a class, or no spread, gave exactly 0 or 1 (scikit-learn #19837)."""
    X, y = blobs(rng, n=21)
    for rows in (np.r_[0:20:2, 1], np.r_[0:20:2, 1, 1, 1]):
        proba = make().fit(X[rows], y[rows]).predict_proba(X)
        assert ((proba > 1e-6) & (proba < 1 - 1e-6)).all()
    # heavy tails: ten columns' spreads away, the lone row's class is still possible
    clf = make().fit(X[np.r_[0:20:2, 1]], y[np.r_[0:20:2, 1]])
    assert clf.predict_proba(X[:1] - 10).min() > 1e-9


@every_method
def test_pitfall_05_floor_on_densities(method):
    """A density floored at .001 inverts the answer far out (e1071, naivebayes).

    With classes at 0 and 30, x = -10 was class B with p = 1; 268 of 2300 mails flipped.
    """
    noise = np.tile([-1.0, 0.0, 1.0], 4)
    X, y = np.concatenate([noise, 30 + noise])[:, None], np.repeat(["A", "B"], 12)
    for make in NORMALS:
        clf = make(inference=method).fit(X, y)
        assert clf.predict_proba([[-10.0]])[0, 0] > 0.999
        far = -np.linspace(0, 50, 101)[:, None]
        odds = clf.decision_function(far)
        assert np.isfinite(odds).all()
        assert (odds < 0).all()
        # 40 standard deviations out, and with equal variances beyond: monotone
        if method != "exact":
            assert (np.diff(odds) < 0).all()


@every_method
def test_pitfall_06_underflow(method, rng):
    """Products of densities underflowed: NaN from 800 columns on (mixed-naive-bayes, klaR)."""
    p = 10_000 if method == "exact" else 2_000
    X, y = blobs(rng, n=20, p=p, gap=0.1)
    clf = bg.NaiveBayes(inference=method).fit(X, y)
    rows = np.concatenate([X[:2], np.full((1, p), 1e6), np.full((1, p), -1e6)])
    for answer in (clf.predict_proba(rows), clf.predict_log_proba(rows)):
        assert not np.isnan(answer).any()
    np.testing.assert_allclose(clf.predict_proba(rows).sum(axis=1), 1, rtol=0, atol=1e-12)
    assert np.isfinite(clf.predict_log_proba(rows)).all()
    assert np.isfinite(clf.score_samples(rows)).all()


def test_pitfall_07_zero_frequency():
    """A level that a class never shows: NaN or 0/0 (scikit-learn, pomegranate)."""
    X = pd.DataFrame({"a": list("xxyyzz"), "b": list("uvuvww")})
    y = list("AABBCC")
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X[:1]), [[1, 0, 0]], atol=1e-15)
    assert np.isneginf(clf.predict_log_proba(X[:1])[0, 1:]).all()
    odd = pd.DataFrame({"a": ["x", "x"], "b": ["w", "u"]})
    with pytest.warns(bg.errors.ImpossibleRows, match="1 of 2 rows"):
        np.testing.assert_allclose(clf.predict_proba(odd)[0], 1 / 3, rtol=1e-12)
    for method in ("exact", "map"):
        proba = bg.NaiveBayes(inference=method).fit(X, y).predict_proba(odd)
        assert ((proba > 0) & (proba < 1)).all()


@pytest.mark.parametrize("n_levels", [2, 3, 7])
@pytest.mark.parametrize(
    "likelihood", [bg.Categorical(), bg.Categorical.laplace(0.5), bg.Categorical.m_estimate(2)]
)
def test_pitfall_08_tables_sum_to_one(likelihood, n_levels, rng):
    """Smoothed tables of more than two levels did not sum to one (naivebayes 0.9.5)."""
    X = pd.DataFrame({"a": np.r_[:n_levels, rng.integers(0, n_levels, 30)].astype(str)})
    y = np.arange(len(X)) % 2
    clf = bg.NaiveBayes(likelihood).fit(X, y)
    every = pd.DataFrame({"a": np.arange(n_levels).astype(str)})
    total = np.exp(clf.score_samples(every)).sum()
    assert total == pytest.approx(1, abs=1e-12)


def test_pitfall_09_level_absent_in_one_class():
    """Levels were read class by class: one that a class lacks shifted its table (pomegranate)."""
    X = pd.DataFrame({"a": list("xxyyz")})
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="uniform").fit(X, list("AABBB"))
    table = np.exp(clf.predict_joint_log_proba(pd.DataFrame({"a": list("xyz")}))) * 2
    np.testing.assert_allclose(table, [[3 / 5, 1 / 6], [1 / 5, 3 / 6], [1 / 5, 2 / 6]], rtol=1e-12)


@every_method
def test_pitfall_10_level_never_seen(method):
    """A level never seen at fit: IndexError, NaN, KeyError, or silence (scikit-learn #20034)."""
    X = pd.DataFrame({"a": list("xxyy"), "b": list("uvuv")})
    y = list("AABB")
    new = pd.DataFrame({"a": ["teal", "x"], "b": ["u", "v"]})
    clf = bg.NaiveBayes(inference=method).fit(X, y)
    with pytest.warns(bg.errors.UnseenLevel, match="column 'a' has the level 'teal' in 1 of 2 row"):
        found = clf.predict_proba(new)
    missing = new.assign(a=[None, "x"])
    np.testing.assert_array_equal(found, clf.predict_proba(missing))
    strict = bg.NaiveBayes(inference=method, unseen="error").fit(X, y)
    with pytest.raises(bg.errors.UnseenLevelError, match="'teal'"):
        strict.predict_proba(new)
    # declared, it is a level like any other
    levels = ["x", "y", "teal"]
    declared = X.assign(a=pd.Categorical(X["a"], levels))
    prior = bg.Categorical.laplace(1)
    clf = bg.NaiveBayes(prior).fit(declared, y)
    clf.predict_proba(new.assign(a=pd.Categorical(new["a"], levels)))


def test_pitfall_11_silent_coercion():
    """Numbers became levels in silence (CategoricalNB, BernoulliNB, pgmpy).

    1.7 was read as level 1, reals were cut at 0, 60 floats became 60 states.
    """
    y = [0, 1, 0, 1]
    reals = pd.DataFrame({"dose": [1.0, 1.7, 0.0, 2.0]})
    with pytest.raises(bg.errors.NotLevels, match=r"column 'dose' holds 1.7"):
        bg.NaiveBayes(bg.Categorical()).fit(reals, y)
    with pytest.raises(bg.errors.NotBinary, match=r"column 'dose' holds 1.7"):
        bg.NaiveBayes(bg.Bernoulli()).fit(reals, y)
    with pytest.raises(bg.errors.NotBinary, match="column 'dose' holds 3 levels"):
        bg.NaiveBayes(bg.Bernoulli()).fit(pd.DataFrame({"dose": list("abca")}), y)


@every_method
@every_normal
def test_pitfall_12_missing_in_nonsense_out(make, method, rng):
    """NaN in gave NaN, or p = 1, out (pomegranate, MASS)."""
    X, y = blobs(rng, p=3)
    clf = make(inference=method).fit(X, y)
    rows = X[:5].copy()
    rows[:, 1] = np.nan
    part = make(inference=method).fit(X[:, [0, 2]], y)
    # the mode's degrees of freedom count the columns; the other two do not know of absent ones
    if make is bg.NaiveBayes or method != "map":
        expected = part.predict_proba(X[:5][:, [0, 2]])
        np.testing.assert_allclose(clf.predict_proba(rows), expected, rtol=0, atol=1e-9)
    assert np.isfinite(clf.predict_proba(rows)).all()
    blank = clf.predict_proba(np.full((1, 3), np.nan))
    np.testing.assert_allclose(blank, 0.5, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.parametrize("inference", ["map", bg.Augmentation(draws=100, warmup=50, chains=2)])
@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_pitfall_13_holes_in_a_full_covariance(make, inference, rng):
    """Pairwise covariances were not positive definite (pomegranate, numpyro #1150, pyro #2654)."""
    # every pair of columns is seen together, all three never; the pairs contradict each other
    base = rng.standard_normal((90, 1)) + 0.1 * rng.standard_normal((90, 3))
    base[30:60, 2] *= -1
    for block, column in enumerate((2, 0, 1)):
        base[30 * block : 30 * (block + 1), column] = np.nan
    pairs = pd.DataFrame(base).cov().to_numpy()
    assert np.linalg.eigvalsh(pairs)[0] < 0
    clf = make(inference=inference, random_state=0).fit(base, np.arange(90) % 2)
    factor = clf.posterior_.params["normal"]["cholesky"]
    covariance = factor @ np.swapaxes(factor, -1, -2)
    assert (np.linalg.eigvalsh(covariance) > 0).all()
    proba = clf.predict_proba(base)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_pitfall_13_marginal_is_an_integral(make, rng):
    """The marginal of the observed part is that of Sigma_oo: the integral over the missing one."""
    X, y = blobs(rng)
    clf = make(inference="mle").fit(X, y)

    def density(value, k):
        return np.exp(clf.predict_joint_log_proba([[0.4, value]])[0, k])

    found = np.exp(clf.predict_joint_log_proba([[0.4, np.nan]]))[0]
    expected = [integrate.quad(density, -15, 15, (k,), epsabs=1e-12)[0] for k in (0, 1)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_pitfall_14_singular_covariance(make, rng):
    """Singular covariances gave exceptions or nonsense (QDA of scikit-learn, mclust, MASS).

    Duplicate columns, more columns than rows, one row per class.
    """
    X, y = blobs(rng, n=12)
    twice = np.column_stack([X, X[:, 0]])
    clf = make().fit(twice, y)
    assert np.isfinite(clf.predict_proba(twice)).all()
    with pytest.warns(bg.errors.SingularCovariance, match="covariance .* 'x0', 'x1', 'x2'.*exact"):
        mle = make(inference="mle").fit(twice, y)
    assert np.isfinite(mle.predict_proba(twice)).all()
    wide, labels = blobs(rng, n=8, p=30)
    proba = make().fit(wide, labels).predict_proba(wide)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)
    lone = make().fit(X[:2], y[:2]).predict_proba(X)
    assert ((lone > 0) & (lone < 1)).all()


@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
@pytest.mark.parametrize("method", ["exact", "map"])
def test_pitfall_15_no_noise_where_the_prior_is_proper(make, method, rng, recwarn):
    """A warning of collinear variables came where nothing was wrong (scikit-learn #14361)."""
    X, y = blobs(rng, n=12)
    make(inference=method).fit(np.column_stack([X, X @ [1.0, 2.0]]), y).predict_proba(
        np.ones((2, 3))
    )
    assert not recwarn.list


def test_pitfall_16_three_and_five_classes(rng):
    """Class posteriors of more than two classes were wrong for years (scikit-learn #6848)."""
    for k in (2, 3, 5):
        X, y = blobs(rng, n=60, p=2, k=k, gap=1.0)
        for make in NORMALS:
            clf = make(inference="mle").fit(X, y)
            groups = [X[y == c] for c in range(k)]
            shared = sum(len(g) * np.cov(g.T, ddof=0) for g in groups) / 60
            covariance = {
                bg.LDA: lambda g, shared=shared: shared,
                bg.QDA: lambda g: np.cov(g.T, ddof=0),
                bg.NaiveBayes: lambda g: np.diag(g.var(axis=0)),
            }[make]
            joint = np.stack(
                [
                    len(g) / 60 * stats.multivariate_normal(g.mean(0), covariance(g)).pdf(X)
                    for g in groups
                ],
                axis=1,
            )
            expected = joint / joint.sum(axis=1, keepdims=True)
            np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=0, atol=1e-12)
