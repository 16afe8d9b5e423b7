"""Ctrl-C that ends a command at any moment, even where a library would swallow it."""

import _thread
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any

AGAIN_SECONDS = 0.25
"""After which a Ctrl-C that has not ended the command is repeated."""


@contextmanager
def interruptible() -> Generator[threading.Event]:
    """Repeat Ctrl-C until it has ended the command.

    A KeyboardInterrupt is lost where Python can only print it (in callbacks from C++, from the
    garbage collector or from weak references, of which JAX has many) and where a library catches
    every exception. It is not raised while a module is being imported, because extension modules
    of JAX abort the process if their enumerations cannot be made, and not again while it unwinds.

    Yields:
        An event, to be set once a KeyboardInterrupt has been caught; then none follows.
    """
    ended = threading.Event()
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or handler is not signal.default_int_handler:
        yield ended
        return

    def repeat() -> None:
        while not ended.wait(AGAIN_SECONDS):
            _thread.interrupt_main()

    def first(signum: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, interrupt)
        threading.Thread(target=repeat, daemon=True).start()
        interrupt(signum, frame)

    def interrupt(_: int, frame: FrameType | None) -> None:
        unwinding = isinstance(sys.exception(), KeyboardInterrupt)
        if not (ended.is_set() or unwinding or _imports(frame)):
            raise KeyboardInterrupt

    def silent(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            hook(unraisable)

    signal.signal(signal.SIGINT, first)
    sys.unraisablehook = silent
    try:
        yield ended
    finally:
        ended.set()
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = hook


def _imports(frame: FrameType | None) -> bool:
    """Return whether a module is being imported in this frame or one of its callers."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False
