"""Words of files of text that mean "missing", and how often columns hold each."""

from collections.abc import Collection, Iterable, Iterator, Mapping

from bayesgen.errors import Cure, RecognizedFormat
from bayesgen.errors.wording import Code, assigned, shown
from bayesgen.table import Name

NEVER_CLASSES = frozenset(
    {"", "NA", "NaN", "nan", "<NA>", "#N/A", "-NaN", "-nan"}
    | {"1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"}
)
"""Words that mean "missing" in a column of classes too; others that it holds twice are a class."""

COLUMNS = 10
"""Columns whose words a note counts; others are counted together."""


def class_words(
    counts: Mapping[str, int], missing: Collection[str], classes: Iterable[str]
) -> frozenset[str]:
    """Return the words for missing that are a class in a column of classes.

    Args:
        counts: of the words that the column holds.
        missing: words that were stated to mean "missing".
        classes: that the column is known to have.

    Examples:
        >>> sorted(class_words({"None": 3, "NA": 9, "null": 1}, (), ()))
        ['None']
    """
    known = {*classes}
    return frozenset(
        word
        for word, count in counts.items()
        if word
        and word not in missing
        and word not in NEVER_CLASSES
        and (count > 1 or word in known)
    )


def notes_of_words(
    source: str,
    target: Name,
    counts: Mapping[Name, Mapping[str, int]],
    classes: Collection[str],
    missing: Collection[str],
) -> Iterator[RecognizedFormat]:
    """Yield notes about the words of files that are read as missing, and those that are classes.

    Args:
        source: the path of the files.
        target: the column of classes.
        counts: of the words that each column holds.
        classes: words that are classes of the target.
        missing: words that were stated to mean "missing".
    """
    if classes:
        yield RecognizedFormat(
            "{words:named word} of the column of classes {column!r}, in {count:rows}, {are} as a "
            "class, and not as missing.",
            Cure(
                "If {it} missing, pass bg.file_source({source!r}, missing={typed}).",
                "If {it} missing, add {options}.",
            ),
            words=sorted(classes),
            column=target,
            count=sum(counts[target][word] for word in classes),
            are="is read" if len(classes) == 1 else "are read, each",
            it="it means" if len(classes) == 1 else "they mean",
            source=source,
            typed=sorted(classes),
            options=Code(" ".join(assigned(word, "--missing") for word in sorted(classes))),
        )
    taken = {}
    for column, words in counts.items():
        kept = classes if column == target else ()
        if found := {word: n for word, n in words.items() if word and word not in kept}:
            taken[column] = found
    if not taken:
        return
    listed_first = [
        f"{shown(column)} ({', '.join(f'{shown(w)} {n:,}' for w, n in words.items())})"
        for column, words in list(taken.items())[:COLUMNS]
    ]
    if more := list(taken.values())[COLUMNS:]:
        cells = sum(sum(words.values()) for words in more)
        listed_first.append(f"and {cells:,} cells of {len(more):,} more")
    ours = [word for words in taken.values() for word in words if word not in missing]
    yield RecognizedFormat(
        "words are read as missing in {noun} {columns:joined}.",
        Cure(
            "If one is a level, pass bg.file_source({source!r}, not_missing=[{word!r}]).",
            "If one is a level, add {word:assigned --not-missing}.",
        )
        if ours
        else "",
        noun="column" if len(taken) == 1 else "columns",
        columns=listed_first,
        source=source,
        word=ours[0] if ours else "",
    )
