"""From any dataframe or array to a `Table` of number and level columns, and back to a frame."""

from bayesgen.table.building import build_frame as build_frame
from bayesgen.table.columns import Name as Name
from bayesgen.table.columns import Names as Names
from bayesgen.table.columns import Table as Table
from bayesgen.table.columns import TableColumn as TableColumn
from bayesgen.table.columns import Unread as Unread
from bayesgen.table.columns import with_column as with_column
from bayesgen.table.compressed import SPARSE as SPARSE
from bayesgen.table.compressed import PositionNames as PositionNames
from bayesgen.table.compressed import SparseTable as SparseTable
from bayesgen.table.compressed import build_sparse as build_sparse
from bayesgen.table.compressed import is_sparse as is_sparse
from bayesgen.table.compressed import named as named
from bayesgen.table.compressed import read_sparse as read_sparse
from bayesgen.table.counts import check_counts as check_counts
from bayesgen.table.counts import presence as presence
from bayesgen.table.filled import fill_table as fill_table
from bayesgen.table.indicators import indicators as indicators
from bayesgen.table.indicators import levels_of as levels_of
from bayesgen.table.joined import concatenated as concatenated
from bayesgen.table.names import free as free
from bayesgen.table.names import free_names as free_names
from bayesgen.table.reading import is_frame as is_frame
from bayesgen.table.reading import read_table as read_table
from bayesgen.table.target import read_target as read_target
from bayesgen.table.texts import read_texts as read_texts
