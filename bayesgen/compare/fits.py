"""Fit every classifier on every split, one after the other or in processes, and time it."""

import dataclasses
import time
import warnings
from collections.abc import Iterator, Mapping

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Shaped

from bayesgen.compare.folds import Fold, Splits
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.table import Table, TableColumn, read_table, require_array, require_container
from bayesgen.typing import Joint


@dataclasses.dataclass(frozen=True, eq=False)
class ComparedRows:
    """What all classifiers are fitted to.

    X: dataframe or array, text columns as categories of the whole table. table: the same, read.
    labels: shape (row,). classes: all labels, sorted.
    """

    X: object
    table: Table
    labels: Shaped[np.ndarray, " row"]
    classes: Shaped[np.ndarray, " class"]

    @classmethod
    def read(cls, X: object, labels: Shaped[np.ndarray, " row"]) -> "ComparedRows":
        """Return the rows as classifiers get them."""
        X = _selectable(X)
        table = read_table(X)
        return cls(_declare_levels(X, table), table, labels, np.unique(labels))


@dataclasses.dataclass(frozen=True, eq=False)
class FoldResult:
    """The predictions, times and warnings of one fit.

    probability: shape (row, class), over all classes of the comparison.
    fit_seconds, predict_seconds: wall-clock time. method: `inference_`, empty if there is none.
    warnings: the texts of all warnings, in order.
    """

    probability: Joint
    fit_seconds: float
    predict_seconds: float
    method: str
    warnings: tuple[str, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Outcome:
    """results: for each classifier one per split. prepared: the steps put before some of them."""

    results: dict[str, list[FoldResult]]
    prepared: dict[str, str]


def run(
    classifiers: Mapping[str, object],
    rows: ComparedRows,
    splits: Splits,
    *,
    n_jobs: int | None,
    progress: Progress,
) -> Outcome:
    """Fit clones of all classifiers on all splits; those that cannot take X get a pipeline.

    A classifier of which any fit fails, where missing cells or levels may be the reason, is fitted
    again on every split behind the pipeline of `preprocessing.prepared`.
    """
    results: dict[str, list[FoldResult]] = {name: [] for name in classifiers}
    failed: dict[str, Exception] = {}
    for name, result in _run_all(classifiers, rows, splits, n_jobs=n_jobs, progress=progress):
        if isinstance(result, FoldResult):
            results[name].append(result)
        else:
            failed.setdefault(name, result)
    if not failed:
        return Outcome(results, {})
    from bayesgen.compare.preprocessing import as_matrix, prepared, steps_in_words

    again = {name: prepared(classifiers[name], rows.table) for name in failed}
    coded = dataclasses.replace(rows, X=as_matrix(rows.table))
    results |= {name: [] for name in again}
    for name, result in _run_all(again, coded, splits, n_jobs=n_jobs, progress=progress):
        if not isinstance(result, FoldResult):
            raise result from failed[name]
        results[name].append(result)
    return Outcome(results, {name: steps_in_words(pipeline) for name, pipeline in again.items()})


def _run_all(
    classifiers: Mapping[str, object],
    rows: ComparedRows,
    splits: Splits,
    *,
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[tuple[str, FoldResult | Exception]]:
    """Yield the outcome of every fit, in order."""
    from sklearn.utils.parallel import Parallel, delayed

    # every classifier meets the first split before any meets the second: a mistake shows early
    steps = [(at, name) for at in range(len(splits.folds)) for name in classifiers]
    calls = (
        delayed(_attempt)(name, classifiers[name], rows, splits.folds[at], splits.words[at])
        for at, name in steps
    )
    with progress_bar(len(steps), progress, unit="fit") as bar:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
        for at, name in steps:
            bar.set_description(f"{name}, {splits.words[at]}")
            yield name, next(results)
            bar.update()


def _attempt(
    name: str, estimator: object, rows: ComparedRows, fold: Fold, words: str
) -> FoldResult | Exception:
    """Return the result of a fit, or an error that a pipeline may cure; raise other errors."""
    from bayesgen.compare.preprocessing import needs_preparing

    try:
        return _fit_fold(estimator, rows.X, rows.labels, fold, rows.classes)
    # a classifier may be anybody's, and fail in any way; what no pipeline cures is raised again
    except Exception as error:
        error.add_note(f"classifier {name!r}, {words}")
        if needs_preparing(error, estimator, rows.table):
            return error
        raise


def _fit_fold(
    estimator: object,
    X: object,
    labels: Shaped[np.ndarray, " row"],
    fold: Fold,
    classes: Shaped[np.ndarray, " class"],
) -> FoldResult:
    """Fit a clone of a classifier to some rows and predict others.

    Args:
        estimator: a scikit-learn classifier with predict_proba; it stays unfitted.
        X: dataframe or array, shape (row, feature).
        labels: one for each row.
        fold: positions of the rows to fit, and of those to predict.
        classes: all labels, sorted; those that the fitted rows do not show get probability 0.
    """
    from sklearn.base import clone

    rows, others = fold
    train, test, clf = _take(X, rows), _take(X, others), clone(estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        clf.fit(train, labels[rows])
        fitted = time.perf_counter()
        probability = clf.predict_proba(test)
        end = time.perf_counter()
    aligned = np.zeros((len(others), len(classes)))
    aligned[:, np.searchsorted(classes, clf.classes_)] = probability
    texts = tuple(str(warning.message) for warning in caught)
    return FoldResult(aligned, fitted - start, end - fitted, getattr(clf, "inference_", ""), texts)


def _selectable(X: object) -> object:
    """Return X as something rows can be taken from: a dataframe or an array."""
    require_container(X)
    if isinstance(X, np.ndarray):
        return X
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return X
    if hasattr(X, "__arrow_c_stream__"):
        return pa.table(X)
    require_array(X)
    return np.asarray(X, dtype=object)


def _take(X: object, rows: np.ndarray) -> object:
    """Return some rows of a dataframe or an array, in the container they came in."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame) else np.asarray(X)[rows]


def _declare_levels(X: object, table: Table) -> object:
    """Return X with its text columns as categories of the whole table.

    Otherwise every fold has the levels that its own rows happen to show, and a sampler recompiles
    for each. Other columns, and arrays, stay as they are.

    Args:
        X: a dataframe or an array.
        table: the same as `read_table` reads it.
    """
    text = {c.name: c for c in table.columns if c.kind == "level" and not c.declared}
    if isinstance(X, pd.DataFrame):
        return _pandas(X, text)
    if isinstance(X, pa.Table):
        return _pyarrow(X, text)
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    casts = [nw.col(str(name)).cast(nw.Enum(column.levels)) for name, column in text.items()]
    return frame.with_columns(casts).to_native() if casts else X


def _pandas(X: pd.DataFrame, text: dict[str | int, TableColumn]) -> pd.DataFrame:
    declared = X.copy(deep=False)
    for name, column in text.items():
        declared[name] = pd.Categorical.from_codes(column.values, categories=list(column.levels))
    return declared


def _pyarrow(X: pa.Table, text: dict[str | int, TableColumn]) -> pa.Table:
    for name, column in text.items():
        codes = pa.array(column.values, type=pa.int32(), mask=column.values < 0)
        levels = pa.DictionaryArray.from_arrays(codes, pa.array(column.levels, type=pa.string()))
        X = X.set_column(X.schema.get_field_index(name), name, levels)
    return X
