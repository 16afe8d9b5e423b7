"""Classifiers available on the command line: names, descriptions and the columns they read."""

import dataclasses
import itertools
from typing import Literal

import pyarrow as pa

from bayesgen.cli.csv_and_parquet import Types, UnusableData
from bayesgen.errors import BayesgenError
from bayesgen.errors.base import listed, named
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
from bayesgen.schema import Column
from bayesgen.table import Table

ModelName = Literal["naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
AnyModelName = Literal["stacked", "naive-bayes", "lda", "qda", "joint-table", "bag-of-words"]
MethodName = Literal["mle", "map", "exact", "nuts", "stacked"]
InferenceName = Literal["auto", "exact", "mle", "map", "nuts"]

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


class UnusableModel(BayesgenError, ValueError):
    """The model that was asked for does not suit the columns or the inference."""


def new_classifier(model: AnyModelName, inference: InferenceName, seed: int) -> Classifier:
    """Return the classifier of a name, not yet fitted.

    Raises:
        UnusableModel: a stack with an inference of its own.
    """
    if model != "stacked":
        return MODELS[model][0](inference=inference, random_state=seed)
    if inference != "auto":
        raise UnusableModel(
            f"--inference is {inference!r}; a stack is made of closed forms, weighted by "
            "leave-one-out score, and has no other. Leave --inference out, or add --model "
            "naive-bayes."
        )
    return StackedClassifier(random_state=seed)


def new_classifiers(
    model: ModelName, methods: tuple[MethodName, ...], seed: int, table: Table
) -> dict[str, Classifier]:
    """Return one classifier for each method, under the name to print.

    Args:
        model: which one.
        methods: how to fit it; "stacked" is a stack of structures whatever the model.
        seed: of everything random.
        table: the table to fit.

    Raises:
        UnusableModel: the model needs numbers and the table has levels.
    """
    require_numbers(model, table)
    # fewer draws than the default: every fold runs it, and two chains show whether it converged
    nuts = NUTS(draws=500, warmup=500, chains=2, progress=False)
    inference = {"mle": "mle", "map": "map", "exact": "exact", "nuts": nuts}
    names = METHODS
    if model in JOINT_NORMAL and any(column.missing.any() for column in table.columns):
        # a multivariate normal has no closed form given missing training cells: "auto" augments
        inference, names = {**inference, "exact": "auto"}, {**METHODS, "exact": "Bayes"}
    return {
        names[method]: StackedClassifier(random_state=seed, progress=False)
        if method == "stacked"
        else MODELS[model][0](inference=inference[method], random_state=seed)
        for method in methods
    }


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


@dataclasses.dataclass(frozen=True, eq=False)
class FileColumns:
    """The columns of a file that a saved model reads.

    reads: the type of each, by its name in the file. names: those that the model has for them;
    None: they have an order alone. keep: columns to copy to the output.
    """

    reads: Types
    names: list | None
    keep: tuple[str, ...]

    @classmethod
    def match(
        cls, classifier: Classifier, data: str, found: list[str], keep: tuple[str, ...]
    ) -> "FileColumns":
        """Match the columns `found` in a file with those of a model.

        Columns match by name; those of a model that was fitted to an array match by position,
        unless the columns of the file are named x0, x1, ... as the model names them.

        Raises:
            UnusableData: the file lacks a column to copy, or all columns of the model.
        """
        for name in keep:
            if name not in found:
                raise UnusableData.no_column(data, name, found)
        parts = list(getattr(classifier, "members_", {"": classifier}).values())
        types = {name: kind for part in parts for name, kind in _column_types(part).items()}
        known = [name for name in description.column_names(parts[0]) if name in types]
        shared = [name for name in known if str(name) in found]
        if parts[0].state_.schema.container in ("pandas", "polars", "pyarrow"):
            if not shared:
                raise UnusableData(
                    f"{data!r} has none of the columns that the model reads, "
                    f"{listed(map(str, known), 20)}; its columns are {listed(found, 20)}. Name "
                    "them as they were named when the model was fitted."
                )
            return cls({str(name): types[name] for name in shared}, shared, keep)
        if len(shared) == len(known):
            return cls({str(name): types[name] for name in known}, None, keep)
        by_position = itertools.zip_longest(found, known[: len(found)])
        reads = {name: types.get(own, pa.float64()) for name, own in by_position}
        return cls(reads, None, keep)

    @property
    def types(self) -> Types:
        """The types of all columns to read; those to copy stay as they are written: 007 is text."""
        return dict.fromkeys(self.keep, pa.string()) | self.reads

    def answers(self, classifier: Classifier, rows: pa.Table, interval: float) -> pa.Table:
        """Return the copied columns and the predictions of a model, one row for each row.

        predicted: the most probable class. probability_K: P(y = K given the row), missing cells
        marginalized. lower_K, upper_K: the interval that holds `interval` of the posterior of that
        probability; point estimates have none. log_density: log p(row), the novelty score: low for
        rows unlike every class.

        Raises:
            UnusableData: a column to copy has the name of an output column.
        """
        X, labels = self._as_fitted(rows), list(map(str, classifier.classes_))
        proba = classifier.predict_proba(X)
        answers = {"predicted": classifier.classes_[proba.argmax(axis=1)].tolist()}
        answers |= {f"probability_{label}": proba[:, k] for k, label in enumerate(labels)}
        if not classifier.posterior_.point:
            ends = classifier.predict_interval(X, interval)
            for side, word in enumerate(("lower", "upper")):
                answers |= {f"{word}_{label}": ends[:, k, side] for k, label in enumerate(labels)}
        answers["log_density"] = classifier.score_samples(X)
        for name in self.keep:
            if name in answers:
                raise UnusableData(
                    f"--keep {name}: the answers have a column of this name. Rename it in the file."
                )
        return pa.table({name: rows.column(name) for name in self.keep} | answers)

    def _as_fitted(self, rows: pa.Table) -> object:
        """Return rows in the container, and by the names, that the model was fitted to."""
        rows = rows.select(list(self.reads))
        if self.names is None:
            return rows.to_pandas().to_numpy()
        if self.names == rows.column_names:
            return rows
        return rows.to_pandas().set_axis(self.names, axis=1)


def _column_types(classifier: Classifier) -> dict:
    """Return the types of the columns of a CSV file that a model reads."""
    blocks, derived = classifier.state_.schema.blocks, description.derived_columns(classifier)
    types = {column.name: _column_type(column) for part in blocks.values() for column in part}
    sources = {derived[name].name: _column_type(derived[name]) for name in types if name in derived}
    return {name: kind for name, kind in types.items() if name not in derived} | sources


def _column_type(column: Column) -> pa.DataType:
    """Return the type of the cells of a CSV column: numbers match levels by their value."""
    found = {type(level) for level in column.levels}
    if found == {bool}:
        return pa.bool_()
    return pa.string() if str in found else pa.float64()
