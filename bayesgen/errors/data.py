"""Errors about data: invalid tables, values, texts, labels and weights."""

from collections.abc import Iterable

from bayesgen.errors.base import (
    BayesgenError,
    BayesgenWarning,
    Count,
    Real,
    Sentence,
    listed,
    paired,
    shown,
)


class UnsupportedTable(BayesgenError, TypeError):
    """X is of an unsupported type."""

    @classmethod
    def of_type(cls, found: object) -> "UnsupportedTable":
        """X is neither a dataframe nor an array."""
        rows = "X" if isinstance(found, Iterable) else "{'column': [1.0, 2.0]}"
        return cls(
            f"X is of type {type(found).__name__}; a pandas or polars DataFrame, a pyarrow Table "
            f"or a two-dimensional NumPy array is needed. Pass pandas.DataFrame({rows})."
        )

    ragged = Sentence(
        "X is a list of rows of different lengths; every row needs the same number of cells. Write "
        "None where a cell is missing."
    )
    lazy = Sentence(
        "X is a {found.__class__.__name__}, a query that has not been run; its rows are needed. "
        "Pass X.{method}(), or, if they exceed memory, call fit(X, y='column') and "
        "predict_proba(X)."
    )

    @classmethod
    def path(cls, found: object) -> "UnsupportedTable":
        """X is the path of a file."""
        name = str(found)
        reader = "read_parquet" if name.endswith((".parquet", ".pq")) else "read_csv"
        return cls(
            f"X is the path {shown(name)}; the rows themselves are needed. Read them first: pass "
            f"pandas.{reader}({shown(name)}) without the column of the labels, or, if they exceed "
            "memory, call fit(path, y='column') and predict_proba(path)."
        )

    columns = Sentence("X is a dict of columns; a table is needed. Pass pandas.DataFrame(X).")

    sparse = Sentence("X is a sparse matrix, which is not supported here. Pass X.toarray().")
    sparse_of = Sentence(
        "X is a sparse matrix of dtype {found}; numbers and booleans are allowed. Pass "
        "X.astype(float), or X.toarray() if it holds levels."
    )
    sparse_for = Sentence(
        "X is a sparse matrix, and {family} does not read sparse rows; Multinomial, Bernoulli and "
        "Poisson do. Pass X.toarray(), or likelihood=bg.Multinomial() for word counts."
    )
    sparse_pattern = Sentence(
        "X is a sparse matrix, and missing={missing!r} needs a dense table. Pass X.toarray(), or "
        "missing='ignorable'."
    )


class InvalidTable(BayesgenError, ValueError):
    """X is a table of the wrong shape."""

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
        """X is one column, or a row of a pandas DataFrame. The first words are scikit-learn's."""
        what, cure = "a single column", "pyarrow.table({'x': X})"
        if hasattr(found, "to_frame"):
            cure = "X.to_frame()"
        if hasattr(found, "iloc"):  # of pandas, whose rows are Series too
            what = "one column or one row"
            cure = "X.to_frame() if it is a column, X.to_frame().T if it is a row"
        return cls(
            f"Expected 2D array, got 1D array instead: X is a {type(found).__name__}, {what}; a "
            f"table is needed. Reshape your data: pass {cure}."
        )

    # the first sentence is scikit-learn's
    no_rows = Sentence(
        "Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required. "
        "X has no rows: check the filter that produced it."
    )
    # the first sentence is scikit-learn's
    no_columns = Sentence(
        "Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required. X "
        "has no columns: check the selection that produced it."
    )
    duplicate_names = Sentence(
        "X has more than one column named {names:listed}; column names must be unique. Rename "
        "them, in pandas by X.columns = [...]."
    )


