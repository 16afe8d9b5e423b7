"""Rows that are mostly zeros: read in blocks of stored cells, whether they came compressed or not.

In a `scipy.sparse.csr_array` an absent cell is 0 and a stored NaN is missing.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array, issparse
from scipy.special import gammaln

from bayesgen.likelihoods.normal_statistics import one_hot, row_chunks
from bayesgen.typing import Block, Kept, Labels, Weights

BLOCK_CELLS = 1 << 17
"""Stored cells a block: temporaries of 1 MB stay in a second-level cache."""
SCORED_CELLS = 1 << 19
"""The same where each block costs some calls: 4 MB."""
DENSE_CELLS = 1 << 20
"""Cells a block where rows are dense: 8 MB."""
LOG_FACTORIALS = gammaln(np.arange(256) + 1.0)


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """Stored cells of some rows, as a csr_array has them; missing ones hold 0.

    Views where the rows came compressed: slicing or making a csr_array would copy them.

    data, indices: (cell,). indptr: (row + 1,). shape: (row, feature).
    holes: 1 where a cell is missing, or None if none is.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]
    missing_cells: csr_array | None = None

    def compressed(self) -> csr_array:
        """Return the rows as a csr_array."""
        return csr_array((self.data, self.indices, self.indptr), self.shape)

    def sums(self, values: np.ndarray) -> Float[np.ndarray, " row"]:
        """Return the sum over each row of one value for every stored cell."""
        out = np.zeros(self.shape[0])
        filled = np.flatnonzero(np.diff(self.indptr))
        if len(filled):
            out[filled] = np.add.reduceat(values, self.indptr[filled])
        return out

    def of_rows(self, values: np.ndarray) -> np.ndarray:
        """Return one value for every stored cell, that of its row."""
        return np.repeat(values, np.diff(self.indptr))


