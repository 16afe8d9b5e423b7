r"""Unlabeled rows: expectation-maximization, and statistics expected over their classes.

A row x_i of weight w_i without a label has the likelihood (sum over k of a_ik(theta))^w_i, where
a_ik = P(k) p(x_i given k, theta), missing cells marginalized. Beside the statistics S of labeled
rows the log density of theta is

    log p(theta) + log p(S given theta) + sum_i w_i log sum_k a_ik(theta).

EM alternates responsibilities r_ik = a_ik / sum_k a_ik with the maximum given
S + sum_i w_i r_ik s_i(k), where s_i(k) are the statistics of row i in class k.

Source: Dempster, Laird and Rubin (1977); Nigam, McCallum, Thrun and Mitchell (2000), Machine
Learning 39, 103-134, section 5.2 (weights below 1).
"""

import dataclasses
import functools
import operator
from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse, vstack

from bayesgen.errors import Cure, Words
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.components import Components
from bayesgen.inference.draws import Draws, point_estimate
from bayesgen.inference.exact import Expected
from bayesgen.inference.missing import with_one_prior
from bayesgen.inference.point_estimates import MAP, MLE, closed_forms
from bayesgen.inference.report import Report
from bayesgen.inference.scores import class_probabilities
from bayesgen.likelihoods import Likelihood, Repair
from bayesgen.likelihoods.base import row_chunks
from bayesgen.model import Model, ModelStatistics, model_statistics
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Membership, Params, Traceable, Weights

CHUNK = 4096
"""Rows at once: repeated for three classes of 20 columns they are 2 MB, a second-level cache."""
ROWS, WEIGHT = "unlabelled.rows", "unlabelled.weight"
"""Names, in the details of a report, of the number of unlabeled rows and of their mean weight."""
MOST_STEPS = 5000
TOLERANCE = 1e-9
"""Change of a responsibility, in one step, below which EM has ended."""


@dataclasses.dataclass(frozen=True, eq=False)
class UnlabelledRows:
    """Encoded rows without a label.

    encoded: by block, with all of their columns. weight: of each row, above 0. n_classes: number of
    classes. n_levels: of the columns of each block.
    """

    encoded: Encoded
    weight: Weights
    n_classes: int
    n_levels: Mapping[str, tuple[int, ...]]

    @property
    def n_rows(self) -> int:
        """Their number."""
        return len(self.weight)

    def times(self, factor: float) -> "UnlabelledRows":
        """Return the rows with all weights multiplied."""
        return dataclasses.replace(self, weight=self.weight * factor)

    def labelled(self, likelihoods: Mapping[str, Likelihood], y: Membership) -> ModelStatistics:
        """Return the statistics of the rows with class codes, or shares of the classes."""
        sizes = {"n_classes": self.n_classes, "n_levels": self.n_levels}
        return model_statistics(likelihoods, self.encoded, y, self.weight, **sizes)

    def statistics(self, likelihoods: Mapping[str, Likelihood], shares: Joint) -> ModelStatistics:
        """Return the statistics of rows that belong to each class in part.

        likelihoods: of the blocks. shares: of each row in each class, (row, class).
        """
        weight, y = self.weight[:, None] * shares, np.arange(self.n_classes)
        chunks = []
        for rows in row_chunks(self.n_rows, CHUNK):
            copies = dataclasses.replace(
                self,
                encoded={n: repeated(self.encoded[n][rows], self.n_classes) for n in likelihoods},
                weight=weight[rows].T.ravel(),
            )
            chunks.append(copies.labelled(likelihoods, np.repeat(y, len(weight[rows]))))
        return functools.reduce(operator.add, chunks)


def repeated(x: Traceable, times: int) -> Traceable:
    """Return dense or sparse rows, all of them several times."""
    return vstack([x] * times, format="csr") if issparse(x) else np.tile(x, (times, 1))


def first_shares(problem: Problem, rows: UnlabelledRows) -> Joint:
    """Return P(y = k given x_i, labeled rows) of the rows, parameters integrated out."""
    return Expected().infer(problem, seed=0).class_weights(rows.encoded, rows.n_rows)


# -- expectation-maximization ----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Maximum:
    """The end of EM.

    problem: of the labeled rows. rows: those without a label, at their weights in the density.
    params: by owner, the class probabilities under "class". shares: r_ik at the parameters.
    heights: observed log likelihood after each step. converged: whether the last step changed
    nothing. findings: repairs of degenerate estimates, as (block, finding).
    """

    problem: Problem
    rows: UnlabelledRows
    params: dict[str, Params]
    shares: Joint
    heights: Sequence[float] = ()
    converged: bool = True
    findings: Sequence[tuple[str, Repair]] = ()

    @functools.cached_property
    def added(self) -> ModelStatistics:
        """The statistics that are expected of the rows without a label."""
        return self.rows.statistics(self.problem.model.blocks, self.shares)

    @property
    def details(self) -> dict[str, float]:
        """Entries of `Report.details`."""
        return {ROWS: float(self.rows.n_rows), "em.steps": float(len(self.heights))}


