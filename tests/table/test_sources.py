"""Sources of rows: every engine yields the rows of the table, in parts that have names."""

import dataclasses
import re

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, parquet

from bayesgen.errors import InvalidSource, InvalidTable
from bayesgen.table.sources import csv_files, source_of
from bayesgen.table.sources.csv_files import CsvFiles

ROWS = 500
FRAME = pd.DataFrame(
    {"a": np.arange(ROWS) / 3, "b": ["u", None, "v", "w"] * (ROWS // 4), "c": np.arange(ROWS) % 7}
)
ARROW = pa.Table.from_pandas(FRAME, preserve_index=False)


class Exported:
    """A stream that speaks Arrow's protocol alone."""

    def __arrow_c_stream__(self, requested_schema=None):
        return ARROW.__arrow_c_stream__(requested_schema)


def engines(path):
    """Return every kind of source of the same rows, by name."""
    (path / "folder").mkdir()
    for i, start in enumerate(range(0, ROWS, 200)):
        parquet.write_table(ARROW.slice(start, 200), path / "folder" / f"{i}.parquet")
    parquet.write_table(ARROW, path / "rows.parquet", row_group_size=120)
    feather.write_feather(ARROW, path / "rows.arrow")
    FRAME.to_csv(path / "rows.csv", index=False)
    halves = [FRAME[:250], FRAME[250:]]
    return {
        "a Parquet file": path / "rows.parquet",
        "an Arrow file": str(path / "rows.arrow"),
        "a CSV file": path / "rows.csv",
        "a folder": path / "folder",
        "a pattern": str(path / "folder" / "*.parquet"),
        "a Dataset": dataset.dataset(path / "folder"),
        "a RecordBatchReader": ARROW.to_reader(70),
        "an Arrow stream": Exported(),
        "a LazyFrame": pl.from_arrow(ARROW).lazy(),
        "a relation": duckdb.from_arrow(ARROW),
        "a list": halves,
        "an iterator": iter(halves),
        "a function": lambda: iter([pl.from_pandas(half) for half in halves]),
    }


NAMES = (
    *("a Parquet file", "an Arrow file", "a CSV file", "a folder", "a pattern", "a Dataset"),
    *("a RecordBatchReader", "an Arrow stream", "a LazyFrame", "a relation"),
    *("a list", "an iterator", "a function"),
)
ONCE = ("a RecordBatchReader", "an iterator")


@pytest.mark.parametrize("name", NAMES)
def test_source_yields_all_rows_in_bounded_parts(name, tmp_path):
    source = dataclasses.replace(source_of(engines(tmp_path)[name]), part_rows=90)
    parts = list(source.parts())
    assert max(map(len, parts)) <= 90
    assert source.names in (None, ("a", "b", "c"))
    assert source.n_rows in (None, ROWS)
    found = pa.concat_tables([pa.table(pa.Table.from_pandas(_pandas(part))) for part in parts])
    assert found.select(["a", "b", "c"]).to_pydict() == ARROW.to_pydict()
    assert source.once == (name in ONCE)
    if not source.once:
        assert sum(map(len, source.parts())) == ROWS


def _pandas(part):
    frame = part.frame
    frame = frame.to_pandas() if hasattr(frame, "to_pandas") else frame
    return frame.astype({"b": object}).reset_index(drop=True)


def test_names_of_all_engines_are_tested(tmp_path):
    assert tuple(engines(tmp_path)) == NAMES


def test_tables_in_memory_are_no_sources():
    for table in (FRAME, ARROW, pl.from_pandas(FRAME), FRAME.to_numpy(), [[1.0], [2.0]], None, 3):
        assert source_of(table) is None


def test_parts_are_named_by_file_and_row_or_by_number(tmp_path):
    folder = engines(tmp_path)["a folder"]
    found = [(p.name, p.start, len(p)) for p in source_of(folder).parts()]
    files = [f"file {str(folder / name)!r}" for name in ("0.parquet", "1.parquet", "2.parquet")]
    assert found == [(files[0], 0, 200), (files[1], 0, 200), (files[2], 0, 100)]
    stream = dataclasses.replace(source_of(ARROW.to_reader(300)), part_rows=200)
    starts = [(p.name, p.start) for p in stream.parts()]
    assert starts == [("part 0", 0), ("part 0", 200), ("part 1", 300)]


@pytest.mark.parametrize(("row", "found"), [(0, 0), (41, 41), (99, 99)])
def test_first_row_that_fails_is_found_by_bisection(row, found):
    part = next(source_of([FRAME[:100]]).parts())

    def check(some):
        if (some.frame["a"] == FRAME["a"][row]).any():
            raise InvalidTable("found")

    assert part.first_row(check, InvalidTable) == found


def test_no_row_is_blamed_where_every_row_fails_or_none():
    def always(some):
        raise InvalidTable("always")

    part = next(source_of([FRAME[:100]]).parts())
    assert part.first_row(always, InvalidTable) is None
    assert part.first_row(len, InvalidTable) is None


def test_files_widen_types_and_name_missing_columns(tmp_path):
    parquet.write_table(pa.table({"a": [1, 2], "b": ["u", "v"]}), tmp_path / "0.parquet")
    parquet.write_table(pa.table({"a": [1.5]}), tmp_path / "1.parquet")
    with pytest.warns(UserWarning, match=r"1.parquet' lacks column 'b'"):
        parts = [part.frame.to_pydict() for part in source_of(tmp_path).parts()]
    assert parts == [{"a": [1.0, 2.0], "b": ["u", "v"]}, {"a": [1.5], "b": [None]}]


def test_folders_of_partitions_are_columns(tmp_path):
    for k in (1, 2):
        (tmp_path / f"k={k}").mkdir()
        parquet.write_table(pa.table({"a": [float(k)]}), tmp_path / f"k={k}" / "x.parquet")
    (tmp_path / "_SUCCESS").touch()
    parts = [part.frame.to_pydict() for part in source_of(tmp_path).parts()]
    assert parts == [{"a": [1.0], "k": [1]}, {"a": [2.0], "k": [2]}]


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        ("1", "2.5", [1.0, 2.5]),
        ("1", "red", ["1", "red"]),
        ("", "7", [None, 7]),
        ("true", "red", ["true", "red"]),
        ("2", "true", ["2", "true"]),
    ],
)
def test_csv_columns_have_one_type_in_all_files(first, second, found, tmp_path):
    for i, cell in enumerate((first, second)):
        (tmp_path / f"{i}.csv").write_text(f"a,b\n{cell},0\n")
    parts = source_of(tmp_path).parts()
    assert [part.frame["a"].to_pylist()[0] for part in parts] == found


