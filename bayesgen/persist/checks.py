"""What must hold of the parts of a model that came from a file, before they answer anything."""

import dataclasses
import functools
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import numpy as np
from jaxtyping import AbstractArray

from bayesgen.inference import Draws, Posterior, PowerPosterior
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.axes_dataclass import Arrays
from bayesgen.model import ModelStatistics
from bayesgen.persist.known import declared
from bayesgen.schema import NumericColumns, Schema
from bayesgen.sealed import InvalidStructure
from bayesgen.table import Name, PositionNames

CONTAINERS = (tuple, list, dict)


# -- types -----------------------------------------------------------------------------------------


def require_kind(made: object) -> None:
    """Refuse an object whose fields are not of the types that its class declares."""
    for name, hint in _hints(type(made)).items():
        value = getattr(made, name)
        if not matches(value, hint):
            owner = f"{type(made).__name__}.{name}"
            raise InvalidStructure(
                f"{owner} is a {type(value).__name__}, which does not belong there"
            )


@functools.cache
def _hints(cls: type) -> Mapping[str, object]:
    try:
        hints = typing.get_type_hints(cls)
    except NameError:  # a class of the user's own, made inside a function
        return {}
    return {name: hints[name] for name in declared(cls)}


def matches(value: object, hint: object) -> bool:
    """Say whether a value is of an annotated type; annotations that say nothing allow anything."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        # what becomes an array may be told as a list or as a number of any kind
        numbers = any(map(_is_array, inner)) and isinstance(value, np.number | list | tuple)
        return numbers or any(matches(value, one) for one in inner)
    if origin is typing.Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, float | int | np.number) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if origin in CONTAINERS:
        return isinstance(value, origin) and _all_match(value, origin, inner)
    if isinstance(origin, type):
        return isinstance(value, origin)
    if _is_array(hint):
        # the words of shapes hold between arguments of a call; here the type of array is asked
        hint = cast(type[AbstractArray], hint).array_type
    return hint is Any or not isinstance(hint, type) or isinstance(value, hint)


def _is_array(hint: object) -> bool:
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def _all_match(value: tuple | list | dict, origin: type, inner: tuple) -> bool:
    if not inner:
        return True
    if isinstance(value, dict):
        return all(matches(k, inner[0]) and matches(v, inner[1]) for k, v in value.items())
    if origin is tuple and Ellipsis not in inner:
        pairs = zip(value, inner, strict=False)
        return len(value) == len(inner) and all(matches(v, one) for v, one in pairs)
    return all(matches(v, inner[0]) for v in value)


# -- shapes ----------------------------------------------------------------------------------------


def require_fit(
    schema: Schema,
    likelihoods: Mapping[str, Likelihood],
    classes: np.ndarray,
    statistics: ModelStatistics,
    posterior: Posterior | None,
) -> None:
    """Refuse parts of one model that have other blocks, classes, columns or levels, or hold NaN."""
    blocks = schema.blocks
    for where, found in (("likelihoods", likelihoods), ("statistics", statistics.blocks)):
        _require_blocks(where, found, blocks)
    _require_columns(schema)
    if classes.ndim != 1:
        raise InvalidStructure("classes is no list of labels")
    n_classes = len(classes)
    _require_axes("the weight of classes", statistics.count, ("class",), {"class": n_classes})
    for name, columns in blocks.items():
        dataclasses.replace(cast(Any, likelihoods[name]))  # the family refuses what is no prior
        sizes = {"class": n_classes, "feature": len(columns), "level": sum(schema.n_levels(name))}
        _require_arrays(name, statistics.blocks[name], sizes, shared=False)
    if posterior is not None:
        _require_posterior(schema, n_classes, posterior)


def _require_columns(schema: Schema) -> None:
    known = schema.names if isinstance(schema.names, PositionNames) else set(schema.names)
    named: list[Name] = []
    fits = True
    for part in schema.blocks.values():
        names = part.names if isinstance(part, NumericColumns) else [column.name for column in part]
        if isinstance(names, PositionNames):
            # a million numbered columns are told by their number: they are compared as one
            fits = fits and names == schema.names
        else:
            named.extend(names)
    if not fits or len(set(named)) < len(named) or any(name not in known for name in named):
        raise InvalidStructure("its blocks have other columns than its table")


def _require_posterior(schema: Schema, n_classes: int, posterior: Posterior) -> None:
    if isinstance(posterior, PowerPosterior):
        return _require_posterior(schema, n_classes, posterior.base)
    reader = posterior.reader
    live = list(reader.kept)
    for where, found in (("reader", reader.full), ("posterior", posterior.families)):
        _require_blocks(where, found, live)
    for name in live:
        if name not in schema.blocks:
            raise InvalidStructure(
                f"the posterior has the block {name!r}, which no column belongs to"
            )
        sizes = {"feature": len(schema.blocks[name]), "level": sum(schema.n_levels(name))}
        axis, kept = reader.full[name].subset_axis, reader.kept[name]
        if kept is not None:
            sizes[axis] = _require_positions(name, kept, sizes.get(axis))
        sizes["class"] = n_classes
        _require_arrays(
            name, posterior.families[name], sizes, shared=True, finite=_exact(posterior)
        )
        if isinstance(posterior, Draws):
            _require_draws(posterior, name, sizes)
    if isinstance(posterior, Draws):
        probs = posterior.params["class"]["probs"]
        _require_axes("class.probs", probs, ("chain", "draw", "class"), {"class": n_classes})


def _require_draws(posterior: Draws, name: str, sizes: Mapping[str, int]) -> None:
    chain, draw = posterior.shape
    sizes = dict(sizes) | {"chain": chain, "draw": draw}
    axes = posterior.families[name].param_axes
    _require_blocks("the posterior's draws", posterior.params[name], axes)
    for parameter, words in axes.items():
        where, value = f"{name}.{parameter}", posterior.params[name][parameter]
        _require_axes(where, value, ("chain", "draw", *words), sizes, shared=True)


def _exact(posterior: Posterior) -> bool:
    """Say whether the families of a posterior are what answers (draws have only their settings)."""
    return not isinstance(posterior, Draws)


def _require_blocks(where: str, found: Mapping, wanted: Iterable[str]) -> None:
    if set(found) != set(wanted):
        listed, others = ", ".join(map(str, found)), ", ".join(map(str, wanted))
        raise InvalidStructure(
            f"{where} has {listed or 'nothing'} where {others or 'nothing'} belongs"
        )


def _require_positions(name: str, kept: np.ndarray, size: int | None) -> int:
    fits = kept.ndim == 1 and kept.dtype.kind == "i" and (kept >= 0).all()
    if not fits or (size is not None and (kept >= size).any()):
        raise InvalidStructure(f"what is kept of {name} is no part of its {size}")
    return len(kept)


def _require_arrays(
    name: str, owner: Arrays, sizes: Mapping[str, int], *, shared: bool, finite: bool = True
) -> None:
    for number, member in enumerate(getattr(owner, "members", ())):
        where = f"{name}, member {number}"
        _require_arrays(where, member, sizes, shared=shared, finite=finite)
    sizes = dict(sizes)
    for field, words in owner.axes.items():
        where, value = f"{name}.{field}", getattr(owner, field)
        if value is None and shared:
            raise InvalidStructure(f"{where} is missing")
        if isinstance(value, np.ndarray):
            # rows that are kept have their holes
            whole = finite and "entry" not in words
            _require_axes(where, value, words, sizes, shared=shared, finite=whole)
            sizes |= dict(_sizes(value, words, shared=shared))


def _require_axes(
    where: str,
    value: object,
    words: tuple[str, ...],
    sizes: Mapping[str, int],
    *,
    shared: bool = False,
    finite: bool = True,
) -> None:
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "biuf":
        raise InvalidStructure(f"{where} is no array of numbers")
    if value.ndim != len(words):
        raise InvalidStructure(
            f"{where} has the shape {value.shape} where ({', '.join(words)}) belongs"
        )
    for word, size in _sizes(value, words, shared=shared):
        if word in sizes and sizes[word] != size:
            raise InvalidStructure(
                f"{where} has {size} along its {word} axis where {sizes[word]} belong"
            )
    if finite and value.dtype.kind == "f" and np.isnan(value).any():
        raise InvalidStructure(f"{where} holds NaN")


def _sizes(value: np.ndarray, words: tuple[str, ...], *, shared: bool) -> Iterator[tuple[str, int]]:
    """Yield word and length of each axis; where all positions may share one, length 1 says none."""
    for word, size in zip(words, value.shape, strict=True):
        if not (shared and size == 1):
            yield word, size
