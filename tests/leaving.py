"""What is left of a table when a row leaves it with its copies, as the documentation states it."""

import numpy as np

from bayesgen.table import copies_of, read_table


def weights_without(X, y, weight, i):
    """Return the weights of the rows of a table, of which row i leaves."""
    codes, weight = np.unique(y, return_inverse=True)[1], np.asarray(weight, dtype=float)
    equal = copies_of([read_table(X)], codes, weight)
    content = equal.content[i]
    left = 1 - equal.leaving[content] / equal.total[content]
    return np.where(equal.content == content, weight * (left if left > 1e-12 else 0.0), weight)
