"""CSV files, whose columns have one type in all rows of all files."""

import collections
import contextlib
import dataclasses
import functools
import re
from collections.abc import Generator, Iterator, Mapping

import pyarrow as pa
from pyarrow import csv

from bayesgen.errors import Cure, InvalidData, warn
from bayesgen.errors.data import duplicate_names
from bayesgen.errors.sources import lacks_columns, not_utf8, reason, unreadable_source
from bayesgen.table.columns import Name
from bayesgen.table.sources.csv_dialect import CsvDialect, require_text
from bayesgen.table.sources.csv_quotes import require_closed_quotes

NULLS = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "NULL", "null", "None", "none")
"""Cells of a CSV file that mean "missing", quoted or not."""

BLOCK_BYTES = 1 << 22
"""Bytes of a CSV file parsed at once: a row has to fit in. pyarrow reads up to 32 blocks ahead,
which take 170 MB at most (measured on a file of 225 MB)."""

INVALID_CELL = re.compile(
    r"CSV column #(\d+):.*CSV conversion error to ([^:]+): (?:invalid value '(.*)'|(.*))", re.DOTALL
)
"""pyarrow's message for a cell that is not of its column's type: column, type, cell or reason."""

KINDS = {"double": "numbers", "int64": "whole numbers", "bool": "booleans (true, false, 0, 1)"}

TYPES = {"number": pa.float64(), "text": pa.string(), "boolean": pa.bool_()}

Types = dict[str, pa.DataType]


