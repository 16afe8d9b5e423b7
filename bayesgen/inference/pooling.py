"""Log-linear pooling: class probabilities from weighted log densities of columns and models.

    P(y = k given x) proportional to pi_k exp(sum_j w_j L_jk(x) + b_k),

where L_j is the log density of one part of a row under a model of its own (a column, a block, or a
whole classifier) and b a small correction of each class. With all weights 1 and b = 0 these are the
probabilities of a generative model with independent parts. The weights are a multinomial logistic
regression on log densities of left-out rows, with normal priors whose centers and scales are
averaged over a grid by approximate leave-one-out.

Source: Genest and Zidek (1986), Statistical Science 1, 114-135; Raina, Shen, Ng and McCallum
(2003), Advances in Neural Information Processing Systems 16; Zaidi, Cerquides, Carman and Webb
(2013), Journal of Machine Learning Research 14, 1947-1988; approximate leave-one-out: Rad and
Maleki (2020), Journal of the Royal Statistical Society B 82, 965-996.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.inference.calibrated_posterior import CalibratedPosterior
from bayesgen.inference.posterior import (
    ClassDraws,
    LogClasses,
    LogJointDraws,
    Scores,
    take_rows,
)
from bayesgen.likelihoods.base import row_chunks
from bayesgen.typing import Encoded, Joint, Labels, Parts, Weights

RULED_OUT = 50.0
"""Log density ratio at which a part rules a class out: more of it counts as no more, so that one
part cannot veto a class that all others support."""
BIAS_SCALE = 0.5
"""Prior standard deviation of the correction of each class."""
NEWTON_STEPS, CONVERGED = 50, 1e-9
"""Newton steps at most, and the decrease of the objective, in nats, that ends them."""
NEGLIGIBLE = 1e-4
"""Share of a candidate prior below which it is dropped."""
CHUNK_FLOATS = 2_000_000
"""Numbers of the design matrix that are held at once: 16 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class Pool:
    """Posterior of the weights of a log-linear pool, under several priors.

    share: posterior weight of each prior, summing to one. weights: modes, by part. biases:
    corrections of classes. roots: R with R R' the posterior covariance of weights and biases.
    """

    share: Float[np.ndarray, " prior"]
    weights: Float[np.ndarray, "prior part"]
    biases: Float[np.ndarray, "prior class"]
    roots: Float[np.ndarray, "prior parameter parameter"]

    @property
    def mean_weights(self) -> Float[np.ndarray, " part"]:
        """The weight of each part, averaged over priors."""
        return self.share @ self.weights

    def log_proba(self, log_classes: LogClasses, parts: Parts) -> Joint:
        """Return log P(y = k given x), averaged over priors.

        log_classes: log pi_k, (class,) or (row, class). parts: log densities.
        """
        x = contrasts(parts)
        return np.logaddexp.reduce(
            [
                np.log(share) + normalized(log_classes + x @ weight + bias)
                for share, weight, bias in zip(self.share, self.weights, self.biases, strict=True)
            ],
            axis=0,
        )

    def draw(
        self, rng: np.random.Generator, n: int
    ) -> tuple[Float[np.ndarray, "draw part"], Float[np.ndarray, "draw class"]]:
        """Return n draws of weights and biases: a prior by its share, then Laplace's normal."""
        prior = rng.choice(len(self.share), n, p=self.share)
        noise = rng.standard_normal((n, self.roots.shape[1]))
        away = np.einsum("dij,dj->di", self.roots[prior], noise)
        size = self.weights.shape[1]
        return self.weights[prior] + away[:, :size], self.biases[prior] + away[:, size:]


def contrasts(parts: Parts) -> Float[np.ndarray, "... class part"]:
    """Return each part's log densities relative to their mean over classes, parts last.

    The classes that a part rules out are RULED_OUT below its best one; a part that rules out every
    class contributes 0.
    """
    top = parts.max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):
        ratio = np.maximum(parts - top, -RULED_OUT)
    ratio = np.where(np.isneginf(top), 0.0, ratio)
    return np.swapaxes(ratio - ratio.mean(axis=-1, keepdims=True), -1, -2)


