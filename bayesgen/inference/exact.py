"""Exact inference: the prior updated in closed form."""

import dataclasses
import time

from bayesgen import arguments
from bayesgen.inference.posterior import ExactPosterior, Report
from bayesgen.model import Model, ModelStatistics, Reader

VERDICT = "Closed form: nothing approximated."


@dataclasses.dataclass(frozen=True)
class Exact:
    """The posterior in closed form; nothing is approximated, unless the report says so.

    Args:
        draws: how many draws intervals rest on. They are independent; the Monte Carlo standard
            error of a mean of class probabilities is at most 0.5 / sqrt(draws).
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        """Validate `draws`."""
        arguments.count("draws", self.draws, default=1000)

    def infer(
        self, model: Model, statistics: ModelStatistics, reader: Reader, seed: int
    ) -> ExactPosterior:
        """Return the updated model; UnsupportedInference where a block has no closed form."""
        start = time.perf_counter()
        posterior = model.posterior(statistics)
        seconds = time.perf_counter() - start
        report = Report("exact", seconds, converged=True, verdict=VERDICT)
        answer = ExactPosterior(reader, report, posterior, seed, self.draws)
        if answer.caveat:
            report = dataclasses.replace(report, verdict=f"Closed form. {answer.caveat}")
            answer = dataclasses.replace(answer, report=report)
        if any(part.joint for part in posterior.blocks.values()):
            # kept; a matrix that rounds to a singular one says so here, not at the first prediction
            _ = answer.predictives
        return answer
