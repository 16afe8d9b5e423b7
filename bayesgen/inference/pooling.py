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
    x, labels = contrasts(parts), (np.arange(len(y)), y)
    # a row whose class is impossible without it cannot tell weights apart
    weight = np.where(np.isneginf(log_classes[labels]), 0.0, weight)
    fits = []
    for center, scale in zip(centers, scales, strict=True):
        start = fits[-1].weights if fits else center
        fits.append(_fit(x, log_classes, y, weight, center, scale, start))
    left_out = np.stack([fit.left_out for fit in fits])
    log_proba = left_out[:, *labels]
    score = np.where(np.isfinite(log_proba), log_proba, 0.0) @ weight + log_odds
    share = np.exp(score - score.max())
    share /= share.sum()
    likely = np.flatnonzero(share > NEGLIGIBLE)
    share = share[likely] / share[likely].sum()
    weights, roots = (np.stack([getattr(fits[i], n) for i in likely]) for n in ("weights", "roots"))
    left_out = log_sum_exp(np.log(share)[:, None, None] + left_out[likely], axis=0)
    return Pool(share, weights, roots), left_out


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


def stack_priors(members: int, parts: int) -> dict[str, Float[np.ndarray, "prior part"]]:
    """Return the priors of the weights of members, and of the additional blocks.

    Members share a common power; blocks start from 0.
    """
    grid = itertools.product(MEMBER_POWERS, MEMBER_SCALES, BLOCK_SCALES)
    centers, scales = [], []
    for power, scale, block_scale in grid:
        centers.append([power / members] * members + [0.0] * (parts - members))
        scales.append([scale] * members + [block_scale] * (parts - members))
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
class _Fit:
    """Mode and curvature under one prior, and log class probabilities of left-out rows."""

    weights: Float[np.ndarray, " part"]
    roots: Float[np.ndarray, "part part"]
    left_out: Joint


def _fit(
    x: Float[np.ndarray, "row class part"],
    log_classes: Joint,
    y: Labels,
    weight: Weights,
    center: Float[np.ndarray, " part"],
    scale: Float[np.ndarray, " part"],
    start: Float[np.ndarray, " part"],
) -> _Fit:
    """Return the penalized maximum likelihood, by Newton's method, and its leave-one-out."""
    problem = _Problem(x * scale, log_classes + x @ center, y, weight)
    # from the mode under the prior before
    u = np.where(scale > 0, (start - center) / np.where(scale > 0, scale, 1.0), 0.0)
    (u,), mode = newton(problem.log_posterior, u[None], negligible=CONVERGED)
    hessian, logits = -mode.hessian[0], problem.logits(u)
    left_out = problem.left_out(logits, np.exp(normalized(logits)), np.linalg.inv(hessian))
    # H = L L', so that the inverse of L' is a root of the covariance
    root = scale[:, None] * np.linalg.inv(np.linalg.cholesky(hessian)).T
    return _Fit(center + u * scale, root, left_out)


@dataclasses.dataclass(frozen=True, eq=False)
class _Problem:
    """Multinomial logistic regression with standard normal priors on its coefficients.

    offset: logits at coefficients 0.
    """

    design: Float[np.ndarray, "row class part"]
    offset: Joint
    y: Labels
    weight: Weights

    def logits(self, u: np.ndarray) -> Joint:
        """Return the logits at coefficients u."""
        return self.offset + self.design @ u

    def log_posterior(self, points: Points) -> Quadratic:
        """Return the log posterior around coefficients, (1, part), up to a constant."""
        (u,) = points
        log_proba = normalized(self.logits(u))
        logs = log_proba[np.arange(len(self.y)), self.y]
        value = np.where(np.isfinite(logs), logs, 0.0) @ self.weight - 0.5 * u @ u
        proba = np.exp(log_proba)
        residual = self._residual(proba) * self.weight[:, None]
        gradient = -u - np.tensordot(residual, self.design, axes=2)
        return Quadratic(value[None], gradient[None], -self.hessian(proba)[None])

    def hessian(self, proba: Joint) -> Float[np.ndarray, "part part"]:
        """Return minus that of `log_posterior`: I + sum over rows of B' (diag(p) - p p') B."""
        n_classes, size = self.design.shape[1:]
        out = np.eye(size)
        # small products: two threads that wait for each other cost more than they gain
        for rows in row_chunks(len(proba), max(64, SMALL_PRODUCT // (n_classes * size**2 + 1))):
            design, p = self.design[rows], proba[rows, :, None]
            centred = design - (p * design).sum(axis=1, keepdims=True)
            spread = centred * (p * self.weight[rows, None, None])
            # by name, not -1: there may be no part, of a table without an informative column
            each = len(p) * n_classes, size
            out += centred.reshape(each).T @ spread.reshape(each)
        return out

    def left_out(self, logits: Joint, proba: Joint, inverse: np.ndarray) -> Joint:
        """Return log class probabilities of each row after one Newton step without it."""
        n_classes, size = self.design.shape[1:]
        away = np.minimum(self.weight, 1.0)[:, None, None]
        out, identity = np.empty_like(logits), np.eye(n_classes)
        residual = self._residual(proba)[..., None]
        for rows in row_chunks(len(proba), max(1, CHUNK_FLOATS // (n_classes * (size + 1)))):
            design, p = self.design[rows], proba[rows]
            spread = away[rows] * (design @ inverse @ np.swapaxes(design, 1, 2))
            curvature = p[:, :, None] * (identity - p[:, None, :])
            pull = np.linalg.solve(identity - curvature @ spread, residual[rows])
            out[rows] = logits[rows] + (spread @ pull)[..., 0]
        return normalized(out)

    def _residual(self, proba: Joint) -> Joint:
        return proba - (self.y[:, None] == np.arange(proba.shape[1]))


def weighted_contrasts(
    parts: Float[np.ndarray, "draw row part class"], weights: Float[np.ndarray, "draw part"]
) -> Float[np.ndarray, "draw row class"]:
    """Return the weighted sum of the parts' contrasts, part by part: all at once fill no cache."""
    # no part: no contrast
    out = np.zeros_like(parts, shape=(*parts.shape[:2], parts.shape[3]))
    for j, weight in enumerate(weights.T):
        out += contrasts(parts[:, :, j : j + 1])[..., 0] * weight[:, None, None]
    return out
