"""HTML report of a fitted classifier, as one self-contained page from report.html."""

import inspect
import io
import textwrap
import warnings
from collections.abc import Callable
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from bayesgen.compare import Comparison
from bayesgen.compare.as_text import MEMBERS_LEGEND, members_as_text
from bayesgen.estimators import StackedClassifier
from bayesgen.estimators.classifier import Classifier
from bayesgen.plots.style import Axes, pyplot
from bayesgen.table import Table, TableColumn, read_table

MOST_ROWS = 10
MOST_PARAMETERS = 60
MOST_LEVELS = 6
MOST_COLUMNS = 8
MEMBER = "log loss of "
SVG_STYLE: dict[Any, Any] = {
    "svg.hashsalt": "bayesgen",
    "svg.fonttype": "none",
    "backend": "agg",
    "font.size": 9.0,
}
"""The same bytes for the same picture, and nothing fetched from elsewhere."""


def report_html(
    clf: Classifier,
    X: object,
    y: ArrayLike,
    *,
    title: str,
    comparison: Comparison | None = None,
    candidate: str | None = None,
    notes: tuple[str, ...] = (),
) -> str:
    """Return a self-contained HTML page, including styles and figures.

    Sections: data and missing values, the program that was fitted, the posterior, the verdict on
    the fit, the comparison with its reliability, the least certain and the least typical rows.

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
    import jinja2

    point = clf.posterior_.point
    table, labels = read_table(X), np.asarray(y)
    page = resources.files("bayesgen").joinpath("report.html").read_text(encoding="utf-8")
    template = jinja2.Environment(autoescape=True, trim_blocks=True).from_string(page)
    plot = getattr(clf, "plot_weights", None)
    # of a stack, or of the columns of naive Bayes
    weights = None if plot is None or not hasattr(clf, "weights_") else _svg(plot)
    members = members_as_text(clf.members_table()) if isinstance(clf, StackedClassifier) else None
    # those of the members stand in their table
    details = {name: value for name, value in clf.report_.details.items() if MEMBER not in name}
    return template.render(
        title=title,
        clf=clf,
        notes=notes,
        columns=[_column(column) for column in table.columns],
        classes={name: int((labels == name).sum()) for name in clf.classes_.tolist()},
        programs=_programs(clf),
        weights=weights,
        members=None if members is None else members.to_html(border=0, justify="left"),
        members_legend=MEMBERS_LEGEND,
        details=details,
        summary=None if members is not None or point else _summary(clf),
        features=_svg(lambda: clf.plot_features(X, y)),
        intervals=None if point else _svg(lambda: clf.plot_intervals(X, y)),
        uncertain=_uncertain_rows(clf, X, table, labels),
        atypical=_atypical_rows(clf, X, table, labels),
        comparison=None if comparison is None else _comparison(comparison, candidate),
    )


def _column(column: TableColumn) -> dict[str, object]:
    """Return the kind, the values and the missing cells of a column in words."""
    seen, missing = column.values[~column.missing], int(column.missing.sum())
    if not len(seen):
        cells = "nothing observed"
    elif column.kind == "number":
        low, middle, high = np.quantile(seen, [0, 0.5, 1])
        cells = f"{low:.5g} to {high:.5g}, median {middle:.5g}"
    else:
        count = np.bincount(seen, minlength=len(column.levels))
        order = np.argsort(-count, kind="stable")[:MOST_LEVELS]
        cells = ", ".join(f"{column.levels[i]} ({count[i]:,})" for i in order)
        more = len(column.levels) - MOST_LEVELS
        cells += f" and {more} more" if more > 0 else ""
    about = {"name": column.name, "kind": column.kind, "cells": cells}
    return about | {"missing": missing, "share": missing / len(column.values)}


def _programs(clf: Classifier) -> list[tuple[str, str, str]]:
    """Return the blocks, their likelihood, and its program unless it was already shown.

    Blocks of one likelihood stand together. Those of missing patterns are left out where no cell
    was missing.
    """
    found: dict[tuple[str, str], list] = {}
    sources, seen = {}, set()
    for member, part in getattr(clf, "members_", {"": clf}).items():
        state, reader = part.state_, part.posterior_.reader
        for block, likelihood in state.likelihoods.items():
            names = [column.name for column in state.schema.blocks.get(block, ())] or [block]
            if block in state.pattern_blocks():
                names = state.columns(reader, block) if block in reader.kept else []
            if names:
                key = member, repr(likelihood)
                found.setdefault(key, []).extend(names)
                sources[key] = type(likelihood)
    out = []
    for (member, words), names in found.items():
        family = sources[member, words]
        # families with independent columns share one program, and differ in their priors
        source = getattr(family, "parameter_priors", family.story)
        program = textwrap.dedent(inspect.getsource(source))
        more = f" and {len(names) - MOST_COLUMNS:,} more" if len(names) > MOST_COLUMNS else ""
        name = ", ".join(map(str, names[:MOST_COLUMNS])) + more
        shown = "" if program in seen else program
        out.append((f"{member}: {name}" if member else name, words, shown))
        seen.add(program)
    return out


def _comparison(comparison: Comparison, candidate: str | None) -> dict[str, str]:
    name = next(iter(comparison.probabilities)) if candidate is None else candidate
    reliability = _svg(lambda: comparison.plot_reliability(name))
    return {"name": name, "scores": comparison._repr_html_(), "reliability": reliability}


def _summary(clf: Classifier) -> str:
    with warnings.catch_warnings():
        # entries of a covariance that no draw moves have no effective sample size
        warnings.simplefilter("ignore")
        table = pd.DataFrame(clf.summary(round_to="none"))
    rows = table.iloc[:MOST_PARAMETERS].reset_index(names="parameter")
    return rows.to_html(border=0, index=False, na_rep="", justify="left", float_format="%.4g")


def _uncertain_rows(clf: Classifier, X: object, table: Table, labels: np.ndarray) -> str:
    proba = clf.predict_proba(X)
    entropy = -np.sum(proba * np.log(np.maximum(proba, np.finfo(float).tiny)), axis=1)
    rows = np.argsort(-entropy, kind="stable")[:MOST_ROWS]
    ends = None if clf.posterior_.point else clf.predict_interval(X)[rows]
    columns = {}
    for k, name in enumerate(clf.classes_.tolist()):
        words = [f"{p:.2f}" for p in proba[rows, k]]
        if ends is not None:
            words = [
                f"{p} ({a:.2f} to {b:.2f})" for p, (a, b) in zip(words, ends[:, k], strict=True)
            ]
        columns[f"P({name})"] = words
    return _rows(table, labels, rows, columns)


def _atypical_rows(clf: Classifier, X: object, table: Table, labels: np.ndarray) -> str:
    typicality = clf.typicality(X)
    rows = np.argsort(typicality, kind="stable")[:MOST_ROWS]
    return _rows(table, labels, rows, {"typicality": [f"{t:.3f}" for t in typicality[rows]]})


def _rows(table: Table, labels: np.ndarray, rows: np.ndarray, answers: dict[str, list]) -> str:
    """Return some rows as HTML: labels, predictions and cells."""
    frame = pd.DataFrame({"label": labels[rows]} | answers, index=pd.Index(rows, name="row"))
    cells = {str(column.name): _cells(column) for column in table.take(rows).columns}
    frame = pd.concat([frame, pd.DataFrame(cells, index=frame.index)], axis=1)
    return frame.to_html(border=0, na_rep="", justify="left")


def _cells(column: TableColumn) -> list[str]:
    observed, levels = ~column.missing, column.levels
    number = column.kind == "number"
    return [
        "" if not seen else f"{value:.5g}" if number else str(levels[value])
        for value, seen in zip(column.values, observed, strict=True)
    ]


def _svg(draw: Callable[[], Axes]) -> str:
    """Return the figure of the display that `draw` returns, as one <svg> element."""
    import matplotlib as mpl

    plt, buffer = pyplot(), io.StringIO()
    before = set(plt.get_fignums())
    with mpl.rc_context(SVG_STYLE):
        try:
            draw().figure_.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        finally:
            for number in set(plt.get_fignums()) - before:
                plt.close(number)
    text = buffer.getvalue()
    return text[text.index("<svg") :]
