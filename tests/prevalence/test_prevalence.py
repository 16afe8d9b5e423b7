"""Estimates of prevalence: laws, oracles, planted faults, and every kind of classifier."""

import dataclasses
from functools import cache

import numpy as np
import pandas as pd
import pytest
from populations import CLASSES, cut_by_quadrature, naive, normal_pair, table

import bayesgen as bg
from bayesgen import prevalence
from bayesgen.classes import ClassPrior
from bayesgen.errors import (
    CountsAsMissing,
    InvalidArgument,
    InvalidData,
    UnsupportedOperation,
)
from bayesgen.inference import ClosedForm, Mixture, Tempered
from bayesgen.inference.draws import as_draws
from bayesgen.inference.scores import normalized
from bayesgen.prevalence import cut_posterior, estimate, proportions

CLASSIFIERS = {
    "naive Bayes": lambda: bg.NaiveBayes(random_state=0),
    "LDA": lambda: bg.LDA(levels="indicators", inference="expected", random_state=0),
    "tempered": lambda: bg.NaiveBayes(temper="learn", random_state=0),
    "pooled": lambda: bg.NaiveBayes(temper="columns", random_state=0),
    "pattern": lambda: bg.NaiveBayes(missing="learn", random_state=0),
    "one power": lambda: bg.NaiveBayes(temper=0.5, random_state=0),
    "kernels": lambda: bg.GenerativeClassifier(
        {("x", "z"): bg.KernelDiscriminant(), "level": bg.Categorical()}, random_state=0
    ),
    "maximum likelihood": lambda: bg.NaiveBayes(inference="mle", random_state=0),
    "stack": lambda: bg.StackedClassifier(
        [bg.NaiveBayes(), bg.LDA(levels="indicators", inference="expected")], random_state=0
    ),
}


@pytest.fixture(scope="module")
def fitted():
    X, y = table(180)
    return {name: build().fit(X, y) for name, build in CLASSIFIERS.items()}


@pytest.fixture(scope="module")
def population():
    return table(90, seed=5, frequencies=(0.6, 0.3, 0.1))


def estimated(clf, X, **options):
    return clf.estimate_prevalence(X, draws=200, random_state=0, **options)


@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("method", ["density", "left_out"])
def test_every_classifier_estimates(name, method, fitted, population):
    clf, (X, y) = fitted[name], population
    if name == "maximum likelihood" and method == "left_out":
        with pytest.raises(UnsupportedOperation, match="method='left_out'"):
            estimated(clf, X, method=method)
        return
    found = estimated(clf, X, method=method)
    assert found.report.method == method
    np.testing.assert_allclose(found.draws.sum(axis=1), 1)
    assert found.draws.shape == (200, 3) and (found.draws >= 0).all()
    assert found.mean.index.tolist() == CLASSES.tolist()
    true = np.array([(y == c).mean() for c in CLASSES])
    assert np.abs(found.mean - true).max() < 0.15
    assert np.abs(found.mode - true).max() < 0.2
    np.testing.assert_allclose(found.trained.sum(), 1)
    ends = found.interval(0.9)
    assert (ends.lower < ends.upper).all()


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_answers_after_it_are_those_of_its_mean_with_wider_intervals(name, fitted, population):
    clf, (X, _) = fitted[name], population
    found = estimated(clf, X, method="density")
    other, known = clf.with_class_prior(found), clf.with_class_prior(found.mean.to_numpy())
    np.testing.assert_allclose(other.predict_proba(X), known.predict_proba(X), atol=1e-12)
    if name != "maximum likelihood":
        # each end of the intervals has a Monte Carlo error
        width = np.ptp(other.predict_interval(X), axis=2).mean()
        assert width > 0.98 * np.ptp(known.predict_interval(X), axis=2).mean()


