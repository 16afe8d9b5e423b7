"""What single draws of the parameters say of rows whose cells are shown one by one."""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from bayesgen import diagnose
from bayesgen.explain.showing import Score
from bayesgen.inference import Draws, Posterior, PowerPosterior, Stacked
from bayesgen.typing import Encoded

Drawn = tuple[Score, int, np.ndarray | float]
"""A score with an axis of draws, their number, and what power each draw's evidence has."""


def drawn(posterior: Posterior, rng: np.random.Generator, n: int) -> Drawn:
    """Return the log joint given every draw: n of a closed form, or those of a sampler.

    Of a stack every draw is one of a member's, and members have as many as their weights ask for:
    n draws of "which member, and its parameters".
    """
    if isinstance(posterior, PowerPosterior):
        score, size, powers = drawn(posterior.base, rng, n)
        return score, size, powers * drawn_powers(posterior, size)
    if isinstance(posterior, Stacked):
        return _of_members(posterior, rng, n)
    draws = diagnose.draws_of(posterior, rng, n)
    return each_draw(draws), int(np.prod(draws.shape)), 1.0


def each_draw(draws: Draws) -> Score:
    """Return the log joint given every draw, (row, draw, class)."""

    def score(encoded: Encoded, n_rows: int) -> np.ndarray:
        parts = list(draws.joint_draws(encoded, n_rows))
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        return np.concatenate([joint for _, joint in parts])[order]

    return score


def drawn_powers(posterior: PowerPosterior, n: int) -> Float[np.ndarray, " draw"]:
    """Return a power for each of n draws, by their weight."""
    place = (np.arange(n) * 0.6180339887498949) % 1  # evenly spread, in no order
    return posterior.powers[np.searchsorted(posterior.weights.cumsum()[:-1], place)]


def _of_members(posterior: Stacked, rng: np.random.Generator, n: int) -> Drawn:
    counts = dealt(posterior.weights, n)
    members = zip(posterior.members.items(), counts, strict=True)
    scores, powers = {}, []
    for (name, member), count in members:
        if not count:
            continue
        story = member.base if isinstance(member, PowerPosterior) else member
        scores[name] = each_draw(_exactly(diagnose.draws_of(story, rng, int(count)), int(count)))
        own = (
            drawn_powers(member, int(count))
            if isinstance(member, PowerPosterior)
            else np.ones(count)
        )
        powers.append(own)

    def score(encoded: Encoded, n_rows: int) -> np.ndarray:
        rows = posterior.by_member(encoded)
        return np.concatenate([ask(rows[name], n_rows) for name, ask in scores.items()], axis=1)

    return score, n, np.concatenate(powers)


def dealt(weights: Float[np.ndarray, " member"], n: int) -> Int[np.ndarray, " member"]:
    """Return how many of n each weight asks for; the largest remainders are rounded up.

    Examples:
        >>> dealt(np.array([0.5, 0.3, 0.2]), 9).tolist()
        [4, 3, 2]
    """
    wanted = weights / weights.sum() * n
    counts = np.floor(wanted).astype(int)
    counts[np.argsort(counts - wanted, kind="stable")[: n - counts.sum()]] += 1
    return counts


def _exactly(draws: Draws, n: int) -> Draws:
    """Return n draws of a posterior, evenly spread over those it has; a point estimate n times."""
    size = int(np.prod(draws.shape))
    if size == n:
        return draws
    at = np.arange(n) * size // n
    params = {
        owner: {key: value.reshape(size, *value.shape[2:])[at][None] for key, value in own.items()}
        for owner, own in draws.params.items()
    }
    return dataclasses.replace(draws, params=params, sample_stats={})
