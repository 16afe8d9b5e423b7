"""Fits to sources, by the engines themselves, equal fits to the whole table."""

import dataclasses

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import csv, dataset, parquet

import bayesgen as bg
from bayesgen import errors
from bayesgen.table.sources import source_of

N = 400


def numbers(rng):
    """Return numbers far from 0, which depend on the class."""
    y = rng.choice(["no", "yes"], N)
    X = 1e6 + rng.normal(size=(N, 3)) @ rng.normal(size=(3, 3)) + (y == "yes")[:, None]
    return pd.DataFrame(X, columns=list("abc")).assign(y=y), bg.QDA(random_state=0)


def late_levels(rng):
    """Return levels and whole numbers, some levels and a class only in the last rows."""
    X = {"s": rng.choice(["u", "v", "w"], N), "k": rng.integers(0, 4, N), "t": rng.random(N) < 0.3}
    frame = pd.DataFrame(X).assign(y=rng.integers(0, 2, N))
    frame.loc[N - 9 :, "s"], frame.loc[N - 7 :, "y"], frame.loc[N - 4 :, "k"] = "late", 2, 9
    likelihood = {("s", "t"): bg.Categorical(), "k": bg.Categorical()}
    return frame, bg.NaiveBayes(likelihood, random_state=0)


def missing_patterns(rng):
    """Return numbers and levels with missing cells, one column missing in the first rows."""
    frame, _ = numbers(rng)
    frame = frame.assign(s=rng.choice(["u", "v"], N))
    for j, name in enumerate("abc"):
        frame.loc[rng.random(N) < 0.1 * (j + 1), name] = np.nan
    frame.loc[:60, "c"], frame.loc[::5, "s"] = np.nan, None
    blocks = {("a", "b", "c"): bg.MultivariateNormal(), "s": bg.Categorical()}
    clf = bg.GenerativeClassifier(
        blocks, inference="expected", missing="informative", random_state=0
    )
    return frame, clf


SHAPES = {"numbers": numbers, "late levels": late_levels, "missing patterns": missing_patterns}


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def polars_query(frame, path):
    parquet.write_table(arrow(frame), path / "rows.parquet", row_group_size=90)
    return pl.scan_parquet(path / "rows.parquet")


def duckdb_relation(frame, path):
    parquet.write_table(arrow(frame), path / "rows.parquet", row_group_size=90)
    return duckdb.connect().read_parquet(str(path / "rows.parquet"))


def csv_file(frame, path):
    csv.write_csv(arrow(frame), path / "rows.csv")
    return path / "rows.csv"


def parquet_folder(frame, path):
    table = arrow(frame)
    for i in range(4):
        parquet.write_table(table.slice(i * 100, 100), path / f"{i}.parquet")
    return path


ENGINES = {
    "polars": polars_query,
    "duckdb": duckdb_relation,
    "csv": csv_file,
    "folder": parquet_folder,
    "dataset": lambda frame, path: dataset.dataset(parquet_folder(frame, path)),
    "reader": lambda frame, _: arrow(frame).to_reader(130),
    "frames": lambda frame, _: (frame[i : i + 77] for i in range(0, N, 77)),
}


def in_parts(X, rows=83):
    """Return a source that is read in small parts."""
    return dataclasses.replace(source_of(X), part_rows=rows)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("shape", SHAPES)
def test_fit_of_a_source_equals_fit_of_the_table(shape, engine, rng, tmp_path):
    frame, clf = SHAPES[shape](rng)
    X, y = frame.drop(columns="y"), frame["y"]
    expected = clf.fit(X, y).predict_proba(X)
    found = clf.fit(in_parts(ENGINES[engine](frame, tmp_path)), y="y")
    np.testing.assert_allclose(found.predict_proba(X), expected, rtol=0, atol=1e-10)
    assert found.classes_.tolist() == np.unique(y).tolist()
    assert found.feature_names_in_.tolist() == list(X)
    assert found.n_features_in_ == X.shape[1]


