"""JSON and arrays back to objects, by their constructors; trusts nothing.

This is the border: whatever is wrong with a file becomes one sentence.
"""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
from scipy import sparse

from bayesgen.errors import BayesgenError, InvalidModelFile
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
        InvalidModelFile: whatever is wrong with the file, in one sentence; nothing in it was run.
    """
    path = Path(path)
    try:
        with opened(path) as archive:
            return Decoder(archive, registry, from_record).decode(_model(path, archive.tree))
    except InvalidModelFile:
        raise
    except UnknownType as error:
        raise InvalidModelFile.unknown_class(path, error.args[0]) from error
    except (BayesgenError, InvalidStructure) as error:
        raise InvalidModelFile.does_not_fit(path, str(error).rstrip(".")) from error
    # a forged file may break anything that reads it, in any way: that is the file's fault
    except Exception as error:
        kind = "its text lacks" if isinstance(error, KeyError) else f"{type(error).__name__}:"
        reason = f"{kind} {error}".splitlines()[0][:200].rstrip(". ")
        raise InvalidModelFile.does_not_fit(path, reason) from error


def _model(path: Path, tree: Json) -> Json:
    if not isinstance(tree, dict):
        raise InvalidStructure("it does not say what it holds")
    found = tree.get("format")
    if type(found) is not int or found < 1:
        raise InvalidStructure("it has no format that bayesgen knows")
    if found > FORMAT:
        raise InvalidModelFile.newer(path, found, FORMAT)
    return tree["model"]


@dataclasses.dataclass(frozen=True, eq=False)
class Decoder:
    """Puts one model together.

    archive: the open file. registry: types that may be made. from_record: puts an estimator
    together.
    """

    archive: Archive
    registry: Registry
    from_record: Callable[[Record], object]

    def decode(self, node: Json) -> object:
        """Return the value that a node stands for.

        Raises:
            InvalidStructure, UnknownType, KeyError, TypeError, ...: `Encoder` writes no such node.
        """
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise InvalidStructure("a list stands where a value belongs")
            return node
        ((word, content),) = node.items()
        return DECODERS[word](self, content)

    def scalar(self, content: list) -> object:
        """Return a number or a text of NumPy's."""
        name, item = content
        value = self.decode(item)
        return np.str_(value) if name[1] == "U" else np.array(value, dtype=numeric(name))[()]

    def objects(self, content: dict) -> np.ndarray:
        """Return an array of objects."""
        items = self.sequence(content["items"])
        array = np.empty(len(items), dtype=object)
        array[:] = items
        return array.reshape(content["shape"])

    def transposed(self, content: list) -> np.ndarray:
        """Return an array that lies in memory as it did."""
        name, order = content
        return self.archive.array(name).transpose(np.argsort(order))

    def sparse(self, content: list) -> sparse.csr_array:
        """Return a matrix of which most cells are 0."""
        *parts, shape = (self.decode(item) for item in content)
        made = sparse.csr_array(tuple(parts), shape=shape)
        made.check_format(full_check=True)
        return made

    def sequence(self, content: list) -> list:
        """Return a list."""
        return [self.decode(item) for item in content]

    def mapping(self, content: list) -> dict:
        """Return a dictionary in its order."""
        return {self.decode(key): self.decode(value) for key, value in content}

    def parts(self, content: dict) -> dict[str, object]:
        """Return the parts of an object by name."""
        return {name: self.decode(node) for name, node in content["parts"].items()}

    def random_state(self, content: dict) -> np.random.RandomState:
        """Return a generator of random numbers that goes on where the saved one stopped."""
        made = np.random.RandomState(0)
        made.set_state(cast(dict, self.decode(content)))
        return made

    def distribution_class(self, content: str) -> object:
        """Return a class of NumPyro's distributions."""
        found = public_class(content)
        if found is None:
            raise UnknownType(content)
        return found

    def instance(self, content: dict) -> object:
        """Return an object of a known type."""
        return rebuild(self.registry.type(content["type"]), self.parts(content))


DECODERS: dict[str, Callable[[Decoder, Any], object]] = {
    "number": lambda decoder, content: NUMBERS[content],
    "scalar": Decoder.scalar,
    "objects": Decoder.objects,
    "array": lambda decoder, content: decoder.archive.array(content),
    "transposed": Decoder.transposed,
    "sparse": Decoder.sparse,
    "list": Decoder.sequence,
    "tuple": lambda decoder, content: tuple(decoder.sequence(content)),
    "dict": Decoder.mapping,
    "random_state": Decoder.random_state,
    "dtype": lambda decoder, content: numeric(content),
    "number_type": lambda decoder, content: numeric(content).type,
    "distribution": lambda decoder, content: distribution(content["type"], decoder.parts(content)),
    "distribution_class": Decoder.distribution_class,
    "object": Decoder.instance,
    "record": lambda decoder, content: decoder.from_record(
        Record(content["type"], decoder.parts(content))
    ),
}


def rebuild(cls: type, parts: dict[str, object]) -> object:
    """Return an object of a class, made by its constructor, which validates.

    The arrays of a likelihood follow by `with_arrays`: its constructor takes the guesses of a user,
    and they are what these guesses became (0 or NaN in uninformative columns, statistics of a
    covariance that was not stated).
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
