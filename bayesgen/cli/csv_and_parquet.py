"""Input data: CSV files, Parquet files and bundled data sets, read in batches or whole."""

import collections
import contextlib
import dataclasses
import difflib
import re
from collections.abc import Generator, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Shaped
from pyarrow import csv, dataset

from bayesgen import datasets
from bayesgen.errors import BayesgenError, InvalidTable, UnlabelledRows
from bayesgen.errors.base import Sentence, listed
from bayesgen.table import check_labelled

NULLS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none")
"""Cells of a CSV file that mean "missing", quoted or not."""

BLOCK_BYTES = 1 << 22
"""Bytes of a CSV file parsed at once: a row has to fit in. pyarrow reads up to 32 blocks ahead,
which take 170 MB at most (measured on a file of 225 MB)."""

BATCH_ROWS = 1 << 16

NO_READAHEAD = {
    "batch_readahead": 0,
    "fragment_readahead": 0,
    "fragment_scan_options": dataset.ParquetFragmentScanOptions(pre_buffer=False),
}
"""One row group of a Parquet file in memory at once: a file of 126 MB in two row groups takes 0.28
GB, with two batches read ahead 0.55 GB."""

INVALID_CELL = re.compile(
    r"CSV column #(\d+):.*CSV conversion error to ([^:]+): (?:invalid value '(.*)'|(.*))", re.DOTALL
)
"""pyarrow's message for a cell that is not of its column's type: column, type, cell or reason."""

KINDS = {"double": "numbers", "int64": "whole numbers", "bool": "booleans (true, false, 0, 1)"}

Types = dict[str, pa.DataType]
LabelledBatch = tuple[pa.Table, Shaped[np.ndarray, " row"]]


class UnusableData(BayesgenError, ValueError):
    """DATA cannot be found or read, or lacks a column."""

    @classmethod
    def no_column(cls, data: str, name: str, existing: list[str]) -> "UnusableData":
        """A column that was asked for is not there."""
        return cls(
            f"{data!r} has no column {name!r}{_close_match(name, existing)}; its columns are "
            f"{listed(existing, 20)}."
        )

    no_features = Sentence(
        "{data!r} has no column besides {target!r}: there is nothing to predict from."
    )


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledRows:
    """All rows of a file.

    target: the column that held the classes. X: pyarrow Table of the features. y: one label for
    each row, shape (row,). groups: that of each row, None where no column of groups was named.
    """

    target: str
    X: pa.Table
    y: Shaped[np.ndarray, " row"]
    groups: list | None


