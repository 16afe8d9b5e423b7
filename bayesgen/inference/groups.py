"""Groups of rows that resemble each other: sites, hospitals, batches.

The parameters of a class in a group have a prior whose guess is what the other groups estimate, and
whose strength, in rows, is averaged over `STRENGTHS` by evidence, the product over groups of
p(rows of the group given the guess of the others). Infinitely strong, all groups are one
population; beside these priors stands that of the user, under which groups have nothing in common.
Of each block, and of the class prior, the strength is its own. A group without rows has the prior
with the guess of all groups: its draws are draws of the parameters of a new group.

Exact where the guess is known: it is an estimate, and its own error is part of the strength, since
each group is predicted by an estimate from the others. Source: Morris (1983), Journal of the
American Statistical Association 78, 47-55 (parametric empirical Bayes); for averages over
strengths see `HyperparameterMixture`.
"""

import dataclasses
import functools
import itertools
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior, ClassPriorMixture
from bayesgen.errors.operations import unsupported
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.components import (
    NEW_GROUP,
    Components,
    Imputed,
    rows_by_group,
    take_rows,
)
from bayesgen.inference.missing import expected_statistics
from bayesgen.inference.scores import Scores
from bayesgen.likelihoods import Likelihood, Statistics
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture
from bayesgen.likelihoods.protocols import MarginalLikelihood
from bayesgen.model import Model
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Labels, Params

STRENGTHS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, np.inf)
"""Rows that a guess of the other groups counts for: of a mean 0.1 is a spread between groups of
three standard deviations within them, 100 one of a tenth."""
SPREADS = (10.0, np.inf)
"""The same of variances and covariances, which resemble each other more than means do."""

Group = int


@dataclasses.dataclass(frozen=True, eq=False)
class Groups:
    """The priors of groups. population: of a new one. problems: of the known ones, by code."""

    population: Model
    problems: dict[Group, Problem]


# -- priors ----------------------------------------------------------------------------------------


def groups_of(problem: Problem) -> Groups:
    """Return the priors of the groups of a problem's rows.

    Raises:
        UnsupportedOperation: a likelihood has no closed form, or no evidence.
    """
    model, groups = problem.model, problem.statistics.groups
    filled = [expected_statistics(model, part)[0] for part in groups.values()]
    blocks = {
        name: _learned(_within_groups(problem, name), [part.blocks[name] for part in filled])
        for name in model.blocks
    }
    classes = _learned(model.classes, [part.count for part in filled])
    models = [
        Model(prior, {name: priors[place] for name, priors in blocks.items()})
        for place, prior in enumerate(classes)
    ]
    # keys are codes here: those of the encoded rows
    known = zip(groups.items(), models[1:], strict=True)
    problems = {cast(int, g): Problem(prior, part, problem.reader) for (g, part), prior in known}
    return Groups(models[0], problems)


def strengths_of(prior: Likelihood | ClassPrior) -> tuple[tuple[float, ...], ...]:
    """Return the strengths that are averaged over: of the first of a prior's guesses, of others."""
    spreads = [SPREADS] * (len(prior.strengths) - 1)
    return tuple(itertools.product(STRENGTHS, *spreads))


def strength(posterior: Likelihood | ClassPrior) -> float:
    """Return the median of the strength of the first guess of a group, given rows; in rows.

    posterior: of a group, of `groups_of`. The user's prior counts as 0; NaN of one without guesses
    of other groups.
    """
    members, weight = (posterior,), np.ones(1)
    if isinstance(posterior, ClassPriorMixture | HyperparameterMixture):
        members, weight = posterior.members, np.exp(posterior.log_weight)
    rows = [0.0, *(first for first, *_ in strengths_of(members[0]))]
    if len(rows) != len(members):
        return np.nan
    order = np.argsort(rows)
    return float(np.sort(rows)[np.searchsorted(weight[order].cumsum(), 0.5)])


def _within_groups(problem: Problem, name: str) -> Likelihood:
    """Return the user's prior of a block, variances guessed from rows around their group's means.

    Raises:
        UnsupportedOperation: the likelihood has no closed form, or no evidence.
    """
    prior, guesses = problem.model.blocks[name], problem.guesses
    if not (prior.conjugate and isinstance(prior, MarginalLikelihood)) or prior.improper:
        raise unsupported(
            f"groups= with {prior.title}",
            "how much groups have in common is learned by evidence, and this prior has none",
            "Use bg.Normal(), bg.Categorical() or another family with prior='conjugate'.",
        )
    if guesses is None or getattr(guesses.statistics.blocks[name], "has_missing", False):
        return prior
    parts = [part.blocks[name] for part in guesses.statistics.groups.values()]
    within = total(around_one_mean(parts))
    return problem.reader.selections[name].take(guesses.blocks[name].complete(within))


