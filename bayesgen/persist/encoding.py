"""Encoding of objects as JSON and arrays: a closed set of types, one representation for each.

Strings, integers, finite floats, booleans and None are written as they are; everything else is a
JSON object with one key, which names its type. Floats are read back bit for bit.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from bayesgen.errors import InvalidFile
from bayesgen.errors.files import unsavable
from bayesgen.persist.container import KINDS, Json, write_zip
from bayesgen.persist.registry import (
    Record,
    Registry,
    distribution_arguments,
    is_distribution,
    is_distribution_class,
)

FORMAT = 1
"""Raised when files change so that an older version could not read them."""

SIMPLE = (bool, int, str, type(None))
"""Types that stand for themselves; their subclasses (enumerations, ...) are something else."""

Where = tuple[str, ...]


def write_model(
    path: Path, model: object, registry: Registry, to_record: Callable[[object], object]
) -> "Encoder":
    """Write a model to a file and return the encoder, which lists the types it encountered.

    Args:
        path: of the file.
        model: an estimator, or anything else that can be encoded.
        registry: types that may be written.
        to_record: turns an estimator into a record, and leaves everything else.

    Raises:
        InvalidFile: a part is not data.
    """
    encoder = Encoder(registry, to_record)
    tree = {"format": FORMAT, "version": version("bayesgen"), "model": encoder.encode(model)}
    write_zip(path, tree, encoder.arrays)
    return encoder


@dataclasses.dataclass(frozen=True, eq=False)
class Encoder:
    """Encoder of one model.

    registry: types that may be written. to_record: turns an estimator into a record and leaves
    everything else. arrays: by their name in the file. yours: types of the user's own that were
    met.
    """

    registry: Registry
    to_record: Callable[[object], object]
    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    yours: set[type] = dataclasses.field(default_factory=set)

    def encode(self, value: object, where: Where = ()) -> Json:
        """Return a value as JSON; its arrays are collected separately.

        Args:
            value: of the closed set of types.
            where: its path within the model: attributes, keys, positions.

        Raises:
            InvalidFile: a part is not of the closed set.
        """
        original, value = value, self.to_record(value)
        if isinstance(value, Record):
            return {"record": self._parts(original, value.name, value.parts, where)}
        if isinstance(value, bool | int | str | None) and type(value) in SIMPLE:
            return value
        if isinstance(value, float) and type(value) is float:
            return value if math.isfinite(value) else {"number": str(value)}
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return {type(value).__name__: self._items(value, where)}
        if isinstance(value, Mapping):
            keys = (self.encode(key, where) for key in value)
            items = (self.encode(item, (*where, str(key))) for key, item in value.items())
            return {"dict": [list(pair) for pair in zip(keys, items, strict=True)]}
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            name = self.registry.name(type(value))
            parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
            return {"object": self._parts(value, name, parts, where)}
        found = self._numeric(value, where)
        if found is None:
            raise unsavable(_shown(where), value)
        return found

    def _numeric(self, value: object, where: Where) -> Json:
        """Return a value of NumPy, SciPy, JAX or NumPyro; None for any other."""
        if isinstance(value, np.generic):
            _require_kind(value.dtype, where)
            return {"scalar": [value.dtype.str, self.encode(value.item(), where)]}
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, sparse.csr_array):
            parts = (value.data, value.indices, value.indptr, value.shape)
            return {"sparse": self._items(parts, where)}
        if type(value).__module__.split(".")[0] in ("jax", "jaxlib") and hasattr(value, "dtype"):
            return self._array(np.asarray(value), where)
        if isinstance(value, np.dtype):
            _require_kind(value, where)
            return {"dtype": value.str}
        if isinstance(value, type) and issubclass(value, np.number):
            return {"number_type": np.dtype(value).str}
        if isinstance(value, np.random.RandomState):
            return {"random_state": self.encode(value.get_state(legacy=False), where)}
        if is_distribution_class(value):
            return {"distribution_class": cast(Any, value).__name__}
        if is_distribution(value) and (given := distribution_arguments(value)) is not None:
            return {"distribution": self._parts(value, type(value).__name__, given, where)}
        return None

    def _items(self, values: tuple | list, where: Where) -> list:
        return [self.encode(value, (*where, str(i))) for i, value in enumerate(values)]

    def _parts(
        self, value: object, name: str | None, parts: Mapping[str, object], where: Where
    ) -> Json:
        """Return an object by the name of its type and its parts."""
        if name is None:
            raise unsavable(_shown(where), value)
        if name.startswith("yours."):
            self.yours.add(type(value))
        nodes = {key: self.encode(part, (*where, key)) for key, part in parts.items()}
        return {"type": name, "parts": nodes}

    def _array(self, value: np.ndarray, where: Where) -> Json:
        if value.dtype.kind == "O":
            items = self._items(value.ravel().tolist(), where)
            return {"objects": {"shape": list(value.shape), "items": items}}
        _require_kind(value.dtype, where)
        order = _memory_order(value)
        name = self._free(where)
        self.arrays[name] = np.asarray(value.transpose(order), order="C")
        return {"array": name} if order == sorted(order) else {"transposed": [name, order]}

    def _free(self, where: Where) -> str:
        """Return a unique name for the array at a path."""
        words = (re.sub(r"[^\w+-]", "_", word).strip("_") or "_" for word in where)
        name = "/".join(words) or "_"
        while name in self.arrays:
            name += "_"
        return name


def _shown(where: Where) -> str:
    """Return the path of a value in the model: attributes, keys, positions."""
    return ".".join(where) or "the model"


def _require_kind(dtype: np.dtype, where: Where) -> None:
    # numbers of 16 bytes differ between machines
    if dtype.kind not in KINDS or (dtype.kind != "U" and dtype.itemsize > 8):
        raise InvalidFile(
            "{where} is an array of {found}; whole and real numbers, booleans and text can be "
            "saved.",
            "Convert it: .astype(float) or .astype(str).",
            where=_shown(where),
            found=dtype,
        )


def _memory_order(value: np.ndarray) -> list[int]:
    """Return the axes from slow to fast: products of matrices round by how these lie in memory."""
    axes = list(range(value.ndim))
    if value.flags.c_contiguous or not all(value.strides):
        return axes
    return sorted(axes, key=lambda axis: -abs(value.strides[axis]))
