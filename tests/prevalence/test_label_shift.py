"""The check of label shift: silent under it, and specific where a column moved."""

import dataclasses
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from populations import table
from replicates import p_values_of_replicates

import bayesgen as bg
from bayesgen.errors import InvalidArgument, LabelShiftRejected, UnsupportedOperation
from bayesgen.estimators import new_population
from bayesgen.estimators.stack.fitted import FittedStack
from bayesgen.prevalence import cells, label_shift


@pytest.fixture(scope="module")
def clf():
    X, y = table(400)
    return bg.NaiveBayes(random_state=0).fit(X, y)


def other(n=200, seed=5):
    return table(n, seed=seed, frequencies=(0.7, 0.2, 0.1))[0]


def test_one_line_a_column_and_one_of_the_density(clf):
    found = clf.check_label_shift(other())
    assert found.index.tolist() == ["x", "z", "level", "(density)"]
    assert found.columns.tolist() == ["discrepancy", "p_value"]
    assert ((found.p_value > 0) & (found.p_value <= 1)).all() and (found.discrepancy > 0).all()
    pd.testing.assert_frame_equal(found, clf.check_label_shift(other()))


def share_found(build, moved, runs, seed=0):
    """Return the share of runs with a p-value below .05, times the number of lines."""
    count = 0
    for run in range(seed, seed + runs):
        X, y = table(300, seed=1000 + run)
        clf = build(random_state=0).fit(X, y)
        found = clf.check_label_shift(moved(other(seed=run)))
        count += found.p_value.min() * len(found) < 0.05
    return count / runs


def stack(**options):
    members = {"naive": bg.NaiveBayes(), "weak": bg.NaiveBayes(temper=0.5)}
    return bg.StackedClassifier(members, **options)


def law_size(runs, build=bg.NaiveBayes):
    """A shift of prevalence alone is found in .05 of runs, and 2.5 standard errors, at most."""
    assert share_found(build, lambda X: X, runs) <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / runs)


@pytest.mark.slow
@pytest.mark.parametrize("build", [bg.NaiveBayes, stack])
def test_size(build):
    law_size(8, build)


@pytest.mark.slow
def test_fault_members_of_a_stack_keep_their_class_prior(monkeypatch):
    monkeypatch.delattr(FittedStack, "with_class_prior")
    with pytest.raises(AssertionError):
        law_size(8, stack)


@pytest.mark.nightly
@pytest.mark.parametrize("build", [bg.NaiveBayes, stack])
def test_size_of_more_runs(build):
    law_size(60, build)


def test_fault_frequencies_of_the_fit_in_place_of_those_of_the_population(monkeypatch):
    right = label_shift.adjusted

    def wrong(populations, left_out, new, weight, draws):
        even = np.full_like(draws, 1 / draws.shape[1])
        return right(populations, None, new, weight, even)

    monkeypatch.setattr(label_shift, "adjusted", wrong)
    with pytest.raises(AssertionError):
        law_size(3)


def test_fault_rows_simulated_by_the_model_in_place_of_labeled_ones():
    """Real columns are not those of the model: two peaks in each class are not one normal."""

    def peaks(n, seed, frequencies=(0.5, 0.5)):
        rng = np.random.default_rng(seed)
        y = rng.choice(2, n, p=frequencies)
        x = 3.0 * y + rng.choice([-2.0, 2.0], n) + rng.normal(0, 0.3, n)
        return pd.DataFrame({"x": x}), y

    X, y = peaks(400, 0)
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    new = peaks(300, 1, (0.8, 0.2))[0]
    assert clf.check_label_shift(new).p_value.min() > 0.01
    found = clf.estimate_prevalence(new, random_state=0)
    own, labels = clf.with_class_prior("uniform").sample(400, random_state=0)
    fitted = clf.predict_joint_log_proba(own)
    tables = (clf._read(rows, reset=False) for rows in (own, new))
    rows = label_shift.Populations(next(tables), labels, np.ones(400), next(tables))
    joint = clf.predict_joint_log_proba(new)
    wrong = label_shift.table_of_shift(rows, None, fitted, joint, found.draws)
    assert wrong.p_value.min() < 0.01


@pytest.mark.parametrize(("name", "step"), [("x", 0.5), ("z", 2.0)])
def test_a_column_that_moved_is_named(clf, name, step):
    moved = other()
    moved[name] += step * moved[name].std()
    found = clf.check_label_shift(moved)
    assert found.p_value.drop("(density)").idxmin() == name
    assert found.p_value[name] < 0.01


