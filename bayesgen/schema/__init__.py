"""What was learned about the columns, and with it: table -> encoded blocks -> frame."""

from bayesgen.schema.columns import BlockSpec as BlockSpec
from bayesgen.schema.columns import Column as Column
from bayesgen.schema.schema import Schema as Schema
