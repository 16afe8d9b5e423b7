"""Schema: the columns of a fit, from table to encoded blocks and back to a dataframe."""

from bayesgen.schema.matching import absent_columns as absent_columns
from bayesgen.schema.matching import check_columns as check_columns
from bayesgen.schema.number_forms import NumberForm as NumberForm
from bayesgen.schema.readings import Reading as Reading
from bayesgen.schema.readings.numbers import as_numbers as as_numbers
from bayesgen.schema.readings.numbers import check_spreads as check_spreads
from bayesgen.schema.readings.power_transform import PowerTransform as PowerTransform
from bayesgen.schema.readings.power_transform import PowerTransforms as PowerTransforms
from bayesgen.schema.readings.reading import MISSING as MISSING
from bayesgen.schema.readings.reading import BlockSpec as BlockSpec
from bayesgen.schema.readings.reading import IndicatorsOf as IndicatorsOf
from bayesgen.schema.readings.reading import PatternOf as PatternOf
from bayesgen.schema.schema import GROUPS as GROUPS
from bayesgen.schema.schema import Schema as Schema
from bayesgen.schema.schema import in_numbers as in_numbers
from bayesgen.schema.schema import reads_as_numbers as reads_as_numbers
from bayesgen.schema.sparse import Columns as Columns
from bayesgen.schema.sparse import NumericColumns as NumericColumns
from bayesgen.schema.suspects import blank_text as blank_text
from bayesgen.schema.suspects import suspicions as suspicions
from bayesgen.schema.text_cells import are_words as are_words
