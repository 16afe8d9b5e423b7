"""The classifiers that the command line offers, and what they are in words."""

from typing import Literal

import numpy as np

from bayesgen.errors import BayesgenError
from bayesgen.estimators import LDA, QDA, BagOfWords, JointTable, NaiveBayes
from bayesgen.estimators.classifier import Classifier
from bayesgen.inference import NUTS
from bayesgen.table import Table, TableColumn

ModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
MethodName = Literal["mle", "map", "exact", "nuts"]
InferenceName = Literal["auto", "exact", "mle", "map", "nuts"]

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
METHODS = {"mle": "MLE", "map": "MAP", "exact": "exact Bayes", "nuts": "NUTS"}


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


def classifiers(
    model: ModelName, methods: tuple[MethodName, ...], seed: int, table: Table
) -> dict[str, Classifier]:
    """Return one classifier for each method, under the name to print.

    Args:
        model: which one.
        methods: how to fit it.
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
        names[method]: MODELS[model](inference=inference[method], random_state=seed)
        for method in methods
    }


def require_columns(model: ModelName, table: Table) -> None:
    """Refuse levels where a model needs numbers.

    Raises:
        UnusableColumns: naming them.
    """
    levels = [column.name for column in table.columns if column.kind == "level"]
    if model in NUMERIC and levels:
        raise UnusableColumns.levels(model, levels)


def in_words(model: ModelName, classifier: Classifier, table: Table, limit: int = 8) -> str:
    """Return which likelihood the model gives to which columns."""
    blocks = []
    for likelihood, names in classifier._blocks(table).values():
        more = f" and {len(names) - limit:,} more" if len(names) > limit else ""
        family = repr(likelihood).removesuffix("()")
        blocks.append(f"{family} for {', '.join(map(str, names[:limit]))}{more}")
    return f"{WORDS[model]}: {'; '.join(blocks)}"


def _holes(column: TableColumn) -> bool:
    return bool((np.isnan(column.values) if column.kind == "number" else column.values < 0).any())
