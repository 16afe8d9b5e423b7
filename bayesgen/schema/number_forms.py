"""Forms in which numbers are written as text: percent, currency, one unit, thousands, decimals.

A form is learned from all texts of a column and holds for all of them: "$1,234.50", "12.5 %",
"2 years", "1.234,5", "1 234". A mark that can be read in two ways is read as the other texts of the
column show, and otherwise as a point before decimals, or a comma between thousands.
"""

import dataclasses
import functools
import re
from collections import Counter
from collections.abc import Sequence

from bayesgen.table import is_number

CURRENCY = "$¢£¤¥฿₠-₿"
CODES = (
    "AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|ILS|INR|JPY|KRW|MXN|NOK|NZD|PLN|RON|SEK|SGD|THB"
    "|TRY|USD|ZAR"
)
PREFIX = rf"[A-Z]{{0,3}}[{CURRENCY}]|{CODES}|Fr\.|Rs\.?|kr\.?"
"""What may stand before a number: other words, as in "grade 3", make it the name of a level."""
SUFFIX = (
    rf"(?:[^\W\d_]|[%‰°\u2032\u2033{CURRENCY}])"
    rf"(?:[^\W\d_]|[%‰°\u2032\u2033/^*·.⁻¹²³⁴{CURRENCY} -]|(?<=[^\W\d_^])[0-9])*"
)
"""What may stand after a number: a unit such as "kg/m2", and nothing like "to 7" or "+"."""
NO_UNIT = re.compile(
    r"st|nd|rd|th|.*\b(?:or|to|and|plus|more|less|over|under|above|below|bis|oder|mehr|ou)\b.*",
    re.IGNORECASE,
)
"""What follows an ordinal, a bound or a range."""
SHARE = 0.9
"""Smallest share of the numbers, but for 0, around which a unit stands where others have none."""
MARKS = " .,'\u2019\u00a0\u2007\u2009\u202f"
"""Marks between thousands; those before decimals are a point and a comma."""
TEXT = re.compile(
    rf"(?P<sign>[+\u2212-]?)(?:(?P<prefix>{PREFIX})(?P<space>\s*)(?P<sign2>[+\u2212-]?))?"
    rf"(?P<body>[0-9]+(?:[{MARKS}][0-9]+)*|[.,][0-9]+)(?P<exponent>[eE][+-]?[0-9]+)?"
    rf"(?:(?P<gap>\s*)(?P<suffix>{SUFFIX}))?"
)
MARK = re.compile(f"[{MARKS}]")
BARE = ("", "")
"""Nothing around a number."""
FEWEST_COMMAS = 10
"""Different numbers in a column, at least, where nothing but commas says that they have decimals:
"1,2" may name two things."""

Unknown = None
"""Of a mark: no text has shown it as yet."""


@dataclasses.dataclass(frozen=True)
class Parts:
    """A text that may be a number, taken apart.

    before, after: what stands around the number, with blanks. key: the same in one spelling, "year"
    of "years". negative: the sign of a number below 0, or "". digits: those between marks. marks:
    between the digits. exponent: as in "1e3", or "".
    """

    before: str
    after: str
    key: tuple[str, str]
    negative: str
    digits: tuple[str, ...]
    marks: str
    exponent: str

    @property
    def decorated(self) -> bool:
        """Whether something stands before or after the number."""
        return bool(self.before or self.after)


def apart(text: str) -> Parts | None:
    """Return the parts of a text that may be a number; None: it is none in any form."""
    found = TEXT.fullmatch(text)
    if found is None:
        return None
    sign, prefix, space, second, body, exponent, gap, suffix = found.groups(default="")
    if (suffix and NO_UNIT.fullmatch(suffix)) or (sign and second):
        return None
    sign = sign or second
    before, after = prefix + space, gap + suffix
    key = (prefix, singular(suffix)) if before or after else BARE
    marks = "".join(c for c in body if c in MARKS)
    digits = tuple(MARK.split(body)) if marks else (body,)
    return Parts(before, after, key, "" if sign == "+" else sign, digits, marks, exponent)


def singular(unit: str) -> str:
    """Return a unit without blanks around it, in lower case and without the s of several."""
    unit = unit.strip().lower().rstrip(".")
    return unit[:-1] if len(unit) > 2 and unit.endswith("s") else unit


