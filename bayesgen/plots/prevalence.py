"""Plot of the class frequencies of a population, with intervals."""

import dataclasses
from typing import Any

import numpy as np

from bayesgen.plots.display import Display
from bayesgen.plots.style import FAINT, INK, Axes, color, height_of


@dataclasses.dataclass(eq=False)
class PrevalenceDisplay(Display):
    """Means and intervals of class frequencies, and the class probabilities of the fit.

    Args:
        estimate: what `estimate_prevalence` returns.
        prob: level of the intervals.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> estimate = bg.NaiveBayes().fit(X, y).estimate_prevalence(X[30:100], random_state=0)
        >>> display = bg.plots.PrevalenceDisplay(estimate, prob=0.5).plot()
    """

    estimate: Any = dataclasses.field(repr=False)
    prob: float = 0.9

    def _draw(self, ax: Axes) -> None:
        mean, trained = self.estimate.mean.to_numpy(), self.estimate.trained.to_numpy()
        interval, place = self.estimate.interval(self.prob).to_numpy(), np.arange(len(mean))
        names = [str(label) for label in self.estimate.classes.tolist()]
        self._panels(ax, size=(6.0, height_of(names, 0.42) * len(place) + 1.4))
        level = f"new rows, {100 * self.prob:g} % interval"
        self.ax_.hlines(place, *interval.T, color=color(0), linewidth=3, alpha=0.55)
        self.ax_.plot(mean, place, "o", color=color(0), label=level)
        self.ax_.plot(trained, place, "D", color=INK, markerfacecolor="none", label="at fit")
        self.ax_.set_yticks(place, names)
        self.ax_.set_ylim(len(place) - 0.5, -0.5)
        self.ax_.set_xlim(0, min(1.0, 1.1 * max(interval.max(), trained.max())))
        self.ax_.grid(axis="x", color=FAINT, alpha=0.3)
        self.ax_.set_xlabel("share of the population")
        self.ax_.legend(frameon=False, fontsize="small")
