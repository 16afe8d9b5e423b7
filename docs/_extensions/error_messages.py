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
    """Yield the sentences of a class, with an ellipsis for each value that is filled in."""
    for member in vars(kind).values():
        if isinstance(member, Sentence):
            fields = [(text, name) for text, name, *_ in member.parse(member.template)]
            yield "".join(text + ("…" if name is not None else "") for text, name in fields)
        elif isinstance(member, classmethod):
            yield from written_sentences(member)


def written_sentences(constructor: classmethod) -> Iterator[str]:
    """Yield the sentences that a constructor writes itself."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(constructor.__func__)))
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "cls" and call.args:
            text = literal(call.args[0])
            if re.search(r"\w{3}", text):
                yield text


def literal(node: ast.expr) -> str:
    """Return the text of a string, with an ellipsis for what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return literal(node.left) + literal(node.right)
    return "…"


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
                lines.append(f"   * {escaped(text)}")
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines))


def escaped(text: str) -> str:
    """Return a sentence in one line, as reStructuredText."""
    text = re.sub(r"\s*\n\s*", " ", text.replace("\\", ""))
    return re.sub(r"([*`|_])", r"\\\1", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("error-messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
