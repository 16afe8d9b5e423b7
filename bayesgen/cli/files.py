"""DATA of the command line: a CSV or Parquet file, or the name of a bundled data set."""

import contextlib
import dataclasses
import difflib
from collections.abc import Generator, Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from jaxtyping import Shaped
from pyarrow import csv, parquet

from bayesgen import datasets
from bayesgen.errors import BayesgenError, UnlabelledRows
from bayesgen.errors.base import listed

NULLS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none")
"""Cells of a CSV file that mean "missing", quoted or not."""


class UnusableData(BayesgenError, ValueError):
    """DATA cannot be found or read, or has not the target that was asked for."""

    @classmethod
    def not_found(cls, data: str) -> "UnusableData":
        """Neither a file nor a bundled name."""
        known = datasets.names()
        return cls(
            f"{data!r} is neither a file nor a bundled data set{_alike(data, known)}. Give the "
            f"path of a CSV or Parquet file, or one of {', '.join(known)}."
        )

    @classmethod
    def unreadable(cls, data: str, reason: str) -> "UnusableData":
        """The file is there, but it is no table."""
        # a reason may quote the bytes of a file that is no text
        first = "".join(filter(str.isprintable, reason.strip().split("\n")[0]))[:200].rstrip(". ")
        return cls(f"cannot read {data!r} as a table: {first}.")

    @classmethod
    def not_text(cls, data: str, column: str) -> "UnusableData":
        """A CSV file in another encoding."""
        return cls(
            f"column {column!r} of {data!r} holds bytes that are not UTF-8 text. Convert the file: "
            "iconv -f latin1 -t utf-8."
        )

    @classmethod
    def not_that_type(cls, data: str, column: str, value: str, kind: str) -> "UnusableData":
        """A cell of a CSV file is not what the model read in this column."""
        return cls(
            f"column {column!r} of {data!r} holds {value!r}, where the model was fitted to {kind}. "
            f"If it means missing, add --missing {value!r}; else mend the file."
        )

    @classmethod
    def no_such_columns(cls, data: str, names: list[str], known: list[str]) -> "UnusableData":
        """Columns that were asked for are not there."""
        return cls(
            f"{data!r} has no column {_shown(names)}{_alike(names[0], known)}; its columns are "
            f"{_shown(known)}."
        )

    @classmethod
    def other_columns(cls, data: str, wanted: list[str], known: list[str]) -> "UnusableData":
        """No column is one of the model's."""
        return cls(
            f"{data!r} has none of the columns that the model reads, {_shown(wanted)}; its columns "
            f"are {_shown(known)}. Name them as they were named when the model was fitted."
        )

    @classmethod
    def taken_name(cls, name: str) -> "UnusableData":
        """A column to copy has the name of an answer."""
        return cls(f"--keep {name}: the answers have a column of this name. Rename it in the file.")

    @classmethod
    def no_target(cls, data: str, names: list[str]) -> "UnusableData":
        """--target was left out."""
        return cls(f"which column of {data!r} holds the classes? Add --target: {_shown(names)}.")

    @classmethod
    def unknown_target(cls, data: str, target: str, names: list[str]) -> "UnusableData":
        """--target names no column."""
        return cls(
            f"{data!r} has no column {target!r}{_alike(target, names)}; its columns are "
            f"{_shown(names)}."
        )

    @classmethod
    def missing_labels(cls, target: str, count: int, n_rows: int) -> "UnusableData":
        """Rows without a class."""
        return cls(
            f"column {target!r} is missing in {count:,} of {n_rows:,} rows; every row needs a "
            "class. Remove these rows from the file, or fill the column."
        )

    @classmethod
    def unlabelled(cls, target: str, labels: Iterable) -> "UnusableData":
        """-1 marks rows without a class."""
        return cls(
            f"column {target!r} holds -1 beside {listed(labels)}: -1 marks a row without a class, "
            "and every row needs one. Remove these rows from the file, or, if -1 is a class, write "
            "it as a word."
        )

    @classmethod
    def no_features(cls, data: str, target: str) -> "UnusableData":
        """Nothing but the target."""
        return cls(f"{data!r} has no column besides {target!r}: there is nothing to predict from.")


@dataclasses.dataclass(frozen=True, eq=False)
class Data:
    """A table with its classes apart.

    name: as it was asked for. target: the column that held the classes. X: pyarrow Table of the
    other columns. y: one label for each row, shape (row,).
    """

    name: str
    target: str
    X: pa.Table
    y: Shaped[np.ndarray, " row"]


