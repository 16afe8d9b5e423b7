r"""Test of label shift: whether more than the class frequencies differs from the labeled rows.

Under label shift any function t(x) of a row satisfies p_new(t) = sum_k pi_k p_fit(t given y = k),
whether or not a model describes t well. For cells b of t, shares f_b of m new rows and phi_kb of
the labeled rows of class k, the discrepancy is

    X2 = m sum_b e_b^2 / q_b,  e_b = f_b - sum_k pi~_k phi_kb,  q_b = sum_k pi_k phi_kb

with the adjusted prevalence pi~ of `replicates`. Then e is the mean over new rows of a function
that is 0 on average in the labeled rows of each class: prevalence cancels, whose estimate rests on
the same rows (Neyman 1959, in Probability and Statistics, 213-234: residuals orthogonal to what is
estimated). X2 is compared with that of replicates, adjusted likewise: a predictive check (Gelman,
Meng and Stern 1996, Statistica Sinica 6, 733-807) that estimates again. Replicates that keep the
estimate of the rows vary more than these do about what is expected: of pure shifts of prevalence
.02 and less were found at .05. Rows simulated by the model are not a suitable reference: real
tables differ from them for any class frequencies.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from bayesgen.inference import log_class_probabilities
from bayesgen.prevalence.replicates import Replicates, replicated
from bayesgen.prevalence.result import Prevalence
from bayesgen.prevalence.score_edges import are_tied, edges_between
from bayesgen.table import Name, SparseTable, Table, TableColumn
from bayesgen.typing import DataFrame, Joint, Labels, Weights

QUANTILES = 6
"""Cells of a column of numbers: sixths of the labeled rows."""
DENSITY = "(density)"
SEED = 0
"""Of the replicates, which then do not differ between calls."""

Cells = Int[np.ndarray, " _"]


@dataclasses.dataclass(frozen=True, eq=False)
class Labeled:
    """Labeled rows: their table, class codes and weights; (row,) each but the table.

    joint: log p(x, y = k) of each from the others, at the prevalence of the new rows; None where no
    row can be left out. fitted: the same from all rows.
    """

    table: Table
    codes: Labels
    weight: Weights
    joint: Joint | None
    fitted: Joint


def table_of_shift(labeled: Labeled, new: Table, joint: Joint, found: Prevalence) -> DataFrame:
    """Return discrepancies and p-values by column, and of log p(x).

    Args:
        labeled: rows of the fit.
        new: rows without labels; columns that they lack are left out.
        joint: log p(x, y = k) of the new rows, at their prevalence.
        found: their prevalence.
    """
    import pandas as pd

    rng = np.random.default_rng(SEED)
    cells = {name: _cells(own, other) for name, own, other in _common(labeled.table, new)}
    own = None
    if labeled.joint is not None:
        own = _class_probabilities(labeled.joint, found)
        cells[DENSITY] = _densities(labeled.joint, joint, labeled.fitted)
    parts = labeled.codes, labeled.weight, own, _class_probabilities(joint, found), found.draws
    others = replicated(*parts, rng)
    lines = [_compared(*_occurring(*pair), labeled, others, rng) for pair in cells.values()]
    index = pd.Index(list(cells), name="column")
    return pd.DataFrame(lines, index=index, columns=["discrepancy", "p_value"])


def _class_probabilities(joint: Joint, found: Prevalence) -> Joint:
    with np.errstate(divide="ignore"):
        return np.exp(log_class_probabilities(joint, np.log(found.draws.mean(axis=0))))


def _common(own: Table, new: Table) -> list[tuple[Name, TableColumn, TableColumn]]:
    """Return the columns that both tables have; none of sparse tables, which may have thousands."""
    if isinstance(own, SparseTable) or isinstance(new, SparseTable):
        return []
    there = {column.name: column for column in new.columns}
    return [(c.name, c, there[c.name]) for c in own.columns if c.name in there]


def _compared(
    own: Cells, new: Cells, labeled: Labeled, others: Replicates, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the discrepancy of cells, relative to that of replicates, and its p-value."""
    n_cells, n_rows = int(max(own.max(), new.max())) + 1, len(new)
    phi = np.full((len(others.prevalence), n_cells), 1 / n_cells)
    np.add.at(phi, (labeled.codes, own), labeled.weight)
    phi /= phi.sum(axis=1, keepdims=True)

    counts = others.rows @ np.eye(n_cells)[own]
    counts += rng.multinomial(others.unseen.sum(axis=1), np.full(n_cells, 1 / n_cells))
    counts = np.concatenate([np.bincount(new, minlength=n_cells)[None], counts])
    expected = n_rows * np.concatenate([others.here[None], others.there]) @ phi
    scale = n_rows * others.prevalence @ phi
    here, *there = ((counts - expected) ** 2 / scale).sum(axis=1).tolist()
    p_value = (1 + sum(other >= here for other in there)) / (1 + len(there))
    return here / max(float(np.mean(there)), np.finfo(float).tiny), p_value


def _occurring(own: Cells, new: Cells) -> tuple[Cells, Cells]:
    """Return cells without those in which no row lies, where an unseen row would look strange."""
    _, places = np.unique(np.concatenate([own, new]), return_inverse=True)
    return places[: len(own)], places[len(own) :]


def _cells(own: TableColumn, new: TableColumn) -> tuple[Cells, Cells]:
    """Return the cells of labeled and of new rows; missing cells are one of their own."""
    if own.kind == "number" and new.kind == "number":
        return _numbers(own.values, new.values)
    own, new = _as_levels(own), _as_levels(new)
    names = {str(level): None for column in (own, new) for level in column.levels}
    place = {name: i for i, name in enumerate(names, start=1)}
    return _levels(own, place), _levels(new, place)


def _as_levels(column: TableColumn) -> TableColumn:
    """Return a column of numbers, which was one of levels in the other table, as levels."""
    if column.kind != "number":
        return column
    found, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    names = tuple(f"{value:g}" for value in found[~np.isnan(found)])
    codes = np.where(np.isnan(column.values), -1, codes)
    return dataclasses.replace(column, kind="level", values=codes, levels=names)


def _levels(column: TableColumn, place: dict[str, int]) -> Cells:
    """Return the places of the levels of a column, 0 where it is missing."""
    codes = np.array([0, *(place[str(level)] for level in column.levels)])
    return codes[column.values.astype(int) + 1]


def _numbers(own: Float[np.ndarray, " row"], new: Float[np.ndarray, " new"]) -> tuple[Cells, Cells]:
    """Return the cells between quantiles of the labeled rows, 0 where a number is missing."""
    observed = own[~np.isnan(own)]
    shares = np.arange(1, QUANTILES) / QUANTILES
    # between values, not at them: equal values then share a cell
    edges = np.unique(np.quantile(observed, shares, method="lower")) if len(observed) else observed
    first, second = (
        np.where(np.isnan(x), 0, 1 + np.searchsorted(edges, x, side="left")) for x in (own, new)
    )
    return first, second


def _densities(labeled: Joint, new: Joint, fitted: Joint) -> tuple[Cells, Cells]:
    """Return the cells of log p(x) of labeled rows and of new rows.

    Labeled rows are scored from the others, except that tied ones are scored from all, as the new
    rows that are tied with them are: the others of a group stand for the row anyway.
    """
    own, other, whole = (np.logaddexp.reduce(logs, axis=1) for logs in (labeled, new, fitted))
    own = np.where(are_tied(whole), whole, own)
    edges = edges_between(own, QUANTILES)
    return np.searchsorted(edges, own), np.searchsorted(edges, other)
