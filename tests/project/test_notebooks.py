"""Notebooks as they are committed: run to the end, quiet, small, and the same wherever they run.

That they still run, and that their text is true, is what `pytest --nbmake -n 2 notebooks` tests.
Cells that check the text are tagged, so that the documentation site leaves them out.
"""

import ast
import base64
import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
TAGGED = [path for path in NOTEBOOKS if '"remove-cell"' in path.read_text(encoding="utf-8")]
TAGS = {"remove-cell", "hide-input"}
"""Tags of myst-nb: not on the site at all; code that the reader unfolds."""
DPI = 120


def cells(path: Path) -> list[dict]:
    """Return the cells with code."""
    notebook = json.loads(path.read_text(encoding="utf-8"))
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def outputs(path: Path) -> list[dict]:
    """Return what the cells put out."""
    return [output for cell in cells(path) for output in cell["outputs"]]


def test_there_are_notebooks():
    assert NOTEBOOKS


def was_run_from_top_to_bottom(path):
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1))
    assert any("image/png" in output.get("data", {}) for output in outputs(path))


def is_quiet(path):
    noise = [o for o in outputs(path) if o["output_type"] == "error" or o.get("name") == "stderr"]
    assert not noise


def checks_what_it_says(path):
    asserts = [cell for cell in cells(path) if re.search(r"^\s*assert ", source(cell), re.M)]
    assert len(asserts) >= 4


def hides_what_is_not_for_readers(path):
    for cell in cells(path):
        tags = cell["metadata"].get("tags", [])
        assert set(tags) <= TAGS
        if re.search(r"^\s*assert ", source(cell), re.M):
            assert tags == ["remove-cell"] and not cell["outputs"]


def readers_see_every_name_defined(path):
    assert not names_from_hidden_cells(cells(path))


def test_names_from_hidden_cells():
    hide = {"tags": ["remove-cell"]}
    rows, use = {"metadata": {}, "source": "rows = []"}, {"metadata": {}, "source": "len(rows)"}
    hidden = {"metadata": hide, "source": "rows = list(rows)"}
    assert not names_from_hidden_cells([rows, use])
    assert not names_from_hidden_cells([hidden, rows, use])
    assert names_from_hidden_cells([rows, hidden, use]) == {"rows"}


def pictures_are_sharp(path):
    pictures = [o["data"]["image/png"] for o in outputs(path) if "image/png" in o.get("data", {})]
    assert all(dots_per_inch(base64.b64decode(picture)) >= DPI for picture in pictures)


def asks_a_question_and_says_what_to_read_next(path):
    texts = [
        source(c)
        for c in json.loads(path.read_text(encoding="utf-8"))["cells"]
        if c["cell_type"] == "markdown"
    ]
    assert re.search(r"^\*\*Question: .*\?\*\*$", texts[0], re.M)
    assert "## What to read next" in texts[-1]


def is_short_and_small(path):
    lines = [line for cell in cells(path) for line in source(cell).splitlines() if line.strip()]
    assert len(lines) < 200
    assert path.stat().st_size < 700_000


def says_nothing_of_the_machine_or_the_hour(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert all(set(cell["metadata"]) <= {"tags"} for cell in notebook["cells"])
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    texts = json.dumps([o for o in outputs(path) if "image/png" not in o.get("data", {})])
    assert not re.search(r"/(home|root|tmp|Users|usr|work)/| at 0x[0-9a-f]{6}", texts)


OF_EVERY = (
    *(was_run_from_top_to_bottom, is_quiet, checks_what_it_says, is_short_and_small),
    says_nothing_of_the_machine_or_the_hour,
)
OF_TAGGED = (
    *(hides_what_is_not_for_readers, readers_see_every_name_defined, pictures_are_sharp),
    asks_a_question_and_says_what_to_read_next,
)


@pytest.mark.parametrize("rule", OF_EVERY + OF_TAGGED, ids=lambda rule: rule.__name__)
def test_notebooks_obey(rule):
    for path in NOTEBOOKS if rule in OF_EVERY else TAGGED:
        rule(path)


def names_from_hidden_cells(cells: list[dict]) -> set[str]:
    """Return the names that shown cells use and only hidden ones, or hidden ones last, assign."""
    hidden, found = set(), set()
    for cell in cells:
        names = [n for n in ast.walk(ast.parse(source(cell))) if isinstance(n, ast.Name)]
        assigned = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        if "remove-cell" in cell["metadata"].get("tags", []):
            hidden |= assigned
        else:
            found |= {name.id for name in names} & hidden - assigned
            hidden -= assigned
    return found


def dots_per_inch(png: bytes) -> float:
    """Return the resolution stated in a PNG, which gives dots per meter."""
    return int.from_bytes(png[png.index(b"pHYs") + 4 :][:4]) * 0.0254


def source(cell: dict) -> str:
    """Return the code of a cell."""
    return "".join(cell["source"])
