"""Zip container of `model.json` and `.npy` files: atomic writes, reads bounded by file size.

`zipfile`, `unzip` and `numpy.load(path)` read it too. Members are stored, not compressed, and each
is read once at most, so that the arrays of a file take no more memory than the file is large,
regardless of what its headers claim (and once more the largest of them, while it is read).

The CRC-32 of every member detects accidental damage to its text or array. It does not cover the
bytes between members, such as dates, which are not read. Nor does it detect tampering, since anyone
who changes a file can update the checksum; the contents are therefore validated as well.
"""

import contextlib
import glob
import json
import math
import os
import secrets
import zipfile
from collections.abc import Generator, Mapping
from pathlib import Path

import numpy as np

from bayesgen.errors import InvalidFile

Json = dict | list | str | int | float | bool | None

TEXT = "model.json"
NATIVE = [np.dtype(code) for code in "?bhilqBHILQefd"]
DTYPES: dict[str, np.dtype] = {d.str: d for n in NATIVE for d in (n, n.newbyteorder())}
"""Types of numbers in files, by NumPy's short names. Those of 16 bytes differ between machines."""


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
        _flush(temporary)
        temporary.replace(target)
        _flush(target.parent)
    except OSError as error:
        raise InvalidFile(
            "cannot write {path:path}: {reason}.",
            "Choose a path in an existing folder, on a disk with space.",
            path=path,
            reason=os.strerror(error.errno) if error.errno else str(error),
        ) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def leftovers(path: str | os.PathLike) -> list[Path]:
    """Return the unfinished files next to `path` left by killed writers."""
    target = Path(os.path.realpath(path))
    return list(target.parent.glob(f".{glob.escape(target.name)}.{8 * '[0-9a-f]'}.tmp"))


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to disk."""
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
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


class Archive:
    """An open model file, whose members take no more bytes than the file does.

    Args:
        file: the archive.
        size: of the file, in bytes.

    Raises:
        ValueError: its members are compressed, overlap or have one name, or none of
            them is the JSON.
    """

    def __init__(self, file: zipfile.ZipFile, size: int) -> None:
        members = file.infolist()
        for member in members:
            if member.compress_type or member.compress_size != member.file_size:
                reason = "is compressed, which clf.save(path) never does"
                raise ValueError(f"{member.filename!r} {reason}")
        if sum(member.file_size for member in members) > size:
            raise ValueError("its members are larger than the file")
        self._file = file
        self._unread = {member.filename: member for member in members}
        if len(self._unread) < len(members):
            raise ValueError("two of its members have the same name")
        if TEXT not in self._unread:
            raise ValueError(f"it is a zip archive without {TEXT}")

    def text(self) -> Json:
        """Return the JSON."""
        return json.loads(self._file.read(TEXT))

    def array(self, name: str) -> np.ndarray:
        """Return an array, which can be read only once.

        Raises:
            ValueError: the member is absent, was read before, or differs from its stated size.
            BadZipFile: its bytes are damaged.
        """
        info = self._unread.pop(f"{name}.npy", None)
        if info is None:
            raise ValueError(f"it has no array {name!r}, or asks for it twice")
        with self._file.open(info) as member:
            version = np.lib.format.read_magic(member)
            shape, by_columns, dtype = np.lib.format.read_array_header_1_0(member)
            if version != (1, 0) or by_columns:
                raise ValueError(f"{name!r} is not an array as clf.save(path) writes it")
            # strings of width 0 take no bytes, so their number would be unbounded
            if dtype.str not in DTYPES and (dtype.kind != "U" or not dtype.itemsize):
                raise ValueError(f"{name!r} is an array of {dtype}")
            if member.tell() + math.prod(shape) * dtype.itemsize != info.file_size:
                raise ValueError(f"{name!r} is not as large as its shape {shape} says")
            return np.ndarray(shape, dtype, bytearray(member.read()))
