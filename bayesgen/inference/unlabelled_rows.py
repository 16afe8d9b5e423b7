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
import time
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float
from scipy.sparse import issparse, vstack

from bayesgen.classes import ClassPrior
from bayesgen.errors import Cure, Words
from bayesgen.errors.operations import no_closed_form
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.components import take_rows
from bayesgen.inference.draws import Draws, point_estimate
from bayesgen.inference.missing import expected_statistics
from bayesgen.inference.point_estimates import MAP, MLE
from bayesgen.inference.report import Report
from bayesgen.inference.scores import class_probabilities
from bayesgen.likelihoods import Likelihood, Repair
from bayesgen.likelihoods.base import row_chunks
from bayesgen.model import Model, ModelStatistics, model_statistics
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Labels, Params, Traceable, Weights

CHUNK = 4096
"""Rows at once: repeated for three classes of 20 columns they are 2 MB, a second-level cache."""
FLOATS = 1_000_000
"""Log densities held at once: 8 MB."""
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

    def labelled(self, likelihoods: Mapping[str, Likelihood], y: Labels) -> ModelStatistics:
        """Return the statistics of the rows with class codes."""
        sizes = {"n_classes": self.n_classes, "n_levels": self.n_levels}
        return model_statistics(likelihoods, self.encoded, y, self.weight, **sizes)

    def statistics(self, likelihoods: Mapping[str, Likelihood], share: Joint) -> ModelStatistics:
        """Return the statistics of rows that belong to each class in part.

        likelihoods: of the blocks. share: of each row in each class, (row, class).
        """
        classes, parts = np.arange(self.n_classes), []
        weight = self.weight[:, None] * share
        sizes = {"n_classes": self.n_classes, "n_levels": self.n_levels}
        for rows in row_chunks(self.n_rows, CHUNK):
            some = take_rows({name: self.encoded[name] for name in likelihoods}, rows)
            each = {name: repeated(x, self.n_classes) for name, x in some.items()}
            y = np.repeat(classes, len(range(self.n_rows)[rows]))
            parts.append(model_statistics(likelihoods, each, y, weight[rows].T.ravel(), **sizes))
        return functools.reduce(operator.add, parts)


def repeated(x: Traceable, times: int) -> Traceable:
    """Return dense or sparse rows, all of them several times."""
    return vstack([x] * times, format="csr") if issparse(x) else np.tile(x, (times, 1))


# -- prior guesses ---------------------------------------------------------------------------------


def guess_statistics(
    classes: ClassPrior,
    likelihoods: Mapping[str, Likelihood],
    labelled: ModelStatistics,
    rows: UnlabelledRows,
) -> ModelStatistics:
    """Return the statistics by which prior guesses are completed: of all rows, each once.

    Rows without a label count in each class by its predictive probability given the labeled rows.
    """
    shares = first_shares(Problem.of(classes, likelihoods, labelled), rows)
    return labelled + rows.statistics(likelihoods, shares)


def first_shares(problem: Problem, rows: UnlabelledRows) -> Joint:
    """Return P(y = k given x_i, labeled rows), parameters integrated out."""
    model = closed_forms(problem.model)
    posterior = model.posterior(expected_statistics(model, problem.statistics)[0])
    scores = {name: part.predictive() for name, part in posterior.blocks.items()}
    log_classes = posterior.classes.log_predictive()
    read = problem.reader.read(rows.encoded)
    joint = log_classes + np.zeros((rows.n_rows, 1))
    for name, score in scores.items():
        joint = joint + score(read[name])
    return class_probabilities(joint, log_classes)


def closed_forms(model: Model) -> Model:
    """Return the model with conjugate priors, and without the blocks that have none."""
    blocks = {}
    for name, part in model.blocks.items():
        if not part.conjugate and getattr(part, "prior", None) == "lkj":
            part = part.with_arrays({"prior": "conjugate"})
        if part.conjugate:
            blocks[name] = part
    return dataclasses.replace(model, blocks=blocks)


