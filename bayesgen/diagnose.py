"""From a posterior to arviz: every draw, prior, prediction and log density under the user's names.

Groups and their variables follow arviz's conventions, so that its summaries, diagnostics, plots and
model comparisons read them: dims are "class", "<block>.feature" and "<block>.level", coordinates
the user's own words.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgen import arguments
from bayesgen.inference import Draws, Posterior, Tempered
from bayesgen.inference.posterior import flat
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Model
from bayesgen.story import told
from bayesgen.typing import Encoded, Labels

CHAINS = 4
"""Independent draws are dealt to as many chains: arviz's diagnostics want several."""

Params = Mapping[str, Mapping[str, np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class Words:
    """The user's own words for the axes of parameters.

    classes: labels. features: block -> names of the columns that its likelihood sees. levels: block
    -> "column=level", columns side by side.
    """

    classes: list
    features: dict[str, list]
    levels: dict[str, list[str]]

    def coords(self) -> dict[str, list]:
        """Return the coordinates of every axis."""
        out: dict[str, list] = {"class": self.classes}
        for block, names in self.features.items():
            # a covariance has the feature axis twice, and no two axes may share a name
            out[f"{block}.feature"] = out[f"{block}.feature_2"] = [str(name) for name in names]
        return out | {f"{block}.level": names for block, names in self.levels.items() if names}


@dataclasses.dataclass(frozen=True, eq=False)
class Group:
    """Arrays of one group by name, and the axes of each after chain and draw."""

    arrays: dict[str, np.ndarray]
    dims: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def parameters(params: Params, families: Mapping[str, Likelihood], words: Words) -> Group:
    """Return parameters (chain, draw, ...) by site name, as a person can read them.

    Cholesky factors become covariances; an axis of length one, of which all classes share the
    entry, is left out.
    """
    arrays, dims = {}, {}
    for owner, values in params.items():
        for name, value in values.items():
            axes = _axes(owner, name, families)
            if name == "cholesky":
                name, value = "covariance", value @ np.swapaxes(value, -1, -2)
            if axes and axes[0] == "class" and value.shape[2] != len(words.classes):
                value, axes = value[:, :, 0], axes[1:]
            arrays[f"{owner}.{name}"] = value
            dims[f"{owner}.{name}"] = _named(owner, axes)
    return Group(arrays, dims)


def _axes(owner: str, name: str, families: Mapping[str, Likelihood]) -> tuple[str, ...]:
    return ("class",) if owner == "class" else tuple(families[owner].param_axes[name])


def _named(owner: str, axes: tuple[str, ...]) -> tuple[str, ...]:
    out: list[str] = []
    for word in axes:
        name = word if word == "class" else f"{owner}.{word}"
        out.append(f"{name}_2" if name in out else name)
    return tuple(out)


def draws_of(posterior: Posterior, rng: np.random.Generator, n: int) -> Draws:
    """Return a posterior as draws: its own, or n of a closed form, dealt to CHAINS chains.

    Raises:
        InvalidArgument: n, the argument draws= of a user, is no count.
    """
    arguments.count("draws", n, default=1000)
    if isinstance(posterior, Tempered):
        return draws_of(posterior.base, rng, n)
    if isinstance(posterior, Draws):
        return posterior
    params = chained(posterior.parameters(rng, n), n)
    return Draws(posterior.reader, posterior.report, params, posterior.families)


def chained(params: Params, n: int) -> dict[str, dict[str, np.ndarray]]:
    """Return n independent draws (draw, ...) as (chain, draw, ...); one chain if n does not fit."""
    chains = CHAINS if n % CHAINS == 0 else 1
    return {
        owner: {name: v.reshape(chains, n // chains, *v.shape[1:]) for name, v in values.items()}
        for owner, values in params.items()
    }


def log_likelihoods(draws: Draws, encoded: Encoded, y: Labels) -> tuple[np.ndarray, np.ndarray]:
    """Return log p(y given x, theta) and log p(x, y given theta), each (chain, draw, row)."""
    n = len(y)
    conditional, joint = np.empty((2, n, int(np.prod(draws.shape))))
    for at, density in draws.joint_draws(encoded, n):
        own = np.take_along_axis(density, y[at, None, None], axis=2)[:, :, 0]
        joint[at] = own
        conditional[at] = own - np.logaddexp.reduce(density, axis=2)
    shape = (*draws.shape, n)
    return conditional.T.reshape(shape), joint.T.reshape(shape)


def prior_draws(model: Model, rng: np.random.Generator, n: int) -> Params:
    """Return n draws of every parameter from the prior; improper priors are left out."""
    out = {"class": model.classes.draw(rng, n)}
    for name, part in model.blocks.items():
        if part.improper:
            continue
        out[name] = part.draw(rng, n) if part.conjugate else told(part, name, rng, n)
    return chained(out, n)


def replicated(
    params: Params, families: Mapping[str, Likelihood], y: Labels, rng: np.random.Generator, n: int
) -> dict[str, np.ndarray]:
    """Return blocks of rows simulated for labels y under n draws of parameters, (n, row, feature).

    Blocks without parameters (an improper prior) are left out.

    Raises:
        InvalidArgument: n, the argument replicates= of a user, is no count.
    """
    arguments.count("replicates", n, default=100)
    shape = params["class"]["probs"].shape[:2]
    picked = rng.choice(int(np.prod(shape)), size=n, replace=n > np.prod(shape))
    out = {}
    for name, family in families.items():
        if name not in params:
            continue
        every = {k: flat(v) for k, v in params[name].items()}
        each = ({k: v[i] for k, v in every.items()} for i in picked)
        out[name] = np.stack([family.simulate(one, y, rng) for one in each])
    return out


def datatree(
    groups: Mapping[str, Group], coords: Mapping[str, list], attrs: Mapping[str, object]
) -> object:
    """Return an arviz DataTree of groups; empty ones are left out."""
    from arviz_base import from_dict

    found = {name: group for name, group in groups.items() if group.arrays}
    dims = {name: list(axes) for group in found.values() for name, axes in group.dims.items()}
    used = {axis for axes in dims.values() for axis in axes}
    return from_dict(
        {name: group.arrays for name, group in found.items()},
        dims={"y": ["row"], "xy": ["row"], **dims},
        coords={axis: values for axis, values in coords.items() if axis in used},
        attrs={"/": dict(attrs)},
    )


def frame(columns: Mapping, index: Any = None) -> object:
    """Return columns as a pandas DataFrame; names that are tuples make levels of names."""
    import pandas as pd

    return pd.DataFrame(columns, index=index)


def summary(tree: object, options: Mapping[str, object]) -> object:
    """Return arviz's summary table of the posterior."""
    from arviz_stats import summary as table

    return table(tree, **options)


def trees_of_members(trees: Mapping[str, object], weights: Mapping[str, float]) -> object:
    """Return an xarray.DataTree of the members' weights, with each one's tree under its name."""
    import xarray as xr

    values = ("member", list(weights.values()))
    tree = xr.DataTree(xr.Dataset({"weight": values}, {"member": list(weights)}), name="stack")
    for name, part in trees.items():
        tree[name] = part
    return tree