@dataclasses.dataclass(frozen=True)
class NumberForm:
    """A form of numbers as text.

    before, after: what stands around a number, with blanks. one: after the number 1, if that is
    another word ("year" of "years"). thousands: the mark between thousands; "": there is none;
    None: no text has shown. decimal: the mark before decimals; None: no text has shown. minus: the
    sign of numbers below 0. least, most: decimals of the texts.
    """

    before: str = ""
    after: str = ""
    one: str = ""
    thousands: str | None = Unknown
    decimal: str | None = Unknown
    minus: str = "-"
    least: int = 0
    most: int = 0

    @functools.cached_property
    def key(self) -> tuple[str, str]:
        """What stands around a number, in one spelling."""
        return self.before.strip(), singular(self.after)

    @property
    def is_bare(self) -> bool:
        """Whether texts are numbers as programs write them."""
        marks = self.thousands in (Unknown, "") and self.decimal in (Unknown, ".")
        return marks and self.minus == "-" and not self.before and not self.after

    @property
    def words(self) -> str:
        """The form in words, by an example."""
        if self.is_bare:
            return "numbers"
        example = 12.0 if self.thousands in (Unknown, "") else 1234.0
        example += 0.5 if self.most else 0.0
        return f"numbers such as {self.written(example if self.minus == '-' else -example)!r}"

    @property
    def marks(self) -> tuple[str, str]:
        """The marks before decimals and between thousands; "" for none.

        Where texts have not shown one, it is the point or the comma that the other is not.
        """
        decimal, thousands = self.decimal, self.thousands
        if decimal is Unknown:
            decimal = "," if thousands == "." else "."
        if thousands is Unknown:
            thousands = "." if decimal == "," else ","
        return decimal, thousands

    def read(self, text: str) -> float | None:
        """Return the number that a text is in this form, or as programs write it; else None."""
        return self.read_parts(apart(text), text)

    def read_parts(self, parts: Parts | None, text: str) -> float | None:
        """Return the same of a text that was taken apart."""
        if parts is None or (parts.decorated and parts.key != self.key):
            return float(text) if parts is None and is_number(text) else None
        split = self.split(parts)
        if split is not None:
            whole, fraction = split
            return float(f"{parts.negative and '-'}{whole or 0}.{fraction or 0}{parts.exponent}")
        bare = not parts.decorated and self.thousands != "." and is_number(text)
        return float(text) if bare else None

    def split(self, parts: Parts) -> tuple[str, str] | None:
        """Return the digits before and after the decimal mark; None: the text has other marks."""
        decimal, thousands = self.marks
        if not parts.marks:
            return parts.digits[0], ""
        whole, marks, fraction = list(parts.digits), list(map(one_mark, parts.marks)), ""
        if marks and marks[-1] == decimal:
            fraction = whole.pop()
            marks.pop()
        if marks and (not are_thousands(whole) or {*marks} != {one_mark(thousands)}):
            return None
        return "".join(whole), fraction

    def written(self, number: float) -> str:
        """Return the text of a number."""
        size = abs(number)
        decimals = min(max(self.most, 9 - (len(f"{size:.0f}") if size >= 1 else 0)), 300)
        text = f"{size:.{decimals}f}"
        if 0 < size < 1e-3:
            text = f"{size:.{max(self.most, decimals_of(size))}f}"
        whole, _, fraction = text.partition(".")
        fraction = fraction.rstrip("0").ljust(self.least, "0")
        if self.thousands:
            whole = f"{int(whole):,}".replace(",", self.thousands)
        sign = self.minus if number < 0 and float(text) else ""
        after = self.one if self.one and float(text) == 1 else self.after
        point = f"{self.marks[0]}{fraction}" if fraction else ""
        return f"{sign}{self.before}{whole}{point}{after}"

    def union(self, other: "NumberForm") -> "NumberForm | None":
        """Return the form of the texts of both; None: there is none.

        What stands around numbers is as it is here, unless nothing does.
        """
        own, others = self.key, other.key
        if own != others and BARE not in (own, others):
            return None
        around = other if own == BARE else self
        thousands = _in_either(self.thousands, other.thousands)
        decimal = _in_either(self.decimal, other.decimal)
        if "conflict" in (thousands, decimal) or (decimal and thousands == decimal):
            return None
        return NumberForm(
            around.before,
            around.after,
            self.one or other.one,
            thousands,
            decimal,
            self.minus if self.minus != "-" else other.minus,
            min(self.least, other.least),
            max(self.most, other.most),
        )


def _in_either(one: str | None, other: str | None) -> str | None:
    """Return the mark that either of two forms has, "conflict" if they have two.

    Some texts without a mark decide nothing.
    """
    if one is Unknown or (one == "" and other is not Unknown):
        return other
    if other is Unknown or other == "" or one_mark(one) == one_mark(other):
        return one
    return "conflict"


def one_mark(mark: str) -> str:
    """Return a mark in one spelling of blanks and apostrophes."""
    return " " if mark.isspace() else "'" if mark == "\u2019" else mark


