"""Base class of posteriors that calibrate only their class probabilities."""

import abc
import dataclasses
from typing import Any, TypeVar

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.inference.posterior import Posterior
from bayesgen.inference.scores import Scores
from bayesgen.typing import Encoded, Joint

C = TypeVar("C", bound="CalibratedPosterior")


def _of_the_base(name: str) -> Any:
    """Return a property that delegates to the base posterior."""
    return property(lambda self: getattr(self.base, name))


@dataclasses.dataclass(frozen=True, eq=False)
class CalibratedPosterior(Posterior):
    """A posterior with other class probabilities given x; densities are those of its base.

    base: the posterior, whose scores are calibrated.
    """

    base: Posterior

    point = _of_the_base("point")
    families = _of_the_base("families")
    closed = _of_the_base("closed")
    caveat = _of_the_base("caveat")
    is_marginal = _of_the_base("is_marginal")
    log_classes = _of_the_base("log_classes")
    scores = _of_the_base("scores")
    normal_centre = _of_the_base("normal_centre")
    require_leave_one_out = _of_the_base("require_leave_one_out")
    parameters = _of_the_base("parameters")
    as_draws = _of_the_base("as_draws")
    draws_part = _of_the_base("draws_part")
    reads = _of_the_base("reads")
    kept_levels = _of_the_base("kept_levels")
    dependent_cells = _of_the_base("dependent_cells")
    require_imputable = _of_the_base("require_imputable")
    impute = _of_the_base("impute")
    class_weights = _of_the_base("class_weights")
    conditional = _of_the_base("conditional")
    stratified_imputations = _of_the_base("stratified_imputations")

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the expectation of those given one more cell: no."""
        return False

    @abc.abstractmethod
    def log_proba(self, scores: Scores) -> Joint:
        """Return log P(y = k given x) from the scores of the base posterior."""

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log of the calibrated class probabilities."""
        return self.log_joint_from(self.scores(encoded, n_rows))

    def log_joint_from(self, scores: Scores) -> Joint:
        """Return the log joint of the same density and calibrated class probabilities."""
        density = np.logaddexp.reduce(scores.joint, axis=1, keepdims=True)
        return density + self.log_proba(scores)

    def with_draws(self: C, n: int) -> C:
        """Return the same with at most n draws of the base posterior."""
        return dataclasses.replace(self, base=self.base.with_draws(n))

    def with_classes(self: C, classes: ClassPrior) -> C:
        """Return the same posterior under another class prior."""
        return dataclasses.replace(self, base=self.base.with_classes(classes))

    def shifted(self: C, origin: dict[str, np.ndarray]) -> C:
        """Return the posterior in the user's own units."""
        return dataclasses.replace(self, base=self.base.shifted(origin))
