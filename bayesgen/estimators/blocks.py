"""Which likelihood reads which column: from the likelihood= argument to blocks."""

from collections.abc import Mapping

from bayesgen.errors import InvalidArgument, UnknownColumns
from bayesgen.likelihoods import Categorical, Likelihood, Normal
from bayesgen.schema import BlockSpec
from bayesgen.table import Table

Spec = str | Likelihood | Mapping
Blocks = dict[str, tuple[Likelihood, tuple]]
"""Block name -> its likelihood and the names of its columns."""


def assign(spec: Spec, table: Table) -> Blocks:
    """Return the blocks that a likelihood= argument means for a table.

    "auto" reads numbers as Normal and everything else as Categorical; one likelihood reads all
    columns; a mapping names columns, or tuples of columns, by name or by position.

    Raises:
        UnknownColumns: a column that is not in the table, is named twice, or is left out.
    """
    if isinstance(spec, Likelihood):
        return {_block_name(spec): (spec.specialised(), table.names)}
    if isinstance(spec, Mapping):
        return _by_column(spec, table.names)
    if spec != "auto":
        raise InvalidArgument.not_one_of(
            "likelihood", spec, ["auto", "bg.Normal()", "{column: ...}"]
        )
    numbers = tuple(column.name for column in table.columns if column.kind == "number")
    levels = tuple(column.name for column in table.columns if column.kind == "level")
    blocks: Blocks = {"normal": (Normal(), numbers), "categorical": (Categorical(), levels)}
    return {name: block for name, block in blocks.items() if block[1]}


def specs(blocks: Blocks) -> dict[str, BlockSpec]:
    """Return what each block asks of the table."""
    return {
        name: BlockSpec(likelihood.kind, columns, likelihood.centred)
        for name, (likelihood, columns) in blocks.items()
    }


def _by_column(spec: Mapping, names: tuple) -> Blocks:
    blocks: Blocks = {}
    taken: list = []
    for key, likelihood in spec.items():
        if not isinstance(likelihood, Likelihood):
            raise InvalidArgument.not_one_of(f"likelihood of {key!r}", likelihood, ["bg.Normal()"])
        columns = tuple(_column(k, names) for k in (key if isinstance(key, tuple) else (key,)))
        taken += columns
        blocks["_".join(map(str, columns))] = (likelihood.specialised(), columns)
    twice = [name for name in dict.fromkeys(taken) if taken.count(name) > 1]
    if twice:
        raise UnknownColumns.twice(twice)
    left_out = [name for name in names if name not in taken]
    if left_out:
        raise UnknownColumns.left_out(left_out)
    return blocks


def _column(key: object, names: tuple) -> object:
    if key in names:
        return key
    if isinstance(key, int) and 0 <= key < len(names):
        return names[key]
    raise UnknownColumns.not_in_table([key], names)


def _block_name(likelihood: Likelihood) -> str:
    name = type(likelihood).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
