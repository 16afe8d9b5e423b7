"""Keys of rows by their content: equal rows have equal keys, whatever their order.

The key of a row is a sum over its observed cells, so that neither the order of columns matters nor
a column without an observed cell. A cell is hashed with the name of its column. The columns of an
array are named by their positions; there a fraction, which hardly ever repeats, is hashed without
the name, so that an array of fractions with its columns in another order has the same keys.

Cells are mixed as in SplitMix64: Steele, Lea and Flood (2014), Fast splittable pseudorandom number
generators, OOPSLA, 453-472.
"""

import hashlib
from typing import cast

import numpy as np
from jaxtyping import Float, Int, UInt64
from scipy.sparse import csr_array

from bayesgen.table.columns import Name, Table, TableColumn
from bayesgen.typing import Keys

GAMMA = np.uint64(0x9E3779B97F4A7C15)
FIRST, SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""The increment and the multipliers of SplitMix64."""
CHUNK = 1 << 15
"""Cells of a column hashed at once: 256 KB, which a second-level cache holds. 50,000 x 20 cells
take 12 ms, of an array 30 ms."""


def row_keys(table: Table) -> tuple[Keys, Keys]:
    """Return two keys of each row: one that orders rows at random, and one that tells them apart.

    They differ for arrays alone: rows of the same fractions in other columns share the first.

    Examples:
        >>> from bayesgen.table import read_table
        >>> order, identity = row_keys(read_table(np.array([[0.5, 1.5], [1.5, 0.5], [0.5, 1.5]])))
        >>> bool(order[0] == order[1]), bool(identity[0] == identity[1])
        (True, False)
        >>> bool(identity[0] == identity[2])
        True
    """
    order, identity = (np.zeros(table.n_rows, dtype=np.uint64) for _ in range(2))
    if table.is_sparse:
        _add_sparse(table, identity)
        return identity, identity
    positions = table.container == "numpy"
    for column in table.columns:
        for start in range(0, table.n_rows, CHUNK):
            rows = slice(start, start + CHUNK)
            named, unnamed = _cells(column, rows)
            identity[rows] += named
            if positions:
                order[rows] += unnamed
    return (order if positions else identity), identity


def cell_keys(table: Table) -> UInt64[np.ndarray, "row column"]:
    """Return a key of each cell of a table that is not sparse, 0 where it is missing.

    Equal cells of a column have equal keys, in every table. The keys of a row add up to the second
    of its `row_keys`.
    """
    out = np.empty((table.n_rows, len(table.columns)), dtype=np.uint64)
    for j, column in enumerate(table.columns):
        for start in range(0, table.n_rows, CHUNK):
            rows = slice(start, start + CHUNK)
            out[rows, j] = _cells(column, rows)[0]
    return out


def few_by_content(table: Table, size: int) -> Int[np.ndarray, " few"]:
    """Return the positions, ascending, of about `size` rows chosen by content; of few rows, all.

    They are chosen by as few columns as tell them apart, which costs a tenth of the keys of all
    cells. All rows are returned where copies of few rows make up the table.
    """
    every = np.arange(table.n_rows)
    if table.n_rows <= 2 * size or table.is_sparse:
        return every
    keys, threshold = np.zeros(table.n_rows, dtype=np.uint64), size / table.n_rows * 2.0**64
    for column in sorted(table.columns, key=lambda column: str(column.name)):
        for start in range(0, table.n_rows, CHUNK):
            rows = slice(start, start + CHUNK)
            keys[rows] += _cells(column, rows)[0]
        few = np.flatnonzero(keys < np.uint64(threshold))
        if size < 2 * len(few) < 4 * size and len(np.unique(keys[few])) > DISTINCT * len(few):
            return few
    return every


DISTINCT = 0.9
"""Share of distinct keys from which columns tell rows apart."""


def uniform(keys: Keys) -> Float[np.ndarray, " row"]:
    """Return a number above 0, at most 1, for each key: uniform over unequal keys."""
    return ((mixed(keys) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53


def _cells(column: TableColumn, rows: slice) -> tuple[Keys, Keys]:
    """Return hashes of cells with the name of the column, and without it where it may be left out.

    Those of missing cells are 0.
    """
    factor = _factor(column.name)
    if column.kind == "level":
        levels = [_of_level(level) for level in column.levels]
        named = np.array([*levels, 0], dtype=np.uint64)[column.values[rows]] * factor
        return named, named
    values = np.asarray(column.values[rows], dtype=np.float64)
    unnamed = _of_numbers(values)
    missing = np.isnan(values)
    if missing.any():
        unnamed[missing] = 0
    named, whole = unnamed * factor, values == np.floor(values)
    if whole.any():
        unnamed[whole] = named[whole]
    return named, unnamed


def _add_sparse(table: Table, keys: Keys) -> None:
    """Add the hashes of the cells of a sparse table but for zeros, which may be absent."""
    matrix = cast(csr_array, table.matrix)
    columns, place = np.unique(matrix.indices, return_inverse=True)
    factors = np.array([_factor(table.names[int(j)]) for j in columns], dtype=np.uint64)
    values = matrix.data.astype(np.float64)
    cells = np.where(values == 0, np.uint64(0), _of_numbers(values))
    cells *= factors[place]
    # a sum of no cell is 0
    sums = np.concatenate([np.zeros(1, dtype=np.uint64), np.cumsum(cells, dtype=np.uint64)])
    keys += sums[matrix.indptr[1:]] - sums[matrix.indptr[:-1]]


def _of_numbers(values: Float[np.ndarray, " cell"]) -> UInt64[np.ndarray, " cell"]:
    """Return the hashes of numbers, by their bits."""
    # 0.0: minus zero is zero
    return mixed((values + 0.0).view(np.uint64))


def _of_level(level: object) -> int:
    """Return the hash of a level: of a number or a boolean by its value, of text by itself."""
    if isinstance(level, bool | int | float):
        return int(_of_numbers(np.array([level], dtype=np.float64))[0])
    return _digest(str(level))


def mixed(bits: UInt64[np.ndarray, "..."]) -> UInt64[np.ndarray, "..."]:
    """Return 64 bits in which each bit of others is mixed with all (SplitMix64)."""
    bits = bits + GAMMA
    bits ^= bits >> np.uint64(30)
    bits *= FIRST
    bits ^= bits >> np.uint64(27)
    bits *= SECOND
    bits ^= bits >> np.uint64(31)
    return bits


def _factor(name: Name) -> np.uint64:
    """Return an odd number for the name of a column."""
    return np.uint64(_digest(str(name)) | 1)


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
