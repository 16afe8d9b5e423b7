"""What inference is given: a completed model, the statistics of its rows and a reader of rows."""

import dataclasses
from collections.abc import Mapping

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.selection import Selection
from bayesgen.model import Model, ModelStatistics, Reader
from bayesgen.schema import PowerTransforms


@dataclasses.dataclass(frozen=True, eq=False)
class Guesses:
    """What a model is completed from, so that it can be completed again without some of the rows.

    blocks: likelihoods, guesses as the user left them. statistics: of the rows, over all positions.
    empirical: whether class probabilities are the frequencies of the rows.
    """

    blocks: Mapping[str, Likelihood]
    statistics: ModelStatistics
    empirical: bool = False


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A model with every guess filled in, and the rows it is to learn from.

    model: completed, over the positions that tell classes apart. statistics: of the rows, over the
    same positions. reader: of rows, which leaves the other positions out. guesses: what the model
    was completed from; None: guesses stay as they are where rows are left out.
    """

    model: Model
    statistics: ModelStatistics
    reader: Reader
    guesses: Guesses | None = None

    @classmethod
    def of(
        cls,
        classes: ClassPrior,
        blocks: Mapping[str, Likelihood],
        statistics: ModelStatistics,
        power_transforms: Mapping[str, PowerTransforms] | None = None,
        *,
        empirical: bool = False,
    ) -> "Problem":
        """Return the problem of a class prior and likelihoods, every guess filled in.

        Positions that are uninformative are left out, and blocks without any others.

        Args:
            classes: prior of the classes.
            blocks: likelihoods by name.
            statistics: of the rows, over all positions.
            power_transforms: of the columns of some blocks.
            empirical: whether the class prior is the frequencies of the rows.
        """
        completed = {n: part.complete(statistics.blocks[n]) for n, part in blocks.items()}
        uninformative = {n: part.uninformative() for n, part in completed.items()}
        found = {n: Selection.of(part, uninformative[n]) for n, part in completed.items()}
        selections = {n: selection for n, selection in found.items() if not selection.is_empty}
        priors = {n: selection.take(completed[n]) for n, selection in selections.items()}
        reader = Reader(selections, dict(power_transforms or {}))
        guesses = Guesses(blocks, statistics, empirical)
        return cls(Model(classes, priors), reader.take(statistics), reader, guesses)

    @property
    def open_guesses(self) -> Guesses:
        """What the model was completed from; there must be such."""
        if self.guesses is None:
            raise ValueError("the guesses of this problem stay as they are")
        return self.guesses

    def with_classes(self, classes: ClassPrior, *, empirical: bool) -> "Problem":
        """Return the problem under another class prior.

        empirical: whether it is the frequencies of the rows.
        """
        guesses = self.guesses
        if guesses is not None:
            guesses = dataclasses.replace(guesses, empirical=empirical)
        model = dataclasses.replace(self.model, classes=classes)
        return dataclasses.replace(self, model=model, guesses=guesses)

    def given(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of other rows, guesses as they are; statistics: as read."""
        return dataclasses.replace(self, statistics=statistics, guesses=None)

    def plus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of these rows and others; statistics: over all positions."""
        return self.given(self.statistics + self.reader.take(statistics))

    def minus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem without some of the rows; statistics: over all positions."""
        return self.given(self.statistics - self.reader.take(statistics))
