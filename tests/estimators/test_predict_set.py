"""Prediction sets: full conformal prediction is a fit to n + 1 rows, each left out by a fit."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone

import bayesgen as bg
from bayesgen.errors import InvalidArgument, LowSampleSize, UnsupportedOperation
from bayesgen.estimators import prediction_sets
from bayesgen.inference import leave_one_out

pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")


def mixed(n, seed=0):
    """Return rows of numbers and levels with gaps, of two classes that differ a little."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(
        {
            "dose": rng.normal(y, 1.0),
            "age": rng.normal(50 - 5 * y, 10),
            "site": rng.choice(["a", "b"], n),
        }
    )
    X.loc[rng.random(n) < 0.2, "age"] = np.nan
    X.loc[rng.random(n) < 0.2, "site"] = None
    return X, np.array(["ill", "well"])[y]


def refitted_p_values(clf, X, y, new):
    """Return p-values by a fit to all rows but one, for each of n + 1 rows, row by row."""
    out = np.zeros((len(new), 2))
    classes = np.unique(y)
    for i, k in np.ndindex(out.shape):
        X_all = pd.concat([X, new.iloc[[i]]], ignore_index=True)
        y_all, odds = np.append(y, classes[k]), []
        for left_out in range(len(y_all)):
            others = np.delete(np.arange(len(y_all)), left_out)
            other = clone(clf).fit(X_all.iloc[others], y_all[others])
            decision = other.decision_function(X_all.iloc[[left_out]])[0]
            odds.append(decision if y_all[left_out] == classes[1] else -decision)
        out[i, k] = (np.array(odds) <= odds[-1] + 1e-9).mean()
    return out


CLASSIFIERS = {
    "naive": bg.NaiveBayes(),
    "empirical": bg.NaiveBayes(class_prior="empirical", temper=0.5),
    "learned": bg.NaiveBayes({"dose": bg.Normal(mean_rows="learn")}, remainder="auto"),
    "average": bg.NaiveBayes(columns="average"),
}


@pytest.mark.parametrize(
    "name",
    [*(n for n in CLASSIFIERS if n != "average"), pytest.param("average", marks=pytest.mark.slow)],
)
def test_sets_are_those_of_fits_to_one_row_more(name):
    X, y = mixed(9)
    new = mixed(2, seed=1)[0]
    new.loc[0, "site"] = "never seen"
    clf = CLASSIFIERS[name].fit(X, y)
    expected = refitted_p_values(clf, X, y, new)
    # p-values are tenths: at each of them, and where it is just exceeded
    for coverage in np.concatenate([np.arange(1, 10), np.arange(1, 10) - 0.9]) / 10:
        found, method = clf.predict_set(new, coverage, return_method=True)
        assert method == "full"
        np.testing.assert_array_equal(found, expected > 1 - coverage + 1e-12)


def test_of_numbers_that_depend_on_each_other_too():
    X, y = mixed(9)
    X, new = X[["dose"]].assign(half=X.dose**2), mixed(2, seed=1)[0][["dose"]]
    new["half"] = new.dose**2 - 0.1
    for clf in (bg.LDA(), bg.QDA()):
        expected = refitted_p_values(clf.fit(X, y), X, y, new)
        for coverage in (0.3, 0.65, 0.7):
            found = clf.predict_set(new, coverage, method="full")
            np.testing.assert_array_equal(found, expected > 1 - coverage + 1e-12)


def naive(n=60):
    X, y = mixed(n)
    return bg.NaiveBayes().fit(X, y), X, y, mixed(12, seed=1)[0]


def test_neither_the_order_of_rows_nor_of_columns_nor_their_kind_changes_a_set():
    clf, X, y, new = naive()
    sets, order = clf.predict_set(new, 0.7), np.random.default_rng(0).permutation(len(y))
    others = {
        "rows": bg.NaiveBayes().fit(X.iloc[order], y[order]).predict_set(new, 0.7),
        "new rows": np.concatenate([clf.predict_set(new[i : i + 1], 0.7) for i in range(len(new))]),
        "columns": bg.NaiveBayes().fit(X[X.columns[::-1]], y).predict_set(new, 0.7),
        "polars": bg.NaiveBayes().fit(pl.from_pandas(X), y).predict_set(pl.from_pandas(new), 0.7),
    }
    for what, found in others.items():
        np.testing.assert_array_equal(found, sets, err_msg=what)
    renamed = np.where(y == "ill", "zz", "well")
    flipped = bg.NaiveBayes().fit(X, renamed).predict_set(new, 0.7)
    np.testing.assert_array_equal(flipped[:, ::-1], sets)