class InvalidValues(BayesgenError, ValueError):
    """A numeric column contains values that no likelihood can use."""

    infinite = Sentence(
        "column {column!r} holds infinity (inf or -inf) in {count:rows}; finite numbers and "
        "missing values (NaN) are allowed. If they mean missing, pass X.replace([numpy.inf, "
        "-numpy.inf], numpy.nan)."
    )
    too_large = Sentence(
        "column {column!r} holds {value:.3g}; magnitudes up to 1e150 are allowed, because their "
        "squares must be finite. Choose a larger unit: divide the column by a constant."
    )

    @classmethod
    def too_large_to_transform(cls, column: object, value: Real, power: float) -> "InvalidValues":
        """Squares of the transformed values would overflow."""
        return cls(
            f"column {shown(column)} holds {value:.3g}, and power_transform=True raises its "
            f"distance from the column's mean to the power {max(power, 2 - power):g}, which "
            "exceeds 1e150. Correct the cell, or leave out power_transform=True."
        )

    tiny_spread = Sentence(
        "column {column!r} varies by only {spread:.3g} over its rows; a spread of 0 or at least "
        "1e-150 is allowed, because smaller squares round to 0. Choose a smaller unit: multiply "
        "the column by a constant."
    )
    no_covariance = Sentence(
        "the covariance matrix of the columns {columns:listed} is numerically singular: the "
        "columns are collinear, or weights differ too much. Leave out a column that repeats "
        "others, or pass weights of similar size."
    )
    # the first words are scikit-learn's
    complex_numbers = Sentence(
        "Complex data not supported: column {column!r} holds complex numbers; real ones are "
        "allowed. Pass its parts as two columns, numpy.real(X[column]) and numpy.imag(X[column])."
    )
    # the first words are scikit-learn's
    complex_array = Sentence(
        "Complex data not supported: X holds complex numbers; real ones are allowed. Pass their "
        "parts side by side: {module}.hstack([X.real, X.imag]).",
        module="numpy",
    )


class UnknownDataset(BayesgenError, ValueError):
    """No bundled data set has this name."""

    named = Sentence("there is no bundled data set {name!r}; choose one of {existing:listed 99}.")


class InvalidTexts(BayesgenError, ValueError):
    """X is not a list of texts."""

    @classmethod
    def one_text(cls, text: object) -> "InvalidTexts":
        """X is a text."""
        start = text[:30] if isinstance(text, str | bytes) else text
        return cls(f"X is one text, {shown(start)}; a list of texts is needed. Pass [X].")

    missing = Sentence(
        "X holds no text (None or NaN) in {count:,} of {n_rows:rows}; every row needs one, even if "
        'it is empty. Pass X.fillna(""), or leave these rows out.'
    )
    mixed = Sentence(
        "X mixes texts with values of type {found}, in {count:,} of {n_rows:rows}; only texts or "
        "only counts are allowed. Pass [str(text) for text in X]."
    )
    column = Sentence(
        "X is a DataFrame whose only column, {name!r}, holds texts; a list or a Series of them is "
        "needed. Pass X[{name!r}]."
    )
    fitted_to_counts = Sentence(
        "X holds texts, and this {estimator} was fitted to counts, so it has no vocabulary. Fit "
        "it to texts, or pass counts from the same vectorizer."
    )
    no_words = Sentence(
        "X has no word in {n_rows:rows}: the texts are empty, or hold only stop words and single "
        "letters. Pass a vectorizer that keeps such tokens, for example "
        'BagOfWords(vectorizer=CountVectorizer(token_pattern=r"\\S+")).'
    )


class EmptyDocuments(BayesgenWarning):
    """Rows without any word of the vocabulary."""

    counts = Sentence(
        "{count:,} of {n_rows:rows} contain no word of the vocabulary; they get the class prior."
    )
    presence = Sentence(
        "{count:,} of {n_rows:rows} contain no word of the vocabulary; their probabilities rest "
        "on the absence of all words, which binary=True counts as evidence. Use binary=False to "
        "give them the class prior."
    )


