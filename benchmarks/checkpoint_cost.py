"""NUTS(checkpoint=...): what it costs to keep a file from which sampling can go on.

Whole fits of one table with and without a checkpoint, in turn, all compiled before; every fit
begins a new file. Files are written once a second at most, and at the end, and writing takes at
most a twentieth of the time between; the end is written whatever it costs, so that the shortest
run is the dearest.
"""

import dataclasses
import tempfile
import warnings
from pathlib import Path

from measure import Options, compared, in_turn, main, ratio
from results import Result
from tables import normal_rows

import bayesgen as bg

MODELS = (
    ("naive Bayes p=4 K=3", bg.NaiveBayes, 4, 1000),
    ("QDA p=10 K=3", bg.QDA, 10, 1000),
)
N_CLASSES = 3


def measure(options: Options) -> list[Result]:
    """Return the cost of a checkpoint for runs of several lengths and sizes."""
    # short chains are no subject here
    warnings.simplefilter("ignore", bg.errors.NotConverged)
    with tempfile.TemporaryDirectory() as folder:
        models = MODELS[:1] if options.quick else MODELS
        return [_cost(*model, Path(folder) / "run.bgm", options) for model in models]


def _cost(name: str, model: type, p: int, draws: int, path: Path, options: Options) -> Result:
    X, y = normal_rows(1_000, p, N_CLASSES)
    draws = options.size(draws, 60)
    sampler = bg.NUTS(draws=draws, warmup=draws, progress=False)
    kept = dataclasses.replace(sampler, checkpoint=path)

    def with_file() -> None:
        path.unlink(missing_ok=True)
        model(inference=kept, random_state=0).fit(X, y)

    def without() -> None:
        model(inference=sampler, random_state=0).fit(X, y)

    found = ratio(in_turn(with_file, without, options.repeats), faster=False)
    note = f"{path.stat().st_size / 1e6:.1f} MB at the end"
    work = f"NUTS {name}, {draws:,} draws: with a checkpoint over without"
    return compared(work, "<= 1.1", found, note)


if __name__ == "__main__":
    # threads of BLAS play no part: XLA does the work
    main(__file__, __doc__, measure, threads=("default",))
