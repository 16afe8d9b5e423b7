"""Sentences about sources of rows (files, queries, streams) that are raised in several places."""

import difflib
from collections.abc import Sequence

from bayesgen.errors.kinds import InvalidData
from bayesgen.errors.wording import shown


def reason(error: Exception) -> str:
    """Return the first line of an error of an engine, which may quote bytes of a file."""
    text = str(error).split("Is this a 'parquet' file?: ")[-1].split(": Invalid: ")[-1]
    text = text.strip().split("\n")[0]
    return "".join(filter(str.isprintable, text))[:300].rstrip(". ")


def no_column(source: str, name: object, existing: Sequence) -> InvalidData:
    """A column that was asked for is not there."""
    close = difflib.get_close_matches(str(name), list(map(str, existing)), n=1)
    return InvalidData(
        "{source!r} has no column {name!r}{hint}; its columns are {existing:listed 40}.",
        source=source,
        name=name,
        hint=f" (did you mean {shown(close[0])}?)" if close else "",
        existing=existing,
    )


def no_features(source: str, target: object) -> InvalidData:
    """The target is the only column."""
    return InvalidData(
        "{source!r} has no column besides {target!r}: there is nothing to learn from.",
        source=source,
        target=target,
    )


def no_rows_in_source(source: str) -> InvalidData:
    """A source has columns but no rows."""
    return InvalidData("{source!r} has column names but no rows.", source=source)


def needs_rows_in_memory(what: str) -> InvalidData:
    """A fit needs all rows at once, and a source is read part by part."""
    return InvalidData(
        "{what} needs all rows in memory, but a source is read part by part.",
        "Fit a sample of the rows as a table, or use bg.StackedClassifier(), which samples 20,000 "
        "rows for this.",
        what=what,
    )
