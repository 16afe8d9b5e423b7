"""The Markdown table that people read, and the machine and versions that its figures belong to."""

import importlib.metadata
import os
import platform
from pathlib import Path

import numpy as np
from results import Result

PEERS = (
    *("bayesgen", "numpy", "scipy", "scikit-learn", "jax", "jaxlib", "numpyro", "pandas"),
    *("pyarrow", "duckdb"),
)
GUESTS = ("pymc", "nutpie")
"""Peers that are no dependencies and are timed where they are installed."""


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
        "versions": {name: _version(name) for name in (*PEERS, *GUESTS)},
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
    """Return results as a Markdown table; quick figures are not held against their goals."""
    head = ("work", "threads", "goal", "measured (range)", "ours / theirs", "met?")
    rows = [head, *(_cells(line, quick=quick) for line in results)]
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, tuple("-" * size for size in width))
    lines = [
        f"| {' | '.join(cell.ljust(size) for cell, size in zip(row, width, strict=True))} |"
        for row in rows
    ]
    notes = dict.fromkeys(f"* {line.work}: {line.note}" for line in results if line.note)
    return "\n".join([*lines, "", *notes] if notes else lines)


def _cells(line: Result, *, quick: bool) -> tuple[str, ...]:
    unit = "" if line.unit == "x" else f" {line.unit}"
    if line.measured is None:
        return line.work, line.threads, line.goal or "", line.note, "", ""
    measured = f"{_short(line.measured)}{unit}"
    if line.low is not None:
        measured += f" ({_short(line.low)} to {_short(line.high)})"
    timed = "" if line.ours is None else f"{line.ours:.3g} s / {line.theirs:.3g} s"
    met = {True: "yes", False: "NO", None: ""}[None if quick else line.met]
    return line.work, line.threads, line.goal or "", measured, timed, met


def _short(number: float) -> str:
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()
