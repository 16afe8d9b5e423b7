"""What inference is given: a completed model, the statistics of its rows and a reader of rows."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Model, ModelStatistics, Reader


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A model with every guess filled in, and the rows it is to learn from.

    model: completed, over the positions that tell classes apart. statistics: of the rows, over the
    same positions. reader: of rows, which leaves the other positions out.
    """

    model: Model
    statistics: ModelStatistics
    reader: Reader

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
        full, kept, live, parts = {}, {}, {}, {}
        for name, part in blocks.items():
            found = statistics.blocks[name]
            whole = part.complete(found)
            uninformative = whole.uninformative()
            if uninformative is None or not uninformative.any():
                full[name], kept[name] = whole, None
                live[name], parts[name] = whole, found
            elif not uninformative.all():
                full[name], kept[name] = whole, np.flatnonzero(~uninformative)
                live[name] = whole.take(whole.subset_axis, kept[name])
                parts[name] = found.take(whole.subset_axis, kept[name])
        statistics = ModelStatistics(statistics.count, parts)
        return cls(Model(classes, live), statistics, Reader(full, kept))

    def given(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of other rows; statistics: over the positions that are kept."""
        return dataclasses.replace(self, statistics=statistics)

    def plus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem of these rows and others; statistics: over all positions."""
        return self.given(self.statistics + self.reader.kept_of(statistics))

    def minus(self, statistics: ModelStatistics) -> "Problem":
        """Return the problem without some of the rows; statistics: over all positions."""
        return self.given(self.statistics - self.reader.kept_of(statistics))
