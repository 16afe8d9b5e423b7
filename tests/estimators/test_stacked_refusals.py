"""Stacks of tables that are too small, too wide, empty in places, or too much for a member."""

import warnings

import numpy as np
import pandas as pd
import pytest
from paces import fast_only
from stacked_tables import iris

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, InvalidArgument, InvalidData, SuspiciousColumn
from bayesgen.estimators.stack.member import Member

RNG = np.random.default_rng(0)


def check(stack, X):
    """Assert that every answer is a number, and that probabilities are some."""
    proba = stack.predict_proba(X)
    assert np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1, rtol=1e-12)
    assert sum(stack.weights_.values()) == pytest.approx(1)
    assert np.isfinite(stack.temperature_) and np.isfinite(stack.score_samples(X)).all()


# --- few rows ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", fast_only([3], [2, 3, 5]))
@pytest.mark.parametrize("p", fast_only([1, 4], [1, 4, 30]))
def test_fewer_rows_than_structures_need(n, p):
    """Priors are worth rows of their own: nothing fails, and nothing is left out."""
    X, y = RNG.normal(size=(n, p)), np.arange(n) % 2
    stack = bg.StackedClassifier().fit(X, y)
    check(stack, RNG.normal(size=(4, p)))
    assert stack.left_out_ == {}


def test_two_rows_of_a_mixed_table():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"], "c": ["p", None]})
    stack = bg.StackedClassifier().fit(X, ["no", "yes"])
    check(stack, X)


def test_one_row_left_out_leaves_its_class_the_prior_and_the_guesses():
    """Its row is scored by a class of no rows: 1 of 1 + rows + classes, at the pooled guesses."""
    X, y = iris()
    y = y.where(np.arange(len(y)) != 10, "rare")
    member = bg.NaiveBayes().fit(X, y)
    found = member.loo()["log_proba"]
    rest = np.arange(len(y)) != 10
    # declared, not seen: partial_fit with a class of no rows
    other = bg.NaiveBayes().partial_fit(X[rest], y[rest], classes=member.classes_)
    rare = list(member.classes_).index("rare")
    expected = other.predict_log_proba(X.iloc[[10]])[0, rare]
    np.testing.assert_allclose(found[10], expected, atol=1e-9)
    blank = other.predict_proba(X.iloc[[10]] * np.nan)[0]
    assert blank[rare] == pytest.approx(1 / (len(y) - 1 + 4))


@pytest.mark.parametrize("prior", [1.0, "empirical", "uniform"])
def test_one_row_of_a_class(prior):
    X, y = iris()
    y = y.where(np.arange(len(y)) != 10, "rare")
    check(bg.StackedClassifier(class_prior=prior).fit(X, y), X)


def test_a_row_that_everybody_rules_out_changes_no_power():
    """Under empirical class probabilities a class without its only row is impossible."""
    X, y = iris()
    rare = y.where(np.arange(len(y)) != 10, "rare")
    tempered = bg.NaiveBayes(class_prior="empirical", temper="learn").fit(X, rare)
    assert np.isfinite(tempered.temperature_) and np.isfinite(tempered.predict_proba(X)).all()


# --- weights -------------------------------------------------------------------------------------


def test_a_row_of_weight_three_is_the_row_three_times():
    X, y = iris()
    weight = np.random.default_rng(1).integers(0, 4, len(y)).astype(float)
    members = {"naive": bg.NaiveBayes(), "linear": bg.LDA()}
    times = np.repeat(np.arange(len(y)), weight.astype(int))
    a = bg.StackedClassifier(members).fit(X, y, sample_weight=weight)
    b = bg.StackedClassifier(members).fit(X.iloc[times], y.iloc[times])
    np.testing.assert_allclose(list(a.weights_.values()), list(b.weights_.values()), rtol=1e-6)
    np.testing.assert_allclose(a.predict_proba(X), b.predict_proba(X), rtol=1e-6, atol=1e-9)


def test_a_row_of_no_weight_is_no_row_and_brings_no_class():
    X, y = iris()
    other = y.where(np.arange(len(y)) != 10, "zebra")
    weight = (np.arange(len(y)) != 10).astype(float)
    a = bg.StackedClassifier([bg.LDA()]).fit(X, other, sample_weight=weight)
    b = bg.StackedClassifier([bg.LDA()]).fit(X[weight > 0], y[weight > 0])
    assert a.classes_.tolist() == b.classes_.tolist()
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


# --- empty and constant cells --------------------------------------------------------------------