@pytest.mark.parametrize("method", ["full", "left_out"])
def test_a_row_of_weight_two_is_two_rows(method):
    _, X, y, new = naive()
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), weight)
    weighted = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    repeated = bg.NaiveBayes().fit(X.iloc[twice].reset_index(drop=True), y[twice])
    for by in (None, "class", "site"):
        found = weighted.predict_set(new, 0.7, by=by, method=method)
        expected = repeated.predict_set(new, 0.7, by=by, method=method)
        np.testing.assert_array_equal(found, expected)


def test_sets_within_a_column_are_those_of_its_rows_alone():
    clf, X, _, new = naive()
    sets = clf.predict_set(new, 0.7, by="site", method="left_out")
    logs = clf.loo().log_proba.to_numpy()
    score, site = logs - np.log1p(-np.exp(logs)), X.site.to_numpy(dtype=object)
    decision = clf.decision_function(new)
    for i, k in np.ndindex(sets.shape):
        value = new.site.iloc[i]
        alike = pd.isna(site) if pd.isna(value) else site == value
        own = decision[i] * (1 if k else -1)
        p = (1 + (score[alike] <= own + 1e-9).sum()) / (1 + alike.sum())
        assert sets[i, k] == (p > 0.3 + 1e-12)


def test_loaded_copied_and_merged_classifiers_take_the_rows_of_the_fit(tmp_path):
    clf, X, y, new = naive()
    clf.save(tmp_path / "clf.bgm")
    loaded, sets = bg.load(tmp_path / "clf.bgm"), clf.predict_set(new)
    merged = bg.NaiveBayes().fit(X[:30], y[:30]).merge(bg.NaiveBayes().fit(X[30:], y[30:]))
    for other in (loaded, merged):
        with pytest.raises(UnsupportedOperation, match="X_fit=X, y_fit=y"):
            other.predict_set(new)
        np.testing.assert_array_equal(other.predict_set(new, X_fit=X, y_fit=y), sets)
    with pytest.raises(UnsupportedOperation, match="each row of the fit is left out"):
        loaded.predict_set(new, X_fit=X[1:], y_fit=y[1:])


def test_rows_of_the_fit_are_passed_whole_and_are_those_of_the_fit():
    clf, X, y, new = naive()
    for part in ({"X_fit": X}, {"y_fit": y}, {"weight_fit": np.ones(60)}):
        with pytest.raises(InvalidArgument, match=r"are passed without [Xy]_fit"):
            clf.predict_set(new, **part)
    others = X.assign(dose=X.dose.to_numpy()[::-1])
    with pytest.raises(UnsupportedOperation, match=r"cannot have been in the fit.*'dose'"):
        clf.predict_set(new, X_fit=others, y_fit=y)


MADE = {
    "kernels": lambda: bg.NaiveBayes(bg.KernelDensity()),
    "average": lambda: bg.NaiveBayes(columns="average"),
    "bins": lambda: bg.NaiveBayes(bg.Categorical(), bins=4),
    "powers": lambda: bg.NaiveBayes(power_transform=True),
    "pattern": lambda: bg.NaiveBayes(missing="informative"),
    "shared": lambda: bg.LDA(inference="expected", levels="indicators"),
    "apart": lambda: bg.QDA(inference="expected", levels="indicators"),
    "weights": lambda: bg.NaiveBayes(class_prior="uniform"),
}


@pytest.mark.parametrize("name", MADE)
def test_rows_that_are_passed_are_as_good_as_kept_ones(name):
    X, y = mixed(60)
    X = X[["dose", "age"]] if name == "kernels" else X
    new = mixed(5, seed=1)[0][list(X)]
    weight = np.random.default_rng(0).random(60) if name == "weights" else None
    clf = MADE[name]().fit(X, y, sample_weight=weight)
    order, turned = np.arange(60)[::-1], None if weight is None else weight[::-1]
    passed = {"X_fit": X.iloc[order], "y_fit": y[order], "weight_fit": turned}
    found = clf.predict_set(new, 0.7, **passed)
    np.testing.assert_array_equal(found, clf.predict_set(new, 0.7))


