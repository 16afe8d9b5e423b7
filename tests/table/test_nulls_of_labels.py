"""Whole numbers beside nulls stay whole numbers."""

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from bayesgen.table import read_target

LABELS = {
    "array": pd.array([0, 1, pd.NA]),
    "series": pd.Series([0, 1, pd.NA], dtype="Int64"),
    "frame": pd.DataFrame({"y": pd.array([0, 1, pd.NA])}),
    "polars": pl.Series([0, 1, None]),
    "pyarrow": pa.array([0, 1, None]),
    "chunks": pa.chunked_array([[0, 1, None]]),
}


@pytest.mark.parametrize("name", LABELS)
def test_whole_numbers_beside_nulls_are_classes(name):
    found = read_target(LABELS[name])
    assert found.classes.dtype.kind == "i" and found.classes.tolist() == [0, 1]
    assert found.there.tolist() == [True, True, False]
