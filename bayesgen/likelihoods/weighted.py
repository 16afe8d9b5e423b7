"""Members with weights, such as priors of one family by their evidence: draws of one at a time."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.typing import Params


def shuffled(draws: Sequence[Params], order: Int[np.ndarray, " draw"]) -> Params:
    """Return the draws of all members by parameter, in an order of their positions."""
    return {name: np.concatenate([each[name] for each in draws])[order] for name in draws[0]}


def density_of_one_each(
    densities: Sequence[Callable[[Int[np.ndarray, " some"]], Float[np.ndarray, "draw some class"]]],
    weight: Float[np.ndarray, "member row class"],
    level: Float[np.ndarray, "draw 1"],
    own: Int[np.ndarray, "draw row"],
) -> Float[np.ndarray, "draw row class"]:
    """Return the log density of each draw and row under a member of its own, picked by weight.

    Args:
        densities: of each member: positions of rows -> log density of every draw.
        weight: of the members given a row, and its class.
        level: of each draw, from 0 to 1: where it stands among the cumulated weights.
        own: the class of each row in each draw.
    """
    steps = weight.cumsum(axis=0)[:-1, np.arange(own.shape[1]), own]
    which = (level >= steps).sum(axis=0)
    out = np.empty((*own.shape, weight.shape[2]))
    for member, density in enumerate(densities):
        rows = np.flatnonzero((which == member).any(axis=0))
        if len(rows):
            picked = (which[:, rows] == member)[..., None]
            out[:, rows] = np.where(picked, density(rows), out[:, rows])
    return out
