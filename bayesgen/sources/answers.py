"""Answers to the rows of sources: the columns of each verb's answer."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from bayesgen.sources.cluster import Answer
from bayesgen.sources.part import Part

NUMBER, DRAWS = pa.float64(), pa.list_(pa.float64())
LABEL = None
"""The type of the classes, which a classifier has."""


@dataclasses.dataclass(frozen=True)
class Columns:
    """The answer of a verb as columns.

    verb: of a classifier, that returns what the columns are made of. split: what it returned, and
    the classes -> the values of the columns in their order, those of a word together. of_class:
    words before the name of each class, a column each. of_row: names of other columns. type: of the
    cells; LABEL: that of the classes. posterior: whether a point estimate has no such answer.
    option: of `bayesgen predict`, by which the answer is asked for; "": it always answers so.
    argument: of the verb, that the option states; "": the option is a flag.
    """

    verb: str
    split: Callable[[Any, np.ndarray], Iterable[np.ndarray]]
    of_class: tuple[str, ...] = ()
    of_row: tuple[str, ...] = ()
    type: pa.DataType | None = NUMBER
    posterior: bool = False
    option: str = ""
    argument: str = ""

    def fields(self, classes: np.ndarray) -> list[pa.Field]:
        """Return the columns of these classes."""
        names = [f"{word}_{label}" for word in self.of_class for label in classes]
        kind = pa.array(classes.tolist()).type if self.type is LABEL else self.type
        return [pa.field(name, kind) for name in (*names, *self.of_row)]

    def asked(self, options: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the arguments of the verb that options of the command state; None: not asked."""
        value = options[self.option] if self.option else True
        if value is None or value is False:
            return None
        return {self.argument: value} if self.argument else {}


ANSWERS = {
    "predict": Columns(
        "predict_proba",
        lambda proba, classes: [classes[np.argmax(proba, axis=1)]],
        of_row=("predicted",),
        type=LABEL,
    ),
    "predict_proba": Columns("predict_proba", lambda proba, _: proba.T, of_class=("probability",)),
    "predict_interval": Columns(
        "predict_interval",
        # from (row, class, end): first the lower end of each class
        lambda intervals, _: intervals.transpose(2, 1, 0).reshape(-1, len(intervals)),
        of_class=("lower", "upper"),
        posterior=True,
        option="interval",
        argument="prob",
    ),
    "predict_draws": Columns(
        "predict_draws",
        # from (draw, row, class), and the weights of the draws of a row
        lambda draws, _: [*draws.values.transpose(2, 1, 0), draws["weight"].values.T],
        of_class=("draws",),
        of_row=("weight",),
        type=DRAWS,
        posterior=True,
        option="draws",
    ),
    "predict_set": Columns(
        "predict_set",
        lambda sets, _: sets.T,
        of_class=("in_set",),
        type=pa.bool_(),
        option="coverage",
        argument="coverage",
    ),
    "score_samples": Columns(
        "score_samples", lambda density, _: [density], of_row=("log_density",)
    ),
}
"""Verb -> the columns of its answer, in the order in which the command writes them."""


def asked_by(options: Mapping[str, Any]) -> dict[str, Mapping[str, object]]:
    """Return the verbs by which `bayesgen predict` answers, and their arguments.

    options: of the command, by name.
    """
    asked = {verb: answer.asked(options) for verb, answer in ANSWERS.items()}
    return {verb: arguments for verb, arguments in asked.items() if arguments is not None}


def answer_schema(names: Iterable[str], classes: np.ndarray) -> pa.Schema:
    """Return the columns of the answers of some verbs."""
    return pa.schema([field for name in names for field in ANSWERS[name].fields(classes)])


def answer_table(
    names: Iterable[str], returned: Callable[[str], Any], classes: np.ndarray
) -> pa.Table:
    """Return the answers of some verbs as one table.

    names: of the verbs. returned: what a verb returns. classes: of the classifier.
    """
    values = {verb: returned(verb) for verb in dict.fromkeys(ANSWERS[name].verb for name in names)}
    columns = [
        pa.array(column if column.ndim == 1 else list(column))
        for name in names
        for column in ANSWERS[name].split(values[ANSWERS[name].verb], classes)
    ]
    schema = answer_schema(names, classes)
    return pa.table(columns, names=schema.names).cast(schema)


def answer_stream(
    parts: Iterable[Part], schema: pa.Schema, answer: Answer, keep: Sequence[str] = ()
) -> pa.RecordBatchReader:
    """Return the answers to the rows of a source, as a stream that computes them when read.

    Args:
        parts: of the source.
        schema: of the answers.
        answer: to the rows of a part; what it raises is raised to the reader.
        keep: columns of the source that come first; the first part is then read at once.
    """
    names = [*keep, *schema.names]
    tables = (
        pa.table(
            [*(part.table[name].to_arrow() for name in keep), *answer(part).columns], names=names
        )
        for part in parts
    )
    first = list(itertools.islice(tables, 1 if keep else 0))
    schema = first[0].schema if first else schema

    def batches() -> Iterator[pa.RecordBatch]:
        for table in itertools.chain(first, tables):
            yield from table.cast(schema).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())
