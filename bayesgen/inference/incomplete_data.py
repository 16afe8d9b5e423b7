"""Incomplete rows in joint blocks: the interface of families without a closed form for them.

Where columns are independent given the class, a missing cell has weight zero and the closed form
holds. A joint family whose closed form needs complete rows registers its `IncompleteData` with
`missing_cells`.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.errors import UnsupportedInference
from bayesgen.inference.newton import OptimumReport
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Block, Labels, Params, Weights

STILL = 1e-3
"""Relative change of every parameter at which EM stops: far below the width of any posterior."""

LogWeights = Callable[[Params], Float[np.ndarray, "draw independent"]]
"""The log importance weights of draws of the parameters."""


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
    def mode(self) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior given the observed cells (see `Likelihood.mode`)."""

    @abc.abstractmethod
    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield the parameters of all chains, each of shape (chain, ...), at every step.

        A step fills rows at random given the parameters, then draws parameters given the filled
        rows: its stationary distribution is the posterior given the observed cells.
        """

    def step(self, params: Params, rng: np.random.Generator) -> Params:
        """Return the parameters of all chains after one step of `gibbs` from given ones."""
        raise UnsupportedInference.because(
            "sampling of labels",
            "incomplete rows of this family have no single step",
            "Leave it out.",
        )

    @abc.abstractmethod
    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return the scalars of draws (chain, draw, ...) used for convergence diagnostics."""

    @abc.abstractmethod
    def expected(self) -> tuple[Statistics, OptimumReport]:
        """Return expected statistics of the filled rows, given the observed cells and the mode."""

    @property
    def center(self) -> Params:
        """The parameters at which `expected` fills rows: the mode."""
        return self.mode()[0]

    @abc.abstractmethod
    def filled(self, params: Params) -> Statistics:
        """Return expected statistics of the filled rows, given the observed cells and params."""

    @abc.abstractmethod
    def log_importance(self, centre: Params) -> LogWeights:
        """Return theta -> log p(observed cells given theta) - log p(`filled(centre)` given theta).

        Up to constants: the logarithms of the importance weights of draws theta from the posterior
        given `filled(centre)`. One column for each class, or one of all classes where they share
        parameters: what is independent a posteriori has weights of its own.
        """

    def expected_statistics_per_row(
        self, x: Block, y: Labels, weight: Weights, params: Params
    ) -> Statistics:
        """Return the terms of `filled` for each of some rows, with rows in place of classes."""
        raise UnsupportedInference.because(
            "leave-one-out", "incomplete rows of this family have no expected part", "Leave it out."
        )


def em(data: IncompleteData, start: Params, steps: int) -> Params:
    """Return the parameters after some steps of EM toward the mode, fewer if these come to rest."""
    params = start
    for _ in range(steps):
        before, params = params, data.likelihood.posterior(data.filled(params)).mode()
        if all(np.allclose(v, before[name], rtol=STILL, atol=0.0) for name, v in params.items()):
            break
    return params


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


def any_missing(model: Model, statistics: ModelStatistics) -> bool:
    """Return whether missing values preclude the closed form of any block."""
    blocks = model.blocks.items()
    return any(missing_cells(part, statistics.blocks[name]) is not None for name, part in blocks)


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of incomplete rows.

    They locate and scale the posterior for samplers and optimizers; results do not depend on them.
    """
    return expected_statistics(model, statistics)[0]


def expected_statistics(
    model: Model, statistics: ModelStatistics
) -> tuple[ModelStatistics, dict[str, OptimumReport]]:
    """Return the same statistics, and reports of the mode searches of incomplete blocks."""
    blocks, accounts = dict(statistics.blocks), {}
    for name, part in model.blocks.items():
        found = missing_cells(part, statistics.blocks[name])
        if found is not None:
            blocks[name], accounts[name] = found.expected()
    return ModelStatistics(statistics.count, blocks), accounts
