"""Fits to Parquet files and predictions written to one, beside DuckDB on the same files.

ROWS x 20 numbers and a text of 3 classes, in files generated once. Every side runs in a process of
its own, on one thread, in turn; the figures are ratios of processor seconds, to which other work on
the machine adds little, and peak memory of whole processes. Both do a file before the clock starts.

DuckDB reads all 20 columns each time: for naive Bayes avg and var_samp by class, for QDA corr of
all pairs by class, for predictions three sums of products of all columns, copied to Parquet.
"""

import argparse
import dataclasses
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measure import Options, assert_close, compared, environment, parser, ratio
from memory import megabytes
from reporting import describe, table
from results import Result, write

COLUMNS = [f"x{j}" for j in range(20)]
CLASSES = ["high", "low", "medium"]
FILE_ROWS = 500_000
GROUP_ROWS = 125_000
MODELS = {"naive Bayes": "NaiveBayes", "QDA": "QDA"}


# -- files -----------------------------------------------------------------------------------------


def generate(folder: Path, rows: int) -> None:
    """Write the files, unless they are there: a quarter of them in a folder of its own."""
    done = folder / "_rows.json"
    if done.exists() and json.loads(done.read_text(encoding="utf-8")) == rows:
        return
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} holds something else: name a new folder.")
    rng = np.random.default_rng(0)
    n_files = 4 * math.ceil(rows / (4 * FILE_ROWS))
    for i in range(n_files):
        part = folder / ("quarter" if 4 * i < n_files else "rest")
        part.mkdir(parents=True, exist_ok=True)
        size = rows * (i + 1) // n_files - rows * i // n_files
        write_file(part / f"{i:04d}.parquet", size, rng)
    done.write_text(json.dumps(rows), encoding="utf-8")


def write_file(path: Path, rows: int, rng: np.random.Generator) -> None:
    """Write rows of three normal classes, whose first columns are correlated."""
    import pyarrow as pa
    from pyarrow import parquet

    y = rng.integers(0, 3, rows)
    x = rng.standard_normal((len(COLUMNS), rows))
    x[1:10] += 0.3 * x[0]
    x[::3] += 0.2 * y
    label = pa.DictionaryArray.from_arrays(y.astype(np.int32), CLASSES).cast(pa.string())
    table = pa.table([*x, label], names=[*COLUMNS, "y"])
    parquet.write_table(table, path, row_group_size=GROUP_ROWS, use_dictionary=["y"])


def n_rows(folder: Path) -> int:
    """Return the number of rows of all files."""
    from pyarrow import parquet

    return sum(parquet.read_metadata(file).num_rows for file in folder.rglob("*.parquet"))


# -- the two sides, each in a process of its own ---------------------------------------------------


def fit(model: str) -> Callable[[Path], np.ndarray]:
    """Return the function that fits a model, and returns variances or correlations by class."""
    import bayesgen as bg

    def run(folder: Path) -> np.ndarray:
        state = getattr(bg, MODELS[model])().fit(folder, y="y").state_
        (found,) = state.statistics.blocks.values()
        if model == "naive Bayes":
            return found.scatter / (found.count - 1)
        sd = np.sqrt(np.diagonal(found.scatter, axis1=1, axis2=2))
        below = np.tril_indices(len(COLUMNS), -1)
        return (found.scatter / sd[:, :, None] / sd[:, None, :])[:, *below]

    return run


def scan(model: str) -> Callable[[Path], np.ndarray]:
    """Return the function that has DuckDB compute as much by class."""
    connection = one_thread()
    if model == "naive Bayes":
        asked = [f"var_samp({name})" for name in COLUMNS] + [f"avg({name})" for name in COLUMNS]
    else:
        asked = [f"corr({a}, {b})" for i, a in enumerate(COLUMNS) for b in COLUMNS[:i]]

    def run(folder: Path) -> np.ndarray:
        query = f"SELECT {', '.join(asked)} FROM {files(folder)} GROUP BY y ORDER BY y"
        found = np.array(connection.sql(query).fetchall())
        return found[:, : len(COLUMNS)] if model == "naive Bayes" else found

    return run


def predict(model: str, folder: Path) -> Callable[[Path], None]:
    """Return the function that writes class probabilities to Parquet."""
    from pyarrow import parquet

    import bayesgen as bg

    first = min(folder.rglob("*.parquet"))
    classifier = getattr(bg, MODELS[model])().fit(first, y="y")

    def run(folder: Path) -> None:
        answers = classifier.predict_proba(folder)
        with (
            tempfile.TemporaryDirectory() as out,
            # a dictionary of numbers that are all different costs four times the rest
            parquet.ParquetWriter(f"{out}/a.parquet", answers.schema, use_dictionary=False) as to,
        ):
            for batch in answers:
                to.write_batch(batch)

    return run


def copy(asked: list[str]) -> Callable[[Path], None]:
    """Return the function that has DuckDB write columns to Parquet."""
    connection = one_thread()

    def run(folder: Path) -> None:
        with tempfile.TemporaryDirectory() as out:
            query = f"SELECT {', '.join(asked)} FROM {files(folder)}"
            connection.execute(f"COPY ({query}) TO '{out}/a.parquet' (FORMAT parquet)")

    return run


