"""A reading that the package does not have: percentages as text, such as "12.5 %", are numbers."""

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bayesgen.schema.readings import READINGS, Indicator
from bayesgen.schema.readings.numbers import Numbers
from bayesgen.schema.suspects import not_in_form
from bayesgen.table import Name, TableColumn

PERCENT = re.compile(r"\s*([+-]?\d+(?:\.\d+)?) ?%\s*")


@dataclass(frozen=True)
class Percent(Numbers):
    """A column of percentages; cells that are numbers already are percentages too."""

    name: Name
    origin: float | None = 0.0

    @property
    def in_files(self) -> str:
        return "text"

    @property
    def form(self) -> str:
        return "percentages"

    @classmethod
    def takes(cls, found: TableColumn) -> bool:
        texts = [level for level in found.levels if isinstance(level, str)]
        return (
            bool(found.levels) and len(texts) == len(found.levels) and all(map(is_percent, texts))
        )

    @classmethod
    def learn(cls, found: TableColumn) -> "tuple[Percent, ...]":
        return (cls(found.name),)

    def numbers(self, found: TableColumn) -> np.ndarray:
        if found.kind == "number":
            return found.values
        if not self.takes(found) and not found.is_missing:
            raise not_in_form(found, self.form, is_percent)
        texts = [PERCENT.fullmatch(str(level)) for level in found.levels]
        return np.array([*(float(text[1]) for text in texts if text), np.nan])[found.values]

    def decode(self, cells: np.ndarray) -> np.ndarray:
        texts = [None if np.isnan(x) else f"{x:.10g} %" for x in self.in_units(cells).tolist()]
        return np.array([*texts, None], dtype=object)[:-1]


def is_percent(text: str) -> bool:
    return PERCENT.fullmatch(text) is not None


def form(text: str) -> str:
    """Return a text with its number left out, if it is a percentage."""
    return PERCENT.sub("1 %", text) if is_percent(text) else text


@contextlib.contextmanager
def registered(cls: type[Numbers] = Percent) -> Iterator[None]:
    """Let blocks of numbers take percentages, or others: the line that a new reading needs."""
    READINGS.insert(READINGS.index(Indicator), cls)
    try:
        yield
    finally:
        READINGS.remove(cls)
