"""The model as a NumPyro program: over statistics for inference, over rows for reading.

One program serves prior simulation, NUTS, MAP and MLE: they differ in which of its three terms
count (prior, rows, measure), never in the program.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.model import Model, ModelStatistics
from bayesgen.tracing import ONE_PROGRAM
from bayesgen.typing import Traceable, Transform

Tree = dict[str, dict]


def program(model: Model, statistics: ModelStatistics) -> Callable[[], dict[str, dict]]:
    """Return the NumPyro program of the model, the rows given by their statistics.

    Sites are "class.probs" and "block.parameter"; the rows enter as factors "class.rows" and
    "block.rows", so that a gradient costs the same at 200 and at 2,000,000 rows.
    """

    def story() -> dict[str, dict]:
        import numpyro
        from jax.scipy.special import xlogy

        params = {"class": model.classes.story()}
        # xlogy: a class without rows may have the probability 0
        labels = xlogy(statistics.count, params["class"]["probs"]).sum()
        numpyro.factor("class.rows", labels)
        for name, likelihood in model.blocks.items():
            params[name] = likelihood.story(name)
            rows = likelihood.log_likelihood(params[name], statistics.blocks[name])
            numpyro.factor(f"{name}.rows", rows)
        return params

    return story


def told(likelihood: Likelihood, name: str, rng: np.random.Generator, n: int) -> dict:
    """Return n draws of a block's parameters from its prior, as its program draws them."""
    import jax
    from numpyro import handlers

    def once(key: Traceable) -> dict:
        with ONE_PROGRAM, handlers.block(), handlers.seed(rng_seed=key):
            return likelihood.story(name)

    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(int(rng.integers(2**31))), n)
        return jax.device_get(jax.jit(jax.vmap(once))(keys))


def log_priors(model: Model, params: Mapping[str, Mapping]) -> dict[str, np.ndarray]:
    """Return the log density of each part's prior at draws of its parameters, each (draw,).

    A density over the parameters as they stand, Cholesky factors of covariances among them. Parts
    without parameters of their own, and class probabilities that are known, have none.

    Raises:
        UnsupportedInference: a prior that no program can say.
    """
    import jax
    from numpyro import handlers

    parts = {name: functools.partial(p.story, name) for name, p in model.blocks.items()}
    stories = {"class": model.classes.story, **parts}

    def once(values: Mapping[str, Mapping]) -> dict[str, Traceable]:
        out = {}
        for owner, story in stories.items():
            data = {f"{owner}.{name}": value for name, value in values[owner].items()}
            with ONE_PROGRAM, handlers.block():
                trace = handlers.trace(handlers.substitute(story, data=data)).get_trace()
            sites = [site for site in trace.values() if site["type"] == "sample"]
            if sites:
                out[owner] = sum(site["fn"].log_prob(site["value"]).sum() for site in sites)
        return out

    with jax.enable_x64(True):
        # not compiled: what is run once costs five times as much to compile
        return jax.device_get(jax.vmap(once)({n: dict(params[n]) for n in stories}))


@dataclasses.dataclass(frozen=True, eq=False)
class Structure:
    """What decides how a program is traced: families and their settings, not their numbers.

    Two models of one structure share compiled code; their arrays travel as `arrays`.
    """

    classes: ClassPrior
    blocks: tuple[tuple[str, Likelihood, Statistics], ...]

    def key(self) -> tuple:
        """Return a hashable summary: equal keys trace alike."""
        parts = ((n, type(p), p.settings(), s.settings()) for n, p, s in self.blocks)
        return (self.classes.known, *parts)

    def filled(self, tree: Tree) -> tuple[Model, ModelStatistics]:
        """Return model and statistics of this structure that hold the arrays of a tree."""
        parts, statistics = {}, {}
        for name, part, statistic in self.blocks:
            parts[name] = part.with_arrays(tree["blocks"][name]["prior"])
            statistics[name] = statistic.with_arrays(tree["blocks"][name]["statistics"])
        prior = dict(tree["class"]["prior"])
        if self.classes.known:
            # stays a plain infinity: whether classes are known is part of the structure
            del prior["rows"]
        model = Model(self.classes.with_arrays(prior), parts)
        return model, ModelStatistics(tree["class"]["count"], statistics)

    def __hash__(self) -> int:
        """Hash by key."""
        return hash(self.key())

    def __eq__(self, other: object) -> bool:
        """Compare by key."""
        return isinstance(other, Structure) and self.key() == other.key()


