"""Fields of the form, one for each column that the model reads, and how a cell is read."""

import dataclasses
import math
import re

from bayesgen.errors import InvalidData
from bayesgen.errors.wording import listed

NUMBER = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?")
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}((,\d{3})+|(\.\d{3}){2,})")
"""Digits in groups of three, which are read in two ways: 1,234."""
LONGEST_CHOICE = 12
"""Levels of a list to choose from; more are suggested while one types."""
SHOWN = 20
"""Levels that a sentence lists."""
LARGEST = 1e300
Cell = float | int | bool | str | None
"""None: not measured."""


def number_of(text: str, what: str) -> float:
    """Return the number of a text, whose decimal mark is a point or a comma.

    Raises:
        InvalidData: it is none, or may be two.
    """
    text = text.strip().replace("\N{MINUS SIGN}", "-")
    if GROUPED.fullmatch(text):
        problem = "{what}: {text!r} may be two numbers; type it without groups of digits."
        raise InvalidData(problem, what=what, text=text)
    number = float(text.replace(",", ".")) if NUMBER.fullmatch(text) else math.nan
    if not abs(number) <= LARGEST:
        raise InvalidData("{what}: {text!r} is not a number.", what=what, text=text[:80])
    return number


@dataclasses.dataclass(frozen=True)
class Field:
    """A field of the form.

    key: the column, as the model knows it. kind, levels, form: as in `ModelDescription.columns`.
    lower, upper, least, greatest: of the numbers of the rows `ranges`, as there. cost: of measuring
    it.
    """

    key: object
    kind: str
    levels: tuple
    form: str
    lower: float
    upper: float
    least: float
    greatest: float
    ranges: str
    cost: float | None = None

    @property
    def name(self) -> str:
        """The column as text."""
        return str(self.key)

    @property
    def is_number(self) -> bool:
        """Whether its cells are numbers."""
        return self.kind in ("number", "count")

    @property
    def is_short(self) -> bool:
        """Whether one chooses from a list of all that there is."""
        return self.kind == "level" and len(self.levels) <= LONGEST_CHOICE

    @property
    def choices(self) -> dict[str, Cell]:
        """Its levels by their text."""
        return {str(level): level for level in self.levels}

    @property
    def hint(self) -> str:
        """Between which numbers nine in ten lie, and how they are written."""
        usual = "" if math.isnan(self.lower) else f"{self.lower:.4g} to {self.upper:.4g}"
        return ", ".join(filter(None, [usual, self.form]))

    def typed(self, text: str) -> Cell:
        """Return the cell that a person typed or chose; blanks are not measured.

        Raises:
            InvalidData: it is no number, or no level.
        """
        text = text.strip()
        if self.is_number and text and (NUMBER.fullmatch(text) or not self.form):
            return number_of(text, self.name)
        return self.stated(self.choices.get(text, text or None))

    def stated(self, cell: object) -> Cell:
        """Return a cell of JSON, as strictly as JSON has types; null is not measured.

        Raises:
            InvalidData: it is of another type than the column.
        """
        types: set[type] = {type(level) for level in self.levels} or {str}
        if self.is_number:
            types = {float, str} if self.form else {float}
        if types & {float, int}:
            types |= {float, int}
        if cell is None or (type(cell) in types and isinstance(cell, str)):
            return cell
        if type(cell) in types and isinstance(cell, float | int) and abs(cell) <= LARGEST:
            return cell
        what = "a number" if self.is_number else listed(self.choices, SHOWN)
        what = what if self.is_number or not self.levels else f"one of {what}"
        problem = "{name}: {cell} is not {what}."
        raise InvalidData(problem, name=self.name, cell=repr(cell)[:80], what=what)

    def remark(self, cell: Cell) -> str:
        """Return what is odd about a cell, in a sentence; "" of others."""
        if self.is_number and isinstance(cell, float | int):
            odd = cell < self.least or cell > self.greatest
            rows = "rows of the fit" if self.ranges == "fit" else "rows simulated from the model"
            seen = f"{self.least:.4g} to {self.greatest:.4g} in {rows}"
            return f"{self.name} {cell:.6g} is outside of what was seen, {seen}." if odd else ""
        if cell is None or not self.levels or cell in self.levels:
            return ""
        what = "is a new group" if self.kind == "group" else "counts as not measured"
        return f"{self.name} {cell!r} was never seen, and {what}."
