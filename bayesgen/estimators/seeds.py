"""From the seed that a user passes to the numbers that a call draws."""

import numpy as np
from sklearn.utils import check_random_state

from bayesgen import arguments


def drawn_seed(random_state: object) -> int:
    """Return a whole number drawn from a seed: the same one for the same whole number.

    Raises:
        InvalidArgument: random_state is no seed.
    """
    return int(check_random_state(arguments.seed(random_state)).randint(2**31 - 1))


def generator(random_state: object) -> np.random.Generator:
    """Return a generator of random numbers from a seed.

    Raises:
        InvalidArgument: random_state is no seed.
    """
    return np.random.default_rng(drawn_seed(random_state))
