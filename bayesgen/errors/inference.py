"""Errors about inference: unsupported methods, unreliable results, unavailable attributes."""

from collections.abc import Iterable

from bayesgen.errors.base import (
    BayesgenError,
    BayesgenWarning,
    Sentence,
    listed,
    shown,
)


class UnsupportedInference(BayesgenError, ValueError):
    """The requested inference does not support the likelihood or the table."""

    @classmethod
    def no_closed_form(cls, family: str, asked: object = None) -> "UnsupportedInference":
        """The family has no conjugate update; `asked` is the method that rests on one."""
        needs = "" if asked is None else f", which inference={shown(asked)} needs"
        return cls(
            f"{family} has no closed form{needs}; it can be sampled or optimized. Pass "
            "inference='nuts' or inference='map'."
        )

    missing_cells = Sentence(
        "{family} has no closed form while some fitted rows have missing cells, which draws and EM "
        "integrate out. Pass inference='auto' or inference='map'."
    )
    unknown = Sentence(
        "inference is {value!r}; allowed: {allowed:listed 20}. Pass inference='auto'."
    )
    not_an_instance = Sentence(
        "inference is the class {name}; an instance is needed. Pass {name}(), with parentheses: "
        "inference=bg.{name}()."
    )

    @classmethod
    def loses_no_row(
        cls, what: str, method: str, *, closed: bool, otherwise: str
    ) -> "UnsupportedInference":
        """Leave-one-out was requested of a posterior without a closed form.

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
            f"{what} needs a closed-form posterior, from which rows can be removed, but "
            f"inference_ is {shown(method)}. {cure}."
        )

    because = Sentence("{family}: {reason}. {cure}")


class NoClosedForm(BayesgenWarning):
    """The exact posterior was requested but had to be simulated."""

    missing_cells = Sentence(
        "some fitted rows have missing cells in a joint block, which has no closed form; the "
        "posterior was simulated by importance sampling or data augmentation (inference_ says "
        "which). Pass inference='auto' to choose this without a warning."
    )
    sampled_labels = Sentence(
        "rows without a label have no closed form; the posterior was simulated by data "
        "augmentation (inference_ says so). Pass inference='auto' to choose this without a warning."
    )
    expected_labels = Sentence(
        "rows without a label have no closed form; their labels were replaced by expected ones, at "
        "weights learned from the labeled rows (inference_ says so). Pass inference='auto' to "
        "choose this without a warning."
    )


class NotConverged(BayesgenWarning):
    """An optimizer or sampler stopped before convergence."""


class LowSampleSize(BayesgenWarning):
    """Predictions have a small effective number of draws."""

    probabilities = Sentence(
        "the probabilities of {count:,} of {n_rows:rows} rest on too few draws, and may be off by "
        "more than {limit:g} (the worst by {worst:.2g}). {cure}"
    )
    densities = Sentence(
        "the log densities of {count:,} of {n_rows:rows} rest on too few draws (the smallest "
        "effective sample size is {smallest:.0f}). {cure}"
    )


class UnreliableLeaveOneOut(BayesgenWarning):
    """Importance weights are too variable to replace a refit without the row."""

    rows = Sentence(
        "loo() estimates the density of row {where:listed} given the others from a few draws of "
        "large weight (Pareto k up to {worst:.2f}, above {limit:.2f}), and may be far off. Score "
        "held-out rows with bg.compare({{'this': clf}}, X, y), or state stronger priors."
    )
    of_stack = Sentence(
        "the weights and powers of a stack were learned from the rows that loo() leaves out, so "
        "its elpd is too high beside those of single models, by about {excess:.3f} nats a row with "
        "{n_rows:rows}. Cross-validate with bg.compare({{'stack': bg.StackedClassifier()}}, X, y)."
    )


class WorseThanFrequencies(BayesgenWarning):
    """The class frequencies alone predict the rows of the fit better than the model does."""

    at_fit = Sentence(
        "{estimator}: the class frequencies alone predict the rows of the fit, each left out, "
        "better than this model does (report_.details has both log losses). Use "
        "bg.StackedClassifier(), or {estimator}(temper='columns')."
    )
    """Without numbers, so that many fits of one search warn once."""


class LabelShiftRejected(BayesgenWarning):
    """New rows differ from those of the fit in more than the frequencies of the classes."""

    found = Sentence(
        "label shift is rejected ({columns:listed}, p < .001): do not use this. If "
        "{columns[0]!r} defines the new population or is determined by it, it cannot be a feature: "
        "fit to X.drop(columns={columns[0]!r}). clf.check_label_shift(X_new) shows every column."
    )


class ImpossibleRows(BayesgenWarning):
    """Rows that have probability zero under every class."""

    found = Sentence(
        "{count:,} of {n_rows:rows} are impossible under every class (maximum likelihood gives "
        "probability 0 to what was never observed); they get the class prior. Fit with "
        "inference='map' or 'exact'."
    )


class DegenerateVariance(BayesgenWarning):
    """A variance of zero was raised to a floor."""

    floored = Sentence(
        "column {column!r} does not vary within class {cls_!r}; its variance was raised to the "
        "floor. Use inference='exact', or set another floor by MLE(variance_floor=1e-9)."
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
    """A class has no observed cell in a column, so the estimate of all classes is used."""

    pooled_block = Sentence(
        "the columns {columns:listed} are never observed in class {cls_!r}; the estimate over all "
        "classes is used. Use inference='exact', where the prior fills in."
    )
    pooled = Sentence(
        "column {column!r} is never observed in class {cls_!r}; the estimate over all classes is "
        "used. Use inference='exact', where the prior fills in, or drop the column."
    )


class SingularCovariance(BayesgenWarning):
    """A covariance estimate was singular; its small eigenvalues were raised."""

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


COMPARE = "compare models on held-out rows: bg.compare({'one': ..., 'other': ...}, X, y)."


class NoAttribute(BayesgenError, ValueError, AttributeError):
    """The fitted classifier has no such attribute.

    It is an AttributeError, so that hasattr, dir and the displays of scikit-learn and notebooks,
    which probe for optional attributes, work.
    """

    not_linear = Sentence(
        "coef_ and intercept_ exist only for point estimates with one covariance for all classes, "
        "and for columns as they are: LDA(inference='mle') or NaiveBayes(Normal(spread='shared'), "
        "inference='mle')."
    )
    counts = Sentence(
        "vectorizer_ exists only if texts were fitted, and these were counts. Fit texts."
    )


class NoPosterior(NoAttribute):
    """A point estimate was used where a posterior is required."""

    @classmethod
    def point_estimate(cls, what: str, inference: str) -> "NoPosterior":
        """One set of parameters was kept, by one method or by all members of a stack."""
        stacked = inference == "stacked"
        who = "every member of the stack" if stacked else f"inference={shown(inference)}"
        return cls(
            f"{what} needs a posterior, and {who} gives a single set of parameters, without "
            f"uncertainty. Fit {'members ' if stacked else ''}with inference='auto': 'exact' "
            "where there is a closed form, draws elsewhere."
        )


class NoEvidence(NoAttribute):
    """The log evidence was requested from a model or a fit that has none."""

    plug_in = Sentence(
        "{family} has no evidence: its density is built from the rows themselves, and no parameter "
        "is integrated out. Instead, {cure}",
        cure=COMPARE,
    )
    improper = Sentence(
        "{family} is improper: it integrates to infinity, so the rows have no probability under "
        "it. State a proper prior, prior='conjugate', or {cure}",
        cure=COMPARE,
    )
    no_closed_form = Sentence(
        "log_evidence_ is a closed form, which {family} does not have. Instead, {cure}",
        cure=COMPARE,
    )
    missing_values = Sentence(
        "log_evidence_ is a closed form, and there is none where fitted rows have missing values "
        "in a joint block. Instead, {cure}",
        cure=COMPARE,
    )

    @classmethod
    def not_exact(cls, inference: str) -> "NoEvidence":
        """There is a closed form, but another method ran."""
        point = inference in ("mle", "map")
        kept = "keeps a single point" if point else "draws them, which does not give the integral"
        return cls(
            "log_evidence_ is log p(rows, labels) with parameters integrated out, and "
            f"inference={shown(inference)} {kept}. Fit with inference='exact'."
        )

    unlabelled_rows = Sentence(
        "log_evidence_ is a closed form, and there is none where rows have no label: it would be "
        "a sum over all their possible labels. Instead, {cure}",
        cure=COMPARE,
    )
    invalid_prior = Sentence("log_evidence_: {error}")


class NoLabelDistributions(NoAttribute):
    """The labels of fitted rows were requested from a classifier that keeps no rows."""

    without_rows = Sentence(
        "label_distributions_ and transduction_ describe the rows of the fit, and a classifier "
        "that was fitted in parts, copied or loaded keeps none. Call fit with all rows."
    )


class LeftOut(BayesgenWarning):
    """A stack member is not fitted, or could not be; the stack proceeds without it."""

    too_wide = Sentence(
        "the table has {columns:,} numeric columns, and the cost of {names:listed 20} grows with "
        "their cube: above {widest:,} they are left out of the stack. Pass members={{'linear': "
        "bg.LDA(), ...}} to fit them anyway."
    )
    too_many_levels = Sentence(
        "with levels as indicators the table has {columns:,} columns, and the cost of "
        "{names:listed 20} grows with their cube: above {widest:,} it is left out of the stack. "
        "Pass members={{'linear': bg.LDA(levels='indicators'), ...}} to fit it anyway."
    )

    @classmethod
    def member(cls, name: str, error: Exception) -> "LeftOut":
        """Fitting the member raised an error."""
        return cls(
            f"member {shown(name)} is left out of the stack: {str(error).rstrip('.')}. Leave it "
            "out of members= to silence this warning."
        )


class LongFit(BayesgenWarning):
    """The fit that begins takes long."""

    @classmethod
    def about(cls, seconds: float, few: list[str], fewer: float) -> "LongFit":
        """`few` are members that would take `fewer` seconds."""
        return cls(
            f"the fit takes about {_in_words(seconds)}, to judge by the numbers of rows, columns "
            f"and missing cells; members={few} takes about {_in_words(fewer)}."
        )


def _in_words(seconds: float) -> str:
    """Return a duration to two digits at most, in seconds, minutes or hours."""
    for unit, name in ((3600, "hour"), (60, "minute")):
        if seconds >= 1.5 * unit:
            return f"{float(f'{seconds / unit:.2g}'):,.0f} {name}s"
    return f"{max(float(f'{seconds:.1g}'), 1.0):,.0f} seconds"
