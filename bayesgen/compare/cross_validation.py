"""Cross-validation: fit every classifier on the same folds and score the held-out rows."""

import dataclasses
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
from jaxtyping import Int, Shaped

from bayesgen import arguments
from bayesgen.compare.comparison import Comparison
from bayesgen.compare.folds import (
    Fold,
    Split,
    folds_at,
    split,
    splits_at,
    training_size,
    training_sizes,
)
from bayesgen.compare.scores import Scored, differences, score
from bayesgen.errors import Cure, InvalidArgument, InvalidData
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import TARGET, wrong_length
from bayesgen.errors.notes import Note, note
from bayesgen.progress_bar import Progress, progress_bar
from bayesgen.schema import blank_text, suspicions
from bayesgen.table import (
    Table,
    TableColumn,
    from_dicts,
    read_marked_target,
    read_table,
    require_array,
    require_container,
)
from bayesgen.typing import Joint, Labels


@dataclasses.dataclass(frozen=True, eq=False)
class ComparedRows:
    """The rows that all classifiers are fitted to.

    X: dataframe or array, text columns as categories of the whole table. table: the same, read.
    labels: of the rows that have one. classes: all labels, sorted. at: positions in X of the rows
    with a label. rest: those of the others, by which only classifiers of this library are fitted.
    """

    X: object
    table: Table
    labels: Shaped[np.ndarray, " labelled"]
    classes: Shaped[np.ndarray, " class"]
    at: Int[np.ndarray, " labelled"]
    rest: Int[np.ndarray, " unlabelled"]

    def to_fit(self, which: Int[np.ndarray, " _"], *, rest: bool) -> tuple[object, np.ndarray]:
        """Return some of the labeled rows and their labels; rest: with all rows without one."""
        y = self.labels[which]
        if not (rest and len(self.rest)):
            return _take(self.X, self.at[which]), y
        every = np.concatenate([y.astype(object), np.full(len(self.rest), None)])
        return _take(self.X, np.concatenate([self.at[which], self.rest])), every


@dataclasses.dataclass(frozen=True, eq=False)
class FoldResult:
    """The predictions, times and warnings of one fit.

    probability: shape (row, class), over all classes of the comparison.
    fit_seconds, predict_seconds: wall-clock time. method: `inference_`, empty if there is none.
    warnings: all of them, in order. members: the table of a stack's members.
    """

    probability: Joint
    fit_seconds: float
    predict_seconds: float
    method: str
    warnings: tuple[Note, ...]
    members: pd.DataFrame | None


def compare(
    classifiers: Mapping[str, object],
    X: object,
    y: object,
    *,
    cv: object = 5,
    groups: object = None,
    train_size: int | float | None = None,
    train_sizes: Sequence[int | float] | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = 1,
    progress: Progress = "auto",
) -> Comparison:
    """Return cross-validated scores of several classifiers on the same folds.

    See `bayesgen.compare`, which describes the arguments and has default classifiers.
    """
    _check(classifiers, random_state, n_jobs, progress)
    rows = _rows(X, y)
    codes = np.searchsorted(rows.classes, rows.labels)
    if groups is not None and len(rows.rest):
        every = np.asarray(groups)
        groups = every[rows.at] if every.shape == (rows.table.n_rows,) else every
    whole, notes = split(codes, rows.classes, cv, random_state, groups)
    folds, size = whole, None
    if train_size is not None:
        size = training_size(train_size, whole, codes)
        folds = folds_at(whole, size, codes, random_state)
    sizes = training_sizes(() if train_sizes is None else train_sizes, folds, codes)
    splits = splits_at(folds, sizes, codes, random_state)
    fitted = _fit_all(classifiers, rows, splits, n_jobs=n_jobs, progress=progress)
    notes = (*notes, *_suspicions(rows.table))
    found = _comparison(rows, codes, folds, sizes, notes, *fitted, pool=_mean_fitted(whole))
    return dataclasses.replace(found, train_size=size)


