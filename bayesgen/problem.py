"""What inference is given: a completed model, the statistics of its rows and a reader of rows."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Model, ModelStatistics, Reader


@dataclasses.dataclass(frozen=True, eq=False)
class Guesses:
    """What a model is completed from, so that it can be completed again without some of the rows.

    classes: weight of each class -> the prior of the classes. blocks: likelihoods by name, guesses
    as the user left them. statistics: of the rows, over all positions.
    """

    classes: Callable[[Float[np.ndarray, " class"]], ClassPrior]
    blocks: Mapping[str, Likelihood]
    statistics: ModelStatistics

    def reader(self) -> Reader:
        """Return the completed likelihoods, and which of their positions tell classes apart."""
        full, kept = {}, {}
        for name, likelihood in self.blocks.items():
            completed = likelihood.complete(self.statistics.blocks[name])
            uninformative = completed.uninformative()
            if uninformative is None or not uninformative.any():
                full[name], kept[name] = completed, None
            elif not uninformative.all():
                full[name], kept[name] = completed, np.flatnonzero(~uninformative)
        return Reader(full, kept)


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

        Args:
            classes: prior of the classes.
            blocks: likelihoods by name.
            statistics: of the rows, over all positions.
        """
        return cls.completed(Guesses(lambda count: classes, blocks, statistics))

    @classmethod
    def completed(cls, guesses: Guesses, reader: Reader | None = None) -> "Problem":
        """Return the problem of some rows, every guess filled in.

        Positions that are uninformative are left out, and blocks without any others.

        Args:
            guesses: the class prior, the likelihoods and the statistics of the rows.
            reader: of a posterior, whose likelihoods these rows have completed before.
        """
        reader = guesses.reader() if reader is None else reader
        blocks = dict(reader.full)
        for name, index in reader.kept.items():
            if index is not None:
                blocks[name] = blocks[name].take(blocks[name].subset_axis, index)
        model = Model(guesses.classes(guesses.statistics.count), blocks)
        return cls(model, reader.kept_of(guesses.statistics), reader, guesses)

    def given(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of other rows, whose guesses stay.

        statistics: over the positions that are kept.
        """
        return dataclasses.replace(self, statistics=statistics, guesses=None)

    def plus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of these rows and others; statistics: over all positions."""
        return self.given(self.statistics + self.reader.kept_of(statistics))

    def minus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem without some of the rows; statistics: over all positions."""
        return self.given(self.statistics - self.reader.kept_of(statistics))
