"""A user's NumPyro program: its sites at given parameters, and log densities of its rows."""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Generator, Hashable, Mapping
from typing import Any, cast

import numpy as np

from bayesgen.errors import BayesgenError, InvalidProgram
from bayesgen.errors.packages import require_package
from bayesgen.inference.log_density import Shapes
from bayesgen.likelihoods.supports import log_scale_free_jacobian
from bayesgen.program import ONE_PROGRAM
from bayesgen.typing import Traceable
from bayesgen.user_program.refusals import stopped

LABEL, ROW = "y", "row"
"""Names of the label site and of the plate of rows."""

SINGLE = "x"
"""Name of x among arrays where it is a single array instead of a dict."""

OTHER = "unlabelled"
"""Name of the rows without a label among the numbers of a log density: x and weight."""

Arrays = Mapping[str, np.ndarray]
"""Rows as a program takes them, along the first axis of every array; under "x" if it is one."""

Site = dict
"""A site as numpyro records it: name, fn, value, is_observed, cond_indep_stack, ..."""

Tree = Mapping[str, Mapping | Traceable]
"""The numbers of a log density: x, y and weight of the rows, centre and width of coordinates."""

ValueOf = Callable[[Site], Traceable | None]
"""Returns the value that a site takes, or None where it keeps its own."""


@dataclasses.dataclass(frozen=True, eq=False)
class UserProgram:
    """A program `model(x, y=None, *, n_classes, ...)` in the form of the gallery (models/).

    model: the program. n_classes: number of classes. single: whether x is one array.

    Two programs are equal when they run the same function with the same settings; they then share
    compiled code.
    """

    model: Callable
    n_classes: int
    single: bool

    def __post_init__(self) -> None:
        """Check that NumPyro is installed."""
        require_package("numpyro", "NumPyro programs")

    def run(
        self,
        x: Mapping | None,
        y: Traceable | None,
        *,
        key: Traceable,
        value_of: ValueOf,
        **sizes: int,
    ) -> tuple[dict[str, Site], object]:
        """Return the sites of one run by name, and what the program returns.

        value_of: values of sites; others are drawn by the key. sizes: keywords of the program for
        sizes that x would have shown.
        """
        from numpyro import handlers

        rows = x if x is None or not self.single else x[SINGLE]
        # blocked: a program may run inside another, which must not see its sites
        with (
            ONE_PROGRAM,
            handlers.block(),
            handlers.trace() as trace,
            handlers.seed(rng_seed=key),
            handlers.substitute(substitute_fn=value_of),
        ):
            returned = self.model(rows, y, n_classes=self.n_classes, **sizes)
        return trace, returned

    def sites(self, x: Mapping, y: Traceable, value_of: ValueOf) -> dict[str, Site]:
        """Return the sites of one run on rows, drawn ones with the values that value_of gives them.

        Raises:
            InvalidProgram: the program raised an error.
        """
        from jax import random

        told = functools.partial(stopped, n_classes=self.n_classes, single=self.single)
        with refusing(told):
            return self.run(x, y, key=random.key(0), value_of=value_of)[0]

    def densities(self, x: Mapping, y: Traceable, value_of: ValueOf) -> dict[str, Traceable]:
        """Return the log density of each site of one run on rows.

        That of data in the plate of rows has the shape (row,), others are one number.
        """
        trace = self.sites(x, y, value_of)
        return {n: reduced(site) for n, site in trace.items() if site["type"] == "sample"}

    def key(self) -> Hashable:
        """Return a key of the traced program."""
        return (identity(self.model), self.n_classes, self.single)

    def __hash__(self) -> int:
        """Hash by key."""
        return hash(self.key())

    def __eq__(self, other: object) -> bool:
        """Compare by key."""
        return isinstance(other, UserProgram) and self.key() == other.key()


def given(values: Mapping[str, Traceable]) -> ValueOf:
    """Return the values of sites by name; other sites keep their own."""
    return lambda site: values.get(site["name"])


def evaluated(function: Callable, *arguments: object) -> Any:
    """Return what a function of JAX returns in float64, in NumPy's arrays."""
    import jax

    with jax.enable_x64(True):
        return jax.device_get(function(*arguments))


@contextlib.contextmanager
def refusing(refusal: Callable[[Exception], InvalidProgram]) -> Generator[None]:
    """Raise the refusal of an error in place of it; a program of the user's own may stop anyhow."""
    try:
        yield
    except BayesgenError:
        raise
    except Exception as error:
        raise refusal(error) from error


