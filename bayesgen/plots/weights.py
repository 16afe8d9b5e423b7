"""Plot of the member weights of a stack, with its temperature."""

import dataclasses
import textwrap

import numpy as np
from jaxtyping import Float

from bayesgen.plots.style import INK, Axes, Fitted, color, panels, pyplot, tidy

NEAR_ONE = 0.05
"""A temperature this near to 1 changes no probability that anyone would read."""


@dataclasses.dataclass(eq=False)
class WeightDisplay:
    """Member weights of a stack, largest first, with its temperature.

    Attributes:
        names: of the members, the heaviest first.
        weights: of the same, which sum to one, shape (member,).
        temperature: divisor of the log-odds.
        out: members that were left out.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]).fit(X, y)
        >>> bg.plots.WeightDisplay.from_estimator(stack).names
        ['LDA 2', 'NaiveBayes 1']
    """

    names: list[str]
    weights: Float[np.ndarray, " member"]
    temperature: float
    out: list[str]
    figure_: object = None
    ax_: Axes = None

    @classmethod
    def from_estimator(cls, clf: Fitted, *, ax: Axes = None) -> "WeightDisplay":
        """Draw the weights of a fitted stack.

        Args:
            clf: a fitted `StackedClassifier`.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        names = sorted(clf.weights_, key=lambda name: -clf.weights_[name])
        weights = np.array([clf.weights_[name] for name in names])
        return cls(names, weights, clf.temperature_, list(clf.left_out_)).plot(ax=ax)

    @property
    def words(self) -> str:
        """Return the temperature in words."""
        if abs(self.temperature - 1) < NEAR_ONE:
            return "temperature 1: left as sure as the members are"
        if self.temperature < 1:
            times = 1 / self.temperature
            return f"log-odds are multiplied by {times:.2f}: the weighted mean was underconfident"
        return f"log-odds are divided by {self.temperature:.2f}: columns repeat each other"

    def plot(self, ax: Axes = None) -> "WeightDisplay":
        """Draw; returns self."""
        self.figure_, (self.ax_,) = panels(ax, 1, size=(7.0, 0.36 * len(self.names) + 1.5))
        place = np.arange(len(self.names))
        self.ax_.barh(place, self.weights, height=0.62, color=color(0))
        for i, weight in enumerate(self.weights):
            text = f"{weight:.2f}" if weight >= 0.005 else "< 0.01"
            beside = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
            self.ax_.annotate(text, (weight, i), color=INK, fontsize="small", **beside)
        self.ax_.set_yticks(place, self.names)
        self.ax_.invert_yaxis()
        self.ax_.set_xlim(0, min(1.0, 1.15 * self.weights.max()) if len(place) > 1 else 1.1)
        label = "stacking weight, by leave-one-out log score"
        if self.out:
            label += "\n" + textwrap.fill(f"left out: {'; '.join(self.out)}", 70)
        self.ax_.set_xlabel(label)
        self.ax_.set_title(textwrap.fill(self.words, 48), fontsize="medium", loc="left")
        tidy(self.ax_)
        return self
