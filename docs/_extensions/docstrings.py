"""Docstrings are plain text with code in backticks: reStructuredText's other marks are text."""

import re

from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]*`)")
MARK = re.compile(r"(\*|\||(?<=[A-Za-z0-9])_(?!\w))")
HEAD = re.compile(r"^\s+[\w, ]+_:(?= )")
"""An attribute at the start of its entry, whose name napoleon escapes itself."""


def escape_marks(
    _: Sphinx, what: str, name: str, obj: object, options: object, lines: list
) -> None:
    """Escape marks outside code and examples, before napoleon adds its own."""
    if not name.startswith("bayesgen"):
        return
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[i] = escaped(line)


def escaped(line: str) -> str:
    """Return a line whose marks are text."""
    head = match[0] if (match := HEAD.match(line)) else ""
    parts = CODE.split(line[len(head) :])
    parts[::2] = [MARK.sub(r"\\\1", part) for part in parts[::2]]
    return head + "".join(parts)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the step."""
    app.connect("autodoc-process-docstring", escape_marks, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
