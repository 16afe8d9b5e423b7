"""A member of a stack: how it is fitted to the rows of the stack, and judged by rows left out."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int

from bayesgen.classes import Spec, class_prior, is_stated, prior_of_learning, require_possible
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.judged_rows import JudgedRows, labelled_rows
from bayesgen.estimators.recipe import Recipe
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.tempered import with_pattern_power
from bayesgen.estimators.training_rows import TrainingRows, fewer_than_two_classes
from bayesgen.inference import (
    BAYES,
    Exact,
    Expected,
    class_probabilities,
    method_of,
)
from bayesgen.inference.mixture import MemberScores
from bayesgen.inference.scores import Scores, likelihood_of
from bayesgen.predict import ReadRows
from bayesgen.table import Copies, Table
from bayesgen.typing import Joint, Labels, Self

FOLDS = 10
"""Folds of rows by which members without a closed form are judged."""


@dataclasses.dataclass(frozen=True, eq=False)
class Member:
    """A member of a stack before the fit.

    recipe: what it makes of rows. split_in_pool: whether its structure states that a log-linear
    pool weighs its blocks. learns_pattern: whether its missing pattern has a power, learned from
    rows left out. columns_apart: whether it reads each column in a block of its own, as
    interactions do. class_prior: the argument for the result; None: that of the recipe.
    """

    recipe: Recipe
    split_in_pool: bool = False
    learns_pattern: bool = False
    columns_apart: bool = False
    class_prior: Spec | None = None

    def fit(self, rows: TrainingRows, classes: np.ndarray) -> "FittedMember":
        """Return the member fitted to rows of a stack.

        Members that keep rows, or that no closed form fits, are fitted to the labeled rows alone.
        Class probabilities that are stated follow by `with_stated_prior`, when rows left out have
        judged the member; where rows have no label they are those of the fit too.

        Args:
            rows: of the stack.
            classes: sorted, with those of the rows among them.
        """
        recipe, read = self.recipe, self.recipe.own_rows(rows)
        if not self._reads_unlabelled(read.table):
            read = read.labelled
        if (prior := self.class_prior) is not None:
            # refused before the fit
            class_prior(prior, classes, np.ones(len(classes)), frequencies=False)
            require_possible(prior, classes)
            own, labelled = recipe.class_prior, read.unlabelled is None
            prior = prior_of_learning(own) if labelled else prior
            recipe = dataclasses.replace(recipe, class_prior=prior)
        if len(read.present) < 2:
            raise fewer_than_two_classes(read)
        seed = recipe.drawn_seed()
        waiting = recipe.waiting(recipe.first_state(read, classes))
        fitted, labels = recipe.fitted(waiting, seed, (read,))
        return FittedMember(dataclasses.replace(self, recipe=recipe), fitted, read, seed, labels)

    def _reads_unlabelled(self, table: Table) -> bool:
        """Return whether it can be fitted to rows without a label; table: as it reads them."""
        recipe = self.recipe
        if recipe.unlabelled is None or recipe.is_program:
            return False
        method = "exact" if recipe.inference == "auto" else recipe.inference
        if recipe.unlabelled == "learn" and not isinstance(method_of(method), Exact | Expected):
            return False
        blocks = recipe.blocks(table).values()
        return all(part.conjugate and not part.keeps_rows for part, _ in blocks)


@dataclasses.dataclass(frozen=True, eq=False)
class FittedMember:
    """A member fitted to the rows of a stack.

    asked: what was to be fitted. fitted: the model. rows: of the fit, as the member reads them.
    seed: of draws. labels: what rows without one are expected to be.
    """

    asked: Member
    fitted: Fitted
    rows: TrainingRows
    seed: int
    labels: Joint | None = None

    @property
    def state(self) -> TrainingState:
        """The columns and the statistics."""
        return self.fitted.state

    @property
    def is_program(self) -> bool:
        """Whether it is a program of the user's own, which reads a row as a whole."""
        return self.asked.recipe.is_program

    @property
    def takes_all_rows(self) -> bool:
        """Whether the model is its statistics: a closed form, without rows kept."""
        learned = {*self.asked.recipe.learned_from(())} - {"power_transform", "bins"}
        return self.subtracts_rows and not learned and not self._keeps_rows

    @property
    def subtracts_rows(self) -> bool:
        """Whether rows are left out of the model by their statistics, block by block.

        Kernels would be fitted anew for each row that has several classes.
        """
        closed = self.fitted.posterior.report.method in ("exact", "expected")
        return closed and not (self.rows.shares is not None and self._keeps_rows)

    @property
    def _keeps_rows(self) -> bool:
        return any(part.keeps_rows for part in self.state.likelihoods.values())

    def with_stated_prior(self) -> Self:
        """Return the member under the class probabilities that are stated for the result."""
        prior = self.asked.class_prior
        if prior is None or not is_stated(prior):
            return self
        return dataclasses.replace(self, fitted=self.fitted.with_class_prior(prior))

    def inferred_from(self, state: TrainingState) -> Self:
        """Return the member with a state of more rows or levels, inferred again."""
        waiting = dataclasses.replace(self.fitted, state=state, inferred=None)
        seen = () if self.takes_all_rows else (self.rows,)
        fitted, labels = self.asked.recipe.fitted(waiting, self.seed, seen)
        return dataclasses.replace(self, fitted=fitted, labels=labels)

    # -- predictions of rows left out --------------------------------------------------------------

    def held_out(
        self, rows: TrainingRows, read: TrainingRows, classes: np.ndarray, judged: JudgedRows
    ) -> tuple[Self, MemberScores]:
        """Return the member, and what it predicts of rows when it is fitted without them.

        The power of the missing pattern, if it has one, is learned from these predictions. Uses
        exact leave-one-out where there is a closed form; otherwise each of ten folds is predicted
        by a member fitted to the other nine. Copies of a row are left out with it.

        Args:
            rows: of the fit.
            read: the same, as the member reads them.
            classes: of the result; a class absent from a fold's training rows has probability 0.
            judged: the rows to predict.
        """
        posterior = self.fitted.posterior
        labelled = labelled_rows(self.state, (read,), self.fitted.unseen, judged)
        labelled = dataclasses.replace(labelled, known=read.left_out_scores)
        if self.subtracts_rows:
            # a fit with rows that have no label is under the class probabilities that are stated
            scores = self.fitted.under_frequencies().leave_one_out(labelled)
            if not self.asked.learns_pattern:
                return self, MemberScores(scores, posterior.readout)
            weighed = with_pattern_power(self.fitted, scores, labelled.left_out.y, judged)
            judgement = MemberScores(scores, weighed.posterior.readout)
            return dataclasses.replace(self, fitted=weighed), judgement
        codes, log_classes = rows.labelled.codes_among(classes), posterior.log_classes()
        joint = posterior.log_joint(labelled.encoded, len(codes))
        proba = class_probabilities(joint, log_classes)
        folds = folds_of(codes, proba[np.arange(len(codes)), codes], joint, judged.copies)
        again = rows.labelled if read.unlabelled is None else rows
        log_proba = self._by_folds(again, classes, folds)[judged.rows]
        parts = likelihood_of(log_proba, log_classes)[:, None]
        # by the readouts of the members of the folds already
        return self, MemberScores(Scores(log_proba, log_classes, parts), BAYES)

    def _by_folds(
        self, rows: TrainingRows, classes: np.ndarray, folds: Int[np.ndarray, " row"]
    ) -> Joint:
        """Return log P(y = k given x_i and the rows of the other folds), shape (row, class)."""
        labelled, unlabelled = (np.flatnonzero(a) for a in (rows.codes >= 0, rows.codes < 0))
        out, member = np.full((len(labelled), len(classes)), -np.inf), Member(self.asked.recipe)
        for number in np.unique(folds).tolist():
            fold, others = np.flatnonzero(folds == number), np.flatnonzero(folds != number)
            trained = rows.only(np.union1d(labelled[others], unlabelled))
            again = member.fit(trained, trained.classes).fitted
            tested = again.own_rows(rows.only(labelled[fold]))
            encoded = tested.encode(again.schema, again.unseen)
            proba = ReadRows(again.posterior, encoded, len(fold)).proba()
            place = np.searchsorted(classes, again.state.classes)
            with np.errstate(divide="ignore"):
                out[np.ix_(fold, place)] = np.log(proba)
        return out


def split_in_pool(members: Mapping[str, FittedMember]) -> tuple[str, ...]:
    """Return the name of the member whose blocks a log-linear pool weighs, if there is one.

    It is the one with the most blocks of the automatic members that state it; without these, as
    where users pass their own, of all members that are judged block by block. A single block is the
    member itself. A block of levels of which there is one is none: it says nothing.
    """
    judged = {name: member for name, member in members.items() if member.subtracts_rows}
    stated = [name for name, member in judged.items() if member.asked.split_in_pool]
    families = {name: judged[name].fitted.posterior.families.values() for name in stated or judged}
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
