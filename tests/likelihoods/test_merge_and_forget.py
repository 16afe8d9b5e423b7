"""Statistics of moved, reweighted and removed rows, over every likelihood."""

import laws
import numpy as np
import pytest
from case import N_CLASSES
from cases import CASES

from bayesgen.likelihoods import remainder

every_case = pytest.mark.parametrize("name", CASES)
CENTRED = [name for name, case in CASES.items() if case.prior.centred]


def some(name, gaps=True, n=30, seed=5):
    case = CASES[name]
    x, y = case.rows(np.random.default_rng(seed), n, gaps)
    return case, x, y


@every_case
def test_times_is_every_weight_multiplied(name):
    case, x, y = some(name)
    weight = 1.0 + np.arange(30) % 3
    found = laws.statistics(case, case.prior, x, y, weight).times(0.5)
    laws.same(found, laws.statistics(case, case.prior, x, y, 0.5 * weight))


@pytest.mark.parametrize("name", CENTRED)
def test_shifted_is_every_cell_moved(name):
    case, x, y = some(name)
    by = np.array([2.0, -64.0, 4096.0])
    found = laws.statistics(case, case.prior, x, y).shifted(by)
    laws.same(found, laws.statistics(case, case.prior, x + by, y))


def test_some_likelihoods_are_centred():
    assert len(CENTRED) > 5


@every_case
def test_without_some_rows_are_the_others(name):
    case, x, y = some(name)
    for away in (np.arange(30) % 5 == 1, np.arange(30) > 0):
        whole, part, rest = (
            laws.statistics(case, case.prior, x[rows], y[rows])
            for rows in (slice(None), away, ~away)
        )
        found = whole.without(part, exact=True)
        for left in (found.statistics, whole - part):
            for key, value in rest.arrays().items():
                # the rounding of the whole stays
                size = np.nan_to_num(np.abs(getattr(whole, key).astype(float))).max(initial=0.0)
                np.testing.assert_allclose(
                    getattr(left, key), value, rtol=1e-9, atol=1e-12 * size, err_msg=key
                )
        assert not found.foreign.any()
        assert found.error.max() < 1e-9


@every_case
def test_rows_that_were_not_there_show(name):
    """Rows in a class that has fewer of them leave less than nothing."""
    case, x, y = some(name)
    whole = laws.statistics(case, case.prior, x, y)
    strange = laws.statistics(case, case.prior, x[y == 0], np.full((y == 0).sum(), 2))
    foreign = whole.without(strange, exact=True).foreign
    assert foreign[2].any()
    assert not foreign[:2].any()


@every_case
def test_classes_without_rows_can_go(name):
    case, x, y = some(name)
    stay = y != 1
    found = laws.statistics(case, case.prior, x[stay], y[stay]).only_classes(np.array([0, 2]))
    options = {"n_classes": N_CLASSES - 1, "n_levels": case.n_levels}
    y = np.searchsorted([0, 2], y[stay])
    laws.same(found, case.prior.statistics(x[stay], y, np.ones(len(y)), **options))


def law_digits(name):
    """What is left of heavy rows and light ones is off by no more than its stated error."""
    case, largest = CASES[name], 0.0
    for seed in range(5):
        x, y = case.rows(np.random.default_rng(seed), 30, gaps=True)
        away = np.arange(30) % 2 == 1
        weight = np.random.default_rng(seed).uniform(0.5, 1.0, 30) * np.where(away, 1e4, 1.0)
        whole, part, rest = (
            laws.statistics(case, case.prior, x[rows], y[rows], weight[rows])
            for rows in (slice(None), away, ~away)
        )
        found = whole.without(part, exact=False)
        assert not found.foreign.any()
        for left, right in zip(found.statistics.sums(), rest.sums(), strict=True):
            # the last: rounding of a fit to the other rows alone
            bound = found.error * right.net + 1e-15 * right.gross
            known = np.broadcast_to(np.isfinite(found.error), bound.shape)
            assert (np.abs(left.net - right.net) <= bound)[known].all()
        largest = max(largest, found.error.max())
    return largest


@every_case
def test_what_is_left_has_the_digits_that_are_stated(name):
    assert law_digits(name) > 1e-12


@pytest.mark.parametrize("name", ["Normal", "MultivariateNormal", "Categorical", "Poisson"])
def test_a_rule_that_loses_no_digits_is_caught(name, monkeypatch):
    monkeypatch.setattr(remainder, "_relative", lambda noise, left: np.zeros(noise.shape))
    with pytest.raises(AssertionError):
        law_digits(name)
