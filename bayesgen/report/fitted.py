"""Fitted classifiers as a report reads them."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesgen.inference import Posterior, Report
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Reader

NAMES = {
    "NaiveBayes": "naive Bayes",
    "LDA": "linear discriminant analysis",
    "QDA": "quadratic discriminant analysis",
    "JointTable": "joint table of all levels",
    "BagOfWords": "bag of words",
    "StackedClassifier": "stack of model structures",
    "GenerativeClassifier": "generative classifier",
}
"""Classifiers in words."""


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
class FittedClassifier(Protocol):
    """A fitted classifier as a report reads it; see `Classifier` for its attributes."""

    classes_: np.ndarray
    report_: Report
    fit: Callable[..., Any]
    decision_function: Callable[..., Any]
    typicality: Callable[..., Any]

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: FBT001, FBT002
        """Return the arguments."""

    @property
    def inference_(self) -> str:
        """The method that ran."""

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""


@runtime_checkable
class Model(FittedClassifier, Protocol):
    """A classifier that is one model, not a stack."""

    @property
    def state_(self) -> State:
        """The priors, columns and levels."""


@runtime_checkable
class Stack(Protocol):
    """A stack as a report reads it; see `StackedClassifier` for its attributes."""

    members_: Mapping[str, Any]
    members_table: Callable[..., Any]
    left_out_: Mapping[str, Any]
    pool_share_: float


def story_of(clf: FittedClassifier) -> Callable | None:
    """Return the program of the user that a classifier was made with, if any."""
    return clf.get_params(deep=False).get("story")


def named(clf: FittedClassifier) -> str:
    """Return the name of a classifier in words."""
    if story_of(clf):
        return "program of the user"
    return NAMES.get(type(clf).__name__, type(clf).__name__)
