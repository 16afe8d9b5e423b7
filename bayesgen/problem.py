"""What inference is given: a completed model, the statistics of its rows and a reader of rows."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Model, ModelStatistics, Reader


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
        cls, classes: ClassPrior, blocks: Mapping[str, Likelihood], statistics: ModelStatistics
    ) -> "Problem":
        """Return the problem of a class prior and likelihoods, every guess filled in.

        Positions that are uninformative are left out, and blocks without any others.

        Args:
            classes: prior of the classes.
            blocks: likelihoods by name.
            statistics: of the rows, over all positions.
        """
        full, kept = {}, {}
        for name, part in blocks.items():
            completed = part.complete(statistics.blocks[name])
            uninformative = completed.uninformative()
            if uninformative is None or not uninformative.any():
                full[name], kept[name] = completed, None
            elif not uninformative.all():
                full[name], kept[name] = completed, np.flatnonzero(~uninformative)
        return cls.read(classes, Guesses(blocks, statistics), Reader(full, kept))

    @classmethod
    def read(cls, classes: ClassPrior, guesses: Guesses, reader: Reader) -> "Problem":
        """Return the problem of rows by whose statistics a reader was completed."""
        blocks = dict(reader.full)
        for name, index in reader.kept.items():
            if index is not None:
                blocks[name] = blocks[name].take(blocks[name].subset_axis, index)
        statistics = reader.kept_of(guesses.statistics)
        return cls(Model(classes, blocks), statistics, reader, guesses)

    def given(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of other rows, guesses as they are; statistics: of kept positions."""
        return dataclasses.replace(self, statistics=statistics, guesses=None)

    def plus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of these rows and others; statistics: over all positions."""
        return self.given(self.statistics + self.reader.kept_of(statistics))

    def minus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem without some of the rows; statistics: over all positions."""
        return self.given(self.statistics - self.reader.kept_of(statistics))
