"""What every classifier does between rows and a posterior; `Classifier` adds the verbs."""

import abc
import copy
import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, explain
from bayesgen.calls import checked_calls
from bayesgen.classes import Spec
from bayesgen.errors import Cure, UnsupportedOperation, warn
from bayesgen.errors.arguments import out_of_range
from bayesgen.errors.data import no_target
from bayesgen.estimators import parameters, unlabelled_fit, validation
from bayesgen.estimators.column_blocks import (
    Blocks,
    Missing,
    Pairs,
    Remainder,
    Unseen,
    column_keys,
    reads_sparse,
    refuses_negative,
)
from bayesgen.estimators.column_blocks import Spec as LikelihoodSpec
from bayesgen.estimators.fitted import Fitted
from bayesgen.estimators.fitting import fitting
from bayesgen.estimators.judged_rows import without_loss_under_prior
from bayesgen.estimators.recipe import Recipe
from bayesgen.estimators.rows_of_fit import RowsOfFit
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.training_rows import TrainingRows, fewer_than_two_classes
from bayesgen.estimators.updates import accumulation
from bayesgen.estimators.updates.merging import united_classes
from bayesgen.inference import Asked, Posterior, Report
from bayesgen.predict import ReadRows
from bayesgen.prevalence import LeftOutRows, Prevalence
from bayesgen.schema import check_columns, identifiers, ignored, no_feature_left, set_aside
from bayesgen.table import Name, Names, Table, check_declared, check_mark
from bayesgen.typing import Joint, Self

ReadPart = Callable[[Callable[..., TrainingRows]], TrainingRows | None]
"""(features, labels, weights -> training rows) -> those of a part of a source."""
BY_COLUMNS = ("likelihood",)
"""Arguments that may be mappings of columns."""
LAST_FITTED = "_last_fitted"
"""The attribute by which an estimator that joins others keeps its model; no copy or file has it."""
CLOSED = ("exact", "mle")
"""Methods by which `partial_fit` defers inference."""


@dataclasses.dataclass(frozen=True)
class ColumnsOfFit:
    """What the columns of later rows are compared with.

    names: of all columns. used: those that some block reads. container: of the table.
    """

    names: Names
    used: Collection[Name]
    container: str


