"""Answers to the rows of sources: the columns of each verb's answer, and streams of them."""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
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
    """

    verb: str
    split: Callable[[Any, np.ndarray], Iterable[np.ndarray]]
    of_class: tuple[str, ...] = ()
    of_row: tuple[str, ...] = ()
    type: pa.DataType | None = NUMBER
    posterior: bool = False

    def fields(self, classes: np.ndarray) -> list[pa.Field]:
        """Return the columns of these classes."""
        names = [f"{word}_{label}" for word in self.of_class for label in classes]
        kind = pa.array(classes.tolist()).type if self.type is LABEL else self.type
        return [pa.field(name, kind) for name in (*names, *self.of_row)]

    def arrays(self, values: object, classes: np.ndarray) -> list[pa.Array]:
        """Return the cells of the columns, given what the verb returned."""
        return [_array(column) for column in self.split(values, classes)]


def _labels(proba: np.ndarray, classes: np.ndarray) -> list[np.ndarray]:
    return [classes[np.argmax(proba, axis=1)]]


def _by_class(proba: np.ndarray, _: np.ndarray) -> np.ndarray:
    return proba.T


def _ends(intervals: np.ndarray, _: np.ndarray) -> Iterator[np.ndarray]:
    """Yield the ends of intervals of shape (row, class, end): first the lower of each class."""
    return (intervals[:, k, end] for end in (0, 1) for k in range(intervals.shape[1]))


def _draws(draws: Any, _: np.ndarray) -> list[np.ndarray]:
    """Return the draws of each class, shape (row, draw), and their weights."""
    return [*draws.values.transpose(2, 1, 0), draws["weight"].values.T]


def _itself(values: np.ndarray, _: np.ndarray) -> list[np.ndarray]:
    return [values]


ANSWERS = {
    "predict": Columns("predict_proba", _labels, of_row=("predicted",), type=LABEL),
    "predict_proba": Columns("predict_proba", _by_class, of_class=("probability",)),
    "predict_interval": Columns(
        "predict_interval", _ends, of_class=("lower", "upper"), posterior=True
    ),
    "predict_draws": Columns(
        "predict_draws", _draws, ("draws",), of_row=("weight",), type=DRAWS, posterior=True
    ),
    "score_samples": Columns("score_samples", _itself, of_row=("log_density",)),
}
"""Verb -> the columns of its answer."""


def _array(values: np.ndarray) -> pa.Array:
    """Return values as an Arrow array; those of shape (row, draw) as lists."""
    if values.ndim == 1:
        return pa.array(values.tolist() if values.dtype.kind in "OU" else values)
    ends = np.arange(0, values.size + 1, values.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, np.ascontiguousarray(values).ravel())


def answer_schema(names: Iterable[str], classes: np.ndarray) -> pa.Schema:
    """Return the columns of the answers of some verbs."""
    return pa.schema([field for name in names for field in ANSWERS[name].fields(classes)])


def answer_table(
    names: Iterable[str], returned: Callable[[str], Any], classes: np.ndarray
) -> pa.Table:
    """Return the answers of some verbs as one table.

    names: of the verbs. returned: what a verb returns. classes: of the classifier.
    """
    values: dict[str, Any] = {}
    arrays = []
    for name in names:
        columns = ANSWERS[name]
        if columns.verb not in values:
            values[columns.verb] = returned(columns.verb)
        arrays += columns.arrays(values[columns.verb], classes)
    return pa.Table.from_arrays(arrays, schema=answer_schema(names, classes))


def answer_stream(
    parts: Iterator[Part], schema: pa.Schema, answer: Answer, keep: Sequence[str] = ()
) -> pa.RecordBatchReader:
    """Return the answers to the rows of a source, as a stream that computes them when read.

    Args:
        parts: of the source.
        schema: of the answers.
        answer: to the rows of a part; what it raises is raised to the reader.
        keep: columns of the source that come first; the first part is then read at once.
    """
    if keep:
        first = next(parts, None)
        parts = iter(()) if first is None else itertools.chain([first], parts)
        kept = [] if first is None else first.table.select(*keep).to_arrow().schema
        schema = pa.schema([*kept, *schema])

    def batches() -> Iterator[pa.RecordBatch]:
        for part in parts:
            kept = [part.table[name].to_arrow() for name in keep]
            table = pa.table([*kept, *answer(part).columns], names=schema.names)
            yield from table.cast(schema).combine_chunks().to_batches()

    return pa.RecordBatchReader.from_batches(schema, batches())
