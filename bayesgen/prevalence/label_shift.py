r"""Check of label shift: does anything but the class frequencies differ from the labeled rows?

Under label shift any function t(x) of a row satisfies p_new(t) = sum_k pi_k p_fit(t given y = k),
whether or not a model describes t well. For counts N_b of m new rows by cells b of t and counts
n_kb of labeled rows, the discrepancy

    X2 = sum_b (N_b - m q_b)^2 / (m q_b),  q = E sum_k pi_k phi_k,  phi_k ~ Dirichlet(1 / B + n_kb)

is compared with replicates N ~ Multinomial(m, sum_k pi_k phi_k), phi and pi drawn from their
posteriors: a posterior predictive check (Gelman, Meng and Stern 1996, Statistica Sinica 6,
733-807). Rows simulated by the model are no yardstick: real tables differ from these whatever their
class frequencies are.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int

from bayesgen.prevalence.result import Prevalence
from bayesgen.table import Name, SparseTable, Table, TableColumn
from bayesgen.typing import DataFrame, Joint, Labels, Weights

QUANTILES = 6
"""Cells of a column of numbers: sixths of the labeled rows."""
DENSITY = "(density)"
REPLICATES = 10_000
"""At least: a p-value times 30 columns is then below .05 if 15 replicates exceed the discrepancy,
and not only if none of 1,000 does."""
SEED = 0
"""Of the replicates, which then do not differ between calls."""

Cells = Int[np.ndarray, " _"]


@dataclasses.dataclass(frozen=True, eq=False)
class Labeled:
    """Labeled rows: their table, class codes and weights; (row,) each but the table.

    joint: log p(x, y = k) of each from the others, at the prevalence of the new rows; None where no
    row can be left out.
    """

    table: Table
    codes: Labels
    weight: Weights
    joint: Joint | None


def table_of_shift(
    labeled: Labeled, new: Table, log_density: Float[np.ndarray, " new"], found: Prevalence
) -> DataFrame:
    """Return discrepancies and p-values by column, and of log p(x).

    Args:
        labeled: rows of the fit.
        new: rows without labels; columns that they lack are left out.
        log_density: log p(x) of the new rows, at their prevalence.
        found: their prevalence.
    """
    import pandas as pd

    rng, lines = np.random.default_rng(SEED), {}
    for name, own, other in _common(labeled.table, new):
        lines[name] = _compared(*_cells(own, other), labeled, found, rng)
    if labeled.joint is not None:
        own = np.logaddexp.reduce(labeled.joint, axis=1)
        lines[DENSITY] = _compared(*_numbers(own, log_density), labeled, found, rng)
    index = pd.Index(list(lines), name="column")
    return pd.DataFrame(list(lines.values()), index=index, columns=["discrepancy", "p_value"])


def _common(own: Table, new: Table) -> list[tuple[Name, TableColumn, TableColumn]]:
    """Return the columns that both tables have; none of sparse tables, which may have thousands."""
    if isinstance(own, SparseTable) or isinstance(new, SparseTable):
        return []
    there = {column.name: column for column in new.columns}
    return [(c.name, c, there[c.name]) for c in own.columns if c.name in there]


def _compared(
    own: Cells, new: Cells, labeled: Labeled, found: Prevalence, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the discrepancy of cells, relative to that of replicates, and its p-value."""
    n_cells, n_rows = int(max(own.max(), new.max())) + 1, len(new)
    seen = np.full((len(found.classes), n_cells), 1 / n_cells)
    np.add.at(seen, (labeled.codes, own), labeled.weight)
    phi = np.stack([rng.dirichlet(row, len(found.draws)) for row in seen], axis=1)
    each = (found.draws[:, None] @ phi)[:, 0]
    expected = n_rows * each.mean(axis=0)

    many = np.tile(each, (-(-REPLICATES // len(each)), 1))
    replicates = rng.multinomial(n_rows, many / many.sum(axis=1, keepdims=True))
    counts = np.concatenate([np.bincount(new, minlength=n_cells)[None], replicates])
    here, *others = ((counts - expected) ** 2 / expected).sum(axis=1).tolist()
    p_value = (1 + sum(other >= here for other in others)) / (1 + len(others))
    return here / max(float(np.mean(others)), np.finfo(float).tiny), p_value


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
