"""Classifiers available on the command line: names and descriptions."""

from typing import Literal

from bayesgen.errors import BayesgenError
from bayesgen.errors.base import named
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
from bayesgen.inference import NUTS
from bayesgen.table import Table

ModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
AnyModelName = Literal["stacked", "naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
MethodName = Literal["mle", "map", "exact", "nuts", "stacked"]
InferenceName = Literal["auto", "exact", "mle", "map", "nuts"]
Unlabelled = Literal["learn"] | float | None
"""The weight of rows without a class; None: they are refused."""

MODELS = {
    "naive-bayes": (NaiveBayes, "naive Bayes"),
    "lda": (LDA, "LDA"),
    "qda": (QDA, "QDA"),
    "joint-table": (JointTable, "joint table"),
    "bag-of-words": (BagOfWords, "bag of words"),
}
"""Class and common name of each model."""
NUMERIC = ("lda", "qda", "bag-of-words")
JOINT_NORMAL = ("lda", "qda")
METHODS = {"mle": "MLE", "map": "MAP", "exact": "exact Bayes", "nuts": "NUTS", "stacked": "stack"}
NO_LEARNED_WEIGHT = ("mle", "map", "nuts")
"""Methods that take a stated weight of rows without a class, and learn none."""


class UnusableModel(BayesgenError, ValueError):
    """The model that was asked for does not suit the columns or the inference."""


def new_classifier(
    model: AnyModelName, inference: InferenceName, seed: int, unlabelled: Unlabelled = "learn"
) -> Classifier:
    """Return the classifier of a name, not yet fitted.

    Raises:
        UnusableModel: a stack with an inference of its own.
    """
    if model != "stacked":
        return MODELS[model][0](inference=inference, random_state=seed, unlabelled=unlabelled)
    if inference != "auto":
        raise UnusableModel(
            f"--inference is {inference!r}; a stack is made of closed forms, weighted by "
            "leave-one-out score, and has no other. Leave --inference out, or add --model "
            "naive-bayes."
        )
    return StackedClassifier(random_state=seed, unlabelled=unlabelled)


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
    methods: tuple[MethodName, ...],
    seed: int,
    table: Table,
    unlabelled: Unlabelled = None,
) -> dict[str, Classifier]:
    """Return one classifier for each method, under the name to print.

    Args:
        model: which one.
        methods: how to fit it; "stacked" is a stack of structures whatever the model.
        seed: of everything random.
        table: the table to fit.
        unlabelled: weight of rows without a class, None if there are none; where it is learned,
            methods that cannot are fitted to the other rows.

    Raises:
        UnusableModel: the model needs numbers and the table has levels.
    """
    require_numbers(model, table)
    # fewer draws than the default: every fold runs it, and two chains show whether it converged
    nuts = NUTS(draws=500, warmup=500, chains=2, progress=False)
    inference = {"mle": "mle", "map": "map", "exact": "exact", "nuts": nuts}
    names = METHODS
    if model in JOINT_NORMAL and any(column.missing.any() for column in table.columns):
        # a multivariate normal has no closed form given missing training cells: "auto" draws
        inference, names = {**inference, "exact": "auto"}, {**METHODS, "exact": "Bayes"}
    if unlabelled is not None:
        # neither have rows without a class, whose expected labels take milliseconds
        inference, names = {**inference, "exact": "expected"}, {**METHODS, "exact": "Bayes"}
    found: dict[str, Classifier] = {}
    for method in methods:
        alone = unlabelled == "learn" and method in NO_LEARNED_WEIGHT
        weight = None if alone else unlabelled
        found[names[method]] = (
            StackedClassifier(random_state=seed, progress=False, unlabelled=weight)
            if method == "stacked"
            else MODELS[model][0](inference=inference[method], random_state=seed, unlabelled=weight)
        )
    return found


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
            "leave them out of the file."
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
