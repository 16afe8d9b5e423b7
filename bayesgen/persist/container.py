"""The file itself: netCDF-4 for everybody, and behind it an index and a seal for loading.

Readers of netCDF find groups, named dimensions and one JSON text, and do not look behind the end of
the HDF5 data. There stands where the text and each array lie among the bytes, and the digest of all
that came before. Loading needs nothing else: it never gives the bytes of a stranger to the HDF5
library, which forged ones can send round in circles for ever (measured). The digest tells damaged
files from whole ones; it is no signature, so whatever a sealed file says is checked too.
"""

import hashlib
import json
import mmap
import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from bayesgen.errors import InvalidModelFile
from bayesgen.persist.checks import Misfit
from bayesgen.persist.plain import Json, Stored

ATTRIBUTE = "bayesgen"
SIGNATURE = b"\x89HDF\r\n\x1a\n"
SEAL = re.compile(rb"bayesgen (\d{12}) sha256 ([0-9a-f]{64})\n")
SEAL_BYTES = 94

FOREIGN = {
    b"\x80": "a pickle, which could run code",
    b"PK\x03\x04": "a zip archive",
    b"CDF": "a netCDF file of an older kind",
    b"PAR1": "a Parquet file",
}
"""What the first bytes of other files say."""

Fetch = Callable[[str, np.dtype], np.ndarray]
"""("group/name", type) -> that array of the file."""


# -- writing ---------------------------------------------------------------------------------------


def put(path: Path, tree: Json, arrays: Mapping[str, Stored]) -> None:
    """Write JSON and arrays ("group/name") to a file and seal it; equal models give equal bytes."""
    import xarray as xr

    groups: dict[str, dict[str, Stored]] = {}
    for at, stored in arrays.items():
        group, name = at.split("/")
        groups.setdefault(f"/{group}", {})[name] = stored
    text = json.dumps(tree, allow_nan=False)
    sets = {group: xr.Dataset(_variables(found)) for group, found in groups.items()}
    whole = xr.DataTree.from_dict({"/": xr.Dataset(attrs={ATTRIBUTE: text}), **sets})
    # by default xarray marks NaN as a hole in the file
    exact = {group: {name: {"_FillValue": None} for name in groups[group]} for group in groups}
    whole.to_netcdf(path, engine="h5netcdf", encoding=exact)
    index = json.dumps({"text": _text(path, text), "arrays": _places(path, arrays)}).encode()
    with path.open("r+b") as file:
        file.seek(0, os.SEEK_END)
        file.write(index)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        file.write(f"bayesgen {len(index):012} sha256 {digest}\n".encode())


def _text(path: Path, text: str) -> list[int]:
    """Return start and length of the JSON text among the bytes."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as view:
        return [view.find(text.encode()), len(text)]


def _places(path: Path, arrays: Mapping[str, Stored]) -> dict[str, list]:
    """Return where each array starts among the bytes, its type and its shape."""
    import h5py

    with h5py.File(path, "r") as file:
        starts = {at: file[at].id.get_offset() for at in arrays}
    return {
        at: [starts[at], stored.values.dtype.str, list(stored.values.shape)]
        for at, stored in arrays.items()
    }


def _variables(found: Mapping[str, Stored]) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Return arrays with named dimensions; a word that has several lengths is numbered."""
    sizes: dict[str, int] = {}
    out = {}
    for name, stored in found.items():
        dimensions: list[str] = []
        for word, size in zip(stored.words, stored.values.shape, strict=True):
            free = _names(word, size)
            # netCDF lets a variable have the name of a dimension for coordinates alone
            taken = {*found, *dimensions}
            dimension = next(d for d in free if d not in taken and sizes.get(d, size) == size)
            sizes[dimension] = size
            dimensions.append(dimension)
        out[name] = (tuple(dimensions), stored.values)
    return out


def _names(word: str, size: int) -> Iterator[str]:
    yield word
    name = f"{word}_{size}"
    while True:
        yield name
        name += "_"


# -- reading ---------------------------------------------------------------------------------------


def sealed(path: Path) -> tuple[bytes, bytes]:
    """Return what stands before the index of a file that is whole, and the index.

    Raises:
        InvalidModelFile: there is none, it is something else, or it is damaged.
    """
    try:
        if not path.is_file():
            reason = "it is no file" if path.exists() else "there is no such file"
            raise InvalidModelFile.unreadable(path, reason)
        content = path.read_bytes()
    except OSError as error:
        raise InvalidModelFile.unreadable(path, error.strerror or str(error)) from error
    if not content.startswith(SIGNATURE):
        raise InvalidModelFile.foreign(path, _described(content))
    seal, content = SEAL.fullmatch(content[-SEAL_BYTES:]), content[:-SEAL_BYTES]
    if seal is None:
        raise InvalidModelFile.damaged(
            path, "its end is missing, or something else than clf.save(path) wrote or changed it"
        )
    if hashlib.sha256(content).hexdigest().encode() != seal[2]:
        raise InvalidModelFile.damaged(path, "its bytes are not those that were saved")
    end = max(len(content) - int(seal[1]), 0)
    return content[:end], content[end:]


def opened(content: bytes, index: bytes) -> tuple[Json, Fetch]:
    """Return the JSON of a file, and the function that reads its arrays.

    Arrays together are no larger than the file, which cannot ask for more memory than it takes.
    """
    places = json.loads(index)
    left = len(content)

    def fetch(at: str, dtype: np.dtype) -> np.ndarray:
        nonlocal left
        start, found, shape = places["arrays"][at]
        if found != dtype.str:
            raise Misfit(f"{at} is no array of {dtype}")
        count = 1
        for size in shape:
            count *= length(size)
        left -= count * dtype.itemsize
        if left < 0:
            raise Misfit("its arrays are larger than the file")
        # a copy, which may be written to, and whose cells lie where the processor likes them
        return np.frombuffer(content, dtype, count, length(start)).reshape(shape).copy()

    start, size = map(length, places["text"])
    return json.loads(content[start : start + size]), fetch


def length(value: Json) -> int:
    """Return a value that has to be a whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise Misfit(f"{value!r} stands where a length belongs")
    return value


def _described(content: bytes) -> str:
    if not content:
        return "an empty file"
    for start, words in FOREIGN.items():
        if content.startswith(start):
            return words
    try:
        text = content[:4096].decode("utf-8")
    except UnicodeDecodeError:
        return "no netCDF file"
    return "a text file" if "".join(text.split()).isprintable() else "no netCDF file"
