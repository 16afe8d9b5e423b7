"""Special functions against SciPy."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bayesgen.likelihoods.special_functions import log_sum_exp


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_of_exponentials_are_those_of_scipy(rng, axis):
    logs = 1000 * rng.standard_normal((4, 5, 6))
    logs[1, 2], logs[2, :, 3], logs[:, 0, 5], logs[3, 4, 0] = -np.inf, -np.inf, -np.inf, np.inf
    found = log_sum_exp(logs, axis)
    np.testing.assert_allclose(found, logsumexp(logs, axis=axis), rtol=1e-14)
