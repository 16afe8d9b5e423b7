"""Checks that likelihoods can read the rows that are fitted."""

import math
from collections.abc import Mapping

from bayesgen.errors import MissingCells, OutOfSupport, TooManyCells, UnsupportedTable
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.sparse import first_missing
from bayesgen.schema import Columns, Schema
from bayesgen.typing import Encoded, Traceable


def check_sparse(likelihoods: Mapping[str, Likelihood]) -> None:
    """Reject a sparse table if some likelihood requires dense rows, naming the first one.

    Raises:
        UnsupportedTable: with those that do.
    """
    for likelihood in likelihoods.values():
        if not likelihood.sparse:
            raise UnsupportedTable.sparse_for(type(likelihood).__name__)


def check_encoded(
    encoded: Encoded, schema: Schema, likelihoods: dict[str, Likelihood], first: int
) -> None:
    """Reject missing cells where a likelihood fits complete rows only, and cells without a density.

    first: number of the first of them among all fitted rows.
    """
    for name, likelihood in likelihoods.items():
        if not likelihood.allows_missing_at_fit:
            missing = first_missing(encoded[name])
            if missing is not None:
                column = schema.blocks[name][missing[0]].name
                family = type(likelihood).__name__
                raise MissingCells.at_fit(family, column, missing[1], encoded[name].shape[0])
        _refuse_outside(likelihood, encoded[name], schema, name, first)


def _refuse_outside(
    likelihood: Likelihood, x: Traceable, schema: Schema, block: str, first: int
) -> None:
    """Reject cells outside the support under all parameters."""
    outside = likelihood.out_of_support(x)
    if outside is None:
        return
    rows, columns = outside.nonzero()
    if not len(rows):
        return
    row, column = min(zip(rows.tolist(), columns.tolist(), strict=True))
    value = x[row, column] + schema.origin(block)[column]
    raise OutOfSupport.cell(
        schema.blocks[block][column].name,
        value,
        first + row,
        count=int((columns == column).sum()),
        likelihood=repr(likelihood),
        support=likelihood.support,
    )


def check_cells(likelihood: Likelihood, columns: Columns) -> None:
    """Reject a joint table with too many cells for its likelihood."""
    n_levels = {column.name: len(column.levels) for column in columns}
    cells, most = math.prod(max(n, 1) for n in n_levels.values()), likelihood.most_cells
    if most is not None and cells > most:
        raise TooManyCells.block(n_levels, most)
