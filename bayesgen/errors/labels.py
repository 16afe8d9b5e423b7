"""Sentences about labels and weights that cannot be used."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, Real, listed, rows, shown


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
