"""Plots over two numeric columns: the density of each class, and the decision regions.

All other columns are integrated out, as missing ones are.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Shaped
from numpy.typing import ArrayLike

from bayesgen.errors import InvalidData
from bayesgen.plots import probing
from bayesgen.plots.display import Display
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.plots.style import FAINT, INK, Axes, color, in_legend, line, marker, pyplot
from bayesgen.schema import in_numbers
from bayesgen.table import Name, Table, read_table

LEVELS = (0.9, 0.5, 0.1)
"""Contours hold this share of a class."""


@dataclasses.dataclass(eq=False)
class _Plane(Display):
    """A picture over two number columns, with the rows of each class.

    across, up: points of a grid. names: of the columns. classes: labels. rows: those drawn, (row,
    2), and their labels.
    """

    across: Float[np.ndarray, " across"] = dataclasses.field(repr=False)
    up: Float[np.ndarray, " up"] = dataclasses.field(repr=False)
    names: tuple
    classes: list
    rows: Float[np.ndarray, "row 2"] = dataclasses.field(repr=False)
    labels: np.ndarray = dataclasses.field(repr=False)

    def _rows(self) -> None:
        """Draw the rows of each class, gray ones without a label, and the names of the columns."""
        unlabeled = ~np.any([self.labels == name for name in self.classes], axis=0)
        if unlabeled.any():
            look = {"marker": ".", "color": FAINT, "linestyle": "none", "label": "no label"}
            self.ax_.plot(*self.rows[unlabeled].T, markersize=3, alpha=0.6, **look)
        edge = {"markeredgewidth": 0.4, "markeredgecolor": "white"}
        for k, name in enumerate(self.classes):
            look = {
                "marker": marker(k),
                "color": color(k),
                "linestyle": "none",
                "label": in_legend(name),
            }
            points = self.rows[self.labels == name].T
            self.ax_.plot(*points, markersize=4.5, alpha=0.85, **look, **edge)
        self.ax_.set(xlabel=str(self.names[0]), ylabel=str(self.names[1]))


@dataclasses.dataclass(eq=False)
class DensityDisplay(_Plane):
    """Contours of p(two columns given class), around the rows: 10, 50 and 90 % of each class.

    Attributes:
        across, up: points of the grid.
        names: the two columns.
        classes: labels.
        rows: the rows drawn, (row, 2), and their labels.
        log_density: log p(x given y = k, data) on the grid, shape (class, up, across).

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.QDA().fit(X, y)
        >>> names = ("petal_length", "petal_width")
        >>> bg.plots.DensityDisplay.from_estimator(clf, X, y, features=names).log_density.shape
        (3, 120, 120)
    """

    log_density: Float[np.ndarray, "class up across"] = dataclasses.field(repr=False)

    @classmethod
    def from_estimator(
        cls,
        clf: FittedClassifier,
        X: object,
        y: ArrayLike,
        *,
        features: tuple = (0, 1),
        points: int = 120,
        ax: Axes = None,
    ) -> "DensityDisplay":
        """Draw the densities of a fitted classifier over two number columns.

        Args:
            clf: a fitted bayesgen classifier.
            X: rows to draw; the picture spans their values.
            y: their labels.
            features: two columns, by name or by position.
            points: of the grid along each.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        table = in_numbers(read_table(X))
        values, plane = _plane(clf, table, probing.labels(X, y), features, points)
        density = probing.log_class_density(clf, table, values).T.reshape(-1, points, points)
        return cls(*plane, density).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(5.6, 4.6))
        for k, log_density in enumerate(self.log_density):
            heights = _heights(log_density)
            look = {"colors": color(k), "linestyles": [line(k)], "levels": heights}
            widths = [0.9, 1.5, 2.1][-len(heights) :]
            self.ax_.contour(self.across, self.up, log_density, linewidths=widths, **look)
        self.ax_.set_title("contours hold 10, 50 and 90 % of a class", fontsize="medium")
        self._rows()
        self._legend(ax, frameon=False)


