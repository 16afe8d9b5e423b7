"""Names of automatic members, and the warning of a long fit, which proposes some of them."""

import dataclasses
import re

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, InvalidArgument
from bayesgen.estimators.stack import duration
from bayesgen.estimators.stack.duration import Sizes
from bayesgen.estimators.stack.structures import Structure, automatic
from bayesgen.inference import duration as inference_duration
from bayesgen.inference import importance_sampling
from bayesgen.likelihoods import JointCategorical


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
    monkeypatch.setattr(inference_duration, "LONG", 0.1)
    with pytest.warns(BayesgenWarning, match=r"members=\['naive', 'linear'\] takes"):
        bg.StackedClassifier().fit(*rows)
    bg.StackedClassifier(["naive", "linear"]).fit(*rows)  # warnings are errors


def test_elpd_of_a_stack_is_not_compared_in_silence(stack):
    with pytest.warns(BayesgenWarning, match="about 0.015 nats a row with 60 rows"):
        found = stack.loo(kind="elpd")
    assert found.elpd == pytest.approx(stack.loo()["log_proba"].sum())  # which is not compared


USUAL = Sizes(10_000, 20, 17, 9000, 2, 2000, (3, 3, 4), gaps=False)


def test_durations_grow_with_every_size(rows):
    members = automatic(bg.StackedClassifier()._training_rows(*rows, None, reset=True).table)
    members |= {"joint": Structure({("u", "v", "w"): JointCategorical()})}
    usual = USUAL.seconds(members.values())
    for change in (
        {"rows": 20_000},
        {"columns": 40},
        {"numbers": 40},
        {"incomplete": 10_000},
        {"classes": 150},
        {"judged": 4000},
        {"levels": (3, 3, 40)},
        {"gaps": True},
    ):
        assert dataclasses.replace(USUAL, **change).seconds(members.values()) > usual
    assert USUAL.seconds([*members.values()][:2]) < usual


def test_many_classes_are_announced_and_few_are_not():
    """The seconds of 21 tables are measured in `stack/duration.py`; here that they are asked."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(2000, 40)), columns=[f"x{j}" for j in range(40)])
    table = bg.StackedClassifier()._training_rows(X, np.arange(2000) % 2, None, reset=True).table
    with pytest.warns(BayesgenWarning, match="takes about [0-9]+ (minutes|seconds), judging by"):
        duration.announce(table, 600, automatic(table))
    duration.announce(table, 2, automatic(table))  # warnings are errors


def test_augmentation_is_announced_in_the_same_words(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[::9, 0] = np.nan
    # weights that cannot be trusted
    monkeypatch.setattr(importance_sampling, "importance_sample", lambda *_: None)
    monkeypatch.setattr(inference_duration, "LONG", 0.0)
    words = r"^the fit takes about .*, judging by .*; inference='expected' takes about .* seconds?"
    with pytest.warns(BayesgenWarning) as caught:
        clf = bg.LDA(inference=bg.Exact(draws=200), random_state=0).fit(X, y)
    assert any(re.match(words, str(warning.message)) for warning in caught)
    assert clf.inference_ == "augmentation"
    bg.LDA(inference=bg.Augmentation(draws=300)).fit(X, y)  # which was asked for


def seconds(n_rows, columns, draws=1000, make=bg.LDA):
    """Return about how long data augmentation takes where 15 % of the cells are missing."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n_rows, columns)), np.arange(n_rows) % 2
    if make is bg.JointTable:
        X = (X > 0).astype(float)
    X[rng.random(X.shape) < 0.15] = np.nan
    clf = make(inference="expected").fit(X, y)
    return bg.Augmentation(draws=draws).seconds(clf.state_.problem(1.0))


def test_the_seconds_of_augmentation_grow_with_rows_columns_and_draws():
    usual = seconds(1000, 20)
    assert 100 < usual < 170  # 128 s were measured
    assert seconds(100, 20) < usual
    assert seconds(1000, 6) < usual
    assert seconds(1000, 20, draws=100) < usual


def test_those_of_a_joint_table_grow_with_rows_columns_and_draws():
    usual = seconds(300, 6, make=bg.JointTable)
    assert seconds(30, 6, make=bg.JointTable) < usual
    assert seconds(300, 3, make=bg.JointTable) < usual
    assert seconds(300, 6, draws=100, make=bg.JointTable) < usual


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
    assert inference_duration.in_words(seconds) == words


def test_sizes_count_what_is_missing_of_numbers():
    X = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [np.nan, np.nan, 1.0], "c": ["x", None, "y"]})
    X = X.assign(never=np.nan)
    table = bg.StackedClassifier()._training_rows(X, [0, 1, 0], None, reset=True).table
    assert Sizes.of(table, 2) == Sizes(3, 3, 2, 2, 2, 3, levels=(2,), gaps=True)
