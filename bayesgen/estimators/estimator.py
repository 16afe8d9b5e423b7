"""What every classifier does between rows and a posterior; `Classifier` adds the verbs."""

import abc
import copy
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, explain
from bayesgen.calls import checked_calls
from bayesgen.classes import Spec, kept
from bayesgen.errors import BayesgenError, Cure, NoAttribute, UnsupportedOperation
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import many_sparse_columns, no_target, sparse_for, too_few_classes
from bayesgen.estimators import (
    missing_pattern_warning,
    parameters,
    training,
    unlabelled_fit,
    validation,
)
from bayesgen.estimators.column_blocks import (
    Blocks,
    column_keys,
    reads_sparse,
    refuses_negative,
    with_pattern,
)
from bayesgen.estimators.column_blocks import Spec as LikelihoodSpec
from bayesgen.estimators.column_cells import cells_by_column, require_original
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.fitting import fitting
from bayesgen.estimators.judged_rows import without_loss_under_prior
from bayesgen.estimators.likelihood_checks import check_sparse
from bayesgen.estimators.rows_of_fit import RowsOfFit
from bayesgen.estimators.training import Temper, TrainingState
from bayesgen.estimators.training_rows import TrainingRows, fewer_than_two_classes
from bayesgen.estimators.updates import accumulation
from bayesgen.estimators.updates.merging import united_classes
from bayesgen.inference import Method, Posterior, Report
from bayesgen.predict import ReadRows
from bayesgen.prevalence import LeftOutRows, Prevalence
from bayesgen.schema import Reading, Schema, check_columns
from bayesgen.table import Name, Names, Table, check_declared, check_mark
from bayesgen.typing import Encoded, Joint, Self, Traceable

SPARSE_CELLS = 500
"""Columns of sparse rows that `relevance` reads: of 300 rows of counts in 7 s."""
CLOSED = ("exact", "mle")
"""Methods by which `partial_fit` defers inference."""
LEARNED = frozenset({"temper", "missing", "power_transform", "bins"})
"""Arguments that may be learned from rows, which are then kept for the next call."""


