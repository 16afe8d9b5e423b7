"""Notes on intended use and limits: Markdown of headings, items and paragraphs."""

import re
from pathlib import Path

from bayesgen.errors.arguments import out_of_range

MOST_OF_NAME = 250
"""Letters of the name of a file."""
ITEM = r"[ \t]*(?:[-*]|\d+[.)]) "
"""What an item of a list begins with; that of a list in a list is indented."""


def notes_as_blocks(notes: object) -> list[tuple[str, str]]:
    """Return headings, items of lists and paragraphs of Markdown, each after its kind.

    Kinds are "heading", "item", "numbered", with "inner " before it in a list in a list, and "".
    """
    if not isinstance(notes, str) or _is_file(notes):
        name = notes if isinstance(notes, str) else "notes.md"
        cure = f"Pass notes=pathlib.Path({name!r}).read_text(encoding='utf-8')."
        raise out_of_range("notes", notes, "the text itself", cure)
    apart = re.sub(r"(?m)^(#+ .*)$", r"\n\1\n", notes.replace("\r\n", "\n")).strip()
    blocks = re.split(rf"\n\s*\n(?=[ \t]*\S)|\n(?={ITEM})", apart) if apart else []
    return list(map(_block, blocks))


def _block(text: str) -> tuple[str, str]:
    if text.startswith("#"):
        return "heading", text.lstrip("# ")
    if not re.match(ITEM, text):
        return "", text
    level = "inner " if text.startswith((" ", "\t")) else ""
    text = text.lstrip()
    return (f"{level}item", text[2:]) if text[0] in "-*" else (f"{level}numbered", text)


def _is_file(text: str) -> bool:
    """Return whether a text is the name of a file, not what it says."""
    name = text.strip()
    if not name or "\n" in name or len(name) > MOST_OF_NAME:
        return False
    return bool(re.fullmatch(r"\S+\.(?:md|txt)", name)) or Path(name).is_file()
