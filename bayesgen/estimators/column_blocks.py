"""Column blocks: resolve the `likelihood=` argument to the columns of each likelihood."""

import dataclasses
from collections import Counter
from collections.abc import Mapping
from numbers import Integral
from typing import Literal, get_args

import numpy as np

from bayesgen.arguments import one_of
from bayesgen.errors import InvalidArgument, InvalidData
from bayesgen.errors.arguments import not_an_instance, not_one_of, out_of_range
from bayesgen.errors.data import unknown_columns
from bayesgen.errors.operations import unsupported
from bayesgen.errors.wording import Code
from bayesgen.likelihoods import Bernoulli, Categorical, Likelihood, Normal
from bayesgen.likelihoods.hyperparameter_mixture import resolve_family
from bayesgen.schema import GROUPS, MISSING, PatternOf, reads_as_numbers
from bayesgen.table import Name, Names, Table, free

Spec = str | Likelihood | Mapping
Blocks = dict[str, tuple[Likelihood, Names]]
"""Block name -> its likelihood and the names of its columns."""

Remainder = Literal["auto", "drop"] | None
"""What remainder= may be: what becomes of columns that a mapping of likelihoods omits."""

Missing = Literal["ignorable", "informative", "learn"]
"""What missing= may be."""
PATTERNS: tuple[str, ...] = get_args(Missing)

Unseen = Literal["missing", "error"]
"""What unseen= may be."""

TAKEN = ("class", GROUPS)
"""Names of no block: the class prior stands under the first one beside the blocks."""


@dataclasses.dataclass(frozen=True)
class Pairs:
    """A mapping as its pairs, as copies hold it where keys are tuples of columns.

    skops writes the keys of a mapping as JSON, which has no tuples as keys.
    """

    pairs: tuple[tuple[object, object], ...]

    @classmethod
    def of(cls, argument: object) -> object:
        """Return the pairs of a mapping with tuples as keys, and everything else as it is."""
        if not isinstance(argument, dict) or not any(isinstance(k, tuple) for k in argument):
            return argument
        return cls(tuple(argument.items()))

    @property
    def mapping(self) -> dict[object, object]:
        """The mapping."""
        return dict(self.pairs)


def assign(
    spec: Spec, table: Table, remainder: str | None = None, groups: Name | None = None
) -> Blocks:
    """Return the blocks of a table that a `likelihood=` argument defines.

    "auto" reads numbers as Normal and everything else as Categorical; one likelihood reads all
    columns; a mapping names columns, or tuples of columns, by name or by position.

    Args:
        spec: the likelihood= argument.
        table: rows to fit.
        remainder: columns that a mapping omits are rejected (None), modeled as under "auto"
            ("auto"), or ignored ("drop").
        groups: the column of groups, which no likelihood reads.

    Raises:
        InvalidData: a column that is not in the table, is named twice, or is left out, or that of
            groups.
        InvalidArgument: an invalid likelihood or remainder, or a mapping that leaves no column.
    """
    if remainder not in (None, "auto", "drop"):
        raise not_one_of("remainder", remainder, ["auto", "drop", None])
    names = features(table, groups)
    if isinstance(spec, Likelihood):
        return {_block_name(spec): (resolve_family(spec), names)}
    if isinstance(spec, Mapping):
        return _by_column(spec, table, remainder, groups)
    if not (isinstance(spec, str) and spec == "auto"):
        allowed = ["auto", Code("bg.Normal()"), Code("{column: ...}")]
        raise _no_likelihood("likelihood", spec, allowed)
    return _automatic(table, names, {})


