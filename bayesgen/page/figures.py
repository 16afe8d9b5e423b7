"""Figures as SVG elements: deterministic output without external resources."""

import io
import re
from collections.abc import Callable
from typing import Any

from bayesgen.plots.style import Axes, as_they_are, pyplot

SMALL = 3.7, 3.3
"""Inches: as wide as a telephone's screen of 400 pixels."""
STYLE: dict[Any, Any] = {
    "svg.hashsalt": "bayesgen",
    "svg.fonttype": "none",
    "backend": "agg",
    "font.size": 9.0,
}


def svg(draw: Callable[[Axes], object], size: tuple[float, float] = SMALL) -> str:
    """Return a figure as one <svg> element.

    Args:
        draw: draws on the axes that it is given.
        size: of the figure, in inches.
    """
    import matplotlib as mpl

    plt, buffer = pyplot(), io.StringIO()
    with mpl.rc_context(STYLE):
        figure, ax = plt.subplots(figsize=size, layout="constrained")
        try:
            draw(ax)
            as_they_are(ax)
            figure.savefig(buffer, format="svg")
        finally:
            plt.close(figure)
    text = buffer.getvalue()
    # the date, the program that wrote it and the address of its license
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    return text[text.index("<svg") :]
