"""The posterior: components, and the readout by which they become P(y = k given x)."""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.inference.chain_diagnostics import MonteCarloError
from bayesgen.inference.class_draws import ClassDraws, PartWeights
from bayesgen.inference.components import (
    Components,
    LogJointDraws,
    class_draws_by_group,
    log_joint_draws_by_group,
)
from bayesgen.inference.readouts import BAYES, Readout
from bayesgen.inference.report import Report
from bayesgen.inference.scores import Scores
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Reader
from bayesgen.typing import Encoded, Joint


@dataclasses.dataclass(frozen=True, eq=False)
class Posterior:
    """The result of a fit.

    components: densities of rows, draws of parameters and imputations. readout: how densities
    become class probabilities.
    """

    components: Components
    readout: Readout = BAYES

    # -- what it is --------------------------------------------------------------------------------

    @property
    def reader(self) -> Reader:
        """What passes encoded rows to the likelihoods."""
        return self.components.reader

    @property
    def report(self) -> Report:
        """The report of the inference run."""
        return self.components.report

    @property
    def families(self) -> dict[str, Likelihood]:
        """The likelihood of each block."""
        return self.components.families

    @property
    def point(self) -> bool:
        """Whether this is a point estimate, without posterior uncertainty."""
        return self.components.point

    @property
    def coherent(self) -> bool:
        """Whether class probabilities are the expectation of those given one more cell."""
        return self.components.coherent and not self.readout.calibrates

    # -- probabilities -----------------------------------------------------------------------------

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log p(x given data) + log P(y = k given x, data), shape (row, class)."""
        return self.readout.log_joint(self.components, encoded, n_rows)

    def log_joint_and_error(
        self, encoded: Encoded, n_rows: int
    ) -> tuple[Joint, MonteCarloError | None]:
        """Return the log joint and, where it is a mean over draws, its Monte Carlo error."""
        return self.readout.log_joint_and_error(self.components, encoded, n_rows)

    def log_density(self, encoded: Encoded, n_rows: int) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), which no readout changes."""
        return self.components.log_density(encoded, n_rows)

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data), shape (class,)."""
        return self.components.log_classes()

    def scores(self, encoded: Encoded, n_rows: int) -> Scores:
        """Return the log joint of the components and its parts, before the readout."""
        return self.components.scores(encoded, n_rows)

    def log_proba(self, scores: Scores) -> Joint:
        """Return log P(y = k given x); rows impossible under every class have the class prior."""
        return self.readout.log_proba(scores)

    def log_joint_from(self, scores: Scores) -> Joint:
        """Return the log joint from scores of the components."""
        return self.readout.log_joint_from(scores)

    # -- draws -------------------------------------------------------------------------------------

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield draws of P(y = k given x, theta) chunk by chunk of rows.

        weights: of the parts, those of `scores`, whose weighted sums come with them; None: no sums.
        """
        if groups := self.components.groups:
            draw = functools.partial(self.readout.class_draws, weights=weights)
            return class_draws_by_group(groups, encoded, n_rows, draw)
        return self.readout.class_draws(self.components, encoded, n_rows, weights)

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given every draw: n of a closed form, or those of a sampler.

        exactly: whether a sampler's draws are thinned to n as well.
        """
        draw = functools.partial(self.readout.log_joint_draws, rng=rng, n=n, exactly=exactly)
        if groups := self.components.groups:
            return log_joint_draws_by_group(groups, draw)
        return draw(self.components)

    def part_powers(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "n part"] | None:
        """Return powers of the parts of the likelihood under n draws; (n, 1): those of the whole.

        None if parameters are not drawn, of point estimates, or not of one model, of stacks.
        """
        return self.readout.part_powers(self.components, rng, n)

    # -- the same, otherwise -----------------------------------------------------------------------

    def with_classes(self, classes: ClassPrior) -> "Posterior":
        """Return the same posterior under another class prior."""
        return dataclasses.replace(self, components=self.components.with_classes(classes))

    def with_draws(self, n: int) -> "Posterior":
        """Return the posterior with at most n draws behind intervals, if their number is free."""
        return dataclasses.replace(self, components=self.components.with_draws(n))

    def with_report(self, report: Report) -> "Posterior":
        """Return the posterior with another report."""
        components = dataclasses.replace(self.components, report=report)
        return dataclasses.replace(self, components=components)

    def shifted(self, origin: dict[str, np.ndarray]) -> "Posterior":
        """Return the posterior for rows shifted by the origin, in the user's units."""
        return dataclasses.replace(self, components=self.components.shifted(origin))
