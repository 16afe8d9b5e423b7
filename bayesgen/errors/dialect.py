"""Code to type, in the dialect of the table and the classifier of a call.

A cure that drops a column is `X.drop(columns='a')` of pandas, `X.drop('a')` of polars and
`numpy.delete(X, 0, axis=1)` of an array. A template says `{column:without}`, and the message that
is made within a call is written for the X of this call.
"""

import contextvars
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import cast

from bayesgen.typing import Self

FRAMES = ("pandas", "polars", "pyarrow")
PLAIN = "list"
"""The kind of rows and labels that come in no array."""


@dataclass(frozen=True)
class Dialect:
    """How a call was made.

    table: the package of X: "pandas", "polars", "pyarrow", "numpy", "scipy", or "list" of rows.
    labels: that of y. likelihood: whether the classifier has the argument likelihood=.
    """

    table: str = "pandas"
    labels: str = "pandas"
    likelihood: bool = True

    @classmethod
    def of(cls, X: object, y: object, classifier: object = None) -> Self:
        """Return the dialect of a call with rows X and labels y; None: there are none."""
        of_table, of_labels = (value if value is None else _package(value) for value in (X, y))
        has = classifier is None or hasattr(classifier, "likelihood")
        return cls(of_table or "pandas", of_labels or "pandas", has)


def _package(value: object) -> str:
    """Return the package of a table or an array; of others that of the frame to make of them."""
    package = type(value).__module__.partition(".")[0]
    if package in (*FRAMES, "numpy", "scipy"):
        return package
    # nothing is asked of the rows of a plot, which may be refused before it looks at them
    if not issubclass(type(value), list | tuple):
        return "pandas"
    first = next(iter(cast(list, value)), None)
    of_first = type(first).__module__.partition(".")[0]
    rows = isinstance(first, list | tuple | str | int | float | None) or of_first == "numpy"
    return PLAIN if rows else _package(first)


ROWS = frozenset(("X", "X_new"))
"""Names of the argument that is a table."""
Arguments = tuple[tuple[str, ...], tuple, Mapping[str, object]]
"""Names of the arguments of a call, those by position, and those by name."""
CALL: contextvars.ContextVar[Arguments | None] = contextvars.ContextVar("call", default=None)
"""The outermost call with a table that runs."""


def spoken() -> Dialect:
    """Return the dialect of the call that runs."""
    call = CALL.get()
    if call is None:
        return Dialect()
    names, args, options = call
    given = dict(zip(names, args, strict=False)) | dict(options)
    X = next((given[name] for name in ROWS if name in given), None)
    return Dialect.of(X, given.get("y"), given.get("self"))


# -- code ------------------------------------------------------------------------------------------


def _names(columns: object) -> list:
    several = isinstance(columns, Sequence) and not isinstance(columns, str | tuple)
    return list(columns) if several else [columns]


def _code(columns: object) -> str:
    """Return a name, or a list of names, as it would be typed."""
    return repr(_names(columns)) if isinstance(columns, list) else repr(columns)


def _position(name: object) -> int:
    """Return the position of a column of an array, which is named by it: x3."""
    return int(str(name).removeprefix("x"))


def _in_frame(dialect: Dialect, change: str) -> str:
    """Return a change of X as a frame of pandas, with the code that makes X one."""
    if dialect.table == "pandas":
        return change
    if dialect.table == "pyarrow":
        return f"X = X.to_pandas(); {change}"
    cells = "X.toarray()" if dialect.table == "scipy" else "X"
    return f"X = pandas.DataFrame({cells}).add_prefix('x'); {change}"


def without(dialect: Dialect, columns: object) -> str:
    """Return the code of X without some columns."""
    if dialect.table == "polars":
        return f"X.drop({_code(columns)})"
    if dialect.table == "pyarrow":
        return f"X.drop_columns({_code(columns)})"
    if dialect.table == "pandas":
        return f"X.drop(columns={_code(columns)})"
    at = [_position(name) for name in _names(columns)]
    if dialect.table == "scipy":
        return f"X[:, [j for j in range(X.shape[1]) if j not in {at}]]"
    return f"numpy.delete(X, {at[0] if len(at) == 1 else at}, axis=1)"