def test_csv_cells_are_read_by_the_kind_that_is_asked_for(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n007,1\n,2\n")
    files = CsvFiles((str(tmp_path / "a.csv"),))
    ((_, start, table),) = files.tables({"a": "text", "b": "number"})
    assert (start, table.to_pydict()) == (0, {"a": ["007", None], "b": [1.0, 2.0]})


PADDED = [
    # text of the file, kinds asked for, columns
    (' a ,b\n1 ," x "\n  , y\n NA,  \n', None, {"a": [1, None, None], "b": ["x", "y", None]}),
    ("a,b\n1, x\n ,y \n", {"a": "number", "b": "text"}, {"a": [1.0, None], "b": ["x", "y"]}),
    ("a,b\n  , true\n2,NA \n", None, {"a": [None, 2], "b": [True, None]}),
    ("a,b\n  , true\n2, \n", {"b": "boolean"}, {"b": [True, None]}),
    ("a;b\n1,5 ;\t\n ; 2,5\n", None, {"a": [1.5, None], "b": [None, 2.5]}),
    ("a,b\n ,1\nx,2\n", None, {"a": [None, "x"], "b": [1, 2]}),
    ("a,b\n  ,1\n  ,2\n", None, {"a": [None, None], "b": [1, 2]}),
]


@pytest.mark.parametrize(("text", "kinds", "found"), PADDED)
def test_blanks_around_csv_cells_and_names_are_no_part_of_them(text, kinds, found, tmp_path):
    (tmp_path / "a.csv").write_text(text)
    ((_, _, table),) = CsvFiles((str(tmp_path / "a.csv"),)).tables(kinds)
    assert table.to_pydict() == found


def test_blanks_around_cells_that_were_declared_missing(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n ? ,x\n3, ?\n")
    ((_, _, table),) = CsvFiles((str(tmp_path / "a.csv"),), missing=("?",)).tables(None)
    assert table.to_pydict() == {"a": [None, 3], "b": ["x", None]}


@pytest.mark.parametrize("kinds", [None, {"a": "number", "b": "text"}])
def test_blank_cells_after_many_rows_lose_and_repeat_none(kinds, tmp_path, monkeypatch):
    """Where a block has the first blank cell, reading starts again after the blocks before it."""
    monkeypatch.setattr(csv_files, "BLOCK_BYTES", 64)
    cells = [str(i) for i in range(100)]
    cells[60], cells[80] = "  ", " NA"
    (tmp_path / "a.csv").write_text("a,b\n" + "".join(f"{cell}, x{cell}\n" for cell in cells))
    tables = [table for _, _, table in CsvFiles((str(tmp_path / "a.csv"),)).tables(kinds)]
    assert len(tables) > 5
    numbers = [i if cells[i].isdigit() else None for i in range(100)]
    assert [a for table in tables for a in table.column("a").to_pylist()] == numbers


def test_a_blank_cell_hides_no_cell_of_another_kind(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n  ,1\n3,2\nlow,3\n")
    with pytest.raises(InvalidSource, match=r"column 'a' of .* holds 'low'"):
        list(CsvFiles((str(tmp_path / "a.csv"),)).tables({"a": "number"}))


def test_names_that_differ_by_blanks_are_one(tmp_path):
    (tmp_path / "a.csv").write_text("a, a\n1,2\n")
    with pytest.raises(InvalidTable, match="more than one column named 'a'"):
        CsvFiles((str(tmp_path / "a.csv"),)).names()


@pytest.mark.parametrize("name", ["a Parquet file", "an Arrow file", "a CSV file", "a folder"])
def test_only_the_columns_that_are_asked_for_are_read(name, tmp_path):
    for part in source_of(engines(tmp_path)[name]).parts({"c": "number", "b": "text"}):
        assert sorted(part.names) == ["b", "c"]


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('1,p\n2,"q\n3,p\n4,q\n', 3),
        ('1,p\n2,"vir', 3),
        ('1,"p\n\n2,"q"\n3,p\n', 2),
        ('"1\n",p\n5,"q"\n2,"p\n3,q\n', 5),
        ('1,p\n5",q\n3,"p ""q"""\n', None),
        ('1,"p"\n2,"5" pipe"\n3,q', None),
        ('1,"p\n\n"\n2,q\n3,"r"', None),
    ],
)
@pytest.mark.parametrize("kinds", [None, {"a": "text"}])
def test_quoted_cells_swallow_no_rows(rows, line, kinds, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text(f"a,y\n{rows}")
    if line is None:
        assert sum(map(len, source_of(path).parts(kinds))) == 3
        return
    with pytest.raises(InvalidSource, match=f"that begins in line {line} of .*rows.csv"):
        list(source_of(path).parts(kinds))


def test_damaged_files_are_named(tmp_path):
    whole = tmp_path / "0.parquet"
    parquet.write_table(ARROW, whole)
    short = tmp_path / "1.parquet"
    short.write_bytes(whole.read_bytes()[:3000])
    with pytest.raises(InvalidSource, match=re.escape(repr(str(short)))):
        source_of(tmp_path)
    pages = bytearray(whole.read_bytes())
    pages[8:1500] = bytes(1492)
    short.write_bytes(pages)
    with pytest.raises(InvalidSource, match=re.escape(repr(str(short)))):
        list(source_of(tmp_path).parts())


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
        with pytest.raises(InvalidSource, match=f"^cannot read {sentence}") as caught:
            list(source_of(made()).parts())
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is not None
    text.write_bytes(text.read_bytes()[:300])
    for made in (lambda: dataset.dataset(tmp_path), lambda: pl.scan_parquet(text)):
        with pytest.raises(InvalidSource, match=r"^cannot read the \w+: .*(magic bytes|PAR1)"):
            source_of(made())


def test_repeated_names_are_refused(tmp_path):
    parquet.write_table(pa.table([[1], [2]], names=["a", "a"]), tmp_path / "a.parquet")
    with pytest.raises(InvalidTable, match="more than one column named 'a'"):
        source_of(tmp_path)
    with pytest.raises(InvalidTable, match="more than one column named 'a'"):
        list(source_of([FRAME.set_axis(["a", "a", "c"], axis=1)]).parts())
