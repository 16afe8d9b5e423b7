"""Values as JSON and arrays, and back: one representation for each of a closed set of types.

Strings, integers, finite floats, booleans and None stand for themselves; everything else is a JSON
object with one key, which names its kind: "number", "list", "tuple", "dict", "array" or
"transposed", or "object", which has a type and parts. Floats are read back bit for bit. Any defect
of a file is reported here, in one sentence.
"""

import dataclasses
import math
import os
import re
import zipfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from bayesgen.errors import BayesgenError, Cure, InvalidFile, MissingPackage
from bayesgen.errors.files import unreadable_model, unsavable, unusable_model
from bayesgen.persist.container import DTYPES, Archive, Json, write_zip
from bayesgen.persist.registry import Registry, UnknownType

FORMAT = 1
"""Raised when files change so that an older version could not read them."""

SIMPLE = (bool, int, str, type(None))
"""Types that stand for themselves; their subclasses (enumerations, ...) are something else."""
NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}

Where = tuple[str, ...]


def write_model(path: Path, model: object, registry: Registry, *, n_rows: int = 0) -> None:
    """Write a model to a file.

    Args:
        path: of the file.
        model: an estimator, or anything else of the closed set of types.
        registry: what a file may hold beside numbers, text, arrays and collections.
        n_rows: number of rows of the fit that the model holds, which the file states.

    Raises:
        InvalidFile: a part is not data.
    """
    writer = Writer(registry)
    node = writer.node(model)
    tree = {"format": FORMAT, "version": version("bayesgen"), "rows": n_rows, "model": node}
    write_zip(path, tree, writer.arrays)


def read_model(path: str | os.PathLike, registry: Registry) -> object:
    """Return the model of a file.

    Args:
        path: of the file.
        registry: what a file may hold beside numbers, text, arrays and collections.

    Raises:
        InvalidFile: any defect of the file, in one sentence; nothing in it is executed.
        MissingPackage: the model has a NumPyro distribution, and numpyro is not installed.
    """
    try:
        with zipfile.ZipFile(path) as file:
            archive = Archive(file, Path(path).stat().st_size)
            tree: Any = archive.text()
            if tree["format"] != FORMAT:
                raise InvalidFile(
                    "{path:path} has the format {found!r}; this version of bayesgen reads the "
                    "format {supported}.",
                    "Upgrade: pip install --upgrade bayesgen. If the file is older, save the model "
                    "again.",
                    path=path,
                    found=tree["format"],
                    supported=FORMAT,
                )
            return Reader(registry, archive).value(tree["model"])
    except (InvalidFile, MissingPackage):
        raise
    except OSError as error:
        raise unreadable_model(path, error.strerror or str(error)) from error
    except UnknownType as error:
        raise InvalidFile(
            "{path:path} refers to {name!r}, which this version of bayesgen does not have.",
            Cure(
                "If it is a class of your own, pass it: bg.load(path, classes=[...]).",
                "If it is a class of your own, the model opens in Python alone.",
            ),
            path=path,
            name=error.args[0],
        ) from error
    # a forged file may raise any exception here: report it as an invalid file
    except Exception as error:
        kind = "its text lacks " if isinstance(error, KeyError) else f"{type(error).__name__}: "
        said = "" if isinstance(error, BayesgenError | ValueError) else kind
        reason = f"{said}{error}".splitlines()[0][:200].rstrip(". ")
        raise unusable_model(path, reason) from error


# -- writing ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Writer:
    """One model on its way to a file. arrays: by their name in the file."""

    registry: Registry
    arrays: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)

    def node(self, value: object, where: Where = ()) -> Json:
        """Return a value as JSON; its arrays are collected separately.

        Args:
            value: of the closed set of types.
            where: its path within the model: attributes, keys, positions.

        Raises:
            InvalidFile: a part is not of the closed set.
        """
        if isinstance(value, bool | int | str | None) and type(value) in SIMPLE:
            return value
        if isinstance(value, float) and type(value) is float:
            return value if math.isfinite(value) else {"number": str(value)}
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            items = [self.node(item, (*where, str(i))) for i, item in enumerate(value)]
            return {type(value).__name__: items}
        if isinstance(value, Mapping):
            pairs = value.items()
            return {
                "dict": [[self.node(k, where), self.node(v, (*where, str(k)))] for k, v in pairs]
            }
        dtype = getattr(value, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind not in "OU" and dtype.str not in DTYPES:
            raise unsavable(".".join(where), value)
        if isinstance(value, np.ndarray) and value.dtype.kind != "O":
            return self._array(value, where)
        if (record := self.registry.apart(value)) is None:
            raise unsavable(".".join(where), value)
        name, parts = record
        nodes = {key: self.node(part, (*where, key)) for key, part in parts.items()}
        return {"object": {"type": name, "parts": nodes}}

    def _array(self, value: np.ndarray, where: Where) -> Json:
        """Return the name of an array, and the order of its axes in memory, if it is not usual.

        Products of matrices round by how these lie in memory.
        """
        usual = order = list(range(value.ndim))
        if not value.flags.c_contiguous and all(value.strides):
            order = sorted(order, key=lambda axis: -abs(value.strides[axis]))
        words = (re.sub(r"[^\w+-]", "_", word).strip("_") or "_" for word in where)
        name = "/".join(words) or "_"
        while name in self.arrays:
            name += "_"
        self.arrays[name] = np.asarray(value.transpose(order), order="C")
        return {"array": name} if order == usual else {"transposed": [name, order]}


# -- reading ---------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Reader:
    """One open file."""

    registry: Registry
    archive: Archive

    def value(self, node: Any) -> object:
        """Return the value of a node.

        Raises:
            ValueError, UnknownType, KeyError, TypeError, ...: `Writer` writes no such node.
        """
        if isinstance(node, list):
            raise ValueError("a list stands where a value belongs")
        if not isinstance(node, dict):
            return node
        ((word, content),) = node.items()
        match word:
            case "number":
                return NUMBERS[content]
            case "list":
                return [self.value(item) for item in content]
            case "tuple":
                return tuple(self.value(item) for item in content)
            case "dict":
                return {self.value(key): self.value(item) for key, item in content}
            case "array":
                return self.archive.array(content)
            case "transposed":
                name, order = content
                return self.archive.array(name).transpose(np.argsort(order))
            case "object":
                parts = {key: self.value(part) for key, part in content["parts"].items()}
                return self.registry.together(content["type"], parts)
        raise KeyError(word)