IN_POLARS = {"float": "Float64", "int": "Int64", "bool": "Boolean"}


def as_type(dialect: Dialect, column: object, kind: str) -> str:
    """Return the code of X with a column of another type, "category" or one of Python."""
    if dialect.table == "polars":
        to = f"polars.{IN_POLARS.get(kind, 'String')}"
        if kind == "category":
            to = f"polars.Enum(X[{column!r}].drop_nulls().unique().sort())"
        return f"X.with_columns(polars.col({column!r}).cast({to}))"
    if dialect.table in ("pandas", "pyarrow"):
        X = "X" if dialect.table == "pandas" else "X.to_pandas()"
        return f"{X}.astype({{{column!r}: {repr(kind) if kind == 'category' else kind}}})"
    X = "numpy.asarray(X)" if dialect.table == PLAIN else "X"
    return f"{X}.astype({'str' if kind == 'category' else kind})"


def column_of(dialect: Dialect, column: object) -> str:
    """Return the code of a column of X."""
    if dialect.table in ("numpy", PLAIN):
        X = "numpy.asarray(X)" if dialect.table == PLAIN else "X"
        return f"{X}[:, {_position(column)}]"
    if dialect.table == "scipy":
        return f"X[:, [{_position(column)}]].toarray()[:, 0]"
    return f"X[{column!r}]"


def month_of(dialect: Dialect, column: object) -> str:
    """Return the code of the months of a column of dates."""
    if dialect.table == "polars":
        return f"X[{column!r}].dt.month()"
    if dialect.table in ("pandas", "pyarrow"):
        X = "X" if dialect.table == "pandas" else "X.to_pandas()"
        return f"{X}[{column!r}].dt.month"
    return f"pandas.DatetimeIndex({column_of(dialect, column)}).month"


def _changed(dialect: Dialect, column: object, pandas: str, polars: str) -> str:
    """Return the statement that changes a column.

    pandas, polars: the code of the changed column, of {0}, the column.
    """
    if dialect.table == "polars":
        return f"X = X.with_columns({polars.format(f'polars.col({column!r})')})"
    return _in_frame(dialect, f"X[{column!r}] = {pandas.format(f'X[{column!r}]')}")


def coerced(dialect: Dialect, column: object) -> str:
    """Return the statement that makes cells missing that are no numbers."""
    polars = "{0}.cast(polars.Float64, strict=False)"
    return _changed(dialect, column, "pandas.to_numeric({0}, errors='coerce')", polars)


def without_texts(dialect: Dialect, column: object, texts: Sequence[str]) -> str:
    """Return the statement that makes cells of these texts missing."""
    pandas = f"{{0}}.where(~{{0}}.str.strip().isin({list(texts)!r}))"
    polars = f"polars.when(~{{0}}.str.strip_chars().is_in({list(texts)!r})).then({{0}})"
    return _changed(dialect, column, pandas, polars)


def bounds(dialect: Dialect, column: object) -> str:
    """Return the statement that takes the numbers of texts such as "< 5"."""
    marks = "' <>=+\u2264\u2265'"
    return _changed(
        dialect,
        column,
        f"{{0}}.str.strip({marks}).astype(float)",
        f"{{0}}.str.strip_chars({marks}).cast(polars.Float64)",
    )


def middles(dialect: Dialect, column: object) -> str:
    """Return the statement that takes the middle of ranges such as "735-739"."""
    ends = r"r'([\d.]+)\D+?([\d.]+)'"
    lower, upper = (f"{{0}}.str.extract({ends}, {i}).cast(polars.Float64)" for i in (1, 2))
    return _changed(
        dialect,
        column,
        f"{{0}}.str.extract({ends}).astype(float).mean(axis=1)",
        f"({lower} + {upper}) / 2",
    )


