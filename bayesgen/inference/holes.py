"""Rows with missing cells in a joint block: what each family does about them, and who asks.

In naive blocks a missing cell weighs zero and nothing stands in the way of a closed form. A joint
family whose closed form needs complete rows registers with `holes` what stands in for it.
"""

import abc
import functools

import numpy as np

from bayesgen.errors import UnsupportedInference
from bayesgen.inference.newton import OptimumReport
from bayesgen.likelihoods import Finding, Likelihood, Statistics
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Block, Labels, Params, Weights


class Holes(abc.ABC):
    """A completed likelihood and statistics of rows with holes: everything that needs no more.

    No row is dropped and none is filled once and for all. The first three need a conjugate prior or
    none; every one of them takes the holes into account exactly.
    """

    @abc.abstractmethod
    def maximum_likelihood(
        self, *, bias_corrected: bool, variance_floor: float
    ) -> tuple[Params, list[Finding], OptimumReport]:
        """Return the parameters of greatest likelihood of what was observed."""

    @abc.abstractmethod
    def mode(self) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior given what was observed (see `Likelihood.mode`)."""

    @abc.abstractmethod
    def augment(
        self, rng: np.random.Generator, *, draws: int, warmup: int, chains: int
    ) -> tuple[Params, dict[str, float]]:
        """Return posterior draws (chain, draw, ...), their largest "r_hat" and least "ess_bulk".

        Rows are filled at random given the parameters, and parameters drawn given the filled rows,
        in turn.
        """

    @abc.abstractmethod
    def expected(self) -> tuple[Statistics, OptimumReport]:
        """Return expected statistics of the filled rows, given what was observed and the mode."""

    def expected_alone(self, x: Block, y: Labels, weight: Weights) -> Statistics:
        """Return what `expected` adds for each of some rows, which stand in place of classes."""
        raise UnsupportedInference.because(
            "leave-one-out", "rows with holes in this family have no expected part", "Leave it out."
        )


@functools.singledispatch
def holes(likelihood: Likelihood, statistics: Statistics) -> Holes | None:
    """Return what stands in for the closed form, or None where no hole is in its way."""
    return None


def any_holes(model: Model, statistics: ModelStatistics) -> bool:
    """Return whether holes stand in the way of the closed form of any block."""
    blocks = model.blocks.items()
    return any(holes(part, statistics.blocks[name]) is not None for name, part in blocks)


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of rows with holes.

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
        found = holes(part, statistics.blocks[name])
        if found is not None:
            blocks[name], accounts[name] = found.expected()
    return ModelStatistics(statistics.count, blocks), accounts
