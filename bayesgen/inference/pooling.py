"""Log-linear pooling: class probabilities from weighted log densities of columns and models.

    P(y = k given x) proportional to pi_k exp(sum_j w_j L_jk(x)),

where L_j is the log density of one part of a row under a model of its own: a column, a block, or a
whole classifier. With all weights 1 these are the probabilities of a generative model with
independent parts. The weights are a multinomial logistic regression on log densities of left-out
rows, with normal priors whose centers and scales are averaged over a grid by approximate
leave-one-out. There is no intercept, so that a row without observed cells keeps the class prior.

Source: Genest and Zidek (1986), Statistical Science 1, 114-135; Raina, Shen, Ng and McCallum
(2003), Advances in Neural Information Processing Systems 16; Zaidi, Cerquides, Carman and Webb
(2013), Journal of Machine Learning Research 14, 1947-1988; approximate leave-one-out: Rad and
Maleki (2020), Journal of the Royal Statistical Society B 82, 965-996.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.inference.scores import LogClasses, contrasts, normalized
from bayesgen.likelihoods.base import Arrays, row_chunks
from bayesgen.likelihoods.multivariate_normal.density import SMALL_PRODUCT
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.optimize import Points, Quadratic, newton
from bayesgen.typing import Joint, Labels, Parts, Weights

CONVERGED = 1e-12
"""Rise of the log posterior, in nats, that a last step of Newton's would bring."""
NEGLIGIBLE = 1e-4
"""Share of a candidate prior below which it is dropped."""
CHUNK_FLOATS = 2_000_000
"""Numbers of the design matrix that are held at once: 16 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pool(Arrays):
    """Posterior of the weights of a log-linear pool, under several priors.

    share: posterior weight of each prior, summing to one. weights: modes, by part. roots: R with
    R R' the posterior covariance of the weights.
    """

    share: Float[np.ndarray, " prior"]
    weights: Float[np.ndarray, "prior part"]
    roots: Float[np.ndarray, "prior part part"]
    axes: ClassVar = {
        "share": ("prior",),
        "weights": ("prior", "part"),
        "roots": ("prior", "part", "part"),
    }

    @property
    def mean_weights(self) -> Float[np.ndarray, " part"]:
        """The weight of each part, averaged over priors."""
        return self.share @ self.weights

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
        noise = rng.standard_normal((n, self.weights.shape[1]))
        return self.weights[prior] + np.einsum("dij,dj->di", self.roots[prior], noise)


# -- learning --------------------------------------------------------------------------------------


def learned_pool(
    parts: Parts,
    log_classes: Joint,
    y: Labels,
    weight: Weights,
    *,
    centers: Float[np.ndarray, "prior part"],
    scales: Float[np.ndarray, "prior part"],
    log_odds: Float[np.ndarray, " prior"] | float = 0.0,
) -> tuple[Pool, Joint]:
    """Return the posterior of the weights, and log class probabilities of left-out rows.

    Args:
        parts: log densities of each row given the others, (row, part, class).
        log_classes: log P(y = k given the rows without i), (row, class).
        y: class codes.
        weight: of the rows; of a row of weight 2, weight 1 is left out.
        centers: means of the weights under each of the normal priors that are averaged over.
        scales: their standard deviations; 0 keeps a weight at its center.
        log_odds: of each of these priors before the rows.
    """
    labels = np.arange(len(y)), y
    # a row whose class is impossible without it cannot tell weights apart
    weight = np.where(np.isneginf(log_classes[labels]), 0.0, weight)
    problem = _Regressions(contrasts(parts), log_classes, y, weight, centers, scales)
    u, mode = newton(problem.log_posterior, np.zeros_like(centers), negligible=CONVERGED)
    # H = L L', so that the inverse of L' is a root of the covariance
    inverse = np.linalg.inv(np.linalg.cholesky(-mode.hessian))
    weights, roots = problem.weights(u), scales[:, :, None] * np.swapaxes(inverse, 1, 2)
    left_out = problem.left_out(weights, roots)
    log_proba = left_out[:, *labels]
    score = np.where(np.isfinite(log_proba), log_proba, 0.0) @ weight + log_odds
    share = np.exp(score - score.max())
    share /= share.sum()
    likely = np.flatnonzero(share > NEGLIGIBLE)
    share = share[likely] / share[likely].sum()
    left_out = log_sum_exp(np.log(share)[:, None, None] + left_out[likely], axis=0)
    return Pool(share, weights[likely], roots[likely]), left_out


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


INTERACTION_SCALE = 0.4
"""The same of a forest and of pairs of columns: .2 had a higher log loss by .001 at full size, and
averages over several scales the same."""


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
        of_others = np.where(free, INTERACTION_SCALE, block_scale)
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
class _Regressions:
    """Multinomial logistic regressions of the same rows, one under each of several normal priors.

    Coefficients u are standard normal a priori: weights are centers + scales u.

    x: contrasts of the parts. log_classes: logits at weights of 0.
    """

    x: Float[np.ndarray, "row class part"]
    log_classes: Joint
    y: Labels
    weight: Weights
    centers: Float[np.ndarray, "prior part"]
    scales: Float[np.ndarray, "prior part"]

    def weights(self, u: Points) -> Float[np.ndarray, "prior part"]:
        """Return the weights of the parts at coefficients."""
        return self.centers + self.scales * u

    def log_posterior(self, u: Points) -> Quadratic:
        """Return the log posteriors around coefficients, up to constants.

        The Hessian in weights is minus the sum over rows of X' (diag(p) - p p') X.
        """
        n_priors, size = u.shape
        value, slope = -0.5 * (u**2).sum(axis=1), np.zeros((n_priors, size))
        curvature, weights = np.zeros((n_priors, size, size)), self.weights(u)
        for rows in self._chunks():
            x, weight, y = self.x[rows], self.weight[rows], self.y[rows]
            log_proba, residual = self._log_proba(rows, weights)
            logs = log_proba[:, np.arange(len(y)), y]
            value += np.where(np.isfinite(logs), logs, 0.0) @ weight
            p = np.exp(log_proba)[..., None]
            root = x - (p * x).sum(axis=2, keepdims=True)
            root *= np.sqrt(p * weight[:, None, None])
            # by name, not -1: there may be no part, of a table without an informative column
            flat = len(y) * p.shape[2]
            root = root.reshape(n_priors, flat, size)
            curvature += np.swapaxes(root, 1, 2) @ root
            slope += (residual * weight[:, None]).reshape(n_priors, flat) @ x.reshape(flat, size)
        curvature = np.eye(size) + self.scales[:, :, None] * curvature * self.scales[:, None]
        return Quadratic(value, -u - self.scales * slope, -curvature)

    def left_out(
        self,
        weights: Float[np.ndarray, "prior part"],
        roots: Float[np.ndarray, "prior part part"],
    ) -> Float[np.ndarray, "prior row class"]:
        """Return log class probabilities of each row after one Newton step without it.

        roots: R with R R' the covariance of the weights.
        """
        n_rows, n_classes, size = self.x.shape
        n_priors, identity = len(weights), np.eye(n_classes)
        out = np.empty((n_priors, n_rows, n_classes))
        for rows in self._chunks():
            log_proba, residual = self._log_proba(rows, weights)
            p, x = np.exp(log_proba), self.x[rows]
            shape = n_priors, len(x), n_classes, size
            root = (x.reshape(len(x) * n_classes, size) @ roots).reshape(shape)
            away = np.minimum(self.weight[rows], 1.0)[:, None, None]
            spread = away * (root @ np.swapaxes(root, 2, 3))
            curvature = p[..., None] * (identity - p[..., None, :])
            pull = np.linalg.solve(identity - curvature @ spread, residual[..., None])
            out[:, rows] = log_proba + (spread @ pull)[..., 0]
        return normalized(out)

    def _chunks(self) -> Iterator[slice]:
        """Return chunks of rows whose products are small.

        Two threads that wait for each other cost more than they gain.
        """
        _, n_classes, size = self.x.shape
        return row_chunks(len(self.x), max(8, SMALL_PRODUCT // (n_classes * size**2 + 1)))

    def _log_proba(
        self, rows: slice, weights: Float[np.ndarray, "prior part"]
    ) -> tuple[Float[np.ndarray, "prior row class"], Float[np.ndarray, "prior row class"]]:
        """Return log class probabilities of rows, and these minus the labels."""
        x = self.x[rows]
        flat = x.reshape(x.shape[0] * x.shape[1], x.shape[2])
        logits = (weights @ flat.T).reshape(len(weights), *x.shape[:2])
        log_proba = normalized(self.log_classes[rows] + logits)
        label = self.y[rows, None] == np.arange(x.shape[1])
        return log_proba, np.exp(log_proba) - label


def weighted_contrasts(
    parts: Float[np.ndarray, "draw row part class"], weights: Float[np.ndarray, "draw part"]
) -> Float[np.ndarray, "draw row class"]:
    """Return the weighted sum of the parts' contrasts, part by part: all at once fill no cache."""
    # no part: no contrast
    out = np.zeros_like(parts, shape=(*parts.shape[:2], parts.shape[3]))
    for j, weight in enumerate(weights.T):
        out += contrasts(parts[:, :, j : j + 1])[..., 0] * weight[:, None, None]
    return out
