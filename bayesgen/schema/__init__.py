"""What was learned about the columns, and with it: table -> encoded blocks -> frame."""

from bayesgen.schema.column_matching import absent_columns as absent_columns
from bayesgen.schema.column_matching import check_columns as check_columns
from bayesgen.schema.columns import BlockSpec as BlockSpec
from bayesgen.schema.columns import Column as Column
from bayesgen.schema.columns import Columns as Columns
from bayesgen.schema.columns import NumericColumns as NumericColumns
from bayesgen.schema.power_transform import PowerTransform as PowerTransform
from bayesgen.schema.power_transform import PowerTransforms as PowerTransforms
from bayesgen.schema.schema import Schema as Schema
from bayesgen.schema.suspects import suspicion as suspicion
