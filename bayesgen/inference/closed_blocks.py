"""Draws from the closed forms of some blocks, where others have to be sampled.

Given the labels the posterior is a product over the blocks and the class probabilities,

    p(probs, theta_1, ..., theta_B given x, y) = p(probs given y) prod_b p(theta_b given x_b, y),

since the likelihood of each block has parameters of its own, and missing cells of a joint block
depend on no other. Where only some blocks lack a closed form, a sampler therefore needs those
alone: the others and the class probabilities are drawn independently, and any pairing of the draws
is a draw of all. Fewer dimensions are easier to sample, and averages over exact draws have no
autocorrelation.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.inference.draws import by_chain
from bayesgen.inference.missing import missing_cells
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Params


def closed_blocks(model: Model, statistics: ModelStatistics) -> set[str]:
    """Return the names of the blocks with a closed form, given which cells are missing."""
    return {
        name
        for name, part in model.blocks.items()
        if part.conjugate and missing_cells(part, statistics.blocks[name]) is None
    }


def without_closed(model: Model, statistics: ModelStatistics, closed: set[str]) -> Model:
    """Return the model of the blocks left to sample, with class probabilities known.

    Which probabilities these are does not matter to the posterior of the blocks.
    """
    left = model.only(set(model.blocks) - closed)
    probs = model.classes.posterior(statistics.count).probs
    classes = dataclasses.replace(model.classes, probs=probs, rows=np.inf)
    return Model(classes, left.blocks)


def chains_of_draws(
    posterior: Model, rng: np.random.Generator, shape: tuple[int, int]
) -> dict[str, Params]:
    """Return independent draws of all parameters, by owner, each (chain, draw, ...)."""
    size = shape[0] * shape[1]
    drawn = {name: part.draw(rng, size) for name, part in posterior.closed_forms.items()}
    return by_chain({"class": posterior.classes.draw(rng, size), **drawn}, shape)


def numbers(model: Model, statistics: ModelStatistics, closed: set[str]) -> dict[str, Mapping]:
    """Return the arrays of priors and statistics that the draws of closed blocks rest on."""
    return {
        name: {"prior": part.arrays(), "statistics": statistics.blocks[name].arrays()}
        for name, part in model.only(closed).blocks.items()
    }