def test_spread_of_the_prevalence_widens_intervals(population):
    X, y = table(600)
    clf, X_new = bg.NaiveBayes(random_state=0).fit(X, y), population[0][:10]
    found = estimated(clf, X_new)
    other, known = clf.with_class_prior(found), clf.with_class_prior(found.mean.to_numpy())
    wide, narrow = (np.ptp(c.predict_interval(X), axis=2).mean() for c in (other, known))
    assert wide > 1.3 * narrow


# -- the density method: oracles and faults --------------------------------------------------------


@cache
def shifted_pair():
    """Return labeled rows, rows of other frequencies, and the cut posterior by quadrature."""
    X, y = normal_pair()
    x_new = np.random.default_rng(8).normal(np.repeat([0.0, 1.2], [32, 8]), 1.0)[:, None]
    return X, y, x_new, cut_by_quadrature(X, y, x_new, np.ones(2))


def law_quadrature(fit=lambda X, y, X_new: naive().fit(X, y)):
    """Mean and ends of the cut posterior, by a grid of frequencies given 4,000 draws of classes."""
    X, y, x_new, (mean, lower, upper) = shifted_pair()
    found = fit(X, y, x_new).estimate_prevalence(
        x_new, method="density", draws=4000, random_state=1
    )
    error = found.draws[:, 1].std() / np.sqrt(2000)
    assert abs(found.mean[1] - mean) < 4 * error
    ends = found.interval().loc[1]
    # the error of a quantile q is sqrt(q (1 - q) / n) / density, at most 3 of the mean's
    assert abs(ends.lower - lower) < 12 * error
    assert abs(ends.upper - upper) < 12 * error


def law_fit_frequencies_do_not_matter():
    """Under label shift those of the fit tell nothing about those of the population."""
    X, y = table(120)
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    other = clf.with_class_prior([0.9, 0.05, 0.05])
    one, two = (estimated(c, table(50, seed=6)[0], method="density") for c in (clf, other))
    np.testing.assert_allclose(one.draws, two.draws, atol=1e-9)
    np.testing.assert_allclose(one.mode, two.mode, atol=1e-9)
    assert one.trained.max() < 0.5 < two.trained.max()


def law_answers_shift_log_odds_by_those_of_prevalence():
    """Tempering counts the evidence of a row less, and not the frequency of its class."""
    X, y = table(120)
    clf, rows = bg.NaiveBayes(temper=0.4, random_state=0).fit(X, y), table(30, seed=9)[0]
    found = estimated(clf, table(60, seed=6, frequencies=(0.8, 0.1, 0.1))[0], method="density")
    logs = clf.with_class_prior("uniform").predict_log_proba(rows) + np.log(found.mean.to_numpy())
    np.testing.assert_allclose(
        clf.with_class_prior(found).predict_log_proba(rows), normalized(logs), atol=1e-9
    )


LAWS = [
    law_quadrature,
    law_fit_frequencies_do_not_matter,
    law_answers_shift_log_odds_by_those_of_prevalence,
]


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    law()


def test_fault_classes_learned_from_new_rows():
    def fit(X, y, X_new):
        labels = naive().fit(X, y).predict(X_new)
        return naive().fit(np.concatenate([X, X_new]), np.concatenate([y, labels]))

    with pytest.raises(AssertionError):
        law_quadrature(fit)


def test_fault_predictive_density_in_place_of_draws(monkeypatch):
    monkeypatch.setattr(ClosedForm, "point", True)
    with pytest.raises(AssertionError):
        law_quadrature()


def test_fault_prior_twice(monkeypatch):
    right = cut_posterior.drawn
    monkeypatch.setattr(
        cut_posterior, "drawn", lambda d, w, alpha, *rest: right(d, w, 2 * alpha, *rest)
    )
    with pytest.raises(AssertionError):
        law_quadrature()


def test_fault_class_frequencies_of_the_fit_left_in(monkeypatch):
    stated = ClassPrior(np.array([0.9, 0.1]), np.inf)
    monkeypatch.setattr(estimate, "even_classes", lambda n_classes: stated)
    with pytest.raises(AssertionError):
        law_quadrature()


