"""Sparse rows: statistics and scores of columns that are independent given the class.

In a `scipy.sparse.csr_array` an absent cell is 0 and a stored NaN is missing. The score of a row of
zeros is computed once; stored cells add their difference to it.
"""

import dataclasses
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array, issparse

from bayesgen.likelihoods.base import one_hot, row_chunks
from bayesgen.typing import Block, Kept, Labels, Weights

Scores = Callable[..., np.ndarray]
PerClass = Float[np.ndarray, "class feature"]
Statistic = Callable[[np.ndarray], tuple[np.ndarray, ...]]
"""Cells of any shape -> their sufficient statistics, each of that shape."""

CHUNK_CELLS = 1 << 17
"""Stored cells a chunk: temporaries of 1 MB stay in a second-level cache."""
SCORED_CELLS = 1 << 19
"""The same where each chunk costs some calls: 4 MB."""
DENSE_CELLS = 1 << 20
"""Cells a chunk where rows are dense: 8 MB."""
COMMON = (1.0, 2.0, 3.0)
"""Values that are scored by a table, 1 to n: most counts are 1, most others 2 or 3."""


@dataclasses.dataclass(frozen=True, eq=False)
class Cells:
    """Stored cells of some rows, as in a csr_array; missing ones hold 0.

    Views where the rows are sparse: slicing or building a csr_array would copy them.

    data, indices: (cell,). indptr: (row + 1,). shape: (row, feature).
    missing_cells: 1 where a cell is missing; is_missing: the mask of missing stored cells. Both are
    None if no cell is missing.
    """

    data: np.ndarray
    indices: np.ndarray
    indptr: np.ndarray
    shape: tuple[int, int]
    missing_cells: csr_array | None = None
    is_missing: np.ndarray | None = None

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
        """Return for every stored cell the value of its row."""
        return np.repeat(values, np.diff(self.indptr))