def alike(dialect: Dialect, column: object) -> str:
    """Return the statement that writes levels alike that differ by blanks or case."""
    polars = "{0}.str.strip_chars().str.replace_all(r'\\s+', ' ').str.to_lowercase()"
    return _changed(dialect, column, "{0}.str.split().str.join(' ').str.lower()", polars)


def with_points(dialect: Dialect, column: object, points: str = "") -> str:
    """Return the statement that reads decimal commas; points: whether there are others."""
    strip = (".str.replace('.', '')", ".str.replace_all('.', '', literal=True)")
    pandas, polars = strip if points else ("", "")
    return _changed(
        dialect,
        column,
        f"{{0}}{pandas}.str.replace(',', '.').astype(float)",
        f"{{0}}{polars}.str.replace(',', '.').cast(polars.Float64)",
    )


def cut(dialect: Dialect, column: object, parts: str) -> str:
    """Return the statement that cuts numbers into levels."""
    # polars has no stable function that does so
    cells = f"pandas.cut(X[{column!r}].to_numpy(), {parts}, labels=False)"
    polars = f"polars.Series({column!r}, {cells})"
    return _changed(dialect, column, f"pandas.cut({{0}}, {parts})", polars)


def parts(dialect: Dialect, column: object, number: str) -> str:
    """Return the code of the levels of a column of numbers that is cut."""
    cells = column_of(dialect, column)
    frame = dialect.table in ("polars", "pyarrow")
    return f"pandas.cut({cells}{'.to_numpy()' if frame else ''}, {number})"


def blank(dialect: Dialect, columns: object, level: str) -> str:
    """Return the code of X with another level, or None, in place of blank text."""
    if dialect.table == "polars":
        names = ", ".join(map(repr, _names(columns)))
        text = "'blank'" if level == "blank" else "None"
        missing = f"polars.when(polars.col({names}).str.strip_chars() != '')"
        then = f".then(polars.col({names})).otherwise(polars.lit({text}))"
        return f"X.with_columns({missing}{then})"
    X = {"pyarrow": "X.to_pandas()", "pandas": "X"}.get(dialect.table, "pandas.DataFrame(X)")
    return f"{X}.replace(r'^\\s*$', {repr(level) if level == 'blank' else None}, regex=True)"


def likelihood_of(dialect: Dialect, columns: object, family: str) -> str:
    """Return the argument that states a likelihood of a column, or a classifier that has one."""
    stated = f"likelihood={{{_names(columns)[0]!r}: bg.{family}(), ...}}"
    return stated if dialect.likelihood else f"bg.NaiveBayes({stated})"


TYPED: dict[str, Callable[..., str]] = {
    "without": without,
    "as": as_type,
    "in_X": column_of,
    "month": month_of,
    "coerced": coerced,
    "alike": alike,
    "bounds": bounds,
    "middles": middles,
    "commas": with_points,
    "cut": cut,
    "parts": parts,
    "blank": blank,
    "by": likelihood_of,
}
"""Formats of a field that names columns: the code for them."""


def typed(dialect: Dialect, columns: object, word: str, *options: str) -> str:
    """Return code by one of the words of `TYPED`; columns: names.

    Names that a fit has from a frame stay, where an array comes later.
    """
    names = map(str, _names(columns))
    positions = all(name.startswith("x") and name[1:].isdigit() for name in names)
    if dialect.table not in FRAMES and not positions:
        dialect = replace(dialect, table="pandas")
    return TYPED[word](dialect, columns, *options)


@dataclass(frozen=True)
class Typed:
    """Code that needs no name of a column: it is given by the dialect."""

    of: Callable[[Dialect], str]

    def text(self, dialect: Dialect) -> str:
        """Return the code."""
        return self.of(dialect)


