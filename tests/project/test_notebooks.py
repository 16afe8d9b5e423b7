"""Notebooks as they are committed: run to the end, quiet, small, and the same wherever they run.

That they still run, and that their text is true, is what `pytest --nbmake -n 2 notebooks` tests.
"""

import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def cells(path: Path) -> list[dict]:
    """Return the cells with code."""
    notebook = json.loads(path.read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(path: Path) -> list[dict]:
    """Return what the cells put out."""
    return [output for cell in cells(path) for output in cell["outputs"]]


def test_there_are_notebooks():
    assert NOTEBOOKS


@every_notebook
def test_was_run_from_top_to_bottom(path):
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    assert any("image/png" in output.get("data", {}) for output in outputs(path))


@every_notebook
def test_is_quiet(path):
    noise = [o for o in outputs(path) if o["output_type"] == "error" or o.get("name") == "stderr"]
    assert not noise


@every_notebook
def test_checks_what_it_says(path):
    asserts = [cell for cell in cells(path) if re.search(r"^\s*assert ", source(cell), re.M)]
    assert len(asserts) >= 4


@every_notebook
def test_is_short_and_small(path):
    lines = [line for cell in cells(path) for line in source(cell).splitlines() if line.strip()]
    assert len(lines) < 200
    assert path.stat().st_size < 700_000


@every_notebook
def test_says_nothing_of_the_machine_or_the_hour(path):
    notebook = json.loads(path.read_text())
    assert all(not cell["metadata"] for cell in notebook["cells"])
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    texts = json.dumps([o for o in outputs(path) if "image/png" not in o.get("data", {})])
    assert not re.search(r"/(home|root|tmp|Users|usr|work)/| at 0x[0-9a-f]{6}", texts)


def source(cell: dict) -> str:
    """Return the code of a cell."""
    return "".join(cell["source"])
