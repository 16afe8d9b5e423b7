"""A member of a stack: how it is fitted to the rows of the stack, and judged by rows left out."""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np
from jaxtyping import Float, Int
from sklearn.base import clone

from bayesgen.classes import Spec, class_prior, is_stated, prior_of_learning, require_possible
from bayesgen.errors import UnsupportedOperation
from bayesgen.estimators import description
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.judged_rows import JudgedRows, labelled_rows
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.tempered import with_pattern_power
from bayesgen.estimators.training_rows import TableEncoder, TrainingRows
from bayesgen.inference import (
    BAYES,
    Exact,
    Expected,
    Posterior,
    class_probabilities,
    method_of,
)
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.scores import Scores, likelihood_of
from bayesgen.predict import ReadRows
from bayesgen.schema import Reading
from bayesgen.table import Copies, Name, Table
from bayesgen.typing import Joint, Labels, Membership, Traceable

FOLDS = 10
"""Folds of rows by which members without a closed form are judged."""


@dataclasses.dataclass(frozen=True, eq=False)
class Member:
    """A classifier of a stack, which reads the rows that the stack has read.

    split_in_pool: whether its structure states that a log-linear pool weighs its blocks.
    learns_pattern: whether its missing pattern has a power, learned from rows left out.
    columns_apart: whether it reads each column in a block of its own, as interactions do.
    class_prior: the argument for the result; None: that of the classifier.
    """

    classifier: Classifier
    split_in_pool: bool = False
    learns_pattern: bool = False
    columns_apart: bool = False
    class_prior: Spec | None = None

    # -- the fit -----------------------------------------------------------------------------------

    def fit(self, rows: TrainingRows, classes: np.ndarray) -> TrainingRows:
        """Fit to rows of a stack; return them as the member reads them.

        Members that keep rows, or that no closed form fits, are fitted to the labeled rows alone.
        Class probabilities that are stated follow by `state_class_prior`, when rows left out have
        judged the member; where rows have no label they are those of the fit too.

        Args:
            rows: of the stack.
            classes: sorted, with those of the rows among them.
        """
        read = self.read(rows, reset=True)
        if not self._reads_unlabelled(read.table):
            read = read.labelled
        if (prior := self.class_prior) is not None:
            # refused before the fit
            class_prior(prior, classes, np.ones(len(classes)), frequencies=False)
            require_possible(prior, classes)
            own, labelled = self.classifier.class_prior, read.unlabelled is None
            self.classifier.class_prior = prior_of_learning(own) if labelled else prior
        self.classifier._fit_rows(read, classes)
        return read

    def state_class_prior(self) -> None:
        """Give the classifier, in place, the class probabilities that are stated for the result."""
        if self.class_prior is not None and is_stated(self.class_prior):
            self.classifier._state_class_prior(self.class_prior)

    def read(self, rows: TrainingRows, *, reset: bool) -> TrainingRows:
        """Return rows of the stack with the columns that the blocks of the member read.

        reset: whether these are the first rows of a fit.
        """
        return self.classifier._recipe().own_rows(rows, reset=reset)

    def _reads_unlabelled(self, table: Table) -> bool:
        """Return whether it can be fitted to rows without a label; table: as it reads them."""
        classifier = self.classifier
        if classifier.unlabelled is None or self.is_program:
            return False
        method = "exact" if classifier.inference == "auto" else classifier.inference
        if classifier.unlabelled == "learn" and not isinstance(method_of(method), Exact | Expected):
            return False
        blocks = description.blocks(classifier, table).values()
        return all(part.conjugate and not part.keeps_rows for part, _ in blocks)

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's own, which reads a row as a whole."""
        return getattr(self.classifier, "story", None) is not None

    @property
    def takes_all_rows(self) -> bool:
        """Whether the fitted member is its statistics: a closed form, without rows kept."""
        learned = {*self.classifier._recipe().learned_from(())} - {"power_transform", "bins"}
        return self.subtracts_rows and not learned and not self._keeps_rows

    @property
    def subtracts_rows(self) -> bool:
        """Whether rows are left out of the fitted member by their statistics, block by block.

        Kernels would be fitted anew for each row that has several classes.
        """
        soft = any(rows.shares is not None for rows in self.classifier._training)
        closed = self.classifier.inference_ in ("exact", "expected")
        return closed and not (soft and self._keeps_rows)

    @property
    def _keeps_rows(self) -> bool:
        return any(part.keeps_rows for part in self.state.likelihoods.values())

    def infer(self, state: TrainingState) -> None:
        """Replace the state by one of more rows or levels, and run inference again."""
        self.classifier._infer_again(state, keeps_rows=not self.takes_all_rows)

    # -- what was fitted ---------------------------------------------------------------------------

    @property
    def state(self) -> TrainingState:
        """The columns and the statistics."""
        return self.classifier.state_

    @property
    def posterior(self) -> Posterior:
        """The posterior of a member that was fitted to at least two classes."""
        return self.classifier.fitted_.posterior

    @property
    def derived(self) -> dict[Name, Reading]:
        """The source column of each derived column."""
        return self.classifier.fitted_.derived

    @property
    def density_columns(self) -> frozenset:
        """The columns, with kinds, that its density is over; none if they are derived."""
        if self.derived:
            return frozenset()
        blocks, places = self.state.schema.blocks, self.state.column_positions().items()
        columns = [(name, blocks[block][j].kind) for name, (block, j) in places]
        pattern = [
            (column.name, column.kind) for column, _ in self.state.pattern_positions().values()
        ]
        return frozenset(columns + pattern)

    @property
    def imputes(self) -> bool:
        """Whether it reads columns directly and can impute the cells of each."""
        if self.derived or not self.state.column_positions():
            return False
        try:
            for block in self.posterior.families:
                self.posterior.components.require_imputable(block)
        except UnsupportedOperation:
            return False
        return True

    def encode(
        self, table: Table, raw: Callable[[], object], encoder: TableEncoder
    ) -> dict[str, Traceable]:
        """Return the rows of a table by block.

        Args:
            table: as the stack reads it.
            raw: the same rows as they were passed, for programs of the user's own.
            encoder: of the table, shared with the other members.
        """
        read = self.classifier._recipe().own_table(table, raw, reset=False)
        encoder = encoder if read is table else TableEncoder(read)
        return encoder.encode(
            self.state.schema, self.classifier.unseen, type(self.classifier).__name__
        )

    # -- predictions of rows left out --------------------------------------------------------------

    def held_out(
        self, rows: TrainingRows, read: TrainingRows, classes: np.ndarray, judged: JudgedRows
    ) -> MemberScores:
        """Return what the member predicts of rows when it is fitted without them.

        Learns the power of the missing pattern from these predictions, in place, if it has one.
        Uses exact leave-one-out where there is a closed form; otherwise each of ten folds is
        predicted by a member fitted to the other nine. Copies of a row are left out with it.

        Args:
            rows: of the fit.
            read: the same, as the member reads them.
            classes: of the result; a class absent from a fold's training rows has probability 0.
            judged: the rows to predict.
        """
        fitted, posterior = self.classifier.fitted_, self.posterior
        labelled = labelled_rows(self.state, (read,), self.classifier.unseen, judged)
        if self.subtracts_rows:
            # under the class frequencies of the rows that are left out
            scores = fitted.under_frequencies().leave_one_out(labelled)
            judgement = MemberScores(scores, posterior.readout)
            if self.learns_pattern:
                return self.weigh_pattern(judgement, labelled.left_out.y, judged)
            return judgement
        codes, log_classes = rows.labelled.codes_among(classes), posterior.log_classes()
        joint = posterior.log_joint(labelled.encoded, len(codes))
        proba = class_probabilities(joint, log_classes)
        folds = folds_of(codes, proba[np.arange(len(codes)), codes], joint, judged.copies)
        again = rows.labelled if read.unlabelled is None else rows
        log_proba = self._by_folds(again, classes, folds)[judged.rows]
        parts = likelihood_of(log_proba, log_classes)[:, None]
        # by the readouts of the members of the folds already
        return MemberScores(Scores(log_proba, log_classes, parts), BAYES)

    def _by_folds(
        self, rows: TrainingRows, classes: np.ndarray, folds: Int[np.ndarray, " row"]
    ) -> Joint:
        """Return log P(y = k given x_i and the rows of the other folds), shape (row, class)."""
        labelled, unlabelled = (np.flatnonzero(a) for a in (rows.codes >= 0, rows.codes < 0))
        out = np.full((len(labelled), len(classes)), -np.inf)
        for number in np.unique(folds).tolist():
            fold, others = np.flatnonzero(folds == number), np.flatnonzero(folds != number)
            again = Member(clone(self.classifier))
            trained = rows.only(np.union1d(labelled[others], unlabelled))
            again.fit(trained, trained.classes)
            tested = again.read(rows.only(labelled[fold]), reset=False)
            encoded = tested.encode(again.state.schema, again.classifier.unseen)
            proba = ReadRows(again.posterior, encoded, len(fold)).proba()
            place = np.searchsorted(classes, again.classifier.classes_)
            with np.errstate(divide="ignore"):
                out[np.ix_(fold, place)] = np.log(proba)
        return out

    def weigh_pattern(
        self, judgement: MemberScores, y: Membership, judged: JudgedRows
    ) -> MemberScores:
        """Learn a power of the missing pattern, in place; return the predictions under it.

        Args:
            judgement: what the member predicts of rows that are left out.
            y: classes of these rows.
            judged: these rows.
        """
        fitted = self.classifier.fitted_
        weighed = with_pattern_power(fitted, judgement.scores, y, judged)
        if weighed is fitted:
            return judgement
        self.classifier.fitted_ = weighed
        return dataclasses.replace(judgement, readout=weighed.posterior.readout)


