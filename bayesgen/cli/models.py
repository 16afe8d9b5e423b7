"""Classifiers available on the command line: names and descriptions."""

import shlex
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from bayesgen.errors import BayesgenError
from bayesgen.errors.wording import named
from bayesgen.estimators import (
    LDA,
    QDA,
    BagOfWords,
    JointTable,
    NaiveBayes,
    StackedClassifier,
    description,
)
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.compared import NO_LEARNED_WEIGHT, MethodName, classifiers_by_method
from bayesgen.inference import NUTS
from bayesgen.table import Table

ModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
AnyModelName = Literal["stacked", "naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
RivalName = Literal["frequencies", "logistic", "forest", "boosting"]
InferenceName = Literal["auto", "exact", "mle", "map", "nuts"]
Unlabelled = Literal["learn"] | float | None
"""The weight of rows without a class; None: they are refused."""

EMPTY: Mapping[str, Any] = MappingProxyType({})
MODELS = {
    "naive-bayes": (NaiveBayes, "naive Bayes"),
    "lda": (LDA, "LDA"),
    "qda": (QDA, "QDA"),
    "joint-table": (JointTable, "joint table"),
    "bag-of-words": (BagOfWords, "bag of words"),
}
"""Class and common name of each model."""
NUMERIC = ("lda", "qda", "bag-of-words")
RIVALS = ("frequencies", "logistic", "forest", "boosting")


class UnusableModel(BayesgenError, ValueError):
    """The requested model does not support the columns or the inference."""


def new_classifier(
    model: AnyModelName,
    inference: InferenceName,
    seed: int,
    unlabelled: Unlabelled = "learn",
    sampling: Mapping[str, Any] = EMPTY,
) -> Classifier:
    """Return the classifier of a name, not yet fitted.

    Args:
        model: which one.
        inference: how to fit it.
        seed: of everything random.
        unlabelled: weight of rows without a class.
        sampling: settings of NUTS.

    Raises:
        UnusableModel: a stack with an inference of its own, or settings of NUTS without it.
    """
    if sampling and inference != "nuts":
        options = ", ".join(f"--{name}" for name in sampling)
        raise UnusableModel(
            f"{options}: only NUTS samples, and --inference is {inference}. Add --inference nuts, "
            f"or leave {options} out."
        )
    if model != "stacked":
        method = NUTS(**sampling) if sampling else inference
        return MODELS[model][0](inference=method, random_state=seed, unlabelled=unlabelled)
    if inference != "auto":
        raise UnusableModel(
            f"--inference is {inference!r}; a stack is made of closed forms, weighted by "
            "leave-one-out score, and has no other. Leave --inference out, or add --model "
            "naive-bayes."
        )
    return StackedClassifier(random_state=seed, unlabelled=unlabelled)


def with_prior(classifier: Classifier, prior: Mapping[str, float] | None) -> Classifier:
    """Return a fitted classifier with stated class probabilities, if there are any.

    Args:
        classifier: fitted.
        prior: text of a class -> its probability.

    Raises:
        UnusableModel: the classes are others.
    """
    if prior is None:
        return classifier
    classes = {str(label): label for label in classifier.classes_.tolist()}
    if prior.keys() != classes.keys():
        typed = ",".join(f"{name}={1 / len(classes):.2g}" for name in classes)
        raise UnusableModel(
            f"--prior names the classes {', '.join(prior)}, and the model has "
            f"{', '.join(classes)}. Name each once, such as --prior {typed}."
        )
    return classifier.with_class_prior({classes[name]: share for name, share in prior.items()})


def require_weight(inference: InferenceName, unlabelled: Unlabelled) -> None:
    """Reject an inference that learns no weight of rows without a class, where none is stated.

    Raises:
        UnusableModel: with the cures.
    """
    if unlabelled == "learn" and inference in NO_LEARNED_WEIGHT:
        raise UnusableModel(
            f"some rows have no class, and --inference {inference} cannot learn how much they "
            "count. State it, such as --unlabelled 0.1, or leave --inference out."
        )


def new_classifiers(
    model: ModelName,
    methods: Sequence[MethodName],
    seed: int,
    table: Table,
    unlabelled: Unlabelled = None,
    sampling: Mapping[str, Any] = EMPTY,
) -> dict[str, Classifier]:
    """Return one classifier for each method, under the name to print, the stack first.

    Args:
        model: which one.
        methods: how to fit it; "stacked" is a stack of structures whatever the model.
        seed: of everything random.
        table: the table to fit.
        unlabelled: weight of rows without a class, None if there are none; where it is learned,
            methods that cannot are fitted to the other rows.
        sampling: settings of NUTS.

    Raises:
        UnusableModel: the model needs numbers and the table has levels, or NUTS has settings and
            is not among the methods.
    """
    require_numbers(model, table)
    if sampling and "nuts" not in methods:
        options = ", ".join(f"--{name}" for name in sampling)
        raise UnusableModel(
            f"{options}: only NUTS samples, and it is not among the methods. Add --methods "
            f"{','.join([*methods, 'nuts'])}, or leave {options} out."
        )
    nuts = NUTS(**sampling)
    options: dict = {"unlabelled": unlabelled, "nuts": nuts}
    return classifiers_by_method(MODELS[model][0], methods, table, seed, **options)


def require_numbers(model: AnyModelName, table: Table) -> None:
    """Reject levels where a model needs numbers.

    Raises:
        UnusableModel: naming the columns.
    """
    levels = [column.name for column in table.columns if column.kind == "level"]
    if model in NUMERIC and levels:
        hold = f"{named('column', levels)} {'hold' if len(levels) > 1 else 'holds'}"
        raise UnusableModel(
            f"{MODELS[model][1]} needs numbers, and {hold} categories. Use --model naive-bayes, or "
            f"leave them out: --drop {shlex.quote(','.join(map(str, levels)))}."
        )


def in_words(classifier: Classifier, table: Table, limit: int = 8) -> str:
    """Return the likelihoods of a model with their columns, or the members of a fitted stack."""
    if members := getattr(classifier, "members_", None):
        return f"stack of {'; '.join(members)}"
    blocks = []
    for likelihood, names in description.blocks(classifier, table).values():
        more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
        family = repr(likelihood).removesuffix("()")
        blocks.append(f"{family} for {', '.join(map(str, names[:limit]))}{more}")
    kind = type(classifier)
    return f"{dict(MODELS.values()).get(kind, kind.__name__)}: {'; '.join(blocks)}"
