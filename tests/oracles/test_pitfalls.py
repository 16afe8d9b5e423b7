"""What went wrong in other libraries, 29 pitfalls in the order of the table that they come from.

Each docstring is the pitfall in words, with the library that fell into it. Tests run for every
value of what they take: `fit` is a classifier of normals under a method, `make` its class, `joint`
one of a full covariance, `method` the name of an inference.
"""

import itertools

import numpy as np
import pandas as pd
import pitfalls as pit
import pytest
from pitfalls import blobs, close, exactly, iris

import bayesgen as bg


def pytest_generate_tests(metafunc):
    for name, values in pit.EVERY.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, values, ids=repr)


def test_pitfall_01_scale_of_columns(fit, rng):
    """Sd 1e-4 beside 1e4 gave accuracy .55, not 1: a floor on variances (GaussianNB, #24732)."""
    X, y = blobs(rng, gap=4.0)
    for moved in pit.in_other_units(X):
        close(fit(moved, y).predict_proba(moved), fit(X, y).predict_proba(X), atol=1e-8)
    assert fit(X, y).score(X, y) > 0.95


@pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate")
def test_pitfall_02_smoothing_by_batch(fit, rng):
    """Smoothing came anew from each batch, partial_fit was not fit (scikit-learn #14054)."""
    X, y = blobs(rng, n=60)
    for size in (7, 20, 59):
        rows = np.split(rng.permutation(60), range(size, 60, size))
        parts = pit.in_batches(fit.new(), X, y, rows)
        close(parts.predict_proba(X), fit(X, y).predict_proba(X))


def test_pitfall_03_constant_columns(make, rng):
    """A constant column, or nothing but constant columns, gave NaN (scikit-learn 1.9)."""
    X, y = blobs(rng)
    constant = np.column_stack([X, np.full(40, 3.7)])
    with pytest.warns(bg.errors.SuspiciousColumn, match="'x2' is constant"):
        found = make().fit(constant, y).predict_proba(constant)
    exactly(found, make().fit(X, y).predict_proba(X))
    pit.assert_sums_to_one(pit.of_given_spread(make).fit(constant, y).predict_proba(constant))
    with pytest.warns(bg.errors.SuspiciousColumn):
        exactly(make().fit(0 * X + 1e8, y).predict_proba(X), 0.5, atol=1e-15)


def test_pitfall_04_one_row_or_no_spread_in_a_class(make, rng):
    """One row in a class, or no spread, gave exactly 0 or 1 (scikit-learn #19837)."""
    X, y = blobs(rng, n=21)
    for rows in (np.r_[0:20:2, 1, 1, 1], np.r_[0:20:2, 1]):
        clf = make().fit(X[rows], y[rows])
        pit.assert_inside(clf.predict_proba(X), 1e-6)
    pit.assert_inside(clf.predict_proba(X[:1] - 10), 1e-9)  # heavy tails, ten spreads away


def test_pitfall_05_floor_on_densities(fit):
    """Classes at 0 and 30, x = -10: class B, p = 1; 268 of 2300 mails (e1071, naivebayes)."""
    clf = fit(*pit.two_heaps())
    assert clf.predict_proba([[-10.0]])[0, 0] > 0.999
    odds = clf.decision_function(-np.linspace(0, 50, 101)[:, None])
    assert (np.isfinite(odds) & (odds < 0)).all()
    assert fit.method == "exact" or (np.diff(odds) < 0).all()


def test_pitfall_06_underflow(method, rng):
    """Products of densities underflowed: NaN from 800 columns on (mixed-naive-bayes, klaR)."""
    X, y = blobs(rng, n=20, p=10_000 if method == "exact" else 2_000, gap=0.1)
    clf = bg.NaiveBayes(inference=method).fit(X, y)
    rows = np.concatenate([X[:2], 0 * X[:1] + 1e6, 0 * X[:1] - 1e6])
    pit.assert_sums_to_one(clf.predict_proba(rows))
    assert np.isfinite([*clf.predict_log_proba(rows).T, clf.score_samples(rows)]).all()


def test_pitfall_07_zero_frequency():
    """A level that a class never shows: NaN or 0/0 (scikit-learn, pomegranate)."""
    X, y, odd = pit.LEVELS_OF_THEIR_OWN
    mle, exact, mode = (bg.NaiveBayes(inference=how).fit(X, y) for how in ("mle", "exact", "map"))
    np.testing.assert_array_equal(np.exp(mle.predict_log_proba(X[:1])), [[1, 0, 0]])
    with pytest.warns(bg.errors.DegenerateEstimate, match="1 of 2 rows"):
        exactly(mle.predict_proba(odd)[0], 1 / 3)
    pit.assert_inside(np.concatenate([exact.predict_proba(odd), mode.predict_proba(odd)]))


