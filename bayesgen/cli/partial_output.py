"""Finished parts of a long-running output, kept next to it until it is complete."""

import dataclasses
import hashlib
import json
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from bayesgen.persist import replacing

KEY = "run.json"
PART_ROWS = 1 << 16
PART_SECONDS = 5.0
"""A part is written once it has so many rows, or took so long."""


@dataclasses.dataclass(frozen=True)
class PartialOutput:
    """A folder of finished parts, in Arrow files, of one run.

    folder: OUT.partial. n_rows: of the parts that an earlier run has left. begun_again: whether the
    parts of another run were there, and were removed.
    """

    folder: Path
    n_rows: int
    begun_again: bool

    @classmethod
    def beside(cls, out: Path, run: Mapping[str, object]) -> "PartialOutput":
        """Return the parts of the same run, or none.

        Args:
            out: the output.
            run: what decides its rows: the model, the input, the options.

        Raises:
            InvalidFile: no file can be written there.
        """
        folder = out.with_name(f"{out.name}.partial")
        key, text = folder / KEY, json.dumps(run, sort_keys=True, default=str)
        same = key.is_file() and key.read_text(encoding="utf-8") == text
        begun_again = key.is_file() and not same
        if begun_again:
            shutil.rmtree(folder)
        if not same:
            with replacing(folder) as made:  # refuse where nothing can be written
                made.unlink()
                made.mkdir()
                (made / KEY).write_text(text, encoding="utf-8")
        return cls(folder, sum(stop - start for start, stop, _ in _parts(folder)), begun_again)

    def write(self, tables: Iterable[pa.Table]) -> None:
        """Add rows to those that are there, in parts that are complete or absent."""
        start, waiting, since = self.n_rows, [], time.monotonic()
        for table in tables:
            waiting.append(table)
            count = sum(map(len, waiting))
            if count >= PART_ROWS or time.monotonic() - since >= PART_SECONDS:
                start = self._add(start, waiting)
                waiting, since = [], time.monotonic()
        if waiting:
            self._add(start, waiting)

    def _add(self, start: int, tables: list[pa.Table]) -> int:
        stop = start + sum(map(len, tables))
        with (
            replacing(self.folder / f"{start:015d}-{stop:015d}.arrow") as path,
            pa.ipc.new_file(str(path), tables[0].schema) as writer,
        ):
            for table in tables:
                writer.write_table(table)
        return stop

    @property
    def n_written(self) -> int:
        """The number of rows in finished parts."""
        return sum(stop - start for start, stop, _ in _parts(self.folder))

    def schema(self) -> pa.Schema | None:
        """Return the columns of the parts; None: there is no part."""
        for _, _, path in _parts(self.folder):
            with pa.memory_map(str(path)) as file:
                return pa.ipc.open_file(file).schema
        return None

    def tables(self) -> Iterator[pa.Table]:
        """Yield the rows of all parts in their order."""
        for _, _, path in _parts(self.folder):
            with pa.memory_map(str(path)) as file:
                yield pa.ipc.open_file(file).read_all()

    def remove(self) -> None:
        """Remove the parts, once they are in the output, or of no use."""
        shutil.rmtree(self.folder, ignore_errors=True)


def identity(path: Path | str) -> list:
    """Return what tells a file from others, and from itself after a change."""
    about = Path(path).stat()
    return [str(Path(path).resolve()), about.st_size, about.st_mtime_ns]


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _parts(folder: Path) -> Iterator[tuple[int, int, Path]]:
    """Yield first row, end and file of the finished parts that follow each other."""
    expected = 0
    for path in sorted(folder.glob("[0-9]*.arrow")):
        start, stop = map(int, path.stem.split("-"))
        if start != expected:
            return
        yield start, stop, path
        expected = stop
