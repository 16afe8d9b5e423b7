"""Maximum likelihood and posterior mode (MAP), in closed form or else by SVI.

Stochastic variational inference with a point mass applies to any model: NumPyro's SVI with the
guide AutoDelta is Adam's ascent of the log density. Adam's steps depend on the sign of a gradient
rather than its size, so they approach the optimum from afar, even along flat ridges; a quasi-Newton
method then converges to it.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import ClassVar, Literal

import numpy as np

from bayesgen import arguments
from bayesgen.classes import ClassPrior
from bayesgen.errors import Cure, Words
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.operations import unsupported
from bayesgen.errors.packages import require_package
from bayesgen.inference.draws import Draws, point_estimate
from bayesgen.inference.log_density import (
    MAP_TERMS,
    MLE_TERMS,
    ModelLogDensity,
    arrays,
    model_log_density,
    nested,
    total,
)
from bayesgen.inference.missing import (
    STOPPED,
    OptimumReport,
    complete_statistics,
    em,
    missing_cells,
)
from bayesgen.inference.report import Report
from bayesgen.likelihoods import Likelihood, Repair, Statistics
from bayesgen.likelihoods.protocols import Conjugate, MaximumLikelihood, Mode, required
from bayesgen.model import Model, ModelStatistics
from bayesgen.optimize import Flat, lbfgs
from bayesgen.problem import Problem
from bayesgen.program import ONE_PROGRAM
from bayesgen.typing import Params, Traceable

Solver = Literal["auto", "svi"]
SOLVERS = ("auto", "svi")
ClosedForm = tuple[Params, list[Repair], OptimumReport | None]
"""Parameters of a block, repairs, and the report of Newton's method, if it ran."""

LIKELIEST = " Learned prior strengths are the likeliest of their grid."

STEPS = 2000
FIRST_STEP, LAST_STEP = 0.2, 2e-6
"""Adam's step in units of the posterior's width: it decays from a fifth of it to a millionth, so
that the end is a point and not a cloud (a constant step of .01 was .046 off)."""
REACH = 1.0
"""How far the last descent may move each coordinate, in units of the posterior's width: an optimum,
if there is one, is near, and without one a descent ends where rounding is all that is left."""
GRADIENT_TOLERANCE = 1e-2
"""Norm of the gradient in units of the posterior's width below which the end counts as reached."""


@dataclasses.dataclass(frozen=True)
class MLE:
    """Maximum likelihood estimation; priors are ignored.

    Args:
        bias_corrected: divide sums of squares by n - 1 (class-specific variances) or n - classes
            (shared ones) instead of n. Requires solver="auto".
        solver: "auto" takes closed forms, Newton's method where a joint block has missing values,
            and stochastic variational inference, ended by a quasi-Newton descent, for the rest;
            "svi" forces the last.
        variance_floor: lower bound of a variance within a class, as a fraction of the column's
            variance; each replacement raises a warning that names the column and the class.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> estimate = bg.NaiveBayes(inference=bg.MLE(bias_corrected=True)).fit(X, y)
        >>> table = estimate.summary(kind="stats", ci_prob=0.9)
        >>> round(float(table["mean"]["normal.variance[setosa, petal_length]"]), 6)  # over 49
        0.030159
    """

    name: ClassVar = "mle"
    terms: ClassVar = MLE_TERMS

    bias_corrected: bool = False
    solver: Solver = "auto"
    variance_floor: float = 1e-9

    def __post_init__(self) -> None:
        """Validate the arguments."""
        arguments.one_of("bias_corrected", self.bias_corrected, [False, True])
        arguments.one_of("solver", self.solver, SOLVERS)
        if not (arguments.is_number(self.variance_floor) and self.variance_floor >= 0):
            allowed, cure = "a finite number of at least 0", "Pass variance_floor=1e-09."
            raise out_of_range("variance_floor", self.variance_floor, allowed, cure)
        if self.bias_corrected and self.solver == "svi":
            raise unsupported(
                "MLE(bias_corrected=True)",
                "no likelihood has its maximum at a divisor of n - 1, so no optimizer can find it",
                "Leave out one of the two: MLE(bias_corrected=True), or MLE(solver='svi').",
            )

    def infer(self, problem: Problem, seed: int) -> Draws:
        """Return the maximum-likelihood estimate as a posterior of one draw."""
        return _infer(self, problem)

    def choice_of_priors(self, model: Model) -> str:
        """Return "": priors are ignored."""
        return ""

    def classes(self, prior: ClassPrior, count: np.ndarray) -> Params:
        """Return the class frequencies."""
        return prior.maximum_likelihood(count)

    def closed_form(
        self, part: Likelihood, rows: Statistics, start: Params | None, steps: int | None
    ) -> ClosedForm | None:
        """Return the estimate of one block; None where it has no closed form.

        start, steps: of EM over missing cells, which is not used.
        """
        if not isinstance(part, MaximumLikelihood):
            return None
        options = {"bias_corrected": self.bias_corrected, "variance_floor": self.variance_floor}
        incomplete = missing_cells(part, rows)
        if incomplete is None:
            return *part.maximum_likelihood(rows, **options), None
        return incomplete.maximum_likelihood(**options)


