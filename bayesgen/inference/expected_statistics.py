"""A closed form for incomplete joint blocks: expected statistics in place of unknown ones."""

import dataclasses

from bayesgen import arguments
from bayesgen.inference.exact import Exact
from bayesgen.inference.incomplete_data import expected_statistics
from bayesgen.inference.newton import STOPPED
from bayesgen.inference.posterior import ExactPosterior
from bayesgen.model import Model, ModelStatistics, Reader

VERDICT = (
    "Closed form after incomplete rows in joint blocks gave what is expected of their statistics "
    "at the mode: what was not observed counts as if it were known to be as expected."
)


@dataclasses.dataclass(frozen=True)
class Expected:
    """The closed form of the statistics that are expected of the filled rows, given the mode.

    Without missing values in joint blocks it is `Exact`. With missing values it is an approximation
    that takes milliseconds where `Augmentation`, which is exact, draws samples: the posterior is
    too narrow by the share of cells that are missing. Rows to predict may have missing values,
    which are marginalised exactly.

    Args:
        draws: how many draws intervals rest on.
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        """Refuse what is no number of draws."""
        arguments.count("draws", self.draws, default=1000)

    def infer(
        self, model: Model, statistics: ModelStatistics, reader: Reader, seed: int
    ) -> ExactPosterior:
        """Return the model updated by expected statistics."""
        filled, accounts = expected_statistics(model, statistics)
        posterior = Exact(self.draws).infer(model, filled, reader, seed)
        if not accounts:
            return posterior
        converged = all(account.converged for account in accounts.values())
        report = dataclasses.replace(
            posterior.report,
            method="expected",
            converged=converged,
            verdict=f"{VERDICT if converged else STOPPED} {posterior.caveat}".rstrip(),
            details={k: v for name, one in accounts.items() for k, v in one.details(name).items()},
        )
        return dataclasses.replace(posterior, report=report)