# -- expectation-maximization ----------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Maximum:
    """The end of EM.

    params: by owner, the class probabilities under "class". shares: r_ik at the parameters.
    heights: observed log likelihood after each step. converged: whether the last step changed
    nothing. findings: repairs of degenerate estimates, as (block, finding).
    """

    params: dict[str, Params]
    shares: Joint
    heights: list[float]
    converged: bool
    findings: tuple[tuple[str, Repair], ...] = ()


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
    # of blocks that tell classes apart; the others have no parameters
    statistics, reader = problem.statistics, problem.reader
    likelihoods = {name: reader.full[name] for name in problem.model.blocks}
    read, heights, params = reader.read(rows.encoded), [], start
    model = with_one_prior(problem.model, statistics, start)
    while True:
        whole = statistics + reader.kept_of(rows.statistics(likelihoods, shares))
        params, findings = maximum_of(method, model, whole, params, cell_steps)
        joint = log_joint(model.blocks, params, read, rows.n_rows)
        with np.errstate(divide="ignore"):
            log_classes = np.log(params["class"]["probs"])
        again = class_probabilities(joint, log_classes)
        height = log_likelihood(model, params, statistics)
        heights.append(height + float(rows.weight @ np.logaddexp.reduce(joint, axis=1)))
        moved, shares = np.abs(again - shares).max(initial=0.0), again
        converged = bool(moved <= tolerance)
        if converged or len(heights) >= most_steps:
            return Maximum(params, shares, heights, converged, findings)


def with_one_prior(
    model: Model, statistics: ModelStatistics, centers: Mapping[str, Params] | None = None
) -> Model:
    """Return the model with the likeliest of the priors that a block averages over.

    Otherwise the likeliest one could change from step to step, and nothing would be maximized.

    centers: parameters at which missing cells are expected, by block; by default the mode.
    """
    if all(len(part.components) == 1 for part in model.blocks.values()):
        blocks = {name: part.components[0] for name, part in model.blocks.items()}
        return dataclasses.replace(model, blocks=blocks)
    filled, blocks = expected_statistics(model, statistics, centers)[0], {}
    for name, part in model.blocks.items():
        found = part.components
        scores = [one.log_evidence(filled.blocks[name]) for one in found] if len(found) > 1 else [0]
        blocks[name] = found[int(np.argmax(scores))]
    return dataclasses.replace(model, blocks=blocks)


def maximum_of(
    method: MLE | MAP,
    model: Model,
    statistics: ModelStatistics,
    start: Mapping[str, Params] | None = None,
    cell_steps: int | None = None,
) -> tuple[dict[str, Params], tuple[tuple[str, Repair], ...]]:
    """Return the parameters of complete rows in closed form, and the repairs they needed.

    start: parameters near them, by block, if any are known. cell_steps: of EM over missing cells.
    """
    params, findings = {"class": method.classes(model.classes, statistics.count)}, []
    for name, part in model.blocks.items():
        near = None if start is None else start[name]
        closed = method.closed_form(part, statistics.blocks[name], near, cell_steps)
        if closed is None:
            raise no_closed_form(f"block {name!r}, {part.title},", method.name)
        params[name], repairs, _ = closed
        findings += [(name, repair) for repair in repairs]
    return params, tuple(findings)


def log_joint(
    blocks: Mapping[str, Likelihood],
    params: Mapping[str, Params],
    rows: Mapping[str, Traceable],
    n_rows: int,
) -> Joint:
    """Return log P(k) p(x_i given k, theta) at one draw of the parameters, (row, class)."""
    with np.errstate(divide="ignore"):
        log_classes = np.log(params["class"]["probs"])
    out = np.tile(log_classes, (n_rows, 1))
    for name, part in blocks.items():
        out += density(part, params[name])(rows[name])
    return out


