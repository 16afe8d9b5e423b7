"""Kernel density likelihood: normal kernels at the values of every column by itself."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np

from bayesgen.errors.arguments import not_one_of
from bayesgen.likelihoods.base import (
    LEARN,
    Guess,
    Repair,
    broadcast_guess,
    fill_cell_by_cell,
    is_learned,
)
from bayesgen.likelihoods.distinct_rows import Rows, Values, distinct_values
from bayesgen.likelihoods.kernels.fitted import BASE_ROWS, CENTERS, FittedKernels
from bayesgen.likelihoods.kernels.plug_in import PlugInKernels
from bayesgen.likelihoods.kernels.rule_of_thumb import rule_of_thumb
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights

FAMILY = "KernelDensity"

Bandwidth = str | Guess


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDensity(Conjugate[Values]):
    """x | class ~ normal kernels at the training values of that class, column by column.

    The bandwidth is the standard deviation of a kernel, as in R. A value of weight w counts as w
    values and missing cells are ignored. With a rule or a number as bandwidth the density is the
    mean of the kernels, a plug-in estimate whose leave-one-out densities, including `loo()`, equal
    those of refits; a class without values in a column uses those of all classes.

    With bandwidth="learn" every column has the density of a `KernelDiscriminant` of that column
    alone: kernels, and a Student t that counts for one row, averaged over eight bandwidths from 1
    to .088 standard deviations within classes, with weights by leave-one-out. There each distinct
    value of a class leaves whole and counts once, so that ties (rounded values, copies) do not call
    for a bandwidth of 0. Of more than 2,000 distinct values of a column, 2,000, evenly spaced
    within classes, have kernels.

    Inference is "exact" because there are no parameters: intervals of class probabilities reflect
    only the class prior, and there is no evidence. (For intervals that reflect which rows were
    sampled, state a `KernelDiscriminant` for each column.)

    Source: John and Langley, UAI 1995; Silverman (1986), section 3.4.

    Args:
        bandwidth: "nrd0" (R's rule of thumb, class by class and column by column), "learn", or
            a number > 0 in the unit of the column, one per column or (class, feature).

    Raises:
        InvalidArgument: an unknown rule; a bandwidth not above 0.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.NaiveBayes(bg.KernelDensity(bandwidth=0.2)).fit(X, y)
        >>> round(clf.score(X, y), 3)
        0.967
    """

    bandwidth: Bandwidth = "nrd0"
    columns: tuple[FittedKernels | PlugInKernels, ...] = dataclasses.field(default=(), init=False)

    keeps_rows: ClassVar[bool] = True
    no_program: ClassVar[str] = "its kernels are the values of the fit"
    distribution_words: ClassVar[str] = "kernel density estimate"
    hyperparameters: ClassVar = {"bandwidth": "width"}
    words: ClassVar = {"bandwidth": ("nrd0", LEARN)}

    def __post_init__(self) -> None:
        """Validate the rule, and the range of bandwidths."""
        rules = self.words["bandwidth"]
        if isinstance(self.bandwidth, str) and self.bandwidth not in rules:
            raise not_one_of("bandwidth", self.bandwidth, [*rules, 0.5])
        super().__post_init__()

    @property
    def caveat(self) -> str:
        """Whether some values are not centers."""
        fitted = [column for column in self.columns if isinstance(column, FittedKernels)]
        if all(column.center.all() for column in fitted):
            return ""
        return (
            f"Of more than {CENTERS:,} distinct values of a column, {CENTERS:,}, evenly spaced "
            "within classes, are centers of its kernels."
        )

    @property
    def n_classes(self) -> int:
        """The number of classes, once completed."""
        return self.columns[0].n_classes

    def settings(self) -> tuple:
        """Return no settings: there is no parameter, so nothing is traced."""
        return ()

    # -- the values, and their kernels -------------------------------------------------------------

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Values:
        """Return the distinct values of each class and column, and their weights."""
        return distinct_values(x, y, weight, n_classes)

    def complete(self, statistics: Values) -> "KernelDensity":
        """Place kernels at the values, and learn the bandwidth of each column or look it up."""
        if is_learned(self.bandwidth):
            columns = [_learned(rows) for rows in statistics.by_column()]
            return self.with_arrays({"columns": tuple(columns)})
        shape = statistics.n_classes, statistics.n_features
        by_rule = isinstance(self.bandwidth, str)
        width = (
            rule_of_thumb(statistics)
            if by_rule
            else broadcast_guess(FAMILY, "bandwidth", self.bandwidth, shape)
        )
        width = np.where((statistics.count() > 0).any(axis=0), width, np.nan)
        columns = [
            PlugInKernels.of(statistics, j, width[:, j], by_rule=by_rule) for j in range(shape[1])
        ]
        return self.with_arrays({"columns": tuple(columns)})

    def posterior(self, statistics: Values) -> "KernelDensity":
        """Return itself: `complete` has placed the kernels, and there are no parameters."""
        return self

    def take(self, axis: str, index: np.ndarray) -> "KernelDensity":
        """Return the likelihood of some of the columns, in the order of `index`."""
        return self.with_arrays({"columns": tuple(self.columns[j] for j in index)})

    def uninformative(self) -> np.ndarray:
        """Return the columns that were never observed, or are constant without a bandwidth."""
        return np.concatenate([column.uninformative() for column in self.columns])

    def _informative(self) -> list[int]:
        """Return the columns that have kernels."""
        return np.flatnonzero(~self.uninformative()).tolist()

    def leave_one_out(
        self, statistics: Values, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint:
        """Return log p(x_i given y = k, the rows without i), (row, class) (see `LeaveOneOut`).

        NaN where a class takes values or spread of all.
        """
        out, values = np.zeros((len(y), statistics.n_classes)), [*statistics.by_column()]
        for j in self._informative():
            column, seen = self.columns[j], np.flatnonzero(~np.isnan(x[:, j]))
            # equal values are scored once
            cells = np.stack([x[seen, j], y[seen], away[seen]])
            (value, label, lost), which = np.unique(cells, axis=1, return_inverse=True)
            cell, label = value[:, None], label.astype(int)
            if isinstance(column, FittedKernels):
                score = _guessed(values[j]).leave_one_out(values[j], cell, label, lost)
            else:
                score = column.leave_one_out(cell, label, lost)
            out[seen] += score[which]
        return out

    # -- rows --------------------------------------------------------------------------------------

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of log densities, shape (row, class)."""
        scores = {j: self.columns[j].predictive() for j in self._informative()}

        def log_density(x: Block) -> Joint:
            out = np.zeros((len(x), self.n_classes))
            for j, score in scores.items():
                seen = np.flatnonzero(~np.isnan(x[:, j]))
                # equal values are scored once
                values, which = np.unique(x[seen, j], return_inverse=True)
                out[seen] += score(values[:, None])[which]
            return out

        return log_density

    def log_density_fn(self, params: Params) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of log densities, shape (row, class)."""
        return self.predictive()

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities, equal for all draws: there is no parameter to update."""
        score = self.predictive()
        return lambda x, own: np.broadcast_to(score(x), (*own.shape, self.n_classes))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return rows of the density of each row's class, column by column."""
        return self.fill(np.full((len(y), len(self.columns)), np.nan), y, rng)

    fill_given = fill_cell_by_cell

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from the density."""
        out = x.copy()
        for j in self._informative():
            out[:, [j]] = self.columns[j].fill(x[:, [j]], own, rng)
        return out

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


def _guessed(rows: Rows) -> FittedKernels:
    """Return kernels of one column, at none of its values yet."""
    return FittedKernels.guessed(rows, LEARN, BASE_ROWS, CENTERS)


def _learned(rows: Rows) -> FittedKernels:
    """Return kernels at the values of a column, unless it is constant or was never observed."""
    kernels = _guessed(rows)
    return kernels if kernels.uninformative().any() else kernels.posterior(rows)
