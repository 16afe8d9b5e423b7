"""Wrong programs about joint tables: (law, case, owner, attribute, wrong), see faults.py."""

import laws
import numpy as np
from faults_alike import updates_another_class, updates_nothing

from bayesgen.likelihoods import JointCategorical, joint_categorical
from bayesgen.likelihoods import contingency_tables as tables
from bayesgen.likelihoods.joint_categorical import JointStatistics


def forgets_the_missing_values_of_the_other(right):
    def wrong(self, other):
        return right(self, other.with_arrays({"partial": np.full_like(other.partial, -1)}))

    return wrong


def takes_one_entry_for_one_row(right):
    def wrong(self, x, y, weight, **sizes):
        rows = right(self, x, y, weight, **sizes)
        return rows.with_arrays({"partial_weight": np.ones_like(rows.partial_weight)})

    return wrong


def imputes_the_first_level(right):
    def wrong(self, x, y, weight, **sizes):
        return right(self, np.maximum(x, 0), y, weight, **sizes)

    return wrong


def forgets_how_many_rows_came_before(right):
    def wrong(self, statistics):
        after = right(self, statistics)
        return after.with_arrays({"rows": statistics.totals().sum(axis=1) + 1.0})

    return wrong


def leaves_out_rows_with_missing_values(right):
    return lambda self: iter(())


def counts_the_orders_of_rows(right):
    return lambda self, rows: right(self, rows) + float(np.log(rows.count + 1).sum())


def takes_the_strength_for_that_of_a_cell(right):
    return lambda self: right(self) * self.probs.shape[1]


def takes_the_mode_of_the_simplex(right):
    def wrong(self):
        less = np.maximum(self.concentration() - 1, 1e-9)
        return {"probs": less / less.sum(axis=1, keepdims=True)}

    return wrong


def adds_one_to_every_cell(right):
    def wrong(self, statistics, **options):
        return right(self, statistics.with_arrays({"count": statistics.count + 1}), **options)

    return wrong


def draws_the_centre(right):
    def wrong(self, rng, n):
        return {"probs": np.broadcast_to(self.probs, right(self, rng, n)["probs"].shape)}

    return wrong


def averages_over_missing_levels(right):
    def wrong(table, n_levels, pattern):
        found = right(table, n_levels, pattern)
        return found * found.shape[-1] / table.shape[-1]

    return wrong


def counts_cells_with_the_first_column_fastest(right):
    def wrong(x, n_levels, pattern):
        return right(x[:, ::-1], n_levels[::-1], pattern[::-1])

    return wrong


def takes_the_likeliest_cell_that_fits(right):
    def wrong(table, n_levels, pattern):
        wide = table.reshape(*table.shape[:-1], *tables.shape(n_levels))
        missing = [j - len(n_levels) for j, seen in enumerate(pattern) if not seen]
        return wide.max(axis=tuple(missing)).reshape(*table.shape[:-1], -1)

    return wrong


def guesses_that_low_codes_are_frequent(right):
    def wrong(statistics):
        falling = [np.arange(n, 0, -1.0) for n in statistics.n_levels]
        return [weight / weight.sum() for weight in falling]

    return wrong


def keeps_one_level_instead_of_the_sum(right):
    def wrong(table, index, n_levels):
        starts = np.cumsum([0, *n_levels[:-1]])
        gone = [
            s
            for s, n in zip(starts, n_levels, strict=True)
            if not np.isin(s + np.arange(n), index).any()
        ]
        return right(table, np.sort(np.concatenate([index, gone]).astype(int)), n_levels)

    return wrong


TABLE = [
    (laws.law_addition, JointStatistics, "__add__", forgets_the_missing_values_of_the_other),
    (laws.law_story, JointCategorical, "statistics", takes_one_entry_for_one_row),
    (laws.law_weight, JointCategorical, "statistics", imputes_the_first_level),
    (laws.law_sequence, JointCategorical, "posterior", forgets_how_many_rows_came_before),
    (laws.law_story, JointStatistics, "by_pattern", leaves_out_rows_with_missing_values),
    (laws.law_bayes, JointCategorical, "log_evidence", counts_the_orders_of_rows),
    (laws.law_bayes, JointCategorical, "concentration", takes_the_strength_for_that_of_a_cell),
    (laws.law_mode, JointCategorical, "mode", takes_the_mode_of_the_simplex),
    (laws.law_mode, JointCategorical, "maximum_likelihood", adds_one_to_every_cell),
    (laws.law_update, JointCategorical, "draw", draws_the_centre),
    (laws.law_average, JointCategorical, "log_density_draws_given_row", updates_nothing),
    (laws.law_update, JointCategorical, "log_density_draws_given_row", updates_another_class),
    (laws.law_total, tables, "summed", averages_over_missing_levels),
    (laws.law_marginal, tables, "cells", counts_cells_with_the_first_column_fastest),
    (laws.law_units, joint_categorical, "_fractions", guesses_that_low_codes_are_frequent),
    (laws.law_marginal, tables, "summed", takes_the_likeliest_cell_that_fits),
    (laws.law_marginal, joint_categorical, "kept_cells", keeps_one_level_instead_of_the_sum),
]
FAULTS = [(law, "JointCategorical", *fault) for law, *fault in TABLE]
