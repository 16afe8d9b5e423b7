"""Fast overrides of columnwise families agree with the base class (of draws: see law_update)."""

import laws
import numpy as np
import pytest
from agree import agree
from cases import CASES

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
