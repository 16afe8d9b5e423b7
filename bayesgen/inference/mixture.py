"""Weighted models of the same rows: their mean, and draws and imputations by one of them at a time.

Members of an `Average` are one model given different statistics, so they have blocks in common, and
these are its parts; those of a `Mixture`, a stack, are different models, each of which is a part.
"""

import abc
import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar, cast

import numpy as np
from jaxtyping import Float, Int

from bayesgen.classes import ClassPrior
from bayesgen.inference.class_draws import (
    CACHED_FLOATS,
    ClassDraws,
    PartWeights,
    joined,
    no_logits,
)
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
from bayesgen.inference.posterior import Posterior
from bayesgen.inference.readouts import BAYES, Readout
from bayesgen.inference.scores import Scores, add_weighed, class_probabilities, likelihood_of
from bayesgen.inference.stacking import dealt, stacked
from bayesgen.inference.weighted_quantiles import evenly, taken
from bayesgen.interactions import Term
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.selection import Selection
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.likelihoods.weighted import shuffled
from bayesgen.typing import Encoded, Joint, Labels, Params, Parts, Traceable

W = TypeVar("W", bound="Weighted")

DRAWS, FEWEST_DRAWS = 1000, 50
"""Draws of all members together, and of a member at least, however small its weight."""
PART_DRAWS = 100
"""Draws of every member in addition to a log-linear pool: the ends of an interval of 90 % then have
a standard error of .02 in probability."""
SMALL, FEW_DRAWS = 0.05, 20
"""Weight of a member below which it has so many draws instead: in the mean, if its weight there is
below, and at all, if that in the pool is too. On seven tables the mean width of intervals changes
by -2 to .4 %, ends by .002 to .014 (root mean square); other draws move them by .007 to .03."""
NEGLIGIBLE = 0.02
"""Weight of a member, both in the mean and in the pool, below which its prediction alone serves."""
IMPROBABLE = 0.001
"""Probability of a member below which no draw of it stands among those of the mean."""
CENTERINGS = 2
"""Times that draws are moved towards the mean: a probability of .3 is then off by .001 or so."""
DRAWN_FLOATS = 3_000_000
"""Log densities of draws held at once: 24 MB."""


@dataclasses.dataclass(frozen=True, eq=False)
class MemberScores:
    """What one member says of rows, which it may not have been fitted to.

    scores: of the rows. readout: how these become its class probabilities.
    """

    scores: Scores
    readout: Readout = BAYES

    @functools.cached_property
    def log_proba(self) -> Joint:
        """Log P(y = k given x), (row, class)."""
        return self.readout.log_proba(self.scores)

    def under_classes(self, log_classes: Float[np.ndarray, " class"]) -> "MemberScores":
        """Return the same under other class probabilities; log_classes: log P(y = k)."""
        return dataclasses.replace(self, scores=self.scores.under_classes(log_classes))


def mean_scores(
    members: Sequence[MemberScores],
    weights: Float[np.ndarray, " member"],
    densities: Sequence[bool],
    parts: Sequence[Parts] = (),
) -> Scores:
    """Return the scores of a weighted mean of class probabilities; its parts are the members.

    densities: of which members p(x) is the weighted mean. parts: further ones.
    """
    log_proba = np.stack([member.log_proba for member in members])
    shape, dense = log_proba.shape[1:], np.array(densities)
    log_classes = np.stack([np.broadcast_to(m.scores.log_classes, shape) for m in members])
    log_density = np.stack([log_sum_exp(m.scores.joint) for m in members])[..., None]
    # a member that rules out every class of a row says nothing of it
    log_proba = np.where(np.isneginf(log_density), log_classes, log_proba)
    log_mean = stacked(log_density[dense], weights[dense] / weights[dense].sum())
    of_members = np.stack([*map(likelihood_of, log_proba, log_classes)], axis=1)
    return Scores(
        log_mean + stacked(log_proba, weights),
        stacked(log_classes, weights),
        np.concatenate([of_members, *parts], axis=1),
    )


def averaged_scores(scores: Sequence[Scores], weights: Float[np.ndarray, " member"]) -> Scores:
    """Return the scores of a weighted mean of models that have their parts in common."""
    if len(scores) == 1:
        return scores[0]
    logs = np.log(weights)[:, None, None, None] + np.stack([member.parts for member in scores])
    mean = mean_scores([MemberScores(one) for one in scores], weights, [True] * len(scores))
    return dataclasses.replace(mean, parts=np.logaddexp.reduce(logs, axis=0))


