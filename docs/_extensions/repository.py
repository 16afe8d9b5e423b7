"""The rest of the repository on the site: its notebooks as pages, its files as links.

Links of every page are relative to where the page stands in the repository, so that they also work
on the code host. Here a notebook becomes its page under tutorials/, a file of docs/ stays as it is,
and any other file is shown by the code host.
"""

import os
import re
import shutil
from pathlib import Path

from sphinx.application import Sphinx

DOCS = Path(__file__).parents[1]
ROOT = DOCS.parent
TUTORIALS = DOCS / "tutorials"
CHANGELOG = DOCS / "reference" / "changelog.md"
LINK = re.compile(r"(?<=\]\()(?!https?:|mailto:|#)([^)\s#\"\\]+)(#[^)\s\"\\]+)?(?=\))")


def copied() -> dict[Path, Path]:
    """Return the pages that are copies, and the files they are copied from."""
    pages = {TUTORIALS / path.name: path for path in (ROOT / "notebooks").glob("*.ipynb")}
    changes = ROOT / "CHANGELOG.md"
    return pages | ({CHANGELOG: changes} if changes.exists() else {})


def copy_pages(_: Sphinx) -> None:
    """Copy new or changed notebooks and the changelog, and remove copies of what is gone."""
    sources = copied()
    for page in set(TUTORIALS.glob("*.ipynb")) - set(sources):
        page.unlink()
    for page, source in sources.items():
        if not page.exists() or page.stat().st_mtime < source.stat().st_mtime:
            shutil.copy2(source, page)
    if CHANGELOG not in sources:
        CHANGELOG.write_text("# Changelog\n\nNothing has been released yet.\n", encoding="utf-8")


def rewritten(text: str, source: Path, page: Path, url: str) -> str:
    """Return a text whose links, written at `source`, are followed from `page`."""
    pages = {source: page for page, source in copied().items()}

    def link(match: re.Match) -> str:
        target, anchor = (source.parent / match[1]).resolve(), match[2] or ""
        target = pages.get(target, target)
        if target.is_relative_to(DOCS):
            return Path(os.path.relpath(target, page.parent)).as_posix() + anchor
        kind = "tree" if target.is_dir() else "blob"
        return f"{url}/{kind}/main/{target.relative_to(ROOT).as_posix()}{anchor}"

    return LINK.sub(link, text)


def rewrite_links(app: Sphinx, name: str, content: list[str]) -> None:
    """Rewrite the links of one page that Sphinx has read."""
    page = Path(app.env.doc2path(name))
    source = copied().get(page, page)
    content[0] = rewritten(content[0], source, page, app.config.repository_url)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the setting and the two steps."""
    app.add_config_value("repository_url", "", "env", str)
    app.connect("builder-inited", copy_pages, priority=100)
    app.connect("source-read", rewrite_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
