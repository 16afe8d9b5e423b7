"""The command line application: its commands, examples, exit codes, errors and interruption."""

import _thread
import itertools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

from cyclopts import App, CycloptsError
from rich.console import Console

from bayesgen.cli import printing
from bayesgen.cli.commands.compare import compare_methods
from bayesgen.cli.commands.datasets import list_datasets
from bayesgen.cli.commands.fit import fit_model
from bayesgen.cli.commands.merge import merge_models
from bayesgen.cli.commands.predict import predict_rows
from bayesgen.cli.commands.report import report_page
from bayesgen.cli.cures import in_options
from bayesgen.cli.typed import typed
from bayesgen.errors import BayesgenError
from bayesgen.errors.base import merge_sentences

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


AGAIN_SECONDS = 0.25
"""After which a Ctrl-C that was lost is repeated."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: None takes those of the process.

    Returns:
        0 when done, 1 when the data or the model were refused (one sentence on stderr), 2 when the
        arguments are wrong, 130 when interrupted.
    """
    own = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(record=True) as caught, _interruptible():
        typed.set(tuple(own))
        code = _exit_code(own)
    if code != INTERRUPTED:
        printing.print_notes(merge_sentences(str(warning.message) for warning in caught))
    return code


def _exit_code(arguments: list[str]) -> int:
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
        print(f"bayesgen: {in_options(str(error))}{where}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        kept = [note for note in getattr(stop, "__notes__", ()) if "are kept in" in note]
        print(f"interrupted; {kept[0] if kept else 'nothing written'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader, such as `head`, has closed the pipe; nothing is left to flush
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


@contextmanager
def _interruptible() -> Generator[None]:
    """Repeat Ctrl-C until it has ended the command.

    A KeyboardInterrupt is lost where Python can only print it (in callbacks from C++, from the
    garbage collector or from weak references, of which JAX has many) and where a library catches
    every exception, as some do while they are imported. It is not repeated while it unwinds.
    """
    handler, hook = signal.getsignal(signal.SIGINT), sys.unraisablehook
    in_main_thread = threading.current_thread() is threading.main_thread()
    if not in_main_thread or handler is not signal.default_int_handler:
        yield
        return
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(AGAIN_SECONDS):
            _thread.interrupt_main()

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, again)
        threading.Thread(target=repeat, daemon=True).start()
        raise KeyboardInterrupt

    def again(*_: object) -> None:
        if not ended.is_set() and not isinstance(sys.exception(), KeyboardInterrupt):
            raise KeyboardInterrupt

    def silent(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            hook(unraisable)

    signal.signal(signal.SIGINT, interrupt)
    sys.unraisablehook = silent
    try:
        yield
    finally:
        ended.set()
        signal.signal(signal.SIGINT, handler)
        sys.unraisablehook = hook


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