@dataclasses.dataclass(frozen=True)
class DataFile:
    """A file of rows: Parquet where it ends in .parquet or .pq, otherwise CSV.

    name: as it was typed. path: of the file. bundled: whether the library brings it. missing: more
    cells of a CSV file that mean "missing".
    """

    name: str
    path: Path
    bundled: bool
    missing: tuple[str, ...] = ()

    @classmethod
    def find(cls, data: str, missing: tuple[str, ...] = ()) -> "DataFile":
        """Return the file of a path, or else of the name of a bundled data set.

        Raises:
            UnusableData: there is neither.
        """
        existing = datasets.names()
        bundled = not Path(data).is_file() and data in existing
        path = datasets.path(data) if bundled else Path(data)
        if not path.exists():
            raise UnusableData(
                f"{data!r} is neither a file nor a bundled data set{_close_match(data, existing)}. "
                f"Give the path of a CSV or Parquet file, or one of {', '.join(existing)}."
            )
        return cls(data, path, bundled, missing)

    def column_names(self) -> list[str]:
        """Return the names of the columns.

        Raises:
            UnusableData: the file is not a table.
            InvalidTable: two columns have one name.
        """
        with self._refusals(), self._opened() as (types, _):
            return list(types)

    def target(self, target: str | None) -> str:
        """Return the column that holds the classes; a bundled data set has its own.

        Raises:
            UnusableData: there is none, or nothing beside it.
        """
        names = self.column_names()
        if target is None and not self.bundled:
            raise UnusableData(
                f"which column of {self.name!r} holds the classes? Add --target: "
                f"{listed(names, 20)}."
            )
        target = target or datasets.target(self.name)
        if target not in names:
            raise UnusableData.no_column(self.name, target, names)
        if len(names) == 1:
            raise UnusableData.no_features(self.name, target)
        return target

    def column_types(self) -> Types:
        """Return the columns and types that hold for all rows.

        A Parquet file declares them. Those of a CSV file are guessed from its first 4 MB; where a
        later cell does not fit, they widen (whole number, number, text) and reading starts again.

        Raises:
            UnusableData: the file is not a table.
            InvalidTable: two columns have one name.
        """
        widened: Types = {}
        while True:
            with self._refusals():
                try:
                    with self._opened(widened) as (types, batches):
                        # a cell that does not fit its column is detected only when parsed
                        collections.deque(() if self._is_parquet else batches, maxlen=0)
                    break
                except pa.ArrowInvalid as error:
                    invalid = INVALID_CELL.search(str(error))
                    if invalid is None or invalid[3] is None:
                        raise
                    name = self.column_names()[int(invalid[1])]
                    widened[name] = wider(invalid[2], invalid[3])
        for name, kind in types.items():
            if pa.types.is_binary(kind) and not self._is_parquet:
                raise self._not_text(name)
        return types

    def batches(self, types: Types, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
        """Yield the rows of the file, at most `rows` at a time.

        Args:
            types: of the columns to read, in the order wanted; a Parquet file has its own types.
            rows: of the largest batch.

        Raises:
            UnusableData: the file is not a table, a cell is not of its column's type, or there are
                no rows.
        """
        read = 0
        with self._refusals(), self._opened(types, list(types), rows) as (_, batches):
            for batch in batches:
                table = pa.Table.from_batches([batch]).select(list(types))
                read += len(table)
                for start in range(0, len(table), rows):
                    yield table.slice(start, rows)
        if not read:
            raise UnusableData(f"{self.name!r} has no rows below the names of its columns.")

    def labelled_batches(self, target: str, rows: int = BATCH_ROWS) -> Iterator[LabelledBatch]:
        """Yield features and labels of the rows of the file, at most `rows` at a time."""
        seen = None
        for table in self.batches(self.column_types(), rows):
            X, y = split_labels(table, target)
            seen = np.unique(y) if seen is None else np.union1d(seen, y)
            check_labelled(seen)
            yield X, y

    def read(self, target: str | None, groups: str | None = None) -> LabelledRows:
        """Return all rows of the file; the column of their groups is not a feature.

        Raises:
            UnusableData: there is no column of the groups, or no other.
        """
        target = self.target(target)
        X, y = split_labels(pa.concat_tables(self.batches(self.column_types())), target)
        with naming_target(target):
            check_labelled(np.unique(y))
        if groups is None:
            return LabelledRows(target, X, y, None)
        if groups not in X.column_names:
            raise UnusableData.no_column(self.name, groups, X.column_names)
        if X.num_columns == 1:
            raise UnusableData.no_features(self.name, target)
        return LabelledRows(target, X.drop_columns(groups), y, X.column(groups).to_pylist())

    @property
    def _is_parquet(self) -> bool:
        return self.path.suffix in (".parquet", ".pq")

    @contextlib.contextmanager
    def _opened(
        self, types: Types | None = None, names: list[str] | None = None, rows: int = BATCH_ROWS
    ) -> Generator[tuple[Types, Iterable[pa.RecordBatch]]]:
        """Give the types of all columns, or of some, and the batches of rows."""
        if self._is_parquet:
            table = dataset.dataset(self.path, format="parquet", partitioning="hive")
            yield _distinct(table.schema), table.to_batches(names, batch_size=rows, **NO_READAHEAD)
            return
        with csv.open_csv(
            self.path,
            read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter=self._separator(), newlines_in_values=True),
            convert_options=csv.ConvertOptions(
                null_values=[*NULLS, *self.missing],
                strings_can_be_null=True,
                column_types=types,
                include_columns=names,
            ),
        ) as reader:
            yield _distinct(reader.schema), reader

    def _separator(self) -> str:
        """Return the separator of cells: a tab in .tsv, else the one of the first line."""
        if ".tsv" in self.path.suffixes[-2:]:
            return "\t"
        with pa.input_stream(self.path) as stream:
            start = re.sub(rb'"[^"]*"', b"", stream.read(1 << 16))
        line = start.split(b"\n")[0].decode("latin1")
        return "," if "," in line else max(",;\t|", key=line.count)

    @contextlib.contextmanager
    def _refusals(self) -> Generator[None]:
        """Turn the errors of pyarrow into sentences."""
        try:
            yield
        except (OSError, pa.ArrowException) as error:
            raise self._refusal(str(error)) from error

    def _refusal(self, reason: str) -> UnusableData:
        invalid = INVALID_CELL.search(reason)
        if invalid is None:
            # a reason may quote the bytes of a file that is not text
            reason = reason.split("Is this a 'parquet' file?: ")[-1].strip().split("\n")[0]
            reason = "".join(filter(str.isprintable, reason))[:200].rstrip(". ")
            return UnusableData(f"cannot read {self.name!r} as a table: {reason}.")
        column, kind, cell, _ = invalid.groups()
        name = self.column_names()[int(column)]
        if cell is None:
            return self._not_text(name)
        return UnusableData(
            f"column {name!r} of {self.name!r} holds {cell!r}, where the model was fitted to "
            f"{KINDS.get(kind, kind)}. If it means missing, add --missing {cell!r}; otherwise "
            "correct the file."
        )

    def _not_text(self, column: str) -> UnusableData:
        return UnusableData(
            f"column {column!r} of {self.name!r} holds bytes that are not UTF-8 text. Convert the "
            "file: iconv -f latin1 -t utf-8."
        )


