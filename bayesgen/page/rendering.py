"""Pages as HTML: the template filled with sections, written in one piece."""

import os
from collections.abc import Sequence
from importlib import resources

from bayesgen.page.blocks import Section
from bayesgen.persist.container import replacing


def html(title: str, subtitle: str, sections: Sequence[Section]) -> str:
    """Return a self-contained page: styles and figures are in it, and no script.

    Args:
        title: of the page, also its first heading.
        subtitle: a line below it.
        sections: in their order.
    """
    import jinja2

    text = resources.files("bayesgen.page").joinpath("template.html").read_text(encoding="utf-8")
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(text)
    return template.render(title=title, subtitle=subtitle, sections=sections)


def write(path: str | os.PathLike, page: str) -> None:
    """Write a page to a file, which is replaced at once.

    Raises:
        InvalidFile: no file can be written to the path.
    """
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
