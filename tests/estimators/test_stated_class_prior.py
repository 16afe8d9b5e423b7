"""Class probabilities that are stated: put in after learning, whatever is learned and however."""

import numpy as np
import pandas as pd
import pytest
from agree import agree

import bayesgen as bg
from bayesgen.errors import InvalidArgument
from bayesgen.estimators import fit, fitted
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import LOSS, LOSS_UNDER_PRIOR
from bayesgen.estimators.stack import member
from bayesgen.estimators.stack.fitted import FittedStack
from bayesgen.inference.leave_one_out import LabelledRows

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")

PRIOR = {"ill": 0.03, "well": 0.97}
NAMED = ["naive", "linear"]


def table(n=90, seed=0):
    """Return numbers, levels, gaps that tell the class, wards and words, of as many of each."""
    rng = np.random.default_rng(seed)
    y = np.resize(["ill", "well"], n)
    ill = y == "ill"
    X = pd.DataFrame({"a": rng.normal(size=n) + ill, "b": rng.normal(size=n) + 0.7 * ill})
    X["c"] = X["b"] + 0.3 * rng.normal(size=n)
    X["g"] = np.where(rng.random(n) < 0.3 + 0.3 * ill, "u", "v")
    X["d"] = np.where(rng.random(n) < 0.2 + 0.3 * ill, np.nan, rng.normal(size=n))
    X["ward"] = np.resize(["east", "west", "north"], n)
    return X, y


X, Y = table()
NEW = table(12, seed=1)[0]
ALL = ["a", "b", "c", "g", "d"]
NUMBERS, LEVELS = ["a", "b", "c"], ["g", "ward"]

OWN = {
    "sure": bg.LDA(class_prior=5.0, random_state=1),
    "fixed": bg.QDA(class_prior="uniform", random_state=1),
}
# a classifier of options, the columns it reads
CASES = {
    "naive": (bg.NaiveBayes, {}, ALL),
    "a power": (bg.NaiveBayes, {"temper": 0.5}, ALL),
    "learned power": (bg.NaiveBayes, {"temper": "learn"}, ALL),
    "powers of columns": (bg.NaiveBayes, {"temper": "columns"}, ALL),
    "learned pattern": (bg.NaiveBayes, {"missing": "learn"}, ALL),
    "pattern in powers": (bg.NaiveBayes, {"missing": "learn", "temper": "columns"}, ALL),
    "sets of columns": (bg.NaiveBayes, {"columns": "average"}, ALL),
    "transforms": (bg.NaiveBayes, {"power_transform": True, "temper": "learn"}, NUMBERS),
    "bins": (bg.NaiveBayes, {"likelihood": bg.Categorical(), "bins": "auto"}, NUMBERS),
    "groups": (bg.NaiveBayes, {"groups": "ward", "temper": "learn"}, [*NUMBERS, "ward"]),
    "kernels": (bg.NaiveBayes, {"likelihood": bg.KernelDensity(), "temper": "learn"}, NUMBERS),
    "MLE": (bg.NaiveBayes, {"inference": "mle"}, ALL),
    "LDA": (bg.LDA, {"temper": "learn"}, NUMBERS),
    "LDA, gaps": (bg.LDA, {}, [*NUMBERS, "d"]),
    "LDA, sampled gaps": (bg.LDA, {"inference": bg.Augmentation(20)}, [*NUMBERS, "d"]),
    "LDA, expected gaps": (
        bg.LDA,
        {"inference": "expected", "temper": "learn"},
        [*NUMBERS, "d"],
    ),
    "LDA, indicators": (bg.LDA, {"levels": "indicators", "temper": "columns"}, ["a", "b", "g"]),
    "QDA, MAP": (bg.QDA, {"inference": "map"}, NUMBERS),
    "joint table": (bg.JointTable, {"temper": "learn"}, LEVELS),
    "blocks": (
        bg.GenerativeClassifier,
        {"likelihood": {("a", "b"): bg.MultivariateNormal(), "g": bg.Categorical()}}
        | {"temper": "columns"},
        ["a", "b", "g"],
    ),
    "stack": (bg.StackedClassifier, {}, ["a", "g"]),
    "named": (bg.StackedClassifier, {"members": NAMED, "missing": "informative"}, ALL),
    "stack of groups": (
        bg.StackedClassifier,
        {"members": NAMED, "groups": "ward"},
        ["a", "b", "ward"],
    ),
    "own members": (
        bg.StackedClassifier,
        {"members": OWN},
        NUMBERS,
    ),
    "a stack's power": (bg.StackedClassifier, {"members": NAMED, "temper": 2.0, "pool": None}, ALL),
}
LEARNED = ("learned power", "powers of columns", "LDA", "kernels", "joint table", "named")


