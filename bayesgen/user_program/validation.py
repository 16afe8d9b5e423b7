"""Validation of a user's program by a trial run on a few of its rows."""

import contextlib
import dataclasses
import functools
import inspect
from collections import OrderedDict
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors import InvalidProgram
from bayesgen.errors.wording import to_type
from bayesgen.typing import Traceable
from bayesgen.user_program.program import (
    LABEL,
    ROW,
    Arrays,
    ProgramLogDensity,
    Site,
    UserProgram,
    evaluated,
    given,
    in_rows,
    is_drawn,
    is_observed,
    log_prob,
)
from bayesgen.user_program.refusals import (
    HEAD,
    LABEL_LINE,
    PLATE,
    in_plate,
    one_density_per_row,
    outside_plate,
    rows_ignored,
)

MIXTURE = "parts = dist.MixtureSameFamily(dist.Categorical(weights[y]), components)"
FEW = 24
"""Rows of a trial run, spread over all."""
JITTER = 0.3
"""Distance from the middle of the priors, in unconstrained coordinates: there, classes differ."""


@dataclasses.dataclass(frozen=True)
class ProgramFacts:
    """Properties of a program, found by a trial run.

    start: unconstrained coordinates in the middle of the priors, by parameter. labels_alike:
    whether the class probabilities are the same for all rows.
    """

    start: dict[str, np.ndarray]
    labels_alike: bool


def validate(program: UserProgram, x: Arrays, y: np.ndarray) -> ProgramFacts:
    """Return the properties of a program, from a trial run on some of the rows.

    Raises:
        InvalidProgram: the program violates the form; the sentence names the site or the plate and
            shows the lines to write.
    """
    check_arguments(program)
    sample = np.unique(np.linspace(0, len(y) - 1, FEW).astype(int))
    rows, labels = {name: array[sample] for name, array in x.items()}, y[sample]
    start, together, alone = evaluated(_trial(program), rows, labels)
    for name, density in together.items():
        inside = density.ndim == 2
        expected = density[labels, np.arange(len(labels))] if inside else density[labels]
        if np.allclose(alone[name], expected, rtol=1e-6, atol=1e-9, equal_nan=True):
            continue
        if not inside:
            raise outside_plate(name)
        raise InvalidProgram(
            "site {site!r} gives a row a density that depends on the other rows, so new "
            "rows cannot be scored one by one.",
            "Compute from x row by row, and bind quantities of the training rows (a mean, "
            "a scale) beforehand: functools.partial(model, mean=X.mean(axis=0)).",
            site=name,
        )
    data = sum(v[0] for name, v in together.items() if v.ndim == 2 and name != LABEL)
    equal_rows = all(np.array_equal(v[1:], v[:-1], equal_nan=True) for v in rows.values())
    if np.isfinite(data).all() and _alike(data) and not equal_rows:
        raise rows_ignored()
    return ProgramFacts(dict(start), _alike(together[LABEL].T))


def check_arguments(program: UserProgram) -> None:
    """Raise unless the program can be called as model(x, y, n_classes=...)."""
    try:
        signature = inspect.signature(program.model)
    except (TypeError, ValueError):  # a built-in function raises its own error
        return
    parameters = signature.parameters.values()
    unset = [
        p.name
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name != "n_classes"
    ]
    if unset:
        raise InvalidProgram(
            "the program needs {names:named setting}, without a default.",
            "Bind them: story=functools.partial(model, {given}).",
            names=unset,
            given=", ".join(f"{name}=..." for name in unset),
        )
    try:
        signature.bind(None, None, n_classes=2)
    except TypeError as error:
        raise InvalidProgram(
            "the program cannot be called as model(x, y, n_classes=...): {problem}.",
            "Write its head as{code}",
            problem=str(error),
            code=to_type(HEAD),
        ) from None


@functools.lru_cache(maxsize=32)
def _trial(program: UserProgram) -> Callable:
    """Return the compiled (x, y) -> (start, together, alone), which checks the form of a program.

    start: see `ProgramFacts`, in the order of the program. together: the log density of each
    observed site near the start, (class, row) or (class,) outside plate "row", with all rows of one
    class. alone: that of each row by itself with its own class, (row,).
    """
    import jax
    import jax.numpy as jnp

    def trial(x: Mapping, y: Traceable) -> tuple[OrderedDict, dict, dict]:
        start = _middle(program, x, y)
        keys = jax.random.split(jax.random.key(0), len(start))
        near = {
            name: jax.random.normal(key, u.shape)
            for key, (name, u) in zip(keys, start.items(), strict=True)
        }
        width = {name: jnp.full(u.shape, JITTER) for name, u in start.items()}
        numbers = {"x": x, "y": y, "weight": jnp.ones(len(y)), "centre": start, "width": width}
        values = ProgramLogDensity.at(program, start).values(numbers, near)

        def densities(x: Mapping, y: Traceable) -> dict[str, Traceable]:
            every = program.densities(x, y, given(values))
            return {name: density for name, density in every.items() if name not in values}

        def alone(x: Mapping, y: Traceable) -> dict[str, Traceable]:
            row = {name: array[None] for name, array in x.items()}
            return {name: density.sum() for name, density in densities(row, y[None]).items()}

        codes = jnp.arange(program.n_classes)[:, None] * jnp.ones_like(y)
        together = jax.vmap(lambda k: densities(x, k))(codes)
        # a plain dict would come back sorted
        return OrderedDict(start), together, jax.vmap(alone)(x, y)

    return jax.jit(trial)


