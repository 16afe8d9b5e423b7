"""Class-conditional densities over two columns, as contours around the rows."""

import dataclasses

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from bayesgen.plots import probing
from bayesgen.plots.style import Axes, Fitted, colour, line, marker, panels, pyplot, tidy

POINTS = 120
LEVELS = (0.9, 0.5, 0.1)
"""Contours hold this share of a class."""


@dataclasses.dataclass(eq=False)
class DensityDisplay:
    """Where each class lives: contours of p(two columns given class), all other columns summed out.

    Attributes:
        log_density: log p(x given y = k, data) on the grid, shape (class, up, across).
        across, up: points of the grid. names: the two columns. classes: labels.
        rows: the rows drawn, (row, 2), and their labels.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.QDA().fit(X, y)
        >>> names = ("petal_length", "petal_width")
        >>> bg.plots.DensityDisplay.from_estimator(clf, X, y, features=names).log_density.shape
        (3, 120, 120)
    """

    log_density: Float[np.ndarray, "class up across"]
    across: Float[np.ndarray, " across"]
    up: Float[np.ndarray, " up"]
    names: tuple
    classes: list
    rows: Float[np.ndarray, "row 2"]
    labels: np.ndarray
    figure_: object = None
    ax_: object = None

    @classmethod
    def from_estimator(
        cls,
        clf: Fitted,
        X: object,
        y: ArrayLike,
        *,
        features: tuple = (0, 1),
        points: int = POINTS,
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
        table = probing.read(X)
        pair, across, up, values = probing.grid(table, features, points)
        density = probing.log_class_density(clf, table, values).T.reshape(-1, points, points)
        rows = np.column_stack([column.values for column in pair])
        names = tuple(column.name for column in pair)
        shown = cls(density, across, up, names, clf.classes_.tolist(), rows, np.asarray(y))
        return shown.plot(ax=ax)

    def plot(self, ax: Axes = None) -> "DensityDisplay":
        """Draw contours that hold 10, 50 and 90 % of each class; returns self."""
        self.figure_, (self.ax_,) = panels(ax, 1, size=(5.6, 4.6))
        for k, name in enumerate(self.classes):
            scatter(self.ax_, self.rows[self.labels == name], k, str(name))
            heights = _heights(self.log_density[k])
            self.ax_.contour(
                self.across,
                self.up,
                self.log_density[k],
                levels=heights,
                colors=colour(k),
                linestyles=[line(k)],
                linewidths=[0.9, 1.5, 2.1][-len(heights) :],
            )
        self.ax_.set(
            xlabel=str(self.names[0]),
            ylabel=str(self.names[1]),
            title="contours hold 10, 50 and 90 % of a class",
        )
        self.ax_.title.set_fontsize("medium")
        self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self


def scatter(ax: Axes, rows: np.ndarray, k: int, label: str) -> None:
    """Draw the rows of one class."""
    ax.plot(
        *rows.T,
        marker=marker(k),
        color=colour(k),
        linestyle="none",
        markersize=4.5,
        alpha=0.85,
        markeredgewidth=0.4,
        markeredgecolor="white",
        label=label,
    )


def _heights(log_density: np.ndarray) -> np.ndarray:
    """Return the log densities above which 90, 50 and 10 % of the mass on the grid lies."""
    flat = np.sort(log_density.ravel())[::-1]
    mass = np.cumsum(np.exp(flat - flat[0]))
    places = np.searchsorted(mass / mass[-1], LEVELS)
    return np.unique(flat[np.minimum(places, len(flat) - 1)])
