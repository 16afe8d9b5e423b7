"""Fit every classifier on every fold, score what it says about the rows left out."""

import sys
from collections.abc import Mapping
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Bool

from bayesgen.compare.answers import Answer, answer, distinct_warnings, line
from bayesgen.compare.comparison import Comparison
from bayesgen.compare.folds import Fold, split
from bayesgen.compare.rows import declare_levels, identifiers, selectable
from bayesgen.compare.scores import score
from bayesgen.errors import InvalidArgument, InvalidTarget
from bayesgen.table import Table, read_table, read_target


def compare(
    classifiers: Mapping[str, object],
    X: object,
    y: object,
    *,
    cv: object = 5,
    random_state: int | None = 0,
    progress: bool | Literal["auto"] = "auto",
) -> Comparison:
    """Return cross-validated scores of several classifiers on the same folds.

    Each classifier is cloned for each fold, so those passed stay unfitted. Text columns of a
    dataframe become categories with the levels of the whole table first. Warnings of fits and
    predictions are not shown but kept, see `Comparison.warnings`.

    Args:
        classifiers: name -> scikit-learn classifier with predict_proba, of this library or not.
        X: dataframe (pandas, polars, pyarrow) or array, shape (row, feature), missing cells allowed
            as far as the classifiers allow them.
        y: one label for each row.
        cv: number of stratified, shuffled folds, or a scikit-learn splitter. A number is lowered,
            with a note, to the rows of the smallest class.
        random_state: seed of the shuffling. Seeds of the classifiers are their own.
        progress: "auto" shows a bar on stderr in a terminal; True or False force it.

    Returns:
        The comparison; its `table` is a pandas DataFrame with one row for each classifier.

    Raises:
        BayesgenError: a table or labels that cannot be used, no classifier, or one without
            predict_proba. An error of a fit is raised with a note naming classifier and fold.

    Examples:
        >>> import bayesgen as bg
        >>> from bayesgen.compare import compare
        >>> X, y = bg.datasets.load_penguins()
        >>> rivals = {"MLE": bg.NaiveBayes(inference="mle"), "Bayes": bg.NaiveBayes()}
        >>> compare(rivals, X, y).table["method"].to_dict()
        {'MLE': 'mle', 'Bayes': 'exact'}
    """
    _check_classifiers(classifiers)
    X = selectable(X)
    table, labels = read_table(X), _labels(y)
    if len(labels) != table.n_rows:
        raise InvalidTarget.wrong_length(len(labels), table.n_rows)
    classes, codes = np.unique(labels, return_inverse=True)
    folds, notes = split(codes, classes, cv, random_state)
    answers = _run(classifiers, declare_levels(X, table), labels, folds, progress=progress)
    rows = np.concatenate([scored for _, scored in folds])
    fold = np.repeat(np.arange(len(folds)), [len(scored) for _, scored in folds])
    said = {name: np.concatenate([a.probability for a in part]) for name, part in answers.items()}
    lines = [{**score(codes[rows], said[n], fold), **line(part)} for n, part in answers.items()]
    holes = _holes(table)
    return Comparison(
        table=pd.DataFrame(lines, index=pd.Index(list(answers), name="classifier")),
        classes=classes,
        n_rows=table.n_rows,
        n_missing_cells=int(holes.sum()),
        n_rows_with_missing=int(holes.any(axis=1).sum()),
        folds=len(folds),
        notes=(*notes, *identifiers(table)),
        warnings={n: texts for n, part in answers.items() if (texts := distinct_warnings(part))},
        probabilities=said,
        y=codes[rows],
        rows=rows,
        fold=fold,
    )


def _run(
    classifiers: Mapping[str, object],
    X: object,
    labels: np.ndarray,
    folds: list[Fold],
    *,
    progress: bool | Literal["auto"],
) -> dict[str, list[Answer]]:
    """Return the answers of every classifier, fold by fold."""
    from tqdm import tqdm

    classes = np.unique(labels)
    answers: dict[str, list[Answer]] = {name: [] for name in classifiers}
    # every classifier meets the first fold before any meets the second: a mistake shows early
    steps = [(number, name) for number in range(len(folds)) for name in classifiers]
    # None: only where stderr is a terminal
    disable = None if progress == "auto" else not progress
    with tqdm(total=len(steps), unit="fit", disable=disable, file=sys.stderr, leave=False) as bar:
        for number, name in steps:
            bar.set_description(str(name))
            try:
                answers[name].append(answer(classifiers[name], X, labels, folds[number], classes))
            except Exception as error:
                error.add_note(f"classifier {name!r}, fold {number + 1} of {len(folds)}")
                raise
            bar.update()
    return answers


def _check_classifiers(classifiers: Mapping[str, object]) -> None:
    if not classifiers:
        raise InvalidArgument.out_of_range(
            "classifiers", dict(classifiers), "a dictionary of at least one name and classifier"
        )
    for name, estimator in classifiers.items():
        if not hasattr(estimator, "predict_proba"):
            raise InvalidArgument.out_of_range(
                f"classifiers[{name!r}]", estimator, "a classifier that has predict_proba"
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