def test_a_fault_of_the_model_names_no_rows_of_a_source(tmp_path):
    clf, _, _, new = naive()
    clf.save(tmp_path / "clf.bgm")
    new.to_parquet(tmp_path / "new.parquet")
    with pytest.raises(UnsupportedOperation, match=r"^predict_set needs the rows of the fit"):
        bg.load(tmp_path / "clf.bgm").predict_set(tmp_path / "new.parquet")


def test_a_stack_ranks_among_the_predictions_that_weighed_it(tmp_path):
    X, y = mixed(80)
    new = mixed(40, seed=1)[0]
    stack = bg.StackedClassifier(["naive", "linear"], random_state=0).fit(X, y)
    sets, method = stack.predict_set(new, 0.8, return_method=True)
    assert method == "left_out" and 0.4 < sets.mean() < 1
    stack.save(tmp_path / "stack.bgm", rows=True)
    loaded = bg.load(tmp_path / "stack.bgm")
    for by in (None, "class", "site"):
        expected = stack.predict_set(new, 0.8, by=by)
        np.testing.assert_array_equal(loaded.predict_set(new, 0.8, by=by), expected)
    proba = stack.predict_proba(new)
    # a class that is more probable in a row is no stranger there
    assert sets[np.arange(len(new)), proba.argmax(axis=1)].mean() >= sets.mean()


def test_a_loaded_stack_takes_the_rows_that_weighed_it_and_no_others(tmp_path):
    X, y = mixed(80)
    new = mixed(10, seed=1)[0]
    stack = bg.StackedClassifier(["naive", "linear"], random_state=0).fit(X, y)
    stack.save(tmp_path / "stack.bgm")
    loaded, order = bg.load(tmp_path / "stack.bgm"), np.arange(80)[::-1]
    shuffled = X.assign(site=X.site.to_numpy()[::-1])
    for by in (None, "class", "site"):
        passed = {"X_fit": X.iloc[order], "y_fit": y[order]}
        expected = stack.predict_set(new, 0.8, by=by)
        np.testing.assert_array_equal(loaded.predict_set(new, 0.8, by=by, **passed), expected)
        with pytest.raises(UnsupportedOperation, match="cannot have been in the fit"):
            loaded.predict_set(new, 0.8, by=by, X_fit=shuffled, y_fit=y)


def test_new_levels_of_a_column_share_a_fit(monkeypatch):
    clf, _, _, new = naive()
    new["site"] = [f"new {i}" for i in range(len(new))]
    made, fit = [], prediction_sets.AugmentedFit
    monkeypatch.setattr(
        prediction_sets, "AugmentedFit", lambda *parts: made.append(parts) or fit(*parts)
    )
    # rows are subtracted, not fitted without, once the new level is read
    monkeypatch.setattr(leave_one_out.Block, "refitted", None)
    together = clf.predict_set(new, 0.7, method="full")
    assert len(made) == 2
    alone = [clf.predict_set(new.iloc[[i]], 0.7, method="full")[0] for i in range(len(new))]
    np.testing.assert_array_equal(together, alone)


@pytest.mark.usefixtures("no_type_checks")
def test_values_in_place_of_a_column_are_refused():
    clf, X, _, new = naive()
    for by in (np.arange(3), X.site, ["site"]):
        with pytest.raises(InvalidArgument, match=r"by is of type .* Pass the name"):
            clf.predict_set(new, by=by)


def test_draws_are_never_full():
    X, y = mixed(30)
    method = bg.NUTS(warmup=50, draws=50, chains=1, progress=False)
    clf = bg.NaiveBayes(inference=method, random_state=0).fit(X, y)
    with pytest.raises(
        UnsupportedOperation, match=r"leave draws as they are\. Pass method='left_o"
    ):
        clf.predict_set(X[:2], method="full")
    assert clf.predict_set(X[:2], method="left_out").shape == (2, 2)


