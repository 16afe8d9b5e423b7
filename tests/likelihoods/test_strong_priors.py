"""Evidence under priors worth many rows, and settings that are refused at once."""

import numpy as np
import pytest
from scipy.special import gammaln

from bayesgen.errors import InvalidArgument
from bayesgen.likelihoods import Bernoulli, Categorical, Normal, Poisson

STRENGTH = 2.0**27  # exact halves and products: the oracle's digits are lost by the library alone


def evidence(prior, x, n_levels=()):
    y, weight = np.zeros(len(x), int), np.ones(len(x))
    rows = prior.statistics(x, y, weight, n_classes=1, n_levels=n_levels)
    return prior.complete(rows).log_evidence(rows)


def one_by_one(prior, x, n_levels=()):
    """Return the sum of each row's log predictive after those before it: nothing cancels."""
    y, weight, total = np.zeros(1, int), np.ones(1), 0.0
    all_rows = prior.statistics(
        x, np.zeros(len(x), int), np.ones(len(x)), n_classes=1, n_levels=n_levels
    )
    now = prior.complete(all_rows)
    for row in x[:, None]:
        total += now.log_predictive(row)[0, 0]
        now = now.posterior(now.statistics(row, y, weight, n_classes=1, n_levels=n_levels))
    return total


@pytest.mark.parametrize("spread", ["per_class", "shared"])
def test_evidence_of_a_normal_keeps_its_digits(rng, spread):
    prior = Normal(mean=0.5, mean_rows=3.0, variance=2.0, variance_rows=STRENGTH, spread=spread)
    x = rng.normal(size=(30, 2))
    assert evidence(prior, x) == pytest.approx(one_by_one(prior, x), abs=2e-11)


def test_evidence_of_counts_keeps_its_digits(rng):
    counts = rng.poisson(2.0, (30, 2)).astype(float)
    prior = Poisson(rate=2.0, rows=STRENGTH)
    assert evidence(prior, counts) == pytest.approx(one_by_one(prior, counts), abs=2e-11)
    answers = (counts > 1).astype(float)
    prior = Bernoulli(prob=0.25, rows=STRENGTH)
    assert evidence(prior, answers) == pytest.approx(one_by_one(prior, answers), abs=2e-11)
    levels = rng.integers(0, 4, (30, 2))
    prior = Categorical(probs=0.25, rows=STRENGTH)
    expected = one_by_one(prior, levels, (4, 4))
    assert evidence(prior, levels, (4, 4)) == pytest.approx(expected, abs=2e-11)


def test_a_difference_of_log_gammas_would_lose_them():
    half, n = STRENGTH / 2, 15.0
    naive = gammaln(half + n) - gammaln(half)
    exact = n * np.log(half) + np.log1p(np.arange(15) / half).sum()
    assert abs(naive - exact) > 1e-8


@pytest.mark.usefixtures("no_type_checks")
@pytest.mark.parametrize("setting", ["spread", "prior"])
def test_an_unknown_setting_is_refused_at_once(setting):
    with pytest.raises(InvalidArgument, match=f"{setting}.*neither"):
        Normal(**{setting: "neither"})
