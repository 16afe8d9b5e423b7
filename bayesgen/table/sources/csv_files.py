"""CSV files, whose columns have one type in all rows of all files.

Blanks around cells and names of columns are no part of them: a cell of blanks is missing.
"""

import collections
import contextlib
import dataclasses
import functools
import itertools
import re
from collections.abc import Generator, Iterator, Mapping

import pyarrow as pa
from pyarrow import csv

from bayesgen.errors import IncompletePart, InvalidSource, InvalidTable, warn
from bayesgen.errors.sources import reason
from bayesgen.table.columns import Name
from bayesgen.table.sources.csv_cells import converted, either, misfit, narrowest, trimmed
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
            InvalidSource: a file is no text in UTF-8, or cannot be opened.
        """
        found = {}
        for path in self.paths:
            try:
                require_text(path)
                found[path] = CsvDialect.of(path, self.separator, self.decimal)
            except OSError as error:
                raise InvalidSource.unreadable(path, reason(error)) from error
        return found

    def names(self) -> tuple[str, ...]:
        """Return the columns of all files, in the order of their first appearance.

        Raises:
            InvalidSource: a file is not a table.
            InvalidTable: two columns have one name.
        """
        return tuple(dict.fromkeys(name for path in self.paths for name in self._columns[path]))

    @functools.cached_property
    def _columns(self) -> dict[str, dict[str, str]]:
        """The columns of each file: name -> the same as the file has it, with its blanks."""
        found = {}
        for path in self.paths:
            with self._opened(path) as reader:
                found[path] = dict(zip(_distinct(reader.schema), reader.schema.names, strict=True))
        return found

    def tables(self, kinds: Mapping[Name, str] | None) -> Iterator[tuple[str, int, pa.Table]]:
        """Yield the rows of the files: the file, the number of the first row there, and rows.

        Args:
            kinds: "number", "text" or "boolean" of the columns to read, "any": the type that holds
                for all rows; None: all columns, of such types.

        Raises:
            InvalidSource: a file is not a table, a quoted cell is not closed, or a cell is not of
                its column's kind.
        """
        if kinds is None:
            types = self.types
        else:
            types = {str(n): TYPES.get(k) or self.types[str(n)] for n, k in kinds.items()}
        for path in self.paths:
            absent = [name for name in types if name not in self._columns[path]]
            if absent and kinds is None:
                warn(IncompletePart.lacks(f"file {path!r}", absent))
            require_closed_quotes(path, self.dialects[path].separator)
            start = 0
            for table in self._converted(path, types):
                yield path, start, table
                start += len(table)

    def _converted(self, path: str, types: Types) -> Iterator[pa.Table]:
        """Yield the rows of a file, cells without the blanks around them.

        pyarrow does not read a cell of blanks, or a padded "NA", as a missing number. Where it
        meets one, the column is read as text from there on, and converted once it is trimmed.
        """
        columns, as_text, read = list(self._columns[path]), set(), 0
        while True:
            asked = types | dict.fromkeys(as_text, pa.string())
            try:
                with self._opened(path, asked, list(types), translated=False) as reader:
                    for batch in itertools.islice(reader, read, None):
                        yield self._trimmed(path, batch, types)
                        read += 1
                return
            except pa.ArrowInvalid as error:
                invalid = INVALID_CELL.search(str(error))
                name = None if invalid is None else columns[int(invalid[1])]
                if invalid is None or invalid[3] is None or name is None or name in as_text:
                    raise self._refusal(path, error) from error
                cell = trimmed(pa.array([invalid[3]]), self._nulls)
                if misfit(cell, types[name], self.dialects[path].decimal) is not None:
                    raise self._refusal(path, error) from error
                as_text.add(name)

    def _trimmed(self, path: str, batch: pa.RecordBatch, types: Types) -> pa.Table:
        """Return rows without the blanks around their cells, of these types.

        Raises:
            InvalidSource: a cell is not of its column's type.
        """
        decimal, cells = self.dialects[path].decimal, []
        for (name, kind), column in zip(types.items(), batch.columns, strict=True):
            text = trimmed(column, self._nulls)
            try:
                cells.append(converted(text, kind, decimal))
            except pa.ArrowInvalid as error:
                cell = misfit(text, kind, decimal)
                raise InvalidSource.cell(
                    path, name, KINDS.get(str(kind), str(kind)), cell
                ) from error
        return pa.table(cells, names=list(types))

    @property
    def _nulls(self) -> pa.Array:
        """Cells that mean "missing"."""
        return pa.array([*NULLS, *(text.strip() for text in self.missing)])

    @functools.cached_property
    def types(self) -> Types:
        """The columns and types that hold for all rows.

        They are guessed from the first 4 MB of each file; where a later cell does not fit, they
        widen (whole number, number, text) and reading starts again. Columns of text may turn out to
        hold numbers once the blanks around them are gone.
        """
        widened: Types = {}
        while True:
            narrow: Types = {}
            found = self._read_types(widened, narrow)
            if found is None:
                continue
            types: dict[str, set[pa.DataType]] = collections.defaultdict(set)
            for schema in found:
                for name, kind in schema.items():
                    types[name].add(kind)
            differ = {name: common(kinds) for name, kinds in types.items() if len(kinds) > 1}
            if not differ:
                return {name: narrow.get(name, next(iter(types[name]))) for name in self.names()}
            widened |= differ

    def _read_types(self, widened: Types, narrow: Types) -> list[Types] | None:
        """Return the types of each file; None: a cell did not fit, and its type has widened.

        narrow: becomes the narrowest types of the columns of text, blanks around cells removed.
        """
        found = []
        for path in self.paths:
            decimal = self.dialects[path].decimal
            try:
                with self._opened(path, widened, translated=False) as reader:
                    found.append(_distinct(reader.schema))
                    # a cell that does not fit its column is detected only when parsed
                    for batch in reader:
                        for (name, kind), cells in zip(found[-1].items(), batch, strict=True):
                            known = narrow.get(name, pa.null())
                            if pa.types.is_string(kind) and not pa.types.is_string(known):
                                text = trimmed(cells, self._nulls)
                                narrow[name] = either(known, narrowest(text, decimal))
            except pa.ArrowInvalid as error:
                invalid = INVALID_CELL.search(str(error))
                if invalid is None or invalid[3] is None:
                    raise self._refusal(path, error) from error
                name = list(self._columns[path])[int(invalid[1])]
                widened[name] = wider(invalid[2], invalid[3], self.dialects[path].decimal)
                return None
            for name, kind in found[-1].items():
                if pa.types.is_binary(kind):
                    raise InvalidSource.not_text(name, path)
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
        """Open a file; errors of pyarrow become sentences if `translated`.

        types, names: of the columns, by their names without blanks.
        """
        dialect = self.dialects[path]
        padded = self._columns[path] if types or names else {}
        if types is not None:
            types = {padded.get(name, name): kind for name, kind in types.items()}
        if names is not None:
            names = [padded.get(name, name) for name in names]
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

    def _refusal(self, path: str, error: Exception) -> InvalidSource:
        invalid = INVALID_CELL.search(str(error))
        if invalid is None:
            return InvalidSource.unreadable(path, reason(error))
        column, kind, cell, _ = invalid.groups()
        name = list(self._columns[path])[int(column)]
        if cell is None:
            return InvalidSource.not_text(name, path)
        return InvalidSource.cell(path, name, KINDS.get(kind, kind), cell)


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
    """Return types by name; blanks around a name are no part of it.

    Raises:
        InvalidTable: two columns have one name.
    """
    count = collections.Counter(name.strip() for name in schema.names)
    if twice := sorted(name for name, times in count.items() if times > 1):
        raise InvalidTable.duplicate_names(twice)
    return {field.name.strip(): field.type for field in schema}
