"""The types of objects that files may hold, by their names in files."""

import dataclasses
import inspect
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, cast

import numpy as np
from scipy import sparse

from bayesgen.likelihoods.base import Arrays
from bayesgen.persist.container import DTYPES

Parts = Mapping[str, object]
"""The parts of an object by name: what its constructor takes."""


class UnknownType(ValueError):
    """A file names a type that is not allowed."""


class Registry:
    """Dataclasses that files may hold, by name, beside objects of NumPy and SciPy.

    Args:
        roots: kind -> types; these and everything of this library that derives from them and is not
            abstract are called "kind.Name", wherever they live: files outlast modules.
        yours: the types of the user's own, derived from these, that are called "yours.Name"; None:
            all that exist in this process.
    """

    def __init__(
        self, roots: Mapping[str, tuple[type, ...]], yours: Container[type] | None = None
    ) -> None:
        self.names: dict[type, str] = {}
        for kind, cls in ((k, c) for k, types in roots.items() for t in types for c in family(t)):
            ours, derived = is_ours(cls), any(map(is_ours, cls.__mro__))
            if ours and not inspect.isabstract(cls):
                self.names[cls] = f"{kind}.{cls.__name__}"
            elif derived and not ours and (yours is None or cls in yours):
                self.names[cls] = f"yours.{cls.__name__}"
        self.types = {name: cls for cls, name in self.names.items()}

    def apart(self, value: object) -> tuple[str, Parts] | None:
        """Return the name of an object's type and its parts; None: no file may hold it."""
        match value:
            case np.generic():
                name = "text" if value.dtype.kind == "U" else value.dtype.str
                return "numpy.scalar", {"dtype": name, "value": value.item()}
            case np.ndarray():
                return "numpy.objects", {"shape": value.shape, "items": value.ravel().tolist()}
            case np.dtype():
                return "numpy.dtype", {"name": value.str}
            case type() if issubclass(value, np.number):
                return "numpy.type", {"name": np.dtype(value).str}
            case np.random.RandomState():
                return "numpy.RandomState", value.get_state(legacy=False)
            case sparse.csr_array():
                names = ("data", "indices", "indptr", "shape")
                return "scipy.csr_array", {name: getattr(value, name) for name in names}
        if dataclasses.is_dataclass(value) and type(value) in self.names:
            fields = dataclasses.fields(value)
            return self.name_of(type(value)), {f.name: getattr(value, f.name) for f in fields}
        return None

    def name_of(self, cls: type) -> str:
        """Return the name of a type, which from now on stands for this one.

        A cell of a notebook that ran twice leaves two classes of one name.
        """
        name = self.names[cls]
        self.types[name] = cls
        return name

    def together(self, name: str, parts: Parts) -> object:
        """Return an object made by the constructor of its type, which validates.

        The arrays of a likelihood are restored by `with_arrays`, because its constructor accepts
        only the guesses of a user, whereas completed ones may be 0 or NaN in uninformative columns,
        or computed from statistics.

        Raises:
            UnknownType: no file may hold the type.
        """
        if name in NUMERIC:
            return NUMERIC[name](**parts)
        if name not in self.types:
            raise UnknownType(name)
        cls, later = self.types[name], set()
        if issubclass(cls, Arrays):
            later = {
                field.name
                for field in dataclasses.fields(cast(Any, cls))
                if not field.init
                or (field.name in cls.axes and field.default is not dataclasses.MISSING)
            }
        value = cls(**{name: part for name, part in parts.items() if name not in later})
        arrays = {name: part for name, part in parts.items() if name in later}
        return value.with_arrays(arrays) if arrays else value


def family(root: type) -> Iterator[type]:
    """Yield a class and every class that derives from it and exists in this process."""
    yield root
    for cls in root.__subclasses__():
        yield from family(cls)


def is_ours(cls: type) -> bool:
    """Return whether a class is part of this library."""
    return cls.__module__.split(".")[0] == "bayesgen"


def _scalar(dtype: str, value: object) -> np.generic:
    return (np.str_ if dtype == "text" else DTYPES[dtype].type)(value)


def _objects(shape: tuple[int, ...], items: list) -> np.ndarray:
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array.reshape(shape)


def _random_state(**state: Any) -> np.random.RandomState:
    generator = np.random.RandomState(0)
    generator.set_state(state)
    return generator


def _csr_array(shape: tuple[int, int], **parts: np.ndarray) -> sparse.csr_array:
    matrix = sparse.csr_array((parts["data"], parts["indices"], parts["indptr"]), shape=shape)
    matrix.check_format(full_check=True)
    return matrix


NUMERIC: Mapping[str, Callable[..., object]] = {
    "numpy.scalar": _scalar,
    "numpy.objects": _objects,
    "numpy.dtype": lambda name: DTYPES[name],
    "numpy.type": lambda name: DTYPES[name].type,
    "numpy.RandomState": _random_state,
    "scipy.csr_array": _csr_array,
}
"""Constructors of objects of NumPy and SciPy from their parts, by name."""
