"""Progress bar of samplers, stacks and comparisons; the library prints nothing else."""

import sys
from contextlib import AbstractContextManager
from typing import Literal

Progress = bool | Literal["auto"]
"""Whether a bar is shown; "auto": where stderr is a terminal."""


def status_line(text: str, progress: Progress) -> AbstractContextManager:
    """Return a line on stderr without a count, which is cleared at the end."""
    from tqdm import tqdm

    hidden = None if progress == "auto" else not progress
    return tqdm(desc=text, bar_format="{desc}", disable=hidden, leave=False, file=sys.stderr)


def progress_bar(
    total: int | None,
    progress: Progress,
    *,
    unit: str,
    title: str = "",
    already: int = 0,
    delay: float = 0.0,
) -> AbstractContextManager:
    """Return a tqdm bar on stderr, which is cleared at the end.

    Args:
        total: steps of the whole; None: unknown.
        progress: True, False or "auto".
        unit: name of a step.
        title: text before the bar.
        already: steps completed before.
        delay: seconds that work must last for "auto" to show a bar.
    """
    from tqdm import tqdm

    return tqdm(
        total=total,
        initial=already,
        desc=title or None,
        unit=unit,
        # None: only where stderr is a terminal
        disable=None if progress == "auto" else not progress,
        delay=delay if progress == "auto" else 0,
        # drawn at every step: steps are few, and of unequal length
        mininterval=0,
        miniters=0,
        leave=False,
        file=sys.stderr,
    )
