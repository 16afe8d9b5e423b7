"""Which classes a file may name, and under which names: nothing else is ever made from a file."""

import dataclasses
import inspect
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast, get_args

from bayesgen.classes import ClassPrior
from bayesgen.inference import Method, Posterior, Report
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.schema import Column, NumericColumns, PowerTransform, PowerTransforms, Schema
from bayesgen.table import PositionNames

ROOTS = {"likelihood": Likelihood, "statistics": Statistics, "posterior": Posterior}
"""Whatever derives from these in this library is known; a new family needs no line here."""


@dataclasses.dataclass(frozen=True, eq=False)
class Record:
    """An estimator taken apart: the name of its class, its parameters, what fitting left behind."""

    estimator: str
    parameters: dict[str, object]
    fitted: dict[str, object]


VALUES = (
    *(
        Record,
        Schema,
        PowerTransform,
        PowerTransforms,
        Column,
        NumericColumns,
        PositionNames,
        ClassPrior,
        Repair,
    ),
    *(Model, ModelStatistics, Reader, Report),
)
"""Other dataclasses of this library that a fit may leave behind: one more is one more here."""

Registry = Mapping[str, type]


class UnknownClass(ValueError):
    """A file names a class that is not in the registry."""


def registry(more: Iterable[type] = (), yours: Mapping[str, type] | None = None) -> dict[str, type]:
    """Return name -> dataclass for everything that a file may hold.

    Args:
        more: classes of this library above this layer.
        yours: classes of the user's own, by name.
    """
    found = {f"value.{cls.__name__}": cls for cls in (*VALUES, *more)}
    found |= {f"method.{cls.__name__}": cls for cls in get_args(Method)}
    for kind, root in ROOTS.items():
        concrete = (cls for cls in descendants(root) if not inspect.isabstract(cls))
        found |= {f"{kind}.{cls.__name__}": cls for cls in concrete if ours(cls)}
    return found | {
        name: cls for name, cls in (yours or {}).items() if dataclasses.is_dataclass(cls)
    }


def name_of(value: object, known: Registry) -> str | None:
    """Return the name of an object's class in files, or None where it has none."""
    cls = type(value)
    for name, candidate in known.items():
        if candidate is cls:
            return name
    yours = isinstance(value, tuple(ROOTS.values())) and dataclasses.is_dataclass(cls)
    return f"yours.{cls.__name__}" if yours else None


def declared(cls: type) -> dict[str, dataclasses.Field]:
    """Return the fields of a dataclass by name."""
    return {field.name: field for field in dataclasses.fields(cast(Any, cls))}


def descendants(root: type) -> Iterator[type]:
    """Yield every class that derives from another and exists in this process."""
    for cls in root.__subclasses__():
        yield cls
        yield from descendants(cls)


def ours(cls: type) -> bool:
    """Say whether a class is part of this library."""
    return cls.__module__.split(".")[0] == "bayesgen"
