"""Draws of class probabilities, weighted by the density of a row.

Draws of theta given the data serve all rows. For a row x, draw s stands for theta given the data
and x with a weight proportional to p(x given theta_s): importance sampling, so that the weighted
mean of P(y = k given x, theta_s) is the predictive probability (Rubin 1987, Journal of the American
Statistical Association 82, 543-546). Arrays lie in memory row by row and class by class, draws side
by side: NumPy works along a long last axis several times as fast (measured).
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.base import row_chunks

CACHED_FLOATS = 1 << 17
"""Numbers worked on at once: 1 MB."""
STORED = 250.0
"""Logarithms up to which exponentials are stored with all digits, and so are those of logarithms
smaller by 450, which leaves no trace in a sum."""
SORTED_FLOATS = 1 << 18
"""The same where each chunk costs a hundred calls, as the order of draws does: 2 MB."""
PartWeights = Callable[[int], Float[np.ndarray, "draw part"]]
"""The weights of the parts in a log-linear pool, for each of so many draws of the parts."""


@dataclasses.dataclass(frozen=True, eq=False)
class ClassDraws:
    """Draws of P(y = k given x, theta) for some rows.

    rows: (row,). probs: (draw, row, class). weight: (draw, row), which sum to one for each row and
    stand for p(theta given data, x). logits: the sum of the log densities of the parts behind them,
    each times a draw of its weight (`PartWeights`), (draw of the parts, row, class), up to a
    constant of each row and draw; no draw unless they were wanted. pairs: the draw of the logits
    that goes with each of the probabilities; None: that of the same position.
    """

    rows: Int[np.ndarray, " row"]
    probs: Float[np.ndarray, "draw row class"]
    weight: Float[np.ndarray, "draw row"]
    logits: Float[np.ndarray, "part_draw row class"]
    pairs: Int[np.ndarray, " draw"] | None = None

    @property
    def effective(self) -> Float[np.ndarray, " row"]:
        """The number of equally weighted draws of the same accuracy, of each row."""
        return 1 / np.einsum("dr,dr->r", self.weight, self.weight)

    def replace(self, at: Int[np.ndarray, " other"], other: "ClassDraws") -> None:
        """Replace the draws of some rows by those of another, in place."""
        for name in ("probs", "weight", "logits"):
            getattr(self, name)[:, at] = getattr(other, name)


def weighed(
    rows: Int[np.ndarray, " row"],
    joint: Float[np.ndarray, "row draw class"],
    prior: Float[np.ndarray, "draw class"],
    logits: Float[np.ndarray, "part_draw row class"],
) -> ClassDraws:
    """Return class probabilities of draws, with weights p(x given theta).

    joint: log p(x, y = k given theta), which may be overwritten. prior: log P(y = k given theta),
    for rows impossible under every class and draw, which carry no information, and for draws
    without weight.
    """
    each = np.ascontiguousarray(np.swapaxes(joint, 1, 2))
    top = each.max(axis=(1, 2))
    impossible = np.isneginf(top)
    if impossible.any():
        each[impossible], top[impossible] = prior.T, prior.max()
    exponentials(each, top[:, None, None])
    weight = np.add.reduce(np.swapaxes(each, 0, 1), axis=0)
    if weight.all():
        each /= weight[:, None]
    else:
        r, s = np.nonzero(weight == 0)
        each[r, :, s] = np.exp(prior[s])
        each /= np.where(weight == 0, 1.0, weight)[:, None]
    weight /= weight.sum(axis=1, keepdims=True)
    return ClassDraws(rows, np.moveaxis(each, -1, 0), weight.T, logits)


def exponentials(
    logs: Float[np.ndarray, "row class draw"], top: Float[np.ndarray, "..."]
) -> Float[np.ndarray, "..."]:
    """Replace logs by exponentials relative to what is returned, in place: top, or 0 if it is near.

    A pass over the numbers is saved where their exponentials can be stored as they are. top is of
    each row, or of each row and class, with an axis of length 1 for the others.
    """
    if np.abs(top).max(initial=0.0) > STORED:
        logs -= top
    else:
        top = np.zeros_like(top)
    np.exp(logs, out=logs)
    return top


def cached_rows(each: np.ndarray, floats: int = CACHED_FLOATS) -> Iterator[slice]:
    """Return chunks of rows whose numbers stay in a second-level cache."""
    return row_chunks(len(each), max(1, floats // max(1, each[:1].size)))


def joined(found: Iterable[ClassDraws]) -> ClassDraws:
    """Return the draws of all rows, in order, from those of chunks of them."""
    chunks = list(found)
    rows = np.concatenate([one.rows for one in chunks])
    sorted_already = (np.diff(rows) > 0).all()
    if len(chunks) == 1 and sorted_already:
        return chunks[0]
    order = slice(None) if sorted_already else np.argsort(rows, kind="stable")
    arrays = {
        name: np.concatenate([getattr(chunk, name) for chunk in chunks], axis=1)[:, order]
        for name in ("probs", "weight", "logits")
    }
    return ClassDraws(rows[order], **arrays, pairs=chunks[0].pairs)


def no_logits(n_rows: int, n_classes: int) -> np.ndarray:
    """Return no draw of logits."""
    return np.empty((0, n_rows, n_classes))


def softmax(logs: Float[np.ndarray, "row class draw"]) -> None:
    """Replace log probabilities of classes, up to a constant of row and draw, by probabilities."""
    classes = np.swapaxes(logs, 0, 1)
    logs -= functools.reduce(np.maximum, classes)[:, None]
    np.exp(logs, out=logs)
    logs /= functools.reduce(np.add, classes)[:, None]
