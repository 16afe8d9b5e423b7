"""Every sentence of the library: how a person meets it, what it says to type, and that typed.

ROWS: "class.constructor" -> (provoke, typed, cure). `provoke` is a call through public names that
raises, or warns with, the sentence; `typed` stands in it; `cure` is the call with that typed, which
raises nothing and warns of nothing. Words behind the constructor tell several uses of it apart.
"""

from cures_merging import MERGING
from cures_models import (
    BECAUSE,
    DECISIONS,
    ESTIMATES,
    FAMILIES,
    INFERENCE,
    MORE,
    PRIORS,
    WORDS,
)
from cures_sources import SOURCES
from cures_tables import ARGUMENTS, COLUMNS, TABLES, TARGETS
from cures_unlabelled import UNLABELLED

ROWS = {
    **ARGUMENTS,
    **TABLES,
    **COLUMNS,
    **TARGETS,
    **PRIORS,
    **DECISIONS,
    **ESTIMATES,
    **FAMILIES,
    **WORDS,
    **INFERENCE,
    **BECAUSE,
    **MORE,
    **UNLABELLED,
    **SOURCES,
    **MERGING,
}