def test_missing_cells_and_new_levels_are_cells(clf):
    fewer = other().assign(z=lambda X: X.z.mask(np.arange(len(X)) % 2 == 0))
    found = clf.check_label_shift(fewer)
    assert found.p_value["z"] < 0.01 < found.p_value["x"]
    levels = other()
    levels.loc[:60, "level"] = "new"
    with pytest.warns(bg.errors.CountsAsMissing):
        found = clf.check_label_shift(levels)
    assert found.p_value["level"] < 0.01


def test_absent_columns_have_no_line(clf):
    with pytest.warns(bg.errors.CountsAsMissing):
        found = clf.check_label_shift(other().drop(columns="z"))
    assert found.index.tolist() == ["x", "level", "(density)"]


def test_rows_of_the_fit_are_passed_where_they_are_not_kept(clf, tmp_path):
    X, y = table(400)
    clf.save(tmp_path / "model.bgm")
    again = bg.load(tmp_path / "model.bgm")
    with pytest.raises(UnsupportedOperation, match="X=X, y=y"):
        again.check_label_shift(other())
    p = clf.estimate_prevalence(other(), random_state=0)
    pd.testing.assert_frame_equal(
        again.check_label_shift(other(), p, X, y), clf.check_label_shift(other(), p)
    )
    with pytest.raises(UnsupportedOperation):
        again.check_label_shift(other(), p, X[1:], y[1:])


def test_weights_of_the_fit_count():
    X, y = table(200)
    weight = np.resize([0.0, 1.0, 2.0], 200)
    clf = bg.NaiveBayes(random_state=0).fit(X, y, weight)
    whole = bg.NaiveBayes(random_state=0).fit(X[weight > 0], y[weight > 0], weight[weight > 0])
    p = clf.estimate_prevalence(other(), random_state=0)
    one, two = (c.check_label_shift(other(), p) for c in (clf, whole))
    assert one.index.tolist() == two.index.tolist()
    assert np.abs(one.p_value - two.p_value).max() < 0.01


def test_a_result_is_required(clf):
    with pytest.raises(InvalidArgument, match="estimate_prevalence"):
        clf.check_label_shift(other(), [0.2, 0.3, 0.5])


@pytest.mark.parametrize(
    "build",
    [
        lambda: bg.StackedClassifier([bg.NaiveBayes()], random_state=0),
        lambda: bg.NaiveBayes(temper="learn", random_state=0),
        lambda: bg.LDA(levels="indicators", inference="expected", random_state=0),
    ],
)
def test_every_classifier_checks(build):
    X, y = table(150)
    found = build().fit(X, y).check_label_shift(other(60))
    assert found.index.tolist() == ["x", "z", "level", "(density)"]


def test_point_estimates_have_no_line_of_the_density():
    X, y = table(150)
    found = bg.NaiveBayes(inference="mle").fit(X, y).check_label_shift(other(60))
    assert found.index.tolist() == ["x", "z", "level"]


def test_arrays():
    X, y = table(150)
    rows = X[["x", "z"]].to_numpy(dtype=float)
    found = bg.NaiveBayes(random_state=0).fit(rows, y).check_label_shift(rows[:50])
    assert found.index.tolist() == ["x0", "x1", "(density)"]


# -- the check within every estimate ---------------------------------------------------------------


def test_an_estimate_says_that_the_column_of_the_group_rejects_label_shift():
    X, y = bg.datasets.load_titanic_passengers()
    third = X.passengerClass == "3rd"
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    with pytest.warns(LabelShiftRejected, match=r"'passengerClass', .*p < \.001.*do not use this"):
        found = clf.estimate_prevalence(X[third], random_state=0)
    assert found.rejected[0] == "passengerClass"
    for text in (repr(found), str(found), found._repr_html_()):
        assert "label shift is rejected" in text and "passengerClass" in text
    mixed = clf.estimate_prevalence(X[::3], random_state=0)
    assert mixed.rejected == () and "rejected" not in repr(mixed)


