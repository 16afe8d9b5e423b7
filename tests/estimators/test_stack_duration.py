"""Names of automatic members, and the warning of a long fit, which proposes some of them."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, InvalidArgument
from bayesgen.estimators.stack import duration
from bayesgen.estimators.stack.duration import Sizes
from bayesgen.estimators.stack.structures import automatic


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    X = pd.DataFrame({"a": rng.normal(size=60) + y, "b": rng.normal(size=60)})
    return X.assign(level=np.where(rng.random(60) < 0.5, "low", "high")), y


@pytest.fixture(scope="module")
def stack(rows):
    return bg.StackedClassifier(random_state=0).fit(*rows)


def test_names_are_one_word_each(stack):
    assert {"naive", "linear", "quadratic", "kernels", "bins"} <= set(stack.members_)
    assert all(name.isidentifier() for name in stack.members_)


def test_named_members_are_those_of_auto(rows, stack):
    X, y = rows
    few = bg.StackedClassifier(["linear", "naive"], random_state=0).fit(X, y)
    assert list(few.members_) == ["linear", "naive"]
    for name, member in few.members_.items():
        np.testing.assert_array_equal(
            member.predict_proba(X), stack.members_[name].predict_proba(X)
        )
    every = bg.StackedClassifier(list(stack.members_), random_state=0).fit(X, y)
    np.testing.assert_array_equal(every.predict_proba(X), stack.predict_proba(X))


def test_a_name_that_does_not_suit_the_table_is_refused(rows):
    X, y = rows
    with pytest.raises(InvalidArgument, match=r"'linear'.*'naive'"):
        bg.StackedClassifier(["naive", "linear"]).fit(X[["level"]], y)
    for mixed in (["naive", bg.LDA()], [bg.LDA(), "naive"]):
        with pytest.raises(InvalidArgument, match="names and classifiers are not mixed"):
            bg.StackedClassifier(mixed).fit(X, y)


def test_names_are_saved(rows, tmp_path):
    few = bg.StackedClassifier(["naive", "linear"], random_state=0).fit(*rows)
    few.save(tmp_path / "few.bayesgen")
    loaded = bg.load(tmp_path / "few.bayesgen")
    assert loaded.get_params()["members"] == ["naive", "linear"]
    np.testing.assert_array_equal(loaded.predict_proba(rows[0]), few.predict_proba(rows[0]))


def test_a_long_fit_is_announced_and_the_cure_is_not(rows, monkeypatch):
    monkeypatch.setattr(duration, "LONG", 1.0)
    with pytest.warns(BayesgenWarning, match=r"members=\['naive', 'linear'\] takes"):
        bg.StackedClassifier().fit(*rows)
    bg.StackedClassifier(["naive", "linear"]).fit(*rows)  # warnings are errors


def test_elpd_of_a_stack_is_not_compared_in_silence(stack):
    with pytest.warns(BayesgenWarning, match="about 0.015 nats a row with 60 rows"):
        found = stack.loo(kind="elpd")
    assert found.elpd == pytest.approx(stack.loo()["log_proba"].sum())  # which is not compared


def test_durations_grow_with_every_size():
    sizes = Sizes(rows=10_000, columns=20, numbers=20, incomplete=9000, missing=4.0)
    joint = [False, True, True, True]
    usual = sizes.seconds(joint)
    for change in (
        Sizes(20_000, 20, 20, 9000, 4.0),
        Sizes(10_000, 40, 20, 9000, 4.0),
        Sizes(10_000, 20, 40, 9000, 4.0),
        Sizes(10_000, 20, 20, 10_000, 4.0),
        Sizes(10_000, 20, 20, 9000, 8.0),
    ):
        assert change.seconds(joint) > usual
    assert sizes.seconds(joint[:2]) < usual


def test_structures_say_whether_missing_numbers_slow_them_down(stack, rows):
    X, y = rows
    table = stack._training_rows(X, y, None, reset=True).table
    columnwise = {name for name, member in automatic(table).items() if not member.joint}
    assert columnwise == {"naive", "naive_kernels", "bins"}


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(61, "60 seconds"), (100, "2 minutes"), (250, "4 minutes"), (7300, "2 hours")],
)
def test_durations_in_words(seconds, words):
    assert duration.in_words(seconds) == words


def test_sizes_count_what_is_missing_of_numbers():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [np.nan, np.nan, 1.0], "c": ["x", None, "y"]})
    X = X.assign(never=np.nan)
    table = bg.StackedClassifier()._training_rows(X, [0, 1, 0], None, reset=True).table
    assert Sizes.of(table) == Sizes(rows=3, columns=3, numbers=2, incomplete=2, missing=1.5)
