"""Data whose true parameters are known: parameters from a stated prior, rows from the parameters.

No row has a say in the prior. Kernel densities come the other way round, for a density that is
made of rows has no prior over them: the rows are given, and what is unknown is drawn from its
posterior, by quadrature where it is a bandwidth.
"""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import KernelDensity, Likelihood
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture, resolve_family
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.problem import Problem
from bayesgen.program import sample_prior

N_CLASSES = 2
CLASSES = ClassPrior(np.array([0.4, 0.6]), 20.0)
GUESS = 0.5
"""Of the bandwidth of a kernel density."""

Params = dict[str, np.ndarray]


@dataclasses.dataclass(frozen=True)
class Subject:
    """A likelihood with a stated prior, and the ways to infer that are examined.

    prior: returns the prior, complete. n_levels: of columns of levels. width: columns.
    """

    prior: Callable[[], Likelihood]
    inferences: tuple[str, ...] = ("exact", "nuts")
    width: int = 2
    n_levels: tuple[int, ...] = ()


@dataclasses.dataclass(frozen=True, eq=False)
class Simulated:
    """Rows of known parameters.

    truth: parameters by owner, each with a draw axis of one. prior strengths: of blocks that learn
    them. x: the rows by block. y: their class codes.
    """

    truth: dict[str, Params]
    strengths: dict[str, dict[str, float]]
    model: Model
    statistics: ModelStatistics
    x: dict[str, np.ndarray]
    y: np.ndarray

    @property
    def problem(self) -> Problem:
        """The model and the rows, which reach the likelihoods as they are."""
        reader = Reader(dict.fromkeys(self.model.blocks, Selection()))
        return Problem(self.model, self.statistics, reader)

    def more(self, rng: np.random.Generator, n: int, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return n further rows of one block, and P(y = k given row, true parameters)."""
        part, probs = self.model.blocks[name], self.truth["class"]["probs"][0]
        y = (rng.random(n) >= probs[0]).astype(int)
        x = part.simulate(first(self.truth[name]), y, rng)
        joint = np.log(probs) + part.log_density_fn(self.truth[name])(x).reshape(n, N_CLASSES)
        return x, np.exp(joint - np.logaddexp.reduce(joint, axis=1, keepdims=True))


def first(params: Params) -> Params:
    """Return the first draw."""
    return {name: value[0] for name, value in params.items()}


def stated(likelihood: Likelihood, width: int, n_levels: tuple[int, ...] = ()) -> Likelihood:
    """Return a prior of the declared shapes: nothing is left for rows to fill."""
    likelihood = resolve_family(likelihood)
    nothing = np.zeros((0, width), int if n_levels else float)
    return likelihood.complete(_statistics(likelihood, nothing, np.zeros(0, int), n_levels))


def simulations(
    subjects: Mapping[str, Subject],
    rng: np.random.Generator,
    n_rows: int,
    times: int,
    missing: float = 0.0,
) -> Iterator[Simulated]:
    """Yield tables of n rows, one block for each subject, of parameters drawn anew for each.

    missing: the share of cells that are missing, completely at random.
    """
    priors = {name: subject.prior() for name, subject in subjects.items()}
    draws = {name: _prior_draws(prior, rng, times) for name, prior in priors.items()}
    for _ in range(times):
        probs = CLASSES.draw(rng, 1)
        y = (rng.random(n_rows) >= probs["probs"][0, 0]).astype(int)
        truth, strengths, parts, statistics, rows = {"class": probs}, {}, {}, {}, {}
        for name, prior in priors.items():
            part, n_levels = prior, subjects[name].n_levels
            truth[name], strengths[name] = next(draws[name])
            if _built_of_rows(prior):
                x = some_lumps(rng, y, subjects[name].width)
                part = prior.complete(_statistics(prior, x, y))
            else:
                x = prior.simulate(first(truth[name]), y, rng)
            if missing:
                x[rng.random(x.shape) < missing] = -1 if n_levels else np.nan
            parts[name], statistics[name] = part, _statistics(part, x, y, n_levels)
            rows[name] = x
        count = np.bincount(y, minlength=N_CLASSES).astype(float)
        model, whole = Model(CLASSES, parts), ModelStatistics(count, statistics)
        yield Simulated(truth, strengths, model, whole, rows, y)


def _statistics(part: Likelihood, x: np.ndarray, y: np.ndarray, n_levels: tuple[int, ...] = ()):
    return part.statistics(x, y, np.ones(len(y)), n_classes=N_CLASSES, n_levels=n_levels)


def _prior_draws(
    prior: Likelihood, rng: np.random.Generator, times: int
) -> Iterator[tuple[Params, dict[str, float]]]:
    """Yield parameters and learned prior strengths."""
    if _built_of_rows(prior):
        yield from (({}, {}) for _ in range(times))
        return
    if isinstance(prior, HyperparameterMixture):
        for _ in range(times):
            member, strengths = _member(prior, rng)
            yield member.draw(rng, 1), strengths
        return
    drawn = prior.draw(rng, times) if prior.conjugate else sample_prior(prior, "prior", rng, times)
    for i in range(times):
        yield {name: value[i : i + 1] for name, value in drawn.items()}, {}


# -- learned prior strengths
# ------------------------------------------------------------------------------


def strengths_of(prior: HyperparameterMixture) -> dict[str, np.ndarray]:
    """Return the prior strengths in which the members differ, each of shape (member,)."""
    each = {
        name: np.array([float(np.ravel(getattr(m, name))[0]) for m in prior.members])
        for name in prior.first.hyperparameter_grid
    }
    return {name: values for name, values in each.items() if values.min() < values.max()}


def _member(
    prior: HyperparameterMixture, rng: np.random.Generator
) -> tuple[Likelihood, dict[str, float]]:
    """Return a member of the grid, and its strengths."""
    at = int(rng.integers(len(prior.members)))
    strengths = {name: float(values[at]) for name, values in strengths_of(prior).items()}
    return prior.members[at], strengths


# -- densities made of rows ----------------------------------------------------------------------


def _built_of_rows(prior: Likelihood) -> bool:
    return isinstance(prior, KernelDensity)


def some_lumps(rng: np.random.Generator, y: np.ndarray, width: int) -> np.ndarray:
    """Return rows of two humps."""
    humps = rng.choice([-1.5, 1.5], len(y))[:, None] + y[:, None]
    return humps + rng.standard_normal((len(y), width))
