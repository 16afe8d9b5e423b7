"""Forms in which numbers are written as text, each as its writer and a pattern of its texts."""

import dataclasses
import re
from collections.abc import Callable

import numpy as np
import pandas as pd


@dataclasses.dataclass(frozen=True)
class Decoration:
    """A form: its writer, a pattern of its texts, and what the package calls it.

    places: decimals of the numbers.
    """

    written: Callable[[float], str]
    pattern: str
    words: str
    places: int = 1

    def column(self, numbers: np.ndarray) -> pd.Series:
        """Return numbers as text, None where missing."""
        texts = [None if np.isnan(x) else self.written(x) for x in numbers]
        return pd.Series(texts, dtype="str")

    def fits(self, text: object) -> bool:
        return isinstance(text, str) and re.fullmatch(self.pattern, text) is not None

    def form(self, text: str) -> str:
        """Return what all texts of the form have in common."""
        return self.pattern if self.fits(text) else text


def money(x):
    return f"{'-' if x < 0 else ''}${abs(x):,.2f}"


def european(x):
    return f"{x:,.10g} kg".translate(str.maketrans(".,", ",."))


def swiss(x):
    return f"CHF {x:,.0f}".replace(",", "'")


def blanks(x):
    return f"{x:,.10g}".replace(",", "\u00a0").replace(".", ",").replace("-", "\u2212")


def years(x):
    return f"{x:.0f} year" + ("" if x == 1 else "s")


FORMS = {
    "percent": Decoration("{:.10g} %".format, r"-?\d+(\.\d+)? %", "numbers such as '12.5 %'"),
    "money": Decoration(money, r"-?\$[\d,]+\.\d\d+", "numbers such as '$1,234.50'", 2),
    "comma": Decoration(european, r"-?\d{1,3}(\.\d{3})*(,\d+)? kg", "numbers such as '1.234,5 kg'"),
    "blanks": Decoration(
        blanks,
        "\u2212?\\d{1,3}(\u00a0\\d{3})*(,\\d+)?",
        f"numbers such as {'1' + chr(0xA0) + '234,5'!r}",
    ),
    "apostrophes": Decoration(
        swiss, r"-?CHF \d{1,3}('\d{3})*(\.\d+)?", '''numbers such as "CHF 1'234"''', 0
    ),
    "years": Decoration(years, r"-?\d+(\.\d+)? years?", "numbers such as '12 years'", 0),
    "padded": Decoration("{:.10g}\u00a0".format, r"-?\d+(\.\d+)?\s?", "numbers"),
}
