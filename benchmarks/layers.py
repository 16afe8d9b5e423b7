"""Print the layers of the package, from its imports: each stands on those below it.

python benchmarks/layers.py
"""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import bayesgen

PACKAGE = Path(bayesgen.__file__).parent
SHARED = {
    *("errors", "typing", "arguments", "calls", "progress_bar", "optimize", "membership"),
    *("on_demand", "version"),
}
"""Helpers that any module may use, and that stand at the bottom without being drawn."""


def room(path: Path) -> str:
    """Return the folder of a module, or the module itself where it has none."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def imported(path: Path) -> Iterator[str]:
    """Yield the rooms that a module imports, inside functions too."""
    rooms = {room(other) for other in PACKAGE.rglob("*.py")}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "bayesgen":
            words = (node.module or "").split(".")[1:]
            names = words[:1] or [alias.name for alias in node.names]
            yield from (name for name in names if name in rooms)


def layers() -> list[list[str]]:
    """Return the rooms by the length of the longest way down, the highest first."""
    below: dict[str, set[str]] = defaultdict(set)
    for path in sorted(PACKAGE.rglob("*.py")):
        own = room(path)
        if own != "__init__" and own not in SHARED:
            below[own] |= {name for name in imported(path) if name not in {own, *SHARED}}

    def height(name: str) -> int:
        return 1 + max((height(other) for other in below[name]), default=-1)

    by_height: dict[int, list[str]] = defaultdict(list)
    for name in list(below):
        by_height[height(name)].append(name)
    return [sorted(by_height[level]) for level in sorted(by_height, reverse=True)]


def picture() -> str:
    """Return the layers as text, one a line."""
    return "\n".join("   ".join(layer) for layer in layers())


if __name__ == "__main__":
    print(picture())
