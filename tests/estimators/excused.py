"""Checks of scikit-learn's suite that an estimator cannot pass, each with its reason."""

from collections.abc import Callable, Mapping

import pytest
from sklearn.base import BaseEstimator


def name_of(check: Callable) -> str:
    """Return the name of a check, whatever arguments are bound to it."""
    return name_of(check.func) if hasattr(check, "func") else check.__name__


def conforms(estimator: BaseEstimator, check: Callable, excused: Mapping[str, str]) -> None:
    """Run a check, or see that one that is excused fails: an excuse that is none is found."""
    if name_of(check) not in excused:
        check(estimator)
        return
    with pytest.raises((ValueError, AssertionError)):
        check(estimator)
