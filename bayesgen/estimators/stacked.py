"""Several generative classifiers as one: weighed, and tempered, by rows they have not seen."""

import copy
import os
from collections.abc import Callable, Mapping, Sequence
from typing import no_type_check

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from bayesgen import diagnose
from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import (
    BayesgenError,
    InvalidArgument,
    LeftOut,
    NoRows,
    TooFewClasses,
    UnsupportedTable,
    warn,
)
from bayesgen.estimators import rows
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.deciding import Deciding
from bayesgen.estimators.held_out import Batches, held_out
from bayesgen.estimators.members import automatic
from bayesgen.estimators.saved import save
from bayesgen.estimators.tempering import Temper, stated_powers, temperature
from bayesgen.inference import Posterior, Report, Stacked, Tempered, stacking
from bayesgen.inference import tempered as powers
from bayesgen.model import Reader
from bayesgen.table import SparseTable, Table, concatenated
from bayesgen.typing import Joint, Labels, Traceable, Weights

Members = str | Sequence[Classifier] | Mapping[str, Classifier]


class StackedClassifier(Deciding, ClassifierMixin, BaseEstimator):
    r"""Generative classifiers of several structures, stacked and tempered by exact leave-one-out.

    P(y given x) = mean over powers eta of Q(y given x)^eta, normalised, where Q is the weighted
    mean of the members' class probabilities. The weights maximise the sum over rows of
    log Q(y_i given x_i, the rows without i); the powers weigh by the same score. Every member
    is a generative model with a closed form, so no row is fitted again.

    What tempering gives up: the probabilities are no longer those of one generative model, and a
    power below 1 says that the story counts evidence more than once (`temperature_`).

    Sources: Yao, Vehtari, Simpson and Gelman (2018), Bayesian Analysis 13, 917-1007; Miller and
    Dunson (2019), Journal of the American Statistical Association 114, 1113-1125.

    Args:
        members: "auto" (naive, linear, quadratic and tree-shaped structures that suit the columns),
            a sequence of classifiers, or {name: classifier}. Members without a closed form (NUTS, a
            story of your own) are judged by ten folds.
        temper: "learn", None (the weighted mean as it is), or a power above 0.
        class_prior, unseen, random_state: of automatic members, as in GenerativeClassifier.

    Attributes:
        members_: the fitted members by name; one that fails is left out, with a warning.
        weights_: their weights by name, which sum to one.
        temperature_: what log-odds are divided by (1: the stack was not overconfident).
        classes_, n_features_in_, feature_names_in_: as in GenerativeClassifier.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> stack = bg.StackedClassifier().fit(X, y)
        >>> max(stack.weights_, key=stack.weights_.get)
        'trees'
        >>> stack.predict_proba(X.iloc[[70]]).round(2)
        array([[0.  , 0.27, 0.73]])
    """

    @no_type_check  # anything goes here, and fit says what is wrong: scikit-learn's convention
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

    def fit(self, X: object, y: object, sample_weight: object = None) -> "StackedClassifier":
        """Fit every member to rows X and labels y, weigh them, and temper; returns self.

        Raises:
            BayesgenError: rows that cannot be used, or no member could be fitted.
        """
        table, labels, _ = rows.training_rows(lambda: self._read(X, reset=True), y, sample_weight)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise TooFewClasses.found(classes.tolist())
        members = {name: clone(member) for name, member in self._listed(table).items()}
        batches = ((X, y, sample_weight),)
        fitted = self._attempted(members, batches, classes, lambda m: m.fit(*batches[0]))
        return self._settle(*fitted, batches, classes)

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> "StackedClassifier":
        """Add rows: members add statistics, and weights and powers are learned from all rows again.

        The rows are kept for that. Columns of the first call decide which members there are.
        """
        if not hasattr(self, "members_"):
            return self.fit(X, y, sample_weight)
        if not self._batches:
            raise NoRows.to_learn_from("a stack")
        self._read(X, reset=False)
        batches = (*self._batches, (X, y, sample_weight))
        every = np.union1d(self.classes_, rows.labels_of(y) if classes is None else classes)
        members = {name: copy.deepcopy(member) for name, member in self.members_.items()}
        added = self._attempted(
            members, batches, every, lambda m: m.partial_fit(X, y, every, sample_weight)
        )
        return self._settle(*added, batches, every)

    def _read(self, X: object, *, reset: bool) -> Table:
        table = rows.read(self, X, lambda names: (), reset=reset)
        if isinstance(table, SparseTable):
            raise UnsupportedTable.sparse_for(type(self).__name__)
        return table

    def _listed(self, table: Table) -> dict[str, Classifier]:
        """Return the members by name."""
        if isinstance(self.members, Mapping):
            return {name: _own(member) for name, member in self.members.items()}
        if isinstance(self.members, str):
            if self.members != "auto":
                raise InvalidArgument.not_one_of("members", self.members, ["auto", "[bg.LDA()]"])
            options = {"unseen": self.unseen, "random_state": self.random_state}
            return automatic(table, class_prior=self.class_prior, **options)
        return {f"{type(m).__name__} {i}": _own(m) for i, m in enumerate(self.members, start=1)}

    def _attempted(
        self,
        members: Mapping[str, Classifier],
        batches: Batches,
        classes: np.ndarray,
        fit: Callable[[Classifier], object],
    ) -> tuple[dict[str, Classifier], np.ndarray]:
        """Return the members that could be fitted, and what they say of rows left out."""
        kept, said = {}, []
        for name, member in members.items():
            try:
                fit(member)
                said.append(held_out(member, batches, classes))
            except (BayesgenError, np.linalg.LinAlgError, FloatingPointError) as error:
                warn(LeftOut.member(name, error))
                continue
            kept[name] = member
        if not kept:
            raise InvalidArgument.no_member_left(list(members))
        return kept, np.stack(said)

    def _settle(
        self,
        members: dict[str, Classifier],
        said: np.ndarray,
        batches: Batches,
        classes: np.ndarray,
    ) -> "StackedClassifier":
        """Weigh the members by what they `said` of rows left out, (member, row, class)."""
        labels = np.concatenate([rows.labels_of(y) for _, y, _ in batches])
        parts = [rows.weights_of(w, len(rows.labels_of(y))) for _, y, w in batches]
        codes, weight = np.searchsorted(classes, labels), np.concatenate(parts)
        share = stacking.weights_of(said[:, np.arange(len(codes)), codes], weight)
        posterior = _stack(members, share)
        self._powers = self._learned_powers(posterior, stacking.stacked(said, share), codes, weight)
        self.members_, self.classes_, self._batches = members, classes, batches
        self.weights_ = dict(zip(members, share.tolist(), strict=True))
        self.inference_ = "stacked"
        return self

    def _learned_powers(
        self, posterior: Stacked, said: Joint, codes: Labels, weight: Weights
    ) -> np.ndarray | None:
        """Return powers and their weights, shape (2, power); None where nothing is tempered."""
        if self.temper is None:
            return None
        if self.temper != "learn":
            return np.stack(stated_powers(self.temper))
        return np.stack(powers.learned(posterior.log_classes()[None], said, codes, weight))

    # -- rows in and out -------------------------------------------------------------------------

    def _answering(self) -> Posterior:
        check_is_fitted(self, "members_")
        posterior = _stack(self.members_, np.array(list(self.weights_.values())))
        if self._powers is None:
            return posterior
        return Tempered(posterior.reader, posterior.report, posterior, *self._powers)

    def _encoded(self, X: object) -> tuple[Posterior, dict[str, Traceable], int]:
        posterior = self._answering()
        n_rows = self._read(X, reset=False).n_rows
        encoded = {
            f"{name}/{block}": x
            for name, member in self.members_.items()
            for block, x in member._encoded(X)[1].items()
        }
        return posterior, encoded, n_rows

    def sample(self, n: int = 1, random_state: object = None) -> tuple[object, np.ndarray]:
        """Return n rows, in the kind of table that fit saw, and their labels.

        Each row comes from one of the members with a density over the columns, picked by weight.
        """
        self._answering()
        rng = check_random_state(random_state)
        named = [
            m for m in self.members_ if getattr(self.members_[m], "levels", "") != "indicators"
        ]
        share = np.array([self.weights_[name] for name in named])
        counts = rng.multinomial(n, share / share.sum())
        parts = [
            self.members_[name].sample(int(count), rng)
            for name, count in zip(named, counts, strict=True)
            if count
        ]
        tables, labels = zip(*parts, strict=True)
        return concatenated(tables), np.concatenate(labels)

    def _simulated(self, n: int) -> dict[str, Traceable]:
        return self._encoded(self.sample(n, 0)[0])[1]

    # -- keeping, changing and looking -------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted classifier to a netCDF file, which `bayesgen.load` reads."""
        check_is_fitted(self, "members_")
        save(self, path)

    def with_class_prior(self, class_prior: ClassPriorSpec) -> "StackedClassifier":
        """Return a fitted copy that answers under other, known class probabilities."""
        self._answering()
        members = {name: m.with_class_prior(class_prior) for name, m in self.members_.items()}
        other = copy.copy(self)
        other.class_prior, other.members_ = class_prior, members
        return other

    @property
    def temperature_(self) -> float:
        """What log-odds are divided by: 1 over the (geometric mean) power."""
        return temperature(self._answering())

    @no_type_check  # options are those of the members
    def to_datatree(self, **options: object) -> object:
        """Return an xarray.DataTree: the weights, and under each member's name its own tree.

        options: of the members' `to_datatree`.
        """
        self._answering()
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


def _own(member: object) -> Classifier:
    """Return a member, which must be a classifier of this library with statistics of its own."""
    if not isinstance(member, Classifier):
        raise InvalidArgument.not_one_of("member", member, ["bg.LDA()", "bg.NaiveBayes()"])
    return member


def _stack(members: Mapping[str, Classifier], weights: np.ndarray) -> Stacked:
    same = tuple(getattr(member, "levels", "refuse") == "refuse" for member in members.values())
    verdict = "Members are weighed by what they say of rows left out."
    report = Report("stacked", 0.0, converged=True, verdict=verdict)
    parts = {name: member._answering() for name, member in members.items()}
    return Stacked(Reader({}, {}), report, parts, weights, same)
