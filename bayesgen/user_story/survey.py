"""A look at a program on a few rows: where its priors lie, and whether its rows stand alone."""

import functools
from collections.abc import Callable, Mapping
from typing import NamedTuple

from bayesgen.typing import Traceable
from bayesgen.user_story.program import Site, UserStory

JITTER = 0.3
"""Distance from the middle of the priors, in unconstrained coordinates: there, classes differ."""


class Survey(NamedTuple):
    """What a few rows show, at parameters beside the middle of the priors.

    start: unconstrained coordinates of that middle. together: the log density of each observed
    site, (class, row) or (class,) outside plate "row", all rows held to be of one class. alone:
    that of each row by itself with its own class, (row,).
    """

    start: dict[str, Traceable]
    together: dict[str, Traceable]
    alone: dict[str, Traceable]


@functools.lru_cache(maxsize=32)
def survey(story: UserStory, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> Callable:
    """Return the compiled function (x, y) -> Survey."""
    import jax
    import jax.numpy as jnp

    names = tuple(name for name, _ in shapes)

    def run(x: Mapping, y: Traceable) -> Survey:
        start = middle(story, names, x, y)
        keys = jax.random.split(jax.random.key(0), len(start))
        near = {
            name: u + JITTER * jax.random.normal(key, u.shape)
            for key, (name, u) in zip(keys, start.items(), strict=True)
        }
        values = constrained(story, near, x, y)

        def one(x: Mapping, y: Traceable) -> dict[str, Traceable]:
            row = {name: array[None] for name, array in x.items()}
            return {k: v.sum() for k, v in story.densities(values, row, y[None]).items()}

        codes = jnp.arange(story.n_classes)[:, None] * jnp.ones_like(y)
        together = jax.vmap(lambda k: story.densities(values, x, k))(codes)
        return Survey(start, together, jax.vmap(one)(x, y))

    return jax.jit(run)


def middle(story: UserStory, names: tuple[str, ...], x: Mapping, y: Traceable) -> dict:
    """Return unconstrained coordinates of the priors' means, each given those before it (traced).

    0 stands in where a mean is infinite or not known.
    """
    import jax.numpy as jnp
    from numpyro.distributions import biject_to

    out: dict[str, Traceable] = {}

    def value_of(site: Site) -> Traceable | None:
        if site["name"] not in names:
            return None
        prior, to_site = site["fn"], biject_to(site["fn"].support)
        u = jnp.zeros(to_site.inverse_shape(prior.shape()))
        try:
            found = to_site.inv(1.0 * jnp.broadcast_to(prior.mean, prior.shape()))
            u = jnp.where(jnp.isfinite(found).all(), found, u)
        # a distribution that does not know its mean starts where its coordinates are 0
        except NotImplementedError:
            pass
        out[site["name"]] = u
        return to_site(u)

    story.sites(x, y, value_of)
    return out


def constrained(story: UserStory, u: Mapping, x: Mapping, y: Traceable) -> dict[str, Traceable]:
    """Return parameters at unconstrained coordinates u (traced)."""
    from numpyro.distributions import biject_to

    values: dict[str, Traceable] = {}

    def value_of(site: Site) -> Traceable | None:
        if site["name"] not in u:
            return None
        values[site["name"]] = biject_to(site["fn"].support)(u[site["name"]])
        return values[site["name"]]

    story.sites(x, y, value_of)
    return values
