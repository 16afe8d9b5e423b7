"""NUTS checkpoints: the state of a sampler in a file, to resume an interrupted run.

The file holds the state of every chain, the draws so far, and the specification of the run: its
arguments, its seed, the versions of jax and numpyro, and the data of its density. A run resumes
only from a file with the same specification. Statistics may differ from those in the file by
rounding (the order of summation depends on the processor and the number of threads); those in the
file are then used.
"""

import contextlib
import dataclasses
import functools
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from bayesgen.errors import BayesgenWarning, InvalidFile, warn
from bayesgen.errors.files import damaged_checkpoint, other_run
from bayesgen.persist import InvalidStructure, Json, leftovers, opened, replacing, write_zip
from bayesgen.typing import Traceable

FORMAT = 2
"""Raised when files change."""
GROUPS = ("numbers", "state", "draws")
"""The arrays of a file, as flat lists: of the density, of the sampler, and the draws so far."""
PAUSE, SHARE = 1.0, 0.05
"""Seconds at least from one writing to the next, and share of the time that writing may take."""
ROUNDING = 1e-10
"""Relative difference of statistics that counts as rounding."""
DENSITY_ROUNDING = 1e-8
"""Difference of log densities, relative to them and to 1, that counts as rounding."""

Arrays = Sequence[np.ndarray]
Tree = object
"""Tuples and dictionaries of arrays."""
Fingerprint = Mapping[str, Json]


@dataclasses.dataclass(frozen=True, eq=False)
class Progress:
    """Progress of the chains.

    steps: taken by each chain, warm-up included. state: of the sampler. draws: trees of arrays of
    the draws so far, (step, chain, ...), piece by piece. seconds: of sampling.
    """

    steps: int
    state: Tree
    draws: tuple[Tree, ...]
    seconds: float


@dataclasses.dataclass(frozen=True, eq=False)
class RunSpec:
    """The specification of a run.

    path: of its file. fingerprint: arguments and versions, by name. numbers: of its density, a
    tree.
    """

    path: str
    fingerprint: Fingerprint
    seed: int
    numbers: Mapping


class CheckpointWriter:
    """Writes the progress of one run to its file, at intervals that keep the cost low."""

    def __init__(self, run: RunSpec) -> None:
        self.run, self.numbers = run, flat(run.numbers)
        self._written, self._failed, self._cost = -1, False, 0.0
        self._last = time.perf_counter()
        for file in leftovers(run.path):
            with contextlib.suppress(OSError):
                file.unlink()

    def due(self) -> bool:
        """Return whether the next write is due."""
        return time.perf_counter() - self._last >= max(PAUSE, self._cost / SHARE)

    def write(self, progress: Progress) -> bool:
        """Write progress to the file and return whether that succeeded; warn once on failure."""
        if self._written == progress.steps:
            return True
        began = time.perf_counter()
        try:
            with replacing(self.run.path) as temporary:
                write_zip(temporary, self._text(progress), self._arrays(progress))
            self._written = progress.steps
        except InvalidFile as error:
            if not self._failed:
                reason = str(error.__cause__ or error)
                warn(
                    BayesgenWarning(
                        "cannot write checkpoint={path:path}: {reason}.",
                        "Sampling continues, but if it is stopped it must start again. Free some "
                        "space, or choose another path.",
                        path=self.run.path,
                        reason=reason,
                    )
                )
            self._failed = True
        self._last = time.perf_counter()
        self._cost = self._last - began
        return self._written == progress.steps

    def _text(self, progress: Progress) -> Json:
        return {
            "checkpoint": FORMAT,
            "steps": progress.steps,
            "seconds": progress.seconds,
            "form": form(progress.state),
            "fingerprint": dict(self.run.fingerprint),
            "seed": self.run.seed,
        }

    def _arrays(self, progress: Progress) -> dict[str, np.ndarray]:
        pieces = zip(*map(flat, progress.draws), strict=True)
        draws = [np.concatenate(parts) for parts in pieces]
        found = (self.numbers, flat(progress.state), draws)
        pairs = zip(GROUPS, found, strict=True)
        return {f"{group}/{i}": part for group, parts in pairs for i, part in enumerate(parts)}


