"""Learned worths by sampling: parameters are integrated out, and only the worths are drawn.

The density is the family's evidence p(rows given worths) times a prior that is even over the
logarithm of each worth between the ends of its grid; for the slide of a covariance's scale from
diagonal to pooled it is even over log(1 - correlation). Given the worths all is in closed form, so
the answer is the mean of closed forms over draws: accurate far from the rows too, where draws of
parameters are few. Blocks are independent of each other given the labels, so that each has its own
mean.
"""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.errors import UnsupportedInference
from bayesgen.inference.incomplete_data import missing_cells
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.log_evidence import EVIDENCES, SHRINKAGE_PATH, given, numbers, shares
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Traceable

MEMBERS = 128
"""Draws of the worths that answers are averaged over. Their own spread is what counts: where the
probabilities that different worths give are .05 apart, the mean is within .005."""

Ends = dict[str, tuple[float, float]]


@dataclasses.dataclass(frozen=True)
class HyperparameterTarget:
    """The evidence of learned blocks over coordinates u of their worths.

    A worth is low (high / low)^s with s = 1 / (1 + exp(-u)); 1 - correlation is of that form too.

    families: name, type and shared spread of each block. shapes: of the worths, by site.
    """

    families: tuple[tuple[str, type[Likelihood], bool], ...]
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    def centre(self, tree: dict) -> dict[str, Traceable]:
        """Return the coordinates of the centre: the middle of each range."""
        import jax.numpy as jnp

        return {site: jnp.zeros(shape) for site, shape in self.shapes}

    def terms(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return log densities at u (traced): "prior" of the logarithms, "rows" the evidence."""
        import jax
        import jax.numpy as jnp

        prior_strengths, evidence = self.values(tree, u), jnp.zeros(())
        for name, family, shared in self.families:
            told = tree["blocks"][name]["numbers"]
            own = {
                setting: prior_strengths[f"{name}.{setting}"]
                for setting in tree["blocks"][name]["ends"]
            }
            evidence += EVIDENCES[family]({**told, **own}, shared=shared)
        slopes = (jax.nn.log_sigmoid(v) + jax.nn.log_sigmoid(-v) for v in u.values())
        nothing = jnp.zeros(())
        return {"prior": nothing, "rows": evidence, "jacobian": sum(slopes), "measure": nothing}

    def values(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the worths at u, by site."""
        import jax

        out = {}
        for site, coordinate in u.items():
            name, setting = site.rsplit(".", 1)
            low, high = tree["blocks"][name]["ends"][setting]
            out[site] = low * (high / low) ** jax.nn.sigmoid(coordinate)
            if setting == SHRINKAGE_PATH:
                out[site] = 1 - (1 - low) * ((1 - high) / (1 - low)) ** jax.nn.sigmoid(coordinate)
        return out


def target(model: Model, statistics: ModelStatistics) -> tuple[HyperparameterTarget, dict]:
    """Return the density of the worths of a model, and its numbers.

    Raises:
        UnsupportedInference: a block has no closed form, or none that can be differentiated.
    """
    families, sites, tree = [], [], {}
    for name, part in model.blocks.items():
        if not isinstance(part, HyperparameterMixture):
            _require_closed(name, part, statistics.blocks[name], "")
            continue
        _require_closed(name, part.first, statistics.blocks[name], "with learned worths")
        if type(part.first) not in EVIDENCES:
            raise UnsupportedInference.because(
                f"block {name!r}, {type(part.first).__name__} with learned worths",
                "its evidence cannot be differentiated",
                "Use inference='exact', which averages over a grid.",
            )
        ends = _ends(part)
        families.append((name, type(part.first), shares(part.first)))
        sites += [(f"{name}.{setting}", ()) for setting in ends]
        told = numbers(part.members, statistics.blocks[name])
        tree[name] = {"ends": {s: np.array(pair) for s, pair in ends.items()}, "numbers": told}
    return HyperparameterTarget(tuple(families), tuple(sites)), {"blocks": tree}


def _require_closed(name: str, part: Likelihood, statistics: Statistics, which: str) -> None:
    if not part.conjugate:
        raise UnsupportedInference.because(
            f"block {name!r}, {type(part).__name__} {which}".rstrip(),
            "where worths are learned, the parameters of all blocks are integrated out, and this "
            "one has no closed form",
            "State the worths of the other blocks, or of this one.",
        )
    if missing_cells(part, statistics) is not None:
        raise UnsupportedInference.missing_cells(type(part).__name__)


def _ends(part: HyperparameterMixture) -> Ends:
    """Return the least and the greatest value of every setting in which members differ."""
    out = {}
    for name in part.first.hyperparameter_grid:
        values = [float(np.ravel(getattr(member, name))[0]) for member in part.members]
        if min(values) < max(values):
            out[name] = (min(values), max(values))
    return out


def mixture(model: Model, statistics: ModelStatistics, values: Mapping[str, np.ndarray]) -> Model:
    """Return the posterior: closed forms averaged over draws of worths (chain, draw), by site."""
    parts = {}
    for name, part in model.blocks.items():
        rows = statistics.blocks[name]
        if not isinstance(part, HyperparameterMixture):
            parts[name] = part.posterior(rows)
            continue
        drawn = {s: values[f"{name}.{s}"].ravel() for s in _ends(part)}
        size = len(next(iter(drawn.values())))
        picked = np.linspace(0, size - 1, min(size, MEMBERS)).round().astype(int)
        members = tuple(
            given(part.members, {s: v[i] for s, v in drawn.items()}).posterior(rows) for i in picked
        )
        parts[name] = HyperparameterMixture(members, np.full(len(members), -np.log(len(members))))
    return Model(model.classes.posterior(statistics.count), parts)
