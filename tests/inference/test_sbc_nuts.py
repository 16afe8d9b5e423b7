"""Simulation-based calibration of NUTS, many fits at once (see test_sbc.py)."""

import numpy as np
import pytest
import sbc
import side_by_side
from side_by_side import Chains
from subjects import SUBJECTS
from test_sbc import least

from bayesgen.inference import nuts

pytestmark = pytest.mark.nightly

FITS = 150
CHAINS = Chains(draws=49, thin=4, warmup=250, lanes=50)
MODELS = (
    ("Normal shared", "MultivariateNormal", "Categorical", "Poisson"),
    ("MultivariateNormal lkj shared",),
    ("Family Gamma",),
)


def found(*names: str) -> list[sbc.Line]:
    rng = np.random.default_rng(8)
    ranks = sbc.nuts_ranks({n: SUBJECTS[n] for n in names}, FITS, rng, CHAINS)
    return sbc.lines(ranks, "nuts")


def rows_twice(right):
    def wrong(self, x, y, weight, **sizes):
        return right(self, x, y, 2 * weight, **sizes)

    return wrong


@pytest.mark.parametrize("names", MODELS, ids=", ".join)
def test_ranks_are_uniform_and_rows_counted_twice_are_caught(names, monkeypatch):
    """One compiled program serves both: the fault is in its numbers."""
    assert not least(found(*names))
    for name in names:
        family = type(SUBJECTS[name].prior())
        monkeypatch.setattr(family, "statistics", rows_twice(family.statistics))
    assert {quantity.split(": ")[0] for quantity in least(found(*names))} == set(names)


def test_a_missing_jacobian_is_caught(monkeypatch):
    monkeypatch.setattr(nuts, "NUTS_TERMS", ("prior", "rows"))
    for cache in (nuts.compiled, side_by_side.side_by_side):
        cache.cache_clear()
    try:
        assert least(found("Family Gamma"))
    finally:
        for cache in (nuts.compiled, side_by_side.side_by_side):
            cache.cache_clear()
