"""Averages over sets of columns: which of them depend on the class is unknown."""

import dataclasses
import functools
import operator
from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from scipy.special import logit

from bayesgen.errors import InvalidArgument
from bayesgen.errors.operations import unsupported
from bayesgen.likelihoods.base import Likelihood, Statistics
from bayesgen.likelihoods.columnwise import (
    Cell,
    Columnwise,
    dense_predictive,
    impossible_outside,
    sum_of_cells,
)
from bayesgen.likelihoods.description import Description
from bayesgen.likelihoods.hyperparameter_mixture import Averaged, HyperparameterMixture
from bayesgen.likelihoods.selection import Selection
from bayesgen.likelihoods.weighted import of_one_each
from bayesgen.typing import Block, Evidence, Joint, Labels, Params

SHARES = (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 0.9)
"""Prior probabilities that a column depends on the class, averaged over by evidence."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ColumnSets(Averaged):
    r"""p(x given class) of independent columns, averaged over which of them depend on the class.

    A column depends on the class, with parameters of each class, with probability `share`, and else
    has one parameter for all classes under the same prior. With B_j the ratio of the evidence of
    column j under the two, all 2^p sets of columns have the average

        p(x given y = k) = prod_j (r_j p(x_j given k) + (1 - r_j) p(x_j)),
        r_j = share B_j / (share B_j + 1 - share),

    and the evidence is that of no column times prod_j (1 - share + share B_j).

    Exact. Source: Dash and Cooper (2002), Proceedings of the 19th International Conference on
    Machine Learning, 91-98.

    Args:
        members: the family with parameters of each class, and with common ones (of one class, once
            completed).
        log_weight: log probability that each column depends on the class, and that it does not,
            (feature, member).
        share: prior probability that a column depends on the class.
    """

    members: tuple[Columnwise, Columnwise]
    share: float

    no_program: ClassVar[str] = "it averages over all sets of columns"
    axes: ClassVar = {"log_weight": ("feature", "member")}

    @classmethod
    def of(cls, family: Columnwise, share: float) -> "ColumnSets":
        """Return the average of a family, not completed; share: as of the class."""
        # no number for each column before it is completed: levels may still come in any order
        return cls((family, family), np.zeros((0, 2)), share)

    def __repr__(self) -> str:
        """Return the family and the prior probability, not the columns."""
        return f"<{self.first!r} averaged over sets of columns, share {self.share:g}>"

    @property
    def title(self) -> str:
        """The family, and what is averaged."""
        return f"{self.first.title} averaged over sets of columns"

    @property
    def _n_classes(self) -> int:
        return len(next(iter(self.first.arrays().values())))

    @property
    def relevance(self) -> Float[np.ndarray, " feature"]:
        """The probability that each column depends on the class."""
        return np.exp(self.log_weight[..., 0])

    @property
    def log_odds(self) -> Float[np.ndarray, "*lead feature"]:
        """The log odds that each column depends on the class."""
        return self.log_weight[..., 0] - self.log_weight[..., 1]

    @property
    def log_bayes_factor(self) -> Float[np.ndarray, "*lead feature"]:
        """Log B_j of the rows so far."""
        return self.log_odds - logit(self.share)

    def complete(self, statistics: Statistics) -> "ColumnSets":
        """Fill in the guesses; those of the common parameters are the guesses of every class.

        Raises:
            InvalidArgument: the stated guesses differ between classes.
        """
        apart, prior = self.first.complete(statistics), {}
        for name, array in apart.arrays().items():
            prior[name] = array[..., :1, :]
            if ((array != prior[name]) & (array == array)).any():
                raise InvalidArgument(
                    "{family}.{name} differs between the classes, and an average over sets of "
                    "columns compares classes with the same prior.",
                    "State one guess for all classes, or use columns='all'.",
                    family=type(self.first).__name__,
                    name=name,
                )
        size = len(apart.n_levels) or statistics.shape[-1]
        members = apart, apart.with_arrays(prior)
        log_weight = np.tile(np.log([self.share, 1 - self.share]), (size, 1))
        return self.with_arrays({"members": members, "log_weight": log_weight})

    def log_evidence(self, statistics: Statistics) -> Evidence:
        """Return log p(columns given classes), averaged over sets of columns."""
        return super().log_evidence(statistics).sum(axis=-1)

    def _of_members(self, statistics: Statistics) -> Sequence[Statistics]:
        """Return the statistics, and those of all rows as of one class."""
        each = (statistics.take("class", np.array([k])) for k in range(statistics.shape[-2]))
        return statistics, functools.reduce(operator.add, each)

    def _evidence_of(self, member: Columnwise, statistics: Statistics) -> np.ndarray:
        """Return the log evidence of each column."""
        return member.log_evidence_columns(statistics)

    # -- rows, parameters integrated out ---------------------------------------------------------

    def log_predictive_cell(self, x: Cell) -> Cell:
        """Return log p(x given y = k), parameters integrated out; x broadcasts to (.., feature)."""
        apart, common = (member.log_predictive_cell(x) for member in self.members)
        depends, not_so = np.moveaxis(self.log_weight[..., None, :, :], -1, 0)
        return np.logaddexp(depends + apart, not_so + common)

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> sum over observed columns of the cells' log predictives, (row, class)."""
        score = dense_predictive(self.log_predictive_paired, self._n_classes, len(self.log_weight))
        return impossible_outside(self, score)

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return log p(x_i given y = k) by the i-th of priors on a leading axis, (row, class)."""
        return sum_of_cells(self.log_predictive_cell, x)

    def log_predictive_updated(self, statistics: Statistics, x: Block) -> Joint:
        """Return the same after updating by statistics with the same leading axis, one per row."""
        return self.posterior(statistics).log_predictive_paired(x)

    # -- parameters ------------------------------------------------------------------------------

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the parameters, of each class or common ones, column by column."""
        chosen = rng.random((n, len(self.log_weight))) < self.relevance
        apart, common = (member.draw(rng, n) for member in self.members)
        return self._chosen(chosen[:, None], apart, common)

    def mode(self) -> Params:
        """Return the mode of the more probable of the two, column by column."""
        apart, common = (member.mode() for member in self.members)
        return self._chosen(self.relevance[None] > 0.5, apart, common)

    def _chosen(self, which: np.ndarray, apart: Params, common: Params) -> Params:
        """Return parameters of each class where a column depends on it, else the common ones."""
        by_axis = {"feature": which}
        if self.n_levels:
            by_axis["level"] = np.repeat(which, self.n_levels, axis=-1)
        axes = self.param_axes
        return {
            name: np.where(by_axis[axes[name][-1]], value, common[name])
            for name, value in apart.items()
        }

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        The row also updates the odds of its columns, by p(x_j given its class) / p(x_j).
        """
        size = len(self.log_weight)
        level = rng.random((size, n, 1))
        columns = [self._column(j) for j in range(size)]
        densities = []
        for j, (_, part) in enumerate(columns):
            scores = [member.predictive() for member in part.members]
            apart, common = (member.log_density_draws_given_row(rng, n) for member in part.members)
            draws = [apart, lambda x, own, common=common: common(x, 0 * own)]
            densities.append(of_one_each(self.log_weight[j], scores, draws, level[j]))

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            pairs = zip(columns, densities, strict=True)
            return sum(density(selection.read(x), own) for (selection, _), density in pairs)

        return log_density

    def _column(self, j: int) -> tuple[Selection, "ColumnSets"]:
        """Return one column, and what reads it from rows."""
        index = np.array([j])
        if self.n_levels:
            index = np.flatnonzero(np.repeat(np.arange(len(self.n_levels)), self.n_levels) == j)
        selection = Selection(index, self.n_levels)
        return selection, selection.take(self)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn from p(x given y = own, data), exactly."""
        apart, common = self.members
        chosen = rng.random(x.shape) < self.relevance
        return np.where(chosen, apart.fill(x, own, rng), common.fill(x, 0 * own, rng))

    def describe(self) -> Description:
        """Return the family in words, and that a column may have common parameters."""
        family = self.first.describe()
        dependence = f"{family.dependence}, some with the same parameters in every class"
        return dataclasses.replace(family, dependence=dependence)


