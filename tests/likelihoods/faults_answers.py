"""Wrong draws and wrong words of a family: (law, case, owner, attribute, wrong), see faults.py."""

import dataclasses

import laws_answers as laws
import numpy as np

from bayesgen import decide
from bayesgen.inference import exact
from bayesgen.likelihoods import Bernoulli, Normal, Poisson
from bayesgen.likelihoods.columnwise import CellSums, Columnwise
from bayesgen.schema.readings import counts


def takes_a_variance_for_a_deviation(right):
    return lambda self, rng, mean, variance: right(self, rng, mean, variance**2)


def draws_of_the_next_class(right):
    return lambda self, x, own, rng: right(self, x, (own + 1) % 3, rng)


def simulates_the_next_class(right):
    return lambda self, params, y, rng: right(self, params, (y + 1) % 3, rng)


def fills_observed_cells_too(right):
    return lambda self, x, own, rng: right(self, np.full_like(x, np.nan), own, rng)


def leaves_cells_missing(right):
    return lambda self, x, own, rng: x


def is_one_deviation_too_high(right):
    def wrong(self, x, own):
        location, scale, degrees = right(self, x, own)
        return location + scale, scale, degrees

    return wrong


def draws_the_opposite(right):
    return lambda self, rng, prob: 1 - right(self, rng, prob)


def takes_the_share_of_denser_rows(right):
    return lambda *arguments: 1 - right(*arguments)


def keeps_half_of_the_rows_that_leave(right):
    return lambda self, part, *, exact: right(self, part.times(0.5), exact=False)


def takes_rows_for_the_shape(right):
    return lambda self, rng, n: {
        "rate": rng.gamma(self.rows, 5 * self.rate / self.rows, (n, *self.rate.shape))
    }


def reads_all_groups_by_the_first(right):
    def wrong(problem):
        found = right(problem)
        first = next(iter(found.problems.values()))
        return dataclasses.replace(found, problems=dict.fromkeys(found.problems, first))

    return wrong


def has_no_words(right):
    return ""


def is_described_by_its_name(right):
    return lambda self: dataclasses.replace(right(self), distribution=type(self).__name__)


def reads_any_number_as_a_count(right):
    return lambda columns, cells: None


FAULTS = [
    (laws.law_simulate, "Normal", Normal, "simulate_cell", takes_a_variance_for_a_deviation),
    (laws.law_simulate, "Bernoulli", Bernoulli, "simulate_cell", draws_the_opposite),
    (laws.law_fill, "Poisson", Columnwise, "fill", draws_of_the_next_class),
    (laws.law_sample, "Poisson", Columnwise, "simulate", simulates_the_next_class),
    (laws.law_fill, "Normal", Normal, "fill", fills_observed_cells_too),
    (laws.law_impute, "Normal", Normal, "fill", leaves_cells_missing),
    (laws.law_conditional, "Normal", Normal, "conditional", is_one_deviation_too_high),
    (laws.law_possible, "Poisson", counts, "check_counts", reads_any_number_as_a_count),
    (laws.law_typicality, "Normal", decide, "typicality", takes_the_share_of_denser_rows),
    (laws.law_forget, "Poisson", CellSums, "without", keeps_half_of_the_rows_that_leave),
    (laws.law_sample_prior, "Poisson", Poisson, "draw", takes_rows_for_the_shape),
    (laws.law_groups, "Poisson", exact, "groups_of", reads_all_groups_by_the_first),
    (laws.law_description, "Poisson", Poisson, "distribution_words", has_no_words),
    (laws.law_description, "Poisson", Poisson, "describe", is_described_by_its_name),
]
