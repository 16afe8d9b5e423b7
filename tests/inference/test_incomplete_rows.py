"""Which inference `"auto"` is where cells are missing in joint blocks: one rule, case by case."""

import dataclasses
import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.cli import main
from bayesgen.errors import BayesgenWarning, NarrowIntervals
from bayesgen.inference import importance_sampling, incomplete_rows

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
TYPED = {"importance sampling": "auto", "data augmentation": "augmentation"}


def numbers(n, p, share):
    """Return rows of two classes, some cells of which are missing."""
    rng, y = np.random.default_rng(0), np.arange(n) % 2
    X = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + y[:, None]
    X[rng.random(X.shape) < share] = np.nan
    return X, y


def levels(n, p, share):
    """Return rows of levels, some of which are missing."""
    rng, y = np.random.default_rng(0), np.arange(n) % 2
    X = pd.DataFrame({f"c{j}": rng.choice(["low", "high"], n) for j in range(p)})
    return X.mask(rng.random(X.shape) < share), y


NORMAL = bg.GenerativeClassifier(bg.MultivariateNormal())
FEW, MANY = numbers(60, 4, 0.03), numbers(60, 4, 0.6)
WIDE, LEVELS = numbers(90, 20, 0.3), levels(60, 3, 0.7)
CASES = [
    (bg.LDA(), numbers(60, 4, 0.0), "exact"),
    (bg.NaiveBayes(), numbers(60, 4, 0.5), "exact"),
    (bg.LDA(), FEW, "importance"),
    (bg.QDA(), FEW, "importance"),
    (NORMAL, FEW, "importance"),
    (bg.JointTable(), levels(60, 3, 0.03), "importance"),
    (bg.LDA(), MANY, "augmentation"),
    (bg.QDA(), numbers(60, 4, 0.8), "augmentation"),
    (bg.JointTable(), LEVELS, "augmentation"),
    (bg.LDA(), WIDE, "expected"),
    (bg.QDA(), WIDE, "expected"),
    (NORMAL, WIDE, "expected"),
    (bg.JointTable(), levels(700, 8, 0.4), "expected"),
    # draws were asked for, whatever they cost
    (bg.LDA(inference="exact"), WIDE, "augmentation"),
    (bg.LDA(inference=bg.Exact(draws=500)), WIDE, "augmentation"),
]


@pytest.fixture
def no_draws(monkeypatch):
    """Data augmentation that draws nothing and only says that it ran."""

    def infer(self, problem, seed):
        found = bg.Expected().infer(problem, seed)
        report = dataclasses.replace(found.report, method="augmentation")
        return dataclasses.replace(found, report=report)

    monkeypatch.setattr(bg.Augmentation, "infer", infer)


@pytest.fixture
def no_weights(monkeypatch):
    """Importance weights that cannot be trusted."""
    monkeypatch.setattr(importance_sampling, "importance_sample", lambda *_: None)


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize(("clf", "rows", "method"), CASES)
def test_each_table_has_its_method(clf, rows, method):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.set_params(random_state=0).fit(*rows)
    assert clf.inference_ == method
    kinds = [type(warning.message) for warning in caught]
    asked = clf.inference == "auto"
    assert (NarrowIntervals in kinds) == (method == "expected") == (kinds != [] and asked)


@pytest.mark.usefixtures("no_draws")
@pytest.mark.parametrize("longest", [0.0, 1000.0])
@pytest.mark.parametrize("make", [bg.LDA, bg.QDA, bg.JointTable])
@pytest.mark.parametrize("share", [0.03, 0.3, 0.6])
def test_weights_decide_and_then_operations_do(make, share, longest, monkeypatch):
    monkeypatch.setattr(incomplete_rows, "LONGEST", longest)
    found, sample = [], importance_sampling.importance_sample
    spy = lambda *args: found.append(sample(*args)) or found[-1]  # noqa: E731
    monkeypatch.setattr(importance_sampling, "importance_sample", spy)
    rows = (levels if make is bg.JointTable else numbers)(60, 3, share)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NarrowIntervals)
        clf = make(random_state=0).fit(*rows)
    if found != [None]:
        assert clf.inference_ == "importance"
    else:
        long = bg.Augmentation().seconds(clf.state_.problem(1.0)) > longest
        assert clf.inference_ == ("expected" if long else "augmentation")


@pytest.mark.usefixtures("no_draws")
def test_no_clock_is_read(monkeypatch):
    """A table has one method on every machine, however busy."""
    problems = [
        make(inference="expected").fit(*rows).state_.problem(1.0)
        for make, rows in ((bg.LDA, MANY), (bg.JointTable, LEVELS), (bg.LDA, WIDE))
    ]
    for clock in ("time", "monotonic", "perf_counter", "process_time"):
        monkeypatch.setattr(time, clock, lambda: pytest.fail("a clock was read"))
    with pytest.warns(NarrowIntervals):
        found = [incomplete_rows.IncompleteRows().infer(problem, 0) for problem in problems]
    methods = [components.report.method for components in found]
    assert methods == ["augmentation", "augmentation", "expected"]


