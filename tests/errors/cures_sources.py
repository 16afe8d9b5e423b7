"""Sentences about sources of rows, for `cures`: files, queries, streams and iterators."""

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from cures_tables import table
from pyarrow import dataset

import bayesgen as bg

Y = ["sick", "well"] * 3


KEPT: list = []


@cache
def folder():
    """Return a folder of files, some of which cannot be read; it goes with the process."""
    held = tempfile.TemporaryDirectory()
    KEPT.append(held)
    path = Path(held.name)
    for name in ("types", "both", "good", "lacks"):
        (path / name).mkdir()
    good().to_csv(path / "good.csv", index=False)
    good().to_csv(path / "both" / "a.csv", index=False)
    good().to_parquet(path / "both" / "b.parquet")
    good().to_parquet(path / "types" / "a.parquet")
    good(dose=list("abcdef")).to_parquet(path / "types" / "b.parquet")
    good().to_parquet(path / "good" / "a.parquet")
    good().to_parquet(path / "lacks" / "a.parquet")
    good().drop(columns="dose").to_parquet(path / "lacks" / "b.parquet")
    whole = (path / "good" / "a.parquet").read_bytes()
    (path / "short.parquet").write_bytes(whole[: len(whole) // 2])
    good(dose=["1", "2", "?", "4", "5", "6"]).to_csv(path / "cells.csv", index=False)
    (path / "latin.csv").write_bytes(b"x,y\n1,caf\xe9\n2,the\n")
    return path


def written(content):
    """Return the path of a file that holds these bytes."""
    path = folder() / "written.csv"
    path.write_bytes(content)
    return path


def good(**columns):
    return table(**columns).assign(y=Y)


def fit(X, y="y", clf=None, **options):
    return (bg.NaiveBayes() if clf is None else clf).fit(X, y, **options)


def parts(**columns):
    """Return two frames, the second with these columns."""
    return [good(), good().assign(**columns)]


def reader():
    return pa.Table.from_pandas(good(), preserve_index=False).to_reader()


def exhausted():
    rows = reader()
    fit(rows)
    fit(rows)


def shrinking():
    """Return a function of 20,004 rows, more than a stack draws, that has six when called again."""
    sizes, rows = iter([3334, 1]), good()[["dose", "y"]]
    return lambda: iter([pd.concat([rows] * next(sizes))])


WEIGHTED = good().assign(w=[1.0, 2.0, None, 1.0, 1.0, 1.0])
SOURCES = {
    "InvalidSource.unreadable": (
        lambda: fit(folder() / "short.parquet"),
        "Write the file again",
        lambda: fit(folder() / "good" / "a.parquet"),
    ),
    "InvalidSource.engine": (
        lambda: fit(dataset.dataset(folder() / "types")),
        "pass the path of the files",
        lambda: fit(str(folder() / "good" / "*.parquet"), y="y"),
    ),
    "InvalidSource.no_file": (
        lambda: fit(folder() / "goode"),
        "of a folder of them",
        lambda: fit(folder() / "good"),
    ),
    "InvalidSource.several_formats": (
        lambda: fit(folder() / "both"),
        "/*.csv'",
        lambda: fit(str(folder() / "both" / "*.csv")),
    ),
    "InvalidSource.cell": (
        lambda: fit(good()).predict_proba(folder() / "cells.csv").read_all(),
        "polars.scan_csv(path, null_values=['?'])",
        lambda: (
            fit(good())
            .predict_proba(pl.scan_csv(folder() / "cells.csv", null_values=["?"]))
            .collect()
        ),
    ),
    "InvalidSource.not_text": (
        lambda: fit(folder() / "latin.csv"),
        "Convert the file",
        lambda: fit(folder() / "good.csv"),
    ),
    "InvalidSource.no_column": (
        lambda: fit(parts(), "yy"),
        "did you mean 'y'?",
        lambda: fit(parts(), "y"),
    ),
    "InvalidSource.no_features": (
        lambda: fit([good()[["y"]]]),
        "no column besides 'y'",
        lambda: fit([good()[["dose", "y"]]]),
    ),
    "InvalidSource.no_shared_column": (
        lambda: fit(good()).predict_proba([good()[["y"]]]).read_all(),
        "Name them as they were named",
        lambda: fit(good()).predict_proba([good()]).read_all(),
    ),
    "InvalidSource.no_rows": (
        lambda: fit([good()[:0]]),
        "no rows",
        lambda: fit([good()]),
    ),
    "InvalidSource.exhausted": (exhausted, "Create it again", lambda: fit(reader())),
    "InvalidSource.no_names": (
        lambda: fit(np.ones((6, 2))),
        "fit(X, y)",
        lambda: fit(np.arange(12.0).reshape(6, 2), Y),
    ),
    "InvalidSource.weights": (
        lambda: fit([good()], sample_weight=np.ones(6)),
        "sample_weight='column'",
        lambda: fit([good().assign(w=1.0)], sample_weight="w"),
    ),
    "InvalidSource.no_label": (
        lambda: fit([good().assign(y=[None, *Y[1:]])]),
        "Remove these rows",
        lambda: fit([good()[1:]]),
    ),
    "InvalidSource.labels": (
        lambda: fit(parts(y=[0, 1] * 3)),
        "Cast it to text",
        lambda: fit(parts(y=["0", "1"] * 3)),
    ),
    "InvalidSource.open_quote": (
        lambda: fit(written(b'x,y\n1,a\n2,"b\n3,a\n4,b\n')),
        "Close it there",
        lambda: fit(written(b'x,y\n1,a\n2,"b"\n3,a\n4,b\n')),
    ),
    "InvalidSource.utf_16": (
        lambda: fit(written("x,y\n1,a\n2,b\n".encode("utf-16"))),
        "iconv -f utf-16 -t utf-8",
        lambda: fit(written(b"x,y\n1,a\n2,b\n3,a\n4,b\n")),
    ),
    "InvalidSource.workbook": (
        lambda: fit(written(b"PK\x03\x04")),
        "Save its sheet as CSV",
        lambda: fit(written(b"x,y\n1,a\n2,b\n3,a\n4,b\n")),
    ),
    "InvalidSource.frame": (
        lambda: fit([good(), [[1, 2]]]),
        "pandas.DataFrame(part)",
        lambda: fit([good(), pd.DataFrame(good())]),
    ),
    "InvalidSource.read_once": (
        lambda: fit(reader(), clf=bg.StackedClassifier([bg.NaiveBayes()])),
        "a function that returns a new iterator",
        lambda: fit(lambda: iter([good()]), clf=bg.StackedClassifier([bg.NaiveBayes()])),
    ),
    "InvalidSource.changed": (
        lambda: fit(shrinking(), clf=bg.StackedClassifier([bg.NaiveBayes()])),
        "pass the path",
        lambda: fit(folder() / "good", clf=bg.StackedClassifier([bg.NaiveBayes()])),
    ),
    "InvalidSource.kept_rows": (
        lambda: fit([good()], clf=bg.NaiveBayes(power_transform=True)),
        "Fit a sample of the rows as a table",
        lambda: fit(good(), clf=bg.NaiveBayes(power_transform=True)),
    ),
    "IncompletePart.lacks": (
        lambda: fit(folder() / "lacks"),
        "Add the columns",
        lambda: fit(folder() / "good"),
    ),
}