def _array(name: str, package: str) -> str:
    return f"numpy.asarray({name})" if package == PLAIN else name


def _chosen(name: str, package: str) -> str:
    """Return the code of those rows, or labels, for which keep is true."""
    if package in ("polars", "pyarrow"):
        return f"{name}.filter(keep)"
    return f"{_array(name, package)}[keep]"


def _without_missing(dialect: Dialect) -> str:
    if dialect.table == "scipy":
        return "type X.data[numpy.isnan(X.data)] = 0"
    of_frames = {
        "pandas": "pass X.fillna(0)",
        "polars": "pass X.fill_null(0).fill_nan(0)",
        "pyarrow": "pass X.to_pandas().fillna(0)",
    }
    return of_frames.get(dialect.table, "pass numpy.nan_to_num(X)")


def _without_infinity(dialect: Dialect) -> str:
    infinite = "[numpy.inf, -numpy.inf]"
    if dialect.table in ("pandas", "pyarrow"):
        X = "X" if dialect.table == "pandas" else "X.to_pandas()"
        return f"{X}.replace({infinite}, numpy.nan)"
    if dialect.table == "polars":
        return f"X.with_columns(polars.selectors.float().replace({infinite}, None))"
    if dialect.table == "scipy":
        return "X after X.data[numpy.isinf(X.data)] = numpy.nan"
    return "numpy.where(numpy.isinf(X), numpy.nan, X)"


def renamed(before: object, after: object) -> Typed:
    """Return X with another name of a column."""
    names = f"{{{before!r}: {after!r}}}"
    calls = {"polars": f"X.rename({names})", "pyarrow": f"X.rename_columns({names})"}
    return Typed(lambda dialect: calls.get(dialect.table, f"X.rename(columns={names})"))


def with_names(names: Sequence) -> Typed:
    """Return the statement that names all columns of X."""
    calls = {"pyarrow": f"X = X.rename_columns({list(names)!r})"}
    return Typed(lambda dialect: calls.get(dialect.table, f"X.columns = {list(names)!r}"))


def _columns_of_the_fit(dialect: Dialect) -> str:
    if dialect.table in ("polars", "pyarrow"):
        return "X.select(clf.feature_names_in_.tolist())"
    return "X.filter(items=clf.feature_names_in_)"


def _rows_k(name: str, package: str) -> str:
    """Return the code of those rows, or labels, at the positions k."""
    if package == "pandas":
        return f"{name}.iloc[k]"
    return f"{name}.take(k)" if package == "pyarrow" else f"{_array(name, package)}[k]"


def _with_empty_columns(dialect: Dialect) -> str:
    """Return the code of X with empty columns for those of the fit that it lacks."""
    if dialect.table == "polars":
        absent = "name for name in clf.feature_names_in_ if name not in X.columns"
        return f"X.with_columns(**dict.fromkeys({absent}))"
    X = "X.to_pandas()" if dialect.table == "pyarrow" else "X"
    return f"{X}.reindex(columns=clf.feature_names_in_)"


FITTED_COLUMNS = Typed(_columns_of_the_fit)
"""X with the columns of the fit alone."""
WITH_EMPTY = Typed(_with_empty_columns)
"""X with empty columns for those of the fit that it lacks."""
REPEATED = Typed(lambda d: f"{_rows_k('X', d.table)}, {_rows_k('y', d.labels)}")
"""The rows and labels at the positions k."""
KEPT = Typed(lambda d: f"{_chosen('X', d.table)}, {_chosen('y', d.labels)}")
"""The rows and labels for which keep is true."""
ZEROS = Typed(_without_missing)
"""X, its missing cells 0."""
FINITE = Typed(_without_infinity)
"""X, its infinite cells missing."""
LABELS = Typed(lambda d: "y" if d.labels in ("pandas", "numpy") else "numpy.asarray(y)")
"""Labels with the methods of an array."""
