"""Reproduce: the command or call, versions, date, seed, and a hash of the data."""

import datetime
import hashlib
import platform
from importlib.metadata import version

import numpy as np

from bayesgen.page import Grid
from bayesgen.report.subject import Subject, Values

PACKAGES = ("bayesgen", "numpy", "scipy", "scikit-learn", "jax", "numpyro")


def reproduction(subject: Subject, command: str | None, date: datetime.date) -> Values:
    """Return all that another person needs for the same page."""
    versions = [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in PACKAGES)]
    rows = [
        ["date", f"{date}"],
        ["seed of the folds", f"{subject.seed}"],
        ["versions", ", ".join(versions)],
        ["SHA-256 of the rows as read", hash_of(subject)],
    ]
    return {"call": command or _call(subject), "facts": Grid(["", ""], rows)}


def _call(subject: Subject) -> str:
    loss = None if subject.loss is None else subject.rule.pairs(subject.clf.classes_)
    options = f"cv={subject.cv}, random_state={subject.seed}, loss={loss}"
    if subject.by is not None:
        options += f", by={subject.by!r}" if isinstance(subject.by, str | int) else ", by=by"
    call = f'clf.report_html("report.html", X, y, {options}, reject={subject.reject:g})'
    return f"clf = {subject.clf!r}\nclf.fit(X, y)\n{call}"


def hash_of(subject: Subject) -> str:
    """Return the SHA-256 of names, cells and labels, in hexadecimal digits."""
    digest, labels = hashlib.sha256(), np.full(subject.table.n_rows, None)
    for column in subject.table.columns:
        digest.update(f"{column.name}\0{column.kind}\0{column.levels}\0".encode())
        digest.update(np.ascontiguousarray(column.values).tobytes())
    labels[subject.at] = subject.comparison.classes[subject.codes]
    digest.update("\0".join(map(str, labels.tolist())).encode())
    return digest.hexdigest()
