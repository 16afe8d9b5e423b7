"""The file itself: netCDF-4 for everybody, and behind it an index and a seal for loading.

Readers of netCDF find groups, named dimensions and one JSON text, and do not look behind the end of
the HDF5 data. There stands where the text and each array lie among the bytes, and the digest of all
that came before. Loading needs nothing else: it never gives the bytes of a stranger to the HDF5
library, which forged ones can send round in circles for ever (measured). The digest tells damaged
files from whole ones; it is no signature, so whatever a sealed file says is checked too.
"""

import dataclasses
import hashlib
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from bayesgen.errors import InvalidModelFile

Json = dict | list | str | int | float | bool | None

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


class InvalidStructure(ValueError):
    """A part of a file is not what it has to be; the border turns it into a sentence."""

    @classmethod
    def fields(cls, owner: str, found: Iterable, wanted: Iterable) -> "InvalidStructure":
        """An object has other fields than its class."""
        return cls(f"{owner} has the fields {', '.join(found)} where {', '.join(wanted)} belong")


@dataclasses.dataclass(frozen=True, eq=False)
class Stored:
    """An array on its way to a file: the words of its axes as far as known, in memory order."""

    words: tuple[str, ...]
    values: np.ndarray


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
    # in memory: HDF5 ends the whole process where it meets a full disk (a segmentation fault, seen)
    content = io.BytesIO()
    whole.to_netcdf(content, engine="h5netcdf", encoding=exact)
    places = _places(content, arrays)
    body = content.getvalue()
    starts = {"text": [body.find(text.encode()), len(text)], "arrays": places}
    index = json.dumps(starts).encode()
    digest = hashlib.sha256(body)
    digest.update(index)
    with path.open("wb") as file:
        file.write(body)
        file.write(index)
        file.write(f"bayesgen {len(index):012} sha256 {digest.hexdigest()}\n".encode())


def _places(content: io.BytesIO, arrays: Mapping[str, Stored]) -> dict[str, list]:
    """Return where each array starts among the bytes, its type and its shape."""
    import h5py

    with h5py.File(content, "r") as file:
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
            raise InvalidStructure(f"{at} is no array of {dtype}")
        count = 1
        for size in shape:
            count *= length(size)
        left -= count * dtype.itemsize
        if left < 0:
            raise InvalidStructure("its arrays are larger than the file")
        # a copy, which may be written to, and whose cells lie where the processor likes them
        return np.frombuffer(content, dtype, count, length(start)).reshape(shape).copy()

    start, size = map(length, places["text"])
    return json.loads(content[start : start + size]), fetch


def length(value: Json) -> int:
    """Return a value that has to be a whole number from 0 on."""
    if type(value) is not int or value < 0:
        raise InvalidStructure(f"{value!r} stands where a length belongs")
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
