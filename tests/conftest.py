"""Fixtures that more than one test file uses."""

import hypothesis
import numpy as np
import numpyro  # first of all: arviz leaves a lazy one behind, which loses its submodules
import pytest

assert numpyro.__version__

# pytest tests/test_hostile.py --hypothesis-profile=hostile: 100,000 tables, other ones each time; a
# failing one is printed with a line that repeats it
hypothesis.settings.register_profile(
    "hostile",
    max_examples=2975,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)


@pytest.fixture
def rng() -> np.random.Generator:
    """A generator with a fixed seed, fresh for each test."""
    return np.random.default_rng(20261121)