def test_fault_power_applied_to_the_prevalence(monkeypatch):
    def wrong(self, scores):
        flat = scores.joint - scores.joint.max(axis=1, keepdims=True)
        return normalized(self.powers[0] * flat)

    monkeypatch.setattr(Tempered, "log_proba", wrong)
    with pytest.raises(AssertionError):
        law_answers_shift_log_odds_by_those_of_prevalence()


def test_point_estimates_have_the_distribution_of_one_set_of_densities():
    X, y = normal_pair()
    clf = naive(inference="mle").fit(X, y)
    x_new = np.random.default_rng(8).normal(np.repeat([0.0, 1.2], [32, 8]), 1.0)[:, None]
    found = clf.estimate_prevalence(x_new, method="density", draws=4000, random_state=1)
    logs = clf.with_class_prior("uniform").predict_log_proba(x_new)
    grid = (np.arange(5000) + 0.5) / 5000
    rows = logs.max(axis=1, keepdims=True)
    mixed = np.exp(logs - rows) @ np.stack([1 - grid, grid])
    weight = np.exp(np.log(mixed).sum(axis=0) - np.log(mixed).sum(axis=0).max())
    weight /= weight.sum()
    mean = weight @ grid
    sd = np.sqrt(weight @ (grid - mean) ** 2)
    assert abs(found.mean[1] - mean) < 4 * sd / np.sqrt(2000)
    np.testing.assert_allclose(found.draws[:, 1].std(), sd, rtol=0.07)


def law_a_stack_of_one_is_its_member(monkeypatch):
    """Densities of a stack are drawn, as those of its member are."""
    monkeypatch.setattr(cut_posterior, "STACK_DRAWS", 4000)
    X, y, x_new, (mean, lower, upper) = shifted_pair()
    stack = bg.StackedClassifier([naive()], temper=None, pool=None, random_state=0).fit(X, y)
    found = stack.estimate_prevalence(x_new, method="density", draws=4000, random_state=1)
    error = found.draws[:, 1].std() / np.sqrt(2000)
    assert abs(found.mean[1] - mean) < 4 * error
    ends = found.interval().loc[1]
    assert abs(ends.lower - lower) < 12 * error
    assert abs(ends.upper - upper) < 12 * error


def test_a_stack_of_one_is_its_member(monkeypatch):
    law_a_stack_of_one_is_its_member(monkeypatch)


def test_fault_one_set_of_densities_of_a_stack(monkeypatch):
    monkeypatch.setattr(Mixture, "point", True)
    with pytest.raises(AssertionError):
        law_a_stack_of_one_is_its_member(monkeypatch)


def law_a_tempered_stack_of_one_is_its_tempered_member(monkeypatch, stack_power=0.3):
    """Densities of a stack are raised to its power, as those of a tempered member are."""
    monkeypatch.setattr(cut_posterior, "STACK_DRAWS", 4000)
    X, y, x_new, _ = shifted_pair()
    stack = bg.StackedClassifier([naive()], temper=stack_power, pool=None, random_state=0)
    found, expected = (
        clf.fit(X, y).estimate_prevalence(x_new, method="density", draws=4000, random_state=1)
        for clf in (stack, naive(temper=0.3))
    )
    one, other = found.draws[:, 1], expected.draws[:, 1]
    # of half as many independent draws each; a standard deviation has about 1 / sqrt 2 that error
    error = np.hypot(one.std(), other.std()) / np.sqrt(2000)
    assert abs(one.mean() - other.mean()) < 4 * error
    assert abs(one.std() - other.std()) < 4 * error


def test_a_tempered_stack_of_one_is_its_tempered_member(monkeypatch):
    law_a_tempered_stack_of_one_is_its_tempered_member(monkeypatch)


@pytest.mark.parametrize("power", [None, 0.6])
def test_fault_densities_of_a_stack_raised_to_another_power(monkeypatch, power):
    with pytest.raises(AssertionError):
        law_a_tempered_stack_of_one_is_its_tempered_member(monkeypatch, power)


