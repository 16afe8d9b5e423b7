r"""Copies: which rows leave together when one of them is left out.

A row that is in a table twice, or has weight 2, is predicted from its copy where only one of the
two is left out. Where equal rows are expected by chance, as in a table of few levels, they are
different rows, and a new row will find equals too: one of them leaves. Where an equal is
improbable, as in a table of measurements, it is a copy, and all copies leave together.

A content is what rows with the same cells and the same label share; W is the sum of their weights.
Leaving one row out takes from its content the weight

    min(W, 1) + max(min(O, R), O R / (E + R)),  O = max(W - 1, 0),

with O the weight of its equals, E how much of it is expected by chance, and R the weight of the
copies of a row beside itself.

Chance: rows equal a content in column j about as often as they do among rows that differ elsewhere.
Of the rows of a class let m_j be the weight of those that differ from the content in column j
alone, and p_j the share of its value there among other contents (by their weights or their number,
whichever is larger). Then

    E = max over j of m_j p_j / (1 - p_j),

which needs no independence of columns: where they depend on each other, rows that nearly equal a
content are as frequent as rows that equal it. To p_j a row of each value is added, times the share
of repeated values of the column: nothing to a column of measurements, of which no two are equal. A
class whose rows differ in one column alone has no others to go by: there levels are equal by
chance, and numbers as often as their neighbors, in steps of the tenth percentile of the gaps
between values.

Copies: R is learned within each class. It is the larger of two numbers, the mean excess where
chance explains little, shrunken to 0,

    sum_c v_c (O_c - E_c) / (PRIOR_CONTENTS + sum_c v_c),  v_c = 1 / (1 + E_c^3),

and the smallest O of all contents, m, where chance hardly leaves every content so many equals:

    m max(0, 1 - prod_c P(N_c >= m) / SELDOM),  N_c ~ Poisson(E_c).

So the weight that leaves is continuous in the weights of rows. It is 1 in a table without equals
and in one of frequencies, W where measurements are repeated, and about R + 1 for a frequent content
of a table all of whose rows have weight R + 1. `Copies.counting` says how many rows they are.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int, UInt64
from scipy.special import gammainc

from bayesgen.membership import codes_of
from bayesgen.table.columns import Table
from bayesgen.table.content import GAMMA, cell_keys, row_keys
from bayesgen.typing import Labels, Membership, Weights

PRIOR_CONTENTS, SELDOM = 3.0, 1e-3
"""How many contents without copies are added to those of a class; the probability from which the
weights of all contents are no matter of chance. Of 40 simulated tables of 14 to 200 rows and two to
eight columns of levels, all rows different, .00 to .23 of the equals were taken for copies (the
most with 14 rows and two columns), with every row doubled .88 to 1.00. In titanic_passengers (434
contents of 1,309 rows) 0, and 1.02 or 9.1 of 1 or 9 copies in housevotes84 at weights 2 and 10."""
FEW_NUMBERS, NEIGHBORS = 10, 5
"""Distinct numbers of a single column below which they count as levels; steps on either side
of a number in which its neighbors are counted."""
TINY = np.finfo(float).tiny


@dataclasses.dataclass(frozen=True, eq=False)
class Copies:
    """Which rows are equal, and the weight that leaves a table with each of them.

    content: number of the content of each row. first: of each content, the row that stands for it,
    of largest weight. total: weight of each content. leaving: the part of it that leaves with a
    row.
    """

    content: Int[np.ndarray, " row"]
    first: Int[np.ndarray, " content"]
    total: Float[np.ndarray, " content"]
    leaving: Float[np.ndarray, " content"]

    @property
    def away(self) -> Weights:
        """The weight that leaves with each row, that of its copies included."""
        return self.leaving[self.content]

    @property
    def together(self) -> Bool[np.ndarray, " content"]:
        """Of which contents several rows leave together, rather than one of several."""
        return (self.total > 1) & (2 * self.leaving > self.total)

    def standing(
        self, weight: Weights
    ) -> tuple[Int[np.ndarray, " standing"], Float[np.ndarray, " standing"]]:
        """Return the rows that stand for those that leave with them, ascending, and their weights.

        weight: of all rows. Weights are those of independent rows (see `counting`).
        """
        stands = ~self.together[self.content]
        stands[self.first] = True
        rows = np.flatnonzero(stands)
        content = self.content[rows]
        whole = np.where(self.together[content], self.total[content], weight[rows])
        return rows, self.counting * whole

    @property
    def counting(self) -> float:
        """How many independent rows one unit of weight counts for, 1 where no row has copies.

        Kish's effective number of rows over the weight of all, where rows that leave together are
        one row of their weight. Source: Kish (1965), Survey Sampling, section 11.7.
        """
        whole = self.total.sum()
        return float(whole / (self.total @ np.maximum(self.leaving, 1.0))) if whole else 1.0


def copies_of(tables: Sequence[Table], y: Membership, weight: Weights) -> Copies:
    """Return which rows of tables are copies of each other.

    Args:
        tables: of each call, with the same columns.
        y: class codes, or shares of the classes, of the rows of all calls.
        weight: of these rows.

    Examples:
        >>> from bayesgen.table import read_table
        >>> X = np.array([[0.31, 5.2], [0.44, 1.7], [0.31, 5.2], [0.96, 3.3]])
        >>> copies_of([read_table(X)], np.array([0, 0, 0, 1]), np.ones(4)).away.tolist()
        [2.0, 1.0, 2.0, 1.0]
    """
    identity = np.concatenate([row_keys(table)[1] for table in tables])
    if not (tables[0].is_sparse or len(tables[0].columns)):  # a program reads arrays, not columns
        identity = np.arange(len(identity), dtype=np.uint64)
    label = y if y.ndim == 1 else np.unique(y, axis=0, return_inverse=True)[1].ravel()
    order = np.lexsort((-weight, label, identity))
    new = np.diff(identity[order], prepend=~identity[order[:1]]) != 0
    new |= np.diff(label[order], prepend=-1) != 0
    content, first = np.empty(len(order), dtype=int), order[new]
    content[order] = np.cumsum(new) - 1
    total = np.bincount(content, weight, minlength=len(first))
    leaving, several = np.minimum(total, 1.0), total > 1
    if several.any() and not tables[0].is_sparse:
        code = codes_of(y)[first]
        chance = _expected_equals(tables, first, label[first], total)
        for k in np.unique(code[several]).tolist():
            own = code == k
            leaving[own] += _copied(total[own], chance[own])
    return Copies(content, first, total, np.minimum(leaving, total))


def _copied(total: Float[np.ndarray, " content"], chance: Float[np.ndarray, " content"]) -> Weights:
    """Return the weight of the copies of a row of each content of a class, beside the row itself.

    chance: E of each; infinite where equal rows say nothing of copies.
    """
    known, out = np.isfinite(chance), np.zeros(len(total))
    if not known.any():
        return out
    others, chance = np.maximum(total - 1, 0.0)[known], chance[known]
    trust = 1 / (1 + chance**3)
    mean = trust @ (others - chance) / (PRIOR_CONTENTS + trust.sum())
    fewest = float(others.min())
    by_chance = gammainc(max(fewest, TINY), np.maximum(chance, TINY)).prod()
    copies = max(mean, fewest * max(1 - by_chance / SELDOM, 0.0), 0.0)
    # an equal that nothing explains is a copy
    share = np.divide(copies, chance + copies, out=np.ones(len(others)), where=chance + copies > 0)
    out[known] = np.maximum(np.minimum(others, copies), others * share)
    return out


def _expected_equals(
    tables: Sequence[Table], first: Int[np.ndarray, " content"], label: Labels, total: Weights
) -> Float[np.ndarray, " content"]:
    """Return E of each content; infinite where equal rows say nothing of copies."""
    cells = np.concatenate([cell_keys(table) for table in tables])[first]
    order = np.argsort(label, kind="stable")
    start = np.flatnonzero(np.diff(label[order], prepend=-1))
    number = np.empty(len(label), dtype=int)
    number[order] = np.repeat(np.arange(len(start)), np.diff([*start, len(label)]))
    other = cells != cells[order[start]][number]
    varies = np.logical_or.reduceat(other[order], start, axis=0)
    several = cells[:, (cells != cells[:1]).any(axis=0)]
    chance = _of_several_columns(several, label, total)
    of_all = several.shape[1] > 1
    for k, n_varying in enumerate(varies.sum(axis=1).tolist()):
        own = np.flatnonzero(number == k)
        if n_varying == 0 and of_all:  # a single content has none beside it in its class
            every = _of_several_columns(several, np.zeros_like(label), total)
            chance[own] = every[own]
        elif n_varying < 2:
            column = np.flatnonzero(varies[k])
            chance[own] = _of_one_column(tables, column, first[own], total[own])
    # of rows without a cell that differs between rows nothing could have been copied
    chance[~several.any(axis=1)] = np.inf
    return chance


def _of_several_columns(
    cells: UInt64[np.ndarray, "content column"], label: Labels, total: Weights
) -> Float[np.ndarray, " content"]:
    """Return E of each content by contents that differ in one column alone."""
    # keys of contents are sums over their cells
    keys = cells.sum(axis=1, dtype=np.uint64) + GAMMA * label.astype(np.uint64)
    chance, masses = np.zeros(len(label)), (total, np.ones(len(label)))
    of_class = [_weight_of(label, mass) - mass for mass in masses]
    for cell in cells.T:
        near = _weight_of(keys - cell, total) - total
        at = np.flatnonzero(near > 0)
        if not len(at):
            continue
        value, n_values = np.unique(cell, return_inverse=True)[1], len(np.unique(cell))
        value = value * (int(label.max()) + 1) + label
        added = 1 - (n_values - 1) / (len(label) - 1)
        for mass, every in zip(masses, of_class, strict=True):
            own = np.maximum(_weight_of(value, mass)[at] - mass[at], 0.0)
            rest = np.maximum(every[at] - own, 0.0) + max(added * (n_values - 1), TINY)
            chance[at] = np.maximum(chance[at], near[at] * (own + added) / rest)
    return chance


def _weight_of(
    key: Int[np.ndarray, " content"] | UInt64[np.ndarray, " content"], weight: Weights
) -> Weights:
    """Return the weight of all contents that have the key of each."""
    which = np.unique(key, return_inverse=True)[1]
    return np.bincount(which, weight)[which]


def _of_one_column(
    tables: Sequence[Table],
    column: Int[np.ndarray, " varying"],
    first: Int[np.ndarray, " content"],
    total: Weights,
) -> Float[np.ndarray, " content"]:
    """Return E of each content of a class whose rows differ in one column at most.

    column: its position, if there is one. first: a row of each content.
    """
    out = np.full(len(first), np.inf)
    columns = [table.columns[j] for table in tables for j in column.tolist()]
    if not columns or columns[0].kind == "level":
        return out
    value = np.concatenate([column.values for column in columns])[first]
    own = np.flatnonzero(~np.isnan(value))
    own = own[np.argsort(value[own], kind="stable")]
    x, weight = value[own], np.concatenate([[0.0], np.cumsum(total[own])])
    if len(x) < FEW_NUMBERS:
        return out
    reach = NEIGHBORS * np.quantile(np.diff(x), 0.1) * (1 + 1e-9)
    low, high = np.searchsorted(x, x - reach), np.searchsorted(x, x + reach, "right")
    out[own] = (weight[high] - weight[low] - total[own]) / (2 * NEIGHBORS)
    return out
