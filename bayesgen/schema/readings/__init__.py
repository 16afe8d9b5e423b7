"""Readings: one class for each way in which a column of a table is read and written back.

A new one is a file here and its line in READINGS. One that reads text as numbers derives from
`Numbers` and stands before `Indicator`, which takes any text; docs/how-to/add-a-reading.md has an
example.
"""

from bayesgen.schema.readings.binary import Binary as Binary
from bayesgen.schema.readings.bins import Bins as Bins
from bayesgen.schema.readings.counts import Counts as Counts
from bayesgen.schema.readings.decorated import Decorated as Decorated
from bayesgen.schema.readings.indicators import Indicator as Indicator
from bayesgen.schema.readings.levels import Levels as Levels
from bayesgen.schema.readings.numbers import Numbers as Numbers
from bayesgen.schema.readings.pattern import Pattern as Pattern
from bayesgen.schema.readings.power_transform import PowerTransformed as PowerTransformed
from bayesgen.schema.readings.reading import READINGS as READINGS
from bayesgen.schema.readings.reading import BlockSpec as BlockSpec
from bayesgen.schema.readings.reading import Reading as Reading

READINGS += [
    Pattern,
    Binary,
    Counts,
    Bins,
    Levels,
    Decorated,
    Indicator,
    Numbers,
]  # power transforms of numbers come later, from rows
