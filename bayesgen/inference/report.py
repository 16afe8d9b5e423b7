"""What a person looks at after a fit: which method ran, for how long, and whether to trust it."""

import dataclasses

from bayesgen.likelihoods import Repair


@dataclasses.dataclass(frozen=True)
class Report:
    """The account of one fit.

    method: "exact", "mle", "map", "nuts" or "augmentation".
    seconds: wall-clock seconds of inference alone (for NUTS: of sampling, without compiling).
    converged: whether the method ended where it should.
    verdict: one sentence; where converged is False, with the cure.
    details: numbers of the method, by name (gradient_norm, r_hat, ess, divergences, ...).
    findings: what had to be mended, as (block, finding).
    """

    method: str
    seconds: float
    converged: bool
    verdict: str
    details: dict[str, float] = dataclasses.field(default_factory=dict)
    findings: tuple[tuple[str, Repair], ...] = ()
