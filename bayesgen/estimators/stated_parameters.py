"""The posterior at stated parameters: the Bayes rule under known densities."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from bayesgen.errors import InvalidArgument, Words
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.operations import unsupported
from bayesgen.estimators.fitted import Fitted
from bayesgen.inference import Posterior, Report
from bayesgen.inference.draws import point_estimate
from bayesgen.likelihoods import Likelihood
from bayesgen.typing import Params

VERDICT = "The parameters were stated."
TOLERANCE = 1e-8
"""By how much probabilities may differ from a sum of one, and a matrix from its transpose."""


@dataclasses.dataclass(frozen=True)
class Slot:
    """A parameter to state. name: as in `summary`. axes: their names. shape: of its array."""

    name: str
    axes: tuple[str, ...]
    shape: tuple[int, ...]


def stated(fitted: Fitted, stated: Mapping[str, Any]) -> Fitted:
    """Return the model at stated parameters; see `Classifier.with_parameters`."""
    families = fitted.posterior.families
    shapes = fitted.posterior.components.parameters(np.random.default_rng(0), 1)
    if not families or "class" not in shapes:
        raise unsupported(
            "with_parameters() of this classifier",
            "its parameters are not those of likelihoods (a stack has several sets, and a program "
            "names its own)",
            "Use a classifier of likelihoods, such as bg.LDA().",
        )
    found: dict[str, Params] = {}
    slots = {
        (owner, name): _slot(owner, name, value.shape[1:], families)
        for owner, values in shapes.items()
        for name, value in values.items()
    }
    _check_names(stated, [slot.name for slot in slots.values()])
    for (owner, name), slot in slots.items():
        value = _array(slot, stated[slot.name])
        support = "simplex" if owner == "class" else families[owner].supports.get(name, "real")
        _check_support(slot, value, str(support), _segments(fitted, owner, slot))
        if name == "cholesky":
            value = _cholesky(slot, value)
        found.setdefault(owner, {})[name] = value
    origin = fitted.state.origins(fitted.posterior.reader)
    moved = {
        name: families[name].shift_params(values, -origin[name])
        for name, values in found.items()
        if name != "class"
    }
    every = {name: moved.get(name, {}) for name in families}
    report = Report("stated", converged=True, outcome=Words(VERDICT))
    params = {"class": found["class"], **every}
    components = point_estimate(params, families, fitted.posterior.reader, report)
    return dataclasses.replace(fitted, inferred=Posterior(components))


def _slot(
    owner: str, name: str, shape: tuple[int, ...], families: Mapping[str, Likelihood]
) -> Slot:
    axes = ("class",) if owner == "class" else tuple(families[owner].param_axes[name])
    public = "covariance" if name == "cholesky" else name
    return Slot(f"{owner}.{public}", axes, shape)


def _check_names(stated: Mapping[str, Any], wanted: list[str]) -> None:
    """Raise unless exactly the parameters of the model are stated."""
    needed = f"an array for each of {', '.join(wanted)}"
    cure = "Pass these; clf.summary() shows their entries."
    if not isinstance(stated, Mapping):
        raise out_of_range("parameters", stated, needed, cure)
    if set(stated) != set(wanted):
        raise out_of_range("parameters", list(stated), needed, cure)


def _array(slot: Slot, value: object) -> np.ndarray:
    """Return a stated array; an axis of length one, shared by all classes, may be left out."""
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        array = np.full(0, np.nan)
    shapes = [slot.shape[1:], slot.shape] if slot.shape[:1] == (1,) else [slot.shape]
    if array.shape not in shapes:
        raise out_of_range(
            f"the shape of parameters[{slot.name!r}]",
            np.shape(array),
            f"{shapes[0]}, that is ({', '.join(slot.axes[-len(shapes[0]) :])})",
            "Reshape it.",
        )
    if not np.isfinite(array).all():
        raise _refused(slot, "an entry", array[~np.isfinite(array)][0], "finite numbers")
    return array.reshape(slot.shape)


def _segments(fitted: Fitted, owner: str, slot: Slot) -> np.ndarray:
    """Return which entries of the last axis sum to one together, by number."""
    size = slot.shape[-1] if slot.shape else 0
    if slot.axes[-1:] != ("level",):
        return np.zeros(size, dtype=int)
    names = fitted.state.level_names(fitted.posterior.reader, owner)
    columns = fitted.state.schema.blocks[owner]
    of = {f"{c.name}={level}": i for i, c in enumerate(columns) for level in c.levels}
    return np.array([of[name] for name in names])


def _check_support(slot: Slot, value: np.ndarray, support: str, segments: np.ndarray) -> None:
    if support == "positive" and not (value > 0).all():
        raise _refused(slot, "an entry", value.min(), "numbers above 0")
    out = value[(value < 0) | (value > 1)]
    if support in ("probability", "simplex") and len(out):
        raise _refused(slot, "an entry", out[0], "probabilities from 0 to 1")
    if support == "simplex":
        for segment in np.unique(segments):
            total = value[..., segments == segment].sum(axis=-1)
            far = np.ravel(total)[abs(np.ravel(total) - 1).argmax()]
            if abs(far - 1) > TOLERANCE:
                raise _refused(slot, "a sum of probabilities", far, "1, in each class and column")


def _cholesky(slot: Slot, value: np.ndarray) -> np.ndarray:
    apart = abs(value - value.mT).max()
    if apart > TOLERANCE * abs(value).max():
        raise _refused(slot, "the largest difference of mirrored entries", apart, "0")
    try:
        return np.linalg.cholesky(value)
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(value).min()
        raise _refused(slot, "the smallest eigenvalue", least, "numbers above 0") from None


def _refused(slot: Slot, what: str, found: float, allowed: str) -> InvalidArgument:
    name = f"{what} of parameters[{slot.name!r}]"
    return out_of_range(name, float(found), allowed, "Correct the array.")
