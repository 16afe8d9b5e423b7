"""Log-linear pooling: class probabilities from weighted log densities of columns and models.

    P(y = k given x) proportional to pi_k exp(sum_j w_j L_jk(x)),

where L_j is the log density of one part of a row under a model of its own: a column, a block, or a
whole classifier. With all weights 1 these are the probabilities of a generative model with
independent parts. The weights are a multinomial logistic regression on log densities of left-out
rows, with normal priors whose centers and scales are averaged over a grid by approximate
leave-one-out. There is no intercept, so that a row without observed cells keeps the class prior.
With more parts than rows the fit takes place in the space of the rows (`RowSpace`): for n rows and
p parts it costs O(n^2 p + n^3).

Source: Genest and Zidek (1986), Statistical Science 1, 114-135; Raina, Shen, Ng and McCallum
(2003), Advances in Neural Information Processing Systems 16; Zaidi, Cerquides, Carman and Webb
(2013), Journal of Machine Learning Research 14, 1947-1988; approximate leave-one-out: Rad and
Maleki (2020), Journal of the Royal Statistical Society B 82, 965-996.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.inference.scores import LogClasses, contrasts, normalized
from bayesgen.interactions import SCALE
from bayesgen.likelihoods.base import Arrays, row_chunks
from bayesgen.likelihoods.multivariate_normal.density import SMALL_PRODUCT
from bayesgen.likelihoods.special_functions import log_sum_exp, reduced
from bayesgen.membership import Entries, expected, shares_of
from bayesgen.optimize import Points, Quadratic, newton
from bayesgen.typing import Joint, Membership, Parts, Weights

CONVERGED = 1e-12
"""Rise of the log posterior, in nats, that a last step of Newton's would bring."""
NEGLIGIBLE = 1e-4
"""Share of a candidate prior below which it is dropped."""