def split_labels(table: pa.Table, target: str) -> LabelledBatch:
    """Return the features and the labels of rows.

    Raises:
        UnusableData: a row has no label.
    """
    labels = table.column(target)
    if labels.null_count:
        raise UnusableData(
            f"column {target!r} is missing in {labels.null_count:,} of {len(labels):,} rows; every "
            "row needs a class. Remove these rows from the file, or fill the column."
        )
    return table.drop_columns(target), np.array(labels.to_pylist())


@contextlib.contextmanager
def naming_target(target: str) -> Generator[None]:
    """Name the column of the file in errors about its labels."""
    try:
        yield
    except UnlabelledRows as error:
        raise UnusableData(
            f"column {target!r} holds -1 beside {listed(error.labels)}: -1 marks a row without a "
            "class, and every row needs one. Remove these rows from the file, or, if -1 is a "
            "class, write it as a word."
        ) from error


def wider(kind: str, cell: str) -> pa.DataType:
    """Return the narrowest type, at least `kind` (a name of pyarrow's), that takes a cell too.

    Examples:
        >>> wider("int64", "1.5"), wider("int64", "red"), wider("null", "true")
        (DataType(double), DataType(string), DataType(bool))
    """
    if kind == "null" and re.fullmatch(r"[+-]?\d{1,18}", cell):
        return pa.int64()
    if kind in ("null", "int64") and cell.lower() in ("true", "false"):
        return pa.bool_()
    if kind in ("null", "int64", "bool"):
        with contextlib.suppress(ValueError):
            float(cell)
            return pa.float64()
    return pa.string()


def _distinct(schema: pa.Schema) -> Types:
    """Return types by name.

    Raises:
        InvalidTable: two columns have one name.
    """
    count = collections.Counter(schema.names)
    if twice := sorted(name for name, times in count.items() if times > 1):
        raise InvalidTable.duplicate_names(twice)
    return {field.name: field.type for field in schema}


def _close_match(word: str, existing: Sequence[str]) -> str:
    found = difflib.get_close_matches(word, existing, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""
