"""Members with weights, such as priors of one family by their evidence: draws of one at a time."""

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float, Int

from bayesgen.typing import Block, Joint, Params

DensityDraws = Callable[[Block, np.ndarray], np.ndarray]
"""(x, own) -> log densities under draws updated by each row: `log_density_draws_given_row`."""


def shuffled(draws: Sequence[Params], order: Int[np.ndarray, " draw"]) -> Params:
    """Return the draws of all members by parameter, in an order of their positions."""
    return {name: np.concatenate([each[name] for each in draws])[order] for name in draws[0]}


def of_one_each(
    log_weight: Sequence[float] | np.ndarray,
    predictives: Sequence[Callable[[Block], Joint]],
    draws: Sequence[DensityDraws],
    level: Float[np.ndarray, "draw 1"],
) -> DensityDraws:
    """Return densities of which each draw and row has a member of its own.

    A row multiplies the weights by the members' p(x given its class); level, from 0 to 1, is where
    a draw stands among the cumulated weights.
    """

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        each = [w + score(x) for w, score in zip(log_weight, predictives, strict=True)]
        logs = np.stack(np.broadcast_arrays(*each))
        total = np.logaddexp.reduce(logs, axis=0)
        # a row that is impossible under every member is so under any of them
        weight = np.exp(logs - np.where(np.isneginf(total), 0.0, total))
        steps = weight.cumsum(axis=0)[:-1, np.arange(len(x)), own]
        which = (level >= steps).sum(axis=0)
        out = np.empty((*own.shape, weight.shape[2]))
        for i, density in enumerate(draws):
            rows = np.flatnonzero((which == i).any(axis=0))
            if len(rows):
                part = density(x[rows], own[:, rows])
                out[:, rows] = np.where((which[:, rows] == i)[..., None], part, out[:, rows])
        return out

    return log_density
