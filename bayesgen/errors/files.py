"""Sentences about files of models and checkpoints that are raised in several places."""

from os import PathLike

from bayesgen.errors.kinds import InvalidFile
from bayesgen.errors.wording import Words

SAVED = Words("clf.save(path)", "`bayesgen fit`")
Path = str | PathLike


def unsavable(where: str, value: object) -> InvalidFile:
    """A part of a model is neither data nor a part of this package."""
    dtype = getattr(value, "dtype", "")
    return InvalidFile(
        "{where} is of type {kind}; numbers, text, arrays and bayesgen's own parts can be saved, "
        "because loading must not run code.",
        "Leave it out, convert an array by .astype(float) or .astype(str), or store the object "
        "with joblib.dump, for your own use only.",
        where=where or "the model",
        kind=f"{type(value).__module__}.{type(value).__qualname__}{dtype and f' of {dtype}'}",
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


def unusable_model(path: Path, reason: str) -> InvalidFile:
    """A file is damaged, of another kind or forged: its parts do not make a model."""
    return InvalidFile(
        "{path:path} does not hold a usable model: {reason}; nothing in it was run.",
        "Pass a file that {saved} wrote, or save the model again.",
        path=path,
        reason=reason,
        saved=SAVED,
    )


def not_resumable(path: Path, reason: str) -> InvalidFile:
    """A checkpoint is damaged, or belongs to another run."""
    return InvalidFile(
        "cannot resume from checkpoint={path:path}: {reason}.",
        "To resume a run, pass its arguments, its data and its random_state, or random_state=None, "
        "which takes the seed from the file. Choose another path for this run, or delete the file "
        "to start again.",
        path=path,
        reason=reason,
    )
