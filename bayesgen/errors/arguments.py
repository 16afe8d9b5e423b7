"""Sentences about arguments that are raised in several places."""

import difflib
from collections.abc import Sequence

from bayesgen.errors.kinds import InvalidArgument, NoAttribute
from bayesgen.errors.wording import Words, listed


def not_one_of(name: str, value: object, allowed: Sequence) -> InvalidArgument:
    """An argument is none of a few values; the one that it resembles most is advised."""
    return InvalidArgument(
        "{name} is {value!r}; allowed: {allowed:listed 20}.",
        "Pass {name}={nearest!r}.",
        name=name,
        value=value,
        allowed=allowed,
        nearest=_nearest(value, allowed),
    )


def _nearest(value: object, allowed: Sequence) -> object:
    """Return the allowed text that a text resembles, whatever its case; otherwise the first."""
    texts = {one.lower(): one for one in reversed(allowed) if isinstance(one, str)}
    close = difflib.get_close_matches(value.lower(), texts, 1) if isinstance(value, str) else []
    return texts[close[0]] if close else allowed[0]


def out_of_range(
    name: str | Words, value: object, allowed: str | Words, cure: str | Words
) -> InvalidArgument:
    """An argument is outside the values that `allowed` describes."""
    return InvalidArgument(
        "{name} is {value!r}; allowed: {allowed}.",
        "{cure}",
        name=name,
        value=value,
        allowed=allowed,
        cure=cure,
    )


def not_an_instance(name: str, kind: type) -> InvalidArgument:
    """An argument is a class, without parentheses."""
    return InvalidArgument(
        "{name} is the class {kind}; an instance is needed.",
        "Pass {kind}(), with parentheses: {name}=bg.{kind}().",
        name=name,
        kind=kind.__name__,
    )


def unknown_argument(class_name: str, name: str, existing: Sequence[str]) -> InvalidArgument:
    """A constructor has no argument of this name; `existing` are those that it has."""
    cure = did_you_mean(name, existing) or f"Its arguments are {listed(existing, 20)}."
    return InvalidArgument(f"{class_name}() has no argument {name!r}.", cure)


ELSEWHERE = {
    "priors": "class_prior",
    "prior": "class_prior",
    "fit_prior": "class_prior",
    "class_priors": "class_prior",
    "class_weight": "class_prior",
    "alpha": "rows_per_word",
    "reg_param": "covariance_rows",
    "shrinkage": "covariance_rows",
    "var_smoothing": "inference",
    "seed": "random_state",
    "method": "inference",
    "likelihoods": "likelihood",
    "estimators": "members",
    "num_samples": "draws",
    "num_warmup": "warmup",
    "tune": "warmup",
    "num_chains": "chains",
    "target_accept_prob": "target_accept",
    "progress_bar": "progress",
    "level": "prob",
    "confidence": "prob",
    "confidence_level": "coverage",
    "ci": "prob",
    "hdi_prob": "prob",
    "n_samples": "n",
    "size": "n",
}
"""Names of arguments in other libraries -> their counterparts here."""
OF_A_LIKELIHOOD = {
    "alpha": "bg.Categorical.laplace(1)",
    "rows_per_level": "bg.Categorical(rows_per_level=2)",
    "mean_rows": "bg.Normal(mean_rows=1)",
    "variance_rows": "bg.Normal(variance_rows=8)",
    "mean": "bg.Normal(mean=0)",
    "variance": "bg.Normal(variance=1)",
    "covariance_rows": "bg.MultivariateNormal(covariance_rows=8)",
    "prior": "bg.Normal(prior='reference')",
}
"""Arguments that belong to a likelihood, and how they are stated there."""


def did_you_mean(name: str, existing: Sequence[str]) -> str:
    """Return "Did you mean ...?" with what to type, or nothing."""
    if ELSEWHERE.get(name) in existing:
        return f"Did you mean {ELSEWHERE[name]}?"
    if name in OF_A_LIKELIHOOD and "likelihood" in existing:
        return (
            "The strength of a prior is an argument of the likelihood: "
            f"likelihood={OF_A_LIKELIHOOD[name]}."
        )
    close = difflib.get_close_matches(name, existing, 1)
    return f"Did you mean {close[0]}?" if close else ""


