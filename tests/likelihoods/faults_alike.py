"""Wrong programs that are wrong in the same way whatever the family is, see faults.py."""

import numpy as np


def ignores_weights(right):
    def wrong(self, x, y, weight, **sizes):
        return right(self, x, y, np.ones_like(weight), **sizes)

    return wrong


def takes_missing_for_zero(right):
    def wrong(self, x, y, weight, **sizes):
        return right(self, np.nan_to_num(x), y, weight, **sizes)

    return wrong


def leaves_out_rows_with_missing_values(right):
    return lambda params, statistics: np.zeros(len(params["mean"]))


def updates_another_class(right):
    def wrong(self, rng, n):
        score = right(self, rng, n)
        return lambda x, own: score(x, (own + 1) % 3)

    return wrong


def updates_nothing(right):
    def wrong(self, rng, n):
        score = right(self, rng, n)
        return lambda x, own: score(x, np.full_like(own, -1))

    return wrong
