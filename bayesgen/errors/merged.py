"""Warnings of many fits as few sentences: those alike but for columns, classes and numbers."""

import re
from collections.abc import Iterable, Mapping

QUOTED = r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\""""
NAME = rf"(?:{QUOTED}|-?\d+(?:\.\d+)?|True|False)"
NAMED = re.compile(rf"\b(column|class)(?:s|es)? ({NAME}(?:, {NAME})*)")
"""Columns and classes as sentences name them: "column 'a'", "the columns 'a', 'b'", "class 1"."""
PLURALS = {"column": "columns", "class": "classes"}


def merged(warnings: Mapping[str, Iterable[str]]) -> list[str]:
    """Return the warnings of each classifier as sentences "MLE, MAP: ...".

    Warnings that differ only in their numbers, columns and classes become the first of them, which
    counts the others. Names that stand elsewhere tell warnings apart.

    Examples:
        >>> texts = [f"column {c!r} is flat in class {k}" for c in "ab" for k in (0, 1)]
        >>> merged({"MLE": texts})
        ["MLE: column 'a' is flat in class 0 (and 3 more like it: 2 columns, 2 classes)"]
        >>> merged({"MLE": ["2 rows are odd"], "MAP": ["2 rows are odd", "3 rows are odd"]})
        ['MLE, MAP: 2 rows are odd (and 1 more like it)']
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for who, texts in warnings.items():
        for text in texts:
            groups.setdefault(_pattern(text), {}).setdefault(who, []).append(text)
    return [
        f"{', '.join(group)}: {_together([text for part in group.values() for text in part])}"
        for group in groups.values()
    ]


def merged_texts(texts: Iterable[str]) -> list[str]:
    """Return warnings of one origin, merged in the same way.

    Examples:
        >>> merged_texts(["3 of 9 rows", "no rows", "4 of 9 rows"])
        ['3 of 9 rows (and 1 more like it)', 'no rows']
    """
    return [sentence.removeprefix(": ") for sentence in merged({"": texts})]


def _together(texts: list[str]) -> str:
    first, *others = dict.fromkeys(texts)
    if not others:
        return first
    counts = []
    for kind, plural in PLURALS.items():
        each = {_names(text, kind) for text in (first, *others)}
        if len(each) > 1:
            counts.append(f"{len({name for names in each for name in names}):,} {plural}")
    of = f": {', '.join(counts)}" if counts else ""
    return f"{first} (and {len(others):,} more like it{of})"


def _names(text: str, kind: str) -> tuple[str, ...]:
    lists = [names for found, names in NAMED.findall(text) if found == kind]
    return tuple(name for names in lists for name in re.findall(NAME, names))


def _pattern(text: str) -> str:
    """Return a text without its numbers, and without the names of its columns and classes."""
    for _, names in NAMED.findall(text):
        for name in re.findall(QUOTED, names):
            text = text.replace(name, "#")
    return re.sub(rf"({QUOTED})|\d[\d.,]*", lambda match: match[1] or "#", text)
