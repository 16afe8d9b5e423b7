"""What samplers and optimisers see: log densities over coordinates in which a posterior is round.

Composed models and programs of users both come to them in this form, and in no other.
"""

import dataclasses
from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from bayesgen.model import Model, ModelStatistics
from bayesgen.story import Structure, placed, sites, structure, terms, transform
from bayesgen.typing import Traceable

MAP_TERMS = ("prior", "rows", "measure")
MLE_TERMS = ("rows",)
NUTS_TERMS = ("prior", "rows", "jacobian")


@runtime_checkable
class Target(Protocol):
    """Log densities over unit-scale coordinates u, traced; its numbers travel apart, as a tree.

    Targets that are equal share compiled code.
    """

    def __hash__(self) -> int:
        """Return a hash; equal targets have the same."""

    def centre(self, tree: dict) -> dict[str, Traceable]:
        """Return the coordinates of the centre, by site: zeros."""

    def terms(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities "prior", "rows", "jacobian" and "measure" at u."""

    def values(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site."""


@dataclasses.dataclass(frozen=True)
class ModelTarget:
    """A composed model over its statistics. shapes: of the parameters, by site."""

    structure: Structure
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    def centre(self, tree: dict) -> dict[str, Traceable]:
        """Return the coordinates of the centre, by site: zeros."""
        import jax.numpy as jnp

        return {
            site: jnp.zeros(transform(self.structure, tree, site).inverse_shape(shape))
            for site, shape in self.shapes
        }

    def terms(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities at u."""
        return terms(self.structure, tree, u)

    def values(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site."""
        return placed(self.structure, tree, u)[0]


def model_target(model: Model, statistics: ModelStatistics) -> ModelTarget:
    """Return the target of a composed model."""
    return ModelTarget(structure(model, statistics), tuple(sites(model, statistics).items()))


def nested(values: Mapping[str, np.ndarray], model: Model) -> dict[str, dict[str, np.ndarray]]:
    """Return site values by owner; known class probabilities are filled in."""
    out: dict[str, dict] = {"class": {}, **{name: {} for name in model.blocks}}
    for site, value in values.items():
        name, parameter = site.rsplit(".", 1)
        out[name][parameter] = value
    if model.classes.known:
        out["class"]["probs"] = model.classes.probs
    return out


def total(parts: Mapping[str, Traceable], names: tuple[str, ...]) -> Traceable:
    """Return the sum of the named terms."""
    return sum(parts[name] for name in names)
