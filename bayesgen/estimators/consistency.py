"""Validate that the parts of a model from a file agree: blocks, classes, columns, levels, draws."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, cast

import numpy as np

from bayesgen.estimators.training import TrainingState
from bayesgen.inference import Posterior
from bayesgen.likelihoods.base import Arrays
from bayesgen.persist import InvalidStructure
from bayesgen.schema import NumericColumns, Schema

DRAW = ("chain", "draw")
Sizes = Mapping[str, int]


def require_consistent(fitted: Mapping[str, object]) -> None:
    """Refuse attributes of a fit that contradict each other.

    Raises:
        InvalidStructure: it says which.
    """
    if "members_" in fitted:
        _require_stack(fitted)
    if "state_" not in fitted:
        return
    state, classes = fitted.get("state_"), fitted.get("classes_")
    posterior = fitted.get("_posterior")
    if not (
        isinstance(state, TrainingState) and isinstance(classes, np.ndarray) and classes.ndim == 1
    ):
        raise InvalidStructure("it does not say what was learned")
    if not isinstance(posterior, Posterior | None) or classes.tolist() != state.classes.tolist():
        raise InvalidStructure("its classes are not those that were learned")
    sizes = {name: _sizes(state.schema, name, len(classes)) for name in state.schema.blocks}
    _require_learned(state, sizes)
    if posterior is not None:
        _require_posterior(posterior, sizes, len(classes))


def _require_stack(fitted: Mapping[str, object]) -> None:
    members, weights, classes = (fitted.get(n) for n in ("members_", "weights_", "classes_"))
    if not (isinstance(members, dict) and isinstance(weights, dict) and members):
        raise InvalidStructure("it does not say what it is made of")
    if list(members) != list(weights) or not isinstance(classes, np.ndarray):
        raise InvalidStructure("its members have other names than their weights")
    if any(member.classes_.tolist() != classes.tolist() for member in members.values()):
        raise InvalidStructure("a member has other classes")
    share = np.array(list(weights.values()), dtype=float)
    if not (share > 0).all() or abs(share.sum() - 1) > 1e-6:
        raise InvalidStructure("the weights of its members are not positive, or do not sum to 1")


def _sizes(schema: Schema, block: str, n_classes: int) -> dict[str, int]:
    """Return the lengths of the axes of a block."""
    n_features, n_levels = len(schema.blocks[block]), sum(schema.n_levels(block))
    return {"class": n_classes, "feature": n_features, "level": n_levels}


def _require_learned(learned: TrainingState, sizes: Mapping[str, Sizes]) -> None:
    _require_names("likelihoods", learned.likelihoods, sizes)
    _require_names("statistics", learned.statistics.blocks, sizes)
    blocks = learned.schema.blocks.values()
    names = [c.name for part in blocks if not isinstance(part, NumericColumns) for c in part]
    if names and (len(set(names)) < len(names) or not set(names) <= set(learned.schema.names)):
        raise InvalidStructure("its blocks have other columns than its table")
    every = {"class": len(learned.classes)}
    _require_axes("the weight of classes", learned.statistics.count, ("class",), every)
    for name in sizes:
        dataclasses.replace(cast(Any, learned.likelihoods[name]))  # refuses what is not a prior
        _require_arrays(name, learned.statistics.blocks[name], sizes[name], shared=False)


def _require_posterior(posterior: Posterior, sizes: Mapping[str, Sizes], n_classes: int) -> None:
    reader, families = posterior.reader, posterior.families
    _require_names("the reader", reader.full, reader.kept)
    _require_names("the posterior", families, reader.kept)
    if np.shape(posterior.log_classes()) != (n_classes,):
        raise InvalidStructure(f"the posterior does not have {n_classes} classes")
    params = getattr(getattr(posterior, "base", posterior), "params", None)
    draws: dict[str, int] = {}
    if params is not None:
        probs = params["class"]["probs"]
        _require_axes("class.probs", probs, (*DRAW, "class"), {"class": n_classes})
        draws = dict(zip(DRAW, probs.shape, strict=False))
    for name, family in families.items():
        found, kept = dict(sizes[name]), reader.kept[name]
        if kept is not None:
            axis = reader.full[name].subset_axis
            if not ((kept >= 0) & (kept < found[axis])).all():
                raise InvalidStructure(f"what is kept of {name} is not a part of its {found[axis]}")
            found[axis] = len(kept)
        # draws have only the settings of their families
        _require_arrays(name, family, found, shared=True, finite=params is None)
        if params is not None:
            _require_names(f"the draws of {name}", params[name], family.param_axes)
            for site, words in family.param_axes.items():
                where, value = f"{name}.{site}", params[name][site]
                _require_axes(where, value, (*DRAW, *words), found | draws, shared=True)


def _require_names(where: str, found: Iterable[str], wanted: Iterable[str]) -> None:
    if set(found) != set(wanted):
        listed, others = (", ".join(map(str, names)) or "nothing" for names in (found, wanted))
        raise InvalidStructure(f"{where} has {listed} where {others} belongs")


def _require_arrays(
    where: str, owner: Arrays, sizes: Sizes, *, shared: bool, finite: bool = True
) -> None:
    """Refuse arrays that do not have their declared axes.

    shared: whether all positions of an axis may share one value. finite: whether NaN is refused.
    """
    for number, member in enumerate(getattr(owner, "members", ())):
        _require_arrays(f"{where}, member {number}", member, sizes, shared=shared, finite=finite)
    found = sizes
    for name, words in owner.axes.items():
        # rows that are kept have their missing values
        whole = finite and "entry" not in words
        value = getattr(owner, name)
        found = _require_axes(f"{where}.{name}", value, words, found, shared=shared, finite=whole)


def _require_axes(
    where: str,
    value: object,
    words: tuple[str, ...],
    sizes: Sizes,
    *,
    shared: bool = False,
    finite: bool = True,
) -> Sizes:
    """Refuse an array that does not have its axes; return the lengths of all that are known.

    shared: whether all positions of an axis may share one value; a length of 1 then says nothing.
    """
    if not isinstance(value, np.ndarray | float) or np.asarray(value).dtype.kind not in "biuf":
        raise InvalidStructure(f"{where} is not an array of numbers")
    shape, found = np.shape(value), dict(sizes)
    if len(shape) != len(words):
        raise InvalidStructure(f"{where} has the shape {shape} where ({', '.join(words)}) belongs")
    for word, size in zip(words, shape, strict=True):
        if not (shared and size == 1) and found.setdefault(word, size) != size:
            wanted = f"{size} along its {word} axis where {found[word]} belong"
            raise InvalidStructure(f"{where} has {wanted}")
    if finite and np.isnan(value).any():
        raise InvalidStructure(f"{where} holds NaN")
    return found
