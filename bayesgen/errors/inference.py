"""Sentences about what an inference cannot do, and answers that cannot be trusted."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, Real, listed, rows, shown


class UnsupportedInference(BayesgenError, ValueError):
    """This likelihood, or this table, cannot be served by the inference that was asked for."""

    @classmethod
    def no_closed_form(cls, family: str, asked: object = None) -> "UnsupportedInference":
        """The family has no conjugate update; `asked` is the method that rests on one."""
        needs = "" if asked is None else f", on which inference={shown(asked)} rests"
        return cls(
            f"{family} has no closed form{needs}; it can be sampled or optimised. Pass "
            "inference='nuts' or inference='map'."
        )

    @classmethod
    def missing_cells(cls, family: str) -> "UnsupportedInference":
        """A joint block has missing cells at fit: no closed form."""
        return cls(
            f"{family} has no closed form while some fitted rows miss a cell; they can be filled "
            "by data augmentation or summed out. Pass inference='auto' or inference='map'."
        )

    @classmethod
    def unknown(cls, value: object, allowed: Iterable) -> "UnsupportedInference":
        """The argument names no inference."""
        return cls(
            f"inference is {shown(value)}; allowed: {listed(allowed, 20)}. Pass inference='auto'."
        )

    @classmethod
    def not_an_instance(cls, name: str) -> "UnsupportedInference":
        """The argument is the class of a method, not an instance."""
        return cls(
            f"inference is the class {name}; an instance is needed. Pass {name}(), with "
            f"parentheses: inference=bg.{name}()."
        )

    @classmethod
    def loses_no_row(
        cls, what: str, method: str, *, closed: bool, otherwise: str
    ) -> "UnsupportedInference":
        """Rows are to be left out of a posterior that was not updated in closed form.

        closed: whether the model has a closed form, which another inference would take; where a
        joint block misses cells that is the one of expected statistics. otherwise: the cure where
        there is none.
        """
        cure = (
            "Pass inference='expected': it is exact where no cell of a joint block is missing, and "
            "close where some are"
            if closed
            else otherwise
        )
        return cls(
            f"{what} takes rows away from a closed form, and the inference that ran is "
            f"{shown(method)}. {cure}."
        )

    @classmethod
    def because(cls, family: str, reason: str, cure: str) -> "UnsupportedInference":
        """Any other reason, with what to type."""
        return cls(f"{family}: {reason}. {cure}")


class NoClosedForm(BayesgenWarning):
    """The exact posterior was asked for and had to be simulated."""

    @classmethod
    def missing_cells(cls) -> "NoClosedForm":
        """Rows with holes in a joint block."""
        return cls(
            "some fitted rows miss a cell of a joint block, for which no closed form exists; the "
            "posterior was simulated by data augmentation (inference_ says so). Pass "
            "inference='auto' to choose this without a warning."
        )


class NotConverged(BayesgenWarning):
    """An optimiser or a sampler stopped before its answer could be trusted."""


class LowSampleSize(BayesgenWarning):
    """Predictions from draws rest on few of them."""

    @classmethod
    def probabilities(
        cls, count: Count, n_rows: Count, limit: Real, worst: Real, cure: str
    ) -> "LowSampleSize":
        """Class probabilities of `count` of `n_rows` rows may be off by more than `limit`."""
        return cls(
            f"the probabilities of {count:,} of {rows(n_rows)} rest on too few draws, and may be "
            f"off by more than {limit:g} (by {worst:.2g} in the worst of them). {cure}"
        )

    @classmethod
    def densities(cls, count: Count, n_rows: Count, smallest: Real, cure: str) -> "LowSampleSize":
        """Log densities of `count` of `n_rows` rows have a small effective sample size."""
        return cls(
            f"the log densities of {count:,} of {rows(n_rows)} rest on too few draws (the smallest "
            f"effective sample size is {smallest:.0f}). {cure}"
        )


class ImpossibleRows(BayesgenWarning):
    """Rows that have probability zero under every class."""

    @classmethod
    def found(cls, count: Count, n_rows: Count) -> "ImpossibleRows":
        """`count` of `n_rows` rows are answered by the class prior."""
        return cls(
            f"{count:,} of {rows(n_rows)} are impossible under every class (zero counts of the "
            "maximum likelihood estimate); they get the class prior. Fit with inference='map' or "
            "'exact'."
        )
