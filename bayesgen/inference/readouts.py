"""Readouts: how the components of a posterior become P(y = k given x).

By Bayes' rule (`Readout`), with the likelihood raised to a power (`Tempered`), or as a log-linear
pool of parts (`Pooled`). Densities p(x), parameters and imputations are those of the components
under every readout.
"""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.inference.chain_diagnostics import MonteCarloError
from bayesgen.inference.class_draws import ClassDraws, PartWeights, cached_rows, softmax
from bayesgen.inference.components import Components, LogJointDraws
from bayesgen.inference.misfit import Misfit
from bayesgen.inference.pooling import Pool, weighted_contrasts
from bayesgen.inference.powers import Powers, power_log_proba
from bayesgen.inference.scores import Scores, log_class_probabilities, normalized
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Encoded, Joint


@dataclasses.dataclass(frozen=True, eq=False)
class Readout:
    """Bayes' rule: P(y = k given x) is proportional to the density of the components."""

    @property
    def calibrates(self) -> bool:
        """Whether class probabilities differ from those of Bayes' rule."""
        return False

    @property
    def power(self) -> float:
        """The (geometric mean) power of the likelihood."""
        return 1.0

    def log_proba(self, scores: Scores) -> Joint:
        """Return log P(y = k given x); rows impossible under every class have the class prior."""
        return log_class_probabilities(scores.joint, scores.log_classes)

    def log_joint_from(self, scores: Scores) -> Joint:
        """Return log p(x) + log P(y = k given x)."""
        return scores.joint

    def log_joint(self, components: Components, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x) + log P(y = k given x)."""
        return components.log_joint(encoded, n_rows)

    def log_joint_and_error(
        self, components: Components, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint and, where it is a mean over draws, its Monte Carlo error."""
        return components.log_joint_and_error(encoded, n_rows)

    def class_draws(
        self, components: Components, encoded: Encoded, n_rows: int, weights: PartWeights | None
    ) -> Iterator[ClassDraws]:
        """Yield draws of P(y = k given x, theta); see `Components.class_draws`."""
        return components.class_draws(encoded, n_rows, weights=weights)

    def part_powers(
        self, components: Components, rng: np.random.Generator, n: int
    ) -> Float[np.ndarray, "n part"] | None:
        """Return powers of the parts of the likelihood; see `Components.part_powers`."""
        return components.part_powers(rng, n)

    def log_joint_draws(
        self, components: Components, rng: np.random.Generator, n: int, *, exactly: bool
    ) -> LogJointDraws:
        """Return the log joint given every draw; see `Components.log_joint_draws`."""
        return components.log_joint_draws(rng, n, exactly=exactly)


BAYES = Readout()


class Calibrated(Readout):
    """A readout with class probabilities of its own, and the density p(x) of the components."""

    @property
    def calibrates(self) -> bool:
        """Whether class probabilities differ from those of Bayes' rule."""
        return True

    def log_joint_from(self, scores: Scores) -> Joint:
        """Return log p(x) + log P(y = k given x)."""
        density = np.logaddexp.reduce(scores.joint, axis=1, keepdims=True)
        return density + self.log_proba(scores)

    def log_joint(self, components: Components, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x) + log P(y = k given x)."""
        return self.log_joint_from(components.scores(encoded, n_rows))

    def log_joint_and_error(
        self, components: Components, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint, without an error."""
        return self.log_joint(components, encoded, n_rows), None


@dataclasses.dataclass(frozen=True, eq=False)
class Tempered(Calibrated):
    """The likelihood raised to a power, averaged over powers.

    P(y = k given x) is the weighted mean over powers eta of P(k) p(x given k)^eta, normalized.

    powers, weights: shape (power,), weights summing to one.
    """

    powers: Powers
    weights: Powers

    @property
    def power(self) -> float:
        """The geometric mean of the powers."""
        return float(np.exp(self.weights @ np.log(self.powers)))

    def log_proba(self, scores: Scores) -> Joint:
        """Return the log of the mean over powers of tempered class probabilities."""
        out, log_weights = np.empty_like(scores.joint), np.log(self.weights)[:, None, None]
        chunks = power_log_proba(scores.log_classes, scores.joint, self.powers)
        for rows, log_proba in chunks:
            out[rows] = log_sum_exp(log_weights + log_proba, axis=0)
        return out

    def class_draws(
        self, components: Components, encoded: Encoded, n_rows: int, weights: PartWeights | None
    ) -> Iterator[ClassDraws]:
        """Yield the draws of the components, with powers dealt in proportion to weight."""
        prior = components.log_classes()
        # of an impossible class the probabilities of all draws are 0
        prior = np.where(np.isfinite(prior), prior, 0.0)[:, None]
        for found in components.class_draws(encoded, n_rows, weights=weights):
            power = self._dealt_powers(len(found.probs))
            each = np.moveaxis(found.probs, 0, -1)
            out = np.empty(each.shape)
            for rows in cached_rows(each):
                logs = out[rows]
                with np.errstate(divide="ignore"):
                    np.log(each[rows], out=logs)
                logs *= power
                logs += (1 - power) * prior
                softmax(logs)
            yield dataclasses.replace(found, probs=np.moveaxis(out, -1, 0))

    def part_powers(
        self, components: Components, rng: np.random.Generator, n: int
    ) -> Float[np.ndarray, "n part"] | None:
        """Return powers of the whole likelihood, drawn by their weight."""
        found = components.part_powers(rng, n)
        return None if found is None else found * rng.choice(self.powers, (n, 1), p=self.weights)

    def _dealt_powers(self, n: int) -> Float[np.ndarray, " draw"]:
        """Return a power for each of n draws, by their weight."""
        place = (np.arange(n) * 0.6180339887498949) % 1  # evenly spread, in no order
        return self.powers[np.searchsorted(self.weights.cumsum()[:-1], place)]

    def log_joint_draws(
        self, components: Components, rng: np.random.Generator, n: int, *, exactly: bool
    ) -> LogJointDraws:
        """Return the log joint given every draw, each with a power of its own."""
        found = components.log_joint_draws(rng, n, exactly=exactly)
        return dataclasses.replace(found, powers=found.powers * self._dealt_powers(found.n_draws))


