"""NUTS on the processor and on an accelerator: seconds of both, and whether their answers agree.

Two models, each fitted by each device in a process of its own (JAX_PLATFORMS): QDA(prior="lkj"),
which samples on sufficient statistics, and the program models/gaussian_naive_bayes.py, whose
gradient passes over all rows. Sampling is timed apart; the rest of a fit is nearly all compilation.
Posterior means are compared in Monte Carlo standard errors of their differences. At most 8
minutes: a process that takes longer than half of what is left is ended, and says so. Where JAX
sees no accelerator the processor alone is timed.

python benchmarks/gpu.py
python benchmarks/gpu.py --rows 1000 --draws 100   # on the processor: does everything run?
"""

import argparse
import dataclasses
import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast

import numpy as np
from reporting import describe, machine_lines
from tables import normal_rows

import bayesgen as bg
from bayesgen.inference import Draws

PROGRAM = Path(__file__).parents[1] / "models" / "gaussian_naive_bayes.py"
MODELS = ('QDA(prior="lkj")', PROGRAM.name)
Classifier = bg.GenerativeClassifier | bg.QDA
CLASSES, COLUMNS = 3, 10
MINUTES = 8
LIMIT = 5.0
"""Standard errors beyond which means do not agree. Of some 200 means of one posterior none is
expected beyond: 200 normal deviates exceed 5 in one run of 9,000."""
FLAT = 1e-12
"""Variance below which a quantity does not vary, such as an entry above a Cholesky diagonal."""


@dataclasses.dataclass(frozen=True)
class Fit:
    """What a process found: the device, seconds, and the draws in summary.

    compiling: seconds of the fit before sampling. mean, error: of each quantity that varies, and
    its Monte Carlo standard error.
    """

    device: str
    compiling: float
    sampling: float
    mean: list[float]
    error: list[float]


def classifiers(sampler: bg.NUTS) -> dict[str, Callable[[], Classifier]]:
    """Return the models by name."""
    story = runpy.run_path(str(PROGRAM))["model"]
    return {
        MODELS[1]: lambda: bg.GenerativeClassifier(story=story, inference=sampler, random_state=0),
        MODELS[0]: lambda: bg.QDA(prior="lkj", inference=sampler, random_state=0),
    }


def fitted(make: Callable[[], Classifier], rows: tuple[np.ndarray, np.ndarray]) -> Fit:
    """Fit a model, and summarize its draws."""
    import jax

    began = time.perf_counter()
    classifier = make().fit(*rows)
    took = time.perf_counter() - began
    sampling = classifier.report_.details["sampling_seconds"]
    mean, error = moments(cast(Draws, classifier.posterior_.components).params)
    device = jax.devices()[0]
    name = f"{device.platform}: {device.device_kind}"
    return Fit(name, took - sampling, sampling, mean, error)


def moments(params: Mapping[str, Mapping[str, np.ndarray]]) -> tuple[list[float], list[float]]:
    """Return posterior means, and their Monte Carlo standard errors, of all that varies."""
    from arviz_stats.base import array_stats

    draws = [v.reshape(*v.shape[:2], -1) for part in params.values() for v in part.values()]
    every = np.concatenate(draws, axis=-1)
    every = every[..., every.var(axis=(0, 1)) > FLAT]
    size = array_stats.ess(every, chain_axis=0, draw_axis=1, method="mean")
    return every.mean(axis=(0, 1)).tolist(), np.sqrt(every.var(axis=(0, 1)) / size).tolist()


def apart(one: Fit, other: Fit) -> np.ndarray:
    """Return the differences of the means in standard errors of the differences."""
    error = np.hypot(one.error, other.error)
    return np.abs(np.subtract(one.mean, other.mean)) / error


# -- a process for each device --------------------------------------------------------------------


def on_device(
    name: str, platform: str | None, arguments: argparse.Namespace, timeout: float
) -> Fit | None:
    """Return what a process of its own finds; None if it takes more seconds than `timeout`.

    platform: for JAX_PLATFORMS; None: what JAX chooses.
    """
    command = [sys.executable, __file__, "--here", name, "--rows", str(arguments.rows)]
    command += ["--draws", str(arguments.draws)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.json"
        try:
            done = subprocess.run(
                [*command, "--json", str(path)],
                env=_environment(platform),
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
        if done.returncode:
            raise SystemExit(f"{name} failed on {platform or 'the accelerator'}")
        return Fit(**json.loads(path.read_text(encoding="utf-8")))


def accelerator() -> str | None:
    """Return the kind of device that JAX chooses by itself; None if it is the processor."""
    code = "import jax; d = jax.devices()[0]; print(d.platform, d.device_kind, sep=': ')"
    command = [sys.executable, "-c", code]
    run = subprocess.run(
        command, env=_environment(None), capture_output=True, text=True, check=True
    )
    found = run.stdout.strip().splitlines()[-1]
    return None if found.startswith("cpu") else found


def _environment(platform: str | None) -> dict[str, str]:
    return dict(os.environ) if platform is None else os.environ | {"JAX_PLATFORMS": platform}


def line(name: str, fit: Fit | None, beside: Fit | None) -> str:
    """Return one line of the table; beside: the fit of the processor, to one of an accelerator."""
    if fit is None:
        return f"| {name} | took too long | | | |"
    figures = f"{fit.compiling:.1f} s | {fit.sampling:.1f} s"
    if beside is None:
        return f"| {name} | {fit.device} | {figures} | |"
    far = apart(beside, fit)
    agree = "agree" if far.max() < LIMIT else "DO NOT AGREE"
    words = f"{agree}: {len(far)} means within {far.max():.1f} standard errors"
    return f"| {name} | {fit.device} | {figures} | {words} |"


def main() -> int:
    """Print a Markdown table; return 1 if the devices disagree."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--draws", type=int, default=100, help="of each chain, after as many")
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write figures here")
    parser.add_argument("--here", metavar="MODEL", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.rows, arguments.draws = 300, 50
    if arguments.here:
        sampler = bg.NUTS(draws=arguments.draws, warmup=arguments.draws, progress=False)
        models = classifiers(sampler)
        warnings.simplefilter("ignore", bg.errors.NotConverged)  # of short chains
        rows = normal_rows(arguments.rows, COLUMNS, CLASSES)
        fit = fitted(models[arguments.here], rows)
        arguments.json.write_text(json.dumps(dataclasses.asdict(fit)), encoding="utf-8")
        return 0
    device = accelerator()
    print(machine_lines(describe()), flush=True)
    print(f"{arguments.rows:,} x {COLUMNS}, {CLASSES} classes; 4 x {arguments.draws} draws\n")
    print("| model | device | compiling | sampling | posterior means |\n| - | - | - | - | - |")
    found, disagree, end = [], False, time.monotonic() + 60 * MINUTES

    def half() -> float:
        return (end - time.monotonic()) / 2

    for name in MODELS:
        beside = on_device(name, "cpu", arguments, half())
        print(line(name, beside, None), flush=True)
        found.append((name, beside))
        if device is not None:
            fit = on_device(name, None, arguments, half())
            print(line(name, fit, beside), flush=True)
            found.append((name, fit))
            disagree |= bool(fit and beside and apart(beside, fit).max() >= LIMIT)
    if device is None:
        print("\nJAX sees no accelerator here: the comparison was NOT run.")
    if arguments.json:
        lines = [{"model": name} | dataclasses.asdict(fit) for name, fit in found if fit]
        arguments.json.write_text(json.dumps(lines), encoding="utf-8")
    return int(disagree)


if __name__ == "__main__":
    sys.exit(main())
