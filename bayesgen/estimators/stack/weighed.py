"""What is learned of the members of a stack by leaving rows out: one value, saved as one part."""

import dataclasses
from collections.abc import Mapping

from bayesgen.classes import Spec, kept
from bayesgen.inference import Pooled, Readout, Report
from bayesgen.interactions import Interactions
from bayesgen.prevalence import LeftOutRows
from bayesgen.typing import Self


@dataclasses.dataclass(frozen=True, eq=False)
class WeighedStack:
    """How members become a stack.

    weights: in the linear pool, by name. readout: how their mean becomes class probabilities.
    probabilities: of each member, that it is nearest to the truth; {} of old files: the weights.
    split: the member whose blocks the log-linear pool weighs. interactions: that joined. left_out:
    predictions of the rows that weigh, each from the others. report: of the fit. class_prior: of
    the classes, as it was stated.
    """

    weights: Mapping[str, float]
    readout: Readout
    split: tuple[str, ...]
    interactions: Interactions
    left_out: LeftOutRows
    report: Report
    class_prior: Spec
    probabilities: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def pool_share(self) -> float:
        """The share of the log-linear pool."""
        return self.readout.share if isinstance(self.readout, Pooled) else 0.0

    @property
    def pair_weights(self) -> dict[str, float]:
        """The weights of members and pairs of columns in the log-linear pool; {} without it."""
        if not isinstance(self.readout, Pooled):
            return {}
        weights, pairs = self.readout.pool.mean_weights, self.interactions.pairs
        names = [*self.weights, *(pair.title for pair in pairs)]
        of_pairs = weights[len(weights) - len(pairs) :]
        return dict(zip(names, [*weights[: len(self.weights)], *of_pairs], strict=True))

    def with_report(self, report: Report) -> Self:
        """Return the same with another report."""
        return dataclasses.replace(self, report=report)

    def with_details(self, details: Mapping[str, float]) -> Self:
        """Return the same with more details in its report."""
        details = self.report.details | dict(details)
        return self.with_report(dataclasses.replace(self.report, details=details))

    def with_class_prior(self, class_prior: Spec) -> Self:
        """Return the same under other class probabilities."""
        return dataclasses.replace(self, class_prior=kept(class_prior))
