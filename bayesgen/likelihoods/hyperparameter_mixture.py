"""One family under several priors, averaged by what the rows say of each: learned strengths."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from bayesgen.errors import UnsupportedInference
from bayesgen.likelihoods.base import (
    LEARN,
    Likelihood,
    Repair,
    Statistics,
    is_learned,
    sample_positions,
)
from bayesgen.typing import Block, Evidence, Joint, Kept, Labels, Params, Traceable, Weights

NEGLIGIBLE = 1e-9
"""Share of the evidence below which a prior has no say in predictions: they cost time, not help."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class HyperparameterMixture(Likelihood[Statistics]):
    """p(x given class) averaged over priors, each weighed by its evidence.

    The weight of prior g after data D is proportional to its first weight times p(D given g), and
    p(x given y = k, D) = sum over g of weight_g p_g(x given y = k, D): the posterior of a model
    whose hyperparameters are unknown too, on a grid. Every part is a closed form.

    Exact. Source: MacKay (1992), Neural Computation 4, 415-447 (evidence for hyperparameters).

    Args:
        members: the family under each prior.
        log_weight: log weights of the priors, shape (member,).
    """

    members: tuple[Likelihood, ...]
    log_weight: Float[np.ndarray, "*lead member"]

    axes: ClassVar = {"log_weight": ("member",)}

    @property
    def first(self) -> Likelihood:
        """The member that speaks for what all have in common."""
        return self.members[0]

    @property
    def kind(self) -> str:
        """What the table hands over."""
        return self.first.kind

    @property
    def joint(self) -> bool:
        """Whether the columns depend on each other given the class."""
        return self.first.joint

    @property
    def centred(self) -> bool:
        """Whether columns may be handed over minus a common origin."""
        return self.first.centred

    @property
    def vectorised(self) -> bool:
        """Whether statistics and priors may carry leading axes."""
        return self.first.vectorised

    @property
    def subset_axis(self) -> str:
        """The axis that `uninformative` speaks of."""
        return self.first.subset_axis

    @property
    def param_axes(self) -> Mapping[str, tuple[str, ...]]:
        """The axes of each parameter after the draw axes."""
        return self.first.param_axes

    @property
    def location_params(self) -> tuple[str, ...]:
        """Parameters that move with the origin."""
        return self.first.location_params

    def heaviest(self) -> Likelihood:
        """Return the member of most weight."""
        return self.members[int(np.argmax(self.log_weight))]

    def each(self, change: Callable[[Likelihood], Likelihood]) -> "HyperparameterMixture":
        """Return a copy with every member changed."""
        return dataclasses.replace(self, members=tuple(map(change, self.members)))

    def take(self, axis: str, index: np.ndarray) -> "HyperparameterMixture":
        """Keep positions of an axis of the members."""
        return self.each(lambda member: member.take(axis, index))

    def shifted(self, origin: np.ndarray) -> "HyperparameterMixture":
        """Return the likelihood of x + origin when this one is of x."""
        return self.each(lambda member: member.shifted(origin))

    def shift_params(self, params: Params, origin: np.ndarray) -> Params:
        """Return parameters of x + origin when these are of x."""
        return self.first.shift_params(params, origin)

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> Statistics:
        """Return the statistics of encoded rows, which all members share."""
        return self.first.statistics(x, y, weight, n_classes=n_classes, n_levels=n_levels)

    def complete(self, statistics: Statistics) -> "HyperparameterMixture":
        """Fill every member's guesses."""
        return self.each(lambda member: member.complete(statistics))

    def uninformative(self) -> np.ndarray | None:
        """Return the positions that say nothing: the same for all members."""
        return self.first.uninformative()

    def select(self, x: Block, index: np.ndarray) -> Kept:
        """Return encoded rows as a likelihood sees them that kept `index`."""
        return self.first.select(x, index)

    def restore(self, x: Kept, index: np.ndarray, blank: Block) -> Block:
        """Return `blank` with rows of a likelihood that kept `index` put back."""
        return self.first.restore(x, index, blank)

    def posterior(self, statistics: Statistics) -> "HyperparameterMixture":
        """Return every member updated, and their weights times their evidence."""
        after = self.each(lambda member: member.posterior(statistics))
        log_weight = self._evidences(statistics)
        log_weight = log_weight - np.logaddexp.reduce(log_weight, axis=-1, keepdims=True)
        return after.with_arrays({"log_weight": log_weight})

    def log_evidence(self, statistics: Statistics) -> Evidence:
        """Return the log of the weighted mean of the members' evidence."""
        whole = np.logaddexp.reduce(self.log_weight, axis=-1)
        return np.logaddexp.reduce(self._evidences(statistics), axis=-1) - whole

    def _evidences(self, statistics: Statistics) -> np.ndarray:
        evidences = [member.log_evidence(statistics) for member in self.members]
        return self.log_weight + np.stack(evidences, axis=-1)

    def _active_members(self) -> list[tuple[float, Likelihood]]:
        """Return members of more than negligible weight, weights summing to one."""
        pairs = zip(np.exp(_prune_negligible(self.log_weight)), self.members, strict=True)
        return [(float(w), member) for w, member in pairs if w > 0]

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log of the weighted mean of the members' densities, shape (row, class)."""
        scores = [(np.log(w), member.predictive()) for w, member in self._active_members()]
        return lambda x: np.logaddexp.reduce([w + score(x) for w, score in scores], axis=0)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return what the i-th of priors along a leading axis says of row i, (row, class)."""
        parts = [member.log_predictive_paired(x) for member in self.members]
        weights = np.broadcast_to(_prune_negligible(self.log_weight), (len(x), len(parts)))
        return np.logaddexp.reduce(weights.T[..., None] + np.stack(parts), axis=0)

    def log_predictive_updated(self, statistics: Statistics, x: Block) -> Joint:
        """Return what `posterior(statistics).log_predictive_paired(x)` does.

        Members that are negligible for every row are not updated.
        """
        log_weight = _prune_negligible(self._evidences(statistics))
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
        order = rng.permutation(n)
        return {name: np.concatenate([d[name] for d in drawn])[order] for name in drawn[0]}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        The row weighs the members too: with p_g(x given its class).
        """
        shares, members = zip(*self._active_members(), strict=True)
        scores = [member.predictive() for member in members]
        draws = [member.log_density_draws_given_row(rng, n) for member in members]
        level = rng.random(n)[:, None]

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            logs = np.stack([np.log(w) + s(x) for w, s in zip(shares, scores, strict=True)])
            weight = np.exp(logs - np.logaddexp.reduce(logs, axis=0))
            steps = weight.cumsum(axis=0)[:-1, np.arange(len(x)), own]
            which = (level >= steps).sum(axis=0)
            out = np.empty((*own.shape, weight.shape[2]))
            for g, density in enumerate(draws):
                rows = np.flatnonzero((which == g).any(axis=0))
                if len(rows):
                    part = density(x[rows], own[:, rows])
                    out[:, rows] = np.where((which[:, rows] == g)[..., None], part, out[:, rows])
            return out

        return log_density

    # -- parameters: all members have the same --------------------------------------------------

    def mode(self) -> Params:
        """Return the mode of the member of most weight."""
        return self.heaviest().mode()

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return the log measure of the members' parameters."""
        return self.first.log_scale_free_jacobian(params)

    def maximum_likelihood(
        self, statistics: Statistics, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return the parameters of greatest likelihood, which no prior changes."""
        return self.first.maximum_likelihood(
            statistics, bias_corrected=bias_corrected, variance_floor=variance_floor
        )

    def initial_params(self, statistics: Statistics) -> Params:
        """Return parameters from pooled moments."""
        return self.first.initial_params(statistics)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class)."""
        return self.first.log_density_fn(params)

    def log_likelihood(self, params: Params, statistics: Statistics) -> Traceable:
        """Return log p(rows given params), summed over classes."""
        return self.first.log_likelihood(params, statistics)

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return one simulated row for each label."""
        return self.first.simulate(params, y, rng)

    @property
    def columns_inform_each_other(self) -> bool:
        """Whether a cell tells of others: what it shows weighs the members."""
        return True

    def require_fillable(self) -> None:
        """Refuse where missing cells cannot be drawn."""
        self.first.require_fillable()

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows filled by a member each, picked by weight and what the row shows."""
        shown = [member.predictive()(x)[np.arange(len(x)), own] for member in self.members]
        member, out = sample_positions(np.stack(shown, axis=1) + self.log_weight, rng), x.copy()
        for g in np.unique(member):
            rows = np.flatnonzero(member == g)
            out[rows] = self.members[g].fill(x[rows], own[rows], rng)
        return out

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        return self.first.fill_given(params, x, own, rng)

    def story(self, name: str) -> Params:
        """Refuse: parameters are integrated out, which leaves a program nothing to sample."""
        raise self._no_program()

    def whitening(self, statistics: Statistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Refuse, as `story` does."""
        raise self._no_program()

    def _no_program(self) -> UnsupportedInference:
        return UnsupportedInference.because(
            f"{type(self.first).__name__} with learned prior strengths",
            "their average is a closed form, which is no program to optimise",
            "Use inference='exact' or inference='nuts', or state the prior strengths.",
        )


def _prune_negligible(
    log_weight: Float[np.ndarray, "*lead member"],
) -> Float[np.ndarray, "*lead member"]:
    """Return log weights without the negligible ones, normalised."""
    top = log_weight.max(axis=-1, keepdims=True)
    kept = np.where(log_weight - top < np.log(NEGLIGIBLE), -np.inf, log_weight)
    return kept - np.logaddexp.reduce(kept, axis=-1, keepdims=True)


def averaged(family: Likelihood, grids: Mapping[str, Sequence[object]]) -> HyperparameterMixture:
    """Return a family averaged over the product of grids of its settings, evenly weighed.

    grids: the values of each setting that is learned.
    """
    names = list(grids)
    members = tuple(
        dataclasses.replace(family, **dict(zip(names, values, strict=True)))
        for values in itertools.product(*grids.values())
    )
    return HyperparameterMixture(members, np.full(len(members), -np.log(len(members))))


def resolve_family(family: Likelihood) -> Likelihood:
    """Return the likelihood that the settings of a family name.

    That is a simpler twin where there is one, averaged over the grids of the settings that say
    "learn".

    Raises:
        UnsupportedInference: "learn" under a prior without evidence.
    """
    names = [field.name for field in dataclasses.fields(family)]
    typed = [f"{name}={LEARN!r}" for name in names if is_learned(getattr(family, name))]
    if typed and getattr(family, "prior", "conjugate") != "conjugate":
        raise UnsupportedInference.because(
            f"{family.title} with {', '.join(typed)}",
            "the evidence of the rows decides what is learned, and this prior has none",
            f"Leave out {' and '.join(typed)}, or use prior='conjugate'.",
        )
    family = family.equivalent_family()
    settings = family.hyperparameter_grid.items()
    wanted = {name: grid for name, grid in settings if is_learned(getattr(family, name))}
    return averaged(family, wanted) if wanted else family
