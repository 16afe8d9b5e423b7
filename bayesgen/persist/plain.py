"""Values as JSON and arrays, and back: a closed set of types, each with one way to be written.

Text, whole numbers, finite floats, booleans and None are themselves; everything else is an object
with one key that names what it is. Floats are written so that they read back bit for bit.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping

import numpy as np
from scipy import sparse

from bayesgen.errors import UnsavableModel
from bayesgen.inference import Draws
from bayesgen.likelihoods.axes_dataclass import Arrays
from bayesgen.persist.distributions import arguments, is_distribution, is_distribution_class
from bayesgen.persist.known import Registry, declared, name_of
from bayesgen.sealed import Json, Stored

Where = tuple[str, ...]

SIMPLE = (bool, int, str, type(None))
"""What stands for itself; their subclasses (enumerations, ...) are something else."""

STORED = {"b": "u1", "f2": "f4"}
"""NumPy's types that netCDF lacks, and those that hold them."""

MANY, FEW_CELLS = "members", 1000
"""Of the many priors that one family is averaged over, arrays up to this size stand in the text:
as variables of their own, which take 5 ms each (measured), a thousand of them take seconds."""

WIDEST_TEXT = 64
"""Text arrays keep their width up to this many characters, else that of their longest text: a file
could otherwise ask for any amount of memory in a few bytes."""


@dataclasses.dataclass(frozen=True, eq=False)
class Encoder:
    """What taking one model apart collects.

    known: the classes that may be written. convert: turns an estimator into a Record and leaves
    everything else. arrays: by "group/name" in the file. words: the axes of arrays to come.
    yours: classes of the user's own that were met.
    """

    known: Registry
    convert: Callable[[object], object]
    arrays: dict[str, Stored] = dataclasses.field(default_factory=dict)
    words: dict[Where, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    yours: dict[str, type] = dataclasses.field(default_factory=dict)

    def plain(self, value: object, where: Where) -> Json:
        """Return a value as JSON; its arrays are put aside.

        Raises:
            UnsavableModel: a part is not of the closed set.
        """
        value = self.convert(value)
        if isinstance(value, np.generic):
            return {"scalar": self._whole(np.asarray(value), where)}
        if isinstance(value, bool | int | str | None) and type(value) in SIMPLE:
            return value
        if isinstance(value, float) and type(value) is float:
            return value if math.isfinite(value) else {"number": str(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, sparse.csr_array):
            parts = (value.data, value.indices, value.indptr, value.shape)
            return {"sparse": self._items(parts, where)}
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return {type(value).__name__: self._items(value, where)}
        if isinstance(value, Mapping):
            keys = (self.plain(key, where) for key in value)
            items = (self.plain(item, (*where, str(key))) for key, item in value.items())
            return {"dict": [list(pair) for pair in zip(keys, items, strict=True)]}
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.plain(value.get_state(legacy=False), where)}
        if type(value).__module__.split(".")[0] in ("jax", "jaxlib") and hasattr(value, "dtype"):
            return self._array(np.asarray(value), where)
        if isinstance(value, type) and issubclass(value, np.number):
            return {"number_type": np.dtype(value).str}
        if is_distribution(value):
            return {"distribution": self._distribution(value, where)}
        if is_distribution_class(value):
            return {"distribution_class": getattr(value, "__name__", "")}
        return self._object(value, where)

    def _distribution(self, value: object, where: Where) -> Json:
        found = arguments(value)
        if found is None:
            raise UnsavableModel.value(shown_path(where), value)
        parts = {name: self.plain(part, (*where, name)) for name, part in found.items()}
        return {"name": type(value).__name__, "arguments": parts}

    def _items(self, values: tuple | list, where: Where) -> list:
        return [self.plain(value, (*where, str(i))) for i, value in enumerate(values)]

    def _object(self, value: object, where: Where) -> Json:
        name = name_of(value, self.known)
        if name is None:
            raise UnsavableModel.value(shown_path(where), value)
        if name not in self.known:
            self.yours[name] = type(value)
        self.words.update(_words(value, where))
        names = declared(type(value))
        fields = {n: self.plain(getattr(value, n), (*where, n)) for n in names}
        return {"object": {"class": name, "fields": fields}}

    def _array(self, value: np.ndarray, where: Where) -> Json:
        if value.dtype.kind in "UO" or not value.size:
            return {"values": self._whole(value, where)}
        stored = STORED.get(value.dtype.kind, STORED.get(value.dtype.str[1:], value.dtype.str[1:]))
        if stored[0] not in "iuf" or np.dtype(stored).itemsize > 8:
            raise UnsavableModel.dtype(shown_path(where), value.dtype)
        order = _memory_order(value)
        if MANY in where and value.size <= FEW_CELLS and order == tuple(range(value.ndim)):
            return {"values": self._whole(value, where)}
        words = self.words.get(where, ())
        if len(words) != value.ndim:
            words = tuple(f"axis_{i}" for i in range(value.ndim))
        values = np.array(value.transpose(order), dtype=stored, order="C")
        at = self._free(where)
        self.arrays[at] = Stored(tuple(words[i] for i in order), values)
        return {"array": {"at": at, "dtype": value.dtype.str, "order": list(order)}}

    def _free(self, where: Where) -> str:
        """Return a name for the array at a path: words that netCDF takes, and no other's."""
        # a fit's own attributes are the groups of the file
        words = where[2:] if where[1:2] == ("fitted",) and len(where) > 2 else where[1:]
        group, *rest = [re.sub(r"[^\w+-]", "_", word).strip("_") or "_" for word in words]
        at = f"{group}/{'.'.join(rest) or group}"
        while at in self.arrays:
            at += "_"
        return at

    def _whole(self, value: np.ndarray, where: Where) -> Json:
        """Return an array inside the JSON text: text, objects, and what has no cells."""
        kind, width = value.dtype.kind, value.dtype.itemsize
        if kind not in "biufUO" or (kind == "f" and width > 8):
            raise UnsavableModel.dtype(shown_path(where), value.dtype)
        items = value.ravel().tolist()
        dtype = value.dtype.str
        if kind == "U" and width > 4 * WIDEST_TEXT:
            dtype = f"<U{max(map(len, items), default=1)}"
        return {"dtype": dtype, "shape": list(value.shape), "items": self._items(items, where)}


def shown_path(where: Where) -> str:
    """Return where a value stands, as a person would look for it."""
    return ".".join(where[1:]) or where[0]


def _memory_order(value: np.ndarray) -> tuple[int, ...]:
    """Return the axes from slow to fast: products of matrices round by how these lie in memory."""
    axes = range(value.ndim)
    if value.flags.c_contiguous or not all(value.strides):
        return tuple(axes)
    return tuple(sorted(axes, key=lambda axis: -abs(value.strides[axis])))


def _words(owner: object, where: Where) -> dict[Where, tuple[str, ...]]:
    """Return the words of the axes of an object's arrays, by where these will be found."""
    if isinstance(owner, Arrays):
        return {(*where, name): tuple(axes) for name, axes in owner.axes.items()}
    if not isinstance(owner, Draws):
        return {}
    draw = ("chain", "draw")
    known: dict[Where, tuple[str, ...]] = {}
    known[(*where, "params", "class", "probs")] = (*draw, "class")
    for name in owner.sample_stats:
        known[(*where, "sample_stats", name)] = draw
    for block, family in owner.families.items():
        for name, axes in family.param_axes.items():
            known[(*where, "params", block, name)] = (*draw, *axes)
    return known
