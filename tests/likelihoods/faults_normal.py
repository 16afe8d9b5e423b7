"""Wrong programs about structured normals: (law, case, owner, attribute, wrong)."""

import laws
import numpy as np
from faults_alike import leaves_out_rows_with_missing_values, updates_another_class

from bayesgen.likelihoods import (
    SphericalNormal,
    spherical_normal,
)
from bayesgen.likelihoods.multivariate_normal import density
from bayesgen.likelihoods.normal_densities import student_t


def counts_a_row_as_one_cell(right):
    def wrong(self, statistics):
        after = right(self, statistics)
        squares = after.variance_rows * after.variance
        rows = statistics.count.max(axis=1, keepdims=True)
        cells = self.variance_rows + (rows.sum() if len(squares) == 1 else rows)
        return after.with_arrays({"variance_rows": cells, "variance": squares / cells})

    return wrong


def forgets_how_many_rows_came_before(right):
    def wrong(self, statistics):
        return right(self, statistics).with_arrays({"mean_rows": statistics.count + 1.0})

    return wrong


def scores_every_column_by_its_own_t(right):
    def wrong(self):
        scale2 = self.variance * (1 + 1 / self.mean_rows)
        degrees = np.broadcast_to(self.variance_rows, self.mean.shape)
        return student_t(self.mean, scale2, degrees)

    return wrong


def forgets_that_columns_share_the_variance(right):
    def wrong(self):
        cells = self.variance_rows
        return {"mean": self.mean, "variance": cells * self.variance / (cells + 1)}

    return wrong


def divides_squares_by_rows(right):
    def wrong(self, statistics, **options):
        best, findings = right(self, statistics, **options)
        return {**best, "variance": best["variance"] * statistics.mean.shape[1]}, findings

    return wrong


def draws_one_noise_for_all_columns(right):
    def wrong(self, rng, n):
        drawn = right(self, rng, n)
        z = (drawn["mean"] - self.mean)[..., :1] * np.sqrt(self.mean_rows[:, :1] / self.mean_rows)
        return {**drawn, "mean": self.mean + z}

    return wrong


def fills_missing_values_with_the_mean(right):
    def wrong(centre, *rest):
        score = right(centre, *rest)
        return lambda x: score(np.where(np.isnan(x), centre.mean(axis=0), x))

    return wrong


def guesses_a_variance_of_one(right):
    def wrong(self, statistics):
        done = right(self, statistics)
        return done.with_arrays({"variance": np.ones_like(done.variance)})

    return wrong


ROUND, ONE = "SphericalNormal", "SphericalNormal shared"
FAULTS = [
    (laws.law_sequence, ROUND, SphericalNormal, "posterior", forgets_how_many_rows_came_before),
    (laws.law_bayes, ONE, SphericalNormal, "posterior", counts_a_row_as_one_cell),
    (laws.law_bayes, ROUND, SphericalNormal, "predictive", scores_every_column_by_its_own_t),
    (laws.law_mode, ROUND, SphericalNormal, "mode", forgets_that_columns_share_the_variance),
    (laws.law_mode, ROUND, SphericalNormal, "maximum_likelihood", divides_squares_by_rows),
    (laws.law_average, ROUND, SphericalNormal, "draw", draws_one_noise_for_all_columns),
    (laws.law_update, ROUND, SphericalNormal, "log_density_draws_given_row", updates_another_class),
    (laws.law_total, ROUND, spherical_normal, "diagonal_t", fills_missing_values_with_the_mean),
    (laws.law_marginal, ONE, spherical_normal, "diagonal_t", fills_missing_values_with_the_mean),
    (laws.law_units, ROUND, SphericalNormal, "complete", guesses_a_variance_of_one),
    (
        laws.law_story,
        "MultivariateNormal lkj",
        density,
        "cells_log_likelihood",
        leaves_out_rows_with_missing_values,
    ),
]
