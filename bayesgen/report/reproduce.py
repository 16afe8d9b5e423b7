"""Reproduce: the command or call, versions, date, seed, and a hash of the data."""

import dataclasses
import datetime
import hashlib
import inspect
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

from bayesgen.page import Grid
from bayesgen.report.fitted import Configured
from bayesgen.report.subject import Subject, Values

PACKAGES = ("bayesgen", "numpy", "scipy", "scikit-learn", "jax", "numpyro")


@dataclasses.dataclass(frozen=True)
class Origin:
    """Origin of a report made on the command line.

    command: as it was typed. file: that was read, or None.
    """

    command: str
    file: Path | None = None


def reproduction(subject: Subject, origin: Origin | None, date: datetime.date) -> Values:
    """Return all that another person needs for the same page."""
    versions = [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in PACKAGES)]
    rows = [
        ["date", f"{date}"],
        ["seed of the folds", f"{subject.seed}"],
        ["versions", ", ".join(versions)],
        ["SHA-256 of the rows as read", hash_of(subject)],
    ]
    if origin is not None and origin.file is not None and origin.file.is_file():
        digest = hashlib.sha256(origin.file.read_bytes()).hexdigest()
        rows.append([f"SHA-256 of {origin.file.name}", digest])
    call = _python(subject) if origin is None else origin.command
    return {"call": call, "facts": Grid(["", ""], rows)}


def _python(subject: Subject) -> str:
    options = [f"cv={subject.cv}", f"random_state={subject.seed}"]
    if subject.loss is not None:
        options.append(f"loss={_typed(subject.loss)}")
    options.append(f"reject={subject.reject:g}")
    call = f'clf.report_html("report.html", X, y, {", ".join(options)})'
    return f"import bayesgen as bg\n\nclf = {call_of(subject.clf)}.fit(X, y)\n{call}"


def call_of(clf: Configured) -> str:
    """Return the call of the constructor as typed, with the arguments that are not the default."""
    parameters = inspect.signature(type(clf)).parameters
    options = [
        f"{name}={_typed(value)}"
        for name, value in clf.get_params(deep=False).items()
        if not _is_default(value, parameters[name].default)
    ]
    return f"bg.{type(clf).__name__}({', '.join(options)})"


def _is_default(value: object, default: object) -> bool:
    alike = type(value) is type(default) and not isinstance(value, np.ndarray)
    return value is default or (alike and value == default)


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
    if isinstance(value, Configured):
        return call_of(value)
    text = repr(value)
    ours = type(value).__module__.startswith("bayesgen") and not text.startswith("<")
    return f"bg.{text}" if ours else text


def hash_of(subject: Subject) -> str:
    """Return the SHA-256 of names, cells and labels, in hexadecimal digits."""
    digest, labels = hashlib.sha256(), np.full(subject.table.n_rows, None)
    for column in subject.columns:
        digest.update(f"{column.name}\0{column.kind}\0{column.levels}\0".encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    labels[subject.at] = subject.comparison.classes[subject.codes]
    digest.update("\0".join(map(str, labels.tolist())).encode())
    return digest.hexdigest()
