"""Weight of evidence: what every cell of a row says for one class against others, in nats.

The chain rule cuts log p(x, y = k) into log P(y = k) and one log p(x_j given the cells before it,
y = k) for each cell, so that the parts add up to the whole whatever the posterior. Where columns
are independent given the class no order matters, and a part is the log Bayes factor of its cell.

Source: Good (1985), Weight of evidence: a brief survey, Bayesian Statistics 2, 249-269.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from bayesgen.explain import orders
from bayesgen.explain.contrasts import Contrast
from bayesgen.explain.showing import Cell, Score, blank, missing, show, take
from bayesgen.likelihoods.normal_statistics import row_chunks
from bayesgen.typing import Encoded

FLOATS = 4_000_000
"""Log joints held at once: 32 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class Explained:
    """What the class prior says, and then each cell in the order of the groups.

    mean: (part, row, contrast), with draws (part, row, draw, contrast). least, most: over the
    orders that were read. error: Monte Carlo standard error of `mean` where orders were sampled,
    else 0.
    """

    mean: np.ndarray
    least: np.ndarray
    most: np.ndarray
    error: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """How rows are read.

    groups: columns in the order in which they are read; those of a group depend on each other.
    contrast: of classes. every_order: whether the cells of a group are read in every order, which
    averages over them, or in turn. rng: for orders, where a group is too large for all of them.
    """

    groups: Sequence[Sequence[Cell]]
    contrast: Contrast
    every_order: bool
    rng: np.random.Generator

    @property
    def held(self) -> int:
        """Return how many log joints of a row are held at once."""
        largest = max((len(group) for group in self.groups), default=1)
        return 2 ** min(largest, orders.EXACT) if self.every_order else 2

    def turns(
        self, ask: orders.Ask, shown: Encoded, encoded: Encoded, group: Sequence[Cell]
    ) -> Iterator[orders.Added]:
        """Yield what the cells of a group add to those shown before."""
        if not self.every_order or len(group) == 1:
            return orders.in_turn(ask, shown, encoded, group)
        if len(group) <= orders.EXACT:
            return orders.in_every_order(ask, shown, encoded, group)
        return orders.in_some_orders(ask, shown, encoded, group, self.rng)


def explained(
    score: Score,
    encoded: Encoded,
    n_rows: int,
    reading: Reading,
    width: int,
    tails: tuple[float, float] | None = None,
    powers: np.ndarray | float = 1.0,
) -> Explained:
    """Return what the class prior and every cell say.

    Args:
        score: log joints of shown cells.
        encoded: rows, blank where missing.
        n_rows: how many.
        reading: in which order, and for which classes.
        width: numbers that `score` returns for each row.
        tails: of a score with draws: quantiles that stand for least and most, the mean over draws
            then for `mean`.
        powers: of a score with draws: what each draw's evidence is tempered by, (draw,) or one.
    """
    parts = []
    for part in row_chunks(n_rows, max(1, FLOATS // (reading.held * width))):
        ask = functools.partial(_ask, score, len(range(n_rows)[part]))
        found = _explained(ask, take(encoded, part), reading)
        parts.append(found if tails is None else _shares(found, tails, powers))
    return _stacked(parts, np.concatenate, axis=1)


def _ask(score: Score, n_rows: int, shown: Encoded) -> np.ndarray:
    return score(shown, n_rows)


def _shares(found: Explained, tails: tuple[float, float], powers: np.ndarray | float) -> Explained:
    """Return mean and quantiles over draws, which are the axis after the rows."""
    each = found.mean.copy()
    with np.errstate(invalid="ignore"):
        each[1:] *= np.asarray(powers)[..., None]
        low, high = np.quantile(each, tails, axis=2)
        mean = each.mean(axis=2)
    return Explained(mean, low, high, np.zeros_like(mean))


def _stacked(parts: list[Explained], join: Callable[..., np.ndarray], **options: int) -> Explained:
    names = [field.name for field in dataclasses.fields(Explained)]
    return Explained(*(join([getattr(p, name) for p in parts], **options) for name in names))


def _explained(ask: orders.Ask, encoded: Encoded, reading: Reading) -> Explained:
    shown = blank(encoded)
    prior = reading.contrast(ask(shown))
    parts = [Explained(prior, prior, prior, np.zeros_like(prior))]
    for group in reading.groups:
        turns = reading.turns(ask, shown, encoded, group)
        missing_cells = [missing(encoded, cell) for cell in group]
        parts += _gathered(turns, missing_cells, reading.contrast, prior)
        shown = show(shown, encoded, group)
    return _stacked(parts, np.stack)


def _gathered(
    turns: Iterator[orders.Added],
    missing_cells: list[np.ndarray],
    contrast: Contrast,
    like: np.ndarray,
) -> list[Explained]:
    """Return mean, range and error of what each cell of a group adds; missing cells add 0."""
    shape = (len(missing_cells), *like.shape)
    mean, squares = np.zeros(shape), np.zeros(shape)
    least, most = np.full(shape, np.inf), np.full(shape, -np.inf)
    samples = 0
    for _, those in itertools.groupby(turns, key=lambda turn: turn[2]):
        one = np.zeros(shape)
        for i, weight, _, more in those:
            more = contrast(
                np.where(missing_cells[i].reshape(-1, *[1] * (more.ndim - 1)), 0.0, more)
            )
            one[i] += weight * more
            least[i], most[i] = np.minimum(least[i], more), np.maximum(most[i], more)
        mean, squares, samples = mean + one, squares + one**2, samples + 1
    with np.errstate(invalid="ignore"):
        spread = np.maximum(samples * squares - mean**2, 0.0) / max(samples - 1, 1)
    error = np.sqrt(spread) if samples > 1 else np.zeros(shape)
    return [Explained(mean[i], least[i], most[i], error[i]) for i in range(len(missing_cells))]
