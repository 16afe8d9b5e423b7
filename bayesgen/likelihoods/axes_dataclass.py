"""Frozen dataclasses whose arrays know the words of their axes: kept, grown and saved by them."""

import dataclasses
import functools
from collections.abc import Iterator, Mapping
from typing import ClassVar, TypeVar

import numpy as np

from bayesgen.typing import Traceable

Axes = Mapping[str, tuple[str, ...]]
A = TypeVar("A", bound="Arrays")


class Arrays:
    """A frozen dataclass whose array fields declare the words of their axes in `axes`."""

    axes: ClassVar[Axes] = {}

    def arrays(self) -> dict[str, Traceable]:
        """Return the array fields by name."""
        return {name: getattr(self, name) for name in self.axes}

    def __getstate__(self) -> dict[str, object]:
        """Return the fields alone: what was computed from them and kept is not copied."""
        return {name: getattr(self, name) for name in _fields(type(self))}

    def with_arrays(self: A, arrays: Mapping[str, object]) -> A:
        """Return a copy that holds other arrays (traced ones too: nothing is checked again)."""
        other = object.__new__(type(self))
        vars(other).update(self.__getstate__(), **arrays)
        return other

    def settings(self) -> tuple:
        """Return the fields that are no arrays, hashable: they fix what is traced and compiled."""
        fields = (field.name for field in dataclasses.fields(self))
        return tuple((name, getattr(self, name)) for name in fields if name not in self.axes)

    def take(self: A, axis: str, index: np.ndarray) -> A:
        """Return a copy that keeps the positions `index` of one axis, in that order."""
        return self.with_arrays(
            {
                name: _take(array, self.axes[name], axis, index)
                for name, array in self.arrays().items()
            }
        )


@functools.cache
def _fields(owner: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(owner))


def _take(array: np.ndarray, axes: tuple[str, ...], axis: str, index: np.ndarray) -> np.ndarray:
    for position, word in enumerate(axes, start=-len(axes)):
        # an axis of length one is shared by all positions and stays
        if word == axis and (array.shape[position] != 1 or axis == "feature"):
            array = np.take(array, index, axis=position)
    return array


def reindex(
    array: np.ndarray, axes: tuple[str, ...], axis: str, index: np.ndarray, size: int
) -> np.ndarray:
    """Return an array whose axis has grown to `size`; old position i stands at index[i]."""
    for position, word in enumerate(axes):
        if word == axis:
            shape = list(array.shape)
            shape[position] = size
            grown = np.zeros(shape)
            grown[(*[slice(None)] * position, index)] = array
            array = grown
    return array


def changed_fields(owner: Arrays) -> Iterator[str]:
    """Yield "name=value" of the fields that differ from their defaults, as they would be typed."""
    for field in (field for field in dataclasses.fields(owner) if field.init):
        value = getattr(owner, field.name)
        default = field.default
        if value is default or (np.isscalar(value) and value == default):
            continue
        text = (
            np.array2string(value, precision=4, threshold=12)
            if isinstance(value, np.ndarray)
            else repr(value)
        )
        yield f"{field.name}={text}"
