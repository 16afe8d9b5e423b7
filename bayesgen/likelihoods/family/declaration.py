"""Declaration of a `Family`: a NumPyro distribution, its free parameters and their priors."""

import dataclasses
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from bayesgen.errors import InvalidArgument
from bayesgen.typing import Params, Traceable, Transform

UNITS = ("loc", "mean", "rate", "scale")
"""Parameters that carry the unit of the column, by NumPyro's names; the others are pure numbers."""

PROBES = (-1.0, 0.0, 1.0)
"""Points on the real line whose images are tried as parameters."""

NUMBERS = (-1e3, -1.5, -1.0, -0.5, -1e-3, 0.0, 1e-3, 0.5, 1.0, 1.5, 1e3)
"""Values at which the supports of a prior and of its parameter are compared."""


@runtime_checkable
class Constraint(Protocol):
    """A constraint of numpyro's."""

    is_discrete: bool
    event_dim: int

    def __call__(self, x: Traceable, /) -> Traceable:
        """Return which values are possible."""

    def feasible_like(self, prototype: float, /) -> Traceable:
        """Return a possible value."""


@dataclasses.dataclass(frozen=True, eq=False)
class Declaration:
    """A distribution with scalar free parameters; equal declarations share compiled code.

    fixed, priors: (parameter, value) pairs; parameters without a prior have the default one.
    """

    distribution: type
    fixed: tuple[tuple[str, object], ...]
    priors: tuple[tuple[str, object], ...]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        """The free parameters, in the order of the distribution."""
        fixed = dict(self.fixed)
        return tuple(n for n in self.distribution.arg_constraints if n not in fixed)

    @functools.cached_property
    def stated(self) -> np.ndarray:
        """Which free parameters have a stated prior."""
        return np.isin(self.names, [name for name, _ in self.priors])

    def constraint(self, name: str) -> Constraint:
        """Return the support of a parameter's prior, if one is stated, else of the parameter."""
        prior = dict(self.priors).get(name)
        return self.distribution.arg_constraints[name] if prior is None else prior.support

    def bijection(self, name: str) -> Transform:
        """Return the transform from the real line to a parameter."""
        from numpyro.distributions import biject_to

        return biject_to(self.constraint(name))

    def params(self, u: Traceable) -> Params:
        """Return parameters at real coordinates u, shape (..., parameter)."""
        return {name: self.bijection(name)(u[..., i]) for i, name in enumerate(self.names)}

    def build(self, params: Params) -> object:
        """Return the distribution of cells."""
        return self.distribution(**params, **dict(self.fixed))

    @functools.cached_property
    def support(self) -> Constraint:
        """The constraint of cells; it does not depend on a free parameter."""
        import jax

        # a traced program may be the first to ask
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return self.build(self.params(np.zeros(len(self.names)))).support

    @property
    def discrete(self) -> bool:
        """Whether cells are whole numbers."""
        return self.support.is_discrete

    @functools.cached_property
    def typical(self) -> float:
        """A value inside the support, used to fill missing cells."""
        return float(self.support.feasible_like(0.0))

    @property
    def circular(self) -> bool:
        """Whether cells are angles."""
        from numpyro.distributions import constraints

        return self.support == constraints.circular

    @functools.cached_property
    def real(self) -> np.ndarray:
        """Which free parameters are unconstrained; log-odds do not count."""
        from numpyro.distributions import constraints

        found, names = self.distribution.arg_constraints, self.names
        return np.array([found[n] is constraints.real and not n.endswith("logits") for n in names])

    @functools.cached_property
    def pure(self) -> np.ndarray:
        """Which free parameters are dimensionless, on a log or logit scale."""
        return ~self.real & ~np.isin(self.names, UNITS) | self.discrete

    def key(self) -> tuple:
        """Return the identity of the declaration, hashable."""
        import jax

        priors = []
        for name, prior in self.priors:
            leaves, tree = jax.tree.flatten(prior)
            cells = tuple((np.shape(v), np.asarray(v, float).tobytes()) for v in leaves)
            priors.append((name, tree, cells))
        return self.distribution, self.fixed, tuple(priors)

    def __hash__(self) -> int:
        """Hash by key."""
        return hash(self.key())

    def __eq__(self, other: object) -> bool:
        """Compare by key."""
        return isinstance(other, Declaration) and self.key() == other.key()

    def out_of_support(self, x: np.ndarray) -> np.ndarray:
        """Return a mask of the observed cells without a density under any parameters.

        These are the cells outside the support, and those on a closed edge where a density is 0 or
        infinite, as a Beta's at 0 and 1.
        """
        import jax

        seen = ~np.isnan(x)
        cells, where = np.unique(x[seen], return_inverse=True)
        with jax.enable_x64(True):
            inside = np.asarray(self.support(cells))
            if not self.discrete:
                up, down = (self.support(np.nextafter(cells, far)) for far in (np.inf, -np.inf))
                edge = inside & ~(np.asarray(up) & np.asarray(down))
                inside = inside & ~(edge & ~self._finite(cells, edge))
        out = np.zeros(x.shape, bool)
        out[seen] = ~inside[where]
        return out

    def allowed(self) -> str:
        """Describe the allowed cells in words."""
        return words(self.support, lambda bound: not self.out_of_support(np.array(bound)).any())

    def _finite(self, cells: np.ndarray, edge: np.ndarray) -> np.ndarray:
        finite = np.ones(len(cells), bool)
        for probe in PROBES if edge.any() else ():
            there = self.build(self.params(np.full(len(self.names), probe)))
            finite[edge] &= np.isfinite(np.asarray(there.log_prob(cells[edge])))
        return finite


