"""Notes: what warnings said, as plain data, which many fits of one comparison merge."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from bayesgen.errors.base import Message
from bayesgen.errors.wording import Words, shown

COLUMNS, CLASSES = ("column", "columns"), ("label", "classes")
"""Names of the fields that hold columns and classes."""


@dataclass(frozen=True)
class Note(Words):
    """What a warning said.

    kind: equal for notes that differ only in their numbers, columns and classes; None: like no
    other. columns, classes: those that it names.
    """

    kind: Hashable = None
    columns: tuple = ()
    classes: tuple = ()


def note(warning: Warning | str) -> Note:
    """Return the note of a warning, or of a sentence."""
    if not isinstance(warning, Message):
        return Note(str(warning), kind=str(warning))
    columns, classes = (_values(warning.fields, names) for names in (COLUMNS, CLASSES))
    fixed = tuple((n, shown(v)) for n, v in warning.fields.items() if not _varies(n, v))
    kind = type(warning).__name__, warning.problem, fixed
    python, shell = warning.written("python"), warning.written("shell")
    return Note(python, shell, kind, columns, classes)


def _values(fields: Mapping[str, object], names: tuple[str, str]) -> tuple:
    single, plural = (fields.get(name) for name in names)
    if isinstance(plural, Iterable):
        return tuple(plural)
    return () if single is None else (single,)


def _varies(name: str, value: object) -> bool:
    # words are those of a fit, with numbers of its own
    return name in COLUMNS + CLASSES or isinstance(value, int | float | np.number | Words)


def merged(notes: Iterable[Note]) -> list[Words]:
    """Return notes as sentences: the first of those that are alike counts the others.

    Examples:
        >>> a, b = (Note(f"column {n!r} is flat", kind="flat", columns=(n,)) for n in "ab")
        >>> print(*merged([a, Note("no rows"), b]), sep="; ")
        column 'a' is flat (and 1 more like it: 2 columns); no rows
    """
    return list(_groups(notes).values())


def merged_by_name(notes: Mapping[str, Iterable[Note]]) -> list[Words]:
    """Return the notes of each classifier as sentences "MLE, MAP: ...".

    Examples:
        >>> two, three = (Note(f"{n} rows are odd", kind="odd") for n in (2, 3))
        >>> print(*merged_by_name({"MLE": [two], "MAP": [two, three]}))
        MLE, MAP: 2 rows are odd (and 1 more like it)
    """
    owners: dict[Hashable, list[str]] = {}
    for name, own in notes.items():
        for entry in own:
            names = owners.setdefault(_key(entry), [])
            names += [] if name in names else [name]
    groups = _groups(entry for own in notes.values() for entry in own)
    return [Words(f"{', '.join(owners[key])}: ") + words for key, words in groups.items()]


def _key(entry: Note) -> Hashable:
    return entry.python if entry.kind is None else entry.kind


def _groups(notes: Iterable[Note]) -> dict[Hashable, Words]:
    groups: dict[Hashable, dict[Note, None]] = {}
    for entry in notes:
        groups.setdefault(_key(entry), {})[entry] = None
    return {key: _together(list(group)) for key, group in groups.items()}


def _together(notes: list[Note]) -> Words:
    first, *others = notes
    if not others:
        return first
    counts = []
    for plural in ("columns", "classes"):
        named = {getattr(entry, plural) for entry in notes}
        if len(named) > 1:
            counts.append(f"{len({name for names in named for name in names}):,} {plural}")
    of = f": {', '.join(counts)}" if counts else ""
    return first + f" (and {len(others):,} more like it{of})"