@pytest.mark.parametrize(
    ("prior", "n_levels"), [*((prior, 3) for prior in pit.SMOOTHING), (pit.SMOOTHING[1], 7)]
)
def test_pitfall_08_tables_sum_to_one(prior, n_levels, rng):
    """Smoothed tables of more than two levels did not sum to one (naivebayes 0.9.5)."""
    X = pd.DataFrame({"a": np.r_[:n_levels, rng.integers(0, n_levels, 30)].astype(str)})
    clf = bg.NaiveBayes(prior).fit(X, np.arange(len(X)) % 2)
    exactly(np.exp(clf.score_samples(X[:n_levels])).sum(), 1)


def test_pitfall_09_level_absent_in_one_class():
    """Levels were read class by class: one that a class lacks shifted its table (pomegranate)."""
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="uniform")
    clf.fit(pd.DataFrame({"a": list("xxyyz")}), list("AABBB"))
    table = np.exp(clf.predict_joint_log_proba(pd.DataFrame({"a": list("xyz")}))) * 2
    exactly(table, [[3 / 5, 1 / 6], [1 / 5, 3 / 6], [1 / 5, 2 / 6]])


def test_pitfall_10_level_never_seen(method):
    """A level never seen at fit: IndexError, NaN, KeyError, or silence (scikit-learn #20034)."""
    X, y, teal = pit.TWO_LEVELS, list("AABB"), pit.TWO_LEVELS[:2].assign(a=["teal", "x"])
    clf = bg.NaiveBayes(inference=method).fit(X, y)
    with pytest.warns(
        bg.errors.CountsAsMissing, match="column 'a' has the level 'teal' in 1 of 2 row"
    ):
        exactly(clf.predict_proba(teal), clf.predict_proba(teal.assign(a=[None, "x"])), atol=0)
    with pytest.raises(bg.errors.InvalidData, match="'teal'"):
        bg.NaiveBayes(inference=method, unseen="error").fit(X, y).predict_proba(teal)
    bg.NaiveBayes().fit(pit.declared(X), y).predict_proba(pit.declared(teal))


@pytest.mark.parametrize(("prior", "cells", "error", "words"), pit.COERCED)
def test_pitfall_11_silent_coercion(prior, cells, error, words):
    """1.7 was level 1, reals were cut at 0, 60 floats 60 states (sklearn's NBs, pgmpy)."""
    with pytest.raises(error, match=words):
        bg.NaiveBayes(prior).fit(pd.DataFrame({"dose": cells}), [0, 1, 0, 1])


def test_pitfall_12_missing_in_nonsense_out(fit, rng):
    """NaN in gave NaN, or p = 1, out (pomegranate, MASS)."""
    X, y = blobs(rng, p=3)
    clf, rows = fit(X, y), X[:5] * [1, np.nan, 1]
    pit.assert_sums_to_one(clf.predict_proba(rows))
    exactly(clf.predict_proba(X[:1] * np.nan), 0.5)
    # the mode's degrees of freedom count the columns; the other two do not know of absent ones
    if fit.make is bg.NaiveBayes or fit.method != "map":
        close(clf.predict_proba(rows), fit(X[:, [0, 2]], y).predict_proba(X[:5, [0, 2]]))


@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
@pytest.mark.parametrize("inference", ["map", pit.FEW])
def test_pitfall_13_missing_values_in_a_full_covariance(joint, inference, rng):
    """Pairwise covariances were not positive definite (pomegranate, numpyro #1150, pyro #2654)."""
    rows, y = pit.contradicting_pairs(rng), np.arange(90) % 2
    assert np.linalg.eigvalsh(pd.DataFrame(rows).cov().to_numpy())[0] < 0
    clf = joint(inference=inference, random_state=0).fit(rows, y)
    pit.assert_positive_definite(clf.posterior_.components.params["normal"]["cholesky"])
    pit.assert_sums_to_one(clf.predict_proba(rows))


def test_pitfall_13_marginal_is_an_integral(joint, rng):
    """The marginal of the observed part is that of Sigma_oo: the integral over the missing one."""
    joint = joint(inference="mle").fit(*blobs(rng)).predict_joint_log_proba
    expected = pit.integral(lambda v: np.exp(joint([[0.4, v]])[0]))
    close(np.exp(joint([[0.4, np.nan]]))[0], expected)


