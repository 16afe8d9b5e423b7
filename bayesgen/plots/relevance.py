"""Plot of how much each column says about the class."""

import dataclasses

import numpy as np

from bayesgen.plots.display import Display
from bayesgen.plots.style import INK, Axes, color, height_of
from bayesgen.typing import DataFrame


@dataclasses.dataclass(eq=False)
class RelevanceDisplay(Display):
    """Mean |weight of evidence| of columns, the largest first, and P(column depends on the class).

    Attributes:
        relevance: what `Classifier.relevance` returned.
        most: columns that are drawn.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> relevance = bg.NaiveBayes().fit(X, y).relevance()
        >>> bg.plots.RelevanceDisplay(relevance, most=2).plot().ax_.get_title(loc="left")
        '2 of 3 columns'
    """

    relevance: DataFrame = dataclasses.field(repr=False)
    most: int = 25

    def _draw(self, ax: Axes) -> None:
        few = self.relevance[: self.most]
        weights, place = few["weight_of_evidence"].to_numpy(), np.arange(len(few))
        # the number beside a bar says where it is infinite
        longest = weights[np.isfinite(weights)].max(initial=0.0) or 1.0
        texts, label = [f"{weight:.2f}" for weight in weights], "mean |weight of evidence| (nats)"
        if "probability" in few:
            shown = zip(texts, few["probability"], strict=True)
            texts = [text if np.isnan(p) else f"{text}, P = {p:.2f}" for text, p in shown]
            label += "\nP: probability that the column\ndepends on the class"
        self._panels(ax, size=(7.0, height_of(few.index, 0.3) * len(few) + 1.5))
        bars = self.ax_.barh(place, np.minimum(weights, 1.1 * longest), 0.62, color=color(0))
        self.ax_.bar_label(bars, texts, padding=5, color=INK, fontsize="small")
        self.ax_.set_yticks(place, [str(name) for name in few.index])
        self.ax_.invert_yaxis()
        # room for the numbers
        self.ax_.set_xlim(0, 1.4 * longest)
        # it is wider than the bars, and has room below the names
        self.ax_.set_xlabel(label, loc="right")
        if len(few) < len(self.relevance):
            title = f"{len(few)} of {self._lines()}"
            self.ax_.set_title(title, fontsize="medium", loc="left")

    def _lines(self) -> str:
        """Return the number of columns, and of those whose missing cells are a line as well."""
        names = set(self.relevance.index)
        n, patterns = len(names), sum(f"{name} missing" in names for name in names)
        if not patterns:
            return f"{n:,} columns"
        are = "is" if patterns == 1 else "are"
        return f"{n:,}: {n - patterns:,} columns,\nand whether {patterns:,} {are} missing"
