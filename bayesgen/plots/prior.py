"""Plot of the prior predictive of each column beside the observed values."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesgen.plots import probing
from bayesgen.plots.display import Display
from bayesgen.plots.style import INK, Axes, color, pyplot, say_shown
from bayesgen.table import TableColumn

BINS, FIRST = 30, 12
SHOWN = (0.01, 0.99)
"""Quantiles of simulated values between which they are drawn: a wide prior has long tails."""


@dataclasses.dataclass(eq=False)
class PriorDisplay(Display):
    """Histograms of rows simulated from the prior, and of the observed rows, column by column.

    If simulated values are impossible, or far wider or narrower than the observed ones, the prior
    does not reflect prior knowledge: state its guesses, or their strength in rows.

    Attributes:
        prior: what `sample_prior` returns.
        features: names of the columns that are drawn.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_titanic_passengers()
        >>> bg.NaiveBayes().plot_prior(X, y, random_state=0).features
        ['sex', 'age', 'passengerClass']
    """

    prior: Any = dataclasses.field(repr=False)
    features: list

    @classmethod
    def from_prior(
        cls, prior: Any, *, features: list | tuple | None = None, ax: Axes = None
    ) -> "PriorDisplay":
        """Draw the result of `sample_prior`, a panel for each column.

        Args:
            prior: the result.
            features: columns by name or by position; None: the first twelve.
            ax: axes to draw on, one for each column; None makes them.
        """
        pyplot()  # refuse before anything is computed
        table = probing.read(prior.observed[0])
        some = table.names[:FIRST] if features is None else features
        names = [probing.named(table, name).name for name in some]
        display = cls(prior, names).plot(ax=ax)
        if ax is None and features is None:
            say_shown(display.figure_, len(names), len(table.names))
        return display

    def _draw(self, ax: Axes) -> None:
        tables = [probing.read(X) for X in (self.prior.X, self.prior.observed[0])]
        panels = self._panels(ax, len(self.features))
        for axes, name in zip(panels, self.features, strict=True):
            simulated, observed = (probing.named(table, name) for table in tables)
            draw = _levels if observed.kind == "level" else _numbers
            draw(axes, simulated, observed)
            axes.set_xlabel(str(name))
        self._legend(ax, frameon=False, fontsize="small")


def _numbers(ax: Any, simulated: TableColumn, observed: TableColumn) -> None:
    drawn, seen = (_there(column.values) for column in (simulated, observed))
    ends = np.concatenate([np.quantile(drawn, SHOWN), [seen.min(), seen.max()]])
    edges = np.linspace(ends.min(), ends.max(), BINS + 1)
    for values, look in ((drawn, _look("prior", 0)), (seen, _look("observed", 1))):
        weight = np.full(len(values), 1 / len(values))
        ax.hist(values, edges, weights=weight, **look)
    ax.set_ylabel("share of the rows")


def _levels(ax: Any, simulated: TableColumn, observed: TableColumn) -> None:
    names = list(dict.fromkeys([*observed.levels, *simulated.levels]))
    place = np.arange(len(names))
    for column, side, k, label in ((simulated, -0.2, 0, "prior"), (observed, 0.2, 1, "observed")):
        own = column.values[column.values >= 0].astype(int)
        count = np.bincount(own, minlength=len(column.levels)) / max(len(own), 1)
        of = dict(zip(column.levels, count, strict=False))
        share = [of.get(name, 0.0) for name in names]
        ax.bar(place + side, share, 0.38, color=color(k), alpha=0.6, label=label)
    long = max(len(str(name)) for name in names) > 6 or len(names) > 5
    ax.set_xticks(place, [str(name) for name in names], rotation=30 if long else 0)
    ax.set_ylabel("share of the rows")


def _there(values: Float[np.ndarray, " row"]) -> Float[np.ndarray, " _"]:
    return values[~np.isnan(values)]


def _look(label: str, k: int) -> dict[str, Any]:
    return {"color": color(k), "alpha": 0.5, "edgecolor": INK, "linewidth": 0.3, "label": label}
