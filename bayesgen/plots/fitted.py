"""Fitted classifiers as pictures and reports ask them; `Classifier` documents their verbs."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesgen.inference import Posterior, Report
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Reader


@runtime_checkable
class Predicting(Protocol):
    """Any classifier that states probabilities."""

    classes_: np.ndarray

    def predict_proba(self, X: object) -> np.ndarray:
        """Return P(y = k given x), shape (row, class)."""


@runtime_checkable
class FittedClassifier(Predicting, Protocol):
    """A fitted classifier of this library."""

    fitted_: Any
    fit: Callable[..., Any]
    decision_function: Callable[..., Any]
    predict_interval: Callable[..., Any]
    predict_joint_log_proba: Callable[..., Any]
    typicality: Callable[..., Any]
    evidence: Callable[..., Any]
    relevance: Callable[..., Any]
    program: Callable[[], str]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the arguments."""

    @property
    def report_(self) -> Report:
        """The report of the inference."""

    @property
    def inference_(self) -> str:
        """The method that ran."""

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""


@runtime_checkable
class State(Protocol):
    """The priors, columns and levels of a fitted model."""

    @property
    def likelihoods(self) -> Mapping[str, Likelihood]:
        """The prior of each block."""

    def columns(self, reader: Reader, block: str) -> list:
        """Return the names of the informative columns of a block."""

    def level_names(self, reader: Reader, block: str) -> list[str]:
        """Return "column=level" for the informative levels of a block."""


@runtime_checkable
class Model(FittedClassifier, Protocol):
    """A classifier that is one model, not a stack."""

    @property
    def state_(self) -> State:
        """The priors, columns and levels."""


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

    members_: Mapping[str, Any]
    members_table: Callable[..., Any]
    left_out_: Mapping[str, str]
    pool_share_: float
