"""Naive Bayes scores itself by leave-one-out, and warns where class frequencies predict better."""

import math
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from leaving import weights_without

import bayesgen as bg
from bayesgen.errors import WorseThanFrequencies
from bayesgen.estimators import judged_rows, leave_one_out_score
from bayesgen.estimators.judged_rows import LOSS_UNDER_PRIOR
from bayesgen.estimators.validation import training_rows
from bayesgen.table import read_table

OWN, FREQUENCIES = "leave-one-out log loss", "log loss of class frequencies"
ERROR, JUDGED = "standard error of their difference", "rows judged"


def quiet(X, y, weight=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorseThanFrequencies)
        return bg.NaiveBayes(**params).fit(X, y, weight)


def copies(n, columns=10, seed=0):
    """Return copies of one column that says little about the class."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    x = 0.5 * y + rng.normal(size=n)
    return np.repeat(x[:, None], columns, axis=1), y


def mixed(n, seed=1):
    """Return numbers with a gap, levels, labels of three classes, and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(size=n), "c": rng.choice(list("uvw"), n)})
    X.loc[2, "b"] = np.nan
    return X, y, rng.integers(1, 3, n).astype(float)


def chosen(X, y, weight):
    rows = training_rows(read_table(X), X, y, weight)
    return judged_rows.judged_rows([rows], rows.classes)


def refitted(X, y, weight, judged, shares, **params):
    """Return both log losses by a fit without each row, or without one of those it stands for."""
    own, frequencies = [], []
    for i in judged:
        rest = weights_without(X, y, weight, i)
        clf = quiet(X, y, rest, **params)
        row = X.iloc[[i]] if hasattr(X, "iloc") else X[[i]]
        own.append(-clf.predict_log_proba(row)[0, list(clf.classes_).index(y[i])])
        size = len(clf.classes_)
        frequencies.append(-math.log((rest[y == y[i]].sum() + 1) / (rest.sum() + size)))
    return tuple(np.average(v, weights=shares) for v in (own, frequencies))


def test_scores_are_those_of_refits():
    X, y, weight = mixed(40)
    details = quiet(X, y, weight).report_.details
    wanted = refitted(X, y, weight, np.arange(40), weight)
    np.testing.assert_allclose((details[OWN], details[FREQUENCIES]), wanted, rtol=1e-9)
    assert details[JUDGED] == 40


def test_some_rows_are_judged_given_all_others(monkeypatch):
    X, y, weight = mixed(60)
    monkeypatch.setattr(judged_rows, "JUDGED", 7)
    details = quiet(X, y, weight).report_.details
    judged = chosen(X, y, weight)
    wanted = refitted(X, y, weight, judged.rows, judged.weight)
    np.testing.assert_allclose((details[OWN], details[FREQUENCIES]), wanted, rtol=1e-9)
    assert details[JUDGED] == 7


def test_a_row_that_alone_varies_is_not_judged_where_others_are_not_read(monkeypatch):
    X, y = copies(50, 2)
    X[:, 1] = 0.3
    X[0, 1] = 1e6
    monkeypatch.setattr(judged_rows, "JUDGED", 10)
    details = quiet(X, y).report_.details
    judged = chosen(X, y, np.ones(50))
    others = judged.rows > 0
    wanted = refitted(X, y, np.ones(50), judged.rows[others], judged.weight[others])
    assert details[JUDGED] == others.sum() >= 9
    np.testing.assert_allclose((details[OWN], details[FREQUENCIES]), wanted, rtol=1e-6)


def test_copies_of_a_column_are_warned_of():
    X, y = copies(200)
    with pytest.warns(
        WorseThanFrequencies, match=r"^NaiveBayes: [^0-9]+ better than this model does"
    ) as found:
        clf = bg.NaiveBayes().fit(X, y)
    assert len(found) == 1 and found[0].filename == __file__
    details = clf.report_.details
    # many fits of one search have the same text, which Python shows once
    assert not re.search(r"\d", str(found[0].message))
    assert details[OWN] > details[FREQUENCIES] + details[ERROR]
    np.testing.assert_allclose(details[FREQUENCIES], math.log(2), rtol=0.01)


def warned(X, y, **params):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bg.NaiveBayes(**params).fit(X, y)
    return any(one.category is WorseThanFrequencies for one in caught)


def test_the_first_column_of_the_copies_and_few_rows_are_not():
    X, y = copies(200)
    assert warned(X, y) and not warned(X[:, :1], y)
    assert not warned(*copies(leave_one_out_score.ENOUGH - 1, 50))


@pytest.mark.parametrize("name", ["play_tennis", "voters", "voters_missing", "iris", "titanic"])
def test_tables_of_the_lectures_are_not(name):
    assert not warned(*getattr(bg.datasets, f"load_{name}")())


@pytest.mark.parametrize("name", ["biopsy", "crabs", "spam"])
def test_columns_that_repeat_each_other_are(name):
    assert warned(*getattr(bg.datasets, f"load_{name}")())


@pytest.mark.parametrize(
    "params",
    [
        {"inference": "mle"},
        {"inference": "map"},
        {"temper": 0.5},
        {"temper": "columns"},
        {"missing": "learn"},
        {"likelihood": bg.KernelDensity()},
    ],
)
def test_only_untempered_closed_forms_are_judged(params):
    X, y = copies(40)
    X[0, 0] = np.nan
    assert not warned(X, y, **params)
    assert OWN not in quiet(X, y, **params).report_.details


def test_batches_and_members_of_stacks_are_not_judged():
    X, y = copies(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf = bg.NaiveBayes().partial_fit(X, y)
        stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]).fit(X + np.arange(10) ** 2, y)
    assert OWN not in clf.report_.details
    assert OWN not in stack.members_["naivebayes"].report_.details


def test_a_stated_class_prior_is_judged_by_the_frequencies_of_the_rows():
    X, y = copies(200)
    clf = quiet(X, y, class_prior={0: 0.01, 1: 0.99})
    stated, own = dict(clf.report_.details), quiet(X, y).report_.details
    under = stated.pop(LOSS_UNDER_PRIOR)
    assert stated == own
    # beside it, in a population of the stated frequencies: rows of class k count p_k / f_k times
    losses = -clf.loo(X, y)["log_proba"].to_numpy()
    assert under == pytest.approx(0.01 * losses[y == 0].mean() + 0.99 * losses[y == 1].mean())
    assert LOSS_UNDER_PRIOR not in clf.with_class_prior("uniform").report_.details


def test_saved_with_the_model(tmp_path):
    clf = quiet(*copies(100))
    clf.save(tmp_path / "m.bgm")
    assert bg.load(tmp_path / "m.bgm").report_.details == clf.report_.details
