"""Several generative classifiers as one: weighed, and tempered, by rows they have not seen."""

import copy
import dataclasses
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, diagnose
from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import (
    AbsentColumns,
    BayesgenError,
    InvalidArgument,
    LeftOut,
    NoRows,
    TooFewClasses,
    UnsupportedTable,
    deduplicate_warnings,
    warn,
)
from bayesgen.errors.base import Code
from bayesgen.estimators import rows
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.held_out import Batches, held_out, marginal
from bayesgen.estimators.members import WIDEST, automatic, too_wide
from bayesgen.estimators.parameters import Estimator
from bayesgen.estimators.saved import save
from bayesgen.estimators.stack_asking import StackAsking
from bayesgen.estimators.stack_rows import stack_of
from bayesgen.estimators.tempering import Temper, stated_powers
from bayesgen.estimators.undoing import restore_on_failure
from bayesgen.inference import Report, stacking
from bayesgen.inference import power_posterior as powers
from bayesgen.table import SparseTable, Table, check_labelled
from bayesgen.typing import DataTree, Joint, Labels, Self, Weights, unchecked

VERDICT = "Members are weighed by what they say of rows left out."

ALLOWED = ("auto", Code("[bg.LDA()]"))
Held = tuple[np.ndarray, np.ndarray]
"""What members say of rows left out, (member, row, class), and of which they can, (row, member)."""
Members = str | Sequence[Classifier] | Mapping[str, Classifier]


