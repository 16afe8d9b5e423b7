"""Poisson likelihood for counts, with a Gamma prior on the rate per class and column."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from bayesgen.likelihoods.base import Guess
from bayesgen.likelihoods.columnwise import CELLS, Cell, CellSums, Columnwise
from bayesgen.likelihoods.special_functions import log_factorial, log_rising_factorial, namespace
from bayesgen.typing import Params, Traceable


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Poisson(Columnwise):
    r"""x | class ~ Poisson(lambda) for each column, with lambda ~ Gamma(rate * rows, rows).

    Update with total t of n observed rows, per class and column: rows' = rows + n,
    rate' = (rows rate + t) / rows'. The predictive is the negative binomial of rows' rate' failures
    and success probability rows' / (rows' + 1).

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 2.6.

    Args:
        rate: guess of the mean count, > 0, in counts per row; a number, one per column, or
            (class, feature). None: the column's overall mean.
        rows: prior strength of that guess in rows, > 0.

    Raises:
        InvalidArgument: a rate or a prior strength not above 0.

    Example:
        >>> import bayesgen as bg
        >>> import numpy as np
        >>> x, y = np.array([[3.0], [5.0], [0.0]]), np.array([0, 0, 1])
        >>> prior = bg.Poisson(rate=2.0, rows=1)
        >>> statistics = prior.statistics(x, y, np.ones(3), n_classes=2)
        >>> prior.complete(statistics).posterior(statistics).rate
        array([[3.33333333],
               [1.        ]])
    """

    rate: Guess = None
    rows: Guess = 1.0

    kind: ClassVar[str] = "counts"
    sparse: ClassVar[bool] = True
    distribution_words: ClassVar[str] = "Poisson counts"
    axes: ClassVar = {"rate": CELLS, "rows": CELLS}
    supports: ClassVar = {"rate": "positive"}
    program_priors: ClassVar = {"rate": "dist.Gamma(rows * rate, rows)"}
    program_cells: ClassVar[str] = "dist.Poisson(rate[y])"
    hyperparameter_grid: ClassVar = {"rows": (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)}

    def cell(self, x: Cell) -> tuple[Cell, ...]:
        """Return 1, x and log x!."""
        return np.ones_like(x), x, log_factorial(x)

    def guess(self, statistics: CellSums) -> dict[str, Cell]:
        """Return the overall mean count, or half a count over one row more where all are 0."""
        count, total, _ = statistics
        mean = np.where(total > 0, total / count, 0.5 / (count + 1))
        return {"rate": np.where(count > 0, mean, np.nan)}

    def posterior(self, statistics: CellSums) -> "Poisson":
        """Return rows + n and (rows rate + total) / (rows + n)."""
        count, total, _ = statistics
        rows = self.rows + count
        return self.with_arrays({"rate": (self.rows * self.rate + total) / rows, "rows": rows})

    def log_evidence_cells(self, statistics: CellSums) -> Traceable:
        """Return Gamma(shape') / Gamma(shape) rows^shape / rows'^shape' / x!, in logarithms."""
        count, total, log_factorials = statistics
        xp, shape = namespace(self.rows, self.rate), self.rows * self.rate
        rising = log_rising_factorial(shape, total) - shape * xp.log1p(count / self.rows)
        return rising - total * xp.log(self.rows + count) - log_factorials

    def log_predictive_cell(self, x: Cell) -> Cell:
        """Return the log negative binomial."""
        shape = self.rows * self.rate
        terms = log_rising_factorial(shape, x) - log_factorial(x)
        return terms - shape * np.log1p(1 / self.rows) - x * np.log(self.rows + 1)

    def coefficients(self, xp: Any, rate: Traceable) -> tuple[Traceable | float, ...]:
        """Return the weights of 1, x and log x!."""
        return -rate, xp.log(rate), -1.0

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the rates, (draw, class, feature)."""
        gamma = rng.standard_gamma(self.rows * self.rate, (n, *self.rate.shape))
        return {"rate": np.maximum(gamma, np.finfo(float).tiny) / self.rows}

    def updated_draws(self, seed: tuple[int, ...], n: int) -> Callable[[float | None], Params]:
        """Return value -> draws after one cell of that value in each class; None: before.

        Gamma(a + x) is Gamma(a) plus Gamma(x): a third of the time of new draws, as most x are 0.
        """
        gamma = self.rows * self.draw(np.random.default_rng(seed), n)["rate"]

        def draws(value: float | None) -> Params:
            if value is None:
                return {"rate": gamma / self.rows}
            rng = np.random.default_rng((*seed, 1))
            more = rng.standard_gamma(value, gamma.shape) if value else 0.0
            return {"rate": (gamma + more) / (self.rows + 1)}

        return draws

    def estimate(self, statistics: CellSums) -> dict[str, Cell]:
        """Return the mean count."""
        count, total, _ = statistics
        return {"rate": total / count}

    def simulate_cell(self, rng: np.random.Generator, rate: Cell) -> Cell:
        """Return counts."""
        return rng.poisson(rate)