# -- learning --------------------------------------------------------------------------------------


def learned_pool(
    parts: Parts,
    log_classes: Joint,
    y: Labels,
    weight: Weights,
    *,
    centers: Float[np.ndarray, "prior part"],
    scales: Float[np.ndarray, "prior part"],
) -> tuple[Pool, Joint]:
    """Return the posterior of the weights, and log class probabilities of left-out rows.

    Args:
        parts: log densities of each row given the others, (row, part, class).
        log_classes: log P(y = k given the rows without i), (row, class).
        y: class codes.
        weight: of the rows; of a row of weight 2, weight 1 is left out.
        centers, scales: means and standard deviations of the normal priors that are averaged over;
            a scale of 0 keeps a weight at its center.
    """
    x, own = contrasts(parts), (np.arange(len(y)), y)
    fits = []
    for center, scale in zip(centers, scales, strict=True):
        start = fits[-1].weights if fits else center
        fits.append(_fit(x, log_classes, y, weight, center, scale, start))
    left_out = np.stack([fit.left_out for fit in fits])
    score = np.where(np.isfinite(left_out[:, *own]), left_out[:, *own], 0.0) @ weight
    share = np.exp(score - score.max())
    share /= share.sum()
    kept = np.flatnonzero(share > NEGLIGIBLE)
    share = share[kept] / share[kept].sum()
    fields = (np.stack([getattr(fits[i], n) for i in kept]) for n in ("weights", "biases", "roots"))
    left_out = np.logaddexp.reduce(np.log(share)[:, None, None] + left_out[kept], axis=0)
    return Pool(share, *fields), left_out


COMMON_POWERS = (0.1, 0.3, 0.6, 1.0)
"""Prior centers of the weights of columns: powers that all columns share."""
COLUMN_SCALES = (0.0, 0.1, 0.3)
"""Prior standard deviations of a column's weight around the common power."""


BLEND_ROWS = np.array([8.0, 4.0])
"""Prior strengths, in rows, of the weighted mean of a stack and of its pool."""


def stack_priors(members: int, parts: int) -> dict[str, Float[np.ndarray, "prior part"]]:
    """Return the priors of the weights of members, and of blocks beside them.

    Members share a common power; blocks start from 0.
    """
    grid = itertools.product((0.3, 0.6, 0.9), (0.05, 0.15, 0.4), (0.0, 0.03, 0.1, 0.3))
    centers, scales = [], []
    for power, own, others in grid:
        centers.append([power / members] * members + [0.0] * (parts - members))
        scales.append([own] * members + [others] * (parts - members))
    return {"centers": np.array(centers), "scales": np.array(scales)}


def column_priors(parts: Parts) -> dict[str, Float[np.ndarray, "prior part"]]:
    """Return the priors of the weights of independent columns: every power with every scale."""
    grid = [(power, scale) for power in COMMON_POWERS for scale in COLUMN_SCALES]
    centers, scales = np.array(grid).T[:, :, None] * np.ones(parts.shape[1])
    return {"centers": centers, "scales": scales}


@dataclasses.dataclass(frozen=True, eq=False)
class _Fit:
    """Mode and curvature under one prior, and log class probabilities of left-out rows."""

    weights: Float[np.ndarray, " part"]
    biases: Float[np.ndarray, " class"]
    roots: Float[np.ndarray, "parameter parameter"]
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
    n_classes, size = x.shape[1:]
    unit = np.concatenate([scale, np.full(n_classes, BIAS_SCALE)])
    problem = _Problem(x * scale, log_classes + x @ center, y, weight)
    safe = np.where(scale > 0, scale, 1.0)
    u = np.concatenate([np.where(scale > 0, (start - center) / safe, 0.0), np.zeros(n_classes)])
    u = problem.minimum(u)
    logits = problem.logits(u)
    proba = np.exp(normalized(logits))
    hessian = problem.hessian(proba)
    left_out = problem.left_out(logits, proba, np.linalg.inv(hessian))
    # H = L L', so that the inverse of L' is a root of the covariance
    root = unit[:, None] * np.linalg.inv(np.linalg.cholesky(hessian)).T
    mode = u * unit
    return _Fit(center + mode[:size], mode[size:], root, left_out)


