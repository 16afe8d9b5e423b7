"""Learning curves: a score against the number of training rows, for several classifiers."""

import dataclasses
from typing import Any

from bayesgen.plots.style import Axes, colour, line, marker, panels, tidy

SCORES = {
    "log_loss": "log loss (nats, lower is better)",
    "brier": "Brier score (lower is better)",
    "calibration_error": "calibration error (lower is better)",
    "accuracy": "accuracy (higher is better)",
    "auc": "area under the ROC curve (higher is better)",
}


@dataclasses.dataclass(eq=False)
class LearningCurveDisplay:
    """How a score falls with rows: generative models start low, discriminative ones end low.

    Args:
        curves: `Comparison.curves`, a DataFrame of scores and standard errors indexed by
            (classifier, rows).
        score: one of its columns.
    """

    curves: Any
    score: str = "log_loss"
    figure_: object = None
    ax_: object = None

    def plot(self, ax: Axes = None) -> "LearningCurveDisplay":
        """Draw means over folds with one standard error; returns self."""
        self.figure_, (self.ax_,) = panels(ax, 1, size=(5.6, 4.0))
        names = self.curves.index.get_level_values(0).unique()
        for k, name in enumerate(names):
            part = self.curves.loc[name]
            self.ax_.errorbar(
                part.index,
                part[self.score],
                part[f"{self.score}_se"],
                color=colour(k),
                linestyle=line(k),
                marker=marker(k),
                markersize=5,
                capsize=2,
                label=str(name),
            )
        self.ax_.set(
            xscale="log",
            xlabel="training rows",
            ylabel=SCORES.get(self.score, self.score),
        )
        ticks = sorted(set(self.curves.index.get_level_values(1)))
        self.ax_.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        self.ax_.minorticks_off()
        self.ax_.legend(frameon=False)
        tidy(self.ax_)
        return self