def test_one_row_updates_the_prior_by_its_mean_probability():
    """E pi = (alpha + mean over draws of softmax(l)) / (alpha summed + 1)."""
    X, y = normal_pair()
    clf, row = naive().fit(X, y), np.array([[2.0]])
    alpha = {0: 2.0, 1: 3.0}
    found = clf.estimate_prevalence(
        row, prior=alpha, method="density", draws=20_000, random_state=0
    )
    # given theta, the label of the row has the prior probabilities alpha / sum
    even = clf.with_class_prior([0.4, 0.6])
    draws = as_draws(even._fitted_posterior().components, np.random.default_rng(0), 20_000)
    joint = draws.each_log_joint(even._read_rows(row).encoded, 1)[0]
    share = np.exp(normalized(joint)).mean(axis=0)
    error = 4 * found.draws.std(axis=0) / np.sqrt(20_000)
    np.testing.assert_array_less(np.abs(found.mean - (np.array([2, 3]) + share) / 6), error)


def test_mode_is_emq():
    X, y = table(150, frequencies=(0.5, 0.3, 0.2))
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    rows = table(80, seed=4, frequencies=(0.2, 0.2, 0.6))[0]
    proba, trained = clf.predict_proba(rows), np.exp(clf._fitted_posterior().log_classes())
    pi = trained
    for _ in range(5000):
        odds = proba * pi / trained
        pi = (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(estimated(clf, rows).mode, pi, atol=1e-7)


def test_order_of_rows_and_chunks_do_not_matter(fitted, population, monkeypatch):
    X = population[0]
    for name in ("naive Bayes", "tempered", "pooled", "stack"):
        whole = estimated(fitted[name], X, method="density")
        turned = estimated(fitted[name], X[::-1], method="density")
        np.testing.assert_allclose(whole.draws, turned.draws, atol=1e-6)
    few = estimated(fitted["naive Bayes"], X, method="density")
    monkeypatch.setattr(proportions, "DENSITY_FLOATS", 1)
    one = estimated(fitted["naive Bayes"], X, method="density")
    far = np.abs(few.mean - one.mean).max()
    assert far < 5 * few.draws.std(axis=0).max() / np.sqrt(100)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")  # of few draws: see `error`
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
def test_samplers_give_the_prevalence_of_the_closed_form(population):
    X, y = table(120)
    X, y, rows = X[["x", "z"]].dropna(), y[X[["x", "z"]].notna().all(axis=1)], population[0]
    exact = bg.QDA(random_state=0).fit(X, y)
    drawn = bg.QDA(inference=bg.Augmentation(draws=250, chains=2), random_state=0).fit(X, y)
    one, two = (
        c.estimate_prevalence(rows[["x", "z"]], method="density", draws=500, random_state=0)
        for c in (exact, drawn)
    )
    error = one.draws.std(axis=0).max() / np.sqrt(100)
    assert np.abs(one.mean - two.mean).max() < 4 * error
    assert np.abs(one.interval() - two.interval()).to_numpy().max() < 12 * error
    found = drawn.with_class_prior(two)
    known = drawn.with_class_prior(two.mean.to_numpy())
    rows = rows[["x", "z"]]
    np.testing.assert_allclose(found.predict_proba(rows), known.predict_proba(rows), atol=0.05)


# -- the left-out method ---------------------------------------------------------------------------


def left_out_rows(clf):
    return clf._population_model().left_out_rows()


def law_left_out(rows_of=left_out_rows):
    """Predictions of labeled rows are those of refits without them, under even probabilities."""
    X, y = normal_pair(12)
    found = rows_of(naive(class_prior="uniform").fit(X, y))
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        again = naive(class_prior="uniform").fit(X[rest], y[rest])
        np.testing.assert_allclose(
            found.log_proba[i], again.predict_log_proba(X[[i]])[0], atol=1e-9
        )


def test_left_out_rows_are_those_of_refits():
    law_left_out()


def test_fault_predictions_of_rows_that_were_fitted():
    def in_sample(clf):
        X, y = normal_pair(12)
        return prevalence.LeftOutRows(clf.predict_log_proba(X), y, np.ones(12))

    with pytest.raises(AssertionError):
        law_left_out(in_sample)


def test_left_out_rows_of_a_stack_of_one_are_those_of_its_member():
    X, y = table(90)
    options = {"temper": None, "pool": None, "random_state": 0}
    stack = bg.StackedClassifier([bg.NaiveBayes()], **options).fit(X, y)
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    # a stack has its rows in another order
    found, expected = (
        left_out.log_proba[np.lexsort(np.round(left_out.log_proba.T, 6))]
        for left_out in map(left_out_rows, (stack, clf))
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_left_out_rows_of_a_tempered_member_that_folds_judge_have_its_power_once():
    X, y = normal_pair(40)  # of two classes, so that the power does not change the folds
    plain, tempered = (
        bg.StackedClassifier(
            [bg.NaiveBayes(class_prior="uniform", inference="map", temper=temper)],
            temper=None,
            pool=None,
            random_state=0,
        ).fit(X, y)
        for temper in (None, 0.5)
    )
    halves = 0.5 * left_out_rows(plain).log_proba
    expected = halves - np.logaddexp.reduce(halves, axis=1, keepdims=True)
    left_out = left_out_rows(tempered)
    np.testing.assert_allclose(left_out.log_proba, expected, atol=1e-9)
    # by the same predictions it was judged
    loss = -left_out.log_proba[np.arange(40), left_out.codes].mean()
    assert loss == pytest.approx(tempered.report_.details["leave-one-out log loss"], abs=1e-9)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.LabelShiftRejected")  # rows without noise
def test_counts_of_certain_rows_are_a_dirichlet_distribution():
    """Where no labeled row is assigned wrongly, the error of the classifier is nearly known."""
    y = np.repeat([0, 1], 2000)
    clf = naive().fit(
        np.where(y, 40.0, -40.0)[:, None] + np.random.default_rng(0).normal(size=(4000, 1)), y
    )
    found = clf.estimate_prevalence(
        np.repeat([[-40.0], [40.0]], [30, 10], axis=0), draws=4000, random_state=0
    )
    assert found.report.method == "left_out"
    np.testing.assert_allclose(found.mean[1], 11 / 42, atol=0.01)
    sd = np.sqrt(11 * 31 / 42**2 / 43)
    np.testing.assert_allclose(found.draws[:, 1].std(), sd, rtol=0.1)


def test_auto_counts_from_fifteen_rows_of_each_class_and_from_forty_in_a_stack(population):
    X, y = table(400)
    clf = bg.NaiveBayes(random_state=0)
    stack = bg.StackedClassifier([bg.NaiveBayes()], random_state=0)
    assert estimated(clf.fit(X[:90], y[:90]), population[0]).report.method == "left_out"
    assert estimated(clf.fit(X[:30], y[:30]), population[0]).report.method == "density"
    assert estimated(stack.fit(X[:90], y[:90]), population[0]).report.method == "density"
    assert estimated(stack.fit(X, y), population[0]).report.method == "left_out"
    mle = bg.NaiveBayes(inference="mle", random_state=0).fit(X, y)
    assert estimated(mle, population[0]).report.method == "density"
    parts = clf.fit(X[:390], y[:390]).partial_fit(X[390:], y[390:])
    assert estimated(parts, population[0]).report.method == "density"
    with pytest.raises(UnsupportedOperation, match="method='density'"):
        estimated(parts, population[0], method="left_out")


# -- arguments, rows and results -------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bayesgen.errors.LabelShiftRejected")  # the class is there
def test_prior_of_zero_excludes_a_class(fitted, population):
    for name in ("naive Bayes", "stack"):
        for method in ("density", "left_out"):
            prior = {"a": 1.0, "b": 0.0, "c": 2.0}
            found = estimated(fitted[name], population[0], prior=prior, method=method)
            assert (found.draws[:, 1] == 0).all() and found.mode["b"] == 0
            other = fitted[name].with_class_prior(found)
            assert (other.predict_proba(population[0])[:, 1] == 0).all()
            assert np.isfinite(other.predict_interval(population[0])).all()
        one = estimated(fitted[name], population[0], prior=[0, 1, 0])
        assert (one.draws == [0, 1, 0]).all()


def test_strong_prior_is_obeyed(fitted, population):
    found = estimated(fitted["naive Bayes"], population[0][:5], prior=[9000, 900, 100])
    np.testing.assert_allclose(found.mean, [0.9, 0.09, 0.01], atol=0.01)


def test_weights_are_repeated_rows(fitted, population):
    X = population[0][:20]
    weight = np.resize([0, 1, 2, 3], 20)
    for method in ("density", "left_out"):
        one = estimated(fitted["naive Bayes"], X, sample_weight=weight, method=method)
        two = estimated(fitted["naive Bayes"], X.loc[X.index.repeat(weight)], method=method)
        np.testing.assert_allclose(one.draws, two.draws, atol=1e-6)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"prior": 0}, InvalidArgument),
        ({"prior": -1.0}, InvalidArgument),
        ({"prior": [1.0, 1.0]}, InvalidArgument),
        ({"prior": {"a": 1.0}}, InvalidArgument),
        ({"prior": "uniform"}, InvalidArgument),
        ({"prior": np.nan}, InvalidArgument),
        ({"prior": True}, InvalidArgument),
        ({"method": "emq"}, InvalidArgument),
        ({"sample_weight": np.full(90, 0.5)}, InvalidData),
        ({"sample_weight": np.zeros(90)}, InvalidData),
        ({"sample_weight": np.ones(3)}, InvalidData),
        ({"sample_weight": -np.ones(90)}, InvalidData),
    ],
)
def test_wrong_arguments_are_refused(options, error, fitted, population):
    with pytest.raises(error):
        fitted["naive Bayes"].estimate_prevalence(population[0], **options)


