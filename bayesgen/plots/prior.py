"""Plot of the prior predictive of each column beside the observed values."""

import dataclasses
from typing import Any

import numpy as np

from bayesgen.plots.columns import chosen, count_columns, draw_levels, level_shares, observed
from bayesgen.plots.display import Display
from bayesgen.plots.style import INK, Axes, color
from bayesgen.table import TableColumn, read_table

BINS = 30
SHOWN = (0.01, 0.99)
"""Quantiles of simulated values between which they are drawn: a wide prior has long tails."""


@dataclasses.dataclass(eq=False)
class PriorDisplay(Display):
    """Histograms of rows simulated from the prior, and of the observed rows, column by column.

    If simulated values are impossible, or far wider or narrower than the observed ones, the prior
    does not reflect prior knowledge: state its guesses, or their strength in rows.

    Args:
        prior: what `sample_prior` returns.
        features: columns by name or by position; None: the first twelve.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> display = bg.NaiveBayes().plot_prior(X, y, random_state=0)
        >>> [ax.get_xlabel() for ax in display.axes_]
        ['sex', 'age', 'passengerClass']
    """

    prior: Any = dataclasses.field(repr=False)
    features: list | tuple | None = dataclasses.field(default=None, repr=False)

    def _draw(self, ax: Axes) -> None:
        table = read_table(self.prior.observed[0])
        seen = chosen(table, self.features)
        simulated = chosen(read_table(self.prior.X), [column.name for column in seen])
        panels = self._panels(ax, len(seen))
        for axes, drawn, cells in zip(panels, simulated, seen, strict=True):
            draw = _levels if cells.kind == "level" else _numbers
            draw(axes, drawn, cells)
            axes.set(xlabel=str(cells.name), ylabel="share of the rows")
        if ax is None and self.features is None:
            count_columns(self, table)
        self._legend(ax, frameon=False, fontsize="small")


def _numbers(ax: Axes, simulated: TableColumn, seen: TableColumn) -> None:
    groups = {"prior": observed(simulated), "observed": observed(seen)}
    tails, cells = np.quantile(groups["prior"], SHOWN), groups["observed"]
    edges = np.linspace(min(*tails, cells.min()), max(*tails, cells.max()), BINS + 1)
    for k, (label, values) in enumerate(groups.items()):
        look = {"color": color(k), "alpha": 0.5, "edgecolor": INK, "linewidth": 0.3, "label": label}
        ax.hist(values, edges, weights=np.full(len(values), 1 / len(values)), **look)


def _levels(ax: Axes, simulated: TableColumn, seen: TableColumn) -> None:
    levels = list(dict.fromkeys([*seen.levels, *simulated.levels]))
    shares = []
    for column in (simulated, seen):
        position = np.array([levels.index(level) for level in column.levels], int)
        shares.append(level_shares(position[observed(column)], len(levels)))
    draw_levels(ax, levels, ("prior", "observed"), np.stack(shares))
