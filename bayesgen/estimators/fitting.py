"""What every fit does: report its time, leave the estimator as it was if it fails, find y."""

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

from bayesgen.errors import InvalidArgument

M = TypeVar("M", bound=Callable)


def fitting(method: M) -> M:
    """Restore the attributes of an estimator if a fit fails or is interrupted, else time it.

    An earlier fit stays usable, including its column names and number of columns. Errors about an
    invalid prior name the estimator that was constructed with it, not the likelihood that the
    estimator builds from its arguments. The seconds are those of the whole call on the wall clock:
    reading, compiling, inference, scoring.
    """

    @functools.wraps(method)
    def fit(self: Any, *args: object, **kwargs: object) -> Any:
        before, start = dict(vars(self)), time.perf_counter()
        try:
            fitted = method(self, *args, **kwargs)
        except BaseException as error:
            vars(self).clear()
            vars(self).update(before)
            if (
                isinstance(error, InvalidArgument)
                and error.fields.get("owner") in self._likelihood_names
            ):
                error.at(owner=type(self).__name__)
            raise
        fitted.fitted_ = fitted.fitted_.after(time.perf_counter() - start)
        return fitted

    return cast(M, fit)


def labels_in_column(fit: M) -> M:
    """Let y be the name of a column of X, which is then a table with names or a source."""

    @functools.wraps(fit)
    def either(self: Any, X: object, y: object, sample_weight: object = None) -> Any:
        if isinstance(y, str):
            return self._fit_by_column(fit, X, y, sample_weight)
        return fit(self, X, y, sample_weight)

    return cast(M, either)
