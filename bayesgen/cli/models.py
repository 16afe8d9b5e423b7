"""The classifiers that the command line offers, and what they are in words."""

from typing import Literal

import numpy as np

from bayesgen.errors import BayesgenError
from bayesgen.estimators import LDA, QDA, BagOfWords, JointTable, NaiveBayes, StackedClassifier
from bayesgen.estimators.classifier import Classifier
from bayesgen.inference import NUTS
from bayesgen.table import Table, TableColumn

ModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
AnyModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words", "stacked"]
MethodName = Literal["mle", "map", "exact", "nuts", "stacked"]
InferenceName = Literal["auto", "exact", "mle", "map", "nuts"]
Fitted = Classifier | StackedClassifier

MODELS = {
    "naive-bayes": NaiveBayes,
    "lda": LDA,
    "qda": QDA,
    "joint-table": JointTable,
    "bag-of-words": BagOfWords,
}
WORDS = {
    "naive-bayes": "naive Bayes",
    "lda": "LDA",
    "qda": "QDA",
    "joint-table": "joint table",
    "bag-of-words": "bag of words",
}
NUMERIC = ("lda", "qda", "bag-of-words")
JOINT_NORMAL = ("lda", "qda")
STACK = "stacked"
METHODS = {"mle": "MLE", "map": "MAP", "exact": "exact Bayes", "nuts": "NUTS", STACK: "stack"}


class UnusableColumns(BayesgenError, ValueError):
    """The model that was asked for cannot take some columns."""

    @classmethod
    def levels(cls, model: str, names: list) -> "UnusableColumns":
        """Text or booleans where numbers are needed."""
        shown = ", ".join(map(repr, names[:5])) + (" and more" if len(names) > 5 else "")
        noun = f"columns {shown} hold" if len(names) > 1 else f"column {shown} holds"
        return cls(
            f"{WORDS[model]} needs numbers, and {noun} categories. Use --model naive-bayes, or "
            "leave them out of the file."
        )


class UnusableInference(BayesgenError, ValueError):
    """The model that was asked for is fitted in one way only."""

    @classmethod
    def of_stack(cls, inference: str) -> "UnusableInference":
        """A stack of closed forms."""
        return cls(
            f"--inference is {inference!r}; a stack is made of closed forms, weighed by rows left "
            "out, and knows no other. Leave --inference out, or use another --model."
        )


def unfitted(model: AnyModelName, inference: InferenceName, seed: int) -> Fitted:
    """Return the classifier of a name, before it is fitted.

    Raises:
        UnusableInference: a stack that is to be fitted in another way.
    """
    if model != STACK:
        return MODELS[model](inference=inference, random_state=seed)
    if inference != "auto":
        raise UnusableInference.of_stack(inference)
    return StackedClassifier(random_state=seed)


def classifiers(
    model: ModelName, methods: tuple[MethodName, ...], seed: int, table: Table
) -> dict[str, Fitted]:
    """Return one classifier for each method, under the name to print.

    Args:
        model: which one.
        methods: how to fit it; "stacked" is a stack of structures whatever the model.
        seed: of everything random.
        table: what it will be fitted to.

    Raises:
        UnusableColumns: the model needs numbers and the table has levels.
    """
    require_columns(model, table)
    # fewer draws than the default: every fold runs it, and two chains show whether it converged
    nuts = NUTS(draws=500, warmup=500, chains=2, progress=False)
    inference = {"mle": "mle", "map": "map", "exact": "exact", "nuts": nuts}
    names = METHODS
    if model in JOINT_NORMAL and any(_holes(column) for column in table.columns):
        # a joint normal has no closed form where fitted cells are missing: "auto" augments there
        inference, names = {**inference, "exact": "auto"}, {**METHODS, "exact": "Bayes"}
    return {
        names[method]: StackedClassifier(random_state=seed)
        if method == STACK
        else MODELS[model](inference=inference[method], random_state=seed)
        for method in methods
    }


def require_columns(model: AnyModelName, table: Table) -> None:
    """Refuse levels where a model needs numbers.

    Raises:
        UnusableColumns: naming them.
    """
    levels = [column.name for column in table.columns if column.kind == "level"]
    if model in NUMERIC and levels:
        raise UnusableColumns.levels(model, levels)


def in_words(model: AnyModelName, classifier: Fitted, table: Table, limit: int = 8) -> str:
    """Return which likelihood the model gives to which columns, or what a stack is made of."""
    if isinstance(classifier, StackedClassifier):
        return f"stack of {'; '.join(members_of(classifier, table))}"
    blocks = []
    for likelihood, names in classifier._blocks(table).values():
        more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
        family = repr(likelihood).removesuffix("()")
        blocks.append(f"{family} for {', '.join(map(str, names[:limit]))}{more}")
    return f"{WORDS[model]}: {'; '.join(blocks)}"


def members_of(stack: StackedClassifier, table: Table) -> dict[str, Classifier]:
    """Return the members of a stack by name, which the columns decide before it is fitted."""
    return getattr(stack, "members_", None) or stack._listed(table)


def parts_of(classifier: Fitted) -> list[Classifier]:
    """Return the fitted classifier, or those that a stack is made of."""
    stack = isinstance(classifier, StackedClassifier)
    return list(classifier.members_.values()) if stack else [classifier]


def _holes(column: TableColumn) -> bool:
    return bool((np.isnan(column.values) if column.kind == "number" else column.values < 0).any())
