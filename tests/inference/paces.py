"""Which cases of a long list the fast suite runs; the slow suite runs the others."""

from collections.abc import Collection, Iterable

import pytest


def fast_only(fast: Collection, cases: Iterable) -> list:
    """Return all cases, those that are not named in `fast` marked as slow."""
    return [case if case in fast else pytest.param(case, marks=pytest.mark.slow) for case in cases]
