"""Plots of a comparison: ROC curves, confusion matrices and learning curves."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgen.plots.display import Display
from bayesgen.plots.style import FAINT, TURNED, Axes, color, in_legend, line, marker

SCORES = {
    "log_loss": "log loss (nats, lower is better)",
    "brier": "Brier score (lower is better)",
    "calibration_error": "calibration error (lower is better)",
    "accuracy": "accuracy (higher is better)",
    "auc": "area under the ROC curve (higher is better)",
}


@dataclasses.dataclass(eq=False)
class RocDisplay(Display):
    """ROC curves: sensitivity against false positive rate, one curve per classifier.

    Args:
        curves: name -> DataFrame of `calibrate.roc`.
        event: the class that is called.

    Examples:
        >>> import numpy as np
        >>> import bayesgen as bg
        >>> ill, stated = np.array([False, True, True]), np.array([0.2, 0.4, 0.9])
        >>> curves = {"test": bg.calibrate.roc(ill, stated)}
        >>> display = bg.plots.RocDisplay(curves, event="ill").plot()
    """

    curves: Mapping[str, Any] = dataclasses.field(repr=False)
    event: object

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(4.6, 4.4))
        self.ax_.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
        for k, (name, points) in enumerate(self.curves.items()):
            across, up = points["false_positive_rate"], points["true_positive_rate"]
            label = f"{name}, area {np.trapezoid(up, across):.3f}"
            look = {"color": color(k), "linestyle": line(k), "linewidth": 2}
            self.ax_.plot(across, up, label=in_legend(label), **look)
        self.ax_.set(
            xlabel=f"false alarms among rows that are not {self.event}",
            ylabel=f"sensitivity: {self.event} found",
            aspect="equal",
        )
        self.ax_.legend(frameon=False, loc="lower right")


@dataclasses.dataclass(eq=False)
class ConfusionDisplay(Display):
    """Confusion matrix: counts by true and decided class, shaded by the fraction of the true class.

    Args:
        table: DataFrame of `calibrate.confusion`, true classes down, decided ones across.

    Examples:
        >>> import numpy as np
        >>> import bayesgen as bg
        >>> p = np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8]])
        >>> table = bg.calibrate.confusion(["ill", "ill", "well"], p)
        >>> display = bg.plots.ConfusionDisplay(table).plot()
    """

    table: Any = dataclasses.field(repr=False)
    _framed = True

    def _draw(self, ax: Axes) -> None:
        names = [str(name) for name in self.table.index]
        size = max(3.4, 0.8 * len(names) + 1.4)
        self._panels(ax, size=(size + 0.6, size))
        count = self.table.to_numpy()
        share = count / np.maximum(count.sum(axis=1, keepdims=True), 1)
        self.ax_.imshow(share, cmap="Blues", vmin=0, vmax=1)
        for (i, j), rows in np.ndenumerate(count):
            ink = "white" if share[i, j] > 0.6 else "black"
            self.ax_.text(j, i, f"{rows:,}", ha="center", va="center", color=ink)
        turned = TURNED if max(map(len, names)) > 6 else {}
        self.ax_.set_xticks(range(len(names)), names, **turned)
        self.ax_.set_yticks(range(len(names)), names)
        self.ax_.set(xlabel="decided", ylabel="true")


@dataclasses.dataclass(eq=False)
class LearningCurveDisplay(Display):
    """Learning curves: a score against the number of training rows.

    Marks are means over folds, with one standard error.

    Args:
        curves: `Comparison.curves`, a DataFrame of scores and standard errors indexed by
            (classifier, rows).
        score: one of its columns.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> classifiers = {"naive": bg.NaiveBayes(), "LDA": bg.LDA()}
        >>> found = bg.compare(classifiers, X, y, cv=3, train_sizes=[12, 60], progress=False)
        >>> display = bg.plots.LearningCurveDisplay(found.curves).plot()
    """

    curves: Any = dataclasses.field(repr=False)
    score: str = "log_loss"

    def _draw(self, ax: Axes) -> None:
        self._panels(ax, size=(5.6, 4.0))
        names = self.curves.index.get_level_values(0).unique()
        for k, name in enumerate(names):
            curve = self.curves.loc[name]
            mean, error = curve[self.score], curve[f"{self.score}_se"]
            look = {"color": color(k), "linestyle": line(k), "marker": marker(k), "markersize": 5}
            self.ax_.errorbar(curve.index, mean, error, capsize=2, label=in_legend(name), **look)
        label = SCORES.get(self.score, self.score)
        self.ax_.set(xscale="log", xlabel="training rows", ylabel=label)
        ticks = sorted(set(self.curves.index.get_level_values(1)))
        self.ax_.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
        self.ax_.minorticks_off()
        self.ax_.legend(frameon=False)
