"""Whether rows are those of a fit, whose scores say little about new rows."""

import contextlib
import functools
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, UInt64

from bayesgen.classes import states_frequencies
from bayesgen.errors import (
    BayesgenError,
    BayesgenWarning,
    Cure,
    InSampleScore,
    Words,
    deduplicate_warnings,
)
from bayesgen.estimators import validation
from bayesgen.estimators.fit import learn
from bayesgen.estimators.judged_rows import ACCURACY, LOSS, judged_rows, labelled_rows
from bayesgen.estimators.rows_of_fit import RowsOfFit
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.membership import Entries, expected, shares_of
from bayesgen.model import ModelStatistics
from bayesgen.table import row_keys
from bayesgen.typing import Keys, Labels, Weights

SPREAD = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples lie far apart."""
ROUNDING = 1e-6
"""Difference of sums, relative to the largest of them, that counts as rounding: of the same rows in
parts, or in another order."""


def keys_of(keys: Keys, codes: Labels) -> Keys:
    """Return keys of rows in their classes; keys: of the rows. codes: of the classes."""
    return keys + codes.astype(np.uint64) * SPREAD


def _shares(
    keys: Keys, weight: Weights
) -> tuple[UInt64[np.ndarray, " distinct"], Float[np.ndarray, " distinct"]]:
    """Return the distinct keys, sorted, and the share of the weight that the rows of each have."""
    distinct, which = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(which, weight) / weight.sum()


class SeenRows:
    """Rows that come part by part, to be told from those of a fit.

    A stack kept keys of the rows that weigh its members; of others, rows of the same statistics are
    the same rows, as far as the classifier can tell. Rows without a label are ignored.
    """

    def __init__(self, fit: RowsOfFit) -> None:
        """Begin with no rows."""
        self.fit, self.count = fit, np.zeros(len(fit.fitted.state.classes))
        self.statistics: ModelStatistics | None = None
        self.keys: list[tuple[Keys, Weights]] = []
        self.parts: list[TrainingRows] = []

    @property
    def _judged(self) -> Keys | None:
        """The keys of the rows that weigh the members of a stack, with each of their classes."""
        kept = self.fit.fitted.left_out
        return None if kept is None or kept.keys is None else keys_of(kept.keys, kept.codes)

    def could_be(self, count: Float[np.ndarray, " class"]) -> bool:
        """Return whether so many rows of each class are those of the fit; it costs nothing."""
        return np.allclose(count, self.fit.fitted.state.statistics.count, rtol=ROUNDING)

    def add(self, X: object, y: object, sample_weight: object = None) -> None:
        """Read a part.

        Raises:
            BayesgenError: rows that the fit could not have had.
        """
        with deduplicate_warnings(BayesgenWarning):  # of which the prediction has warned
            rows = self.fit.train(X, y, sample_weight).labelled
            state = self.fit.fitted.state
            entries = Entries.of(rows.membership(state.classes), rows.weight)
            added = np.bincount(entries.code, entries.weight, minlength=len(self.count))
            self.count = self.count + added
            self.parts = [*self.parts, rows][:2]
            if self._judged is not None:
                keys = keys_of(row_keys(rows.table)[1][entries.row], entries.code)
                self.keys.append((keys, entries.weight))
            elif state.likelihoods:
                self._add_statistics(rows)

    def _add_statistics(self, rows: TrainingRows) -> None:
        state = self.fit.fitted.state
        part = learn(
            rows, state.schema, state.likelihoods, state.classes, unseen=self.fit.fitted.unseen
        ).statistics
        self.statistics = part if self.statistics is None else self.statistics + part

    @property
    def are_of_fit(self) -> bool:
        """Whether they are all rows of the fit that have a label, and no others."""
        if not self.could_be(self.count):
            return False
        if (judged := self._judged) is not None and self.fit.fitted.left_out is not None:
            keys, weight = map(np.concatenate, zip(*self.keys, strict=True))
            found, share = _shares(keys, weight)
            known, own = _shares(judged, self.fit.fitted.left_out.weight)
            if len(known) == len(found):
                same = np.array_equal(known, found)
                return same and np.allclose(own, share, rtol=0, atol=ROUNDING)
            # a sample of many rows
            return bool(np.isin(known, found).all())
        return self.statistics is not None and self._equal(self.statistics)

    def _equal(self, found: ModelStatistics) -> bool:
        """Return whether statistics are those of the fit, up to rounding."""
        fitted = self.fit.fitted.state.statistics
        for name, part in fitted.blocks.items():
            other = found.blocks[name].arrays()
            for field, values in part.arrays().items():
                one, two = np.asarray(values), np.asarray(other[field])
                if one.shape != two.shape:
                    return False
                size = np.abs(one).max(initial=0.0)
                if not np.allclose(one, two, rtol=0, atol=ROUNDING * size, equal_nan=True):
                    return False
        return True

    # -- left out ----------------------------------------------------------------------------------

    def beside(self, figure: str) -> str:
        """Return what they have where each is predicted from the others, in words.

        figure: LOSS or ACCURACY. "": it is not known without fits to fewer rows.
        """
        value = self._left_out.get(figure)
        if value is None:
            return ""
        fitted = self.fit.fitted
        under = states_frequencies(fitted.class_prior) * ", under the class frequencies of the fit,"
        name = {LOSS: "a log loss", ACCURACY: "an accuracy"}[figure]
        return f"; left out in turn{under} they have {name} of {value:.3f}"

    @functools.cached_property
    def _left_out(self) -> Mapping[str, float]:
        """The log loss and the accuracy of the rows left out, or of a sample of many, if known."""
        fitted = self.fit.fitted
        details, components = fitted.posterior.report.details, fitted.posterior.components
        if LOSS in details or len(self.parts) != 1 or not fitted.state.likelihoods:
            return details
        (rows,), classes = self.parts, fitted.state.classes
        # point estimates and draws leave no row out
        with contextlib.suppress(BayesgenError):
            components.require_leave_one_out("score")
            judged = judged_rows((rows,), classes, len(fitted.state.schema.used()))
            labelled = labelled_rows(fitted.state, (rows,), self.fit.fitted.unseen).judging(
                judged.rows
            )
            scores = fitted.under_frequencies().leave_one_out(labelled)
            log_proba, y = fitted.posterior.log_proba(scores), labelled.left_out.y
            right = shares_of(y, len(classes))[np.arange(len(y)), log_proba.argmax(axis=1)]
            return {
                LOSS: -float(np.average(expected(log_proba, y), weights=judged.weight)),
                ACCURACY: float(np.average(right, weights=judged.weight)),
            }
        return {}


def recognized(
    fit: RowsOfFit, X: object, y: object, sample_weight: object = None
) -> SeenRows | None:
    """Return rows if they are those of a fit, all and no others, with their labels and weights.

    Of a program of the user's own, which has no statistics, they are if they are the very objects
    that were fitted. None: they are others.
    """
    seen, same = SeenRows(fit), False
    with contextlib.suppress(BayesgenError):
        kept_X, kept_y, _ = fit.kept("score")
        same = kept_X is X and kept_y is y
    # labels or levels of no fit are refused, and those of the fit are not
    with contextlib.suppress(BayesgenError):
        membership = validation.membership(y, fit.fitted.state.classes)
        weight = validation.weights_of(sample_weight, len(membership))
        there = np.flatnonzero(membership >= 0) if membership.ndim == 1 else slice(None)
        if seen.could_be(weight[there] @ shares_of(membership[there], len(seen.count))):
            seen.add(X, y, sample_weight)
            return seen if same or seen.are_of_fit else None
    return None


def in_words(fit: RowsOfFit, X: object, y: object) -> str:
    """Return a sentence for a report on the rows of the fit; "": they are others."""
    seen = recognized(fit, X, y)
    if seen is None:
        return ""
    return (
        "These are the rows of the fit: what is said below under the fit to all rows is of a model "
        f"that knows their classes{seen.beside(LOSS)}."
    )


def in_sample_score(seen: SeenRows, figure: str) -> InSampleScore:
    """Return the warning that a score is that of the rows of the fit; figure: LOSS or ACCURACY."""
    return InSampleScore(
        "these are the rows of the fit, whose classes the model knows, so their score says little "
        "about new rows{beside}.",
        Cure(
            "Score other rows, or cross-validate: bg.compare({{'clf': clf}}, X, y).",
            "Score other rows, or cross-validate: bayesgen compare.",
        ),
        beside=Words(seen.beside(figure)),
    )