@dataclasses.dataclass(frozen=True, eq=False)
class Weighted(Components):
    """A weighted mean of the class probabilities of several posteriors.

    P(y = k given x) = sum over members of weight times P_member(y = k given x).

    members: by name. weights: of the members.
    """

    members: dict[str, Posterior]
    weights: Float[np.ndarray, " member"]

    @property
    def point(self) -> bool:
        """Whether every member is a point estimate."""
        return all(member.point for member in self.members.values())

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the expectation of those given one more cell: no."""
        return False

    @property
    def shares(self) -> dict[str, float]:
        """The weight of each member."""
        return dict(zip(self.members, self.weights.tolist(), strict=True))

    @property
    def imputing(self) -> list[str]:
        """The members that can draw missing cells: all."""
        return list(self.members)

    @abc.abstractmethod
    def key(self, name: str, block: str) -> str:
        """Return the name of a member's block among those of all members."""

    @abc.abstractmethod
    def by_member(self, encoded: Encoded) -> dict[str, dict[str, Traceable]]:
        """Return the rows of each member from rows encoded for all of them."""

    def each(self: W, change: Callable[[str, Posterior], Posterior]) -> W:
        """Return a copy with every member changed; change: of a name and a member."""
        members = {name: change(name, member) for name, member in self.members.items()}
        return dataclasses.replace(self, members=members)

    def with_classes(self: W, classes: ClassPrior) -> W:
        """Return the same members under another class prior."""
        return self.each(lambda _, member: member.with_classes(classes))

    def shifted(self: W, origin: dict[str, np.ndarray]) -> W:
        """Return the members in the user's own units."""
        origins = self.by_member(origin)
        return self.each(lambda name, member: member.shifted(origins[name]))

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Raise if a member does."""
        for member in self.members.values():
            member.components.require_leave_one_out(what, otherwise)

    # -- probabilities -----------------------------------------------------------------------------

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log of the mean class probabilities."""
        return self.scores(encoded, n_rows).joint

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return the log of the mean of P(y = k given data), shape (class,)."""
        logs = np.log(self.weights)[:, None] + self.members_log_classes
        return np.logaddexp.reduce(logs, axis=0)

    @functools.cached_property
    def members_log_classes(self) -> Float[np.ndarray, "member class"]:
        """Log P(y = k given data) of each member."""
        return np.stack([member.log_classes() for member in self.members.values()])

    # -- missing cells -----------------------------------------------------------------------------

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Impute every row by one member.

        A member is drawn with probability proportional to its weight times p(observed cells given
        data) under it, and given the class if it is stated. What other members read stays.
        """
        likely = self.likely_imputers(encoded, n_rows, own)
        return self.imputed_by(picked(likely, rng.random((n_rows, 1))), encoded, rng, own)

    def likely_imputers(
        self, encoded: Encoded, n_rows: int, own: Labels | None = None
    ) -> Float[np.ndarray, "row member"]:
        """Return the probability of each of the members that impute, given observed cells."""
        rows = self.by_member(encoded)
        joints = [self.members[name].log_joint(rows[name], n_rows) for name in self.imputing]
        joint = np.stack(joints, axis=1)
        if own is not None:
            joint = joint[np.arange(n_rows), :, own][..., None]
        log_share = np.log([self.shares[name] for name in self.imputing])
        return class_probabilities(np.logaddexp.reduce(joint, axis=2) + log_share, log_share)

    def imputed_by(
        self,
        member: Int[np.ndarray, " row"],
        encoded: Encoded,
        rng: np.random.Generator,
        own: Labels | None = None,
    ) -> Imputed:
        """Return rows, each filled in by one of the members that impute."""
        out, rows = dict(encoded), self.by_member(encoded)
        for i, name in enumerate(self.imputing):
            at = np.flatnonzero(member == i)
            if not len(at):
                continue
            components, labels = self.members[name].components, None if own is None else own[at]
            filled = components.impute(take_rows(rows[name], at), len(at), rng, labels)
            for key, x in ((self.key(name, block), x) for block, x in filled.items()):
                if out[key] is encoded[key]:
                    out[key] = encoded[key].copy()
                out[key][at] = x
        return out


