"""Wrong statistics: (law, case, owner, attribute, wrong), see faults.py."""

import laws_sums as laws
import numpy as np

from bayesgen.likelihoods import Poisson, base, columnwise, remainder
from bayesgen.likelihoods.base import Statistics, one_hot
from bayesgen.likelihoods.columnwise import CellSums
from bayesgen.likelihoods.normal_statistics import NormalStatistics


def has_a_statistic_below_zero_unsaid(right):
    def wrong(self, x):
        count, total, log_factorials = right(self, x)
        return count, total, -log_factorials

    return wrong


def is_above_zero_and_sparse(right):
    return lambda self, x: x <= 0


def takes_absent_cells_for_missing(right):
    def wrong(cell, x, y, weight, n_classes):
        sums = right(cell, x, y, weight, n_classes)
        sums[:, 0] = one_hot(y, n_classes) @ (x != 0)
        return sums

    return wrong


def multiplies_the_mean(right):
    def wrong(self, factor):
        return right(self, factor).with_arrays({"mean": factor * self.mean})

    return wrong


def stays_where_it_is(right):
    return lambda self, by: self


def keeps_the_rows_that_leave(right):
    def wrong(self, part, *, exact):
        return right(self, self - part, exact=exact)

    return wrong


def takes_rows_of_the_fit_for_others(right):
    def wrong(whole, part, left, *, exact):
        foreign, error = right(whole, part, left, exact=exact)
        return ~foreign, error

    return wrong


def loses_no_digits(right):
    return lambda noise, left: np.zeros(noise.shape)


def takes_any_rows(right):
    def wrong(self, part, *, exact):
        found = right(self, part, exact=exact)
        return type(found)(found.statistics, np.zeros_like(found.foreign), found.error)

    return wrong


def keeps_the_first_classes(right):
    return lambda self, stay: right(self, np.arange(len(stay)))


FAULTS = [
    (laws.law_declared, "Poisson", Poisson, "cell", has_a_statistic_below_zero_unsaid),
    (laws.law_declared, "Poisson", Poisson, "out_of_support", is_above_zero_and_sparse),
    (laws.law_sparse, "Poisson", columnwise.sparse, "cell_sums", takes_absent_cells_for_missing),
    (laws.law_times, "Normal", NormalStatistics, "times", multiplies_the_mean),
    (laws.law_shifted, "Normal", NormalStatistics, "shifted", stays_where_it_is),
    (laws.law_without, "Poisson", CellSums, "without", keeps_the_rows_that_leave),
    (laws.law_without, "Bernoulli", base, "judged", takes_rows_of_the_fit_for_others),
    *(
        (laws.law_digits, name, remainder, "_relative", loses_no_digits)
        for name in ("Normal", "MultivariateNormal", "Categorical", "Poisson")
    ),
    (laws.law_foreign, "Poisson", CellSums, "without", takes_any_rows),
    (laws.law_fewer_classes, "Normal", Statistics, "only_classes", keeps_the_first_classes),
]
