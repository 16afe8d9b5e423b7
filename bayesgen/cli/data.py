"""DATA, files of rows or a bundled data set: its columns, classes and rows."""

import dataclasses
import difflib
import glob
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Shaped

from bayesgen import datasets
from bayesgen.cli import printing
from bayesgen.cli.facts import kinds_of_columns, lines_of_data
from bayesgen.cli.options import ALL_COLUMNS, AS_SHOWN, CsvFormat, Features, UnusableOptions
from bayesgen.compare.subgroups import Subgroups
from bayesgen.errors.sources import no_column, no_features, no_rows_in_source
from bayesgen.errors.wording import listed
from bayesgen.estimators.bag_of_words import word_counts
from bayesgen.schema import as_read, identifiers, ignored, set_aside, suspicions
from bayesgen.sources import PART_ROWS, Kinds, Part, Source
from bayesgen.sources.files import file_source
from bayesgen.sources.header import few_valued
from bayesgen.table import Table, read_table, read_target

NAMES = 40
"""Columns that a sentence lists."""
WORDS = 500
"""Words of texts that are compared, each in a column of counts."""
FIRST = 1000
"""Rows that show which columns may hold classes."""


def is_bundled(data: str) -> bool:
    """Return whether DATA names a bundled data set; a file of this name goes before it."""
    return data in datasets.names() and not Path(data).is_file()