def are_thousands(digits: Sequence[str]) -> bool:
    """Return whether digits between marks are groups of thousands."""
    first, *others = digits
    return 0 < len(first) <= 3 and first[0] != "0" and all(len(group) == 3 for group in others)


def decimals_of(size: float) -> int:
    """Return the decimals that show nine digits of a small number."""
    return 8 - int(f"{size:e}".partition("e")[2])


# -- learning --------------------------------------------------------------------------------------

Pairs = Sequence[tuple[Parts, int]]
"""Texts that may be numbers, each with the number of its cells."""


def learned(
    texts: Sequence[str], count: Sequence[int], earlier: NumberForm | None = None
) -> tuple[NumberForm, list[bool]]:
    """Return the form of the numbers among texts, and which texts are in this form.

    Args:
        texts: the different ones of a column, without blanks around them.
        count: how many cells have each.
        earlier: the form of earlier texts, by which marks are read that could be two things.
    """
    parts = [apart(text) for text in texts]
    pairs = [(p, n) for p, n in zip(parts, count, strict=True) if p is not None]
    key = _common_key(pairs) if earlier is None or earlier.key == BARE else earlier.key
    pairs = [(p, n) for p, n in pairs if not p.decorated or p.key == key]
    decimal, thousands = _common_marks(pairs, earlier)
    form = dataclasses.replace(_around(pairs), thousands=thousands, decimal=decimal)
    in_form = [form.read_parts(p, t) is not None for p, t in zip(parts, texts, strict=True)]
    splits = (form.split(p) for p, fits in zip(parts, in_form, strict=True) if p and fits)
    decimals = [len(split[1]) for split in splits if split is not None] or [0]
    return dataclasses.replace(form, least=min(decimals), most=max(decimals)), in_form


def may_share_a_form(texts: Sequence[str]) -> bool:
    """Return whether texts may all be numbers in one form; most words are decided by the first."""
    keys = {BARE}
    for text in texts:
        parts = apart(text)
        if parts is None and not is_number(text):
            return False
        if parts is not None:
            keys.add(parts.key)
        if len(keys) > 2:
            return False
    return True


def _first(count: Counter, otherwise: str = "") -> str:
    """Return the most frequent of several spellings, of equally frequent ones the first."""
    return min(count, key=lambda text: (-count[text], text), default=otherwise)


def _common_key(pairs: Pairs) -> tuple[str, str]:
    """Return what stands around most numbers; nothing, if it does so in less than SHARE of them."""
    count: Counter = Counter()
    for parts, n in pairs:
        if parts.decorated or set("".join(parts.digits)) != {"0"}:
            count[parts.key] += n
    bare = count.pop(BARE, 0)
    best = min(count, key=lambda key: (-count[key], key), default=BARE)
    return best if count[best] >= SHARE * (count[best] + bare) else BARE


def _around(pairs: Pairs) -> NumberForm:
    """Return the form of what stands around numbers, in its most frequent spelling."""
    before, after, single, minus = Counter(), Counter(), Counter(), Counter()
    for parts, n in pairs:
        minus[parts.negative] += n if parts.negative else 0
        if parts.decorated:
            before[parts.before] += n
            (single if parts.digits == ("1",) else after)[parts.after] += n
    usual, first = _first(after or single), _first(single)
    del minus[""]
    one = "" if first == usual else first
    return NumberForm(_first(before), usual, one, minus=_first(minus, "-"))


def _common_marks(pairs: Pairs, earlier: NumberForm | None) -> tuple[str | None, str | None]:
    """Return the marks before decimals and between thousands, as most numbers show them."""
    decimals, thousands, either = Counter(), Counter(), Counter()
    long = False
    for parts, n in pairs:
        own = list(parts.marks)
        long |= bool(parts.digits and len(parts.digits[0]) > 3)
        if not own:
            continue
        last = own.pop()
        if own and last in ".," and last not in own:
            if are_thousands(parts.digits[:-1]) and len(set(map(one_mark, own))) == 1:
                decimals[last] += n
                thousands[own[0]] += n
        elif not are_thousands(parts.digits):
            if not own and last in ".,":
                decimals[last] += n
        elif own or last not in ".,":
            thousands[last] += n
        else:
            either[last] += n
    decimal = earlier.decimal if earlier and earlier.decimal else _first(decimals) or None
    between = earlier.thousands if earlier and earlier.thousands else _first(thousands) or None
    if decimal and decimal == between:
        decimal, between = (
            (decimal, None) if decimals[decimal] >= thousands[decimal] else (None, between)
        )
    for mark in ".,":
        if either[mark] and mark not in (decimal, between):
            if decimal is None and mark == ".":
                decimal = mark
            elif between is None and not (long and mark == "," and decimal is None):
                between = mark
    return decimal, "" if between is None and long else between
