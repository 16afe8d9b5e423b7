"""Decoding: rebuild objects from untrusted JSON and arrays by their constructors.

Any defect of a file is reported here, in one sentence.
"""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from bayesgen.errors import BayesgenError, Cure, InvalidFile
from bayesgen.errors.files import unusable_model
from bayesgen.likelihoods.base import Arrays
from bayesgen.persist.container import Archive, InvalidStructure, Json, opened
from bayesgen.persist.encoding import FORMAT
from bayesgen.persist.registry import Record, Registry, UnknownType, distribution, public_class

DTYPES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


def read_model(
    path: str | os.PathLike, registry: Registry, from_record: Callable[[Record], object]
) -> object:
    """Return the model of a file.

    Args:
        path: of the file.
        registry: types that may be made.
        from_record: puts an estimator together.

    Raises:
        InvalidFile: any defect of the file, in one sentence; nothing in it is executed.
    """
    path = Path(path)
    try:
        with opened(path) as archive:
            return Decoder(archive, registry, from_record).decode(_model(path, archive.tree))
    except InvalidFile:
        raise
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
    except (BayesgenError, InvalidStructure) as error:
        raise unusable_model(path, str(error).rstrip(".")) from error
    # a forged file may raise any exception here: report it as an invalid file
    except Exception as error:
        kind = "its text lacks" if isinstance(error, KeyError) else f"{type(error).__name__}:"
        reason = f"{kind} {error}".splitlines()[0][:200].rstrip(". ")
        raise unusable_model(path, reason) from error


def _model(path: Path, tree: Json) -> Json:
    if not isinstance(tree, dict):
        raise InvalidStructure("it does not say what it holds")
    found = tree.get("format")
    if type(found) is not int or found < 1:
        raise InvalidStructure("it has no format that bayesgen knows")
    if found > FORMAT:
        raise InvalidFile(
            "{path:path} has the format {found!r}; this version of bayesgen reads formats up "
            "to {supported}.",
            "Upgrade: pip install --upgrade bayesgen.",
            path=path,
            found=found,
            supported=FORMAT,
        )
    return tree["model"]


@dataclasses.dataclass(frozen=True, eq=False)
class Decoder:
    """Decoder of one model file.

    archive: the open file. registry: types that may be made. from_record: puts an estimator
    together.
    """

    archive: Archive
    registry: Registry
    from_record: Callable[[Record], object]

    def decode(self, node: Json) -> object:
        """Return the value encoded by a node.

        Raises:
            InvalidStructure, UnknownType, KeyError, TypeError, ...: `Encoder` writes no such node.
        """
        if isinstance(node, list):
            raise InvalidStructure("a list stands where a value belongs")
        if not isinstance(node, dict):
            return node
        ((word, content),) = node.items()
        return self._value(word, content)

    def _value(self, word: str, content: Any) -> object:
        """Return the value of a node by its type name, see `Encoder`."""
        match word:
            case "number":
                return NUMBERS[content]
            case "list":
                return self._items(content)
            case "tuple":
                return tuple(self._items(content))
            case "dict":
                return {self.decode(key): self.decode(value) for key, value in content}
            case "object":
                return rebuild(self.registry.type(content["type"]), self._parts(content))
            case "record":
                return self.from_record(Record(content["type"], self._parts(content)))
            case "distribution":
                return distribution(content["type"], self._parts(content))
            case "distribution_class":
                if (cls := public_class(content)) is None:
                    raise UnknownType(content)
                return cls
        return self._numeric(word, content)

    def _numeric(self, word: str, content: Any) -> object:
        """Return a value of NumPy or SciPy."""
        match word:
            case "scalar":
                name, item = content
                value = self.decode(item)
                text = name[1] == "U"
                return np.str_(value) if text else np.array(value, dtype=numeric(name))[()]
            case "array":
                return self.archive.array(content)
            case "transposed":
                # restore the memory order of the array
                name, order = content
                return self.archive.array(name).transpose(np.argsort(order))
            case "objects":
                items = self._items(content["items"])
                array = np.empty(len(items), dtype=object)
                array[:] = items
                return array.reshape(content["shape"])
            case "sparse":
                *parts, shape = self._items(content)
                matrix = sparse.csr_array(tuple(parts), shape=shape)
                matrix.check_format(full_check=True)
                return matrix
            case "dtype":
                return numeric(content)
            case "number_type":
                return numeric(content).type
            case "random_state":
                generator = np.random.RandomState(0)
                generator.set_state(cast(dict, self.decode(content)))
                return generator
        raise KeyError(word)

    def _items(self, content: list) -> list:
        return [self.decode(item) for item in content]

    def _parts(self, content: dict) -> dict[str, object]:
        return {name: self.decode(node) for name, node in content["parts"].items()}


def rebuild(cls: type, parts: dict[str, object]) -> object:
    """Return an object of a class, made by its constructor, which validates.

    The arrays of a likelihood are restored by `with_arrays`, because its constructor accepts only
    the guesses of a user, whereas completed ones may be 0 or NaN in uninformative columns, or
    computed from statistics.
    """
    later = {}
    if issubclass(cls, Arrays):
        late = {
            field.name
            for field in dataclasses.fields(cast(Any, cls))
            if not field.init
            or (field.name in cls.axes and field.default is not dataclasses.MISSING)
        }
        later = {name: parts.pop(name) for name in list(parts) if name in late}
    made = cls(**parts)
    return made.with_arrays(later) if later else made


def numeric(name: str) -> np.dtype:
    """Return a type of numbers by NumPy's short name; no other name is looked up."""
    if not (isinstance(name, str) and len(name) == 3 and name[0] in "<>|"):
        raise InvalidStructure(f"a number is of the type {name!r}")
    if not name[2].isdigit() or int(name[2]) not in DTYPES.get(name[1], ()):
        raise InvalidStructure(f"a number is of the type {name!r}")
    return np.dtype(name)
