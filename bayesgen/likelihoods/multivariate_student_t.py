"""Multivariate Student's t likelihood: a robust alternative to the multivariate normal.

Rows are kept, since the t has no sufficient statistics. With o observed columns, d their squared
distance from the mean in the matrix Sigma_oo, and v degrees of freedom, the log density of a row is
log Gamma((v + o)/2) - log Gamma(v/2) - o/2 log(pi v) - log|Sigma_oo|/2 - (v + o)/2 log(1 + d/v).
"""

import dataclasses
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Guess, Likelihood, require_one_of
from bayesgen.likelihoods.distinct_rows import Rows, gather
from bayesgen.likelihoods.multivariate_normal import MultivariateNormal, lkj_and_wishart
from bayesgen.likelihoods.multivariate_normal.density import (
    SMALL_PRODUCT,
    cell_factors,
    distances,
    each_pattern,
    filled,
    marginal_factor,
    noise,
)
from bayesgen.likelihoods.multivariate_normal.statistics import (
    complete_rows,
    group_moments,
    patterns,
)
from bayesgen.likelihoods.normal_densities import FEW
from bayesgen.typing import Block, Labels, Params, Traceable, Weights

SHIFT = 16
"""From here on five terms of Stirling's series leave an error below 2e-3/z^11 = 1e-16."""
STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
NORMAL_MAD = 1.4826
"""Standard deviation of a normal per median absolute deviation, 1 / Phi^-1(3/4)."""
STEPS, INITIAL_DEGREES = 20, 5.0
"""Number of EM steps of `whitening`, and their first guess of the degrees of freedom: accurate
enough for a sampler's coordinates and an optimizer's start."""
GRID = np.geomspace(1.0, 200.0, 25)
"""Degrees of freedom among which EM chooses: from Cauchy's tails, heavy enough for a start, to a t
that is almost normal."""

SHAPE, RATE = 2.0, 0.1
"""Parameters of the Gamma prior on degrees of freedom, vague between Cauchy and normal tails.
Source: Juarez and Steel, JBES 28 (2010) 52-66."""

Column = Float[np.ndarray, " feature"]


@dataclasses.dataclass(frozen=True, eq=False)
class PatternedRows(Rows):
    """Distinct rows (see `Rows`) and their patterns of missing values.

    complete: positions of the complete entries. holed: those of the incomplete ones, and cell: the
    cell of each of these. A cell is a class and a pattern of observed columns: cell_class (cell,),
    cell_observed (cell, feature).
    """

    complete: np.ndarray
    holed: np.ndarray
    cell: np.ndarray
    cell_class: np.ndarray
    cell_observed: np.ndarray
    axes: ClassVar = {
        **Rows.axes,
        "complete": ("complete",),
        "holed": ("holed",),
        "cell": ("holed",),
        "cell_class": ("cell",),
        "cell_observed": ("cell", "feature"),
    }

    def _rows(self) -> Rows:
        return Rows(self.x, self.y, self.weight, self.n_classes)

    def __add__(self, other: "PatternedRows") -> "PatternedRows":
        """Return the rows of both."""
        return arranged(self._rows() + other._rows())

    def __sub__(self, other: "PatternedRows") -> "PatternedRows":
        """Return the rows without those of the other."""
        return arranged(self._rows() - other._rows())

    def shifted(self, by: Column) -> "PatternedRows":
        """Return the rows with `by` added to every observed cell."""
        return arranged(self._rows().shifted(by))

    def take(self, axis: str, index: np.ndarray) -> "PatternedRows":
        """Return the rows with some of the columns, in the order of `index`."""
        return arranged(super().take(axis, index))

    def reindex(self, axis: str, index: np.ndarray, size: int) -> "PatternedRows":
        """Return the rows over `size` classes; old class k is index[k]."""
        return arranged(super().reindex(axis, index, size))


