"""Export to arviz: draws, priors, predictions and log densities, labeled with the user's names.

Groups and variables follow arviz's conventions, so its summaries, diagnostics, plots and model
comparisons work unchanged. Dims are "class", "<block>.feature" and "<block>.level"; coordinates are
the names in the user's table.
"""

import dataclasses
import itertools
import shutil
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd

from bayesgen import arguments
from bayesgen.errors import InvalidData, LowSampleSize, UnsupportedOperation, warn
from bayesgen.errors.operations import unsupported
from bayesgen.inference import Draws, Posterior
from bayesgen.inference.chain_diagnostics import reliable_k
from bayesgen.inference.draws import as_draws, chained, flat, mapped
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.protocols import Conjugate, required
from bayesgen.model import Model
from bayesgen.program import log_priors as log_priors_of
from bayesgen.program import sample_prior
from bayesgen.table import free_names
from bayesgen.typing import DataFrame, DataTree, ELPDData, Encoded, Joint, Labels

SAMPLES, STACKED = ("chain", "draw"), ("sample",)
"""The axes of draws in arviz, and the name that it gives to both as one."""

Params = Mapping[str, Mapping[str, np.ndarray]]


@dataclasses.dataclass(frozen=True, eq=False)
class AxisLabels:
    """The user's labels for the axes of parameters.

    classes: labels. features: block -> names of its informative columns. levels: block ->
    "column=level", columns side by side.
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

    dims: names of axes; None: it has no name. samples: the leading axes of every array.
    """

    arrays: Mapping[Any, np.ndarray]
    dims: Mapping[Any, tuple[str | None, ...]] = dataclasses.field(default_factory=dict)
    samples: tuple[str, ...] = SAMPLES

    def axes(self, name: Hashable) -> tuple[str, ...]:
        """Return the axes of one array after those of the samples; those without a name get one."""
        dims, size = self.dims.get(name, ()), self.arrays[name].ndim - len(self.samples)
        text, number = str(name).replace("/", "_"), itertools.count()
        every = (*dims, *[None] * (size - len(dims)))
        return tuple(axis or f"{text}_dim_{next(number)}" for axis in every)


def parameters(params: Params, families: Mapping[str, Likelihood], labels: AxisLabels) -> Group:
    """Return parameters (chain, draw, ...) by site name, in interpretable form.

    Cholesky factors become covariances; an axis of length one, shared by all classes, is dropped.
    """
    arrays, dims = {}, {}
    for owner, values in params.items():
        for name, value in values.items():
            axes = _axes(owner, name, families)
            if name == "cholesky":
                name, value = "covariance", value @ np.swapaxes(value, -1, -2)
            if axes and axes[0] == "class" and value.shape[2] != len(labels.classes):
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
    """Return a posterior as draws: its own, or n of a closed form.

    Raises:
        InvalidArgument: n, the user's argument draws=, is not a count.
    """
    arguments.count("draws", n, default=1000)
    return as_draws(posterior.components, rng, n)


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
        if part.conjugate:
            out[name] = required(part, Conjugate).draw(rng, n)
        else:
            out[name] = sample_prior(part, name, rng, n)
    return chained(out, n)


def log_priors(model: Model, params: Params) -> dict[str, np.ndarray]:
    """Return the log density of each part's prior at draws of its parameters, each (chain, draw).

    The density refers to the parameters that `parameters` returns: where L parameterizes Sigma = L
    L', with dSigma = prod_i 2 L_ii^(p + 1 - i) dL (Muirhead 1982, theorem 2.1.9). Empty if one of
    the priors is improper or cannot be written as a program (learned prior strengths).
    """
    if any(getattr(part, "prior", None) == "reference" for part in model.blocks.values()):
        return {}
    each = mapped(flat, params)
    try:
        out = log_priors_of(model, each)
    except UnsupportedOperation:
        return {}
    for owner in out:
        if "cholesky" in each[owner]:
            factor = each[owner]["cholesky"]
            powers = np.arange(factor.shape[-1], 0, -1) + 0.0
            logs = np.log(np.diagonal(factor, axis1=-2, axis2=-1))
            out[owner] = out[owner] - (np.log(2) + powers * logs).sum(axis=(1, 2))
    shape = params["class"]["probs"].shape[:2]
    return {owner: density.reshape(shape) for owner, density in out.items()}


DRAWS = "draws"
"""The argument replicates= of a table for each draw."""
EXACT = (
    "clf.loo(kind='elpd') is exact, so that there is no log_likelihood from which arviz_stats.loo "
    "would estimate it"
)
"""What a tree says of a model whose rows can be left out exactly."""


