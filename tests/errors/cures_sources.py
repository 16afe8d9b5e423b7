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
    for name in ("types", "both", "good"):
        (path / name).mkdir()
    good().to_csv(path / "good.csv", index=False)
    good().to_csv(path / "both" / "a.csv", index=False)
    good().to_parquet(path / "both" / "b.parquet")
    good().to_parquet(path / "types" / "a.parquet")
    good(dose=list("abcdef")).to_parquet(path / "types" / "b.parquet")
    good().to_parquet(path / "good" / "a.parquet")
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


CURES = """
fit(good()).predict_proba(folder() / "cells.csv").read_all()
    missing=['?'])
    fit(good()).predict_proba(bg.file_source(folder() / "cells.csv", missing=["?"])).read_all()
fit(np.ones((6, 2)))
    fit(X, y)
    fit(np.arange(12.0).reshape(6, 2), Y)
fit([good()], sample_weight=np.ones(6))
    sample_weight='column'
    fit([good().assign(w=1.0)], sample_weight="w")
fit(parts(z=1.0))
    X.drop(columns=['z'])
    fit([good(), good(z=1.0).drop(columns=["z"])])
fit([good(), [[1, 2]]])
    pandas.DataFrame(part)
    fit([good(), pd.DataFrame(good())])
"""
