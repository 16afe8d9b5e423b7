"""Pages as HTML: templates filled with values, written in one piece."""

import os
from collections.abc import Callable, Mapping

from bayesgen.persist import replacing


def html(
    package: str, template_file: str, filters: Mapping[str, Callable[..., str]], **values: object
) -> str:
    """Return a self-contained page: styles and figures are in it, and no script.

    Args:
        package: the folder of the template, as a module's name.
        template_file: its file; it extends page.html, which needs a title and a subtitle.
        filters: functions that the template calls, by name.
        values: what it is filled with.
    """
    return template(package, template_file, filters)(**values)


def template(
    package: str, file: str, filters: Mapping[str, Callable[..., str]]
) -> Callable[..., str]:
    """Return a template as a function of the values that it is filled with.

    Args:
        package: its folder, as a module's name; it may include files of this one and of the page's.
        file: its name.
        filters: functions that it calls, by name.
    """
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    loader = ChoiceLoader([PackageLoader(name, "") for name in (package, "bayesgen.page")])
    environment = Environment(
        loader=loader,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {"grouped": "{:,}".format, **filters}
    return environment.get_template(file).render


def write(path: str | os.PathLike, page: str) -> None:
    """Write a page to a file, which is replaced at once.

    Raises:
        InvalidFile: no file can be written to the path.
    """
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
