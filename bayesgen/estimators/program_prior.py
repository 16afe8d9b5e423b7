"""The prior of a user's NumPyro program, from which parameters and rows are drawn."""

import dataclasses
from typing import cast

import numpy as np

from bayesgen.errors import Words
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.prior_model import ParameterDraws, PriorModel
from bayesgen.estimators.program_classifier import FittedProgram, ProgramState
from bayesgen.inference import Posterior, Report
from bayesgen.inference.draws import chained
from bayesgen.model import Reader
from bayesgen.typing import Encoded, Labels
from bayesgen.user_program import (
    OWNER,
    ProgramDraws,
    ProgramRows,
    infer,
    prior_draws,
    validate,
)


@dataclasses.dataclass(frozen=True, eq=False)
class ProgramPrior(PriorModel):
    """The prior of a user's NumPyro program."""

    state: ProgramState

    def draw(self, rng: np.random.Generator, n: int) -> ParameterDraws:
        """Return n draws of all parameters."""
        rows = cast(ProgramRows, self.state.rows)
        validate(self.state.program, rows.x, rows.y)
        return prior_draws(self.state.program, rows.x, rows.y, rng, n)

    def simulate(self, params: ParameterDraws, rng: np.random.Generator) -> tuple[Encoded, Labels]:
        """Return one encoded row for each draw, and its class code."""
        return self.state.simulate(params[OWNER], rng)

    def infer(self, encoded: Encoded, y: Labels, seed: int) -> Posterior:
        """Return the posterior of encoded rows under this prior."""
        rows = ProgramRows(encoded, y, np.ones(len(y)))
        return Posterior(infer(self.state.program, rows, self.inference, seed))

    def as_fitted(self, params: ParameterDraws) -> Fitted:
        """Return parameters as a fitted model."""
        n = len(params["class"]["probs"])
        draws = ProgramDraws(
            reader=Reader({}),
            report=Report("prior", converged=True, outcome=Words("Draws from the prior.")),
            params=chained(params, n),
            blocks={},
            program=self.state.program,
            labels_alike=True,
        )
        return FittedProgram(self.state, self.prior, Posterior(draws))
