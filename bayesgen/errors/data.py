"""Sentences about tables that cannot be read."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, Real, in_rows, listed, rows, shown


class UnsupportedTable(BayesgenError, TypeError):
    """X is of a type that the library does not read."""

    @classmethod
    def of_type(cls, found: object) -> "UnsupportedTable":
        """X is neither a dataframe nor an array."""
        rows = "X" if isinstance(found, Iterable) else "{'column': [1.0, 2.0]}"
        return cls(
            f"X is of type {type(found).__name__}; a pandas or polars DataFrame, a pyarrow Table "
            f"or a two-dimensional NumPy array is needed. Pass pandas.DataFrame({rows})."
        )

    @classmethod
    def ragged(cls) -> "UnsupportedTable":
        """X is a list of rows of different lengths."""
        return cls(
            "X is a list of rows of different lengths; every row needs the same number of cells. "
            "Write None where a cell is missing."
        )

    @classmethod
    def lazy(cls, found: object, method: str) -> "UnsupportedTable":
        """X is a query that has not run; the method runs it."""
        return cls(
            f"X is a {type(found).__name__}, a query that has not run yet; its rows are needed. "
            f"Pass X.{method}()."
        )

    @classmethod
    def path(cls, found: object) -> "UnsupportedTable":
        """X is the path of a file."""
        name = str(found)
        reader = "read_parquet" if name.endswith((".parquet", ".pq")) else "read_csv"
        return cls(
            f"X is the path {shown(name)}; the rows themselves are needed. Read them first: "
            f"pass pandas.{reader}({shown(name)}) without the column of the labels."
        )

    @classmethod
    def records(cls, found: object) -> "UnsupportedTable":
        """X is a dict of columns or a list of dicts."""
        what = "a list of dicts" if isinstance(found, list | tuple) else "a dict"
        return cls(f"X is {what}; a table is needed. Pass pandas.DataFrame(X).")

    @classmethod
    def sparse(cls) -> "UnsupportedTable":
        """X is a SciPy sparse matrix."""
        return cls("X is a sparse matrix, which is not read here. Pass X.toarray().")

    @classmethod
    def sparse_of(cls, found: str) -> "UnsupportedTable":
        """A sparse matrix holds something else than numbers."""
        return cls(
            f"X is a sparse matrix of dtype {found}; numbers and booleans are allowed in one. Pass "
            "X.astype(float), or X.toarray() if it holds levels."
        )

    @classmethod
    def sparse_for(cls, family: str) -> "UnsupportedTable":
        """A likelihood reads no sparse rows."""
        return cls(
            f"X is a sparse matrix, and {family} does not read sparse rows; Multinomial, Bernoulli "
            "and Poisson do. Pass X.toarray(), or likelihood=bg.Multinomial() for counts of words."
        )


class InvalidTable(BayesgenError, ValueError):
    """X is a table of a wrong shape."""

    @classmethod
    def not_two_dimensional(cls, n_dimensions: Count) -> "InvalidTable":
        """X has no axes of rows and columns. The first sentence is scikit-learn's."""
        found = f"Expected 2D array, got {n_dimensions}D array instead: X needs rows and columns."
        if n_dimensions > 2:
            return cls(
                f"{found} Reshape your data, a row for each entry: numpy.reshape(X, (len(X), -1))."
            )
        return cls(
            f"{found} Reshape your data either using numpy.reshape(X, (-1, 1)) if it is one "
            "feature, or numpy.reshape(X, (1, -1)) if it is one row."
        )

    @classmethod
    def series(cls, found: object) -> "InvalidTable":
        """X is one column. The first words are scikit-learn's."""
        cure = "X.to_frame()" if hasattr(found, "to_frame") else "pyarrow.table({'x': X})"
        return cls(
            f"Expected 2D array, got 1D array instead: X is a {type(found).__name__}, one column "
            f"without a table around it. Reshape your data: pass {cure}."
        )

    @classmethod
    def no_rows(cls, n_columns: Count) -> "InvalidTable":
        """X has columns but no rows. The first sentence is scikit-learn's."""
        return cls(
            f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is "
            "required. X has no rows: check the filter that made it."
        )

    @classmethod
    def no_columns(cls, n_rows: Count) -> "InvalidTable":
        """X has rows but no columns. The first sentence is scikit-learn's."""
        return cls(
            f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is "
            "required. X has no columns: check the selection that made it."
        )

    @classmethod
    def duplicate_names(cls, names: Iterable) -> "InvalidTable":
        """Several columns have the same name."""
        return cls(
            f"X has more than one column named {listed(names)}; every column needs a name of its "
            "own. Rename them, in pandas by X.columns = [...]."
        )


