"""Sentences about priors: guesses, and the rows they are worth."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, Count, listed, shown


class InvalidPrior(BayesgenError, ValueError):
    """A guess, or the number of rows it is worth, that makes no prior."""

    @classmethod
    def not_positive(cls, family: str, name: str, value: object) -> "InvalidPrior":
        """A worth, a rate or a variance is not above 0."""
        return cls(
            f"{family}: {name} is {shown(value)}; finite numbers above 0 are allowed. Pass a "
            "positive one; for no prior at all use inference='mle'."
        )

    @classmethod
    def not_used(cls, family: str, name: str, cure: str) -> "InvalidPrior":
        """Something is stated that this prior has no place for."""
        return cls(f"{family} has no {name}, which is stated; it would change nothing. {cure}.")

    @classmethod
    def not_probabilities(
        cls, family: str, name: str, value: object, allowed: str = "above 0 and below 1"
    ) -> "InvalidPrior":
        """Something is not a set of probabilities."""
        return cls(
            f"{family}: {name} is {shown(value)}; probabilities {allowed} are allowed. "
            "Divide positive numbers by their sum."
        )

    @classmethod
    def impossible_class(cls, value: object, labels: list) -> "InvalidPrior":
        """A class that y has is to have the probability 0."""
        return cls(
            f"class_prior: probabilities is {shown(value)}; y has rows of class {listed(labels)}, "
            "which needs a probability above 0 to be fitted. Pass class_prior='empirical'; after "
            f"the fit clf.with_class_prior({shown(value)}) rules it out."
        )

    @classmethod
    def does_not_sum_to_one(cls, where: str, total: object) -> "InvalidPrior":
        """Probabilities sum to `total`."""
        return cls(
            f"{where}: the probabilities sum to {total}; they must sum to one within 1e-8. Divide "
            "them by their sum."
        )

    @classmethod
    def wrong_shape(cls, family: str, name: str, found: object, wanted: object) -> "InvalidPrior":
        """An array does not fit the block or the classes."""
        return cls(
            f"{family}: {name} has the shape {found}; a single number, or an array that broadcasts "
            f"to {wanted}, is allowed (classes first, then features). Reshape it to {wanted}."
        )

    @classmethod
    def wrong_classes(cls, found: Iterable, wanted: Iterable) -> "InvalidPrior":
        """Class probabilities are given for other classes than those of y."""
        return cls(
            f"class_prior names the classes {listed(found)}; y has {listed(wanted)}. Give each of "
            "these a probability."
        )

    @classmethod
    def unknown_class_prior(cls, value: object) -> "InvalidPrior":
        """class_prior is a word that means nothing."""
        return cls(
            f"class_prior is {shown(value)}; allowed are a number of rows per class, 'empirical', "
            "'uniform', an array of probabilities and {class: probability}. Pass "
            "class_prior='uniform'."
        )

    @classmethod
    def not_positive_definite(cls, family: str, name: str) -> "InvalidPrior":
        """A covariance is singular, indefinite or not symmetric."""
        return cls(
            f"{family}: {name} is not symmetric and positive definite; a covariance matrix is "
            f"needed. Pass {name} + 1e-6 * numpy.diag({name}.diagonal()), or {name}=None for the "
            "columns' own."
        )

    @classmethod
    def not_diagonal(cls, family: str, name: str, wanted: str) -> "InvalidPrior":
        """A guess of the covariance has what its structure has not; `wanted` says what it has."""
        return cls(
            f"{family}: {name} is a matrix that is not {wanted}, which this covariance is. Pass a "
            f"number, or {name}=None for the columns' own."
        )

    @classmethod
    def reference_needs_rows(cls, family: str, n_rows: Count) -> "InvalidPrior":
        """The improper reference prior has no posterior with so few rows."""
        return cls(
            f"{family}(prior='reference') needs at least {n_rows} complete rows that differ in "
            f"every class, and a class has fewer. Use the default prior: {family}()."
        )
