"""A classifier before its fit: parameters and rows drawn from the prior, and fits to such rows."""

import abc
import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from bayesgen import diagnose, predict
from bayesgen.classes import Spec
from bayesgen.errors import Words
from bayesgen.errors.operations import unsupported
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.state import TrainingState
from bayesgen.inference import Draws, Method, Posterior, Report, choose
from bayesgen.inference.draws import chained, flat, mapped
from bayesgen.likelihoods.base import blanked, is_missing
from bayesgen.model import model_statistics
from bayesgen.problem import Problem
from bayesgen.schema import GROUPS
from bayesgen.typing import Encoded, Labels, Params

ParameterDraws = Mapping[str, Params]
"""Parameters by owner, "class" or a block, each of shape (draw, ...)."""
STATED = "Pass prior='conjugate', or state the guesses of the likelihood."


@dataclasses.dataclass(frozen=True, eq=False)
class PriorSample:
    """Draws from the prior of a classifier: parameters, and a row simulated from each.

    Attributes:
        X: the simulated rows, in the container type that was passed; row i has the parameters of
            draw i.
        y: their labels, shape (draw,).
        parameters: parameters by name, each of shape (draw, ...), in the units of the columns.
        axes: of each parameter, the labels of its axes after the first.
        classes: the labels in sorted order, shape (class,).
        observed: the rows and labels from which open guesses were filled in.
        model: the prior itself.
        draws: its draws by owner, in the form `model` uses.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> prior = bg.QDA().sample_prior(1000, X, y, random_state=0)
        >>> prior
        PriorSample(1000 draws of class.probs, normal.mean, normal.covariance; a row from each)
        >>> prior.parameters["normal.mean"].shape
        (1000, 3, 4)
    """

    X: Any
    y: np.ndarray
    parameters: dict[str, np.ndarray]
    axes: dict[str, tuple[tuple, ...]]
    classes: np.ndarray
    observed: tuple[object, object]
    model: "PriorModel"
    draws: ParameterDraws

    def __repr__(self) -> str:
        """Name the parameters."""
        names = ", ".join(self.parameters)
        return f"PriorSample({len(self.y)} draws of {names}; a row from each)"


@dataclasses.dataclass(frozen=True, eq=False)
class PriorModel(abc.ABC):
    """A prior with every guess filled in, which draws parameters, simulates rows and is updated.

    state: of the rows that the guesses came from. prior: of the classes. inference: of the
    classifier. template: these rows, encoded, whose missing cells simulated tables repeat.
    """

    state: TrainingState
    prior: Spec
    inference: str | Method
    template: Encoded
    n_rows: int

    @abc.abstractmethod
    def draw(self, rng: np.random.Generator, n: int) -> ParameterDraws:
        """Return n draws of all parameters."""

    @abc.abstractmethod
    def simulate(self, params: ParameterDraws, rng: np.random.Generator) -> tuple[Encoded, Labels]:
        """Return one encoded row for each draw, and its class code."""

    @abc.abstractmethod
    def infer(self, encoded: Encoded, y: Labels, seed: int) -> Posterior:
        """Return the posterior of encoded rows under this prior."""

    @abc.abstractmethod
    def as_fitted(self, params: ParameterDraws) -> Fitted:
        """Return parameters as a fitted model."""

    def like_template(self, encoded: Encoded, n_rows: int) -> Encoded:
        """Return simulated rows without the cells that rows of the template miss, in turn."""
        return encoded

    @property
    def rank_display(self) -> Callable[..., Any]:
        """The plot of ranks among posterior draws."""
        from bayesgen.plots import RankDisplay

        return RankDisplay

    def named(
        self, params: ParameterDraws
    ) -> tuple[dict[str, np.ndarray], dict[str, tuple[tuple, ...]]]:
        """Return parameters by name, (draw, ...), and the labels of the axes of each."""
        fitted = self.as_fitted(params)
        labels = fitted.axis_labels()
        draws = cast(Draws, fitted.posterior.components)
        group, coords = fitted.named(draws.params, labels), labels.coords()
        arrays = {str(name): flat(value) for name, value in group.arrays.items()}
        axes = {str(name): [coords.get(a) for a in group.axes(name)] for name in group.arrays}
        return arrays, {
            name: tuple(
                tuple(range(size) if found is None else found)
                for size, found in zip(arrays[name].shape[1:], some, strict=True)
            )
            for name, some in axes.items()
        }

    def log_likelihood(self, params: ParameterDraws, encoded: Encoded, y: Labels) -> np.ndarray:
        """Return log p(rows, labels given theta) of each draw, shape (draw,)."""
        draws = cast(Draws, self.as_fitted(params).posterior.components)
        each = draws.each_log_joint(encoded, len(y))
        return each[np.arange(len(y)), :, y].sum(axis=0)


