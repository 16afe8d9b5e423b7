"""Side-by-side timing, the machine it ran on, and the command line that all benchmarks share.

Two calls are timed in turn, A B A B, so that whatever else the machine does meets both; the figure
is the median of the ratios. Every setting of threads runs in a process of its own, for a
library reads the setting when it is loaded.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from reporting import describe, table
from results import Result, read, write

THREAD_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    # of XLA, which does numpyro's work
    "NPROC",
)


@dataclasses.dataclass(frozen=True)
class Options:
    """What the command line asks of a benchmark.

    quick: small sizes and few repeats, to see that everything runs; the figures mean nothing.
    repeats: pairs of timings.
    """

    quick: bool = False
    repeats: int = 7

    def size(self, full: int, quick: int) -> int:
        """Return the size that fits the mode."""
        return quick if self.quick else full


@dataclasses.dataclass(frozen=True)
class Ratio:
    """Median ratio of paired timings with its extremes, and the median seconds of both sides."""

    median: float
    low: float
    high: float
    ours: float
    theirs: float


def in_turn(ours: Callable, theirs: Callable, repeats: int) -> np.ndarray:
    """Return seconds of both calls, shape (repeat, 2), after one untimed call of each."""
    ours(), theirs()
    return np.array([[seconds(ours), seconds(theirs)] for _ in range(repeats)])


def seconds(call: Callable) -> float:
    """Return the wall-clock seconds of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def ratio(pairs: np.ndarray, *, faster: bool) -> Ratio:
    """Return theirs over ours (faster), or ours over theirs (what it costs)."""
    ratios = pairs[:, 1] / pairs[:, 0] if faster else pairs[:, 0] / pairs[:, 1]
    return Ratio(float(np.median(ratios)), ratios.min(), ratios.max(), *np.median(pairs, axis=0))


def compared(work: str, goal: str | None, found: Ratio, note: str = "") -> Result:
    """Return the line of the table for a ratio."""
    numbers = (found.low, found.high, found.ours, found.theirs)
    low, high, ours, theirs = (float(number) for number in numbers)
    return Result(work, goal, found.median, "x", low, high, ours, theirs, note)


def assert_close(ours: np.ndarray, theirs: np.ndarray, tolerance: float, work: str) -> None:
    """Refuse to compare the speed of two programs that give different answers."""
    gap = float(np.abs(ours - theirs).max())
    if not gap <= tolerance:
        raise SystemExit(
            f"{work}: the two sides differ by {gap:.1e}, so a ratio would mean nothing"
        )


# -- one script: itself in a process for every setting of threads
# ------------------------------------


def main(
    script: str,
    doc: str,
    measure: Callable[[Options], list[Result]],
    threads: tuple[str, ...] = ("one", "default"),
) -> None:
    """Run a benchmark script from the command line: print its table, write JSON if asked to."""
    arguments = parser(doc, threads).parse_args()
    options = Options(arguments.quick, arguments.repeats or (1 if arguments.quick else 7))
    if arguments.here:
        if options.quick:
            # short chains do not converge, and nobody looks at them
            warnings.simplefilter("ignore")
        write(arguments.json, measure(options))
        return
    every = threads[:1] if options.quick else threads
    chosen = every if arguments.threads == "each" else (arguments.threads,)
    results = [line for setting in chosen for line in _child(script, options, setting)]
    print(table(results, quick=options.quick))
    if arguments.json:
        machine = describe(quick=options.quick, repeats=options.repeats)
        write(arguments.json, results, machine=machine)


def parser(doc: str, threads: tuple[str, ...]) -> argparse.ArgumentParser:
    """Return the options that all benchmark scripts take."""
    out = argparse.ArgumentParser(description=doc.split("\n")[0])
    out.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    out.add_argument("--repeats", type=int, help="pairs of timings (7; 1 when quick)")
    out.add_argument("--json", type=Path, metavar="FILE", help="write figures and machine here")
    out.add_argument(
        "--threads",
        choices=("each", "one", "default"),
        default="each",
        help=f"threads of BLAS and XLA (each of: {', '.join(threads)})",
    )
    # this process measures; without it, children do
    out.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    return out


def environment(threads: str) -> dict[str, str]:
    """Return this process's environment with one thread, or with as many as libraries like."""
    rest = {k: v for k, v in os.environ.items() if k not in THREAD_VARIABLES}
    return rest if threads == "default" else rest | dict.fromkeys(THREAD_VARIABLES, "1")


def _child(script: str, options: Options, threads: str) -> list[Result]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "results.json"
        command = [sys.executable, script, "--here", "--json", str(path)]
        command += ["--repeats", str(options.repeats), *["--quick"] * options.quick]
        subprocess.run(command, env=environment(threads), check=True)
        return [dataclasses.replace(line, threads=threads) for line in read(path)]