class InvalidTarget(BayesgenError, ValueError):
    """y is not one label for each row."""

    # the words are scikit-learn's
    absent = Sentence(
        "This classifier requires y to be passed, but the target y is None. Pass one label for "
        "each row: fit(X, y)."
    )
    # the first words are scikit-learn's
    wrong_shape = Sentence(
        "y should be a 1d array, got an array of shape {shape} instead; one label for each row is "
        "allowed. Pass one column, y[:, 0], or the class of each row, y.argmax(axis=1)."
    )
    ragged = Sentence(
        "y should be a 1d array, got lists of different lengths instead; one label for each row is "
        "allowed. Pass a list of labels."
    )
    mixed = Sentence(
        "Unknown label type: y holds labels of the types {found:joined}; text, numbers or booleans "
        "are allowed, all of one type. Pass y.astype(str)."
    )
    infinite = Sentence(
        "y is infinite in {count:,} of {n_rows:rows}; text, whole numbers and booleans are labels. "
        "Leave these rows out: keep = numpy.isfinite(y); fit(X[keep], y[keep])."
    )
    # the first words are scikit-learn's
    fractions = Sentence(
        "Unknown label type: continuous. y holds {value!r}; text, whole numbers and booleans are "
        "labels. Pass y.astype(str), or cut y into classes: pandas.cut(y, 2)."
    )
    undeclared = Sentence(
        "y has the classes {labels:listed}, but partial_fit was given classes={declared:listed}. "
        "Name all of them at the first call, partial_fit(X, y, classes=[...]), or leave classes "
        "out."
    )
    wrong_length = Sentence(
        "X has {n_rows:rows} and y has {n_labels:,} labels (inconsistent numbers of samples); one "
        "label for each row is needed. Select the same rows from both.",
        order="n_labels n_rows",
    )


class MissingLabels(BayesgenError, ValueError):
    """Some labels are missing."""

    in_rows = Sentence(
        "y is missing (NaN, None or NA) in {count:,} of {n_rows:rows}; every row needs a label. "
        "Leave these rows out: keep = pandas.notna(y); fit(X[keep], y[keep])."
    )
    blank = Sentence(
        "y is blank text in {count:,} of {n_rows:rows}; every row needs a label. Leave these rows "
        "out, keep = pandas.Series(y).str.strip() != ''; fit(X[keep], y[keep]), or, if blank is a "
        "class, name it: pandas.Series(y).replace(r'^\\s*$', 'blank', regex=True)."
    )


class BlankLabels(BayesgenWarning):
    """Blank text among the labels was interpreted as the mark of unlabeled rows."""

    unlabelled = Sentence(
        "some labels are blank text: these rows are read as unlabeled. If blank is a class, name "
        "it: pandas.Series(y).replace(r'^\\s*$', 'blank', regex=True); pandas.Series(y).replace("
        "r'^\\s*$', None, regex=True) silences this warning."
    )


class SimilarClasses(BayesgenWarning):
    """Classes differ only by blanks or case."""

    @classmethod
    def among(cls, groups: list[list]) -> "SimilarClasses":
        """`groups` of the classes differ only so."""
        return cls(
            f"classes differ only by blanks or case: {paired(groups)}. If they mean the same, "
            "write them alike: pandas.Series(y).str.split().str.join(' ').str.lower(); if not, "
            "give them names that differ by more."
        )


class MinusOneLabels(MissingLabels):
    """-1 marks unlabeled rows, but was a class in earlier rows."""

    once_a_class = Sentence(
        "an earlier call read -1 in y as a class, but beside two or more labels of at least 0 it "
        "marks rows without a label. Pass None for rows without a label, or declare all classes "
        "in the first call: partial_fit(X, y, classes=[...])."
    )


class UnlabelledMark(BayesgenWarning):
    """-1 among the labels was interpreted as the mark of unlabeled rows."""

    minus_one = Sentence(
        "y holds -1 in {count:,} of {n_rows:rows}, beside {others:listed}: these rows are read as "
        "unlabeled, as in scikit-learn. If -1 is a class, pass numpy.asarray(y).astype(str) or "
        "unlabelled=None; otherwise pass None in place of -1 to silence this warning."
    )


class UnlabelledHurts(BayesgenWarning):
    """Unlabeled rows worsen predictions, or their effect cannot be assessed."""

    at_weight = Sentence(
        "with {count:,} unlabeled rows at weight {weight:g}, left-out labeled rows are predicted "
        "worse than without them, by {loss:.2g} nats per row: the model does not fit the "
        "unlabeled rows. Use unlabelled='learn'."
    )
    too_few_labels = Sentence(
        "class {label!r} has fewer than two labeled rows, too few to learn the weight of "
        "unlabeled rows, which are therefore used only for prior guesses. Label more rows, or "
        "state their weight: unlabelled=0.1."
    )


