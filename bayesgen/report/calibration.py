"""Calibration: reliability curves and a test of overconfidence."""

import numpy as np
from scipy.special import ndtr

from bayesgen import page
from bayesgen.calibrate import TOP_LABEL, ReliabilityCurve
from bayesgen.page import Grid
from bayesgen.plots import ReliabilityDisplay
from bayesgen.plots.style import Axes
from bayesgen.report.subject import Subject, Values
from bayesgen.typing import Joint, Labels

LEVEL = 1.96
"""Standard errors beyond which a difference is called a sign: 5 % of calibrated classifiers."""
SCORES = {
    "miscalibration": "part of the Brier score; 0 is best",
    "discrimination": "how far classes are told apart",
    "uncertainty": "Brier score of the class frequencies",
    "calibration_error": "mean distance to the diagonal",
}


def calibration(subject: Subject) -> Values:
    """Return reliability curves of rows left out, and how far these are from their promise.

    Of two classes the curve of the second comes first, of more that of the most probable one.
    """
    curves = list(subject.comparison.reliability(subject.name))
    if len(subject.classes) > 2:
        curves = [curves[-1], *curves[:-1]]
    z = overconfidence(subject.codes, subject.proba)
    scores = subject.comparison.table.loc[subject.name]
    lines = [[n.replace("_", " "), f"{scores[n]:.3f}", words] for n, words in SCORES.items()]
    words = "classes in sets that hold the true one in 9 rows of 10; small is best"
    lines.append(["90 % prediction sets", f"{scores['set_size']:.3f}", words])
    words = "standard errors; beyond ±2, the probabilities are off (Spiegelhalter)"
    lines.append(["overconfidence", f"{z:+.1f}", words])
    return {
        "z": z,
        "calibrated": abs(z) <= LEVEL,
        "chance": 2 * float(ndtr(-abs(z))),
        "promised": subject.proba.max(axis=1).mean(),
        "right": subject.right.mean(),
        "figures": [_figure(curve) for curve in curves],
        "scores": Grid(["", "value", ""], lines, right=(1,)),
    }


def overconfidence(codes: Labels, proba: Joint) -> float:
    """Return how many standard errors the Brier score is above the one the probabilities expect.

    Above 0 the probabilities are too extreme, below 0 too cautious. If they are right, the result
    is about standard normal.

    Source: Spiegelhalter (1986), Statistics in Medicine 5, 421-433; here for several classes.

    Args:
        codes: true classes, shape (row,).
        proba: class probabilities, shape (row, class).
    """
    # Brier score of a row if its class is k
    scores = (proba**2).sum(axis=1, keepdims=True) - 2 * proba + 1
    expected = (proba * scores).sum(axis=1)
    variance = np.maximum((proba * scores**2).sum(axis=1) - expected**2, 0.0).sum()
    excess = (scores[np.arange(len(codes)), codes] - expected).sum()
    if variance == 0:
        return 0.0 if abs(excess) < 1e-9 else float(np.sign(excess) * np.inf)
    return float(excess / np.sqrt(variance))


def _figure(curve: ReliabilityCurve) -> str:
    def draw(ax: Axes) -> None:
        ReliabilityDisplay((curve,)).plot(ax)
        title = "the most probable class" if curve.name == TOP_LABEL else f"{curve.name}"
        ax.set_title(title, fontsize="medium")

    return page.svg(draw)