def no_name(name: str, existing: Sequence[str], *, of_numpyro: bool) -> NoAttribute:
    """The library has no such name.

    Args:
        name: that was asked for.
        existing: names that it has.
        of_numpyro: whether it is that of a distribution of NumPyro.
    """
    cure = did_you_mean(name, existing)
    if of_numpyro:
        cure = "Use the distribution of NumPyro: bg.Family({name!r})."
    return NoAttribute("module 'bayesgen' has no attribute {name!r}.", cure, name=name)


# -- priors ----------------------------------------------------------------------------------------


def not_summing_to_one(where: str, total: object) -> InvalidArgument:
    """Stated probabilities do not sum to one."""
    return InvalidArgument(
        "{where}: the probabilities sum to {total}; they must sum to one within 1e-8.",
        "Divide them by their sum.",
        where=where,
        total=total,
    )


def wrong_prior_shape(owner: str, name: str, shape: tuple, wanted: tuple) -> InvalidArgument:
    """A prior guess does not broadcast to the classes and features."""
    per_class = len(shape) == 1 and len(wanted) == 2 and wanted[0] in ("class", *shape)
    return InvalidArgument(
        "{owner}: {name} has the shape {shape}; a single number, or an array that broadcasts to "
        "{wanted}, is allowed (classes first, then features).",
        "If it holds a number for each class, pass numpy.reshape({name}, ({shape[0]}, 1))."
        if per_class
        else "Pass an array of this shape.",
        owner=owner,
        name=name,
        shape=shape,
        wanted="(" + ", ".join(map(str, wanted)) + ("," if len(wanted) == 1 else "") + ")",
    )


def wrong_number_of_probabilities(shape: tuple, classes: Sequence) -> InvalidArgument:
    """Probabilities of this shape are not one for each class."""
    stated = f"an array of shape {shape}"
    if len(shape) < 2:
        stated = "1 number" if shape in ((), (1,)) else f"{shape[0]:,} numbers"
    return InvalidArgument(
        "class_prior holds {stated}; y has {n} classes, {classes:listed 20}.",
        "Give a probability for each of these, in this order, or as {{class: probability}}.",
        stated=stated,
        n=len(classes),
        classes=classes,
    )


def wrong_classes(stated: Sequence, wanted: Sequence, *, index: bool = False) -> InvalidArgument:
    """Probabilities are stated for other classes than those of y; index: that of a Series."""
    return InvalidArgument(
        "class_prior names the classes {stated:listed}; y has {wanted:listed}.",
        "Give each of these a probability."
        + (" If the numbers of the Series are in this order, pass .to_numpy() of it." * index),
        stated=stated,
        wanted=wanted,
    )


def unusable_prevalence_prior(value: object, labels: Sequence) -> InvalidArgument:
    """The prior of a prevalence is not Dirichlet."""
    return InvalidArgument(
        "prior is {value!r}; Dirichlet rows of the classes {labels:listed 20} are needed: a number "
        "above 0 for each of them, {{class: rows}}, or an array in this order, of at least 0 and "
        "not all 0 (a class of 0 is excluded).",
        "Pass prior=1.0.",
        value=value,
        labels=labels,
    )


def not_diagonal(owner: str, name: str) -> InvalidArgument:
    """A matrix was stated for a diagonal covariance that is not diagonal."""
    return InvalidArgument(
        "{owner}: {name} is a matrix that is not diagonal, as this covariance must be.",
        "Pass a number, or {name}=None for that of the columns.",
        owner=owner,
        name=name,
    )


def reference_needs_rows(owner: str, n_rows: int) -> InvalidArgument:
    """A class has too few rows for a reference prior."""
    return InvalidArgument(
        "{owner}(prior='reference') needs at least {n_rows} distinct complete {noun} in every "
        "class, and a class has fewer.",
        "Use the default prior: {owner}().",
        owner=owner,
        n_rows=n_rows,
        noun="row" if n_rows == 1 else "rows",
    )