def arranged(rows: Rows) -> PatternedRows:
    """Return the rows with their missing patterns."""
    observed = ~np.isnan(rows.x)
    whole = observed.all(axis=1)
    holed = np.flatnonzero(~whole)
    masks, which = patterns(observed[holed])
    keys, cell = np.unique(rows.y[holed] * max(len(masks), 1) + which, return_inverse=True)
    label, mask = np.divmod(keys, max(len(masks), 1))
    complete, masks = np.flatnonzero(whole), masks[mask]
    return PatternedRows(
        rows.x, rows.y, rows.weight, rows.n_classes, complete, holed, cell, label, masks
    )


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class MultivariateStudentT(Likelihood[PatternedRows]):
    r"""x | class ~ t_v(mu, Sigma): a multivariate normal that is robust to outliers.

    Given a latent g ~ Gamma(v / 2, v / 2) per row, the row is normal with covariance Sigma / g: a
    row at squared Mahalanobis distance d from mu has the weight (v + p) / (v + d). Sigma is the
    covariance times (v - 2) / v. The prior on mu and Sigma is that of `MultivariateNormal`, and v ~
    Gamma(2, rate 0.1) is shared by all classes, since outliers would otherwise be assigned to the
    class with the heaviest tails.

    There is no closed form: use NUTS, or MAP and MLE by optimization; each gradient requires a pass
    over the distinct rows. Incomplete rows have the exact marginal t of their observed cells, with
    the same v.

    Source: Lange, Little and Taylor, JASA 84 (1989) 881-896; the prior on v: Juarez and Steel,
    Journal of Business and Economic Statistics 28 (2010) 52-66.

    Args:
        covariance: "per_class", or "shared" for one Sigma that all classes share.
        mean: guess of mu; a number, one per column, or (class, feature). None: overall medians.
        mean_rows: prior strength of that guess in rows, > 0; a number or one per class.
        scale: guess of Sigma; a number (times the identity), one square per column, or a positive
            definite matrix. None: the diagonal of squared median distances within classes, times
            1.4826^2 (which estimates the variances of normal columns).
        covariance_rows: prior strength of that guess in rows, > 0. None: as in
            `MultivariateNormal`.
        degrees: v, > 0, if fixed; 4 is a common choice. None: learned.

    Raises:
        InvalidArgument: a prior strength or v is not above 0, a scale is not symmetric positive
            definite.

    Example:
        >>> import numpy as np
        >>> prior = MultivariateStudentT(degrees=4)
        >>> params = {"mean": np.zeros((1, 2)), "cholesky": np.eye(2)[None]}
        >>> prior.log_density_fn(params)(np.array([[0.0, 0.0], [1e6, 0.0], [3.0, np.nan]])).round(3)
        array([[ -1.838],
               [-80.572],
               [ -3.927]])
    """

    covariance: Literal["per_class", "shared"] = "per_class"
    mean: Guess = None
    mean_rows: Guess = 1.0
    scale: Guess = None
    covariance_rows: Guess = None
    degrees: float | int | None = None

    kind: ClassVar[str] = "numbers"
    distribution_words: ClassVar[str] = "multivariate Student t"
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    has_closed_form_mle: ClassVar[bool] = False
    location_params: ClassVar = ("mean",)
    axes: ClassVar = lkj_and_wishart.PRIOR_AXES
    param_axes: ClassVar = {**lkj_and_wishart.PARAM_AXES, "degrees": ()}
    supports: ClassVar = {**lkj_and_wishart.PARAM_SUPPORTS, "degrees": "positive"}
    hyperparameters: ClassVar = {**lkj_and_wishart.PRIOR_RANGES, "degrees": "positive"}

    def __post_init__(self) -> None:
        """Validate the structure, and the ranges of guesses and strengths."""
        require_one_of(self, "covariance", ("per_class", "shared"))
        super().__post_init__()

    @property
    def conjugate(self) -> bool:
        """Whether a closed form exists: no."""
        return False

    @property
    def shared(self) -> bool:
        """Whether all classes have one Sigma."""
        return self.covariance == "shared"

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> PatternedRows:
        """Return the distinct rows, by pattern of missing values."""
        return arranged(gather(x, y, weight, n_classes))

    def complete(self, statistics: PatternedRows) -> "MultivariateStudentT":
        """Fill in guesses of None from medians and broadcast every array."""
        shape = (statistics.n_classes, statistics.x.shape[1])
        return lkj_and_wishart.completed(self, shape, *guesses(statistics))

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed, and no stated guess."""
        return np.isnan(np.diagonal(self.scale, axis1=1, axis2=2)).any(axis=0)

    def initial_params(self, statistics: PatternedRows) -> Params:
        """Return overall medians and the diagonal of squared spreads within classes."""
        center = guesses(statistics)[0]
        mean = np.broadcast_to(center, (statistics.n_classes, len(center)))
        params = {"mean": mean, "cholesky": np.sqrt(self._diagonal(statistics))}
        if self.degrees is None:
            params["degrees"] = np.asarray(INITIAL_DEGREES)
        return params

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), shape (row, *draw, class)."""
        params = self._with_degrees(params)
        shape, p = params["mean"].shape[:-1], params["mean"].shape[-1]
        mean = params["mean"].reshape(-1, shape[-1], p)
        factors = params["cholesky"].reshape(len(mean), -1, p, p)
        degrees = np.asarray(params["degrees"], dtype=float).reshape(-1)
        constant, inverse = constants(degrees, p), np.linalg.inv(factors)

        def score(squares: np.ndarray, log_det: np.ndarray, seen: int | np.ndarray) -> np.ndarray:
            """Turn (row, draw, class) squared distances into log densities, in place."""
            squares /= degrees[:, None]
            np.log1p(squares, out=squares)
            squares *= -(degrees + np.reshape(seen, (-1, 1)))[..., None] / 2
            squares += np.reshape(constant.T[seen], (-1, len(degrees), 1)) - log_det / 2
            return squares

        def partial(x: Block, observed: np.ndarray) -> np.ndarray:
            centre, whitener, factor = mean, inverse, factors
            if not observed.all():
                factor = marginal_factor(factors, observed)
                centre, whitener = mean[..., observed], np.linalg.inv(factor)
            log_det = 2 * np.log(np.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
            return score(_squares(x, centre, whitener), log_det, int(observed.sum()))

        def log_density(x: Block) -> np.ndarray:
            if mean[..., 0].size <= FEW:
                out = score(*distances(x, mean, factors=factors))
            elif np.isnan(x).any():
                out = each_pattern(x, partial, np.zeros(mean.shape[:2]))
            else:
                out = partial(x, np.ones(p, dtype=bool))
            return out.reshape(len(x), *shape)

        return log_density

    def log_likelihood(self, params: Params, statistics: PatternedRows) -> Traceable:
        """Return the sum over rows of weight times log density of their observed columns.

        Complete rows take one product per class; the others are whitened by the factor of their
        cell. A gradient costs a pass over the distinct rows.
        """
        params, rows = self._with_degrees(params), statistics
        mean, factor, degrees = params["mean"], params["cholesky"], params["degrees"]
        xp = mean.__array_namespace__()
        factor = xp.broadcast_to(factor, (*mean.shape, mean.shape[-1]))
        constant = constants(xp.asarray(degrees), mean.shape[-1])
        whole, seen = np.full(1, mean.shape[-1]), rows.cell_observed.sum(-1)[rows.cell]
        complete = (*_complete(mean, factor, rows), whole, rows.complete)
        incomplete = (*_incomplete(mean, factor, rows), seen, rows.holed)
        v, total = xp.asarray(degrees)[..., None], 0.0
        for squares, log_det, seen, entries in (complete, incomplete):
            logs = constant[..., seen] - log_det / 2 - (v + seen) / 2 * xp.log1p(squares / v)
            total = total + (rows.weight[entries] * logs).sum(-1)
        return total

    def _with_degrees(self, params: Params) -> Params:
        if "degrees" in params:
            return params
        draws = params["mean"].shape[:-2]
        xp = params["mean"].__array_namespace__()
        return {**params, "degrees": xp.full(draws, float(self.degrees))}

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        degrees, factor = float(params.get("degrees", self.degrees)), params["cholesky"]
        covariance = factor @ factor.mT
        return filled(x, own, rng, mean=params["mean"], matrices=covariance, degrees=degrees)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return mean + L noise / sqrt(g) of each row's class."""
        away = noise(params["cholesky"], y, rng)
        degrees = params.get("degrees", self.degrees)
        return params["mean"][y] + away / np.sqrt(rng.chisquare(degrees, (len(y), 1)) / degrees)

    def story(self, name: str) -> Params:
        """Sample v, the Cholesky factor of each Sigma, and the means given it."""
        import numpyro
        import numpyro.distributions as dist

        learned = {}
        if self.degrees is None:
            prior = dist.Gamma(SHAPE, RATE)
            learned["degrees"] = numpyro.sample(f"{name}.degrees", prior)
        wishart = lkj_and_wishart.inverse_wishart(self)
        return {**lkj_and_wishart.sample_parameters(name, self, wishart), **learned}

    def whitening(self, statistics: PatternedRows) -> dict[str, tuple[np.ndarray, ...]]:
        """Return centers and widths of the posterior, from medians by 20 steps of EM.

        A row with o observed columns counts (v + o) / (v + d) times; missing cells are filled with
        their expectation, and its covariance joins the scatter. v, where it is learned, is the best
        on a grid given the distances d.

        Source: Lange, Little and Taylor (1989); Liu and Rubin (1995).
        """
        weight, seen = statistics.weight, (~np.isnan(statistics.x)).sum(axis=1)
        conjugate = MultivariateNormal(self.covariance).with_arrays(self.arrays())
        n = np.bincount(statistics.y, weight, minlength=len(self.mean))
        scale_rows = self.covariance_rows + (n.sum(keepdims=True) if self.shared else n)
        sizes = np.bincount(statistics.y, minlength=len(n))
        mean, scale = self._medians(statistics), self._diagonal(statistics)
        mean_rows = self.mean_rows + n
        fit = np.log(self.degrees or INITIAL_DEGREES), 0.5
        groups = _groups(statistics)
        for _ in range(STEPS):
            x, spread, squares = _expected_rows(statistics, groups, mean, scale)
            if self.degrees is None:
                fit = _degrees(squares, seen, weight)
            v = np.exp(fit[0])
            counts = weight * (v + seen) / (v + squares)
            # rows come sorted by class
            count, average, scatter = group_moments(x, sizes, counts)
            after = conjugate.posterior(complete_rows(count, average, scatter + spread))
            mean, mean_rows = after.mean, after.mean_rows
            scale = after.scale * (after.covariance_rows / scale_rows)[:, None, None]
        found = lkj_and_wishart.whitening(mean, mean_rows, scale, scale_rows)
        if self.degrees is None:
            found["degrees"] = (np.asarray(fit[0]), np.asarray(fit[1]))
        return found

    def _medians(self, rows: PatternedRows) -> Float[np.ndarray, "class feature"]:
        """Return each class's medians, its guess of the mean where it has no cell."""
        own = [
            class_medians(x[seen], rows.y[seen], rows.weight[seen], rows.n_classes)
            for x, seen in zip(rows.x.T, ~np.isnan(rows.x.T), strict=True)
        ]
        return np.where(np.isnan(own), self.mean.T, own).T

    def _diagonal(self, rows: PatternedRows) -> Float[np.ndarray, "covariance feature feature"]:
        """Return squared spreads within classes as matrices, guesses where columns have none."""
        variance = guesses(rows)[1]
        guess = np.diagonal(self.scale, axis1=1, axis2=2)
        return lkj_and_wishart.diagonals(np.where(np.isnan(variance), guess, variance))


# -- densities ------------------------------------------------------------------------------


def log_gamma_ratio(a: Traceable, half: Traceable) -> Traceable:
    """Return log Gamma(a + half) - log Gamma(a) for a > 0, half >= 0; NumPy or traced.

    The difference of two log Gammas loses a digit for every digit of a: 1e-7 at a = 1e8. Here both
    are shifted by 16, where Stirling's series is accurate, and the large terms cancel analytically.
    """
    xp = (a + half).__array_namespace__()
    low = a + SHIFT
    high = low + half
    out = (low - 0.5) * xp.log1p(half / low) + half * (xp.log(high) - 1)
    powers = -(2.0 * np.arange(len(STIRLING)) + 1)
    out = out + (high[..., None] ** powers - low[..., None] ** powers) @ np.array(STIRLING)
    return out - xp.log1p(half[..., None] / (a[..., None] + np.arange(SHIFT))).sum(-1)


def constants(degrees: Traceable, n_features: int) -> Traceable:
    """Return log Gamma((v + o)/2) - log Gamma(v/2) - o/2 log(pi v), o from 0 on, (..., o)."""
    half, degrees = np.arange(n_features + 1) / 2, degrees[..., None]
    xp = degrees.__array_namespace__()
    return log_gamma_ratio(degrees / 2, half) - half * xp.log(np.pi * degrees)


def _squares(
    x: Block, mean: np.ndarray, inverse: np.ndarray
) -> Float[np.ndarray, "row draw class"]:
    """Return squared lengths of W x - W mean, as many draws at once as one small product takes."""
    n_draws, wide, p = inverse.shape[:3]
    out = np.empty((len(x), n_draws, mean.shape[1]))
    size = max(1, SMALL_PRODUCT // (max(len(x), 1) * wide * p * p))
    for start in range(0, n_draws, size):
        part = slice(start, start + size)
        whitener = inverse[part]
        centre = (whitener @ mean[part, ..., None])[..., 0]
        z = (x @ whitener.reshape(-1, p).T).reshape(len(x), -1, wide, p) - centre
        np.einsum("rdkp,rdkp->rdk", z, z, out=out[:, part])
    return out


def _complete(
    mean: Traceable, factor: Traceable, rows: PatternedRows
) -> tuple[Traceable, Traceable]:
    """Return squared distances and log determinants of complete rows, each (*draw, complete)."""
    xp = mean.__array_namespace__()
    x, y = rows.x[rows.complete], rows.y[rows.complete]
    inverse = xp.linalg.inv(factor).mT
    squares = xp.zeros((*mean.shape[:-2], len(x)))
    for k in range(mean.shape[-2]):
        z = (x - mean[..., k, None, :]) @ inverse[..., k, :, :]
        squares = xp.where(y == k, (z**2).sum(-1), squares)
    log_det = 2 * xp.log(xp.diagonal(factor, axis1=-2, axis2=-1)).sum(-1)
    return squares, log_det[..., y]


def _incomplete(
    mean: Traceable, factor: Traceable, rows: PatternedRows
) -> tuple[Traceable, Traceable]:
    """Return squared distances and log determinants of incomplete rows, each (*draw, holed)."""
    xp = mean.__array_namespace__()
    root, seen = cell_factors(factor, rows.cell_class, rows.cell_observed), rows.cell_observed
    x = xp.where(seen[rows.cell], rows.x[rows.holed], 0.0)
    away = xp.where(seen[rows.cell], x - mean[..., rows.y[rows.holed], :], 0.0)
    z = (xp.linalg.inv(root)[..., rows.cell, :, :] @ away[..., None])[..., 0]
    log_det = 2 * xp.log(xp.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
    return (z**2).sum(-1), log_det[..., rows.cell]


# -- robust guesses and centers ---------------------------------------------------------------


def guesses(rows: Rows) -> tuple[Column, Column]:
    """Return each column's overall median and a squared spread within classes.

    The spread is the median absolute deviation from the class's median, scaled to estimate a
    standard deviation; deviations of 0 are left out, since half of the cells may be equal. If all
    are 0 it is that from the overall median, and NaN if these are 0 too.
    """
    centre, variance = np.full((2, rows.x.shape[1]), np.nan)
    for j, cells in enumerate(rows.x.T):
        seen = ~np.isnan(cells)
        x, y, weight = cells[seen], rows.y[seen], rows.weight[seen]
        if not len(x):
            continue
        centre[j] = median(x, weight)
        own = class_medians(x, y, weight, rows.n_classes)
        for away in (np.abs(x - own[y]), np.abs(x - centre[j])):
            if away.any():
                variance[j] = (NORMAL_MAD * median(away[away > 0], weight[away > 0])) ** 2
                break
    return np.where(np.isnan(centre), 0.0, centre), variance


def median(x: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted median: the middle between the lower and the upper one."""
    order = np.argsort(x, kind="stable")
    total = np.cumsum(weight[order])
    at = [np.searchsorted(total, total[-1] / 2, side) for side in ("left", "right")]
    return float(x[order][np.minimum(at, len(x) - 1)].mean())


def class_medians(
    x: np.ndarray, y: np.ndarray, weight: np.ndarray, n_classes: int
) -> Float[np.ndarray, " class"]:
    """Return the median of each class, NaN where it has no cell."""
    parts = ((x[y == k], weight[y == k]) for k in range(n_classes))
    return np.array([median(*part) if len(part[0]) else np.nan for part in parts])


def _groups(rows: PatternedRows) -> list[tuple[int, np.ndarray, np.ndarray]]:
    """Return class, observed columns and positions of the rows of each class and pattern."""
    masks, which = patterns(~np.isnan(rows.x))
    keys, group = np.unique(rows.y * len(masks) + which, return_inverse=True)
    members = np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group))[:-1])
    return [
        (key // len(masks), masks[key % len(masks)], at)
        for key, at in zip(keys.tolist(), members if len(keys) else [], strict=True)
    ]


def _expected_rows(
    rows: PatternedRows, groups: list, mean: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return filled rows, the covariance of the filling by class, and distances of the rows."""
    x, squares = rows.x.copy(), np.zeros(len(rows.x))
    spread = np.zeros((*mean.shape, mean.shape[1]))
    for k, mask, at in groups:
        matrix = scale[k % len(scale)]
        root = np.linalg.inv(np.linalg.cholesky(matrix[np.ix_(mask, mask)]))
        z = (x[np.ix_(at, mask)] - mean[k, mask]) @ root.T
        squares[at] = (z**2).sum(axis=1)
        if not mask.all():
            slope = root @ matrix[mask]
            x[at] = np.where(mask, x[at], mean[k] + z @ slope)
            spread[k] += rows.weight[at].sum() * (matrix - slope.T @ slope)
    return x, spread, squares


def _degrees(squares: np.ndarray, seen: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Return the log of the best degrees on the grid under the prior, and its standard error.

    Both follow from the parabola through the best and its neighbors.
    """
    table = constants(GRID, int(seen.max(initial=1)))
    power = (GRID[:, None] + seen) / 2
    height = (table[:, seen] - power * np.log1p(squares / GRID[:, None])) @ weight
    height = height + SHAPE * np.log(GRID) - RATE * GRID
    best = int(np.clip(height.argmax(), 1, len(GRID) - 2))
    left, top, right = height[best - 1 : best + 2]
    step, curve = np.log(GRID[1] / GRID[0]), min(left - 2 * top + right, -1e-3)
    shift = np.clip(0.5 * (left - right) / curve, -1.0, 1.0)
    return float(np.log(GRID[best]) + shift * step), float(min(step / np.sqrt(-curve), 1.0))
