"""Numbers that are written as text in one form are numbers by every door, and written back so."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from decorations import FORMS
from pyarrow import parquet

import bayesgen as bg
from bayesgen import errors

pytestmark = pytest.mark.filterwarnings("ignore:column 'share' is read as")


def rows(form):
    """Return rows with numbers, as many decimals as the form has, and their labels."""
    rng, n = np.random.default_rng(7), 80
    y = np.where(np.arange(n) % 2, "no", "yes")
    share = np.round(900 + 250 * rng.normal(size=n) + 300 * (y == "yes"), FORMS[form].places)
    X = pd.DataFrame({"share": share, "t": rng.choice(["a", "b"], n), "x": rng.normal(size=n)})
    X.loc[::7, "share"] = np.nan
    return X, pd.Series(y, name="y")


@pytest.fixture
def frame():
    return rows("percent")


def written(X, form="percent"):
    return X.assign(share=FORMS[form].column(X["share"].to_numpy()).to_numpy(object))


MODELS = {
    "auto": lambda: bg.NaiveBayes(),
    "named": lambda: bg.NaiveBayes(likelihood={("share", "x"): bg.Normal(), "t": bg.Categorical()}),
    "power": lambda: bg.NaiveBayes(power_transform=True),
    "pattern": lambda: bg.NaiveBayes(missing="informative"),
    "indicators": lambda: bg.LDA(levels="indicators", random_state=0),
    "bins": lambda: bg.NaiveBayes(
        likelihood={("share", "x"): bg.Normal(), "t": bg.Categorical()}, bins=4
    ),
    "kernels": lambda: bg.NaiveBayes(likelihood={"share": bg.KernelDensity()}, remainder="auto"),
    "cut": lambda: bg.NaiveBayes(bg.Categorical(), bins=4),
    "stack": lambda: bg.StackedClassifier(
        [bg.NaiveBayes(), bg.LDA(levels="indicators", random_state=0)],
        progress=False,
        random_state=0,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_frame_is_read_like_its_numbers(frame, name):
    X, y = frame
    expected = MODELS[name]().fit(X, y)
    found = MODELS[name]().fit(written(X), y)
    np.testing.assert_allclose(found.predict_proba(written(X)), expected.predict_proba(X), 1e-9)
    # one row, and cells that are numbers already
    np.testing.assert_allclose(
        found.predict_proba(written(X)[3:4]), expected.predict_proba(X[3:4]), 1e-9
    )
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), 1e-9)


@pytest.mark.parametrize(
    "make", [pl.from_pandas, pa.Table.from_pandas, lambda X: X.to_dict("records")]
)
def test_other_containers_are_read_alike(frame, make):
    X, y = frame
    expected = bg.NaiveBayes().fit(X, y).predict_proba(X)
    found = bg.NaiveBayes().fit(make(written(X)), y)
    np.testing.assert_allclose(found.predict_proba(make(written(X))), expected, 1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "frames"])
def test_files_and_streams_are_read_alike(form, kind, tmp_path):
    X, y = rows(form)
    T = written(X, form)
    whole, expected = T.assign(y=y), bg.NaiveBayes().fit(X, y).predict_proba(X)
    if kind == "frame":
        with pytest.warns(errors.SuspiciousColumn) as caught:
            found = bg.NaiveBayes().fit(T, y)
        assert len(caught) == 1
        assert f"column 'share' is read as {FORMS[form].words}" in str(caught[0].message)
        np.testing.assert_allclose(found.predict_proba(T), expected, 1e-9)
        filled = found.impute(T, random_state=0)["share"]
        assert all(map(FORMS[form].fits, filled))
        return
    source = str(tmp_path / f"rows.{kind}")
    if kind == "csv":
        whole.to_csv(source, index=False)
    elif kind == "parquet":
        parquet.write_table(pa.Table.from_pandas(whole), source)
    else:
        source = [whole[:30], whole[30:]]
    found = bg.NaiveBayes().fit(source, y="y")
    np.testing.assert_allclose(found.predict_proba(T), expected, 1e-9)
    found = found.predict_proba(source)
    np.testing.assert_allclose(as_array(found), expected, 1e-9)


def as_array(answers):
    if isinstance(answers, np.ndarray):
        return answers
    parts = [np.asarray(part) for part in answers]
    return np.concatenate(parts)


def test_batches_merged_models_and_saved_ones_are_read_alike(frame, tmp_path):
    X, y = frame
    expected = bg.NaiveBayes().fit(X, y).predict_proba(X)
    T = written(X)
    for parts in (
        [(T[:40], y[:40]), (T[40:], y[40:])],
        [(X[:40], y[:40]), (T[40:], y[40:])],
        [(T[:40], y[:40]), (X[40:], y[40:])],
    ):
        batches = bg.NaiveBayes()
        for rows, labels in parts:
            batches.partial_fit(rows, labels)
        np.testing.assert_allclose(batches.predict_proba(T), expected, 1e-9)
        one, other = (bg.NaiveBayes().fit(*part) for part in parts)
        merged = one.merge(other)
        np.testing.assert_allclose(merged.predict_proba(T), expected, 1e-9)
    with pytest.warns(errors.SuspiciousColumn, match="never observed"):
        undecided = bg.NaiveBayes().partial_fit(X.assign(share=np.nan)[:20], y[:20])
    undecided.partial_fit(T[20:], y[20:])
    known = bg.NaiveBayes().fit(X.assign(share=X["share"].where(X.index >= 20)), y)
    np.testing.assert_allclose(undecided.predict_proba(T), known.predict_proba(X), 1e-9)
    merged.save(tmp_path / "model.bayesgen")
    loaded = bg.load(tmp_path / "model.bayesgen")
    np.testing.assert_allclose(loaded.predict_proba(T), expected, 1e-9)


@pytest.mark.parametrize("name", ["auto", "power", "stack"])
@pytest.mark.parametrize("make", [lambda X: X, pl.from_pandas, pa.Table.from_pandas])
def test_cells_are_imputed_in_their_own_form(frame, name, make):
    X, y = frame
    clf = MODELS[name]().fit(make(written(X)), y)
    filled = clf.impute(make(written(X)), random_state=0)
    assert type(filled) is type(make(X))
    cells = pa.table({"share": filled["share"]})["share"].to_pylist()
    assert all(map(FORMS["percent"].fits, cells))
    there = X["share"].notna()
    assert [c for c, seen in zip(cells, there, strict=True) if seen] == [
        f"{x:g} %" for x in X["share"][there]
    ]
    sample, _ = clf.sample(5)
    assert all(
        map(FORMS["percent"].fits, pa.table({"share": sample["share"]})["share"].to_pylist())
    )


def test_a_cell_in_another_form_is_refused_and_labels_stay_text(frame):
    X, y = frame
    T = written(X)
    clf = bg.NaiveBayes().fit(T, y)
    message = r"column 'share' holds 'few' in row 0, .*, and was read as numbers such as '12\.5 %'"
    with pytest.raises(errors.InvalidData, match=message):
        clf.predict_proba(T.assign(share="few"))
    labels = T["share"].fillna("0 %").where(y == "no", "5 %").where(y == "yes", "7 %")
    assert bg.NaiveBayes().fit(T[["x", "t"]], labels).classes_.tolist() == ["5 %", "7 %"]


def test_explanations_count_in_the_unit_of_the_column(frame):
    X, y = frame
    found, expected = bg.NaiveBayes().fit(written(X), y), bg.NaiveBayes().fit(X, y)
    gaps = np.flatnonzero(X["share"].isna())[:3]
    pd.testing.assert_frame_equal(
        found.conditional(written(X).iloc[gaps]), expected.conditional(X.iloc[gaps]), rtol=1e-9
    )


@pytest.fixture(scope="module")
def stacks():
    """Return the automatic stack of rows as text, and of their numbers."""
    X, y = rows("percent")
    X = X[["share", "x"]]
    makers = (bg.StackedClassifier(progress=False, random_state=0) for _ in range(2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.BayesgenWarning)
        fitted = [clf.fit(rows, y) for clf, rows in zip(makers, (written(X), X), strict=True)]
    return X, y, *fitted


def numbers_of(frame):
    return frame.select_dtypes("number").to_numpy(float)


VERBS = {
    "predict_proba": lambda clf, X, y: clf.predict_proba(X),
    "conditional": lambda clf, X, y: numbers_of(clf.conditional(X.iloc[[0, 7]])),
    "feature_value": lambda clf, X, y: numbers_of(clf.feature_value(X.iloc[[0, 7]])),
    "typicality": lambda clf, X, y: clf.typicality(X),
    "estimate_prevalence": lambda clf, X, y: clf.estimate_prevalence(X).mean,
}


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize("verb", VERBS)
def test_the_automatic_stack_answers_alike(stacks, verb):
    X, y, found, expected = stacks
    answers = [VERBS[verb](clf, rows, y) for clf, rows in ((found, written(X)), (expected, X))]
    np.testing.assert_allclose(*answers, rtol=1e-6)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_the_automatic_stack_writes_cells_in_their_own_form(stacks):
    X, clf = stacks[0], stacks[2]
    filled = clf.impute(written(X), random_state=0)
    assert all(map(FORMS["percent"].fits, filled["share"]))
    assert all(map(FORMS["percent"].fits, clf.sample(5)[0]["share"]))
    pd.testing.assert_frame_equal(filled[X["share"].notna()], written(X)[X["share"].notna()])
