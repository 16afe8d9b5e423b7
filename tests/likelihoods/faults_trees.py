"""Wrong programs about trees: (law, case, owner, attribute, wrong), see faults.py."""

import laws
import numpy as np

from bayesgen.likelihoods import TreeCategorical, TreeNormal
from bayesgen.likelihoods.trees import categorical, conditional_tables, forest_sums, normal


def forgets_the_products_between_the_means(right):
    def wrong(a, b):
        count, centre, square, _ = right(a, b)
        return count, centre, square, a[3] + b[3]

    return wrong


def counts_the_pairs_of_the_last_part(right):
    return lambda self, other: right(self, other).with_arrays({"count": other.count})


def takes_missing_for_the_first_level(right):
    return lambda self, x, *rest, **sizes: right(self, np.maximum(x, 0), *rest, **sizes)


def forgets_the_rows_before(right):
    def wrong(self, statistics):
        return self.with_arrays(statistics.arrays())

    return wrong


def divides_by_all_forests_of_the_prior(right):
    """The normaliser is that of the weights before any row."""

    def wrong(self):
        score = right(self)
        prior = np.broadcast_to(np.log(self.odds)[:, None, None], self.log_weights().shape)
        shift = forest_sums.log_partition(self.log_weights()) - forest_sums.log_partition(prior)
        return lambda x: score(x) + shift

    return wrong


def takes_the_forests_of_the_columns_shown(right):
    """Instead of the sum over the levels of those that are not."""
    return lambda score, x, n_levels: score(np.arange(len(x)), x)


def lets_the_parent_follow_the_child(right):
    def wrong(self):
        alone, given = right(self)
        return alone, np.swapaxes(given, -1, -2) + 0.1

    return wrong


def takes_the_spread_of_the_parent(right):
    def wrong(self, x, **how):
        alone, given = right(self, x, **how)
        return alone, given * 0.9

    return wrong


def draws_naive_forests(right):
    def wrong(self, rng, lane):
        return np.broadcast_to(np.arange(self.size), right(self, rng, lane).shape).copy()

    return wrong


def draws_from_the_prior_of_forests(right):
    return lambda self, rng, n: right(self.with_arrays({"odds": self.odds * 50}), rng, n)


def updates_nothing(right):
    return lambda self, rng, row, parent, mine: right(self, rng, row, parent, mine & False)


def updates_another_class(right):
    def wrong(self, rng, row, parent, mine):
        return right(self, rng, row, parent, np.roll(mine, 1, axis=1))

    return wrong


def keeps_the_forest_of_the_other_rows(right):
    """The row's own forest is drawn without the row."""

    def wrong(self, x, *, each):
        columns, ratios = right(self, x, each=each)
        return columns, ratios if len(x) > 1 else 0 * ratios

    return wrong


def likes_the_first_levels(right):
    def wrong(self, statistics):
        sizes = statistics.n_levels
        return np.concatenate([np.arange(n, 0, -1) / (n * (n + 1) / 2) for n in sizes])

    return wrong


def measures_in_units_of_its_own(right):
    def wrong(self, seen):
        return right(self.with_arrays({"variance": np.ones_like(self.variance)}), seen)

    return wrong


def hides_nothing(right):
    """Missing cells take their likeliest level instead of all of them."""
    return lambda logs: logs.max(axis=-1)


LEVELS = [
    (laws.law_addition, categorical.PairCounts, "__add__", counts_the_pairs_of_the_last_part),
    (laws.law_weight, TreeCategorical, "statistics", takes_missing_for_the_first_level),
    (laws.law_sequence, TreeCategorical, "posterior", forgets_the_rows_before),
    (laws.law_total, TreeCategorical, "log_cells", lets_the_parent_follow_the_child),
    (laws.law_total, TreeCategorical, "predictive", divides_by_all_forests_of_the_prior),
    (laws.law_marginal, categorical, "_summed", takes_the_forests_of_the_columns_shown),
    (laws.law_marginal, conditional_tables, "_log_sums", hides_nothing),
    (laws.law_average, TreeCategorical, "draw_forests", draws_from_the_prior_of_forests),
    (laws.law_update, TreeCategorical, "log_pieces", keeps_the_forest_of_the_other_rows),
    (laws.law_update, TreeCategorical, "log_drawn", updates_nothing),
    (laws.law_units, TreeCategorical, "_guess", likes_the_first_levels),
]
NUMBERS = [
    (laws.law_addition, normal, "_merged", forgets_the_products_between_the_means),
    (laws.law_addition, normal.PairMoments, "__add__", counts_the_pairs_of_the_last_part),
    (laws.law_sequence, TreeNormal, "posterior", forgets_the_rows_before),
    (laws.law_total, TreeNormal, "log_pieces", takes_the_spread_of_the_parent),
    (laws.law_average, forest_sums.Stages, "draw", draws_naive_forests),
    (laws.law_update, TreeNormal, "log_drawn", updates_another_class),
    (laws.law_units, TreeNormal, "updated", measures_in_units_of_its_own),
]
FAULTS = [(law, "TreeCategorical", *fault) for law, *fault in LEVELS]
FAULTS += [(law, "TreeNormal", *fault) for law, *fault in NUMBERS]
