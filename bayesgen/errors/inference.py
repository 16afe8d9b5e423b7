"""Unsupported inference, results not to be trusted, and attributes that a fit does not have."""

from collections.abc import Iterable

from bayesgen.errors.base import BayesgenError, BayesgenWarning, Count, Real, listed, rows, shown


class UnsupportedInference(BayesgenError, ValueError):
    """This likelihood, or this table, cannot be served by the inference that was asked for."""

    @classmethod
    def no_closed_form(cls, family: str, asked: object = None) -> "UnsupportedInference":
        """The family has no conjugate update; `asked` is the method that rests on one."""
        needs = "" if asked is None else f", on which inference={shown(asked)} rests"
        return cls(
            f"{family} has no closed form{needs}; it can be sampled or optimized. Pass "
            "inference='nuts' or inference='map'."
        )

    @classmethod
    def missing_cells(cls, family: str) -> "UnsupportedInference":
        """A joint block has missing cells at fit: no closed form."""
        return cls(
            f"{family} has no closed form while some fitted rows have missing cells, which data "
            "augmentation imputes and EM integrates out. Pass inference='auto' or inference='map'."
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
            f"{what} removes rows from a closed-form posterior, and the inference that ran is "
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
        """Rows have missing cells in a joint block."""
        return cls(
            "some fitted rows have missing cells in a joint block, which has no closed form; the "
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


class UnreliableLeaveOneOut(BayesgenWarning):
    """Importance weights that cannot stand for a fit without the row."""

    @classmethod
    def rows(cls, where: Iterable[int], worst: Real, limit: Real) -> "UnreliableLeaveOneOut":
        """Shapes of the weights' tails are above the limit in some rows, the worst of them told."""
        return cls(
            f"loo() estimates the density of row {listed(where)} given the others from a few draws "
            f"of large weight (Pareto k up to {worst:.2f}, above {limit:.2f}), and may be far off. "
            "Score rows held out by bg.compare({'this': clf}, X, y), or state stronger priors."
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


class DegenerateVariance(BayesgenWarning):
    """A variance of zero was raised to a floor."""

    @classmethod
    def floored(cls, column: object, cls_: object) -> "DegenerateVariance":
        """Maximum likelihood found (almost) no variance in a column of one class."""
        return cls(
            f"column {shown(column)} does not vary within class {shown(cls_)}; its variance was "
            "raised to the floor. Use inference='exact', or set another floor by "
            "MLE(variance_floor=1e-9)."
        )

    @classmethod
    def floored_block(cls, columns: Iterable, cls_: object | None) -> "DegenerateVariance":
        """The one variance of several columns was raised; `cls_` is None where classes share it."""
        where = "any class" if cls_ is None else f"class {shown(cls_)}"
        return cls(
            f"the columns {listed(columns)} do not vary within {where}; their common variance was "
            "raised to the floor. Use inference='exact', or set another floor by "
            "MLE(variance_floor=1e-9)."
        )


class PooledEstimate(BayesgenWarning):
    """A class has no observed cell in a column, so that the estimate of all classes stands in."""

    @classmethod
    def pooled_block(cls, columns: Iterable, cls_: object) -> "PooledEstimate":
        """Maximum likelihood has nothing to go by in any of the columns of a block."""
        return cls(
            f"the columns {listed(columns)} are never observed in class {shown(cls_)}; the "
            "estimate over all classes is used. Use inference='exact', where the prior fills in."
        )

    @classmethod
    def pooled(cls, column: object, cls_: object) -> "PooledEstimate":
        """Maximum likelihood has nothing to go by."""
        return cls(
            f"column {shown(column)} is never observed in class {shown(cls_)}; the estimate over "
            "all classes is used. Use inference='exact', where the prior fills in, or drop the "
            "column."
        )


class SingularCovariance(BayesgenWarning):
    """A covariance estimate was singular and had to be mended."""

    @classmethod
    def mended(cls, columns: Iterable, cls_: object | None = None) -> "SingularCovariance":
        """`cls_` is None for a covariance that the classes share."""
        where = (
            "the shared covariance" if cls_ is None else f"the covariance of class {shown(cls_)}"
        )
        return cls(
            f"{where} of the columns {listed(columns)} is singular (too few rows, or columns that "
            "repeat each other); the eigenvalues of its correlations were raised to 1e-9. Use "
            "inference='exact', where the prior regularizes it."
        )


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
            "coef_ and intercept_ exist only for point estimates with one covariance for all "
            "classes, and for columns as they are: LDA(inference='mle') or "
            "NaiveBayes(Normal(spread='shared'), inference='mle')."
        )

    @classmethod
    def counts(cls) -> "NoAttribute":
        """Words were counted before the fit."""
        return cls(
            "vectorizer_ exists only if texts were fitted, and these were counts. Fit texts."
        )


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
            "log_evidence_ is log p(rows, labels) with parameters integrated out, and "
            f"inference={shown(inference)} {kept}. Fit with inference='exact'."
        )

    @classmethod
    def invalid_prior(cls, error: Exception) -> "NoEvidence":
        """The prior was changed after the fit, to one that cannot be."""
        return cls(f"log_evidence_: {error}")


def _instead() -> str:
    return f"Instead, {COMPARE}"


class LeftOut(BayesgenWarning):
    """A member of a stack is not fitted, or could not be; the others go on without it."""

    @classmethod
    def too_wide(cls, names: list, columns: int, widest: int) -> "LeftOut":
        """Structures whose cost grows with the cube of the columns, and there are many columns."""
        return cls(
            f"the table has {columns:,} columns, and the cost of {listed(names, 20)} grows with "
            f"their cube: above {widest:,} columns they are left out of the stack. Pass "
            "members={'linear': bg.LDA(), ...} to fit them anyway."
        )

    @classmethod
    def member(cls, name: str, error: Exception) -> "LeftOut":
        """Fitting the member raised an error."""
        return cls(
            f"member {shown(name)} is left out of the stack: {str(error).rstrip('.')}. Leave it "
            "out of members= to silence this."
        )
