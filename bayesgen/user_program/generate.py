"""Rows that a user's program draws: simulated ones, and missing cells given the others."""

import functools
import inspect
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors import InvalidProgram, UnsupportedOperation
from bayesgen.likelihoods.base import is_missing
from bayesgen.typing import Encoded, Labels, Traceable
from bayesgen.user_program.program import (
    LABEL,
    SINGLE,
    Site,
    UserProgram,
    evaluated,
    given,
    in_rows,
    is_observed,
    refusing,
)
from bayesgen.user_program.refusals import (
    cannot_impute,
    cannot_simulate,
    described,
    masked,
    wrong_simulation,
)

Shapes = Mapping[str, tuple[int, ...]]
"""Shapes of a row, by array."""


def _by_draw(one: Callable) -> Callable:
    """Return the compiled (seed, values, ...) -> what one(key, value, ...) returns for each value.

    Values lie along the first axis of every array.
    """
    import jax

    def every(seed: Traceable, *arguments: object) -> object:
        n = len(jax.tree.leaves(arguments)[0])
        return jax.vmap(one)(jax.random.split(jax.random.key(seed), n), *arguments)

    return jax.jit(every)


def _row_of(
    program: UserProgram, returned: object, refused: Callable[[str], InvalidProgram]
) -> tuple[dict[str, Traceable], Traceable]:
    """Return the one row by array, and its label (1,), that a program returns.

    Raises:
        InvalidProgram: it returns something else.
    """
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise refused(f"it returned {type(returned).__name__}")
    x, y = returned
    rows = {SINGLE: x} if program.single else x
    if not isinstance(rows, Mapping) or any(np.shape(v)[:1] != (1,) for v in rows.values()):
        raise refused("they are not one row")
    return {name: value[0] for name, value in rows.items()}, y


def _require_shapes(
    rows: Encoded, shapes: Shapes, refused: Callable[[str], InvalidProgram]
) -> None:
    """Raise unless each array has rows of its shape."""
    found = {name: array.shape[1:] for name, array in rows.items()}
    if found != shapes:
        raise refused(f"their shapes are {found}, not {shapes}")


# -- simulated rows --------------------------------------------------------------------------------


