"""What every likelihood is: a frozen prior over parameters that can be updated, sampled and scored.

A family writes one file. It declares its axes once; re-indexing, validation, persistence and
labelled output follow from that declaration. Families with sufficient statistics write their
density once (see `exponential`); the others keep the rows (see `rows`).
"""

import abc
import copy
import dataclasses
from collections.abc import Callable, Mapping
from typing import ClassVar, Generic, TypeVar

import numpy as np

from bayesgen.errors import InvalidArgument, InvalidPrior, NoEvidence, UnsupportedInference
from bayesgen.likelihoods import conditional_draws, supports
from bayesgen.likelihoods.axes_dataclass import Arrays, Axes, changed_fields, reindex
from bayesgen.likelihoods.supports import Support
from bayesgen.typing import (
    Block,
    Evidence,
    Joint,
    Kept,
    Labels,
    Params,
    Traceable,
    Transform,
    Weights,
)

T = TypeVar("T", bound="Statistics")
S = TypeVar("S", bound="Statistics")
L = TypeVar("L", bound="Likelihood")


@dataclasses.dataclass(frozen=True)
class Repair:
    """Something a person should know about one column of one class, by position.

    kind: "floored", "pooled" or "singular". cls is None where every class is concerned, feature
    is None where the whole block is.
    """

    kind: str
    cls: int | None = None
    feature: int | None = None


class Statistics(Arrays):
    """What rows say about the parameters of a block: additive, float64, of every class."""

    def __add__(self: T, other: T) -> T:
        """Return the statistics of the rows of both."""
        return self.with_arrays({k: v + getattr(other, k) for k, v in self.arrays().items()})

    def __sub__(self: T, other: T) -> T:
        """Return the statistics without the rows of the other, which must be among them."""
        return self.with_arrays({k: v - getattr(other, k) for k, v in self.arrays().items()})

    def reindex(self: T, axis: str, index: np.ndarray, size: int) -> T:
        """Return a copy whose axis has grown to `size`; old position i stands at index[i]."""
        return self.with_arrays(
            {k: reindex(v, self.axes[k], axis, index, size) for k, v in self.arrays().items()}
        )

    def reindex_levels(self: T, index: np.ndarray, n_levels: tuple[int, ...]) -> T:
        """Return a copy over grown columns of levels (without levels: itself)."""
        return self


