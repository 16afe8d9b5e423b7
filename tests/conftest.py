"""Fixtures that more than one test file uses."""

import numpy as np
import numpyro  # first of all: arviz leaves a lazy one behind, which loses its submodules
import pytest

assert numpyro.__version__


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed, fresh for each test."""
    return np.random.default_rng(20261121)