@dataclasses.dataclass(frozen=True)
class MAP:
    """The posterior mode (MAP) with respect to the scale-free measure.

    The measure is flat in the logarithm of rates and variances, in the log-odds of probabilities,
    and |Sigma|^-(p+1)/2 for covariances: the mode then exists for every proper prior and does not
    depend on units. For levels it is (count + rows * probs) / (n + rows), the Laplace and
    m-estimate. Learned prior strengths are not averaged over: the likeliest of their grid are used,
    as the report says.

    Args:
        solver: "auto" takes closed forms, Newton's method where a joint block has missing values,
            and stochastic variational inference, ended by a quasi-Newton descent, for the rest;
            "svi" forces the last.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> mode = bg.LDA(inference=bg.MAP()).fit(X, y)
        >>> mode.predict_proba(X[50:51]).round(2)
        array([[0., 1., 0.]])
    """

    name: ClassVar = "map"
    terms: ClassVar = MAP_TERMS

    solver: Solver = "auto"

    def __post_init__(self) -> None:
        """Validate the solver."""
        arguments.one_of("solver", self.solver, SOLVERS)

    def infer(self, problem: Problem, seed: int) -> Draws:
        """Return the posterior mode as a posterior of one draw."""
        return _infer(self, problem)

    def choice_of_priors(self, model: Model) -> str:
        """Return a sentence on which prior of a mixture is used; "" where there is none."""
        return LIKELIEST if any(len(part.components) > 1 for part in model.blocks.values()) else ""

    def classes(self, prior: ClassPrior, count: np.ndarray) -> Params:
        """Return the posterior mode of the class probabilities."""
        return prior.posterior(count).mode()

    def closed_form(
        self, part: Likelihood, rows: Statistics, start: Params | None, steps: int | None
    ) -> ClosedForm | None:
        """Return the mode of one block; None where it has no closed form.

        start: parameters near it, if any are known, from which EM over missing cells starts. steps:
        of this EM at most; by default it comes to rest.
        """
        if not part.conjugate:
            return None
        incomplete = missing_cells(part, rows)
        if incomplete is None:
            posterior = required(part, Conjugate).posterior(rows)
            return required(posterior, Mode).mode(), [], None
        if start is not None and steps is not None:
            return em(incomplete, start, steps)[0], [], None
        params, account = incomplete.mode() if start is None else incomplete.settled(start)
        return params, [], account


def closed_forms(
    method: MLE | MAP,
    model: Model,
    statistics: ModelStatistics,
    start: Mapping[str, Params] | None = None,
    steps: int | None = None,
) -> tuple[dict[str, Params], list[tuple[str, Repair]], dict[str, float]]:
    """Return what has a closed form: parameters by owner, repairs by block, and report details.

    Args:
        method: of the estimate.
        model: class prior and likelihoods; blocks without a closed form are left out.
        statistics: of the rows.
        start: parameters near the estimate, by block, if any are known.
        steps: of EM over missing cells at most; by default it comes to rest.
    """
    params, findings = {"class": method.classes(model.classes, statistics.count)}, []
    details: dict[str, float] = {}
    for name, part in model.blocks.items():
        near = None if start is None else start[name]
        closed = method.closed_form(part, statistics.blocks[name], near, steps)
        if closed is not None:
            params[name], repairs, account = closed
            findings += [(name, repair) for repair in repairs]
            details |= account.details(name) if account else {}
    return params, findings, details


def _infer(method: MLE | MAP, problem: Problem) -> Draws:
    """Return an estimate by closed forms, and by optimization of the blocks without one."""
    model, statistics = problem.model, problem.statistics
    closed: dict[str, Params] = {}
    findings, details = [], {}
    if method.solver == "auto":
        closed, findings, details = closed_forms(method, model, statistics)
    others = model.only([name for name in model.blocks if name not in closed])
    if others.blocks or method.solver == "svi":
        optimum, details["gradient_norm"] = optimize(others, statistics, method.terms)
        closed = optimum | closed
    report = estimate_report(method.name, details, tuple(findings))
    report = dataclasses.replace(report, outcome=report.outcome + method.choice_of_priors(model))
    params = {name: closed[name] for name in ("class", *model.blocks)}
    return point_estimate(params, model.blocks, problem.reader, report)


