"""Laws of levels read as indicators: names and order of levels carry no information.

Any split of the rows gives one posterior, whichever levels it knew at first.
"""

import itertools

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import BayesgenWarning
from bayesgen.likelihoods.multivariate_normal import indicators

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")

LEVELS = {"g": ["p", "q", "r", "s", "t"], "h": ["u", "v"], "k": ["same"], "m": ["one", "two"]}
CALLED = {"p": "zz", "q": "b", "r": "y", "s": "a", "t": "m", "u": "z", "v": "a", "one": "zwei"}

MODELS = {
    "shared": lambda: bg.LDA(levels="indicators", inference="expected"),
    "own": lambda: bg.QDA(levels="indicators", inference="expected"),
    "likeliest": lambda: bg.LDA(levels="indicators", inference="mle"),
    "mode": lambda: bg.QDA(levels="indicators", inference="map"),
    "stated": lambda: bg.QDA(levels="indicators", inference="expected", mean=0.3, scale=2.0),
    "learned": lambda: bg.LDA(
        levels="indicators", inference="expected", mean_rows="learn", scale="learn"
    ),
    "powers": lambda: bg.LDA(
        levels="indicators", inference="expected", power_transform=True, temper="learn"
    ),
}
ADDITIVE = ("shared", "own", "stated", "learned")


def table(*, gaps, seed=0, n=40):
    """Return rows with a rare level, a column of one level, and one that tells a class."""
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n)
    X = pd.DataFrame(
        {
            "g": rng.choice(LEVELS["g"], n, p=[0.4, 0.3, 0.2, 0.07, 0.03]),
            "h": rng.choice(LEVELS["h"], n),
            "x": rng.normal(size=n) + (y == "b"),
            "k": "same",
            "w": rng.normal(size=n),
            "m": np.where(y == "a", "one", "two"),
        }
    )
    if gaps:
        X = X.mask(rng.random(X.shape) < [0.15, 0.15, 0.1, 0.0, 0.0, 0.0])
    return X, pd.Series(y)


def indicated(clf):
    """Return names and levels of the columns that a classifier reads, but not their origins."""
    return [(column.name, column.source_levels) for column in clf.state_.schema.blocks["normal"]]


def declared(X, order, more=()):
    return X.assign(
        **{
            name: pd.Categorical(X[name], [*more, *order(levels)])
            for name, levels in LEVELS.items()
        }
    )


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_names_and_order_of_levels_change_nothing(name, gaps):
    X, y = table(gaps=gaps)
    clf = MODELS[name]().fit(X, y)
    expected = clf.predict_proba(X)
    renamed = X.assign(**{name: X[name].replace(CALLED) for name in LEVELS})
    for other in (declared(X, reversed), declared(X, sorted, ["none", "0"]), renamed):
        found = MODELS[name]().fit(other, y)
        np.testing.assert_allclose(found.predict_proba(other), expected, rtol=0, atol=1e-9)
        if name in ("shared", "own"):
            left_out = (fitted.loo()["log_proba"] for fitted in (clf, found))
            np.testing.assert_allclose(*left_out, rtol=0, atol=1e-9)


def test_a_guess_that_leaves_a_level_out_is_caught(monkeypatch):
    """The planted fault: variances of all levels but one, beside nothing."""
    X, y = table(gaps=False)

    def diagonal(variance, *_):
        return np.eye(variance.shape[-1]) * variance[..., None]

    monkeypatch.setattr(indicators, "guess_of_levels", diagonal)
    one, other = (
        MODELS["own"]().fit(rows, y).predict_proba(rows) for rows in (X, declared(X, reversed))
    )
    assert np.abs(one - other).max() > 1e-3


def test_the_guess_is_the_mean_over_the_level_that_is_left_out():
    variance, expected = np.array([0.1, 0.25, 0.2, 0.05]), np.zeros((4, 4))
    for left_out in range(4):
        others = np.delete(np.arange(4), left_out)
        to_all = np.zeros((4, 3))
        to_all[others, np.arange(3)], to_all[left_out] = 1.0, -1.0
        expected += to_all @ np.diag(variance[others]) @ to_all.T / 4
    member = np.ones((3, 1), dtype=bool)
    found = indicators.guess_of_levels(variance[1:], variance[:1], np.array([4]), member)
    np.testing.assert_allclose(found, expected[1:, 1:], atol=1e-15)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("name", ADDITIVE)
def test_any_split_gives_one_posterior(name, gaps):
    """Levels arrive late: the first of all, the second of a column, the first cell of one."""
    X, y = table(gaps=gaps)
    order = X["g"].isin(["p"]).argsort(kind="stable")
    order = np.concatenate([order[X["h"].iloc[order].isna()], order[~X["h"].iloc[order].isna()]])
    X, y = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    expected = MODELS[name]().fit(X, y).predict_proba(X)
    for cuts in ([0, 2, 7, 15, 40], [0, 30, 40]):
        clf = MODELS[name]()
        for start, end in itertools.pairwise(cuts):
            clf.partial_fit(X[start:end], y[start:end], classes=["a", "b", "c"])
        np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=0, atol=1e-9)
    one, other = (MODELS[name]().fit(X[part], y[part]) for part in (slice(25), slice(25, 40)))
    for merged in (one.merge(other), other.merge(one)):
        np.testing.assert_allclose(merged.predict_proba(X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("level", ["p", "q", "t", "u", "v"])
def test_forgetting_all_rows_of_a_level_is_a_new_fit(level, gaps):
    """Of the first level, another one, and one of two."""
    X, y = table(gaps=gaps)
    gone = X.eq(level).any(axis=1)
    for name in ADDITIVE[:3]:
        clf = MODELS[name]().fit(X, y).forget(X[gone], y[gone])
        again = MODELS[name]().fit(X[~gone], y[~gone])
        assert indicated(clf) == indicated(again)
        found = clf.predict_proba(X)
        np.testing.assert_allclose(found, again.predict_proba(X), rtol=0, atol=1e-9)


def test_a_level_without_rows_is_missing():
    """Declared or not: it was read as the first level."""
    X, y = table(gaps=True)
    new = X.iloc[:5].copy()
    new["g"] = "new"
    clf, other = (
        MODELS["shared"]().fit(X, y),
        MODELS["shared"]().fit(declared(X, sorted, ["new"]), y),
    )
    missing = clf.predict_proba(new.assign(g=None))
    for fitted in (clf, other):
        with pytest.warns(BayesgenWarning, match="column 'g' has the level 'new'"):
            found = fitted.predict_proba(new)
        np.testing.assert_allclose(found, missing, rtol=0, atol=1e-12)


def test_a_column_that_was_never_observed_may_turn_out_to_hold_anything(rng):
    X = pd.DataFrame({"x": rng.normal(size=30), "g": [None] * 10 + ["a", "b"] * 10})
    X["z"] = np.where(np.arange(30) < 10, np.nan, rng.normal(size=30))
    y = np.tile([0, 1, 1], 10)
    clf = MODELS["own"]().partial_fit(X[:10], y[:10]).partial_fit(X[10:], y[10:])
    expected = MODELS["own"]().fit(X, y).predict_proba(X)
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=0, atol=1e-9)


def test_levels_of_numbers_that_arrive_as_text_are_refused():
    X, y = table(gaps=False)
    clf = MODELS["shared"]().fit(X, y)
    with pytest.raises(bg.errors.InvalidData, match="'g'"):
        clf.partial_fit(X.assign(g=1.0), y)