@dataclasses.dataclass(frozen=True, eq=False)
class LikelihoodPrior(PriorModel):
    """The prior of a class prior and likelihoods. problem: of the rows that completed it."""

    problem: Problem

    def draw(self, rng: np.random.Generator, n: int) -> ParameterDraws:
        """Return n draws of all parameters."""
        for name, part in self.problem.model.blocks.items():
            if part.improper:
                raise unsupported(part.title, "an improper prior cannot be drawn from", STATED)
            if part.keeps_rows:
                raise unsupported(
                    type(part).__name__,
                    f"the density of block {name!r} is made of the rows themselves, and without "
                    "rows there is nothing to draw from",
                    "Read its columns by another likelihood, such as bg.Normal().",
                )
        return mapped(flat, diagnose.prior_draws(self.problem.model, rng, n))

    def simulate(self, params: ParameterDraws, rng: np.random.Generator) -> tuple[Encoded, Labels]:
        """Return one encoded row for each draw, of the groups of the template, and its class."""
        rows, y = predict.simulated_rows(self.problem.model.blocks, params, rng)
        out = self.state.restored(self.problem.reader, rows, len(y))
        if GROUPS in self.template:  # the prior is that of each
            groups = self.template[GROUPS]
            out[GROUPS] = groups[np.arange(len(y)) % len(groups)]
        return out, y

    def like_template(self, encoded: Encoded, n_rows: int) -> Encoded:
        """Return simulated rows without the cells that rows of the template miss, in turn."""
        out, pattern = dict(encoded), self.state.pattern_blocks()
        for name, x in self.template.items():
            if pattern or not isinstance(x, np.ndarray):
                continue
            out[name] = blanked(encoded[name], is_missing(x)[np.arange(n_rows) % len(x)])
        return out

    def infer(self, encoded: Encoded, y: Labels, seed: int) -> Posterior:
        """Return the posterior of encoded rows under this prior."""
        n_levels = {
            name: self.state.schema.n_levels(name) if part.kind == "levels" else ()
            for name, part in self.problem.model.blocks.items()
        }
        sizes = {"n_classes": len(self.state.classes), "n_levels": n_levels}
        every = model_statistics(self.problem.model.blocks, encoded, y, np.ones(len(y)), **sizes)
        problem = self.problem.given(self.problem.reader.take(every))
        return Posterior(choose(self.inference, problem).infer(problem, seed))

    def as_fitted(self, params: ParameterDraws) -> Fitted:
        """Return parameters as a fitted model."""
        n = len(params["class"]["probs"])
        report = Report("prior", converged=True, outcome=Words("Draws from the prior."))
        problem, draws = self.problem, chained(params, n)
        components = Draws(problem.reader, report, draws, problem.model.blocks)
        return Fitted(self.state, self.prior, Posterior(components))


def sampled(
    prior: PriorModel, n: int, observed: tuple[object, object], rng: np.random.Generator
) -> PriorSample:
    """Return draws from a prior whose guesses come from rows and labels."""
    params = prior.draw(rng, n)
    encoded, codes = prior.simulate(params, rng)
    arrays, axes = prior.named(params)
    rows = prior.state.schema.decode(encoded, n)
    classes = prior.state.classes
    return PriorSample(rows, classes[codes], arrays, axes, classes, observed, prior, params)
