"""Tempered posteriors: the likelihood to a power, because features repeat each other.

A row of p dependent features says less than p independent ones, and a story that treats them as
independent counts the same evidence several times. Raising p(x given y) to a power eta between 0
and 1 counts it less; the class prior stays as it is (the coarsened likelihood of Miller and Dunson
2019, Journal of the American Statistical Association 114, 1113-1125, by class).
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.classes import ClassPrior
from bayesgen.inference.posterior import ClassDraws, Posterior
from bayesgen.likelihoods import Likelihood
from bayesgen.typing import Encoded, Joint, Labels, Weights

POWERS = np.concatenate([np.geomspace(0.1, 1.0, 24), np.geomspace(1.0, 2.0, 8)[1:]])
"""The powers that are averaged over, unless rows ask for others: evenly spaced logarithms."""
BEYOND = 10 ** (np.arange(1, 8) / 23)
"""What an end is multiplied or divided by to go on, as evenly: to about twice or half of it."""
PREFERRED = 0.01
"""Share of the weight from which the first or last power is preferred, and others lie beyond it.
Few rows, which hardly tell a power of 0.1 from one of 0.2, keep to those above."""

Powers = Float[np.ndarray, " power"]
LogClasses = Float[np.ndarray, "#row class"]


def trust(powers: Powers) -> Powers:
    """Return the prior weights of powers, highest for the story as it is.

    Stories seldom count too little, so that many rows have to ask for powers above 1.
    """
    return np.where(powers <= 1, powers, powers**-4)


def learned(
    log_classes: LogClasses, log_joint: Joint, y: Labels, weight: Weights
) -> tuple[Powers, Powers]:
    """Return powers and their weights, proportional to prior weight times exp(sum of log P(y_i)).

    The prior favours the story as it is, which matters where few rows say little. Powers go on at
    either end for as long as the end is preferred: thirty copies of a column ask for 1/30. No end
    is preferred for ever: scores are bounded (by the class prior's below, by 0 above), and prior
    weights fall to nothing.

    log_joint: of each row given the others; log_classes: the part of it that is no likelihood.
    """
    rows = np.arange(len(y))

    def scores_of(powers: Powers) -> Powers:
        own = [tempered(log_classes, log_joint, power)[rows, y] for power in powers]
        # a row whose class is ruled out without it is so under every power: it says nothing of them
        return np.array([np.where(np.isneginf(logs), 0.0, logs) @ weight for logs in own])

    powers, scores = POWERS, scores_of(POWERS)
    while True:
        share = trust(powers) * np.exp(scores - scores.max())
        share /= share.sum()
        lower, higher = share[[0, -1]] > PREFERRED
        if not (lower or higher):
            return powers, share
        below = powers[0] / BEYOND[::-1] if lower else BEYOND[:0]
        above = powers[-1] * BEYOND if higher else BEYOND[:0]
        powers = np.concatenate([below, powers, above])
        scores = np.concatenate([scores_of(below), scores, scores_of(above)])


def tempered(log_classes: LogClasses, log_joint: Joint, power: float) -> Joint:
    """Return log P(y = k given x), proportional to P(k) p(x given k)^power.

    A row impossible under every class has the class prior.
    """
    possible = np.isfinite(log_joint)
    ratio = np.where(possible, log_joint, 0.0) - np.where(possible, log_classes, 0.0)
    out = np.where(possible, log_classes + power * ratio, -np.inf)
    out = np.where(possible.any(axis=1, keepdims=True), out, log_classes)
    out = out - out.max(axis=1, keepdims=True)
    return out - np.logaddexp.reduce(out, axis=1, keepdims=True)


@dataclasses.dataclass(frozen=True, eq=False)
class PowerPosterior(Posterior):
    """Another posterior whose likelihood counts to a power, averaged over powers.

    P(y = k given x) is the weighted mean over powers eta of P(k) p(x given k)^eta, normalised.
    p(x), and with it every density, stays that of the other posterior.

    base: the posterior. powers, weights: shape (power,), weights summing to one.
    """

    base: Posterior
    powers: Powers
    weights: Powers

    @property
    def point(self) -> bool:
        """Whether this is a point estimate."""
        return self.base.point

    @property
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block."""
        return self.base.families

    @property
    def power(self) -> float:
        """Return the geometric mean of the powers."""
        return float(np.exp(self.weights @ np.log(self.powers)))

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log of the tempered class probabilities."""
        joint = self.base.log_joint(encoded, n_rows)
        density = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        classes = self.log_classes()[None]
        with np.errstate(divide="ignore"):
            parts = [
                np.log(weight) + tempered(classes, joint, power)
                for power, weight in zip(self.powers, self.weights, strict=True)
            ]
        return density + np.logaddexp.reduce(parts, axis=0)

    def is_marginal(self, encoded: Encoded, n_rows: int) -> Bool[np.ndarray, " row"]:
        """Return for which rows the other posterior integrates over missing values."""
        return self.base.is_marginal(encoded, n_rows)

    @property
    def caveat(self) -> str:
        """What the other posterior does not answer exactly."""
        return self.base.caveat

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data), shape (class,)."""
        return self.base.log_classes()

    def with_classes(self, classes: ClassPrior) -> "PowerPosterior":
        """Return the same posterior under another class prior."""
        return dataclasses.replace(self, base=self.base.with_classes(classes))

    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Yield the other posterior's draws, each to one of the powers, in turn by weight."""
        prior = self.log_classes()
        for rows, probs, weight in self.base.class_draws(encoded, n_rows):
            place = (np.arange(len(probs)) * 0.6180339887498949) % 1  # evenly spread, in no order
            which = np.searchsorted(self.weights.cumsum()[:-1], place)
            with np.errstate(divide="ignore"):
                flat = np.log(probs)
            power = self.powers[which][:, None, None]
            logs = prior + power * (flat - np.where(np.isfinite(prior), prior, 0.0))
            logs -= np.logaddexp.reduce(logs, axis=2, keepdims=True)
            yield rows, np.exp(logs), weight

    def shifted(self, origin: dict[str, np.ndarray]) -> "PowerPosterior":
        """Return the posterior in the user's own units."""
        return dataclasses.replace(self, base=self.base.shifted(origin))

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, dict[str, np.ndarray]]:
        """Return n draws of all parameters of the story, which no power changes."""
        return self.base.parameters(rng, n)
