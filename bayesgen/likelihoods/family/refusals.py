"""Sentences about distributions that `Family` cannot use, which requires scalars."""

from collections.abc import Sequence

from bayesgen.errors import InvalidArgument


def not_a_distribution(value: object) -> InvalidArgument:
    """An instance, a function or something else stands where a class belongs."""
    return InvalidArgument(
        "Family takes a class of numpyro.distributions, such as dist.Gamma; got {value}.",
        "Pass Family(dist.Gamma), without parameters: they are learned.",
        value=_name(value),
    )


def many_numbers(family: str, parameter: str | None) -> InvalidArgument:
    """A cell, or a parameter, is a vector or a matrix."""
    return InvalidArgument(
        "Family(dist.{family}): {what} is more than one number; a cell is one number and so is "
        "each parameter.",
        "Use bg.MultivariateNormal() for vectors and bg.Categorical() for levels.",
        family=family,
        what="one draw" if parameter is None else f"its parameter {parameter!r}",
    )


def must_be_fixed(family: str, parameter: str, why: str) -> InvalidArgument:
    """A parameter cannot be learned by gradients."""
    return InvalidArgument(
        "Family(dist.{family}): {parameter!r} {why}, so it cannot be learned by gradients.",
        "State it: Family(dist.{family}, fixed={{{parameter!r}: ...}}).",
        family=family,
        parameter=parameter,
        why=why,
    )


def unknown_parameter(
    family: str, argument: str, name: str, existing: Sequence[str]
) -> InvalidArgument:
    """A distribution has no parameter of this name."""
    return InvalidArgument(
        "Family(dist.{family}): {argument}= names {name!r}; its parameters are {existing:listed}.",
        "Name one of these.",
        family=family,
        argument=argument,
        name=name,
        existing=existing,
    )


def not_a_scalar_prior(family: str, name: str, value: object) -> InvalidArgument:
    """A prior is not a distribution of one number."""
    return InvalidArgument(
        "Family(dist.{family}): the prior of {name!r} is {value}; an instance of a continuous "
        "distribution of one number is needed, the same for every class and column.",
        "Pass priors={{{name!r}: dist.LogNormal(0, 1)}}; columns that need priors of their own "
        "need a Family each.",
        family=family,
        name=name,
        value=_name(value),
    )


def _name(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return getattr(value, "__name__", None) or f"an instance of {type(value).__name__}"