def words(constraint: Constraint, edge: Callable[[float], bool] | None = None) -> str:
    """Describe a constraint in words, such as "numbers above 0".

    edge: whether a bound is itself allowed; by default as the constraint has it.
    """
    from numpyro.distributions import constraints

    if constraint is constraints.boolean:
        return "0 and 1"
    ends = []
    for end, closed, beyond in (("lower", "from", "above"), ("upper", "to", "below")):
        bound = getattr(constraint, f"{end}_bound", None)
        if bound is not None:
            inside = bool((edge or constraint)(float(bound)))
            ends.append(f"{closed if inside else beyond} {float(bound):g}")
    text = " and ".join(ends).replace("and to", "to")
    upwards = " up" if len(ends) == 1 and text.startswith("from") else ""
    kind = "whole numbers" if constraint.is_discrete else "numbers"
    return f"{kind} {text}".strip() + upwards


# -- from the arguments of Family, checked ---------------------------------------------------------


def spelled(value: object) -> object:
    """Return a NumPyro distribution as plain data, for files and comparisons.

    A class becomes its name, an instance (name, {parameter: number, or distribution spelled}). A
    distribution that is not numpyro's own, or has parameters of several numbers, stays as it is.
    """
    import jax
    import numpyro.distributions as dist

    cls = value if hasattr(value, "__name__") else type(value)
    name = cls.__name__
    if getattr(dist, name, None) is not cls:
        return value
    if cls is value:
        return name
    words: dict[str, object] = {}
    for parameter in inspect.signature(cls).parameters:
        part = getattr(value, parameter, None)
        if isinstance(part, dist.Distribution):
            part = spelled(part)
        if isinstance(part, tuple):
            words[parameter] = part
        elif np.ndim(part) == 0 and np.asarray(part).dtype.kind in "biuf":
            words[parameter] = np.asarray(part).item()
        elif parameter != "validate_args":
            return value
    leaves, tree = jax.tree.flatten(built((name, words)))
    found, same = jax.tree.flatten(value)
    equal = tree == same and all(map(np.array_equal, leaves, found))
    return (name, words) if equal else value


def built(value: object) -> object:
    """Return the distribution of plain data: the inverse of `spelled`."""
    import numpyro.distributions as dist

    if isinstance(value, str):
        return getattr(dist, value, value)
    if isinstance(value, tuple | list) and len(value) == 2 and value[0] in dist.__all__:
        return getattr(dist, value[0])(**{name: built(part) for name, part in value[1].items()})
    return value


def declared(distribution: object, priors: Mapping | None, fixed: Mapping | None) -> Declaration:
    """Return the validated declaration of Family's arguments, distributions spelled or not.

    Raises:
        InvalidArgument: `distribution` is not a class of scalar distributions, a parameter cannot
            be learned, or a prior or a fixed value does not suit its parameter.
    """
    from numpyro.distributions import Distribution

    cls = _class(built(distribution))
    if not (isinstance(cls, type) and issubclass(cls, Distribution)):
        raise _not_a_distribution(distribution)
    declaration = Declaration(
        cls,
        tuple((name, (fixed or {})[name]) for name in sorted(fixed or {})),
        tuple((name, built((priors or {})[name])) for name in sorted(priors or {})),
    )
    for check in (_check_names, _check_fixed, _check_parameters, _check_priors, _check_support):
        check(declaration, cls.__name__)
    # NumPy's numbers would bring their own precision into traced programs
    numbers = tuple((name, np.asarray(value).item()) for name, value in declaration.fixed)
    return dataclasses.replace(declaration, fixed=numbers)


def _class(distribution: object) -> object:
    """Return the class; of a function that picks one, the class in terms of probabilities."""
    import numpyro.distributions as dist

    name = getattr(distribution, "__name__", "")
    picks = not isinstance(distribution, type) and getattr(dist, name, None) is distribution
    return getattr(dist, f"{name}Probs", distribution) if picks else distribution


def _check_names(declaration: Declaration, family: str) -> None:
    for argument, pairs, existing in (
        ("fixed", declaration.fixed, tuple(declaration.distribution.arg_constraints)),
        ("priors", declaration.priors, declaration.names),
    ):
        for name, _ in pairs:
            if name not in existing:
                raise InvalidArgument(
                    "Family(dist.{family}): {argument}= names {name!r}; its parameters are "
                    "{existing:listed}.",
                    "Name one of these.",
                    family=family,
                    argument=argument,
                    name=name,
                    existing=existing,
                )
    if not declaration.names:
        raise InvalidArgument(
            "Family(dist.{family}): every parameter is fixed, so classes cannot differ.",
            "Leave one out of fixed=.",
            family=family,
        )


