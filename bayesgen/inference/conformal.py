"""Conformal prediction: how strange a candidate class of a new row is among the rows of the fit.

The score of a row is the log-odds of its class given its cells and all other rows. The p-value of a
candidate class k of a new row is the share of rows, the new one among them, whose score is at most
that of the new row as one of class k: of those of the fit to which (x, k) was added ("full"; see
`Classifier.predict_set` for its guarantee), or of the fit as it is ("left out"). Ties count for the
new row. A row of weight w counts as w rows, the new one as one; rows that leave together count as
one row. Source: Vovk, Gammerman and Shafer
(2005), Algorithmic Learning in a Random World, section 2.2.

Where new rows have other class frequencies than the fit, a row of class k, the new one as well,
counts p_k / f_k times: how much more frequent its class is among the new. Source: Podkopaev and
Ramdas (2021), UAI, PMLR 161, 844-853, section 2.
"""

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.inference.components import take_rows
from bayesgen.inference.leave_one_out import (
    Block,
    LabelledRows,
    blocks,
    log_classes_without,
)
from bayesgen.inference.scores import Scores
from bayesgen.likelihoods.protocols import Vectorised
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Labels, LevelCounts, Weights

CHEAP_FLOATS = 1_000_000
"""Numbers in the statistics of all rows left out, times classes, up to which a new row is cheap:
about .03 s on one core (measured), at 10 columns and 3 classes some 3,700 rows of naive Bayes."""
TIE = 1e-9
"""Difference of log-odds, absolute and relative, that counts as rounding: to subtract a row from
statistics, or to fit without it, gives the same score up to this."""

ROUNDING = 1e-12
"""Excess of a p-value over 1 - coverage that counts as none: 1 - 0.9 is less than 1 / 10."""

Odds = Float[np.ndarray, " row"]
Fitted = Float[np.ndarray, " fitted"]
New = Float[np.ndarray, " new"]
Times = Float[np.ndarray, " class"]


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
    """Rows that are compared with each other (Mondrian taxonomy).

    fitted: the group of each row of the fit. new: that of each new row as one of each class.
    """

    fitted: Int[np.ndarray, " fitted"]
    new: Int[np.ndarray, "row class"]


def odds(log_proba: Joint, y: Labels) -> Odds:
    """Return the log-odds of the class of each row, exact where its probability rounds to 1."""
    others, at, largest = log_proba.copy(), (np.arange(len(y)), y), np.finfo(float).max
    others[at] = -np.inf
    # infinite odds would be no numbers to subtract
    return np.clip(log_proba[at] - np.logaddexp.reduce(others, axis=1), -largest, largest)


def odds_of_each_class(log_proba: Joint) -> Joint:
    """Return the log-odds of every class of each row, shape (row, class)."""
    n_rows, n_classes = log_proba.shape
    return np.stack([odds(log_proba, np.full(n_rows, k)) for k in range(n_classes)], axis=1)


def p_values(fitted: Fitted, weight: Fitted, new: New, own: New | float = 1.0) -> New:
    """Return (w + weight of the rows of the fit whose score is at most the new one) / (w + all).

    own: w, the weight of each new row; of one of weight 0 the p-value is 0.
    """
    order = np.argsort(fitted)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    tied = TIE * (1 + np.minimum(np.abs(new), 1 / TIE))
    place = np.searchsorted(fitted[order], new + tied, side="right")
    own = np.broadcast_to(own, new.shape)
    return np.divide(own + total[place], own + total[-1], out=np.zeros(new.shape), where=own > 0)


def fewest_rows(coverage: float) -> int:
    """Return how many rows of the fit it takes to leave a class out of a set: 1 / (n + 1)."""
    return math.ceil(coverage / (1 - coverage) * (1 - ROUNDING))


def in_set(p_values: Joint, coverage: float) -> Bool[np.ndarray, "row class"]:
    """Return which p-values exceed 1 - coverage."""
    return p_values > 1 - coverage + ROUNDING


