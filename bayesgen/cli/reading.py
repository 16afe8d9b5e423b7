"""Which columns of a file a saved model reads, and how."""

import dataclasses
import itertools

import pyarrow as pa

from bayesgen.cli.files import UnusableData
from bayesgen.cli.models import Fitted, parts_of
from bayesgen.schema import Column, Columns, NumericColumns


@dataclasses.dataclass(frozen=True, eq=False)
class Reading:
    """The columns of a file that a model reads.

    types: of each column to read, by its name in the file: what a CSV file holds there.
    names: what the model calls these columns; None: they have no names but an order.
    """

    types: dict[str, pa.DataType]
    names: list | None

    def beside(self, keep: tuple[str, ...]) -> dict[str, pa.DataType]:
        """Return the types of columns to copy too, which stay as they are written: 007 is text."""
        return dict.fromkeys(keep, pa.string()) | self.types

    def rows(self, table: pa.Table) -> object:
        """Return rows as the model was fitted to them."""
        table = table.select(list(self.types))
        if self.names is None:
            return table.to_pandas().to_numpy()
        if self.names == table.column_names:
            return table
        return table.to_pandas().set_axis(self.names, axis=1)


def reading(classifier: Fitted, data: str, there: list[str]) -> Reading:
    """Return how a model reads a file with the columns `there`.

    Columns are known by name, those of a model that was fitted to an array by position: all columns
    of the file, unless these are named x0, x1, ... as the model names them.

    Raises:
        UnusableData: the file has no column of the model.
    """
    types = _types_of(classifier)
    names, container = _names_of(classifier)
    known = [name for name in names if name in types]
    found = [name for name in known if str(name) in there]
    if container in ("pandas", "polars", "pyarrow"):
        if not found:
            raise UnusableData.other_columns(data, [str(name) for name in known], there)
        return Reading({str(name): types[name] for name in found}, found)
    if len(found) == len(known):
        return Reading({str(name): types[name] for name in known}, None)
    given = itertools.zip_longest(there, known[: len(there)])
    return Reading({name: types.get(own, pa.float64()) for name, own in given}, None)


def _types_of(classifier: Fitted) -> dict:
    """Return what a CSV file holds in each column that a model, or a member of a stack, reads."""
    types = {}
    for part in parts_of(classifier):
        made = part._made()
        found = {n: t for c in part._state_.schema.blocks.values() for n, t in _types(c).items()}
        types |= {name: kind for name, kind in found.items() if name not in made}
        types |= {made[name].name: _type(made[name]) for name in found if name in made}
    return types


def _names_of(classifier: Fitted) -> tuple[list, str]:
    """Return the columns of the table that was fitted, in their order, and what it was."""
    part = parts_of(classifier)[0]
    return list(part._columns()), part._state_.schema.container


def _types(columns: Columns) -> dict:
    if isinstance(columns, NumericColumns):
        return dict.fromkeys(columns.names, pa.float64())
    return {column.name: _type(column) for column in columns}


def _type(column: Column) -> pa.DataType:
    """Return what the cells of a CSV column have to be: numbers match levels by their value."""
    found = {type(level) for level in column.levels}
    if found == {bool}:
        return pa.bool_()
    return pa.string() if str in found else pa.float64()