def density(part: Likelihood, params: Params) -> Callable[[Traceable], Joint]:
    """Return x -> log p(x given y = k) at one draw of the parameters, shape (row, class)."""
    score = part.log_density_fn({name: np.asarray(value)[None] for name, value in params.items()})
    return lambda x: score(x)[:, 0]


def log_likelihood(
    model: Model, params: Mapping[str, Params], statistics: ModelStatistics
) -> float:
    """Return log p(labels and rows given theta) of labeled rows."""
    count = statistics.count
    with np.errstate(divide="ignore"):
        logs = np.log(np.where(count > 0, params["class"]["probs"], 1.0))
    total = float(count @ logs)
    for name, part in model.blocks.items():
        one = {key: np.asarray(value)[None] for key, value in params[name].items()}
        total += float(part.log_likelihood(one, statistics.blocks[name])[0])
    return total


# -- posteriors ------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class ExpectedLabels:
    """Expected labels and statistics of the unlabeled rows of a fit.

    guesses: statistics of all rows by which prior guesses are completed. added: expected statistics
    of the rows without a label, once for each of their weights, times that weight. shares: of these
    weights, which sum to one.
    """

    guesses: ModelStatistics
    added: tuple[ModelStatistics, ...]
    shares: Float[np.ndarray, " weight"]


SAMPLES = Cure(" unlabelled=1 samples them.", " --unlabelled 1 samples them.")
"""What draws the labels that were replaced by their expectation."""
EM_STOPPED = Words("EM over the labels stopped before it converged: ") + Cure(
    "state stronger priors, or a smaller weight unlabelled=.",
    "state a smaller weight, --unlabelled.",
)


def reported(posterior: ClosedForm, n_rows: int, found: Maximum) -> Report:
    """Return the report of an expected posterior; n_rows: without a label."""
    own = posterior.report
    converged = own.converged and found.converged
    outcome = EM_STOPPED
    if converged:
        outcome = (
            Words(
                f"Closed form after the labels of {n_rows:,} rows were replaced by their "
                "expectation at the mode: intervals are too narrow by what is unknown of them."
            )
            + SAMPLES
        )
    if own.method == "expected":
        outcome = outcome + " " + own.outcome
    details = own.details | {
        ROWS: float(n_rows),
        "em.steps": float(len(found.heights)),
    }
    changed = {"method": "expected", "converged": converged, "details": details}
    return dataclasses.replace(own, outcome=outcome, **changed)


def estimate(
    method: MLE | MAP, problem: Problem, rows: UnlabelledRows, shares: Joint
) -> tuple[Draws, Joint]:
    """Return maximum likelihood or mode given all rows, and P(y = k given x_i) at it."""
    start = time.perf_counter()
    found = maximize(method, problem, rows, shares)
    details = {
        ROWS: float(rows.n_rows),
        "em.steps": float(len(found.heights)),
        "log_likelihood": found.heights[-1],
    }
    verdict = Words("Converged.") if found.converged else EM_STOPPED
    seconds = time.perf_counter() - start
    report = Report(method.name, seconds, found.converged, verdict, details, found.findings)
    blocks, reader = problem.model.blocks, problem.reader
    return point_estimate(found.params, blocks, reader, report), found.shares


def mean_labels(posterior: Draws, encoded: Encoded, n_rows: int) -> Joint:
    """Return the mean over all draws of P(y = k given x_i, theta), shape (row, class).

    Of all draws only as many rows are held at once as make FLOATS log densities.
    """
    log_classes = posterior.log_classes()
    n_draws, n_classes = int(np.prod(posterior.shape)), len(log_classes)
    out = np.empty((n_rows, n_classes))
    for rows in row_chunks(n_rows, max(1, FLOATS // (n_draws * n_classes))):
        size = len(range(n_rows)[rows])
        joint = posterior.each_log_joint(take_rows(encoded, rows), size)
        proba = class_probabilities(joint.reshape(-1, n_classes), log_classes)
        out[rows] = proba.reshape(size, n_draws, n_classes).mean(axis=1)
    return out
