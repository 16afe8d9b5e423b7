"""Compare classifiers: the same folds for all, scores of the rows left out."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool

from bayesgen import arguments
from bayesgen.compare.answers import Answer, distinct_warnings, methods, seconds
from bayesgen.compare.comparison import Comparison
from bayesgen.compare.folds import Fold, shrunk, split, whole_numbers
from bayesgen.compare.jobs import Outcome, Progress, Rows, Splits, run
from bayesgen.compare.rows import declare_levels, selectable, suspicions
from bayesgen.compare.scores import Scored, differences, score
from bayesgen.errors import InvalidArgument, InvalidTarget
from bayesgen.table import Table, check_labelled, read_table, read_target
from bayesgen.typing import Labels


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
        X: dataframe (pandas, polars, pyarrow) or array, shape (row, feature), holes allowed.
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
    rows, codes = _rows(X, y)
    plan = _plan(
        rows, codes, (cv, groups), () if train_sizes is None else train_sizes, random_state
    )
    ran = run(classifiers, rows, plan.splits, n_jobs=n_jobs, progress=progress)
    return _comparison(rows, codes, plan, ran)


@dataclasses.dataclass(frozen=True, eq=False)
class _Plan:
    """What is fitted and scored: folds, smaller sizes to fit to, and all splits that these make."""

    folds: list[Fold]
    sizes: tuple[int, ...]
    splits: Splits
    notes: tuple[str, ...]


def _rows(X: object, y: object) -> tuple[Rows, Labels]:
    """Return the rows as classifiers get them, and the codes of their labels."""
    X = selectable(X)
    table, labels = read_table(X), _labels(y)
    if len(labels) != table.n_rows:
        raise InvalidTarget.wrong_length(len(labels), table.n_rows)
    classes, codes = np.unique(labels, return_inverse=True)
    check_labelled(classes)
    return Rows(declare_levels(X, table), table, labels, classes), codes


def _plan(
    rows: Rows,
    codes: Labels,
    how: tuple[object, object],
    train_sizes: Sequence[int | float],
    random_state: int | None,
) -> _Plan:
    folds, notes = split(codes, rows.classes, how[0], random_state, how[1])
    sizes = whole_numbers(train_sizes, folds, codes)
    splits = _splits(folds, sizes, codes, random_state)
    return _Plan(folds, sizes, splits, (*notes, *suspicions(rows.table)))


def _splits(
    folds: list[Fold], sizes: tuple[int, ...], codes: Labels, random_state: int | None
) -> Splits:
    """Return the folds, then the folds at each size."""
    count = len(folds)
    words = [f"fold {number + 1} of {count}" for number in range(count)]
    # one seed for all sizes, also where none was given
    seed = int(np.random.default_rng(random_state).integers(2**63))
    small = [shrunk(folds, size, codes, seed) for size in sizes]
    at = [f"{word} at {size} rows" for size in sizes for word in words]
    every = [fold for group in (folds, *small) for fold in group]
    return Splits(tuple(every), (*words, *at))


def _comparison(rows: Rows, codes: Labels, plan: _Plan, outcome: Outcome) -> Comparison:
    folds, count = plan.folds, len(plan.folds)
    scored_rows = np.concatenate([scored for _, scored in folds])
    held_out = np.array([len(scored) for _, scored in folds])
    y, fold = codes[scored_rows], np.repeat(np.arange(count), held_out)
    whole = {name: part[:count] for name, part in outcome.answers.items()}
    said = {name: np.concatenate([a.probability for a in part]) for name, part in whole.items()}
    scores = {name: score(y, probability, fold) for name, probability in said.items()}
    compared = differences(scores, np.array([len(fit) for fit, _ in folds]), held_out)
    missing_cells = _holes(rows.table)
    return Comparison(
        table=_table(scores, compared, whole, outcome.prepared),
        differences=compared,
        curves=_curves(outcome.answers, plan.sizes, y, fold),
        classes=rows.classes,
        n_rows=rows.table.n_rows,
        n_missing_cells=int(missing_cells.sum()),
        n_rows_with_missing=int(missing_cells.any(axis=1).sum()),
        folds=count,
        notes=plan.notes,
        warnings={
            name: texts
            for name, part in outcome.answers.items()
            if (texts := distinct_warnings(part, plan.notes))
        },
        probabilities=said,
        y=y,
        rows=scored_rows,
        fold=fold,
    )


def _table(
    scores: dict[str, Scored],
    compared: pd.DataFrame,
    answers: dict[str, list[Answer]],
    prepared: dict[str, str],
) -> pd.DataFrame:
    lines = [
        {
            **scores[name].with_errors(),
            **_against_first(compared, name),
            **seconds(part),
            "method": methods(part),
            "prepared_by": prepared.get(name, ""),
        }
        for name, part in answers.items()
    ]
    return pd.DataFrame(lines, index=pd.Index(list(answers), name="classifier"))


def _against_first(compared: pd.DataFrame, name: str) -> dict[str, float]:
    names = {f"log_loss_{n}": n for n in ("difference", "lower", "upper")}
    if (name, "log_loss") not in compared.index:
        return dict.fromkeys(names, np.nan)
    return {key: compared.loc[(name, "log_loss"), n] for key, n in names.items()}


def _curves(
    answers: dict[str, list[Answer]], sizes: tuple[int, ...], y: Labels, fold: Labels
) -> pd.DataFrame:
    count = int(fold.max()) + 1
    lines = {}
    for name, every in answers.items():
        for number, size in enumerate(sizes, start=1):
            part = every[number * count : (number + 1) * count]
            scored: Scored = score(y, np.concatenate([a.probability for a in part]), fold)
            lines[name, size] = {**scored.with_errors(), **seconds(part)}
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


def _labels(y: object) -> np.ndarray:
    labels = read_target(y)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        value = float(labels[labels != np.floor(labels)][0])
        raise InvalidTarget(
            f"y holds {value:g}, a number and no class; text, whole numbers or booleans are "
            "allowed. Cut it into classes first, pandas.cut(y, 3).astype(str)."
        )
    return labels


def _holes(table: Table) -> Bool[np.ndarray, "row feature"]:
    if table.matrix is not None:
        return np.isnan(table.matrix)
    columns = table.columns
    return np.column_stack(
        [np.isnan(c.values) if c.kind == "number" else c.values < 0 for c in columns]
    )
