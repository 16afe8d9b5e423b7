"""Families in words: their densities and settings, and draws of parameters by entry."""

import dataclasses
import inspect
import itertools
import pprint
import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Traceable


@dataclasses.dataclass(frozen=True)
class Description:
    """A family in words.

    distribution: of a row given its class. dependence: of the columns of the row. settings: "rows
    4, spread shared"; "" without any.
    """

    distribution: str
    dependence: str
    settings: str


@dataclasses.dataclass(frozen=True, eq=False)
class Marginals:
    """Draws of one parameter, entry by entry.

    name: of the parameter, in words. entries: what each entry is of, such as a column; "" for a
    single one. values: the draws; a class axis of length one is shared by all classes.
    """

    name: str
    entries: tuple[str, ...]
    values: Float[np.ndarray, "*draws class entry"]


def marginals(
    name: str,
    draws: np.ndarray,
    axes: Sequence[str],
    labels: Mapping[str, Sequence[str]],
) -> Marginals:
    """Return draws of a parameter of any shape, entry by entry.

    Args:
        name: of the parameter, in words.
        draws: of shape (*draws, *axes).
        axes: their names; the axis of classes is the first, if there is one.
        labels: names of the positions of an axis; positions of others are counted.
    """
    lead = draws.ndim - len(axes)
    if tuple(axes[:1]) != ("class",):
        draws, axes = np.expand_dims(draws, lead), ("class", *axes)
    sizes = zip(axes[1:], draws.shape[lead + 1 :], strict=True)
    positions = [labels.get(axis) or [f"{axis} {i}" for i in range(n)] for axis, n in sizes]
    entries = tuple(", ".join(position).strip() for position in itertools.product(*positions))
    return Marginals(name, entries, draws.reshape(*draws.shape[: lead + 1], len(entries)))


def covariance_marginals(
    factor: np.ndarray, axes: Sequence[str], columns: Sequence[str]
) -> list[Marginals]:
    """Return variances, and covariances by pair, of draws of a triangular factor L of L L'.

    Args:
        factor: draws of L, shape (*draws, *axes).
        axes: their names; the axis of classes is the first, if there is one.
        columns: names of the positions of the last two.
    """
    matrix = factor @ np.swapaxes(factor, -1, -2)
    matrix = matrix if axes[0] == "class" else matrix[..., None, :, :]
    first, second = np.triu_indices(len(columns), 1)
    pairs = tuple(f"{a}, {b}" for a, b in itertools.combinations(columns, 2))
    variances = np.diagonal(matrix, axis1=-2, axis2=-1)
    return [
        Marginals("variance", tuple(columns), variances),
        Marginals("covariance", pairs, matrix[..., first, second]),
    ]


def settings(family: Any) -> str:
    """Return the numbers and words of a dataclass: "variance_rows 8, spread shared".

    Words are left out where they are the default, numbers where they are 0.
    """
    named = []
    for field in (field for field in dataclasses.fields(family) if field.init):
        value = getattr(family, field.name)
        if isinstance(value, str) and value != field.default:
            named.append(f"{field.name} {value}")
        elif isinstance(value, int | float | np.number) and value != 0:
            named.append(f"{field.name} {value:g}")
    return ", ".join(named)


def source(function: Callable) -> str:
    """Return the source code of a function; a comment in place of code that is not available."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"# the source of {getattr(function, '__name__', 'it')} is not available\n"


def literal(values: Traceable, lead: int = 1) -> str:
    """Return an array as code; of its first `lead` axes, those along which nothing varies go."""
    values = np.asarray(values)
    while lead and values.ndim and (values == values[:1]).all():
        values, lead = values[0], lead - 1
    code = pprint.pformat(values.tolist(), width=72, compact=True)
    return f"jnp.array({textwrap.indent(code, ' ' * 10).lstrip()})" if values.ndim else code
