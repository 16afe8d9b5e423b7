"""Point estimates: maximum likelihood and the posterior mode, in closed form where there is one."""

import dataclasses
import time
from typing import Literal

import numpy as np

from bayesgen import arguments
from bayesgen.errors import UnsupportedInference
from bayesgen.inference.incomplete_data import complete_statistics, missing_cells
from bayesgen.inference.newton import STOPPED
from bayesgen.inference.posterior import DrawsPosterior, point_estimate
from bayesgen.inference.report import Report
from bayesgen.inference.svi import GRADIENT_TOLERANCE, MAP_TERMS, MLE_TERMS, optimise
from bayesgen.likelihoods import Repair
from bayesgen.model import Model, ModelStatistics, Reader

Solver = Literal["auto", "svi"]
SOLVERS = ("auto", "svi")
Params = dict[str, dict[str, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class MLE:
    """Maximum likelihood: the parameters under which the rows are most likely; priors are ignored.

    Args:
        bias_corrected: divide squares by n - 1 (own variances) or n - classes (shared ones) instead
            of n. Needs solver="auto".
        solver: "auto" takes closed forms, Newton's method where a joint block has missing values,
            and stochastic variational inference, ended by a quasi-Newton descent, for the rest;
            "svi" forces the last.
        variance_floor: share of a column's variance that replaces a smaller variance within a
            class; each replacement warns, naming column and class.
    """

    bias_corrected: bool = False
    solver: Solver = "auto"
    variance_floor: float = 1e-9

    def __post_init__(self) -> None:
        """Refuse arguments that are none."""
        arguments.one_of("bias_corrected", self.bias_corrected, [False, True])
        arguments.one_of("solver", self.solver, SOLVERS)
        arguments.not_negative("variance_floor", self.variance_floor, default=1e-9)
        if self.bias_corrected and self.solver == "svi":
            raise UnsupportedInference.because(
                "MLE(bias_corrected=True)",
                "a divisor of n - 1 maximises no likelihood, so no optimiser can find it",
                "Leave out one of the two: MLE(bias_corrected=True), or MLE(solver='svi').",
            )

    def infer(
        self, model: Model, statistics: ModelStatistics, reader: Reader, seed: int
    ) -> DrawsPosterior:
        """Return the maximum-likelihood estimate as a posterior of one draw."""
        start = time.perf_counter()
        if self.solver == "svi":
            return _by_svi("mle", model, statistics, reader, MLE_TERMS)
        params: Params = {"class": model.classes.maximum_likelihood(statistics.count)}
        findings: list[tuple[str, Repair]] = []
        details: dict[str, float] = {}
        rest = [name for name, part in model.blocks.items() if not part.has_closed_form_mle]
        if rest:
            params |= _optimised(model.only(rest), statistics, MLE_TERMS, details)
        for name, part in model.blocks.items():
            if name in rest:
                continue
            options = {
                "bias_corrected": self.bias_corrected,
                "variance_floor": self.variance_floor,
            }
            rows = statistics.blocks[name]
            gaps = missing_cells(part, rows)
            if gaps:
                params[name], found, account = gaps.maximum_likelihood(**options)
                details |= account.details(name)
            else:
                params[name], found = part.maximum_likelihood(rows, **options)
            findings += [(name, finding) for finding in found]
        seconds = time.perf_counter() - start
        report = _report("mle", seconds, details, findings)
        return point_estimate(_ordered(params, model), model.blocks, reader, report)


@dataclasses.dataclass(frozen=True)
class MAP:
    """The posterior mode against the scale-free measure.

    That measure is flat in the logarithm of rates and variances, in the log-odds of probabilities,
    and |Sigma|^-(p+1)/2 for covariances: the mode then exists for every proper prior and does not
    depend on units. For levels it is (count + rows * probs) / (n + rows), the Laplace and
    m-estimate.

    Args:
        solver: "auto" takes closed forms, Newton's method where a joint block has missing values,
            and stochastic variational inference, ended by a quasi-Newton descent, for the rest;
            "svi" forces the last.
    """

    solver: Solver = "auto"

    def __post_init__(self) -> None:
        """Refuse a solver that is none."""
        arguments.one_of("solver", self.solver, SOLVERS)

    def infer(
        self, model: Model, statistics: ModelStatistics, reader: Reader, seed: int
    ) -> DrawsPosterior:
        """Return the posterior mode as a posterior of one draw."""
        if self.solver == "svi":
            return _by_svi("map", model, statistics, reader, MAP_TERMS)
        start = time.perf_counter()
        params: Params = {"class": model.classes.posterior(statistics.count).mode()}
        details: dict[str, float] = {}
        rest = [name for name, part in model.blocks.items() if not part.conjugate]
        for name, part in model.blocks.items():
            rows = statistics.blocks[name]
            if name in rest:
                continue
            gaps = missing_cells(part, rows)
            if gaps:
                params[name], account = gaps.mode()
                details |= account.details(name)
            else:
                params[name] = part.posterior(rows).mode()
        if rest:
            params |= _optimised(model.only(rest), statistics, MAP_TERMS, details)
        seconds = time.perf_counter() - start
        report = _report("map", seconds, details)
        return point_estimate(_ordered(params, model), model.blocks, reader, report)


def _optimised(
    model: Model, statistics: ModelStatistics, objective: tuple[str, ...], details: dict
) -> Params:
    """Return parameters of blocks without a closed form; the gradient's norm joins the details."""
    centres = complete_statistics(model, statistics)
    found, details["gradient_norm"] = optimise(model, statistics, centres, objective)
    return {name: found[name] for name in model.blocks}


def _ordered(params: Params, model: Model) -> Params:
    return {name: params[name] for name in ("class", *model.blocks)}


def _by_svi(
    method: str,
    model: Model,
    statistics: ModelStatistics,
    reader: Reader,
    objective: tuple[str, ...],
) -> DrawsPosterior:
    start = time.perf_counter()
    centres = complete_statistics(model, statistics)
    params, gradient = optimise(model, statistics, centres, objective)
    report = _report(method, time.perf_counter() - start, {"gradient_norm": gradient})
    return point_estimate(params, model.blocks, reader, report)


def _report(
    method: str, seconds: float, details: dict[str, float], findings: list | tuple = ()
) -> Report:
    gradient = details.get("gradient_norm", 0.0)
    ended = all(value for name, value in details.items() if name.endswith(".converged"))
    if gradient > GRADIENT_TOLERANCE:
        verdict = (
            f"The optimiser stopped with a gradient of norm {gradient:.2g}, above "
            f"{GRADIENT_TOLERANCE}: state a stronger prior, or use inference='nuts'."
        )
    elif not ended:
        verdict = STOPPED
    else:
        verdict = "Closed form." if not details else "Converged."
    converged = ended and gradient <= GRADIENT_TOLERANCE
    return Report(method, seconds, converged, verdict, details, tuple(findings))