def _check(
    classifiers: Mapping[str, object], random_state: object, n_jobs: object, progress: object
) -> None:
    arguments.seed(random_state)
    arguments.one_of("progress", progress, ["auto", True, False])
    if n_jobs is not None and (n_jobs == 0 or not arguments.is_count(n_jobs, -1)):
        allowed = "None, -1 (one for each core) or a whole number from 1"
        raise out_of_range("n_jobs", n_jobs, allowed, "Pass n_jobs=1.")
    if not isinstance(classifiers, Mapping) or not classifiers:
        several = classifiers if isinstance(classifiers, list | tuple) else []
        names = [f"'{type(clf).__name__} {i}': classifiers[{i}]" for i, clf in enumerate(several)]
        raise InvalidArgument(
            "classifiers is of type {kind}; a mapping of at least one name to a classifier is "
            "needed.",
            "Pass {{{names}}}.",
            kind=type(classifiers).__name__,
            names=", ".join(names) or "'linear': bg.LDA()",
        )
    for name, estimator in classifiers.items():
        if not hasattr(estimator, "predict_proba") or isinstance(estimator, type):
            raise out_of_range(
                f"classifiers[{name!r}]",
                estimator,
                "an instance that has predict_proba",
                f"Pass {{{name!r}: bg.LDA()}}, or another classifier.",
            )


def _rows(X: object, y: object) -> ComparedRows:
    target = read_marked_target(y)
    labels = target.labels
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        value = float(labels[labels != np.floor(labels)][0])
        raise InvalidData(
            "{target} holds {value:g}, which is a number and not a class; text, whole numbers or "
            "booleans are allowed.",
            Cure(
                "Cut it into classes first, pandas.cut(y, 3).astype(str).",
                "Write classes into this column, such as low and high.",
            ),
            target=TARGET,
            value=value,
        )
    X = _selectable(X)
    table = read_table(X)
    if target.n_rows != table.n_rows:
        raise wrong_length(target.n_rows, table.n_rows)
    there = np.ones(table.n_rows, dtype=bool) if target.there is None else target.there
    at, rest = np.flatnonzero(there), np.flatnonzero(~there)
    return ComparedRows(_declare_levels(X, table), table, labels, np.unique(labels), at, rest)


def _suspicions(table: Table) -> tuple[Note, ...]:
    """Return a note for each column that looks like something other than a feature.

    Declared levels keep the classifiers from warning of it themselves.
    """
    found = suspicions(table, {column.name: len(column.levels) for column in table.columns})
    blank = blank_text(table)
    return tuple(map(note, found if blank is None else [blank, *found]))


def _fit_all(
    classifiers: Mapping[str, object],
    rows: ComparedRows,
    splits: list[Split],
    *,
    n_jobs: int | None,
    progress: Progress,
) -> tuple[dict[str, list[FoldResult]], dict[str, str]]:
    """Fit clones of all classifiers on all splits; those that cannot take X get a pipeline.

    Where a fit fails, and missing cells or levels may be the reason, the classifier is fitted again
    on every split behind the pipeline of `preprocessing.prepared`.

    Returns:
        For each classifier one result per split; and the steps that were put before some of them.
    """
    results: dict[str, list[FoldResult]] = {name: [] for name in classifiers}
    failed: dict[str, Exception] = {}
    for name, result in _attempts(classifiers, rows, splits, n_jobs=n_jobs, progress=progress):
        if isinstance(result, Exception):
            failed.setdefault(name, result)
        else:
            results[name].append(result)
    if not failed:
        return results, {}
    from bayesgen.compare.preprocessing import as_matrix, prepared, steps_in_words

    again = {name: prepared(classifiers[name], rows.table) for name in failed}
    coded = dataclasses.replace(rows, X=as_matrix(rows.table))
    results |= {name: [] for name in again}
    for name, result in _attempts(again, coded, splits, n_jobs=n_jobs, progress=progress):
        if isinstance(result, Exception):
            raise result from failed[name]
        results[name].append(result)
    return results, {name: steps_in_words(pipeline) for name, pipeline in again.items()}


