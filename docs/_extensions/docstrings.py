"""Docstrings are plain text with code in backticks: reStructuredText's other marks are text."""

import inspect
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

CODE = re.compile(r"(`[^`]*`)")
MARK = re.compile(r"(\*|\||(?<=[A-Za-z0-9])_(?!\w))")
HEAD = re.compile(r"^\s+[\w, ]+_:(?= )")
"""An attribute at the start of its entry, whose name napoleon escapes itself."""
SHORT = 22
"""Letters of code in a table that stay together."""
BASE = "bayesgen.estimators.classifier.Classifier"
"""The class whose methods every classifier has; its arguments are those of no classifier."""


def escape_marks(
    _: Sphinx, what: str, name: str, obj: object, options: object, lines: list
) -> None:
    """Escape marks outside code and examples, before napoleon adds its own."""
    if not name.startswith("bayesgen"):
        return
    if name == BASE:
        del lines[1:]
    example = False
    for i, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example:
            lines[i] = escaped(line)
    # napoleon reads "words: more words" at the start of a property as its type
    if what == "property" and ": " in lines[0]:
        lines[:1] = [part + ":" * (i == 0) for i, part in enumerate(lines[0].split(": ", 1))]


def escaped(line: str) -> str:
    """Return a line whose marks are text."""
    head = match[0] if (match := HEAD.match(line)) else ""
    parts = CODE.split(line[len(head) :])
    parts[::2] = [MARK.sub(r"\\\1", part) for part in parts[::2]]
    return head + "".join(parts)


def constructor_signature(
    _: Sphinx, what: str, name: str, obj: object, options: object, signature: str, returned: str
) -> tuple[str, str] | None:
    """Return the signature of a class that is made by a `__new__` of any arguments.

    Errors, and results, whose docstrings have attributes but no arguments, are made by the package.
    """
    result = "Attributes:" in (obj.__doc__ or "") and "Args:" not in obj.__doc__
    if what == "exception" or (what == "class" and result):
        return "", ""
    if what != "class" or signature != "(*args, **kwargs)":
        return None
    plain = [p.replace(annotation=p.empty) for p in inspect.signature(obj).parameters.values()]
    return str(inspect.Signature(plain)), ""


def typeset_dashes(_: Sphinx, page: nodes.document) -> None:
    """Write the dash after the name of an argument as one."""
    for text in list(page.findall(nodes.Text)):
        if text.startswith(" -- "):
            text.parent.replace(text, nodes.Text(" \N{EN DASH} " + text[4:]))


def mark_short_code(_: Sphinx, page: nodes.document) -> None:
    """Give code that fits into a column of a table a class of its own, so that it is not broken."""
    for code in page.findall(nodes.literal):
        if len(code.astext()) <= SHORT:
            code["classes"].append("short")


def link_short_name(
    app: Sphinx, env: BuildEnvironment, reference: nodes.Element, text: nodes.Element
) -> nodes.Element | None:
    """Link a method of every classifier, and a public name, that are written without a module."""
    if reference.get("refdomain") != "py":
        return None
    short, page = reference["reftarget"], reference["refdoc"]
    names = [f"{BASE}.{short.removeprefix('Classifier.')}"]
    names += [f"{module}.{short}" for module in ("bayesgen", "bayesgen.plots")]
    python = env.domains["py"]
    links = (
        python.resolve_xref(env, page, app.builder, "obj", name, reference, text) for name in names
    )
    return next((link for link in links if link is not None), None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the step."""
    app.connect("autodoc-process-docstring", escape_marks, priority=100)
    app.connect("autodoc-process-signature", constructor_signature)
    app.connect("missing-reference", link_short_name)
    app.connect("doctree-read", typeset_dashes)
    app.connect("doctree-read", mark_short_code)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
