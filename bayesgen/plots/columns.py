"""Plots with a panel for each column: its predictive density, and rows drawn from the prior."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bayesgen.plots import probing
from bayesgen.plots.display import Display
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.plots.style import INK, TURNED, Axes, color, in_legend, line, pyplot
from bayesgen.schema import in_numbers
from bayesgen.table import Table, TableColumn, read_table

POINTS, BINS, PRIOR_BINS = 200, 25, 30
FIRST = 12
"""Columns that are drawn where none are chosen."""
SHOWN = (0.01, 0.99)
"""Quantiles of simulated values between which they are drawn: a wide prior has long tails."""


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
        table = in_numbers(read_table(X))
        shown = clf.fitted_.names[:FIRST] if features is None else features
        densities = [_density(clf, table, probing.named(table, name)) for name in shown]
        display = cls(densities, clf.classes_.tolist(), probing.labels(X, y)).plot(ax=ax)
        if ax is None and features is None:
            _count_columns(display, len(clf.fitted_.names))
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
            look = {
                "color": color(k),
                "linestyle": line(k),
                "linewidth": 2,
                "label": in_legend(name),
            }
            ax.plot(column.at, column.density[:, k], **look)
        ax.set_ylabel("density given class")

    def _levels(self, ax: Axes, column: ColumnDensity) -> None:
        places = _draw_bars(ax, column.ticks, self.classes, column.density.T)
        for place, name in zip(places, self.classes, strict=True):
            share = _level_shares(self._seen(column, name), len(column.ticks))
            ax.plot(place, share, "_", color="black", markersize=9)
        ax.set_ylabel("P(level given class), observed: black")

    def _seen(self, column: ColumnDensity, name: object) -> Float[np.ndarray, " _"]:
        """Return the observed values of one class."""
        return column.seen[(self.labels == name) & ~np.isnan(column.seen)]


def _density(clf: FittedClassifier, table: Table, column: TableColumn) -> ColumnDensity:
    seen, ticks, cells = column.values, (), column.values[~column.missing]
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


@dataclasses.dataclass(eq=False)
class PriorDisplay(Display):
    """Histograms of rows simulated from the prior, and of the observed rows, column by column.

    If simulated values are impossible, or far wider or narrower than the observed ones, the prior
    does not reflect prior knowledge: state its guesses, or their strength in rows.

    Args:
        prior: what `sample_prior` returns.
        features: columns by name or by position; None: the first twelve.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> display = bg.NaiveBayes().plot_prior(X, y, random_state=0)
        >>> [ax.get_xlabel() for ax in display.axes_]
        ['sex', 'age', 'passengerClass']
    """

    prior: Any = dataclasses.field(repr=False)
    features: list | tuple | None = dataclasses.field(default=None, repr=False)

    def _draw(self, ax: Axes) -> None:
        table = in_numbers(read_table(self.prior.observed[0]))
        drawn = in_numbers(read_table(self.prior.X))
        shown = drawn.names[:FIRST] if self.features is None else self.features
        seen = [probing.named(table, name) for name in shown]
        panels = self._panels(ax, len(seen))
        for axes, cells in zip(panels, seen, strict=True):
            draw = _prior_levels if cells.kind == "level" else _prior_numbers
            draw(axes, probing.named(drawn, cells.name), cells)
            axes.set(xlabel=str(cells.name), ylabel="share of the rows")
        if ax is None and self.features is None:
            _count_columns(self, len(drawn.names))
        self._legend(ax, frameon=False, fontsize="small")


def _prior_numbers(ax: Axes, simulated: TableColumn, seen: TableColumn) -> None:
    groups = {"prior": simulated.values[~simulated.missing], "observed": seen.values[~seen.missing]}
    tails, cells = np.quantile(groups["prior"], SHOWN), groups["observed"]
    edges = np.linspace(min(*tails, cells.min()), max(*tails, cells.max()), PRIOR_BINS + 1)
    for k, (label, values) in enumerate(groups.items()):
        look = {"color": color(k), "alpha": 0.5, "edgecolor": INK, "linewidth": 0.3, "label": label}
        ax.hist(values, edges, weights=np.full(len(values), 1 / len(values)), **look)


def _prior_levels(ax: Axes, simulated: TableColumn, seen: TableColumn) -> None:
    levels = list(dict.fromkeys([*seen.levels, *simulated.levels]))
    shares = []
    for column in (simulated, seen):
        position = np.array([levels.index(level) for level in column.levels], int)
        shares.append(_level_shares(position[column.values[~column.missing]], len(levels)))
    _draw_bars(ax, levels, ("prior", "observed"), np.stack(shares))


# -- what both share -------------------------------------------------------------------------------


def _count_columns(display: Display, n: int) -> None:
    """Say above the panels of a new figure how many of n columns it shows, if not all."""
    shown = len(display.axes_ or [])
    if shown < n:
        title = f"{shown} of {n:,} columns (features= chooses others)"
        display.figure_.suptitle(title, fontsize="medium")


def _level_shares(codes: np.ndarray, n_levels: int) -> Float[np.ndarray, " level"]:
    """Return the share of each level among codes; 0 where there are none."""
    return np.bincount(codes.astype(int), minlength=n_levels) / max(len(codes), 1)


def _draw_bars(
    ax: Axes, levels: Sequence, groups: Sequence, shares: Float[np.ndarray, "group level"]
) -> Float[np.ndarray, "group level"]:
    """Draw bars of the shares of levels, side by side for each group; return their centers."""
    width, place = 0.8 / len(groups), np.arange(len(levels))
    centers = place + width * (np.arange(len(groups)) - (len(groups) - 1) / 2)[:, None]
    for k, group in enumerate(groups):
        ax.bar(
            centers[k], shares[k], 0.9 * width, color=color(k), alpha=0.6, label=in_legend(group)
        )
    names = [str(level) for level in levels]
    long = max(map(len, names)) > 6 or len(names) > 5
    ax.set_xticks(place, names, **(TURNED if long else {}))
    return centers
