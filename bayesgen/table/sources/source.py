"""`Source`: rows that are read part by part, so that only one part is in memory."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping

from bayesgen.errors import InvalidData
from bayesgen.errors.sources import read_once
from bayesgen.table.columns import Name, Names
from bayesgen.table.reading import is_frame
from bayesgen.table.sources.cluster import Cluster
from bayesgen.table.sources.part import PART_ROWS, Part

Kinds = Mapping[Name, str]
"""Column to read -> "number", "text", "boolean" or "any" (as its cells show), for the cells of CSV
files, which have no types."""


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """Rows that are read part by part.

    name: in sentences, such as a path or Code("the LazyFrame"). read: function that reads the rows
    from the beginning, as parts of any size; its argument gives the columns of files to read, with
    their kinds, which CSV files alone need; None: all. names: of the columns; None: known once the
    first part is. n_rows: None: unknown. once: whether the rows can be read only once. part_rows:
    of a part, at most. cluster: on whose workers the rows lie; None: on none.
    """

    name: str
    read: Callable[[Kinds | None], Iterator[Part]]
    names: Names | None = None
    n_rows: int | None = None
    once: bool = False
    cluster: Cluster | None = None
    part_rows: int = PART_ROWS
    _reads: list[None] = dataclasses.field(default_factory=list, repr=False)

    def parts(self, kinds: Kinds | None = None, rows: int | None = None) -> Iterator[Part]:
        """Yield the rows in their order; parts without rows are left out.

        Args:
            kinds: of the columns of files to read; None: all, in CSV files as their cells show.
            rows: of a part, at most; None: `part_rows`.

        Raises:
            InvalidData: the rows cannot be read, or not again.
        """
        self._begin()
        rows = rows or self.part_rows
        for part in self.read(kinds):
            if not is_frame(part.frame):
                raise InvalidData(
                    "{part} is of type {found}; every part must be a table with column names.",
                    "Yield frames: pandas.DataFrame(part).",
                    part=part.name,
                    found=type(part.frame).__name__,
                )
            size = len(part)
            for start in range(0, size, rows):
                yield part.rows(start, start + rows)

    def require_again(self, what: str) -> None:
        """Raise if the rows can be read only once; `what` reads them twice."""
        if self.once:
            raise read_once(self.name, what)

    def _begin(self) -> None:
        if self.once and self._reads:
            raise read_once(self.name, "this call")
        self._reads.append(None)
