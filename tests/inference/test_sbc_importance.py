"""Simulation-based calibration of importance sampling, given missing cells (see test_sbc.py)."""

import numpy as np
import pytest
import sbc
from subjects import SUBJECTS
from test_sbc import least

from bayesgen.inference import importance_sampling

JOINT = ("MultivariateNormal", "MultivariateNormal shared", "JointCategorical")


def found(name: str, fits: int, missing: float = 0.05) -> list[sbc.Line]:
    ranks = sbc.importance_ranks({name: SUBJECTS[name]}, fits, np.random.default_rng(7), missing)
    return sbc.lines(ranks, "importance")


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINT)
def test_ranks_given_missing_cells_are_uniform(name):
    assert not least(found(name, 80))


@pytest.mark.nightly
def test_draws_that_are_not_weighed_are_out(monkeypatch):
    """Expected statistics count missing cells as observed: their posterior is too narrow."""

    def even(log_weight):
        return np.full(log_weight.shape, 1 / len(log_weight)), np.zeros(log_weight.shape[1])

    monkeypatch.setattr(importance_sampling, "smoothed_weights", even)
    monkeypatch.setattr(importance_sampling, "HOPELESS", np.inf)
    assert least(found("MultivariateNormal shared", 1500, missing=0.4))