def _middle(program: UserProgram, x: Mapping, y: Traceable) -> dict[str, Traceable]:
    """Return unconstrained coordinates of the priors' means, each given those before it (traced).

    0 replaces means that are infinite or unavailable.

    Raises:
        InvalidProgram: the program violates the form.
    """
    import jax.numpy as jnp
    from numpyro.distributions import biject_to

    start: dict[str, Traceable] = {}

    def value_of(site: Site) -> Traceable | None:
        name = site["name"]
        if site["type"] == "param":
            raise InvalidProgram(
                "site {site!r} is a numpyro.param, which has no prior.",
                "Write it as{code}",
                site=name,
                code=to_type(f"{name} = numpyro.sample({name!r}, dist.Normal(0.0, 1.0))"),
            )
        if not is_drawn(site):
            return None
        _check_drawn(site)
        prior, to_site = site["fn"], biject_to(site["fn"].support)
        start[name] = jnp.zeros(to_site.inverse_shape(prior.shape()))
        # a distribution without a mean starts where its coordinates are 0
        with contextlib.suppress(NotImplementedError):
            mean = to_site.inv(1.0 * jnp.broadcast_to(prior.mean, prior.shape()))
            start[name] = jnp.where(jnp.isfinite(mean).all(), mean, start[name])
        return to_site(start[name])

    _check_observed(program.sites(x, y, value_of), len(y))
    if not start:
        raise InvalidProgram(
            "the program has no parameters: every site is observed.",
            "Add a prior for what is to be learned:\n    class_probs = "
            'numpyro.sample("class_probs", dist.Dirichlet(jnp.ones(n_classes)))',
        )
    return start


def _check_drawn(site: Site) -> None:
    if site["name"] == LABEL:
        raise InvalidProgram(
            'site "y" is drawn although labels are given: the program does not observe them.',
            "Add obs=y:{code}",
            code=in_plate(LABEL_LINE),
        )
    if in_rows(site):
        raise InvalidProgram(
            'site {site!r} in plate "row" is drawn anew for each row.',
            "If it is a column, add obs=x. If it is hidden, sum it out, so that each row has "
            "one density; over levels by a mixture:{code}",
            site=site["name"],
            code=in_plate(MIXTURE, 'numpyro.sample("x", parts, obs=x)'),
        )
    if site["fn"].support.is_discrete:
        raise InvalidProgram(
            "the parameter at site {site!r} is discrete; only continuous ones can be sampled "
            "or optimized.",
            "Sum it out by dist.MixtureSameFamily, or fix it: functools.partial(model, "
            "{site}=...).",
            site=site["name"],
        )


def _check_observed(trace: dict[str, Site], n_rows: int) -> None:
    if LABEL not in trace or trace[LABEL]["type"] != "sample":
        raise InvalidProgram(
            'the program has no site "y" for the label of a row.',
            "Add{code}",
            code=in_plate(LABEL_LINE),
        )
    for site in filter(is_observed, trace.values()):
        if not in_rows(site):
            if site["name"] == LABEL or n_rows in np.shape(log_prob(site)):
                raise outside_plate(site["name"])
            continue
        frames = {frame.dim: frame.size for frame in site["cond_indep_stack"]}
        row = next(frame for frame in site["cond_indep_stack"] if frame.name == ROW)
        if row.dim != -1 or row.size != n_rows:
            raise InvalidProgram(
                'plate "row" has the size {size} and dim={dim}; with {n_rows:rows} it needs '
                "the size {n_rows} and dim=-1.",
                "Take the size from x:{code}",
                dim=row.dim,
                size=row.size,
                n_rows=n_rows,
                code=to_type("n_rows = len(x)", PLATE),
            )
        shape = np.shape(log_prob(site))
        plates = {dim - len(shape): size for dim, size in enumerate(shape) if size > 1}
        if shape[-1:] != (n_rows,) or not plates.keys() <= frames.keys():
            raise InvalidProgram(
                "site {site!r} has log densities of the shape {found}; with {n_rows:rows} the "
                "shape ({n_rows},) is needed.",
                "Join the columns of a row by .to_event(1):{code}",
                site=site["name"],
                found=shape,
                n_rows=n_rows,
                code=one_density_per_row(site["name"]),
            )
    if not any(in_rows(s) for s in trace.values() if is_observed(s) and s["name"] != LABEL):
        raise rows_ignored()


def _alike(densities: np.ndarray) -> bool:
    """Whether the densities of all rows are equal; rows come first."""
    return bool(np.allclose(densities, densities[:1], rtol=1e-9, atol=1e-12, equal_nan=True))