def structure(model: Model, statistics: ModelStatistics) -> Structure:
    """Return the structure of a model and its statistics."""
    blocks = ((n, part, statistics.blocks[n]) for n, part in model.blocks.items())
    return Structure(model.classes, tuple(blocks))


def arrays(model: Model, statistics: ModelStatistics, centres: ModelStatistics) -> Tree:
    """Return every number of the program and of its coordinates as one tree of arrays.

    centres: statistics of complete rows that say where the posterior sits (the statistics
    themselves, unless rows have holes).
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
                "whitening": part.whitening(centres.blocks[name]),
            }
            for name, part in model.blocks.items()
        },
    }


def sites(model: Model, statistics: ModelStatistics) -> dict[str, tuple[int, ...]]:
    """Return the shape of every parameter, by site name."""
    out = {} if model.classes.known else {"class.probs": statistics.count.shape}
    for name, part in model.blocks.items():
        for parameter, value in part.initial_params(statistics.blocks[name]).items():
            out[f"{name}.{parameter}"] = value.shape
    return out


def transform(structure: Structure, tree: Tree, site: str) -> Transform:
    """Return the transform from unit-scale coordinates to one site (traced)."""
    name, parameter = site.rsplit(".", 1)
    if name == "class":
        return structure.classes.bijector(parameter, *tree["class"]["whitening"][parameter])
    part = next(part for block, part, _ in structure.blocks if block == name)
    return part.bijector(parameter, *tree["blocks"][name]["whitening"][parameter])


def placed(
    structure: Structure, tree: Tree, u: Mapping[str, Traceable]
) -> tuple[dict[str, Traceable], Traceable]:
    """Return the parameters at unit-scale coordinates u, by site, and their Jacobian (traced).

    The latter is the sum of log |d parameters / d u|.
    """
    values, jacobian = {}, 0.0
    for site, coordinate in _sheared(structure, tree, u).items():
        to_site = transform(structure, tree, site)
        values[site] = to_site(coordinate)
        jacobian += to_site.log_abs_det_jacobian(coordinate, values[site]).sum()
    return values, jacobian


def _sheared(structure: Structure, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
    out = dict(u)
    for name, part, _ in structure.blocks:
        sites = {site.rpartition(".")[2]: site for site in u if site.rpartition(".")[0] == name}
        if sites:
            own = {parameter: u[site] for parameter, site in sites.items()}
            moved = part.sheared(own, tree["blocks"][name]["whitening"])
            out |= {sites[parameter]: value for parameter, value in moved.items()}
    return out


def terms(structure: Structure, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
    """Return the log densities at unit-scale coordinates u (traced).

    prior: of the parameters. rows: of rows and labels given them. jacobian: of u to parameters.
    measure: of parameters against scale-free ones. NUTS samples prior + rows + jacobian, MAP
    maximises prior + rows + measure, MLE maximises rows.
    """
    from jax import random
    from numpyro import handlers

    values, jacobian = placed(structure, tree, u)
    model, statistics = structure.filled(tree)
    story = handlers.substitute(program(model, statistics), data=values)
    # blocked: the optimiser's own program, in which this one runs, must not see its sites
    with ONE_PROGRAM, handlers.block():
        trace = handlers.trace(handlers.seed(story, random.key(0))).get_trace()
    sampled = [site for site in trace.values() if site["type"] == "sample"]
    prior = sum(s["fn"].log_prob(s["value"]).sum() for s in sampled if not s["is_observed"])
    rows = sum(s["fn"].log_prob(s["value"]).sum() for s in sampled if s["is_observed"])
    return {"prior": prior, "rows": rows, "jacobian": jacobian, "measure": _measure(model, values)}


def _measure(model: Model, values: Mapping[str, Traceable]) -> Traceable:
    owners = {"class": model.classes, **model.blocks}
    by_owner: dict[str, dict] = {}
    for site, value in values.items():
        name, parameter = site.rsplit(".", 1)
        by_owner.setdefault(name, {})[parameter] = value
    total: Traceable = np.zeros(())
    for name, params in by_owner.items():
        total = total + owners[name].log_scale_free_jacobian(params)
    return total