@checked_calls
class Estimator(ClassifierMixin, BaseEstimator, abc.ABC):
    """A classifier without its verbs: arguments, fitted state, and rows as it reads them.

    Modules that work on any classifier take one of these.
    """

    class_prior: Spec
    inference: str | Method
    temper: Temper
    likelihood: LikelihoodSpec
    remainder: str | None = None
    power_transform: bool = False
    bins: int | str | None = None
    missing: str = "ignorable"
    unseen: str
    unlabelled: unlabelled_fit.Weight = "learn"
    groups: Name | None = None
    random_state: object
    classes_: np.ndarray
    state_: TrainingState
    _posterior: Posterior | None = None
    """None: of a single class, or of rows without any label."""
    _report: Report | None = None
    _deferred: bool = False
    """Whether `partial_fit` added rows since inference last ran: of a hundred batches in a row
    nobody asks for ninety-nine posteriors. What reads a result of inference calls `_settle`."""
    _seed: int
    _prior_of_fit: Spec
    """A copy of class_prior= as it was when rows were last read, which is the prior of the fit."""
    _training: tuple[TrainingRows, ...] = ()
    # predictions of rows of the fit, each from the others, which a stack keeps
    _left_out: LeftOutRows | None = None
    _shares: Joint | None = None
    """P(y = k given all rows) of the rows of the last fit that have no label."""
    _likelihood_names: ClassVar[tuple[str, ...]] = ()
    """The likelihoods that it makes of arguments of its own; errors of priors name it instead."""

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Check calls of the methods of the class."""
        super().__init_subclass__(**kwargs)
        checked_calls(cls)

    # -- hooks for subclasses ----------------------------------------------------------------------

    @abc.abstractmethod
    def _blocks(self, table: Table) -> Blocks:
        """Return the blocks of a table: name -> (likelihood, columns)."""

    def _own_table(self, table: Table, raw: Callable[[], object], *, reset: bool) -> Table:
        """Return the table of the columns that the blocks read, some of which may be derived.

        raw: function that returns the same rows as they were passed.
        """
        return table

    def _derived_columns(self) -> dict[Name, Reading]:
        """Return the source column of each derived column; that of bins has the same name."""
        return self.state_.schema.derived() if hasattr(self, "state_") else {}

    def _column_names(self) -> Names:
        """Return the columns of the table that was fitted."""
        return self.state_.schema.names

    def _reads_sparse(self) -> bool:
        """Return whether rows may be a sparse matrix."""
        return reads_sparse(getattr(self, "likelihood", "auto"))

    def _refuses_negative(self) -> bool:
        """Return whether no cell may be below 0."""
        return refuses_negative(getattr(self, "likelihood", "auto"))

    def _require_statistics(self, method: str) -> None:
        """Raise if the model has no statistics, which the method adds or subtracts."""

    # -- parameters --------------------------------------------------------------------------------

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Reject unknown constructor arguments, suggesting the one that was probably meant."""
        if args or not parameters.names_of(cls).issuperset(kwargs):
            parameters.check_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002
        """Return the constructor's arguments; with `deep`, also those of likelihoods."""
        params = super().get_params(deep)
        if deep:
            params |= parameters.of_likelihoods(super().get_params(deep=False))
        return params

    def set_params(self, **params: object) -> Self:
        """Set arguments of the constructor, or of its likelihoods; returns self.

        `likelihood__variance_rows` belongs to a single likelihood. In a mapping, `likelihood__age`
        is the likelihood of the column "age" and `likelihood__age__variance_rows` one of its
        arguments; several columns are joined by underscores, `likelihood__sex_class`.

        Raises:
            InvalidArgument: the likelihood has no such argument, or is not a likelihood.

        Example:
            >>> import bayesgen as bg
            >>> bg.NaiveBayes(bg.Normal()).set_params(likelihood__variance_rows=3).likelihood
            Normal(variance_rows=3)
            >>> clf = bg.NaiveBayes({"age": bg.Normal(), ("sex", "class"): bg.Categorical()})
            >>> clf.set_params(likelihood__sex_class__rows_per_level=1).likelihood
            {'age': Normal(), ('sex', 'class'): Categorical(rows_per_level=1)}
        """
        self._settle()
        stated = super().get_params(deep=False)
        direct, of_likelihoods = parameters.split_likelihoods(stated, params)
        super().set_params(**direct)
        for name, values in of_likelihoods.items():
            setattr(self, name, parameters.with_arguments(name, getattr(self, name), values))
        return self

    # -- the fit -----------------------------------------------------------------------------------

    def _training_rows(
        self,
        X: object,
        y: object,
        sample_weight: object,
        *,
        reset: bool,
        classes: ArrayLike | None = None,
    ) -> TrainingRows:
        """Return the rows of one call, read and validated.

        Args:
            X: rows.
            y: their labels.
            sample_weight: their weights.
            reset: whether these are the first rows of a fit.
            classes: declared ones.
        """
        if y is None:
            raise no_target()
        marks = arguments.unlabelled_weight(self.unlabelled) is not None
        stated = [] if reset else self.classes_.tolist()
        stated += [] if classes is None else np.asarray(classes).tolist()
        table = self._read(X, reset=reset)
        rows = validation.training_rows(table, X, y, sample_weight, classes=stated, marks=marks)
        return self._own_rows(rows, reset=reset)

    def _own_rows(self, rows: TrainingRows, *, reset: bool) -> TrainingRows:
        """Return training rows restricted to the columns that the blocks read."""
        table = self._own_table(rows.table, rows.raw, reset=reset)
        return rows if table is rows.table else dataclasses.replace(rows, table=table)

    def _fit_rows(self, rows: TrainingRows, classes: np.ndarray) -> Self:
        """Fit to training rows; classes: sorted, including those of the rows."""
        if len(rows.present) < 2:
            raise fewer_than_two_classes(rows)
        seed = training.drawn_seed(self.random_state, self.inference)
        self._prior_of_fit = kept(self.class_prior)
        return self._finish_fit(self._new_state(rows, classes), seed, (rows,), whole=True)

    def _new_state(self, rows: TrainingRows, classes: np.ndarray) -> TrainingState:
        """Return the training state of the first call."""
        own = self._blocks(rows.table)
        blocks = with_pattern(own, rows.table, self.missing, self.temper)
        return training.new_state(
            rows,
            blocks,
            classes,
            power_transform=self.power_transform,
            bins=self.bins,
            unseen=self.unseen,
            groups=self.groups,
        )

    def _learned_from(self, rows: Sequence[TrainingRows]) -> dict[str, object]:
        """Return the arguments, and their values, that are learned from the rows of all calls.

        If any row has no label all are kept, because inference starts from them again.
        """
        # not get_params, which reads the signature of the constructor again: a sixth of a batch
        stated = {name: getattr(self, name) for name in LEARNED & parameters.names_of(type(self))}
        wanted = {
            "temper": stated.get("temper") in ("learn", "columns"),
            "missing": stated.get("missing") == "learn",
            "power_transform": stated.get("power_transform", False),
            "bins": stated.get("bins") is not None,
            "unlabelled": any(part.unlabelled is not None for part in rows),
        }
        return {name: getattr(self, name) for name, asks in wanted.items() if asks}

    def _accumulated(
        self, rows: TrainingRows, classes: ArrayLike | None = None
    ) -> tuple[TrainingState, int, tuple[TrainingRows, ...]]:
        """Return the training state after more rows, the seed, and the rows to keep.

        classes: declared for these rows; None: those of the rows.
        """
        declared = rows.classes if classes is None else np.unique(classes)
        learned = self._learned_from((*self._training, rows))
        if not hasattr(self, "state_"):
            check_declared(rows.classes, declared)
            seed = training.drawn_seed(self.random_state, self.inference)
            return self._new_state(rows, declared), seed, (rows,) if learned else ()
        accumulation.require_groups(self.state_.schema, self.groups)
        if not self._training:
            had_unlabelled = self.state_.unlabelled is not None
            accumulation.require_no_rows(learned, had_unlabelled=had_unlabelled)
        earlier = map(self._with_cells, self._training) if learned else ()
        calls, united = (*earlier, rows), united_classes(self.state_.classes, declared)
        if self.unlabelled is not None:
            check_mark(self.state_.classes, united)
        check_declared(rows.classes, united)
        state = accumulation.state_after(
            self.state_,
            calls,
            united,
            power_transform=self.power_transform,
            bins=self.bins,
            unseen=self.unseen,
            estimator=type(self).__name__,
        )
        return state, self._seed, calls if learned else ()

    def _accumulate(self, rows: TrainingRows) -> None:
        """Add rows to the training state, in place, from which inference runs later."""
        self.state_, self._seed, _ = self._accumulated(rows)
        self._prior_of_fit = kept(self.class_prior)
        self.classes_ = self.state_.classes

    def _with_cells(self, rows: TrainingRows) -> TrainingRows:
        """Return rows with their cells, read again where no argument had asked for them so far."""
        if rows.has_cells:
            return rows
        return self._training_rows(rows.X, rows.y, rows.sample_weight, reset=False)

    def _discounted(self, discount: float) -> Self:
        """Return a copy in which the weight of every row so far is multiplied by a number.

        Raises:
            InvalidArgument: the number is not above 0, or above 1.
        """
        if not (arguments.is_number(discount) and 0 < discount <= 1):
            allowed, cure = "a number above 0, up to 1", "Pass discount=1.0."
            raise out_of_range("discount", discount, allowed, cure)
        other = accumulation.with_its_rows(self)
        if discount < 1:
            other._training = tuple(rows.times(discount) for rows in self._training)
            if hasattr(self, "state_"):
                statistics = self.state_.statistics.times(discount)
                other.state_ = dataclasses.replace(self.state_, statistics=statistics)
        return other

    def _finish_fit(
        self,
        state: TrainingState,
        seed: int,
        seen: tuple[TrainingRows, ...] = (),
        *,
        whole: bool = False,
    ) -> Self:
        """Run inference, then set all fitted attributes at once.

        seen: the rows to keep where an argument is learned from them. whole: whether they are all
            rows of one call, which are kept as they were passed.
        """
        asks, posterior, self._shares = bool(self._learned_from(seen)), None, None
        if len(state.classes) >= 2 and state.statistics.count.any():
            inference, prior, unseen = self.inference, self._prior_of_fit, self.unseen
            if all(rows.unlabelled is None for rows in seen):
                components = state.infer(inference, prior, seed)
                if seen and state.pattern_blocks():
                    missing_pattern_warning.warn_of(state, prior, seen[-1])
            else:
                state, inferred = unlabelled_fit.infer(
                    state, seen, inference, prior, self.unlabelled, seed, unseen=unseen
                )
                components, self._shares = inferred.components, inferred.labels
            posterior = Posterior(components)
            if self.temper is not None or self.missing == "learn":
                posterior = state.tempered(
                    posterior, self.temper, self._prior_of_fit, seen, unseen=self.unseen
                )
        self.state_, self._posterior, self._seed = state.to_keep(), posterior, seed
        self._training = tuple(rows.to_keep(table=asks) for rows in seen if asks or whole)
        self.classes_ = state.classes
        if posterior is not None:
            self._report = posterior.report
        self._deferred = False
        return self

    def _settle(self) -> None:
        """Run inference if it was deferred."""
        if self._deferred:
            self._infer_deferred()

    @fitting
    def _infer_deferred(self) -> Self:
        """Run inference that was deferred; its report states how long that alone took."""
        return self._infer_again(self.state_)

    def _infer_again(self, state: TrainingState, *, keeps_rows: bool = False) -> Self:
        """Replace the training state, and run inference from it with the seed of the fit.

        keeps_rows: whether the rows that were kept belong to it still.
        """
        return self._finish_fit(state, self._seed, self._training if keeps_rows else ())

    def _state_class_prior(self, class_prior: Spec | Prevalence) -> None:
        """Replace the class probabilities, in place; see `with_class_prior`."""
        fitted = self._fitted().with_class_prior(class_prior)
        self._posterior = fitted.posterior
        self.class_prior = self._prior_of_fit = fitted.class_prior

    def _with_posterior(self, posterior: Posterior, report: Report | None) -> Self:
        """Return a copy with another posterior, and its report."""
        other = copy.copy(self)
        other._posterior, other._report = posterior, report
        return other

    def _defers(self, state: TrainingState, seen: Sequence[TrainingRows]) -> bool:
        """Return whether inference from more rows can wait.

        It can in closed forms, which hardly fail and cannot be interrupted; not where inference
        samples or searches, or reads rows as well as the state.
        """
        closed = self._report is None or self._report.method in CLOSED
        return closed and not seen and state.unlabelled is None

    @property
    def report_(self) -> Report:
        """The report of the inference: seconds, verdict, details.

        Raises:
            NoAttribute: the classifier is not fitted, or knows fewer than two classes.
        """
        self._settle()
        if self._report is None:
            check_is_fitted(self)
            raise self._too_few_classes()
        return self._report

    @report_.setter
    def report_(self, report: Report) -> None:
        self._report = report

    def _record_seconds(self, seconds: float) -> None:
        """State in the report how long a call took that ran inference."""
        if self._report is not None and not self._deferred:
            self._report = dataclasses.replace(self._report, seconds=seconds)

    @property
    def inference_(self) -> str:
        """The method of inference that ran, such as "exact"."""
        return self.report_.method

    # -- rows in and out ---------------------------------------------------------------------------

    def _read(self, X: object, *, reset: bool) -> Table:
        """Return the table of rows, at the first fit (reset) or later.

        Later, columns of a DataFrame may come in any order, and absent ones are treated as missing,
        with a warning.

        Raises:
            InvalidData: columns absent from the fit.
        """
        if reset:
            only = column_keys(self.likelihood) if self.remainder == "drop" else None
            return validation.read(self, X, reset=True, only=only)
        table = validation.read(self, X, reset=False, skip=self.state_.schema.unused())
        self._check_columns(table)
        return table

    def _check_columns(self, table: Table) -> None:
        """Compare the columns of later rows with those of the fit."""
        names = self._column_names()
        if table.is_sparse or tuple(table.names) == tuple(names):
            return
        # of a stack of programs, which read rows as a whole, no column is used
        if used := self._used_columns():
            check_columns(names, used, self._schema().container, table, type(self).__name__)

    def _used_columns(self) -> set[Name]:
        """Return the fitted columns that some block reads."""
        return self.state_.schema.used()

    def _schema(self) -> Schema:
        """Return the schema of the fitted columns."""
        return self.state_.schema

    def _read_encoded(self, X: object) -> tuple[Table, dict[str, Traceable]]:
        """Return the table of new rows, with the columns of the blocks, and its encoding."""
        table = self._own_table(self._read(X, reset=False), lambda: X, reset=False)
        if table.is_sparse:
            check_sparse(self.state_.likelihoods)
        name = type(self).__name__
        return table, self.state_.schema.encode(table, unseen=self.unseen, estimator=name)

    def _read_rows(self, X: object) -> ReadRows:
        """Return rows as the posterior reads them."""
        posterior, (table, encoded) = self._fitted_posterior(), self._read_encoded(X)
        return ReadRows(posterior, encoded, table.n_rows)

    def _without_pattern(self, encoded: Encoded) -> Encoded:
        """Return encoded rows whose missing pattern is marginalized."""
        blank = {name: np.full_like(encoded[name], np.nan) for name in self._pattern_blocks()}
        return {**encoded, **blank}

    def _pattern_blocks(self) -> list[str]:
        """Return the blocks of encoded rows that hold the missing pattern."""
        return self.state_.pattern_blocks()

    def _cells(self, what: str) -> dict[Name, explain.Cell]:
        """Return the encoded position of each column, and of its missing pattern beside it."""
        return cells_by_column(self.state_, self._fitted_posterior(), what)

    def _rows_of_cells(self, X: object, what: str) -> explain.Rows:
        """Return rows whose cells can be masked one by one, for the calling method."""
        posterior, cells = self._fitted_posterior(), self._cells(what)
        table, encoded = self._read_encoded(X)
        if any(issparse(x) for x in encoded.values()) and len(cells) > SPARSE_CELLS:
            raise many_sparse_columns(what, len(cells), SPARSE_CELLS)
        # as floats, among which a hidden cell is NaN
        encoded = {n: x.toarray().astype(float) if issparse(x) else x for n, x in encoded.items()}
        return explain.Rows(posterior, encoded, table.n_rows, table, self._schema(), cells)

    def _imputable_rows(self, X: object, what: str) -> explain.Rows:
        """Return rows whose missing cells can be imputed, for the calling method."""
        rows = self._rows_of_cells(X, what)
        if rows.table.is_sparse:
            raise sparse_for(what)
        require_original(self._derived_columns(), what)
        return rows

    def _rows_of_fit(
        self, what: str, cure: str | Cure = "Pass them: {what}(X, y)."
    ) -> tuple[object, object, object]:
        """Return the rows, labels and weights of the last fit, as they were passed.

        Args:
            what: the method that needs them.
            cure: what to do where they were not kept.

        Raises:
            UnsupportedOperation: they were not kept.
        """
        check_is_fitted(self)
        if len(self._training) != 1:
            raise UnsupportedOperation(
                "{what} needs the rows of the fit, and a classifier that was fitted in parts, "
                "merged, copied or loaded keeps none.",
                cure,
                what=what,
            )
        (rows,) = self._training
        return rows.X, rows.y, rows.sample_weight

    def _labels_found(self) -> Joint | None:
        """Return P(y = k given all rows) of the rows without a label; None without such rows."""
        return self._shares

    # -- what was fitted ---------------------------------------------------------------------------

    def _fitted_posterior(self) -> Posterior:
        """Return the posterior; raise if unfitted, or if there is a single class."""
        self._settle()
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # raises
        if self._posterior is None:
            raise self._too_few_classes()
        return self._posterior

    def _too_few_classes(self) -> BayesgenError:
        """Return the error about rows that determine no posterior yet."""
        there = self.classes_[self.state_.statistics.count > 0]
        return too_few_classes(there.tolist(), kind=NoAttribute)

    def _fitted(self) -> Fitted:
        """Return the fitted model: training state and posterior."""
        posterior = self._fitted_posterior()
        return Fitted(self.state_, posterior, self._prior_of_fit)

    def _fit_with_rows(self) -> RowsOfFit:
        """Return the fitted model, and how the rows of its fit are read."""
        learned = self._learned_from(())
        if self.missing == "informative":  # columns with a missing cell have an indicator
            learned["missing"] = self.missing
        if self._derived_columns():  # of bins, which are named before, or of levels
            learned.setdefault("levels", "indicators")
        return RowsOfFit(
            self._fitted(),
            functools.partial(self._read, reset=False),
            self._read_rows,
            self._rows_of_fit,
            functools.partial(self._training_rows, reset=False),
            self._left_out,
            learned,
            self.unseen,
            self.groups,
        )

    def _source_of(self, random_state: object) -> object:
        """Return the `random_state=` of a method; None: that of the classifier."""
        return self.random_state if random_state is None else random_state

    def _generator(self, random_state: object) -> np.random.Generator:
        """Return random numbers for the `random_state=` of a method."""
        return arguments.generator(self._source_of(random_state))

    def _simulated(self, n: int) -> Encoded:
        """Return n encoded rows of the posterior predictive, drawn with the seed of the fit."""
        return self._fitted().simulate(n, np.random.default_rng(self._seed))[0]

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to copy or pickle: all but the rows of the fit."""
        self._settle()
        own = super().__getstate__().items()
        return {key: part for key, part in own if key not in ("_training", "_shares")}

    def __sklearn_tags__(self) -> Tags:
        """Declare support for missing cells, levels and text."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = self._reads_sparse()
        tags.input_tags.positive_only = self._refuses_negative()
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether the estimator is fitted."""
        return hasattr(self, "state_")

    # -- what other modules ask of every classifier ------------------------------------------------

    @abc.abstractmethod
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit to rows X and labels y; returns self."""

    @abc.abstractmethod
    def _fit_source(self, source: Any) -> Self:
        """Fit to a `LabelledSource` of rows that are read part by part."""

    def predict_joint_log_proba(self, X: object) -> Joint:
        """Return log p(x, y = k given data), shape (row, class); -inf for impossible rows."""
        return self._read_rows(X).log_joint(densities=True)

    def with_class_prior(self, class_prior: Spec | Prevalence) -> Self:
        """Return a fitted copy with other class probabilities (label shift).

        Args:
            class_prior: "uniform", "empirical" (the class frequencies of the fit), an array in the
                order of `classes_`, {class: probability}, a Series, whose index names the classes
                (y.value_counts(normalize=True)), or the result of `estimate_prevalence`, whose
                uncertainty widens intervals (as a Dirichlet distribution with the same means and
                total variance). A class of probability 0 is excluded.

        Returns:
            A classifier that predicts as one that was fitted with class_prior=, given the same
            seed. (Rows without a label, of which the prior of the fit is part, are as they were
            fitted.) Its `report_` is that of the fit, without the loss under an earlier class
            prior.
        """
        other = copy.copy(self)
        other._state_class_prior(class_prior)
        other._report = without_loss_under_prior(other._report)
        return other
