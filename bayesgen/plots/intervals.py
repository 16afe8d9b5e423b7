"""Plot of sorted class probabilities with their intervals."""

import dataclasses
from collections.abc import Hashable

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike

from bayesgen.plots import probing
from bayesgen.plots.display import Display
from bayesgen.plots.fitted import FittedClassifier
from bayesgen.plots.style import FAINT, INK, Axes, color, marker, pyplot

MOST_ROWS = 80
"""Bars that can still be distinguished in one panel."""


@dataclasses.dataclass(eq=False)
class IntervalDisplay(Display):
    """P(class) of each row with its interval, sorted by probability.

    Attributes:
        probability: of the class, shape (row,), ascending.
        interval: lower and upper ends, (row, 2).
        positions: of the rows in X, (row,).
        truth: their labels, or None.
        name: the class.
        prob: level of the intervals.
        code: position of the class in `classes_`, which has its color and marker in all pictures.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.NaiveBayes(random_state=0).fit(X[:1000], y[:1000])
        >>> display = bg.plots.IntervalDisplay.from_estimator(clf, X[1000:1040], y[1000:1040])
        >>> display.probability.shape
        (40,)
    """

    probability: Float[np.ndarray, " row"] = dataclasses.field(repr=False)
    interval: Float[np.ndarray, "row 2"] = dataclasses.field(repr=False)
    positions: Shaped[np.ndarray, " row"] = dataclasses.field(repr=False)
    truth: np.ndarray | None = dataclasses.field(repr=False)
    name: Hashable
    prob: float
    code: int = 0

    @classmethod
    def from_estimator(
        cls,
        clf: FittedClassifier,
        X: object,
        y: ArrayLike | None = None,
        *,
        target: Hashable = None,
        prob: float = 0.9,
        ax: Axes = None,
    ) -> "IntervalDisplay":
        """Draw intervals of one class for rows; more than 80 are thinned evenly.

        Args:
            clf: a fitted bayesgen classifier with a posterior.
            X: rows.
            y: their labels, if known: they are marked below.
            target: the class; None: the last of `classes_`.
            prob: level of the intervals.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        classes = clf.classes_.tolist()
        name = classes[-1] if target is None else target
        k = classes.index(name)
        probability = clf.predict_proba(X)[:, k]
        order = np.argsort(probability, kind="stable")
        if len(order) > MOST_ROWS:
            order = order[np.linspace(0, len(order) - 1, MOST_ROWS).astype(int)]
        interval = clf.predict_interval(X, prob)[order, k]
        truth = None if y is None else probing.labels(X, y)[order]
        return cls(probability[order], interval, order, truth, name, prob, k).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(7.5, 3.8))
        place = np.arange(len(self.probability))
        self.ax_.vlines(place, *self.interval.T, color=FAINT, linewidth=2.5, alpha=0.8)
        self.ax_.axhline(0.5, color=FAINT, linewidth=0.8, linestyle=":")
        if self.truth is None:
            self.ax_.plot(place, self.probability, "o", color=INK, markersize=4)
        else:
            rows, look = self.truth == self.name, {"linestyle": "none", "markersize": 5}
            kind = {"marker": marker(self.code), "color": color(self.code)}
            self.ax_.plot(
                place[rows], self.probability[rows], label=f"is {self.name}", **kind, **look
            )
            kind = {"marker": "x", "color": INK, "label": "is not"}
            self.ax_.plot(place[~rows], self.probability[~rows], **kind, **look)
            self.ax_.legend(loc="upper left", frameon=False)
        self.ax_.set(
            ylim=(-0.02, 1.02),
            xlabel="rows, sorted by probability",
            ylabel=f"P({self.name}) with {self.prob:.0%} intervals",
            xticks=[],
        )
