"""Sentences about what a fit does not have: attributes that were asked for all the same."""

from bayesgen.errors.base import BayesgenError, shown

COMPARE = "compare models on rows left out: bg.compare({'one': ..., 'other': ...}, X, y)."


class NoAttribute(BayesgenError, ValueError, AttributeError):
    """What was fitted has no such attribute.

    It is an AttributeError, so that hasattr, dir and the displays of scikit-learn and notebooks,
    which ask a classifier for every attribute that it could have, take it for an answer.
    """

    @classmethod
    def not_linear(cls) -> "NoAttribute":
        """Log-odds are no linear function of the columns."""
        return cls(
            "coef_ and intercept_ exist for point estimates with one covariance for all, of "
            "columns as they are: LDA(inference='mle') or "
            "NaiveBayes(Normal(spread='shared'), inference='mle')."
        )

    @classmethod
    def counts(cls) -> "NoAttribute":
        """Words were counted before the fit."""
        return cls("vectorizer_ exists where texts were fitted, and these were counts. Fit texts.")


class NoPosterior(NoAttribute):
    """Something that needs a posterior was asked of a point estimate."""

    @classmethod
    def point_estimate(cls, what: str, inference: str) -> "NoPosterior":
        """One set of parameters was kept, by one method or by all members of a stack."""
        stacked = inference == "stacked"
        who = "every member of the stack" if stacked else f"inference={shown(inference)}"
        return cls(
            f"{what} needs a posterior, and {who} kept one set of parameters, which has no spread. "
            f"Fit {'members ' if stacked else ''}with inference='auto': 'exact' where there is a "
            "closed form, draws elsewhere."
        )


class NoEvidence(NoAttribute):
    """The probability of the rows was asked of a model, or a fit, that has none."""

    @classmethod
    def plug_in(cls, family: str) -> "NoEvidence":
        """The density is built from the very rows whose probability is asked."""
        return cls(
            f"{family} has no evidence: its density is built from the rows themselves, and no "
            f"parameter is integrated out. Instead, {COMPARE}"
        )

    @classmethod
    def improper(cls, family: str) -> "NoEvidence":
        """The prior integrates to infinity."""
        return cls(
            f"{family} is improper: it integrates to infinity, so that rows have no probability "
            f"under it. State a proper prior, prior='conjugate', or {COMPARE}"
        )

    @classmethod
    def no_closed_form(cls, family: str) -> "NoEvidence":
        """Parameters cannot be integrated out."""
        return cls(f"log_evidence_ is a closed form, which {family} does not have. {_instead()}")

    @classmethod
    def missing_values(cls) -> "NoEvidence":
        """Missing values of joint blocks cannot be integrated out along with the parameters."""
        return cls(
            "log_evidence_ is a closed form, and there is none where fitted rows have missing "
            f"values in a joint block. {_instead()}"
        )

    @classmethod
    def not_exact(cls, inference: str) -> "NoEvidence":
        """There is a closed form, but another method ran."""
        point = inference in ("mle", "map")
        kept = "kept one point of them" if point else "drew them, which does not give the integral"
        return cls(
            "log_evidence_ is log p(rows, labels), parameters integrated out, and "
            f"inference={shown(inference)} {kept}. Fit with inference='exact'."
        )

    @classmethod
    def invalid_prior(cls, error: Exception) -> "NoEvidence":
        """The prior was changed after the fit, to one that cannot be."""
        return cls(f"log_evidence_: {error}")


def _instead() -> str:
    return f"Instead, {COMPARE}"
