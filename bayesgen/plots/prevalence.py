"""Plot of the class frequencies of a population, with intervals."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesgen.plots.display import Display
from bayesgen.plots.style import FAINT, INK, Axes, color, pyplot


@dataclasses.dataclass(eq=False)
class PrevalenceDisplay(Display):
    """Means and intervals of class frequencies, and the class probabilities of the fit.

    Attributes:
        names: of the classes.
        mean, trained: of the population and at fit, shape (class,).
        interval: lower and upper ends, (class, 2).
        prob: level of the intervals.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> found = bg.NaiveBayes().fit(X, y).estimate_prevalence(X[30:100], random_state=0)
        >>> found.plot().names
        ['setosa', 'versicolor', 'virginica']
    """

    names: list[str]
    mean: Float[np.ndarray, " class"] = dataclasses.field(repr=False)
    interval: Float[np.ndarray, "class 2"] = dataclasses.field(repr=False)
    trained: Float[np.ndarray, " class"] = dataclasses.field(repr=False)
    prob: float

    @classmethod
    def from_prevalence(
        cls, found: Any, *, prob: float = 0.9, ax: Axes = None
    ) -> "PrevalenceDisplay":
        """Draw the result of `estimate_prevalence`.

        Args:
            found: the result.
            prob: level of the intervals.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        names, ends = [str(label) for label in found.classes.tolist()], found.interval(prob)
        mean, trained = found.mean.to_numpy(), found.trained.to_numpy()
        return cls(names, mean, ends.to_numpy(), trained, prob).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(6.0, 0.42 * len(self.names) + 1.4))
        place = np.arange(len(self.names))
        level = f"new rows, {100 * self.prob:g} % interval"
        self.ax_.hlines(place, *self.interval.T, color=color(0), linewidth=3, alpha=0.55)
        self.ax_.plot(self.mean, place, "o", color=color(0), label=level)
        self.ax_.plot(self.trained, place, "D", color=INK, markerfacecolor="none", label="at fit")
        self.ax_.set_yticks(place, self.names)
        self.ax_.set_ylim(len(place) - 0.5, -0.5)
        self.ax_.set_xlim(0, min(1.0, 1.1 * max(self.interval.max(), self.trained.max())))
        self.ax_.grid(axis="x", color=FAINT, alpha=0.3)
        self.ax_.set_xlabel("share of the population")
        self.ax_.legend(frameon=False, fontsize="small")
