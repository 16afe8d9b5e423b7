"""Invalid data: tables, values, texts, labels and weights."""

from collections.abc import Iterable

from bayesgen.errors.base import (
    BayesgenError,
    BayesgenWarning,
    Count,
    Real,
    listed,
    rows,
    shown,
)


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
        return cls("X is a sparse matrix, which is not supported here. Pass X.toarray().")

    @classmethod
    def sparse_of(cls, found: str) -> "UnsupportedTable":
        """A sparse matrix holds something else than numbers."""
        return cls(
            f"X is a sparse matrix of dtype {found}; numbers and booleans are allowed. Pass "
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
    def too_large_to_transform(cls, column: object, value: Real, power: float) -> "InvalidValues":
        """Squares of the transformed values would overflow."""
        return cls(
            f"column {shown(column)} holds {value:.3g}, and power_transform=True raises its "
            f"distance from the column's mean to the power {max(power, 2 - power):g}, which "
            "exceeds 1e150. Correct the cell, or leave out power_transform=True."
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
        """A covariance matrix is numerically singular."""
        return cls(
            f"the covariance matrix of the columns {listed(columns)} is numerically singular: the "
            "columns are collinear, or weights differ too much. Leave out a column that repeats "
            "others, or pass weights that are more alike."
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


class UnknownDataset(BayesgenError, ValueError):
    """No bundled data set has this name."""

    @classmethod
    def named(cls, name: object, existing: tuple[str, ...]) -> "UnknownDataset":
        """`name` is not among the `existing` ones."""
        return cls(
            f"data set {shown(name)} is not bundled; there are {listed(existing, len(existing))}."
        )


class InvalidTexts(BayesgenError, ValueError):
    """Something is no list of texts."""

    @classmethod
    def one_text(cls, text: object) -> "InvalidTexts":
        """X is a text."""
        start = text[:30] if isinstance(text, str | bytes) else text
        return cls(f"X is one text, {shown(start)}; a list of texts is needed. Pass [X].")

    @classmethod
    def missing(cls, count: Count, n_rows: Count) -> "InvalidTexts":
        """Texts are None or NaN."""
        return cls(
            f"X holds no text (None or NaN) in {count:,} of {rows(n_rows)}; every row needs one, "
            'even if it is empty. Pass X.fillna(""), or leave these rows out.'
        )

    @classmethod
    def mixed(cls, found: str, count: Count, n_rows: Count) -> "InvalidTexts":
        """Something else stands among texts."""
        return cls(
            f"X holds something of type {found} among texts, in {count:,} of {rows(n_rows)}; texts "
            "alone or counts alone are allowed. Pass [str(text) for text in X]."
        )

    @classmethod
    def column(cls, name: object) -> "InvalidTexts":
        """A frame has one column of texts."""
        return cls(
            f"X is a frame whose one column, {shown(name)}, holds texts; a list or a Series of "
            f"them is needed. Pass X[{shown(name)}]."
        )

    @classmethod
    def fitted_to_counts(cls, estimator: str) -> "InvalidTexts":
        """Texts to predict, and no vocabulary."""
        return cls(
            f"X holds texts, and this {estimator} was fitted to counts: it has no vocabulary. Fit "
            "it to texts, or pass counts from the same vectorizer."
        )

    @classmethod
    def no_words(cls, n_rows: Count) -> "InvalidTexts":
        """The vectorizer found no word."""
        return cls(
            f"X has no word in {rows(n_rows)}: the texts are empty, or hold stop words and single "
            "letters only. Pass a vectorizer that keeps what they hold, for example "
            'BagOfWords(vectorizer=CountVectorizer(token_pattern=r"\\S+")).'
        )


class EmptyDocuments(BayesgenWarning):
    """Rows without a word that fitting saw."""

    @classmethod
    def counts(cls, count: Count, n_rows: Count) -> "EmptyDocuments":
        """`count` of `n_rows` rows are answered by the class prior."""
        return cls(
            f"{count:,} of {rows(n_rows)} hold no word that fitting saw; they get the class prior."
        )

    @classmethod
    def presence(cls, count: Count, n_rows: Count) -> "EmptyDocuments":
        """`count` of `n_rows` rows are answered by the words that they lack."""
        return cls(
            f"{count:,} of {rows(n_rows)} hold no word that fitting saw; their answers rest on the "
            "words that they lack, which binary=True counts as evidence. Use binary=False for the "
            "class prior."
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
    def infinite(cls, count: Count, n_rows: Count) -> "InvalidTarget":
        """Labels are infinite numbers."""
        return cls(
            f"y is infinite in {count:,} of {rows(n_rows)}; text, whole numbers and booleans are "
            "labels. Leave these rows out: keep = numpy.isfinite(y); fit(X[keep], y[keep])."
        )

    @classmethod
    def fractions(cls, value: Real) -> "InvalidTarget":
        """Labels are numbers that are not whole. The first words are scikit-learn's."""
        return cls(
            f"Unknown label type: continuous. y holds {shown(value)}; text, whole numbers and "
            "booleans are labels. Pass y.astype(str), or cut y into classes: pandas.cut(y, 2)."
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


class UnlabelledRows(MissingLabels):
    """Labels are -1, which scikit-learn marks rows without a label by.

    labels: the others.
    """

    labels: list

    @classmethod
    def beside(cls, labels: Iterable) -> "UnlabelledRows":
        """`labels` are the others, at least two of them 0 or more."""
        labels = list(labels)
        error = cls(
            f"y holds -1 beside the labels {listed(labels)}: -1 marks a row without a label, as in "
            "scikit-learn, and every row needs one. Leave these rows out: keep = numpy.asarray(y) "
            "!= -1; fit(X[keep], y[keep]). If -1 is a class, give classes names: "
            "numpy.asarray(y).astype(str)."
        )
        error.labels = labels
        return error


class TooFewClasses(BayesgenError, ValueError, AttributeError):
    """Fewer than two classes: so far nothing can be predicted, and attributes have no value.

    As scikit-learn's NotFittedError, it is an AttributeError, which hasattr and displays expect.
    """

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
        return cls("sample_weight is zero in every row; at least one must be above 0. Pass None.")


class NoRows(BayesgenError, ValueError):
    """Rows are needed that the classifier does not have."""

    @classmethod
    def pass_them(cls, what: str) -> "NoRows":
        """The fit was in parts, or the classifier was copied or loaded."""
        return cls(
            f"{what} needs rows and labels, and a classifier that was fitted in parts, copied or "
            f"loaded keeps none. Pass them: {what}(X, y)."
        )

    @classmethod
    def others(cls, label: object, found: float, fitted: float) -> "NoRows":
        """Rows are to be taken away that were never added."""
        return cls(
            f"loo takes each row of the fit away: class {label!r} has {found:g} rows here, weights "
            f"summed, and the fit had {fitted:g}. Pass exactly the rows, labels and weights of the "
            "fit; for other rows use predict_log_proba."
        )

    @classmethod
    def without_columns(cls, absent: Iterable) -> "NoRows":
        """Rows to be taken away lack columns that they had when they were added."""
        absent = list(absent)
        noun = "column" if len(absent) == 1 else "columns"
        return cls(
            f"loo takes each row of the fit away, and X lacks the {noun} {listed(absent)}, which "
            "the rows of the fit had. Pass exactly these rows."
        )

    @classmethod
    def to_learn_from(cls, what: str) -> "NoRows":
        """Something is learned from all rows anew, and those of earlier calls are gone."""
        return cls(
            f"{what} is learned from all rows again, and a classifier that was copied or loaded "
            "keeps none of them. Call fit with all rows."
        )
