"""Wrong programs, one or more for every law, each a fault that somebody could well make.

`planted` names the law that must catch it, the case, and the method that it replaces; the function
gets the right method and returns the wrong one.
"""

from collections.abc import Callable

import faults_answers
import faults_rows
import faults_sums
import faults_table
import faults_words
import laws
import numpy as np
import pytest
from faults_alike import (
    ignores_weights,
    leaves_out_rows_with_missing_values,
    takes_missing_for_zero,
    updates_another_class,
    updates_nothing,
)

from bayesgen.likelihoods import Bernoulli, Categorical, MultivariateNormal, Normal, Poisson
from bayesgen.likelihoods.columnwise import Columnwise
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics, density
from bayesgen.likelihoods.normal_statistics import NormalStatistics

THEMES = (faults_rows, faults_table, faults_words, faults_sums, faults_answers)
FAULTS = [pytest.param(*fault, id=fault[-1].__name__) for theme in THEMES for fault in theme.FAULTS]


def planted(law: Callable, name: str, owner: object, attribute: str) -> Callable:
    """Register a fault: a function of the right method that returns a wrong one."""

    def register(wrong: Callable) -> Callable:
        FAULTS.append(pytest.param(law, name, owner, attribute, wrong, id=wrong.__name__))
        return wrong

    return register


planted(laws.law_weight, "Normal", Normal, "statistics")(ignores_weights)
planted(laws.law_weight, "Bernoulli", Bernoulli, "statistics")(takes_missing_for_zero)
for case in ("MultivariateNormal", "MultivariateNormal lkj"):
    planted(laws.law_story, case, density, "cells_log_likelihood")(
        leaves_out_rows_with_missing_values
    )
planted(laws.law_update, "Normal shared", Normal, "log_density_draws_given_row")(
    updates_another_class
)
planted(
    laws.law_update, "MultivariateNormal shared", MultivariateNormal, "log_density_draws_given_row"
)(updates_another_class)
planted(laws.law_update, "Bernoulli", Bernoulli, "log_density_draws_given_row")(updates_nothing)


@planted(laws.law_addition, "Normal", NormalStatistics, "__add__")
def forgets_the_scatter_between_the_means(right):
    def wrong(self, other):
        return right(self, other).with_arrays({"scatter": self.scatter + other.scatter})

    return wrong


@planted(laws.law_addition, "MultivariateNormal", MultivariateNormalStatistics, "__add__")
def adds_the_cells_of_one_part_only(right):
    def wrong(self, other):
        both = right(self, other)
        return both if len(both.cell_class) == 0 else both.with_arrays({"count": self.count})

    return wrong


@planted(laws.law_addition, "Categorical", Categorical, "statistics")
def averages_counts(right):
    def wrong(self, x, y, weight, **sizes):
        rows = right(self, x, y, weight, **sizes)
        return rows.with_arrays({"count": rows.count / max(len(x), 1)})

    return wrong


@planted(laws.law_weight, "Normal shared", Normal, "statistics")
def drops_rows_with_missing_values(right):
    def wrong(self, x, y, weight, **sizes):
        whole = ~np.isnan(x).any(axis=1)
        return right(self, x[whole], y[whole], weight[whole], **sizes)

    return wrong


@planted(laws.law_weight, "MultivariateNormal", MultivariateNormal, "statistics")
def imputes_the_mean(right):
    def wrong(self, x, y, weight, **sizes):
        filled = np.where(np.isnan(x), np.nansum(x, axis=0) / max(len(x), 1), x)
        return right(self, filled, y, weight, **sizes)

    return wrong


@planted(laws.law_sequence, "Normal", Normal, "posterior")
def forgets_how_many_rows_came_before(right):
    def wrong(self, statistics):
        after = right(self, statistics)
        return after.with_arrays({"mean_rows": statistics.count + 1.0})

    return wrong


@planted(laws.law_story, "Normal", NormalStatistics, "total_features")
def divides_by_n_minus_one(right):
    def wrong(self):
        thin = self.scatter * self.count / np.maximum(self.count - 1, 1)
        return right(self.with_arrays({"scatter": thin}))

    return wrong


@planted(laws.law_story, "Categorical", Categorical, "log_density_fn")
def scores_the_neighbour_of_a_level(right):
    return lambda self, params: right(self, {"probs": np.roll(params["probs"], 1, axis=-1)})


@planted(laws.law_bayes, "Normal", Normal, "log_evidence")
def drops_a_gamma_term(right):
    def wrong(self, statistics):
        return right(self, statistics) - float(np.log(statistics.count.sum()))

    return wrong


@planted(laws.law_bayes, "MultivariateNormal", MultivariateNormal, "posterior")
def forgets_the_pull_of_the_guess(right):
    def wrong(self, statistics):
        after = right(self, statistics)
        mean = np.where(statistics.count[:, None] > 0, statistics.mean, self.mean)
        return after.with_arrays({"mean": mean})

    return wrong


@planted(laws.law_bayes, "Normal shared", Normal, "story")
def takes_a_variance_for_a_deviation(right):
    def wrong(self, name):
        return right(self.with_arrays({"mean_rows": self.mean_rows**2}), name)

    return wrong


