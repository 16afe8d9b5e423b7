"""Changes of the library that a page shows, applied to a copy of it."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

from pages import ROOT, blocks

CHANGED = re.compile(r"^```python changed\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
"""Blocks of a page that need its changes."""
COPIED = ("bayesgen", "tests", "docs", "benchmarks")


def hunks(text: str) -> list[tuple[str, list[str]]]:
    """Return (file, lines) of every change of a page: those that begin with + are new."""
    found: list[tuple[str, list[str]]] = []
    for language, code in blocks(text):
        if language != "diff":
            continue
        name = ""
        for line in code.splitlines():
            if line.startswith("--- "):
                name = line.removeprefix("--- ")
                found.append((name, []))
            elif line == "@@":
                found.append((name, []))
            else:
                found[-1][1].append(line or " ")
    return found


def changed(source: str, lines: list[str]) -> str:
    """Return a file with a change, whose old lines stand together in one place of it."""
    old = "".join(line[1:] + "\n" for line in lines if line[0] in " -")
    new = "".join(line[1:] + "\n" for line in lines if line[0] in " +")
    assert source.count(old) == 1, f"{source.count(old)} places hold\n{old}"
    return source.replace(old, new)


def apply(text: str, folder: Path) -> set[str]:
    """Apply the changes of a page to the library's files in a folder; returns their names."""
    for name, lines in hunks(text):
        path = folder / name
        path.write_text(changed(path.read_text(encoding="utf-8"), lines), encoding="utf-8")
    return {name for name, _ in hunks(text)}


def copied(folder: Path) -> None:
    """Copy the library, its tests and its pages."""
    for name in COPIED:
        skip = shutil.ignore_patterns("__pycache__", "_build", "*.bgm")
        shutil.copytree(ROOT / name, folder / name, ignore=skip)
    for name in ("pyproject.toml", "README.md", "CHANGELOG.md"):
        shutil.copy(ROOT / name, folder / name)


def run(folder: Path, *arguments: str) -> str:
    """Run Python in a folder with the library that lies there; returns what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done.stdout
