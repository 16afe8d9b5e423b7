"""The package of the page stays small: its code and templates, without imports and docstrings."""

import ast
from pathlib import Path

import pytest

import bayesgen

FOLDER = Path(bayesgen.__file__).parent / "app"
MOST = 600


def lines_of_code(text):
    """Return how many lines of a module are code, imports left out."""
    lines = enumerate(text.splitlines(), 1)
    code = {i for i, line in lines if line.strip() and not line.strip().startswith("#")}
    for node in ast.walk(ast.parse(text)):
        words = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if words or isinstance(node, ast.Import | ast.ImportFrom):
            code -= set(range(node.lineno, node.end_lineno + 1))
    return len(code)


def test_it_has_at_most_600_lines():
    modules = sum(lines_of_code(p.read_text(encoding="utf-8")) for p in FOLDER.glob("*.py"))
    templates = sum(len(p.read_text(encoding="utf-8").splitlines()) for p in FOLDER.glob("*.html"))
    assert 400 < modules + templates <= MOST


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('"""Words."""\n\nimport a\nfrom b import (\n    c,\n)\n\nD = 1\n"""Of d."""\n', 1),
        ("# why\ndef f():\n    '''Say.'''\n    return {\n        1: 2,\n    }\n", 4),
    ],
)
def test_what_counts_as_code(text, lines):
    assert lines_of_code(text) == lines
