"""Run fits of every classifier on every split, one after the other or in processes."""

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np
from jaxtyping import Shaped

from bayesgen.compare.answers import Answer, answer
from bayesgen.compare.folds import Fold
from bayesgen.table import Table

Progress = bool | Literal["auto"]


@dataclasses.dataclass(frozen=True, eq=False)
class Rows:
    """What all classifiers are fitted to.

    X: dataframe or array, text columns as categories of the whole table. table: the same, read.
    labels: shape (row,). classes: all labels, sorted.
    """

    X: object
    table: Table
    labels: Shaped[np.ndarray, " row"]
    classes: Shaped[np.ndarray, " class"]


@dataclasses.dataclass(frozen=True, eq=False)
class Splits:
    """Rows to fit and to score, each with the words that an error names it by."""

    folds: tuple[Fold, ...]
    words: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """answers: for each classifier one per split. prepared: the steps put before some of them."""

    answers: dict[str, list[Answer]]
    prepared: dict[str, str]


def run(
    classifiers: Mapping[str, object],
    rows: Rows,
    splits: Splits,
    *,
    n_jobs: int | None,
    progress: Progress,
) -> Outcome:
    """Fit clones of all classifiers on all splits; those that cannot take X get a pipeline.

    A classifier of which any fit fails, where holes or levels may be the reason, is fitted again on
    every split behind the standard pipeline of `rivals.prepared`.
    """
    answers: dict[str, list[Answer]] = {name: [] for name in classifiers}
    failed: dict[str, Exception] = {}
    for name, result in _results(classifiers, rows, splits, n_jobs=n_jobs, progress=progress):
        if isinstance(result, Answer):
            answers[name].append(result)
        else:
            failed.setdefault(name, result)
    if not failed:
        return Outcome(answers, {})
    from bayesgen.compare.rivals import as_matrix, prepared, steps_in_words

    again = {name: prepared(classifiers[name], rows.table) for name in failed}
    coded = dataclasses.replace(rows, X=as_matrix(rows.table))
    answers |= {name: [] for name in again}
    for name, result in _results(again, coded, splits, n_jobs=n_jobs, progress=progress):
        if not isinstance(result, Answer):
            raise result from failed[name]
        answers[name].append(result)
    return Outcome(answers, {name: steps_in_words(pipeline) for name, pipeline in again.items()})


def _results(
    classifiers: Mapping[str, object],
    rows: Rows,
    splits: Splits,
    *,
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[tuple[str, Answer | Exception]]:
    """Yield the outcome of every fit, in order."""
    from sklearn.utils.parallel import Parallel, delayed
    from tqdm import tqdm

    # every classifier meets the first split before any meets the second: a mistake shows early
    steps = [(at, name) for at in range(len(splits.folds)) for name in classifiers]
    calls = (
        delayed(_attempt)(name, classifiers[name], rows, splits.folds[at], splits.words[at])
        for at, name in steps
    )
    # None: only where stderr is a terminal
    disable = None if progress == "auto" else not progress
    with tqdm(total=len(steps), unit="fit", disable=disable, file=sys.stderr, leave=False) as bar:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
        for at, name in steps:
            bar.set_description(f"{name}, {splits.words[at]}")
            yield name, next(results)
            bar.update()


def _attempt(
    name: str, estimator: object, rows: Rows, fold: Fold, words: str
) -> Answer | Exception:
    """Return what a fit brought, or the error that a pipeline may cure; other errors are raised."""
    from bayesgen.compare.rivals import needs_preparing

    try:
        return answer(estimator, rows.X, rows.labels, fold, rows.classes)
    # a classifier may be anybody's, and fail in any way; what no pipeline cures is raised again
    except Exception as error:
        error.add_note(f"classifier {name!r}, {words}")
        if needs_preparing(error, estimator, rows.table):
            return error
        raise