def open_data(data: str, csv: CsvFormat = AS_SHOWN, part_rows: int = PART_ROWS) -> Source:
    """Return the rows of files, or of a bundled data set, to be read part by part.

    Args:
        data: path of a file, of a folder, a pattern, or the name of a bundled data set.
        csv: how CSV files are read.
        part_rows: rows read at once.

    Raises:
        UnusableOptions: there is no such file.
        InvalidData: the rows are not a table.
    """
    path = str(datasets.path(data)) if is_bundled(data) else data
    if not Path(path).exists() and not glob.glob(path, recursive=True):
        close = difflib.get_close_matches(data, datasets.names(), n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        raise UnusableOptions(
            f"{data!r} is neither a file nor a bundled data set{hint}. Give the path of a CSV or "
            f"Parquet file, or one of {', '.join(datasets.names())}."
        )
    with printing.noted_at_once():
        source = file_source(
            path,
            csv.missing,
            csv.sep,
            csv.decimal,
            not_missing=csv.not_missing,
            encoding=csv.encoding,
            header=csv.header,
            names=csv.names,
            stray_quotes=csv.stray_quotes,
        )
    return dataclasses.replace(source, name=data, part_rows=part_rows)


@dataclasses.dataclass(frozen=True, eq=False)
class LabelledData:
    """Rows with a column of classes.

    source: of the features, the classes and the groups. target: column that holds the classes.
    groups: column of the groups of rows, which is no feature; None: there is none. counts: rows of
    each class. empty: rows whose cell of the target is missing. marked: rows of -1 where it marks a
    row without a class, scikit-learn's mark, and is none itself. by: column whose levels are
    scored separately, a feature or not; None: there is none.
    """

    source: Source
    target: str
    groups: str | None
    counts: dict[Any, int]
    empty: int
    marked: int
    by: str | None = None

    @classmethod
    def read(
        cls,
        data: str,
        target: str | None = None,
        features: Features = ALL_COLUMNS,
        csv: CsvFormat = AS_SHOWN,
        *,
        groups: str | None = None,
        by: str | None = None,
        part_rows: int = PART_ROWS,
    ) -> "LabelledData":
        """Open DATA, choose its columns and count its classes, which takes all rows of one column.

        Args:
            data: as in `open_data`.
            target: column of the classes; None: that of a bundled data set.
            features: columns to leave out, or to use alone.
            csv: how CSV files are read.
            groups: column of the groups.
            by: column of subgroups.
            part_rows: rows read at once.

        Raises:
            UnusableOptions, InvalidData: there is no such column, or no feature.
        """
        source = open_data(data, csv, part_rows)
        names = list(map(str, source.names or ()))
        if target is None and not is_bundled(data):
            raise UnusableOptions(
                f"which column of {data!r} holds the classes? Add --target with one "
                f"of {listed(_likely_first(source), NAMES)}."
            )
        target = target or datasets.target(data)
        needed = [target] if groups is None else [target, groups]
        for name in (*needed, *([] if by is None else [by]), *features.drop, *features.columns):
            if name not in names:
                raise no_column(data, name, _likely_first(source) if name == target else names)
            if groups == target:
                raise UnusableOptions(
                    f"--groups {groups}: this column holds the classes, which are no groups. Name "
                    "another column, or leave --groups out."
                )
            if by == target:
                raise UnusableOptions(
                    f"--by {by}: this column holds the classes, which are no subgroups. Leave --by "
                    "out; the confusion table of a report has the accuracy in each class."
                )
            if name in needed and name in features.drop:
                raise UnusableOptions(
                    f"--drop {name}: this column is no feature, and is needed. Leave it out of "
                    "--drop."
                )
        used = {*(features.columns or names)} - {*features.drop, *needed}
        if not used:
            if len(names) == len(needed):
                raise no_features(data, target)
            raise UnusableOptions("--drop and --columns leave no feature. Drop fewer columns.")
        with printing.noted_at_once():
            source = source.with_classes(target, {*used, *needed})
        source = _selected(source, tuple(name for name in names if name in {*used, *needed}))
        return cls(source, target, groups, *_counted(source, target), by)

    @property
    def title(self) -> str:
        """The name of the file, without its folders, and the target."""
        return f"{Path(self.source.name).name or self.source.name}: {self.target}"

    @property
    def without_class(self) -> int:
        """The number of rows without a class."""
        return self.empty + self.marked

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return sum(self.counts.values()) + self.without_class

    def require_classes(self, cure: str = "") -> None:
        """Reject rows without a class; `cure` is a further one.

        Raises:
            UnusableOptions: with how many there are.
        """
        if self.empty:
            raise UnusableOptions(
                f"column {self.target!r} is missing in {self.empty:,} of {self.n_rows:,} rows; "
                "every row needs a class. Remove these rows from the file, or fill the column."
                f"{cure}"
            )
        if self.marked:
            raise UnusableOptions(
                f"column {self.target!r} holds -1 beside {listed(self.counts)}: -1 marks a row "
                "without a class, and every row needs one. Remove these rows from the file, or, "
                f"if -1 is a class, write it as a word.{cure}"
            )

    def print_first(self, table: Table, *, json: bool, odd: bool = True) -> dict[str, Any]:
        """Print what was read, before anything is fitted, and return it.

        Args:
            table: the features, of all rows or of the first ones.
            json: whether results are printed as JSON, so that these are no lines here.
            odd: whether to say which columns may be no features.
        """
        facts = self.facts(table)
        if json:
            return facts
        printing.print_answer(facts, lines_of_data(facts), json=False)
        if odd:
            found = identifiers(table)
            rest = set_aside(table, found)
            # where nothing else is left, the fit says so
            notes = map(ignored, found) if len(found) < len(table.columns) else ()
            printing.print_warnings([*notes, *suspicions(rest, as_read(rest))], apart=True)
        return facts

    def facts(self, table: Table) -> dict[str, Any]:
        """Return what was read; `table` holds the features, of all rows or of the first ones."""
        return {
            "data": self.source.name,
            "target": self.target,
            "rows": self.n_rows,
            "columns": kinds_of_columns(table),
            "classes": {str(label): count for label, count in self.counts.items()},
            "rows_without_class": self.without_class,
        }

    def first_features(self) -> Table:
        """Return the features of the first rows.

        Raises:
            InvalidData: there are no rows.
        """
        part = next(self.source.parts(), None)
        if part is None:
            raise no_rows_in_source(self.source.name)
        return read_table(part.without(self.target).frame)

    def rows(self) -> tuple[pa.Table, Shaped[np.ndarray, " row"], list | None]:
        """Return features, labels (missing or -1: no class) and groups.

        Raises:
            InvalidData: there are no rows.
        """
        tables = [pa.table(part.frame) for part in self.source.parts()]
        if not tables:
            raise no_rows_in_source(self.source.name)
        table = pa.concat_tables(tables)
        labels = table.column(self.target).to_pylist()
        y = np.array(labels, dtype=object if self.without_class else None)
        groups = None if self.groups is None else table.column(self.groups).to_pylist()
        beside = [name for name in (self.target, self.groups) if name is not None]
        return table.drop_columns(beside), y, groups

    def subgroups(self) -> Subgroups | None:
        """Return the levels that are scored separately, of all rows.

        Raises:
            BayesgenError: the column has too many.
        """
        if self.by is None:
            return None
        parts = self.source.parts({self.by: "any"})
        column = pd.concat([pa.table(part.frame)[self.by].to_pandas() for part in parts])
        return Subgroups.read(self.by, read_table(column.to_frame()))


def is_text(table: Table) -> bool:
    """Return whether a table has one column of words, which a bag of words counts."""
    (column, *others) = table.columns
    return not others and column.kind == "level" and isinstance([*column.levels, 0][0], str)


def counted_words(table: Table) -> pd.DataFrame:
    """Return how often the rows of a column of texts hold each of its most frequent words.

    Raises:
        InvalidData: the texts have no word.
    """
    (column,) = table.columns
    texts = [column.levels[code] if code >= 0 else "" for code in column.values]
    counts, words = word_counts(texts, WORDS)
    return pd.DataFrame(counts, columns=words)


def _likely_first(source: Source) -> list[str]:
    """Return the names of columns; of many, those that may hold classes come first."""
    names = list(map(str, source.names or ()))
    if len(names) <= NAMES:
        return names
    part = next(source.parts(), None)
    if part is None:
        return names
    rows = pa.table(part.frame).slice(0, FIRST).to_pylist()
    cells = [["" if cell is None else str(cell) for cell in row.values()] for row in rows]
    likely = few_valued(names, cells)[: NAMES - 10]
    return [*likely, *(name for name in names if name not in likely)]


def _selected(source: Source, names: tuple[str, ...]) -> Source:
    """Return a source that has some of the columns alone."""
    if names == source.names:
        return source

    def read(kinds: Kinds | None) -> Iterator[Part]:
        return source.read(dict.fromkeys(names, "any") if kinds is None else kinds)

    return dataclasses.replace(source, read=read, names=names)


def _counted(source: Source, target: str) -> tuple[dict[Any, int], int, int]:
    """Return the rows of each class, those that are missing, and those that -1 marks."""
    counts: Counter = Counter()
    for part in source.parts({target: "any"}):
        counts.update(count_values(pa.table(part.frame).column(target)))
    labels = list(counts)
    there = read_target(np.array(labels, dtype=object), silent=True).there
    without = [labels[i] for i in np.flatnonzero(~there)]
    marked = counts.pop(-1) if -1 in without else 0
    empty = sum(counts.pop(label) for label in without if label != -1)
    return dict(sorted(counts.items())), empty, marked


def count_values(column: pa.ChunkedArray) -> dict[Any, int]:
    """Return how many rows have each value."""
    return {entry["values"]: entry["counts"] for entry in column.value_counts().to_pylist()}