@dataclasses.dataclass(frozen=True, eq=False)
class _Problem:
    """Multinomial logistic regression with standard normal priors on its coefficients.

    design: (row, class, part); a one-hot column of each class, times BIAS_SCALE, follows it.
    offset: logits at coefficients 0.
    """

    design: Float[np.ndarray, "row class part"]
    offset: Joint
    y: Labels
    weight: Weights

    def logits(self, u: np.ndarray) -> Joint:
        """Return the logits at coefficients u."""
        size = self.design.shape[2]
        return self.offset + self.design @ u[:size] + BIAS_SCALE * u[size:]

    def value(self, u: np.ndarray) -> float:
        """Return minus the log posterior, up to a constant."""
        logs = normalized(self.logits(u))[np.arange(len(self.y)), self.y]
        return float(0.5 * u @ u - np.where(np.isfinite(logs), logs, 0.0) @ self.weight)

    def minimum(self, u: np.ndarray) -> np.ndarray:
        """Return the minimum of `value` by damped Newton steps from u."""
        if self.value(u) > self.value(np.zeros_like(u)):
            u = np.zeros_like(u)
        before = self.value(u)
        for _ in range(NEWTON_STEPS):
            proba = np.exp(normalized(self.logits(u)))
            gradient = self.gradient(u, proba)
            step, size = np.linalg.solve(self.hessian(proba), gradient), 1.0
            promised = float(gradient @ step)
            if promised < CONVERGED:
                break
            while (after := self.value(u - size * step)) > before - 1e-4 * size * promised:
                size /= 2
                if size < 1e-6:
                    return u
            u, before = u - size * step, after
        return u

    def gradient(self, u: np.ndarray, proba: Joint) -> np.ndarray:
        """Return the gradient of `value`."""
        residual = self._residual(proba) * self.weight[:, None]
        parts = np.tensordot(residual, self.design, axes=([0, 1], [0, 1]))
        return u + np.concatenate([parts, BIAS_SCALE * residual.sum(axis=0)])

    def hessian(self, proba: Joint) -> Float[np.ndarray, "parameter parameter"]:
        """Return the Hessian of `value`: sum of B' (diag(p) - p p') B over rows, plus I."""
        n_classes, size = self.design.shape[1:]
        out = np.eye(size + n_classes)
        step = max(1, CHUNK_FLOATS // (n_classes * max(size, 1)))
        for rows in row_chunks(len(proba), step):
            share = proba[rows] * self.weight[rows, None]
            design = self.design[rows]
            mean = np.einsum("nk,nkj->nj", proba[rows], design)
            centred = design - mean[:, None]
            flat = centred.reshape(-1, size)
            out[:size, :size] += flat.T @ (flat * share.reshape(-1, 1))
            cross = BIAS_SCALE * np.einsum("nk,nkj->jk", share, centred)
            out[:size, size:] += cross
            out[size:, :size] += cross.T
            out[size:, size:] += BIAS_SCALE**2 * (
                np.diag(share.sum(axis=0)) - share.T @ proba[rows]
            )
        return out

    def left_out(self, logits: Joint, proba: Joint, inverse: np.ndarray) -> Joint:
        """Return log class probabilities of each row after one Newton step without it."""
        n_classes, size = self.design.shape[1:]
        away = np.minimum(self.weight, 1.0)[:, None, None]
        out = np.empty_like(logits)
        identity = np.eye(n_classes)
        for rows in row_chunks(len(proba), max(1, CHUNK_FLOATS // (n_classes * (size + 1)))):
            design, p = self.design[rows], proba[rows]
            ones = np.broadcast_to(BIAS_SCALE * identity, (len(p), n_classes, n_classes))
            full = np.concatenate([design, ones], axis=2)
            spread = away[rows] * (full @ inverse @ np.swapaxes(full, 1, 2))
            curvature = p[:, :, None] * (identity - p[:, None, :])
            residual = self._residual(proba, rows)[..., None]
            pull = np.linalg.solve(identity - curvature @ spread, residual)
            out[rows] = logits[rows] + (spread @ pull)[..., 0]
        return normalized(out)

    def _residual(self, proba: Joint, rows: slice = slice(None)) -> Joint:
        return proba[rows] - (self.y[rows, None] == np.arange(proba.shape[1]))


# -- the posterior ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class PooledPosterior(CalibratedPosterior):
    """A posterior whose class probabilities are partly those of a log-linear pool of its parts.

    P(y = k given x) = share P_pool(k) + (1 - share) P_base(k); p(x), and so every density, is that
    of the base posterior.

    base: the posterior. pool: weights of its parts. share: weight of the pool. seed: of the draws
    of weights.
    """

    pool: Pool
    share: float = 1.0
    seed: int = 0

    @property
    def power(self) -> float:
        """The power of the base posterior."""
        return self.base.power

    def log_proba(self, scores: Scores) -> Joint:
        """Return the log of the mean of pooled class probabilities and those of the base."""
        pooled = self.pool.log_proba(scores.log_classes, scores.parts)
        if self.share == 1:
            return pooled
        base = self.base.log_proba(scores)
        return np.logaddexp(np.log(self.share) + pooled, np.log1p(-self.share) + base)

    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Yield draws of the pool and of the base, with their share of the weight.

        A draw of the pool is one of the weights (Laplace's normal) and one of every part.
        """
        log_classes, found = self.log_classes(), None
        for rows, parts, weight in self.base.part_draws(encoded, n_rows):
            if found is None:
                found = self.pool.draw(np.random.default_rng(self.seed), len(parts))
            weights, biases = found
            logits = contrasts(parts) @ weights[:, None, :, None]
            probs = np.exp(normalized(log_classes + logits[..., 0] + biases[:, None]))
            if self.share == 1:
                yield rows, probs, weight
                continue
            for _, other, own in self.base.class_draws(take_rows(encoded, rows), len(rows)):
                both = np.concatenate([self.share * weight, (1 - self.share) * own])
                yield rows, np.concatenate([probs, other]), both

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given draws of the pool, and of the base in proportion."""
        size = n if self.share == 1 else min(max(1, round(n * self.share)), n - 1)
        parts = self.base.log_joint_draws(rng, size, exactly=True)
        weights, biases = self.pool.draw(rng, parts.n_draws)
        log_classes = self.log_classes()
        base = None if size == n else self.base.log_joint_draws(rng, n - size, exactly=True)

        def score(encoded: Encoded, n_rows: int) -> np.ndarray:
            logits = contrasts(parts.parts(encoded, n_rows)) @ weights[:, :, None]
            pooled = normalized(log_classes + logits[..., 0] + biases)
            density = np.logaddexp.reduce(parts.score(encoded, n_rows), axis=-1, keepdims=True)
            if base is None:
                return density + pooled
            return np.concatenate([density + pooled, base.score(encoded, n_rows)], axis=1)

        powers = np.ones(parts.n_draws)
        if base is not None:
            powers = np.concatenate([powers, np.broadcast_to(base.powers, base.n_draws)])
        return LogJointDraws(score, len(powers), powers)


def normalized(logits: np.ndarray) -> np.ndarray:
    """Return logits minus their log sum of exponentials over classes."""
    # class by class: NumPy reduces along a short last axis ten times as slowly (measured)
    each = np.moveaxis(logits, -1, 0)
    top = functools.reduce(np.maximum, each)
    total = functools.reduce(np.add, np.exp(each - top))
    return logits - (top + np.log(total))[..., None]