@checked_calls
class Estimator(ClassifierMixin, BaseEstimator, abc.ABC):
    """A classifier without its verbs: arguments, fitted state, and rows as it reads them.

    Modules that work on any classifier take one of these.
    """

    class_prior: Spec
    inference: Asked
    temper: Temper
    likelihood: LikelihoodSpec
    remainder: Remainder = None
    power_transform: bool = False
    bins: int | Literal["auto"] | None = None
    missing: Missing = "ignorable"
    unseen: Unseen
    unlabelled: unlabelled_fit.Weight = "learn"
    groups: Name | None = None
    random_state: object
    classes_: np.ndarray
    fitted_: Fitted
    """The fitted model. After `partial_fit` it may have rows that inference has not seen: of a
    hundred batches in a row nobody asks for ninety-nine posteriors. What reads a result of
    inference calls `_settle`."""
    _seed: int
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

    def _recipe(self) -> Recipe:
        """Return what the arguments make of rows."""
        return Recipe(**self._options())

    def _options(self) -> dict[str, Any]:
        """Return the fields of the recipe."""
        return {
            "estimator": type(self).__name__,
            "blocks": self._blocks,
            "class_prior": self.class_prior,
            "inference": self.inference,
            "temper": self.temper,
            "missing": self.missing,
            "unseen": self.unseen,
            "unlabelled": self.unlabelled,
            "power_transform": self.power_transform,
            "bins": self.bins,
            "groups": self.groups,
            "random_state": self.random_state,
        }

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

        They hold from the next fit on.

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
        return self._recipe().own_rows(rows)

    def _fit_rows(self, rows: TrainingRows, classes: np.ndarray) -> Self:
        """Fit to training rows; classes: sorted, including those of the rows."""
        if len(rows.present) < 2:
            raise fewer_than_two_classes(rows)
        rows = self._without_identifiers(rows)
        recipe = self._recipe()
        seed = recipe.drawn_seed()
        waiting = recipe.waiting(recipe.first_state(rows, classes))
        fitted, labels = recipe.fitted(waiting, seed, (rows,))
        asks = bool(recipe.learned_from((rows,)))
        return self._hold(fitted, seed, (rows.to_keep(table=asks),), labels)

    def _accumulated(
        self, rows: TrainingRows, classes: ArrayLike | None = None
    ) -> tuple[Fitted, int, tuple[TrainingRows, ...]]:
        """Return the model after more rows, not inferred, the seed, and the rows to keep.

        classes: declared for these rows; None: those of the rows.
        """
        declared, recipe = rows.classes if classes is None else np.unique(classes), self._recipe()
        learned = recipe.learned_from((*self._training, rows))
        if not hasattr(self, "fitted_"):
            check_declared(rows.classes, declared)
            seed = recipe.drawn_seed()
            first = recipe.waiting(recipe.first_state(rows, declared))
            return first, seed, (rows,) if learned else ()
        accumulation.require_groups(self.state_.schema, self.groups)
        if not self._training:
            had_unlabelled = self.state_.unlabelled is not None
            accumulation.require_no_rows(learned, had_unlabelled=had_unlabelled)
        earlier = map(self._with_cells, self._training) if learned else ()
        calls, united = (*earlier, rows), united_classes(self.state_.classes, declared)
        if self.unlabelled is not None:
            check_mark(self.state_.classes, united)
        check_declared(rows.classes, united)
        state = recipe.later_state(self.state_, calls, united)
        return recipe.waiting(state), self._seed, calls if learned else ()

    def _accumulate(self, read: ReadPart) -> None:
        """Add the rows of a part of a source, in place; inference runs when it is asked for.

        read: how rows of this classifier become those of the part; None: they all weigh 0.
        """
        reset = not hasattr(self, "fitted_")
        rows = read(functools.partial(self._training_rows, reset=reset))
        if rows is not None:
            rows = self._without_identifiers(rows) if reset else rows
            waiting, self._seed, _ = self._accumulated(rows)
            self._wait(waiting)

    def _wait(self, waiting: Fitted) -> None:
        """Replace the model by one that inference has not seen, in place."""
        self.fitted_, self.classes_ = waiting, waiting.state.classes

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
            if "fitted_" in vars(self):  # a stack is fitted anew to its rows
                statistics = self.state_.statistics.times(discount)
                state = dataclasses.replace(self.state_, statistics=statistics)
                other.fitted_ = dataclasses.replace(self.fitted_, state=state)
        return other

    def _finish_fit(
        self,
        waiting: Fitted,
        seed: int,
        seen: tuple[TrainingRows, ...] = (),
    ) -> Self:
        """Run inference, then set all fitted attributes at once.

        Args:
            waiting: the model of the rows of several calls, or of rows that are not at hand.
            seed: of draws.
            seen: the rows to keep where an argument is learned from them.
        """
        recipe = self._recipe()
        asks = bool(recipe.learned_from(seen))
        fitted, labels = recipe.fitted(waiting, seed, seen)
        rows = tuple(rows.to_keep(table=True) for rows in seen) if asks else ()
        return self._hold(fitted, seed, rows, labels)

    def _hold(
        self,
        fitted: Fitted,
        seed: int,
        rows: tuple[TrainingRows, ...] = (),
        labels: Joint | None = None,
    ) -> Self:
        """Set all fitted attributes.

        Args:
            fitted: the model.
            seed: of draws.
            rows: those that are kept.
            labels: what rows without one are expected to be.
        """
        self.fitted_, self.classes_, self._seed = fitted, fitted.state.classes, seed
        self._training, self._shares = rows, labels
        return self

    @property
    def state_(self) -> TrainingState:
        """The additive training state: schema, classes and sufficient statistics."""
        return self.fitted_.state

    def _settle(self) -> None:
        """Run inference if it waits."""
        fitted = getattr(self, "fitted_", None)
        if fitted is not None and fitted.inferred is None and fitted.is_determined:
            self._infer_waiting()

    @fitting
    def _infer_waiting(self) -> Self:
        """Run inference that waited; its report states how long that alone took."""
        return self._finish_fit(self.fitted_, self._seed)

    def _inferred_from(self, state: TrainingState) -> Fitted:
        """Return the model of another training state, inferred with the seed of the fit."""
        waiting = dataclasses.replace(self.fitted_, state=state, inferred=None)
        return self._recipe().fitted(waiting, self._seed)[0]

    def _holding(self, fitted: Fitted) -> Self:
        """Return a copy with another fitted model, and the class probabilities stated for it."""
        before = self.fitted_
        if fitted is before:
            return self
        other = copy.copy(self)
        other.fitted_, other.classes_ = fitted, fitted.state.classes
        if fitted.class_prior is not before.class_prior:
            other.class_prior = fitted.class_prior
        return other

    def _defers(self, waiting: Fitted, seen: Sequence[TrainingRows]) -> bool:
        """Return whether inference from more rows can wait.

        It can in closed forms, which hardly fail and cannot be interrupted; not where inference
        samples or searches, or reads rows as well as the state.
        """
        fitted = getattr(self, "fitted_", None)
        before = None if fitted is None else fitted.inferred
        closed = before is None or before.report.method in CLOSED
        return closed and not seen and waiting.state.unlabelled is None

    @property
    def report_(self) -> Report:
        """The report of the inference: seconds, verdict, details.

        Raises:
            NoAttribute: the classifier is not fitted, or knows fewer than two classes.
        """
        return self._fitted_posterior().report

    @property
    def inference_(self) -> str:
        """The method of inference that ran, such as "exact"."""
        return self._fitted_posterior().report.method

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

    def _without_identifiers(self, rows: TrainingRows) -> TrainingRows:
        """Return rows of which no likelihood reads identifiers, with a warning of each.

        These are known where all rows are: the first ones of a `partial_fit` may all differ in a
        column of many levels, which later rows share.

        Raises:
            InvalidData: there is no other feature.
        """
        table = rows.table
        if not table.has_many_levels:
            return rows
        groups = getattr(self, "groups", None)
        kept = self._stated_columns() | ({groups} if isinstance(groups, str | int) else set())
        found = identifiers(table, kept)
        if found and len(found) == sum(name not in kept for name in table.names):
            raise no_feature_left(found)
        for column in found:
            warn(ignored(column))
        return dataclasses.replace(rows, table=set_aside(table, found)) if found else rows

    def _stated_columns(self) -> set[object]:
        """Return the names and positions of the columns whose likelihood is stated."""
        return column_keys(getattr(self, "likelihood", "auto")) or set()

    def _check_columns(self, table: Table) -> None:
        """Compare the columns of later rows with those of the fit."""
        fitted = self._columns_of_fit()
        if table.is_sparse or tuple(table.names) == tuple(fitted.names):
            return
        # of a stack of programs, which read rows as a whole, no column is used
        if fitted.used:
            check_columns(fitted.names, fitted.used, fitted.container, table, type(self).__name__)

    def _columns_of_fit(self) -> ColumnsOfFit:
        """Return what later rows are compared with."""
        schema = self.state_.schema
        return ColumnsOfFit(schema.names, schema.used(), schema.container)

    def _table(self, X: object) -> Table:
        """Return the table of new rows, with the columns that the blocks read."""
        return self._recipe().own_table(self._read(X, reset=False), lambda: X)

    def _read_rows(self, X: object) -> ReadRows:
        """Return rows as the posterior reads them."""
        fitted = self._fitted()
        return fitted.read(self._table(X), lambda: X)

    def _rows_of_cells(self, X: object, what: str) -> explain.Rows:
        """Return rows whose cells can be masked one by one, for the calling method."""
        return self._fitted().rows_of_cells(self._table(X), what, lambda: X)

    def _imputable_rows(self, X: object, what: str) -> explain.Rows:
        """Return rows whose missing cells can be imputed, for the calling method."""
        return self._fitted().imputable(self._table(X), what, lambda: X)

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
        return self._fitted().posterior

    def _fitted(self) -> Fitted:
        """Return the fitted model, after inference that waited."""
        self._settle()
        if not hasattr(self, "fitted_"):
            check_is_fitted(self)  # raises
        return self.fitted_

    def _fit_with_rows(self) -> RowsOfFit:
        """Return the fitted model, and how the rows of its fit are read."""
        learned = self._recipe().learned_from(())
        if self.missing == "informative":  # columns with a missing cell have an indicator
            learned["missing"] = self.missing
        fitted = self._fitted()
        if fitted.derived:  # of bins, which are named before, or of levels
            learned.setdefault("levels", "indicators")
        return RowsOfFit(
            fitted,
            self._table,
            functools.partial(self._training_rows, reset=False),
            self._rows_of_fit,
            learned,
        )

    def _source_of(self, random_state: object) -> object:
        """Return the `random_state=` of a method; None: that of the classifier."""
        return self.random_state if random_state is None else random_state

    def _generator(self, random_state: object) -> np.random.Generator:
        """Return random numbers for the `random_state=` of a method."""
        return arguments.generator(self._source_of(random_state))

    def __getstate__(self) -> dict[str, object]:
        """Return the attributes to copy or pickle: not the rows of the fit, nor what is kept."""
        self._settle()
        own, left_out = super().__getstate__().items(), ("_training", "_shares", LAST_FITTED)
        state = {key: part for key, part in own if key not in left_out}
        return state | {name: Pairs.of(state[name]) for name in BY_COLUMNS if name in state}

    def __setstate__(self, state: Mapping[str, object]) -> None:
        """Take the attributes of a copy."""
        found = {name: part.mapping for name, part in state.items() if isinstance(part, Pairs)}
        super().__setstate__({**state, **found})

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
        return hasattr(self, "fitted_")

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
        fitted = self._fitted()
        report = without_loss_under_prior(fitted.posterior.report)
        return self._holding(fitted.with_class_prior(class_prior).with_report(report))