def _attempts(
    classifiers: Mapping[str, object],
    rows: ComparedRows,
    splits: list[Split],
    *,
    n_jobs: int | None,
    progress: Progress,
) -> Iterator[tuple[str, FoldResult | Exception]]:
    """Yield the outcome of every fit, in order."""
    from sklearn.utils.parallel import Parallel, delayed

    # every classifier meets the first split before any meets the second: a mistake shows early
    steps = [(name, words, fold) for words, fold in splits for name in classifiers]
    calls = (delayed(_attempt)(name, classifiers[name], rows, *step) for name, *step in steps)
    with progress_bar(len(steps), progress, unit="fit") as bar:
        results = Parallel(n_jobs=n_jobs, return_as="generator")(calls)
        for name, words, _ in steps:
            bar.set_description(f"{name}, {words}")
            yield name, next(results)
            bar.update()


def _attempt(
    name: str, estimator: object, rows: ComparedRows, words: str, fold: Fold
) -> FoldResult | Exception:
    """Return the result of a fit, or an error that a pipeline may cure; raise other errors."""
    from bayesgen.compare.preprocessing import needs_preparing

    try:
        return _fit_fold(estimator, rows, *fold)
    # classifiers of other libraries fail in any way; errors that no pipeline cures are raised again
    except Exception as error:
        error.add_note(f"classifier {name!r}, {words}")
        if needs_preparing(error, estimator, rows.table):
            return error
        raise


def _fit_fold(
    estimator: object,
    rows: ComparedRows,
    fit: Int[np.ndarray, " _"],
    scored: Int[np.ndarray, " _"],
) -> FoldResult:
    """Fit a clone of a classifier to rows at some positions and predict those at others.

    Classes that the fitted rows do not show get probability 0.
    """
    from sklearn.base import clone

    takes = getattr(estimator, "unlabelled", None) is not None
    (train, y), test = rows.to_fit(fit, rest=takes), _take(rows.X, rows.at[scored])
    clf = clone(estimator)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        clf.fit(train, y)
        fitted = time.perf_counter()
        probability = clf.predict_proba(test)
        end = time.perf_counter()
    aligned = np.zeros((len(scored), len(rows.classes)))
    aligned[:, np.searchsorted(rows.classes, clf.classes_)] = probability
    notes = tuple(note(warning.message) for warning in caught)
    method = getattr(clf, "inference_", "")
    table_of = getattr(clf, "members_table", None)  # of a stack
    members = None if table_of is None else table_of()
    return FoldResult(aligned, fitted - start, end - fitted, method, notes, members)


def _selectable(X: object) -> object:
    """Return X as something rows can be taken from: a dataframe or an array."""
    require_container(X)
    X = from_dicts(X)
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
    casts = [_as_levels(str(name), column.levels) for name, column in text.items()]
    return frame.with_columns(casts).to_native() if casts else X


def _as_levels(name: str, levels: Sequence) -> nw.Expr:
    """Return a column as one that declares its levels; cells without one are missing."""
    cells = nw.col(name).cast(nw.String())
    return nw.when(cells.is_in(levels)).then(cells).cast(nw.Enum(levels)).alias(name)


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


def _comparison(
    rows: ComparedRows,
    codes: Labels,
    folds: list[Fold],
    sizes: tuple[int, ...],
    notes: tuple[Note, ...],
    results: dict[str, list[FoldResult]],
    prepared: dict[str, str],
    *,
    pool: float,
) -> Comparison:
    """Return the result; pool: the mean number of rows from which those of a fold are drawn."""
    count, held_out = len(folds), np.array([len(scored) for _, scored in folds])
    scored_rows = np.concatenate([scored for _, scored in folds])
    y, fold = codes[scored_rows], np.repeat(np.arange(count), held_out)
    whole = {name: every[:count] for name, every in results.items()}
    proba = {name: _probabilities(part) for name, part in whole.items()}
    scores = {name: score(y, probability, fold) for name, probability in proba.items()}
    compared = differences(scores, pool, float(held_out.mean()))
    missing = np.column_stack([column.missing for column in rows.table.columns])
    texts = {name: _warnings(every, notes) for name, every in results.items()}
    return Comparison(
        table=_table(scores, compared, whole, prepared),
        differences=compared,
        curves=_curves(results, sizes, y, fold),
        members=_members(whole),
        classes=rows.classes,
        n_rows=rows.table.n_rows,
        n_missing_cells=int(missing.sum()),
        n_rows_with_missing=int(missing.any(axis=1).sum()),
        folds=count,
        noted=notes,
        warned={name: found for name, found in texts.items() if found},
        probabilities=proba,
        y=y,
        rows=rows.at[scored_rows],
        fold=fold,
    )