def estimate_report(
    method: str,
    details: dict[str, float],
    findings: tuple[tuple[str, Repair], ...] = (),
) -> Report:
    """Return the report of a point estimate.

    details: "gradient_norm" where gradients were used, "block.converged" where Newton's method was.
    findings: repairs of degenerate estimates, by block.
    """
    gradient = details.get("gradient_norm", 0.0)
    ended = all(value for name, value in details.items() if name.endswith(".converged"))
    if gradient > GRADIENT_TOLERANCE:
        verdict = Words(
            f"The optimizer stopped with a gradient of norm {gradient:.2g}, above "
            f"{GRADIENT_TOLERANCE}: the density may have no maximum. State a stronger prior with "
        ) + Cure(
            "inference='map', or use inference='nuts'.", "--inference map, or use --inference nuts."
        )
    elif not ended:
        verdict = STOPPED
    else:
        verdict = Words("Closed form." if not details else "Converged.")
    converged = ended and gradient <= GRADIENT_TOLERANCE
    return Report(method, converged, verdict, details, findings)


# -- stochastic variational inference -------------------------------------------------------------


def optimize(
    model: Model, statistics: ModelStatistics, objective: tuple[str, ...]
) -> tuple[dict[str, Params], float]:
    """Return parameters that maximize the sum of the named terms, and the gradient's norm there.

    The optimizers work in unit-scale coordinates around the moments of the data and start at their
    center. Parameters come as {"class": {...}, block: {...}}.

    Raises:
        UnsupportedOperation: the optimum is not finite.
        MissingPackage: numpyro is not installed.
    """
    require_package("numpyro", "point estimates by gradients")
    import jax
    import jax.numpy as jnp

    run, look = _compiled(model_log_density(model, statistics), objective)
    with jax.enable_x64(True):
        centres = complete_statistics(model, statistics)
        tree = jax.tree.map(jnp.asarray, arrays(model, statistics, centres))

        def neg_log_density(u: Flat) -> tuple[float, Flat]:
            (height, _), slope = look(u, tree)
            return -float(height), -np.asarray(slope)

        end = lbfgs(neg_log_density, np.asarray(run(tree)), REACH)
        (_, values), slope = jax.device_get(look(end, tree))
        gradient = float(np.linalg.norm(slope))
    if not np.isfinite(gradient):
        raise unsupported(
            "optimization by gradients",
            "on these rows the most likely parameters exceed the range of float64, for example a "
            "probability of 1e-300 for a level of almost no weight",
            "Use solver='auto' where there is a closed form, or state a stronger prior.",
        )
    return nested(values, model), gradient


@functools.lru_cache(maxsize=32)
def _compiled(density: ModelLogDensity, objective: tuple[str, ...]) -> tuple[Callable, Callable]:
    """Return the run of SVI, tree -> coordinates, and the density there with its gradient.

    Coordinates of all sites are one array; the density comes with the parameters.
    """
    import jax
    import numpyro
    from jax.flatten_util import ravel_pytree
    from numpyro import distributions as dist
    from numpyro import handlers
    from numpyro.infer import SVI, Trace_ELBO, init_to_value
    from numpyro.infer.autoguide import AutoDelta
    from numpyro.optim import Adam

    def step_size(step: Traceable) -> Traceable:
        return FIRST_STEP * (LAST_STEP / FIRST_STEP) ** (step / STEPS)

    def coordinates(tree: dict) -> dict[str, Traceable]:
        centre = density.centre(tree)
        # a column of one level has no coordinates, by whose number NumPyro would divide
        flat = {
            site: dist.ImproperUniform(dist.constraints.real, zeros.shape, ())
            for site, zeros in centre.items()
            if zeros.size
        }
        return centre | {site: numpyro.sample(site, prior) for site, prior in flat.items()}

    def model(tree: dict) -> None:
        u = coordinates(tree)
        with handlers.block():  # the terms run a program, whose sites are not those of the guide
            height = total(density.terms(tree, u), objective)
        numpyro.factor("log_density", height)

    @jax.jit
    def run(tree: dict) -> Traceable:
        centre = density.centre(tree)
        with ONE_PROGRAM, handlers.block():
            # the guide needs the sites alone, and would compile the density twice more with it
            guide = AutoDelta(coordinates, init_loc_fn=init_to_value(values=centre))
            svi = SVI(model, guide, Adam(step_size), Trace_ELBO())
            first = svi.init(jax.random.key(0), tree)  # nothing is drawn by the key
            last = jax.lax.fori_loop(0, STEPS, lambda _, at: svi.update(at, tree)[0], first)
            ends = svi.get_params(last)
        found = {site: ends.get(f"{site}_{guide.prefix}_loc", at) for site, at in centre.items()}
        return ravel_pytree(found)[0]

    def look(flat: Traceable, tree: dict) -> tuple:
        u = ravel_pytree(density.centre(tree))[1](flat)
        return total(density.terms(tree, u), objective), density.values(tree, u)

    return run, jax.jit(jax.value_and_grad(look, has_aux=True))
