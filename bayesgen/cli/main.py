"""The `bayesgen` command: exit codes 0 (done), 1 (data or model refused), 2 (wrong usage)."""

import os
import sys
import warnings
from collections.abc import Sequence

from bayesgen.errors import BayesgenError
from bayesgen.errors.base import merge_sentences


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: None takes those of the process.

    Returns:
        0 when done, 1 when the data or the model were refused (one sentence on stderr), 2 when the
        arguments are wrong.
    """
    with warnings.catch_warnings(record=True) as caught:
        code = _exit_code(sys.argv[1:] if arguments is None else list(arguments))
    for sentence in merge_sentences(str(warning.message) for warning in caught):
        print(f"note: {sentence}", file=sys.stderr)
    return code


def _exit_code(arguments: list[str]) -> int:
    from cyclopts import CycloptsError
    from rich.console import Console

    from bayesgen.cli.commands import application

    errors = Console(stderr=True)
    try:
        application()(
            arguments, exit_on_error=False, error_console=errors, result_action="return_value"
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
