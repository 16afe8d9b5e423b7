"""The command line application: its commands, examples, exit codes and errors."""

import contextlib
import itertools
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterable, Sequence
from importlib.metadata import version
from types import FrameType
from typing import NoReturn

from cyclopts import App, CycloptsError, Parameter
from rich.console import Console

from bayesgen.cli import printing
from bayesgen.cli.compare import compare_methods
from bayesgen.cli.datasets import list_datasets
from bayesgen.cli.fit import fit_model, merge_models
from bayesgen.cli.options import TYPED
from bayesgen.cli.predict import predict_rows
from bayesgen.cli.progress import progress_lines
from bayesgen.cli.report import report_page
from bayesgen.cli.serve import serve_page
from bayesgen.errors import BayesgenError

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
        "bayesgen predict ill.bgm rows.csv --cost ill:well=5,well:ill=1 --out answers.csv",
        "bayesgen predict titanic.bgm passengers.csv --json | head -1",
    ),
    "report": (
        "bayesgen report titanic_passengers --html titanic.html",
        "bayesgen report rows.csv --target species --model qda --html page.html",
        "bayesgen report rows.csv --target species --fitted qda.bgm --html page.html",
        "bayesgen report titanic_passengers --by sex --notes notes.md --html titanic.html",
    ),
    "serve": (
        "bayesgen serve titanic.bgm",
        "bayesgen serve titanic_passengers --port 8080",
        "bayesgen serve rows.csv --target ill --cost-of glucose=2,age=0 --notes notes.md",
    ),
    "datasets": ("bayesgen datasets", "bayesgen datasets --json"),
}
INTERRUPTED = 130
"""Exit code of a process that Ctrl-C has ended: 128 and the number of SIGINT."""
STOPPED = "interrupted; nothing written"
SECONDS_TO_STOP = 2.0
"""After which a process ends where its KeyboardInterrupt was lost."""


def run() -> NoReturn:
    """Run the command line and end the process with its exit code.

    After Ctrl-C the process ends without waiting for threads of other libraries, which an
    interruption may have left waiting for each other.
    """
    # a job in the background of a script is started to ignore Ctrl-C
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, stop)
    code = main()
    if code == INTERRUPTED:
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        os._exit(code)
    sys.exit(code)


def stop(_: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt on Ctrl-C, and end the process soon if that does not.

    It is lost where Python can only print it (callbacks of JAX from C++, or of the garbage
    collector). It is not raised while a module is being imported: extension modules of JAX then
    abort the process.
    """

    def end() -> None:
        print(STOPPED, file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.unraisablehook = lambda _: None
    timer = threading.Timer(SECONDS_TO_STOP, end)
    timer.daemon = True
    timer.start()
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return
        frame = frame.f_back
    raise KeyboardInterrupt


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        arguments: None takes those of the process.

    Returns:
        0 when done, 1 when the data or the model were refused or the output cannot be written (one
        sentence on stderr), 2 when the arguments are wrong, 130 when interrupted.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with warnings.catch_warnings(record=True) as caught:
        code = _exit_code(words)
    if code != INTERRUPTED:
        printing.print_warnings(warning.message for warning in caught)
    return code


def _exit_code(words: list[str]) -> int:
    TYPED.set(tuple(words))
    printing.SAID.set(set())
    errors = Console(stderr=True)
    try:
        with progress_lines(next(iter(words), "")):
            application()(
                words, exit_on_error=False, error_console=errors, result_action="return_value"
            )
        sys.stdout.flush()
    except CycloptsError:
        return 2
    except BayesgenError as error:
        print(f"bayesgen: {printing.sentence(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(STOPPED, file=sys.stderr)
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
        default_parameter=Parameter(negative=()),
    )
    commands = (
        *(compare_methods, fit_model, merge_models, predict_rows),
        *(report_page, serve_page, list_datasets),
    )
    for (name, examples), command in zip(EXAMPLES.items(), commands, strict=True):
        app.command(command, name=name, help_epilogue=_example_text(examples))
    return app


def _example_text(examples: Iterable[str]) -> str:
    return "\n".join(["Examples:", "", "```", *examples, "```", ""])