@planted(laws.law_bayes, "Poisson", Poisson, "program_priors")
def takes_a_rate_for_a_number_of_rows(right):
    return {"rate": "dist.Gamma(rows * rate, rate)"}


@planted(laws.law_bayes, "Bernoulli", Bernoulli, "log_evidence")
def counts_the_orders_of_rows(right):
    return lambda self, rows: right(self, rows) + float(np.log(next(iter(rows)) + 1).sum())


@planted(laws.law_mode, "Normal shared", Normal, "mode")
def forgets_that_classes_share_the_variance(right):
    def wrong(self):
        rows = self.variance_rows
        return {"mean": self.mean, "variance": rows * self.variance / (rows + 1)}

    return wrong


@planted(laws.law_mode, "Categorical", Categorical, "mode")
def takes_the_mode_of_the_simplex(right):
    def wrong(self):
        less = np.maximum(self.concentration() - 1, 1e-9)
        parts = np.split(less, [2, 5], axis=1)
        return {"probs": np.concatenate([p / p.sum(axis=1, keepdims=True) for p in parts], 1)}

    return wrong


@planted(laws.law_mode, "MultivariateNormal", MultivariateNormal, "log_scale_free_jacobian")
def turns_the_jacobian_upside_down(right):
    def wrong(self, params):
        logs = np.log(np.diagonal(params["cholesky"], axis1=-2, axis2=-1))
        return (np.arange(logs.shape[-1], 0, -1) * logs).sum()

    return wrong


@planted(laws.law_mode, "MultivariateNormal shared", MultivariateNormal, "maximum_likelihood")
def corrects_a_bias_unasked(right):
    return lambda self, rows: right(self, rows, bias_corrected=True)


@planted(laws.law_average, "Normal", Normal, "draw")
def draws_the_mean_only(right):
    def wrong(self, rng, n):
        drawn = right(self, rng, n)
        return drawn | {"variance": np.broadcast_to(self.variance, drawn["variance"].shape)}

    return wrong


@planted(laws.law_average, "Normal", Normal, "log_density_draws_given_row")
def averages_conditional_probabilities(right):
    """The draws of the posterior itself: the mean of p(y given x, theta) is another number."""
    return lambda self, rng, n: (
        lambda x, own: np.swapaxes(self.log_density_fn(self.draw(rng, n))(x), 0, 1)
    )


@planted(laws.law_total, "Normal", Normal, "predictive")
def forgets_the_uncertain_mean_in_the_constant(right):
    def wrong(self):
        score, wide = right(self), np.log1p(1 / self.mean_rows) / 2
        return lambda x: score(x) + (~np.isnan(x)) @ wide.T

    return wrong


@planted(laws.law_total, "Categorical", Categorical, "posterior")
def pools_denominators(right):
    """All columns take the number of rows of the first."""

    def wrong(self, statistics):
        after, own = right(self, statistics), self.rows + statistics.per_column()
        ratio = np.repeat(own / own[:, :1], self.n_levels, axis=1)
        return after.with_arrays({"probs": after.probs * ratio})

    return wrong


@planted(laws.law_total, "MultivariateNormal lkj", MultivariateNormal, "log_density_fn")
def forgets_half_of_the_log_determinant(right):
    def wrong(self, params):
        score = right(self, params)
        logs = np.log(np.diagonal(params["cholesky"], axis1=-2, axis2=-1)).sum(-1)
        return lambda x: score(x) + logs / 2

    return wrong


@planted(laws.law_units, "Normal", NormalStatistics, "pooled")
def guesses_a_variance_of_one(right):
    return lambda self: (right(self)[0], np.ones_like(right(self)[1]))


@planted(laws.law_units, "MultivariateNormal", MultivariateNormal, "predictive")
def adds_a_ridge(right):
    def wrong(self):
        return right(self.with_arrays({"scale": self.scale + 1e-3 * np.eye(3)}))

    return wrong


@planted(laws.law_units, "Bernoulli", Bernoulli, "complete")
def guesses_few_ones(right):
    def wrong(self, statistics):
        return right(self, statistics).with_arrays({"prob": np.full((3, 3), 0.1)})

    return wrong


@planted(laws.law_guesses, "Normal", Columnwise, "hyperparameters")
def checks_strengths_and_scales_alone(right):
    def wrong(self):
        return {n: r for n, r in right.fget(self).items() if n not in self.location_params}

    return property(wrong)


@planted(laws.law_marginal, "MultivariateNormal", MultivariateNormal, "predictive")
def fills_missing_values_with_the_mean(right):
    def wrong(self):
        score = right(self)
        return lambda x: score(np.where(np.isnan(x), self.mean.mean(axis=0), x))

    return wrong


@planted(laws.law_marginal, "MultivariateNormal", MultivariateNormal, "take")
def conditions_instead_of_marginalising(right):
    def wrong(self, axis, index):
        part, precision = right(self, axis, index), np.linalg.inv(self.scale)
        return part.with_arrays({"scale": np.linalg.inv(precision[:, index][:, :, index])})

    return wrong


@planted(laws.law_marginal, "Categorical", Categorical, "log_density_fn")
def takes_missing_for_the_first_level(right):
    def wrong(self, params):
        score = right(self, params)
        return lambda x: score(np.maximum(x, 0))

    return wrong
