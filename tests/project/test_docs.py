"""Every page of docs/ does what it shows, and names tests that exist."""

import re

import pytest
from pages import ROOT, blocks, check, page

PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))
SLOW = {
    f"docs/{name}.md"
    for name in (
        "evidence/lectures",
        "how-to/categorical-and-text-columns",
        "how-to/check-and-diagnose",
        "how-to/choose-a-likelihood",
        "how-to/deploy",
        "how-to/prevalence",
        "how-to/simulation-based-calibration",
    )
}
"""Pages that compile programs, run samplers, many fits or a stack."""
LECTURES = page("docs/evidence/lectures.md")
TESTS = {
    name
    for path in (ROOT / "tests").rglob("test_lectures*.py")
    for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
}


# of pandas, to what Dask calls
@pytest.mark.filterwarnings("ignore:The inplace keyword")
@pytest.mark.parametrize(
    "name", [pytest.param(p, marks=pytest.mark.slow) if p in SLOW else p for p in PAGES]
)
def test_code_prints_what_is_shown(name):
    text = page(name)
    assert check(text) == sum(language == "text" for language, _ in blocks(text))


def rows_of(name):
    """Return the rows of the table that the name of a test begins with."""
    first, last = re.match(r"test_rows?_(\d+)(?:_to_(\d+))?_", name).groups()
    return range(int(first), int(last or first) + 1)


def test_every_row_of_the_lectures_has_a_test():
    rows = [int(row) for row in re.findall(r"^\| (\d+) \|", LECTURES, re.MULTILINE)]
    assert rows == list(range(1, 25))
    tested = {row for name in TESTS if name.startswith("test_row") for row in rows_of(name)}
    assert tested == set(rows)


@pytest.mark.parametrize(
    ("row", "figures"),
    [
        (4, [".204583"]),
        (5, [".279933", ".245603", ".281714", ".340263"]),
        (6, [".621212", "1/5", "0/0"]),
        (7, [".874975", ".954536", ".933319"]),
        (11, ["103/157"]),
        (13, [".98239", ".00897", ".00864", ".76"]),
        (18, ["2dx"]),
        (20, [".969", ".950"]),
        (24, ["1364 / 362 / 126 / 349", ".77828"]),
    ],
)
def test_a_row_shows_the_figures_of_the_lecture(row, figures):
    cells = next(line for line in LECTURES.splitlines() if line.startswith(f"| {row} |")).split("|")
    assert all(figure in cells[4] for figure in figures)


def test_a_block_is_at_most_a_few_lines():
    code = [code for language, code in blocks(LECTURES) if language == "python"]
    assert max(len(c.strip().splitlines()) for c in code) <= 9
    assert max(len(line) for c in code for line in c.splitlines()) <= 100
