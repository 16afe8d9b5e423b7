"""The page of errors and warnings, from the code: when each kind is raised, and its sentences."""

import ast
import inspect
import re
import string
from collections.abc import Iterator
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from bayesgen import errors
from bayesgen.errors import dialect


def kinds(base: type) -> list[type]:
    """Return the public errors or warnings, in the order of their file."""
    classes = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    listed = [kind for kind in classes if issubclass(kind, base) and kind is not base]
    return sorted(listed, key=lambda kind: inspect.getsourcelines(kind)[1])


def sentences() -> Iterator[tuple[str, str]]:
    """Yield (kind, sentence) of every sentence of the package, with the names of its values."""
    for path in sorted(Path(inspect.getfile(errors)).parents[1].rglob("*.py")):
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.args:
                code = constants(call) if call.keywords else None
                text = " ".join(written(part, code) for part in call.args[:2])
                # a value beside a word or a value brings its own blank
                text = re.sub(
                    r"(?<=[a-z:)])\\ (?=\*)|(?<=\*)\\ (\\ (?=\*)|(?=[a-z]{2}))", " ", text
                )
                if re.search(r"\w{3}.* \w{3}", re.sub(r"\\ \*.*?\*\\ ", "", text)):
                    yield call.func.id, text


def constants(call: ast.Call) -> dict[str, str]:
    """Return the values of fields that are constants of code, as of pandas."""
    names = {k.arg: getattr(k.value, "id", "") for k in call.keywords if k.arg}
    found = {name: vars(dialect).get(value) for name, value in names.items()}
    plain = dialect.Dialect()
    return {n: code.text(plain) for n, code in found.items() if isinstance(code, dialect.Typed)}


def filled(name: str, spec: str, code: dict[str, str]) -> str:
    """Return what stands for a field: its name, or the code of pandas that it becomes."""
    word, *options = spec.split()
    if word in dialect.TYPED:
        return escaped(dialect.TYPED[word](dialect.Dialect(), name, *options))
    return escaped(code[name]) if name in code else field(name)


def written(node: ast.AST, code: dict[str, str] | None) -> str:
    """Return the text of a problem or a cure, with names for what is filled in.

    code: values of fields that are code; None: it is no template.
    """
    match node:
        case ast.Constant(value=str(text)) if code is not None:
            pieces = string.Formatter().parse(text)
            return "".join(
                escaped(text) + (filled(name, spec or "plain", code) if name else "")
                for text, name, spec, _ in pieces
            )
        case ast.Constant(value=str(text)):
            return escaped(text)
        case ast.JoinedStr(values=values):
            return "".join(written(part, code) for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return written(left, code) + written(right, code)
        case ast.Call(func=ast.Name(id="Cure"), args=[python, *_]):
            return written(python, code)
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    return field(names[-1].id) if names else field("…")


def field(name: str) -> str:
    """Return a value to be filled in, by its name, in italics."""
    words = re.split(r"[.[]", name)[0].strip("_").replace("_", " ").lower()
    return rf"\ *{words}*\ "


def escaped(text: str) -> str:
    """Return the text of a sentence in one line, as reStructuredText."""
    text = re.sub(r"\s*\n\s*", " ", text)
    return re.sub(r"([\\*`|_])", r"\\\1", text)


class ErrorMessages(SphinxDirective):
    """Document every error, or every warning: `.. error-messages:: BayesgenWarning`."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a description of each kind, followed by its sentences."""
        base, lines = getattr(errors, self.arguments[0]), []
        every = list(sentences())
        for kind in [*kinds(base), base]:
            texts = dict.fromkeys(text for name, text in every if name == kind.__name__)
            if kind is not base:
                lines += [f".. autoexception:: bayesgen.errors.{kind.__name__}"]
                lines += ["   :show-inheritance:", "   :no-members:", ""]
                lines += [f"   * {text}" for text in texts]
            elif texts:
                lines += ["Of no kind of their own:", "", *(f"* {text}" for text in texts)]
            lines.append("")
        return self.parse_text_to_nodes("\n".join(lines))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("error-messages", ErrorMessages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