def test_a_new_level_of_a_joint_block_is_no_missing_cell():
    X, y = mixed(30)
    X = X[["site"]].assign(ward=np.resize(["u", "v"], 30)).fillna("a")
    clf = bg.JointTable().fit(X, y)
    with pytest.raises(UnsupportedOperation, match="leave the levels of joint blocks as they are"):
        clf.predict_set(X[:1].assign(site="new"), method="full")


def test_small_groups_keep_all_classes_with_a_warning():
    clf, _, _, new = naive()
    new.loc[0, "site"] = "elsewhere"
    with pytest.warns(LowSampleSize, match="at least 9 rows.*site = 'elsewhere'"):
        sets = clf.predict_set(new, by="site")
    assert sets[0].all()
    with pytest.warns(LowSampleSize, match="at least 99 rows.*class 'ill', class 'well'"):
        assert clf.predict_set(new, 0.99, by="class").all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"coverage": 1.0}, "coverage is 1.0; allowed: a number above 0 and below 1"),
        ({"by": "ward"}, "by is 'ward'; allowed: None, 'class', 'dose', 'age', 'site'"),
        ({"by": "dose"}, "a column of 60 different numbers"),
        ({"method": "split"}, "method is 'split'"),
    ],
)
def test_bad_arguments_are_named(options, sentence):
    clf, _, _, new = naive()
    with pytest.raises(InvalidArgument, match=sentence):
        clf.predict_set(new, **options)


def test_what_is_learned_from_the_rows_of_the_fit_alone_is_not_full():
    X, y = mixed(60)
    new = mixed(5, seed=1)[0]
    numbers = X[["dose", "age"]]
    cases = {
        "temper='learn'": (bg.NaiveBayes(temper="learn"), X),
        "power_transform=True": (bg.NaiveBayes(power_transform=True), X),
        "missing='informative'": (bg.NaiveBayes(missing="informative"), X),
        "missing cells of joint": (bg.LDA(inference="expected"), numbers),
        "indicators": (bg.LDA(levels="indicators", inference="expected"), X),
        "kernels": (bg.NaiveBayes(bg.KernelDensity()), X[["dose"]]),
    }
    for words, (clf, table) in cases.items():
        clf.fit(table, y)
        with pytest.raises(UnsupportedOperation, match=words):
            clf.predict_set(new[table.columns], method="full")
        assert clf.predict_set(new[table.columns], return_method=True)[1] == "left_out"
    with pytest.raises(UnsupportedOperation, match=r"inference='(nuts|expected)'"):
        bg.NaiveBayes(inference="mle").fit(X, y).predict_set(new)


def test_hostile_tables_have_sets_of_some_classes():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b"] * 8)
    tables = {
        "constant": pd.DataFrame({"x": np.ones(16), "z": rng.normal(size=16)}),
        "one cell differs": pd.DataFrame({"x": [*np.zeros(15), 5.0], "z": rng.normal(size=16)}),
        "huge": pd.DataFrame({"x": 1e140 * rng.normal(size=16)}),
        "never observed": pd.DataFrame({"x": np.full(16, np.nan), "z": rng.normal(size=16)}),
        "separated": pd.DataFrame({"x": np.where(y == "a", 0.0, 1e6) + rng.normal(size=16)}),
        "ties": pd.DataFrame({"x": rng.integers(0, 2, 16).astype(float)}),
    }
    for name, X in tables.items():
        for clf in (bg.NaiveBayes(), bg.LDA()):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clf.fit(X, y)
                sets = clf.predict_set(X.assign(**{X.columns[0]: X.iloc[::-1, 0].to_numpy()}))
                missing = clf.predict_set(X * np.nan)
            assert sets.shape == missing.shape == (16, 2), name
            assert 0 < sets.mean() <= 1, name


def test_sources_are_answered_by_columns(tmp_path):
    clf, _, _, new = naive()
    path = tmp_path / "new.parquet"
    new.to_parquet(path)
    found = clf.predict_set(path, 0.7).read_pandas()
    assert list(found) == ["in_set_ill", "in_set_well"]
    np.testing.assert_array_equal(found.to_numpy(), clf.predict_set(new, 0.7))