class StackedClassifier(StackAsking, ClassifierMixin, Estimator):
    r"""Generative classifiers of several structures, stacked and tempered by exact leave-one-out.

    P(y given x) = mean over powers eta of Q(y given x)^eta, normalised, where Q is the weighted
    mean of the members' class probabilities. The weights maximise the sum over rows of
    log Q(y_i given x_i, the rows without i); the powers weigh by the same score. Every member
    is a generative model with a closed form, so no row is fitted again.

    A class of one row has none where that row is left out: what is then said of the class is its
    prior, and what the guesses of the other rows make of one row more. (Under
    class_prior="empirical" every member rules the class out, and the row judges nobody.) A row of
    weight 2 is the row twice, of which one is left out; one without a cell has the class prior.

    A row with missing values is answered by the members that integrate over them, with their
    weights normalized: by all but trees. (Trees sum over missing levels of up to 64 combinations.
    They answer where no other member is left.) So it is where members are weighed, and in
    everything that a stack answers.

    What tempering gives up: the probabilities are no longer those of one generative model, and a
    power below 1 says that the story counts evidence more than once (`temperature_`).

    Sources: Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13, 917-1007; Miller and
    Dunson (2019), Journal of the American Statistical Association 114, 1113-1125.

    Args:
        members: "auto" (naive, linear, quadratic and tree-shaped structures that suit the columns
            and whether numbers are missing), a sequence of classifiers, or {name: classifier}.
            Members without a closed form (NUTS, a story of your own) are judged by ten folds.
        temper: "learn", None (the weighted mean as it is), or a power above 0.
        class_prior, unseen, random_state: of automatic members, as in GenerativeClassifier.

    Attributes:
        members_: the fitted members by name.
        left_out_: why others are not among them, by name: they failed (one that fails is left out,
            with a warning), or the table is so wide that what costs the cube of its columns is not
            tried (above 100 columns, with a warning).
        weights_: their weights by name, which sum to one.
        temperature_: what log-odds are divided by (1: the stack was not overconfident).
        classes_, n_features_in_, feature_names_in_: as in GenerativeClassifier.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> stack = bg.StackedClassifier().fit(X, y)
        >>> stack.predict(X.iloc[[0, 149]]).tolist(), round(sum(stack.weights_.values()), 6)
        (['setosa', 'virginica'], 1.0)
        >>> parts = stack.evidence(X.iloc[[70]], "virginica", "versicolor", order="shapley")
        >>> parts.drop(columns="(prior)").idxmax(axis=1).item()
        'petal_width'
    """

    @unchecked  # anything goes here, and fit says what is wrong: scikit-learn's convention
    def __init__(
        self,
        members: Members = "auto",
        *,
        temper: Temper = "learn",
        class_prior: ClassPriorSpec = 1.0,
        unseen: str = "missing",
        random_state: object = None,
    ) -> None:
        self.members = members
        self.temper = temper
        self.class_prior = class_prior
        self.unseen = unseen
        self.random_state = random_state

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit every member to rows X and labels y, weigh them, and temper; returns self.

        Raises:
            BayesgenError: rows that cannot be used, or no member could be fitted.
        """
        with restore_on_failure(self):
            start = time.perf_counter()
            arguments.seed(self.random_state)
            read = functools.partial(self._read, X, reset=True)
            table, labels, _ = rows.training_rows(read, y, sample_weight)
            classes = np.unique(labels)
            if len(classes) < 2:
                raise TooFewClasses.found(classes.tolist())
            check_labelled(classes)
            members = {name: clone(member) for name, member in self._listed(table).items()}
            batches = (rows.with_weight(X, y, sample_weight),)
            wide = self._without_wide(table)
            fitted = self._attempted(members, batches, classes, lambda m: m.fit(*batches[0]))
            return self._finish_fit(*fitted, batches, classes, start, wide)

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> Self:
        """Add rows: members add statistics, and weights and powers are learned from all rows again.

        The rows are kept for that. Columns of the first call decide which members there are.
        """
        if not hasattr(self, "members_"):
            return self.fit(X, y, sample_weight)
        if not self._batches:
            raise NoRows.to_learn_from("a stack")
        self._read(X, reset=False)
        start, more = time.perf_counter(), rows.with_weight(X, y, sample_weight)
        batches = (*self._batches, more)
        every = np.union1d(self.classes_, rows.labels_of(more[1]) if classes is None else classes)
        check_labelled(every)
        members = {name: _as_it_is(member) for name, member in self.members_.items()}
        added = self._attempted(
            members, batches, every, lambda m: m.partial_fit(more[0], more[1], every, more[2])
        )
        return self._finish_fit(*added, batches, every, start, self.left_out_)

    def _read(self, X: object, *, reset: bool) -> Table:
        table = rows.read(self, X, lambda names: (), reset=reset)
        if isinstance(table, SparseTable):
            raise UnsupportedTable.sparse_for(type(self).__name__)
        if not reset:
            self._check_columns(table)
        return table

    def _listed(self, table: Table) -> dict[str, Classifier]:
        """Return the members by name."""
        if not isinstance(self.members, Mapping | Sequence) or not self.members:
            raise InvalidArgument.not_one_of("members", self.members, ALLOWED)
        if isinstance(self.members, Mapping):
            return {name: _own(member) for name, member in self.members.items()}
        if isinstance(self.members, str):
            arguments.one_of("members", self.members, ALLOWED)
            options = {"unseen": self.unseen, "random_state": self.random_state}
            return automatic(table, class_prior=self.class_prior, **options)
        return {f"{type(m).__name__} {i}": _own(m) for i, m in enumerate(self.members, start=1)}

    def _without_wide(self, table: Table) -> dict[str, str]:
        """Return, and tell, which structures the table has too many columns for."""
        names = too_wide(table) if isinstance(self.members, str) else []
        if not names:
            return {}
        told = LeftOut.too_wide(names, len(table.names), WIDEST)
        warn(told)
        return dict.fromkeys(names, str(told))

    def _attempted(
        self,
        members: Mapping[str, Classifier],
        batches: Batches,
        classes: np.ndarray,
        fit: Callable[[Classifier], object],
    ) -> tuple[dict[str, Classifier], Held, dict[str, str]]:
        """Return members that could be fitted, what they say of rows left out, and who failed."""
        kept, said, able, failed = {}, [], [], {}
        with deduplicate_warnings(AbsentColumns):  # which were told of when the rows were read
            for name, member in members.items():
                try:
                    fit(member)
                    said.append(held_out(member, batches, classes))
                    able.append(marginal(member, batches))
                except (BayesgenError, np.linalg.LinAlgError, FloatingPointError) as error:
                    failed[name] = str(error)
                    warn(LeftOut.member(name, error))
                    continue
                kept[name] = member
        if not kept:
            raise InvalidArgument.no_member_left(list(members))
        return kept, (np.stack(said), np.stack(able, axis=1)), failed

    def _finish_fit(
        self,
        members: dict[str, Classifier],
        held: Held,
        failed: dict[str, str],
        batches: Batches,
        classes: np.ndarray,
        start: float,
        before: dict[str, str],
    ) -> Self:
        """Weigh the members by what they said of rows left out."""
        labels = np.concatenate([rows.labels_of(y) for _, y, _ in batches])
        parts = [rows.weights_of(w, len(rows.labels_of(y))) for _, y, w in batches]
        codes, weight = np.searchsorted(classes, labels), np.concatenate(parts)
        said, able = held
        share = stacking.weights_of(said[:, np.arange(len(codes)), codes], weight, able)
        told = Report("stacked", 0.0, converged=True, verdict=_verdict(members))
        logs = stack_of(members, share, told).log_classes()
        mean = stacking.stacked(said, stacking.shares(share, able))
        self._powers = self._learned_powers(logs, mean, codes, weight)
        self.members_, self.classes_, self._batches = members, classes, batches
        self.weights_ = dict(zip(members, share.tolist(), strict=True))
        self.left_out_ = before | failed
        self.inference_ = "stacked"
        details = {f"weight of {name}": weight for name, weight in self.weights_.items()}
        seconds = time.perf_counter() - start
        self.report_ = dataclasses.replace(told, seconds=seconds, details=details)
        return self

    def _learned_powers(
        self, log_classes: np.ndarray, said: Joint, codes: Labels, weight: Weights
    ) -> np.ndarray | None:
        """Return powers and their weights, shape (2, power); None where nothing is tempered."""
        if self.temper is None:
            return None
        if self.temper != "learn":
            return np.stack(stated_powers(self.temper))
        return np.stack(powers.learned(log_classes[None], said, codes, weight))

    # -- keeping, changing and looking -------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted classifier to a netCDF file, which `bayesgen.load` reads."""
        check_is_fitted(self, "members_")
        save(self, path)

    def with_class_prior(self, class_prior: ClassPriorSpec) -> Self:
        """Return a fitted copy that answers under other, known class probabilities."""
        self._fitted_posterior()
        members = {name: m.with_class_prior(class_prior) for name, m in self.members_.items()}
        other = copy.copy(self)
        other.class_prior, other.members_ = class_prior, members
        return other

    @unchecked  # options are those of the members
    def to_datatree(self, **options: Any) -> DataTree:
        """Return an xarray.DataTree: the weights, and under each member's name its own tree.

        options: of the members' `to_datatree`.
        """
        self._fitted_posterior()
        trees = {name: member.to_datatree(**options) for name, member in self.members_.items()}
        return diagnose.trees_of_members(trees, self.weights_)

    def __sklearn_tags__(self) -> Tags:
        """Say that missing cells, levels and text are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __getstate__(self) -> dict[str, object]:
        """Return what is copied and kept: all but the rows of the fit, which are the user's."""
        return {**super().__getstate__(), "_batches": ()}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether any rows were seen."""
        return hasattr(self, "members_")


def _verdict(members: Mapping[str, Classifier]) -> str:
    """Return how members are weighed, and which of them some rows may be answered without."""
    names = [name for name, member in members.items() if member._fitted_posterior().caveat]
    if not names:
        return VERDICT
    return (
        f"{VERDICT} Rows are answered without {', '.join(map(repr, names))} where these do not "
        "integrate over the missing values, unless no other member is left."
    )


def _as_it_is(member: Classifier) -> Classifier:
    """Return a copy with the rows that the member remembers, which copies made by others lack.

    Fitting sets attributes anew and changes none in place.
    """
    other = object.__new__(type(member))
    vars(other).update(vars(member))
    return other


def _own(member: object) -> Classifier:
    """Return a member, which must be a classifier of this library with statistics of its own."""
    if not isinstance(member, Classifier):
        if isinstance(member, type):
            raise InvalidArgument.not_an_instance("member", member)
        raise InvalidArgument.not_one_of("member", member, [Code("bg.LDA()")])
    return member
