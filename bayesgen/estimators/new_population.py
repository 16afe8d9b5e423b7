"""Inference about a population of unlabeled rows: prevalence and label shift."""

import contextlib
import dataclasses
from collections.abc import Callable

import numpy as np
from sklearn.utils import _safe_indexing

from bayesgen import predict
from bayesgen.errors import UnsupportedOperation
from bayesgen.estimators import validation
from bayesgen.estimators.diagnostics import Fitted
from bayesgen.estimators.estimator import EncodedRows
from bayesgen.estimators.training import check_rows_of_fit
from bayesgen.estimators.training_rows import UNLABELLED
from bayesgen.prevalence import (
    LeftOutRows,
    Populations,
    Prevalence,
    Request,
    estimated,
    table_of_shift,
)
from bayesgen.table import Table
from bayesgen.typing import DataFrame


@dataclasses.dataclass(frozen=True, eq=False)
class PopulationModel:
    """A fitted classifier, as populations are compared by it.

    fitted: the model. read, encode: rows as it reads them. rows_of_fit: (what, cure) -> X, y and
    weights as they were passed, or an error. left_out: predictions of the rows of the fit, each
    from the others, where they were found by the fit.
    """

    fitted: Fitted
    read: Callable[[object], Table]
    encode: Callable[[object], EncodedRows]
    rows_of_fit: Callable[..., tuple[object, object, object]]
    left_out: LeftOutRows | None

    @property
    def classes(self) -> np.ndarray:
        """The labels."""
        return self.fitted.state.classes

    def prevalence(self, X_new: object, request: Request, *, checked: bool = True) -> Prevalence:
        """Return the class frequencies of a population; see `Classifier.estimate_prevalence`.

        checked: whether label shift is.
        """
        posterior, encoded, n_rows = self.encode(X_new)
        weight = validation.weights_of(request.sample_weight, n_rows)
        return estimated(
            request,
            posterior,
            encoded,
            weight,
            self.classes,
            self.fitted.state.statistics.count,
            self.left_out_rows,
            (lambda: self.beside(X_new)) if checked else None,
        )

    def beside(self, X_new: object) -> Populations:
        """Return the labeled rows of the fit beside new rows.

        Raises:
            UnsupportedOperation: the classifier does not keep the rows.
        """
        X, codes, weights = self.labeled(*self.rows_of_fit("estimate_prevalence"))
        return Populations(self.read(X), codes, weights, self.read(X_new))

    def labeled(
        self, X: object, y: object, weight: object
    ) -> tuple[object, np.ndarray, np.ndarray]:
        """Return rows that have a label and a weight above 0, their class codes and weights."""
        codes = validation.class_codes(y, self.classes)
        weights = validation.weights_of(weight, len(codes))
        labeled = np.flatnonzero((codes != UNLABELLED) & (weights > 0))
        if len(labeled) < len(codes):
            X, codes, weights = _safe_indexing(X, labeled), codes[labeled], weights[labeled]
        return X, codes, weights

    def left_out_rows(self) -> LeftOutRows:
        """Return predictions of the rows of the fit, each from the others.

        Raises:
            UnsupportedOperation: the posterior is not in closed form; the classifier does not keep
                the rows.
        """
        if self.left_out is not None:
            return self.left_out
        components, cure = self.fitted.posterior.components, "Pass method='density'"
        components.require_leave_one_out("method='left_out'", cure)
        X, y, weight = self.rows_of_fit("method='left_out'", f"{cure}.")
        _, encoded, n_rows = self.encode(X)
        codes = validation.class_codes(y, self.classes)
        return self.fitted.left_out_rows(encoded, codes, validation.weights_of(weight, n_rows))

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
        _, encoded, _ = self.encode(X)
        joint = None
        # point estimates leave no row out, and few draws smooth no weights
        with contextlib.suppress(UnsupportedOperation):
            fitted.posterior.components.require_loo()
            joint = fitted.left_out(encoded, codes, weights).joint
        populations = Populations(self.read(X), codes, weights, self.read(X_new))
        earlier, later = (
            predict.log_joint(fitted.posterior, *self.encode(rows)[1:], densities=True)
            for rows in (X, X_new)
        )
        return table_of_shift(populations, joint, earlier, later, estimate.draws)