def test_pitfall_14_singular_covariance(joint, rng):
    """Duplicate columns, n < p, one row a class: errors or nonsense (QDA, mclust, MASS)."""
    X, y = blobs(rng, n=12, p=30)
    twice = X[:, [0, 1, 0]]
    with pytest.warns(bg.errors.DegenerateEstimate, match="covariance .* 'x0', 'x1', 'x2'.*exact"):
        pit.assert_sums_to_one(joint(inference="mle").fit(twice, y).predict_proba(twice))
    for rows in (twice, X):
        pit.assert_sums_to_one(joint().fit(rows, y).predict_proba(rows))
    pit.assert_inside(joint().fit(X[:2, :2], y[:2]).predict_proba(X[:, :2]))


@pytest.mark.parametrize("proper", ["exact", "map"])
def test_pitfall_15_no_noise_where_the_prior_is_proper(joint, proper, rng, recwarn):
    """A warning of collinear variables came where nothing was wrong (scikit-learn #14361)."""
    X, y = blobs(rng, n=12)
    joint(inference=proper).fit(np.c_[X, X @ [1.0, 2.0]], y).predict_proba(np.ones((2, 3)))
    assert not recwarn.list


@pytest.mark.parametrize(
    ("model", "k"), [*((model, 3) for model in pit.NORMALS), (bg.QDA, 2), (bg.QDA, 5)]
)
def test_pitfall_16_three_and_five_classes(model, k, rng):
    """Class posteriors of more than two classes were wrong for years (scikit-learn #6848)."""
    X, y = blobs(rng, n=60, p=2, k=k, gap=1.0)
    exactly(model(inference="mle").fit(X, y).predict_proba(X), pit.plugged_in(model, X, y))


def test_pitfall_17_probabilities_sum_to_one(fit):
    """Probabilities did not sum to one, at the extremes above all (several)."""
    X, y = iris()
    clf, spread = fit(X, y), X.std(axis=0)
    for far in (0, 1, 40, 1e3, 1e8, 1e100):
        pit.assert_sums_to_one(clf.predict_proba(np.r_[X + far * spread, X - far * spread]))


def test_pitfall_18_one_class(make):
    """Rows of one class gave a model that answers 1, or an obscure error (sklearn #17401)."""
    with pytest.raises(bg.errors.InvalidData, match="y has 1 class, 'only'; at least two"):
        make().fit(iris()[0], ["only"] * 150)


@pytest.mark.parametrize("prior", pit.NO_PRIORS)
def test_pitfall_19_priors(prior):
    """A sum of 3 was accepted (pomegranate)."""
    with pytest.raises(bg.errors.InvalidArgument, match="class_prior"):
        bg.QDA(class_prior=prior).fit(*iris())


def test_pitfall_19_given_priors_are_kept(make):
    """Fit wrote over the user's prior (QDA of scikit-learn)."""
    make(class_prior=[1 / 3, 1 / 3, 0.333333333]).fit(*iris())  # rounding of what was typed
    clf = make(class_prior=(given := [0.2, 0.3, 0.5])).fit(*iris())
    assert clf.class_prior is given
    exactly(clf.predict_proba([[np.nan] * 4])[0], given)


def test_pitfall_20_batches_of_classes(make):
    """A batch that lacks or brings a class failed (scikit-learn #13280, cuML)."""
    (X, y), whole = iris(), make().fit(*iris()).predict_proba(iris()[0])
    for order in itertools.permutations(np.split(np.arange(150), 3)):  # a batch is a class
        close(pit.in_batches(make(), X, y, order).predict_proba(X), whole)


def test_pitfall_21_labels_and_single_rows(fit, rng):
    """Order of labels, one-row input and text labels mixed up the columns (naivebayes)."""
    (X, y), order = iris(), rng.permutation(150)
    proba, codes = fit(X, y).predict_proba(X), np.unique(y, return_inverse=True)[1]
    close(fit(X[order], y[order]).predict_proba(X), proba)
    exactly(pit.one_by_one(fit(X, y), X[::50]), proba[::50], atol=1e-14)
    exactly(fit(X, np.array(list("zyx"))[codes]).predict_proba(X)[:, ::-1], proba)
    for labels in (codes * 10, y == "setosa", y):
        assert fit(X, labels).predict(X[:1]).dtype == labels.dtype


