"""Report of one inference run."""

import dataclasses

from bayesgen.errors import Words
from bayesgen.likelihoods import Repair


@dataclasses.dataclass(frozen=True, repr=False)
class Report:
    """Report of one inference run.

    method: "exact", "expected", "mle", "map", "nuts", "importance" or "augmentation".
    converged: whether the method converged.
    outcome: one sentence, which includes a remedy if converged is False, in the words of Python
        and of the command line; `verdict` is Python's.
    details: numbers of the method, by name (gradient_norm, r_hat, ess, divergences,
        sampling_seconds, ...).
    findings: repairs of degenerate estimates, as (block, finding).
    seconds: wall-clock seconds of the call that fitted, compilation included, which measures them;
        where inference runs later than that call (after `partial_fit`), of inference alone.
    """

    method: str
    converged: bool
    outcome: Words
    details: dict[str, float] = dataclasses.field(default_factory=dict)
    findings: tuple[tuple[str, Repair], ...] = ()
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """How the run ended: one sentence, which includes a remedy if it did not converge."""
        return str(self.outcome)

    def __repr__(self) -> str:
        """Return the outcome in one line."""
        ended = "" if self.converged else ", not converged"
        return f"Report({self.method}, {self.seconds:.2g} s{ended}: {self.verdict})"

    def _repr_html_(self) -> str:
        from html import escape

        lines = {"method": self.method, "seconds": f"{self.seconds:.3g}", "verdict": self.verdict}
        lines |= {name: f"{value:,.4g}" for name, value in self.details.items()}
        cells = (f"<tr><th>{escape(n)}</th><td>{escape(v)}</td></tr>" for n, v in lines.items())
        return f"<table>{''.join(cells)}</table>"
