"""Sampling of learned prior strengths, with all other parameters integrated out.

The density is the family's evidence p(rows given strengths) times a prior that is uniform in the
logarithm of each strength over the range of its grid; for the share of correlations in the prior
guess of a covariance it is uniform in log(1 - correlation). Given the strengths all parameters have
closed forms, so predictions are means of closed forms over draws of the strengths. They are
accurate in the tails too, where draws of parameters are sparse. Blocks are independent given the
labels, and each has its own mean.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np

from bayesgen.errors.operations import incomplete_rows, unsupported
from bayesgen.inference.log_density import Structure
from bayesgen.inference.missing import missing_cells
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.protocols import Conjugate, require_evidence, required
from bayesgen.model import Model, ModelStatistics
from bayesgen.typing import Traceable

MEMBERS = 128
"""Draws of the strengths that answers are averaged over: where the probabilities under different
strengths have a standard deviation of .05, their mean is within .005."""
CORRELATION = "correlation"

Slopes = dict[str, dict[str, np.ndarray]]


def line(members: Sequence[Likelihood]) -> tuple[Likelihood, Slopes]:
    """Return a completed family, and the slopes of its arrays in settings that are not arrays.

    The arrays are linear in such a setting; the family returned is that at 0.
    """
    template, slopes = members[0], {}
    for setting in template.hyperparameter_grid:
        if setting in template.axes:
            continue
        ordered = sorted(members, key=lambda member: getattr(member, setting))
        low, high = ordered[0], ordered[-1]
        at, width = getattr(low, setting), getattr(high, setting) - getattr(low, setting)
        if width:
            # settings that are arrays themselves differ between members by grids of their own
            ends = {
                n: (getattr(low, n), getattr(high, n))
                for n in low.axes
                if n not in low.hyperparameter_grid
            }
            slope = {n: (b - a) / width for n, (a, b) in ends.items() if (a != b).any()}
            arrays = {name: getattr(low, name) - at * slope[name] for name in slope}
            template, slopes[setting] = template.with_arrays(arrays), slope
    return template, slopes


def under(
    template: Likelihood, slopes: Slopes, values: Mapping[str, Traceable | float]
) -> Likelihood:
    """Return a completed family under settings of its own (NumPy or traced)."""
    arrays = {}
    for setting, value in values.items():
        if setting in template.axes:
            arrays[setting] = value * np.ones(getattr(template, setting).shape)
        else:
            for name, slope in slopes.get(setting, {}).items():
                arrays[name] = getattr(template, name) + value * slope
    settings = {
        s: float(v) for s, v in values.items() if s not in template.axes and isinstance(v, float)
    }
    return template.with_arrays({**arrays, **settings})


def given(members: Sequence[Likelihood], values: Mapping[str, float]) -> Likelihood:
    """Return the completed family under settings of its own, its members given."""
    return under(*line(members), {name: float(value) for name, value in values.items()})


@dataclasses.dataclass(frozen=True)
class StrengthsTarget:
    """The evidence of learned blocks over unconstrained values u of their strengths.

    A strength is low (high / low)^s with s = 1 / (1 + exp(-u)); 1 - correlation is of that form
    too.

    structure: of the learned blocks. shapes: of the strengths, by site.
    """

    structure: Structure
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    def centre(self, tree: dict) -> dict[str, Traceable]:
        """Return the coordinates of the centre: the middle of each range."""
        import jax.numpy as jnp

        return {site: jnp.zeros(shape) for site, shape in self.shapes}

    def terms(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return log densities at u (traced): "prior" of the logarithms, "rows" the evidence."""
        import jax
        import jax.numpy as jnp

        values, evidence = self.values(tree, u), jnp.zeros(())
        for name, template, statistics in self.structure.blocks:
            block = tree["blocks"][name]
            own = {setting: values[f"{name}.{setting}"] for setting in block["ends"]}
            family = under(template.with_arrays(block["prior"]), block["slopes"], own)
            evidence += require_evidence(family).log_evidence(
                statistics.with_arrays(block["statistics"])
            )
        slopes = (jax.nn.log_sigmoid(v) + jax.nn.log_sigmoid(-v) for v in u.values())
        nothing = jnp.zeros(())
        return {"prior": nothing, "rows": evidence, "jacobian": sum(slopes), "measure": nothing}

    def values(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the strengths at u, by site."""
        import jax

        out = {}
        for site, coordinate in u.items():
            name, setting = site.rsplit(".", 1)
            low, high = tree["blocks"][name]["ends"][setting]
            out[site] = low * (high / low) ** jax.nn.sigmoid(coordinate)
            if setting == CORRELATION:
                out[site] = 1 - (1 - low) * ((1 - high) / (1 - low)) ** jax.nn.sigmoid(coordinate)
        return out


def target(model: Model, statistics: ModelStatistics) -> tuple[StrengthsTarget, dict]:
    """Return the density of the strengths of a model, and its numbers.

    Raises:
        UnsupportedOperation: a block has no closed form.
    """
    blocks, sites, tree = [], [], {}
    for name, part in model.blocks.items():
        rows, ends = statistics.blocks[name], _ends(part)
        _require_closed(name, part, rows)
        if not ends:
            continue
        template, slopes = line(part.components)
        blocks.append((name, template, rows))
        sites += [(f"{name}.{setting}", ()) for setting in ends]
        tree[name] = {
            "ends": {s: np.array(pair) for s, pair in ends.items()},
            "slopes": slopes,
            "prior": template.arrays(),
            "statistics": rows.arrays(),
        }
    structure = Structure(model.classes, tuple(blocks))
    return StrengthsTarget(structure, tuple(sites)), {"blocks": tree}


def mixture(model: Model, statistics: ModelStatistics, values: Mapping[str, np.ndarray]) -> Model:
    """Return the posterior: closed forms averaged over draws of strengths, by site."""
    parts = {}
    for name, part in model.blocks.items():
        rows = statistics.blocks[name]
        drawn = {s: values[f"{name}.{s}"].ravel() for s in _ends(part)}
        if not drawn:
            parts[name] = required(part, Conjugate).posterior(rows)
            continue
        size = len(next(iter(drawn.values())))
        picked = np.linspace(0, size - 1, min(size, MEMBERS)).round().astype(int)
        each = [given(part.components, {s: v[i] for s, v in drawn.items()}) for i in picked]
        members = tuple(required(member, Conjugate).posterior(rows) for member in each)
        parts[name] = HyperparameterMixture(members, np.full(len(members), -np.log(len(members))))
    return Model(model.classes.posterior(statistics.count), parts)


def _ends(part: Likelihood) -> dict[str, tuple[float, float]]:
    """Return the smallest and largest value of every setting in which priors differ."""
    out = {}
    for name in part.components[0].hyperparameter_grid if len(part.components) > 1 else ():
        values = [float(np.ravel(getattr(prior, name))[0]) for prior in part.components]
        if min(values) < max(values):
            out[name] = (min(values), max(values))
    return out


def _require_closed(name: str, part: Likelihood, statistics: Statistics) -> None:
    family = part.components[0]
    if not family.conjugate:
        which = "with learned prior strengths" if len(part.components) > 1 else ""
        raise unsupported(
            f"block {name!r}, {type(family).__name__} {which}".rstrip(),
            "where prior strengths are learned, the parameters of all blocks are integrated out, "
            "and this one has no closed form",
            "State the prior strengths of the other blocks, or of this one.",
        )
    if missing_cells(family, statistics) is not None:
        raise incomplete_rows(type(family).__name__)
