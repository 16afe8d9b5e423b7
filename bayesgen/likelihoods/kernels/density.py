"""Kernel density likelihood: a normal kernel at each training value, of fixed or learned bandwidth.

The bandwidth is the standard deviation of the kernel.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.errors.arguments import not_one_of
from bayesgen.likelihoods.base import (
    Guess,
    Repair,
    broadcast_guess,
    fill_cell_by_cell,
)
from bayesgen.likelihoods.distinct_rows import Values, distinct_values
from bayesgen.likelihoods.kernels.column_bandwidth import (
    GRID,
    nrd0,
    nrd0_without,
    rule_of_thumb,
    weighed,
)
from bayesgen.likelihoods.kernels.sums import active, log_densities
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights

FAMILY = "KernelDensity"
LEARNED = "posterior"

Bandwidth = str | Guess


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(Conjugate[Values]):
    """x | class ~ the mean of normals centered at the training values of that class and column.

    The bandwidth is their standard deviation, as in R. A value of weight w counts as w values,
    missing cells are ignored, and a class without values in a column uses those of all classes.

    Inference is "exact" because there are no parameters: intervals of class probabilities reflect
    only the class prior, and there is no evidence. With a rule or a number as bandwidth the density
    is a plug-in estimate, whose leave-one-out densities, including `loo()`, equal those of refits.
    With bandwidth="posterior" each class and column has an unknown bandwidth h, with

        h^2 ~ InverseGamma(bandwidth_rows / 2, bandwidth_rows * guess^2 / 2),

    and each row is scored by the kernels of the other rows of its class (the leave-one-out
    likelihood; including a row's own kernel would drive h to 0). The density is averaged over 121
    bandwidths, in steps of 9 % unless a value is far from all others, whose weights are computed in
    time quadratic in the number of distinct values of a class. The single row of a class has no
    other center and uses those of all classes. The prior guess keeps h away from 0 if many values
    are tied (rounded); an isolated value pulls h toward its distance from the others. A row left
    out takes its own factor from the weights; those of the other rows stay.

    Source: John and Langley, UAI 1995; Silverman (1986), section 3.4; Zhang, King and Hyndman,
    Computational Statistics and Data Analysis 50 (2006) 3009-3031.

    Args:
        bandwidth: "nrd0" (R's rule of thumb, class by class and column by column), "posterior", or
            a number > 0 in the unit of the column, one per column or (class, feature).
        bandwidth_rows: prior strength of the bandwidth guess in rows; "posterior" only.
        bandwidth_guess: guess of the bandwidth; "posterior" only. None: "nrd0".

    Raises:
        InvalidArgument: an unknown rule; a bandwidth or a prior strength not above 0.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.NaiveBayes(bg.KernelDensity(bandwidth=0.2)).fit(X, y)
        >>> round(clf.score(X, y), 3)
        0.967
    """

    bandwidth: Bandwidth = "nrd0"
    bandwidth_rows: Guess = 10.0
    bandwidth_guess: Guess = None
    # of each class and column: NaN where it was never observed, or is constant without a guess
    grid: np.ndarray | None = dataclasses.field(default=None, init=False)
    log_weight: np.ndarray | None = dataclasses.field(default=None, init=False)
    value: np.ndarray | None = dataclasses.field(default=None, init=False)
    weight: np.ndarray | None = dataclasses.field(default=None, init=False)
    y: np.ndarray | None = dataclasses.field(default=None, init=False)
    column: np.ndarray | None = dataclasses.field(default=None, init=False)

    keeps_rows: ClassVar[bool] = True
    no_program: ClassVar[str] = "its kernels are the values of the fit"
    distribution_words: ClassVar[str] = "kernel density estimate"
    axes: ClassVar = {
        **dict.fromkeys(("grid", "log_weight"), ("class", "feature", "bandwidth")),
        **Values.axes,
    }
    hyperparameters: ClassVar = {
        **dict.fromkeys(("bandwidth", "bandwidth_guess"), "width"),
        "bandwidth_rows": "positive",
    }
    words: ClassVar = {"bandwidth": ("nrd0", LEARNED)}

    def __post_init__(self) -> None:
        """Validate the rule, and the ranges of bandwidths and prior strength."""
        rules = self.words["bandwidth"]
        if isinstance(self.bandwidth, str) and self.bandwidth not in rules:
            raise not_one_of("bandwidth", self.bandwidth, [*rules, 0.5])
        super().__post_init__()

    @property
    def learned(self) -> bool:
        """Whether the bandwidth is averaged over."""
        return isinstance(self.bandwidth, str) and self.bandwidth == LEARNED

    def settings(self) -> tuple:
        """Return no settings: there is no parameter, so nothing is traced."""
        return ()

    # -- the values, and the weights of bandwidths -------------------------------------------------

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Values:
        """Return the distinct values of each class and column, and their weights."""
        return distinct_values(x, y, weight, n_classes)

    def complete(self, statistics: Values) -> "KernelDensity":
        """Store the values as centers, and their bandwidths: one of each, or a weighed grid."""
        shape = statistics.n_classes, statistics.n_features
        name = "bandwidth_guess" if self.learned else "bandwidth"
        rule, stated = rule_of_thumb(statistics), getattr(self, name)
        by_rule = stated is None or isinstance(stated, str)
        width = rule if by_rule else broadcast_guess(FAMILY, name, stated, shape)
        width = np.where((statistics.count() > 0).any(axis=0), width, np.nan)
        grid, log_weight = width[..., None], np.zeros((*shape, 1))
        if self.learned:
            rows = broadcast_guess(FAMILY, "bandwidth_rows", self.bandwidth_rows, shape)
            grid, log_weight = np.full((2, *shape, GRID), np.nan)
            for k, j in np.argwhere(~np.isnan(width)).tolist():
                values = centers = statistics.group(k, j)
                if values[1].sum() <= 1:  # a single row has no other of its class
                    centers = statistics.pooled(j)
                prior = {"guess": width[k, j], "rows": rows[k, j], "rule": rule[k, j]}
                grid[k, j], log_weight[k, j] = weighed(*values, *centers, **prior)
        return self.with_arrays({"grid": grid, "log_weight": log_weight, **statistics.arrays()})

    def posterior(self, statistics: Values) -> "KernelDensity":
        """Return itself: `complete` has stored the rows, and there are no parameters."""
        return self

    @property
    def rows(self) -> Values:
        """The fitted values."""
        return Values(self.value, self.weight, self.y, self.column, *self.grid.shape[:2])

    def take(self, axis: str, index: np.ndarray) -> "KernelDensity":
        """Return the likelihood of some of the columns, in the order of `index`."""
        grids = {name: getattr(self, name)[:, index] for name in ("grid", "log_weight")}
        return self.with_arrays(grids | self.rows.take(axis, index).arrays())

    def uninformative(self) -> np.ndarray:
        """Return the columns that were never observed, or are constant without a stated guess."""
        return np.isnan(self.grid).any(axis=(0, 2))

    def _places(self) -> list[tuple[int, int]]:
        """Return the classes and columns with a bandwidth."""
        return [(k, j) for k, j in np.argwhere(~np.isnan(self.grid[..., 0])).tolist()]

    def _active(self, k: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the bandwidths of a class and column that matter, and their log weights."""
        part, log_weight = active(self.log_weight[k, j])
        return self.grid[k, j, part], log_weight

    def leave_one_out(
        self, statistics: Values, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint:
        """Return log p(x_i given y = k, the rows without i), (row, class) (see `LeaveOneOut`).

        NaN where a class takes values or spread of all.
        """
        out, seen = np.zeros((len(y), len(self.grid))), ~np.isnan(x)
        rule = isinstance(self.bandwidth, str) and not self.learned
        for k, j in self._places():
            center, weight = self.rows.group(k, j)
            if not len(center) or (rule and not nrd0(center, weight)):
                out[seen[:, j]] = np.nan
                continue
            rows = np.flatnonzero(seen[:, j])
            # equal rows are scored once
            cells = [x[rows, j], np.where(y[rows] == k, away[rows], 0.0)]
            (values, lost), which = np.unique(cells, axis=1, return_inverse=True)
            members = np.flatnonzero(lost)
            own = np.full(len(values), -1)
            own[members] = np.searchsorted(center, values[members])
            bandwidth, log_weight = self._active(k, j)
            width = np.full(len(values), bandwidth[0])
            if rule:
                width[members] = nrd0_without(center, weight, own[members], lost[members])
            grid = bandwidth / bandwidth[0]
            logs = log_densities(values, center, weight, width, grid, own=own, lost=lost)
            log_weight = np.tile(log_weight, (len(values), 1))
            if self.learned:
                log_weight[members] -= lost[members, None] * logs[members]
                log_weight -= log_sum_exp(log_weight)[:, None]
            out[rows, k] += log_sum_exp(logs + log_weight)[which]
        return out

    # -- rows --------------------------------------------------------------------------------------

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of log mean kernels, shape (row, class)."""
        scores = {}
        for k, j in self._places():
            (center, weight), (bandwidth, log_weight) = self.rows.borrowed(k, j), self._active(k, j)
            kernels = {"center": center, "weight": weight, "bandwidth": bandwidth[0]}
            grid = bandwidth / bandwidth[0]
            scores[k, j] = functools.partial(log_densities, **kernels, grid=grid), log_weight

        def log_density(x: Block) -> Joint:
            out = np.zeros((len(x), len(self.grid)))
            for j in range(x.shape[1]):
                seen = np.flatnonzero(~np.isnan(x[:, j]))
                # equal values are scored once
                distinct, which = np.unique(x[seen, j], return_inverse=True)
                for k in range(len(self.grid)):
                    if (k, j) in scores:
                        density, log_weight = scores[k, j]
                        out[seen, k] += log_sum_exp(density(distinct) + log_weight)[which]
            return out

        return log_density

    def log_density_fn(self, params: Params) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of log mean kernels, shape (row, class)."""
        return self.predictive()

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities, equal for all draws: there is no parameter to update."""
        score = self.predictive()
        return lambda x, own: np.broadcast_to(score(x), (*own.shape, len(self.grid)))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return fitted values of each row's class, column by column, plus noise of the kernels."""
        out = np.empty((len(y), self.grid.shape[1]))
        for k, j in np.ndindex(self.grid.shape[:2]):
            at = np.flatnonzero(y == k)
            if len(at):
                center, weight = self.rows.borrowed(k, j)
                picked = rng.choice(center, len(at), p=weight / weight.sum())
                bandwidth, log_weight = self._active(k, j)
                if len(bandwidth) > 1:
                    bandwidth = rng.choice(bandwidth, len(at), p=np.exp(log_weight))
                out[at, j] = picked + bandwidth * rng.standard_normal(len(at))
        return out

    fill_given = fill_cell_by_cell

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the density."""
        return self.fill_given({}, x, own, rng)

    # -- there is no parameter ---------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Draw nothing."""
        return {}

    def mode(self) -> Params:
        """Return no parameter."""
        return {}

    def maximum_likelihood(
        self, statistics: Values, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return no parameter, and no repair."""
        return {}, []

    def log_likelihood(self, params: Params, statistics: Values) -> Traceable:
        """Return 0: there is no parameter."""
        return np.zeros(())

    def story(self, name: str) -> Params:
        """Sample nothing."""
        return {}

    def initial_params(self, statistics: Values) -> Params:
        """Return no parameter."""
        return {}

    def whitening(self, statistics: Values) -> dict[str, tuple[np.ndarray, ...]]:
        """Return no coordinate."""
        return {}