@dataclasses.dataclass(eq=False)
class RegionDisplay(_Plane):
    """Decision regions of two columns, shaded by the probability of the decided class.

    A point has the color of its most probable class, paler as that probability approaches chance.
    Black lines are the decision boundaries. Hatching marks where the boundary is uncertain: the
    intervals of the two most probable classes overlap. Colors remain saturated far from all rows,
    since a probability compares classes and does not show whether any of them fits; `novelty`
    outlines the region of typical rows.

    Attributes:
        across, up: points of the grid.
        names: the two columns.
        classes: labels.
        rows: the rows drawn, (row, 2), and their labels.
        probability: on the grid, (class, up, across).
        unsure: whether the intervals of the two most probable classes overlap, (up, across); None
            for a point estimate.
        typical: typicality, (up, across), or None.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.LDA(random_state=0).fit(X, y)
        >>> names = ("sepal_length", "sepal_width")
        >>> display = bg.plots.RegionDisplay.from_estimator(clf, X, y, features=names, points=20)
        >>> display.probability.shape
        (3, 20, 20)
    """

    probability: Float[np.ndarray, "class up across"] = dataclasses.field(repr=False)
    unsure: Bool[np.ndarray, "up across"] | None = dataclasses.field(default=None, repr=False)
    typical: Float[np.ndarray, "up across"] | None = dataclasses.field(default=None, repr=False)
    novelty: float | None = None

    @classmethod
    def from_estimator(
        cls,
        clf: FittedClassifier,
        X: object,
        y: ArrayLike,
        *,
        features: tuple = (0, 1),
        points: int = 60,
        prob: float = 0.9,
        novelty: float | None = None,
        ax: Axes = None,
    ) -> "RegionDisplay":
        """Draw the regions of a fitted classifier over two number columns.

        Args:
            clf: a fitted bayesgen classifier.
            X: rows to draw; the picture spans their values.
            y: their labels.
            features: two columns, by name or by position.
            points: of the grid along each.
            prob: level of the intervals behind the hatching.
            novelty: outline where `typicality` falls below this; None: not shown.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        table, square = in_numbers(read_table(X)), (points, points)
        values, plane = _plane(clf, table, probing.labels(X, y), features, points)
        frame = probing.probe(table, values)
        proba = clf.predict_proba(frame)
        unsure = None
        if not clf.posterior_.point:
            unsure = _overlap(clf.predict_interval(frame, prob), proba).reshape(square)
        typical = None if novelty is None else clf.typicality(frame).reshape(square)
        probability = proba.T.reshape(-1, points, points)
        return cls(*plane, probability, unsure, typical, novelty).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(5.6, 4.6))
        extent = (*self.across[[0, -1]], *self.up[[0, -1]])
        look = {"origin": "lower", "aspect": "auto", "interpolation": "bilinear", "zorder": 0}
        self.ax_.imshow(_shades(self.probability), extent=extent, **look)
        ascending = np.sort(self.probability, axis=0)
        lead, decided = ascending[-1] - ascending[-2], self.probability.argmax(axis=0)
        title = ["strong color: sure"]
        for k in range(len(self.classes)):
            if 0 < (decided == k).sum() < decided.size:
                signed = np.where(decided == k, lead, -lead)
                look = {"levels": [0.0], "colors": INK, "linewidths": 1.2}
                self.ax_.contour(self.across, self.up, signed, **look)
        if self.unsure is not None:
            title.append("hatched: the border may lie here")
            if self.unsure.any():
                look = {"levels": [0.5, 1.5], "colors": "none", "hatches": ["////"]}
                self.ax_.contourf(self.across, self.up, self.unsure.astype(float), **look)
        if self.typical is not None:
            title.append(f"dotted: beyond, typicality < {self.novelty:g}")
            look = {"colors": INK, "linestyles": "dotted", "linewidths": 1.8}
            self.ax_.contour(self.across, self.up, self.typical, levels=[self.novelty], **look)
        self.ax_.set_title("\n".join(title), fontsize="small")
        self._rows()
        self._legend(ax, framealpha=0.8)


def _plane(
    clf: FittedClassifier,
    table: Table,
    labels: Shaped[np.ndarray, " row"],
    features: tuple,
    points: int,
) -> tuple[dict[Name, np.ndarray], tuple]:
    """Return the values of all grid points, and the attributes shared by both displays."""
    pair = [probing.named(table, feature) for feature in features]
    if len(pair) != 2 or any(column.kind != "number" for column in pair):
        numbers = [column.name for column in table.columns if column.kind == "number"]
        raise InvalidData(
            "features must name two numeric columns; X has {numbers:listed 20}.",
            "Pass features={pair!r}."
            if len(numbers) > 1
            else "Use plot_features, which draws columns one by one.",
            numbers=numbers,
            pair=tuple(numbers[:2]),
        )
    across, up = (probing.span(column.values, points) for column in pair)
    names = tuple(column.name for column in pair)
    values = {names[0]: np.tile(across, points), names[1]: np.repeat(up, points)}
    rows = np.column_stack([column.values for column in pair])
    return values, (across, up, names, clf.classes_.tolist(), rows, labels)


def _heights(log_density: np.ndarray) -> np.ndarray:
    """Return the log densities above which 90, 50 and 10 % of the mass on the grid lies."""
    flat = np.sort(log_density.ravel())[::-1]
    mass = np.cumsum(np.exp(flat - flat[0]))
    places = np.searchsorted(mass / mass[-1], LEVELS)
    return np.unique(flat[np.minimum(places, len(flat) - 1)])


def _overlap(interval: np.ndarray, probability: np.ndarray) -> np.ndarray:
    """Return where the interval of the best class reaches below that of the second best."""
    order = np.argsort(probability, axis=1)
    at = np.arange(len(order))
    return interval[at, order[:, -1], 0] < interval[at, order[:, -2], 1]


def _shades(probability: np.ndarray) -> Float[np.ndarray, "up across 3"]:
    """Return the color of the best class, fading to white as its probability falls to chance."""
    from matplotlib.colors import to_rgba_array

    best, size = probability.max(axis=0), len(probability)
    strength = 0.06 + 0.5 * (best - 1 / size) / (1 - 1 / size)
    colors = to_rgba_array([color(k) for k in range(size)])[probability.argmax(axis=0), :3]
    return 1 - strength[..., None] * (1 - colors)
