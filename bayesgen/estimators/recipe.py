"""Recipe of a fit: the arguments of a classifier, and what they make of rows."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from bayesgen.classes import Spec, kept
from bayesgen.estimators import fit, missing_pattern_warning, unlabelled_fit
from bayesgen.estimators.column_blocks import Blocks, with_pattern
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.prior_model import LikelihoodPrior, PriorModel
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.tempered import Temper, tempered
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates import accumulation
from bayesgen.inference import Method
from bayesgen.table import Name, Table
from bayesgen.typing import Joint


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Recipe:
    """How rows become a fitted model.

    estimator: the name of the classifier in sentences. blocks: table -> its blocks. Others: the
    arguments of the classifier.
    """

    estimator: str
    blocks: Callable[[Table], Blocks]
    class_prior: Spec
    inference: str | Method
    temper: Temper
    missing: str
    unseen: str
    unlabelled: unlabelled_fit.Weight
    power_transform: bool
    bins: int | str | None
    groups: Name | None
    random_state: object

    # -- the rows ----------------------------------------------------------------------------------

    def own_table(self, table: Table, raw: Callable[[], object]) -> Table:
        """Return the table of the columns that the blocks read, some of which may be derived.

        raw: function that returns the same rows as they were passed.
        """
        return table

    def own_rows(self, rows: TrainingRows) -> TrainingRows:
        """Return training rows with the columns that the blocks read."""
        return rows.as_read_by(self.own_table)

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's own, which reads a row as a whole."""
        return False

    def learned_from(self, rows: Sequence[TrainingRows]) -> dict[str, object]:
        """Return the arguments, and their values, that are learned from the rows of all calls.

        If any row has no label all are kept, because inference starts from them again.
        """
        asked = {
            "temper": self.temper in ("learn", "columns"),
            "missing": self.missing == "learn",
            "power_transform": self.power_transform,
            "bins": self.bins is not None,
            "unlabelled": any(part.unlabelled is not None for part in rows),
        }
        return {name: getattr(self, name) for name, asks in asked.items() if asks}

    # -- the state ---------------------------------------------------------------------------------

    def drawn_seed(self) -> int:
        """Return the seed of a fit."""
        return fit.drawn_seed(self.random_state, self.inference)

    def first_state(self, rows: TrainingRows, classes: np.ndarray) -> TrainingState:
        """Return the training state of the rows of the first call.

        classes: sorted, including those of the rows.
        """
        blocks = with_pattern(self.blocks(rows.table), rows.table, self.missing, self.temper)
        return fit.new_state(
            rows,
            blocks,
            classes,
            power_transform=self.power_transform,
            bins=self.bins,
            unseen=self.unseen,
            groups=self.groups,
        )

    def later_state(
        self, state: TrainingState, seen: Sequence[TrainingRows], classes: np.ndarray
    ) -> TrainingState:
        """Return the training state after the last rows seen.

        Args:
            state: before them.
            seen: rows, at least the last ones.
            classes: sorted, with those of the state and of the rows.
        """
        return accumulation.state_after(
            state,
            seen,
            classes,
            power_transform=self.power_transform,
            bins=self.bins,
            unseen=self.unseen,
            estimator=self.estimator,
        )

    # -- the fitted model --------------------------------------------------------------------------

    def waiting(self, state: TrainingState, prior: Spec | None = None) -> Fitted:
        """Return the model of rows that inference has not seen.

        prior: of the classes; None: that of the recipe.
        """
        prior = kept(self.class_prior) if prior is None else prior
        return self._model(state, prior, unseen=self.unseen, estimator=self.estimator)

    @property
    def _model(self) -> type[Fitted]:
        """The class of the model."""
        return Fitted

    def fitted(
        self, waiting: Fitted, seed: int, seen: Sequence[TrainingRows] = ()
    ) -> tuple[Fitted, Joint | None]:
        """Return a model with its posterior, and what rows without a label are expected to be.

        Args:
            waiting: the model of the rows that have a label.
            seed: of draws.
            seen: the rows, where an argument is learned from them, or they are at hand.
        """
        if not waiting.is_determined:
            return waiting, None
        if all(rows.unlabelled is None for rows in seen):
            model, labels = self.inferred(waiting, seed), None
            if seen and model.pattern_blocks():
                missing_pattern_warning.warn_of(model, seen[-1])
        else:
            model, labels = self.semi_supervised(waiting, seen, seed)
        if self.temper is not None or self.missing == "learn":
            model = tempered(model, self.temper, seen)
        return model, labels

    def inferred(self, waiting: Fitted, seed: int) -> Fitted:
        """Return the model that inference makes of rows that all have a label."""
        return fit.inferred(waiting, self.inference, seed)

    def semi_supervised(
        self, waiting: Fitted, seen: Sequence[TrainingRows], seed: int
    ) -> tuple[Fitted, Joint | None]:
        """Return the model of rows of which some have no label, and what these are expected to be.

        Args:
            waiting: the model of the labeled rows.
            seen: all rows.
            seed: of draws.
        """
        return unlabelled_fit.semi_supervised(waiting, seen, self.inference, self.unlabelled, seed)

    # -- the prior ---------------------------------------------------------------------------------

    def prior(self, rows: TrainingRows) -> PriorModel:
        """Return the prior, with the guesses that are not stated from training rows."""
        state = self.first_state(rows, rows.classes)
        return LikelihoodPrior(
            state,
            self.class_prior,
            self.inference,
            template=rows.encode(state.schema, self.unseen),
            n_rows=len(rows.codes),
            problem=state.problem(self.class_prior),
        )