def test_prevalence_of_other_classes_is_refused(fitted, population):
    X, y = table(60, classes=np.array(["a", "b", "d"]))
    found = estimated(bg.NaiveBayes(random_state=0).fit(X, y), X)
    with pytest.raises(InvalidArgument, match="'d'"):
        fitted["naive Bayes"].with_class_prior(found)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.LabelShiftRejected")  # of no cell at all
def test_absent_columns_are_missing_and_no_cell_at_all_leaves_the_prior(fitted, population):
    with pytest.warns(CountsAsMissing):
        found = estimated(fitted["naive Bayes"], population[0].drop(columns="x"))
    assert np.ptp(found.interval().to_numpy()) > 0
    blank = population[0].assign(x=np.nan, z=np.nan, level=None)
    for name in ("naive Bayes", "stack", "tempered"):
        found = fitted[name].estimate_prevalence(
            blank, method="density", draws=4000, random_state=0
        )
        np.testing.assert_allclose(found.mean, np.full(3, 1 / 3), atol=0.02)
        np.testing.assert_allclose(found.draws.std(axis=0), np.sqrt(1 / 18), rtol=0.05)


def test_saved_and_copied_classifiers_estimate(fitted, population, tmp_path):
    for name in ("naive Bayes", "tempered", "stack"):
        clf = fitted[name]
        clf.save(tmp_path / "model.bgm")
        again = bg.load(tmp_path / "model.bgm")
        one, two = (estimated(c, population[0], method="density") for c in (clf, again))
        np.testing.assert_array_equal(one.draws, two.draws)
    # a stack keeps its predictions of left-out rows, and a classifier no row
    found = [estimated(c, population[0], method="left_out") for c in (clf, again)]
    np.testing.assert_array_equal(found[0].draws, found[1].draws)
    shifted = clf.with_class_prior(found[0])
    shifted.save(tmp_path / "shifted.bgm")
    np.testing.assert_array_equal(
        bg.load(tmp_path / "shifted.bgm").predict_proba(population[0]),
        shifted.predict_proba(population[0]),
    )


