"""Incomplete rows in joint blocks: expected statistics, EM, and rows that are left out.

Where columns are independent given the class, a missing cell has weight zero and the closed form
holds. A joint family whose closed form needs complete rows registers its `IncompleteData` with
`missing_cells`.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors import Words
from bayesgen.errors.operations import unsupported
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.protocols import CellDistribution, Conjugate, Mode, Vectorised, required
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Block, Joint, Labels, Params, Weights

STILL = 1e-5
"""Distance of a parameter from the mode at which EM is at rest, relative to a deviation or a
probability: far below the width of any posterior."""
STEPS = 200
"""Steps of EM before Newton's method goes on, which takes as long as some 300 (10,000 rows of 20
columns with 20 % of the cells missing, of which two depend on the others: EM needs 32 to 70)."""
FOLDS, STEPS_WITHOUT = 5, 5
"""Folds of rows that are left out, and steps of EM without each, from the center of all rows. Of
200 rows of 20 columns with 30 % of the cells missing a class-specific normal had a score of .8 nats
without these steps, and of 1.6 on new rows."""
SAME = 1e-6
"""Difference of distances that counts as rounding, so that folds are the same for rows in another
order or other units."""
LEFT_OUT_FLOATS = 500_000
"""Numbers in the statistics of all rows left out at once: 4 MB, which a third-level cache holds."""

STOPPED = Words(
    "The optimizer stopped before it converged: a column may hold too few observed cells; leave "
    "it out or use inference='exact'.",
    "The optimizer stopped before it converged: a column may hold too few observed cells; leave "
    "it out or use --inference exact.",
)

LogWeights = Callable[[Params], Float[np.ndarray, "draw independent"]]
"""The log importance weights of draws of the parameters."""


@dataclasses.dataclass(frozen=True)
class OptimumReport:
    """Report of the search for a mode or a maximum.

    converged: no step is expected to gain more than rounding. iterations: Newton steps.
    gradient_norm: of the log likelihood (or log posterior) of the observed cells, per row, in
    coordinates whitened by the covariance, or in log-odds. log_likelihood: of the observed cells,
    at the parameters returned.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    log_likelihood: float

    def details(self, block: str) -> dict[str, float]:
        """Return the entries of `Report.details`."""
        return {
            f"{block}.iterations": float(self.iterations),
            f"{block}.gradient_norm": float(self.gradient_norm),
            f"{block}.converged": float(self.converged),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteData(abc.ABC):
    """Inference from the statistics of incomplete rows under a completed likelihood.

    No row is dropped, and none is imputed by a single value: maximum likelihood, mode and Gibbs
    steps are exact, under a conjugate prior or none.

    likelihood: the completed prior. statistics: of rows, some incomplete.
    """

    likelihood: Likelihood
    statistics: Statistics

    @abc.abstractmethod
    def maximum_likelihood(
        self, *, bias_corrected: bool, variance_floor: float
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return the parameters of maximum likelihood given the observed cells."""

    @abc.abstractmethod
    def mode(self, start: Params | None = None) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior given the observed cells (see `Mode`).

        start: parameters near it, if any are known.
        """

    def settled(self, start: Params) -> tuple[Params, OptimumReport]:
        """Return the mode: EM comes to rest there, and Newton's method goes on where it is slow.

        start: parameters near it.
        """
        params, steps, distance = em(self, start, STEPS)
        if distance > STILL:
            return self.mode(params)
        one_draw = {name: value[None] for name, value in params.items()}
        height = float(self.likelihood.log_likelihood(one_draw, self.statistics)[0])
        return params, OptimumReport(
            converged=True, iterations=steps, gradient_norm=distance, log_likelihood=height
        )

    @abc.abstractmethod
    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield the parameters of all chains, each of shape (chain, ...), at every step.

        A step fills rows at random given the parameters, then draws parameters given the filled
        rows: its stationary distribution is the posterior given the observed cells.
        """

    def step(self, params: Params, rng: np.random.Generator) -> Params:
        """Return the parameters of all chains after one step of `gibbs` from given ones."""
        raise unsupported(
            "sampling of labels",
            "incomplete rows of this family have no single step",
            "Leave it out.",
        )

    @abc.abstractmethod
    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return the scalars of draws (chain, draw, ...) used for convergence diagnostics."""

    @property
    @abc.abstractmethod
    def center(self) -> Params:
        """The mode, at which `expected` fills rows."""

    @abc.abstractmethod
    def expected(self) -> tuple[Statistics, OptimumReport]:
        """Return expected statistics of the filled rows, given the observed cells and the mode."""

    @abc.abstractmethod
    def filled(self, params: Params) -> Statistics:
        """Return expected statistics of the filled rows, given the observed cells and params."""

    @abc.abstractmethod
    def change(self, before: Params, after: Params) -> float:
        """Return the largest change of a parameter, relative to a deviation or a probability."""

    @abc.abstractmethod
    def log_importance(self, centre: Params) -> LogWeights:
        """Return theta -> log p(observed cells given theta) - log p(`filled(centre)` given theta).

        Up to constants: the logarithms of the importance weights of draws theta from the posterior
        given `filled(centre)`. One column for each class, or one of all classes where they share
        parameters: what is independent a posteriori has weights of its own.
        """


def em(data: IncompleteData, start: Params, steps: int) -> tuple[Params, int, float]:
    """Return where some steps of EM toward the mode end, fewer if they come to rest.

    Changes shrink by the same factor r in the end: after a change c the mode is c r / (1 - r) away.

    Returns:
        the parameters, the number of steps, and the largest distance of a parameter from the mode.
    """
    params, change, distance, step = start, np.inf, np.inf, 0
    while step < steps and distance > STILL:
        posterior = required(data.likelihood, Conjugate).posterior(data.filled(params))
        before, params = params, required(posterior, Mode).mode()
        previous, change = change, data.change(before, params)
        step += 1
        if change == 0:
            distance = 0.0
        else:
            shrinks = change < previous < np.inf
            distance = change**2 / (previous - change) if shrinks else np.inf
    return params, step, distance


@functools.singledispatch
def missing_cells(likelihood: Likelihood, statistics: Statistics) -> IncompleteData | None:
    """Return the inference that replaces the closed form, or None if no cell is missing."""
    return None


@missing_cells.register(HyperparameterMixture)
def missing_cells_of_mixture(
    likelihood: HyperparameterMixture, statistics: Statistics
) -> IncompleteData | None:
    """Return the inference of the mixture's member of largest weight."""
    return missing_cells(likelihood.heaviest(), statistics)


def modes(model: Model, statistics: ModelStatistics) -> dict[str, Params]:
    """Return the mode of each block under a conjugate prior, given the observed cells.

    It is known where `expected_statistics` of the same statistics was asked before.
    """
    out = {}
    for name, likelihood in model.blocks.items():
        incomplete = missing_cells(likelihood, statistics.blocks[name])
        if incomplete is None:
            posterior = required(likelihood, Conjugate).posterior(statistics.blocks[name])
            out[name] = required(posterior, Mode).mode()
        else:
            out[name] = incomplete.center
    return out


def any_missing(model: Model, statistics: ModelStatistics) -> bool:
    """Return whether missing values preclude the closed form of any block."""
    return any(
        missing_cells(likelihood, statistics.blocks[name]) is not None
        for name, likelihood in model.blocks.items()
    )


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of incomplete rows.

    They locate and scale the posterior for samplers and optimizers; results do not depend on them.
    """
    return expected_statistics(model, statistics)[0]


def expected_statistics(
    model: Model, statistics: ModelStatistics, centers: Mapping[str, Params] | None = None
) -> tuple[ModelStatistics, dict[str, OptimumReport]]:
    """Return the statistics with expected ones in place of incomplete rows.

    Also returns the reports of the searches of modes, by incomplete block.

    centers: parameters at which cells are expected, by block; by default the mode.
    """
    blocks, reports = dict(statistics.blocks), {}
    for name, likelihood in model.blocks.items():
        incomplete = missing_cells(likelihood, statistics.blocks[name])
        if incomplete is not None and centers is not None:
            blocks[name] = incomplete.filled(centers[name])
        elif incomplete is not None:
            blocks[name], reports[name] = incomplete.expected()
    return ModelStatistics(statistics.count, blocks), reports


# -- rows that are left out ------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class LeftOut:
    """Scores of rows that are left out one at a time, where some rows are incomplete.

    Incomplete rows count by their expected statistics, and those of a left-out row are subtracted.
    At the mode of all rows the expected cells of the other rows would still rest on the row: with a
    covariance for each class and few rows per column it would be predicted far too well. Rows are
    therefore dealt to folds, and each fold has prior guesses and parameters without its rows.

    data: the inference from all rows. x, y, weight: these rows. judged: those left out in turn.
    completed: rows and their weights -> the prior that they complete, and their statistics.
    """

    data: IncompleteData
    x: Block
    y: Labels
    weight: Weights
    judged: Int[np.ndarray, " judged"]
    n_classes: int
    completed: Callable[[Int[np.ndarray, " kept"], Weights], tuple[Likelihood, Statistics]]

    def scores(self, away: Weights) -> Joint:
        """Return log p(x_i given y = k, the rows without i), shape (judged, class).

        away: how much of its weight each row loses, shape (row,).
        """
        folds = self.folds()
        out = np.empty((len(folds), self.n_classes))
        for fold in np.unique(folds).tolist():
            positions = np.flatnonzero(folds == fold)
            prior, filled, params = self._without(self.judged[positions])
            width = sum(np.size(getattr(filled, name)) for name in filled.axes)
            for chunk in row_chunks(len(positions), max(1, LEFT_OUT_FLOATS // width)):
                places = positions[chunk]
                rows = self.judged[places]
                out[places] = scored_without(
                    prior, filled, self.x[rows], self.y[rows], away[rows], params
                )
        return out

    def folds(self) -> Int[np.ndarray, " judged"]:
        """Return the fold of each row: rows of a class in turn, by their distance from its center.

        Distances are those of log densities, which depend neither on the order of rows and columns
        nor on units. Equal rows are in one fold.
        """
        x, y = self.x[self.judged], self.y[self.judged]
        params = self.data.center
        prior = required(self.data.likelihood, Conjugate)
        score = prior.posterior(self.data.filled(params)).log_predictive
        center = np.where(np.isnan(x), np.nan, params["mean"][y])
        distance = (score(center) - score(x))[np.arange(len(y)), y]
        out = np.zeros(len(y), dtype=int)
        for k in np.unique(y).tolist():
            rows = np.flatnonzero(y == k)
            order = rows[np.argsort(distance[rows], kind="stable")]
            out[order[1:]] = np.cumsum(np.diff(distance[order]) > SAME) % FOLDS
        return out

    def _without(self, fold: Int[np.ndarray, " fold"]) -> tuple[Likelihood, Statistics, Params]:
        """Return prior and parameters without a fold, and statistics of all rows by these.

        Returns:
            the prior, the statistics that are expected at the parameters, the parameters.
        """
        others = np.delete(np.arange(len(self.y)), fold)
        prior, statistics = self.completed(others, self.weight[others])
        data = missing_cells(prior, statistics)
        if data is None:  # no other row is incomplete
            data = dataclasses.replace(self.data, statistics=statistics)
        params = em(data, self.data.center, STEPS_WITHOUT)[0]
        return prior, self.data.filled(params), params


def scored_without(
    prior: Likelihood, filled: Statistics, x: Block, y: Labels, away: Weights, params: Params
) -> Joint:
    """Return the log predictive of each row by the others.

    Missing cells are integrated out, and so what a row loses there does not matter to it under one
    prior; it does to the weights of a mixture of priors, where it loses their expectation.

    Args:
        prior: completed.
        filled: statistics of all rows, with the expected ones of incomplete rows.
        x: rows to leave out, one at a time.
        y: their classes.
        away: how much of its weight each loses.
        params: at which missing cells are expected.
    """
    cells = np.nan_to_num(x)
    family = prior.components[0]
    mixed = len(prior.components) > 1 and np.isnan(x).any()
    if mixed and isinstance(family, CellDistribution):
        location, _, _ = family.conditional_given(params, x, y)
        cells = np.where(np.isnan(x), location, x)
    removed = prior.statistics_per_row(cells, away)
    return required(prior, Vectorised).log_predictive_updated(filled.without_each(removed, y), x)
