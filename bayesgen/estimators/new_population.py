"""Inference about a population of unlabeled rows: prevalence and label shift."""

import contextlib
import dataclasses

import numpy as np
from jaxtyping import Int
from sklearn.utils import _safe_indexing

from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.operations import unsupported
from bayesgen.estimators import validation
from bayesgen.estimators.fitted import Fitted, check_rows_of_fit
from bayesgen.estimators.rows_of_fit import RowsOfFit
from bayesgen.estimators.training_rows import UNLABELLED
from bayesgen.inference.components import codes_of_groups
from bayesgen.inference.leave_one_out import LabelledRows
from bayesgen.predict import ReadRows
from bayesgen.prevalence import (
    LeftOutRows,
    Populations,
    Prevalence,
    Request,
    estimated,
    table_of_shift,
)
from bayesgen.table import Table, copies_of, require_same_order
from bayesgen.typing import DataFrame, Labels, Weights

MOST_LEFT_OUT = 20_000
"""Rows left out to measure a classifier's errors at most: QDA takes 6.3 s for 100,000 rows of 20
columns and 5 classes (measured), and the errors of 20,000 are known well enough."""
Groups = Int[np.ndarray, " new"]
ALL: Groups = np.empty(0, dtype=int)
"""Groups of rows that have none: all rows are of one population."""


