"""NUTS checkpoints: runs in files, to resume those that were interrupted.

A file holds NumPyro's state of every chain, with its key of random numbers, the draws so far, and
what determines them: arguments, seed, the versions of jax and numpyro, and the numbers of the
density. A run resumes only from a file of the same run. Statistics may differ from those in the
file by rounding (the order of summation depends on the processor and the number of threads); those
in the file are then used.
"""

import contextlib
import dataclasses
import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bayesgen.errors import BayesgenWarning, InvalidFile, warn
from bayesgen.errors.files import damaged_checkpoint, other_run
from bayesgen.persist import Registry, leftovers, read_model, replacing, write_model

PAUSE, SHARE = 1.0, 0.05
"""Seconds at least from one writing to the next, and share of the time that writing may take."""
ROUNDING = 1e-10
"""Relative difference of statistics that counts as rounding."""

Tree = Any
"""Tuples and dictionaries of arrays; in a file, a dictionary of the arrays by their paths."""


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """What determines a run, and how far it got.

    settings: arguments and versions, by name. seed: of the chains. numbers: of the density. steps:
    taken by each chain, warm-up included. state: NumPyro's, of all chains. draws: those so far,
    (step, chain, ...), piece by piece. seconds: of sampling.
    """

    settings: dict[str, Any]
    seed: int
    numbers: Tree
    steps: int = 0
    state: Tree = None
    draws: tuple[Tree, ...] = ()
    seconds: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no sampler counts."""
        counted = isinstance(self.steps, int) and min(self.steps, self.seed, self.seconds) >= 0
        if not counted or bool(self.draws) != (self.steps > self.settings["warmup"]):
            raise ValueError(f"{self.steps!r} steps by seed {self.seed!r}")

    def resumed(self, file: "Run", path: str, shapes: Callable[[], tuple[Tree, Tree]]) -> "Run":
        """Return this run as far as the one in a file got, with the numbers in the file.

        shapes: returns those of the state and the draws of that many steps; traces the model, and
        is not called for a file of other arguments or data.

        Raises:
            InvalidFile: the file belongs to another run; names the differences.
        """
        for name, here in self.settings.items():
            if (there := file.settings.get(name)) != here:
                raise InvalidFile(
                    "checkpoint={path:path} belongs to another run: {name} is {there!r} there "
                    "and {here!r} here.",
                    "Choose another path for this run, or delete the file to start again; to "
                    "resume it, pass the same arguments.",
                    path=path,
                    name=name,
                    there=there,
                    here=here,
                )
        if self.seed != file.seed:
            raise InvalidFile(
                "checkpoint={path:path} belongs to another run: its seed is {there} there and "
                "{here} here.",
                "To resume it, pass the random_state of that run, or random_state=None, which "
                "takes the seed from the file. Choose another path for this run, or delete the "
                "file to start again.",
                path=path,
                there=file.seed,
                here=self.seed,
            )
        numbers = _like(self.numbers, file.numbers)
        if numbers is None or not _agree(self.numbers, numbers):
            raise other_run(path, "data or its prior guesses differ from those")
        state, draws = shapes()
        reached = _like(state, file.state)
        pieces = tuple(_like(draws, piece) for piece in file.draws)
        if reached is None or None in pieces:
            raise other_run(path, "model differs from that")
        return dataclasses.replace(file, numbers=numbers, state=reached, draws=pieces)


TYPES = Registry({"run": (Run,)})


def read_run(path: str) -> Run | None:
    """Return the run in a file, or None if there is no file.

    Raises:
        InvalidFile: the file is damaged or not a checkpoint.
    """
    if not os.path.lexists(path):
        return None
    try:
        file = read_model(path, TYPES)
    except InvalidFile as error:
        raise damaged_checkpoint(path, "its bytes are not those of one") from error
    if isinstance(file, Run):
        parts = (file.settings, file.numbers, file.state, *file.draws)
        if all(isinstance(part, dict) for part in parts):
            return file
    raise damaged_checkpoint(path, "it holds no run")


class RunFile:
    """The file of a run, written at intervals that keep the cost low."""

    def __init__(self, path: str) -> None:
        self.path, self._written, self._warned = path, -1, False
        self._last, self._cost = time.perf_counter(), 0.0
        for file in leftovers(path):
            with contextlib.suppress(OSError):
                file.unlink()

    def due(self) -> bool:
        """Return whether the next write is due."""
        return time.perf_counter() - self._last >= max(PAUSE, self._cost / SHARE)

    def write(self, run: Run) -> bool:
        """Write a run to the file and return whether that succeeded; warn once on failure."""
        import jax

        if self._written == run.steps:
            return True
        began = time.perf_counter()
        # the draws so far as one piece; none during the warm-up
        draws = run.draws and (jax.tree.map(lambda *pieces: np.concatenate(pieces), *run.draws),)
        numbers, state = jax.device_get((_named(run.numbers), _named(run.state)))
        named = {"numbers": numbers, "state": state, "draws": tuple(map(_named, draws))}
        try:
            with replacing(self.path) as temporary:
                write_model(temporary, dataclasses.replace(run, **named), TYPES)
            self._written = run.steps
        except InvalidFile as error:
            if not self._warned:
                warn(
                    BayesgenWarning(
                        "cannot write checkpoint={path:path}: {reason}.",
                        "Sampling continues, but if it is stopped it must start again. Free some "
                        "space, or choose another path.",
                        path=self.path,
                        reason=str(error.__cause__ or error),
                    )
                )
            self._warned = True
        self._last = time.perf_counter()
        self._cost = self._last - began
        return self._written == run.steps


# -- trees of arrays, and the arrays by their paths ------------------------------------------------


def _named(tree: Tree) -> dict:
    """Return the arrays of a tree, or their shapes, by their paths."""
    import jax

    return {
        jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(tree)
    }


def _like(template: Tree, arrays: dict) -> Tree | None:
    """Return the tree of arrays of a file; None where it is not like a template of shapes."""
    import jax
    import jax.numpy as jnp

    shapes = {name: (leaf.shape, leaf.dtype) for name, leaf in _named(template).items()}
    if shapes != {name: (np.shape(a), np.asarray(a).dtype) for name, a in arrays.items()}:
        return None
    leaves = [jnp.asarray(arrays[name]) for name in shapes]
    return jax.tree.unflatten(jax.tree.structure(template), leaves)


def _agree(numbers: Tree, others: Tree) -> bool:
    """Return whether rows, statistics and guesses are the same up to rounding.

    The other numbers define coordinates and follow from these, for some by an optimizer: center and
    width of a program, `whitening` of the classes and of each block of a model.
    """
    import jax

    pairs = zip(*map(jax.tree_util.tree_leaves_with_path, (numbers, others)), strict=True)
    for (path, here), (_, there) in pairs:
        owner, *words = (getattr(entry, "key", "") for entry in path)
        follows = owner in ("centre", "width") or words[owner != "class" :][:1] == ["whitening"]
        if not follows and not np.allclose(here, there, ROUNDING, 0.0, equal_nan=True):
            return False
    return True
