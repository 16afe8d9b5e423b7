"""Base classes of likelihoods: priors that can be updated, sampled and scored.

A family declares its hyperparameters and their axes once; validation, re-indexing, saving and
labeled output follow from that declaration. Families with sufficient statistics write their density
once (`exponential_family`); families of independent columns need only formulas for one cell
(`columnwise`); all others keep the rows (`distinct_rows`).
"""

import abc
import copy
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar, Generic, Literal, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from scipy.sparse import issparse, vstack

from bayesgen.errors import InvalidArgument
from bayesgen.errors.arguments import (
    did_you_mean,
    not_one_of,
    not_summing_to_one,
    wrong_prior_shape,
)
from bayesgen.likelihoods import description, supports
from bayesgen.likelihoods.description import Description, Marginals
from bayesgen.likelihoods.remainder import Remainder, Sum, judged, rests
from bayesgen.likelihoods.supports import Support
from bayesgen.typing import Block, Labels, LevelCounts, Params, Traceable, Transform, Weights

LEARN = "learn"
"""The value of a setting that is averaged over a grid (see `HyperparameterMixture`)."""

Stated = float | int | Num[np.ndarray, "..."] | None
Guess = Stated | Literal["learn"]
Axes = Mapping[str, tuple[str, ...]]

CHUNK_ROWS = 2048
"""Rows a chunk: 2048 x 20 float64 is 320 kB, which stays in a second-level cache (measured)."""

A = TypeVar("A", bound="Arrays")
T = TypeVar("T", bound="Statistics")
S = TypeVar("S", bound="Statistics")
L = TypeVar("L", bound="Likelihood")


# -- hyperparameters -------------------------------------------------------------------------------


def is_learned(value: object) -> bool:
    """Return whether a setting is to be learned."""
    return isinstance(value, str) and value == LEARN


def _require_one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    """Validate that an argument is one of the allowed options."""
    # an array has no truth value, so only text is compared
    if not isinstance(value, str) or value not in allowed:
        raise not_one_of(name, value, allowed)


def require_unit_sums(family: str, sums: np.ndarray) -> None:
    """Validate that the probabilities of a guess sum to one."""
    if not np.allclose(sums, 1.0, rtol=0, atol=1e-8):
        raise not_summing_to_one(f"{family}.probs", sums)


def broadcast_guess(family: str, name: str, value: object, shape: tuple[int, ...]) -> np.ndarray:
    """Broadcast a guess to a float64 array of its declared shape."""
    array = np.asarray(value, dtype=float)
    try:
        return np.broadcast_to(array, shape).astype(float)
    except ValueError:
        raise wrong_prior_shape(family, name, array.shape, shape) from None


# -- rows ------------------------------------------------------------------------------------------


def row_chunks(n_rows: int, size: int = CHUNK_ROWS) -> Iterator[slice]:
    """Yield slices that cover n_rows rows, `size` at a time."""
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


def below(parts: list[Traceable]) -> Traceable:
    """Return dense or sparse rows, one part below the other."""
    return vstack(parts, format="csr") if issparse(parts[0]) else np.concatenate(parts)


def one_hot(y: Labels, n_classes: int) -> Float[np.ndarray, "class row"]:
    """Return the one-hot matrix of class codes."""
    return (y == np.arange(n_classes)[:, None]).astype(float)


def is_missing(x: Traceable) -> np.ndarray:
    """Return which cells of encoded rows are missing: NaN, or -1 among codes."""
    return np.isnan(x) if x.dtype.kind == "f" else x < 0


def blanked(x: np.ndarray, gaps: Bool[np.ndarray, "..."]) -> np.ndarray:
    """Return encoded rows with cells missing where there are gaps."""
    return np.where(gaps, np.nan if x.dtype.kind == "f" else -1, x)


def by_missing_pattern(rows: dict[str, Traceable], n_rows: int) -> np.ndarray:
    """Return an order of rows in which those with the same missing cells are together."""
    missing = [is_missing(x) for x in rows.values() if isinstance(x, np.ndarray)]
    if not any(m.any() for m in missing):
        return np.arange(n_rows)
    return np.lexsort(np.packbits(np.concatenate(missing, axis=1), axis=1).T)


# -- arrays with named axes ------------------------------------------------------------------------


