"""Displays as inline SVG: the same bytes for the same picture, nothing fetched from elsewhere."""

import contextlib
import io
from collections.abc import Callable, Generator
from typing import Any

from bayesgen.plots.style import Axes, pyplot

STYLE: dict[Any, Any] = {
    "svg.hashsalt": "bayesgen",
    "svg.fonttype": "none",
    "backend": "agg",
    "font.size": 9.0,
}


def svg(draw: Callable[[], Axes]) -> str:
    """Return what `draw` draws, a display with `figure_`, as one <svg> element."""
    import matplotlib as mpl

    plt, buffer = pyplot(), io.StringIO()
    with mpl.rc_context(STYLE), closed(plt):
        draw().figure_.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    return text[text.index("<svg") :]


@contextlib.contextmanager
def closed(plt: Axes) -> Generator[None]:
    """Close the figures that are opened inside, and no others."""
    before = set(plt.get_fignums())
    try:
        yield
    finally:
        for number in set(plt.get_fignums()) - before:
            plt.close(number)
