"""Power (tempered) posteriors: the likelihood to a power, because features repeat each other.

A row of p dependent features says less than p independent ones, and a story that treats them as
independent counts the same evidence several times. Raising p(x given y) to a power eta between 0
and 1 counts it less; the class prior stays as it is (the coarsened likelihood of Miller and Dunson
2019, Journal of the American Statistical Association 114, 1113-1125, by class).
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

from bayesgen.arguments import is_number
from bayesgen.classes import ClassPrior
from bayesgen.errors import InvalidArgument
from bayesgen.inference.posterior import (
    ClassDraws,
    DrawsPosterior,
    Imputed,
    LogClasses,
    LogJointDraws,
    Posterior,
)
from bayesgen.likelihoods import Likelihood
from bayesgen.typing import Encoded, Joint, Labels, Params, Weights

POWERS = np.concatenate([np.geomspace(0.1, 1.0, 24), np.geomspace(1.0, 2.0, 8)[1:]])
"""The powers that are averaged over, unless rows ask for others: evenly spaced logarithms."""
BEYOND = 10 ** (np.arange(1, 8) / 23)
"""What an end is multiplied or divided by to go on, as evenly: to about twice or half of it."""
PREFERRED = 0.01
"""Share of the weight from which the first or last power is preferred, and others lie beyond it.
Few rows, which hardly tell a power of 0.1 from one of 0.2, keep to those above."""

Powers = Float[np.ndarray, " power"]


def trust(powers: Powers) -> Powers:
    """Return the prior weights of powers, highest for the story as it is.

    Stories seldom count too little, so that many rows have to ask for powers above 1.
    """
    return np.where(powers <= 1, powers, powers**-4)


def learned_powers(
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
        own = [power_log_proba(log_classes, log_joint, power)[rows, y] for power in powers]
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


def stated_powers(power: object) -> tuple[Powers, Powers]:
    """Return one power, the argument temper= of a user, and its weight, 1.

    Raises:
        InvalidArgument: no number above 0.
    """
    if not (is_number(power) and power > 0):
        raise InvalidArgument.out_of_range(
            "temper", power, "None, 'learn' or a power above 0", "Pass temper='learn'."
        )
    return np.array([float(power)]), np.ones(1)


def power_log_proba(log_classes: LogClasses, log_joint: Joint, power: float) -> Joint:
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
    def closed(self) -> bool:
        """Whether the model has a closed form."""
        return self.base.closed

    @property
    def power(self) -> float:
        """The geometric mean of the powers."""
        return float(np.exp(self.weights @ np.log(self.powers)))

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the mean of those given a cell more: no."""
        return False

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log of the tempered class probabilities."""
        return self.log_joint_from(self.log_classes()[None], self.base.log_joint(encoded, n_rows))

    def log_joint_from(self, log_classes: LogClasses, joint: Joint) -> Joint:
        """Return the log joint of the same density and tempered class probabilities."""
        density = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        return density + self.log_proba(log_classes, joint)

    def log_proba(self, log_classes: LogClasses, joint: Joint) -> Joint:
        """Return the log of the mean over powers of tempered class probabilities."""
        with np.errstate(divide="ignore"):
            parts = [
                np.log(weight) + power_log_proba(log_classes, joint, power)
                for power, weight in zip(self.powers, self.weights, strict=True)
            ]
        return np.logaddexp.reduce(parts, axis=0)

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
            with np.errstate(divide="ignore"):
                flat = np.log(probs)
            power = self._dealt_powers(len(probs))[:, None, None]
            logs = prior + power * (flat - np.where(np.isfinite(prior), prior, 0.0))
            logs -= np.logaddexp.reduce(logs, axis=2, keepdims=True)
            yield rows, np.exp(logs), weight

    def _dealt_powers(self, n: int) -> Float[np.ndarray, " draw"]:
        """Return a power for each of n draws, by their weight."""
        place = (np.arange(n) * 0.6180339887498949) % 1  # evenly spread, in no order
        return self.powers[np.searchsorted(self.weights.cumsum()[:-1], place)]

    def shifted(self, origin: dict[str, np.ndarray]) -> "PowerPosterior":
        """Return the posterior in the user's own units."""
        return dataclasses.replace(self, base=self.base.shifted(origin))

    def normal_centre(self, block: str) -> Params:
        """Return the centre of the other posterior."""
        return self.base.normal_centre(block)

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Refuse where the other posterior does."""
        self.base.require_leave_one_out(what, otherwise)

    # -- draws and missing cells: no power changes a density of rows, and so no draw --------------

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters of the other posterior."""
        return self.base.parameters(rng, n)

    def as_draws(self, rng: np.random.Generator, n: int) -> DrawsPosterior:
        """Return the other posterior as draws."""
        return self.base.as_draws(rng, n)

    def log_joint_draws(self, rng: np.random.Generator, n: int) -> LogJointDraws:
        """Return the log joint given every draw, to one of the powers, in turn by weight."""
        found = self.base.log_joint_draws(rng, n)
        powers = found.powers * self._dealt_powers(found.n_draws)
        return dataclasses.replace(found, powers=powers)

    def thinned_log_joint_draws(self, rng: np.random.Generator, n: int) -> LogJointDraws:
        """Return the same of exactly n draws."""
        found = self.base.thinned_log_joint_draws(rng, n)
        return dataclasses.replace(found, powers=found.powers * self._dealt_powers(n))

    def reads(self, block: str, j: int) -> bool:
        """Return whether the fit kept anything of a column."""
        return self.base.reads(block, j)

    def kept_levels(self, block: str, j: int, n_levels: int, n_columns: int) -> np.ndarray:
        """Return which levels of a column the fit kept."""
        return self.base.kept_levels(block, j, n_levels, n_columns)

    def dependent_cells(self, block: str) -> object | None:
        """Return a key that the columns share which depend on each other given the class."""
        return self.base.dependent_cells(block)

    def require_imputable(self, block: str) -> None:
        """Refuse what the other posterior refuses."""
        self.base.require_imputable(block)

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Draw missing cells from the other posterior."""
        return self.base.impute(encoded, n_rows, rng, own)

    def stratified_imputations(
        self, encoded: Encoded, n_rows: int, draws: int, rng: np.random.Generator
    ) -> tuple[Imputed, np.ndarray]:
        """Return many imputations of each row by the other posterior."""
        return self.base.stratified_imputations(encoded, n_rows, draws, rng)
