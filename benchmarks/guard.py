"""What a change must not slow down: ratios to other libraries, beside those of the last landing.

One run of a few minutes measures the stack on tables in the shape of real ones and on tidy ones,
joint normals with missing cells, prediction sets, summaries, the import and the command. Each is
the ratio of the least processor seconds of both sides, in turn on one thread: other work on the
machine makes either side slower only. A ratio that is worse than the kept one by a quarter is
measured again, and marked if it is worse again; then the exit status is 1. guard.json keeps the
ratios, their date, machine and versions.

python benchmarks/guard.py                     # before a change in inference/ or estimators/ lands
python benchmarks/guard.py --only messy import # these alone
python benchmarks/guard.py --write             # keep the ratios of this run: with what it measures
"""

import argparse
import atexit
import dataclasses
import datetime
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import cold_start
import messy_speed
import missing_speed
import numpy as np
import prediction_sets
from cold_start import processor_seconds
from measure import compared, environment, ratio
from reporting import describe, machine_lines, table
from results import Result, read, write
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from stack_speed import PREDICTED, seconds

import bayesgen as bg

KEPT = Path(__file__).with_name("guard.json")
WORSE = 1.25
"""Ratio to the kept one from which a figure is worse: the least of several processor seconds
differs by up to a tenth between runs on busy cores."""
SHAPES = ("tumours", "40 classes", "kidneys", "pupils", "liver", "veterinary", "trees")
"""Shapes of `messy_speed.py` whose fits take at most some seconds."""
HELP = "import sys; sys.argv = ['bayesgen', '--help']; from bayesgen.cli import run; run()"
FIRST_LINE = """
import os, sys
from bayesgen.cli import main
class Ends:
    def write(self, text):
        os._exit(0)
    def flush(self):
        pass
    def isatty(self):
        return False
sys.stdout = Ends()
main(["fit", sys.argv[1], "--target", "class", "--out", sys.argv[1] + ".bgm"])
"""
"""A command that ends as it prints its first line, of what was read."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What is timed.

    ready: makes the tables and fits, and returns functions that return seconds of ours and of the
    other library's. repeats: of the pair.
    """

    name: str
    ready: Callable[[], tuple[Callable[[], float], Callable[[], float]]]
    repeats: int = 5

    def measured(self) -> Result:
        """Return the ratio of the best of ours to the best of theirs, and the range of all."""
        ours, theirs = self.ready()
        pairs = np.array([[ours(), theirs()] for _ in range(self.repeats)])
        best, (mine, other) = ratio(pairs, faster=False), pairs.min(axis=0)
        best = dataclasses.replace(best, median=float(mine / other), ours=mine, theirs=other)
        return compared(self.name, None, best)


# -- what is timed -----------------------------------------------------------------------------


def works(*, quick: bool = False) -> Iterator[Work]:
    """Yield everything that is guarded.

    quick: small sizes, to see that everything runs.
    """
    shapes = dict.fromkeys(SHAPES[:1] if quick else SHAPES)
    for name in shapes:
        shape = messy_speed.Shape(60, 2, 1, 2, 2, 0.1) if quick else messy_speed.SHAPES[name]
        work = functools.partial(_messy, shape, 10 if quick else messy_speed.TREES)
        yield Work(f"messy, {name}: fit over a forest's", work, 2)
    for n, p in ((200, 5),) if quick else ((1000, 20), (1000, 60), (10_000, 20)):
        tidy = functools.partial(_tidy, n, p, 10 if quick else 500)
        once = n > 1000 or p > 20
        size = f"{n:,} x {p}"
        yield Work(f"tidy, {size}: fit over a forest's", tidy, 2 if once else 3)
        predict = functools.partial(_tidy_answer, n, p, 10 if quick else 500, _predicted)
        yield Work(f"tidy, {size}: predict 1,000 rows over a forest's", predict, 9)
    sizes = (200, 5, 10) if quick else (1000, 20, 500)
    intervals = functools.partial(_tidy_answer, *sizes, _intervals)
    yield Work("stack, intervals of 100 rows: over a forest's prediction of 1,000", intervals)
    yield Work("stack, summary: over a forest's fit", functools.partial(_summary, *sizes), 1)
    for clf in (bg.NaiveBayes(), bg.LDA(), bg.StackedClassifier(progress=False, random_state=0)):
        work = functools.partial(_sets, clf, 60 if quick else 300, 10 if quick else 500)
        name = type(clf).__name__
        yield Work(f"predict_set, {name}: 100 rows over a forest's prediction of them", work)
    for make in (bg.LDA, bg.QDA):
        size = "200 x 8" if quick else "1,000 x 20"
        work = functools.partial(_missing, make, size, 10 if quick else 500)
        yield Work(f"{make.__name__}, {size}, 15 % missing: fit over a forest's", work)
    yield Work("import: over scikit-learn's counterparts", _imports)
    yield Work("fresh process, iris: over one that uses GaussianNB", _fresh_process)
    yield Work("bayesgen --help: over the import of scikit-learn's counterparts", _help)
    yield Work("bayesgen fit, a file of 165 x 49: first line over the same import", _first_line)


