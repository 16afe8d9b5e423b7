"""Log densities over unit-scale unconstrained parameters, for samplers and optimizers.

NUTS, MAP and MLE differ only in the terms they include (prior, likelihood, Jacobian), never in the
program. Models of the library and programs of users both take this form.
"""

import dataclasses
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.protocols import Program, required
from bayesgen.model import Model, ModelStatistics
from bayesgen.program import ONE_PROGRAM, program
from bayesgen.typing import Traceable, Transform

MAP_TERMS = ("prior", "rows", "measure")
MLE_TERMS = ("rows",)
NUTS_TERMS = ("prior", "rows", "jacobian")

Tree = dict[str, dict]
Shapes = tuple[tuple[str, tuple[int, ...]], ...]


@runtime_checkable
class LogDensity(Protocol):
    """Log densities over unit-scale coordinates u, traced; arrays are passed separately, as a tree.

    Log densities that are equal share compiled code.
    """

    def __hash__(self) -> int:
        """Return a hash; equal log densities have the same."""

    def centre(self, tree: dict) -> dict[str, Traceable]:
        """Return the coordinates of the center, by site: zeros."""

    def terms(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities at u.

        prior: of the parameters. rows: of rows and labels given them. jacobian: of u to parameters.
        measure: of parameters against scale-free ones. NUTS samples prior + rows + jacobian, MAP
        maximizes prior + rows + measure, MLE maximizes rows.
        """

    def values(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site."""


def total(parts: Mapping[str, Traceable], names: tuple[str, ...]) -> Traceable:
    """Return the sum of the named terms."""
    return sum(parts[name] for name in names)


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """The part of a model that determines its traced program: families and settings, no arrays.

    Models of equal structure share compiled code; their arrays are passed as `arrays`.
    """

    classes: ClassPrior
    blocks: tuple[tuple[str, Likelihood, Statistics], ...]

    def key(self) -> tuple:
        """Return a hashable summary: equal keys trace alike."""
        parts = ((n, type(p), p.settings(), s.settings()) for n, p, s in self.blocks)
        return (self.classes.is_fixed, *parts)

    def filled(self, tree: Tree) -> tuple[Model, ModelStatistics]:
        """Return model and statistics of this structure that hold the arrays of a tree."""
        # whether classes are given, by an infinite strength, is part of the structure: not traced
        fixed = ("rows",) if self.classes.is_fixed else ()
        prior = {n: v for n, v in tree["class"]["prior"].items() if n not in fixed}
        classes, parts, statistics = self.classes.with_arrays(prior), {}, {}
        for name, part, statistic in self.blocks:
            parts[name] = part.with_arrays(tree["blocks"][name]["prior"])
            statistics[name] = statistic.with_arrays(tree["blocks"][name]["statistics"])
        return Model(classes, parts), ModelStatistics(tree["class"]["count"], statistics)

    def __hash__(self) -> int:
        """Hash by key."""
        return hash(self.key())

    def __eq__(self, other: object) -> bool:
        """Compare by key."""
        return isinstance(other, Structure) and self.key() == other.key()


@dataclasses.dataclass(frozen=True)
class ModelLogDensity:
    """The log density of a composed model over its statistics. shapes: of the parameters."""

    structure: Structure
    shapes: Shapes

    def centre(self, tree: Tree) -> dict[str, Traceable]:
        """Return the coordinates of the center, by site: zeros."""
        import jax.numpy as jnp

        shapes = dict(self.shapes)
        to_sites = self._bijectors(tree, shapes)
        return {site: jnp.zeros(to.inverse_shape(shapes[site])) for site, to in to_sites.items()}

    def terms(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities "prior", "rows", "jacobian" and "measure" at u (traced)."""
        from jax import random
        from numpyro import handlers

        values, jacobian = self._values_and_jacobian(tree, u)
        model, statistics = self.structure.filled(tree)
        run = handlers.substitute(program(model, statistics), data=values)
        with ONE_PROGRAM:
            trace = handlers.trace(handlers.seed(run, random.key(0))).get_trace()
        sampled = [site for site in trace.values() if site["type"] == "sample"]
        prior = sum(s["fn"].log_prob(s["value"]).sum() for s in sampled if not s["is_observed"])
        rows = sum(s["fn"].log_prob(s["value"]).sum() for s in sampled if s["is_observed"])
        measure = _measure(model, values)
        return {"prior": prior, "rows": rows, "jacobian": jacobian, "measure": measure}

    def values(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site (traced)."""
        return self._values_and_jacobian(tree, u)[0]

    @functools.cached_property
    def _values_and_jacobian(self) -> Callable:
        """(tree, u) -> the parameters by site, and the sum of log |d parameters / d u|."""
        import jax

        # jitted: traced once for the density and for the parameters of draws
        return jax.jit(self._constrained, inline=True)

    def _constrained(self, tree: Tree, u: Mapping[str, Traceable]) -> tuple[dict, Traceable]:
        to_sites, sheared, values, jacobian = self._bijectors(tree, u), dict(u), {}, 0.0
        own = _by_owner(u, [name for name, _, _ in self.structure.blocks])
        for name, part, _ in self.structure.blocks:
            if own[name]:
                moved = part.sheared(own[name], tree["blocks"][name]["whitening"])
                sheared |= {f"{name}.{parameter}": value for parameter, value in moved.items()}
        for site, to_site in to_sites.items():
            values[site] = to_site(sheared[site])
            jacobian += to_site.log_abs_det_jacobian(sheared[site], values[site]).sum()
        return values, jacobian

    def _bijectors(self, tree: Tree, sites: Iterable[str]) -> dict[str, Transform]:
        """Return the bijectors from unit-scale coordinates to the parameters, by site (traced)."""
        parts: dict[str, ClassPrior | Likelihood] = {"class": self.structure.classes}
        parts |= {name: part for name, part, _ in self.structure.blocks}
        numbers, out = {"class": tree["class"], **tree["blocks"]}, {}
        for site in sites:
            name, parameter = site.rsplit(".", 1)
            out[site] = parts[name].bijector(parameter, *numbers[name]["whitening"][parameter])
        return out


def model_log_density(model: Model, statistics: ModelStatistics) -> ModelLogDensity:
    """Return the log density of a composed model."""
    shapes = {} if model.classes.is_fixed else {"class.probs": statistics.count.shape}
    for name, part in model.blocks.items():
        start = required(part, Program).initial_params(statistics.blocks[name])
        for parameter, value in start.items():
            shapes[f"{name}.{parameter}"] = value.shape
    blocks = ((name, part, statistics.blocks[name]) for name, part in model.blocks.items())
    return ModelLogDensity(Structure(model.classes, tuple(blocks)), tuple(shapes.items()))


def arrays(model: Model, statistics: ModelStatistics, centres: ModelStatistics) -> Tree:
    """Return every number of a model's log density and of its coordinates as one tree of arrays.

    centres: statistics of complete rows, which locate the posterior (the statistics themselves
    unless values are missing).
    """
    return {
        "class": {
            "prior": {"probs": model.classes.probs, "rows": np.asarray(model.classes.rows, float)},
            "count": statistics.count,
            "whitening": model.classes.whitening(centres.count),
        },
        "blocks": {
            name: {
                "prior": part.arrays(),
                "statistics": statistics.blocks[name].arrays(),
                "whitening": required(part, Program).whitening(centres.blocks[name]),
            }
            for name, part in model.blocks.items()
        },
    }


def nested(values: Mapping[str, np.ndarray], model: Model) -> dict[str, dict[str, np.ndarray]]:
    """Return site values by owner; known class probabilities are filled in."""
    out = _by_owner(values, ["class", *model.blocks])
    if model.classes.is_fixed:
        out["class"]["probs"] = model.classes.probs
    return out


def _by_owner(values: Mapping[str, Traceable], owners: list[str]) -> dict[str, dict]:
    """Return the values of sites by owner and parameter, of some owners."""
    out: dict[str, dict] = {owner: {} for owner in owners}
    for site, value in values.items():
        name, parameter = site.rsplit(".", 1)
        if name in out:
            out[name][parameter] = value
    return out


def _measure(model: Model, values: Mapping[str, Traceable]) -> Traceable:
    owners = {"class": model.classes, **model.blocks}
    found = _by_owner(values, list(owners))
    return sum(
        (owners[o].log_scale_free_jacobian(params) for o, params in found.items() if params),
        np.zeros(()),
    )