def identity(model: Callable) -> Hashable:
    """Return a key of a program: partials of one function with equal settings are equal."""
    if isinstance(model, functools.partial):
        key = (identity(model.func), model.args, tuple(sorted(model.keywords.items())))
        try:
            hash(key)
        except TypeError:  # arrays among the settings: only identical objects are equal
            return model
        return key
    return model


def is_observed(site: Site) -> bool:
    """Whether a site is data: observed, or a factor."""
    return site["type"] == "sample" and site["is_observed"]


def is_drawn(site: Site) -> bool:
    """Whether a site is drawn: a parameter, or hidden within a row."""
    return site["type"] == "sample" and not site["is_observed"]


def in_rows(site: Site) -> bool:
    """Whether a site lies within the plate of rows."""
    return any(frame.name == ROW for frame in site["cond_indep_stack"])


def is_joint(distribution: object) -> bool:
    """Whether a distribution of several cells is no product of those of each."""
    while hasattr(distribution, "base_dist"):
        distribution = distribution.base_dist
    return bool(getattr(distribution, "event_dim", 0))


def log_prob(site: Site) -> Traceable:
    """Return the log density of a site, element by element."""
    density = site["fn"].log_prob(site["value"])
    return density if site["scale"] is None else site["scale"] * density


def reduced(site: Site) -> Traceable:
    """Return the log density of a site row by row, or their sum for a site that is not in rows."""
    density = log_prob(site)
    # other plates lie to the left of the rows
    return density.reshape(-1, density.shape[-1]).sum(0) if in_rows(site) else density.sum()


def split(densities: Mapping[str, Traceable]) -> tuple[Traceable, Traceable, Traceable]:
    """Return log densities of labels (row,), of rows given labels (row,), and of the rest."""
    others = [density for name, density in densities.items() if name != LABEL]
    rows = sum(density for density in others if density.ndim)
    return densities[LABEL], rows, sum(density for density in others if not density.ndim)


@dataclasses.dataclass(frozen=True)
class ProgramLogDensity:
    """Log densities of a program over coordinates u, unconstrained value = center + width u.

    shapes: of the coordinates of each parameter. Arrays are passed separately, as a tree.
    """

    program: UserProgram
    shapes: Shapes

    @classmethod
    def at(cls, program: UserProgram, u: Mapping[str, Traceable]) -> "ProgramLogDensity":
        """Return the log densities of a program over coordinates of the same shapes as u."""
        return cls(program, tuple((name, value.shape) for name, value in u.items()))

    def centre(self, tree: Tree) -> dict[str, Traceable]:
        """Return the coordinates of the center, by site: zeros."""
        import jax.numpy as jnp

        return {name: jnp.zeros(shape) for name, shape in self.shapes}

    def terms(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities "prior", "rows", "jacobian" and "measure" at u (traced)."""
        return self._terms_and_values(tree, u)[0]

    def values(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site (traced)."""
        return self._terms_and_values(tree, u)[1]

    def _summed(self, other: Mapping[str, Any], values: Mapping[str, Traceable]) -> Traceable:
        """Return the log density of rows without a label: the program runs once for each class."""
        import jax.numpy as jnp
        from jax.scipy.special import logsumexp

        joint = []
        for k in range(self.program.n_classes):
            y = jnp.full(other["weight"].shape, k)
            labels, rows, _ = split(self.program.densities(other["x"], y, given(values)))
            joint.append(labels + rows)
        return other["weight"] @ logsumexp(jnp.stack(joint), axis=0)

    def _terms_and_values(self, tree: Tree, u: Mapping[str, Traceable]) -> tuple[dict, dict]:
        import jax.numpy as jnp
        from numpyro.distributions import biject_to

        values: dict[str, Traceable] = {}
        volume = {"jacobian": jnp.zeros(()), "measure": jnp.zeros(())}

        def value_of(site: Site) -> Traceable | None:
            name = site["name"]
            if name not in u:
                return None
            width, support = tree["width"][name], site["fn"].support
            free, to_site = tree["centre"][name] + width * u[name], biject_to(support)
            value = values[name] = to_site(free)
            jacobian = to_site.log_abs_det_jacobian(free, value).sum()
            volume["jacobian"] += jacobian + jnp.log(width).sum()
            volume["measure"] += log_scale_free_jacobian(support, to_site, free, value)
            return value

        labels, rows, prior = split(self.program.densities(tree["x"], tree["y"], value_of))
        rows = ((labels + rows) * tree["weight"]).sum()
        if OTHER in tree:
            rows = rows + self._summed(cast(Mapping, tree[OTHER]), values)
        return {"prior": prior, "rows": rows, **volume}, values
