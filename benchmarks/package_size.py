"""Print how large the package is, and the ways of calls through it.

Rooms, central classes, hidden contracts; and of some calls the files that they enter, and how often
they turn back to a file that they had left.

python benchmarks/package_size.py
"""

import ast
import inspect
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


def overrides() -> list[str]:
    """Return the methods of a stack that take the place of those of every classifier."""
    inherited = {name for base in bg.StackedClassifier.__mro__[1:3] for name in vars(base)}
    own = vars(bg.StackedClassifier).items()
    return [name for name, part in own if inspect.isfunction(part) and name in inherited]


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
    counts["methods that StackedClassifier overrides"] = len(overrides())
    return dict(counts)


def traced(call: Callable[[], object]) -> tuple[list[str], int]:
    """Return the files of the package that a call enters, and how often it turns back to one.

    Whoever reads along turns back where a function of a file is entered that was left before.
    Expressions that are functions to Python alone, such as generators, are read where they stand.
    Call once before: what is imported or compiled at the first call is no part of the way.
    """
    files: dict[str, None] = {}
    last, returns = "", 0

    def profile(frame: FrameType, event: str, _: object) -> None:
        nonlocal last, returns
        path = frame.f_code.co_filename
        if event != "call" or not path.startswith(str(PACKAGE)):
            return
        if frame.f_code.co_name.startswith("<") or path == last:
            return
        returns += path in files
        files[path], last = None, path

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return [str(Path(path).relative_to(PACKAGE)) for path in files], returns


def calls() -> dict[str, Callable[[], object]]:
    """Return calls whose ways through the package are counted, by name."""
    rng = np.random.default_rng(0)
    y = rng.integers(2, size=60)
    numbers = pd.DataFrame(rng.normal(size=(60, 3)) + y[:, None], columns=["a", "b", "c"])
    mixed = numbers.assign(d=rng.choice(["u", "v"], 60)).mask(rng.random((60, 4)) < 0.02)
    iris, species = bg.datasets.load_iris()
    gap = iris.mask((iris.index == 0)[:, None] & (iris.columns == iris.columns[0]))
    naive = bg.NaiveBayes().fit(mixed, y)
    members = [bg.LDA(), bg.NaiveBayes()]
    return {
        "NaiveBayes.fit, mixed table": lambda: bg.NaiveBayes().fit(mixed, y),
        "NaiveBayes.predict_proba": lambda: naive.predict_proba(mixed),
        "LDA.fit, iris": lambda: bg.LDA().fit(iris, species),
        "LDA.fit, iris with a gap": lambda: bg.LDA().fit(gap, species),
        "StackedClassifier.fit, two members": lambda: bg.StackedClassifier(
            members, progress=False, random_state=0
        ).fit(numbers, y),
        "NaiveBayes.predict_set, 3 rows": lambda: naive.predict_set(mixed[:3]),
        "NaiveBayes.estimate_prevalence": lambda: naive.estimate_prevalence(mixed, random_state=0),
    }


def main() -> None:
    """Print the counts as tables."""
    counts = sizes()
    print("| | |\n| --- | --- |")
    for name in sorted(counts, key=lambda name: (name.startswith("lines of "), name)):
        print(f"| {name} | {counts[name]:,} |")
    print("\n| traced call | files | returns |\n| --- | --- | --- |")
    for name, call in calls().items():
        call()
        files, returns = traced(call)
        print(f"| {name} | {len(files)} | {returns} |")


if __name__ == "__main__":
    main()
