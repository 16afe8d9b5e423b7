"""Lines about how far a command is, where stderr is no terminal that could show a bar."""

import contextlib
import sys
import threading
import time
from collections.abc import Generator, Sequence

from bayesgen.progress_bar import WATCHED, Steps

SECONDS = 10.0
"""Seconds between two lines."""
DOING = {
    "compare": "comparing",
    "fit": "fitting",
    "merge": "merging",
    "predict": "answering",
    "report": "reporting",
}
"""What each command says that it does."""


@contextlib.contextmanager
def progress_lines(command: str) -> Generator[None]:
    """Print a line on stderr every ten seconds of the block, unless it is a terminal.

    command: its name.
    """
    if command not in DOING or sys.stderr.isatty():
        yield
        return
    steps, over, began = list[Steps](), threading.Event(), time.monotonic()

    def tell() -> None:
        while not over.wait(SECONDS):
            # a copy, which the work does not change meanwhile
            line = in_words(DOING[command], [*steps], time.monotonic() - began)
            print(line, file=sys.stderr, flush=True)

    token, teller = WATCHED.set(steps), threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        WATCHED.reset(token)
        over.set()
        teller.join()


def in_words(doing: str, steps: Sequence[Steps], seconds: float) -> str:
    """Return "fitting: 4 of 11 members, 20 s", of the first of nested counts."""
    if not steps:
        return f"{doing}, {seconds:.0f} s"
    first = steps[0]
    if not first.unit:
        return f"{doing}: {first.title}, {seconds:.0f} s"
    of = "" if first.total is None else f" of {first.total:,}"
    plural = "" if (first.total or first.done) == 1 else "s"
    return f"{doing}: {first.done:,}{of} {first.unit}{plural}, {seconds:.0f} s"
