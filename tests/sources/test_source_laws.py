"""What every source of rows obeys: it is the table of its rows, in parts that have names."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sources_of_rows import SHAPES, SOURCES, arrow, in_parts

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators.sources import fit
from bayesgen.sources import source_of

ONCE = ("a RecordBatchReader", "an iterator")
OF_EACH_ENGINE = (
    *("a folder", "a RecordBatchReader", "a LazyFrame", "a relation", "a function"),
    "a Dask DataFrame",
)
"""What reads parts is the same from there on."""


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Run the tasks of Dask one after the other in this process; few rows decide on blocks."""
    monkeypatch.setattr(fit, "HEAD_ROWS", 50)
    with dask.config.set(scheduler="sync"):
        yield


@pytest.fixture
def rows(rng):
    """Return a table with late levels and missing cells of every type, and what fits it."""
    frame, clf = SHAPES["missing patterns"](rng)
    levels, _ = SHAPES["late levels"](rng)
    frame = frame.assign(k=levels["k"], t=levels["t"])
    frame.loc[350:, "s"], frame.loc[370:, "y"] = "late", "rare"
    blocks = clf.likelihood | {"k": bg.Categorical(), "t": bg.Categorical()}
    return frame, clf.set_params(likelihood=blocks)


def made(kind, frame, path):
    """Return a source of a kind, which is read in small parts."""
    return in_parts(SOURCES[kind][0](frame, path))


def answered(answers):
    """Return answers of any kind as an array."""
    if isinstance(answers, pa.RecordBatchReader):
        return answers.read_all().to_pandas().to_numpy()
    return answers.compute().to_numpy()


@pytest.mark.parametrize("kind", SOURCES)
def test_parts_are_the_rows(kind, rows, tmp_path):
    frame, _ = rows
    source = made(kind, frame, tmp_path)
    assert source.names in (None, tuple(frame))
    assert source.n_rows in (None, len(frame))
    assert source.once == (kind in ONCE)
    parts = list(source.parts())
    assert max(map(len, parts)) <= 83
    tables = [part.table.to_arrow().to_pylist() for part in parts]
    found = pd.DataFrame([row for table in tables for row in table])
    pd.testing.assert_frame_equal(found, pd.DataFrame(arrow(frame).to_pylist()))
    if not source.once:
        assert sum(map(len, source.parts())) == len(frame)


@pytest.mark.parametrize("kind", OF_EACH_ENGINE)
def test_fit_is_that_of_the_table(kind, rows, tmp_path):
    frame, clf = rows
    X, y = frame.drop(columns="y"), frame["y"]
    expected = clf.fit(X, y).predict_proba(X)
    found = clf.fit(made(kind, frame, tmp_path), y="y")
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
    assert found.classes_.tolist() == np.unique(y).tolist()
    assert found.feature_names_in_.tolist() == list(X)
    assert found.n_features_in_ == X.shape[1]


@pytest.mark.parametrize("kind", OF_EACH_ENGINE)
def test_answers_are_those_to_the_table(kind, rows, tmp_path):
    frame, clf = rows
    X = frame.drop(columns="y")
    expected = clf.fit(X, frame["y"]).predict_proba(X)
    found = answered(clf.predict_proba(made(kind, frame, tmp_path)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("kind", SOURCES)
def test_bad_cell_is_named_by_part_and_column(kind, rows, tmp_path):
    frame, clf = rows
    bad = frame.assign(a=frame["a"].where(np.arange(len(frame)) != 317, np.inf))
    clf.fit(frame, y="y")
    before = dict(vars(clf))
    sentence = f"^{SOURCES[kind][1]}: column 'a' holds infinity"
    with pytest.raises(errors.InvalidData, match=sentence):
        clf.fit(made(kind, bad, tmp_path), y="y")
    assert vars(clf) == before
    with pytest.raises(errors.InvalidData, match=sentence):
        answered(clf.predict_proba(made(kind, bad, tmp_path)))


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("shape", SHAPES)
def test_labels_and_weights_are_columns_of_a_table_or_a_source(shape, weight, rng):
    frame, clf = SHAPES[shape](rng)
    X, y = frame.drop(columns="y"), frame["y"]
    w = None if weight is None else rng.integers(0, 3, len(frame)).astype(float)
    expected = clf.fit(X, y, w).predict_proba(X)
    frame = frame if w is None else frame.assign(w=w)
    for data in (frame, arrow(frame), in_parts([frame]), in_parts([pl.from_pandas(frame)])):
        found = clf.fit(data, y="y", sample_weight=weight).predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    given = clf.fit(arrow(X.assign(y=y)), "y", w).predict_proba(X)
    np.testing.assert_allclose(given, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("clf", [bg.NaiveBayes(inference="mle"), bg.LDA(), bg.QDA()])
def test_inference_starts_from_the_statistics_of_all_rows(clf, rng):
    frame, _ = SHAPES["numbers"](rng)
    X, y = frame.drop(columns="y"), frame["y"]
    clf.fit(X, y)
    expected = clf.posterior_.log_classes(), getattr(clf, "log_evidence_", 0.0)
    for source in (in_parts([frame]), dd.from_pandas(frame, npartitions=18)):
        clf.fit(source, y="y")
        np.testing.assert_allclose(clf.posterior_.log_classes(), expected[0], rtol=1e-12)
        assert getattr(clf, "log_evidence_", 0.0) == pytest.approx(expected[1], rel=1e-10)


def test_tables_in_memory_are_no_sources(rows):
    frame = rows[0]
    tables = (frame, arrow(frame), pl.from_pandas(frame), frame.to_numpy(), [[1.0], [2.0]], None, 3)
    assert [source_of(table) for table in tables] == [None] * 7
