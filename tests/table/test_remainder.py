"""likelihood={column: ...}: which blocks a mapping makes, and what becomes of columns left out."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import bayesgen as bg
from bayesgen.errors import BayesgenError, CountsAsMissing

X, Y = bg.datasets.load_penguins()
BILL = {("bill_length_mm", "bill_depth_mm"): bg.MultivariateNormal()}
both = pytest.mark.parametrize("model", [bg.NaiveBayes, bg.GenerativeClassifier])


def test_left_out_columns_are_refused_and_the_sentence_says_what_to_type():
    with pytest.raises(BayesgenError, match=r"'island', 'flipper.*remainder=\"auto\".*\"drop\""):
        bg.GenerativeClassifier(BILL).fit(X, Y)


@both
def test_auto_reads_the_rest_by_its_kind(model):
    own = {"flipper_length_mm": bg.Normal(), "sex": bg.Categorical()}
    found = model(own, remainder="auto").fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(found, bg.NaiveBayes().fit(X, Y).predict_proba(X), atol=1e-12)


@both
def test_drop_ignores_the_rest(model):
    keep = ["flipper_length_mm", "sex"]
    clf = model({keep[0]: bg.Normal(), keep[1]: bg.Categorical()}, remainder="drop").fit(X, Y)
    expected = bg.NaiveBayes().fit(X[keep], Y).predict_proba(X[keep])
    for rows in (X, X[keep], X.assign(island="Atlantis")):
        np.testing.assert_allclose(clf.predict_proba(rows), expected, atol=1e-12)
    assert list(clf.sample(3, random_state=0)[0]) == keep
    assert list(clf.feature_names_in_) == list(X)


def test_a_mixture_of_a_joint_block_and_the_rest():
    clf = bg.GenerativeClassifier(BILL, remainder="auto", class_prior="uniform").fit(X, Y)
    rest = X.drop(columns=list(*BILL))
    parts = [
        bg.GenerativeClassifier(BILL, class_prior="uniform").fit(X[list(*BILL)], Y),
        bg.NaiveBayes(class_prior="uniform").fit(rest, Y),
    ]
    joint = sum(part.predict_joint_log_proba(X[part.feature_names_in_]) for part in parts)
    complete = X.notna().all(axis=1)
    np.testing.assert_allclose(
        clf.predict_joint_log_proba(X)[complete], joint[complete] + np.log(3), atol=1e-9
    )


def test_of_dropped_columns_only_the_names_are_looked_at():
    day = [datetime.date(2020, 1, 1)] * len(X)
    odd = X.assign(day=day, inf=np.inf, nested=[[1]] * len(X))
    clf = bg.NaiveBayes({"body_mass_g": bg.Normal()}, remainder="drop")
    expected = clone(clf).fit(X[["body_mass_g"]], Y).predict_proba(X[["body_mass_g"]])
    frames = [odd, pl.from_pandas(X).with_columns(day=pl.Series(day), inf=pl.lit(np.inf))]
    for frame in frames:
        found = clone(clf).fit(frame, Y).partial_fit(frame[:5], Y[:5]).predict_proba(frame)
        assert found.shape == expected.shape
        np.testing.assert_allclose(
            clone(clf).fit(frame, Y).predict_proba(frame), expected, atol=1e-12
        )
    with pytest.raises(BayesgenError, match="'day'"):
        bg.NaiveBayes({"body_mass_g": bg.Normal()}, remainder="auto").fit(odd, Y)


def test_dropped_columns_of_an_array_keep_their_places(rng):
    rows = rng.normal(size=(40, 3))
    rows[:, 1] = np.inf
    y = np.repeat([0, 1], 20)
    clf = bg.NaiveBayes({0: bg.Normal(), 2: bg.Normal()}, remainder="drop").fit(rows, y)
    expected = bg.NaiveBayes().fit(rows[:, [0, 2]], y).predict_proba(rows[:, [0, 2]])
    np.testing.assert_allclose(clf.predict_proba(rows), expected, atol=1e-12)
    simulated, _ = clf.sample(5, random_state=0)
    assert simulated.shape == (5, 3) and np.isnan(simulated[:, 1]).all()
    assert np.isfinite(clf.predict_proba(simulated)).all()
    with pytest.raises(ValueError, match=r"2 features.*expecting 3"):
        clf.predict_proba(rows[:, :2])


def test_columns_that_blocks_read_are_still_missed():
    clf = bg.NaiveBayes({"body_mass_g": bg.Normal()}, remainder="drop").fit(X, Y)
    with pytest.warns(CountsAsMissing, match="lacks 1 of the 1 fitted columns.*'body_mass_g'"):
        clf.predict(X[["island"]])
    with pytest.raises(BayesgenError, match="unseen at fit time:\n- new\n"):
        clf.predict(X.assign(new=1.0))


@pytest.mark.parametrize(
    ("inference", "names"),
    [("exact", ["normal", "categorical", "a_b"]), ("map", ["class", "a_b", "normal"])],
)
def test_columns_may_be_called_like_blocks(names, inference):
    frame = X[["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g", "sex"]]
    direct = bg.NaiveBayes(inference=inference, random_state=0).fit(frame, Y)
    named = frame.set_axis(["a", "b", *names], axis=1)
    own = {("a", "b"): bg.Normal(), "a_b": bg.Categorical() if names[2] == "a_b" else bg.Normal()}
    if names[0] == "normal":
        own |= {"normal": bg.Normal()}
    clf = bg.NaiveBayes(own, remainder="auto", inference=inference, random_state=0).fit(named, Y)
    np.testing.assert_allclose(clf.predict_proba(named), direct.predict_proba(frame), atol=1e-12)
    if inference == "exact":
        draws = clf.predict_draws(named[:4])
        assert draws.shape[1:] == (4, 3)
        gap = draws.weighted(draws["weight"]).mean("draw") - direct.predict_proba(frame[:4])
        assert float(abs(gap).max()) < 5 * 0.5 / np.sqrt(len(draws))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"remainder": "passthrough"}, "remainder is 'passthrough'.*'auto', 'drop', None"),
        ({"likelihood": {}, "remainder": "drop"}, "at least one column"),
        ({"likelihood": {"mass": bg.Normal()}, "remainder": "drop"}, "X has no column 'mass'"),
    ],
)
def test_what_makes_no_sense_is_refused(arguments, sentence):
    with pytest.raises(BayesgenError, match=sentence):
        bg.NaiveBayes(**arguments).fit(X, Y)


def test_remainder_is_a_parameter_like_any_other():
    clf = bg.NaiveBayes(BILL, remainder="auto")
    assert clone(clf).get_params()["remainder"] == "auto"
    assert "remainder='auto'" in repr(clf)
    assert pd.Series(clf.set_params(remainder=None).get_params())["remainder"] is None
