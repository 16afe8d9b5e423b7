"""Fits that leave everything or nothing behind."""

import contextlib
from collections.abc import Generator


@contextlib.contextmanager
def whole_or_undone(estimator: object) -> Generator[None]:
    """Put the attributes of an estimator back where the block stops early, by Ctrl-C or an error.

    What was fitted before goes on answering, with the names and the number of its own columns.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        now = vars(estimator)
        now.clear()
        now.update(before)
        raise