def split_in_pool(members: Mapping[str, Member]) -> tuple[str, ...]:
    """Return the name of the member whose blocks a log-linear pool weighs, if there is one.

    It is the one with the most blocks of the automatic members that state it; without these, as
    where users pass their own, of all members that are judged block by block. A single block is the
    member itself. A block of levels of which there is one is none: it says nothing.
    """
    judged = {name: member for name, member in members.items() if member.subtracts_rows}
    stated = [name for name, member in judged.items() if member.split_in_pool]
    families = {name: judged[name].posterior.families.values() for name in stated or judged}
    sizes = {
        name: sum(max(family.n_levels, default=2) > 1 for family in blocks)
        for name, blocks in families.items()
    }
    most = max(sizes, key=sizes.__getitem__, default="")
    return (most,) if most and sizes[most] > 1 else ()


def folds_of(
    codes: Labels, proba: Float[np.ndarray, " row"], joint: Joint, copies: Copies
) -> Int[np.ndarray, " row"]:
    """Return the fold of each row: rows of a class in turn, by how well the fit predicts them.

    It depends neither on the order of rows nor on units nor on the names of classes, which come in
    the order of their sizes. Equal rows are in one fold.

    Args:
        codes: class codes.
        proba: P(y_i given x_i and all rows).
        joint: log p(x_i, y = k given all rows): that of a row's own class breaks ties.
        copies: which rows are equal.
    """
    first = copies.first
    codes, proba, joint = codes[first], proba[first], joint[first]
    folds = np.empty(len(codes), dtype=int)
    own, proba = np.round(joint[np.arange(len(codes)), codes], 9), np.round(proba, 9)
    size, total = np.bincount(codes), np.round(np.bincount(codes, proba), 6)
    order = np.lexsort([own, proba, codes, total[codes], size[codes]])
    folds[order] = np.arange(len(codes)) % FOLDS
    return folds[copies.content]
