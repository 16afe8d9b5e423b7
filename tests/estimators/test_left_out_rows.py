"""What is learned or reported from rows left out: each page line has a law that it obeys.

docs/explanation/left-out-rows.md lists these quantities. Of each, rows that are there twice give
what rows of weight 2 give, and what leaves must matter to it: where copies stay, it differs.
"""

import functools
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import bayesgen as bg
from bayesgen.errors import BayesgenWarning
from bayesgen.estimators import fitted, new_population, training_rows
from bayesgen.table import Copies, copies_of

PAGE = Path(__file__).parents[2] / "docs/explanation/left-out-rows.md"


def table(n=60, seed=0):
    """Return rows of numbers with gaps that tell of the class, and labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = pd.DataFrame(rng.normal(size=(n, 3)) + 0.8 * y[:, None] * [1, 0, 0], columns=list("abc"))
    X["d"] = np.where(rng.random(n) < 0.2 + 0.5 * y, np.nan, rng.normal(size=n))
    return X, y


class Rows:
    """The rows of a table, each twice or with weight 2; models are fitted to them once."""

    def __init__(self, *, repeated):
        self.X, self.y = table()
        self.weight = np.full(len(self.y), 2.0)
        if repeated:
            self.X, self.y = pd.concat([self.X] * 2, ignore_index=True), np.tile(self.y, 2)
            self.weight = None

    @functools.cache  # noqa: B019
    def fitted(self, make):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesgenWarning)
            return make().fit(self.X, self.y, sample_weight=self.weight)


def stack():
    return bg.StackedClassifier(["naive", "linear", "naive_kernels"], random_state=0)


def forested():
    return bg.StackedClassifier(random_state=0)


def naive():
    return bg.NaiveBayes(random_state=0)


def by_new_rows(make, answer):
    new = table(12, seed=1)[0]

    def quantity(rows):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BayesgenWarning)
            return np.asarray(answer(rows.fitted(make), new), dtype=float)

    return quantity


def of_details(make, *names):
    return lambda rows: [rows.fitted(make).report_.details[name] for name in names]


def loo_by_row(rows):
    found = rows.fitted(naive).loo(rows.X, rows.y, rows.weight)
    return found["log_proba"].to_numpy()[: len(table()[1])]


def tempered(**options):
    return lambda: bg.NaiveBayes(random_state=0, **options)


LEARNED, COLUMNS = tempered(temper="learn"), tempered(temper="columns")
PATTERN = tempered(missing="learn")
SCORE = "leave-one-out log loss"


def prevalence(clf, new, method):
    return clf.estimate_prevalence(new, method=method, random_state=0)


def shifted(rows):
    new = table(40, seed=2)[0]
    clf = rows.fitted(naive)
    estimate = prevalence(clf, new, method="density")
    found = clf.check_label_shift(new, estimate, rows.X, rows.y, rows.weight)
    return found.to_numpy(dtype=float).ravel()


def sets(method):
    def quantity(rows):
        clf, new = rows.fitted(naive), table(12, seed=1)[0]
        passed = {"X_fit": rows.X, "y_fit": rows.y, "sample_weight_fit": rows.weight}
        passed = {k: v for k, v in passed.items() if v is not None}
        return clf.predict_set(new, coverage=0.7, method=method, **passed)

    return quantity


QUANTITIES = {
    "weights of members": lambda rows: [*rows.fitted(stack).weights_.values()],
    "power of the mean": lambda rows: rows.fitted(stack).temperature_,
    "log-linear pool": by_new_rows(stack, lambda clf, new: clf.predict_proba(new)),
    "interactions": by_new_rows(forested, lambda clf, new: clf.predict_proba(new)),
    "misfit of intervals": by_new_rows(forested, lambda clf, new: clf.predict_interval(new)),
    "power of the missing pattern": by_new_rows(PATTERN, lambda clf, new: clf.predict_proba(new)),
    "temper='learn'": by_new_rows(LEARNED, lambda clf, new: clf.predict_proba(new)),
    "temper='columns'": by_new_rows(COLUMNS, lambda clf, new: clf.predict_proba(new)),
    "score of naive Bayes": of_details(naive, SCORE),
    "scores of a stack": of_details(stack, SCORE, f"{SCORE} of naive"),
    "loo": loo_by_row,
    "prevalence by left-out rows": by_new_rows(
        stack, lambda clf, new: prevalence(clf, new, method="left_out").draws.mean(axis=0)
    ),
    "check_label_shift": shifted,
}
"""What is learned or reported, by the names of the page."""


@pytest.fixture(scope="module")
def expected():
    """Return each quantity from rows of weight 2, whose weight leaves whole."""
    weighted = Rows(repeated=False)
    return {name: np.asarray(quantity(weighted)) for name, quantity in QUANTITIES.items()}


@pytest.mark.parametrize("name", QUANTITIES)
def test_rows_twice_are_rows_of_weight_two(name, expected, repeated):
    found = QUANTITIES[name](repeated)
    np.testing.assert_allclose(found, expected[name], rtol=1e-6, atol=1e-7)


@pytest.fixture(scope="module")
def repeated():
    return Rows(repeated=True)


def copies_that_stay(tables, y, weight):
    equal = copies_of(tables, y, weight)
    return Copies(equal.content, equal.first, equal.total, np.minimum(equal.total, 1.0))


STAYING = Rows(repeated=True)
"""Rows that are fitted where copies stay behind alone."""


@pytest.fixture
def staying(monkeypatch):
    """Return rows whose copies stay behind, as where only one of two is left out."""
    for module in (training_rows, fitted, new_population):
        monkeypatch.setattr(module, "copies_of", copies_that_stay)
    return STAYING


@pytest.mark.parametrize("name", QUANTITIES)
def test_copies_that_stay_are_noticed(name, expected, staying):
    found = np.asarray(QUANTITIES[name](staying))
    assert np.abs(found - expected[name]).max() > 1e-4


def test_the_page_lists_what_is_tested():
    lines = re.findall(r"^\| `?([^|`]+?)`? \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [line.replace("`", "") for line in lines]
    assert set(QUANTITIES) <= set(listed)


# --- what the user sees ---------------------------------------------------------------------------


def rows_of(n, seed, exclusive_or=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    score = 3 * np.sign(X.a * X.b) if exclusive_or else 1.5 * X.a
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int)


def forest_weight(X, y, weight):
    clf = bg.StackedClassifier(random_state=0).fit(X, y, sample_weight=weight)
    return clf, clf.weights_.get("forest", 0.0)


def test_weights_of_two_change_the_stack_little():
    """Log loss of new rows by .01 at most, and the left-out score within its standard error."""
    (X, y), (new, own) = rows_of(200, 0), rows_of(5000, 1)
    losses = []
    for weight in (1.0, 2.0):
        clf, forest = forest_weight(X, y, np.full(200, weight))
        assert forest < 0.1
        each = -np.log(clf.predict_proba(new)[np.arange(5000), own])
        losses.append(log_loss(own, clf.predict_proba(new)))
        error = each.std() / np.sqrt(200)
        assert abs(clf.report_.details[SCORE] - losses[-1]) < 2 * error
    assert abs(losses[1] - losses[0]) < 0.01


def test_the_forest_joins_whatever_the_weights():
    X, y = rows_of(200, 0, exclusive_or=True)
    weights = [forest_weight(X, y, np.full(200, w))[1] for w in (1.0, 2.0)]
    assert weights[0] > 0.3 and abs(weights[1] - weights[0]) < 0.1
