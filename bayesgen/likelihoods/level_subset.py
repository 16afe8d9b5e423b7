"""Codes of levels when only some of the levels are kept, columns side by side on one flat axis."""

import numpy as np
from jaxtyping import Int

from bayesgen.likelihoods.dirichlet import starts
from bayesgen.typing import Block

Index = Int[np.ndarray, " kept"]


def by_column(index: Index, n_levels: tuple[int, ...]) -> list[np.ndarray]:
    """Return the kept levels of each column, as codes within the column."""
    firsts = zip(starts(n_levels), n_levels, strict=True)
    return [index[(index >= first) & (index < first + n)] - first for first, n in firsts]


def narrowed(x: Block, index: Index, n_levels: tuple[int, ...]) -> Block:
    """Return codes among the kept levels; a code that was not kept is missing."""
    out = np.full_like(x, -1)
    for j, kept in enumerate(by_column(index, n_levels)):
        # the last entry serves missing cells
        code = np.full(n_levels[j] + 1, -1)
        code[kept] = np.arange(len(kept))
        out[:, j] = code[x[:, j]]
    return out


def widened(x: Block, index: Index, n_levels: tuple[int, ...], blank: Block) -> Block:
    """Return codes among all levels, written into `blank`: undoes `narrowed`."""
    for j, kept in enumerate(by_column(index, n_levels)):
        blank[:, j] = np.append(kept, -1)[x[:, j]]
    return blank
