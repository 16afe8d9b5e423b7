"""From any dataframe or array to a `Table` of number and level columns, and back to a frame."""

from bayesgen.table.building import build_frame as build_frame
from bayesgen.table.columns import Name as Name
from bayesgen.table.columns import Table as Table
from bayesgen.table.columns import TableColumn as TableColumn
from bayesgen.table.reading import is_frame as is_frame
from bayesgen.table.reading import read_table as read_table
from bayesgen.table.target import read_target as read_target
