"""Plot of the predictive density of each column in every class, over the observed values."""

import dataclasses

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bayesgen.plots import probing
from bayesgen.plots.columns import chosen, count_columns, draw_levels, level_shares, observed
from bayesgen.plots.display import Display
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.plots.style import Axes, color, line, pyplot
from bayesgen.table import Table, TableColumn, read_table

POINTS, BINS = 200, 25


@dataclasses.dataclass(frozen=True, eq=False)
class ColumnDensity:
    """Density of one column: evaluation points, p(x given y = k) there, and observed values.

    Attributes:
        name: of the column.
        at: numbers, or positions of levels, (point,).
        density: (point, class), per unit of the column, or probabilities of levels.
        seen: values (row,), NaN where missing.
        ticks: names of levels, or ().
    """

    name: object
    at: Float[np.ndarray, " point"] = dataclasses.field(repr=False)
    density: Float[np.ndarray, "point class"] = dataclasses.field(repr=False)
    seen: Float[np.ndarray, " row"] = dataclasses.field(repr=False)
    ticks: tuple = dataclasses.field(default=(), repr=False)


@dataclasses.dataclass(eq=False)
class FeatureDisplay(Display):
    """Predictive density of each column in every class, drawn over the observed values.

    Numbers: curves over histograms of area one. Levels: bars of P(level given class), with the
    observed fractions as marks. A disagreement between curve and histogram indicates a likelihood
    that does not fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.NaiveBayes().fit(X, y)
        >>> [column.name for column in bg.plots.FeatureDisplay.from_estimator(clf, X, y).columns]
        ['sex', 'age', 'passengerClass']
    """

    columns: list[ColumnDensity]
    classes: list
    labels: np.ndarray = dataclasses.field(repr=False)

    @classmethod
    def from_estimator(
        cls,
        clf: FittedClassifier,
        X: object,
        y: ArrayLike,
        *,
        features: list | tuple | None = None,
        ax: Axes = None,
    ) -> "FeatureDisplay":
        """Draw columns of a fitted classifier, a panel each.

        Args:
            clf: a fitted bayesgen classifier.
            X: rows to compare with.
            y: their labels.
            features: columns by name or by position; None: the first twelve.
            ax: axes to draw on, one for each column; None makes them.
        """
        pyplot()  # refuse before anything is computed
        table = read_table(X)
        densities = [_density(clf, table, column) for column in chosen(table, features)]
        display = cls(densities, clf.classes_.tolist(), np.asarray(y)).plot(ax=ax)
        if ax is None and features is None:
            count_columns(display, table)
        return display

    def _draw(self, ax: Axes) -> None:
        panels = self._panels(ax, len(self.columns))
        for axes, column in zip(panels, self.columns, strict=True):
            draw = self._levels if column.ticks else self._numbers
            draw(axes, column)
            axes.set_xlabel(str(column.name))
            axes.set_ylim(bottom=0)
        self._legend(ax, frameon=False, fontsize="small")

    def _numbers(self, ax: Axes, column: ColumnDensity) -> None:
        seen = column.seen[~np.isnan(column.seen)]
        bins = np.arange(seen.min(), seen.max() + 2) - 0.5 if _is_count(seen) else BINS
        edges = np.histogram_bin_edges(seen, bins)
        for k, name in enumerate(self.classes):
            if len(cells := self._seen(column, name)):
                ax.hist(cells, edges, density=True, color=color(k), alpha=0.25)
            look = {"color": color(k), "linestyle": line(k), "linewidth": 2, "label": str(name)}
            ax.plot(column.at, column.density[:, k], **look)
        ax.set_ylabel("density given class")

    def _levels(self, ax: Axes, column: ColumnDensity) -> None:
        places = draw_levels(ax, column.ticks, self.classes, column.density.T)
        for place, name in zip(places, self.classes, strict=True):
            share = level_shares(self._seen(column, name), len(column.ticks))
            ax.plot(place, share, "_", color="black", markersize=9)
        ax.set_ylabel("P(level given class), observed: black")

    def _seen(self, column: ColumnDensity, name: object) -> Float[np.ndarray, " _"]:
        """Return the observed values of one class."""
        return column.seen[(self.labels == name) & ~np.isnan(column.seen)]


def _density(clf: FittedClassifier, table: Table, column: TableColumn) -> ColumnDensity:
    seen, ticks, cells = column.values, (), observed(column)
    if column.kind == "level":
        ticks = column.levels
        codes = np.arange(len(ticks))
        at, seen = codes.astype(float), np.where(seen < 0, np.nan, seen)
    elif _is_count(cells):
        codes = at = np.arange(cells.min(), cells.max() + 1)
    else:
        codes = at = probing.span(seen, POINTS)
    density = np.exp(probing.log_class_density(clf, table, {column.name: codes}))
    if ticks:  # normals over indicators and tempered likelihoods do not sum to one over levels
        density = density / density.sum(axis=0)
    return ColumnDensity(column.name, at, density, seen, ticks)


def _is_count(seen: Float[np.ndarray, " _"]) -> bool:
    """Return whether values are whole numbers, few enough for a bar each."""
    return bool(len(seen) and (seen == np.floor(seen)).all() and np.ptp(seen) <= 4 * BINS)