def test_a_classifier_without_its_rows_says_that_label_shift_was_not_checked(clf, tmp_path):
    clf.save(tmp_path / "model.bgm")
    moved = other()
    moved["x"] += 9
    loaded = bg.load(tmp_path / "model.bgm")
    found = loaded.estimate_prevalence(moved, random_state=0)
    assert found.rejected is None
    for text in (repr(found), str(found), found._repr_html_()):
        assert "label shift was not checked" in text
    cure = re.search(r"clf\.check_label_shift\(.*?\)", str(found))[0]
    X, y = table(400)
    checked = eval(cure, {"clf": loaded, "X_new": moved, "X": X, "y": y})
    assert checked.p_value.drop("(density)").idxmin() == "x"
    with pytest.warns(LabelShiftRejected):
        assert clf.estimate_prevalence(moved, random_state=0).rejected[0] == "x"


def test_weights_of_new_rows_are_repetitions_in_the_check(clf):
    rows = other()
    weight = np.where(np.arange(200) < 40, 4, 0)
    p_values = []
    for X, weights in ((rows, weight), (rows[:40].loc[rows[:40].index.repeat(4)], None)):
        found = recorded(clf, X, sample_weight=weights)
        p_values.append(found)
    np.testing.assert_allclose(*p_values, rtol=1e-6)


def recorded(clf, X, **options):
    """Return the p-values of all columns within an estimate."""
    p_values, right = [], label_shift.tested
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_shift, "tested", lambda *a: p_values.append(right(*a)) or p_values[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelShiftRejected)
            clf.estimate_prevalence(X, random_state=0, draws=500, **options)
    return np.concatenate(p_values)[:, 1]


def by_replicates(clf, X):
    """Return the p-values of the check, and those of replicates."""
    reference, right = [], new_population.table_of_shift

    def both(*populations):
        reference.append(p_values_of_replicates(*populations))
        return right(*populations)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_population, "table_of_shift", both)
        found = clf.check_label_shift(X).p_value
    return found.to_numpy(), np.array([reference[0][name] for name in found.index])


def law_p_values_are_those_of_replicates():
    """Within a factor of 2.5 where 1,000 replicates can tell; one of the tables is moved."""
    compared = 0
    for seed in range(3):
        X, y = table(150, seed=seed)
        clf = bg.NaiveBayes(random_state=0).fit(X, y)
        new = other(150, seed=100 + seed)
        new["x"] += 0.3 * (seed % 2)
        found, reference = by_replicates(clf, new)
        known = reference > 0.02
        ratio = np.log(found / reference)[known]
        assert (np.abs(ratio) < np.log(2.5)).all()
        compared += known.sum()
    assert compared > 5


def test_p_values_are_those_of_replicates():
    law_p_values_are_those_of_replicates()


def test_fault_errors_of_labeled_rows_forgotten(monkeypatch):
    right = label_shift.tested

    def wrong(cells, populations, estimate):
        many = dataclasses.replace(
            populations,
            codes=np.tile(populations.codes, 20),
            weight=np.tile(populations.weight, 20),
        )
        known = dataclasses.replace(estimate, proba=np.tile(estimate.proba, (20, 1)))
        tiled = [(np.tile(labeled, 20), new) for labeled, new in cells]
        return right(tiled, many, known)

    monkeypatch.setattr(label_shift, "tested", wrong)
    with pytest.raises(AssertionError):
        law_p_values_are_those_of_replicates()


def test_columns_tested_together_have_the_p_values_of_each_alone(clf, monkeypatch):
    """Columns have different numbers of cells, so those of some end before those of others."""
    new = other()
    new["z"], new["level"] = 1.0, new["level"].where(new["level"] != "u", None)
    together = recorded(clf, new)
    monkeypatch.setattr(label_shift, "TESTED_FLOATS", 1)
    np.testing.assert_allclose(recorded(clf, new), together, rtol=1e-9)
    assert len(together) == 3 and len(set(together)) == 3


@pytest.mark.nightly
def test_an_estimate_cries_wolf_once_in_a_thousand_calls():
    """Of 400 estimates under label shift at most 3 reject it: chance exceeds that once in 1,200."""
    rejected = 0
    for seed in range(400):
        X, y = table(90, seed=1000 + seed)
        clf = bg.NaiveBayes(random_state=0).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", LabelShiftRejected)
            found = clf.estimate_prevalence(other(150, seed=seed), draws=200, random_state=0)
        rejected += bool(found.rejected)
    assert rejected <= 3


def test_many_levels_share_the_last_cell():
    labeled, new = np.arange(60), np.repeat(np.arange(30), 2)
    few, fewer = cells.occurring(labeled, new)
    assert few.max() == fewer.max() == cells.MOST_CELLS - 1
    assert (few[:19] == fewer[::2][:19]).all()
