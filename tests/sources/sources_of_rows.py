"""Tables, what fits them, and every kind of source of the same rows."""

import dataclasses

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from pyarrow import csv, dataset, feather, parquet

import bayesgen as bg
from bayesgen.sources import source_of

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


HEAD = 50
"""Rows of a cluster that decide on blocks and origins in tests: fewer than a partition has."""


def uneven(shape, rng):
    """Return a table with weights, and a classifier; what comes late comes after the head."""
    frame, clf = SHAPES[shape](rng)
    return frame.assign(w=rng.integers(0, 3, len(frame)).astype(float)), clf


def fitted(clf, frame):
    """Return the probabilities of the weighted fit to the whole table."""
    X = frame.drop(columns=["y", "w"])
    return clf.fit(X, frame["y"], frame["w"]).predict_proba(X)


def small(rng, n=40):
    """Return the first rows of numbers, and a classifier that was fitted to all of them."""
    frame, clf = numbers(rng)
    clf.fit(frame, y="y")
    return frame[:n].set_axis(np.arange(n) * 3 + 7), clf


def as_columns(values):
    """Return an array of shape (row, class, end) as columns: those of one end together."""
    return values.transpose(0, 2, 1).reshape(len(values), -1)


def arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


class Exported:
    """A stream that speaks Arrow's protocol alone."""

    def __init__(self, frame):
        self.table = arrow(frame)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


def one_file(frame, path):
    parquet.write_table(arrow(frame), path / "rows.parquet", row_group_size=90)
    return path / "rows.parquet"


def arrow_file(frame, path):
    feather.write_feather(arrow(frame), path / "rows.arrow")
    return str(path / "rows.arrow")


def csv_file(frame, path):
    csv.write_csv(arrow(frame), path / "rows.csv")
    return path / "rows.csv"


def folder(frame, path):
    for i in range(4):
        parquet.write_table(arrow(frame).slice(i * 100, 100), path / f"{i}.parquet")
    return path


def halves(frame):
    return [frame[:250], frame[250:]]


SOURCES = {
    "a Parquet file": (one_file, r"file '.*rows\.parquet', rows 270 to 352"),
    "an Arrow file": (arrow_file, r"file '.*rows\.arrow', rows 249 to 331"),
    "a CSV file": (csv_file, r"file '.*rows\.csv', rows 249 to 331"),
    "a folder": (folder, r"file '.*3\.parquet', rows 0 to 82"),
    "a pattern": (
        lambda f, p: str(folder(f, p) / "*.parquet"),
        r"file '.*3\.parquet', rows 0 to 82",
    ),
    "a Dataset": (lambda f, p: dataset.dataset(folder(f, p)), r"part \d, rows 300 to 382"),
    "a RecordBatchReader": (lambda f, _: arrow(f).to_reader(130), "part 2, rows 260 to 342"),
    "an Arrow stream": (lambda f, _: Exported(f), r"part \d, rows 249 to 331"),
    "a LazyFrame": (lambda f, p: pl.scan_parquet(one_file(f, p)), r"part \d, rows 249 to 331"),
    "a relation": (
        lambda f, p: duckdb.connect().read_parquet(str(one_file(f, p))),
        r"part \d, rows 270 to 352",
    ),
    "a list": (lambda f, _: halves(f), "part 1, rows 0 to 82"),
    "an iterator": (lambda f, _: iter(halves(f)), "part 1, rows 0 to 82"),
    "a function": (lambda f, _: lambda: map(pl.from_pandas, halves(f)), "part 1, rows 0 to 82"),
    "a Dask DataFrame": (
        lambda f, _: dd.from_pandas(f, npartitions=4),
        "partition 3, rows 0 to 99",
    ),
}
"""Kind of source -> what makes one of a frame and a folder, and the part that holds its row 317."""


def in_parts(X, rows=83):
    """Return a source that is read in small parts."""
    return dataclasses.replace(source_of(X), part_rows=rows)