def require_complete(observed: Group) -> None:
    """Reject missing cells, which arviz's plot_loo_pit would take for low ones.

    Raises:
        InvalidData: names the first column.
    """
    for name, cells in observed.arrays.items():
        if (missing := np.isnan(cells)).any():
            raise InvalidData(
                "column {column!r} is missing in {count:rows}, and replicates='draws' serves "
                "plot_loo_pit, which reads complete rows.",
                "Pass those alone: to_datatree(X, y, replicates='draws').",
                column=name,
                count=int(missing.sum()),
            )


def replicated(
    params: Params,
    families: Mapping[str, Likelihood],
    y: Labels,
    rng: np.random.Generator,
    n: int | str,
) -> tuple[dict[str, np.ndarray], tuple[int, int]]:
    """Return tables simulated for labels y under n draws of parameters, and their chains and draws.

    Tables have the shape (n, row, feature). n: "draws" takes each draw once, in its chain. Blocks
    without parameters (an improper prior) are left out.

    Raises:
        InvalidArgument: n, the user's argument replicates=, is not a count.
    """
    shape = params["class"]["probs"].shape[:2]
    size = int(np.prod(shape))
    if isinstance(n, str) and n == DRAWS:
        picked = np.arange(size)
    else:
        n = arguments.count("replicates", n, default=100)
        picked, shape = rng.choice(size, size=n, replace=n > size), (1, n)
    out = {}
    draws = [mapped(lambda values, i=i: flat(values)[i], params) for i in picked]
    for name, family in families.items():
        if name in params:
            out[name] = np.stack([family.simulate(draw[name], y, rng) for draw in draws])
    return out, shape


