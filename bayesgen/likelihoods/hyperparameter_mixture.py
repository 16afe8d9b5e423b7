"""Mixtures over hyperparameters: one family under several priors, weighted by evidence.

`Averaged` is a family with weights that rows update: of the whole block here, of each column in
`column_sets`, where the products of columns would be too many members to list.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float

from bayesgen.errors.operations import unsupported
from bayesgen.likelihoods.base import LEARN, Likelihood, Statistics, is_learned, sample_positions
from bayesgen.likelihoods.description import Description
from bayesgen.likelihoods.protocols import Conjugate, Mode, required
from bayesgen.likelihoods.weighted import of_one_each, shuffled
from bayesgen.typing import Block, Evidence, Joint, Labels, Params

M = TypeVar("M", bound="Averaged")

NEGLIGIBLE = 1e-9
"""Share of the evidence below which a prior is left out of predictions, which it hardly changes."""


def _of_the_family(name: str) -> Any:
    """Return a property that delegates to the first member."""
    return property(lambda self: getattr(self.members[0], name))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Averaged(Conjugate[Statistics]):
    """A family averaged over members that share its columns, rows and parameters.

    The weight of a member after data D is proportional to its weight before times p(D given it).

    members: the family under each prior, all of a closed form. log_weight: of the members.
    """

    members: tuple[Conjugate, ...]
    log_weight: Float[np.ndarray, "*lead member"]

    # columns, rows and parameters are those of the family, whatever the member
    kind = _of_the_family("kind")
    joint = _of_the_family("joint")
    centred = _of_the_family("centred")
    n_levels = _of_the_family("n_levels")
    lost_levels = _of_the_family("lost_levels")
    lost_levels_are_missing = _of_the_family("lost_levels_are_missing")
    support = _of_the_family("support")
    out_of_support = _of_the_family("out_of_support")
    strengths = _of_the_family("strengths")
    param_axes = _of_the_family("param_axes")
    location_params = _of_the_family("location_params")
    statistics = _of_the_family("statistics")
    statistics_per_row = _of_the_family("statistics_per_row")
    uninformative = _of_the_family("uninformative")
    maximum_likelihood = _of_the_family("maximum_likelihood")
    log_density_fn = _of_the_family("log_density_fn")
    log_likelihood = _of_the_family("log_likelihood")
    simulate = _of_the_family("simulate")
    fill_given = _of_the_family("fill_given")
    marginals = _of_the_family("marginals")

    @property
    def first(self) -> Conjugate:
        """The first member."""
        return self.members[0]

    def each(self: M, change: Callable[[Likelihood], Likelihood]) -> M:
        """Return a copy with every member changed."""
        return self.with_arrays({"members": tuple(map(change, self.members))})

    def weakened(self: M, *rows: float) -> M:
        """Return the prior with the same guesses and less strength, of every member."""
        return self.each(lambda member: member.weakened(*rows))

    def take(self: M, axis: str, index: np.ndarray) -> M:
        """Keep positions of an axis, of the members too."""
        return super().take(axis, index).each(lambda member: member.take(axis, index))

    def of_indicators(self: M, variables: tuple[int, ...]) -> M:
        """Return the prior of a block of which some columns are indicators, of every member."""
        return self.each(lambda member: member.of_indicators(variables)) if variables else self

    def shifted(self: M, origin: np.ndarray) -> M:
        """Return the likelihood of x + origin when this one is of x."""
        return self.each(lambda member: member.shifted(origin))

    # -- update ------------------------------------------------------------------------------------

    def posterior(self: M, statistics: Statistics) -> M:
        """Return every member updated, weights multiplied by the evidence."""
        each = self._of_members(statistics)
        members = tuple(m.posterior(rows) for m, rows in zip(self.members, each, strict=True))
        log_weight = self._evidences(each)
        log_weight = log_weight - np.logaddexp.reduce(log_weight, axis=-1, keepdims=True)
        return self.with_arrays({"members": members, "log_weight": log_weight})

    def log_evidence(self, statistics: Statistics) -> Evidence:
        """Return the log of the weighted mean of the members' evidence."""
        whole = np.logaddexp.reduce(self.log_weight, axis=-1)
        return np.logaddexp.reduce(self._evidences(self._of_members(statistics)), axis=-1) - whole

    def _of_members(self, statistics: Statistics) -> Sequence[Statistics]:
        """Return the statistics by which each member is updated."""
        return [statistics] * len(self.members)

    def _evidences(self, statistics: Sequence[Statistics]) -> np.ndarray:
        """Return the log of weight times evidence of each member; statistics: those of each."""
        each = zip(self.members, statistics, strict=True)
        evidences = [self._evidence_of(member, rows) for member, rows in each]
        return self.log_weight + np.stack(evidences, axis=-1)

    def _evidence_of(self, member: Any, statistics: Statistics) -> Evidence:
        """Return the log evidence of a member."""
        return member.log_evidence(statistics)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HyperparameterMixture(Averaged):
    """p(x given class) averaged over priors, each weighted by its evidence.

    With the weights of priors g after data D, p(x given y = k, D) = sum over g of weight_g
    p_g(x given y = k, D): the posterior of a model with unknown hyperparameters on a grid.

    Exact. Source: MacKay (1992), Neural Computation 4, 415-447 (evidence for hyperparameters).

    Args:
        members: the family under each prior; a tuple, since every family allows a leading axis of
            priors in updates and evidence, but not in predictives and draws.
        log_weight: log weights of the priors, shape (member,).
    """

    axes: ClassVar = {"log_weight": ("member",)}

    @classmethod
    def of(
        cls, members: Iterable[Any], log_weight: Float[np.ndarray, " member"] | None = None
    ) -> "HyperparameterMixture":
        """Return the mixture of priors; log_weight: up to a constant, None: even weights."""
        members = tuple(members)
        logs = np.zeros(len(members)) if log_weight is None else log_weight
        return cls(members, logs - np.logaddexp.reduce(logs))

    def __repr__(self) -> str:
        """Return the first and the last prior, not each of the grid."""
        first, last = self.members[0], self.members[-1]
        return f"<{len(self.members)} priors averaged by evidence, {first!r} to {last!r}>"

    only_exact: ClassVar = (
        "their average has a closed form, but no density to optimize",
        "Use inference='exact', or state the prior strengths.",
    )

    @property
    def title(self) -> str:
        """The family, and what is averaged."""
        return f"{self.first.title} with learned prior strengths"

    @property
    def components(self) -> tuple[Likelihood, ...]:
        """The family under each prior of the mixture, and of mixtures among its members."""
        return tuple(part for member in self.members for part in member.components)

    def heaviest(self, statistics: Statistics | None = None) -> Likelihood:
        """Return the member of largest weight, not updated, given rows if there are any."""
        log_weight = self.log_weight
        if statistics is not None:
            log_weight = self._evidences(self._of_members(statistics))
        return self.members[int(np.argmax(log_weight))].heaviest(statistics)

    def complete(self, statistics: Statistics) -> "HyperparameterMixture":
        """Fill every member's guesses."""
        return self.each(lambda member: member.complete(statistics))

    def _active_members(self) -> list[tuple[float, Likelihood]]:
        """Return members of more than negligible weight, weights summing to one."""
        pairs = zip(np.exp(_prune_negligible(self.log_weight)), self.members, strict=True)
        return [(float(w), member) for w, member in pairs if w > 0]

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log of the weighted mean of the members' densities, shape (row, class)."""
        scores = [(np.log(w), member.predictive()) for w, member in self._active_members()]
        return lambda x: np.logaddexp.reduce([w + score(x) for w, score in scores], axis=0)

    def log_predictive_updated(self, statistics: Statistics, x: Block) -> Joint:
        """Return log p(x_i given y = k) after updating by the i-th statistics, (row, class).

        Members of negligible weight for every row are not updated.
        """
        log_weight = _prune_negligible(self._evidences(self._of_members(statistics)))
        parts = [
            weight[:, None] + member.log_predictive_updated(statistics, x)
            for weight, member in zip(log_weight.T, self.members, strict=True)
            if np.isfinite(weight).any()
        ]
        return np.logaddexp.reduce(parts, axis=0)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the parameters, each of a member picked by weight."""
        shares, members = zip(*self._active_members(), strict=True)
        counts = rng.multinomial(n, shares)
        drawn = [m.draw(rng, int(c)) for m, c in zip(members, counts, strict=True) if c]
        return shuffled(drawn, rng.permutation(n))

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        The row also reweights the members, by p_g(x given its class).
        """
        shares, members = zip(*self._active_members(), strict=True)
        scores = [member.predictive() for member in members]
        draws = [member.log_density_draws_given_row(rng, n) for member in members]
        return of_one_each(np.log(shares), scores, draws, rng.random((n, 1)))

    def mode(self) -> Params:
        """Return the mode of the member of largest weight."""
        return required(self.heaviest(), Mode).mode()

    @property
    def columns_inform_each_other(self) -> bool:
        """Whether cells are dependent: a cell changes the weights of the members."""
        return True

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows filled by one member each, picked by weight and the observed cells."""
        shown = [member.predictive()(x)[np.arange(len(x)), own] for member in self.members]
        member, out = sample_positions(np.stack(shown, axis=1) + self.log_weight, rng), x.copy()
        for g in np.unique(member):
            rows = np.flatnonzero(member == g)
            out[rows] = self.members[g].fill(x[rows], own[rows], rng)
        return out

    def describe(self) -> Description:
        """Return the family in words, with the number of priors in place of settings."""
        priors = f"{len(self.members)} priors averaged by evidence"
        return dataclasses.replace(self.first.describe(), settings=priors)


def _prune_negligible(
    log_weight: Float[np.ndarray, "*lead member"],
) -> Float[np.ndarray, "*lead member"]:
    """Return log weights without the negligible ones, normalized."""
    top = log_weight.max(axis=-1, keepdims=True)
    kept = np.where(log_weight - top < np.log(NEGLIGIBLE), -np.inf, log_weight)
    return kept - np.logaddexp.reduce(kept, axis=-1, keepdims=True)


def averaged(family: Likelihood, grids: Mapping[str, Sequence[object]]) -> HyperparameterMixture:
    """Return the mixture of a family over a product grid of its settings, with equal weights.

    grids: the values of each setting that is learned.
    """
    priors = (
        dict(zip(grids, values, strict=True)) for values in itertools.product(*grids.values())
    )
    return HyperparameterMixture.of(dataclasses.replace(family, **prior) for prior in priors)


def resolve_family(family: Likelihood) -> Likelihood:
    """Return the likelihood that the settings of a family define.

    That is an equivalent simpler family where there is one, as a mixture over the grids of the
    settings that are "learn".

    Raises:
        UnsupportedOperation: "learn" under a prior without evidence.
    """
    names = [field.name for field in dataclasses.fields(family)]
    typed = [f"{name}={LEARN!r}" for name in names if is_learned(getattr(family, name))]
    if typed and getattr(family, "prior", "conjugate") != "conjugate":
        raise unsupported(
            f"{family.title} with {', '.join(typed)}",
            "the evidence of the rows decides what is learned, and this prior has none",
            f"Leave out {' and '.join(typed)}, or use prior='conjugate'.",
        )
    family = family.equivalent_family()
    settings = family.hyperparameter_grid.items()
    wanted = {name: grid for name, grid in settings if is_learned(getattr(family, name))}
    return averaged(family, wanted) if wanted else family
