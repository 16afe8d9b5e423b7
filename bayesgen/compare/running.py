"""Compare classifiers on the same folds by scores of the rows left out."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from bayesgen import arguments
from bayesgen.compare.comparison import Comparison
from bayesgen.compare.fits import ComparedRows, FoldResult, Outcome, run
from bayesgen.compare.folds import Fold, split, splits_at, training_sizes
from bayesgen.compare.scores import Scored, differences, score
from bayesgen.errors import InvalidArgument, InvalidTarget
from bayesgen.progress_bar import Progress
from bayesgen.schema import suspicions
from bayesgen.table import Table, check_labelled, read_target
from bayesgen.typing import Joint, Labels


def compare(
    classifiers: Mapping[str, object],
    X: object,
    y: object,
    *,
    cv: object = 5,
    groups: object = None,
    train_sizes: Sequence[int | float] | None = None,
    random_state: int | None = 0,
    n_jobs: int | None = 1,
    progress: Progress = "auto",
) -> Comparison:
    """Return cross-validated scores of several classifiers on the same folds.

    A clone is fitted to each fold. Text columns become categories with the levels of the whole
    table. A classifier that fails on missing cells or levels is put behind a Pipeline of means,
    most frequent levels and 0/1 columns. Warnings are in `Comparison.warnings`.

    Args:
        classifiers: name -> scikit-learn classifier with predict_proba; the first is the reference.
        X: dataframe (pandas, polars, pyarrow) or array, shape (row, feature); cells may be missing.
        y: one label for each row.
        cv: number of stratified, shuffled folds, or a scikit-learn splitter. A number is lowered,
            with a note, to the rows (or groups) of the smallest class.
        groups: shape (row,), such as patients, of which no fold both fits and scores one.
        train_sizes: also fit to so many of a fold's rows, or (up to 1.0) to such a share, each set
            part of the next and with every class in proportion; see `Comparison.curves`.
        random_state: seed of the shuffling. Seeds of the classifiers are their own.
        n_jobs: processes at a time, -1 for one per core; their seconds are of fits that compete.
        progress: "auto" shows a bar on stderr in a terminal; True or False force it.

    Raises:
        BayesgenError: what cannot be used. Errors of a fit have a note of classifier and fold.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> rivals = {"MLE": bg.NaiveBayes(inference="mle"), "Bayes": bg.NaiveBayes()}
        >>> bg.compare(rivals, X, y).table["method"].to_dict()
        {'MLE': 'mle', 'Bayes': 'exact'}
    """
    _check(classifiers, random_state, n_jobs, progress)
    rows = _rows(X, y)
    codes = np.searchsorted(rows.classes, rows.labels)
    folds, notes = split(codes, rows.classes, cv, random_state, groups)
    sizes = training_sizes(() if train_sizes is None else train_sizes, folds, codes)
    splits = splits_at(folds, sizes, codes, random_state)
    fitted = run(classifiers, rows, splits, n_jobs=n_jobs, progress=progress)
    return _comparison(rows, codes, folds, sizes, (*notes, *_suspicions(rows.table)), fitted)


def _rows(X: object, y: object) -> ComparedRows:
    labels = read_target(y)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        value = float(labels[labels != np.floor(labels)][0])
        raise InvalidTarget(
            f"y holds {value:g}, which is a number and not a class; text, whole numbers or "
            "booleans are allowed. Cut it into classes first, pandas.cut(y, 3).astype(str)."
        )
    rows = ComparedRows.read(X, labels)
    if len(labels) != rows.table.n_rows:
        raise InvalidTarget.wrong_length(len(labels), rows.table.n_rows)
    check_labelled(rows.classes)
    return rows


def _suspicions(table: Table) -> tuple[str, ...]:
    """Return a sentence for each column that looks like something other than a feature.

    Declared levels keep the classifiers from warning of it themselves.
    """
    found = suspicions(table, {column.name: len(column.levels) for column in table.columns})
    return tuple(map(str, found))


def _comparison(
    rows: ComparedRows,
    codes: Labels,
    folds: list[Fold],
    sizes: tuple[int, ...],
    notes: tuple[str, ...],
    fitted: Outcome,
) -> Comparison:
    count, held_out = len(folds), np.array([len(scored) for _, scored in folds])
    scored_rows = np.concatenate([scored for _, scored in folds])
    y, fold = codes[scored_rows], np.repeat(np.arange(count), held_out)
    whole = {name: results[:count] for name, results in fitted.results.items()}
    proba = {name: _probabilities(results) for name, results in whole.items()}
    scores = {name: score(y, probability, fold) for name, probability in proba.items()}
    compared = differences(scores, np.array([len(fit) for fit, _ in folds]), held_out)
    missing = np.column_stack([column.missing for column in rows.table.columns])
    texts = {name: _warnings(results, notes) for name, results in fitted.results.items()}
    return Comparison(
        table=_table(scores, compared, whole, fitted.prepared),
        differences=compared,
        curves=_curves(fitted.results, sizes, y, fold),
        classes=rows.classes,
        n_rows=rows.table.n_rows,
        n_missing_cells=int(missing.sum()),
        n_rows_with_missing=int(missing.any(axis=1).sum()),
        folds=count,
        notes=notes,
        warnings={name: found for name, found in texts.items() if found},
        probabilities=proba,
        y=y,
        rows=scored_rows,
        fold=fold,
    )


def _probabilities(results: list[FoldResult]) -> Joint:
    return np.concatenate([result.probability for result in results])


def _warnings(results: list[FoldResult], notes: tuple[str, ...]) -> tuple[str, ...]:
    """Return each warning once, in order, without those that are notes about the whole table."""
    texts = dict.fromkeys(text for result in results for text in result.warnings)
    return tuple(text for text in texts if text not in notes)


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


def _check(
    classifiers: Mapping[str, object], random_state: object, n_jobs: object, progress: object
) -> None:
    arguments.seed(random_state)
    arguments.one_of("progress", progress, ["auto", True, False])
    if n_jobs is not None and (n_jobs == 0 or not arguments.is_count(n_jobs, -1)):
        allowed = "None, -1 (one for each core) or a whole number from 1"
        raise InvalidArgument.out_of_range("n_jobs", n_jobs, allowed, "Pass n_jobs=1.")
    if not isinstance(classifiers, Mapping) or not classifiers:
        raise InvalidArgument.not_named(classifiers)
    for name, estimator in classifiers.items():
        if not hasattr(estimator, "predict_proba") or isinstance(estimator, type):
            raise InvalidArgument.out_of_range(
                f"classifiers[{name!r}]",
                estimator,
                "an instance that has predict_proba",
                f"Pass {{{name!r}: bg.LDA()}}, or another classifier.",
            )