@dataclasses.dataclass(frozen=True, eq=False)
class Checkpoint:
    """The contents of a file, arrays as flat lists (see `Progress` and `RunSpec`).

    form: the structure of the state.
    """

    path: str
    steps: int
    seconds: float
    form: str
    fingerprint: Fingerprint
    seed: int
    numbers: Arrays
    state: Arrays
    draws: Arrays

    def __post_init__(self) -> None:
        """Reject contents that a sampler does not write."""
        for name, kinds in (("steps", int), ("seed", int), ("seconds", float | int)):
            if not isinstance(getattr(self, name), kinds) or getattr(self, name) < 0:
                raise InvalidStructure(f"{name} is {getattr(self, name)!r}")
        if not isinstance(self.fingerprint, Mapping) or not isinstance(self.form, str):
            raise InvalidStructure("it does not say what was asked for")

    def require(self, run: RunSpec) -> None:
        """Raise unless the run in the file has the same specification.

        Raises:
            InvalidFile: naming the differences.
        """
        for name, here in run.fingerprint.items():
            there = self.fingerprint.get(name)
            if there != here:
                raise InvalidFile(
                    "checkpoint={path:path} belongs to another run: {name} is {there!r} there "
                    "and {here!r} here.",
                    "Choose another path for this run, or delete the file to start again; to "
                    "resume it, pass the same arguments.",
                    path=self.path,
                    name=name,
                    there=there,
                    here=here,
                )
        if self.seed != run.seed:
            raise InvalidFile(
                "checkpoint={path:path} belongs to another run: its seed is {there} there and "
                "{here} here.",
                "To resume it, pass the random_state of that run, or random_state=None, which "
                "takes the seed from the file. Choose another path for this run, or delete the "
                "file to start again.",
                path=self.path,
                there=self.seed,
                here=run.seed,
            )
        here, stated = flat(run.numbers), _stated(run.numbers)
        if [kind(array) for array in here] != [kind(array) for array in self.numbers]:
            raise other_run(self.path, "data or its prior guesses differ from those")
        for ours, theirs, counts in zip(here, self.numbers, stated, strict=True):
            if counts and not np.allclose(ours, theirs, ROUNDING, 0.0, equal_nan=True):
                raise other_run(self.path, "data or its prior guesses differ from those")

    def like(self, numbers: Mapping) -> Tree:
        """Return the numbers of the density in the file, as a tree like those of this run."""
        return like(numbers, self.numbers)

    def progress(self, template: Tree, draw: Tree) -> Progress:
        """Return the progress of the chains, as trees like those of this run.

        Args:
            template: the state of a run, by shapes.
            draw: draws of one piece, by shapes.

        Raises:
            InvalidFile: the model in the file has other parameters.
        """
        kinds = [kind(array) for array in self.state]
        apart = [list(array.shape[1:]) for array in self.draws]
        if (
            self.form != form(template)
            or kinds != shapes(template)
            or (apart and apart != [shape[1:] for _, shape in shapes(draw)])
        ):
            raise other_run(self.path, "model differs from that")
        draws = (like(draw, self.draws),) if self.draws else ()
        return Progress(self.steps, like(template, self.state, traced=True), draws, self.seconds)


def read_checkpoint(path: str) -> Checkpoint | None:
    """Return the contents of a checkpoint file, or None if there is no file.

    Raises:
        InvalidFile: the file is damaged or not a checkpoint.
    """
    if not os.path.lexists(path):
        return None
    try:
        with opened(Path(path)) as archive:
            text = archive.tree
            if not isinstance(text, dict) or text.pop("checkpoint", None) != FORMAT:
                raise InvalidStructure("it has no format that bayesgen knows")
            # names are "group/number", in the order of writing
            parts = [(name.split("/")[0], archive.array(name)) for name in list(archive.members)]
            arrays = {group: [part for word, part in parts if word == group] for group in GROUPS}
            return Checkpoint(path, **text, **arrays)
    except InvalidFile as error:
        raise damaged_checkpoint(path, "its bytes are not those of one") from error
    # a file from elsewhere may fail to be read in any way
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise damaged_checkpoint(path, reason) from error


def _stated(numbers: Mapping) -> list[bool]:
    """Return a mask of the arrays of a density that are rows, statistics or guesses.

    The others define coordinates and follow from these, for some by an optimizer.
    """
    import jax

    paths = [path for path, _ in jax.tree_util.tree_flatten_with_path(numbers)[0]]
    words = [[str(getattr(entry, "key", "")) for entry in path] for path in paths]
    # of a program: center, width; of a model: class/coordinates/..., blocks/NAME/coordinates/...
    return [
        path[0] not in ("centre", "width")
        and path[1:2] != ["whitening"]
        and not (path[0] == "blocks" and path[2] == "whitening")
        for path in words
    ]


# -- trees of arrays, random keys among them, as flat lists that a file can hold, and back ---------


def flat(tree: Tree) -> Arrays:
    """Return the arrays of a tree on this machine, keys of random numbers as their bits."""
    import jax

    return [np.asarray(leaf) for leaf in jax.device_get(_leaves(tree))]


def form(tree: Tree) -> str:
    """Return the structure of a tree, names included."""
    import jax

    return str(jax.tree.structure(tree))


def like(template: Tree, arrays: Arrays, *, traced: bool = False) -> Tree:
    """Return a tree with the structure of another from the arrays that `flat` returns.

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
    """Return the kinds of the arrays that `flat` would return."""
    return [kind(leaf) for leaf in _leaves(template)]