def row_blocks(x: Block, cells: int = BLOCK_CELLS) -> Iterator[tuple[slice, Cells]]:
    """Yield slices that cover all rows, and the stored cells of each, about as many as asked."""
    if issparse(x):
        for rows in _row_slices(x.indptr, cells):
            first, last = x.indptr[rows.start], x.indptr[rows.stop]
            indptr = x.indptr[rows.start : rows.stop + 1] - first
            shape = (rows.stop - rows.start, x.shape[1])
            yield rows, _known(x.data[first:last], x.indices[first:last], indptr, shape)
        return
    for rows in row_chunks(len(x), max(1, DENSE_CELLS // max(x.shape[1], 1))):
        some = csr_array(x[rows])
        yield rows, _known(some.data, some.indices, some.indptr, some.shape)


def all_cells(x: Block) -> Cells:
    """Return the stored cells of all rows."""
    some = x if issparse(x) else csr_array(x)
    return _known(some.data, some.indices, some.indptr, some.shape)


def _row_slices(indptr: np.ndarray, cells: int) -> Iterator[slice]:
    n_rows = len(indptr) - 1
    start = 0
    while start < n_rows:
        stop = int(np.searchsorted(indptr, indptr[start] + cells, side="right")) - 1
        stop = min(max(stop, start + 1), n_rows)
        yield slice(start, stop)
        start = stop


def _known(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]
) -> Cells:
    missing = np.isnan(data) if data.dtype.kind == "f" else np.zeros(0, bool)
    if not missing.any():
        return Cells(data, indices, indptr, shape)
    missing_cells = csr_array((missing.astype(float), indices, indptr), shape, copy=True)
    missing_cells.eliminate_zeros()
    return Cells(np.where(missing, 0.0, data), indices, indptr, shape, missing_cells)


def observed_sums(
    values: Float[np.ndarray, "*batch feature"], missing_cells: csr_array
) -> Float[np.ndarray, "row ..."]:
    """Return the sum of values over the features that each row does not miss.

    By adding what is there: subtracting what is missing from the total would lose the digits of
    rows that miss almost everything.
    """
    flat = values.reshape(-1, values.shape[-1])
    out = np.tile(flat.sum(axis=1), (missing_cells.shape[0], 1))
    which = np.flatnonzero(np.diff(missing_cells.indptr))
    for part in row_chunks(len(which), max(1, DENSE_CELLS // missing_cells.shape[1])):
        at = which[part]
        out[at] = (1.0 - missing_cells[at].toarray()) @ flat.T
    return out.reshape(-1, *values.shape[:-1])


def class_sums(
    x: Block, y: Labels, weight: Weights, n_classes: int
) -> Float[np.ndarray, "class feature"]:
    """Return the weighted sum of each column over the rows of each class; missing cells add 0."""
    shape = (n_classes, x.shape[1])
    out = np.zeros(shape)
    if not issparse(x):
        for rows in row_chunks(len(x), max(1, DENSE_CELLS // max(x.shape[1], 1))):
            out += (one_hot(y[rows], n_classes) * weight[rows]) @ np.nan_to_num(x[rows])
        return out
    even = bool((weight == 1).all())
    # as many cells as the answer has, at least: its own cost then does not count
    for rows, cells in row_blocks(x, max(BLOCK_CELLS, out.size)):
        slot = cells.of_rows(y[rows] * shape[1])
        slot += cells.indices
        values = cells.data if even else cells.data * cells.of_rows(weight[rows])
        out += np.bincount(slot, values, minlength=out.size).reshape(shape)
    return out


def class_missing(
    x: Block, y: Labels, weight: Weights, n_classes: int
) -> Float[np.ndarray, "class feature"]:
    """Return the weight of the missing cells of each column within each class."""
    out = np.zeros((n_classes, x.shape[1]))
    for rows, cells in row_blocks(x):
        if cells.missing_cells is not None:
            out += (cells.missing_cells.T @ (one_hot(y[rows], n_classes).T * weight[rows, None])).T
    return out


def log_factorials(counts: np.ndarray) -> Float[np.ndarray, " cell"]:
    """Return log x! of whole numbers."""
    # a count of 1e19 is no 64-bit integer
    known = np.minimum(counts, len(LOG_FACTORIALS)) if counts.dtype.kind == "f" else counts
    out = LOG_FACTORIALS.take(known.astype(np.int64, copy=False), mode="clip")
    if counts.size and counts.max() >= len(LOG_FACTORIALS):
        large = np.flatnonzero(counts >= len(LOG_FACTORIALS))
        out[large] = gammaln(counts[large] + 1.0)
    return out


def kept_columns(x: Block, index: np.ndarray) -> Kept:
    """Return the columns `index`, in increasing order, of rows that may be compressed.

    Cells of other columns stay stored, as zeros: leaving them out would cost another pass.
    """
    if not issparse(x):
        return x[:, index]
    place = np.full(x.shape[1], -1, dtype=x.indices.dtype)
    place[index] = np.arange(len(index))
    indices, data = place[x.indices], x.data
    if indices.size and indices.min() < 0:
        lost = indices < 0
        indices[lost], data = 0, np.where(lost, 0, data)
    return csr_array((data, indices, x.indptr), (x.shape[0], len(index)))


def widened(x: csr_array, index: np.ndarray, size: int) -> csr_array:
    """Return compressed rows among `size` columns of which they hold `index`."""
    return csr_array((x.data, index[x.indices], x.indptr), (x.shape[0], size))


def first_missing(x: Block) -> tuple[int, int] | None:
    """Return the first column with a missing cell and how many it misses, or None."""
    cells = x.data if issparse(x) else x
    if cells.dtype.kind != "f":
        return None
    missing = np.isnan(cells)
    if not missing.any():
        return None
    column = x.indices[missing] if issparse(x) else np.nonzero(missing)[1]
    first = int(column.min())
    return first, int((column == first).sum())
