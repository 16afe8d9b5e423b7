"""Report of one inference run."""

import dataclasses

from bayesgen.likelihoods import Repair


@dataclasses.dataclass(frozen=True)
class Report:
    """Report of one inference run.

    method: "exact", "expected", "mle", "map", "nuts", "importance" or "augmentation".
    seconds: wall-clock seconds of inference alone (for NUTS: of sampling, without compiling).
    converged: whether the method converged.
    verdict: one sentence, which includes a remedy if converged is False.
    details: numbers of the method, by name (gradient_norm, r_hat, ess, divergences, ...).
    findings: repairs of degenerate estimates, as (block, finding).
    """

    method: str
    seconds: float
    converged: bool
    verdict: str
    details: dict[str, float] = dataclasses.field(default_factory=dict)
    findings: tuple[tuple[str, Repair], ...] = ()