def features(table: Table, groups: Name | None) -> Names:
    """Return the columns of a table but identifiers, and that of groups, if there is one.

    Raises:
        InvalidArgument: groups are no name.
        InvalidData: the table has no such column, or no other.
    """
    unread = () if table.matrix is not None else [c.name for c in table.columns if c.unread]
    every = table.names
    if unread:
        every = tuple(name for name in every if name not in unread)
    if groups is None:
        return every
    if not isinstance(groups, str | Integral):
        raise InvalidArgument(
            "groups= is of type {kind}, and takes the name of a column of X.",
            "Add the groups as a column, X.assign(group=...), and pass groups='group'.",
            kind=type(groups).__name__,
        )
    if table.is_sparse:
        raise InvalidData(
            "groups= names the column {column!r}, and groups of a sparse X are not read.",
            "Pass a DataFrame.",
            column=groups,
        )
    if groups not in table.names:
        raise _no_groups(groups, table)
    names = tuple(name for name in every if name != groups)
    if not names:
        raise InvalidData(
            "X has no column but {column!r}, which groups= names and which is no feature.",
            "Add a column, or leave out groups=.",
            column=groups,
        )
    return names


def _no_groups(groups: Name, table: Table) -> InvalidData:
    """Return the error about a column of groups that the table does not have."""
    cure = "Name one of these, add it, or leave out groups=."
    if table.container == "pandas" and isinstance(groups, str):
        cure = "Name one of these, add it, X.assign(**{{{column!r}: ...}}), or leave out groups=."
    elif table.container == "numpy":
        cure = "Columns of an array are named x0, x1, ...: pass groups={position!r}."
    known = isinstance(groups, int) and 0 <= groups < len(table.names)
    return InvalidData(
        "groups= names the column {column!r}, which X does not have; it has {names:listed 10}.",
        cure,
        column=groups,
        names=list(table.names),
        position=table.names[groups if known else 0],
    )


def split(blocks: Blocks) -> Blocks:
    """Return blocks of one column each, named by it, in place of blocks of independent columns."""
    out: Blocks = {}
    for name, (likelihood, columns) in blocks.items():
        if likelihood.joint:
            out[_free(name, out)] = likelihood, columns
            continue
        for column in columns:
            # part of the names of parameters, in which arviz's trees allow no slash
            out[_free(str(column).replace("/", "_"), out)] = likelihood, (column,)
    return out


def with_pattern(blocks: Blocks, table: Table, missing: str, temper: object) -> Blocks:
    """Return blocks with those of the missing pattern of their columns, as `missing` states.

    Where every block has one column, each column of the pattern has a block of its own too.

    Args:
        blocks: of the table.
        table: rows to fit.
        missing: "ignorable" leaves the blocks as they are.
        temper: which must not learn a power of its own beside that of the pattern.

    Raises:
        InvalidArgument, UnsupportedOperation: an invalid `missing`, or one that is incompatible
            with `temper`.
        InvalidData: a sparse table, in which the pattern is not stored.
    """
    one_of("missing", missing, PATTERNS)
    if missing == "ignorable":
        return blocks
    if table.is_sparse:
        raise InvalidData(
            "X is a sparse matrix, and missing={missing!r} needs a dense table.",
            "Pass X.toarray(), or missing='ignorable'.",
            missing=missing,
        )
    if missing == "learn" and temper not in (None, "columns"):
        raise unsupported(
            f"missing='learn' with temper={temper!r}",
            "the two powers would be learned separately",
            "Pass temper='columns' to learn both, or missing='informative'.",
        )
    read = {name for _, names in blocks.values() for name in names}
    names = tuple(name for name in table.names if name in read)
    apart = all(len(names) == 1 for _, names in blocks.values())
    parts = [(f"{name} missing", (name,)) for name in names] if apart else [(MISSING, names)]
    out = dict(blocks)
    for name, columns in parts:
        # part of the names of parameters, in which arviz's trees allow no slash
        out[_free(name.replace("/", "_"), out)] = Bernoulli(), PatternOf(columns)
    return out


def column_keys(spec: Spec) -> set[object] | None:
    """Return the column names and positions in a mapping of likelihoods, else None."""
    if not isinstance(spec, Mapping):
        return None
    return {part for key in spec for part in (key if isinstance(key, tuple) else (key,))}


