"""Incomplete rows in joint blocks: expected statistics and EM.

Where columns are independent given the class, a missing cell has weight zero and the closed form
holds. A joint family whose closed form needs complete rows registers its `IncompleteData` with
`missing_cells`.
"""

import abc
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar, cast

import numpy as np
from jaxtyping import Float

from bayesgen.errors import Words
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.protocols import Conjugate, Mode, Program, required
from bayesgen.model import Model, ModelStatistics
from bayesgen.optimize import Chart, Point, Rest, at_rest
from bayesgen.typing import Params

STILL = 1e-5
"""Distance of a parameter from the mode at which a few steps of EM end early, relative to a
deviation or a probability: far below the width of any posterior."""
REST = 1e-8
"""Distance from the mode at which accelerated EM is at rest, in deviations of an observation: no
probability changes by more than about as much."""
STEPS = 500
"""Steps of accelerated EM before Newton's method goes on. Modes of tables with 2 to 26 % of the
cells missing took 9 to 35 under strong priors, 111 and 260 under ones of a row, where Newton's
method alone takes 12 times as long."""
STEPS_ALONE = 120
"""Steps of accelerated EM where Newton's method would take minutes. Of 85 columns with 20 % of the
cells missing, some pairs of them hardly ever together, 120 take 1.6 s; probabilities then moved by
.0014 in the mean, at most by .03, in 2,400 steps more."""
NEAR = 0.01
"""Distance from the mode, in deviations of an observation, at which they may end: a third of the
standard error of a mean of a thousand rows."""
LENGTHS = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Lengths of steps, to either side, by which the search leaves a saddle point, in deviations of an
observation: Newton's method goes on, from where accelerated EM would go back."""
CHOOSING = 5
"""Steps of EM that each choose the likeliest of several priors, before one is kept until EM rests:
the choice stood after two steps on tables of 299 to 736 rows with 3 to 25 % of cells missing."""
STOPPED = Words(
    "The optimizer stopped before it converged: a column may hold too few observed cells; leave "
    "it out or use inference='exact'.",
    "The optimizer stopped before it converged: a column may hold too few observed cells; leave "
    "it out or use --inference exact.",
)

F = TypeVar("F", bound=Likelihood)

LogWeights = Callable[[Params], Float[np.ndarray, "draw independent"]]
"""The log importance weights of draws of the parameters."""


