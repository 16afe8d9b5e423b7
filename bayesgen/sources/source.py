"""`Source`: rows that are read part by part, so that only one part is in memory."""

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping

from bayesgen.errors import InvalidData
from bayesgen.sources.cluster import Cluster
from bayesgen.sources.defaults import PART_ROWS
from bayesgen.sources.part import Part
from bayesgen.table import Name, Names

Labelled = Callable[[Name, Collection[Name], Collection], "Source"]
"""Of the column of the classes, the columns whose words are counted, and known classes."""

Kinds = Mapping[Name, str]
"""Column to read -> "number", "text", "boolean" or "any" (as its cells show), for the cells of CSV
files, which have no types."""

NO_READAHEAD = {"use_threads": False, "batch_readahead": 0, "fragment_readahead": 0}
"""How pyarrow reads: else it reads ahead of a slow reader, 416 MB of a file of 661 MB, not 139."""


@dataclasses.dataclass(frozen=True, eq=False)
class Source:
    """Rows that are read part by part.

    name: in sentences, such as a path or Code("the LazyFrame"). read: function that reads the rows
    from the beginning, as parts of any size; its argument gives the columns of files to read, with
    their kinds, which CSV files alone need; None: all. names: of the columns; None: known once the
    first part is. n_rows: None: unknown. once: whether the rows can be read only once. part_rows:
    of a part, at most. cluster: on whose workers the rows lie; None: on none. labelled: see
    `with_classes`; None: cells state which are missing.
    """

    name: str
    read: Callable[[Kinds | None], Iterator[Part]]
    names: Names | None = None
    n_rows: int | None = None
    once: bool = False
    part_rows: int = PART_ROWS
    cluster: Cluster | None = None
    labelled: "Labelled | None" = None

    def parts(self, kinds: Kinds | None = None, rows: int | None = None) -> Iterator[Part]:
        """Yield the rows in their order; parts without rows are left out.

        Args:
            kinds: of the columns of files to read; None: all, in CSV files as their cells show.
            rows: of a part, at most; None: `part_rows`.

        Raises:
            InvalidData: the rows cannot be read.
        """
        for part in self.read(kinds):
            yield from part.split(rows or self.part_rows)

    def with_classes(
        self, target: Name, columns: Collection[Name] | None = None, classes: Collection = ()
    ) -> "Source":
        """Return the source, in which one column holds classes: in files of text words have counts.

        There words such as "None" mean "missing", but in a column of classes that holds one twice
        it is a class. All words are counted, which reads the files once, and said in warnings.

        Args:
            target: the column of the classes.
            columns: whose words are counted; None: of all.
            classes: that are known.
        """
        if self.labelled is None:
            return self
        columns = self.names or () if columns is None else columns
        found = self.labelled(target, columns, classes)
        return dataclasses.replace(self, read=found.read, labelled=None)

    def require_again(self) -> None:
        """Raise if the rows can be read only once: a stack reads them twice."""
        if self.once:
            raise InvalidData(
                "{source!r} can be read only once, and a stack reads its rows twice.",
                "Pass a path, a pyarrow.dataset.Dataset, a LazyFrame, a list of frames, or a "
                "function that returns a new iterator.",
                source=self.name,
            )
