"""Whether a program has the form of a story, found out by running it on a few rows."""

import dataclasses
import inspect
from collections.abc import Mapping

import numpy as np

from bayesgen.errors import InvalidStory
from bayesgen.typing import Traceable
from bayesgen.user_story.program import (
    LABEL,
    ROW,
    Arrays,
    Site,
    UserStory,
    in_rows,
    is_drawn,
    is_observed,
    log_prob,
)
from bayesgen.user_story.survey import Survey, survey

FEW = 24
"""Rows on which a program is tried out, spread over all."""


@dataclasses.dataclass(frozen=True)
class Facts:
    """What a program turned out to be.

    shapes: for each parameter the shape of its unconstrained coordinates. labels_alike: whether the
    class probabilities are the same for all rows. start: unconstrained coordinates in the middle of
    the priors.
    """

    shapes: tuple[tuple[str, tuple[int, ...]], ...]
    labels_alike: bool
    start: dict[str, np.ndarray]


def examine(story: UserStory, x: Arrays, y: np.ndarray) -> Facts:
    """Return the facts of a program, tried out on some of the rows.

    Raises:
        InvalidStory: the program breaks the form; the sentence names the site or the plate and
            shows the lines to write.
    """
    import jax

    check_arguments(story)
    some = np.unique(np.linspace(0, len(y) - 1, FEW).astype(int))
    few = {name: array[some] for name, array in x.items()}
    with jax.enable_x64(True):
        shapes = _shapes(story, few, y[some])
        if not shapes:
            raise InvalidStory.no_parameters()
        found = jax.device_get(survey(story, shapes)(few, y[some]))
    _check_company(found, y[some])
    data = sum(v[0] for name, v in found.together.items() if v.ndim == 2 and name != LABEL)
    if np.isfinite(data).all() and _alike(data) and not _equal_rows(few):
        raise InvalidStory.rows_ignored()
    return Facts(shapes, _alike(found.together[LABEL].T), found.start)


def check_arguments(story: UserStory) -> None:
    """Refuse what cannot be called as model(x, y, n_classes=...)."""
    try:
        signature = inspect.signature(story.program)
    except (TypeError, ValueError):  # built in: it will say so itself
        return
    parameters = signature.parameters.values()
    unset = [
        p.name
        for p in parameters
        if p.kind is p.KEYWORD_ONLY and p.default is p.empty and p.name != "n_classes"
    ]
    if unset:
        raise InvalidStory.missing_settings(unset)
    try:
        signature.bind(None, None, n_classes=2)
    except TypeError as error:
        raise InvalidStory.wrong_arguments(str(error)) from None


def _shapes(story: UserStory, x: Arrays, y: np.ndarray) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Return the coordinate shapes of the parameters, from a run in the abstract, form checked."""
    import jax
    import jax.numpy as jnp
    from numpyro.distributions import biject_to

    shapes: dict[str, tuple[int, ...]] = {}

    def value_of(site: Site) -> Traceable | None:
        if site["type"] == "param":
            raise InvalidStory.no_prior(site["name"])
        if not is_drawn(site):
            return None
        _check_drawn(site)
        to_site = biject_to(site["fn"].support)
        shape = to_site.inverse_shape(site["fn"].shape())
        shapes[site["name"]] = tuple(shape)
        return to_site(jnp.zeros(shape))

    def run(x: Mapping, y: Traceable) -> None:
        _check_observed(story.sites(x, y, value_of), len(y))

    jax.eval_shape(run, x, y)
    return tuple(shapes.items())


def _check_drawn(site: Site) -> None:
    if site["name"] == LABEL:
        raise InvalidStory.label_not_observed()
    if in_rows(site):
        raise InvalidStory.hidden_in_row(site["name"])
    if site["fn"].support.is_discrete:
        raise InvalidStory.discrete(site["name"])


def _check_observed(trace: dict[str, Site], n_rows: int) -> None:
    if LABEL not in trace or trace[LABEL]["type"] != "sample":
        raise InvalidStory.no_label()
    for site in filter(is_observed, trace.values()):
        if not in_rows(site):
            if site["name"] == LABEL or n_rows in np.shape(log_prob(site)):
                raise InvalidStory.no_row_plate(site["name"])
            continue
        frames = {frame.dim: frame.size for frame in site["cond_indep_stack"]}
        row = next(frame for frame in site["cond_indep_stack"] if frame.name == ROW)
        if row.dim != -1 or row.size != n_rows:
            raise InvalidStory.wrong_plate(row.dim, row.size, n_rows)
        shape = np.shape(log_prob(site))
        plates = {dim - len(shape): size for dim, size in enumerate(shape) if size > 1}
        if shape[-1:] != (n_rows,) or not plates.keys() <= frames.keys():
            raise InvalidStory.wrong_shape(site["name"], shape, n_rows)
    if not any(in_rows(s) for s in trace.values() if is_observed(s) and s["name"] != LABEL):
        raise InvalidStory.rows_ignored()


def _check_company(found: Survey, y: np.ndarray) -> None:
    """Refuse densities that are others in company than alone, and those of rows beside the rows."""
    for name, density in found.together.items():
        inside = density.ndim == 2
        together = density[y, np.arange(len(y))] if inside else density[y]
        if not np.allclose(found.alone[name], together, rtol=1e-6, atol=1e-9, equal_nan=True):
            raise InvalidStory.rows_depend(name) if inside else InvalidStory.no_row_plate(name)


def _alike(densities: np.ndarray) -> bool:
    """Whether the densities of all rows are equal; rows come first."""
    return bool(np.allclose(densities, densities[:1], rtol=1e-9, atol=1e-12, equal_nan=True))


def _equal_rows(x: Arrays) -> bool:
    return all((_filled(array) == _filled(array[:1])).all() for array in x.values())


def _filled(array: np.ndarray) -> np.ndarray:
    """Return the array with numbers for NaN, which equals nothing."""
    return np.nan_to_num(array, nan=1e99) if array.dtype.kind == "f" else array
