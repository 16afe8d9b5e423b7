"""Files read in batches of rows, whose columns have the same types from the first to the last."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from bayesgen.cli.files import UnusableData, convert_options, parse_options
from bayesgen.errors import InvalidTable

BLOCK_BYTES = 1 << 22
"""Bytes of a CSV file parsed at once: a row has to fit in. pyarrow reads up to 32 blocks ahead,
which take 170 MB at most (measured on a file of 225 MB)."""

BATCH_ROWS = 1 << 16

CONVERSION = re.compile(
    r"CSV column #(\d+):.*CSV conversion error to ([^:]+): (?:invalid value '(.*)'|(.*))", re.DOTALL
)
"""What pyarrow says of a cell that is not of its column's type."""

KINDS = {"double": "numbers", "int64": "whole numbers", "bool": "booleans (true, false, 0, 1)"}

Types = Mapping[str, pa.DataType]


def column_types(path: Path, missing: tuple[str, ...] = ()) -> dict[str, pa.DataType]:
    """Return the columns of a file and types that hold for all of its rows.

    A Parquet file declares them. Those of a CSV file are guessed from its first 4 MB; where a
    later cell does not fit, they widen (whole number, number, text) and reading starts again.

    Raises:
        UnusableData: the file is no table.
        InvalidTable: two columns have one name.
    """
    if is_parquet(path):
        return _fields(_parquet(path).schema_arrow)
    types: dict[str, pa.DataType] = {}
    while True:
        try:
            with _csv(path, missing, types, None) as reader:
                found = _fields(reader.schema)
                for _ in reader:
                    pass
        except (OSError, pa.ArrowException) as error:
            wrong = CONVERSION.search(str(error))
            if wrong is None or wrong[3] is None:
                raise _unreadable(path, error) from error
            name = column_names(path)[int(wrong[1])]
            types[name] = wider(wrong[2], wrong[3])
            continue
        for name, found_type in found.items():
            if pa.types.is_binary(found_type):
                raise UnusableData.not_text(str(path), name)
        return found


def column_names(path: Path) -> list[str]:
    """Return the names of a file's columns.

    Raises:
        UnusableData: the file is no table.
        InvalidTable: two columns have one name.
    """
    if is_parquet(path):
        return list(_fields(_parquet(path).schema_arrow))
    try:
        with _csv(path, (), {}, None) as reader:
            return list(_fields(reader.schema))
    except (OSError, pa.ArrowException) as error:
        raise UnusableData.unreadable(str(path), str(error)) from error


def wider(kind: str, cell: str) -> pa.DataType:
    """Return the narrowest type, by pyarrow's name at least `kind`, that takes a cell too.

    Examples:
        >>> wider("int64", "1.5"), wider("int64", "red"), wider("null", "true")
        (DataType(double), DataType(string), DataType(bool))
    """
    if kind == "null" and re.fullmatch(r"[+-]?\d{1,18}", cell):
        return pa.int64()
    if kind in ("null", "int64") and cell.lower() in ("true", "false"):
        return pa.bool_()
    if kind in ("null", "int64", "bool"):
        try:
            float(cell)
        except ValueError:
            return pa.string()
        return pa.float64()
    return pa.string()


def batches(
    path: Path,
    names: list[str],
    types: Types,
    *,
    missing: tuple[str, ...] = (),
    rows: int = BATCH_ROWS,
) -> Iterator[pa.Table]:
    """Yield the rows of a file, at most `rows` at a time.

    Args:
        path: of a CSV or a Parquet file.
        names: of the columns to read, in the order wanted.
        types: of columns of a CSV file; a Parquet file has its own.
        missing: more cells of a CSV file that mean "missing".
        rows: of the largest batch.

    Raises:
        UnusableData: the file is no table, or a cell is not of its column's type.
    """
    try:
        if is_parquet(path):
            for batch in _parquet(path).iter_batches(batch_size=rows, columns=names):
                yield pa.Table.from_batches([batch]).select(names)
            return
        with _csv(path, missing, types, names) as reader:
            for batch in reader:
                table = pa.Table.from_batches([batch])
                for start in range(0, len(table), rows):
                    yield table.slice(start, rows)
    except (OSError, pa.ArrowException) as error:
        raise _unreadable(path, error) from error


def is_parquet(path: Path) -> bool:
    """Say whether a file is a Parquet file, by its name."""
    return path.suffix in (".parquet", ".pq")


def _parquet(path: Path) -> parquet.ParquetFile:
    try:
        return parquet.ParquetFile(path)
    except (OSError, pa.ArrowException) as error:
        raise UnusableData.unreadable(str(path), str(error)) from error


def _csv(
    path: Path, missing: tuple[str, ...], types: Types, names: list[str] | None
) -> csv.CSVStreamingReader:
    return csv.open_csv(
        path,
        read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
        parse_options=parse_options(path),
        convert_options=convert_options(missing, types, names),
    )


def _fields(schema: pa.Schema) -> dict[str, pa.DataType]:
    if len(set(schema.names)) < len(schema.names):
        twice = sorted({name for name in schema.names if schema.names.count(name) > 1})
        raise InvalidTable.duplicate_names(twice)
    return {field.name: field.type for field in schema}


def _unreadable(path: Path, error: Exception) -> UnusableData:
    wrong = CONVERSION.search(str(error))
    if wrong is None:
        return UnusableData.unreadable(str(path), str(error))
    name = column_names(path)[int(wrong[1])]
    if wrong[3] is None:
        return UnusableData.not_text(str(path), name)
    kind = KINDS.get(wrong[2], wrong[2])
    return UnusableData.not_that_type(str(path), name, wrong[3], kind)
