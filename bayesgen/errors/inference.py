"""Sentences about what an inference cannot do, and answers that cannot be trusted."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, Real, listed, rows, shown


class UnsupportedInference(BayesgenError, ValueError):
    """This likelihood, or this table, cannot be served by the inference that was asked for."""

    @classmethod
    def no_closed_form(cls, family: str) -> "UnsupportedInference":
        """The family has no conjugate update."""
        return cls(
            f"{family} has no closed form; it can be sampled or optimised. Pass inference='nuts' "
            "or inference='map'."
        )

    @classmethod
    def holes(cls, family: str) -> "UnsupportedInference":
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
    def because(cls, family: str, reason: str, cure: str) -> "UnsupportedInference":
        """Any other reason, with what to type."""
        return cls(f"{family}: {reason}. {cure}")


class NoPosterior(BayesgenError, ValueError):
    """Something that needs a posterior was asked of a point estimate."""

    @classmethod
    def point_estimate(cls, method: str, inference: str) -> "NoPosterior":
        """MLE and MAP give one set of parameters and no spread."""
        return cls(
            f"{method} needs a posterior, and inference={shown(inference)} gives one point without "
            "a spread. Fit with inference='exact' or inference='nuts'."
        )


class NoClosedForm(BayesgenWarning):
    """The exact posterior was asked for and had to be simulated."""

    @classmethod
    def holes(cls) -> "NoClosedForm":
        """Rows with holes in a joint block."""
        return cls(
            "some fitted rows miss a cell of a joint block, for which no closed form exists; the "
            "posterior was simulated by data augmentation (inference_ says so). Pass "
            "inference='auto' to choose this without a warning."
        )


class NotConverged(BayesgenWarning):
    """An optimiser or a sampler stopped before its answer could be trusted."""

    @classmethod
    def optimiser(cls, steps: Count, gradient: Real) -> "NotConverged":
        """The gradient is not small at the last step."""
        return cls(
            f"the optimiser stopped after {steps:,} steps with a gradient norm of {gradient:.2g}; "
            "the estimate may be off. Use more steps, standardise the columns, or inference='nuts'."
        )

    @classmethod
    def sampler(cls, rhat: Real, ess: Real, divergences: Count) -> "NotConverged":
        """R-hat, effective sample size or divergences are bad."""
        return cls(
            f"the sampler has R-hat {rhat:.3f} (at most 1.01 is good), an effective sample size of "
            f"{ess:.0f} (at least 400 is good) and {divergences:,} divergences (0 is good). Pass "
            "NUTS(warmup=2000, draws=2000, target_accept=0.95)."
        )


class LowSampleSize(BayesgenWarning):
    """Predictions from draws rest on few of them."""

    @classmethod
    def found(cls, count: Count, n_rows: Count, smallest: Real) -> "LowSampleSize":
        """`count` of `n_rows` rows have a small effective sample size of draws."""
        return cls(
            f"{count:,} of {rows(n_rows)} lie so far from the data that their probabilities rest "
            f"on few draws (the smallest effective sample size is {smallest:.0f}). Use "
            "inference='exact', or NUTS(draws=...) with more draws."
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
