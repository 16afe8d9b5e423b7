"""Conformal prediction: how strange a candidate class of a new row is among the rows of the fit.

The score of a row is the log-odds of its class given its cells and all other rows. The p-value of a
candidate class k of a new row is the share of rows, the new one among them, whose score is at most
that of the new row as one of class k; a prediction set holds the classes whose p-value exceeds
1 - coverage.

* full: (x, k) is added to the rows, and every row of this augmented fit is left out in turn. If the
  new row and the old ones are exchangeable, the p-value of its true class is at most alpha with a
  probability of at most alpha, whatever the model: all rows are treated alike. Source: Vovk,
  Gammerman and Shafer (2005), Algorithmic Learning in a Random World, section 2.2.
* left out: the rows of the fit are left out as they are, without (x, k): no guarantee.

Ties count for the new row. A row of weight w counts as w rows, the new one as one.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import issparse

from bayesgen.inference.components import take_rows
from bayesgen.inference.leave_one_out import (
    Block,
    LabelledRows,
    Positions,
    blocks,
    leave_one_out,
    log_classes_without,
)
from bayesgen.inference.scores import Scores
from bayesgen.likelihoods import Statistics
from bayesgen.likelihoods.protocols import LeaveOneOut, Vectorised
from bayesgen.model import ModelStatistics, model_statistics
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Labels, LevelCounts, Weights

TIE = 1e-9
"""Difference of log-odds, absolute and relative, that counts as rounding: to subtract a row from
statistics, or to fit without it, gives the same score up to this."""

Odds = Float[np.ndarray, " row"]


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
    """Rows that are compared with each other (Mondrian taxonomy).

    fitted: the group of each row of the fit. new: that of each new row as one of each class.
    """

    fitted: Int[np.ndarray, " fitted"]
    new: Int[np.ndarray, "row class"]


def odds(log_proba: Joint, y: Labels) -> Odds:
    """Return the log-odds of the class of each row, exact where its probability rounds to 1."""
    others = log_proba.copy()
    others[np.arange(len(y)), y] = -np.inf
    # infinite odds would be no numbers to subtract
    largest = np.finfo(float).max
    own = log_proba[np.arange(len(y)), y]
    return np.clip(own - np.logaddexp.reduce(others, axis=1), -largest, largest)


def odds_of_each_class(log_proba: Joint) -> Joint:
    """Return the log-odds of every class of each row, shape (row, class)."""
    n_rows, n_classes = log_proba.shape
    return np.stack([odds(log_proba, np.full(n_rows, k)) for k in range(n_classes)], axis=1)


def p_values(fitted: Odds, weight: Weights, new: Odds) -> Odds:
    """Return (1 + weight of the rows of the fit whose score is at most the new one) / (1 + all).

    Args:
        fitted: scores of rows of the fit.
        weight: of these rows.
        new: scores to rank among them.
    """
    order = np.argsort(fitted)
    total = np.concatenate([[0.0], np.cumsum(weight[order])])
    tied = TIE * (1 + np.minimum(np.abs(new), 1 / TIE))
    place = np.searchsorted(fitted[order], new + tied, side="right")
    return (1 + total[place]) / (1 + total[-1])


def left_out_p_values(fitted: Odds, weight: Weights, new: Joint, groups: Groups) -> Joint:
    """Return p-values among scores of the rows of the fit, each left out, shape (row, class).

    Args:
        fitted: scores of the rows of the fit.
        weight: of these rows.
        new: log P(y = k given x) of new rows, shape (row, class).
        groups: of all rows.
    """
    scores, out = odds_of_each_class(new), np.empty(new.shape)
    for group in np.unique(groups.new).tolist():
        alike, place = groups.fitted == group, groups.new == group
        out[place] = p_values(fitted[alike], weight[alike], scores[place])
    return out


@dataclasses.dataclass(frozen=True, eq=False)
class AugmentedFit:
    """A fit to which a new row is added under each class in turn.

    problem: of the rows of the fit, with its guesses. rows: these rows. n_levels: of the columns of
    each block. log_proba: scores of rows -> log P(y = k given x).
    """

    problem: Problem
    rows: LabelledRows
    n_levels: dict[str, LevelCounts]
    log_proba: Callable[[Scores], Joint]

    def p_values(self, encoded: Encoded, groups: Groups) -> Joint:
        """Return the p-values of full conformal prediction, shape (row, class).

        encoded: new rows. groups: of the rows of the fit and the new ones.
        """
        out = np.empty(groups.new.shape)
        closed = self._without_each is not None
        own = self._odds_of_new(encoded, len(out)) if closed else np.full(out.shape, np.nan)
        for i, k in np.ndindex(out.shape):
            alike = np.flatnonzero(groups.fitted == groups.new[i, k])
            x, fitted = take_rows(encoded, np.array([i])), np.full(len(alike), np.nan)
            added = self._statistics_of(x, k)
            # rows with missing cells have no leading axis, and approximate scores: all alike
            if closed and not any(map(has_missing, added.blocks.values())):
                scores = np.append(self._odds_of_most(added)[alike], own[i, k])
            else:
                scores = np.full(len(alike) + 1, np.nan)
            judged, others = np.append(alike, len(self.rows.y)), np.flatnonzero(np.isnan(scores))
            if len(others):
                scores[others] = self._odds(x, k, added, judged[others])
            out[i, k] = p_values(scores[:-1], self.rows.weight[alike], scores[-1:])[0]
        return out

    def _odds(self, x: Encoded, k: int, added: ModelStatistics, judged: Positions) -> Odds:
        """Return scores of some rows of the augmented fit, the last of which is (x, k).

        added: statistics of (x, k). judged: positions of the rows.
        """
        rows = self.rows.with_row(x, k).judging(judged)
        scores = leave_one_out(self.problem.joined_by(added), rows)
        return odds(self.log_proba(scores), rows.y[judged])

    def _odds_of_most(self, added: ModelStatistics) -> Odds:
        """Return scores of the rows of the fit by adding (x, k) to the statistics without each.

        NaN where another column is constant without the row. added: statistics of (x, k).
        """
        count = self.problem.statistics.count + added.count
        statistics = dataclasses.replace(self.problem.statistics, count=count)
        problem = dataclasses.replace(self.problem, statistics=statistics)
        log_classes, y = log_classes_without(problem, self.rows), self.rows.y
        parts = np.full((len(y), len(self._without_each), len(count)), np.nan)
        for i, (name, without) in enumerate(self._without_each.items()):
            parts[without.rows, i] = without.scores_with(added.blocks[name])
        known, out = np.flatnonzero(~np.isnan(parts).any(axis=(1, 2))), np.full(len(y), np.nan)
        log_classes, parts = log_classes[known], parts[known]
        log_proba = self.log_proba(Scores(log_classes + parts.sum(axis=1), log_classes, parts))
        out[known] = odds(log_proba, y[known])
        return out

    def _odds_of_new(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return scores of new rows as ones of each class: without (x, k) the fit is as it was."""
        model = self.problem.model.posterior(self.problem.statistics)
        rows, log_classes = self.problem.reader.read(encoded), model.classes.log_predictive()
        parts = [part.log_predictive(rows[name]) for name, part in model.closed_forms.items()]
        parts = np.stack(parts, axis=1)
        log_proba = self.log_proba(Scores(log_classes + parts.sum(axis=1), log_classes, parts))
        return odds_of_each_class(log_proba)

    @functools.cached_property
    def _without_each(self) -> "dict[str, WithoutEach] | None":
        """Statistics without each row, by block; None: not all blocks have a leading axis."""
        every = blocks(self.problem, self.rows)
        names = self.problem.reader.selections
        if len(every) < len(self.problem.guesses.blocks) or not all(map(leads, every)):
            return None
        return {name: WithoutEach.of(block) for name, block in zip(names, every, strict=True)}

    def _statistics_of(self, x: Encoded, k: int) -> ModelStatistics:
        """Return the statistics of a new row of class k."""
        n_classes, likelihoods = len(self.problem.statistics.count), self.problem.guesses.blocks
        return model_statistics(
            likelihoods, x, np.array([k]), np.ones(1), n_classes=n_classes, n_levels=self.n_levels
        )


@dataclasses.dataclass(frozen=True, eq=False)
class WithoutEach:
    """The statistics of a block without each of its rows, along a leading axis of rows.

    rows: positions of the rows that can be subtracted. statistics: of the others of each.
    """

    block: Block
    rows: Positions
    statistics: Statistics

    @classmethod
    def of(cls, block: Block) -> "WithoutEach":
        """Return those of all rows of the block."""
        rows = np.setdiff1d(np.arange(len(block.rows.y)), block.indispensable)
        return cls(block, rows, block.without_each(rows))

    def scores_with(self, added: Statistics) -> Joint:
        """Return log p(x_i given y = k, the rows without i and added ones), shape (row, class)."""
        return self.block.given(self.statistics + added, self.rows)


def leads(block: Block) -> bool:
    """Return whether the statistics of a block may have a leading axis of rows."""
    likelihood = block.likelihood
    vectorised = isinstance(likelihood, Vectorised) and not isinstance(block.prior, LeaveOneOut)
    return vectorised and not issparse(block.x) and not has_missing(block.statistics)


def has_missing(statistics: Statistics) -> bool:
    """Return whether rows of a joint block have missing cells, which no closed form takes."""
    return getattr(statistics, "has_missing", False)
