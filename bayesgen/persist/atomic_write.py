"""Files that are there whole or not at all."""

import contextlib
import os
import re
import secrets
from collections.abc import Generator
from pathlib import Path

from bayesgen.errors import UnwritableFile

UNFINISHED = re.compile(r"[0-9a-f]{8}\.tmp")
"""How names of unfinished files end, after a dot, the name of the file and a dot."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Generator[Path]:
    """Give a new, empty file beside `path` to write to; it takes the place of `path` at the end.

    Whoever reads `path` finds the old file or the new one, after a crash too: the new one is on the
    disk before it is renamed. Where the block raises, nothing is left behind.

    Raises:
        UnwritableFile: the operating system refuses, here or in the block.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        # refuses to follow a link that someone put there
        temporary.touch(exist_ok=False)
        yield temporary
        _settle(temporary)
        temporary.replace(target)
        _settle(target.parent)
    except OSError as error:
        raise UnwritableFile.because(path, error.strerror or str(error)) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def leftovers(path: str | os.PathLike) -> list[Path]:
    """Return the unfinished files beside `path` of writers that were killed."""
    target = Path(os.path.realpath(path))
    return [
        file
        for file in target.parent.glob(".*.tmp")
        if UNFINISHED.fullmatch(file.name.removeprefix(f".{target.name}."))
    ]


def _settle(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