def over_column_sets(likelihood: Likelihood) -> Likelihood:
    """Return the average of a likelihood over sets of columns, and over `SHARES`.

    Raises:
        UnsupportedOperation: columns are not independent given parameters, or have no evidence in
            closed form.
    """
    members = []
    for family in likelihood.components:
        proper = getattr(family, "prior", "conjugate") == "conjugate"
        if not (isinstance(family, Columnwise) and proper):
            raise unsupported(
                f"columns='average' with {family.title}",
                "the average needs independent columns whose evidence has a closed form",
                "Use bg.Normal(), bg.Categorical(), bg.Poisson() or bg.Bernoulli().",
            )
        members += [ColumnSets.of(family, share) for share in SHARES]
    return HyperparameterMixture.of(members)


def dependence_of(likelihood: Likelihood) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the probability that each column depends on the class, and its log Bayes factor.

    Both are means over the priors of an average over sets of columns, updated; None of others.
    """
    if not isinstance(likelihood, HyperparameterMixture):
        return None
    members = [member for member in likelihood.members if isinstance(member, ColumnSets)]
    if not members:
        return None
    weight = np.exp(likelihood.log_weight)
    probability = weight @ np.stack([member.relevance for member in members])
    return probability, weight @ np.stack([member.log_bayes_factor for member in members])
