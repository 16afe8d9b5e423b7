"""Wrong programs about families that keep rows: (law, case, owner, attribute, wrong)."""

import laws
import numpy as np
from faults_alike import ignores_weights, takes_missing_for_zero

from bayesgen.likelihoods import Family, KernelDensity, KernelDiscriminant
from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.family import likelihood as family
from bayesgen.likelihoods.kernels import density, guesses, joint, plug_in
from bayesgen.likelihoods.kernels.fitted import FittedKernels


def adds_the_first_column_only(right):
    def wrong(self, other):
        weight = other.weight * (other.column == 0)[:, None]
        return right(self, other.with_arrays({"weight": weight}))

    return wrong


def counts_a_value_once(right):
    def wrong(self, params, statistics):
        return right(self, params, statistics.with_arrays({"weight": statistics.weight > 0}))

    return wrong


def scores_fillers_too(right):
    def wrong(self, params, statistics):
        weight = np.maximum(statistics.weight, 1.0)
        return right(self, params, statistics.with_arrays({"weight": weight}))

    return wrong


def scores_logarithms_without_their_slope(right):
    """The density of log x at x."""

    def wrong(declaration, params):
        score = right(declaration, params)

        def log_density(x):
            logs = np.where(np.isnan(x), 0.0, np.log(x + 1)).sum(axis=1)
            out = score(x)
            return out + logs.reshape(-1, *[1] * (out.ndim - 1))

        return log_density

    return wrong


def takes_an_impossible_cell_for_a_typical_one(right):
    def wrong(declaration, params):
        score = right(declaration, params)
        return lambda x: score(np.where(declaration.out_of_support(x), declaration.typical, x))

    return wrong


def fills_missing_values_with_ones(right):
    def wrong(declaration, params):
        score = right(declaration, params)
        return lambda x: score(np.where(np.isnan(x), 1.0, x))

    return wrong


def forgets_that_a_wide_kernel_is_low(right):
    def wrong(x, center, weight, bandwidth, **left):
        return right(x, center, weight, bandwidth, **left) + np.log(bandwidth)

    return wrong


def weighs_centres_alike(right):
    def wrong(self, cls, feature):
        centre, weight = right(self, cls, feature)
        return centre, weight * (1 + np.arange(len(weight)))

    return wrong


def guesses_a_bandwidth_of_one(right):
    return lambda rows: np.ones_like(right(rows))


def looks_at_missing_values(right):
    def wrong(self, *args):
        score = right(self, *args)
        return lambda x: score(np.where(np.isnan(x), 5.0, x))

    return wrong


def keeps_the_first_columns(right):
    return lambda self, axis, index: right(self, axis, np.arange(len(index)))


def forgets_the_bandwidth(right):
    """Kernels of any bandwidth are as high as that of 1."""

    def wrong(squares, weight, bandwidth):
        out = right(squares, weight, bandwidth)
        return out + 3 * np.log(bandwidth)

    return wrong


def measures_by_the_first_bandwidth(right):
    def wrong(squares, weight, bandwidth):
        return right(squares, weight, np.full_like(bandwidth, 2 * bandwidth[0]))

    return wrong


def keeps_missing_columns(right):
    def wrong(matrices, seen):
        return right(matrices, np.ones_like(seen))

    return wrong


def updates_another_component(right):
    """The row weighs bandwidths by its density in another class."""

    def wrong(self):
        score = right(self)
        return lambda x: np.roll(score(x), 1, axis=1) - 0.5 * np.arange(len(self.grid))

    return wrong


def counts_rows_once(right):
    def wrong(self, params, statistics):
        once = statistics.with_arrays({"weight": np.ones_like(statistics.weight)})
        return right(self, params, once)

    return wrong


def scales_kernels_by_one(right):
    def wrong(rows):
        prior, mean = right(rows)
        return prior.with_arrays({"scale": 0 * prior.scale + np.eye(len(mean.T))}), mean

    return wrong


FAULTS = [
    (
        laws.law_total,
        "KernelDiscriminant",
        joint,
        "log_sums",
        forgets_the_bandwidth,
    ),
    (
        laws.law_total,
        "KernelDiscriminant learned",
        joint,
        "log_sums",
        measures_by_the_first_bandwidth,
    ),
    (laws.law_marginal, "KernelDiscriminant", joint, "precisions", keeps_missing_columns),
    (
        laws.law_average,
        "KernelDiscriminant learned",
        FittedKernels,
        "log_densities",
        updates_another_component,
    ),
    (
        laws.law_sequence,
        "KernelDiscriminant learned",
        FittedKernels,
        "weighed_by",
        # earlier rows, which are among these, are counted again
        lambda right: lambda self, logs, weight: right(self, logs + self.log_weight, weight),
    ),
    (laws.law_units, "KernelDiscriminant", guesses, "completed", scales_kernels_by_one),
    (laws.law_story, "KernelDiscriminant", KernelDiscriminant, "log_likelihood", counts_rows_once),
    (laws.law_addition, "Family gamma", Values, "__add__", adds_the_first_column_only),
    (laws.law_weight, "Family counts", Family, "statistics", ignores_weights),
    (laws.law_weight, "KernelDensity", KernelDensity, "statistics", takes_missing_for_zero),
    (laws.law_story, "Family counts", Family, "log_likelihood", counts_a_value_once),
    (laws.law_story, "Family gamma", Family, "log_likelihood", scores_fillers_too),
    (laws.law_total, "Family gamma", family, "log_density", scores_logarithms_without_their_slope),
    *(
        (laws.law_outside, name, family, "log_density", takes_an_impossible_cell_for_a_typical_one)
        for name in ("Family gamma", "Family counts")
    ),
    (laws.law_marginal, "Family counts", family, "log_density", fills_missing_values_with_ones),
    (
        laws.law_total,
        "KernelDensity",
        plug_in,
        "log_densities",
        forgets_that_a_wide_kernel_is_low,
    ),
    (laws.law_units, "KernelDensity", density, "rule_of_thumb", guesses_a_bandwidth_of_one),
    (laws.law_marginal, "KernelDensity", KernelDensity, "predictive", looks_at_missing_values),
    (laws.law_marginal, "KernelDensity", KernelDensity, "take", keeps_the_first_columns),
    (
        laws.law_total,
        "KernelDensity learned",
        joint,
        "log_sums",
        measures_by_the_first_bandwidth,
    ),
    (
        laws.law_marginal,
        "KernelDensity learned",
        KernelDensity,
        "predictive",
        looks_at_missing_values,
    ),
]
