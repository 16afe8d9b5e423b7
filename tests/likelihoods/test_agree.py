"""A failing law says where, what it expected and got, and how far that is."""

import numpy as np
import pytest
from agree import agree, calibrated


def test_the_worst_entry_is_named_with_its_standard_error():
    found = np.zeros((4, 3))
    agree(found, 0.0, error=0.1)
    found[2, 1], found[0, 0] = 0.9, 0.6
    with pytest.raises(
        AssertionError, match=r"mean, row 2, class 1: expected 0, got 0\.9, standard"
    ):
        agree(found, 0.0, what="mean", error=0.1)
    with pytest.raises(AssertionError, match=r"row 3, class 2: .*, got nan .*; 1 of 12 differ"):
        agree(np.where(np.arange(12).reshape(4, 3) == 11, np.nan, 0.0), 0.0)
    agree(np.full(2, -np.inf), -np.inf)
    with pytest.raises(AssertionError, match=r"row 0, class 0: expected -inf, got 0"):
        agree(np.zeros((1, 1)), -np.inf)
    with pytest.raises(AssertionError, match="shape"):
        agree(np.zeros(3), np.zeros(2))


def test_labels_that_are_no_draws_from_their_probabilities_are_named_by_class(rng):
    proba = rng.dirichlet(np.ones(3), 2000)
    y = (rng.random((2000, 1)) > proba.cumsum(axis=1)[:, :-1]).sum(axis=1)
    calibrated(proba, y)
    with pytest.raises(AssertionError, match=r"over 2000 rows, class \d: expected 0, got"):
        calibrated(proba[:, ::-1], y)
