"""Errors about sources of rows: files, queries and streams that are read part by part."""

import difflib
from collections.abc import Sequence

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Sentence, listed, shown


def reason(error: Exception) -> str:
    """Return the first line of an error of an engine, which may quote bytes of a file."""
    text = str(error).split("Is this a 'parquet' file?: ")[-1].split(": Invalid: ")[-1]
    text = text.strip().split("\n")[0]
    return "".join(filter(str.isprintable, text))[:300].rstrip(". ")


class InvalidSource(BayesgenError, ValueError):
    """Rows cannot be read from a source, or not in the way that a method requires."""

    unreadable = Sentence(
        "cannot read {source!r} as a table: {reason}. Write the file again, or leave it out."
    )
    engine = Sentence(
        "cannot read {source!r}: {reason}. If these are rows of files, pass the path of the files, "
        "fit('rows/*.parquet', y=...): errors then name the file and the column."
    )
    no_file = Sentence(
        "there is no file at {source!r}. Pass the path of a Parquet, CSV or Arrow file, of a "
        "folder of them, or a pattern such as 'rows/*.parquet'."
    )
    several_formats = Sentence(
        "{source!r} holds {one!r} and {other!r}, files of two formats. Pass a pattern that selects "
        "one: {pattern!r}."
    )
    cell = Sentence(
        "column {column!r} holds {cell!r}, and is read as {kind}. If it means "
        "missing, add --missing {cell!r}, in Python polars.scan_csv(path, null_values=[{cell!r}]); "
        "otherwise correct the file, or pass polars.scan_csv(path, infer_schema_length=None), "
        "which takes the types from all rows.",
        order="column kind cell",
    )
    not_text = Sentence(
        "column {column!r} of {source!r} holds bytes that are not UTF-8 text. Convert the file: "
        "iconv -f latin1 -t utf-8 {source!r} > utf8.csv."
    )

    open_quote = Sentence(
        "a quotation mark in the row that begins in line {line:,} of {source!r} is not closed, and "
        "the lines below would be read as part of it. Close it there, or write the file again."
    )
    utf_16 = Sentence(
        "{source!r} is text in UTF-16; CSV files are read as UTF-8. Convert the file: iconv -f "
        "utf-16 -t utf-8 {source!r} > utf8.csv."
    )
    workbook = Sentence(
        "{source!r} is an Excel workbook or another archive, and no CSV file. Save its sheet as "
        "CSV (in Excel: File, Save As, CSV UTF-8), and use that file."
    )

    @classmethod
    def no_column(cls, source: str, name: object, existing: Sequence) -> "InvalidSource":
        """A column that was asked for is not there."""
        found = difflib.get_close_matches(str(name), list(map(str, existing)), n=1)
        hint = f" (did you mean {found[0]!r}?)" if found else ""
        return cls(
            f"{shown(source)} has no column {shown(name)}{hint}; its columns are "
            f"{listed(existing, 20)}."
        )

    no_features = Sentence(
        "{source!r} has no column besides {target!r}: there is nothing to learn from."
    )
    no_shared_column = Sentence(
        "{source!r} has none of the columns that the model reads, {names:listed 20}; its columns "
        "are {existing:listed 20}. Name them as they were named when the model was fitted.",
        order="source names existing",
    )
    no_rows = Sentence("{source!r} has column names but no rows.")
    exhausted = Sentence(
        "{source!r} has no rows left: it can be read only once. Create it again, or pass a "
        "function that returns a new one."
    )
    no_names = Sentence(
        "y={target!r} names a column, and X is of type {found.__class__.__name__}, whose columns "
        "have no names. Pass the labels themselves: fit(X, y)."
    )
    weights = Sentence(
        "sample_weight of {source!r} is of type {found.__class__.__name__}; the weights of a "
        "source must be one of its columns. Name it: fit(X, y, sample_weight='column')."
    )
    no_label = Sentence(
        "column {column!r} is missing in {count:,} of {n_rows:rows}; every row needs a class. "
        "Remove these rows, or fill the column; rows without a class can be fitted only from "
        "tables in memory, fit(X, y)."
    )
    taken = Sentence(
        "{source!r} already has the {columns:named column}, and predictions of the same name "
        "would be added. Leave these out, X.drop({columns:listed}), or rename them."
    )
    labels = Sentence(
        "column {column!r} holds the label {now!r} here, and {before!r} in earlier parts; all "
        "parts need one type. Cast it to text in every part.",
        order="column before now",
    )
    frame = Sentence(
        "{part} is of type {found.__class__.__name__}; every part must be a table with column "
        "names. Yield frames: pandas.DataFrame(part)."
    )
    read_once = Sentence(
        "{source!r} can be read only once, and {what} reads its rows twice. Pass a path, a "
        "pyarrow.dataset.Dataset, a LazyFrame, a list of frames, or a function that returns a new "
        "iterator."
    )
    changed = Sentence(
        "{source!r} had {before:rows} when it was first read and {now:,} later; a stack reads it "
        "twice, and the rows must not change in between. Write it to a file first, and pass the "
        "path."
    )
    kept_rows = Sentence(
        "{what} needs all rows in memory, but a source is read part by part. Fit a sample of the "
        "rows as a table, or use bg.StackedClassifier(), which samples 20,000 rows for this."
    )


class IncompletePart(BayesgenWarning):
    """A part of a source lacks columns that others have."""

    lacks = Sentence(
        "{part} lacks {columns:named column}, which other parts have; they count as missing in its "
        "rows. Add the columns, or leave this part out."
    )
