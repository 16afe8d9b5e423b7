"""Where the command starts and how it ends: exit codes 0 (done), 1 (refused), 2 (usage)."""

import os
import re
import sys
import warnings
from collections.abc import Iterable, Sequence

from bayesgen.errors import BayesgenError


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        tokens: the arguments; None takes those of the process.

    Returns:
        0 when done, 1 when the data or the model were refused (one sentence on stderr), 2 when the
        arguments are wrong.
    """
    with warnings.catch_warnings(record=True) as caught:
        code = _exit_code(sys.argv[1:] if tokens is None else list(tokens))
    for sentence in each_once(str(warning.message) for warning in caught):
        print(f"note: {sentence}", file=sys.stderr)
    return code


def each_once(sentences: Iterable[str]) -> list[str]:
    """Return sentences without repetition; those that differ only in their numbers are counted.

    Examples:
        >>> each_once(["3 of 9 rows", "no rows", "4 of 9 rows"])
        ['3 of 9 rows (and 1 more like it)', 'no rows']
    """
    alike: dict[str, list[str]] = {}
    for sentence in sentences:
        alike.setdefault(numberless(sentence), []).append(sentence)
    return [
        first + (f" (and {len(rest):,} more like it)" if rest else "")
        for first, *rest in alike.values()
    ]


def numberless(text: str) -> str:
    """Return a sentence without its numbers; those inside quotes belong to names and stay."""
    return re.sub(r"('[^']*')|\d[\d.,]*", lambda match: match[1] or "#", text)


def _exit_code(tokens: list[str]) -> int:
    from cyclopts import CycloptsError
    from rich.console import Console

    from bayesgen.cli.commands import application

    errors = Console(stderr=True)
    try:
        application()(
            tokens, exit_on_error=False, error_console=errors, result_action="return_value"
        )
        sys.stdout.flush()
    except CycloptsError:
        return 2
    except BayesgenError as error:
        where = "".join(f" [{note}]" for note in getattr(error, "__notes__", ()))
        print(f"bayesgen: {error}{where}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # whoever reads, `head` for one, has seen enough; nothing is left to be flushed
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
