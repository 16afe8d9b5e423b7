"""Print how large the package is: rooms, central classes, hidden contracts, and traced calls.

python benchmarks/package_size.py
"""

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import numpy as np
import pandas as pd

import bayesgen as bg

PACKAGE = Path(bg.__file__).parent
CENTRAL = ("Likelihood", "Components", "Posterior", "Readout", "Classifier", "Statistics")
"""Classes whose methods are counted."""


def modules() -> Iterator[tuple[Path, str, ast.Module]]:
    """Yield path, text and syntax tree of every module."""
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path, text, ast.parse(text)


def lines_of_code(text: str, tree: ast.Module) -> int:
    """Return the number of lines that hold code: no blank lines, comments or docstrings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    lines = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in skipped and token.string
        for line in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= {*range(node.lineno, (node.end_lineno or node.lineno) + 1)}
    return len(lines)


def only_raises(function: ast.FunctionDef) -> bool:
    """Return whether a function does nothing but raise."""
    body = [node for node in function.body if not _is_docstring(node)]
    return bool(body) and isinstance(body[0], ast.Raise)


def reaches(node: ast.AST) -> bool:
    """Return whether an expression reads a private attribute of another object."""
    return (
        isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and not (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"))
        and not (isinstance(node.value, ast.Call) and ast.unparse(node.value) == "super()")
    )


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def sizes() -> dict[str, int]:
    """Return what is counted in the source, by name."""
    counts: Counter[str] = Counter()
    for path, text, tree in modules():
        room = path.relative_to(PACKAGE).parts[0] if path.parent != PACKAGE else "others"
        counts["files"] += 1
        counts["lines"] += text.count("\n")
        counts["lines of code"] += lines_of_code(text, tree)
        counts[f"lines of {room}/"] += text.count("\n")
        for node in ast.walk(tree):
            counts["classes"] += isinstance(node, ast.ClassDef)
            counts["private attributes of other objects"] += reaches(node)
            if isinstance(node, ast.FunctionDef):
                counts["functions that only raise"] += only_raises(node)
            if isinstance(node, ast.ClassDef) and node.name in CENTRAL:
                methods = [part for part in node.body if isinstance(part, ast.FunctionDef)]
                public = [part for part in methods if not part.name.startswith("__")]
                counts[f"methods of {node.name}"] += len(public)
    return dict(counts)


def traced(call: Callable[[], object]) -> tuple[int, int]:
    """Return the files of the package that a call enters, and the returns from its functions."""
    files: set[str] = set()
    returns = 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal returns
        if event == "return" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            files.add(frame.f_code.co_filename)
            returns += 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(files), returns


def calls() -> dict[str, tuple[int, int]]:
    """Return files and returns of a fit, a prediction, and the fit of a small stack."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    numbers = pd.DataFrame(rng.normal(size=(60, 3)) + y[:, None], columns=["a", "b", "c"])
    mixed = numbers.assign(d=rng.choice(["u", "v"], 60)).mask(rng.random((60, 4)) < 0.02)
    naive = bg.NaiveBayes().fit(mixed, y)
    stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()], progress=False).fit(numbers, y)
    return {
        "NaiveBayes.fit": traced(lambda: naive.fit(mixed, y)),
        "NaiveBayes.predict_proba": traced(lambda: naive.predict_proba(mixed)),
        "StackedClassifier.fit": traced(lambda: stack.fit(numbers, y)),
    }


def main() -> None:
    """Print the counts as tables."""
    counts = sizes()
    print("| | |\n| --- | --- |")
    for name in sorted(counts, key=lambda name: (name.startswith("lines of "), name)):
        print(f"| {name} | {counts[name]:,} |")
    print("\n| traced call | files | returns |\n| --- | --- | --- |")
    for name, (files, returns) in calls().items():
        print(f"| `{name}` | {files} | {returns} |")


if __name__ == "__main__":
    main()
