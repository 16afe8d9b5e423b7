"""The table that people read, and the machine and versions that its figures belong to."""

import importlib.metadata
import os
import platform
from pathlib import Path

import numpy as np
from measure import Result

PEERS = ("bayesgen", "numpy", "scipy", "scikit-learn", "jax", "jaxlib", "numpyro", "pandas")


def describe(**more: object) -> dict:
    """Return the machine, how busy it is, and the versions of everything that was timed."""
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "blas": f"{blas['name']} {blas['version']}",
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "versions": {name: importlib.metadata.version(name) for name in PEERS},
        **more,
    }


def machine_lines(machine: dict) -> str:
    """Return the description of the machine as two lines."""
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    busy = "" if machine["load"] is None else f", {machine['load']:.1f} processes running"
    return (
        f"{machine['processor']}, {machine['cores']} cores{busy}; {machine['system']}\n"
        f"Python {machine['python']}, {machine['blas']}, {versions}"
    )


def table(results: list[Result], *, quick: bool) -> str:
    """Return results as lines of text; quick figures are not held against their goals."""
    head = ("work", "threads", "goal", "measured (range)", "ours / theirs", "met?")
    rows = [head, *(_cells(line, quick=quick) for line in results)]
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(size) for cell, size in zip(row, width, strict=True)).rstrip()
        for row in rows
    ]
    lines.insert(1, "-" * sum(width, 2 * (len(width) - 1)))
    notes = dict.fromkeys(f"* {line.work}: {line.note}" for line in results if line.note)
    return "\n".join([*lines, *notes])


def _cells(line: Result, *, quick: bool) -> tuple[str, ...]:
    unit = "" if line.unit == "x" else f" {line.unit}"
    measured = f"{line.measured:.3g}{unit}"
    if line.low is not None:
        measured += f" ({line.low:.3g} to {line.high:.3g})"
    timed = "" if line.ours is None else f"{line.ours:.3g} s / {line.theirs:.3g} s"
    met = {True: "yes", False: "NO", None: ""}[None if quick else line.met]
    return line.work, line.threads, line.goal or "", measured, timed, met


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