@dataclasses.dataclass(frozen=True, eq=False)
class Pooled(Calibrated):
    """A log-linear pool of the parts of the components, beside another readout.

    P(y = k given x) = share P_pool(k) + (1 - share) P_other(k).

    pool: weights of the parts. share: weight of the pool. seed: of the draws of weights. other: the
    readout beside it. misfit: how much the truth may differ from draws of both.
    """

    pool: Pool
    share: float = 1.0
    seed: int = 0
    other: Readout = BAYES
    misfit: Misfit | None = None

    @property
    def power(self) -> float:
        """The power of the other readout; of a pool alone, the mean weight of its parts."""
        if self.share < 1:
            return self.other.power
        return float(self.pool.mean_weights.mean()) if self.pool.weights.size else 1.0

    def log_proba(self, scores: Scores) -> Joint:
        """Return the log of the mean of pooled class probabilities and the others."""
        pooled = self.pool.log_proba(scores.log_classes, scores.parts)
        if self.share == 1:
            return pooled
        other = self.other.log_proba(scores)
        return np.logaddexp(np.log(self.share) + pooled, np.log1p(-self.share) + other)

    def class_draws(
        self, components: Components, encoded: Encoded, n_rows: int, weights: PartWeights | None
    ) -> Iterator[ClassDraws]:
        """Yield draws of the mean of pool and other readout, both from one draw of the parts.

        A draw of the pool is one of the weights (Laplace's normal) and one of every part. Its share
        is part of the prediction, so each draw of P is such a mean, to which the misfit is added.
        """
        log_classes = components.log_classes()[:, None]

        @functools.cache
        def own(n: int) -> Float[np.ndarray, "draw part"]:
            return self.pool.draw(np.random.default_rng(self.seed), n)

        # the sums of a pool around this one are of the same draws, which come a second time
        again = self.other.class_draws(components, encoded, n_rows, weights)
        wanted = None if weights is None else again
        for found in self.other.class_draws(components, encoded, n_rows, own):
            logits = found.logits[:0] if wanted is None else next(wanted).logits
            pooled = np.add(np.moveaxis(found.logits, 0, -1), log_classes, order="C")
            softmax(pooled)
            if self.share == 1:
                # pairs are draws of even weight
                even = np.full((pooled.shape[-1], len(found.rows)), 1 / pooled.shape[-1])
                weight = found.weight if found.pairs is None else even
                draws = ClassDraws(found.rows, np.moveaxis(pooled, -1, 0), weight, logits)
                yield self._spread(draws, encoded)
                continue
            each = np.moveaxis(found.probs, 0, -1)
            out = np.empty(each.shape)
            for rows in cached_rows(each):
                some = pooled[rows] if found.pairs is None else pooled[rows].take(found.pairs, -1)
                np.multiply(some, self.share, out=out[rows])
                out[rows] += (1 - self.share) * each[rows]
            draws = dataclasses.replace(found, probs=np.moveaxis(out, -1, 0), logits=logits)
            yield self._spread(draws, encoded)

    def _spread(self, draws: ClassDraws, encoded: Encoded) -> ClassDraws:
        """Return draws with the misfit, of which there is none in a stack of stated members."""
        if self.misfit is None:
            return draws
        return self.misfit.spread(draws, self.misfit.observed(encoded, draws.rows), self.seed)

    def part_powers(
        self, components: Components, rng: np.random.Generator, n: int
    ) -> Float[np.ndarray, "n part"] | None:
        """Return draws of the weights of the pool."""
        none = self.other.part_powers(components, rng, 1) is None
        return None if none else self.pool.draw(rng, n)

    def log_joint_draws(
        self, components: Components, rng: np.random.Generator, n: int, *, exactly: bool
    ) -> LogJointDraws:
        """Return the log joint given draws of the pool, and of the other in proportion."""
        size = n if self.share == 1 else min(max(1, round(n * self.share)), n - 1)
        parts = self.other.log_joint_draws(components, rng, size, exactly=True)
        weights = self.pool.draw(rng, parts.n_draws)
        log_classes, other = components.log_classes(), None
        if size < n:
            other = self.other.log_joint_draws(components, rng, n - size, exactly=True)

        def score(encoded: Encoded, n_rows: int) -> np.ndarray:
            each = np.swapaxes(parts.parts(encoded, n_rows), 0, 1)
            pooled = np.swapaxes(normalized(log_classes + weighted_contrasts(each, weights)), 0, 1)
            density = np.logaddexp.reduce(parts.score(encoded, n_rows), axis=-1, keepdims=True)
            if other is None:
                return density + pooled
            return np.concatenate([density + pooled, other.score(encoded, n_rows)], axis=1)

        powers = np.ones(parts.n_draws)
        if other is not None:
            powers = np.concatenate([powers, np.broadcast_to(other.powers, other.n_draws)])
        return LogJointDraws(score, len(powers), parts.parts, powers)