def left_out_p_values(
    fitted: Fitted, weight: Fitted, new: Joint, groups: Groups, own: Times | float = 1.0
) -> Joint:
    """Return p-values of log P(y = k given x) of new rows among the scores of left-out rows.

    own: the weight of a new row of each class.
    """
    scores, out = odds_of_each_class(new), np.empty(new.shape)
    own = np.broadcast_to(own, new.shape)
    for group in np.unique(groups.new).tolist():
        alike, place = groups.fitted == group, groups.new == group
        out[place] = p_values(fitted[alike], weight[alike], scores[place], own[place])
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class AugmentedFit:
    """A fit to which a new row is added under each class in turn.

    problem: of the rows of the fit, with its guesses. rows: these rows. weight: for how many rows
    each of them counts. n_levels: of the columns of each block. log_proba: scores of rows ->
    log P(y = k given x). times: how often a row of each class counts; 1: new rows have the class
    frequencies of the fit.
    """

    problem: Problem
    rows: LabelledRows
    weight: Weights
    n_levels: dict[str, LevelCounts]
    log_proba: Callable[[Scores], Joint]
    times: Times | float = 1.0

    @functools.cached_property
    def blocks(self) -> dict[str, Block]:
        """The blocks of the rows, which remember what they found of them."""
        return blocks(self.problem, self.rows)

    @property
    def exact(self) -> bool:
        """Whether adding a row and leaving others out is what fits to these rows would give."""
        every = len(self.blocks) == len(self.problem.open_guesses.blocks)
        return every and all(block.subtracts for block in self.blocks.values())

    @property
    def cheap(self) -> bool:
        """Whether a new row takes some hundredths of a second."""
        blocks, n_classes = self.blocks.values(), len(self.problem.statistics.count)
        members = [len(block.likelihood.components) for block in blocks]
        floats = sum(n * size for n, size in zip(members, self._sizes, strict=True))
        vectorised = all(isinstance(block.likelihood, Vectorised) for block in blocks)
        return vectorised and n_classes * len(self.rows.y) * floats <= CHEAP_FLOATS

    @functools.cached_property
    def _sizes(self) -> list[int]:
        """How many numbers are in the statistics of each block."""
        return [
            sum(np.size(getattr(block.statistics, name)) for name in block.statistics.axes)
            for block in self.blocks.values()
        ]

    def p_values(self, encoded: Encoded, groups: Groups) -> Joint:
        """Return the p-values of new rows by full conformal prediction, shape (row, class)."""
        new, out = self._odds_of(encoded), np.empty(groups.new.shape)
        n_new, n_classes = out.shape
        times = np.broadcast_to(self.times, n_classes)
        weight = self.weight * times[self.rows.y]
        # numbers in the scores of all rows of the fit, and in the statistics beside a new row
        floats = n_classes * len(self.rows.y) * len(self.blocks) + sum(self._sizes)
        at_once = max(1, CHEAP_FLOATS // (n_classes * floats))
        for start in range(0, n_new, at_once):
            rows = np.arange(start, min(start + at_once, n_new))
            fitted = self._odds_beside(take_rows(encoded, rows), len(rows), n_classes)
            for i, k in np.ndindex(len(rows), n_classes):
                alike = np.flatnonzero(groups.fitted == groups.new[rows[i], k])
                own = new[rows[i], [k]]
                out[rows[i], k] = p_values(fitted[i, k, alike], weight[alike], own, times[k])[0]
        return out

    def _odds_of(self, encoded: Encoded) -> Joint:
        """Return scores of new rows as ones of each class: without (x, k) the fit is as it was."""
        model = self.problem.model.posterior(self.problem.statistics)
        rows, log_classes = self.problem.reader.read(encoded), model.classes.log_predictive()
        parts = [part.log_predictive(rows[name]) for name, part in model.closed_forms.items()]
        scores = Scores(log_classes + sum(parts), log_classes, np.stack(parts, axis=1))
        return odds_of_each_class(self.log_proba(scores))

    def _odds_beside(
        self, encoded: Encoded, n_new: int, n_classes: int
    ) -> Float[np.ndarray, "new class fitted"]:
        """Return scores of the rows of the fit, each left out beside a new row of each class."""
        row, own = (place.ravel() for place in np.indices((n_new, n_classes)))
        log_classes = log_classes_without(self.problem, self.rows, np.eye(n_classes))[own]
        parts = [
            block.scores_beside(encoded[name][row], own) for name, block in self.blocks.items()
        ]
        arrays = log_classes + sum(parts), log_classes, np.stack(parts, axis=2)
        scores = Scores(*(array.reshape(-1, *array.shape[2:]) for array in arrays))
        y = np.tile(self.rows.y, len(own))
        return odds(self.log_proba(scores), y).reshape(n_new, n_classes, -1)