@dataclasses.dataclass(frozen=True, eq=False)
class RowSpace:
    """The directions of the weights that rows inform, where there are more parts than these.

    Rows see weights only through weighted sums of their parts. Of parts with the same prior scale,
    components of the weights along an orthonormal basis of these rows are independent a priori, and
    so are the components across it, which keep their prior: n rows of K classes inform n (K - 1)
    directions, however many the parts.

    basis: orthonormal columns, by group of parts of one scale. scales: of the parts.
    """

    basis: Float[np.ndarray, "part direction"]
    scales: Float[np.ndarray, "prior part"]

    @classmethod
    def of(
        cls, x: Float[np.ndarray, "row class part"], scales: Float[np.ndarray, "prior part"]
    ) -> "RowSpace | None":
        """Return the row space of contrasts; None if rows inform every direction.

        scales: prior standard deviations of the weights.
        """
        n_rows, n_classes, n_parts = x.shape
        if n_rows * (n_classes - 1) >= n_parts:  # contrasts sum to 0 over classes
            return None
        rows = x[:, 1:].reshape(-1, n_parts)
        group = np.unique(scales, axis=1, return_inverse=True)[1].ravel()
        bases = []
        for g in range(group.max() + 1):
            parts = np.flatnonzero(group == g)
            basis = np.zeros((len(group), min(len(parts), len(rows))))
            wide = len(parts) > len(rows)
            basis[parts] = np.linalg.qr(rows[:, parts].T)[0] if wide else np.eye(len(parts))
            bases.append(basis)
        return cls(np.concatenate(bases, axis=1), scales)

    def completed(
        self,
        along: Float[np.ndarray, "draw direction"],
        prior: Int[np.ndarray, " draw"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draw part"]:
        """Return draws of all weights from draws of their components along the directions.

        prior: of each draw, which those across the directions follow.
        """
        noise = rng.standard_normal((len(along), len(self.basis)))
        across = noise - noise @ self.basis @ self.basis.T
        return along @ self.basis.T + self.scales[prior] * across


@dataclasses.dataclass(frozen=True, eq=False)
class Pool(Arrays):
    """Posterior of the weights of a log-linear pool, under several priors.

    share: posterior weight of each prior, summing to one. weights: modes, by part. roots: R with
    R R' the posterior covariance of the weights, or of their components along the directions of
    `row_space`, which is stated where parts outnumber rows.
    """

    share: Float[np.ndarray, " prior"]
    weights: Float[np.ndarray, "prior part"]
    roots: Float[np.ndarray, "prior direction direction"]
    row_space: RowSpace | None = None
    axes: ClassVar = {
        "share": ("prior",),
        "weights": ("prior", "part"),
        "roots": ("prior", "direction", "direction"),
    }

    @property
    def mean_weights(self) -> Float[np.ndarray, " part"]:
        """The weight of each part, averaged over priors."""
        return self.share @ self.weights

    @property
    def n_free(self) -> int:
        """How many parts have a weight of their own, rather than one that they share."""
        return self.weights.shape[1] if self.roots.any() else 0

    def log_proba(self, log_classes: LogClasses, parts: Parts) -> Joint:
        """Return log P(y = k given x), averaged over priors.

        log_classes: log pi_k, (class,) or (row, class). parts: log densities.
        """
        logits = np.moveaxis(contrasts(parts) @ self.weights.T, -1, 0)
        log_share = np.log(self.share)[:, None, None]
        return log_sum_exp(log_share + normalized(log_classes + logits), axis=0)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw part"]:
        """Return n draws of the weights: a prior by its share, then Laplace's normal."""
        prior = rng.choice(len(self.share), n, p=self.share)
        noise = rng.standard_normal((n, self.roots.shape[2]))
        away = np.einsum("dij,dj->di", self.roots[prior], noise)
        if self.row_space is not None:
            away = self.row_space.completed(away, prior, rng)
        return self.weights[prior] + away


# -- learning --------------------------------------------------------------------------------------


def learned_pool(
    parts: Parts,
    log_classes: Joint,
    y: Membership,
    weight: Weights,
    away: Weights | None = None,
    *,
    centers: Float[np.ndarray, "prior part"],
    scales: Float[np.ndarray, "prior part"],
    log_odds: Float[np.ndarray, " prior"] | float = 0.0,
) -> tuple[Pool, Joint]:
    """Return the posterior of the weights, and log class probabilities of left-out rows.

    Args:
        parts: log densities of each row given the others, (row, part, class).
        log_classes: log P(y = k given the rows without i), (row, class).
        y: class codes, or shares of the classes.
        weight: of the rows.
        away: the part of it that leaves with a row that is left out; None: at most 1.
        centers: means of the weights under each of the normal priors that are averaged over.
        scales: their standard deviations; 0 keeps a weight at its center.
        log_odds: of each of these priors before the rows.
    """
    # a row whose class is impossible without it cannot tell weights apart
    away = np.minimum(weight, 1.0) if away is None else away
    possible = ~np.isneginf(expected(log_classes, y))
    weight, away = (np.where(possible, part, 0.0) for part in (weight, away))
    x, part_centers = contrasts(parts), centers
    row_space = RowSpace.of(x, scales)
    if row_space is not None:
        # of the parts of a direction
        x, scales = x @ row_space.basis, scales[:, np.abs(row_space.basis).argmax(axis=0)]
        centers = centers @ row_space.basis
    problem = _Regressions(x, log_classes, y, weight, away, centers, scales)
    u, mode = newton(problem.log_posterior, np.zeros_like(centers), negligible=CONVERGED)
    # H = L L', so that the inverse of L' is a root of the covariance
    inverse = np.linalg.inv(np.linalg.cholesky(-mode.hessian))
    weights, roots = problem.weights(u), scales[:, :, None] * np.swapaxes(inverse, 1, 2)
    left_out = problem.left_out(weights, roots)
    if row_space is not None:
        weights = part_centers + (weights - centers) @ row_space.basis.T
    log_proba = expected(left_out, y)
    score = np.where(np.isfinite(log_proba), log_proba, 0.0) @ weight + log_odds
    share = np.exp(score - score.max())
    share /= share.sum()
    likely = np.flatnonzero(share > NEGLIGIBLE)
    share = share[likely] / share[likely].sum()
    left_out = log_sum_exp(np.log(share)[:, None, None] + left_out[likely], axis=0)
    if row_space is not None:
        row_space = dataclasses.replace(row_space, scales=row_space.scales[likely])
    return Pool(share, weights[likely], roots[likely], row_space), left_out


COMMON_POWERS = (0.1, 0.3, 0.6, 1.0)
"""Prior centers of the weights of columns: powers that all columns share."""
COLUMN_SCALES = (0.0, 0.1, 0.3)
"""Prior standard deviations of a column's weight around the common power."""


BLEND_ROWS = np.array([6.0, 4.0])
"""Prior strengths, in rows, of the weighted mean of a stack and of its pool: with few rows, where
leave-one-out hardly tells them apart, the mean is safer. With 8 and 4 the mean log loss was higher
by .001 at 100 rows and at full size, with 4 and 4 by .001 with 24 rows on half of the tables."""
MEMBER_POWERS, MEMBER_SCALES, BLOCK_SCALES = (0.3, 0.6, 0.9), (0.05, 0.2), (0.0, 0.1, 0.4)
"""Prior centers of the sum of the members' weights, and prior standard deviations of weights of
members and of blocks. Half of these scales of blocks had a log loss higher by .001 at 100 rows and
at full size, on either half of the open tables and on simulated ones; a scale of .5 for members a
higher one with 24 rows."""


def stack_priors(
    members: int, parts: int, interactions: Sequence[int] = ()
) -> dict[str, Float[np.ndarray, "prior part"]]:
    """Return the priors of the weights of members, and of additional parts.

    Members share a common power; additional blocks and interactions start from 0.

    interactions: positions of the parts that are interactions, members or not.
    """
    free = np.zeros(parts, dtype=bool)
    free[list(interactions)] = True
    member = (np.arange(parts) < members) & ~free
    grid = itertools.product(MEMBER_POWERS, MEMBER_SCALES, BLOCK_SCALES)
    centers, scales = [], []
    for power, scale, block_scale in grid:
        centers.append(np.where(member, power / member.sum(), 0.0))
        of_others = np.where(free, SCALE, block_scale)
        scales.append(np.where(member, scale, of_others))
    return {"centers": np.array(centers), "scales": np.array(scales)}


def column_priors(parts: Parts) -> dict[str, Float[np.ndarray, "prior part"]]:
    """Return the priors of the weights of independent columns: every power with every scale."""
    grid = [(power, scale) for power in COMMON_POWERS for scale in COLUMN_SCALES]
    centers, scales = np.array(grid).T[:, :, None] * np.ones(parts.shape[1])
    return {"centers": centers, "scales": scales}


PATTERN_POWERS = np.array([0.0, 0.25, 0.5, 1.0])
"""Powers of the missing pattern, from none to that of one more likelihood."""


IGNORABLE = 5.0
"""Log prior odds of a missing pattern that tells nothing against every power of it: 150 to 1, which
only very strong evidence outweighs (Kass and Raftery 1995, Journal of the American Statistical
Association 90, 773-795). In a few rows several columns are missing together, and chance alone
relates them to a class."""


def pattern_priors(
    pattern: Bool[np.ndarray, " part"],
) -> dict[str, Float[np.ndarray, "..."]]:
    """Return priors under which some parts share one of a few powers and all others have weight 1.

    Left-out scores are then exact. pattern: the parts that have the power.
    """
    centers = np.where(pattern, PATTERN_POWERS[:, None], 1.0)
    log_odds = np.where(PATTERN_POWERS > 0, -IGNORABLE, 0.0)
    return {"centers": centers, "scales": np.zeros_like(centers), "log_odds": log_odds}


@dataclasses.dataclass(frozen=True, eq=False)
class _Rivals:
    """What the parts say of rows' other classes, their rivals, relative to the rows' own class.

    contrast: of the parts. log_odds: logits at weights of 0. weight: of the rows.
    """

    contrast: Float[np.ndarray, "row rival part"]
    log_odds: Float[np.ndarray, "row rival"]
    weight: Weights

    @classmethod
    def of(
        cls, x: Float[np.ndarray, "row class part"], log_classes: Joint, own: Entries
    ) -> "_Rivals":
        """Return the rivals of rows.

        Args:
            x: contrasts of the parts.
            log_classes: logits at weights of 0.
            own: the rows and their classes.
        """
        row, code = own.row[:, None], own.code[:, None]
        rival = np.arange(x.shape[1] - 1)
        rival = rival + (rival >= code)
        contrast, log_odds = x[row, rival], log_classes[row, rival]
        contrast -= x[row, code]
        return cls(contrast, log_odds - log_classes[row, code], own.weight)

    def add_log_likelihood(
        self,
        weights: Float[np.ndarray, "prior part"],
        gradient: Float[np.ndarray, "prior part"],
        hessian: Float[np.ndarray, "prior part part"],
    ) -> Float[np.ndarray, " prior"]:
        """Return the sums of w log p of the rows' own classes at weights, and add derivatives.

        With p of the rivals and X their contrasts, the gradient is minus the sum over rows of
        w X' p, and the Hessian minus that of w X' (diag(p) - p p') X, whose upper triangle is
        right.
        """
        n_priors, (n_rows, n_rivals, size) = len(weights), self.contrast.shape
        flat = self.contrast.reshape(n_rows * n_rivals, size)
        odds = (weights @ flat.T).reshape(n_priors, n_rows, n_rivals)
        odds += self.log_odds
        top = np.maximum(reduced(np.maximum, odds), 0.0)
        odds -= top[..., None]
        np.exp(odds, out=odds)
        total = reduced(np.add, odds) + np.exp(-top)
        odds /= total[..., None]
        mean = np.swapaxes(np.swapaxes(odds, 0, 1) @ self.contrast, 0, 1)
        odds *= self.weight[:, None]
        weighted = self.weight[:, None] * mean
        gradient -= weighted.sum(axis=1)
        hessian += np.swapaxes(weighted, 1, 2) @ mean
        p = odds.reshape(n_priors, n_rows * n_rivals)
        for j, part in enumerate(flat.T):
            hessian[:, j, j:] -= (p * part) @ flat[:, j:]
        return -((top + np.log(total)) @ self.weight)


@dataclasses.dataclass(frozen=True, eq=False)
class _Regressions:
    """Multinomial logistic regressions of the same rows, one under each of several normal priors.

    Coefficients u are standard normal a priori: weights are centers + scales u.

    x: contrasts of the parts. log_classes: logits at weights of 0. away: the part of the weight of
    a row that leaves with it.
    """

    x: Float[np.ndarray, "row class part"]
    log_classes: Joint
    y: Membership
    weight: Weights
    away: Weights
    centers: Float[np.ndarray, "prior part"]
    scales: Float[np.ndarray, "prior part"]

    def weights(self, u: Points) -> Float[np.ndarray, "prior part"]:
        """Return the weights of the parts at coefficients."""
        return self.centers + self.scales * u

    def log_posterior(self, u: Points) -> Quadratic:
        """Return the log posteriors around coefficients, up to constants."""
        scales, weights, size = self.scales, self.weights(u), u.shape[1]
        value, gradient = -0.5 * (u**2).sum(axis=1), np.zeros_like(u)
        hessian = np.zeros((len(u), size, size))
        for rivals in self._rivals:
            value += rivals.add_log_likelihood(weights, gradient, hessian)
        hessian = np.triu(hessian) + np.swapaxes(np.triu(hessian, 1), 1, 2)
        hessian = scales[:, :, None] * hessian * scales[:, None] - np.eye(size)
        return Quadratic(value, scales * gradient - u, hessian)

    def left_out(
        self,
        weights: Float[np.ndarray, "prior part"],
        roots: Float[np.ndarray, "prior part part"],
    ) -> Float[np.ndarray, "prior row class"]:
        """Return log class probabilities of each row after one Newton step without it.

        With X the contrasts of a row, S = R R' the covariance of the weights, C = diag(p) - p p'
        and e = p - y, its logits move by

            X S X' (I - C X S X')^-1 e = X R (I - R' X' C X R)^-1 R' X' e,

        by the system that is smaller: of the classes, or of the parts.

        roots: R.
        """
        n_rows, n_classes, size = self.x.shape
        moved = self._moved_by_parts if size < n_classes else self._moved_by_classes
        out = np.empty((len(weights), n_rows, n_classes))
        for rows in self._chunks(n_rows):
            log_proba = self._log_proba(rows, weights)
            if roots.any():  # else no row moves stated weights: nothing to solve
                log_proba += moved(rows, log_proba, roots)
            out[:, rows] = log_proba
        return normalized(out)

    def _moved_by_parts(
        self,
        rows: slice,
        log_proba: Float[np.ndarray, "prior row class"],
        roots: Float[np.ndarray, "prior part part"],
    ) -> Float[np.ndarray, "prior row class"]:
        """Return the moves of the logits, by a system of the parts."""
        x, away, size = self.x[rows], self.away[rows, None, None], self.x.shape[2]
        # rows first: a product of matrices for each
        p = np.swapaxes(np.exp(log_proba), 0, 1)
        mean, squares = p @ x, np.empty((*p.shape[:2], size, size))
        for j in range(size):
            squares[:, :, j] = (p * x[:, None, :, j]) @ x
        squares -= mean[..., None] * mean[..., None, :]
        own = shares_of(self.y[rows], x.shape[1])[:, None] @ x
        across = np.swapaxes(roots, 1, 2)
        left = np.eye(size) - away[..., None] * (across @ squares @ roots)
        pull = roots @ np.linalg.solve(left, across @ (mean - own)[..., None])
        return np.swapaxes(away * (pull[..., 0] @ np.swapaxes(x, 1, 2)), 0, 1)

    def _moved_by_classes(
        self,
        rows: slice,
        log_proba: Float[np.ndarray, "prior row class"],
        roots: Float[np.ndarray, "prior part part"],
    ) -> Float[np.ndarray, "prior row class"]:
        """Return the moves of the logits, by a system of the classes."""
        x, p = self.x[rows], np.exp(log_proba)
        n_rows, n_classes, size = x.shape
        residual = p - shares_of(self.y[rows], n_classes)
        root = x.reshape(n_rows * n_classes, size) @ roots
        root = root.reshape(len(roots), n_rows, n_classes, size)
        spread = self.away[rows, None, None] * (root @ np.swapaxes(root, 2, 3))
        identity = np.eye(n_classes)
        curvature = p[..., None] * (identity - p[..., None, :])
        pull = np.linalg.solve(identity - curvature @ spread, residual[..., None])
        return (spread @ pull)[..., 0]

    @functools.cached_property
    def _rivals(self) -> list[_Rivals]:
        """The rivals of all rows of weight, chunk by chunk."""
        entries = Entries.of(self.y, self.weight)
        kept = np.flatnonzero(entries.weight)
        row, code, weight = entries.row[kept], entries.code[kept], entries.weight[kept]
        return [
            _Rivals.of(self.x, self.log_classes, Entries(row[part], code[part], weight[part]))
            for part in self._chunks(len(kept))
        ]

    def _chunks(self, n_rows: int) -> Iterator[slice]:
        """Yield chunks of rows whose products are small.

        Two threads that wait for each other cost more than they gain.
        """
        _, n_classes, size = self.x.shape
        product = len(self.centers) * (n_classes - 1) * size
        return row_chunks(n_rows, max(8, SMALL_PRODUCT // (product + 1)))

    def _log_proba(
        self, rows: slice, weights: Float[np.ndarray, "prior part"]
    ) -> Float[np.ndarray, "prior row class"]:
        """Return log class probabilities of rows."""
        x = self.x[rows]
        flat = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
        logits = (weights @ flat.T).reshape(len(weights), *x.shape[:2])
        return normalized(self.log_classes[rows] + logits)


def weighted_contrasts(
    parts: Float[np.ndarray, "draw row part class"], weights: Float[np.ndarray, "draw part"]
) -> Float[np.ndarray, "draw row class"]:
    """Return the weighted sum of the parts' contrasts, part by part: all at once fill no cache."""
    # no part: no contrast
    out = np.zeros_like(parts, shape=(*parts.shape[:2], parts.shape[3]))
    for j, weight in enumerate(weights.T):
        out += contrasts(parts[:, :, j : j + 1])[..., 0] * weight[:, None, None]
    return out
