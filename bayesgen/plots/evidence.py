"""Waterfall plot of the log-odds of one row: the class prior, then the evidence of each cell."""

import dataclasses
from collections.abc import Hashable

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from bayesgen.errors.arguments import out_of_range
from bayesgen.plots.display import Display
from bayesgen.plots.style import FAINT, INK, Axes, Fitted, color, pyplot
from bayesgen.table import Table, read_table

MOST = 15
"""Most bars of one picture; smaller ones are added up."""
MARGIN = 4
"""Pixels between a number and the end of the axis."""
PASSES = 3
"""Times that the axis is widened, as the layout and the scale change with it."""


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
        clf: Fitted,
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
        found = clf.evidence(row, target, against, order=order, interval=interval)
        parts = [part.iloc[0].to_numpy() for part in (found if interval else [found])]
        shown = _shown(table, list(found[0].columns if interval else found.columns)[1:])
        bars = _bars(shown, [part[1:] for part in parts], most)
        drawn = cls(float(parts[0][0]), *bars, target, against, len(clf.classes_))
        return drawn.plot(ax=ax)

    @property
    def total(self) -> float:
        """Return the log-odds of the row."""
        return self.prior + float(self.weights.sum())

    def _draw(self, ax: Axes) -> None:
        tall = 0.36 * (len(self.names) + 2) + 1.3
        self._panels(ax, size=(7.0, tall))
        self.ax_.axvline(0, color=FAINT, linewidth=0.8, linestyle=":")
        start = np.concatenate([[0.0], self.prior + np.cumsum([0.0, *self.weights])[:-1]])
        steps = np.concatenate([[self.prior], self.weights])
        for place, (left, step) in enumerate(zip(start, steps, strict=True)):
            self._bar(place, left, step, prior=place == 0)
        for place, end in enumerate(start[1:], start=1):
            self.ax_.plot([end, end], [place - 1, place], color=FAINT, linewidth=0.8)
        last = len(steps)
        self.ax_.plot([self.total] * 2, [last - 1, last], color=FAINT, linewidth=0.8)
        self.ax_.plot(self.total, last, "D", color=INK, markersize=7)
        self._label(last, self.total, f" {self.total:+.2f}", right=True)
        self._intervals(start)
        self._words(last)

    def _bar(self, place: int, left: float, step: float, *, prior: bool) -> None:
        shade = FAINT if prior else color(0 if step >= 0 else 1)
        hatch = None if prior or step >= 0 else "///"
        style = {"color": shade, "hatch": hatch, "edgecolor": "white", "linewidth": 0}
        self.ax_.barh(place, step, left=left, height=0.62, **style)
        self._label(place, left + step, f"{step:+.2f}", right=bool(step >= 0))

    def _label(self, place: int, end: float, text: str, *, right: bool) -> None:
        self.ax_.annotate(
            text,
            (end, place),
            xytext=(6 if right else -6, 0),
            textcoords="offset points",
            ha="left" if right else "right",
            va="center",
            color=INK,
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5, "alpha": 0.8},
        )

    def _intervals(self, start: np.ndarray) -> None:
        if self.ends is None:
            return
        for place, (low, high) in enumerate(self.ends, start=1):
            if np.isfinite([low, high]).all():
                span = [start[place] + low, start[place] + high]
                self.ax_.plot(span, [place + 0.38] * 2, color=INK, linewidth=1.2, marker="|")

    def _words(self, last: int) -> None:
        every = ["prior", *self.names, "all"]
        self.ax_.set_yticks(range(last + 1), every)
        self.ax_.set_ylim(last + 0.6, -0.6)
        self._widen()
        self.ax_.set_xlabel(f"log-odds of {self.target} against {self.against} (nats)")
        of = f"P({self.target}"
        of += ")" if self.classes == 2 else f" if {self.target} or {self.against})"
        share = expit(self.total)
        self.ax_.set_title(f"{of} = {share:.3g}", fontsize="medium", loc="left")

    def _widen(self) -> None:
        """Widen the axis until each number, whose width is fixed in points, lies within it."""
        for _ in range(PASSES):
            self.ax_.figure.draw_without_rendering()  # the layout makes room for names of columns
            low, high = self.ax_.get_xlim()
            boxes = [text.get_window_extent() for text in self.ax_.texts]
            inside = self.ax_.transData.inverted()
            ends = inside.transform([(box.x0 - MARGIN, box.y0) for box in boxes])[:, 0].min()
            last = inside.transform([(box.x1 + MARGIN, box.y0) for box in boxes])[:, 0].max()
            self.ax_.set_xlim(min(low, ends), max(high, last))


def _pair(clf: Fitted, row: object, target: Hashable, against: Hashable) -> tuple:
    """Return both classes: of two the second and the first, of more the most probable ones."""
    order = clf.classes_.tolist()[::-1]
    if len(order) > 2:
        probable = np.argsort(-clf.predict_proba(row)[0], kind="stable")
        order = clf.classes_[probable].tolist()
    if target is None:
        target = next((k for k in order if k != against), None)
    return target, next((k for k in order if k != target), None) if against is None else against


def _bars(
    shown: dict[int, str], parts: list[np.ndarray], most: int
) -> tuple[list[str], np.ndarray, np.ndarray | None]:
    """Return names, weights and ends of bars, the largest first, those beyond `most` in one.

    parts: weights, and lower and upper ends if there are any, each (feature,).
    """
    by_size = sorted(shown, key=lambda i: -abs(parts[0][i]))
    first = by_size if len(by_size) <= most else by_size[: most - 1]
    names, weights = [shown[i] for i in first], parts[0][first]
    ends = np.stack([part[first] for part in parts[1:]], axis=1) if len(parts) > 1 else None
    rest = by_size[len(first) :]
    if rest:
        names = [*names, f"{len(rest)} others"]
        weights = np.append(weights, parts[0][rest].sum())
        ends = None if ends is None else np.vstack([ends, [np.nan, np.nan]])
    return names, weights, ends


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
