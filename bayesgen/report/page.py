"""The page: what was fitted, whether to trust it, and which rows to look at again."""

import inspect
import textwrap
import warnings
from collections.abc import Callable
from importlib import resources

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayesgen.compare import Comparison
from bayesgen.estimators import StackedClassifier
from bayesgen.estimators.classifier import Classifier
from bayesgen.likelihoods import Likelihood
from bayesgen.plots.style import pyplot
from bayesgen.report.missing import accounts
from bayesgen.report.pictures import svg
from bayesgen.table import read_table

Fitted = Classifier | StackedClassifier

MOST_ROWS = 10
MOST_PARAMETERS = 60
DIGITS = 3


def report_html(
    clf: Fitted,
    X: object,
    y: ArrayLike,
    *,
    title: str,
    comparison: Comparison | None = None,
    candidate: str | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """Return one HTML page, self-contained: styles and pictures are inside.

    It shows the data and its holes, the program that was fitted, the posterior, the verdict on the
    fit, the comparison with its reliability, and the least certain and the strangest rows.

    Args:
        clf: a fitted bayesgen classifier.
        X: rows to report on, usually those of the fit.
        y: their labels.
        title: of the page.
        comparison: of this classifier with others; None leaves that part out.
        candidate: the classifier of the comparison whose reliability is shown; None: the first.
        notes: sentences to print under the heading, such as the warnings of the fit.

    Raises:
        MissingPackage: matplotlib is not installed.
    """
    pyplot()  # refuse before anything is computed
    return _rendered(
        title=title,
        clf=clf,
        notes=notes,
        columns=accounts(read_table(X)),
        classes=_class_counts(clf, y),
        stories=_stories(clf),
        weights=svg(clf.plot_weights) if isinstance(clf, StackedClassifier) else None,
        summary=_summary(clf),
        details={name: f"{value:.4g}" for name, value in clf.report_.details.items()},
        features=svg(lambda: clf.plot_features(X, y)),
        intervals=_if_posterior(clf, lambda: svg(lambda: clf.plot_intervals(X, y))),
        unsure=_table(_unsure(clf, X, y)),
        strange=_table(_strange(clf, X, y)),
        comparison=None if comparison is None else _comparison(comparison, candidate),
    )


def _rendered(**parts: object) -> str:
    """Return the template with its parts filled in."""
    import jinja2

    page = resources.files("bayesgen.report").joinpath("page.html").read_text(encoding="utf-8")
    return jinja2.Environment(autoescape=True, trim_blocks=True).from_string(page).render(**parts)


def _if_posterior(clf: Fitted, make: Callable[[], str]) -> str | None:
    return None if clf.posterior_.point else make()


def _class_counts(clf: Fitted, y: ArrayLike) -> list[tuple[str, int]]:
    labels = np.asarray(y)
    return [(str(name), int((labels == name).sum())) for name in clf.classes_.tolist()]


def _stories(clf: Fitted) -> list[tuple[str, str, str]]:
    """Return for each block its name, its likelihood as typed, and the program that samples it.

    A program that stands before is left out.
    """
    found, shown = [], set()
    for name, part in _likelihoods(clf).items():
        program = textwrap.dedent(inspect.getsource(type(part).story))
        found.append((name, repr(part), "" if program in shown else program))
        shown.add(program)
    return found


def _likelihoods(clf: Fitted) -> dict[str, Likelihood]:
    """Return the likelihoods of blocks by name, those of a stack by member and block."""
    if not isinstance(clf, StackedClassifier):
        return clf._state_.likelihoods
    return {
        f"{name}: {block}": part
        for name, member in clf.members_.items()
        for block, part in member._state_.likelihoods.items()
    }


def _summary(clf: Fitted) -> str | None:
    if isinstance(clf, StackedClassifier) or clf.posterior_.point:
        return None
    with warnings.catch_warnings():
        # entries of a covariance that no draw moves have no effective sample size
        warnings.simplefilter("ignore")
        table = pd.DataFrame(clf.summary(round_to="none"))
    shown = table.iloc[:MOST_PARAMETERS].reset_index(names="parameter")
    return shown.to_html(border=0, index=False, na_rep="", justify="left", float_format="%.4g")


def _rows_of(clf: Fitted, X: object, y: ArrayLike, order: np.ndarray) -> pd.DataFrame:
    """Return some rows with their labels and probabilities."""
    table = read_table(X).take(order)
    cells = {str(c.name): _cells(c.values, c.levels) for c in table.columns}
    frame = pd.DataFrame(cells, index=pd.Index(order, name="row"))
    frame.insert(0, "label", np.asarray(y)[order])
    return frame


def _cells(values: np.ndarray, levels: tuple) -> list:
    if not levels:
        return ["" if np.isnan(v) else f"{v:.5g}" for v in values]
    return ["" if code < 0 else str(levels[code]) for code in values]


def _unsure(clf: Fitted, X: object, y: ArrayLike) -> pd.DataFrame:
    proba = clf.predict_proba(X)
    entropy = -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1)
    order = np.argsort(-entropy, kind="stable")[:MOST_ROWS]
    frame = _rows_of(clf, X, y, order)
    ends = None
    if not clf.posterior_.point:
        ends = clf.predict_interval(X)[order]
    for k, name in reversed(list(enumerate(clf.classes_.tolist()))):
        told = [f"{p:.2f}" for p in proba[order, k]]
        if ends is not None:
            told = [f"{p} ({a:.2f} to {b:.2f})" for p, (a, b) in zip(told, ends[:, k], strict=True)]
        frame.insert(1, f"P({name})", told)
    return frame


def _strange(clf: Fitted, X: object, y: ArrayLike) -> pd.DataFrame:
    typicality = clf.typicality(X)
    order = np.argsort(typicality, kind="stable")[:MOST_ROWS]
    frame = _rows_of(clf, X, y, order)
    frame.insert(1, "typicality", [f"{t:.3f}" for t in typicality[order]])
    return frame


def _table(frame: pd.DataFrame) -> str:
    return frame.to_html(border=0, index=frame.index.name is not None, na_rep="", justify="left")


def _comparison(comparison: Comparison, candidate: str | None) -> dict[str, object]:
    name = next(iter(comparison.probabilities)) if candidate is None else candidate
    return {
        "name": name,
        "table": comparison._repr_html_(),
        "reliability": svg(lambda: comparison.plot_reliability(name)),
        "notes": comparison.notes,
    }