def _check_fixed(declaration: Declaration, family: str) -> None:
    for name, value in declaration.fixed:
        constraint, number = declaration.distribution.arg_constraints[name], np.asarray(value)
        finite = number.ndim == 0 and number.dtype.kind in "biuf" and np.isfinite(number)
        free = type(constraint).__name__ == "_Dependent"
        if not finite or not (free or bool(constraint(number))):
            allowed = words(constraint) if finite else "single finite numbers"
            raise InvalidArgument(
                "Family(dist.{family}): fixed= states {name}={value!r}; {allowed} are allowed.",
                "Pass one of them, or leave {name!r} out to learn it.",
                family=family,
                name=name,
                value=value,
                allowed=allowed,
            )


def _check_parameters(declaration: Declaration, family: str) -> None:
    for name in declaration.names:
        constraint = declaration.distribution.arg_constraints[name]
        dependent = type(constraint).__name__ == "_Dependent"
        if not dependent and constraint.event_dim > 0:
            raise _many_numbers(family, f"its parameter {name!r}")
        if dependent or constraint.is_discrete:
            raise InvalidArgument(
                "Family(dist.{family}): {parameter!r} {why}, so it cannot be learned by gradients.",
                "State it: Family(dist.{family}, fixed={{{parameter!r}: ...}}).",
                family=family,
                parameter=name,
                why="is bounded by another parameter" if dependent else "is a whole number",
            )


def _check_priors(declaration: Declaration, family: str) -> None:
    from numpyro.distributions import Distribution

    for name, prior in declaration.priors:
        scalar = isinstance(prior, Distribution) and not (prior.batch_shape or prior.event_shape)
        if not scalar or declaration.constraint(name).is_discrete:
            raise InvalidArgument(
                "Family(dist.{family}): the prior of {name!r} is {value}; an instance of a "
                "continuous distribution of one number is needed, the same for every class and "
                "column.",
                "Pass priors={{{name!r}: dist.LogNormal(0, 1)}}; columns that need priors of their "
                "own need a Family each.",
                family=family,
                name=name,
                value=_title(prior),
            )
        wanted, values = declaration.distribution.arg_constraints[name], np.array(NUMBERS)
        astray = np.asarray(declaration.constraint(name)(values)) & ~np.asarray(wanted(values))
        if astray.any():
            value, of = float(values[astray][0]), type(prior).__name__
            raise InvalidArgument(
                "Family(dist.{family}): the prior of {name!r}, dist.{prior}, allows {value!r}; "
                "{allowed} are allowed.",
                "Pass a prior on such numbers.",
                family=family,
                name=name,
                prior=of,
                value=value,
                allowed=words(wanted),
            )


def _check_support(declaration: Declaration, family: str) -> None:
    try:
        one, other = (
            declaration.build(declaration.params(np.full(len(declaration.names), u)))
            for u in (-0.5, 0.5)
        )
    except NotImplementedError:
        raise _not_a_distribution(declaration.distribution) from None
    if one.event_shape:
        raise _many_numbers(family, "a draw")
    if one.support != other.support:
        raise InvalidArgument(
            "Family(dist.{family}): the support depends on its parameters "
            "({parameters:listed}); the best values may lie at its edge, where no gradient is "
            "zero.",
            "State the parameter that moves the edge, for example Family(dist.{family}, "
            "fixed={{{parameters[0]!r}: ...}}).",
            family=family,
            parameters=declaration.names,
        )


def _not_a_distribution(value: object) -> InvalidArgument:
    return InvalidArgument(
        "Family takes a class of numpyro.distributions, such as dist.Gamma; got {value}.",
        "Pass Family(dist.Gamma), without parameters: they are learned.",
        value=_title(value),
    )


def _many_numbers(family: str, what: str) -> InvalidArgument:
    return InvalidArgument(
        "Family(dist.{family}): {what} is more than one number; a cell is one number and so is "
        "each parameter.",
        "Use bg.MultivariateNormal() for vectors and bg.Categorical() for levels.",
        family=family,
        what=what,
    )


def _title(value: object) -> str:
    if isinstance(value, str):
        return repr(value)
    return getattr(value, "__name__", None) or f"an instance of {type(value).__name__}"


def shown(value: object) -> str:
    """Return the constructor call of a spelled distribution."""
    if isinstance(value, str):
        return f"dist.{value}"
    if isinstance(value, tuple | list):
        parts = {n: shown(p) if isinstance(p, tuple) else repr(p) for n, p in value[1].items()}
        return f"dist.{value[0]}({', '.join(f'{n}={part}' for n, part in parts.items())})"
    return getattr(value, "__name__", None) or f"{type(value).__name__}(...)"