class Arrays:
    """A frozen dataclass whose array fields declare the names of their axes in `axes`."""

    axes: ClassVar[Axes] = {}

    def arrays(self) -> dict[str, Traceable]:
        """Return the array fields by name."""
        return {name: getattr(self, name) for name in self.axes}

    def __getstate__(self) -> dict[str, object]:
        """Return the fields without cached values computed from them."""
        return {name: getattr(self, name) for name in _fields(type(self))}

    def with_arrays(self: A, arrays: Mapping[str, object]) -> A:
        """Return a copy with other arrays, possibly traced, without validation."""
        other = object.__new__(type(self))
        vars(other).update(self.__getstate__(), **arrays)
        return other

    def settings(self) -> tuple:
        """Return the non-array fields, hashable: they determine what is traced and compiled."""
        return tuple((n, getattr(self, n)) for n in _fields(type(self)) if n not in self.axes)

    def take(self: A, axis: str, index: np.ndarray) -> A:
        """Return a copy that keeps the positions `index` of one axis, in that order."""
        arrays = {}
        for name, array in self.arrays().items():
            for position, word in enumerate(self.axes[name], start=-len(self.axes[name])):
                # an axis of length one is shared by all positions and stays
                if word == axis and (array.shape[position] != 1 or axis == "feature"):
                    array = np.take(array, index, axis=position)
            arrays[name] = array
        return self.with_arrays(arrays)


def _by_statistic(array: np.ndarray) -> Float[np.ndarray, "statistic class position"]:
    """Return sums by class, position on the last axis, by the statistics on the axes between."""
    n, *middle = array.shape
    position = middle.pop() if middle else 1
    return np.moveaxis(array.reshape(n, math.prod(middle), position), 1, 0)


@functools.cache
def _fields(owner: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(owner))


