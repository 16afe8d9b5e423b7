"""Stacking: several posteriors of one table, weighed by what they say of rows they have not seen.

Source: Wolpert (1992), Neural Networks 5, 241-259; Yao, Vehtari, Simpson and Gelman (2018),
Bayesian Analysis 13, 917-1007.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.inference.posterior import ClassDraws, Posterior
from bayesgen.likelihoods import Likelihood
from bayesgen.typing import Encoded, Joint, Traceable, Weights

PRIOR_ROWS = 2.0
"""Rows that even weights are worth. With 1 to 4 the mean log loss of 14 tables is flat at any size;
2 is best with 24 rows, where single weights come from little."""
EM_STEPS = 1000
TOLERANCE = 1e-9
FEWEST_DRAWS = 50
"""Draws of a member whose weight asks for fewer."""


def weights_of(
    log_proba: Float[np.ndarray, "member row"], weight: Weights
) -> Float[np.ndarray, " member"]:
    """Return the mode of sum_i weight_i log sum_m w_m P_m(y_i) + (2/M) sum_m log w_m, by EM.

    That is a Dirichlet(1 + 2/M) prior, worth two rows in all: no member is ever quite left out.

    Args:
        log_proba: log P_m(y_i given x_i, the rows without i); -inf where a member rules it out.
        weight: of the rows.
    """
    size = len(log_proba)
    with np.errstate(invalid="ignore"):
        odds = np.exp(log_proba - log_proba.max(axis=0))
    odds = np.where(np.isnan(odds), 1.0, odds)  # a row that every member rules out says nothing
    out = np.full(size, 1 / size)
    for _ in range(EM_STEPS):
        mixed = out @ odds
        share = out * (odds @ (weight / mixed)) + PRIOR_ROWS / size
        share /= share.sum()
        moved, out = np.abs(share - out).max(), share
        if moved < TOLERANCE:
            break
    return out


def stacked(log_proba: Float[np.ndarray, "member row class"], weights: np.ndarray) -> Joint:
    """Return log of the weighted mean of class probabilities, shape (row, class)."""
    return np.logaddexp.reduce(np.log(weights)[:, None, None] + log_proba, axis=0)


@dataclasses.dataclass(frozen=True, eq=False)
class Stacked(Posterior):
    """A weighted mean of the class probabilities of several posteriors.

    P(y = k given x) = sum over members of weight times P_member(y = k given x); p(x) is the mean of
    those members whose densities are over the same columns (`densities`).

    Rows come encoded for each member, under "member/block".
    """

    members: dict[str, Posterior]
    weights: Float[np.ndarray, " member"]
    densities: tuple[bool, ...]

    @property
    def point(self) -> bool:
        """Whether every member is a point estimate."""
        return all(member.point for member in self.members.values())

    @property
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block of each member."""
        return {
            f"{name}/{block}": family
            for name, member in self.members.items()
            for block, family in member.families.items()
        }

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log of the mean class probabilities."""
        rows = self.by_member(encoded)
        joints = np.stack([m.log_joint(rows[name], n_rows) for name, m in self.members.items()])
        density = np.logaddexp.reduce(joints, axis=2)
        impossible = np.isneginf(density)
        classes = np.stack([m.log_classes() for m in self.members.values()])[:, None]
        shifted = joints - np.where(impossible, 0.0, density)[..., None]
        proba = stacked(np.where(impossible[..., None], classes, shifted), self.weights)
        same = np.array(self.densities)
        share = np.log(self.weights[same] / self.weights[same].sum())
        return np.logaddexp.reduce(share[:, None] + density[same], axis=0)[:, None] + proba

    def by_member(self, encoded: Encoded) -> dict[str, dict[str, Traceable]]:
        """Return what each member reads of rows that are encoded for all of them."""
        starts = {name: f"{name}/" for name in self.members}
        return {
            name: {k[len(start) :]: v for k, v in encoded.items() if k.startswith(start)}
            for name, start in starts.items()
        }

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return the log of the mean of P(y = k given data), shape (class,)."""
        logs = np.stack([member.log_classes() for member in self.members.values()])
        return np.logaddexp.reduce(np.log(self.weights)[:, None] + logs, axis=0)

    def with_classes(self, classes: ClassPrior) -> "Stacked":
        """Return the same members under another class prior."""
        members = {name: member.with_classes(classes) for name, member in self.members.items()}
        return dataclasses.replace(self, members=members)

    def class_draws(self, encoded: Encoded, n_rows: int) -> Iterator[ClassDraws]:
        """Yield the draws of all members, each with its member's weight."""
        size = len(self.log_classes())
        parts = []
        rows = self.by_member(encoded)
        for (name, member), weight in zip(self.members.items(), self.weights, strict=True):
            part = _every_row(_fewer(member, weight), rows[name], n_rows, size)
            parts.append((part[0], weight * part[1]))
        probs = np.concatenate([probs for probs, _ in parts])
        yield np.arange(n_rows), probs, np.concatenate([weight for _, weight in parts])

    def moved(self, origin: dict[str, np.ndarray]) -> "Stacked":
        """Return the members in the user's own units; origin by "member/block"."""
        own = self.by_member(origin)
        members = {name: member.moved(own[name]) for name, member in self.members.items()}
        return dataclasses.replace(self, members=members)

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, dict[str, np.ndarray]]:
        """Return n draws of all members' parameters, by "member/owner"."""
        return {
            f"{name}/{owner}": params
            for name, member in self.members.items()
            for owner, params in member.parameters(rng, n).items()
        }


def _fewer(member: Posterior, weight: float) -> Posterior:
    """Return a member with as many draws as its weight asks for, if their number is free."""
    draws = getattr(member, "draws", None)
    if draws is None:
        return member
    wanted = max(FEWEST_DRAWS, math.ceil(weight * draws))
    return dataclasses.replace(member, draws=min(draws, wanted))


def _every_row(
    member: Posterior, encoded: Encoded, n_rows: int, n_classes: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return (draw, row, class) probabilities and (draw, row) weights of all rows."""
    probs, weights = np.empty((0, n_rows, n_classes)), np.empty((0, n_rows))
    for rows, part, weight in member.class_draws(encoded, n_rows):
        if len(probs) == 0:
            probs, weights = np.empty((len(part), n_rows, n_classes)), np.empty((len(part), n_rows))
        probs[:, rows], weights[:, rows] = part, weight
    return probs, weights
