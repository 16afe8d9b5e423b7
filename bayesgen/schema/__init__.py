"""What was learned about the columns, and with it: table -> encoded blocks -> frame."""

from bayesgen.schema.bends import Bend as Bend
from bayesgen.schema.bends import Bends as Bends
from bayesgen.schema.columns import BlockSpec as BlockSpec
from bayesgen.schema.columns import Column as Column
from bayesgen.schema.columns import Columns as Columns
from bayesgen.schema.columns import PlainColumns as PlainColumns
from bayesgen.schema.matching import absent_columns as absent_columns
from bayesgen.schema.matching import check_columns as check_columns
from bayesgen.schema.schema import Schema as Schema
from bayesgen.schema.suspects import suspicion as suspicion
