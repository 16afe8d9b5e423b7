"""Wrong posteriors, of every likelihood one or more: (subject, owner, attribute, wrong).

The functions get the right method and return the wrong one; see tests/likelihoods/faults.py.
"""

import faults
import faults_table
import faults_words
import numpy as np
from scipy.special import gammaln

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import (
    Bernoulli,
    Categorical,
    JointCategorical,
    Multinomial,
    MultivariateNormal,
    Normal,
    Poisson,
)
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture


def divides_by_n_minus_one(right):
    def wrong(self, statistics):
        thick = statistics.scatter * statistics.count / np.maximum(statistics.count - 1, 1)
        return right(self, statistics.with_arrays({"scatter": thick}))

    return wrong


def counts_rows_twice(right):
    return lambda self, statistics: right(right(self, statistics), statistics)


def counts_one_class_only(right):
    """The shared variance learns from the rows of the first class."""

    def wrong(self, statistics):
        after, fewer = right(self, statistics), statistics.count[1:].sum(axis=0)
        return after.with_arrays({"variance_rows": after.variance_rows - fewer})

    return wrong


def counts_one_class_only_in_the_degrees(right):
    def wrong(self, statistics):
        return right(self, statistics).with_arrays(
            {"covariance_rows": self.covariance_rows + statistics.count[:1]}
        )

    return wrong


def knows_the_mean_no_better(right):
    return lambda self, statistics: right(self, statistics).with_arrays(
        {"mean_rows": self.mean_rows}
    )


def adds_one_to_every_level(right):
    def wrong(self, statistics):
        return right(self, statistics.with_arrays({"count": statistics.count + 1}))

    return wrong


def forgets_how_many_rows_the_guess_is_strength(right):
    """In the denominator: (rows rate + total) / n."""

    def wrong(self, statistics):
        after = right(self, statistics)
        more = after.rows / np.maximum(after.rows - self.rows, 1)
        return after.with_arrays({"rate": after.rate * more})

    return wrong


def forgets_the_guess(right):
    """Half a row instead of the rows that the guess is worth."""
    return lambda self, statistics: right(
        self.with_arrays({"rows": np.full_like(self.rows, 0.5)}), statistics
    )


def weighs_members_evenly(right):
    return lambda self, statistics: self.log_weight


def drops_a_gamma_term(right):
    def wrong(self, statistics):
        rows = self.variance_rows + statistics.count
        return right(self, statistics) - gammaln(rows / 2).sum()

    return wrong


DISCRETE = ("Categorical", "Bernoulli", "Poisson")
FAULTS = [
    ("Poisson", Poisson, "posterior", forgets_how_many_rows_the_guess_is_strength),
    ("Normal", Normal, "draw", faults.draws_the_mean_only),
    ("Normal", Normal, "posterior", divides_by_n_minus_one),
    ("Normal shared", Normal, "posterior", counts_one_class_only),
    ("MultivariateNormal", MultivariateNormal, "posterior", knows_the_mean_no_better),
    (
        "MultivariateNormal shared",
        MultivariateNormal,
        "posterior",
        counts_one_class_only_in_the_degrees,
    ),
    ("Categorical", Categorical, "posterior", adds_one_to_every_level),
    ("Bernoulli", Bernoulli, "posterior", forgets_the_guess),
    ("Multinomial", Multinomial, "posterior", faults_words.divides_by_texts),
    ("JointCategorical", JointCategorical, "draw", faults_table.draws_the_centre),
    ("KernelDensity", ClassPrior, "posterior", counts_rows_twice),
    ("Normal, prior strengths", Normal, "log_evidence", drops_a_gamma_term),
    (
        "MultivariateNormal, prior strengths",
        HyperparameterMixture,
        "_evidences",
        weighs_members_evenly,
    ),
    *(
        (f"{name}, prior strengths", HyperparameterMixture, "_evidences", weighs_members_evenly)
        for name in DISCRETE
    ),
]
