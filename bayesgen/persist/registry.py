"""The types of objects that files may hold, by their names in files."""

import dataclasses
import inspect
from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any, cast

from bayesgen.likelihoods.base import Arrays

Parts = Mapping[str, object]
"""The parts of an object by name: what its constructor takes."""


class UnknownType(ValueError):
    """A file names a type that is not allowed."""


Apart = Callable[[object], tuple[str, Parts] | None]
"""Returns the name of an object's type and its parts; None: no file may hold it."""
Together = Callable[[str, Parts], object]
"""Returns the object of a type's name and its parts; raises UnknownType if no file may hold it."""


class Registry:
    """Dataclasses that files may hold, by name.

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

    def type(self, name: str) -> type:
        """Return the type of a name.

        Raises:
            UnknownType: it is not allowed.
        """
        if name not in self.types:
            raise UnknownType(name)
        return self.types[name]

    def apart(self, value: object) -> tuple[str, Parts] | None:
        """Return the name of a dataclass and its fields; None of other objects."""
        if not dataclasses.is_dataclass(value) or type(value) not in self.names:
            return None
        parts = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return self.names[type(value)], parts

    def together(self, name: str, parts: Parts) -> object:
        """Return a dataclass made by its constructor, which validates.

        The arrays of a likelihood are restored by `with_arrays`, because its constructor accepts
        only the guesses of a user, whereas completed ones may be 0 or NaN in uninformative columns,
        or computed from statistics.
        """
        cls, later = self.type(name), set()
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
