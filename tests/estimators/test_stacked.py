"""Stacks: members weighed by rows they have not seen, as one classifier."""

import copy
import io
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from stacked_tables import iris

import bayesgen as bg
from bayesgen import diagnose
from bayesgen.diagnose import StackSummary
from bayesgen.errors import (
    BayesgenWarning,
    InvalidArgument,
    NoAttribute,
    UnsupportedOperation,
)
from bayesgen.estimators import stacked, validation
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import leave_one_out, stacking


def mixed(step=20):
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[::step].reset_index(drop=True), y[::step].reset_index(drop=True)
    return X.astype({"sex": "category", "passengerClass": "category"}), y


@pytest.fixture(scope="module")
def stack():
    return bg.StackedClassifier(random_state=0).fit(*mixed())


def test_weights_are_where_nothing_nearby_is_higher():
    rng = np.random.default_rng(0)
    stated, weight = np.log(rng.random((5, 40))), rng.random(40)

    def objective(w):
        return weight @ np.log(w @ np.exp(stated)) + 2 * np.log(w).sum() / 5

    found = stacking.weights_of(stated, weight)
    assert found.sum() == pytest.approx(1) and (found > 0).all()
    for _ in range(50):
        other = found * np.exp(0.01 * rng.standard_normal(5))
        assert objective(other / other.sum()) < objective(found) + 1e-12


def test_a_row_that_all_members_rule_out_says_nothing():
    rng = np.random.default_rng(1)
    stated = np.log(rng.random((3, 20)))
    more = np.concatenate([stated, np.full((3, 1), -np.inf)], axis=1)
    both = [stacking.weights_of(s, np.ones(s.shape[1])) for s in (stated, more)]
    assert np.abs(both[0] - both[1]).max() < 0.02


@pytest.mark.parametrize("table", [iris, mixed])
def test_what_members_say_of_rows_left_out_is_what_fits_without_them_say(table):
    X, y = table()
    X, y = X[:36], y[:36]
    whole = bg.StackedClassifier(missing="informative", random_state=0).fit(X, y)
    rows = np.flatnonzero(y.groupby(y).transform("size") > 1)[::5]
    for name, member in whole.members_.items():
        # missing values are expected at the mode of all rows, powers of power-transformed columns
        # and edges of bins stay, and kernels divide the weight of a bandwidth by the row's factor
        stay = member.power_transform or getattr(member, "bins", None) or "kernels" in name
        joint = "linear" in name or name == "indicators"
        exact = not stay and not (X.isna().any(axis=None) and joint)
        found = member.loo(X, y)["log_proba"]
        for i in rows if exact else ():
            rest = np.arange(len(y)) != i
            other = clone(member).fit(X[rest], y[rest])
            expected = other.predict_log_proba(X.iloc[[i]])[0, list(other.classes_).index(y[i])]
            np.testing.assert_allclose(found[i], expected, atol=1e-8, err_msg=name)


def test_probabilities_are_the_weighted_mean_of_the_members(stack):
    X, y = mixed()
    direct = bg.StackedClassifier(temper=None, pool=None, random_state=0).fit(X, y)
    assert direct.weights_ == stack.weights_ and direct.temperature_ == 1.0
    parts = [w * direct.members_[name].predict_proba(X) for name, w in direct.weights_.items()]
    np.testing.assert_allclose(direct.predict_proba(X), sum(parts), rtol=1e-9)
    assert sum(direct.weights_.values()) == pytest.approx(1)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize(
    ("members", "split"),
    [
        (["linear", "naive"], ("naive",)),  # of several blocks each, one states it
        (["linear", "quadratic"], ("linear",)),
        ([bg.LDA(levels="indicators"), bg.NaiveBayes()], ("naivebayes",)),
        ([bg.LDA(levels="indicators")], ()),
        ([bg.NaiveBayes(inference="mle")], ()),
    ],
)
def test_the_pool_weighs_the_blocks_of_one_member(members, split, tmp_path):
    X, y = iris()
    level = np.where(X["petal_width"] > 1, "wide", "narrow")
    X = X.iloc[:, :2].assign(level=level)
    stack = bg.StackedClassifier(members, random_state=0).fit(X, y)
    stack.save(tmp_path / "stack.bgm")
    weights = stack._weighed.readout.pool.mean_weights
    for fitted in (stack, copy.deepcopy(stack), bg.load(tmp_path / "stack.bgm")):
        mixture = fitted.fitted_.posterior.components
        assert mixture.split == split
        blocks = sum(len(mixture.members[name].families) for name in split)
        assert len(weights) == len(mixture.members) + blocks


