"""Values made again from JSON and arrays: the way back of `plain`, which trusts nothing."""

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import numpy as np
from scipy import sparse

from bayesgen.persist.checks import require_kind
from bayesgen.persist.distributions import public, rebuilt
from bayesgen.persist.known import Registry, UnknownClass, declared
from bayesgen.persist.plain import STORED, WIDEST_TEXT
from bayesgen.sealed import InvalidStructure, Json, length
from bayesgen.sealed.container import Fetch

DTYPES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
NUMBERS = {"nan": float("nan"), "inf": float("inf"), "-inf": float("-inf")}


@dataclasses.dataclass(frozen=True, eq=False)
class Decoder:
    """What making one model again needs.

    known: the classes that may be made. fetch: the array at a path, of a type. finish: turns a
    Record into an estimator and leaves everything else.
    """

    known: Registry
    fetch: Fetch
    finish: Callable[[object], object]

    def value(self, node: Json) -> object:
        """Return the value that a node stands for.

        Raises:
            InvalidStructure, UnknownClass, KeyError, TypeError, ...: `plain` writes no such node.
        """
        if not isinstance(node, dict):
            if isinstance(node, list):
                raise InvalidStructure("a list stands where a value belongs")
            return node
        ((word, content),) = node.items()
        return MAKERS[word](self, content)

    def number(self, content: str) -> float:
        """Return NaN or an infinity."""
        return NUMBERS[content]

    def scalar(self, content: dict) -> object:
        """Return a number or a text of NumPy's."""
        return self.values(content)[()]

    def values(self, content: dict) -> np.ndarray:
        """Return an array whose cells stand in the text."""
        items = [self.value(item) for item in content["items"]]
        shape = tuple(length(n) for n in content["shape"])
        if content["dtype"] == "|O":
            array = np.empty(len(items), dtype=object)
            array[:] = items
            return array.reshape(shape)
        if content["dtype"][:2] == "<U":
            longest = max((len(cast(str, item)) for item in items), default=0)
            if int(content["dtype"][2:]) > max(WIDEST_TEXT, longest):
                raise InvalidStructure(f"text of the type {content['dtype']} stands in the file")
            return np.array(items, dtype=content["dtype"]).reshape(shape)
        return np.array(items, dtype=numeric(content["dtype"])).reshape(shape)

    def array(self, content: dict) -> np.ndarray:
        """Return an array of the file, laid out in memory as it was."""
        dtype = numeric(content["dtype"])
        stored = np.dtype(STORED.get(dtype.kind, STORED.get(dtype.str[1:], dtype.str[1:])))
        values = self.fetch(content["at"], stored)
        order = [length(axis) for axis in content["order"]]
        if sorted(order) != list(range(values.ndim)):
            raise InvalidStructure("the axes of an array are not in order")
        return values.astype(dtype, copy=False).transpose(np.argsort(order))

    def sparse(self, content: list) -> sparse.csr_array:
        """Return a matrix of which most cells are 0."""
        *parts, shape = (self.value(item) for item in content)
        made = sparse.csr_array(tuple(parts), shape=shape)
        made.check_format(full_check=True)
        return made

    def sequence(self, content: list) -> list:
        """Return a list."""
        return [self.value(item) for item in content]

    def mapping(self, content: list) -> dict:
        """Return a dictionary in its order."""
        return {self.value(key): self.value(value) for key, value in content}

    def random_state(self, content: dict) -> np.random.RandomState:
        """Return a generator of random numbers that goes on where the saved one stopped."""
        made = np.random.RandomState(0)
        made.set_state(cast(dict, self.value(content)))
        return made

    def distribution(self, content: dict) -> object:
        """Return a distribution of NumPyro."""
        given = {name: self.value(node) for name, node in content["arguments"].items()}
        return rebuilt(content["name"], given)

    def distribution_class(self, content: str) -> object:
        """Return a class of NumPyro's distributions."""
        found = public(content)
        if found is None:
            raise UnknownClass(content)
        return found

    def instance(self, content: dict) -> object:
        """Return an object of a known class; its constructor does not run."""
        name = content["class"]
        if name not in self.known:
            raise UnknownClass(name)
        cls = self.known[name]
        fields = {key: self.value(node) for key, node in content["fields"].items()}
        made = object.__new__(cls)
        for key, value in _filled(cls, fields).items():
            object.__setattr__(made, key, value)
        require_kind(made)
        return self.finish(made)


MAKERS: dict[str, Callable[[Decoder, Any], object]] = {
    "number": Decoder.number,
    "scalar": Decoder.scalar,
    "values": Decoder.values,
    "array": Decoder.array,
    "sparse": Decoder.sparse,
    "list": Decoder.sequence,
    "tuple": lambda making, content: tuple(making.sequence(content)),
    "dict": Decoder.mapping,
    "random_state": Decoder.random_state,
    "number_type": lambda making, content: numeric(content).type,
    "distribution": Decoder.distribution,
    "distribution_class": Decoder.distribution_class,
    "object": Decoder.instance,
}


def numeric(name: str) -> np.dtype:
    """Return a type of numbers by NumPy's short name; no other name is looked up."""
    if not (isinstance(name, str) and len(name) == 3 and name[0] in "<>|"):
        raise InvalidStructure(f"an array is of the type {name!r}")
    if not name[2].isdigit() or int(name[2]) not in DTYPES.get(name[1], ()):
        raise InvalidStructure(f"an array is of the type {name!r}")
    return np.dtype(name)


def _filled(cls: type, found: dict[str, object]) -> dict[str, object]:
    """Return the fields of a class in its order; those that the file is too old for by default."""
    known = declared(cls)
    late = {name: _default(field) for name, field in known.items() if name not in found}
    if dataclasses.MISSING in late.values() or not set(found) <= set(known):
        raise InvalidStructure.fields(cls.__name__, found, known)
    return {name: found[name] if name in found else late[name] for name in known}


def _default(field: dataclasses.Field) -> object:
    make = field.default_factory
    return field.default if make is dataclasses.MISSING else make()