@pytest.mark.parametrize(
    "make", [lambda f: f, arrow, pl.from_pandas], ids=["pandas", "arrow", "pl"]
)
def test_labels_and_weights_may_be_columns_of_a_table(make, rng):
    frame, clf = numbers(rng)
    frame["w"] = rng.integers(0, 3, N).astype(float)
    X = frame[list("abc")]
    expected = clf.fit(X, frame["y"], frame["w"]).predict_proba(X)
    for data in (make(frame), in_parts([make(frame[:99]), make(frame[99:])])):
        found = clf.fit(data, y="y", sample_weight="w").predict_proba(X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    given = clf.fit(make(frame.drop(columns="w")), "y", frame["w"].to_numpy())
    np.testing.assert_allclose(given.predict_proba(X), expected, rtol=0, atol=1e-10)


def test_evidence_and_options_are_those_of_the_table(rng):
    frame, _ = late_levels(rng)
    X, y = frame.drop(columns="y"), frame["y"]
    for clf in (bg.NaiveBayes(inference="mle"), bg.NaiveBayes(bg.Categorical())):
        whole = clf.fit(X, y).posterior_.log_classes()
        np.testing.assert_allclose(clf.fit([frame], y="y").posterior_.log_classes(), whole)
    evidence = clf.fit(X, y).log_evidence_
    assert clf.fit(in_parts([frame]), y="y").log_evidence_ == pytest.approx(evidence, rel=1e-12)


GOOD = pd.DataFrame({"a": [1.0, 2, 3, 4], "s": list("uvuv"), "y": list("pqpq")})
BAD = {
    "infinity": ({"a": [1, 2, np.inf, 4]}, errors.InvalidData, "part 1, row 2: column 'a' holds"),
    "text": ({"a": list("wxyz")}, errors.InvalidData, "part 1, rows 0 to 3: column 'a' holds"),
    "numbers": ({"s": [1, 2, 3, 4]}, errors.InvalidData, "part 1, rows 0 to 3: column 's' holds"),
    "another column": (
        {"z": 1},
        errors.InvalidData,
        "part 1 has the column 'z', which the first",
    ),
    "no label": ({"y": ["p", None, "q", "q"]}, errors.InvalidData, "part 1, row 1: column 'y'"),
    "other labels": ({"y": [1, 2, 1, 2]}, errors.InvalidData, "part 1, .*label 1 here, and 'p'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_rows_are_named_by_part_row_and_column(name):
    columns, kind, sentence = BAD[name]
    clf = bg.NaiveBayes().fit(GOOD, y="y")
    before = dict(vars(clf))
    with pytest.raises(kind, match=f"^{sentence}"):
        clf.fit([GOOD, GOOD.assign(**columns)], y="y")
    assert vars(clf) == before


def test_row_numbers_are_those_of_the_file(tmp_path):
    frame = pd.DataFrame({"a": np.arange(300.0), "y": [0, 1] * 150})
    frame.loc[217, "a"] = -1.0
    parquet.write_table(arrow(frame), tmp_path / "x.parquet")
    clf = bg.NaiveBayes(bg.Poisson())
    with pytest.raises(errors.InvalidData, match=r"^file '.*x\.parquet', row 217: Negative values"):
        clf.fit(in_parts(tmp_path), y="y")


@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")
def test_parts_may_lack_columns_rows_classes_and_weight():
    parts = [GOOD[:0], GOOD[::2], GOOD.drop(columns="a"), GOOD[:0], GOOD[1::2]]
    whole = pd.concat(parts)
    expected = bg.NaiveBayes().fit(whole, y="y").predict_proba(GOOD[["a", "s"]])
    found = bg.NaiveBayes().fit(parts, y="y").predict_proba(GOOD[["a", "s"]])
    np.testing.assert_allclose(found, expected, atol=1e-12)
    weighted = [GOOD.assign(w=0), GOOD.assign(w=[1, 1, 0, 2])]
    found = bg.NaiveBayes().fit(weighted, y="y", sample_weight="w")
    assert found.state_.statistics.count.tolist() == [1, 3]
    with pytest.raises(errors.InvalidData, match="zero in every row"):
        bg.NaiveBayes().fit(weighted[:1], y="y", sample_weight="w")


def test_interrupted_fit_leaves_the_classifier_as_it_was():
    def frames():
        yield GOOD
        raise KeyboardInterrupt

    clf = bg.NaiveBayes().fit(GOOD, y="y")
    before = dict(vars(clf))
    with pytest.raises(KeyboardInterrupt):
        clf.fit(frames(), y="y")
    assert vars(clf) == before


@pytest.mark.parametrize(
    "clf",
    [
        bg.NaiveBayes(temper="learn"),
        bg.NaiveBayes(bins=4),
        bg.NaiveBayes({"a": bg.KernelDensity(), "s": bg.Categorical()}),
        bg.GenerativeClassifier(story=print),
    ],
)
def test_fits_that_need_all_rows_say_so(clf):
    with pytest.raises(errors.InvalidData, match="needs all rows in memory"):
        clf.fit([GOOD], y="y")


def test_progress_bar_counts_rows(capsys, monkeypatch):
    from bayesgen.estimators.sources import fit

    shown = {}

    def bar(total, progress, **options):
        shown.update(total=total, progress=progress, **options)
        return progress_bar(total, False, **options)

    progress_bar = fit.progress_bar
    monkeypatch.setattr(fit, "progress_bar", bar)
    bg.NaiveBayes().fit(dataset.dataset(arrow(GOOD)), y="y")
    assert (shown["total"], shown["progress"], shown["unit"]) == (4, "auto", "row")
    assert capsys.readouterr().err == ""
