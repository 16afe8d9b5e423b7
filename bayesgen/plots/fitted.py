"""Fitted classifiers as pictures ask them."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesgen.inference import Posterior
from bayesgen.typing import Joint


@runtime_checkable
class Predicting(Protocol):
    """Any classifier that states probabilities."""

    classes_: np.ndarray

    def predict_proba(self, X: object) -> np.ndarray:
        """Return P(y = k given x), shape (row, class)."""


@runtime_checkable
class Generative(Predicting, Protocol):
    """A classifier with the density of a row in each class; see `Classifier` for its verbs."""

    predict_interval: Callable[..., Any]
    typicality: Callable[..., Any]
    evidence: Callable[..., Any]

    def predict_joint_log_proba(self, X: object) -> Joint:
        """Return log p(x, y = k given data), shape (row, class)."""

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""


@runtime_checkable
class Weighted(Protocol):
    """A classifier that weighs members, or columns, by their leave-one-out scores."""

    @property
    def weights_(self) -> Mapping[Any, float]:
        """The weight of each, by name."""

    @property
    def temperature_(self) -> float:
        """Divisor of the log-odds."""


@runtime_checkable
class Stack(Weighted, Protocol):
    """A stack: what it weighs are members."""

    left_out_: Mapping[str, str]
    pool_share_: float
