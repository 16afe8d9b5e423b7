"""From a record to a file and back: the border, where every failure becomes one sentence."""

import os
from collections.abc import Callable
from pathlib import Path

from bayesgen.errors import BayesgenError, InvalidModelFile, UnsavableModel
from bayesgen.persist.known import Registry, UnknownClass
from bayesgen.persist.made import Decoder
from bayesgen.persist.plain import Encoder
from bayesgen.sealed import InvalidStructure, Json, opened, put, replacing, sealed

FORMAT = 1
"""Raised when files change so that an older version could not read them."""


def write(
    path: str | os.PathLike,
    model: object,
    known: Registry,
    convert: Callable[[object], object],
    finish: Callable[[object], object],
) -> None:
    """Write a model to a file, which is read back before it takes its place.

    Args:
        path: of the file, as it is; an older file is replaced at once or not at all.
        model: an estimator, or its record.
        known: the classes that may be written.
        convert: turns an estimator into a record, and leaves everything else.
        finish: turns a record into an estimator, and leaves everything else.

    Raises:
        UnsavableModel: a part is no data.
        UnwritableFile: the path takes no file.
    """
    packing = Encoder(known, convert)
    tree = {"format": FORMAT, "version": _version(), "model": packing.plain(model, ("model",))}
    with replacing(path) as temporary:
        put(temporary, tree, packing.arrays)
        try:
            read(temporary, {**known, **packing.yours}, finish)
        except InvalidModelFile as error:
            raise UnsavableModel.not_read_back(
                type(model).__name__, str(error.__cause__)
            ) from error


def read(path: str | os.PathLike, known: Registry, finish: Callable[[object], object]) -> object:
    """Return what `finish` makes of the record in a file.

    Raises:
        InvalidModelFile: whatever is wrong with the file, in one sentence; nothing in it was run.
    """
    path = Path(path)
    content, index = sealed(path)
    try:
        tree, fetch = opened(content, index)
        return Decoder(known, fetch, finish).value(_model(path, tree))
    except InvalidModelFile:
        raise
    except UnknownClass as error:
        raise InvalidModelFile.unknown_class(path, error.args[0]) from error
    except (BayesgenError, InvalidStructure) as error:
        raise InvalidModelFile.does_not_fit(path, str(error).rstrip(".")) from error
    # a forged file may break anything that reads it, in any way: that is the file's fault
    except Exception as error:
        kind = "its text lacks" if isinstance(error, KeyError) else f"{type(error).__name__}:"
        reason = f"{kind} {error}".splitlines()[0][:200].rstrip(". ")
        raise InvalidModelFile.does_not_fit(path, reason) from error


def _model(path: Path, tree: Json) -> Json:
    if not isinstance(tree, dict):
        raise InvalidStructure("it does not say what it holds")
    found = tree.get("format")
    if type(found) is not int or found < 1:
        raise InvalidStructure("it has no format that bayesgen knows")
    if found > FORMAT:
        raise InvalidModelFile.newer(path, found, FORMAT)
    return tree["model"]


def _version() -> str:
    from importlib.metadata import version

    return version("bayesgen")