class TooFewClasses(BayesgenError, ValueError, AttributeError):
    """Fewer than two classes: so far nothing can be predicted, and attributes have no value.

    As scikit-learn's NotFittedError, it is an AttributeError, which hasattr and displays expect.
    """

    @classmethod
    def found(cls, classes: Iterable, unlabelled: int = 0, n_rows: int = 0) -> "TooFewClasses":
        """Y has one class, or none; unlabelled: number of the n_rows rows without a label."""
        classes = list(classes)
        without = f"{unlabelled:,} of {n_rows:,} rows are unlabeled; " if unlabelled else ""
        noun = "class" if len(classes) == 1 else "classes"
        return cls(
            f"y has {len(classes)} {noun}, {listed(classes)}; {without}at least two are needed. "
            "Check the selection of rows, or name all classes in partial_fit(X, y, "
            "classes=[...])."
        )


class InvalidWeights(BayesgenError, ValueError):
    """sample_weight is not one non-negative number for each row."""

    not_numeric = Sentence(
        "sample_weight holds {value!r}, which is not a number; one number of at least 0 is needed "
        "for each row. Pass None for equal weights."
    )
    values = Sentence(
        "sample_weight is negative, infinite or NaN in {count:rows}; numbers of at least 0 are "
        "allowed (2 counts a row twice, 0 omits it). Pass numpy.clip(weight, 0, None)."
    )
    wrong_shape = Sentence(
        "sample_weight has the shape {shape}, X has {n_rows:rows}; one weight for each row, the "
        "shape ({n_rows},), is needed (sample_weight.shape == ({n_rows},)). Pass None for equal "
        "weights."
    )
    fractions = Sentence(
        "sample_weight holds {value:g}; prevalence counts rows, so whole numbers are needed (2 "
        "counts a row twice). Pass numpy.rint(sample_weight)."
    )
    all_zero = Sentence(
        "sample_weight is zero in every row; at least one must be above 0. Pass None."
    )


class NoRows(BayesgenError, ValueError):
    """The classifier does not keep the rows that a method needs."""

    pass_them = Sentence(
        "{what} needs rows and labels, and a classifier that was fitted in parts, merged, copied "
        "or loaded keeps none. Pass them: {what}(X, y)."
    )
    to_leave_out = Sentence(
        "method='left_out' predicts each row of the fit from the others, and a classifier that was "
        "fitted in parts, copied or loaded keeps none of them. Pass method='density'."
    )
    for_label_shift = Sentence(
        "check_label_shift compares new rows with those of the fit, and a classifier that was "
        "fitted in parts, copied or loaded keeps none of them. Pass check_label_shift(X_new, X=X, "
        "y=y)."
    )
    others = Sentence(
        "each row of the fit is left out in turn, but class {label!r} has {found:g} rows here (sum "
        "of weights) and had {fitted:g} in the fit. Pass exactly the rows, labels and weights of "
        "the fit; for other rows use predict_log_proba."
    )
    without_columns = Sentence(
        "loo leaves out each row of the fit in turn, but X lacks the {absent:named column} of "
        "these rows. Pass exactly the rows of the fit."
    )
    without_labels = Sentence(
        "y has no label in any of {n_rows:rows}, so nothing can be scored. Pass rows with labels."
    )
    labelled_alone = Sentence(
        "unlabelled='learn' weighs unlabeled rows by how well all labeled rows are predicted, but "
        "an earlier call kept no rows, because all of them had labels. Call fit with all rows, or "
        "state a weight: unlabelled=0.1."
    )
    to_learn_from = Sentence(
        "{what} is learned from all rows, and a classifier that was copied or loaded keeps none "
        "of them. Call fit with all rows."
    )
    to_merge = Sentence(
        "{what} is learned from the rows of both classifiers, and one that was loaded, copied or "
        "merged keeps none of them. Call fit with all rows."
    )