def sparse_chunks(x: Block, cells: int = CHUNK_CELLS) -> Iterator[tuple[slice, Cells]]:
    """Yield slices that cover all rows, and the stored cells of each, about `cells` at a time."""
    if issparse(x):
        for rows in _row_slices(x.indptr, cells):
            first, last = x.indptr[rows.start], x.indptr[rows.stop]
            indptr = x.indptr[rows.start : rows.stop + 1] - first
            shape = (rows.stop - rows.start, x.shape[1])
            yield rows, _stored(x.data[first:last], x.indices[first:last], indptr, shape)
        return
    for rows in row_chunks(len(x), max(1, DENSE_CELLS // max(x.shape[1], 1))):
        some = csr_array(x[rows])
        yield rows, _stored(some.data, some.indices, some.indptr, some.shape)


def _row_slices(indptr: np.ndarray, cells: int) -> Iterator[slice]:
    n_rows = len(indptr) - 1
    start = 0
    while start < n_rows:
        stop = int(np.searchsorted(indptr, indptr[start] + cells, side="right")) - 1
        stop = min(max(stop, start + 1), n_rows)
        yield slice(start, stop)
        start = stop


def _stored(
    data: np.ndarray, indices: np.ndarray, indptr: np.ndarray, shape: tuple[int, int]
) -> Cells:
    missing = np.isnan(data) if data.dtype.kind == "f" else np.zeros(0, bool)
    if not missing.any():
        return Cells(data, indices, indptr, shape)
    missing_cells = csr_array((missing.astype(float), indices, indptr), shape, copy=True)
    missing_cells.eliminate_zeros()
    return Cells(np.where(missing, 0.0, data), indices, indptr, shape, missing_cells, missing)


def observed_sums(
    values: Float[np.ndarray, "*batch feature"], missing_cells: csr_array
) -> Float[np.ndarray, "row ..."]:
    """Return the sum of values over the observed features of each row.

    Observed features are added up: subtracting missing ones from the total would lose the digits of
    rows with few observed cells.
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
    # at least as many cells as the answer has, so that its own cost is negligible
    for rows, cells in sparse_chunks(x, max(CHUNK_CELLS, out.size)):
        slot = cells.of_rows(y[rows] * shape[1])
        slot += cells.indices
        values = cells.data if even else cells.data * cells.of_rows(weight[rows])
        out += np.bincount(slot, values, minlength=out.size).reshape(shape)
    return out


def kept_columns(x: Block, index: np.ndarray) -> Kept:
    """Return the columns `index`, in increasing order, of dense or sparse rows.

    Cells of other columns stay stored, as zeros: removing them would cost another pass.
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


def first_missing(x: Block) -> tuple[int, int] | None:
    """Return the first column with missing cells and their number, or None."""
    cells = x.data if issparse(x) else x
    if cells.dtype.kind != "f":
        return None
    missing = np.isnan(cells)
    if not missing.any():
        return None
    column = x.indices[missing] if issparse(x) else np.nonzero(missing)[1]
    first = int(column.min())
    return first, int((column == first).sum())


# -- sums ------------------------------------------------------------------------------------------


def cell_sums(
    cell: Statistic, x: csr_array, y: Labels, weight: Weights, n_classes: int
) -> Float[np.ndarray, "class statistic feature"]:
    """Return the weighted sums of the statistics of cells, stored ones and zeros."""
    zero = cell(np.zeros(1))
    shape = (n_classes, x.shape[1])
    size, even = int(np.prod(shape)), bool((weight == 1).all())
    out, stored = np.zeros((len(zero), size)), np.zeros(size)
    # at least as many cells as the answer has, so that its own cost is negligible
    for rows, cells in sparse_chunks(x, max(CHUNK_CELLS, size)):
        slot = cells.of_rows(y[rows] * shape[1])
        slot += cells.indices
        weights = None if even else cells.of_rows(weight[rows])
        counted = np.bincount(slot, weights, minlength=size)
        stored += counted
        data = cells.data.astype(float)
        if cells.is_missing is not None:
            seen = ~cells.is_missing
            slot, data = slot[seen], data[seen]
            weights = weights[seen] if weights is not None else None
            counted = np.bincount(slot, weights, minlength=size)
        for s, value in enumerate(cell(data)):
            if (value == value[:1]).all():  # stored values are all 1: a third of the time
                out[s] += float(value[:1].sum()) * counted
                continue
            weighted = value if weights is None else value * weights
            out[s] += np.bincount(slot, weighted, minlength=size)
    rows = np.tile(np.bincount(y, weight, minlength=n_classes)[:, None], x.shape[1])
    absent = _zeros_weight(rows - stored.reshape(shape), rows, x, y, weight)
    sums = (out[s].reshape(shape) + zero[s] * absent for s in range(len(zero)))
    return np.stack(list(sums), axis=1)


def _zeros_weight(
    left: PerClass, whole: PerClass, x: csr_array, y: Labels, weight: Weights
) -> PerClass:
    """Return the weight of the cells that are not stored, restoring the digits of a difference.

    Differences of whole numbers are exact. Of fractions, a difference below a thousandth is added
    up instead. left: the difference of `whole` and the stored weight.
    """
    faint = np.flatnonzero((left < 1e-3 * whole).any(axis=0))
    if not faint.size or (weight == np.rint(weight)).all():
        return left
    rows = one_hot(y, len(left)) * weight
    pattern = csr_array((np.ones(len(x.data)), x.indices, x.indptr), x.shape).tocsc()
    for part in row_chunks(len(faint), max(1, DENSE_CELLS // max(len(y), 1))):
        left[:, faint[part]] = rows @ (1.0 - pattern[:, faint[part]].toarray())
    return left


# -- scores ----------------------------------------------------------------------------------------


def by_form(dense: Callable[[], Scores], sparse: Callable[[], Scores]) -> Scores:
    """Return a score of dense and of sparse rows, each prepared when its first row arrives."""
    ready: dict[bool, Scores] = {}

    def score(x: Block, *more: np.ndarray) -> np.ndarray:
        form = issparse(x)
        if form not in ready:
            ready[form] = sparse() if form else dense()
        return ready[form](x, *more)

    return score


def sparse_scores(
    zero: Float[np.ndarray, "*batch feature"], change: Callable[[Cells], np.ndarray]
) -> Scores:
    """Return x -> the sum over observed columns, shape (row, *batch).

    Args:
        zero: score of a 0 in each column.
        change: cells -> the contributions of stored cells of rows, 0 for missing ones, (row,
            batch).
    """
    flat = zero.reshape(-1, zero.shape[-1])
    whole = flat.sum(axis=1)

    def score(x: Block) -> np.ndarray:
        out = np.empty((x.shape[0], len(flat)))
        for rows, cells in sparse_chunks(x, SCORED_CELLS):
            base = (
                whole if cells.missing_cells is None else observed_sums(flat, cells.missing_cells)
            )
            out[rows] = base + change(cells)
        return out.reshape(-1, *zero.shape[:-1])

    return score


def cell_scores(
    size: int, score: Callable[[np.ndarray, np.ndarray], Float[np.ndarray, "class cell"]]
) -> Scores:
    """Return x -> sum over observed columns of a score of cells, shape (row, class).

    Common values are tabulated, so that a text costs one product of a sparse and a dense matrix.

    Args:
        size: the number of columns.
        score: (values, their columns) -> scores.
    """
    every = np.arange(size)
    zero = score(np.zeros(size), every)
    lines = [(score(np.full(size, value), every) - zero).T for value in COMMON]
    table = np.concatenate([*lines, np.zeros((1, len(zero)))])

    def change(cells: Cells) -> np.ndarray:
        code = np.where(np.isin(cells.data, COMMON), cells.data, 0).astype(np.int64)
        rare = (code == 0) & (cells.data != 0)
        line = np.where(code > 0, (code - 1) * size + cells.indices, len(table) - 1)
        rows = csr_array((np.ones(len(line)), line, cells.indptr), (cells.shape[0], len(table)))
        out = rows @ table
        left = np.flatnonzero(rare)
        for part in row_chunks(len(left), CHUNK_CELLS):
            at = left[part]
            column = cells.indices[at]
            more = score(cells.data[at].astype(float), column) - zero[:, column]
            np.add.at(out, np.searchsorted(cells.indptr, at, side="right") - 1, more.T)
        return out

    return sparse_scores(zero, change)


def linear_scores(
    cell: Statistic, weights: Float[np.ndarray, "*batch statistic feature"]
) -> Scores:
    """Return x -> sum over observed cells of weights times statistics, shape (row, *batch).

    A weight of -inf makes a row impossible whose statistic is above 0.
    """
    zero = np.array([float(value[0]) for value in cell(np.zeros(1))])
    never = np.isneginf(weights)
    score = _linear(cell, zero, np.where(never, 0.0, weights))
    if not never.any():
        return score
    banned = _linear(cell, zero, never.astype(float))

    def log_density(x: Block) -> np.ndarray:
        out = score(x)
        out[banned(x) > 0] = -np.inf
        return out

    return log_density


def _linear(cell: Statistic, zero: np.ndarray, weights: np.ndarray) -> Scores:
    wide = np.moveaxis(weights.reshape(-1, *weights.shape[-2:]), 0, -1)
    cache: dict[tuple, np.ndarray] = {}

    def combined(signs: tuple[tuple[int, float], ...]) -> np.ndarray:
        if signs not in cache:
            cache[signs] = sum(sign * wide[s] for s, sign in signs)
        return cache[signs]

    def change(cells: Cells) -> np.ndarray:
        first = cells.data[:1].astype(float)
        if cells.missing_cells is None and (cells.data == first).all():  # answers are all 1
            sizes = (float((value - zero[s]).sum()) for s, value in enumerate(cell(first)))
            steps = [(np.ones(len(cells.data)), tuple(enumerate(sizes)))]
        else:
            steps = _distinct_steps(cell(cells.data.astype(float)), zero)
        out = np.zeros((cells.shape[0], wide.shape[-1]))
        for step, signs in steps:
            out += csr_array((step, cells.indices, cells.indptr), cells.shape) @ combined(signs)
        return out

    return sparse_scores(np.einsum("s,...sj->...j", zero, weights), change)


def _distinct_steps(
    values: tuple[np.ndarray, ...], zero: np.ndarray
) -> Iterator[tuple[np.ndarray, tuple[tuple[int, float], ...]]]:
    """Yield each distinct change of stored cells, and the statistics that change so, with signs."""
    steps = {s: value - start for s, (value, start) in enumerate(zip(values, zero, strict=True))}
    left = {s: step for s, step in steps.items() if step.any()}
    while left:
        step = next(iter(left.values()))
        signs = tuple(
            (s, sign) for s in left for sign in (1.0, -1.0) if np.array_equal(left[s], sign * step)
        )
        yield step, signs
        left = {s: other for s, other in left.items() if s not in dict(signs)}
