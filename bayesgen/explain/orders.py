"""What each cell of a group adds, over the orders in which the cells are read."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from math import factorial

import numpy as np

from bayesgen.explain.cells import Cell, show
from bayesgen.typing import Encoded

EXACT = 8
"""Columns up to which every order counts: 2^8 subsets are asked."""
PAIRS = 64
"""Sampled orders of larger groups, each with its reverse."""

Ask = Callable[[Encoded], np.ndarray]
"""Shown cells -> log p(shown cells, y = k), shape (row, ..., class)."""

Added = tuple[int, float, int, np.ndarray]
"""Position in the group, weight among all orders, sample that it belongs to, and what the cell
adds to log p(shown, y = k)."""


def in_turn(ask: Ask, shown: Encoded, encoded: Encoded, group: Sequence[Cell]) -> Iterator[Added]:
    """Yield what each cell adds to those before it."""
    before = ask(shown)
    for i, cell in enumerate(group):
        shown = show(shown, encoded, [cell])
        after = ask(shown)
        yield i, 1.0, 0, added(before, after)
        before = after


def in_every_order(
    ask: Ask, shown: Encoded, encoded: Encoded, group: Sequence[Cell]
) -> Iterator[Added]:
    """Yield what each cell adds to each subset of the others, weighed by the orders that do so.

    That is |S|! (m - |S| - 1)! / m! of the orders of m cells. Source: Shapley (1953), A value for
    n-person games, Contributions to the Theory of Games II, 307-317.
    """
    m = len(group)
    found = {}
    for subset in itertools.product((False, True), repeat=m):
        cells = itertools.compress(group, subset)
        found[subset] = ask(show(shown, encoded, cells))
    for subset, before in found.items():
        size = sum(subset)
        weight = factorial(size) * factorial(m - size - 1) / factorial(m) if size < m else 0.0
        for i in (i for i, inside in enumerate(subset) if not inside):
            more = (*subset[:i], True, *subset[i + 1 :])
            yield i, weight, 0, added(before, found[more])


def in_some_orders(
    ask: Ask,
    shown: Encoded,
    encoded: Encoded,
    group: Sequence[Cell],
    rng: np.random.Generator,
) -> Iterator[Added]:
    """Yield what each cell adds in sampled orders, and in the reverse of each."""
    for sample in range(PAIRS):
        order = rng.permutation(len(group))
        for turn in (order, order[::-1]):
            cells = [group[i] for i in turn]
            for place, _, _, more in in_turn(ask, shown, encoded, cells):
                yield int(turn[place]), 0.5 / PAIRS, sample, more


def added(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return after - before; what is impossible already stays so, and adds nothing."""
    never = np.isneginf(before)
    return np.where(never, 0.0, after - np.where(never, 0.0, before))