def _mean_fitted(folds: list[Fold]) -> float:
    """Return the mean number of rows that a fold may fit."""
    return float(np.mean([len(fit) for fit, _ in folds]))


def _probabilities(results: list[FoldResult]) -> Joint:
    return np.concatenate([result.probability for result in results])


def _warnings(results: list[FoldResult], notes: tuple[Note, ...]) -> tuple[Note, ...]:
    """Return each warning once, in order, without those that are notes about the whole table."""
    warnings = dict.fromkeys(entry for result in results for entry in result.warnings)
    return tuple(entry for entry in warnings if entry not in notes)


def _table(
    scores: dict[str, Scored],
    compared: pd.DataFrame,
    results: dict[str, list[FoldResult]],
    prepared: dict[str, str],
) -> pd.DataFrame:
    lines = [
        {
            **scores[name].with_errors(),
            **_against_first(compared, name),
            **_seconds(part),
            "method": "/".join(dict.fromkeys(result.method for result in part)),
            "prepared_by": prepared.get(name, ""),
        }
        for name, part in results.items()
    ]
    return pd.DataFrame(lines, index=pd.Index(list(results), name="classifier"))


def _against_first(compared: pd.DataFrame, name: str) -> dict[str, float]:
    names = {f"log_loss_{n}": n for n in ("difference", "lower", "upper")}
    if (name, "log_loss") not in compared.index:
        return dict.fromkeys(names, np.nan)
    return {key: compared.loc[(name, "log_loss"), n] for key, n in names.items()}


def _seconds(results: list[FoldResult]) -> dict[str, float]:
    """Return the mean seconds of a fold and their standard errors."""
    found = {}
    for name in ("fit_seconds", "predict_seconds"):
        each = np.array([getattr(result, name) for result in results])
        error = each.std(ddof=1) / np.sqrt(len(each)) if len(each) > 1 else np.nan
        found[name], found[f"{name}_se"] = float(each.mean()), float(error)
    return found


def _members(results: dict[str, list[FoldResult]]) -> pd.DataFrame:
    """Return the mean over folds of the tables of members, by (classifier, member)."""
    found = {}
    for name, folds in results.items():
        tables = [result.members for result in folds if result.members is not None]
        if tables:
            by_member = pd.concat(tables).groupby(level="member", sort=False)
            found[name] = by_member.mean()
            weights = ["weight", "log_linear_weight"]
            # a member that was left out of a fold had no weight there
            found[name][weights] = found[name][weights].mul(by_member.size() / len(tables), axis=0)
    return pd.concat(found, names=["classifier"]) if found else pd.DataFrame()


def _curves(
    results: dict[str, list[FoldResult]], sizes: tuple[int, ...], y: Labels, fold: Labels
) -> pd.DataFrame:
    count = int(fold.max()) + 1
    lines = {}
    for name, every in results.items():
        for number, size in enumerate(sizes, start=1):
            part = every[number * count : (number + 1) * count]
            scored = score(y, _probabilities(part), fold)
            lines[name, size] = {**scored.with_errors(), **_seconds(part)}
    index = pd.MultiIndex.from_tuples(lines, names=["classifier", "rows"]) if lines else None
    return pd.DataFrame(list(lines.values()), index=index)
