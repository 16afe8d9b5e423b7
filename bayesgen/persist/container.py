"""Zip container of `model.json` and `.npy` files: atomic writes, reads bounded by file size.

`zipfile`, `unzip` and `numpy.load(path)` read it too. Members are stored, not compressed, and each
is read once at most, so that the arrays of a file take no more memory than the file is large,
regardless of what its headers claim (and once more the largest of them, while it is read).

The CRC-32 of every member detects accidental damage to its text or array. It does not cover the
bytes between members, such as dates, which are not read. Nor does it detect tampering, since anyone
who changes a file can update the checksum; the contents are therefore validated as well.
"""

import codecs
import contextlib
import dataclasses
import errno
import json
import math
import os
import re
import secrets
import zipfile
from collections.abc import Generator, Mapping
from pathlib import Path

import numpy as np

from bayesgen.errors import InvalidFile
from bayesgen.errors.files import foreign_file, unreadable_model

Json = dict | list | str | int | float | bool | None

TEXT = "model.json"
KINDS = "biufU"
"""NumPy's kinds of arrays that files hold: truth values, numbers and text."""

ZIP = b"PK\x03\x04"
FOREIGN = {
    b"\x80": "a pickle, which could run code",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file, as those of netCDF-4 are",
    b"CDF": "a netCDF file",
    b"PAR1": "a Parquet file",
}
"""The first bytes of other files."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a disk, a quota or a limit that takes no more bytes."""

UNFINISHED = re.compile(r"[0-9a-f]{8}\.tmp")
"""Ending of the names of unfinished files, after a dot, the name of the file and a dot."""


class InvalidStructure(ValueError):
    """Part of a file is invalid; `read_model` converts this to a user-facing error."""


@contextlib.contextmanager
def replacing(path: str | os.PathLike) -> Generator[Path]:
    """Open a temporary file next to `path` for writing, which replaces `path` at the end.

    Readers of `path` find either the old or the new file, even after a crash: the new one is
    flushed to disk before it is renamed. If the block raises, the temporary file is removed.

    Raises:
        InvalidFile: the operating system refuses, here or in the block.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        # does not follow a symbolic link planted there
        temporary.touch(exist_ok=False)
        yield temporary
        _settle(temporary)
        temporary.replace(target)
        _settle(target.parent)
    except OSError as error:
        full = error.errno in FULL
        reason = os.strerror(error.errno) if full else error.strerror or str(error)
        raise InvalidFile(
            "cannot write {path:path}: {reason}{needed}.",
            "{space}hoose another path.",
            path=path,
            reason=reason,
            needed="" if full else "; a file in an existing folder is needed",
            space="Free some space, or c" if full else "C",
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def leftovers(path: str | os.PathLike) -> list[Path]:
    """Return the unfinished files next to `path` left by killed writers."""
    target = Path(os.path.realpath(path))
    return [
        file
        for file in target.parent.glob(".*.tmp")
        if UNFINISHED.fullmatch(file.name.removeprefix(f".{target.name}."))
    ]


def _settle(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk (fsync)."""
    if path.is_dir() and os.name != "posix":
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write_zip(path: Path, tree: Json, arrays: Mapping[str, np.ndarray]) -> None:
    """Write JSON and arrays to a file; equal ones give equal bytes."""
    with zipfile.ZipFile(path, "w") as archive:
        # an explicit ZipInfo has a fixed date
        archive.writestr(zipfile.ZipInfo(TEXT), json.dumps(tree, allow_nan=False))
        for name, array in arrays.items():
            # without force_zip64 an array of 4 GB could not be streamed
            info = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(info, "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


@dataclasses.dataclass(frozen=True, eq=False)
class Archive:
    """An open model file.

    tree: its JSON. members: the arrays that were not read yet, by name.
    """

    tree: Json
    members: dict[str, zipfile.ZipInfo]
    file: zipfile.ZipFile

    def array(self, name: str) -> np.ndarray:
        """Return an array, which can be read only once.

        Raises:
            InvalidStructure: the member is absent, was read before, or differs from its stated
                size.
            BadZipFile: its bytes are damaged.
        """
        if name not in self.members:
            raise InvalidStructure(f"it has no array {name!r}, or asks for it twice")
        info = self.members.pop(name)
        with self.file.open(info) as member:
            found = np.lib.format.read_magic(member)
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
            if found != (1, 0) or by_columns:
                raise InvalidStructure(f"{name!r} is not an array as clf.save(path) writes it")
            size = math.prod(shape) * dtype.itemsize
            # strings of width 0 take no bytes, so their number would be unbounded
            if dtype.kind not in KINDS or not dtype.itemsize:
                raise InvalidStructure(f"{name!r} is an array of {dtype}")
            if member.tell() + size != info.file_size:
                raise InvalidStructure(f"{name!r} is not as large as its shape {shape} says")
            return np.ndarray(shape, dtype, bytearray(member.read()))


@contextlib.contextmanager
def opened(path: Path) -> Generator[Archive]:
    """Open a model file after checking its sizes.

    Raises:
        InvalidFile: the file is absent, damaged or not a model; also for damaged arrays read in the
            block.
        InvalidStructure: its members are compressed, overlap, or have one name.
    """
    try:
        if not path.is_file():
            reason = "it is no file" if path.exists() else "there is no such file"
            raise unreadable_model(path, reason)
        with path.open("rb") as file:
            start = file.read(4096)
            if not start.startswith(ZIP):
                raise foreign_file(path, _described(start))
            with zipfile.ZipFile(file) as archive:
                members = {info.filename: info for info in archive.infolist()}
                if TEXT not in members:
                    raise foreign_file(path, f"a zip archive without {TEXT}")
                _require_sizes(archive.infolist(), path.stat().st_size)
                tree = json.loads(archive.read(members.pop(TEXT)))
                arrays = {name.removesuffix(".npy"): info for name, info in members.items()}
                yield Archive(tree, arrays, archive)
    except OSError as error:
        raise unreadable_model(path, error.strerror or str(error)) from error
    except (zipfile.BadZipFile, EOFError) as error:
        reason = str(error).rstrip(".") or "its end is missing"
        raise InvalidFile(
            "{path:path} is damaged: {reason}.",
            "Save the model again, or fetch the file again.",
            path=path,
            reason=reason,
        ) from error


def _require_sizes(members: list[zipfile.ZipInfo], size: int) -> None:
    """Reject compressed or repeated members, and members that exceed the file together."""
    packed = (m for m in members if m.compress_type or m.compress_size != m.file_size)
    for member in packed:
        raise InvalidStructure(
            f"{member.filename!r} is compressed, which clf.save(path) never does"
        )
    if len({member.filename for member in members}) < len(members):
        raise InvalidStructure("two of its members have the same name")
    if sum(member.file_size for member in members) > size:
        raise InvalidStructure("its members are larger than the file")


def _described(start: bytes) -> str:
    if not start:
        return "an empty file"
    for signature, words in FOREIGN.items():
        if start.startswith(signature):
            return words
    try:
        # the sample may end within a character
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return "no zip archive"
    return "a text file" if "".join(text.split()).isprintable() else "no zip archive"
