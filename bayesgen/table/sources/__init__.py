"""Sources of rows that are read part by part: files, queries, streams and iterators of frames."""

from bayesgen.table.sources.answers import answer_lazy_frame as answer_lazy_frame
from bayesgen.table.sources.answers import answer_reader as answer_reader
from bayesgen.table.sources.cluster import Cluster as Cluster
from bayesgen.table.sources.engines import is_lazy_frame as is_lazy_frame
from bayesgen.table.sources.engines import source_of as source_of
from bayesgen.table.sources.part import PART_ROWS as PART_ROWS
from bayesgen.table.sources.part import FindRow as FindRow
from bayesgen.table.sources.part import Part as Part
from bayesgen.table.sources.part import joined as joined
from bayesgen.table.sources.source import Kinds as Kinds
from bayesgen.table.sources.source import Source as Source