def made(case, **options):
    kind, own, columns = CASES[case]
    return kind(random_state=0, **own, **options), columns


def law(case, stated=PRIOR):
    """To fit with class_prior=p is to fit, then to state p."""
    clf, columns = made(case, class_prior=stated)
    later, _ = made(case)
    own = clf.fit(X[columns], Y)
    other = later.fit(X[columns], Y).with_class_prior(stated)
    same_proba(own, other, NEW[columns])
    return own, other, NEW[columns]


def same_proba(own, other, new):
    """Raise AssertionError where two fits differ in the probabilities of new rows."""
    agree(own.predict_proba(new), other.predict_proba(new), what="P(y = k)", atol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_a_stated_prior_is_applied_after_learning(case):
    own, other, new = law(case)
    if not own.posterior_.point and case != "a stack's power":
        ends = own.predict_interval(new), other.predict_interval(new)
        agree(*ends, what="interval", axes=("row", "class", "end"), atol=1e-9)


@pytest.mark.parametrize("case", LEARNED)
def test_fault_learned_under_the_stated_prior(case, monkeypatch):
    for module in (fit, fitted, member):
        monkeypatch.setattr(module, "prior_of_learning", lambda spec: spec)
    with pytest.raises(AssertionError):
        law(case)


LEAST_EFFECTIVE = 500


def law_of_draws(inference):
    """Within Monte Carlo error: the sd of P over draws, by a number of effective draws."""
    made = (
        bg.NaiveBayes(inference=inference, class_prior=p, random_state=i)
        for i, p in enumerate((PRIOR, 1.0))
    )
    own, later = (clf.fit(X[["a", "b"]], Y) for clf in made)
    other, new = later.with_class_prior(PRIOR), NEW[["a", "b"]]
    low, high = np.moveaxis(own.predict_interval(new, 0.9), -1, 0)
    error = (high - low) / 3.29 * np.sqrt(2 / LEAST_EFFECTIVE)
    agree(own.predict_proba(new), other.predict_proba(new), what="P(y = k)", error=error)


@pytest.mark.slow
def test_draws_of_a_stated_prior():
    law_of_draws(bg.NUTS(draws=1000, chains=2))


@pytest.mark.slow
def test_fault_draws_under_the_frequencies(monkeypatch):
    monkeypatch.setattr(bg.NaiveBayes, "with_class_prior", lambda clf, prior: clf)
    with pytest.raises(AssertionError):
        law_of_draws(bg.NUTS(draws=200, chains=2))


FREQUENCIES = pd.Series(Y).value_counts(normalize=True)
WAYS = {
    "an array": [0.03, 0.97],
    "a Series": pd.Series({"well": 0.97, "ill": 0.03}),
    "even": "uniform",
    "of the fit": "empirical",
    "counted": FREQUENCIES,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", ["learned power", "named"])
def test_however_it_is_stated(case, way):
    law(case, WAYS[way])


def test_empirical_is_the_frequencies_of_the_fit():
    few, labels = X[10:], np.where(np.arange(80) % 4, "well", "ill")
    shares = pd.Series(labels).value_counts(normalize=True)
    for clf in (bg.NaiveBayes(temper="learn"), bg.StackedClassifier(NAMED, random_state=0)):
        own, counted = (
            clf.set_params(class_prior=p).fit(few[ALL], labels).predict_proba(NEW[ALL])
            for p in ("empirical", shares)
        )
        agree(own, counted, what="P(y = k)", atol=1e-9)


def test_a_number_is_no_statement():
    with pytest.raises(InvalidArgument, match="class_prior holds 1 number; y has 2 classes"):
        bg.NaiveBayes().fit(X[NUMBERS], Y).with_class_prior(2.0)
    with pytest.raises(InvalidArgument, match="class_prior is 'even'"):
        bg.NaiveBayes().fit(X[NUMBERS], Y).with_class_prior("even")


# -- every way to a fit ----------------------------------------------------------------------------


def in_parts(clf, X, y, tmp_path):
    return clf.partial_fit(X[:50], y[:50]).partial_fit(X[50:], y[50:])


def merged(clf, X, y, tmp_path):
    one, two = (type(clf)(**clf.get_params(deep=False)) for _ in "ab")
    return one.fit(X[:50], y[:50]).merge(two.fit(X[50:], y[50:]))


def forgotten(clf, X, y, tmp_path):
    more, labels = table(20, seed=9)
    both = pd.concat([X, more[X.columns]], ignore_index=True)
    return clf.fit(both, np.append(y, labels)).forget(more[X.columns], labels)


def saved(clf, X, y, tmp_path):
    clf.fit(X, y).save(tmp_path / "m.bgm")
    return bg.load(tmp_path / "m.bgm")


def weighted(clf, X, y, tmp_path):
    return clf.fit(X, y, np.where(y == "ill", 0.5, 2.0))


def soft(clf, X, y, tmp_path):
    p = np.where(y == "ill", 0.8, 0.1)
    return clf.fit(X, pd.DataFrame({"ill": p, "well": 1 - p}))


def of_a_file(clf, X, y, tmp_path):
    X.assign(y=y).to_csv(tmp_path / "rows.csv", index=False)
    return clf.fit(tmp_path / "rows.csv", y="y")


WAYS_TO_FIT = (in_parts, merged, forgotten, saved, weighted, soft, of_a_file)


@pytest.mark.parametrize("fit", WAYS_TO_FIT)
@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.StackedClassifier])
def test_however_it_is_fitted(make, fit, tmp_path):
    options = {"members": NAMED} if make is bg.StackedClassifier else {"temper": "learn"}
    if fit in (forgotten, of_a_file) and make is bg.NaiveBayes:
        options = {}  # a power is learned from rows, not from statistics
    made = (make(random_state=0, class_prior=p, **options) for p in (PRIOR, 1.0))
    own, later = (fit(clf, X[NUMBERS], Y, tmp_path) for clf in made)
    same_proba(own, later.with_class_prior(PRIOR), NEW[NUMBERS])


