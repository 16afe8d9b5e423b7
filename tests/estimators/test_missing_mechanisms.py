"""Each setting of `missing=` where it belongs, by simulation (see missing-values.md)."""

import numpy as np
import pytest
from missing_mechanisms import MECHANISMS, log_losses

import bayesgen as bg

TELLS = {name: "class" in name or "value" in name for name in MECHANISMS}
"""Whether the missing pattern tells the class, beyond the observed cells."""
ERRORS, CLOSE = 3, 0.005
"""Standard errors of a difference that counts; nats that "learn" may lose to the better setting."""


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(
    ("make", "tables"),
    [
        pytest.param(bg.NaiveBayes, 20, marks=pytest.mark.slow),
        pytest.param(bg.StackedClassifier, 4, marks=pytest.mark.nightly),
    ],
)
def test_each_setting_wins_where_it_should(make, tables, mechanism):
    found = log_losses(make, mechanism, 500, tables)
    gain = found[:, 0] - found[:, 1]
    error = gain.std(ddof=1) / np.sqrt(tables)
    if TELLS[mechanism]:
        assert gain.mean() > ERRORS * error
    else:  # to the stack, which tempers, a pattern that tells nothing costs next to nothing
        assert gain.mean() < (-ERRORS if make is bg.NaiveBayes else ERRORS) * error
    better = found[:, :2].mean(axis=0).min()
    assert found[:, 2].mean() < better + CLOSE


@pytest.mark.slow
def test_a_reason_that_changes_costs_what_the_pattern_brought():
    gaps = "at random given the class", "completely at random"
    ignorable, informative, learned = log_losses(bg.NaiveBayes, gaps[0], 500, 5, gaps[1]).mean(0)
    assert ignorable + 0.1 < learned
    assert abs(informative - learned) < CLOSE