@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_what_the_warning_says_to_type_works(make, no_weights, monkeypatch):
    monkeypatch.setattr(incomplete_rows, "LONGEST", 0.0)
    X, y = numbers(40, 3, 0.3)
    with pytest.warns(NarrowIntervals, match="draws of the posterior would take about") as caught:
        auto = make(random_state=0).fit(X, y)
    assert auto.inference_ == "expected" and len(caught) == 1
    assert caught[0].filename == __file__
    typed = re.findall(r"inference='(\w+)'", str(caught[0].message))
    assert typed == ["augmentation", "expected"]
    # warnings are errors
    drawn, same = (make(random_state=0, inference=name).fit(X, y) for name in typed)
    assert [drawn.inference_, same.inference_] == typed
    np.testing.assert_array_equal(auto.predict_proba(X), same.predict_proba(X))
    np.testing.assert_array_equal(auto.predict_interval(X), same.predict_interval(X))
    assert np.abs(drawn.predict_proba(X) - auto.predict_proba(X)).mean() < 0.05


@pytest.mark.filterwarnings("always::bayesgen.errors.NarrowIntervals")
def test_what_the_command_says_to_type_works(no_weights, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(incomplete_rows, "LONGEST", 0.0)
    X, y = numbers(40, 3, 0.3)
    path, out = tmp_path / "rows.csv", str(tmp_path / "clf.bgm")
    pd.DataFrame(X, columns=[*"uvw"]).assign(k=np.where(y, "a", "b")).to_csv(path, index=False)
    command = ["fit", str(path), "--target", "k", "--model", "lda", "--out", out]
    assert main(command) == 0
    told = " ".join("".join(capsys.readouterr()).split())
    typed = re.findall(r"--inference (\w+)", told)
    assert typed == ["augmentation", "expected"]
    for name in typed:
        assert main([*command, "--inference", name]) == 0
        told = "".join(capsys.readouterr())
        assert f"fit       {name}" in told and "note:" not in told


@pytest.mark.parametrize(
    ("rows", "how"),
    [(FEW, "importance sampling"), (numbers(40, 2, 0.6), "data augmentation")],
)
def test_draws_in_place_of_a_closed_form_are_told(rows, how):
    with pytest.warns(BayesgenWarning, match=f"was simulated by {how}") as caught:
        exact = bg.LDA(inference="exact", random_state=0).fit(*rows)
    (typed,) = re.findall(r"inference='(\w+)'", str(caught[0].message))
    assert typed == TYPED[how]
    quiet = bg.LDA(inference=typed, random_state=0).fit(*rows)  # warnings are errors
    assert quiet.inference_ == exact.inference_
    np.testing.assert_array_equal(quiet.predict_proba(rows[0]), exact.predict_proba(rows[0]))


def test_members_and_folds_tell_it_once(no_weights, monkeypatch):
    monkeypatch.setattr(incomplete_rows, "LONGEST", 0.0)
    X, y = numbers(40, 3, 0.3)
    compared = bg.compare({"lda": bg.LDA(), "qda": bg.QDA()}, X, y, cv=2, progress=False)
    assert str(compared).count("some fitted rows have missing cells") == 1
    with pytest.warns(NarrowIntervals) as caught:
        stack = bg.StackedClassifier([bg.LDA(), bg.QDA()], random_state=0).fit(X, y)
    assert len(caught) == 1
    assert {member.inference_ for member in stack.members_.values()} == {"expected"}


def test_rows_without_a_label_that_weigh_nothing_follow_the_rule():
    X, y = numbers(60, 4, 0.03)
    labels = np.where(np.arange(60) < 5, None, y)
    clf = bg.LDA(unlabelled=0, random_state=0).fit(X, labels)  # warnings are errors
    assert clf.inference_ == "importance"


def test_it_is_saved_and_continues(no_weights, monkeypatch, tmp_path):
    monkeypatch.setattr(incomplete_rows, "LONGEST", 0.0)
    X, y = numbers(80, 3, 0.3)
    with pytest.warns(NarrowIntervals):
        clf = bg.LDA(random_state=0).fit(X, y)
    clf.save(tmp_path / "clf.bgm")
    back = bg.load(tmp_path / "clf.bgm")
    assert back.inference_ == "expected"
    np.testing.assert_array_equal(back.predict_proba(X), clf.predict_proba(X))
    parts = bg.LDA(random_state=0)
    with pytest.warns(NarrowIntervals):
        for rows in (slice(0, 40), slice(40, 80)):
            parts.partial_fit(X[rows], y[rows], classes=[0, 1])
        np.testing.assert_allclose(parts.predict_proba(X), clf.predict_proba(X), atol=1e-6)
