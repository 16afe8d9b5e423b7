"""Imputation by a user's program: draws of masked cells given the others."""

import functools
import itertools
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.errors import InvalidProgram, UnsupportedOperation
from bayesgen.typing import Traceable
from bayesgen.user_program.program import (
    LABEL,
    Site,
    UserProgram,
    given,
    in_rows,
    is_observed,
    row_of,
)
from bayesgen.user_program.refusals import cannot_impute, masked


def require_masks(
    program: UserProgram, point: Mapping[str, np.ndarray], x: Mapping[str, np.ndarray]
) -> None:
    """Raise for a program that masks no observed site of the rows x.

    Args:
        program: a user's.
        point: one set of parameters.
        x: rows.

    Raises:
        UnsupportedOperation: with the lines to write.
    """
    import jax

    found: list[bool] = []

    def run(point: Mapping, x: Mapping, y: Traceable) -> None:
        trace = program.sites(x, y, given(point))
        found.extend(_mask_of(site) is not None for site in trace.values())

    with jax.enable_x64(True):
        jax.eval_shape(run, dict(point), dict(x), np.zeros(len(next(iter(x.values()))), int))
    if not any(found):
        raise UnsupportedOperation(
            "impute() draws cells that a program of your own marks as missing by a mask, and "
            "this one has no mask. {code}",
            code=masked(),
        )


def draw_missing(
    program: UserProgram,
    values: Mapping[str, np.ndarray],
    x: Mapping[str, np.ndarray],
    y: np.ndarray,
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
        UnsupportedOperation: a missing cell that the program does not mark.
        InvalidProgram: the program does not return its input rows.
    """
    import jax

    # rows are filled up to a power of two: few shapes are compiled
    filled = np.minimum(np.arange(1 << (len(y) - 1).bit_length()), len(y) - 1)
    params, rows = ({k: v[filled] for k, v in table.items()} for table in (values, x))
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(seed), len(filled))
        try:
            drawn, marked = jax.device_get(_imputer(program)(params, rows, y[filled], keys))
        except InvalidProgram:
            raise
        # a program of the user's own may stop in any way
        except Exception as error:
            raise cannot_impute(f"{type(error).__name__}: {error}") from error
    shapes, wanted = ({k: v.shape[1:] for k, v in rows.items()} for rows in (drawn, x))
    if shapes != wanted:
        raise cannot_impute(f"their shapes are {shapes}, not {wanted}")
    n = len(y)
    return {k: _imputed(k, v, drawn[k][:n], marked[k][:n], numbers) for k, v in x.items()}


def _imputed(
    name: str, x: np.ndarray, drawn: np.ndarray, marked: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Return cells of one array, missing ones drawn; unmarked ones must come back unchanged.

    name: of the array. drawn, marked: what the program returned, and which cells followed a mask.
    """
    gaps = is_missing(x)
    other = ~marked & (drawn != x)
    if (other & gaps).any():
        rows = numbers[(other & gaps).reshape(len(x), -1).any(axis=1)]
        raise UnsupportedOperation(
            "array {name!r} of X has missing cells in row {where:listed} that the program does "
            "not mask. {code}",
            name=name,
            where=rows.tolist(),
            code=masked(),
        )
    if other.any():
        raise cannot_impute(f"observed cells of array {name!r} changed")
    return np.where(gaps & marked, drawn, x).astype(x.dtype)


def is_missing(x: np.ndarray) -> np.ndarray:
    """Return which cells may be missing: NaN, or a negative code."""
    return np.isnan(x) if x.dtype.kind == "f" else x < 0


@functools.lru_cache(maxsize=32)
def _imputer(program: UserProgram) -> Callable:
    import jax
    import jax.numpy as jnp

    def one(values: Mapping, x: Mapping, y: Traceable, key: Traceable) -> tuple[dict, dict]:
        row = {name: array[None] for name, array in x.items()}

        def with_masked(fill: Callable[[Site], Traceable]) -> dict[str, Traceable]:
            """Return the row where masked elements have the values that `fill` returns."""

            def value_of(site: Site) -> Traceable | None:
                if site["name"] in values:
                    return values[site["name"]]
                mask = _mask_of(site)
                if mask is None:
                    return None
                value = jnp.asarray(site["value"])
                return jnp.where(mask, value, jnp.asarray(fill(site)).astype(value.dtype))

            _, returned = program.run(row, y[None], key=key, value_of=value_of)
            return row_of(program, returned, cannot_impute)[0]

        count = itertools.count()
        drawn = with_masked(lambda site: site["fn"].sample(jax.random.fold_in(key, next(count))))
        # a cell is drawn where the returned value depends on the values of masked elements
        zeros, ones = with_masked(lambda site: 0), with_masked(lambda site: 1)
        # NaN in both runs does not indicate dependence
        nothing = {name: jnp.isnan(zeros[name]) & jnp.isnan(ones[name]) for name in zeros}
        return drawn, {name: (zeros[name] != ones[name]) & ~nothing[name] for name in zeros}

    return jax.jit(jax.vmap(one))


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
            own = jnp.asarray(fn._mask)
            own = own.reshape(own.shape + (1,) * len(fn.event_shape))
            mask = own if mask is None else mask & own
        fn = fn.base_dist
    return mask
