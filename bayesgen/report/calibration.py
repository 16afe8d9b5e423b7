"""Calibration: reliability curves and a test of overconfidence."""

from scipy.special import ndtr

from bayesgen import page
from bayesgen.calibrate import TOP_LABEL, ReliabilityCurve, overconfidence
from bayesgen.page import Grid
from bayesgen.plots import ReliabilityDisplay
from bayesgen.plots.style import Axes
from bayesgen.report.subject import Subject, Values

LEVEL = 1.96
"""Standard errors beyond which a difference is called a sign: 5 % of calibrated classifiers."""
SCORES = {
    "miscalibration": "part of the Brier score that better probabilities would not have; 0 is best",
    "discrimination": "how far classes are told apart, subtracted from it; large is best",
    "uncertainty": "Brier score of the class frequencies, added to it",
    "calibration_error": "mean distance to the diagonal; 0 is best",
}


def calibration(subject: Subject) -> Values:
    """Return reliability curves of rows left out, and how far these are from their promise.

    Of two classes the curve of the second comes first, of more that of the most probable one.
    """
    curves = list(subject.comparison.reliability(subject.name))
    if len(subject.classes) > 2:
        curves = [curves[-1], *curves[:-1]]
    z = overconfidence(subject.codes, subject.proba, range(len(subject.classes)))
    scores = subject.comparison.table.loc[subject.name]
    lines = [[n.replace("_", " "), f"{scores[n]:.3f}", words] for n, words in SCORES.items()]
    words = "mean number of classes in sets that hold the true one in 9 rows of 10; small is best"
    lines.append(["classes in a 90% set", f"{scores['set_size']:.3f}", words])
    words = "standard errors; beyond ±2, the probabilities are off (Spiegelhalter)"
    lines.append(["overconfidence", f"{z:+.1f}", words])
    return {
        "z": z,
        "calibrated": abs(z) <= LEVEL,
        "chance": 2 * float(ndtr(-abs(z))),
        "promised": subject.proba.max(axis=1).mean(),
        "right": subject.right.mean(),
        "figures": [_figure(curve) for curve in curves],
        "scores": Grid(["", "value", "meaning"], lines, right=(1,)),
    }


def _figure(curve: ReliabilityCurve) -> str:
    def draw(ax: Axes) -> None:
        ReliabilityDisplay((curve,)).plot(ax)
        title = "the most probable class" if curve.name == TOP_LABEL else f"{curve.name}"
        ax.set_title(title, fontsize="medium")

    return page.svg(draw)