class Likelihood(Arrays, abc.ABC, Generic[S]):
    """The class-conditional density of a block, with its prior.

    Every hyperparameter is a guess or the number of rows that a guess is worth. A guess of None is
    filled from the statistics by `complete`; after it every array field has its declared axes.
    """

    kind: ClassVar[str] = "numbers"
    """What the table hands over: "numbers", "levels", "binary" or "counts"."""
    joint: ClassVar[bool] = False
    """Whether the columns depend on each other given the class."""
    centred: ClassVar[bool] = False
    """Whether columns may be handed over minus a common origin."""
    location_params: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters and parameters that move with the origin."""
    sparse: ClassVar[bool] = False
    """Whether rows may come as a scipy.sparse.csr_array, in which an absent cell is 0."""
    allows_missing_at_fit: ClassVar[bool] = True
    """Whether fitted rows may miss cells."""
    warns_uninformative: ClassVar[bool] = True
    """Whether people are told of columns that say nothing."""
    most_cells: ClassVar[int | None] = None
    """Largest number of combinations of levels that a block may have; None where any may be."""
    caveat: ClassVar[str] = ""
    """What the closed form does not answer exactly, in a sentence."""
    has_closed_form_mle: ClassVar[bool] = True
    """Whether maximum likelihood has a closed form."""
    hyperparameter_grid: ClassVar[Mapping[str, tuple]] = {}
    """Settings that may say "learn", and the values that they are then averaged over."""
    vectorised: ClassVar[bool] = False
    """Whether statistics and priors may carry leading axes, over which everything up to
    `log_predictive_paired` then repeats: all of a family's work for leave-one-out."""
    supports: ClassVar[Mapping[str, str | Support]] = {}
    """The support of each parameter (see `supports`), for families of plain ones: from it follow
    `bijector` and `log_scale_free_jacobian`."""
    param_axes: ClassVar[Axes] = {}
    """The axes of each parameter after the draw axes."""

    @property
    def conjugate(self) -> bool:
        """Whether the family has closed forms."""
        return True

    @property
    def priors(self) -> "tuple[Likelihood, ...]":
        """The family under each of the priors that are averaged over: itself alone."""
        return (self,)

    @property
    def improper(self) -> bool:
        """Whether the prior integrates to infinity: a reference prior before it has seen rows."""
        reference = getattr(self, "prior", None) == "reference"
        return reference and bool((np.asarray(getattr(self, "mean_rows", 1.0)) <= 0).any())

    @property
    def title(self) -> str:
        """The family, and its prior if that is another than the default, as they are typed."""
        prior = getattr(self, "prior", "conjugate")
        return type(self).__name__ + ("" if prior == "conjugate" else f"(prior={prior!r})")

    def require_closed_form(self) -> None:
        """Refuse, with `UnsupportedInference`, where there is no closed form."""
        if not self.conjugate:
            raise UnsupportedInference.no_closed_form(self.title)

    def require_evidence(self) -> None:
        """Refuse, with `NoEvidence`, where rows have no probability, parameters integrated out."""
        if not self.conjugate:
            raise NoEvidence.no_closed_form(self.title)
        if self.improper:
            raise NoEvidence.improper(self.title)

    def equivalent_family(self) -> "Likelihood":
        """Return the family that the settings name: where one has a simpler twin, that twin."""
        return self

    # -- what the rows say ------------------------------------------------------------------

    @abc.abstractmethod
    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> S:
        """Return the statistics of encoded rows; missing cells weigh zero."""

    # -- the prior and its update -----------------------------------------------------------

    @abc.abstractmethod
    def complete(self: L, statistics: S) -> L:
        """Return the prior with every None guess filled and every array of its declared shape."""

    def uninformative(self) -> np.ndarray | None:
        """Return the positions of `subset_axis` that say nothing about the class, as booleans."""
        return None

    subset_axis: ClassVar[str] = "feature"

    def select(self, x: Block, index: np.ndarray) -> Kept:
        """Return encoded rows as a likelihood sees them that kept `index` of its subset axis."""
        return x[:, index]

    def restore(self, x: Kept, index: np.ndarray, blank: Block) -> Block:
        """Return `blank` with rows of a likelihood that kept `index` put back: undoes `select`."""
        blank[:, index] = x
        return blank

    def posterior(self: L, statistics: S) -> L:
        """Return the prior updated by statistics: the same type, ready for more."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def log_evidence(self, statistics: S) -> Evidence:
        """Return log p(rows given classes), parameters integrated out."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    # -- rows, parameters integrated out ----------------------------------------------------

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k), shape (row, class), parameters integrated out."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def is_marginal(self, x: Block) -> np.ndarray:
        """Return for which rows `predictive` is the integral over their missing values, (row,)."""
        return np.ones(x.shape[0], dtype=bool)

    def log_predictive(self, x: Block) -> np.ndarray:
        """Return log p(x given y = k), shape (row, class), parameters integrated out."""
        return self.predictive()(x)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return log p(x_i given y = k) by the i-th of `vectorised` priors, shape (row, class)."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def log_predictive_updated(self, statistics: S, x: Block) -> Joint:
        """Return the same after statistics with the same leading axis, one of them for each row."""
        return self.posterior(statistics).log_predictive_paired(x)

    # -- parameters -------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n independent draws of the parameters, each of shape (draw, *param_axes)."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

        theta comes from this prior updated, for class own[draw, row] alone, by the row x itself.
        The same random numbers serve every row, so a row's answer does not depend on its company.
        """
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def mode(self) -> Params:
        """Return the mode against the scale-free measure (see `log_scale_free_jacobian`)."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return log(d params / d scale-free coordinates), summed over the block.

        Scale-free are logs of rates and variances, log-odds of probabilities, and the measure
        |Sigma|^-(p+1)/2 for covariances.
        """
        return supports.log_jacobian(self.supports, params)

    def maximum_likelihood(
        self, statistics: S, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return the parameters of greatest likelihood and what had to be mended."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    @abc.abstractmethod
    def initial_params(self, statistics: S) -> Params:
        """Return parameters from pooled moments: where an optimiser or a sampler begins."""

    # -- rows given parameters ----------------------------------------------------------------

    @abc.abstractmethod
    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class)."""

    @abc.abstractmethod
    def log_likelihood(self, params: Params, statistics: S) -> Traceable:
        """Return log p(rows given params), summed over classes.

        Runs on NumPy and on traced JAX arrays.
        """

    @property
    def support(self) -> str:
        """What a cell may be, in words."""
        return "any number"

    def out_of_support(self, x: Block) -> Traceable | None:
        """Return which observed cells no parameters allow, as booleans; None where all may be.

        Of sparse rows a sparse answer will do.
        """
        return None

    @abc.abstractmethod
    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return one simulated row for each label; params without draw axis."""

    # -- missing cells ------------------------------------------------------------------------

    @property
    def columns_inform_each_other(self) -> bool:
        """Whether a cell tells of other cells of its row, parameters integrated out."""
        return self.joint

    def require_fillable(self) -> None:
        """Refuse, with `UnsupportedInference`, where missing cells cannot be drawn."""

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from p(missing given observed, y = own, data).

        Levels are drawn exactly, one cell after the other. Other families, unless they have a
        closed form of their own, pick one of 1,000 draws of the parameters by p(observed cells
        given y = own, theta), and fill the row given that: exact as the draws become many.

        Args:
            x: encoded rows; observed cells are handed back as they are.
            own: the class of each row.
            rng: random numbers.

        Raises:
            UnsupportedInference: the family does not know how.
        """
        self.require_fillable()
        n_levels = getattr(self, "n_levels", ())
        if self.kind == "levels" and len(n_levels) == x.shape[1]:
            return conditional_draws.level_by_level(self.predictive(), n_levels, x, own, rng)
        return conditional_draws.resampled(self, x, own, rng)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters.

        Independent columns need no more than `simulate`.
        """
        n_levels = getattr(self, "n_levels", ())
        if self.joint and self.kind == "levels" and len(n_levels) == x.shape[1]:
            score = self.log_density_fn({name: value[None] for name, value in params.items()})
            return conditional_draws.level_by_level(
                lambda rows: score(rows)[:, 0], n_levels, x, own, rng
            )
        if self.joint:
            raise conditional_draws.refusal(self)
        return np.where(conditional_draws.is_missing(x), self.simulate(params, own, rng), x)

    # -- the story ----------------------------------------------------------------------------

    @abc.abstractmethod
    def story(self, name: str) -> Params:
        """Sample the parameters of every class by numpyro.sample and return them (traced)."""

    def whitening(self, statistics: S) -> dict[str, tuple[np.ndarray, ...]]:
        """Return, per parameter, the arrays of `bijector`: where the posterior sits, how wide."""
        raise UnsupportedInference.no_closed_form(type(self).__name__)

    def sheared(self, u: Params, arrays: Mapping[str, tuple]) -> Params:
        """Return the coordinates that `bijector` takes, from u in which a posterior is round.

        u: by parameter. arrays: those of `whitening`. Where parameters depend on each other, a
        coordinate gains a multiple of those before it: volumes stay as they are (traced).
        """
        return u

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the numpyro transform from unit-scale real coordinates to one parameter."""
        return supports.support(self.supports[parameter]).bijector(*arrays)

    # -- moving and showing --------------------------------------------------------------------

    def shifted(self: L, origin: np.ndarray) -> L:
        """Return the likelihood of x + origin when this one is of x."""
        stated = {n: getattr(self, n) for n in self.location_params if getattr(self, n) is not None}
        for name, value in stated.items():
            if np.ndim(value) and np.shape(value)[-1] not in (1, len(origin)):
                wide = ("class", len(origin))
                raise InvalidPrior.wrong_shape(type(self).__name__, name, np.shape(value), wide)
        return self.with_arrays({name: value + origin for name, value in stated.items()})

    def shift_params(self, params: Params, origin: np.ndarray) -> Params:
        """Return parameters of x + origin when these are of x."""
        return {k: v + origin if k in self.location_params else v for k, v in params.items()}

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002
        """Return the constructor's arguments by name, as scikit-learn asks an estimator for them.

        deep: without effect; it is scikit-learn's.
        """
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def set_params(self: L, **params: object) -> L:
        """Return a likelihood with other arguments; this one, which others may hold, stays.

        Raises:
            InvalidArgument: an argument that the likelihood does not have.
            InvalidPrior: a value that makes no prior.

        Example:
            >>> import bayesgen as bg
            >>> bg.Normal(mean_rows=2).set_params(variance_rows=3)
            Normal(mean_rows=2, variance_rows=3)
        """
        known = list(self.get_params())
        for name in params:
            if name not in known:
                raise InvalidArgument.unknown_to(type(self).__name__, name, known)
        return dataclasses.replace(self, **params)

    def __sklearn_clone__(self: L) -> L:
        """Return a copy: what scikit-learn's clone makes of a likelihood in an argument."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        """Show only what differs from the defaults, as it would be typed."""
        return f"{type(self).__name__}({', '.join(changed_fields(self))})"
