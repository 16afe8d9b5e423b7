"""A weighted mean of closed-form posteriors of one model, given different statistics."""

import dataclasses
import math
from collections.abc import Iterator, Sequence

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.inference.class_draws import ClassDraws, PartWeights, joined
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.components import (
    DENSITY_FLOATS,
    Components,
    Imputed,
    LogJointDraws,
    picked,
    take_rows,
)
from bayesgen.inference.draws import as_draws
from bayesgen.inference.scores import Scores, class_probabilities, log_class_probabilities
from bayesgen.inference.stacking import dealt, stacked
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import row_chunks
from bayesgen.typing import Encoded, Joint, Labels, Params


def averaged_scores(scores: Sequence[Scores], weights: Float[np.ndarray, " member"]) -> Scores:
    """Return the scores of a weighted mean of class probabilities, and of densities by part."""
    if len(scores) == 1:
        return scores[0]
    shape = scores[0].joint.shape
    log_classes = [np.broadcast_to(member.log_classes, shape) for member in scores]
    log_proba = [log_class_probabilities(member.joint, member.log_classes) for member in scores]
    density = np.stack([np.logaddexp.reduce(member.joint, axis=1) for member in scores])
    joint = stacked(density[..., None], weights) + stacked(np.stack(log_proba), weights)
    logs = np.log(weights)[:, None, None, None]
    parts = np.logaddexp.reduce(logs + np.stack([member.parts for member in scores]), axis=0)
    return Scores(joint, stacked(np.stack(log_classes), weights), parts)


@dataclasses.dataclass(frozen=True, eq=False)
class Average(Components):
    """A weighted mean of the class probabilities, and of the densities, of several closed forms.

    members: posteriors of one model over the same columns. weights: of the members.
    """

    members: tuple[ClosedForm, ...]
    weights: Float[np.ndarray, " member"]

    @property
    def heaviest(self) -> ClosedForm:
        """The member of largest weight."""
        return self.members[int(np.argmax(self.weights))]

    @property
    def families(self) -> dict[str, Likelihood]:
        """The updated likelihoods of the heaviest member."""
        return self.heaviest.families

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the expectation of those given one more cell: no."""
        return False

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log of the mean class probabilities."""
        return self.scores(encoded, n_rows).joint

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint, and the log of the mean density of each block."""
        scores = [member.scores(encoded, n_rows) for member in self.members]
        return averaged_scores(scores, self.weights)

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return the log of the mean of P(y = k given data), shape (class,)."""
        logs = np.stack([member.log_classes() for member in self.members])
        return np.logaddexp.reduce(np.log(self.weights)[:, None] + logs, axis=0)

    def with_classes(self, classes: ClassPrior) -> "Average":
        """Return the same members under another class prior."""
        members = tuple(member.with_classes(classes) for member in self.members)
        return dataclasses.replace(self, members=members)

    def shifted(self, origin: dict[str, np.ndarray]) -> "Average":
        """Return the members in the user's own units."""
        members = tuple(member.shifted(origin) for member in self.members)
        return dataclasses.replace(self, members=members)

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Raise if a member does."""
        for member in self.members:
            member.require_leave_one_out(what, otherwise)

    # -- draws -------------------------------------------------------------------------------------

    def with_draws(self, n: int) -> "Average":
        """Return the same with at most about n draws, dealt to the members by weight."""
        pairs = zip(self.members, self.weights.tolist(), strict=True)
        members = tuple(member.with_draws(math.ceil(n * share)) for member, share in pairs)
        return dataclasses.replace(self, members=members)

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield the draws of all members, each with its member's weight."""
        ends = np.cumsum([member.draws for member in self.members])
        weights_of_members: list[PartWeights | None] = [None] * len(ends)
        if weights is not None:
            drawn = np.split(weights(int(ends[-1])), ends[:-1])
            weights_of_members = [lambda n, share=share: share[:n] for share in drawn]
        width = int(ends[-1]) * len(self.log_classes())
        for chunk in row_chunks(n_rows, max(1, DENSITY_FLOATS // width)):
            chunk_rows, rows = take_rows(encoded, chunk), np.arange(n_rows)[chunk]
            samples = [
                joined(member.class_draws(chunk_rows, len(rows), weights=part_weights))
                for member, part_weights in zip(self.members, weights_of_members, strict=True)
            ]
            weighted = zip(samples, self.weights, strict=True)
            weight = np.concatenate([share * sample.weight for sample, share in weighted])
            probs = np.concatenate([sample.probs for sample in samples])
            logits = np.concatenate([sample.logits for sample in samples])
            yield ClassDraws(rows, probs, weight, logits)

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters, by owner, of each member as many as its weight says."""
        counts, order = dealt(self.weights, n), rng.permutation(n)
        draws = [
            member.parameters(rng, int(count))
            for member, count in zip(self.members, counts, strict=True)
            if count
        ]
        return {
            owner: {
                name: np.concatenate([sample[owner][name] for sample in draws])[order]
                for name in params
            }
            for owner, params in draws[0].items()
        }

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given each of n draws."""
        return as_draws(self, rng, n).log_joint_draws(rng, n, exactly=exactly)

    # -- missing cells -----------------------------------------------------------------------------

    def dependent_cells(self, block: str) -> object | None:
        """Return one key: in a mean of posteriors every cell depends on all others."""
        return "average" if len(self.members) > 1 else super().dependent_cells(block)

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Impute every row by one member, drawn by weight times p(observed cells given data)."""
        joint = np.stack(
            [candidate.log_joint(encoded, n_rows) for candidate in self.members], axis=1
        )
        logs = np.log(self.weights)[:, None] + joint
        if own is not None:
            logs = logs[np.arange(n_rows), :, own][..., None]
        likely = np.logaddexp.reduce(logs, axis=2)
        never = np.isneginf(likely).all(axis=1, keepdims=True)
        likely = np.where(never, np.log(self.weights), likely)
        member = picked(class_probabilities(likely, np.log(self.weights)), rng.random((n_rows, 1)))
        out = {name: x.copy() for name, x in encoded.items()}
        for i, candidate in enumerate(self.members):
            places = np.flatnonzero(member == i)
            if len(places):
                labels = None if own is None else own[places]
                filled = candidate.impute(take_rows(encoded, places), len(places), rng, labels)
                for block, x in filled.items():
                    out[block][places] = x
        return out
