"""Sentences about tables, targets and weights that cannot be read."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, Real, listed, rows, shown


class UnsupportedTable(BayesgenError, TypeError):
    """X is of a type that the library does not read."""

    @classmethod
    def of_type(cls, found: object) -> "UnsupportedTable":
        """X is neither a dataframe nor an array."""
        return cls(
            f"X is of type {type(found).__name__}; a pandas or polars DataFrame, a pyarrow Table "
            "or a two-dimensional NumPy array is needed. Pass pandas.DataFrame(X)."
        )

    @classmethod
    def lazy(cls, found: object) -> "UnsupportedTable":
        """X is a query that has not run."""
        return cls(
            f"X is a {type(found).__name__}, a query that has not run yet; its rows are needed. "
            "Pass X.collect()."
        )

    @classmethod
    def sparse(cls) -> "UnsupportedTable":
        """X is a SciPy sparse matrix."""
        return cls("X is a sparse matrix; sparse input is not supported. Pass X.toarray().")


class InvalidTable(BayesgenError, ValueError):
    """X is a table of a wrong shape."""

    @classmethod
    def not_two_dimensional(cls, n_dimensions: Count) -> "InvalidTable":
        """X has no axes of rows and columns. The first sentence is scikit-learn's."""
        return cls(
            f"Expected 2D array, got {n_dimensions}D array instead: X needs rows and columns. "
            "Reshape your data either using X.reshape(-1, 1) if it is one feature, or "
            "X.reshape(1, -1) if it is one row; a Series becomes a table by X.to_frame()."
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
    def tiny_spread(cls, column: object, spread: Real) -> "InvalidValues":
        """Squares of the differences would underflow."""
        return cls(
            f"column {shown(column)} varies by only {spread:.3g} over its rows; a spread of 0 or "
            "at least 1e-150 is allowed, because its square must be above 0. Choose a smaller "
            "unit: multiply the column by a constant."
        )

    @classmethod
    def complex_numbers(cls, column: object) -> "InvalidValues":
        """Cells are complex. The first words are scikit-learn's."""
        return cls(
            f"Complex data not supported: column {shown(column)} holds complex numbers; real ones "
            "are allowed. Pass the parts as two columns, X.real and X.imag."
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
    def mixed(cls, column: object, found: Iterable[str]) -> "UnsupportedColumn":
        """Cells of one column are of several types."""
        return cls(
            f"column {shown(column)} mixes values of the types {', '.join(found)}; one type is "
            "allowed. For categories pass X[column].astype(str), for numbers "
            "pandas.to_numeric(X[column])."
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


class InvalidTarget(BayesgenError, ValueError):
    """y is not one label for each row."""

    @classmethod
    def absent(cls) -> "InvalidTarget":
        """Y is None. The words are scikit-learn's."""
        return cls(
            "This classifier requires y to be passed, but the target y is None. Pass one label for "
            "each row: fit(X, y)."
        )

    @classmethod
    def wrong_shape(cls, shape: tuple[int, ...]) -> "InvalidTarget":
        """Y has not one axis. The first words are scikit-learn's."""
        return cls(
            f"y should be a 1d array, got an array of shape {shape} instead; one label for each "
            "row is allowed. Pass one column, y[:, 0], or the class of each row, y.argmax(axis=1)."
        )

    @classmethod
    def ragged(cls) -> "InvalidTarget":
        """Y is a list of lists of different lengths."""
        return cls(
            "y should be a 1d array, got lists of different lengths instead; one label for each "
            "row is allowed. Pass a list of labels."
        )

    @classmethod
    def mixed(cls, found: Iterable[str]) -> "InvalidTarget":
        """Labels have several types, or types that have no order."""
        return cls(
            f"Unknown label type: y holds labels of the types {', '.join(found)}; text, numbers or "
            "booleans are allowed, all of one type. Pass y.astype(str)."
        )

    @classmethod
    def undeclared(cls, labels: Iterable, declared: Iterable) -> "InvalidTarget":
        """A batch has classes that the first call of partial_fit did not declare."""
        return cls(
            f"y has the classes {listed(labels)}, and partial_fit was given {listed(declared)} as "
            "all classes. Name them at the first call, partial_fit(X, y, classes=[...]), or leave "
            "classes out."
        )

    @classmethod
    def wrong_length(cls, n_labels: Count, n_rows: Count) -> "InvalidTarget":
        """X and y differ in length."""
        return cls(
            f"X has {rows(n_rows)} and y has {n_labels:,} labels (inconsistent numbers of "
            "samples); one label for each row is needed. Select both with the same rows."
        )


class MissingLabels(BayesgenError, ValueError):
    """Some labels are missing."""

    @classmethod
    def in_rows(cls, count: Count, n_rows: Count) -> "MissingLabels":
        """Labels are None, NaN or NA in `count` rows."""
        return cls(
            f"y is missing (NaN, None or NA) in {count:,} of {rows(n_rows)}; every row needs a "
            "label. Leave these rows out: keep = pandas.notna(y); fit(X[keep], y[keep])."
        )


class TooFewClasses(BayesgenError, ValueError):
    """Fewer than two classes."""

    @classmethod
    def found(cls, classes: Iterable) -> "TooFewClasses":
        """Y has one class, or none."""
        classes = list(classes)
        noun = "class" if len(classes) == 1 else "classes"
        return cls(
            f"y has {len(classes)} {noun}, {listed(classes)}; at least two are needed. Check the "
            "rows that were selected, or name all classes in partial_fit(X, y, classes=[...])."
        )


class InvalidWeights(BayesgenError, ValueError):
    """sample_weight is not one non-negative number for each row."""

    @classmethod
    def values(cls, count: Count) -> "InvalidWeights":
        """Weights are negative or not finite."""
        return cls(
            f"sample_weight is negative, infinite or NaN in {rows(count)}; numbers of at least 0 "
            "are allowed (2 means the row twice, 0 that it is absent). Pass numpy.clip(weight, 0, "
            "None)."
        )

    @classmethod
    def wrong_shape(cls, shape: tuple[int, ...], n_rows: Count) -> "InvalidWeights":
        """Weights are not one for each row."""
        return cls(
            f"sample_weight has the shape {shape}, X has {rows(n_rows)}; one weight for each row, "
            f"the shape ({n_rows},), is needed (sample_weight.shape == ({n_rows},)). Pass None for "
            "equal weights."
        )

    @classmethod
    def all_zero(cls) -> "InvalidWeights":
        """No row has a weight above 0."""
        return cls("sample_weight is 0 in every row; at least one must be above 0. Pass None.")


class UnknownDataset(BayesgenError, ValueError):
    """No bundled data set has this name."""

    @classmethod
    def named(cls, name: object, known: tuple[str, ...]) -> "UnknownDataset":
        """`name` is not among the `known` ones."""
        return cls(f"data set {shown(name)} is not bundled; there are {listed(known, len(known))}.")
