"""The command line application: its commands, examples, exit codes and errors."""

import contextlib
import itertools
import os
import sys
import threading
import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from typing import NoReturn

from cyclopts import App, CycloptsError
from rich.console import Console

from bayesgen.cli import printing
from bayesgen.cli.commands.compare import compare_methods
from bayesgen.cli.commands.datasets import list_datasets
from bayesgen.cli.commands.fit import fit_model
from bayesgen.cli.commands.merge import merge_models
from bayesgen.cli.commands.predict import predict_rows
from bayesgen.cli.commands.report import report_page
from bayesgen.cli.interruption import interruptible
from bayesgen.cli.typed import typed
from bayesgen.errors import BayesgenError
from bayesgen.errors.notes import merged, note

HELP = "Class probabilities you can act on: Bayesian generative classification."
EXAMPLES = {
    "compare": (
        "bayesgen compare titanic_passengers --target survived",
        "bayesgen compare rows.csv --target species --model qda --methods mle,exact",
        "bayesgen compare rows.csv --target ill --groups patient --drop visit,date",
        "bayesgen compare rows.csv --target ill --rivals forest --train-rows 50",
        "bayesgen compare rows.parquet --target churned --json > scores.json",
    ),
    "fit": (
        "bayesgen fit titanic_passengers --out titanic.bgm",
        "bayesgen fit rows.csv --target species --model qda --inference map -o qda.bgm",
        "bayesgen fit rows.csv --target ill --drop patient_id --out ill.bgm",
        "bayesgen fit rows.parquet --target churned --model naive-bayes --out naive.bgm",
    ),
    "merge": (
        "bayesgen merge north.bgm south.bgm --out both.bgm",
        "bayesgen merge ward1.bgm ward2.bgm ward3.bgm -o hospital.bgm",
    ),
    "predict": (
        "bayesgen predict titanic.bgm passengers.csv --out answers.parquet",
        "bayesgen predict titanic.bgm passengers.csv --keep name > answers.csv",
        "bayesgen predict ill.bgm rows.csv --prior ill=0.01,well=0.99 --out answers.csv",
        "bayesgen predict titanic.bgm passengers.csv --json | head -1",
    ),
    "report": (
        "bayesgen report titanic_passengers --html titanic.html",
        "bayesgen report rows.csv --target species --model qda --html page.html",
        "bayesgen report rows.csv --target species --fitted qda.bgm --html page.html",
    ),
    "datasets": ("bayesgen datasets", "bayesgen datasets --json"),
}
INTERRUPTED = 130
"""Exit code of a process that Ctrl-C has ended: 128 and the number of SIGINT."""


def run() -> NoReturn:
    """Run the command line and end the process with its exit code.

    After Ctrl-C the process ends without waiting for threads of other libraries, which an
    interruption may have left waiting for each other.
    """
    code = main()
    if code == INTERRUPTED:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: None takes those of the process.

    Returns:
        0 when done, 1 when the data or the model were refused or the output cannot be written (one
        sentence on stderr), 2 when the arguments are wrong, 130 when interrupted.
    """
    own = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(record=True) as caught, interruptible() as ended:
        typed.set(tuple(own))
        code = _exit_code(own, ended)
    if code != INTERRUPTED:
        printing.print_notes(merged(note(warning.message) for warning in caught))
    return code


def _exit_code(arguments: list[str], ended: threading.Event) -> int:
    errors = Console(stderr=True)
    try:
        application()(
            arguments, exit_on_error=False, error_console=errors, result_action="return_value"
        )
        sys.stdout.flush()
    except CycloptsError:
        return 2
    except BayesgenError as error:
        where = "".join(f" [{place}]" for place in getattr(error, "__notes__", ()))
        print(f"bayesgen: {error.written('shell')}{where}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        ended.set()
        kept = [note for note in getattr(stop, "__notes__", ()) if "are kept in" in note]
        print(f"interrupted; {kept[0] if kept else 'nothing written'}", file=sys.stderr)
        return INTERRUPTED
    except OSError as error:
        if error.filename is not None:
            raise
        # of stdout, which Python would flush at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        # the reader, such as `head`, has closed the pipe
        if isinstance(error, BrokenPipeError):
            return 0
        print(f"bayesgen: cannot write the output: {error.strerror or error}.", file=sys.stderr)
        return 1
    return 0


def application() -> App:
    """Return the command line application."""
    app = App(
        name="bayesgen",
        help=HELP,
        help_epilogue=_example_text(itertools.chain.from_iterable(EXAMPLES.values())),
        help_format="markdown",
        version=lambda: version("bayesgen"),
        suppress_keyboard_interrupt=False,
    )
    commands = (compare_methods, fit_model, merge_models, predict_rows, report_page, list_datasets)
    for (name, examples), command in zip(EXAMPLES.items(), commands, strict=True):
        app.command(command, name=name, help_epilogue=_example_text(examples))
    return app


def _example_text(examples: Iterable[str]) -> str:
    return "\n".join(["Examples:", "", "```", *examples, "```", ""])
