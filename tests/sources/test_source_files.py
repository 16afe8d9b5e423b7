"""Files: their columns, types and dialects, and what is said of those that cannot be read."""

import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, parquet

from bayesgen.errors import InvalidData, RecognizedFormat
from bayesgen.sources import source_of
from bayesgen.sources.files import file_source

ARROW = pa.table({"a": np.arange(500) / 3, "b": ["u", None, "v", "w"] * 125, "c": range(500)})


def columns(path, kinds=None, **options):
    """Return the cells of the files at a path, part by part."""
    return [part.frame.to_pydict() for part in file_source(path, **options).parts(kinds)]


def test_files_widen_types_and_name_missing_columns(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2], "b": ["u", "v"]}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"a": [1.5]}), tmp_path / "1.parquet")
    with pytest.warns(UserWarning, match=r"1.parquet' lacks column 'b'"):
        assert columns(tmp_path) == [{"a": [1.0, 2.0], "b": ["u", "v"]}, {"a": [1.5], "b": [None]}]


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_folders_of_partitions_are_columns(ending, tmp_path):
    for k in (1, 2):
        (tmp_path / f"k={k}").mkdir()
        rows, path = pd.DataFrame({"a": [k + 0.5]}), tmp_path / f"k={k}" / f"x.{ending}"
        rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)
    (tmp_path / "_SUCCESS").touch()
    assert columns(tmp_path) == [{"a": [1.5], "k": [1]}, {"a": [2.5], "k": [2]}]
    assert columns(tmp_path, {"k": "number"}) == [{"k": [1]}, {"k": [2]}]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [("1", "2.5", [1.0, 2.5]), ("", "7", [None, 7]), ("true", "false", [True, False])],
)
def test_csv_columns_have_one_type_in_all_files(first, second, found, tmp_path):
    for i, cell in enumerate((first, second)):
        (tmp_path / f"{i}.csv").write_text(f"a,b\n{cell},0\n")
    assert [part["a"][0] for part in columns(tmp_path)] == found


def test_csv_cells_are_read_by_the_kind_that_is_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("a,b,c\n007,1,x\n,2,y\n")
    (tmp_path / "b.csv").write_text("a,b,c\nx,3,1\n")
    found = columns(tmp_path, {"a": "text", "b": "number"})
    assert found == [{"a": ["007", None], "b": [1.0, 2.0]}, {"a": ["x"], "b": [3.0]}]


@pytest.mark.parametrize(
    ("text", "kinds", "options", "found"),
    [
        (
            ' a ,b\n1 ," x "\n  , y\n NA,  \n',
            None,
            {},
            {"a": [1, None, None], "b": ["x", "y", None]},
        ),
        (
            "a,b\n1, x\n ,y \n",
            {"a": "number", "b": "text"},
            {},
            {"a": [1.0, None], "b": ["x", "y"]},
        ),
        ("a,b\n  , true\n2,NA \n", None, {}, {"a": [None, 2], "b": ["true", None]}),
        (
            "a;b\n1,5 ;  \n ; 2,5\n",
            None,
            {"separator": ";", "decimal": ","},
            {"a": [1.5, None], "b": [None, 2.5]},
        ),
        ("a,b\n ,1\nx,2\n", None, {}, {"a": [None, "x"], "b": [1, 2]}),
    ],
)
def test_blanks_around_csv_cells_and_names_are_no_part_of_them(
    text, kinds, options, found, tmp_path
):
    (tmp_path / "a.csv").write_text(text)
    assert columns(tmp_path / "a.csv", kinds, **options) == [found]


def test_another_separator_is_recognized_and_said(tmp_path):
    (tmp_path / "a.csv").write_text("a;b\n1,5;2\n")
    with pytest.warns(RecognizedFormat, match="separated by semicolons|follow a comma"):
        assert columns(tmp_path / "a.csv") == [{"a": [1.5], "b": [2]}]
    (tmp_path / "a.tsv").write_text("a\tb\n1.5\t2\n")
    assert columns(tmp_path / "a.tsv") == [{"a": [1.5], "b": [2]}]