def simulate(
    program: UserProgram, values: Mapping[str, np.ndarray], seed: int, shapes: Shapes
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return one row and its class for each set of parameters, values having a leading draw axis.

    Raises:
        InvalidProgram: the program does not run without rows, or does not return (x, y) in the form
            in which it takes them.
    """
    sizes = {}
    width = inspect.signature(program.model).parameters.get("n_features")
    if width is not None and program.single and len(shapes[SINGLE]) == 1:
        # None: left open, to be read from x
        is_open = width.default is width.empty or width.default is None
        sizes = {"n_features": shapes[SINGLE][0]} if is_open else {}
    with refusing(cannot_simulate):
        rows, y = evaluated(_simulator(program, tuple(sizes.items())), seed, dict(values))
    _require_shapes(rows, shapes, wrong_simulation)
    return rows, y


@functools.lru_cache(maxsize=32)
def _simulator(program: UserProgram, sizes: tuple[tuple[str, int], ...]) -> Callable:
    def one(key: Traceable, values: Mapping) -> tuple[dict, Traceable]:
        draw = given(values)
        returned = program.run(None, None, key=key, value_of=draw, n_rows=1, **dict(sizes))[1]
        row, y = _row_of(program, returned, wrong_simulation)
        return row, y[0]

    return _by_draw(one)


# -- missing cells ---------------------------------------------------------------------------------


def draw_missing(
    program: UserProgram,
    values: Mapping[str, np.ndarray],
    x: Mapping[str, np.ndarray],
    y: Labels,
    seed: int,
    numbers: np.ndarray,
) -> dict[str, np.ndarray]:
    """Return rows with missing cells drawn from the program, other cells unchanged.

    A program marks missing cells by a mask on the distribution of an observed site in the rows. A
    masked element is drawn from the distribution without the mask, given parameters and class; its
    position in x is where the program puts it in the returned (x, y).

    Args:
        program: marks missing cells.
        values: the parameters of each row, (row, ...), by site.
        x: rows; NaN, and negative codes that are masked, are missing.
        y: their class codes.
        seed: of the draws.
        numbers: of the rows, for errors.

    Raises:
        UnsupportedOperation: the program marks nothing, or not a missing cell.
        InvalidProgram: the program does not return its input rows.
    """
    n = len(y)
    # rows are filled up to a power of two: few shapes are compiled
    filled = np.minimum(np.arange(1 << (n - 1).bit_length()), n - 1)
    params, rows = ({k: v[filled] for k, v in table.items()} for table in (values, x))
    with refusing(lambda error: cannot_impute(described(error))):
        drawn, marked = evaluated(_imputer(program), seed, params, rows, y[filled])
    _require_shapes(drawn, {name: array.shape[1:] for name, array in x.items()}, cannot_impute)
    out = {}
    for name, array in x.items():
        gaps, new, mark = is_missing(array), drawn[name][:n], marked[name][:n]
        changed = ~mark & (new != array)
        if (changed & gaps).any():
            at_fault = numbers[(changed & gaps).reshape(n, -1).any(axis=1)]
            raise UnsupportedOperation(
                "array {name!r} of X has missing cells in {where:named row} that the program does "
                "not mask. {code}",
                name=name,
                where=at_fault.tolist(),
                code=masked(),
            )
        if changed.any():
            raise cannot_impute(f"observed cells of array {name!r} changed")
        out[name] = np.where(gaps & mark, new, array).astype(array.dtype)
    return out


@functools.lru_cache(maxsize=32)
def _imputer(program: UserProgram) -> Callable:
    """Return (seed, parameters, x, y) -> rows with masked elements drawn, and the cells these are.

    All have a leading axis of rows.
    """
    import jax
    import jax.numpy as jnp

    def one(key: Traceable, values: Mapping, x: Mapping, y: Traceable) -> tuple[dict, dict]:
        row = {name: array[None] for name, array in x.items()}

        def with_masked(fill: Callable[[Site], Traceable]) -> dict[str, Traceable]:
            """Return the row where masked elements have the values that `fill` returns."""
            masks = []

            def value_of(site: Site) -> Traceable | None:
                if site["name"] in values:
                    return values[site["name"]]
                mask = _mask_of(site)
                if mask is None:
                    return None
                masks.append(mask)
                value = jnp.asarray(site["value"])
                return jnp.where(mask, value, jnp.asarray(fill(site)).astype(value.dtype))

            _, returned = program.run(row, y[None], key=key, value_of=value_of)
            if not masks:
                raise UnsupportedOperation(
                    "impute() draws cells that a program of your own marks as missing by a mask, "
                    "and this one has no mask. {code}",
                    code=masked(),
                )
            return _row_of(program, returned, cannot_impute)[0]

        count = itertools.count()
        drawn = with_masked(lambda site: site["fn"].sample(jax.random.fold_in(key, next(count))))
        # a cell is drawn where the returned value depends on the values of masked elements
        zeros, ones = with_masked(lambda site: 0), with_masked(lambda site: 1)
        # NaN in both runs does not indicate dependence
        nothing = {name: jnp.isnan(zeros[name]) & jnp.isnan(ones[name]) for name in zeros}
        return drawn, {name: (zeros[name] != ones[name]) & ~nothing[name] for name in zeros}

    return _by_draw(one)


def _mask_of(site: Site) -> Traceable | None:
    """Return the mask of an observed site in the rows, or None."""
    import jax.numpy as jnp
    from numpyro import distributions as dist

    if not (is_observed(site) and in_rows(site)) or site["name"] == LABEL:
        return None
    fn, mask = site["fn"], None
    wrapped = dist.MaskedDistribution | dist.Independent | dist.ExpandedDistribution
    while isinstance(fn, wrapped):
        if isinstance(fn, dist.MaskedDistribution):
            # numpyro has no public name for it; one element of the mask stands for an event
            elements = jnp.asarray(fn._mask)
            elements = elements.reshape(elements.shape + (1,) * len(fn.event_shape))
            mask = elements if mask is None else mask & elements
        fn = fn.base_dist
    return mask
