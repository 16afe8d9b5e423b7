"""Fits that leave everything or nothing behind."""

import contextlib
import re
from collections.abc import Generator

from bayesgen.errors import InvalidPrior


@contextlib.contextmanager
def restore_on_failure(estimator: object) -> Generator[None]:
    """Put the attributes of an estimator back where the block stops early, by Ctrl-C or an error.

    What was fitted before goes on answering, with the names and the number of its own columns.
    A prior that makes none is told of the estimator that was made with it, not of the likelihood
    that the estimator makes of its own arguments.
    """
    before = dict(vars(estimator))
    try:
        yield
    except InvalidPrior as error:
        _restore(estimator, before)
        inner = getattr(estimator, "_likelihood_names", ())
        words = re.sub(rf"\b({'|'.join(inner)})\b", type(estimator).__name__, str(error))
        error.args = (words,) if inner else error.args
        raise
    except BaseException:
        _restore(estimator, before)
        raise


def _restore(estimator: object, before: dict[str, object]) -> None:
    now = vars(estimator)
    now.clear()
    now.update(before)