def test_answers_like_any_classifier(stack, tmp_path):
    X, y = mixed()
    proba = stack.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert stack.score(X, y) > 0.7
    interval = stack.predict_interval(X[:9])
    assert interval.shape == (9, 2, 2) and (interval[..., 0] <= interval[..., 1]).all()
    draws = stack.predict_draws(X[:9])
    mean = (draws * draws["weight"]).sum("draw")
    assert np.abs(mean - proba[:9]).max() < 0.1
    assert set(stack.decide(X, reject=0.2)) <= {"no", "yes", "reject"}
    assert np.isfinite(stack.score_samples(X)).all()
    frame, labels = stack.sample(40, random_state=0)
    assert list(frame) == list(X) and len(frame) == len(labels) == 40
    assert stack.typicality(frame, draws=200).mean() == pytest.approx(0.5, abs=0.2)
    stack.save(tmp_path / "stack.bgm")
    for again in (bg.load(tmp_path / "stack.bgm"), copy.deepcopy(stack)):
        np.testing.assert_array_equal(again.predict_proba(X), proba)
        assert again.weights_ == stack.weights_


def test_a_row_without_a_cell_has_the_class_prior():
    X, y = mixed()
    stack = bg.StackedClassifier(missing="ignorable", random_state=0).fit(X, y)
    blank = pd.DataFrame({"sex": [None], "age": [np.nan], "passengerClass": [None]})
    count = y.value_counts().sort_index().to_numpy() + 1
    expected = [count / count.sum()]
    np.testing.assert_allclose(stack.predict_proba(blank[list(X)]), expected, rtol=1e-9)


def test_another_prevalence(stack):
    X, _ = mixed()
    other = stack.with_class_prior({"no": 0.9, "yes": 0.1})
    assert (other.predict_proba(X)[:, 1] < stack.predict_proba(X)[:, 1]).mean() > 0.95
    assert stack.class_prior == 1.0


def test_members_without_a_closed_form_are_judged_by_folds():
    X, y = iris()
    members = [bg.NaiveBayes(inference="mle"), bg.LDA()]
    stack = bg.StackedClassifier(members).fit(X, y)
    assert set(stack.weights_) == {"naivebayes", "lda"}
    stack.partial_fit(X[:5], y[:5])
    assert set(stack.weights_) == {"naivebayes", "lda"}


@pytest.mark.slow
def test_what_members_say_is_shown():
    X, y = iris(10)
    tree = bg.StackedClassifier([bg.LDA(), bg.QDA()]).fit(X, y).to_datatree(draws=20, replicates=2)
    assert list(tree["weight"].coords["member"].values) == ["lda", "qda"]
    assert "posterior" in tree["lda"].children


# --- a stack is a classifier ----------------------------------------------------------------------


def public(cls):
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize(
    "cls", [bg.NaiveBayes, bg.QDA, bg.JointTable, bg.BagOfWords, bg.GenerativeClassifier]
)
def test_a_stack_has_every_method_of_the_others(cls):
    # of texts; of columns, and an attribute of stacks
    own = {"vectorizer_", "weights_"}
    arguments = set(cls().get_params())
    assert public(cls) - arguments - public(bg.StackedClassifier) <= own


def test_summary_of_a_member_is_its_own(stack):
    options = {"kind": "stats", "round_to": "none", "draws": 50}
    for name, member in stack.members_.items():
        pd.testing.assert_frame_equal(
            pd.DataFrame(stack.summary(name, **options)), member.summary(**options)
        )


