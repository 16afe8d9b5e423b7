"""Rows of answers, written as CSV, Parquet or JSON."""

import contextlib
import sys
from collections.abc import Callable, Generator
from pathlib import Path

import pyarrow as pa
from pyarrow import csv, parquet

from bayesgen.cli.printing import to_json
from bayesgen.persist import replacing


@contextlib.contextmanager
def table_writer(
    out: Path | None, schema: pa.Schema, *, json: bool
) -> Generator[Callable[[pa.Table], None]]:
    """Give a function that writes tables of one schema one after the other.

    Args:
        out: a Parquet or CSV file, which is there at the end, whole; None writes to stdout.
        schema: of the tables.
        json: on stdout, one JSON object for each row, instead of CSV.

    Raises:
        InvalidFile: the path takes no file.
    """
    if out is not None:
        with replacing(out) as path, _file_writer(path, schema, out.suffix) as writer:
            yield writer.write_table
    elif json:
        yield _print_json_lines
    else:
        # rows that were printed before stand first
        sys.stdout.flush()
        with csv.CSVWriter(sys.stdout.buffer, schema) as writer:
            yield writer.write_table


def _file_writer(
    path: Path, schema: pa.Schema, suffix: str
) -> csv.CSVWriter | parquet.ParquetWriter:
    if suffix == ".csv":
        return csv.CSVWriter(path, schema)
    # dictionaries of numbers take four times as long (measured)
    words = [field.name for field in schema if field.type != pa.float64()]
    return parquet.ParquetWriter(path, schema, use_dictionary=words)


def _print_json_lines(table: pa.Table) -> None:
    for row in table.to_pylist():
        print(to_json(row, indent=None))