def reads_sparse(spec: Spec) -> bool:
    """Return whether every likelihood of a likelihood= argument reads sparse rows."""
    parts = spec.values() if isinstance(spec, Mapping) else (spec,)
    return all(isinstance(part, Likelihood) and part.sparse for part in parts)


def refuses_negative(spec: Spec) -> bool:
    """Return whether every likelihood of a likelihood= argument refuses cells below 0."""
    parts = list(spec.values()) if isinstance(spec, Mapping) else [spec]
    return bool(parts) and all(isinstance(p, Likelihood) and _refuses_negative(p) for p in parts)


def _refuses_negative(likelihood: Likelihood) -> bool:
    if likelihood.kind != "numbers":
        return likelihood.kind in ("counts", "binary")
    outside = likelihood.out_of_support(np.array([[-1.0]]))
    return outside is not None and bool(np.all(outside))


def _by_column(spec: Mapping, table: Table, remainder: str | None, groups: Name | None) -> Blocks:
    blocks: Blocks = {}
    taken: list = []
    for key, likelihood in spec.items():
        if not isinstance(likelihood, Likelihood):
            raise _no_likelihood(f"likelihood[{key!r}]", likelihood, [Code("bg.Normal()")])
        parts = key if isinstance(key, tuple) else (key,)
        columns = tuple(_column(part, table.names) for part in parts)
        taken += columns
        # part of the names of parameters, in which arviz's trees allow no slash
        name = "_".join(map(str, columns)).replace("/", "_")
        blocks[_free(name, blocks)] = (resolve_family(likelihood), columns)
    entries = Counter(taken)
    twice = [name for name, count in entries.items() if count > 1]
    if twice:
        raise InvalidData(
            "likelihood= names the {names:named column} more than once; each column has one "
            "likelihood.",
            "Leave one of the entries out.",
            names=twice,
        )
    if groups is not None and groups in entries:
        raise InvalidData(
            "column {column!r} is named by both groups= and likelihood=, and the column of "
            "groups is no feature.",
            "Leave it out of likelihood=, or leave out groups=.",
            column=groups,
        )
    left_out = tuple(name for name in features(table, groups) if name not in entries)
    if left_out and remainder is None:
        raise InvalidData(
            "likelihood= leaves out the {names:named column}; each column needs a likelihood.",
            'Add an entry for it, or pass remainder="auto" to choose likelihoods by type for '
            'the rest, or remainder="drop" to ignore it.',
            names=left_out,
        )
    if not blocks and remainder == "drop":
        raise out_of_range(
            "likelihood",
            dict(spec),
            "with remainder='drop' a mapping of at least one column",
            "Pass remainder='auto', or name a column.",
        )
    return _automatic(table, left_out, blocks) if remainder == "auto" else blocks


def _no_likelihood(name: str, value: object, allowed: list) -> InvalidArgument:
    if isinstance(value, type) and issubclass(value, Likelihood):
        return not_an_instance(name, value)
    return not_one_of(name, value, allowed)


def _automatic(table: Table, names: Names, blocks: Blocks) -> Blocks:
    """Return blocks, extended by those of "auto" for the given columns."""
    numbers, levels = names, ()
    if not table.is_sparse:  # which holds nothing but numbers
        wanted = set(names)
        columns = [column for column in table.columns if column.name in wanted]
        numbers = tuple(column.name for column in columns if reads_as_numbers(column))
        read = set(numbers)
        levels = tuple(column.name for column in columns if column.name not in read)
    added: Blocks = {"normal": (Normal(), numbers)} if numbers else {}
    if levels:
        added["categorical"] = Categorical(), levels
    if blocks:
        added = {_free(name, blocks): block for name, block in added.items()}
    return blocks | added


def _column(key: object, names: Names) -> Name:
    if key in names:
        return names[names.index(key)]
    if isinstance(key, int) and 0 <= key < len(names):
        return names[key]
    raise unknown_columns([key], names)


def _free(name: str, blocks: Blocks) -> str:
    return free(name, {*blocks, *TAKEN})


def _block_name(likelihood: Likelihood) -> str:
    name = type(likelihood).__name__
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