def test_summary_of_a_stack_has_a_row_for_each_member_and_draws_nothing(stack, monkeypatch):
    monkeypatch.setattr(diagnose, "draws_of", None)
    table, weights = stack.summary(), stack.weights_
    assert next(iter(table)) == "weight" and table.index.name == "member"
    assert table.weight.to_dict() == weights and table.weight.is_monotonic_decreasing
    losses = stack.members_table().leave_one_out_log_loss
    assert table.leave_one_out_log_loss.to_dict() == losses.to_dict()
    monkeypatch.setenv("COLUMNS", "80")
    lines = repr(table).splitlines()
    assert max(map(len, lines)) <= 80 and lines[0].split()[:2] == list(table)[:2]


@pytest.mark.parametrize("name", ["nobody", 3, ["linear"]])
def test_summary_of_no_member_says_which_there_are(stack, name):
    with pytest.raises(InvalidArgument, match=f"allowed: {', '.join(map(repr, stack.members_))}"):
        stack.summary(name)


def test_only_a_stack_has_members():
    with pytest.raises(InvalidArgument, match=r"LDA is no stack.*Leave member= out"):
        bg.LDA().fit(*iris()).summary("linear")


def test_options_of_a_summary_need_a_member(stack):
    with pytest.raises(InvalidArgument, match=r"member='\w+', kind=\.\.\."):
        stack.summary(kind="stats")


def test_printed_summary_of_members_leaves_room_for_numbers(monkeypatch):
    """Names of blocks of many columns are cut; those of parameters, classes and columns are not."""
    monkeypatch.setenv("COLUMNS", "80")
    rows = ["a.mean[yes, a]", f"{'_'.join(['column'] * 9)}.mean[yes, column]"]
    table = pd.DataFrame({name: [1.0, 2.0] for name in ("mean", "sd", "ess_bulk", "r_hat")}, rows)
    shown = repr(StackSummary(table))
    assert max(map(len, shown.splitlines())) <= 80 and len(shown.splitlines()) == 3
    assert "a.mean[yes, a]" in shown and "….mean[yes, column]" in shown


@pytest.mark.parametrize("temper", [None, 0.6])
def test_loo_is_what_members_fitted_without_the_row_say_under_the_same_weights(temper):
    X, y = iris()
    members = {"naive": bg.NaiveBayes(), "quadratic": bg.QDA(temper=0.7)}
    stack = bg.StackedClassifier(members, temper=temper, pool=None).fit(X, y)
    found = stack.loo()
    for i in (0, 17, 38):
        rest = np.arange(len(y)) != i
        parts = [clone(m).fit(X[rest], y[rest]) for m in members.values()]
        k, row = list(stack.classes_).index(y[i]), X.iloc[[i]]
        weights = list(stack.weights_.values())
        proba = sum(w * m.predict_proba(row)[0] for w, m in zip(weights, parts, strict=True))
        if temper is not None:
            prior = np.exp(parts[0].posterior_.log_classes())
            proba = prior * (proba / prior) ** temper
            proba /= proba.sum()
        density = np.log(
            sum(w * np.exp(m.score_samples(row)[0]) for w, m in zip(weights, parts, strict=True))
        )
        assert found.loc[i, "log_proba"] == pytest.approx(np.log(proba[k]), abs=1e-9)
        assert found.loc[i, "log_joint"] == pytest.approx(density + np.log(proba[k]), abs=1e-9)


def test_loo_of_members_without_a_closed_form_is_refused():
    X, y = iris()
    stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes(inference="mle")]).fit(X, y)
    with pytest.raises(UnsupportedOperation, match=r"loo\(\).*inference_ is 'mle'"):
        stack.loo()


def test_a_stack_has_no_evidence_of_its_own(stack):
    assert not hasattr(stack, "log_evidence_")
    with pytest.raises(NoAttribute, match="weighted by leave-one-out"):
        _ = stack.log_evidence_


