"""Columns of numbers that are written as text in one form: percent, currency, a unit, thousands."""

import dataclasses
from typing import ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float, Num

from bayesgen.schema.number_forms import FEWEST_COMMAS, NumberForm, may_share_a_form
from bayesgen.schema.readings.numbers import Numbers, two_forms
from bayesgen.schema.readings.reading import Reading, Readings
from bayesgen.schema.text_cells import form_and_numbers, not_in_form
from bayesgen.table import Name, TableColumn
from bayesgen.typing import Self

NOTHING = NumberForm()


@dataclasses.dataclass(frozen=True)
class Decorated(Numbers):
    """A column of numbers as text, each in the same form; numbers as such may stand among them.

    Plain numbers as text are numbers where blanks show that a file was read: others may be codes,
    which were made text on purpose.

    written: their form.
    """

    kind: ClassVar[str] = "numbers"

    name: Name
    written: NumberForm = NOTHING
    origin: float | None = 0.0

    @property
    def form(self) -> str:
        """What text its numbers are written as."""
        return self.written.words

    @property
    def in_files(self) -> str:
        """The kind of its cells in files."""
        return "text"

    @classmethod
    def takes(cls, found: TableColumn) -> bool:
        """Return whether a column holds text, all of it numbers in one form."""
        return _form_of_all(found) is not None

    @classmethod
    def learn(cls, found: TableColumn) -> tuple[Self, ...]:
        """Return the column, in the form of its cells."""
        return (cls(found.name, written=_form_of_all(found) or NOTHING),)

    def merge(self, found: TableColumn) -> Readings:
        """Return the column after one more batch, which may show more of the form."""
        if found.kind == "number" or found.is_missing:
            return (self,)
        form, in_form = form_and_numbers(found, self.written)
        return self.united(dataclasses.replace(self, written=form)) if in_form.all() else (self,)

    def in_one_form(self, other: Reading) -> Numbers:
        """Return the column in the form of the texts of both.

        Raises:
            UnsupportedOperation: there is none.
        """
        if not isinstance(other, Decorated):
            return super().in_one_form(other)
        form = self.written.union(other.written)
        if form is None:
            raise two_forms(self, other)
        return dataclasses.replace(self, written=form)

    def numbers(self, found: TableColumn) -> Num[np.ndarray, " row"]:
        """Return the numbers that cells stand for, NaN = missing.

        Raises:
            InvalidData: a cell is in another form.
        """
        if found.kind == "number" or found.is_missing:
            return super().numbers(found)
        read = [self.written.read(v) if isinstance(v, str) else None for v in found.levels]
        if None in read:
            raise not_in_form(found, self.form, lambda text: self.written.read(text) is not None)
        return np.array([*read, np.nan], dtype=np.float64)[found.values]

    def decode(self, cells: Float[np.ndarray, " row"]) -> np.ndarray:
        """Return numbers as they are written; None where a cell is missing."""
        written = np.full(len(cells), None, dtype=object)
        for i, number in enumerate(self.in_units(cells).tolist()):
            if number == number:
                written[i] = self.written.written(number)
        return written


FORMS: WeakKeyDictionary[TableColumn, NumberForm | None] = WeakKeyDictionary()
"""The forms of columns that were asked for theirs, as all who read a column ask."""


def _form_of_all(found: TableColumn) -> NumberForm | None:
    """Return the form of all texts of a column; None: there is none that makes them numbers."""
    if found.kind == "number" or found.declared or not found.levels:
        return None
    if found not in FORMS:
        FORMS[found] = _learned_form(found)
    return FORMS[found]


def _learned_form(found: TableColumn) -> NumberForm | None:
    """Return the same of a column of levels that are not declared."""
    if not all(isinstance(v, str) for v in found.levels) or not may_share_a_form(found.levels):
        return None
    form, in_form = form_and_numbers(found)
    if not in_form.all():
        return None
    if form.is_bare:
        return form if found.padded or found.blank else None
    commas = form.decimal == "," and not (form.before or form.after)
    if commas and sum("," in text for text in found.levels) < FEWEST_COMMAS:
        return None
    return form
