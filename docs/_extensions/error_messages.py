"""The page of errors and warnings, from their classes: when each is raised, and its sentences."""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from bayesgen import errors
from bayesgen.errors.base import Sentence


def kinds(base: type) -> list[type]:
    """Return the public errors or warnings, in the order of their files."""
    found = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    return [kind for kind in found if issubclass(kind, base) and kind is not base]


def sentences(kind: type) -> Iterator[str]:
    """Yield the sentences of a class, with the name of each value that is filled in."""
    for member in vars(kind).values():
        if isinstance(member, Sentence):
            parts = [(text, name) for text, name, *_ in member.parse(member.template)]
            yield "".join(escaped(text) + (field(name) if name else "") for text, name in parts)
        elif isinstance(member, classmethod):
            yield from written_sentences(member)


def written_sentences(constructor: classmethod) -> Iterator[str]:
    """Yield the sentences that a constructor writes itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(constructor.__func__)))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "cls" and call.args:
            text = written(call.args[0])
            if re.search(r"\w{3}", re.sub(r"\*.*?\*", "", text)):
                yield text


def written(node: ast.AST) -> str:
    """Return the text of a string, with names for what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return escaped(text)
        case ast.JoinedStr(values=parts):
            return "".join(map(written, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return written(left) + written(right)
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return field(names[-1].id) if names else field("…")


def field(name: str) -> str:
    """Return a value to be filled in, by its name, in italics."""
    words = re.split(r"[.[]", name)[0].strip("_").replace("_", " ")
    return rf"\ *{words}*\ "


def escaped(text: str) -> str:
    """Return the text of a sentence in one line, as reStructuredText."""
    text = re.sub(r"\s*\n\s*", " ", text)
    return re.sub(r"([\\*`|_])", r"\\\1", text)


class ErrorMessages(SphinxDirective):
    """Document every error, or every warning: `.. error-messages:: BayesgenWarning`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a description of each class, followed by its sentences."""
        lines = []
        for kind in kinds(getattr(errors, self.arguments[0])):
            lines += [
                f".. autoexception:: bayesgen.errors.{kind.__name__}",
                "   :show-inheritance:",
            ]
            lines += ["   :no-members:", ""]
            for text in dict.fromkeys(sentences(kind)):
                lines.append(f"   * {text}")
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("error-messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