def test_blanks_around_cells_that_were_declared_missing(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n ? ,x\n3, ?\n")
    assert columns(tmp_path / "a.csv", missing=("?",)) == [{"a": [None, 3], "b": ["x", None]}]


def test_names_that_differ_by_blanks_are_one(tmp_path):
    (tmp_path / "a.csv").write_text("a, a\n1,2\n")
    with pytest.raises(InvalidData, match="more than one column named 'a'"):
        columns(tmp_path / "a.csv")


def test_only_the_columns_that_are_asked_for_are_read(tmp_path):
    parquet.write_table(ARROW, tmp_path / "rows.parquet")
    (part,) = columns(tmp_path / "rows.parquet", {"c": "number", "b": "text"})
    assert sorted(part) == ["b", "c"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a,y\n1,p\nx,q\n3,p\n", "row 1: column 'a' holds 'x', and is read as numbers"),
        ("a,y\n1,p\n\n2,p\n3,p,q\n", r"x\.csv' has 2 columns, .* in 1 row: 3 on line 5"),
        ('a,y\n"1\n0",p\n\n2\n3,p,q\n', r"in 2 rows: 1 on line 5, 3 on line 6\. Put"),
        ("", r"cannot read .*x\.csv' as a table: CSV parse error: Empty CSV file"),
        ("a,a\n1,2\n", "more than one column named 'a'"),
    ],
)
def test_bad_csv_is_one_sentence_with_its_row(text, sentence, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(text)
    with pytest.raises(InvalidData, match=sentence) as caught:
        columns(path, {"a": "number"})
    assert "\n" not in str(caught.value)


def test_later_cell_of_another_type_is_named(tmp_path):
    path, dialect = tmp_path / "rows.csv", {"separator": ";", "decimal": ","}
    path.write_text("a;b\n" + "7;1,5\n" * 1_000_000 + "8,25;2\n")
    sentence = r"row 1,000,000: column 'a' holds '8,25', and is read as whole numbers"
    with pytest.raises(InvalidData, match=sentence):
        columns(path, **dialect)
    last = columns(path, {"a": "number", "b": "number"}, **dialect)[-1]
    assert (last["a"][-1], last["b"][-1]) == (8.25, 2.0)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('1,p\n2,"q\n3,p\n4,q\n', 3),
        ('1,p\n2,"vir', 3),
        ('1,"p\n\n2,"q"\n3,p\n', 2),
        ('"1\n",p\n5,"q"\n2,"p\n3,q\n', 5),
        ('1,p\n2,"q\n3,p\n4,"q\n5,p\n', "3, 5"),
        ('1,"p"\n2,"5" pipe"\n3,q', 3),
        ('1,p\n5",q\n3,"p ""q"""\n', None),
        ('1,"p\n\n"\n2,q\n3,"r"', None),
    ],
)
def test_quoted_cells_swallow_no_rows(rows, line, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"a,y\n{rows}")
    for kinds in (None, {"a": "text"}):
        if line is None:
            assert sum(map(len, source_of(path).parts(kinds))) == 3
            continue
        with pytest.raises(InvalidData, match=f"begin.? on lines? {line} of .*rows.csv"):
            columns(path, kinds)


def test_damaged_files_are_named(tmp_path):
    whole = tmp_path / "0.parquet"
    parquet.write_table(ARROW, whole)
    short = tmp_path / "1.parquet"
    short.write_bytes(whole.read_bytes()[:3000])
    with pytest.raises(InvalidData, match=re.escape(repr(str(short)))):
        source_of(tmp_path)
    pages = bytearray(whole.read_bytes())
    pages[8:1500] = bytes(1492)
    short.write_bytes(pages)
    with pytest.raises(InvalidData, match=re.escape(repr(str(short)))):
        columns(tmp_path)
    parquet.write_table(pa.table({"a": ["one"]}), short)
    with pytest.raises(InvalidData, match=r"1\.parquet'.*Field a .* types: double vs string\."):
        columns(tmp_path, {"a": "any"})


def test_errors_of_engines_are_sentences(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2], "y": ["p", "q"]}), tmp_path / "0.parquet")
    text = tmp_path / "1.parquet"
    parquet.write_table(pa.table({"a": ["one", "two"], "y": ["p", "q"]}), text)
    files = str(tmp_path / "*.parquet")

    def breaks():
        yield ARROW.to_batches()[0]
        raise OSError("the network is gone")

    for made, sentence in (
        (lambda: dataset.dataset(tmp_path), "the Dataset.*: .* as a scalar of type int64"),
        (lambda: pl.scan_parquet(files), "the LazyFrame.*: .*column a"),
        (lambda: duckdb.connect().read_parquet(files), 'the relation.*: .*column "a"'),
        (
            lambda: pa.RecordBatchReader.from_batches(ARROW.schema, breaks()),
            "the RecordBatchReader after 500 rows: the network is gone. If these",
        ),
    ):
        with pytest.raises(InvalidData, match=f"^cannot read {sentence}") as caught:
            list(source_of(made()).parts())
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is not None
    text.write_bytes(text.read_bytes()[:300])
    for made in (lambda: dataset.dataset(tmp_path), lambda: pl.scan_parquet(text)):
        with pytest.raises(InvalidData, match=r"^cannot read the \w+: .*(magic bytes|PAR1)"):
            source_of(made())


def test_repeated_names_are_refused(tmp_path):
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(InvalidData, match=r"a\.parquet.*duplicate field names"):
        source_of(tmp_path / "a.parquet")
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(InvalidData, match="more than one column named 'a'"):
        list(source_of([frame, frame]).parts())
