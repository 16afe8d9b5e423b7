"""Closed-form inference, exact or from expected statistics of incomplete rows."""

import dataclasses

from bayesgen import arguments
from bayesgen.errors import Words
from bayesgen.inference.closed_form import ClosedForm
from bayesgen.inference.components import NEW_GROUP
from bayesgen.inference.groups import ByGroup, groups_of
from bayesgen.inference.missing import STOPPED, expected_statistics
from bayesgen.inference.report import Report
from bayesgen.problem import Problem

VERDICT = "Closed form: nothing approximated."
EXPECTED_VERDICT = (
    "Closed form after incomplete rows in joint blocks were replaced by their expected statistics "
    "at the mode: missing cells count as if they had been observed."
)


@dataclasses.dataclass(frozen=True)
class Exact:
    """The closed-form posterior; exact unless the report states an approximation.

    Args:
        draws: number of independent draws behind intervals; the Monte Carlo standard error of a
            mean class probability is at most 0.5 / sqrt(draws).

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.NaiveBayes(inference=bg.Exact(draws=4000), random_state=0).fit(X, y)
        >>> clf.predict_interval(X[50:51]).shape  # (row, class, end)
        (1, 3, 2)
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        """Validate `draws`."""
        arguments.count("draws", self.draws, default=1000)

    def infer(self, problem: Problem, seed: int) -> ClosedForm:
        """Return the updated model; UnsupportedOperation where a block has no closed form."""
        posterior = problem.model.posterior(problem.statistics)
        caveat = posterior.caveat
        outcome = Words(f"Closed form. {caveat}" if caveat else VERDICT)
        report = Report("exact", converged=True, outcome=outcome)
        answer = ClosedForm(problem.reader, report, posterior, seed, self.draws)
        if any(part.joint for part in posterior.blocks.values()):
            # kept; a numerically singular matrix is reported here, not at the first prediction
            _ = answer.predictives
        return answer


@dataclasses.dataclass(frozen=True)
class Expected:
    """The closed form after incomplete rows are replaced by their expected statistics at the mode.

    Without missing values in joint blocks it equals `Exact`. With missing values it is a fast
    approximation (milliseconds), whose posterior is too narrow by the share of missing cells;
    `Augmentation` is exact up to Monte Carlo error, and `"auto"` is this approximation, with a
    warning, where augmentation would take more than 10 seconds. Missing values in rows to predict
    are marginalized exactly.

    Args:
        draws: number of draws behind intervals.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> X.loc[0, "petal_length"] = None
        >>> bg.LDA(inference=bg.Expected()).fit(X, y).inference_
        'expected'
    """

    draws: int = 1000

    def __post_init__(self) -> None:
        """Validate the number of draws."""
        arguments.count("draws", self.draws, default=1000)

    def infer(self, problem: Problem, seed: int) -> ClosedForm:
        """Return the model updated by expected statistics."""
        filled, accounts = expected_statistics(problem.model, problem.statistics)
        posterior = Exact(self.draws).infer(problem.given(filled), seed)
        if not accounts:
            return posterior
        converged = all(account.converged for account in accounts.values())
        caveat = f" {posterior.model.caveat}".rstrip()
        report = dataclasses.replace(
            posterior.report,
            method="expected",
            converged=converged,
            outcome=(Words(EXPECTED_VERDICT) if converged else STOPPED) + caveat,
            details={k: v for name, one in accounts.items() for k, v in one.details(name).items()},
        )
        return dataclasses.replace(posterior, report=report)


@dataclasses.dataclass(frozen=True)
class Grouped:
    """The closed forms of groups of rows (see `inference.groups`).

    Incomplete rows in joint blocks count by their expected statistics, as in `Expected`.

    Args:
        draws: number of draws behind intervals.
    """

    draws: int = 1000

    def infer(self, problem: Problem, seed: int) -> ByGroup:
        """Return the updated model of each group, and that of a new one."""
        groups = groups_of(problem)
        members = {g: Expected(self.draws).infer(part, seed) for g, part in groups.problems.items()}
        reports = [member.report for member in members.values()]
        # the least certain of all
        report = max(reports, key=lambda one: (not one.converged, one.method == "expected"))
        population = ClosedForm(problem.reader, report, groups.population, seed, self.draws)
        return ByGroup(problem.reader, report, {NEW_GROUP: population, **members})
