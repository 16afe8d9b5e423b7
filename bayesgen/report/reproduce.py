"""Reproduce: the command or call, versions, date, seed, and a hash of the data."""

import dataclasses
import datetime
import hashlib
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from bayesgen.page import Block, Code, Grid, Section, Text
from bayesgen.report.subject import Fitted, Subject
from bayesgen.table import Table

PACKAGES = ("bayesgen", "numpy", "scipy", "scikit-learn", "jax", "numpyro")


@dataclasses.dataclass(frozen=True)
class Origin:
    """Origin of a report made on the command line.

    command: as it was typed. file: that was read, or None.
    """

    command: str
    file: Path | None = None


def section(subject: Subject, origin: Origin | None, date: datetime.date) -> Section:
    """Return all that another person needs for the same page."""
    call = _python(subject) if origin is None else origin.command
    rows = [
        ["date", f"{date}"],
        ["seed of the folds", f"{subject.seed}"],
        ["versions", ", ".join([f"Python {platform.python_version()}", *_versions()])],
        ["SHA-256 of the rows as read", hash_of(subject.table, subject.labels)],
    ]
    if origin is not None and origin.file is not None and origin.file.is_file():
        digest = hashlib.sha256(origin.file.read_bytes()).hexdigest()
        rows.append([f"SHA-256 of {origin.file.name}", digest])
    words = "The same rows, versions and seed give the same page, apart from the date."
    blocks: list[Block] = [Code(call), Grid(["", ""], rows), Text(words, "muted")]
    return Section("Reproduce", blocks)


def _versions() -> list[str]:
    found = []
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return found


def _python(subject: Subject) -> str:
    options = [f"cv={subject.cv}", f"random_state={subject.seed}"]
    if subject.loss is not None:
        options.append(f"loss={_typed(subject.loss)}")
    options.append(f"reject={subject.reject:g}")
    call = f'clf.report_html("report.html", X, y, {", ".join(options)})'
    return f"import bayesgen as bg\n\nclf = {call_of(subject.clf)}.fit(X, y)\n{call}"


def call_of(clf: Fitted) -> str:
    """Return the call of the constructor as typed, with the arguments that are not the default."""
    kind = type(clf)
    default = {n: getattr(p, "default", None) for n, p in _signature(kind).items()}
    options = {
        name: value
        for name, value in clf.get_params(deep=False).items()
        if not _same(value, default.get(name))
    }
    return f"bg.{kind.__name__}({', '.join(f'{n}={_typed(v)}' for n, v in options.items())})"


def _signature(kind: type) -> Any:
    import inspect

    return inspect.signature(kind).parameters


def _same(value: object, default: object) -> bool:
    if isinstance(value, np.ndarray):
        return False
    return value is default or (type(value) is type(default) and value == default)


def _typed(value: object) -> str:
    """Return a value as it would be typed; functions and arrays by their name or shape."""
    if callable(value) and hasattr(value, "__name__"):
        return str(value.__name__)
    if isinstance(value, np.ndarray):
        return f"... an array of shape {value.shape}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_typed(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        inner = ", ".join(map(_typed, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    if hasattr(value, "get_params"):
        return call_of(value)
    module = type(value).__module__
    text = repr(value)
    return f"bg.{text}" if module.startswith("bayesgen") and not text.startswith("<") else text


def hash_of(table: Table, labels: np.ndarray) -> str:
    """Return the SHA-256 of names, cells and labels, in hexadecimal digits."""
    digest = hashlib.sha256()
    for column in table.columns:
        digest.update(f"{column.name}\0{column.kind}\0{column.levels}\0".encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    digest.update("\0".join(map(str, labels.tolist())).encode())
    return digest.hexdigest()
