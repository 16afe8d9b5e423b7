"""Trees of arrays, random keys among them, as flat lists that a file can hold, and back."""

import functools
from collections.abc import Sequence

import numpy as np

from bayesgen.typing import Traceable

Arrays = Sequence[np.ndarray]
Tree = object
"""Tuples and dictionaries of arrays."""


def joined(pieces: Sequence[Tree]) -> Tree:
    """Return trees of arrays, one after the other along their first axis."""
    import jax

    return jax.tree.map(lambda *parts: np.concatenate(parts), *pieces)


def flat(tree: Tree) -> Arrays:
    """Return the arrays of a tree on this machine, keys of random numbers as their bits."""
    import jax

    return [np.asarray(leaf) for leaf in jax.device_get(_leaves(tree))]


def form(tree: Tree) -> str:
    """Return how a tree is built, its names included."""
    import jax

    return str(jax.tree.structure(tree))


def like(template: Tree, arrays: Arrays, *, traced: bool = False) -> Tree:
    """Return a tree built as another, of arrays as `flat` gives them.

    traced: whether they become arrays of JAX, and bits become keys again where keys were.
    """
    import jax
    import jax.numpy as jnp

    leaves, built = jax.tree.flatten(template)
    found: Sequence[object] = arrays
    if traced:
        found = [
            jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else jnp.asarray(array)
            for leaf, array in zip(leaves, arrays, strict=True)
        ]
    return jax.tree.unflatten(built, found)


def _leaves(tree: Tree) -> list:
    import jax

    shapes = isinstance(next(iter(jax.tree.leaves(tree)), None), jax.ShapeDtypeStruct)
    bits = functools.partial(jax.eval_shape, jax.random.key_data) if shapes else jax.random.key_data
    return [bits(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(tree)]


def _is_key(leaf: Traceable) -> bool:
    import jax

    return jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def kind(array: Traceable) -> list:
    """Return type and shape of an array, in words and numbers."""
    return [np.dtype(array.dtype).str, list(array.shape)]


def shapes(template: Tree) -> list[list]:
    """Return the kinds of the arrays that `flat` would give."""
    return [kind(leaf) for leaf in _leaves(template)]
