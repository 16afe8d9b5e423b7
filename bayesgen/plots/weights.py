"""Plot of the member weights of a stack, with its temperature."""

import dataclasses
import textwrap

import numpy as np
from jaxtyping import Float

from bayesgen.plots.display import Display
from bayesgen.plots.fitted import Stack, Weighted
from bayesgen.plots.style import INK, Axes, color, height_of, pyplot

NEAR_ONE = 0.05
"""A temperature this near to 1 changes no probability that anyone would read."""


@dataclasses.dataclass(eq=False)
class WeightDisplay(Display):
    """Weights of a stack's members or of columns, largest first, with the temperature.

    Attributes:
        names: of the members, the heaviest first.
        weights: of the same, which sum to one, shape (member,).
        temperature: divisor of the log-odds.
        out: members that were left out.
        columns: whether the weights are those of columns (naive Bayes with temper="columns").
        pool_share: of the log-linear pool, whose weights are not shown.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]).fit(X, y)
        >>> bg.plots.WeightDisplay.from_estimator(stack).names
        ['lda', 'naivebayes']
    """

    names: list[str]
    weights: Float[np.ndarray, " member"] = dataclasses.field(repr=False)
    temperature: float
    out: list[str]
    columns: bool = False
    pool_share: float = 0.0

    @classmethod
    def from_estimator(cls, clf: Weighted, *, ax: Axes = None) -> "WeightDisplay":
        """Draw the weights of a fitted stack.

        Args:
            clf: a fitted `StackedClassifier`, or `NaiveBayes(temper="columns")`.
            ax: axes to draw on; None makes them.
        """
        pyplot()  # refuse before anything is computed
        names = sorted(clf.weights_, key=lambda name: -clf.weights_[name])
        weights = np.array([clf.weights_[name] for name in names])
        texts = [str(name) for name in names]
        if not isinstance(clf, Stack):
            return cls(texts, weights, clf.temperature_, [], columns=True).plot(ax=ax)
        left_out, share = list(clf.left_out_), clf.pool_share_
        return cls(texts, weights, clf.temperature_, left_out, pool_share=share).plot(ax=ax)

    @property
    def words(self) -> str:
        """The temperature, or the sum of the weights of columns, in words."""
        if self.columns:
            total, n = self.weights.sum(), len(self.weights)
            return f"{n} columns count as much as {total:.1f} independent ones"
        if abs(self.temperature - 1) < NEAR_ONE:
            return "temperature 1: left as sure as the members are"
        if self.temperature < 1:
            times = 1 / self.temperature
            return f"log-odds are multiplied by {times:.2f}: the weighted mean was underconfident"
        return f"log-odds are divided by {self.temperature:.2f}: columns repeat each other"

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(7.0, height_of(self.names, 0.36) * len(self.names) + 1.5))
        place = np.arange(len(self.names))
        self.ax_.barh(place, self.weights, height=0.62, color=color(0))
        beside = {"xytext": (5, 0), "textcoords": "offset points", "va": "center"}
        for i, weight in enumerate(self.weights):
            text = "< 0.01" if 0 < weight < 0.005 else f"{weight:.2f}"
            self.ax_.annotate(text, (weight, i), color=INK, fontsize="small", **beside)
        self.ax_.set_yticks(place, self.names)
        self.ax_.invert_yaxis()
        highest = 1.15 * self.weights.max(initial=0.0)
        if not self.columns:
            highest = min(1.0, highest) if len(place) > 1 else 1.1
        self.ax_.set_xlim(1.15 * self.weights.min(initial=0.0), max(highest, 0.1))
        label = "weight of the column" if self.columns else "stacking weight"
        label += ", by leave-one-out log score"
        if self.pool_share:
            label += f"\nin the linear pool, {1 - self.pool_share:.0%} of the answer"
        if self.out:
            label += "\n" + textwrap.fill(f"left out: {'; '.join(self.out)}", 70)
        self.ax_.set_xlabel(label)
        self.ax_.set_title(textwrap.fill(self.words, 48), fontsize="medium", loc="left")
