"""NUTS checkpoints: runs in files, to resume those that were interrupted.

A file holds NumPyro's state of every chain, with its key of random numbers, the draws so far, and
what determines them: arguments, seed, the versions of jax and numpyro, and a digest of the numbers
of the density. A run resumes only from a file of the same run.
"""

import contextlib
import dataclasses
import hashlib
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesgen.errors import InvalidFile
from bayesgen.errors.files import not_resumable
from bayesgen.persist import Registry, leftovers, read_model, replacing, write_model

PAUSE, SHARE = 1.0, 0.05
"""Seconds at least from one writing to the next, and share of the time that writing may take."""

Tree = Any
"""Tuples and dictionaries of arrays; in a file, a tuple of the arrays."""


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """What determines a run, and how far it got.

    settings: arguments, versions, seed and digest of the data, by name. steps: taken by each chain,
    warm-up included. state: NumPyro's, of all chains. draws: those so far, (step, chain, ...),
    piece by piece; a file holds them with the state. seconds: of sampling.
    """

    settings: dict[str, Any]
    steps: int = 0
    state: Tree = None
    draws: tuple[Tree, ...] = ()
    seconds: float = 0.0

    def resumed(self, file: "Run", path: str, shapes: Callable[[], Tree]) -> "Run":
        """Return this run as far as the one in a file got.

        shapes: returns those of the state and of the draws, in pieces, after that many steps;
        traces the model, and is not called for a file of other settings.

        Raises:
            InvalidFile: the file belongs to another run; names the difference.
        """
        import jax
        import jax.numpy as jnp

        for name, value in self.settings.items():
            if (other := file.settings.get(name)) != value:
                raise not_resumable(
                    path, f"its {name} is {other!r}, and that of this call {value!r}"
                )
        leaves, structure = jax.tree.flatten(shapes())
        kinds = [(np.shape(array), np.asarray(array).dtype) for array in file.state]
        if kinds != [(leaf.shape, leaf.dtype) for leaf in leaves]:
            raise not_resumable(path, "its model differs from that of this call")
        state, draws = jax.tree.unflatten(structure, map(jnp.asarray, file.state))
        return dataclasses.replace(file, state=state, draws=draws)


TYPES = Registry({"run": (Run,)})


def digest(numbers: Tree) -> str:
    """Return a fingerprint of arrays and their names: equal ones alone share it."""
    import jax

    sha = hashlib.sha256()
    for name, leaf in jax.tree_util.tree_leaves_with_path(numbers):
        array = np.asarray(leaf)
        sha.update(f"{jax.tree_util.keystr(name)} {array.shape} {array.dtype};".encode())
        sha.update(array.tobytes())
    return sha.hexdigest()[:16]


def read_run(path: str) -> Run | None:
    """Return the run in a file, or None if there is no file.

    Raises:
        InvalidFile: the file is damaged or not a checkpoint.
    """
    if not os.path.lexists(path):
        return None
    with contextlib.suppress(InvalidFile):
        run = read_model(path, TYPES)
        if isinstance(run, Run) and type(run.steps) is int and isinstance(run.state, tuple):
            return run
    raise not_resumable(path, "it is damaged, or not a checkpoint")


class RunFile:
    """The file of a run, written at intervals that keep the cost low."""

    def __init__(self, path: str) -> None:
        self.path, self._last, self._cost = path, time.perf_counter(), 0.0
        for file in leftovers(path):
            with contextlib.suppress(OSError):
                file.unlink()

    def due(self) -> bool:
        """Return whether the next write is due."""
        return time.perf_counter() - self._last >= max(PAUSE, self._cost / SHARE)

    def write(self, run: Run) -> None:
        """Write a run to the file.

        Raises:
            InvalidFile: the operating system refuses.
        """
        import jax

        began = time.perf_counter()
        # the draws so far as one piece; none during the warm-up
        draws = run.draws and (jax.tree.map(lambda *pieces: np.concatenate(pieces), *run.draws),)
        arrays = tuple(jax.device_get(jax.tree.leaves((run.state, draws))))
        with replacing(self.path) as temporary:
            write_model(temporary, dataclasses.replace(run, state=arrays, draws=()), TYPES)
        self._last = time.perf_counter()
        self._cost = self._last - began