# -- what is said of rows left out -----------------------------------------------------------------


@pytest.fixture(scope="module")
def stacks():
    """A stack whose prior is stated, and the same with that of the rows."""
    X, y = table(60, seed=3)
    return [
        bg.StackedClassifier(NAMED, class_prior=p, random_state=0).fit(X[NUMBERS], y)
        for p in (PRIOR, 1.0)
    ]


def test_the_loss_of_the_fit_is_under_its_frequencies(stacks):
    own, other = (clf.report_.details for clf in stacks)
    agree(own[LOSS], other[LOSS], what=LOSS, atol=1e-12)
    assert own.keys() - other.keys() == {LOSS_UNDER_PRIOR}
    assert LOSS_UNDER_PRIOR not in stacks[0].with_class_prior("uniform").report_.details


def law_of_unlabelled_rows():
    """Members are weighed under the frequencies, also where rows without a label know the prior.

    Where these weigh nothing and no guess is open, members are those of the labeled rows.
    """
    X, y = table(60, seed=3)
    y = np.where(np.arange(60) % 3 == 0, None, y)
    members = [
        bg.NaiveBayes(
            bg.Normal(mean=0.0, mean_rows=1.0, variance=variance, variance_rows=2.0), unlabelled=0.0
        )
        for variance in (4.0, 1.0)
    ]
    proba = [
        bg.StackedClassifier(members, class_prior=prior, random_state=0)
        .fit(X[NUMBERS], y)
        .with_class_prior(PRIOR)
        .predict_proba(NEW[NUMBERS])
        for prior in (PRIOR, 1.0)
    ]
    agree(*proba, what="P(y = k)", atol=1e-9)


def test_members_of_unlabelled_rows_are_weighed_under_the_frequencies():
    law_of_unlabelled_rows()