class InvalidValues(BayesgenError, ValueError):
    """A column of numbers holds values that no likelihood can use."""

    @classmethod
    def infinite(cls, column: object, count: Count) -> "InvalidValues":
        """Some cells are plus or minus infinity."""
        return cls(
            f"column {shown(column)} holds infinity (inf or -inf) in {rows(count)}; finite numbers "
            "and missing values (NaN) are allowed. If they mean missing, pass "
            "X.replace([numpy.inf, -numpy.inf], numpy.nan)."
        )

    @classmethod
    def too_large(cls, column: object, value: Real) -> "InvalidValues":
        """Squares of the values would overflow."""
        return cls(
            f"column {shown(column)} holds {value:.3g}; magnitudes up to 1e150 are allowed, "
            "because their squares must be finite. Choose a larger unit: divide the column by a "
            "constant."
        )

    @classmethod
    def too_far_to_transform(cls, column: object, value: Real, power: float) -> "InvalidValues":
        """Squares of the bent values would overflow."""
        return cls(
            f"column {shown(column)} holds {value:.3g}, and numbers='yeo-johnson' raises how far "
            f"that is from the column's mean to the power {max(power, 2 - power):g}, which is "
            "beyond 1e150. Correct the cell, or leave out numbers='yeo-johnson'."
        )

    @classmethod
    def tiny_spread(cls, column: object, spread: Real) -> "InvalidValues":
        """Squares of the differences would underflow."""
        return cls(
            f"column {shown(column)} varies by only {spread:.3g} over its rows; a spread of 0 or "
            "at least 1e-150 is allowed, because its square must be above 0. Choose a smaller "
            "unit: multiply the column by a constant."
        )

    @classmethod
    def no_covariance(cls, columns: Iterable) -> "InvalidValues":
        """A covariance matrix rounds to a singular one."""
        return cls(
            f"a covariance matrix of the columns {listed(columns)} rounds to a singular one: "
            "columns repeat each other, or the weights of some rows leave nothing of the others. "
            "Leave out a column that repeats another, or pass weights nearer to each other."
        )

    @classmethod
    def complex_numbers(cls, column: object) -> "InvalidValues":
        """Cells are complex. The first words are scikit-learn's."""
        return cls(
            f"Complex data not supported: column {shown(column)} holds complex numbers; real ones "
            "are allowed. Pass its parts as two columns, numpy.real(X[column]) and "
            "numpy.imag(X[column])."
        )

    @classmethod
    def complex_array(cls, module: str = "numpy") -> "InvalidValues":
        """X is an array, or a sparse matrix, of complex numbers (scikit-learn's first words)."""
        return cls(
            "Complex data not supported: X holds complex numbers; real ones are allowed. Pass "
            f"their parts side by side: {module}.hstack([X.real, X.imag])."
        )


class UnsupportedColumn(BayesgenError, TypeError):
    """A column has a type, or a name, that the library does not read."""

    @classmethod
    def date(cls, column: object, found: str) -> "UnsupportedColumn":
        """Cells are dates, times or durations."""
        return cls(
            f"column {shown(column)} holds dates or times ({found}); numbers and categories are "
            "allowed. Say what about the date matters, for example X[column].dt.month, or drop the "
            "column."
        )

    @classmethod
    def nested(cls, column: object, found: str) -> "UnsupportedColumn":
        """Cells hold something other than one number, text or boolean (scikit-learn's words)."""
        return cls(
            f"column {shown(column)} holds values of type {found}; every argument must be a string "
            "or a number (or a boolean). Unpack them into columns of their own, or drop the column."
        )

    @classmethod
    def mixed(
        cls, column: object, found: Iterable[str], texts: list[tuple[str, int]]
    ) -> "UnsupportedColumn":
        """Cells of one column are of several types; `texts` are (text, row)."""
        name = shown(column)
        where = f" ({in_rows(texts)})" if texts else ""
        return cls(
            f"column {name} mixes values of the types {', '.join(found)}{where}; one type is "
            f"allowed. For categories X[{name}] = X[{name}].astype(str), for numbers X[{name}] = "
            f"pandas.to_numeric(X[{name}], errors='coerce'), which makes other cells missing."
        )

    @classmethod
    def text_numbers(cls, column: object, levels: Iterable) -> "UnsupportedColumn":
        """An array of text holds what were numbers or missing values before NumPy made it text."""
        return cls(
            f"column {shown(column)} of an array of text holds {listed(levels)}: numpy.array turns "
            "numbers and missing values that stand beside text into text. Pass a DataFrame, or an "
            "array made with dtype=object (dtype=float if there are numbers only)."
        )

    @classmethod
    def name(cls, column: object) -> "UnsupportedColumn":
        """A column is named by something other than text or an integer."""
        return cls(
            f"column {shown(column)} is named by a {type(column).__name__}; text and integers are "
            "allowed. Pass X.set_axis([str(c) for c in X.columns], axis=1)."
        )

    @classmethod
    def mixed_names(cls, text: str, number: int) -> "UnsupportedColumn":
        """Some columns are named by text, and some by integers."""
        return cls(
            f"column {shown(text)} is named by text and column {shown(number)} by an integer; "
            "names of one type are allowed. Pass X.set_axis([str(c) for c in X.columns], axis=1)."
        )


class UnknownDataset(BayesgenError, ValueError):
    """No bundled data set has this name."""

    @classmethod
    def named(cls, name: object, known: tuple[str, ...]) -> "UnknownDataset":
        """`name` is not among the `known` ones."""
        return cls(f"data set {shown(name)} is not bundled; there are {listed(known, len(known))}.")