def test_set_coverage_counts_true_classes():
    clf, _, _, new = naive()
    y = mixed(12, seed=1)[1]
    table = bg.calibrate.set_coverage(clf, new, y, 0.7)
    sets = clf.predict_set(new, 0.7)
    covered = sets[np.arange(12), (y == "well").astype(int)]
    assert table.loc["(all)", "coverage"] == covered.mean()
    assert table.loc["(all)", "size"] == sets.sum(axis=1).mean()
    assert table.loc["ill", "rows"] == (y == "ill").sum()
    assert table.loc["ill", "coverage"] == covered[y == "ill"].mean()
    assert (table.lower <= table.coverage).all() and (table.coverage <= table.upper).all()
    unknown = bg.calibrate.set_coverage(clf, new, ["dead"] * 12, 0.7)
    assert unknown.loc["dead", "coverage"] == 0


def test_set_coverage_of_the_values_of_a_column_keeps_their_names():
    X, y = bg.datasets.load_titanic_passengers()
    X = X.assign(sex=X["sex"].astype(object).where(np.arange(len(X)) % 9 != 4, None))
    clf, new, labels = bg.NaiveBayes().fit(X[::2], y[::2]), X[1::2], y[1::2].to_numpy()
    table = bg.calibrate.set_coverage(clf, new, labels, 0.8, by="sex")
    assert table.index.name == "sex"
    assert set(table.index) == {"(all)", "female", "male", "(missing)"}
    sets = clf.predict_set(new, 0.8, by="sex")
    covered = sets[np.arange(len(new)), np.searchsorted(clf.classes_, labels)]
    for value in ("female", "male"):
        rows = (new["sex"] == value).to_numpy()
        assert table.loc[value, "rows"] == rows.sum()
        assert table.loc[value, "coverage"] == covered[rows].mean()
    assert table.loc["(missing)", "rows"] == new["sex"].isna().sum()
    assert table.loc["(all)", "rows"] == table["rows"][1:].sum()


@pytest.mark.slow
@pytest.mark.parametrize("by", [None, "class"])
def test_full_covers_whatever_the_model(by):
    """1,200 new rows of tables that no model made: 4 standard errors of a mean over tables."""
    found = []
    for seed in range(120):
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 3, 34)
        X = np.exp(rng.standard_t(2, (34, 1))) * (1 + y[:, None]) @ np.ones((1, 3))
        X += rng.standard_cauchy((34, 3)) * 0.1
        clf = bg.NaiveBayes().fit(X[:24], y[:24])
        sets = clf.predict_set(X[24:], 0.8, by=by)
        found.append(sets[np.arange(10), np.searchsorted(clf.classes_, y[24:])].mean())
    assert np.mean(found) >= 0.8 - 4 * np.std(found) / np.sqrt(len(found))


def test_a_set_depends_on_no_other_new_row():
    X, y = mixed(60)
    X, new = X[["dose"]].assign(half=X.dose**2), mixed(6, seed=1)[0][["dose"]]
    new["half"] = new.dose**2
    clf = bg.LDA().fit(X, y)
    whole = clf.predict_set(new, 0.7, method="full")
    alone = [clf.predict_set(new[i : i + 1], 0.7, method="full") for i in range(6)]
    np.testing.assert_array_equal(whole, np.concatenate(alone))
    new.loc[[1, 4], "half"] = np.nan
    for by in (None, "class"):
        sets, ran = clf.predict_set(new, 0.7, by=by, return_method=True)
        rows = [clf.predict_set(new[i : i + 1], 0.7, by=by, return_method=True) for i in range(6)]
        assert {ran, *(one for _, one in rows)} == {"left_out"}
        np.testing.assert_array_equal(sets, np.concatenate([found for found, _ in rows]))
    with pytest.raises(UnsupportedOperation, match="missing cells of joint blocks as they are"):
        clf.predict_set(new, method="full")
    assert clf.predict_set(new, method="left_out", return_method=True)[1] == "left_out"


def test_joint_blocks_fitted_to_missing_cells_have_sets_of_expected_fits():
    X, y = mixed(60)
    numbers, new = X[["dose", "age"]], mixed(5, seed=1)[0][["dose", "age"]]
    for kind in (bg.LDA, bg.QDA):
        clf = kind().fit(numbers, y)
        with pytest.raises(UnsupportedOperation, match="Pass inference='expected'"):
            clf.predict_set(new)
        clf.set_params(inference="expected").fit(numbers, y)
        assert clf.predict_set(new, return_method=True)[1] == "left_out"