def law_left_out(stacks):
    """Rows left out are under the class probabilities that are stated, at the fit or later."""
    X, y = table(60, seed=3)
    stated, later = stacks
    losses = -stated.loo(X[NUMBERS], y)["log_proba"].to_numpy()
    own = sum(p * losses[y == k].mean() for k, p in PRIOR.items())
    agree(stated.report_.details[LOSS_UNDER_PRIOR], own, what=LOSS_UNDER_PRIOR, atol=1e-9)
    encoded, codes, ones = (
        later._read_rows(X[NUMBERS]).encoded,
        (y == "well").astype(int),
        np.ones(60),
    )
    rows = LabelledRows(encoded, codes, ones, ones)
    joint = later._fitted().with_class_prior(PRIOR).log_densities(rows).joint
    found = joint[np.arange(60), codes] - np.logaddexp.reduce(joint, axis=1)
    agree(found, -losses, what="log P(y) of the row left out", atol=1e-9)


def test_left_out_rows_are_under_the_stated_prior(stacks):
    law_left_out(stacks)


def test_fault_members_weighed_under_the_stated_prior(monkeypatch):
    monkeypatch.setattr(Fitted, "under_frequencies", lambda model: model)
    with pytest.raises(AssertionError, match=r"P\(y = k\), row \d+, class 0: expected"):
        law_of_unlabelled_rows()


def test_fault_members_left_as_they_were(stacks, monkeypatch):
    monkeypatch.delattr(FittedStack, "with_class_prior")
    with pytest.raises(AssertionError):
        law_left_out(stacks)


@pytest.mark.parametrize("case", ["naive", "LDA, expected gaps", "named"])
def test_predictions_that_are_counted_know_no_class_frequencies(case):
    """Of a closed form, complete or expected, and of a stack."""
    kept = []
    for prior in (PRIOR, 1.0):
        clf, columns = made(case, class_prior=prior)
        kept.append(clf.fit(X[columns], Y)._population_model().left_out_rows().log_proba)
    agree(*kept, what="log P(y = k) of the row left out", atol=1e-9)


# -- sets and comparisons --------------------------------------------------------------------------


def case_control(seed, n, ill):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < ill).astype(int)
    return rng.normal(size=(n, 2)) + 1.2 * y[:, None], y


def law_coverage():
    """Sets cover new rows of the stated frequencies, and no more of them than asked for."""
    share = []
    for seed in range(6):
        rows, y = case_control(seed, 160, 0.5)
        new, labels = case_control(seed + 100, 300, 0.1)
        clf = bg.LDA(class_prior=[0.9, 0.1]).fit(rows, y)
        sets = clf.predict_set(new, 0.8, method="left_out")
        share.append(sets[np.arange(300), labels].mean())
    # of 1,800 rows, and of as many fits' own errors
    error = np.sqrt(0.16 / 1800 + 0.16 / (6 * 160))
    agree(np.mean(share), 0.8, what="share of sets that hold the class", error=error)


def test_sets_cover_a_population_of_the_stated_frequencies():
    law_coverage()


def test_fault_rows_count_as_in_the_fit(monkeypatch):
    from bayesgen.estimators import prediction_sets

    monkeypatch.setattr(prediction_sets, "states_frequencies", lambda spec: False)
    with pytest.raises(AssertionError):
        law_coverage()


def test_a_comparison_scores_rows_under_their_own_frequencies():
    X, y = table(80, seed=4)
    stated = {"stated": bg.NaiveBayes(class_prior=PRIOR), "own": bg.NaiveBayes()}
    found = bg.compare(stated, X[NUMBERS], y, cv=4, progress=False)
    table_ = found.table
    agree(*found.probabilities.values(), what="P(y = k)", atol=1e-12)
    assert np.isnan(table_.loc["own", "log_loss_under_class_prior"])
    losses = np.empty(80)
    for fold in range(4):
        scored = found.rows[found.fold == fold]
        fit = np.setdiff1d(np.arange(80), scored)
        clf = bg.NaiveBayes(class_prior=PRIOR).fit(X[NUMBERS].iloc[fit], y[fit])
        log_proba = clf.predict_log_proba(X[NUMBERS].iloc[scored])
        losses[scored] = -log_proba[np.arange(len(scored)), (y[scored] == "well").astype(int)]
    under = sum(p * losses[y == k].mean() for k, p in PRIOR.items())
    loss = table_.loc["stated", "log_loss_under_class_prior"]
    agree(loss, under, what="log_loss_under_class_prior", atol=1e-9)
    assert sum("states class probabilities" in note for note in found.notes) == 1
