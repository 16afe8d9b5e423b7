"""What a likelihood may be able to do: closed forms, programs, estimates, missing cells.

Every likelihood is a `Likelihood`. What it can do besides, it declares by having the methods, and
is asked by `isinstance`, or by `required`, which raises where it cannot.
"""

import abc
from collections.abc import Callable
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np

from bayesgen.errors import NoAttribute
from bayesgen.errors.operations import (
    COMPARE,
    no_closed_form,
    no_evidence_in_closed_form,
    unsupported,
)
from bayesgen.likelihoods.base import CellDensities, Likelihood, Repair, Statistics
from bayesgen.typing import Block, Evidence, Joint, Labels, Params, Weights

S = TypeVar("S", bound=Statistics)
C = TypeVar("C", bound="Conjugate")
P = TypeVar("P")


# -- closed forms ----------------------------------------------------------------------------------


class Conjugate(Likelihood[S]):
    """A likelihood whose prior has a posterior of the same type."""

    conjugate = True

    @abc.abstractmethod
    def posterior(self: C, statistics: S) -> C:
        """Return the prior updated by statistics: the same type, ready for more."""

    @abc.abstractmethod
    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k), shape (row, class), parameters integrated out."""

    def log_predictive(self, x: Block) -> np.ndarray:
        """Return log p(x given y = k), shape (row, class), parameters integrated out."""
        return self.predictive()(x)

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n independent draws of the parameters, each of shape (draw, *param_axes)."""

    @abc.abstractmethod
    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

        theta comes from this prior updated, for class own[draw, row] alone, by the row x itself.
        All rows share the same random numbers, so results do not depend on other rows.
        """


@runtime_checkable
class MarginalLikelihood(Protocol):
    """Evidence in closed form."""

    def log_evidence(self, statistics: Any) -> Evidence:
        """Return log p(rows given classes), parameters integrated out."""


def require_evidence(likelihood: Likelihood) -> MarginalLikelihood:
    """Return the likelihood as one with evidence.

    Raises:
        NoAttribute: p(rows) with parameters integrated out does not exist, or in no closed form.
    """
    if not likelihood.conjugate:
        raise no_evidence_in_closed_form(likelihood.title)
    if likelihood.improper:
        raise NoAttribute(
            "{family} is improper: it integrates to infinity, so the rows have no "
            "probability under it.",
            "State a proper prior, prior='conjugate', or compare models on held-out rows: "
            "bg.compare({{'one': ..., 'other': ...}}, X, y).",
            family=likelihood.title,
        )
    if not isinstance(likelihood, MarginalLikelihood):
        raise NoAttribute(
            "{family} has no evidence: its density is built from the rows themselves, and no "
            "parameter is integrated out.",
            "Instead, {compare}",
            family=likelihood.title,
            compare=COMPARE,
        )
    return likelihood


@runtime_checkable
class Vectorised(Protocol):
    """Statistics and priors may carry leading axes: leave-one-out then takes rows in batches."""

    def log_predictive_updated(self, statistics: Any, x: Block) -> Joint:
        """Return log p(x_i given y = k) after updating by the i-th statistics, (row, class).

        statistics: with a leading axis, one position per row.
        """


@runtime_checkable
class LeaveOneOut(Protocol):
    """Leave-one-out densities in a closed form other than that of the statistics."""

    def leave_one_out(
        self, statistics: Any, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint:
        """Return log p(x_i given y = k, the rows without i), shape (row, class).

        NaN: rows that require a refit.

        Args:
            statistics: of all rows, as those by which this likelihood was completed.
            x: some of them.
            y: their class codes.
            weight: their weights.
            away: the part of its weight that a row loses.
        """


# -- estimates and programs ------------------------------------------------------------------------


@runtime_checkable
class Mode(Protocol):
    """A mode in closed form."""

    def mode(self) -> Params:
        """Return the mode against the scale-free measure (see `log_scale_free_jacobian`)."""


@runtime_checkable
class MaximumLikelihood(Protocol):
    """Maximum likelihood in closed form."""

    def maximum_likelihood(
        self, statistics: Any, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return the maximum likelihood estimate and the repairs it needed."""


@runtime_checkable
class Program(Protocol):
    """A NumPyro program, with coordinates in which it is easy to sample and to optimize."""

    def story(self, name: str) -> Params:
        """Sample the parameters of every class by numpyro.sample and return them (traced)."""

    def initial_params(self, statistics: Any) -> Params:
        """Return parameters from pooled moments, to initialize an optimizer or a sampler."""

    def whitening(self, statistics: Any) -> dict[str, tuple[np.ndarray, ...]]:
        """Return the arrays of `bijector` by parameter: center and width of the posterior."""


# -- missing cells ---------------------------------------------------------------------------------


@runtime_checkable
class Imputation(Protocol):
    """Missing cells that can be drawn given parameters."""

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters.

        Args:
            params: without draw axis.
            x: encoded rows; observed cells are returned unchanged.
            own: the class of each row.
            rng: random numbers.
        """


@runtime_checkable
class PredictiveImputation(Protocol):
    """Missing cells that can be drawn with the parameters integrated out."""

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from p(missing given observed, y = own, data).

        Args:
            x: encoded rows; observed cells are returned unchanged.
            own: the class of each row.
            rng: random numbers.
        """


@runtime_checkable
class CellDistribution(Protocol):
    """Missing cells that are normal given parameters, and Student-t with them integrated out.

    Both methods return location, scale and degrees of freedom, each of shape (row, feature); a
    normal has infinite degrees.
    """

    def conditional(self, x: Block, own: Labels) -> CellDensities:
        """Return the distributions from which missing cells are drawn by `fill`."""

    def conditional_given(self, params: Params, x: Block, own: Labels) -> CellDensities:
        """Return the distributions from which missing cells are drawn by `fill_given`."""


# -- words -----------------------------------------------------------------------------------------


@runtime_checkable
class Vocabulary(Protocol):
    """Rows that are collections of words."""

    def word_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what one more word, a count of a column, says of each class against their mean.

        In nats, and in nats times the frequency of the word in the class, each (class, feature).
        """


# -- asked -----------------------------------------------------------------------------------------


def required(likelihood: Likelihood, ability: type[P]) -> P:
    """Return the likelihood as one that can do a thing.

    Args:
        likelihood: completed, since some settings rule out a closed form.
        ability: a class of this module.

    Raises:
        UnsupportedOperation: it cannot.
    """
    if isinstance(likelihood, ability) and (ability is not Conjugate or likelihood.conjugate):
        return likelihood
    if ability in (Imputation, PredictiveImputation):
        raise unsupported(
            type(likelihood).__name__,
            "its missing cells cannot be drawn (the number of words of a text is unknown, for "
            "example)",
            "Leave its columns out, or read them by bg.Normal(), bg.Poisson() or bg.Categorical().",
        )
    if any(likelihood.only_exact):
        raise unsupported(likelihood.title, *likelihood.only_exact)
    raise no_closed_form(likelihood.title)
