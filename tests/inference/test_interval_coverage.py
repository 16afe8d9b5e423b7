"""90 % intervals of P(y given x) hold the true one in 90 % of tables drawn from the prior.

The whole table of families and sizes is benchmarks/interval_coverage.py's. Here coverage may be off
by 4 standard errors, over tables: a right library fails one of the lines below in 2,000 runs.
"""

import interval_coverage as coverage
import numpy as np
import pytest
from side_by_side import Chains
from subjects import SUBJECTS

from bayesgen import predict
from bayesgen.inference.draws import point_estimate

N_ROWS = 20
FEW = ("MultivariateNormal shared", "Categorical", "Bernoulli")


def line(name: str, ends=coverage.interval, tables: int = 400) -> coverage.Line:
    rng = np.random.default_rng(9)
    return coverage.exact_coverage(name, SUBJECTS[name], N_ROWS, tables, rng, ends=ends)


def test_coverage_of_a_closed_form():
    found = line("Normal", tables=100)
    assert found.right, found
    assert found.error < 0.025


@pytest.mark.nightly
@pytest.mark.parametrize("name", FEW)
def test_exact_intervals_cover(name):
    found = line(name)
    assert found.right, found
    assert found.error < 0.012


@pytest.mark.nightly
def test_intervals_of_draws_cover():
    chains = Chains(draws=250, thin=1, warmup=250, lanes=150)
    some = {name: SUBJECTS[name] for name in ("Family Gamma",)}
    rng = np.random.default_rng(10)
    for found in coverage.nuts_coverage(some, N_ROWS, 300, rng, chains=chains):
        assert found.right, found
        assert found.error < 0.02


def narrow(posterior, rows, n):
    """Return intervals of 80 %."""
    return predict.ReadRows(posterior, rows, n).interval(0.8)


def plugged_in(posterior, rows, n):
    """Return the point of an estimate as an interval a little wider than nothing."""
    params = {name: part.mode() for name, part in posterior.components.model.blocks.items()}
    params["class"] = posterior.components.model.classes.mode()
    point = point_estimate(params, posterior.families, posterior.reader, posterior.report)
    joint = point.log_joint(rows, n)
    probs = np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))
    return np.stack([0.9 * probs, 1.1 * probs], axis=-1)


@pytest.mark.nightly
@pytest.mark.parametrize("ends", [narrow, plugged_in])
def test_wrong_intervals_are_caught(ends):
    assert not line("Normal", ends).right
