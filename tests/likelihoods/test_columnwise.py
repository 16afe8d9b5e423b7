"""Fast overrides of columnwise families agree with the base class (of draws: see law_update)."""

import laws
import numpy as np
import pytest
from agree import agree
from cases import CASES
from scipy.sparse import csr_array

from bayesgen.likelihoods import Poisson
from bayesgen.likelihoods.exponential_family import ExponentialFamily

FAST = ("Normal", "Normal shared", "Bernoulli", "Categorical")


@pytest.mark.parametrize("name", FAST)
def test_a_fast_predictive_is_the_sum_over_cells(name):
    case = CASES[name]
    _, after, _, _, _ = laws.fitted(case, case.prior, gaps=True)
    x = case.rows(np.random.default_rng(2), 40, gaps=True)[0]
    agree(after.predictive()(x), after.log_predictive_paired(x))


@pytest.mark.parametrize("name", ["Normal", "Normal shared", "Categorical"])
def test_a_fast_density_is_the_matrix_product(name):
    case = CASES[name]
    _, after, _, _, _ = laws.fitted(case, case.prior, gaps=True)
    x = case.rows(np.random.default_rng(2), 40, gaps=True)[0]
    params = after.draw(np.random.default_rng(3), 5)
    agree(after.log_density_fn(params)(x), ExponentialFamily.log_density_fn(after, params)(x))


class Few(Poisson):
    """Counts below 3."""

    def out_of_support(self, x):
        """Return which are not."""
        return x >= 3


def test_sparse_cells_outside_the_support_make_their_rows_impossible():
    x = np.array([[0.0, 1.0], [3.0, 0.0], [np.nan, 2.0], [np.nan, 4.0]])
    prior = Few(rate=np.full((2, 2), 1.5), rows=np.ones((2, 2)))
    params = {"rate": prior.rate}
    by_row = prior.log_density_draws_given_row(np.random.default_rng(0), 3)
    own = np.zeros((3, 4), dtype=int)
    for rows in (x, csr_array(x)):
        scores = prior.predictive()(rows), prior.log_density_fn(params)(rows), by_row(rows, own)[0]
        for found in scores:
            assert np.isneginf(found).all(axis=1).tolist() == [False, True, False, True]
    agree(by_row(csr_array(x), own), by_row(x, own), axes=("draw", "row", "class"))
