"""Registry of the types that may be rebuilt from a file, by their names in files."""

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Mapping

ABSENT = object()
OURS = "bayesgen"


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """Type name and parts of an object that a higher layer encodes and decodes.

    Estimators are records, as is a user program, by its import path.
    """

    name: str
    parts: dict[str, object]


class UnknownType(ValueError):
    """A file names a type that is not in the registry."""


class Registry:
    """Types that may be rebuilt, by name; a user's own are called "yours.Name".

    Args:
        roots: kind -> types; these and everything of this library that derives from them and is not
            abstract are called "kind.Name", wherever they live: files outlast modules.
        yours: types of the user's own that may be rebuilt too.
    """

    def __init__(self, roots: Mapping[str, Iterable[type]], yours: Iterable[type] = ()) -> None:
        self._roots = {kind: tuple(types) for kind, types in roots.items()}
        self._types = {f"yours.{cls.__name__}": cls for cls in yours}
        for kind, types in self._roots.items():
            for cls in (cls for root in types for cls in (root, *descendants(root))):
                if is_ours(cls) and not inspect.isabstract(cls):
                    self._types[f"{kind}.{cls.__name__}"] = cls
        self._names = {cls: name for name, cls in self._types.items()}

    def name(self, cls: type) -> str | None:
        """Return the name of a type in files, or None.

        A type of a user's own has one if it derives from a root.
        """
        derived = any(issubclass(cls, types) for types in self._roots.values())
        return self._names.get(cls, f"yours.{cls.__name__}" if derived else None)

    def type(self, name: str) -> type:
        """Return the type of a name.

        Raises:
            UnknownType: it is not in the registry.
        """
        if name not in self._types:
            raise UnknownType(name)
        return self._types[name]


def descendants(root: type) -> Iterator[type]:
    """Yield every class that derives from another and exists in this process."""
    for cls in root.__subclasses__():
        yield cls
        yield from descendants(cls)


def is_ours(cls: type) -> bool:
    """Return whether a class is part of this library."""
    return cls.__module__.split(".")[0] == OURS


# -- NumPyro's distributions, by their public names and parameters -----------------------------


def is_distribution(value: object) -> bool:
    """Return whether a value is a distribution of NumPyro, without loading it."""
    return any(_from_numpyro(cls) and cls.__name__ == "Distribution" for cls in type(value).__mro__)


def is_distribution_class(value: object) -> bool:
    """Return whether a value is a class of NumPyro's distributions, such as `Gamma`."""
    name = getattr(value, "__name__", "")
    return callable(value) and _from_numpyro(value) and name != "" and public_class(name) is value


def distribution_arguments(value: object) -> dict[str, object] | None:
    """Return the parameters of a distribution by name; None where they cannot be found."""
    if public_class(type(value).__name__) is not type(value):
        return None
    found = {name: getattr(value, name, ABSENT) for name in _parameters(type(value))}
    return None if ABSENT in found.values() else found


def distribution(name: str, given: Mapping[str, object]) -> object:
    """Return the distribution of a name with parameters.

    Raises:
        UnknownType: NumPyro has no such distribution.
    """
    cls = public_class(name)
    if not isinstance(cls, type) or set(given) != set(_parameters(cls)):
        raise UnknownType(name)
    return cls(**given)


def public_class(name: str) -> object:
    """Return a class of distributions by its public name, or the function that picks one, or None.

    A function picks one where two classes differ only in their parameters: `Bernoulli` picks
    `BernoulliProbs` or `BernoulliLogits`.
    """
    import numpyro.distributions as dist

    def named(word: str) -> object:
        found = getattr(dist, word, None) if word.isidentifier() else None
        return found if isinstance(found, type) and issubclass(found, dist.Distribution) else None

    return named(name) or (getattr(dist, name) if named(f"{name}Probs") else None)


def _parameters(cls: type) -> list[str]:
    return [name for name in inspect.signature(cls).parameters if name != "validate_args"]


def _from_numpyro(value: object) -> bool:
    return getattr(value, "__module__", "").startswith("numpyro.distributions")
