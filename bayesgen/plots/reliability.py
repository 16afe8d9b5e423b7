"""Reliability plot: observed frequency of a class against its stated probability."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike

from bayesgen import arguments
from bayesgen.calibrate import TOP_LABEL, ReliabilityCurve, reliability
from bayesgen.plots.display import Display
from bayesgen.plots.fitted import Predicting
from bayesgen.plots.style import FAINT, INK, Axes, Option, color, pyplot
from bayesgen.table import read_target, require_same_order

COUNTS_SHARE = 0.18
"""Height of the histogram of rows at the foot of a panel, as a share of it."""


@dataclasses.dataclass(eq=False)
class ReliabilityDisplay(Display):
    """CORP reliability curves with consistency bands: of each class, and of the predicted class.

    The curve is the isotonic regression of the event on its stated probability, ties pooled (no
    bins). On the diagonal an event of stated probability .7 occurs 7 times in 10. The band holds
    the curve with probability `prob`, pointwise, if every stated probability is correct. The
    histogram below shows the number of rows by stated probability, so that curves based on few rows
    are recognizable.

    Source: Dimitriadis, Gneiting and Jordan (2021), PNAS 118(8), e2016191118.

    Args:
        curves: what `bayesgen.calibrate.reliability` returns.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> clf = bg.NaiveBayes().fit(X[::2], y[::2])
        >>> display = bg.plots.ReliabilityDisplay.from_estimator(clf, X[1::2], y[1::2])
        >>> len(display.axes_)
        2
    """

    curves: tuple[ReliabilityCurve, ...]

    @classmethod
    def from_estimator(
        cls, clf: Predicting, X: object, y: ArrayLike, *, ax: Axes = None, **options: Option
    ) -> "ReliabilityDisplay":
        """Draw the reliability of a fitted classifier on held-out rows.

        Args:
            clf: any fitted classifier with predict_proba and classes_.
            X: rows.
            y: their labels.
            ax: axes to draw on, one for each panel; None makes them.
            options: `prob`, `resamples` and `random_state` of the bands.
        """
        pyplot()  # refuse before anything is computed
        require_same_order(X, y=y)
        return cls.from_predictions(y, clf.predict_proba(X), clf.classes_, ax=ax, **options)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        probability: ArrayLike,
        classes: ArrayLike,
        *,
        ax: Axes = None,
        prob: float = 0.9,
        resamples: int = 500,
        random_state: int = 0,
    ) -> "ReliabilityDisplay":
        """Draw the reliability of stated probabilities.

        Args:
            y: labels, shape (row,); rows without one are left out.
            probability: shape (row, class).
            classes: labels in the order of its columns, sorted.
            ax: axes to draw on, one for each panel; None makes them.
            prob: level of the bands.
            resamples: number of simulated sets of events behind the bands.
            random_state: their seed.
        """
        pyplot()  # refuse before anything is computed
        labels = np.asarray(classes)
        target = read_target(y, labels, silent=True)
        rng = np.random.default_rng(arguments.seed(random_state))
        stated = np.asarray(probability, float)[target.there]
        curves = reliability(target.labels, stated, labels, rng=rng, prob=prob, resamples=resamples)
        return cls(curves).plot(ax=ax)

    def _draw(self, ax: Axes) -> None:
        panels = self._panels(ax, len(self.curves))
        for k, (axes, curve) in enumerate(zip(panels, self.curves, strict=True)):
            _panel(axes, curve, color(k))


def _panel(ax: Axes, curve: ReliabilityCurve, shade: str) -> None:
    blocks, counts = curve.blocks, curve.histogram
    ax.plot([0, 1], [0, 1], color=FAINT, linewidth=1)
    label = f"{curve.prob:.0%} band if right"
    look = {"color": FAINT, "alpha": 0.3, "linewidth": 0, "label": label}
    ax.fill_between("probability", "lower", "upper", data=curve.band, **look)
    ends = np.column_stack([blocks["lowest"], blocks["highest"]]).ravel()
    ax.plot(ends, np.repeat(blocks["frequency"], 2), color=shade, linewidth=2, label="came true")
    single = blocks[blocks["lowest"] == blocks["highest"]]
    ax.plot(single["lowest"], single["frequency"], "o", color=shade, markersize=3)
    most = max(counts["rows"].max(), 1)
    look = {"color": INK, "alpha": 0.35, "label": f"rows, highest bar {most:,}"}
    height, width = counts["rows"] / most * COUNTS_SHARE, counts["upto"] - counts["above"]
    ax.bar(counts["above"], height, width, align="edge", **look)
    name = "the predicted class" if curve.name == TOP_LABEL else curve.name
    ax.set(xlim=(0, 1), ylim=(0, 1), aspect="equal")
    ax.set(xlabel=f"stated probability of {name}", ylabel="how often it came true")
    miscalibration = f"miscalibration {curve.decomposition.miscalibration:.3f}"
    ax.set_title(f"{name}: {curve.rows:,} rows, {miscalibration}", fontsize="medium")
    ax.legend(loc="upper left", frameon=False, fontsize="x-small")
