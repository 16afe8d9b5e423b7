"""Quotation marks in files of text that are not closed, and swallow the lines below."""

import csv
import io
import re
from collections.abc import Collection, Iterable, Iterator


def unclosed_lines(lines: Iterable[str], separator: str) -> Iterator[int]:
    """Yield the lines, counted from 1, on which a row begins whose quotation mark is not closed.

    The lines below such a line are read as if it were a row of its own.

    Examples:
        >>> list(unclosed_lines(["a,b", '1,"p', "2,q", '3,"r', "4,s"], ","))
        [2, 4]
        >>> list(unclosed_lines(["a,b", '1,"p', 'q"', "2,r"], ","))
        []
    """
    below, row, number = iter(lines), [], 0
    again: list[str] = []

    def given() -> Iterator[str]:
        while (line := again.pop() if again else next(below, None)) is not None:
            row.append(line)
            yield line

    while True:
        try:
            for _ in csv.reader(given(), delimiter=separator, strict=True):
                number += len(row)
                row.clear()
            return
        except csv.Error:
            number += 1
            yield number
            again.extend(reversed(row[1:]))
            row.clear()


def mended(lines: Iterable[str], separator: str, bad: Collection[int]) -> str:
    r"""Return a text in which the quotation marks of some lines are characters of their cells.

    A pair of marks around a cell remains one, where both are in the line.

    Args:
        lines: of the text.
        separator: between cells.
        bad: numbers of lines, counted from 1.

    Examples:
        >>> mended(["a,b", '1,5" pipe'], ",", {2})
        'a,b\n1,"5"" pipe"\n'
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    mark = re.escape(separator)
    cell = re.compile(rf'\s*"((?:[^"]|""|"(?!\s*{mark}))*)"\s*{mark}|([^{mark}]*){mark}')
    for number, line in enumerate(lines, 1):
        if number in bad:
            found = cell.findall(line.rstrip("\r\n") + separator)
            writer.writerow(closed.replace('""', '"') or plain for closed, plain in found)
        else:
            text.write(line if line.endswith(("\n", "\r")) else f"{line}\n")
    return text.getvalue()
