"""What was learned about the columns, and with it: table -> encoded blocks -> frame."""

from bayesgen.schema.columns import BlockSpec as BlockSpec
from bayesgen.schema.columns import Column as Column
from bayesgen.schema.columns import Columns as Columns
from bayesgen.schema.columns import PlainColumns as PlainColumns
from bayesgen.schema.schema import Schema as Schema
