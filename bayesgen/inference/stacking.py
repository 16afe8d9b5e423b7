"""Stacking: several posteriors of one table, weighed by what they say of rows they have not seen.

Source: Wolpert (1992), Neural Networks 5, 241-259; Yao, Vehtari, Simpson and Gelman (2018),
Bayesian Analysis 13, 917-1007.
"""

import dataclasses
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float

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
    log_proba: Float[np.ndarray, "member row"],
    weight: Weights,
    able: Bool[np.ndarray, "row member"] | None = None,
) -> Float[np.ndarray, " member"]:
    """Return the mode of sum_i weight_i log sum_m s_im P_m(y_i) + (2/M) sum_m log w_m.

    s_i are the weights of the members that can answer row i, normalized (`shares`). The prior is
    Dirichlet(1 + 2/M), two rows in all: no member is ever quite left out. Where all members answer
    all rows the steps are those of EM; otherwise minus the log of a sum of weights is bounded by
    its tangent (Hunter 2004, Annals of Statistics 32, 384-406).

    Args:
        log_proba: log P_m(y_i given x_i, the rows without i); -inf where a member rules it out.
        weight: of the rows.
        able: which members can answer a row; None: all.
    """
    size = len(log_proba)
    heard = np.ones(log_proba.shape, dtype=bool) if able is None else _heard(able).T
    said = np.where(heard, log_proba, -np.inf)
    with np.errstate(invalid="ignore"):
        odds = np.exp(said - said.max(axis=0))
    odds = np.where(np.isnan(odds), heard, odds)  # a row that every member rules out says nothing
    out = np.full(size, 1 / size)
    for _ in range(EM_STEPS):
        share = out * (odds @ (weight / (out @ odds))) + PRIOR_ROWS / size
        share /= heard @ (weight / (out @ heard)) + PRIOR_ROWS
        share /= share.sum()
        moved, out = np.abs(share - out).max(), share
        if moved < TOLERANCE:
            break
    return out


def shares(
    weights: Float[np.ndarray, " member"], able: Bool[np.ndarray, "row member"]
) -> Float[np.ndarray, "row member"]:
    """Return the weights of the members that can answer a row, of all where none can."""
    out = _heard(able) * weights
    return out / out.sum(axis=1, keepdims=True)


def _heard(able: Bool[np.ndarray, "row member"]) -> Bool[np.ndarray, "row member"]:
    return able | ~able.any(axis=1, keepdims=True)


def stacked(
    log_proba: Float[np.ndarray, "member row class"], share: Float[np.ndarray, "row member"]
) -> Joint:
    """Return log of the weighted mean of class probabilities, shape (row, class)."""
    with np.errstate(divide="ignore"):
        return np.logaddexp.reduce(np.log(share).T[..., None] + log_proba, axis=0)


@dataclasses.dataclass(frozen=True, eq=False)
class Stacked(Posterior):
    """A weighted mean of the class probabilities of several posteriors.

    P(y = k given x) = sum over members of weight times P_member(y = k given x); p(x) is the mean of
    those members whose densities are over the same columns (`densities`). Of a row with missing
    values only members speak that integrate over them, if there is one.

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
        able, same = self.able(encoded, n_rows), np.array(self.densities)
        share = shares(self.weights, able)
        proba = stacked(np.where(impossible[..., None], classes, shifted), share)
        share = shares(self.weights[same], able[:, same])
        return stacked(density[same][..., None], share) + proba

    def able(self, encoded: Encoded, n_rows: int) -> Bool[np.ndarray, "row member"]:
        """Return which members integrate over the missing values of a row."""
        rows = self.by_member(encoded)
        each = [m.is_marginal(rows[name], n_rows) for name, m in self.members.items()]
        return np.stack(each, axis=1)

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
        rows, share = self.by_member(encoded), shares(self.weights, self.able(encoded, n_rows))
        for i, (name, member) in enumerate(self.members.items()):
            part = _every_row(_fewer(member, self.weights[i]), rows[name], n_rows, size)
            parts.append((part[0], share[:, i] * part[1]))
        probs = np.concatenate([probs for probs, _ in parts])
        yield np.arange(n_rows), probs, np.concatenate([weight for _, weight in parts])

    def shifted(self, origin: dict[str, np.ndarray]) -> "Stacked":
        """Return the members in the user's own units; origin by "member/block"."""
        own = self.by_member(origin)
        members = {name: member.shifted(own[name]) for name, member in self.members.items()}
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
