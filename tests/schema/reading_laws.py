"""The laws that every reading of a column obeys; each raises AssertionError where it is broken."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from reading_cases import Case

import bayesgen as bg
from bayesgen import errors, persist
from bayesgen.schema import NumberForm, PowerTransform, Reading, Schema, as_numbers, in_numbers
from bayesgen.sources.files import file_source
from bayesgen.table import TableColumn, read_table


def encoded(schema: Schema, frame: object, unseen: str = "error") -> np.ndarray:
    return schema.encode(read_table(frame), unseen)["block"]


def decoded(schema: Schema, cells: np.ndarray) -> list[list]:
    columns = schema.blocks["block"]
    return [column.decode(cells[:, j]).tolist() for j, column in enumerate(columns)]


def agree(found: list, expected: list) -> None:
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        missing = [value is None or value != value for value in one]
        assert missing == [value is None or value != value for value in other]
        pairs = [p for p, gap in zip(zip(one, other, strict=True), missing, strict=True) if not gap]
        for a, b in pairs:
            assert a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b), (a, b)


def described(schema: Schema) -> list:
    """Return what rows decide of a schema in whatever order: no origins, no order of levels."""
    found = set()
    for column in schema.blocks["block"]:
        levels = sorted(map(str, (*column.levels, *column.source_levels)))
        facts = type(column), column.reads, levels, column.declared, column.form
        facts += (column.origin is None,)
        found.add(str(facts))
    return sorted(found)


def law_round_trip(case: Case) -> None:
    """Decoding undoes encoding; cells that stand for others are read so again."""
    frame = case.frame(1)
    schema, table = case.learned(frame), read_table(frame)
    cells = encoded(schema, frame)
    if case.own:
        back = read_table(schema.decode({"block": cells}, table.n_rows))
        for old, new in zip(table.columns, back.columns, strict=True):
            assert facts(old) == facts(new)
            np.testing.assert_allclose(old.values, new.values, rtol=1e-12)
        np.testing.assert_allclose(encoded(schema, frame), cells)
    for j, column in enumerate(schema.blocks["block"]):
        source = table.columns[table.names.index(column.reads)]
        values = column.decode(cells[:, j])
        for row in range(table.n_rows):
            if not source.missing[row] or column.kind == "missing":
                assert means(column, source, row, values[row]), (column, row, values[row])


def facts(column: TableColumn) -> tuple:
    return column.name, column.kind, column.levels, column.declared


def means(column: Reading, source: TableColumn, row: int, value: object) -> bool:
    """Return whether a decoded value says what the table says of a row."""
    source = as_numbers(source) if column.original is not column else source
    cell = source.values[row] if source.kind == "number" else source.levels[source.values[row]]
    if column.kind == "missing":
        return value == bool(np.isnan(cell))
    if column.source is not None:
        return value == (cell == column.source_levels[column.code])
    if column.original is not column:  # bins
        if value == "any":
            return True
        word, end = value.split()
        end = float(end)
        upper = {"to": cell <= end, "below": cell < end, "from": cell >= end, "above": cell > end}
        return bool(upper[word])
    return value == (pytest.approx(cell) if isinstance(cell, float) else cell)


def law_union(case: Case) -> None:
    """A union is that of the rows of both, in either order."""
    one, other = case.frame(1), case.frame(2)
    both = pd.concat([one, other], ignore_index=True)
    parts = case.learned(one), case.learned(other)
    if not case.united:
        with pytest.raises(errors.UnsupportedOperation, match="differently in the two classif"):
            parts[0].union(parts[1])
        assert parts[0].union(parts[0]) == parts[0]
        return
    forth, back = parts[0].union(parts[1]), parts[1].union(parts[0])
    whole = case.learned(both)
    assert described(forth) == described(back) == described(whole)
    assert parts[0].union(parts[0]).blocks == parts[0].blocks
    agree_on(both, (forth, back), whole)


def agree_on(frame: pd.DataFrame, schemas: tuple[Schema, ...], whole: Schema) -> None:
    """Check that schemas read rows alike, in their own order of levels."""
    for schema in schemas:
        found, expected = (
            dict(
                zip([c.name for c in s.blocks["block"]], decoded(s, encoded(s, frame)), strict=True)
            )
            for s in (schema, whole)
        )
        same = found.keys() & expected.keys()
        assert same
        agree([found[name] for name in sorted(same)], [expected[name] for name in sorted(same)])


def law_batches(case: Case) -> None:
    """Rows learned batch by batch are those learned at once; rows without a cell say nothing."""
    one, other = case.frame(1), case.frame(2)
    both = pd.concat([one, other], ignore_index=True)
    first = case.learned(one)
    whole, found = case.learned(both), first.merge(read_table(other))
    assert described(found) == described(whole)
    agree_on(both, (found,), whole)
    blank = one.iloc[:3].assign(a=None, b=None)
    assert first.merge(read_table(blank)).blocks == first.blocks
    if case.united and case.own:
        empty = case.learned(one.assign(a=np.nan, b=np.nan)).merge(read_table(both))
        if case.spec["kind"] != "binary":
            agree_on(both, (empty,), whole)


def law_numbers_too(case: Case) -> None:
    """Numbers beside text that is read as numbers are read alike, whichever comes first."""
    one, other = case.frame(1), case.frame(2)
    if not case.learned(one).blocks["block"][0].form:
        return
    columns = {column.name: column.values for column in in_numbers(read_table(other)).columns}
    numbers = pd.DataFrame(columns)
    text, plain, whole = case.learned(one), case.learned(numbers), case.learned(other)
    np.testing.assert_allclose(encoded(whole, numbers), encoded(whole, other), rtol=1e-12)
    both = [text.merge(read_table(numbers)), plain.merge(read_table(one))]
    if case.united:
        both += [text.union(plain), plain.union(text)]
    forms = {column.form for schema in both for column in schema.blocks["block"]}
    assert forms == {text.blocks["block"][0].form}
    agree_on(one, tuple(both), text)
    agree_on(other, tuple(both), whole)


def law_saved(case: Case) -> None:
    """A reading in a file is the same value, and reads the same."""
    frame = case.frame(1)
    schema = case.learned(frame)
    registry = persist.Registry({"value": (Schema, Reading, PowerTransform, NumberForm)})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "schema"
        persist.write_model(path, schema, registry)
        found = persist.read_model(path, registry)
    assert found == schema
    assert hash(found.blocks["block"]) == hash(schema.blocks["block"])
    np.testing.assert_array_equal(encoded(found, frame), encoded(schema, frame))


def law_parts(case: Case) -> None:
    """Rows read part by part, from any container and from files are the same."""
    frame = case.frame(1)
    schema = case.learned(frame)
    expected = encoded(schema, frame)
    parts = [frame[:11], frame[11:13], frame[13:]]
    found = [encoded(schema, part) for part in parts]
    np.testing.assert_array_equal(np.concatenate(found), expected)
    for make in (pl.from_pandas, pa.Table.from_pandas):
        np.testing.assert_array_equal(encoded(schema, make(frame)), expected)
    kinds = {column.reads: column.in_files for column in schema.blocks["block"]}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        frame.to_csv(path, index=False)
        found = [encoded(schema, part.frame) for part in file_source(path).parts(kinds, rows=9)]
    np.testing.assert_allclose(np.concatenate(found), expected, rtol=1e-9, atol=1e-9)


def law_together(case: Case) -> None:
    """Columns of a block are encoded as each of them alone, and absent ones are missing."""
    frame = case.frame(1)
    schema, table = case.learned(frame), read_table(frame)
    cells = encoded(schema, frame)
    columns = schema.blocks["block"]
    for j, column in enumerate(columns):
        alone = column.encode(table.columns[table.names.index(column.reads)], "error")
        np.testing.assert_array_equal(cells[:, j], alone)
    if set(frame.dtypes) == {np.dtype(float)}:
        array = Schema.encode(schema, read_table(frame.to_numpy()), "error")["block"]
        np.testing.assert_allclose(array, cells, rtol=1e-12)
    partial = encoded(schema, frame[["a"]])
    for j, column in enumerate(columns):
        absent = -1 if column.kind == "levels" else np.nan
        expected = cells[:, j] if column.reads == "a" else np.full(len(frame), absent)
        np.testing.assert_array_equal(partial[:, j], expected)


def law_impute(case: Case) -> None:
    """Cells are imputed in the form of their column, and observed ones stay."""
    frame, y = case.frame(1), np.arange(len(case.frame(1))) % 2
    if not case.likelihood:
        clf = bg.LDA(levels="indicators", random_state=0).fit(frame, y)
    else:
        clf = bg.NaiveBayes(getattr(bg, case.likelihood)(), random_state=0, **case.arguments).fit(
            frame, y
        )
    if not case.likelihood or "bins" in case.arguments:
        with pytest.raises(errors.UnsupportedOperation, match="read as indicators or bins"):
            clf.impute(frame, random_state=0)
        return
    for make in (lambda X: X, pl.from_pandas, pa.Table.from_pandas):
        filled = read_table(clf.impute(make(frame), random_state=0))
        for old, new in zip(read_table(make(frame)).columns, filled.columns, strict=True):
            assert (old.kind, old.declared) == (new.kind, new.declared)
            there = ~old.missing
            assert not new.missing.any()
            if old.kind == "number":
                np.testing.assert_array_equal(old.values[there], new.values[there])
                far = np.abs(new.values - np.nanmean(old.values)) / np.nanstd(old.values)
                assert far.max() < 8
            else:
                codes = old.values[there], new.values[there]
                texts = [[c.levels[k] for k in x] for c, x in zip((old, new), codes, strict=True)]
                assert texts[0] == texts[1]
                forms = {case.form(level) for level in old.levels}
                assert {case.form(level) for level in new.levels} <= forms


LAWS = [
    law_round_trip,
    law_union,
    law_batches,
    law_numbers_too,
    law_saved,
    law_parts,
    law_together,
    law_impute,
]
