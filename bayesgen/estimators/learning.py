"""What rows of a table say to a classifier: read, checked, and added to what is known."""

import abc
from collections.abc import Collection

import numpy as np
from numpy.typing import ArrayLike

from bayesgen.errors import NoRows
from bayesgen.estimators import rows
from bayesgen.estimators.bending import Numbers, check, learn_power_transforms
from bayesgen.estimators.blocks import Blocks, specs
from bayesgen.estimators.fitted import TrainingState, add, learn
from bayesgen.estimators.seeds import drawn_seed
from bayesgen.estimators.tempering import Seen, Temper
from bayesgen.inference import NUTS, Method
from bayesgen.schema import Schema
from bayesgen.table import Name, Names, SparseTable, Table, check_labelled


class Learning(abc.ABC):
    """From rows, labels and weights to statistics; a subclass says which blocks read the columns.

    numbers, temper: whatever asks for the rows themselves has them kept.
    """

    inference: str | Method
    temper: Temper
    numbers: Numbers = None
    unseen: str
    random_state: object
    _state_: TrainingState
    _seen: tuple[Seen, ...] | None
    _seed: int

    @abc.abstractmethod
    def _blocks(self, table: Table) -> Blocks:
        """Return the blocks of a table: name -> (likelihood, columns)."""

    def _unread(self, names: Names) -> Collection[Name]:
        """Return which columns of a table no block will read."""
        return ()

    def _accumulate(
        self, X: object, y: object, classes: ArrayLike | None, sample_weight: object
    ) -> tuple[TrainingState, int, tuple[Seen, ...]]:
        """Return what earlier rows and these say together, the seed, and the rows."""
        first = not hasattr(self, "_state_")
        table, labels, weight = self._training_rows(X, y, sample_weight, reset=first)
        if first:
            known = rows.distinct(labels) if classes is None else np.unique(classes)
            rows.check_declared(labels, known)
            learned = self._learned(table, labels, known, weight)
            return learned, self._new_seed(), (Seen(table, labels, weight),)
        earlier = self._state_
        these = rows.distinct(labels) if classes is None else np.unique(classes)
        every = np.union1d(earlier.classes, these)
        check_labelled(every)
        rows.check_declared(labels, every)
        rows.check_sparse(table, earlier.likelihoods)
        schema = earlier.schema.merge(table, estimator=type(self).__name__)
        for name, value in self._from_rows().items():
            if self._seen is None:
                raise NoRows.to_learn_from(f"{name}={value!r}")
        seen = (*(self._seen or ()), Seen(table, labels, weight))
        if self.numbers is not None:
            again = learn_power_transforms(
                schema, earlier.likelihoods, seen, every, unseen=self.unseen
            )
            return again, self._seed, seen
        later = learn(table, schema, earlier.likelihoods, labels, every, weight, unseen=self.unseen)
        return add(earlier, later), self._seed, seen

    def _from_rows(self) -> dict[str, object]:
        """Return the parameters that ask for the rows themselves, which are kept for them."""
        wanted = {"temper": self.temper == "learn", "numbers": self.numbers is not None}
        return {name: getattr(self, name) for name, asks in wanted.items() if asks}

    def _training_rows(
        self, X: object, y: object, sample_weight: object, *, reset: bool
    ) -> tuple[Table, np.ndarray, np.ndarray]:
        return rows.training_rows(lambda: self._read(X, reset=reset), y, sample_weight)

    def _read(self, X: object, *, reset: bool) -> Table:
        """Return the table of rows, to fit for the first time (reset) or later on.

        Later on columns of a frame may stand in any order, and absent ones are missing, with a
        warning.

        Raises:
            UnknownColumns: columns that fitting did not see.
        """
        if reset:
            return rows.read(self, X, self._unread, reset=True)
        table = rows.read(self, X, self._state_.schema.unread, reset=False)
        self._check_columns(table)
        return table

    @abc.abstractmethod
    def _check_columns(self, table: Table) -> None:
        """Compare the columns of later rows with those of the fit."""

    def _learned(
        self, table: Table, labels: np.ndarray, classes: np.ndarray, weight: np.ndarray
    ) -> TrainingState:
        check_labelled(classes)
        blocks = self._blocks(table)
        likelihoods = {name: likelihood for name, (likelihood, _) in blocks.items()}
        rows.check_sparse(table, likelihoods)
        schema = Schema.learn(table, specs(blocks))
        check(self.numbers)
        if self.numbers is not None and not isinstance(table, SparseTable):
            seen = (Seen(table, labels, weight),)
            return learn_power_transforms(schema, likelihoods, seen, classes, unseen=self.unseen)
        return learn(table, schema, likelihoods, labels, classes, weight, unseen=self.unseen)

    def _new_seed(self) -> int:
        if self.random_state is None and isinstance(self.inference, NUTS):
            kept = self.inference.kept_seed()
            if kept is not None:
                return kept
        return drawn_seed(self.random_state)
