"""Sentences about files of models and checkpoints that are raised in several places."""

from os import PathLike

from bayesgen.errors.kinds import InvalidFile
from bayesgen.errors.wording import Words

REPLACE_FILE = "Save the model again, or fetch the file again."
START_AGAIN = "Choose another path for this run, or delete the file to start again."
SAVED = Words("clf.save(path)", "`bayesgen fit`")
Path = str | PathLike


def unsavable(where: str, value: object) -> InvalidFile:
    """A part of a model is neither data nor a part of this package."""
    return InvalidFile(
        "{where} is of type {kind}; numbers, text, arrays and bayesgen's own parts can be saved, "
        "because loading must not run code.",
        "Leave it out, or store the object with joblib.dump, for your own use only.",
        where=where,
        kind=f"{type(value).__module__}.{type(value).__qualname__}",
    )


def unreadable_model(path: Path, reason: str) -> InvalidFile:
    """A file cannot be opened."""
    return InvalidFile(
        "cannot read {path:path}: {reason}; a file that {saved} wrote is needed.",
        "Check the path.",
        path=path,
        reason=reason,
        saved=SAVED,
    )


def foreign_file(path: Path, contents: str) -> InvalidFile:
    """A file holds something else than a model."""
    return InvalidFile(
        "{path:path} is {contents}, not a model saved by bayesgen; nothing in it was run.",
        "Pass a file that {saved} wrote.",
        path=path,
        contents=contents,
        saved=SAVED,
    )


def unusable_model(path: Path, reason: str) -> InvalidFile:
    """The parts of a file do not make a model."""
    return InvalidFile(
        "{path:path} does not hold a usable model: {reason}.",
        REPLACE_FILE,
        path=path,
        reason=reason,
    )


def damaged_checkpoint(path: Path, reason: str) -> InvalidFile:
    """A checkpoint cannot be read."""
    return InvalidFile(
        "cannot resume from checkpoint={path:path}: it is damaged, or not a checkpoint ({reason}).",
        START_AGAIN,
        path=path,
        reason=reason,
    )


def other_run(path: Path, what: str) -> InvalidFile:
    """A checkpoint belongs to a run with another model or other data."""
    return InvalidFile(
        "checkpoint={path:path} belongs to another run: its {what} of this call.",
        START_AGAIN,
        path=path,
        what=what,
    )
