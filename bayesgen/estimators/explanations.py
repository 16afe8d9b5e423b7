"""Explanations of cells: weight of evidence, conditional distributions, value of information."""

from collections.abc import Hashable, Iterable
from typing import cast

from bayesgen import arguments, diagnose, explain
from bayesgen.decide import Loss
from bayesgen.estimators import validation
from bayesgen.estimators.estimator import Estimator
from bayesgen.typing import DataFrame

CELLS = 256
"""Simulated cells for each class, of each missing number, of `feature_value`."""


def evidence(
    clf: Estimator,
    X: object,
    pair: tuple[Hashable, Hashable],
    order: str,
    interval: float | str | None,
    random_state: object,
    *,
    return_error: bool,
) -> DataFrame | tuple[DataFrame, ...]:
    """Return the weight of evidence of each cell; see `Classifier.evidence`."""
    explain.check_reading(order, interval)
    names, contrast = explain.contrast_of(clf.classes_.tolist(), *pair)
    rows, rng = clf._rows_of_cells(X, "evidence()"), arguments.generator(random_state)
    reading, arrays = explain.weights_of_evidence(
        rows, contrast, order, rng, interval, return_error=return_error
    )
    index = validation.index_of(X)
    frames = [explain.by_feature(a, reading, rows.cells, names, index) for a in arrays]
    return frames[0] if len(frames) == 1 else tuple(frames)


def feature_value(
    clf: Estimator, X: object, loss: Loss, draws: int, random_state: object
) -> tuple[DataFrame, DataFrame]:
    """Return values of missing cells and their errors; see `Classifier.feature_value`."""
    draws = arguments.count("draws", draws, least=2, default=CELLS)
    gain, seed = explain.gain_of(loss, clf.classes_), arguments.drawn_seed(random_state)
    rows, index = clf._imputable_rows(X, "feature_value()"), validation.index_of(X)
    values, errors = explain.expected_gains(rows, gain, draws, seed)
    return diagnose.frame(values, index), diagnose.frame(errors, index)


def conditional(
    clf: Estimator, X: object, prob: float, draws: int, random_state: object
) -> DataFrame:
    """Return the distribution of each missing cell; see `Classifier.conditional`."""
    question = explain.Question(
        arguments.share("prob", prob), arguments.count("draws", draws, least=2, default=CELLS)
    )
    rng, rows = arguments.generator(random_state), clf._imputable_rows(X, "conditional()")
    index = validation.index_of(X)
    labels = list(range(rows.n_rows)) if index is None else list(cast(Iterable, index))
    return diagnose.frame(explain.conditional_table(rows, question, rng, labels))