@dataclasses.dataclass(frozen=True, eq=False)
class Average(Weighted):
    """A weighted mean of closed forms of one model, given different statistics.

    The density of a block, as that of a row, is the mean of those of the members.
    """

    @property
    def families(self) -> dict[str, Likelihood]:
        """The updated likelihoods of the heaviest member."""
        return list(self.members.values())[int(np.argmax(self.weights))].families

    def key(self, name: str, block: str) -> str:
        """Return the name of the block, which all members read."""
        return block

    def by_member(self, encoded: Encoded) -> dict[str, dict[str, Traceable]]:
        """Return the rows, which all members read."""
        return {name: dict(encoded) for name in self.members}

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint, and the log of the mean density of each block."""
        scores = [member.scores(encoded, n_rows) for member in self.members.values()]
        return averaged_scores(scores, self.weights)

    def with_draws(self, n: int) -> "Average":
        """Return the same with at most about n draws, dealt to the members by weight."""
        return self.each(lambda name, one: one.with_draws(math.ceil(n * self.shares[name])))

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield the draws of all members, each with its member's weight."""
        closed = [cast(ClosedForm, member.components) for member in self.members.values()]
        ends = np.cumsum([member.draws for member in closed])
        of_parts: list[PartWeights | None] = [None] * len(ends)
        if weights is not None:
            drawn = np.split(weights(int(ends[-1])), ends[:-1])
            of_parts = [lambda n, share=share: share[:n] for share in drawn]
        width = int(ends[-1]) * len(self.log_classes())
        for part in row_chunks(n_rows, max(1, DENSITY_FLOATS // width)):
            rows, chunk = np.arange(n_rows)[part], take_rows(encoded, part)
            pairs = zip(closed, of_parts, strict=True)
            each = [one.class_draws(chunk, len(rows), weights=share) for one, share in pairs]
            yield _weighed(self.weights, rows, [*map(joined, each)])

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters, by owner, of each member as many as its weight says."""
        counts, order = dealt(self.weights, n).tolist(), rng.permutation(n)
        draws = [
            member.components.parameters(rng, count)
            for member, count in zip(self.members.values(), counts, strict=True)
            if count
        ]
        return {owner: shuffled([each[owner] for each in draws], order) for owner in draws[0]}

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given each of n draws."""
        return as_draws(self, rng, n).log_joint_draws(rng, n, exactly=exactly)

    def dependent_cells(self, block: str) -> object | None:
        """Return one key: in a mean of posteriors every cell depends on all others."""
        return "average" if len(self.members) > 1 else super().dependent_cells(block)


@dataclasses.dataclass(frozen=True, eq=False)
class Mixture(Weighted):
    """A weighted mean of posteriors of different models; p(x) is that of some (`densities`).

    Rows come encoded for each member, under "member/block".

    The weights are those of the best mean. Draws are of one member at a time, each as probable as
    it is to be nearest to the truth, and are moved together so that their mean is the prediction.

    densities: whether each member has a density over the same columns. imputers: whether each of
    these can draw missing cells. probabilities: of each member, that it is nearest to the truth.
    split: the members whose blocks are parts of their own in a log-linear pool, in addition to all
    members. terms: further parts of the pool, by the member whose rows they read. reads: of members
    that read the rows of another, its name.
    """

    probabilities: Float[np.ndarray, " member"]
    densities: tuple[bool, ...]
    imputers: tuple[bool, ...] = ()
    split: tuple[str, ...] = ()
    terms: Mapping[str, tuple[Term, ...]] = dataclasses.field(default_factory=dict)
    reads: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block of each member."""
        return {
            self.key(name, block): family
            for name, member in self.members.items()
            for block, family in member.families.items()
        }

    @property
    def imputing(self) -> list[str]:
        """The members that can draw missing cells."""
        return [*itertools.compress(self.members, self.imputers)]

    def key(self, name: str, block: str) -> str:
        """Return "member/block"."""
        return f"{name}/{block}"

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint; its parts are members, the blocks of split members, and terms."""
        rows = self.by_member(encoded)
        members = {
            name: MemberScores(member.scores(rows[name], n_rows), member.readout)
            for name, member in self.members.items()
        }
        return self.scores_from(members, self.of_terms(rows, lambda term, x: term.log_density(x)))

    def log_density(self, encoded: Encoded, n_rows: int) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), for which members without a density are not asked."""
        rows, dense = self.by_member(encoded), np.array(self.densities)
        names = itertools.compress(self.members, dense)
        logs = [self.members[name].log_density(rows[name], n_rows) for name in names]
        weights = self.weights[dense] / self.weights[dense].sum()
        return stacked(np.stack(logs)[..., None], weights)[:, 0]

    def scores_from(self, members: Mapping[str, MemberScores], terms: Sequence[Joint]) -> Scores:
        """Return the scores of rows from those of the members, by name, and of the terms."""
        parts = [members[name].scores.parts for name in self.split]
        parts += [term[:, None] for term in terms]
        return mean_scores(list(members.values()), self.weights, self.densities, parts)

    def of_terms(
        self, rows: Mapping[str, Encoded], say: Callable[[Term, Encoded], np.ndarray]
    ) -> list[np.ndarray]:
        """Return what each term says of rows; rows: by member."""
        return [say(term, rows[name]) for name, terms in self.terms.items() for term in terms]

    def by_member(self, encoded: Encoded) -> dict[str, dict[str, Traceable]]:
        """Return the rows of each member from rows encoded for all of them."""
        starts = {name: f"{self.reads.get(name, name)}/" for name in self.members}
        return {
            name: {k.removeprefix(start): v for k, v in encoded.items() if k.startswith(start)}
            for name, start in starts.items()
        }

    @functools.cached_property
    def groups(self) -> Mapping[int, Components]:
        """The mixture of each group of rows, -1 of a new one; none if rows have no groups."""
        by_member = {name: member.components.groups for name, member in self.members.items()}
        codes = next(iter(by_member.values()))
        return {
            code: self.each(
                lambda name, member, code=code: dataclasses.replace(
                    member, components=by_member[name][code]
                )
            )
            for code in codes
        }

    def density_shares(self, code: int | None) -> Float[np.ndarray, " member"]:
        """Return the probability that a simulated row, of class `code` if stated, is a member's."""
        share = self.weights * np.array(self.densities)
        if code is not None:
            of_class = share * np.exp(self.members_log_classes[:, code])
            share = of_class if of_class.sum() else share
        return share / share.sum()

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield the draws of all members, each with its member's probability, around their mean.

        With weights of the parts, of every member as many, paired by rank (`_paired_draws`).
        """
        size = len(self.members)
        draws = DRAWS + FEWEST_DRAWS * size if weights is None else PART_DRAWS * size
        for part in row_chunks(n_rows, max(1, DRAWN_FLOATS // (draws * len(self.log_classes())))):
            rows, chunk = np.arange(n_rows)[part], take_rows(encoded, part)
            if weights is None:
                yield self._unpaired_draws(chunk, rows)
            else:
                yield self._paired_draws(chunk, rows, weights(PART_DRAWS))

    def _unpaired_draws(self, encoded: Encoded, rows: Int[np.ndarray, " row"]) -> ClassDraws:
        """Return draws of all members, in proportion to their probabilities."""
        member_rows, samples = self.by_member(encoded), []
        for (name, member), share in zip(self.members.items(), self.probabilities, strict=True):
            posterior = member.with_draws(max(FEWEST_DRAWS, math.ceil(share * DRAWS)))
            samples.append(joined(posterior.class_draws(member_rows[name], len(rows))))
        draws = _weighed(self.probabilities, rows, samples)
        each = np.moveaxis(draws.probs, 0, -1)
        _center(each, draws.weight, self._mean(samples))
        return dataclasses.replace(draws, probs=np.moveaxis(each, -1, 0))

    def _mean(self, samples: Sequence[ClassDraws]) -> Float[np.ndarray, "row class"]:
        """Return the weighted mean of the members' probabilities."""
        means = [np.einsum("drk,dr->rk", sample.probs, sample.weight) for sample in samples]
        return np.einsum("m,mrk->rk", self.weights, means)

    def _paired_draws(
        self,
        encoded: Encoded,
        rows: Int[np.ndarray, " row"],
        weights: Float[np.ndarray, "draw part"],
    ) -> ClassDraws:
        """Return PART_DRAWS draws of each member, and the sums of weighted parts.

        Members describe the same rows, so their errors are alike, and independent draws would
        average them out: draws of all members go together by the rank of P(most probable class).
        Fitted to a Bayesian bootstrap of 200 rows of 4 columns, the log odds of two members
        correlate by .50 to .99, .74 on average, alike where the truth is naive, linear or
        quadratic; equal ranks take them as one, which is wider rather than narrower.

        A draw of the weights goes with one of the blocks of the member that is split, whose
        weighted sum then serves every row, and with the draws of the others that this one meets.
        """
        n, size = len(rows), len(self.members)
        draws = self._drawn(encoded, n, weights)
        mean = self._mean(draws)
        top = mean.argmax(axis=1)
        places = [
            evenly(sample.probs[:, np.arange(n), top], sample.weight, PART_DRAWS)
            for sample in draws
        ]
        log_classes = self.members_log_classes
        prior = np.where(np.isfinite(log_classes), log_classes, 0.0)[..., None]
        rng = np.random.default_rng(0)
        of_terms = self.of_terms(
            self.by_member(encoded), lambda term, x: term.draws(rng, PART_DRAWS)(x)
        )
        term_weights = weights.T[weights.shape[1] - len(of_terms) :]
        pairs, counts = self._kept_pairs
        share = np.repeat(self.probabilities / np.maximum(counts, 1), counts)
        share /= share.sum()
        probs = np.empty((n, log_classes.shape[1], len(pairs)))
        logits = np.zeros((n, log_classes.shape[1], PART_DRAWS))
        for part in row_chunks(n, max(1, CACHED_FLOATS // (log_classes.size * PART_DRAWS))):
            order = np.arange(PART_DRAWS)
            ranked = np.empty((*logits[part].shape[:2], size, PART_DRAWS))
            for i, (sample, place) in enumerate(zip(draws, places, strict=True)):
                at = place[part, None]
                ranked[:, :, i] = taken(np.moveaxis(sample.probs[:, part], 0, -1), at)
                if len(sample.logits):
                    order = at % PART_DRAWS
                    logits[part] += taken(np.moveaxis(sample.logits[:, part], 0, -1), at)
            np.take(
                ranked.reshape(*ranked.shape[:2], -1), pairs, axis=-1, out=probs[part], mode="clip"
            )
            _center(probs[part], share[:, None], mean[part])
            with np.errstate(divide="ignore"):
                logs = np.log(np.swapaxes(ranked, 1, 2), order="C")
            logs -= prior
            for i in range(size):
                add_weighed(logits[part], logs[:, i], weights[:, i][order])
            for term, weight in zip(of_terms, term_weights, strict=True):
                add_weighed(logits[part], term[part], weight)
        return ClassDraws(
            rows,
            np.moveaxis(probs, -1, 0),
            np.repeat(share[:, None], n, axis=1),
            np.moveaxis(logits, -1, 0),
            pairs % PART_DRAWS,
        )

    def _drawn(
        self, encoded: Encoded, n: int, weights: Float[np.ndarray, "draw part"]
    ) -> list[ClassDraws]:
        """Return draws of each member, with the weighted sum of the blocks of one that is split.

        Those of little weight have few draws, or their prediction alone.
        """
        rows, start, out = self.by_member(encoded), len(self.members), []
        mean = np.abs(weights[:, :start].mean(axis=0))
        for (name, member), weight in zip(
            self.members.items(), np.maximum(self.probabilities, mean), strict=True
        ):
            posterior, of_blocks = member.with_draws(PART_DRAWS), None
            if name in self.split:
                stop = start + len(member.families)
                of_blocks, start = _repeated(weights[:, start:stop]), stop
            elif weight < NEGLIGIBLE:
                out.append(_predicted(member, rows[name], n))
                continue
            elif weight < SMALL:
                posterior = member.with_draws(FEW_DRAWS)
            out.append(joined(posterior.class_draws(rows[name], n, weights=of_blocks)))
        return out

    @functools.cached_property
    def _kept_pairs(self) -> tuple[Int[np.ndarray, " draw"], Int[np.ndarray, " member"]]:
        """Return which draws of the members stand in their mean, and how many of each member."""
        counts = np.where(self.probabilities < SMALL, FEW_DRAWS, PART_DRAWS)
        counts[self.probabilities < IMPROBABLE] = 0
        # evenly spaced, from the middle of as many strata
        positions = [
            i * PART_DRAWS + (2 * np.arange(c) + 1) * PART_DRAWS // (2 * c)
            for i, c in enumerate(counts)
        ]
        return np.concatenate(positions), counts

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all members' parameters, by "member/owner"."""
        return {
            self.key(name, owner): params
            for name, member in self.members.items()
            for owner, params in member.components.parameters(rng, n).items()
        }

    def part_powers(self, rng: np.random.Generator, n: int) -> None:
        """Return None: the densities of members have no common draws."""

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = True
    ) -> LogJointDraws:
        """Return the log joint given n draws of "which member, and its parameters".

        Each member has draws in proportion to its weight.
        """
        counts = dealt(self.weights, n).tolist()
        # of every member n draws, for the parts; of these, for the mean, as many as its weight says
        draws = {
            name: member.log_joint_draws(rng, n, exactly=True)
            for name, member in self.members.items()
        }

        given_draws = {
            name: [term.draws(rng, n) for term in terms] for name, terms in self.terms.items()
        }

        def score(encoded: Encoded, n_rows: int) -> np.ndarray:
            rows = self.by_member(encoded)
            parts = [
                sample.score(rows[name], n_rows)[:, :count]
                for (name, sample), count in zip(draws.items(), counts, strict=True)
                if count
            ]
            return np.concatenate(parts, axis=1)

        def parts(encoded: Encoded, n_rows: int) -> np.ndarray:
            rows, likelihoods, blocks = self.by_member(encoded), [], []
            for name, sample in draws.items():
                if name in self.split:
                    blocks.append(sample.parts(rows[name], n_rows))
                joint = sample.score(rows[name], n_rows)
                likelihoods.append(likelihood_of(joint, self.members[name].log_classes()))
            terms = [
                np.moveaxis(term(rows[name]), -1, 1)[:, :, None]
                for name, drawn in given_draws.items()
                for term in drawn
            ]
            return np.concatenate([np.stack(likelihoods, axis=2), *blocks, *terms], axis=2)

        powers = [
            np.broadcast_to(sample.powers, n)[:count]
            for sample, count in zip(draws.values(), counts, strict=True)
        ]
        return LogJointDraws(score, n, parts, np.concatenate(powers))

    # -- missing cells ---------------------------------------------------------------------------

    def selection(self, block: str) -> Selection:
        """Return what the model of a member reads of a block."""
        for name, member in self.members.items():
            if block.startswith(f"{name}/"):
                return member.components.selection(block.removeprefix(f"{name}/"))
        raise KeyError(block)

    def dependent_cells(self, block: str) -> object | None:
        """Return one key: in a mixture every cell depends on all others."""
        return "mixture"

    def stratified_imputations(
        self, encoded: Encoded, n_rows: int, draws: int, rng: np.random.Generator
    ) -> tuple[Imputed, np.ndarray]:
        """Return imputations of each row in one stratum, members taking turns by how likely."""
        n = draws * len(self.log_classes())
        likely = self.likely_imputers(encoded, n_rows)
        # evenly spread: fewer members too many, or too few, than by independent picks
        place = (np.arange(n)[:, None] + rng.random((n, n_rows))) / n
        member = picked(np.tile(likely, (n, 1)), place.reshape(-1, 1))
        many = take_rows(encoded, np.tile(np.arange(n_rows), n))
        return self.imputed_by(member, many, rng), np.ones((1, n_rows))


def _weighed(
    shares: Float[np.ndarray, " member"],
    rows: Int[np.ndarray, " row"],
    samples: Sequence[ClassDraws],
) -> ClassDraws:
    """Return draws of all members as one, each with its member's share."""
    pairs = zip(shares, samples, strict=True)
    weight = np.concatenate([share * sample.weight for share, sample in pairs])
    probs = np.concatenate([sample.probs for sample in samples])
    logits = np.concatenate([sample.logits for sample in samples])
    return ClassDraws(rows, probs, weight, logits)


def _center(
    probs: Float[np.ndarray, "row class draw"],
    weight: Float[np.ndarray, "draw row"],
    mean: Float[np.ndarray, "row class"],
) -> None:
    """Multiply the odds of all draws of a row alike, so that their mean is another, in place.

    mean: above 0 for every class that a draw with weight knows.
    """
    for _ in range(CENTERINGS):
        own = np.matmul(probs, weight.T[..., None])[..., 0]
        probs *= np.divide(mean, own, out=np.ones_like(mean), where=own > 0)[..., None]
        probs /= probs.sum(axis=1, keepdims=True)


def _predicted(member: Posterior, encoded: Encoded, n_rows: int) -> ClassDraws:
    """Return the predictive probabilities as a single draw."""
    probs = np.exp(member.log_proba(member.scores(encoded, n_rows)))
    none = no_logits(*probs.shape)
    return ClassDraws(np.arange(n_rows), probs[None], np.ones((1, n_rows)), none)


def _repeated(weights: Float[np.ndarray, "draw part"]) -> PartWeights:
    """Return n -> the draws of weights, as often as n draws need."""
    return lambda n: weights[np.arange(n) % len(weights)]