@dataclasses.dataclass(frozen=True)
class OptimumReport:
    """Report of the search for a mode or a maximum.

    converged: no step is expected to gain more than rounding. iterations: steps of Newton's method
    or of EM. gradient_norm: of the log likelihood (or log posterior) of the observed cells, per
    row, in coordinates whitened by the covariance, or in log-odds; of EM about the length of its
    last step. log_likelihood: of the observed cells, at the parameters returned.
    """

    converged: bool
    iterations: int
    gradient_norm: float
    log_likelihood: float

    def details(self, block: str) -> dict[str, float]:
        """Return the entries of `Report.details`."""
        return {
            f"{block}.iterations": float(self.iterations),
            f"{block}.gradient_norm": float(self.gradient_norm),
            f"{block}.converged": float(self.converged),
        }


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteData(abc.ABC, Generic[F]):
    """Inference from the statistics of incomplete rows under a completed likelihood.

    No row is dropped, and none is imputed by a single value: maximum likelihood, mode and Gibbs
    steps are exact, under a conjugate prior or none. Draws average over the priors of a mixture; a
    mode is that under one of them, the likeliest.

    prior: the completed likelihood, or a mixture of several. statistics: of rows, some incomplete.
    """

    prior: F | HyperparameterMixture
    statistics: Statistics

    @functools.cached_property
    def likelihood(self) -> F:
        """The family under one prior: of a mixture, the likeliest at its mode."""
        if not isinstance(self.prior, HyperparameterMixture):
            return self.prior
        return self.likeliest(self.filled(self.center))

    def likeliest(self, filled: Statistics) -> F:
        """Return the family under the likeliest of the priors given statistics of complete rows."""
        if not isinstance(self.prior, HyperparameterMixture):
            return self.prior
        return cast(F, self.prior.heaviest(filled))

    @functools.cached_property
    def family(self) -> F:
        """The family under the first of the priors, for what depends on none of them."""
        return cast(F, self.prior.components[0])

    @functools.cached_property
    def conjugate(self) -> Conjugate:
        """The prior, which must have a closed form given complete rows."""
        return required(self.prior, Conjugate)

    def start(self) -> Params:
        """Return parameters from pooled moments, from which EM starts."""
        return cast(Program, self.family).initial_params(self.statistics)

    @abc.abstractmethod
    def maximum_likelihood(
        self, *, bias_corrected: bool, variance_floor: float
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return the parameters of maximum likelihood given the observed cells."""

    @abc.abstractmethod
    def mode(self, start: Params | None = None) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior given the observed cells (see `Mode`).

        start: parameters near it, if any are known.
        """

    @abc.abstractmethod
    def point(self, params: Params) -> Point:
        """Return the log density of the posterior given the observed cells around parameters."""

    def settled(self, start: Params) -> tuple[Params, OptimumReport]:
        """Return the mode under the prior that is likeliest there.

        Accelerated EM comes to rest there. Where it is slow, or rests at a saddle point, Newton's
        method goes on, on both sides of the latter, unless a step of it takes too long: then the
        search ends near the mode.

        start: parameters near it.
        """
        if isinstance(self.prior, HyperparameterMixture):
            return self._settled_among(start)

        def step(params: Params) -> Params:
            return em(self, params, 1)[0]

        # far from the origin lengths would be others
        origin = step(start)
        chart = self.chart(origin)
        most = STEPS_ALONE if self.is_wide else STEPS
        rest = at_rest(step, origin, chart, steps=most, still=REST)
        if not self.is_wide:
            if rest.distance > REST:
                return self.mode(rest.params)
            if beside := self._beside(rest, chart):
                tops = [self.mode(point.params) for point in beside]
                return max(tops, key=lambda top: self.point(top[0]).value)
        report = OptimumReport(
            converged=rest.distance <= NEAR,
            iterations=rest.steps,
            gradient_norm=rest.distance,
            log_likelihood=self.log_likelihood(rest.params),
        )
        return rest.params, report

    def _beside(self, rest: Rest, chart: Chart) -> list[Point]:
        """Return points on either side of a saddle point, higher than it; none beside a mode.

        chart: the coordinates in which the search came to rest.
        """
        if rest.away is None:
            return []
        at, saddle, found = chart.coordinates(rest.params), self.point(rest.params), []
        for side in (1, -1):
            points = [saddle]
            for length in LENGTHS:
                with contextlib.suppress(np.linalg.LinAlgError):
                    points.append(self.point(chart.params(at + side * length * rest.away)))
            best = max(points, key=lambda point: point.value)
            found += [best] * (best is not saddle)
        return found

    def _settled_among(self, start: Params) -> tuple[Params, OptimumReport]:
        """Return the mode under one of several priors, which is still the likeliest there."""
        near, _, _ = em(self, start, CHOOSING)
        prior = self.likeliest(self.filled(near))
        for _ in self.prior.components:
            found = dataclasses.replace(self, prior=prior).settled(near)
            near, before = found[0], prior
            prior = self.likeliest(self.filled(near))
            if prior is before:
                break
        return found

    @property
    def is_wide(self) -> bool:
        """Whether a step of Newton's method takes as long as hundreds of steps of EM."""
        return False

    @abc.abstractmethod
    def chart(self, origin: Params) -> Chart:
        """Return coordinates of the parameters in which an observation has a deviation of 1."""

    @abc.abstractmethod
    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield the parameters of all chains, each of shape (chain, ...), at every step.

        A step fills rows at random given the parameters, then draws parameters given the filled
        rows: its stationary distribution is the posterior given the observed cells.
        """

    @abc.abstractmethod
    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return the scalars of draws (chain, draw, ...) used for convergence diagnostics."""

    @property
    @abc.abstractmethod
    def optimum(self) -> tuple[Params, OptimumReport]:
        """The mode under the conjugate prior, and the report of its search."""

    @property
    def center(self) -> Params:
        """The mode, at which `expected` fills rows."""
        return self.optimum[0]

    def expected(self) -> tuple[Statistics, OptimumReport]:
        """Return expected statistics of the filled rows, given the observed cells and the mode."""
        params, report = self.optimum
        return self.filled(params), report

    @property
    @abc.abstractmethod
    def seconds_per_draw(self) -> float:
        """About how long a step of `gibbs` takes for each chain, from the sizes of the table."""

    def log_likelihood(self, params: Params) -> float:
        """Return log p(observed cells given params)."""
        one_draw = {name: value[None] for name, value in params.items()}
        return float(self.family.log_likelihood(one_draw, self.statistics)[0])

    @abc.abstractmethod
    def filled(self, params: Params) -> Statistics:
        """Return expected statistics of the filled rows, given the observed cells and params."""

    @abc.abstractmethod
    def change(self, before: Params, after: Params) -> float:
        """Return the largest change of a parameter, relative to a deviation or a probability."""

    @abc.abstractmethod
    def log_importance(self, centre: Params) -> LogWeights:
        """Return theta -> log p(observed cells given theta) - log p(`filled(centre)` given theta).

        Up to constants: the logarithms of the importance weights of draws theta from the posterior
        given `filled(centre)`. One column for each class, or one of all classes where they share
        parameters: what is independent a posteriori has weights of its own.
        """


def em(data: IncompleteData, start: Params, steps: int) -> tuple[Params, int, float]:
    """Return where some steps of EM toward the mode end, fewer if they come to rest.

    Of a mixture, each step ends at the mode under the prior that is likeliest then.

    Changes shrink by the same factor r in the end: after a change c the mode is c r / (1 - r) away.

    Returns:
        the parameters, the number of steps, and the largest distance of a parameter from the mode.
    """
    params, change, distance, step = start, np.inf, np.inf, 0
    several = isinstance(data.prior, HyperparameterMixture)
    while step < steps and distance > STILL:
        filled = data.filled(params)
        prior = cast(Conjugate, data.likeliest(filled)) if several else data.conjugate
        before, params = params, cast(Mode, prior.posterior(filled)).mode()
        previous, change = change, data.change(before, params)
        step += 1
        if change == 0:
            distance = 0.0
        else:
            shrinks = change < previous < np.inf
            distance = change**2 / (previous - change) if shrinks else np.inf
    return params, step, distance


@functools.singledispatch
def missing_cells(likelihood: Likelihood, statistics: Statistics) -> IncompleteData | None:
    """Return the inference that replaces the closed form, or None if no cell is missing."""
    return None


@missing_cells.register(HyperparameterMixture)
def missing_cells_of_mixture(
    likelihood: HyperparameterMixture, statistics: Statistics
) -> IncompleteData | None:
    """Return the inference of the family under all priors of the mixture."""
    incomplete = missing_cells(likelihood.first, statistics)
    return incomplete and dataclasses.replace(incomplete, prior=likelihood)


def with_one_prior(
    model: Model, statistics: ModelStatistics, centers: Mapping[str, Params] | None = None
) -> Model:
    """Return the model with the likeliest of the priors that a block averages over.

    centers: parameters at which missing cells are expected, by block; by default the mode.
    """
    blocks = dict(model.blocks)
    for name, mixture in model.blocks.items():
        if isinstance(mixture, HyperparameterMixture):
            rows = statistics.blocks[name]
            incomplete = missing_cells(mixture, rows)
            if incomplete is not None and centers is None:
                blocks[name] = incomplete.likelihood
            else:
                filled = incomplete.filled(centers[name]) if incomplete and centers else rows
                blocks[name] = mixture.heaviest(filled)
    return dataclasses.replace(model, blocks=blocks)


def modes(model: Model, statistics: ModelStatistics) -> dict[str, Params]:
    """Return the mode of each block under a conjugate prior, given the observed cells.

    It is known where `expected_statistics` of the same statistics was asked before.
    """
    out = {}
    for name, likelihood in model.blocks.items():
        incomplete = missing_cells(likelihood, statistics.blocks[name])
        if incomplete is None:
            posterior = required(likelihood, Conjugate).posterior(statistics.blocks[name])
            out[name] = required(posterior, Mode).mode()
        else:
            out[name] = incomplete.center
    return out


def any_missing(model: Model, statistics: ModelStatistics) -> bool:
    """Return whether missing values preclude the closed form of any block."""
    return statistics.only(model.blocks).has_missing


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of incomplete rows.

    They locate and scale the posterior for samplers and optimizers; results do not depend on them.
    """
    return expected_statistics(model, statistics)[0]


def expected_statistics(
    model: Model, statistics: ModelStatistics
) -> tuple[ModelStatistics, dict[str, OptimumReport]]:
    """Return the statistics with expected ones, at the mode, in place of incomplete rows.

    Also returns the reports of the searches of modes, by incomplete block.
    """
    blocks, reports = dict(statistics.blocks), {}
    for name, likelihood in model.blocks.items():
        incomplete = missing_cells(likelihood, statistics.blocks[name])
        if incomplete is not None:
            blocks[name], reports[name] = incomplete.expected()
    return ModelStatistics(statistics.count, blocks), reports