def maximize(
    method: MLE | MAP,
    problem: Problem,
    rows: UnlabelledRows,
    shares: Joint,
    tolerance: float = TOLERANCE,
    most_steps: int = MOST_STEPS,
    start: Mapping[str, Params] | None = None,
    cell_steps: int | None = None,
) -> Maximum:
    """Return the maximum of the observed likelihood, or posterior, that EM ends at.

    Args:
        method: of the maximum of complete rows, `MLE` or `MAP`.
        problem: of the labeled rows.
        rows: those without a label; their weights are those of the density.
        shares: responsibilities to start from, (row, class).
        tolerance: change of a responsibility below which EM has ended.
        most_steps: steps at most.
        start: parameters near the maximum, by block, if any are known; where cells are missing, the
            maximum given the shares is searched from the parameters of the step before.
        cell_steps: steps of that search, EM over missing cells; by default it comes to rest.
    """
    statistics, reader = problem.statistics, problem.reader
    # the likeliest prior could change from step to step, and nothing would be maximized
    model = with_one_prior(problem.model, statistics, start)
    encoded, heights, params = reader.read(rows.encoded), [], start
    while True:
        expected = problem.plus(rows.statistics(problem.model.blocks, shares)).statistics
        params, findings, _ = closed_forms(method, model, expected, params, cell_steps)
        draw = {
            owner: {name: np.asarray(value)[None] for name, value in values.items()}
            for owner, values in params.items()
        }
        joint = log_joint(model, draw, encoded, rows.n_rows)[:, 0]
        height = log_likelihood(model, draw, statistics)
        heights.append(height + float(rows.weight @ np.logaddexp.reduce(joint, axis=1)))
        with np.errstate(divide="ignore"):
            before, shares = shares, class_probabilities(joint, np.log(params["class"]["probs"]))
        converged = bool(np.abs(shares - before).max(initial=0.0) <= tolerance)
        if converged or len(heights) >= most_steps:
            return Maximum(problem, rows, params, shares, heights, converged, findings)


def log_joint(
    model: Model, params: Mapping[str, Params], encoded: Encoded, n_rows: int
) -> Float[np.ndarray, "row draw class"]:
    """Return log a_ik(theta) of rows as the model reads them; params: (draw, ...), by owner."""
    with np.errstate(divide="ignore"):
        log_classes = np.log(params["class"]["probs"])
    out = np.broadcast_to(log_classes, (n_rows, *log_classes.shape))
    for name, part in model.blocks.items():
        out = out + part.log_density_fn(params[name])(encoded[name])
    return out


def log_likelihood(
    model: Model, params: Mapping[str, Params], statistics: ModelStatistics
) -> float:
    """Return log p(labels and rows given theta) of labeled rows; params: of one draw, (1, ...)."""
    count = statistics.count
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(count > 0, params["class"]["probs"][0], 1.0))
    blocks = (
        part.log_likelihood(params[name], statistics.blocks[name])[0]
        for name, part in model.blocks.items()
    )
    return float(count @ logs) + sum(map(float, blocks))


# -- posteriors ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class ExpectedLabels:
    """Expected labels and statistics of the unlabeled rows of a fit.

    guesses: statistics of all rows by which prior guesses are completed. added: expected statistics
    of the rows without a label, once for each of their weights, times that weight. shares: of these
    weights, which sum to one.
    """

    guesses: ModelStatistics
    added: tuple[ModelStatistics, ...] = ()
    shares: Float[np.ndarray, " weight"] = dataclasses.field(default_factory=lambda: np.empty(0))


@dataclasses.dataclass(frozen=True, eq=False)
class Inferred:
    """What inference made of labeled and unlabeled rows.

    components: of the posterior. labels: P(y = k given x_i, all rows) of the unlabeled rows; None:
    every row has a label. added: expected statistics of unlabeled rows, by weight, and shares: of
    the weights, as in `ExpectedLabels`.
    """

    components: Components
    labels: Joint | None = None
    added: tuple[ModelStatistics, ...] = ()
    shares: Float[np.ndarray, " weight"] = dataclasses.field(default_factory=lambda: np.ones(1))


EM_STOPPED = Words("EM over the labels stopped before it converged: ") + Cure(
    "state stronger priors, or a smaller weight unlabelled=.",
    "state a smaller weight, --unlabelled.",
)


def reported(posterior: ClosedForm, maximum: Maximum) -> Report:
    """Return the report of a posterior given expected labels."""
    report = posterior.report
    converged, outcome = report.converged and maximum.converged, EM_STOPPED
    if converged:
        outcome = Words(
            f"Closed form after the labels of {maximum.rows.n_rows:,} rows were replaced by their "
            "expectation at the mode: intervals are too narrow by what is unknown of them."
        )
    if report.method == "expected":
        outcome = outcome + " " + report.outcome
    details = report.details | maximum.details
    return Report("expected", converged, outcome, details, report.findings)


def estimate(method: MLE | MAP, problem: Problem, rows: UnlabelledRows, shares: Joint) -> Inferred:
    """Return maximum likelihood or mode given all rows, and P(y = k given x_i) at it."""
    maximum = maximize(method, problem, rows, shares)
    converged, findings = maximum.converged, tuple(maximum.findings)
    outcome = Words("Converged.") if converged else EM_STOPPED
    outcome = outcome + method.choice_of_priors(problem.model)
    details = maximum.details | {"log_likelihood": maximum.heights[-1]}
    report = Report(method.name, converged, outcome, details, findings)
    blocks, reader = problem.model.blocks, problem.reader
    return Inferred(point_estimate(maximum.params, blocks, reader, report), maximum.shares)


def mean_labels(posterior: Draws, encoded: Encoded, n_rows: int) -> Joint:
    """Return the mean over all draws of P(y = k given x_i, theta), shape (row, class)."""
    log_classes = posterior.log_classes()
    out = np.empty((n_rows, len(log_classes)))
    for rows, joint in posterior.joint_draws(encoded, n_rows):
        proba = class_probabilities(joint.reshape(-1, len(log_classes)), log_classes)
        out[rows] = proba.reshape(joint.shape).mean(axis=1)
    return out
