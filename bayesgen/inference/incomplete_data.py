"""Incomplete rows in a joint block: what stands in for the closed form of complete rows.

In naive blocks a missing cell weighs zero and nothing stands in the way of a closed form. A joint
family whose closed form needs complete rows registers an `IncompleteData` with `missing_cells`.
"""

import abc
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.errors import UnsupportedInference
from bayesgen.inference.newton import OptimumReport
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Block, Labels, Params, Weights


class IncompleteData(abc.ABC):
    """A completed likelihood and statistics of incomplete rows.

    No row is dropped and none is filled once and for all: maximum likelihood, mode and Gibbs steps
    are exact, under a conjugate prior or none.
    """

    @abc.abstractmethod
    def maximum_likelihood(
        self, *, bias_corrected: bool, variance_floor: float
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return the parameters of greatest likelihood of what was observed."""

    @abc.abstractmethod
    def mode(self) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior given what was observed (see `Likelihood.mode`)."""

    @abc.abstractmethod
    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield parameters of all chains, each of shape (chain, ...), step by step for ever.

        A step fills rows at random given the parameters, and draws parameters given the filled
        rows: the posterior given what was observed is what it leaves as it is.
        """

    @abc.abstractmethod
    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return the numbers, of draws (chain, draw, ...), by which chains are compared."""

    @abc.abstractmethod
    def expected(self) -> tuple[Statistics, OptimumReport]:
        """Return expected statistics of the filled rows, given what was observed and the mode."""

    def expected_statistics_per_row(self, x: Block, y: Labels, weight: Weights) -> Statistics:
        """Return what `expected` adds for each of some rows, which stand in place of classes."""
        raise UnsupportedInference.because(
            "leave-one-out", "incomplete rows of this family have no expected part", "Leave it out."
        )


@functools.singledispatch
def missing_cells(likelihood: Likelihood, statistics: Statistics) -> IncompleteData | None:
    """Return what stands in for the closed form, or None where nothing is missing."""
    return None


def any_missing(model: Model, statistics: ModelStatistics) -> bool:
    """Return whether missing values stand in the way of the closed form of any block."""
    blocks = model.blocks.items()
    return any(missing_cells(part, statistics.blocks[name]) is not None for name, part in blocks)


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of incomplete rows.

    They say where the posterior sits and how wide it is, for samplers and optimisers; no answer is
    computed from them.
    """
    return expected_statistics(model, statistics)[0]


def expected_statistics(
    model: Model, statistics: ModelStatistics
) -> tuple[ModelStatistics, dict[str, OptimumReport]]:
    """Return the same, and for every block that has such rows how the search for its mode ended."""
    blocks, accounts = dict(statistics.blocks), {}
    for name, part in model.blocks.items():
        found = missing_cells(part, statistics.blocks[name])
        if found is not None:
            blocks[name], accounts[name] = found.expected()
    return ModelStatistics(statistics.count, blocks), accounts