def test_groups_by_groupby(fitted):
    X, _ = table(120, seed=2)
    X = X.assign(place=np.resize(["n", "s"], 120))
    means = X.groupby("place")[["x", "z", "level"]].apply(
        lambda rows: estimated(fitted["naive Bayes"], rows).mean
    )
    assert means.shape == (2, 3)
    np.testing.assert_allclose(means.sum(axis=1), 1)


def test_words(tmp_path):
    texts = ["cheap pills now", "meeting at noon", "cheap offer", "lunch at noon", "pills offer"]
    labels = ["spam", "ham", "spam", "ham", "spam"]
    clf = bg.BagOfWords(random_state=0).fit(texts * 30, labels * 30)
    new = ["cheap pills"] * 3 + ["noon meeting"] * 17
    for method in ("density", "left_out"):
        found = estimated(clf, new, method=method)
        assert found.interval().loc["spam", "lower"] < 0.15 < found.interval().loc["spam", "upper"]
    assert clf.check_label_shift(new).index.tolist() == ["(density)"]


@pytest.mark.slow
def test_a_program_estimates():
    import numpyro
    import numpyro.distributions as dist

    def model(x, y=None, *, n_classes, n_rows=None):
        with numpyro.plate("class", n_classes):
            mean = numpyro.sample("mean", dist.Normal(0, 3))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(np.full(n_classes, 1 / n_classes)), obs=y)
            x = numpyro.sample("x", dist.Normal(mean[y][:, None], 1.0).to_event(1), obs=x)
        return x, y

    X, y = normal_pair(60)
    clf = bg.GenerativeClassifier(
        story=model, inference=bg.NUTS(draws=250, chains=2), random_state=0
    ).fit(X, y)
    new = np.random.default_rng(3).normal(np.repeat([0.0, 1.2], [45, 15]), 1.0)[:, None]
    found = estimated(clf, new)
    assert found.report.method == "density"
    assert found.interval().loc[1, "lower"] < 0.25 < found.interval().loc[1, "upper"]