def _messy(shape: messy_speed.Shape, trees: int) -> tuple[Callable, Callable]:
    X, y = messy_speed.simulated(shape)
    forest = dict(messy_speed.rivals(X, trees))["forest"]
    messy_speed.stack().fit(*messy_speed.simulated(messy_speed.Shape(40, 2, 0, 2, 2, 0.1)))
    fit = messy_speed.seconds
    return functools.partial(fit, messy_speed.stack, X, y), functools.partial(fit, forest, X, y)


def _rows(n: int, p: int) -> tuple[np.ndarray, np.ndarray]:
    informative = min(10, p - 2)
    return make_classification(n, p, n_informative=informative, n_classes=3, random_state=0)


def _forest(trees: int) -> RandomForestClassifier:
    return RandomForestClassifier(trees, n_jobs=1, random_state=0)


def _tidy(n: int, p: int, trees: int) -> tuple[Callable, Callable]:
    X, y = _rows(n, p)
    messy_speed.stack().fit(X[:100], y[:100])
    return (
        lambda: seconds(lambda: messy_speed.stack().fit(X, y)),
        lambda: seconds(lambda: _forest(trees).fit(X, y)),
    )


def _predicted(stack: bg.StackedClassifier, rows: np.ndarray) -> np.ndarray:
    return stack.predict_proba(rows)


def _intervals(stack: bg.StackedClassifier, rows: np.ndarray) -> np.ndarray:
    return stack.predict_interval(rows[:100])


def _tidy_answer(n: int, p: int, trees: int, answer: Callable) -> tuple[Callable, Callable]:
    """Time an answer of a stack beside a forest's prediction of 1,000 rows."""
    X, y = _rows(n, p)
    stack, forest = messy_speed.stack().fit(X, y), _forest(trees).fit(X, y)
    rows = X[np.arange(PREDICTED) % n]
    answer(stack, rows)
    return (
        lambda: seconds(lambda: answer(stack, rows)),
        lambda: seconds(lambda: forest.predict_proba(rows)),
    )


def _summary(n: int, p: int, trees: int) -> tuple[Callable, Callable]:
    X, y = _rows(n, p)
    stack = messy_speed.stack().fit(X, y)
    return (
        lambda: seconds(lambda: stack.summary()),
        lambda: seconds(lambda: _forest(trees).fit(X, y)),
    )


def _sets(clf: object, n: int, trees: int) -> tuple[Callable, Callable]:
    X, y = _rows(n + 100, 8)
    forest = _forest(trees).fit(X[:n], y[:n])

    def sets() -> float:
        kinds = prediction_sets.kinds_of_sets(clf, X[:n], y[:n], X[n:], set())
        return next(spent for kind, _, _, spent in kinds if kind == "sets")

    return sets, lambda: seconds(lambda: forest.predict_proba(X[n:]))


def _missing(make: Callable, size: str, trees: int) -> tuple[Callable, Callable]:
    X, y = missing_speed.table(size)
    gaps = missing_speed.removed(X, 0.15)

    def fit() -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bg.errors.NarrowIntervals)
            return make(random_state=0).fit(gaps, y)

    fit()
    return lambda: seconds(fit), lambda: seconds(lambda: _forest(trees).fit(X, y))