def read(data: str, target: str | None, missing: tuple[str, ...] = ()) -> Data:
    """Return the table of a file or of a bundled data set.

    Args:
        data: a path, or else a bundled name. Files are CSV, or tab-separated where they end in
            .tsv, or Parquet where they end in .parquet or .pq.
        target: the column that holds the classes; None is allowed for a bundled data set only.
        missing: more cells of a CSV file that mean "missing".

    Raises:
        UnusableData: as its constructors say.
    """
    table = _arrow_table(located(data), missing)
    target = target_of(data, target, table.column_names)
    return Data(data, target, *apart(table, target))


def grouped(rows: Data, groups: str | None) -> tuple[Data, list | None]:
    """Return rows without the column of their groups, and the group of each row.

    Raises:
        UnusableData: there is no such column.
    """
    if groups is None:
        return rows, None
    require_names(rows.name, (groups,), rows.X.column_names)
    rest = dataclasses.replace(rows, X=rows.X.drop_columns(groups))
    if not rest.X.num_columns:
        raise UnusableData.no_features(rows.name, rows.target)
    return rest, rows.X.column(groups).to_pylist()


def located(data: str) -> Path:
    """Return the path of a file or of a bundled data set.

    Raises:
        UnusableData: there is neither.
    """
    bundled = not Path(data).is_file() and data in datasets.names()
    path = datasets.path(data) if bundled else Path(data)
    if not path.exists():
        raise UnusableData.not_found(data)
    return path


def target_of(data: str, target: str | None, names: list[str]) -> str:
    """Return the column that holds the classes; a bundled data set knows its own.

    Raises:
        UnusableData: there is none, or nothing beside it.
    """
    if target is None and (Path(data).is_file() or data not in datasets.names()):
        raise UnusableData.no_target(data, names)
    target = target or datasets.target(data)
    if names.count(target) != 1:
        raise UnusableData.unknown_target(data, target, names)
    if len(names) == 1:
        raise UnusableData.no_features(data, target)
    return target


def require_names(data: str, names: tuple[str, ...], there: list[str]) -> None:
    """Refuse names of columns that a file has not.

    Raises:
        UnusableData: naming them.
    """
    strange = [name for name in names if name not in there]
    if strange:
        raise UnusableData.no_such_columns(data, strange, there)


def apart(table: pa.Table, target: str) -> tuple[pa.Table, np.ndarray]:
    """Return the features and the labels of rows.

    Raises:
        UnusableData: a row has no label.
    """
    labels = table.column(target)
    if labels.null_count:
        raise UnusableData.missing_labels(target, labels.null_count, len(labels))
    return table.drop_columns(target), np.array(labels.to_pylist())


@contextlib.contextmanager
def classes_in(target: str) -> Generator[None]:
    """Name the column of the file in what is said of its labels."""
    try:
        yield
    except UnlabelledRows as error:
        raise UnusableData.unlabelled(target, error.labels) from error


def _arrow_table(path: Path, missing: tuple[str, ...]) -> pa.Table:
    try:
        if path.suffix in (".parquet", ".pq"):
            return parquet.read_table(path)
        table = _csv_table(path, missing)
    except (OSError, pa.ArrowException) as error:
        raise UnusableData.unreadable(str(path), str(error)) from error
    for field in table.schema:
        if pa.types.is_binary(field.type):
            raise UnusableData.not_text(str(path), field.name)
    return table


def _csv_table(path: Path, missing: tuple[str, ...]) -> pa.Table:
    return csv.read_csv(
        path,
        # column types are guessed from the first block: let it be the whole file, up to 1 GiB
        read_options=csv.ReadOptions(block_size=min(_size(path) + (1 << 20), 1 << 30)),
        parse_options=parse_options(path),
        convert_options=convert_options(missing),
    )


def _size(path: Path) -> int:
    """Return the bytes of a file, of a compressed one as many as there may be inside."""
    return path.stat().st_size * (32 if path.suffix in (".gz", ".bz2", ".zst") else 1)


def parse_options(path: Path) -> csv.ParseOptions:
    """Return how the cells of a CSV file are told apart."""
    tabs = path.suffixes[-2:-1] == [".tsv"] or path.suffix == ".tsv"
    return csv.ParseOptions(delimiter="\t" if tabs else ",", newlines_in_values=True)


def convert_options(
    missing: tuple[str, ...],
    types: Mapping[str, pa.DataType] | None = None,
    names: list[str] | None = None,
) -> csv.ConvertOptions:
    """Return how the cells of a CSV file become values.

    Args:
        missing: more cells that mean "missing".
        types: of columns by name; those of the others are guessed.
        names: of the columns to read; None reads all.
    """
    return csv.ConvertOptions(
        null_values=[*NULLS, *missing],
        strings_can_be_null=True,
        column_types=types or {},
        include_columns=names,
    )


def _alike(word: str, known: tuple[str, ...] | list[str]) -> str:
    found = difflib.get_close_matches(word, known, n=1)
    return f" (did you mean {found[0]!r}?)" if found else ""


def _shown(names: list[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more