def one_thread() -> object:
    """Return a connection to DuckDB."""
    import duckdb

    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    return connection


def files(folder: Path) -> str:
    """Return the table function that reads a folder, or one file."""
    return f"read_parquet('{folder if folder.is_file() else folder / '**' / '*.parquet'}')"


SUMS = [f"{'+'.join(f'{w}*{name}' for name in COLUMNS)} AS sum_{w}" for w in (2, 3, 5)]
SIDES: dict[str, Callable[[Path], Callable]] = {
    **{f"fit {model}": lambda _, model=model: fit(model) for model in MODELS},
    **{f"scan {model}": lambda _, model=model: scan(model) for model in MODELS},
    **{f"predict {model}": lambda path, model=model: predict(model, path) for model in MODELS},
    "copy three sums": lambda _: copy(SUMS),
    "copy three columns": lambda _: copy(COLUMNS[:3]),
}
"""Name -> function of the folder that returns what is timed, a function of a folder or a file."""


@dataclasses.dataclass(frozen=True)
class Run:
    """What a process reports: seconds of the processor and of the clock, peak memory, result."""

    seconds: float
    clock: float
    peak: float
    found: list | None

    @classmethod
    def here(cls, side: str, folder: Path) -> "Run":
        """Run a side in this process."""
        work = SIDES[side](folder)
        work(min(folder.rglob("*.parquet")))
        seconds, clock = time.process_time(), time.perf_counter()
        found = work(folder)
        seconds, clock = time.process_time() - seconds, time.perf_counter() - clock
        return cls(seconds, clock, megabytes("VmHWM"), None if found is None else found.tolist())

    @classmethod
    def apart(cls, side: str, folder: Path) -> "Run":
        """Run a side in a process of its own."""
        command = [sys.executable, __file__, "--side", side, "--folder", str(folder)]
        done = subprocess.run(command, env=environment("one"), check=True, stdout=subprocess.PIPE)
        return cls(**json.loads(done.stdout))


# -- the table -------------------------------------------------------------------------------------


def measure(options: Options, folder: Path) -> list[Result]:
    """Return shares of DuckDB's rate, peaks of memory, and peaks over those of a quarter."""
    rows = f"{n_rows(folder):,} x {len(COLUMNS)}"
    results = []
    for model in MODELS:
        work = f"out of core, fit {rows}, {model}"
        results += beside(work, f"fit {model}", f"scan {model}", ">= 0.6", options, folder)
    for model in MODELS:
        work = f"out of core, predict_proba to Parquet {rows}, {model}"
        results += beside(work, f"predict {model}", "copy three sums", ">= 0.5", options, folder)
    sums, columns = (Run.apart(f"copy three {what}", folder) for what in ("sums", "columns"))
    work = f"out of core, DuckDB's copy {rows}: three sums of all columns over three columns"
    return [*results, Result(work, None, sums.seconds / columns.seconds)]


def beside(
    work: str, ours: str, theirs: str, goal: str, options: Options, folder: Path
) -> list[Result]:
    """Return the lines of one kind of work."""
    pairs = [(Run.apart(ours, folder), Run.apart(theirs, folder)) for _ in range(options.repeats)]
    quarter = Run.apart(ours, folder / "quarter")
    (mine, other), *_ = pairs
    if mine.found is not None and other.found is not None:
        assert_close(np.array(mine.found), np.array(other.found), 1e-8, work)
    seconds = np.array([[mine.seconds, other.seconds] for mine, other in pairs])
    clock = np.median([other.clock / mine.clock for mine, other in pairs])
    peak = max(mine.peak for mine, _ in pairs)
    share = compared(f"{work}: share of DuckDB's rate", goal, ratio(seconds, faster=True))
    note = f"by the clock {clock:.3g}"
    return [
        dataclasses.replace(share, note=note, threads="one"),
        Result(f"{work}: peak memory", "<= 500", peak, "MB", threads="one"),
        Result(f"{work}: peak over that of a quarter", "<= 1.1", peak / quarter.peak),
    ]


def main() -> None:
    """Generate files, run both sides, print a table."""
    options = parser(__doc__, ("one",))
    options.add_argument("--rows", type=int, default=None, help="rows (10,000,000)")
    options.add_argument("--folder", type=Path, help="of the files, which stay (a temporary one)")
    options.add_argument("--side", choices=SIDES, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.side:
        print(json.dumps(dataclasses.asdict(Run.here(given.side, given.folder))))
        return
    chosen = Options(given.quick, given.repeats or (1 if given.quick else 3))
    rows = given.rows or chosen.size(10_000_000, 20_000)
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary) / "rows"
        generate(folder, rows)
        results = measure(chosen, folder)
    print(table(results, quick=chosen.quick))
    if given.json:
        machine = describe(quick=chosen.quick, repeats=chosen.repeats)
        write(given.json, results, machine=machine)


if __name__ == "__main__":
    main()
