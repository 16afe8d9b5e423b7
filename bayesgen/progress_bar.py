"""Progress bar of samplers, stacks and comparisons; the library prints nothing else."""

import importlib.util
import sys
from contextlib import AbstractContextManager
from typing import Any, Literal

Progress = bool | Literal["auto"]
"""Whether a bar is shown; "auto": where stderr is a terminal, and in notebooks."""


def status_line(text: str, progress: Progress) -> AbstractContextManager:
    """Return a line without a count, which is cleared at the end."""
    return _bar(progress, desc=text, bar_format="{desc}")


def progress_bar(
    total: int | None,
    progress: Progress,
    *,
    unit: str,
    title: str = "",
    already: int = 0,
    delay: float = 0.0,
) -> AbstractContextManager:
    """Return a tqdm bar, which is cleared at the end: on stderr, or a widget of a notebook.

    Args:
        total: steps of the whole; None: unknown.
        progress: True, False or "auto".
        unit: name of a step.
        title: text before the bar.
        already: steps completed before.
        delay: seconds that work must last for "auto" to show a bar.
    """
    return _bar(
        progress,
        total=total,
        initial=already,
        desc=title or None,
        unit=unit,
        delay=delay if progress == "auto" else 0,
        # drawn at every step: steps are few, and of unequal length
        mininterval=0,
        miniters=0,
    )


def _bar(progress: Progress, **options: Any) -> AbstractContextManager:
    """Return a bar of tqdm: its widget where a notebook has widgets, else one on stderr."""
    notebook = _in_notebook()
    if notebook and importlib.util.find_spec("ipywidgets"):  # without them tqdm.auto warns
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm

    if progress != "auto":
        options["disable"] = not progress
    elif not notebook:  # where tqdm's own setting holds: shown, unless TQDM_DISABLE=1
        options["disable"] = None  # only where stderr is a terminal
    return tqdm(**options, leave=False, file=sys.stderr)


def _in_notebook() -> bool:
    """Return whether a Jupyter kernel runs this process."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and "IPKernelApp" in shell.config