def test_pitfall_22_weights(fit, rng):
    """A class of weight zero took log(0) (scikit-learn); whole weights are repeated rows."""
    (X, y), weight = iris(), rng.integers(0, 4, 150)
    found, rows = fit(X, y, sample_weight=1.0 * weight), np.repeat(np.arange(150), weight)
    close(found.predict_proba(X), fit(X[rows], y[rows]).predict_proba(X))
    without = fit(X, y, sample_weight=1.0 * (y != "setosa"))  # a class that is not there
    assert without.classes_.tolist() == ["versicolor", "virginica"]
    exactly(without.predict_proba(X), fit(X[50:], y[50:]).predict_proba(X))


def test_pitfall_23_predictive_formula(joint):
    """A Gamma ratio was forgotten, scales were mixed (MASS, "predictive"): quadrature, 3 and 6."""
    x, y = np.concatenate(pit.GROUPS)[:, None], [0] * 3 + [1] * 6
    found = joint(**pit.PRIOR, class_prior="uniform").fit(x, y).predict_proba([[2.0]])[0]
    np.testing.assert_allclose(found, pit.by_quadrature(joint, 2.0), rtol=1e-6)


def test_pitfall_24_mean_of_conditionals(rng):
    """The mean over draws of p(y given x, theta) was taken for the predictive (common)."""
    clf, right, conditional, weight = pit.far_from_both_classes(rng)
    assert conditional.mean() > right + 0.15
    pit.assert_near(conditional, weight, right)
    draws = clf.predict_draws(pit.FAR).to_numpy()[:, 0, 1]
    pit.assert_near(draws, np.ones(len(draws)), right)


@pytest.mark.slow
# which draws a chain takes depends on how a CPU rounds, and so does whether they are called few
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
def test_pitfall_24_nuts_meets_the_closed_form():
    """The same through NUTS: predictions from draws are those of the closed form."""
    X, y = (part[50:][::5] for part in iris())
    exact, draws = bg.LDA().fit(X, y), bg.LDA(inference=pit.LONG).fit(X, y)
    # 4,000 draws whose weights leave hundreds effective: a standard error below .01 in each row
    close(draws.predict_proba(X), exact.predict_proba(X), atol=0.05)
    assert np.abs(draws.predict_interval(X) - exact.predict_interval(X)).mean() < 0.03


@pytest.mark.parametrize("name", pit.FAMILIES)
def test_pitfall_25_every_family_has_every_answer(name):
    """A family without predict, broken in a release (bambi, pgmpy)."""
    likelihood, (x, y) = pit.CASES[name].vague, pit.CASES[name].table(np.random.default_rng(1), 60)
    methods = pit.METHODS if likelihood.conjugate else ("map",)
    for method in ("exact",) if name.startswith("KernelDiscriminant") else methods:
        clf = bg.GenerativeClassifier(likelihood, inference=method, random_state=0).fit(x, y)
        pit.assert_every_answer(clf, x[:4])


def test_pitfall_26_plug_in_of_the_mean():
    """75 words were .956 sure, with all urns instead of their mean .829 (MultinomialNB)."""
    clf = bg.NaiveBayes(bg.Multinomial.laplace(1), class_prior="uniform").fit(*pit.TEXTS)
    found, wrong = clf.predict_proba(pit.TEXT_OF_75_WORDS), pit.mean_urns()
    exactly(found, pit.all_urns())
    close([found[0, 0], wrong[0, 0]], [0.829, 0.956], atol=5e-4)


def test_pitfall_27_few_rows(rng):
    """Few rows in a bin drew a confident reliability curve (scikit-learn #30664)."""
    assert pit.interval_width(rows=8) > 2 * pit.interval_width(rows=100)
    assert pit.band_width(8, rng) > 3 * pit.band_width(200, rng)


@pytest.mark.slow
@pytest.mark.parametrize("solver", pit.SVI)
def test_pitfall_28_optimiser_that_drifts(make, solver):
    """BFGS stopped at a loss of 41,998 (of 33,794), constant-step Adam .046 off, in silence."""
    svi, closed = (make(inference=how).fit(*iris()) for how in (solver, type(solver)()))
    assert svi.report_.converged and 0 <= svi.report_.details["gradient_norm"] < 1
    pit.assert_same_parameters(svi, closed, 1e-4)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.slow
def test_pitfall_29_the_caller_keeps_float32():
    """Switching JAX to 64 bits for the whole process changed the caller's own programs."""
    before = pit.float32_program()
    for inference in (pit.SHORT, pit.SVI[1]):
        bg.NaiveBayes(inference=inference).fit(*iris()).predict_proba(iris()[0][:2])
    assert before == pit.float32_program()
