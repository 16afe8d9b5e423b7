"""Predictions for sources: streams equal to the predictions of the table, complete or an error."""

import dataclasses

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from sources_of_rows import arrow, as_columns, in_parts, small

import bayesgen as bg
from bayesgen import errors
from bayesgen.estimators import Answers
from bayesgen.sources import ANSWERS


def test_streams_of_intervals_and_draws(rng):
    frame, clf = small(rng)
    X = frame.drop(columns="y")
    found = clf.predict_interval(arrow(frame).to_reader(), 0.5).read_all().to_pandas()
    assert list(found) == ["lower_no", "lower_yes", "upper_no", "upper_yes"]
    expected = as_columns(clf.predict_interval(X, 0.5))
    np.testing.assert_allclose(found, expected, atol=1e-12)
    draws = clf.predict_draws(X)
    rows = clf.predict_draws(arrow(frame).to_reader()).read_all()
    assert rows.column_names == ["draws_no", "draws_yes", "weight"]
    yes, weight = (np.stack(rows[c].to_numpy()) for c in ("draws_yes", "weight"))
    np.testing.assert_allclose(yes, draws.sel({"class": "yes"}).values.T, atol=1e-12)
    np.testing.assert_allclose(weight, draws["weight"].values.T, atol=1e-12)


@pytest.mark.parametrize("verb", ANSWERS)
def test_every_answer_to_a_stream_is_that_to_the_table(verb, rng):
    frame, clf = small(rng)
    X, columns = frame.drop(columns="y"), ANSWERS[verb]
    whole = columns.split(getattr(clf, columns.verb)(X), clf.classes_)
    found = Answers(clf, {verb: {}}).to(in_parts([frame], 9)).read_all()
    assert found.schema.equals(pa.schema(columns.fields(clf.classes_)))
    for name, expected in zip(found.column_names, whole, strict=True):
        cells = np.array(found[name].to_pylist())
        if expected.dtype.kind == "f":
            np.testing.assert_allclose(cells, expected, rtol=0, atol=1e-12)
        else:
            assert (cells == expected).all()


def test_parts_are_read_when_the_stream_is(rng):
    frame, clf = small(rng)
    read = []

    def frames():
        for i in range(4):
            read.append(i)
            yield frame[10 * i : 10 * i + 10]

    stream = clf.predict_proba(frames)
    assert read == []
    next(stream)
    assert read == [0]


def test_engines_write_the_stream(rng, tmp_path):
    frame, clf = small(rng)
    expected = clf.predict_proba(frame.drop(columns="y"))
    parquet.write_table(arrow(frame), tmp_path / "rows.parquet")
    connection = duckdb.connect()
    answers = clf.predict_proba(tmp_path / "rows.parquet")
    out = tmp_path / "duckdb.parquet"
    connection.from_arrow(answers).write_parquet(str(out))
    np.testing.assert_allclose(parquet.read_table(out).to_pandas(), expected, atol=1e-12)
    answers = clf.predict_proba(duckdb.connect().read_parquet(str(tmp_path / "rows.parquet")))
    with csv.CSVWriter(tmp_path / "pyarrow.csv", answers.schema) as writer:
        for batch in answers:
            writer.write_batch(batch)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "pyarrow.csv"), expected, rtol=1e-12)


def test_errors_within_a_stream_reach_its_reader(rng, tmp_path):
    frame, clf = small(rng)
    bad = frame.assign(a=[*frame["a"][:17], np.inf, *frame["a"][18:]])
    for parts, part in (([frame, bad], "part 1"), (lambda: iter([frame, bad]), "part 1")):
        stream = clf.predict_proba(parts)
        next(stream)
        with pytest.raises(
            errors.InvalidData, match=f"^{part}, rows 0 to 39: column 'a' holds inf"
        ):
            next(stream)
    out = tmp_path / "out.parquet"
    with pytest.raises(duckdb.Error, match="column 'a' holds infinity"):
        duckdb.connect().from_arrow(clf.predict_proba([frame, bad])).write_parquet(str(out))
    assert not out.exists()


def test_point_estimates_and_unfitted_classifiers_refuse_before_reading():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4], "y": [0, 1, 0, 1]})
    clf = bg.NaiveBayes(inference="mle").fit(X, y="y")
    with pytest.raises(errors.NoAttribute, match="predict_interval needs a posterior"):
        clf.predict_interval([X])
    with pytest.raises(AttributeError, match="not fitted yet"):
        bg.NaiveBayes().predict_proba([X])


def test_columns_match_by_name_or_by_position(rng):
    X = rng.normal(size=(40, 2))
    clf = bg.NaiveBayes().fit(X, np.arange(40) % 2)
    for names in (["x0", "x1"], ["p", "q"]):
        stream = clf.predict_proba([pd.DataFrame(X, columns=names)]).read_all().to_pandas()
        np.testing.assert_allclose(stream, clf.predict_proba(X), atol=1e-12)
    clf.fit(pd.DataFrame(X, columns=["p", "q"]), np.arange(40) % 2)
    with pytest.raises(errors.InvalidData, match="has none of the columns that the model reads"):
        clf.predict_proba([pd.DataFrame(X)]).read_all()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")
def test_other_columns_are_ignored_and_absent_ones_missing(rng):
    frame, clf = small(rng)
    X = frame.drop(columns=["y", "b"])
    with pytest.warns(errors.CountsAsMissing):
        expected = clf.predict_proba(X)
    found = clf.predict_proba([X.assign(key="k")]).read_all().to_pandas()
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_labels_that_are_written_as_numbers_match_levels_of_text(tmp_path):
    frame = pd.DataFrame({"code": ["007", "008"] * 20, "y": [0, 1] * 20})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    clf = bg.NaiveBayes().fit(frame, y="y")
    found = clf.predict_proba(tmp_path / "rows.csv").read_all().to_pandas()
    np.testing.assert_allclose(found, clf.predict_proba(frame[["code"]]), atol=1e-12)


def test_source_without_rows_has_an_empty_answer(rng):
    frame, clf = small(rng)
    assert clf.predict_proba([frame[:0]]).read_all().num_rows == 0
    parts = dataclasses.replace(in_parts([frame]), part_rows=7)
    assert clf.predict_proba(parts).read_all().num_rows == 40
