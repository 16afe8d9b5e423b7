"""Distributions of NumPyro by their public names and parameters: no others are written or made."""

import inspect
from collections.abc import Mapping

ABSENT = object()


def is_distribution(value: object) -> bool:
    """Say whether a value is a distribution of NumPyro, without loading it."""
    return any(_from_numpyro(cls) and cls.__name__ == "Distribution" for cls in type(value).__mro__)


def is_distribution_class(value: object) -> bool:
    """Say whether a value is what NumPyro calls a distribution, such as `Gamma` itself."""
    name = getattr(value, "__name__", "")
    return callable(value) and _from_numpyro(value) and name != "" and public(name) is value


def arguments(value: object) -> dict[str, object] | None:
    """Return what a distribution was made of, by name; None where it cannot be told."""
    if public(type(value).__name__) is not type(value):
        return None
    names = _parameters(type(value))
    found = {name: getattr(value, name, ABSENT) for name in names}
    return None if ABSENT in found.values() else found


def rebuilt(name: str, given: Mapping[str, object]) -> object:
    """Return the distribution of a name with parameters.

    Raises:
        KeyError: NumPyro has no such distribution.
    """
    cls = public(name)
    if not isinstance(cls, type) or set(given) != set(_parameters(cls)):
        raise KeyError(name)
    return cls(**given)


def public(name: str) -> object:
    """Return a class of distributions by its public name, or the function that picks one, or None.

    A function picks one where two classes differ only in how they are told: `Bernoulli` of
    `BernoulliProbs` and `BernoulliLogits`.
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
