"""No function is longer than a screen, no file longer than a sitting: measured in lines of code."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PARTS = ("bayesgen", "models", "benchmarks", "tests")
MOST_IN_FUNCTION = 45
"""Lines from def to the last one, without the docstring: users' methods need long ones."""
MOST_IN_FILE = 500


def long_parts(name: str, source: str) -> Iterator[str]:
    """Yield "file" or "file: function" where one is too long."""
    if len(source.splitlines()) > MOST_IN_FILE:
        yield name
    for node in ast.walk(ast.parse(source)):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if is_function and lines(node) > MOST_IN_FUNCTION:
            yield f"{name}: {node.name}"


def lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the number of lines of a function, its docstring left out."""
    found = ast.get_docstring(node, clean=False)
    return node.end_lineno - node.lineno + 1 - (len(found.splitlines()) if found else 0)


def test_no_function_and_no_file_is_long():
    paths = [path for part in PARTS for path in sorted((ROOT / part).rglob("*.py"))]
    assert len(paths) > 400
    found = {
        long
        for path in paths
        for long in long_parts(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    }
    assert not found


def function(lines: int, *, indent: str = "") -> str:
    """Return a function of so many lines."""
    return "\n".join([f"{indent}def f():", *[f"{indent}    pass"] * (lines - 1)])


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (function(45), []),
        (function(46), ["a.py: f"]),
        (f"class A:\n{function(46, indent='    ')}", ["a.py: f"]),
        (f"async {function(46)}", ["a.py: f"]),
        (function(45).replace(":", ':\n    """One.\n\n    Two.\n    """', 1), []),
        (function(46).replace(":", ':\n    """One.\n\n    Two.\n    """', 1), ["a.py: f"]),
        ("a = 1\n" * 500, []),
        ("a = 1\n" * 501, ["a.py"]),
        ("a = 1\n" * 500 + "a = 1", ["a.py"]),
    ],
)
def test_planted_lengths_are_found(source, found):
    assert list(long_parts("a.py", source)) == found