CellDensities = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Location, scale and degrees of freedom of Student-t distributions of cells, (row, feature)."""


@dataclasses.dataclass(frozen=True)
class Repair:
    """A degenerate estimate that was repaired, by class and column position.

    kind: "floored", "pooled" or "singular". cls is None if every class is affected, feature is None
    if the whole block is.
    """

    kind: str
    cls: int | None = None
    feature: int | None = None


class Statistics(Arrays):
    """Additive float64 statistics of a block by class: sufficient statistics, or the rows."""

    weighted: ClassVar[tuple[str, ...] | None] = None
    """The arrays that are proportional to the weights of the rows; None: all."""
    summed: ClassVar[tuple[str, ...] | None] = None
    """The arrays that are sums over rows of numbers of at least 0, by class; None: all by class."""
    has_missing: bool = False
    """Whether missing cells rule out the closed form, as they may of joint families."""

    @property
    def signed(self) -> tuple[int, ...]:
        """Positions, on the axis of statistics, of sums of numbers that may be negative."""
        return ()

    def __add__(self: T, other: T) -> T:
        """Return the statistics of the rows of both."""
        return self.with_arrays({k: v + getattr(other, k) for k, v in self.arrays().items()})

    def __sub__(self: T, other: T) -> T:
        """Return the statistics without the rows of the other, which must be among them."""
        return self.with_arrays({k: v - getattr(other, k) for k, v in self.arrays().items()})

    def without(self: T, part: T, *, exact: bool) -> Remainder[T]:
        """Return the statistics without some rows, and where these cannot have been among them.

        exact: whether all weights are whole numbers.
        """
        left, arrays = self - part, {}
        for name in self._summed():
            whole, gone = (_by_statistic(getattr(one, name)) for one in (self, part))
            rest = np.stack(rests(whole, gone, exact=exact, signed=self.signed), axis=1)
            arrays[name] = rest.reshape(getattr(self, name).shape)
        left = left.with_arrays(arrays)
        return Remainder(left, *judged(self.sums(), part.sums(), left.sums(), exact=exact))

    def sums(self) -> tuple[Sum, ...]:
        """Return the sums over rows by which `without` judges, that of weights first."""
        arrays = (getattr(self, name) for name in self._summed())
        return tuple(
            Sum(a, a)
            for array in arrays
            for i, a in enumerate(_by_statistic(array))
            if i not in self.signed
        )

    def _summed(self) -> list[str]:
        return [
            name
            for name, axes in self.axes.items()
            if axes[:1] == ("class",) and (self.summed is None or name in self.summed)
        ]

    def only_classes(self: T, stay: np.ndarray) -> T:
        """Return the statistics of some of the classes, rising; the others have no rows."""
        return self.take("class", stay)

    def per_level(self) -> np.ndarray | None:
        """Return the weight of each flat level over all classes; None: there are no levels."""
        return None

    def times(self: T, factor: float) -> T:
        """Return the statistics of the same rows, every weight times a number, 0 or more."""
        names = self.axes if self.weighted is None else self.weighted
        return self.with_arrays({name: factor * getattr(self, name) for name in names})

    def by_class_and_column(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the weight and the sum of the observed cells of every column, by class.

        Families that read indicators of levels define it (see `Likelihood.of_indicators`).
        """
        raise NotImplementedError(
            f"{type(self).__name__}.by_class_and_column: statistics of indicators"
        )

    def with_whole_indicators(self: T, at: np.ndarray) -> T:
        """Return the statistics without the rounding errors that subtraction left in indicators.

        at: positions of columns of 0 and 1.
        """
        return self

    def rewritten(self: T, matrix: np.ndarray, offset: np.ndarray, like: np.ndarray) -> T:
        """Return the statistics of the same rows with columns matrix @ old columns + offset.

        Families that read indicators of levels define it (see `Likelihood.of_indicators`).

        Args:
            matrix: shape (new, old).
            offset: shape (new,).
            like: for every new column an old one that was observed in the same rows.
        """
        raise NotImplementedError(f"{type(self).__name__}.rewritten: statistics of indicators")

    def shifted(self: T, by: Float[np.ndarray, " feature"]) -> T:
        """Return the statistics of the same rows with `by` added to every observed cell.

        Families whose columns are centered define it (see `Likelihood.centred`).
        """
        raise NotImplementedError(f"{type(self).__name__}.shifted: statistics of centered columns")

    def reindex(self: T, axis: str, index: np.ndarray, size: int) -> T:
        """Return a copy with an axis extended to `size`; old position i moves to index[i]."""
        arrays = {}
        for name, array in self.arrays().items():
            for position in (i for i, word in enumerate(self.axes[name]) if word == axis):
                shape = list(array.shape)
                shape[position] = size
                grown = np.zeros(shape, array.dtype)
                grown[(*[slice(None)] * position, index)] = array
                array = grown
            arrays[name] = array
        return self.with_arrays(arrays)

    def without_each(self: T, alone: T, y: Labels, at: Int[np.ndarray, " row"] | None = None) -> T:
        """Return the statistics without each of several rows, along a leading axis of rows.

        Only the class of a row changes.

        Args:
            alone: of each row by itself, with rows in place of classes.
            y: the rows' classes.
            at: positions of the rows along the leading axis that the statistics have already, as
                where rows lose shares in several classes; None: there is none yet.
        """
        return self._with_class_of_each(lambda own: own - alone, y, at)

    def with_each(self: T, alone: T, y: Labels) -> T:
        """Return the statistics with each of several rows, along a leading axis of rows.

        Args:
            alone: of each row by itself, with rows in place of classes.
            y: the rows' classes.
        """
        return self._with_class_of_each(lambda own: own + alone, y)

    def _with_class_of_each(
        self: T, changed: Callable[[T], T], y: Labels, at: Int[np.ndarray, " row"] | None = None
    ) -> T:
        """Return the statistics along a leading axis of rows, the class of each row changed."""
        names = [name for name, axes in self.axes.items() if axes[:1] == ("class",)]
        where = y if at is None else (at, y)
        own = changed(self.with_arrays({name: getattr(self, name)[where] for name in names}))
        place, arrays = np.arange(len(y)) if at is None else at, {}
        for name in names:
            whole = getattr(self, name)
            arrays[name] = np.repeat(whole[None], len(y), axis=0) if at is None else whole.copy()
            arrays[name][place, y] = getattr(own, name)
        return own.with_arrays(arrays)

    def reindex_levels(self: T, index: np.ndarray, n_levels: LevelCounts) -> T:
        """Return a copy over columns with more levels; itself if there are no levels."""
        return self


