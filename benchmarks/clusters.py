"""Fits on two workers of Dask and of Spark, beside the fit of one process on one thread.

ROWS x 20 numbers and a text of three classes, in the Parquet files of out_of_core.py. Every worker
has one thread. Both sides read the same files and are timed by the clock, since the gain is one of
waiting: on a machine whose cores are busy the figure means little.
"""

import contextlib
import dataclasses
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from measure import assert_close, compared, environment, in_turn, parser, ratio
from out_of_core import COLUMNS, generate
from reporting import describe, machine_lines, table
from results import Result, write

MODELS = {"naive Bayes": "NaiveBayes", "QDA": "QDA"}
GOALS = {"Dask, 2 workers": ">= 1.6", "Spark local[2]": ">= 1.2"}
FULL, QUICK = 2_000_000, 20_000


@contextlib.contextmanager
def dask_reader() -> Iterator[Callable]:
    """Start two processes of one thread, and give the function that opens files there."""
    import dask.dataframe as dd
    from dask.distributed import Client, LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(processes=True, **options) as cluster, Client(cluster):
        yield lambda folder: dd.read_parquet(_files(folder))


@contextlib.contextmanager
def spark_reader() -> Iterator[Callable]:
    """Start Spark on two threads, and give the function that opens files there."""
    from pyspark.sql import SparkSession

    # it says so at every call
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
    options = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    options["spark.driver.host"] = "127.0.0.1"
    session = SparkSession.builder.master("local[2]").config(map=options).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    try:
        yield lambda folder: session.read.parquet(*_files(folder))
    finally:
        session.stop()


READERS = {"Dask, 2 workers": dask_reader, "Spark local[2]": spark_reader}


def measure(rows: int, folder: Path | None, repeats: int) -> list[Result]:
    """Return seconds of one process over those of each cluster, for each model."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = folder or Path(temporary) / "rows"
        generate(folder, rows)
        return [line for name in READERS for line in _on(name, folder, rows, repeats)]


def _files(folder: Path) -> list[str]:
    return sorted(map(str, folder.rglob("*.parquet")))


def _on(name: str, folder: Path, rows: int, repeats: int) -> Iterator[Result]:
    import pyarrow as pa

    import bayesgen as bg

    works = {model: f"fit {rows:,} x {len(COLUMNS)}, {model}, {name}" for model in MODELS}
    if name.startswith("Spark") and not (_has_pyspark() and shutil.which("java")):
        note = "needs Java and `uv sync --group spark`"
        yield from (Result(work, GOALS[name], None, note=note) for work in works.values())
        return
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    some = np.random.default_rng(1).standard_normal((1000, len(COLUMNS)))
    with READERS[name]() as opened:
        for model, work in works.items():
            make = partial(getattr(bg, MODELS[model]), random_state=0)

            def here(make: Callable = make) -> np.ndarray:
                return make().fit(folder, y="y").predict_proba(_named(some))

            def there(make: Callable = make) -> np.ndarray:
                return make().fit(opened(folder), y="y").predict_proba(_named(some))

            assert_close(there(), here(), 1e-10, work)
            found = ratio(in_turn(there, here, repeats), faster=True)
            yield dataclasses.replace(compared(work, GOALS[name], found), threads="one")


def _named(rows: np.ndarray) -> object:
    import pandas as pd

    return pd.DataFrame(rows, columns=COLUMNS)


def _has_pyspark() -> bool:
    import importlib.util

    return importlib.util.find_spec("pyspark") is not None


def main() -> None:
    """Run in a process of one thread: print the table, write JSON if asked to."""
    options = parser(__doc__, ("one",))
    options.add_argument("--rows", type=int, help=f"rows of the table ({FULL:,}; {QUICK:,} quick)")
    options.add_argument("--folder", type=Path, help="of the files, which stay (a temporary one)")
    arguments = options.parse_args()
    if not arguments.here:
        command = [sys.executable, __file__, "--here", *sys.argv[1:]]
        # the interpreter of Spark's workers
        env = environment("one") | {"PYSPARK_PYTHON": sys.executable}
        sys.exit(subprocess.run(command, env=env, check=False).returncode)
    repeats = arguments.repeats or (1 if arguments.quick else 3)
    rows = arguments.rows or (QUICK if arguments.quick else FULL)
    machine = describe(quick=arguments.quick, repeats=repeats)
    results = measure(rows, arguments.folder, repeats)
    print(machine_lines(machine), "", table(results, quick=arguments.quick), sep="\n")
    if arguments.json:
        write(arguments.json, results, machine=machine)


if __name__ == "__main__":
    main()
