"""What every fit does: leave the estimator as it was if it fails, and report its time."""

import dataclasses
import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from bayesgen.errors import InvalidArgument

M = TypeVar("M", bound=Callable)


def restored_on_failure(method: M) -> M:
    """Restore the attributes of an estimator if fit fails or is interrupted.

    An earlier fit stays usable, including its column names and number of columns. Errors about an
    invalid prior name the estimator that was constructed with it, not the likelihood that the
    estimator builds from its arguments.
    """

    @functools.wraps(method)
    def fit(self: Any, *args: object, **kwargs: object) -> Any:
        before = dict(vars(self))
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            if (
                isinstance(error, InvalidArgument)
                and error.fields.get("owner") in self._likelihood_names
            ):
                error.at(owner=type(self).__name__)
            raise

    return cast(M, fit)


def timed(method: M) -> M:
    """Report the wall-clock seconds of the whole call: reading, compiling, inference, scoring."""

    @functools.wraps(method)
    def fit(self: Any, *args: object, **kwargs: object) -> Any:
        start = time.perf_counter()
        fitted = method(self, *args, **kwargs)
        if fitted._report is not None and not fitted._deferred:
            seconds = time.perf_counter() - start
            fitted._report = dataclasses.replace(fitted._report, seconds=seconds)
        return fitted

    return cast(M, fit)
