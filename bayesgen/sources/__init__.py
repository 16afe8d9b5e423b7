"""Sources of rows that are read part by part: files, queries, streams, frames, and clusters."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.sources.answers import ANSWERS as ANSWERS
    from bayesgen.sources.answers import answer_schema as answer_schema
    from bayesgen.sources.answers import answer_stream as answer_stream
    from bayesgen.sources.answers import answer_table as answer_table
    from bayesgen.sources.answers import asked_by as asked_by
    from bayesgen.sources.cluster import Cluster as Cluster
    from bayesgen.sources.defaults import PART_ROWS as PART_ROWS
    from bayesgen.sources.engines import source_of as source_of
    from bayesgen.sources.part import Part as Part
    from bayesgen.sources.source import Kinds as Kinds
    from bayesgen.sources.source import Source as Source
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "answers": ["ANSWERS", "answer_schema", "answer_stream", "answer_table", "asked_by"],
            "cluster": ["Cluster"],
            "engines": ["source_of"],
            "defaults": ["PART_ROWS"],
            "part": ["Part"],
            "source": ["Kinds", "Source"],
        },
    )
