"""Calibration: reliability curves and a test of overconfidence."""

import numpy as np
from scipy.special import ndtr

from bayesgen import page
from bayesgen.calibrate import TOP_LABEL, ReliabilityCurve
from bayesgen.page import Block, Details, Figures, Grid, Section, Text
from bayesgen.plots import ReliabilityDisplay
from bayesgen.plots.style import Axes
from bayesgen.report.subject import Subject
from bayesgen.report.words import share
from bayesgen.typing import Joint, Labels

LEVEL = 1.96
"""Standard errors beyond which a difference is called a sign: 5 % of calibrated classifiers."""


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


def in_words(subject: Subject) -> Text:
    """Return whether the probabilities of rows left out are calibrated, in a sentence."""
    z, promised = overconfidence(subject.codes, subject.proba), subject.proba.max(axis=1).mean()
    words = f"it expects to be right in {share(promised)} of the rows and is in "
    words += f"{share(subject.right.mean())}"
    if abs(z) <= LEVEL:
        return Text(f"Calibrated as far as these rows can tell: {words}.", "good")
    kind = "Overconfident" if z > 0 else "Underconfident"
    chance = 2 * float(ndtr(-abs(z)))
    tail = "less than 0.001" if chance < 0.001 else f"{chance:.3f}"
    return Text(
        f"{kind}: {words}; calibrated probabilities would show such a Brier score with a "
        f"probability of {tail}.",
        "warning",
    )


def section(subject: Subject) -> Section:
    """Return reliability curves of rows left out, and the parts of the Brier score."""
    curves = subject.comparison.reliability(subject.name)
    # of two classes the second, of more the most probable one
    first = curves[0] if len(subject.classes) == 2 else curves[-1]
    others = [curve for curve in curves if curve is not first]
    blocks: list[Block] = [
        Text(
            "On the diagonal, a probability of .7 comes true 7 times in 10. Where the curve leaves "
            "the gray band, chance is an unlikely reason (90%, point by point). The bars count "
            "rows, all of them left out of the fit that predicts them."
        ),
        Figures([_figure(first)]),
        _parts(subject),
    ]
    if others:
        words = f"The other {len(others)} curves" if len(others) > 1 else "The most probable class"
        blocks.append(Details(words, [Figures([_figure(curve) for curve in others])]))
    return Section("Calibration", blocks)


def _figure(curve: ReliabilityCurve) -> str:
    def draw(ax: Axes) -> None:
        ReliabilityDisplay((curve,)).plot(ax)
        title = "the most probable class" if curve.name == TOP_LABEL else f"{curve.name}"
        ax.set_title(title, fontsize="medium")

    return page.svg(draw)


def _parts(subject: Subject) -> Grid:
    scores = subject.comparison.table.loc[subject.name]
    words = {
        "miscalibration": "part of the Brier score; 0 is best",
        "discrimination": "how far classes are told apart",
        "uncertainty": "Brier score of the class frequencies",
        "calibration_error": "mean distance to the diagonal",
    }
    lines = [[n.replace("_", " "), f"{scores[n]:.3f}", meaning] for n, meaning in words.items()]
    meaning = "standard errors; beyond ±2, the probabilities are off (Spiegelhalter)"
    z = overconfidence(subject.codes, subject.proba)
    return Grid(["", "value", ""], [*lines, ["overconfidence", f"{z:+.1f}", meaning]], right=(1,))
