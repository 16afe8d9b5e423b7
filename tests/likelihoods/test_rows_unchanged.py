"""Densities leave rows as they are: a loop that scores one array again and again may rely on it."""

import laws
import numpy as np
import pytest
from cases import CASES, CLOSED
from paces import fast_only


def check(score, x):
    """Require the same densities at the second call, and rows unchanged by both."""
    before = x.copy()
    first = score(x)
    np.testing.assert_array_equal(x, before)
    np.testing.assert_array_equal(score(x), first)


def rows_of(case, columns):
    """Return rows with missing cells, one row and many; a block of one column is contiguous."""
    rng = np.random.default_rng(3)
    x, y = case.rows(rng, 24, gaps=True)
    return np.asfortranarray(x) if columns else np.ascontiguousarray(x), y


@pytest.mark.parametrize("name", fast_only(CLOSED, CASES))
@pytest.mark.parametrize("columns", [False, True], ids=["by row", "by column"])
def test_densities_given_parameters_leave_rows_unchanged(name, columns):
    case = CASES[name]
    x, _ = rows_of(case, columns)
    part = case.prior.complete(laws.statistics(case, case.prior, *case.table(y_rng(), 24)))
    score = part.log_density_fn(case.params(part, np.random.default_rng(1), 5))
    check(score, x)
    check(score, x[:1])


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("columns", [False, True], ids=["by row", "by column"])
def test_predictive_densities_leave_rows_unchanged(name, columns):
    case = CASES[name]
    x, y = rows_of(case, columns)
    rows = laws.statistics(case, case.prior, *case.table(y_rng(), 24))
    part = case.prior.complete(rows).posterior(rows)
    own = np.tile(y, (7, 1))
    check(part.predictive(), x)
    check(part.predictive(), x[:1])
    draws = part.log_density_draws_given_row(np.random.default_rng(1), 7)
    check(lambda x: draws(x, own[:, : len(x)]), x)


def y_rng():
    return np.random.default_rng(2)


def test_one_column_with_missing_cells_is_left_as_it_was():
    """A contiguous block of one column needs no copy to be read column by column."""
    import bayesgen as bg

    x = np.array([[1.0], [np.nan], [3.0], [np.nan]])
    part = bg.Normal(mean=0.0, variance=1.0)
    rows = part.statistics(x, np.array([0, 1, 0, 1]), np.ones(4), n_classes=2)
    prior = part.complete(rows)
    check(prior.log_density_fn(prior.draw(np.random.default_rng(0), 3)), x)
    check(prior.posterior(rows).predictive(), x)
