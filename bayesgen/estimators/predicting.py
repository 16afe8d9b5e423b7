"""What a fitted classifier answers about rows: classes, probabilities, intervals, novelty."""

import abc

import numpy as np
from jaxtyping import Float, Shaped

from bayesgen import predict
from bayesgen.inference import Posterior, log_normalised, log_odds, normalised
from bayesgen.typing import Joint, Traceable


class Predicting(abc.ABC):
    """Answers about rows; a subclass says how rows reach its posterior."""

    classes_: np.ndarray

    @abc.abstractmethod
    def _answering(self) -> Posterior:
        """Return the posterior; an error where nothing was fitted."""

    @abc.abstractmethod
    def _encoded(self, X: object) -> tuple[Posterior, dict[str, Traceable], int]:
        """Return the posterior, the rows as it reads them, and their number."""

    def predict_joint_log_proba(self, X: object) -> Joint:
        """Return log p(x, y = k given data), shape (row, class); -inf where impossible."""
        return predict.log_joint(*self._encoded(X), densities=True)

    def predict_proba(self, X: object) -> Joint:
        """Return P(y = k given x, data), shape (row, class), missing cells marginalised.

        A row that is impossible under every class has the class prior, with a warning; here and in
        every other method.
        """
        return normalised(*self._joint_and_prior(X))

    def predict_log_proba(self, X: object) -> Joint:
        """Return log P(y = k given x, data), exact also where the probability underflows."""
        return log_normalised(*self._joint_and_prior(X))

    def predict(self, X: object) -> Shaped[np.ndarray, " row"]:
        """Return the most probable class of each row; ties go to the first in `classes_`."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def decision_function(self, X: object) -> Float[np.ndarray, "row ..."]:
        """Return log-odds of classes_[1], shape (row,), or of each class against the rest.

        They are the logits of `predict_proba`: log P - log(1 - P).
        """
        return log_odds(*self._joint_and_prior(X))

    def score_samples(self, X: object) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), shape (row,): low for rows unlike every class."""
        return predict.log_density(self.predict_joint_log_proba(X))

    def predict_interval(self, X: object, prob: float = 0.9) -> Float[np.ndarray, "row class 2"]:
        """Return lower and upper ends of P(y = k given x, theta) that hold `prob` of its posterior.

        Central intervals over theta given the data and the row. predict_proba is the mean over the
        same distribution, and may lie outside when that is skewed.
        """
        return predict.interval(*self._encoded(X), prob)

    def predict_draws(self, X: object) -> object:
        """Return an xarray.DataArray (draw, row, class) of P(y = k given x, theta).

        Its coordinate "weight" (draw, row) sums to one for each row: the weighted mean over draws
        is predict_proba.
        """
        return predict.class_draws(*self._encoded(X), self.classes_)

    def _joint_and_prior(self, X: object) -> tuple[Joint, Float[np.ndarray, " class"]]:
        """Return the log joint, and what rows impossible under every class are answered by."""
        posterior, encoded, n_rows = self._encoded(X)
        joint = predict.log_joint(posterior, encoded, n_rows)
        predict.tell_impossible(joint)
        return joint, posterior.log_classes()
