"""Links between the pages of the repository work where the code host shows them."""

import json
import re

from pages import ROOT

PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "models/*.md", "benchmarks/*.md", "notebooks/*.ipynb")
    for path in ROOT.glob(pattern)
    # a copy, whose links are those of its source
    if path != ROOT / "docs/reference/changelog.md"
)
LINK = re.compile(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]+))?\)")


def prose(path):
    """Return the text of a page without its code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        found = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
        text = "\n".join(found)
    return re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(path):
    """Return the anchors of the headings of a page, as GitHub and MyST write them."""
    titles = re.findall(r"^#+ +(.*)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def broken(path):
    """Return the links of a page that lead nowhere."""
    found = []
    for target, anchor in LINK.findall(prose(path)):
        to = (path.parent / target).resolve() if target else path
        if not to.exists() or (anchor and to.suffix == ".md" and anchor not in anchors(to)):
            found.append(f"{target}#{anchor}" if anchor else target)
    return found


def test_links_lead_somewhere():
    assert len(PAGES) > 40
    found = {path.relative_to(ROOT).as_posix(): broken(path) for path in PAGES}
    assert {page: links for page, links in found.items() if links} == {}


def test_scripts_that_pages_name_exist():
    named = {
        script
        for path in PAGES
        for script in re.findall(r"python (benchmarks/\w+\.py)", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 15
    assert [script for script in sorted(named) if not (ROOT / script).exists()] == []


def test_planted_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# A title, and more\n", encoding="utf-8")
    good = "[a](other.md) [b](other.md#a-title-and-more) [c](https://nowhere.org) `[d](none.md)`"
    page = tmp_path / "page.md"
    page.write_text(f"{good}\n[e](none.md) [f](other.md#none)\n", encoding="utf-8")
    assert broken(page) == ["none.md", "other.md#none"]