@dataclasses.dataclass(frozen=True)
class CsvFiles:
    """CSV files with the same columns, in any order.

    paths: of the files. missing: more cells that mean "missing". separator, decimal: the
    characters between cells and before the decimals of numbers; None: recognized in each file.
    """

    paths: tuple[str, ...]
    missing: tuple[str, ...] = ()
    separator: str | None = None
    decimal: str | None = None

    @functools.cached_property
    def dialects(self) -> dict[str, CsvDialect]:
        """How each file is written.

        Raises:
            InvalidData: a file is no text in UTF-8, or cannot be opened.
        """
        found = {}
        for path in self.paths:
            try:
                require_text(path)
                found[path] = CsvDialect.of(path, self.separator, self.decimal)
            except OSError as error:
                raise unreadable_source(path, reason(error)) from error
        return found

    def names(self) -> tuple[str, ...]:
        """Return the columns of all files, in the order of their first appearance.

        Raises:
            InvalidData: a file is not a table; two columns have one name.
        """
        return tuple(dict.fromkeys(name for path in self.paths for name in self._columns[path]))

    @functools.cached_property
    def _columns(self) -> dict[str, list[str]]:
        """The columns of each file."""
        found = {}
        for path in self.paths:
            with self._opened(path) as reader:
                found[path] = list(_distinct(reader.schema))
        return found

    def tables(self, kinds: Mapping[Name, str] | None) -> Iterator[tuple[str, int, pa.Table]]:
        """Yield the rows of the files: the file, the number of the first row there, and rows.

        Args:
            kinds: "number", "text" or "boolean" of the columns to read, "any": the type that holds
                for all rows; None: all columns, of such types.

        Raises:
            InvalidData: a file is not a table, a quoted cell is not closed, or a cell is not of its
                column's kind.
        """
        if kinds is None:
            types = self.types
        else:
            types = {str(n): TYPES.get(k) or self.types[str(n)] for n, k in kinds.items()}
        for path in self.paths:
            absent = [name for name in types if name not in self._columns[path]]
            if absent and kinds is None:
                warn(lacks_columns(f"file {path!r}", absent))
            require_closed_quotes(path, self.dialects[path].separator)
            start = 0
            with self._opened(path, types, list(types)) as reader:
                for batch in reader:
                    yield path, start, pa.Table.from_batches([batch])
                    start += len(batch)

    @functools.cached_property
    def types(self) -> Types:
        """The columns and types that hold for all rows.

        They are guessed from the first 4 MB of each file; where a later cell does not fit, they
        widen (whole number, number, text) and reading starts again.
        """
        widened: Types = {}
        while True:
            found = self._read_types(widened)
            if found is None:
                continue
            types: dict[str, set[pa.DataType]] = collections.defaultdict(set)
            for schema in found:
                for name, kind in schema.items():
                    types[name].add(kind)
            differ = {name: common(kinds) for name, kinds in types.items() if len(kinds) > 1}
            if not differ:
                return {name: next(iter(types[name])) for name in self.names()}
            widened |= differ

    def _read_types(self, widened: Types) -> list[Types] | None:
        """Return the types of each file; None: a cell did not fit, and its type has widened."""
        found = []
        for path in self.paths:
            try:
                with self._opened(path, widened, translated=False) as reader:
                    # a cell that does not fit its column is detected only when parsed
                    collections.deque(reader, maxlen=0)
                    found.append(_distinct(reader.schema))
            except pa.ArrowInvalid as error:
                invalid = INVALID_CELL.search(str(error))
                if invalid is None or invalid[3] is None:
                    raise self._refusal(path, error) from error
                name = self._columns[path][int(invalid[1])]
                widened[name] = wider(invalid[2], invalid[3], self.dialects[path].decimal)
                return None
            for name, kind in found[-1].items():
                if pa.types.is_binary(kind):
                    raise not_utf8(name, path)
        return found

    @contextlib.contextmanager
    def _opened(
        self,
        path: str,
        types: Types | None = None,
        names: list[str] | None = None,
        *,
        translated: bool = True,
    ) -> Generator[csv.CSVStreamingReader]:
        """Open a file; errors of pyarrow become sentences if `translated`."""
        dialect = self.dialects[path]
        try:
            with csv.open_csv(
                path,
                read_options=csv.ReadOptions(block_size=BLOCK_BYTES),
                parse_options=csv.ParseOptions(
                    delimiter=dialect.separator, newlines_in_values=True
                ),
                convert_options=csv.ConvertOptions(
                    null_values=[*NULLS, *self.missing],
                    strings_can_be_null=True,
                    decimal_point=dialect.decimal,
                    column_types=types,
                    include_columns=names,
                    include_missing_columns=True,
                ),
            ) as reader:
                yield reader
        except (OSError, pa.ArrowException) as error:
            if not translated and isinstance(error, pa.ArrowInvalid):
                raise
            raise self._refusal(path, error) from error

    def _refusal(self, path: str, error: Exception) -> InvalidData:
        invalid = INVALID_CELL.search(str(error))
        if invalid is None:
            return unreadable_source(path, reason(error))
        column, kind, cell, _ = invalid.groups()
        name = self._columns[path][int(column)]
        if cell is None:
            return not_utf8(name, path)
        return InvalidData(
            "column {column!r} of {source!r} holds {cell!r}, where the model was fitted to {kind}.",
            Cure(
                "If it means missing, add --missing {cell!r}, in Python polars.scan_csv(path, "
                "null_values=[{cell!r}]); otherwise correct the file.",
                "If it means missing, add --missing {cell:option}; otherwise correct the file.",
            ),
            source=path,
            column=name,
            kind=KINDS.get(kind, kind),
            cell=cell,
        )


def wider(kind: str, cell: str, decimal: str = ".") -> pa.DataType:
    """Return the narrowest type, at least `kind` (a name of pyarrow's), that takes a cell too.

    decimal: the character before the decimals of numbers.

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
            float(cell.replace(decimal, "."))
            return pa.float64()
    return pa.string()


def common(kinds: set[pa.DataType]) -> pa.DataType:
    """Return the narrowest type that may hold the cells of a column that differs between files.

    Examples:
        >>> common({pa.int64(), pa.float64()}), common({pa.null(), pa.bool_()})
        (DataType(double), DataType(bool))
        >>> common({pa.int64(), pa.string()})
        DataType(string)
    """
    observed = kinds - {pa.null()}
    if len(observed) == 1:
        return next(iter(observed))
    if observed == {pa.int64(), pa.float64()}:
        return pa.float64()
    return pa.bool_() if observed == {pa.int64(), pa.bool_()} else pa.string()


def _distinct(schema: pa.Schema) -> Types:
    """Return types by name.

    Raises:
        InvalidData: two columns have one name.
    """
    count = collections.Counter(schema.names)
    if twice := sorted(name for name, times in count.items() if times > 1):
        raise duplicate_names(twice)
    return {field.name: field.type for field in schema}
