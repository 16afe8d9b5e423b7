"""Missing cells drawn given the observed ones and the class: what serves every family.

A family overrides `Likelihood.fill` or `Likelihood.fill_given` where it has a closed form.
"""

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from bayesgen.errors import UnsupportedInference
from bayesgen.likelihoods.row_chunks import row_chunks
from bayesgen.typing import Block, Labels, Params, Traceable

DRAWS = 1000
DENSITIES = 1_000_000
"""Log densities held at once: 8 MB."""


@runtime_checkable
class Fillable(Protocol):
    """What is asked of a likelihood here."""

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the parameters."""

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class)."""

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows filled given one draw of the parameters."""


def is_missing(x: Traceable) -> np.ndarray:
    """Return which cells of encoded rows are missing."""
    return np.isnan(x) if x.dtype.kind == "f" else x < 0


def resampled(family: Fillable, x: Block, own: Labels, rng: np.random.Generator) -> Block:
    """Fill rows given draws of the parameters that are picked by what the rows show."""
    params = family.draw(rng, DRAWS)
    score, out = family.log_density_fn(params), x.copy()
    draw = np.empty(len(x), dtype=int)
    for rows in row_chunks(len(x), max(1, DENSITIES // (DRAWS * len(np.unique(own))))):
        logs = score(x[rows])
        draw[rows] = picked(logs[np.arange(len(logs)), :, own[rows]], rng)
    for s in np.unique(draw):
        rows = np.flatnonzero(draw == s)
        one = {name: value[s] for name, value in params.items()}
        out[rows] = family.fill_given(one, x[rows], own[rows], rng)
    return out


def level_by_level(
    score: Callable[[Block], np.ndarray],
    n_levels: tuple[int, ...],
    x: Block,
    own: Labels,
    rng: np.random.Generator,
) -> Block:
    """Draw cell after cell, each from p(level given those before), by scoring every level."""
    out = x.copy()
    for j, size in enumerate(n_levels):
        rows = np.flatnonzero(x[:, j] < 0)
        if not (size and len(rows)):
            continue
        logs = np.empty((len(rows), size))
        for level in range(size):
            out[rows, j] = level
            logs[:, level] = score(out[rows])[np.arange(len(rows)), own[rows]]
        out[rows, j] = picked(logs, rng)
    return out


def picked(logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a position for each row, picked by log weights (row, position)."""
    top = logs.max(axis=1, keepdims=True)
    steps = np.exp(logs - np.where(np.isneginf(top), 0.0, top)).cumsum(axis=1)
    place = (rng.random((len(logs), 1)) * steps[:, -1:] >= steps).sum(axis=1)
    return np.minimum(place, logs.shape[1] - 1)


def refusal(family: object) -> UnsupportedInference:
    """Return the error of a family whose missing cells cannot be drawn."""
    return UnsupportedInference.because(
        type(family).__name__,
        "what a missing cell of it may hold cannot be drawn (words of unknown number, among "
        "others)",
        "Leave its columns out, or read them by bg.Normal(), bg.Poisson() or bg.Categorical().",
    )
