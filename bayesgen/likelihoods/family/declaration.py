"""What a Family declares: a NumPyro distribution, which parameters are free, and their priors."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from bayesgen.typing import Params, Traceable, Transform

UNITS = ("loc", "mean", "rate", "scale")
"""Parameters that carry the unit of the column, by NumPyro's names; the others are pure numbers."""

PROBES = (-1.0, 0.0, 1.0)
"""Points on the real line whose images are tried as parameters."""


@runtime_checkable
class Constraint(Protocol):
    """What numpyro's constraints do: tell which values are possible."""

    is_discrete: bool
    event_dim: int

    def __call__(self, x: Traceable, /) -> Traceable:
        """Return which values are possible."""

    def feasible_like(self, prototype: float, /) -> Traceable:
        """Return a possible value."""


@dataclasses.dataclass(frozen=True, eq=False)
class Declaration:
    """A distribution whose free parameters are numbers; equal declarations share compiled code.

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
        """Return where a parameter lies: where its prior does, else where it is defined."""
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
        """What cells may be, as a constraint; no free parameter moves it."""
        import jax

        # also where it is first asked for inside a traced program
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return self.build(self.params(np.zeros(len(self.names)))).support

    @property
    def discrete(self) -> bool:
        """Whether cells are whole numbers."""
        return self.support.is_discrete

    @functools.cached_property
    def typical(self) -> float:
        """A value inside the support, which stands where a cell is missing."""
        return float(self.support.feasible_like(0.0))

    @property
    def circular(self) -> bool:
        """Whether cells are angles."""
        from numpyro.distributions import constraints

        return self.support == constraints.circular

    def pure(self) -> np.ndarray:
        """Return which free parameters are pure numbers, on a log or logit scale of their own."""
        return np.array([self._pure(name) for name in self.names])

    def real(self) -> np.ndarray:
        """Return which free parameters may be any number (log-odds are no such)."""
        return np.array([self._real(name) for name in self.names])

    def _pure(self, name: str) -> bool:
        return self.discrete or not (name in UNITS or self._real(name))

    def _real(self, name: str) -> bool:
        from numpyro.distributions import constraints

        anything = self.distribution.arg_constraints[name] is constraints.real
        return anything and not name.endswith("logits")

    def key(self) -> tuple:
        """Return what tells declarations apart, hashable."""
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
        """Return which observed cells have no density, whatever the parameters.

        Those outside the support, and on a closed edge of it those where a density is 0 or
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
        """Return in words what cells may be."""
        return words(self.support, lambda bound: not self.out_of_support(np.array(bound)).any())

    def _finite(self, cells: np.ndarray, edge: np.ndarray) -> np.ndarray:
        finite = np.ones(len(cells), bool)
        for probe in PROBES if edge.any() else ():
            there = self.build(self.params(np.full(len(self.names), probe)))
            finite[edge] &= np.isfinite(np.asarray(there.log_prob(cells[edge])))
        return finite


def words(constraint: Constraint, edge: Callable[[float], bool] | None = None) -> str:
    """Return a constraint as a person would say it: "numbers above 0".

    edge: whether a bound is itself allowed; by default as the constraint has it.
    """
    from numpyro.distributions import constraints

    if constraint is constraints.boolean:
        return "0 and 1"
    kind, told = "whole numbers" if constraint.is_discrete else "numbers", {}
    for end, closed, beyond in (("lower", "from", "above"), ("upper", "to", "below")):
        bound = getattr(constraint, f"{end}_bound", None)
        if bound is not None:
            inside = bool((edge or constraint)(float(bound)))
            told[end] = f"{closed if inside else beyond} {float(bound):g}"
    up = [" up"] if list(told) == ["lower"] and "from" in told["lower"] else []
    return " ".join([kind, " and ".join(told.values()).replace("and to", "to")]).strip() + "".join(
        up
    )
