"""Validate the arguments of Family: what cannot be learned by gradients is refused."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.errors import InvalidDistribution
from bayesgen.likelihoods.family.declaration import Declaration, words

NUMBERS = (-1e3, -1.5, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 1.5, 1e3)
"""Values at which the supports of a prior and of its parameter are compared."""


def spelled(value: object) -> object:
    """Return a distribution of numpyro as plain data, which can be kept in files.

    A class is its name, an instance (name, {parameter: number}). What is not numpyro's own, or not
    made of single numbers, stays as it is.
    """
    import jax
    import numpyro.distributions as dist

    cls = value if hasattr(value, "__name__") else type(value)
    name = cls.__name__
    if getattr(dist, name, None) is not cls:
        return value
    if cls is value:
        return name
    params = {n: np.asarray(getattr(value, n, np.nan)) for n in getattr(cls, "arg_constraints", ())}
    if not params or any(number.ndim for number in params.values()):
        return value
    numbers = {n: number.item() for n, number in params.items()}
    try:
        leaves, tree = jax.tree.flatten(cls(**numbers))
    except TypeError:
        return value
    found, same = jax.tree.flatten(value)
    equal = tree == same and all(map(np.array_equal, leaves, found))
    return (name, numbers) if equal else value


def built(value: object) -> object:
    """Return the distribution that plain data spell: undoes `spelled`."""
    import numpyro.distributions as dist

    if isinstance(value, str):
        return getattr(dist, value, value)
    if isinstance(value, tuple | list) and len(value) == 2 and value[0] in dist.__all__:
        return getattr(dist, value[0])(**value[1])
    return value


def declared(distribution: object, priors: Mapping | None, fixed: Mapping | None) -> Declaration:
    """Return what the arguments of Family declare, distributions spelled or not.

    Raises:
        InvalidDistribution: what is no class of scalar distributions, a parameter that cannot be
            learned, or a prior or a fixed value that does not suit its parameter.
    """
    from numpyro.distributions import Distribution

    cls = _class(built(distribution))
    if not (isinstance(cls, type) and issubclass(cls, Distribution)):
        raise InvalidDistribution.not_a_class(distribution)
    declaration = Declaration(
        cls,
        tuple((name, (fixed or {})[name]) for name in sorted(fixed or {})),
        tuple((name, built((priors or {})[name])) for name in sorted(priors or {})),
    )
    _check_names(declaration)
    _check_fixed(declaration)
    _check_parameters(declaration)
    _check_priors(declaration)
    _check_support(declaration)
    # NumPy's numbers would bring their own precision into traced programs
    plain = tuple((name, np.asarray(value).item()) for name, value in declaration.fixed)
    return dataclasses.replace(declaration, fixed=plain)


def _class(distribution: object) -> object:
    """Return the class; where numpyro has a function that picks one, that of probabilities."""
    import numpyro.distributions as dist

    name = getattr(distribution, "__name__", "")
    picks = not isinstance(distribution, type) and getattr(dist, name, None) is distribution
    return getattr(dist, f"{name}Probs", distribution) if picks else distribution


def _check_names(declaration: Declaration) -> None:
    known, family = declaration.distribution.arg_constraints, declaration.distribution.__name__
    for argument, pairs in (("fixed", declaration.fixed), ("priors", declaration.priors)):
        for name, _ in pairs:
            if name not in known:
                raise InvalidDistribution.unknown_parameter(family, argument, name, known)
    for name, _ in declaration.priors:
        if name in dict(declaration.fixed):
            raise InvalidDistribution.unknown_parameter(family, "priors", name, declaration.names)
    if not declaration.names:
        raise InvalidDistribution.nothing_free(family)


def _check_fixed(declaration: Declaration) -> None:
    for name, value in declaration.fixed:
        constraint, number = declaration.distribution.arg_constraints[name], np.asarray(value)
        finite = number.ndim == 0 and number.dtype.kind in "biuf" and np.isfinite(number)
        free = type(constraint).__name__ == "_Dependent"
        if not finite or not (free or bool(constraint(number))):
            allowed = words(constraint) if finite else "single finite numbers"
            raise InvalidDistribution.fixed_value(
                declaration.distribution.__name__, name, value, allowed
            )


def _check_parameters(declaration: Declaration) -> None:
    family = declaration.distribution.__name__
    for name in declaration.names:
        constraint = declaration.distribution.arg_constraints[name]
        if type(constraint).__name__ == "_Dependent":
            raise InvalidDistribution.must_be_fixed(family, name, "is bounded by another parameter")
        if constraint.event_dim > 0:
            raise InvalidDistribution.many_numbers(family, name)
        if constraint.is_discrete:
            raise InvalidDistribution.must_be_fixed(family, name, "is a whole number")


def _check_priors(declaration: Declaration) -> None:
    from numpyro.distributions import Distribution

    family = declaration.distribution.__name__
    for name, prior in declaration.priors:
        if not isinstance(prior, Distribution) or prior.batch_shape or prior.event_shape:
            raise InvalidDistribution.not_a_prior(family, name, prior)
        if declaration.constraint(name).is_discrete:
            raise InvalidDistribution.not_a_prior(family, name, prior)
        wanted, values = declaration.distribution.arg_constraints[name], np.array(NUMBERS)
        astray = np.asarray(declaration.constraint(name)(values)) & ~np.asarray(wanted(values))
        if astray.any():
            value, of = float(values[astray][0]), type(prior).__name__
            raise InvalidDistribution.prior_support(family, name, of, value, words(wanted))


def _check_support(declaration: Declaration) -> None:
    family = declaration.distribution.__name__
    try:
        one, other = (
            declaration.build(declaration.params(np.full(len(declaration.names), u)))
            for u in (-0.5, 0.5)
        )
    except NotImplementedError:
        raise InvalidDistribution.not_a_class(declaration.distribution) from None
    if one.event_shape:
        raise InvalidDistribution.many_numbers(family, None)
    if one.support != other.support:
        raise InvalidDistribution.moving_support(family, declaration.names)


def shown(value: object) -> str:
    """Return a spelled distribution as it would be typed."""
    if isinstance(value, str):
        return f"dist.{value}"
    if isinstance(value, tuple | list):
        return f"dist.{value[0]}({', '.join(f'{n}={number!r}' for n, number in value[1].items())})"
    return getattr(value, "__name__", None) or f"{type(value).__name__}(...)"
