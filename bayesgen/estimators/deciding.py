"""What a fitted classifier advises: the decision of least expected loss, and who looks strange."""

import abc
import math
from typing import Literal, overload

import numpy as np
from jaxtyping import Float, Shaped

from bayesgen import arguments
from bayesgen.decide import Loss, Losses, blanked, losses, patterns, tail_share
from bayesgen.estimators.predicting import Predicting
from bayesgen.inference import Posterior, class_probabilities
from bayesgen.predict import joint_and_prior, log_density
from bayesgen.typing import Encoded, Traceable

DRAWS = 1000
NOVELTY_DRAWS = 40
"""Simulated rows expected below a novelty threshold: its standard error is a sixth of it."""

Decisions = Shaped[np.ndarray, " row"]


class Deciding(Predicting, abc.ABC):
    """Decisions from probabilities; a subclass says how rows are simulated."""

    @abc.abstractmethod
    def _simulated(self, n: int) -> dict[str, Traceable]:
        """Return n rows of the posterior predictive, as `_encode_rows` does, from one seed."""

    @overload
    def decide(
        self,
        X: object,
        loss: Loss = ...,
        reject: float | int | None = ...,
        *,
        novelty: float | None = ...,
        reject_label: object = ...,
        return_loss: Literal[False] = ...,
    ) -> Decisions: ...
    @overload
    def decide(
        self,
        X: object,
        loss: Loss = ...,
        reject: float | int | None = ...,
        *,
        novelty: float | None = ...,
        reject_label: object = ...,
        return_loss: Literal[True],
    ) -> tuple[Decisions, Float[np.ndarray, " row"]]: ...
    def decide(
        self,
        X: object,
        loss: Loss = None,
        reject: float | int | None = None,
        *,
        novelty: float | None = None,
        reject_label: object = None,
        return_loss: bool = False,
    ) -> Decisions | tuple[Decisions, Float[np.ndarray, " row"]]:
        """Return for each row the decision of least posterior expected loss.

        The expected loss of deciding d is the sum over classes k of P(y = k given x) loss[k, d]
        (Berger 1985, section 4.4; with a constant cost of rejecting it is Chow's rule, 1970).

        Args:
            X: rows.
            loss: None (a wrong class costs 1), a matrix (true class, decided class) in the order of
                `classes_`, or {(true, decided): cost} for every pair of different labels. In a
                mapping decisions may be actions of your own: {("ill", "treat"): 0, ...}.
            reject: cost of leaving a row undecided, in the unit of loss; None: never.
            novelty: rows of a `typicality` below this are rejected whatever their loss.
            reject_label: what stands for undecided; None: "reject", or -1 among numbers.
            return_loss: also return expected losses; NaN where novelty rejects without a cost.

        Raises:
            InvalidLoss, InvalidArgument: no decision follows from the loss; novelty is no share.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> clf = bg.NaiveBayes().fit(X, y)
            >>> clf.decide(X.iloc[[0, 2, 15]], {("yes", "no"): 5, ("no", "yes"): 1}, reject=0.3)
            array(['yes', 'yes', 'reject'], dtype='<U6')
        """
        rule, read = self._rule(loss, reject, novelty, reject_label), self._encode_rows(X)
        proba = class_probabilities(*joint_and_prior(*read))
        decided = rule.best(proba)
        expected = rule.expected(proba)[np.arange(len(decided)), decided]
        if novelty is not None:
            strange = self._typicality(*read, enough_draws(novelty)) < novelty
            decided = np.where(strange, len(rule.decisions) - 1, decided)
            expected = np.where(strange, np.nan if reject is None else reject, expected)
        labels = rule.decisions[decided]
        return (labels, expected) if return_loss else labels

    def _rule(
        self,
        loss: Loss,
        reject: float | int | None,
        novelty: float | None,
        reject_label: object,
    ) -> Losses:
        """Return what each decision costs; where novelty is told, rejecting is one of them."""
        if novelty is not None:
            arguments.share("novelty", novelty, default=0.01)
        told = novelty is not None
        return losses(loss, self.classes_, reject=reject, reject_label=reject_label, novelty=told)

    def typicality(self, X: object, *, draws: int = DRAWS) -> Float[np.ndarray, " row"]:
        """Return P(p(x_rep given D) <= p(x given D)) for each row: small for no known class.

        The share of rows simulated from the posterior predictive, the same cells missing, that are
        no likelier than the row. For rows that do come from the model it is uniform between 0 and 1
        (or larger, where rows tie), so a threshold has a meaning: .01 flags one in a hundred. By
        simulation: the Monte Carlo standard error is sqrt(t (1 - t) / draws).

        Source: Box (1980), Journal of the Royal Statistical Society A 143, 383-430.

        Args:
            X: rows.
            draws: simulated rows.
        """
        draws = arguments.count("draws", draws, default=DRAWS)
        return self._typicality(*self._encode_rows(X), draws)

    def _typicality(
        self, posterior: Posterior, encoded: Encoded, n_rows: int, draws: int
    ) -> Float[np.ndarray, " row"]:
        seen = log_density(posterior.log_joint(encoded, n_rows))
        simulated, out = self._simulated(draws), np.empty(n_rows)
        for rows, missing in patterns(encoded, n_rows):
            reference = posterior.log_joint(blanked(simulated, missing), draws)
            out[rows] = tail_share(log_density(reference), seen[rows])
        return out


def enough_draws(novelty: float) -> int:
    """Return how many simulated rows tell whether one is less typical than that."""
    return max(DRAWS, math.ceil(NOVELTY_DRAWS / novelty))
