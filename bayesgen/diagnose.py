"""From a posterior to arviz: every draw, prior, prediction and log density under the user's names.

Groups and their variables follow arviz's conventions, so that its summaries, diagnostics, plots and
model comparisons read them: dims are "class", "<block>.feature" and "<block>.level", coordinates
the user's own words.
"""

import dataclasses
from collections.abc import Hashable, Mapping
from typing import Any, cast

import numpy as np

from bayesgen import arguments
from bayesgen.errors import UnsupportedInference
from bayesgen.inference import Draws, Posterior, PowerPosterior
from bayesgen.inference.posterior import flat
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Model
from bayesgen.story import log_priors as log_priors_of
from bayesgen.story import told
from bayesgen.table import free_names
from bayesgen.typing import DataFrame, DataTree, ELPDData, Encoded, Labels

SAMPLES, STACKED = ("chain", "draw"), ("sample",)
"""The axes of draws in arviz, and the name that it gives to both as one."""

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
    """Arrays of one group by name, and the axes of each after those of the samples.

    samples: the leading axes of every array.
    """

    arrays: Mapping[Any, np.ndarray]
    dims: Mapping[Any, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    samples: tuple[str, ...] = SAMPLES

    def axes(self, name: Hashable) -> tuple[str, ...]:
        """Return the axes of one array after those of the samples; those without a name get one."""
        dims, size = self.dims.get(name, ()), self.arrays[name].ndim - len(self.samples)
        text = str(name).replace("/", "_")
        return (*dims, *(f"{text}_dim_{i}" for i in range(size - len(dims))))


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
    if isinstance(posterior, PowerPosterior):
        return draws_of(posterior.base, rng, n)
    if isinstance(posterior, Draws):
        return posterior
    params = chained(posterior.parameters(rng, n), n)
    return Draws(posterior.reader, posterior.report, params, posterior.families)


def chained(params: Params, n: int) -> dict[str, dict[str, np.ndarray]]:
    """Return n independent draws (draw, ...) as (chain, draw, ...); one chain if n does not fit.

    arviz warns of more chains than draws.
    """
    chains = CHAINS if n % CHAINS == 0 and n >= CHAINS**2 else 1
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


def log_priors(model: Model, params: Params) -> dict[str, np.ndarray]:
    """Return the log density of each part's prior at draws of its parameters, each (chain, draw).

    A density over the parameters that `parameters` shows: where L stands for Sigma = L L', with
    dSigma = prod_i 2 L_ii^(p + 1 - i) dL (Muirhead 1982, theorem 2.1.9). Empty where one of the
    priors is improper, or is written as no program (forests of columns, learned prior strengths).
    """
    if any(getattr(part, "prior", None) == "reference" for part in model.blocks.values()):
        return {}
    each = {o: {k: flat(v) for k, v in values.items()} for o, values in params.items()}
    try:
        out = log_priors_of(model, each)
    except UnsupportedInference:
        return {}
    for owner in out:
        if "cholesky" in each[owner]:
            factor = each[owner]["cholesky"]
            powers = np.arange(factor.shape[-1], 0, -1) + 0.0
            logs = np.log(np.diagonal(factor, axis1=-2, axis2=-1))
            out[owner] = out[owner] - (np.log(2) + powers * logs).sum(axis=(1, 2))
    shape = params["class"]["probs"].shape[:2]
    return {owner: density.reshape(shape) for owner, density in out.items()}


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
) -> DataTree:
    """Return an arviz DataTree of groups; empty ones are left out.

    A variable keeps its name, in every group the same, unless it is the name of a dim beside it.
    """
    import xarray as xr
    from arviz_base import dict_to_dataset

    found = {name: group for name, group in groups.items() if group.arrays}
    taken: dict[Hashable, set[str]] = {}
    for group in found.values():
        axes = (axis for name in group.arrays for axis in group.axes(name))
        dims = {*group.samples, *STACKED, *axes}
        for name in group.arrays:
            taken.setdefault(name, set()).update(dims)
    names = free_names(taken)
    datasets = {
        name: dict_to_dataset(
            {names[variable]: array for variable, array in group.arrays.items()},
            dims={names[variable]: list(group.axes(variable)) for variable in group.arrays},
            coords=dict(coords),
            sample_dims=list(group.samples),
        )
        for name, group in found.items()
    }
    tree = xr.DataTree.from_dict(datasets)
    tree.attrs = dict(attrs)
    return tree


def elpd(after: np.ndarray, before: np.ndarray, weight: np.ndarray) -> ELPDData:
    """Return arviz's ELPDData of log predictive densities of rows, known exactly.

    p, the effective number of parameters, is sum(before) - sum(after). No posterior is sampled and
    no importance weight smoothed: n_samples is 0, and pareto_k and good_k are None.

    Args:
        after: of each row given the others, shape (row,).
        before: of each row given all rows, shape (row,).
        weight: how often each row counts, shape (row,); rows that never do are absent.
    """
    import xarray as xr
    from arviz_stats.utils import ELPDDataLOO

    seen = np.flatnonzero(weight > 0)
    after, before = (weight[seen] * part[seen] for part in (after, before))
    return ELPDDataLOO(
        elpd=float(after.sum()),
        se=float(np.sqrt(len(after)) * after.std()),
        p=float(before.sum() - after.sum()),
        n_samples=0,
        n_data_points=len(after),
        scale="log",
        warning=False,
        # as in arviz's own results of k folds, whatever the annotation says
        good_k=cast(Any, None),
        elpd_i=xr.DataArray(after, {"row": seen}, "row", name="elpd_i"),
    )


def frame(columns: Mapping, index: Any = None) -> DataFrame:
    """Return columns as a pandas DataFrame; names that are tuples make levels of names."""
    import pandas as pd

    return pd.DataFrame(columns, index=index)


def summary(tree: DataTree, options: Mapping[str, Any]) -> DataFrame:
    """Return arviz's summary table of the posterior."""
    from arviz_stats import summary as table

    return table(tree, **options)


def trees_of_members(trees: Mapping[str, DataTree], weights: Mapping[str, float]) -> DataTree:
    """Return an xarray.DataTree of the members' weights, with each one's tree under its name.

    The names are free of slashes, and of the names of the weights, as those of variables are.
    """
    import xarray as xr

    values = ("member", list(weights.values()))
    tree = xr.DataTree(xr.Dataset({"weight": values}, {"member": list(weights)}), name="stack")
    names = free_names(dict.fromkeys(trees, ("weight", "member")))
    for name, part in trees.items():
        tree[names[name]] = part
    return tree
