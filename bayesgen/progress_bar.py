"""Progress bar of samplers, stacks and comparisons; the library prints nothing else."""

import dataclasses
import importlib.util
import sys
from contextlib import AbstractContextManager
from contextvars import ContextVar
from typing import Any, Literal

from bayesgen.typing import Self

Progress = bool | Literal["auto"]
"""Whether a bar is shown; "auto": where stderr is a terminal, and in notebooks."""


@dataclasses.dataclass
class Steps:
    """Steps of work in place of a bar, for whoever watches it, as the command line does.

    title: what is done. unit: name of a step; "": steps are not counted. total: None: unknown.
    done: steps so far. watched: the counts of the work that goes on, the outermost first.
    """

    title: str
    unit: str
    total: int | None
    done: int
    watched: "list[Steps]"

    def __enter__(self) -> Self:
        self.watched.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self.watched.remove(self)

    def update(self, n: int = 1) -> None:
        """Count more steps."""
        self.done += n

    def set_description(self, title: str, *, refresh: bool = True) -> None:
        """Say what is done now."""
        self.title = title


WATCHED: ContextVar[list[Steps] | None] = ContextVar("watched", default=None)
"""Where the work of this context is counted if no bar shows it; None: nobody watches."""


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
    watched, notebook = WATCHED.get(), _in_notebook()
    if watched is not None and progress == "auto" and not notebook:
        title, unit = options.get("desc") or "", options.get("unit", "")
        return Steps(title, unit, options.get("total"), options.get("initial", 0), watched)
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
