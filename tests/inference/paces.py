"""Which cases of a long list the fast suite runs; slow and nightly suites run the others."""

from collections.abc import Collection, Iterable

import pytest


def fast_only(fast: Collection, cases: Iterable, slow: Collection | None = None) -> list:
    """Return all cases, those that are not named in `fast` marked as slow.

    slow: those that are not named here either are marked as nightly; None: none.
    """
    return [
        case if case in fast else pytest.param(case, marks=_mark(slow is None or case in slow))
        for case in cases
    ]


def _mark(slow: bool) -> pytest.MarkDecorator:
    return pytest.mark.slow if slow else pytest.mark.nightly
