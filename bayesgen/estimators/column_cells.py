"""Encoded positions of the cells of each column, for methods that blank or impute them."""

from collections.abc import Mapping

from bayesgen import explain
from bayesgen.errors.operations import unsupported
from bayesgen.estimators.training import TrainingState
from bayesgen.inference import Posterior
from bayesgen.schema import Reading
from bayesgen.table import Name


def cells_by_column(
    state: TrainingState, posterior: Posterior, what: str
) -> dict[Name, explain.Cell]:
    """Return the encoded position of each column, and of its missing pattern beside it.

    Args:
        state: of the fit.
        posterior: of the fit.
        what: the method that needs them.

    Raises:
        UnsupportedOperation: a program of the user's own reads rows as a whole.
    """
    places: dict[Name, explain.Cell] = {}
    for block, j in state.column_positions().values():
        source = state.schema.blocks[block][j].reads
        places[source] = (*places.get(source, ()), (block, j))
    pattern = state.pattern_positions()
    cells: dict[Name, explain.Cell] = {}
    for name in state.schema.names:
        if name in places:
            cells[name] = places[name]
        if name in pattern:
            column, (block, j) = pattern[name]
            if posterior.components.selection(block).reads(j):
                cells[column.name] = ((block, j),)
    if not cells:
        raise unsupported(
            f"{what} of a program of your own",
            "it reads a row as a whole, and may not handle missing cells",
            "Read the columns by likelihoods instead.",
        )
    return cells


def require_original(derived: Mapping[Name, Reading], what: str) -> None:
    """Raise if columns are read as others derived from them, which nothing maps back.

    Args:
        derived: the source of each derived column.
        what: the method that would fill cells.

    Raises:
        UnsupportedOperation: there are such columns.
    """
    if derived:
        raise unsupported(
            f"{what} of columns that are read as indicators or bins",
            "a normal distribution over indicators does not draw levels, and a bin is not a number",
            "Use a classifier that reads the columns as they are, such as NaiveBayes().",
        )
