"""Sentences about what a model or a method cannot do that are raised in several places."""

from collections.abc import Sequence

from bayesgen.errors.dialect import KEPT
from bayesgen.errors.kinds import LabelShiftRejected, NoAttribute, UnsupportedOperation
from bayesgen.errors.wording import Cure, Words, shown

COMPARE = "compare models on held-out rows: bg.compare({'one': ..., 'other': ...}, X, y)."
ALL_ROWS = Cure("Call fit with all rows.", "Fit all rows together by `bayesgen fit`.")


def unsupported(what: str | Words, reason: str, cure: str | Cure) -> UnsupportedOperation:
    """Something is not possible, for a reason."""
    return UnsupportedOperation("{what}: {reason}.", cure, what=what, reason=reason, kept=KEPT)


def no_program(what: str, reason: str, cure: str | Cure) -> UnsupportedOperation:
    """A model cannot be written as a NumPyro program."""
    return UnsupportedOperation(
        "{what} has no program as text, because {reason}.", cure, what=what, reason=reason
    )


def no_closed_form(family: str, asked: object = None) -> UnsupportedOperation:
    """The family has no conjugate update; `asked` is the method that rests on one."""
    return UnsupportedOperation(
        "{family} has no closed form{needs}; it can be sampled or optimized.",
        Cure(
            "Pass inference='nuts' or inference='map'.", "Add --inference nuts or --inference map."
        ),
        family=family,
        needs="" if asked is None else f", which inference={shown(asked)} needs",
    )


def incomplete_rows(family: str) -> UnsupportedOperation:
    """A family has no closed form while cells are missing."""
    return UnsupportedOperation(
        "{family} has no closed form while some fitted rows have missing cells, which draws and EM "
        "integrate out.",
        Cure(
            "Pass inference='auto' or inference='map'.", "Add --inference auto or --inference map."
        ),
        family=family,
    )


def columns_of_one(only: Sequence) -> UnsupportedOperation:
    """One of two classifiers to merge has a column that the other lacks."""
    return UnsupportedOperation(
        "only one of the classifiers reads the {only:named column}; merge needs two that read the "
        "same columns.",
        Cure(
            "Fit the other to rows that have it, with missing values (NaN) where it is unknown.",
            "Fit the other to rows that have it, with empty cells where it is unknown.",
        ),
        only=only,
    )


def never_fitted(columns: Sequence, label: object) -> UnsupportedOperation:
    """Rows to forget cannot have been in the fit."""
    return UnsupportedOperation(
        "these rows cannot have been in the fit: subtracting them would leave a negative count or "
        "variance of the {columns:named column} in class {label!r}.",
        "Pass rows of the fit, each once and with the weight it had there.",
        columns=columns,
        label=label,
    )


def no_uncertainty(what: str | Words, inference: str) -> NoAttribute:
    """One set of parameters was kept, by one method or by all members of a stack."""
    stacked = inference == "stacked"
    method = Words(f"inference={shown(inference)}", f"--inference {inference}")
    members = "members " if stacked else ""
    return NoAttribute(
        "{what} needs a posterior, and {method} gives a single set of parameters, without "
        "uncertainty.",
        Cure(
            f"Fit {members}with inference='auto': 'exact' where there is a closed form, draws "
            "elsewhere.",
            f"Fit {members}with --inference auto: exact where there is a closed form, draws "
            "elsewhere.",
        ),
        what=what,
        method="every member of the stack" if stacked else method,
    )


def not_linear() -> NoAttribute:
    """A classifier has no coefficients."""
    return NoAttribute(
        "coef_ and intercept_ exist only for point estimates with one covariance for all classes, "
        "and for columns as they are: LDA(inference='mle') or NaiveBayes(Normal(spread='shared'), "
        "inference='mle')."
    )


def no_evidence_in_closed_form(family: str) -> NoAttribute:
    """A family has no evidence in closed form."""
    return NoAttribute(
        "log_evidence_ is a closed form, which {family} does not have.",
        "Instead, {compare}",
        family=family,
        compare=COMPARE,
    )


def label_shift_rejected(columns: Sequence) -> LabelShiftRejected:
    """New rows differ from those of the fit in some columns, given the class."""
    return LabelShiftRejected(
        "label shift is rejected ({columns:listed}, p < .001): do not use this estimate.",
        "If {columns[0]!r} defines the new population or is determined by it, it cannot be a "
        "feature: fit to {columns[0]:without}. clf.check_label_shift(X_new) shows every "
        "column.",
        columns=columns,
    )