@pytest.mark.slow
def test_rows_without_a_cell():
    X, y = iris()
    X.iloc[[3, 30]] = np.nan
    stack = bg.StackedClassifier(missing="ignorable", random_state=0).fit(X, y)
    check(stack, X)
    blank, counts = X.iloc[[3]], y.value_counts().sort_index().to_numpy() + 1
    np.testing.assert_allclose(stack.predict_proba(blank), [counts / counts.sum()], rtol=1e-9)
    assert (stack.evidence(blank, "setosa", "virginica").to_numpy()[:, 1:] == 0).all()
    assert stack.score_samples(blank) == pytest.approx(0, abs=1e-9)
    assert stack.impute(blank, random_state=0).notna().all(axis=None)
    assert (stack.feature_value(blank, draws=40) > 0).all(axis=None)


@pytest.mark.slow
def test_constant_columns_are_reported_of_once():
    X, y = iris()
    X = X.assign(same=1.0, level="u", nothing=np.nan)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stack = bg.StackedClassifier(random_state=0).fit(X, y)
    texts = [str(w.message) for w in caught if w.category is SuspiciousColumn]
    assert len(texts) == len(set(texts)) and len(stack.members_) > 2
    for name in ("same", "nothing"):
        assert sum(f"column '{name}'" in text for text in texts) == 1
    check(stack, X)
    parts = stack.evidence(X[:3], "setosa", "virginica", order="shapley")
    assert (parts[["same", "level", "nothing"]].to_numpy() == 0).all()
    holed = X[:2].assign(same=np.nan, petal_width=np.nan)
    assert (stack.feature_value(holed, draws=40)[["same", "nothing"]] == 0).all(axis=None)
    filled = stack.impute(holed, random_state=0)
    assert filled["petal_width"].notna().all() and filled["same"].isna().all()


def test_nothing_but_constant_columns_leaves_the_class_prior():
    with pytest.warns(SuspiciousColumn):
        stack = bg.StackedClassifier().fit(np.ones((12, 2)), np.arange(12) % 3)
    np.testing.assert_allclose(stack.predict_proba(np.ones((1, 2))), 1 / 3)


def test_a_table_without_an_observed_cell_leaves_the_class_prior():
    with pytest.warns(SuspiciousColumn):
        stack = bg.StackedClassifier().fit(np.full((12, 2), np.nan), np.arange(12) % 3)
    np.testing.assert_allclose(stack.predict_proba(np.full((1, 2), np.nan)), 1 / 3)


def test_a_column_that_is_constant_within_each_class():
    y = np.arange(40) % 2
    X = np.column_stack([y, RNG.normal(size=40)]).astype(float)
    stack = bg.StackedClassifier().fit(X, y)
    check(stack, X)
    assert (stack.predict(X) == y).all()


# --- wide tables, many classes -------------------------------------------------------------------


@pytest.mark.slow
def test_of_many_columns_it_says_what_is_left_out_and_why():
    X, y = RNG.normal(size=(40, 120)), np.arange(40) % 2
    sentence = r"120 numeric columns.*'linear'.*'quadratic.*cube.*100"
    with pytest.warns(BayesgenWarning, match=sentence) as caught:
        stack = bg.StackedClassifier().fit(X, y)
    assert len(caught) == 1
    assert set(stack.members_).isdisjoint(stack.left_out_) and "linear" in stack.left_out_
    assert all("120 numeric columns" in reason for reason in stack.left_out_.values())
    check(stack, X)
    assert "linear" in stack.plot_weights().out
    narrow = bg.StackedClassifier().fit(X[:, :3], y)
    # members with a block for each column stand beside no more columns than rows
    assert set(narrow.members_) == {*stack.left_out_, "naive", "naive_kernels", "bins"}
    assert list(stack.members_) == ["average", "naive_shared"]
    # whoever names members gets them
    named = bg.StackedClassifier([bg.NaiveBayes()]).fit(X, y)
    assert named.left_out_ == {}


@pytest.mark.slow
def test_levels_that_make_many_indicators():
    X = pd.DataFrame(RNG.integers(0, 3, (30, 120)).astype(str)).add_prefix("c")
    # two indicators for each column
    with pytest.warns(BayesgenWarning, match="has 240 columns, .* 'indicators'"):
        stack = bg.StackedClassifier().fit(X, np.arange(30) % 2)
    assert list(stack.members_) == ["average", "naive_shared"]