class Likelihood(Arrays, abc.ABC, Generic[S]):
    """The class-conditional density of a block, with its prior.

    Every hyperparameter is a prior guess or a prior strength, the number of rows that the guess
    counts for. Guesses of None are filled in from the statistics by `complete`, after which every
    array field has its declared axes.
    """

    kind: ClassVar[str] = "numbers"
    """The columns it reads: "numbers", "levels", "binary" or "counts"."""
    joint: ClassVar[bool] = False
    """Whether the columns depend on each other given the class."""
    centred: ClassVar[bool] = False
    """Whether columns may be passed minus a common origin."""
    location_params: ClassVar[tuple[str, ...]] = ()
    """Hyperparameters and parameters that shift with the origin."""
    sparse: ClassVar[bool] = False
    """Whether rows may come as a scipy.sparse.csr_array, in which an absent cell is 0."""
    keeps_rows: ClassVar[bool] = False
    """Whether the density rests on the training rows themselves, so that they need a label."""
    allows_missing_at_fit: ClassVar[bool] = True
    """Whether fitted rows may have missing cells."""
    warns_uninformative: ClassVar[bool] = True
    """Whether to warn about uninformative columns."""
    blank: ClassVar[float] = np.nan
    """What the cells of uninformative columns are in simulated rows: missing, by default."""
    most_cells: ClassVar[int | None] = None
    """Largest number of combinations of levels of a block; None without a limit."""
    caveat: ClassVar[str] = ""
    """A sentence on what the closed form only approximates."""
    options: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Settings that are words, and the words that they may be, checked here alone."""
    hyperparameters: ClassVar[Mapping[str, str]] = {}
    """The range of each prior guess and strength (see `supports.RANGES`), checked here alone."""
    scalars: ClassVar[tuple[str, ...]] = ()
    """The hyperparameters that are one number for all classes and columns."""
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """The words that may stand for a hyperparameter, beside "learn" (see `hyperparameter_grid`)."""
    hyperparameter_grid: ClassVar[Mapping[str, tuple]] = {}
    """Settings that may be "learn", and the values that they are then averaged over."""
    supports: ClassVar[Mapping[str, str | Support]] = {}
    """The support of each parameter (see `supports`), from which `bijector` and
    `log_scale_free_jacobian` follow."""
    param_axes: ClassVar[Axes] = {}
    """The axes of each parameter after the draw axes."""
    distribution_words: ClassVar[str] = ""
    """The distribution of a row given its class, in words; "" is the name of the class."""
    dependence_words: ClassVar[str] = ""
    """How the columns of a row depend on each other, in words; "" follows from `joint`."""
    param_words: ClassVar[Mapping[str, str]] = {}
    """What parameters are, where their names do not say it."""
    no_program: ClassVar[str] = "a family of your own states none"
    """Why there is no text of a program, unless `program_cells` is stated."""
    program_priors: ClassVar[Mapping[str, str]] = {}
    """The prior of each parameter as NumPyro code, given the fields and the parameters before."""
    program_cells: ClassVar[str] = ""
    """The distribution of cells as NumPyro code, given parameter[y]; of `known` where not `seen` is
    0 if columns are joined."""
    program_shared: ClassVar[tuple[str, ...]] = ()
    """The parameters that all classes have in common."""
    program_filler: ClassVar[float] = 0
    """A possible cell."""
    program_function: ClassVar[str] = ""
    """The source of a function that this code calls."""
    only_exact: ClassVar[tuple[str, str]] = ("", "")
    """Why parameters have a posterior in closed form and no program, and the cure; "" otherwise."""
    conjugate: bool = False
    """Whether the settings have closed forms (see `Conjugate`)."""
    improper: bool = False
    """Whether the prior is improper: a reference prior before any rows."""

    def __post_init__(self) -> None:
        """Validate options, and that every stated guess and strength lies in its declared range.

        None is a guess from the columns where it is the default, and no number elsewhere.

        Raises:
            InvalidArgument: names the likelihood, the argument, the value and what is allowed.
        """
        for name, allowed in self.options.items():
            _require_one_of(name, getattr(self, name), allowed)
        for name, wanted in self.hyperparameters.items():
            value, words = getattr(self, name), self.words.get(name, ())
            if name in self.hyperparameter_grid:
                words = (*words, LEARN)
            guessed = value is None and getattr(type(self), name, None) is None
            if not guessed and not (isinstance(value, str) and value in words):
                family, scalar = type(self).__name__, name in self.scalars
                supports.require(family, name, value, wanted, scalar=scalar)

    @property
    def components(self) -> "tuple[Likelihood, ...]":
        """The family under each prior of a mixture: itself alone."""
        return (self,)

    def heaviest(self, statistics: S | None = None) -> "Likelihood":
        """Return the family under the prior of largest weight, of a mixture: itself alone.

        statistics: by which a mixture weighs its priors, in addition to rows so far.
        """
        return self

    @property
    def title(self) -> str:
        """The constructor call of the family, with its prior unless that is the default."""
        prior = getattr(self, "prior", "conjugate")
        return type(self).__name__ + ("" if prior == "conjugate" else f"(prior={prior!r})")

    @property
    def n_levels(self) -> tuple[int, ...]:
        """The number of levels of each column, once completed; () if there are none."""
        return ()

    def equivalent_family(self) -> "Likelihood":
        """Return the simpler family equivalent to the settings, if there is one, else itself."""
        return self

    # -- statistics ---------------------------------------------------------------------------

    @abc.abstractmethod
    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> S:
        """Return the statistics of encoded rows; missing cells have weight zero."""

    def statistics_per_row(self, x: Block, weight: Weights, n_levels: LevelCounts = ()) -> S:
        """Return the statistics of each row by itself, with rows in place of classes."""
        own = np.arange(len(weight))
        return self.statistics(x, own, weight, n_classes=len(own), n_levels=n_levels)

    # -- the prior and its update -----------------------------------------------------------

    @abc.abstractmethod
    def complete(self: L, statistics: S) -> L:
        """Return the prior with every None guess filled and every array of its declared shape."""

    @property
    def strengths(self) -> tuple[str, ...]:
        """The prior strengths in rows that each guess has of its own; that of a location first."""
        return tuple(name for name in self.axes if name.endswith("rows"))

    def weakened(self: L, *rows: float) -> L:
        """Return the completed prior with the same guesses and less strength.

        A guess that counts for r rows counts for r s / (r + s): for s where r is large, and as
        before where s is infinite.

        Args:
            rows: s of each of the `strengths`.
        """
        arrays = {}
        for name, most in zip(self.strengths, rows, strict=True):
            strength = np.asarray(getattr(self, name))
            arrays[name] = strength / (1 + strength / most)
        return self.with_arrays(arrays)

    lost_levels_are_missing: ClassVar[bool] = False
    """Whether nothing depends on a level of probability 0 but the cells that hold it, so that these
    may be called missing where the level is not taken out."""

    def uninformative(self) -> np.ndarray | None:
        """Return a mask of the columns, or flat levels, that cannot tell classes apart."""
        return None

    # -- parameters -------------------------------------------------------------------------

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return log(d params / d scale-free coordinates), summed over the block.

        Scale-free are logs of rates and variances, log-odds of probabilities, and the measure
        |Sigma|^-(p+1)/2 for covariances.
        """
        return supports.log_jacobian(self.supports, params)

    def sheared(self, u: Params, arrays: Mapping[str, tuple]) -> Params:
        """Return the coordinates that `bijector` takes, from whitened coordinates u.

        If parameters are correlated, a coordinate gains a multiple of those before it, which leaves
        volumes unchanged (traced).

        Args:
            u: by parameter.
            arrays: those of `whitening`.
        """
        return u

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the numpyro transform from unit-scale real coordinates to one parameter."""
        return supports.support(self.supports[parameter]).bijector(*arrays)

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
        """The support of a cell, in words."""
        return "any number"

    def out_of_support(self, x: Block) -> Traceable | None:
        """Return a mask of the observed cells outside the support; None if there is no limit.

        The mask of sparse rows may be sparse.
        """
        return None

    @abc.abstractmethod
    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return one simulated row for each label; params without draw axis."""

    def lost_levels(self) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
        """Return the levels of indicators that no row has (see `Selection.lost`), if completed."""
        return ()

    @property
    def columns_inform_each_other(self) -> bool:
        """Whether the cells of a row are dependent given the class, parameters integrated out."""
        return self.joint

    # -- shifts, parameters, display -------------------------------------------------------------

    def of_indicators(self: L, variables: tuple[int, ...]) -> L:
        """Return the prior of a block of which some columns are indicators of levels.

        variables: of each column the variable that it is an indicator of, -1: of none; (): there
            are no indicators. Only families that read them define it.
        """
        if variables:
            raise NotImplementedError(f"{type(self).__name__}.of_indicators: indicators of levels")
        return self

    def shifted(self: L, origin: np.ndarray) -> L:
        """Return the likelihood of x + origin when this one is of x."""
        stated = {n: getattr(self, n) for n in self.location_params if getattr(self, n) is not None}
        for name, value in stated.items():
            if np.ndim(value) and np.shape(value)[-1] not in (1, len(origin)):
                wide = ("class", len(origin))
                raise wrong_prior_shape(type(self).__name__, name, np.shape(value), wide)
        return self.with_arrays({name: value + origin for name, value in stated.items()})

    def shift_params(self, params: Params, origin: np.ndarray) -> Params:
        """Return parameters of x + origin when these are of x."""
        return {k: v + origin if k in self.location_params else v for k, v in params.items()}

    def describe(self) -> Description:
        """Return the distribution and the settings in words."""
        dependence = "dependent" if self.joint else "independent given the class"
        return Description(
            self.distribution_words or type(self).__name__,
            self.dependence_words or f"columns {dependence}",
            description.settings(self),
        )

    def program_numbers(self) -> dict[str, str | list[str]]:
        """Return the numbers of the prior as code: one for the block, or one for each column."""
        return {}

    def axis_labels(
        self, columns: Sequence[str], levels: Sequence[str]
    ) -> dict[str, Sequence[str]]:
        """Return the names of the positions of the axes of parameters.

        Args:
            columns: of the block.
            levels: "column=level" of its columns side by side.
        """
        return {"feature": columns, "level": levels}

    def marginals(
        self, params: Params, columns: Sequence[str], levels: Sequence[str] = ()
    ) -> list[Marginals]:
        """Return draws of parameters as a reader knows them, entry by entry.

        Factors of covariances become variances and covariances.

        Args:
            params: draws of every parameter, each of shape (*draws, *param_axes).
            columns: names of the columns of the block.
            levels: "column=level" of its columns side by side.
        """
        labels, marginals = self.axis_labels(columns, levels), []
        for name, draws in params.items():
            axes, support = self.param_axes[name], self.supports.get(name)
            if support == "covariance factor":
                marginals += description.covariance_marginals(draws, axes, columns)
                continue
            words = self.param_words.get(name, name)
            marginals.append(description.marginals(words, draws, axes, labels))
        return marginals

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002
        """Return the constructor's arguments by name (scikit-learn's parameter protocol).

        Args:
            deep: ignored; scikit-learn passes it.
        """
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def set_params(self: L, **params: object) -> L:
        """Return a copy with other arguments; this likelihood, which may be shared, is unchanged.

        Raises:
            InvalidArgument: an argument that the likelihood does not have; an invalid value.

        Example:
            >>> import bayesgen as bg
            >>> bg.Normal(mean_rows=2).set_params(variance_rows=3)
            Normal(mean_rows=2, variance_rows=3)
        """
        known = list(self.get_params())
        for name in params:
            if name not in known:
                raise InvalidArgument(
                    "{family} has no argument {name!r}; it has {known:listed 20}.",
                    did_you_mean(name, known),
                    family=type(self).__name__,
                    name=name,
                    known=known,
                )
        return dataclasses.replace(self, **params)

    def __sklearn_clone__(self: L) -> L:
        """Return a copy, for scikit-learn's `clone` of an estimator that holds a likelihood."""
        return copy.deepcopy(self)

    def __repr__(self) -> str:
        """Return the constructor call, with only the arguments that differ from their defaults."""
        shown = []
        for field in (field for field in dataclasses.fields(self) if field.init):
            value = getattr(self, field.name)
            if value is field.default or (np.isscalar(value) and value == field.default):
                continue
            is_array = isinstance(value, np.ndarray)
            text = np.array2string(value, precision=4, threshold=12) if is_array else repr(value)
            shown.append(f"{field.name}={text}")
        return f"{type(self).__name__}({', '.join(shown)})"


def fill_cell_by_cell(
    likelihood: Likelihood, params: Params, x: Block, own: Labels, rng: np.random.Generator
) -> Block:
    """Return rows whose missing cells are drawn given parameters, of independent columns."""
    # the method `fill_given` of families of such columns (see `protocols.Imputation`)
    return np.where(is_missing(x), likelihood.simulate(params, own, rng), x)


def sample_positions(logs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return a random position for each row, by log weights (row, position)."""
    top = logs.max(axis=1, keepdims=True)
    steps = np.exp(logs - np.where(np.isneginf(top), 0.0, top)).cumsum(axis=1)
    place = (rng.random((len(logs), 1)) * steps[:, -1:] >= steps).sum(axis=1)
    return np.minimum(place, logs.shape[1] - 1)