@dataclasses.dataclass(frozen=True, eq=False)
class PopulationModel:
    """A fitted classifier and the rows of its fit, as populations are compared by them."""

    fit: RowsOfFit

    @property
    def fitted(self) -> Fitted:
        """The model."""
        return self.fit.fitted

    @property
    def classes(self) -> np.ndarray:
        """The labels."""
        return self.fitted.state.classes

    def prevalence(self, X_new: object, request: Request, *, checked: bool = True) -> Prevalence:
        """Return the class frequencies of a population; see `Classifier.estimate_prevalence`.

        checked: whether label shift is.
        """
        rows = self.fit.rows(X_new)
        require_same_order(X_new, sample_weight=request.sample_weight)
        weight = validation.weights_of(request.sample_weight, rows.n_rows)
        groups = self.groups_of(rows)
        return estimated(
            request,
            rows,
            weight,
            self.classes,
            self.fitted.state.statistics.count,
            lambda: self.left_out_rows(groups),
            (lambda: self.beside(X_new, groups)) if checked else None,
        )

    def groups_of(self, rows: ReadRows) -> Groups:
        """Return the groups that rows are of, -1 of a new one; none if rows have no groups."""
        groups = self.fitted.posterior.components.groups
        return np.unique(codes_of_groups(groups, rows.encoded, rows.n_rows)) if groups else ALL

    def features(self, X: object) -> Table:
        """Return the table of rows without the column of groups."""
        table, name = self.fit.read(X), self.fit.fitted.groups
        return table if name is None or name not in table.names else table.without(name)

    def beside(self, X_new: object, groups: Groups) -> Populations:
        """Return the labeled rows of the fit, of the groups of new rows, beside these.

        Raises:
            UnsupportedOperation: the classifier does not keep the rows.
        """
        rows = self.labeled(*self.fit.kept("estimate_prevalence"))
        X, codes, weights = self.within(groups, *rows)
        table = self.features(X)
        standing, counted = copies_of([table], codes, weights).standing(weights)
        new = self.features(X_new)
        return Populations(table.take(standing), codes[standing], counted, new)

    def within(
        self, groups: Groups, X: object, codes: Labels, weights: Weights
    ) -> tuple[object, np.ndarray, np.ndarray]:
        """Return the rows of the fit that are of known ones of these groups, or all if none is."""
        if not (groups >= 0).any():
            return X, codes, weights
        rows, known = self.fit.rows(X), self.fitted.posterior.components.groups
        of_rows = codes_of_groups(known, rows.encoded, rows.n_rows)
        own = np.flatnonzero(np.isin(of_rows, groups))
        return _safe_indexing(X, own), codes[own], weights[own]

    def labeled(
        self, X: object, y: object, weight: object
    ) -> tuple[object, np.ndarray, np.ndarray]:
        """Return rows that have a label and a weight above 0, their class codes and weights."""
        require_same_order(X, y=y, sample_weight=weight)
        codes = validation.class_codes(y, self.classes)
        weights = validation.weights_of(weight, len(codes))
        labeled = np.flatnonzero((codes != UNLABELLED) & (weights > 0))
        if len(labeled) < len(codes):
            X, codes, weights = _safe_indexing(X, labeled), codes[labeled], weights[labeled]
        return X, codes, weights

    def left_out_rows(self, groups: Groups = ALL) -> LeftOutRows:
        """Return predictions of the rows of the fit, each from the others.

        groups: of the new rows; the rows of the fit are those of the same group.

        Raises:
            UnsupportedOperation: the posterior is not in closed form; the classifier does not keep
                the rows; new rows of a new group or of several, or a stack with groups.
        """
        of_one = len(groups) == 1 and groups[0] >= 0 and self.fit.fitted.left_out is None
        if len(groups) and not of_one:
            raise unsupported(
                "method='left_out' with groups",
                "errors are counted among the rows of one group, and X_new is of several or of a "
                "new one, or the classifier is a stack",
                "Pass method='density'.",
            )
        if self.fit.fitted.left_out is not None:
            return self.fit.fitted.left_out
        cure = "Pass method='density'"
        self.fitted.require_left_out("method='left_out'", cure)
        X, y, weight = self.fit.kept("method='left_out'", f"{cure}.")
        X, codes, weights = self.within(groups, *self.labeled(X, y, weight))
        table, encoded = self.features(X), self.fit.rows(X).encoded
        equal = copies_of([table], codes, weights)
        rows = LabelledRows(encoded, codes, weights, equal.away, copies=equal.content)
        standing, counted = equal.standing(weights)
        # as many of each class as its share, evenly spaced
        order = np.argsort(codes[standing], kind="stable")
        few = min(len(order), MOST_LEFT_OUT)
        judged = np.sort(order[np.arange(few) * len(order) // few])
        rows = rows.judging(standing[judged])
        even = self.fitted.with_class_prior("uniform")
        return even.left_out_rows(rows, counted[judged])

    def label_shift(
        self, X_new: object, estimate: Prevalence, X: object, y: object, weight: object
    ) -> DataFrame:
        """Return whether more than class frequencies differs; see `Classifier.check_label_shift`.

        Args:
            X_new: rows without labels.
            estimate: their prevalence, the class prior under which rows are compared.
            X: rows of the fit.
            y: their labels.
            weight: their weights.

        Raises:
            UnsupportedOperation: these are not the rows of the fit.
        """
        fitted = self.fitted.with_class_prior(estimate.draws.mean(axis=0))
        X, codes, weights = self.labeled(X, y, weight)
        check_rows_of_fit(self.classes, self.fitted.state.statistics.count, codes, weights)
        rows_new = self.fit.rows(X_new).under(fitted.posterior)
        X, codes, weights = self.within(self.groups_of(rows_new), X, codes, weights)
        table, own = self.features(X), self.fit.rows(X).under(fitted.posterior)
        equal, joint = copies_of([table], codes, weights), None
        standing, counted = equal.standing(weights)
        rows = LabelledRows(own.encoded, codes, weights, equal.away, standing, equal.content)
        # point estimates leave no row out, and few draws smooth no weights
        with contextlib.suppress(UnsupportedOperation):
            fitted.require_loo()
            joint = fitted.log_densities(rows).joint
        labeled, new = table.take(standing), self.features(X_new)
        populations = Populations(labeled, codes[standing], counted, new)
        earlier, later = (read.log_joint(densities=True) for read in (own.take(standing), rows_new))
        return table_of_shift(populations, joint, earlier, later, estimate.draws)
