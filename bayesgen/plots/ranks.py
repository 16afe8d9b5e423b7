"""Plot of simulation-based calibration: ECDFs of ranks minus the uniform law, with a band."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from bayesgen.calibrate.uniformity import bands
from bayesgen.plots.display import Display
from bayesgen.plots.style import FAINT, INK, Axes, color, in_legend, line

MOST_NAMED = 12
"""Curves that a legend names; of more, those that leave the band, the farthest first."""


@dataclasses.dataclass(eq=False)
class RankDisplay(Display):
    """ECDF of the ranks of each quantity minus the uniform law, and the band that holds all curves.

    Attributes:
        ranks: of each quantity, fractions from 0 to 1, shape (fit,).
        title: of the model and the inference.
        false_alarm: probability that any curve of a correct method leaves the band.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> found = bg.calibrate.sbc(bg.NaiveBayes(), X, y, fits=20, rows=20, progress=False)
        >>> list(found.plot().ranks)[:2]
        ['class.probs[setosa]', 'class.probs[versicolor]']
    """

    ranks: Mapping[str, Float[np.ndarray, " fit"]] = dataclasses.field(repr=False)
    title: str = ""
    false_alarm: float = 0.01

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(7.5, 4.2))
        n = len(next(iter(self.ranks.values())))
        z, low, high = bands(n, self.false_alarm / len(self.ranks))
        label = "band of all curves"
        self.ax_.fill_between(z, low - z, high - z, step="mid", color=FAINT, alpha=0.3, label=label)
        curves = {
            name: np.searchsorted(np.sort(values), z, side="right") / n - z
            for name, values in self.ranks.items()
        }
        outside = {
            name: float(np.maximum(curve - (high - z), (low - z) - curve).max())
            for name, curve in curves.items()
        }
        few = len(curves) <= MOST_NAMED
        named = [name for name in curves if few or outside[name] > 0]
        named = sorted(named, key=lambda name: -outside[name])[:MOST_NAMED]
        for name, curve in curves.items():
            if name not in named:
                self.ax_.plot(z, curve, color=FAINT, linewidth=0.8)
        for i, name in enumerate(named):
            look = {
                "color": color(i),
                "linestyle": line(i),
                "linewidth": 1.2,
                "label": in_legend(name),
            }
            self.ax_.plot(z, curves[name], **look)
        self.ax_.axhline(0, color=INK, linewidth=0.8)
        self.ax_.set_xlabel("rank of the truth among draws (fraction)")
        self.ax_.set_ylabel("ECDF - uniform")
        self.ax_.set_title(f"{self.title}, {n} fits", fontsize="medium")
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        self.ax_.legend(frameon=False, fontsize="x-small", **place)
