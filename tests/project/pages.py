"""The code blocks of a Markdown page: run one after the other, compared with what is shown."""

import contextlib
import io
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)


SPARK = re.compile(r"^```(\w+) spark\n(.*?)^```$", flags=re.DOTALL | re.MULTILINE)
"""Blocks that need Spark, which only slow tests start."""


def page(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(text):
    """Return (language, code) of every fenced block that names its language, in order."""
    return FENCE.findall(text)


def printed(code, namespace):
    """Run code in a namespace and return what it prints."""
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        exec(code, namespace)
    return shown.getvalue()


def check(text):
    """Run every python block of a page in one namespace; a text block shows what the last printed.

    Returns the number of text blocks.
    """
    namespace, output, compared = {}, "", 0
    for language, code in blocks(text):
        if language == "python":
            output = printed(code, namespace)
        elif language == "text":
            assert output == code, f"shown:\n{code}\nprinted:\n{output}"
            compared += 1
    return compared