def datatree(
    groups: Mapping[str, Group], coords: Mapping[str, list], attrs: Mapping[str, object]
) -> DataTree:
    """Return an arviz DataTree of groups; empty ones are left out.

    A variable keeps its name, the same in every group, unless one of the dims has that name.
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


@dataclasses.dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """Log densities of rows, each given the other rows.

    joint: log p(x_i, y = k given the rows without i), shape (row, class). pareto_k: tail shapes of
    the importance weights, shape (row,), and good_k: the largest that can be trusted with n_draws
    draws (Vehtari and others 2024); None, None and 0 where the densities are exact.
    """

    joint: Joint
    pareto_k: np.ndarray | None = None
    good_k: float | None = None
    n_draws: int = 0

    def unreliable(self) -> np.ndarray:
        """Return the rows whose importance weights are too variable."""
        if self.pareto_k is None or self.good_k is None:
            return np.empty(0, dtype=int)
        # not >: NaN is unreliable too
        return np.flatnonzero(~(self.pareto_k <= self.good_k))


LEAST_DRAWS = 25
"""Draws below which arviz fits no tail: the tail is a fifth of them, and needs five."""


def left_out_by_importance(
    draws: Draws, encoded: Encoded, y: Labels, weight: np.ndarray
) -> LeaveOneOut:
    r"""Return log densities of rows given the others, by Pareto smoothed importance sampling.

    Draws of p(theta given D) represent p(theta given the rows without i) with the weights
    p(x_i, y_i given theta)^-w_i, the largest of which are smoothed:

        log p(x_i, k given the rows without i) = log sum_s v_is p(x_i, k given theta_s)

    Source: Vehtari, Simpson, Gelman, Yao and Gabry, "Pareto smoothed importance sampling", Journal
    of Machine Learning Research 25 (2024).

    Args:
        draws: of the parameters given all rows.
        encoded: all rows.
        y: their class codes, shape (row,).
        weight: their weights w, shape (row,).

    Raises:
        UnsupportedOperation: fewer draws than a tail can be fitted to.
    """
    from arviz_stats.base import array_stats

    n_draws = int(np.prod(draws.shape))
    if n_draws < LEAST_DRAWS:
        raise unsupported(
            f"loo() from {n_draws} draws",
            f"at least {LEAST_DRAWS} are needed to smooth importance weights",
            "Fit with more: inference=bg.NUTS(draws=1000).",
        )
    # arviz's own rule: correlated draws need a longer tail
    share = draws.report.details.get("ess", np.nan) / n_draws
    efficiency = min(share, 1.0) if np.isfinite(share) else 1.0
    joint, pareto_k = np.empty((len(y), len(draws.log_classes()))), np.zeros(len(y))
    for rows, density in draws.joint_draws(encoded, len(y)):
        own = np.take_along_axis(density, y[rows, None, None], axis=2)[:, :, 0]
        taken = np.where(weight[rows, None] > 0, weight[rows, None] * own, 0.0)
        log_weight = np.full(own.shape, -np.log(n_draws))
        # a density that is the same under every draw leaves the weights even
        varies = np.ptp(taken, axis=1) > 0
        if varies.any():
            log_weight[varies], pareto_k[rows[varies]] = array_stats.psislw(
                taken[varies], r_eff=efficiency, axis=-1
            )
        joint[rows] = np.logaddexp.reduce(log_weight[:, :, None] + density, axis=1)
    joint += draws.reader.log_abs_det_jacobian(encoded)
    good_k = reliable_k(n_draws)
    found = LeaveOneOut(joint, pareto_k, good_k, n_draws)
    unreliable = found.unreliable()
    if len(unreliable):
        worst = float(pareto_k[unreliable].max())
        warn(
            LowSampleSize(
                "loo() estimates the density of {where:named row} given the others from a few "
                "draws of large weight (Pareto k up to {worst:.2f}, above {limit:.2f}), and may be "
                "far off.",
                "Score held-out rows with bg.compare({{'this': clf}}, X, y), or state stronger "
                "priors.",
                where=unreliable.tolist(),
                worst=worst,
                limit=good_k,
            )
        )
    return found


def elpd(
    after: np.ndarray, before: np.ndarray, weight: np.ndarray, source: LeaveOneOut
) -> ELPDData:
    """Return arviz's ELPDData of log predictive densities of rows.

    p, the effective number of parameters, is sum(before) - sum(after). Where the densities are
    exact, n_samples is 0, and pareto_k and good_k are None.

    Args:
        after: of each row given the others, shape (row,).
        before: of each row given all rows, shape (row,).
        weight: weight of each row, shape (row,); rows of weight 0 are omitted.
        source: where `after` comes from.
    """
    import xarray as xr
    from arviz_stats.utils import ELPDDataLOO

    seen = np.flatnonzero(weight > 0)
    after, before = (weight[seen] * part[seen] for part in (after, before))
    pareto_k = source.pareto_k
    if pareto_k is not None:
        pareto_k = xr.DataArray(pareto_k[seen], {"row": seen}, "row", name="pareto_k")
    return ELPDDataLOO(
        elpd=float(after.sum()),
        se=float(np.sqrt(len(after)) * after.std()),
        p=float(before.sum() - after.sum()),
        n_samples=source.n_draws,
        n_data_points=len(after),
        scale="log",
        warning=bool(np.isin(source.unreliable(), seen).any()),
        # as in arviz's own results of k folds, whatever the annotations say
        good_k=cast(Any, source.good_k),
        pareto_k=cast(Any, pareto_k),
        elpd_i=xr.DataArray(after, {"row": seen}, "row", name="elpd_i"),
    )


def frame(columns: Mapping, index: Any = None) -> DataFrame:
    """Return columns as a pandas DataFrame; names that are tuples make levels of names."""
    return pd.DataFrame(columns, index=index)


def summary(tree: DataTree, options: Mapping[str, Any]) -> DataFrame:
    """Return arviz's summary table of the posterior."""
    from arviz_stats import summary as table

    return table(tree, **options)


class StackSummary(pd.DataFrame):
    """Members of a stack, or parameters of one, with all columns in lines as wide as the terminal.

    Names of blocks, which may list many columns, are cut where a name takes more than half a line.
    """

    def __repr__(self) -> str:
        width, limit = shutil.get_terminal_size().columns, pd.get_option("display.max_rows")
        names = [_shortened(str(name), width // 2) for name in self.index]
        form = "{:.4g}".format
        table = pd.DataFrame(self).set_axis(names, axis=0)
        return table.to_string(line_width=width, max_rows=limit, float_format=form)


def _shortened(name: str, width: int) -> str:
    """Return "block.parameter[...]" with as much of the block as the width allows."""
    dot = name.rfind(".", 0, name.find("["))
    start = max(width - 1 - len(name[dot:]), 3)
    return name if len(name) <= width or start >= dot else f"{name[:start]}…{name[dot:]}"


def table_of_members(
    names: Sequence[str],
    loss: Mapping[str, float],
    evidence: Mapping[str, float],
    weights: Mapping[str, float],
    log_linear: Mapping[str, float],
) -> DataFrame:
    """Return a DataFrame of the members' leave-one-out log loss, log evidence and weights.

    names: of all members and interactions; those without a number have NaN.
    """
    columns = {
        "leave_one_out_log_loss": loss,
        "log_evidence": evidence,
        "weight": weights,
        "log_linear_weight": log_linear,
    }
    return pd.DataFrame(columns, index=pd.Index(names, name="member"), dtype=float)


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
