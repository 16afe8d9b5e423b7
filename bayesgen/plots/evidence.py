"""Waterfall plot of the log-odds of one row: the class prior, then the evidence of each cell."""

import dataclasses
from collections.abc import Hashable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from bayesgen.errors.arguments import out_of_range
from bayesgen.plots.display import Display
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.plots.style import FAINT, INK, Axes, color, height_of, pyplot
from bayesgen.table import Table, read_table

MOST = 15
"""Most bars of one picture; smaller ones are added up."""
NUMBER: dict[str, Any] = {
    "color": INK,
    "fontsize": "small",
    "bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
}
"""Look of the number beside a bar."""


@dataclasses.dataclass(eq=False)
class EvidenceDisplay(Display):
    """Waterfall of the log-odds of a class for one row: prior, weight of each cell, and sum.

    Each bar starts where the one above it ended. Evidence for the class points to the right, blue
    and solid; evidence against it to the left, orange and hatched. The largest come first;
    missing ones add nothing and are left out.

    Attributes:
        prior: log-odds before any cell is observed.
        names: "column = value" of each bar, the largest first.
        weights: of evidence, in nats, shape (bar,).
        ends: lower and upper ends of intervals, (bar, 2), or None.
        target, against: the two classes of the odds.
        classes: number of classes.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.NaiveBayes().fit(X, y)
        >>> display = bg.plots.EvidenceDisplay.from_estimator(clf, X.iloc[[0]])
        >>> display.names
        ['sex = female', 'passengerClass = 1st', 'age = 29']
    """

    prior: float
    names: list[str]
    weights: Float[np.ndarray, " bar"] = dataclasses.field(repr=False)
    ends: Float[np.ndarray, "bar 2"] | None = dataclasses.field(repr=False)
    target: Hashable
    against: Hashable
    classes: int = 2

    @classmethod
    def from_estimator(
        cls,
        clf: FittedClassifier,
        row: object,
        target: Hashable = None,
        against: Hashable = None,
        *,
        order: str = "columns",
        interval: float | str | None = None,
        most: int = MOST,
        ax: Axes = None,
    ) -> "EvidenceDisplay":
        """Draw the evidence of one row.

        Args:
            clf: a fitted bayesgen classifier.
            row: a table of one row, such as X.iloc[[0]], or a dict of the values by column.
            target: the class; None: the second of two, the most probable one of more.
            against: the other class; None: of two the other, of more the next most probable one.
            order: as in `evidence`.
            interval: also draw intervals, as in `evidence`.
            most: maximum number of bars; the remaining cells are combined in one more.
            ax: axes to draw on; None makes them.

        Raises:
            InvalidArgument: another number of rows.
        """
        pyplot()  # refuse before anything is computed
        table = read_table(row)
        if table.n_rows != 1:
            raise out_of_range(
                "row", f"a table of {table.n_rows} rows", "a table of one row", "Pass X[:1]."
            )
        target, against = _pair(clf, row, target, against)
        answer = clf.evidence(row, target, against, order=order, interval=interval)
        frames = answer if interval else (answer,)
        shown = _shown(table, list(frames[0].columns)[1:])
        values = np.stack([frame.iloc[0].to_numpy() for frame in frames], axis=1)
        names, cells = _largest(shown, values[1:], most)
        ends = cells[:, 1:] if interval else None
        prior, classes = float(values[0, 0]), len(clf.classes_)
        return cls(prior, names, cells[:, 0], ends, target, against, classes).plot(ax=ax)

    @property
    def total(self) -> float:
        """The log-odds of the row."""
        return self.prior + float(self.weights.sum())

    def _draw(self, ax: Axes) -> None:
        steps = np.array([self.prior, *self.weights])
        reached = np.cumsum(steps)
        start, place = np.array([0.0, *reached[:-1]]), np.arange(len(steps) + 1)
        self._panels(ax, size=(7.0, height_of(self.names, 0.36) * len(place) + 1.3))
        self.ax_.axvline(0, color=FAINT, linewidth=0.8, linestyle=":")
        shades = [FAINT, *(color(0 if weight >= 0 else 1) for weight in self.weights)]
        hatches = [None, *(None if weight >= 0 else "///" for weight in self.weights)]
        look = {"color": shades, "hatch": hatches, "edgecolor": "white", "linewidth": 0}
        bars = self.ax_.barh(place[:-1], steps, left=start, height=0.62, **look)
        self.ax_.bar_label(bars, [f"{step:+.2f}" for step in steps], padding=6, **NUMBER)
        self.ax_.plot([reached, reached], [place[:-1], place[1:]], color=FAINT, linewidth=0.8)
        self.ax_.plot(self.total, place[-1], "D", color=INK, markersize=7)
        beside = {"xytext": (6, 0), "textcoords": "offset points", "va": "center"}
        self.ax_.annotate(f" {self.total:+.2f}", (self.total, place[-1]), **beside, **NUMBER)
        if self.ends is not None:
            finite = np.isfinite(self.ends).all(axis=1)
            spans, below = (start[1:, None] + self.ends)[finite].T, place[1:-1][finite] + 0.38
            self.ax_.plot(spans, [below, below], color=INK, linewidth=1.2, marker="|")
        self.ax_.set_yticks(place, ["prior", *self.names, "all"])
        self.ax_.set_ylim(place[-1] + 0.6, -0.6)
        # numbers stand beside the bars
        self.ax_.use_sticky_edges = False
        self.ax_.margins(x=0.15)
        self.ax_.set_xlabel(f"log-odds of {self.target} against {self.against} (nats)")
        pair = "" if self.classes == 2 else f" if {self.target} or {self.against}"
        title = f"P({self.target}{pair}) = {expit(self.total):.3g}"
        self.ax_.set_title(title, fontsize="medium", loc="left")


def _pair(clf: FittedClassifier, row: object, target: Hashable, against: Hashable) -> tuple:
    """Return both classes: of two the second and the first, of more the most probable ones."""
    order = clf.classes_.tolist()[::-1]
    if len(order) > 2:
        probable = np.argsort(-clf.predict_proba(row)[0], kind="stable")
        order = clf.classes_[probable].tolist()
    if target is None:
        target = next((k for k in order if k != against), None)
    return target, next((k for k in order if k != target), None) if against is None else against


def _largest(
    shown: dict[int, str], values: Float[np.ndarray, "feature value"], most: int
) -> tuple[list[str], Float[np.ndarray, "bar value"]]:
    """Return names and values of bars, the largest first, those beyond `most` in one.

    values: the weight, and the ends of its interval if there is one.
    """
    by_size = sorted(shown, key=lambda i: -abs(values[i, 0]))
    first = by_size if len(by_size) <= most else by_size[: most - 1]
    others = by_size[len(first) :]
    names, bars = [shown[i] for i in first], values[first]
    if others:
        names.append(f"{len(others)} others")
        bars = np.vstack([bars, np.full(values.shape[1], np.nan)])
        bars[-1, 0] = values[others, 0].sum()
    return names, bars


def _shown(table: Table, features: list) -> dict[int, str]:
    """Return "column = value" by position, for columns that the row shows."""
    out = {}
    by_name = {column.name: column for column in table.columns}
    if not set(by_name) <= set(features) and len(by_name) == len(features):
        by_name = dict(zip(features, table.columns, strict=True))
    for i, name in enumerate(features):
        column = by_name.get(name)
        if column is None or column.is_missing:
            continue
        value = column.values[0]
        text = f"{value:.4g}" if column.kind == "number" else str(column.levels[value])
        out[i] = f"{name} = {text}"
    return out