def _learned(prior: Any, parts: Sequence[Any]) -> list[Any]:
    """Return the prior of a new group, then that of each group, averaged over strengths.

    Args:
        prior: of the user: a likelihood or a class prior.
        parts: statistics of each group.
    """
    if isinstance(prior, ClassPrior) and prior.is_fixed:
        return [prior] * (len(parts) + 1)
    centered, strengths = around_one_mean(parts), strengths_of(prior)

    def priors(whole: Any, within: Any) -> list[Any]:
        """Return the user's prior, and those that rows guess; within: rows around one mean."""
        guessed = prior.posterior(*around_one_mean([within], whole))
        weaker = [guessed.weakened(*strength) for strength in strengths[:-1]]
        return [prior, *weaker, prior.posterior(whole)]

    mixture = ClassPriorMixture if isinstance(prior, ClassPrior) else HyperparameterMixture
    new = priors(total(parts), total(centered))
    if len(parts) == 1:
        return [mixture.of(new, np.zeros(len(new))), prior]
    members = list(map(priors, without_each(parts), without_each(centered)))
    pairs = zip(members, parts, strict=True)
    evidence = np.array([[float(m.log_evidence(part)) for m in each] for each, part in pairs])
    known = zip(members, evidence_of_others(evidence), strict=True)
    return [mixture.of(new, evidence.sum(axis=0)), *(mixture.of(*pair) for pair in known)]


def total(parts: Sequence[Any]) -> Any:
    """Return the statistics of the rows of all parts."""
    return functools.reduce(operator.add, parts)


def without_each(parts: Sequence[Any]) -> list[Any]:
    """Return the statistics of all parts but one, for each: those that guess the prior of a group.

    Sums of the parts before and after it: a difference from the sum of all loses digits. There are
    at least two parts.
    """
    before = list(itertools.accumulate(parts, operator.add))
    after = list(itertools.accumulate(parts[::-1], operator.add))[::-1]
    between = map(operator.add, before[:-2], after[2:])
    return [after[1], *between, before[-2]]


def evidence_of_others(
    evidence: Float[np.ndarray, "group member"],
) -> Float[np.ndarray, "group member"]:
    """Return the evidence of the other groups: that of its own rows comes with their update."""
    return evidence.sum(axis=0) - evidence


def around_one_mean(parts: Sequence[Any], like: Any = None) -> list[Any]:
    """Return the statistics of groups as if all of them had one mean in each class.

    What group means are apart is then no part of the scatter; statistics without means stay.

    like: statistics with that mean; None: all parts together.
    """
    if not isinstance(parts[0], Statistics) or "mean" not in parts[0].axes:
        return list(parts)
    mean = (total(parts) if like is None else like).arrays()["mean"]
    return [part.with_arrays({"mean": mean}) for part in parts]


# -- posterior -------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class ByGroup(Components):
    """Closed forms of groups: a row is answered by that of its group, or of a new one.

    members: by code, that of a new one under `NEW_GROUP`.
    """

    members: dict[Group, ClosedForm]

    @property
    def population(self) -> ClosedForm:
        """The posterior of a new group."""
        return self.members[NEW_GROUP]

    @property
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block in a new group."""
        return self.population.families

    @property
    def groups(self) -> Mapping[int, Components]:
        """The posterior of each group, -1 of a new one."""
        return self.members

    def each(self, change: Callable[[ClosedForm], ClosedForm]) -> "ByGroup":
        """Return a copy with the posterior of every group changed."""
        members = {group: change(member) for group, member in self.members.items()}
        return dataclasses.replace(self, members=members)

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x, y = k given data), shape (row, class)."""
        return self.scores(encoded, n_rows).joint

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint and the log predictive of each block."""
        n_classes = len(self.log_classes())
        joint, log_classes = np.empty((2, n_rows, n_classes))
        parts = np.empty((n_rows, len(self.families), n_classes))
        for member, rows in rows_by_group(self.groups, encoded, n_rows):
            scores = member.scores(take_rows(encoded, rows), len(rows))
            joint[rows], log_classes[rows] = scores.joint, scores.log_classes
            parts[rows] = scores.parts
        return Scores(joint, log_classes, parts)

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data) in a new group, shape (class,)."""
        return self.population.log_classes()

    def with_classes(self, classes: ClassPrior) -> "ByGroup":
        """Return the same under another class prior, that of every group."""
        return self.each(lambda member: member.with_classes(classes))

    def shifted(self, origin: dict[str, np.ndarray]) -> "ByGroup":
        """Return the posterior for rows shifted by the origin, in the user's units."""
        return self.each(lambda member: member.shifted(origin))

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Return: every group is a closed form, whose statistics can be subtracted."""

    # -- draws -------------------------------------------------------------------------------------

    def with_draws(self, n: int) -> "ByGroup":
        """Return the posterior with at most n draws behind intervals."""
        return self.each(lambda member: member.with_draws(n))

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return n draws of all parameters of a new group."""
        return self.population.parameters(rng, n)

    # -- missing cells -----------------------------------------------------------------------------

    def normal_centre(self, block: str) -> Params:
        """Return the class means and the shared covariance at the center of a new group's prior."""
        family = self.families[block].components[-1].arrays()
        return {"mean": family["mean"], "covariance": family["scale"][0]}

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Return encoded rows whose missing cells are drawn, each by its group."""
        out = {name: x.copy() for name, x in encoded.items()}
        for member, rows in rows_by_group(self.groups, encoded, n_rows):
            labels = None if own is None else own[rows]
            filled = member.impute(take_rows(encoded, rows), len(rows), rng, labels)
            for name, x in filled.items():
                out[name][rows] = x
        return out
