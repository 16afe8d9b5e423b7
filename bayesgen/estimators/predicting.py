"""What a fitted classifier answers about rows: classes, probabilities, intervals, novelty."""

import abc

import numpy as np
from jaxtyping import Float, Shaped

from bayesgen import arguments, predict
from bayesgen.inference import Posterior, class_probabilities, log_normalised, log_odds
from bayesgen.table import check_labelled, read_target
from bayesgen.typing import DataArray, Joint, Traceable


class Predicting(abc.ABC):
    """Answers about rows; a subclass says how rows reach its posterior."""

    classes_: np.ndarray

    @abc.abstractmethod
    def _fitted_posterior(self) -> Posterior:
        """Return the posterior; an error where nothing was fitted."""

    @abc.abstractmethod
    def _encode_rows(self, X: object) -> tuple[Posterior, dict[str, Traceable], int]:
        """Return the posterior, the rows as it reads them, and their number."""

    def predict_joint_log_proba(self, X: object) -> Joint:
        """Return log p(x, y = k given data), shape (row, class); -inf where impossible."""
        return predict.log_joint(*self._encode_rows(X), densities=True)

    def predict_proba(self, X: object) -> Joint:
        """Return P(y = k given x, data), shape (row, class), missing cells marginalised.

        As everywhere, columns that a frame lacks are missing values, with one warning; and a row
        that is impossible under every class has the class prior, with a warning.
        """
        return class_probabilities(*predict.joint_and_prior(*self._encode_rows(X)))

    def predict_log_proba(self, X: object) -> Joint:
        """Return log P(y = k given x, data), exact also where the probability underflows."""
        return log_normalised(*predict.joint_and_prior(*self._encode_rows(X)))

    def predict(self, X: object) -> Shaped[np.ndarray, " row"]:
        """Return the most probable class of each row; ties go to the first in `classes_`."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the share of rows whose most probable class is their label: the accuracy."""
        from sklearn.metrics import accuracy_score

        labels = read_target(y)
        check_labelled(np.union1d(self.classes_, labels))
        return float(accuracy_score(labels, self.predict(X), sample_weight=sample_weight))

    def decision_function(self, X: object) -> Float[np.ndarray, "row ..."]:
        """Return log-odds of classes_[1], shape (row,), or of each class against the rest.

        They are the logits of `predict_proba`: log P - log(1 - P).
        """
        return log_odds(*predict.joint_and_prior(*self._encode_rows(X)))

    def score_samples(self, X: object) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), shape (row,): low for rows unlike every class."""
        return predict.log_density(self.predict_joint_log_proba(X))

    def predict_interval(self, X: object, prob: float = 0.9) -> Float[np.ndarray, "row class 2"]:
        """Return lower and upper ends of P(y = k given x, theta) that hold `prob` of its posterior.

        Central intervals over theta given the data and the row. predict_proba is the mean over the
        same distribution, and may lie outside when that is skewed.
        """
        prob = arguments.share("prob", prob)
        return predict.interval(*self._encode_rows(X), prob)

    def predict_draws(self, X: object) -> DataArray:
        """Return an xarray.DataArray (draw, row, class) of P(y = k given x, theta).

        Its coordinate "weight" (draw, row) sums to one for each row: the weighted mean over draws
        is predict_proba.
        """
        return predict.class_draws(*self._encode_rows(X), self.classes_)
