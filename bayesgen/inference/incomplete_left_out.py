"""Leave-one-out of incomplete rows: cells are expected given parameters that do not know the row.

Incomplete rows count by their expected statistics, and those of a left-out row are subtracted. At
the mode of all rows the expected cells of the other rows would still rest on the row: with a
covariance for each class and few rows per column it would be predicted far too well. Rows are
therefore dealt to folds, and each fold has prior guesses and parameters without its rows.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from bayesgen.inference.incomplete_data import IncompleteData, em, missing_cells
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.typing import Block, Joint, Labels, Params, Weights

FOLDS = 10
STEPS = 5
"""Steps of EM without a fold, from the mode of all rows. Of 200 rows of 20 columns with 30 % of the
cells missing a class-specific normal had a score of .8 nats without them, and of 1.6 on new rows.
"""
SAME = 1e-6
"""Difference of distances that counts as rounding, so that folds are the same for rows in another
order or other units."""


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteLeftOut:
    """Scores of rows that are left out one at a time, where some rows are incomplete.

    data: the inference from all rows. x, y, weight: these rows.
    completed: rows and their weights -> the prior that they complete, and their statistics.
    """

    data: IncompleteData
    x: Block
    y: Labels
    weight: Weights
    completed: Callable[[Int[np.ndarray, " some"], Weights], tuple[Likelihood, Statistics]]

    def scores(self, some: Int[np.ndarray, " some"], away: Weights) -> Joint:
        """Return log p(x_i given y = k, the rows without i) of some rows.

        away: how much of its weight each of them loses.
        """
        n_classes, folds = len(self.data.center["mean"]), self.folds[some]
        out = np.empty((len(some), n_classes))
        for fold in np.unique(folds).tolist():
            at = np.flatnonzero(folds == fold)
            x, y = self.x[some[at]], self.y[some[at]]
            prior, params, filled = self._without[fold]
            alone = self.data.expected_statistics_per_row(x, y, away[at], params)
            out[at] = prior.log_predictive_updated(filled.without_each(alone, y), x)
        return out

    @functools.cached_property
    def folds(self) -> Int[np.ndarray, " row"]:
        """The fold of each row: rows of a class in turn, by their distance from its center.

        Distances are those of log densities, which depend neither on the order of rows and columns
        nor on units. Equal rows are in one fold.
        """
        filled, _ = self.data.expected()
        score, own = self.data.likelihood.posterior(filled).predictive(), np.arange(len(self.y))
        center = np.where(np.isnan(self.x), np.nan, self.data.center["mean"][self.y])
        distance = (score(center) - score(self.x))[own, self.y]
        out = np.zeros(len(self.y), dtype=int)
        for k in np.unique(self.y).tolist():
            rows = np.flatnonzero(self.y == k)
            order = rows[np.argsort(distance[rows], kind="stable")]
            out[order[1:]] = np.cumsum(np.diff(distance[order]) > SAME) % FOLDS
        return out

    @functools.cached_property
    def _without(self) -> dict[int, tuple[Likelihood, Params, Statistics]]:
        """Of each fold: prior and parameters without it, expected statistics of all rows."""
        out = {}
        for fold in np.unique(self.folds).tolist():
            rest = np.flatnonzero(self.folds != fold)
            prior, statistics = self.completed(rest, self.weight[rest])
            part = dataclasses.replace(self.data, statistics=statistics)
            params = em(missing_cells(prior, statistics) or part, self.data.center, STEPS)
            out[fold] = prior, params, self.data.filled(params)
        return out