def test_the_table_is_read_once(monkeypatch):
    reads, read = [], validation.read_table
    monkeypatch.setattr(validation, "read_table", lambda *a, **k: reads.append(1) or read(*a, **k))
    X, y = mixed()
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    assert len(stack.members_) == 6 and len(reads) == 1
    stack.predict_proba(X)
    assert len(reads) == 2


def own_normal(mean_rows):
    class Own(bg.Normal):
        """A family that no file can name."""

    return Own(mean_rows=mean_rows)


@pytest.mark.parametrize("family", [bg.Normal, own_normal])
def test_members_that_have_a_block_in_common_leave_its_rows_out_once(family, monkeypatch):
    """Which members found it changes nothing; a family that has no digest is left out by each."""
    X, y = mixed()
    members = {
        f"strength {rows}": bg.NaiveBayes({"age": family(mean_rows=rows)}, remainder="auto")
        for rows in (1, 2)
    }
    found, find = [], leave_one_out.Block.found
    monkeypatch.setattr(
        leave_one_out.Block, "found", lambda block: found.append(block) or find(block)
    )
    shared = bg.StackedClassifier(members, random_state=0).fit(X, y).predict_proba(X)
    levels = [block for block in found if block.likelihood.kind == "levels"]
    monkeypatch.setattr(TrainingRows, "left_out_scores", None)
    alone = bg.StackedClassifier(members, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(shared, alone)
    assert len(levels) == 1
    assert len([block for block in found if block.likelihood.kind == "levels"]) == 3


def test_first_partial_fit_takes_classes_whose_rows_come_later():
    X, y = bg.datasets.load_iris()
    parts = slice(0, 100), slice(100, None)
    stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()])
    stack.partial_fit(X[parts[0]], y[parts[0]], classes=np.unique(y))
    proba = stack.predict_proba(X)
    assert proba.shape == (150, 3)
    assert (proba[:, 2] > 0).any()
    for member in stack.members_.values():
        assert member.classes_.tolist() == stack.classes_.tolist()
    stack.partial_fit(X[parts[1]], y[parts[1]])
    whole = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()]).fit(X, y)
    np.testing.assert_allclose(stack.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)
    with pytest.raises(bg.errors.InvalidData, match="virginica"):
        bg.StackedClassifier([bg.LDA()]).partial_fit(
            X[:150:10], y[:150:10], classes=np.unique(y)[:2]
        )


class Terminal(io.StringIO):
    """Text that is written to a terminal."""

    def isatty(self):
        return True


def written(stack, monkeypatch, *, X, y):
    """Return what a fit writes to a terminal."""
    terminal = Terminal()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", terminal)
        stack.fit(X, y)
    return terminal.getvalue()


def test_progress_is_silent_outside_a_terminal_and_in_short_fits(monkeypatch, capsys):
    X, y = iris()
    assert not written(bg.StackedClassifier([bg.LDA()]), monkeypatch, X=X, y=y).strip()
    monkeypatch.setattr(stacked, "LONG", 0.0)
    silent = bg.StackedClassifier([bg.LDA()], progress=False)
    assert written(silent, monkeypatch, X=X, y=y) == ""
    bg.StackedClassifier([bg.LDA()]).fit(X, y)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("progress", ["auto", True])
def test_progress_names_the_member_that_is_fitted(progress, monkeypatch):
    """Of fits that take long, or where it is forced; of members that fail too."""
    X, y = iris()
    monkeypatch.setattr(stacked, "LONG", 0.0)
    members = {"naive": bg.NaiveBayes(), "counts": bg.BagOfWords(), "straight": bg.LDA()}
    stack = bg.StackedClassifier(members, progress=progress)
    with pytest.warns(BayesgenWarning, match="counts"):
        steps = written(stack, monkeypatch, X=-X, y=y).split("\r")
    for done, name in enumerate(members):
        assert any(f"{name}: " in step and f"{done}/3" in step for step in steps)
    assert any("3/3" in step for step in steps) and not steps[-2].strip()