def _processes(ours: str, theirs: str, path: Path = Path()) -> tuple[Callable, Callable]:
    """Time processes that run code of Python, after one run of each; path: their argument."""
    both = [functools.partial(processor_seconds, code, path) for code in (ours, theirs)]
    for run in both:
        run()
    return both[0], both[1]


def _imports() -> tuple[Callable, Callable]:
    return _processes(*cold_start.IMPORTS)


def _fresh_process() -> tuple[Callable, Callable]:
    return _processes(cold_start.OURS["table"], cold_start.THEIRS["table"])


def _help() -> tuple[Callable, Callable]:
    return _processes(HELP, cold_start.IMPORTS[1])


@functools.cache
def _folder() -> Path:
    """Return a folder for files of the work, which is removed when the process ends."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)
    return Path(folder.name)


def _first_line() -> tuple[Callable, Callable]:
    path = _folder() / "rows.csv"
    X, y = messy_speed.simulated(messy_speed.SHAPES["liver"])
    X.assign(**{"class": y}).to_csv(path, index=False)
    return _processes(FIRST_LINE, cold_start.IMPORTS[1], path)


# -- beside what was kept -------------------------------------------------------------------------


def judged(work: Work, kept: Result | None) -> Result:
    """Return a figure with its goal; one that is worse than kept is measured a second time.

    Of two figures the better one is returned.
    """
    found = work.measured()
    if kept is None or kept.measured is None:
        return found
    goal = f"<= {WORSE * kept.measured:.3g}"
    found = dataclasses.replace(found, goal=goal)
    if found.met:
        return found
    again = dataclasses.replace(work.measured(), goal=goal)
    best = min(found, again, key=lambda line: line.measured or np.inf)
    return dataclasses.replace(best, note=f"measured twice; kept: {kept.measured:.3g}")


def kept_ratios(path: Path = KEPT) -> dict[str, Result]:
    """Return the kept figures by name; none, if there is no file."""
    return {line.work: line for line in read(path)} if path.exists() else {}


def keep(lines: Sequence[Result], path: Path = KEPT) -> None:
    """Write figures, and those that were kept of what was not measured now."""
    merged = kept_ratios(path) | {line.work: line for line in lines}
    plain = [dataclasses.replace(line, goal=None, note="") for line in merged.values()]
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    write(path, plain, date=today, machine=describe())


def main() -> int:
    """Print a Markdown table; return 1 if something is worse twice."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="WORD", help="works whose name has one")
    parser.add_argument("--write", action="store_true", help="renew guard.json")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures and machine here")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    arguments = parser.parse_args()
    if environment("one") != dict(os.environ):  # BLAS reads them when it is loaded
        return subprocess.run([sys.executable, *sys.argv], env=environment("one")).returncode
    warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
    kept = {} if arguments.quick or arguments.write else kept_ratios()
    began, machine, lines = time.monotonic(), describe(), []
    print(machine_lines(machine), flush=True)
    if kept:
        print(f"kept: {json.loads(KEPT.read_text(encoding='utf-8'))['date']}", flush=True)
    for work in works(quick=arguments.quick):
        if arguments.only and not any(word in work.name for word in arguments.only):
            continue
        work = dataclasses.replace(work, repeats=1) if arguments.quick else work
        lines.append(judged(work, kept.get(work.name)))
        mark = "  WORSE" if lines[-1].met is False else ""
        print(f"{lines[-1].measured:8.3g}  {work.name}{mark}", file=sys.stderr, flush=True)
    print("", table(lines, quick=arguments.quick), sep="\n")
    print(f"\n{(time.monotonic() - began) / 60:.1f} minutes")
    if arguments.json:
        write(arguments.json, lines, machine=machine)
    if arguments.write and not arguments.quick:
        keep(lines)
    worse = [line.work for line in lines if line.met is False]
    if worse:
        print(f"worse by a quarter, twice: {'; '.join(worse)}")
    return int(bool(worse))


if __name__ == "__main__":
    sys.exit(main())
