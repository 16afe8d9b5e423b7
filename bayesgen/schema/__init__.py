"""Schema: the columns of a fit, from table to encoded blocks and back to a dataframe."""

from bayesgen.schema.blocks import check_spreads as check_spreads
from bayesgen.schema.columns import GROUPS as GROUPS
from bayesgen.schema.columns import MISSING as MISSING
from bayesgen.schema.columns import BlockSpec as BlockSpec
from bayesgen.schema.columns import Column as Column
from bayesgen.schema.columns import Columns as Columns
from bayesgen.schema.columns import IndicatorsOf as IndicatorsOf
from bayesgen.schema.columns import NumericColumns as NumericColumns
from bayesgen.schema.columns import PatternOf as PatternOf
from bayesgen.schema.matching import absent_columns as absent_columns
from bayesgen.schema.matching import check_columns as check_columns
from bayesgen.schema.power_transform import PowerTransform as PowerTransform
from bayesgen.schema.power_transform import PowerTransforms as PowerTransforms
from bayesgen.schema.schema import Schema as Schema
from bayesgen.schema.suspects import are_words as are_words
from bayesgen.schema.suspects import blank_text as blank_text
from bayesgen.schema.suspects import suspicions as suspicions
