"""Tree likelihood for numeric columns: statistics, prior, update and average over forests.

A pair has mean given Sigma ~ N(mean, Sigma / mean_rows) and Sigma ~ inverse-Wishart(1 + rows,
rows diag(variance)), which implies the prior of `Normal` for either column. With n rows that show
both, mean_rows and rows grow by n and the matrix rows diag(variance) becomes psi.

Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6; the conditional of a column
given the other follows by completing squares: t with rows + 1 degrees of freedom.
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from bayesgen.likelihoods.base import Guess, Repair, broadcast_guess, require_positive, row_chunks
from bayesgen.likelihoods.multivariate_normal import MultivariateNormal
from bayesgen.likelihoods.multivariate_normal import statistics as whole
from bayesgen.likelihoods.normal_densities import log_student_t
from bayesgen.likelihoods.normal_statistics import NormalStatistics, merge_moments, unmerge_moments
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.likelihoods.trees import regressions
from bayesgen.likelihoods.trees.base import PairStatistics, Tree
from bayesgen.likelihoods.trees.regressions import Pairs
from bayesgen.typing import Block, Labels, Numbers, Params, Traceable, Weights

FAMILY = "TreeNormal"
SEEN = ("count", "centre", "square", "cross")
CHUNK_ROWS = 8192
"""Rows a chunk, as for the multivariate normal."""

Moments = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True, eq=False)
class PairMoments(PairStatistics):
    """Weighted moments of each pair of columns, over the rows that show both.

    All arrays are (class, feature, feature). count[i, j]: weight of the rows that show i and j.
    centre[i, j]: mean of column j over these rows, in its unit. square[i, j]: sum of squares of
    column j around that. cross[i, j]: sum of products of the two. The diagonal has the moments of
    a column's own cells.
    """

    count: np.ndarray
    centre: np.ndarray
    square: np.ndarray
    cross: np.ndarray
    axes: ClassVar = dict.fromkeys(SEEN, ("class", "feature", "feature"))

    def __add__(self, other: "PairMoments") -> "PairMoments":
        """Return the moments of the rows of both (Chan, Golub and LeVeque 1979)."""
        return PairMoments(*_merged(tuple(self.arrays().values()), tuple(other.arrays().values())))

    def __sub__(self, other: "PairMoments") -> "PairMoments":
        """Return the moments without the rows of the other: the merge, solved for one part."""
        mine, theirs = tuple(self.arrays().values()), tuple(other.arrays().values())
        count, centre, square = unmerge_moments(mine[:3], theirs[:3])
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count > 0)
        delta = self.centre - other.centre
        between = self.count * share * delta * np.swapaxes(delta, -1, -2)
        cross = np.where(count > 0, self.cross - other.cross - between, 0.0)
        return PairMoments(count, centre, square, cross)

    def columns(self) -> NormalStatistics:
        """Return the statistics of each column separately, using every observed cell."""
        arrays = (self.count, self.centre, self.square)
        return NormalStatistics(*(np.diagonal(a, axis1=-2, axis2=-1).copy() for a in arrays))

    def gaps(self) -> Bool[np.ndarray, "*batch class"]:
        """Return the classes in which some pair of columns has fewer rows than either column."""
        most = self.count.max(axis=(-2, -1), initial=0.0)[..., None, None]
        return (self.count < most * (1 - 1e-9)).any(axis=(-2, -1))


def _merged(a: Moments, b: Moments) -> Moments:
    """Return the moments of two sets of rows taken together."""
    count, centre, square = merge_moments(a[:3], b[:3])
    share = np.divide(b[0], count, out=np.zeros_like(count), where=count > 0)
    delta = b[1] - a[1]
    return count, centre, square, a[3] + b[3] + a[0] * share * delta * np.swapaxes(delta, -1, -2)


def _moments(x: Numbers, weight: Weights) -> Moments:
    seen = ~np.isnan(x)
    first = seen.argmax(axis=0)
    # equal cells have squares of 0 exactly: center on the first before averaging
    shift = np.where(seen.any(axis=0), np.nan_to_num(x[first, np.arange(x.shape[1])]), 0.0)
    z = np.where(seen, x - shift, 0.0)
    heavy = seen * weight[:, None]
    mean = (heavy * z).sum(axis=0) / np.maximum(heavy.sum(axis=0), np.finfo(float).tiny)
    z = np.where(seen, z - mean, 0.0)
    count = heavy.T @ seen
    off = np.divide(heavy.T @ z, count, out=np.zeros_like(count), where=count > 0)
    square = np.maximum(heavy.T @ z**2 - count * off**2, 0.0)
    cross = (heavy * z).T @ z - count * off * off.T
    return count, np.where(count > 0, shift + mean + off, 0.0), square, cross


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class TreeNormal(Tree[PairMoments]):
    r"""Given the class, each column of numbers depends linearly on at most one other column.

    A forest has an edge for each such dependence; predictions average over all forests, exactly.
    The model lies between naive Bayes (`Normal`: no edge) and a full covariance
    (`MultivariateNormal`), with q - 1 correlations at most instead of q (q - 1) / 2.

    Prior: a forest F with probability in proportion to odds^edges, counted once for every choice of
    a root in each of its trees; given F, a column has the prior of `Normal` with these arguments, a
    pair that is an edge the normal-inverse-Wishart that implies it: mean given
    Sigma ~ N(mean, Sigma / mean_rows), Sigma ~ inverse-Wishart(1 + variance_rows,
    variance_rows diag(variance)). Update: that of `MultivariateNormal`, for every pair.
    p(x) = prod_v p(x_v) Z(W R(x)) / Z(W), where W_uv = odds p(rows of u, v) / p(of u) p(of v),
    R_uv = p(x_u, x_v) / p(x_u) p(x_v) and Z is the sum over all forests, a determinant
    (`bayesgen.likelihoods.trees.forest_sums`).

    Missing values: at fit a column uses all its observed cells and a pair the rows that show both;
    a child then follows its parent by the regression on these rows (the predictive still integrates
    to one). At predict a row is scored by the forests over its observed columns. That is the model
    of these columns alone, not the integral over the missing cells of all columns' model, which
    has no closed form: where a missing column has several neighbors in a forest, its integral makes
    them depend on each other. `report_` states this, and a stack predicts such a row without trees.

    Exact for complete rows. Source: Meila and Jaakkola (2006), Tractable Bayesian learning of tree
    belief networks; Dawid and Lauritzen (1993), Hyper Markov laws.

    Args:
        mean: guess of the mean in the column's unit; a number, one per column, or (class, feature).
            None: the column's overall mean.
        mean_rows: prior strength of that guess in rows, > 0; a number or one per class.
        variance: guess of the variance within a class, in squared units, > 0; shaped like mean.
            None: the variance within classes of the column.
        variance_rows: prior strength of that guess in rows, > 0; a number or one per class. Over
            the columns of numbers of 13 tables the mean log loss of 8 was .709 with 24 rows (2:
            .727, 4: .712, 16: .724). Columns as collinear as the crabs' want 1.
        odds: prior odds of an edge, > 0; a number or one per class. None: 1 / (number of columns).

    Raises:
        InvalidPrior: a prior strength, a variance or odds are not positive and finite.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0]]), np.zeros(3, dtype=int)
        >>> tree = TreeNormal(mean=1.0, variance=1.0, variance_rows=1.0)
        >>> statistics = tree.statistics(x, y, np.ones(3), n_classes=1)
        >>> after = tree.complete(statistics).posterior(statistics)
        >>> after.edges()[0, 0, 1].round(3), after.log_predictive(x[:1]).round(3)
        (np.float64(0.773), array([[-2.442]]))
    """

    mean: Guess = None
    mean_rows: Guess = 1.0
    variance: Guess = None
    variance_rows: Guess = 8.0
    odds: Guess = None
    count: Guess = None
    """Moments of the rows seen so far, by pair: what `posterior` adds to."""
    centre: Guess = None
    square: Guess = None
    cross: Guess = None

    caveat: ClassVar[str] = (
        "TreeNormal is exact for complete rows. A fitted row with missing values counts in the "
        "pairs of columns that it shows; another is answered by the forests over the columns that "
        "it shows, which is not the integral over its missing values."
    )
    kind: ClassVar[str] = "numbers"
    joint: ClassVar[bool] = True
    vectorised: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    location_params: ClassVar = ("mean", "centre")
    axes: ClassVar = {
        "mean": ("class", "feature"),
        "mean_rows": ("class",),
        "variance": ("class", "feature"),
        "variance_rows": ("class",),
        "odds": ("class",),
        **{name: ("class", "feature", "feature") for name in SEEN},
    }
    param_axes: ClassVar = {
        "mean": ("class", "feature"),
        "cholesky": ("class", "feature", "feature"),
    }

    def __post_init__(self) -> None:
        """Reject prior strengths, variances and odds that are not positive."""
        require_positive(self, "mean_rows", "variance", "variance_rows", "odds")

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> PairMoments:
        """Return the moments of every pair of columns by class; NaN is missing."""
        totals = [np.zeros((n_classes, x.shape[1], x.shape[1])) for _ in SEEN]
        for rows in row_chunks(len(y), CHUNK_ROWS):
            labels = np.where(weight[rows] > 0, y[rows], -1)
            for k in np.unique(labels[labels >= 0]):
                mine = np.flatnonzero(labels == k) + rows.start
                both = _merged(tuple(t[k] for t in totals), _moments(x[mine], weight[mine]))
                for total, part in zip(totals, both, strict=True):
                    total[k] = part
        return PairMoments(*totals)

    def complete(self, statistics: PairMoments) -> "TreeNormal":
        """Fill in guesses of None from the pooled columns and broadcast every array."""
        shape = statistics.count.shape[:-1]
        mean, variance = (a[..., None, :] for a in statistics.columns().pooled())
        given = {
            "mean": (mean if self.mean is None else self.mean, shape),
            "mean_rows": (self.mean_rows, shape[:-1]),
            "variance": (variance if self.variance is None else self.variance, shape),
            "variance_rows": (self.variance_rows, shape[:-1]),
            "odds": (1.0 / shape[-1] if self.odds is None else self.odds, shape[:-1]),
        }
        filled = {n: broadcast_guess(FAMILY, n, value, size) for n, (value, size) in given.items()}
        return self.with_arrays(filled | {n: np.zeros_like(statistics.count) for n in SEEN})

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(self.variance).any(axis=-2)

    def seen(self) -> PairMoments:
        """Return the moments of the rows seen so far."""
        return PairMoments(*(getattr(self, name) for name in SEEN))

    def updated(self, seen: PairMoments) -> Pairs:
        """Return the hyperparameters of all pairs after rows."""
        mean_rows, rows = self.mean_rows[..., None, None], self.variance_rows[..., None]
        mean, total = self.mean[..., None, :], mean_rows + seen.count
        delta, share = seen.centre - mean, seen.count / total
        between = mean_rows * share * delta
        return Pairs(
            total,
            rows[..., None] + seen.count,
            mean + share * delta,
            (rows * self.variance)[..., None, :] + seen.square + between * delta,
            seen.cross + between * np.swapaxes(delta, -1, -2),
        )

    def _before_and_after(self) -> tuple[Pairs, Pairs]:
        """Return the hyperparameters before and after the rows seen so far."""
        seen = self.seen()
        nothing = seen.with_arrays({n: np.zeros_like(v) for n, v in seen.arrays().items()})
        return self.updated(nothing), self.updated(seen)

    # -- the average over forests --------------------------------------------------------------

    def observed(self, x: Block) -> np.ndarray:
        """Return which cells hold a number of a column that has a unit."""
        return ~np.isnan(x) & ~self.uninformative()

    def n_columns(self) -> int:
        """Return the number of columns with a unit."""
        return int((~self.uninformative()).sum())

    def mutual(self) -> bool:
        """Return whether the rows of every pair are those of its columns: nothing was missing."""
        return not self.gaps()

    def log_columns(self) -> np.ndarray:
        """Return the log evidence of single columns, summed."""
        before, after = self._before_and_after()
        (kappa, nu, _, old), (k, n, _, new) = before.single(), after.single()
        logs = 0.5 * np.log(kappa / k) - 0.5 * (n - nu) * np.log(np.pi)
        logs += log_rising_factorial(nu / 2, (n - nu) / 2)
        return (logs + nu / 2 * np.log(old) - n / 2 * np.log(new)).sum(axis=-1)

    def log_ratios(self) -> np.ndarray:
        """Return log evidence of each pair minus that of its columns, in rows that show both.

        With r rows, psi_i, psi_j and the share s of the variance of one that remains given the
        other: g(r) - (log psi_i + log psi_j) / 2 - (r + 1) / 2 log s, after minus before, where
        g(r) = log Gamma((r + 1) / 2) - log Gamma(r / 2).
        """
        before, after = self._before_and_after()
        size, half = np.log(after.psi) - np.log(before.psi), np.array(0.5)
        power = log_rising_factorial(after.rows / 2, half)
        power = power - log_rising_factorial(before.rows / 2, half)
        leaves = (after.rows + 1) * np.log(after.left())
        leaves = leaves - (before.rows + 1) * np.log(before.left())
        found = power - 0.5 * (size + np.swapaxes(size, -1, -2) + leaves)
        # alike both ways to the last bit: next to 1e9 rows a bit in `left` would choose a direction
        return 0.5 * (found + np.swapaxes(found, -1, -2))

    def log_pieces(
        self, x: Block, *, each: bool, half: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return log t densities of cells, and of cells given others relative to these.

        half: only where u < v at [v, u]; the others are 0.
        """
        x, after = x[:, None], self._before_and_after()[1]
        mean_rows, rows, mean, psi = after.single()
        alone = log_student_t(x, mean, psi * (1 + 1 / mean_rows) / rows, rows)
        q = x.shape[-1]
        v, u = np.tril_indices(q, -1) if half else np.indices((q, q)).reshape(2, -1)
        # at [v, u] `after` holds the parent's mean and psi, at [u, v] the child's
        off = x[..., u] - after.mean[..., v, u]
        wide = 1 + off**2 / after.psi[..., v, u] + 1 / after.mean_rows[..., v, u]
        centre = after.mean[..., u, v] + (after.phi / after.psi)[..., v, u] * off
        degrees = after.rows[..., v, u] + 1
        scale2 = after.psi[..., u, v] * after.left()[..., v, u] * wide / degrees
        given = log_student_t(x[..., v], centre, scale2, degrees)
        out = np.zeros((*given.shape[:-1], q, q))
        out[..., v, u] = given - alone[..., v]
        return alone, out

    def log_drawn(
        self, rng: np.random.Generator, row: np.ndarray, parent: np.ndarray, mine: np.ndarray
    ) -> np.ndarray:
        """Return log normal densities of the row's cells under drawn regressions."""
        shown = np.where(self.observed(row[None]), row, np.nan)
        nobody = np.zeros(len(self.mean), dtype=int)
        alone = self.statistics(shown, nobody[:1], np.ones(1), n_classes=1)
        every = alone.with_arrays({n: v[nobody] for n, v in alone.arrays().items()})
        after = self.updated(self.seen() + every)
        return regressions.log_drawn(self._before_and_after()[1], after, rng, row, parent, mine)

    # -- parameters ----------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of mean and Cholesky factor, (draw, class, feature[, feature]).

        The covariance is that of a forest, drawn anew each time: its inverse is 0 except on the
        diagonal and the edges.
        """
        parent = self.draw_forests(rng, n)
        return regressions.draw(self._before_and_after()[1], rng, parent)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, draw, class)."""
        return MultivariateNormal().log_density_fn(params)

    def mode(self) -> Params:
        """Return the likeliest forest, and the mode of its regressions and log variances."""
        return regressions.mode(self._before_and_after()[1], self.likeliest_forest())

    def maximum_likelihood(
        self, statistics: PairMoments, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return means and variances of the columns and the tree of greatest mutual information.

        Variances are SS / n, or SS / (n - 1) when bias_corrected. A variance under variance_floor
        times the column's own is raised to that, and so is the share of it that remains given the
        parent; a class without a row takes the pooled moments. Source: Chow and Liu (1968).
        """
        self.require_maximum(statistics)
        return regressions.maximum_likelihood(
            statistics.columns(),
            statistics.cross,
            self.variance.mean(axis=0),
            bias_corrected=bias_corrected,
            variance_floor=variance_floor,
        )

    def initial_params(self, statistics: PairMoments) -> Params:
        """Return pooled means and variances within classes, without an edge."""
        mean, variance = statistics.columns().pooled()
        sd = np.sqrt(np.where(np.isnan(variance), self.variance.mean(axis=0), variance))
        shape = self.mean.shape
        return {
            "mean": np.broadcast_to(mean, shape),
            "cholesky": np.broadcast_to(np.diag(sd), (*shape, shape[-1])),
        }

    def log_likelihood(self, params: Params, statistics: PairMoments) -> Traceable:
        """Return log p(rows given params); rows must be complete."""
        self.require_complete(
            statistics,
            "moments of pairs do not hold the likelihood of incomplete rows",
            "Fill them.",
        )
        own = statistics.columns()
        every = np.ones(own.mean.shape, dtype=bool)
        moments = (own.count.max(axis=1), own.mean, statistics.cross)
        rows = whole.collect(len(every), np.arange(len(every)), every, *moments)
        return MultivariateNormal().log_likelihood(params, rows)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        return MultivariateNormal().fill_given(params, x, own, rng)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + L noise of each row's class."""
        return MultivariateNormal().simulate(params, y, rng)