def test_repr_has_one_line_print_one_a_class_and_the_picture_its_names(fitted, population):
    found = estimated(fitted["naive Bayes"], population[0])
    lines = str(found).split("\n")
    assert len(lines) == 4 and lines[1].startswith("  a  0.")
    assert repr(found).startswith("Prevalence in 90 rows: a 0.") and "\n" not in repr(found)
    assert found._repr_html_().count("<tr") == 5
    many = dataclasses.replace(
        found, classes=np.arange(9), draws=np.full((5, 9), 1 / 9), trained=pd.Series(np.ones(9) / 9)
    )
    assert repr(many).endswith("4 0.111 [0.111, 0.111], 4 more classes")
    assert isinstance(found.mean, pd.Series) and found.mean.index.name == "class"
    import matplotlib as mpl

    with mpl.rc_context({"backend": "agg"}):
        display = found.plot(prob=0.5)
    assert [t.get_text() for t in display.ax_.get_yticklabels()] == ["a", "b", "c"]
    lines = np.array(display.ax_.collections[0].get_segments())[:, :, 0]
    np.testing.assert_array_equal(lines, found.interval(0.5).to_numpy())


def test_seed_repeats_and_none_is_that_of_the_classifier(fitted, population):
    clf, X = fitted["naive Bayes"], population[0]
    same = [clf.estimate_prevalence(X, draws=20, random_state=3).draws for _ in range(2)]
    np.testing.assert_array_equal(*same)
    # None is the seed of the classifier, which has one
    own = [clf.estimate_prevalence(X, draws=20).draws for _ in range(2)]
    np.testing.assert_array_equal(*own)
    assert not np.array_equal(same[0], clf.estimate_prevalence(X, draws=20, random_state=4).draws)