@pytest.mark.slow
@pytest.mark.parametrize("each", [1, 2, 8])
def test_twenty_classes(each):
    y = np.arange(20 * each) % 20
    X = pd.DataFrame(RNG.normal(size=(len(y), 3)) + 0.5 * y[:, None]).add_prefix("x")
    X["level"] = np.where(RNG.random(len(y)) < 0.5, "u", "v")
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    check(stack, X)
    assert stack.predict_interval(X[:3]).shape == (3, 20, 2)
    parts, joint = stack.evidence(X[:3]), stack.predict_log_proba(X[:3])
    for k in range(20):
        expected = joint[:, k] - joint.mean(axis=1)
        np.testing.assert_allclose(parts[k].sum(axis=1), expected, atol=1e-9)


# --- members that fail ---------------------------------------------------------------------------


class Breaking(bg.NaiveBayes):
    """A member that cannot be fitted."""

    def _blocks(self, table):
        raise np.linalg.LinAlgError("no inverse")


def test_a_member_that_breaks_is_named_and_its_reason_kept(tmp_path):
    X, y = iris()
    members = {"sound": bg.NaiveBayes(), "broken": Breaking()}
    with pytest.warns(
        BayesgenWarning, match="'broken' is left out of the stack: no inverse. Leave"
    ):
        stack = bg.StackedClassifier(members).fit(X, y)
    assert list(stack.members_) == ["sound"] and stack.left_out_ == {"broken": "no inverse"}
    with (
        pytest.warns(BayesgenWarning),
        pytest.raises(InvalidArgument, match="none of the members 'broken' could be fitted"),
    ):
        bg.StackedClassifier({"broken": Breaking()}).fit(X, y)


def test_who_was_left_out_is_saved(tmp_path):
    X, y = iris()
    mixed = X.assign(level=np.where(np.arange(len(X)) % 2, "u", "v"))
    with pytest.warns(BayesgenWarning):
        stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]).fit(mixed, y)
    stack.save(tmp_path / "stack.bgm")
    again = bg.load(tmp_path / "stack.bgm")
    assert again.left_out_ == stack.left_out_ and list(again.left_out_) == ["lda"]
    assert again.report_.verdict == stack.report_.verdict
    again.fit(X, y)
    assert again.left_out_ == {}


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ("best", "members is 'best'"),
        ([bg.LDA(), "LDA"], "members holds 'LDA'"),
        ({"a": bg.LDA}, "members holds the class LDA"),
        ([], "members is \\[\\]"),
        ({}, "members is {}"),
    ],
)
def test_members_that_are_none(members, sentence):
    X, y = iris()
    with pytest.raises(InvalidArgument, match=sentence):
        bg.StackedClassifier(members).fit(X, y)


def test_a_fit_that_fails_leaves_the_stack_as_it_was():
    X, y = bg.datasets.load_iris()
    stack = bg.StackedClassifier([bg.LDA()]).fit(X, y)
    before = stack.predict_proba(X)
    with pytest.raises(InvalidData):
        stack.fit(X[["petal_width"]], np.zeros(150))
    np.testing.assert_array_equal(stack.predict_proba(X), before)


# --- arguments ------------------------------------------------------------------------------------

WRONG = {
    "pool": "both",
    "temper": -1.0,
    "missing": "drop",
    "unseen": "drop",
    "unlabelled": "drop",
    "groups": "site",
    "random_state": "zero",
    "progress": "bar",
    "class_prior": [0.5, 0.5],
}
SPELLED = {"class_prior": "even", "temper": "columns"}
ARGUMENTS = [*WRONG.items(), *SPELLED.items()]


def law_refused_at_once(name, value, members, monkeypatch):
    """An argument that no fit can have is named before any member is fitted."""
    fitted = []
    right = Member.fit
    monkeypatch.setattr(
        Member, "fit", lambda member, *rows: fitted.append(member) or right(member, *rows)
    )
    X, y = iris()
    with pytest.raises((InvalidArgument, InvalidData), match=rf"^{name}\b"):
        bg.StackedClassifier(members, **{name: value}).fit(X, y)
    assert not fitted


@pytest.mark.parametrize("members", ["auto", ["naive"], [bg.LDA(), bg.NaiveBayes()]], ids=str)
@pytest.mark.parametrize(("name", "value"), ARGUMENTS)
def test_a_wrong_argument_is_refused_before_any_fit(name, value, members, monkeypatch):
    law_refused_at_once(name, value, members, monkeypatch)


@pytest.mark.parametrize("name", ["temper", "class_prior"])
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_fault_members_meet_the_argument_first(name, monkeypatch):
    monkeypatch.setattr(bg.StackedClassifier, "_check_arguments", lambda *rows: None)
    with pytest.raises(AssertionError):
        law_refused_at_once(name, WRONG[name], ["naive"], monkeypatch)


def test_every_argument_of_a_stack_is_checked():
    assert {"members", *WRONG} == bg.StackedClassifier().get_params(deep=False).keys()
