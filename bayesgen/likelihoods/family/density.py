"""Densities and simulated rows of any NumPyro distribution, by JAX in blocks of few shapes."""

import functools
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.family.declaration import Declaration
from bayesgen.typing import Block, Labels, Params, Traceable

CELLS = 1 << 21
"""Log densities of cells computed at once: 16 MB."""
FEWER, FEWEST = 16, 8
"""Blocks of rows come in few sizes, each a sixteenth of the next and none below 8 rows: as many
programs are compiled, and the last block is filled up."""


def log_density(declaration: Declaration, params: Params) -> Callable[[Block], np.ndarray]:
    """Return x -> log p(x given y = k, params), shape (row, *draws, class).

    Missing cells count as nothing; a cell outside the support makes its row impossible.
    """
    import jax
    import jax.numpy as jnp

    *lead, n_classes, n_features = next(iter(params.values())).shape
    n_draws = int(np.prod(lead))
    parts = -(-n_draws * n_classes * n_features // CELLS)
    size = -(-n_draws // parts)
    whole = (np.arange(parts * size) % n_draws).reshape(parts, size)
    flat = {k: np.asarray(v).reshape(n_draws, n_classes, n_features) for k, v in params.items()}
    with jax.enable_x64(True):
        chunks = [{k: jnp.asarray(v[index]) for k, v in flat.items()} for index in whole]
    most = max(1, CELLS // (size * n_classes * n_features))

    def score(x: Block) -> np.ndarray:
        out = np.empty((len(x), parts * size, n_classes))
        outside, seen = declaration.out_of_support(x), ~np.isnan(x)
        known = np.where(seen & ~outside, x, declaration.typical)
        n = _block_rows(len(x), most)
        run = _compiled(declaration)
        for begin in range(0, len(x), n):
            rows = np.minimum(np.arange(begin, begin + n), len(x) - 1)
            stop = min(begin + n, len(x))
            with jax.enable_x64(True):
                at = jnp.asarray(known[rows]), jnp.asarray(seen[rows])
                for i, chunk in enumerate(chunks):
                    found = np.asarray(run(*at, chunk))[: stop - begin]
                    out[begin:stop, i * size : (i + 1) * size] = found
        out[outside.any(axis=1)] = -np.inf
        return out[:, :n_draws].reshape(len(x), *lead, n_classes)

    return score


def _block_rows(n: int, most: int) -> int:
    size = most
    while size // FEWER >= max(n, FEWEST):
        size //= FEWER
    return size


@functools.lru_cache(maxsize=32)
def _compiled(declaration: Declaration) -> Callable:
    import jax
    import jax.numpy as jnp

    @jax.jit
    def run(x: Traceable, seen: Traceable, params: Params) -> Traceable:
        cells = declaration.build(params).log_prob(x[:, None, None, :])
        # what is beyond the range of numbers is as good as impossible
        cells = jnp.where(jnp.isnan(cells), -jnp.inf, cells)
        return jnp.where(seen[:, None, None, :], cells, 0.0).sum(axis=-1)

    return run


def simulated(
    declaration: Declaration, params: Params, y: Labels, rng: np.random.Generator
) -> Block:
    """Return one simulated row for each label; params of shape (class, feature)."""
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        key = jax.random.key(int(rng.integers(2**31)))
        own = {name: jnp.asarray(value[y]) for name, value in params.items()}
        return np.asarray(_sampler(declaration)(key, own)).astype(float)


@functools.lru_cache(maxsize=32)
def _sampler(declaration: Declaration) -> Callable:
    import jax

    return jax.jit(lambda key, params: declaration.build(params).sample(key))
