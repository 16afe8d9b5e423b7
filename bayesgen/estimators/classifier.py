"""Base class of the classifiers: the scikit-learn API on top of a posterior."""

import abc
import contextlib
import copy
import dataclasses
import os
import re
from collections.abc import Callable, Collection, Generator, Hashable
from typing import Any, ClassVar, Literal, TypeVar, overload

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, decide, diagnose, explain, plots, predict
from bayesgen.classes import Spec, stated_prior
from bayesgen.decide import Loss
from bayesgen.errors import (
    InvalidArgument,
    InvalidPrior,
    InvalidTarget,
    NoRows,
    TooFewClasses,
    UnsupportedInference,
    UnsupportedTable,
    deduplicate_warnings,
)
from bayesgen.estimators import diagnostics, parameters, training, validation
from bayesgen.estimators.column_blocks import Blocks
from bayesgen.estimators.linear import linear_discriminant
from bayesgen.estimators.saving import save
from bayesgen.estimators.training import Temper, TrainingState
from bayesgen.estimators.validation import TrainingRows
from bayesgen.inference import (
    DrawsPosterior,
    Method,
    Posterior,
    Report,
    class_probabilities,
    log_class_probabilities,
    log_odds,
)
from bayesgen.plots.style import Option
from bayesgen.schema import Column, Schema, check_columns
from bayesgen.table import Name, Names, SparseTable, Table
from bayesgen.typing import (
    DataArray,
    DataFrame,
    DataTree,
    ELPDData,
    Encoded,
    Joint,
    Labels,
    Self,
    Traceable,
    Weights,
)

CELLS = 256

T = TypeVar("T")
"""A table of any kind: what is asked of one is answered by another of the same."""

Decisions = Shaped[np.ndarray, " row"]
EncodedRows = tuple[Posterior, dict[str, Traceable], int]
"""A posterior, rows as it reads them, and their number."""


class Classifier(ClassifierMixin, BaseEstimator, abc.ABC):
    """Fit, predict and sample; a subclass says only which blocks it builds.

    Arguments of likelihoods are parameters too: `likelihood__variance_rows` is the argument of the
    one likelihood. Of a mapping, `likelihood__age` is the likelihood of the column "age" and
    `likelihood__age__variance_rows` an argument of it; several columns stand with underscores
    between them, `likelihood__sex_class`.

    Attributes:
        classes_: the labels in sorted order, shape (class,).
        inference_: the method that ran ("exact", "expected", "mle", "map", "nuts",
            "augmentation"); inference="svi" is a way to the "map".
        report_: its account: seconds, verdict, details.
        posterior_: the posterior in the units of the columns.
        log_evidence_: log p(rows, labels), parameters integrated out; exact fits only. Where
            guesses come from the columns (None) it is an empirical-Bayes number.
        state_: the training state: schema, classes and sufficient statistics, which add up.
        n_features_in_, feature_names_in_: what fit saw.

    Example:
        >>> import bayesgen as bg
        >>> clf = bg.NaiveBayes(bg.Normal()).set_params(likelihood__variance_rows=3)
        >>> clf.likelihood
        Normal(variance_rows=3)
        >>> clf = bg.NaiveBayes({"age": bg.Normal(), ("sex", "class"): bg.Categorical()})
        >>> clf.set_params(likelihood__sex_class__rows_per_level=1).likelihood
        {'age': Normal(), ('sex', 'class'): Categorical(rows_per_level=1)}
    """

    class_prior: Spec
    inference: str | Method
    temper: Temper
    power_transform: bool = False
    unseen: str
    random_state: object
    classes_: np.ndarray
    inference_: str
    report_: Report
    state_: TrainingState
    _posterior: Posterior | None
    _seed: int
    _training: tuple[TrainingRows, ...] = ()
    _likelihood_names: ClassVar[tuple[str, ...]] = ()
    """The likelihoods that it makes of arguments of its own; errors of priors name it instead."""

    # -- what a subclass says ----------------------------------------------------------------------

    @abc.abstractmethod
    def _blocks(self, table: Table) -> Blocks:
        """Return the blocks of a table: name -> (likelihood, columns)."""

    def _unread(self, names: Names) -> Collection[Name]:
        """Return which columns of a table no block will read."""
        return ()

    def _derived(self, table: Table, *, reset: bool) -> Table:
        """Return the table of the columns that blocks read, which may be derived from others."""
        return table

    def _derived_columns(self) -> dict[Name, Column]:
        """Return the column of the table behind each column that was derived from it."""
        return {}

    def _column_names(self) -> Names:
        """Return the columns of the table that was fitted."""
        return self.state_.schema.names

    def _reads_sparse(self) -> bool:
        """Return whether rows may be a sparse matrix."""
        return False

    # -- parameters --------------------------------------------------------------------------------

    def __new__(cls, *args: object, **kwargs: object) -> Self:
        """Refuse arguments that the constructor does not have, naming the one that was meant."""
        if args or kwargs:
            parameters.check_arguments(cls, args, kwargs)
        return super().__new__(cls)

    def get_params(self, deep: bool = True) -> dict[str, object]:  # noqa: FBT001, FBT002
        """Return the constructor's arguments; deep: those of likelihoods too."""
        found = super().get_params(deep)
        return found | parameters.of_likelihoods(super().get_params(deep=False)) if deep else found

    def set_params(self, **params: object) -> Self:
        """Set arguments of the constructor, and of likelihoods by names such as those above.

        Raises:
            InvalidArgument: a likelihood without such an argument, or no likelihood.
        """
        own = super().get_params(deep=False)
        direct, of_likelihoods = parameters.split_likelihoods(own, params)
        super().set_params(**direct)
        for name, values in of_likelihoods.items():
            setattr(self, name, parameters.with_arguments(name, getattr(self, name), values))
        return self

    # -- fitting -----------------------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit to rows X and labels y; returns self.

        Args:
            X: DataFrame (pandas, polars, pyarrow) or array of shape (row, feature); NaN, None and
                NA are missing cells. Where every likelihood reads sparse rows (Multinomial,
                Bernoulli, Poisson) also a sparse matrix, in which an absent cell is 0. Later, in
                every method that takes X, a frame's columns are known by name: they may stand in
                any order, absent ones are missing values (with one warning that names them), and
                others than these are refused. Those of an array are known by position.
            y: one label for each row.
            sample_weight: one non-negative number for each row: 2 is the row twice, 0 is no row.

        Raises:
            BayesgenError: a table, labels, weights or a prior that cannot be used; the sentence
                names the column, the class and the cure.
        """
        with restore_on_failure(self):
            return self._fit_rows(self._training_rows(X, y, sample_weight, reset=True))

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> Self:
        """Add rows to what was fitted; any split in any order gives the fit of the whole.

        Classes and levels may arrive late. `classes` names those of this call before their rows
        come; labels outside it, and outside the classes seen so far, are refused.
        """
        with restore_on_failure(self):
            rows = self._training_rows(X, y, sample_weight, reset=not hasattr(self, "state_"))
            return self._finish_fit(*self._accumulate(rows, classes))

    def _training_rows(
        self, X: object, y: object, sample_weight: object, *, reset: bool
    ) -> TrainingRows:
        """Return rows to fit to, read and checked."""
        if y is None:
            raise InvalidTarget.absent()
        table = self._read(X, reset=reset)
        return self._own_rows(validation.training_rows(table, X, y, sample_weight), reset=reset)

    def _own_rows(self, rows: TrainingRows, *, reset: bool) -> TrainingRows:
        """Return rows with the table of the columns that blocks read."""
        table = self._own_table(rows.table, rows.raw, reset=reset)
        return rows if table is rows.table else dataclasses.replace(rows, table=table)

    def _own_table(self, table: Table, raw: Callable[[], object], *, reset: bool) -> Table:
        """Return the table of the columns that blocks read; raw: the same rows as passed."""
        return self._derived(table, reset=reset)

    def _fit_rows(self, rows: TrainingRows) -> Self:
        """Fit to rows that were read."""
        if len(rows.classes) < 2:
            raise TooFewClasses.found(rows.classes.tolist())
        state = self._new_state(rows, rows.classes)
        seed = validation.fit_seed(self.random_state, self.inference)
        return self._finish_fit(state, seed, (rows,), whole=True)

    def _new_state(self, rows: TrainingRows, classes: np.ndarray) -> TrainingState:
        """Return what rows say of the blocks that read them."""
        blocks = self._blocks(rows.table)
        options = {"power_transform": self.power_transform, "unseen": self.unseen}
        return training.new_state(rows, blocks, classes, **options)

    def _accumulate(
        self, rows: TrainingRows, classes: ArrayLike | None = None
    ) -> tuple[TrainingState, int, tuple[TrainingRows, ...]]:
        """Return the state of earlier rows and these together, the seed, and the rows to keep."""
        these = rows.classes if classes is None else np.unique(classes)
        asks = self._learned_from_rows()
        if not hasattr(self, "state_"):
            validation.check_declared(rows.labels, these)
            seed = validation.fit_seed(self.random_state, self.inference)
            return self._new_state(rows, these), seed, (rows,) if asks else ()
        if asks and not self._training:
            raise NoRows.to_learn_from("{}={!r}".format(*next(iter(asks.items()))))
        seen = (*self._training, rows) if asks else (rows,)
        every = np.union1d(self.state_.classes, these)
        options = {"power_transform": self.power_transform, "unseen": self.unseen}
        name = type(self).__name__
        state = training.accumulated(self.state_, seen, every, estimator=name, **options)
        return state, self._seed, seen if asks else ()

    def _learned_from_rows(self) -> dict[str, object]:
        """Return the parameters that ask for the rows themselves, which are kept for them."""
        wanted = {"temper": self.temper == "learn", "power_transform": self.power_transform}
        return {name: getattr(self, name) for name, asks in wanted.items() if asks}

    def _finish_fit(
        self,
        state: TrainingState,
        seed: int,
        seen: tuple[TrainingRows, ...] = (),
        *,
        whole: bool = False,
    ) -> Self:
        """Run inference and set what a fit leaves behind, last and all at once.

        seen: the rows, which are kept where something is learned from them. whole: whether they are
        all rows of one call, which are remembered as they were passed.
        """
        enough = np.count_nonzero(state.statistics.count) >= 2
        posterior = self._infer(state, seed) if enough else None
        if posterior is not None and self.temper is not None:
            prior, unseen = self.class_prior, self.unseen
            posterior = training.to_power(posterior, state, self.temper, prior, seen, unseen=unseen)
        asks = bool(self._learned_from_rows())
        self.state_, self._posterior, self._seed = state, posterior, seed
        self._training = tuple(rows.to_keep(table=asks) for rows in seen if asks or whole)
        self.classes_ = state.classes
        if posterior is not None:
            self.report_, self.inference_ = posterior.report, posterior.report.method
        return self

    def _infer(self, state: TrainingState, seed: int) -> Posterior:
        return training.infer(state, self.inference, self.class_prior, seed)

    # -- rows in and out ---------------------------------------------------------------------------

    def _read(self, X: object, *, reset: bool) -> Table:
        """Return the table of rows, to fit for the first time (reset) or later on.

        Later on columns of a frame may stand in any order, and absent ones are missing, with a
        warning.

        Raises:
            UnknownColumns: columns that fitting did not see.
        """
        unread = self._unread if reset else self.state_.schema.unread
        table = validation.read(self, X, unread, reset=reset)
        if not reset:
            self._check_columns(table)
        return table

    def _check_columns(self, table: Table) -> None:
        """Compare the columns of later rows with those of the fit."""
        names = self._column_names()
        if not isinstance(table, SparseTable) and tuple(table.names) != tuple(names):
            used, name = self._used_columns(), type(self).__name__
            check_columns(names, used, self._schema().container, table, name)

    def _used_columns(self) -> set[Name]:
        """Return the columns of the table that was fitted that a block reads."""
        derived, used = self._derived_columns(), self.state_.schema.used()
        return {derived[name].name if name in derived else name for name in used}

    def _encode_rows(self, X: object) -> EncodedRows:
        """Return the posterior, the rows as it reads them, and their number."""
        posterior, (table, encoded) = self._fitted_posterior(), self._read_encoded(X)
        return posterior, encoded, table.n_rows

    def _schema(self) -> Schema:
        """Return what the fit knows of the columns."""
        return self.state_.schema

    def _read_encoded(self, X: object) -> tuple[Table, dict[str, Traceable]]:
        """Return the table of later rows with the columns that blocks read, and its encoding."""
        table = self._derived(self._read(X, reset=False), reset=False)
        validation.check_sparse(table, self.state_.likelihoods)
        name = type(self).__name__
        return table, self.state_.schema.encode(table, unseen=self.unseen, estimator=name)

    def _fitted_posterior(self) -> Posterior:
        """Return the posterior; an error where nothing was fitted, or one class only."""
        check_is_fitted(self)
        if self._posterior is None:
            raise TooFewClasses.found(self.classes_.tolist())
        return self._posterior

    # -- predictions -------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: object) -> Joint:
        """Return log p(x, y = k given data), shape (row, class); -inf where impossible."""
        return predict.log_joint(*self._encode_rows(X), densities=True)

    def predict_proba(self, X: object) -> Joint:
        """Return P(y = k given x, data), shape (row, class), missing cells marginalised.

        As everywhere, columns that a frame lacks are missing values, with one warning; and a row
        that is impossible under every class has the class prior, with a warning.
        """
        return class_probabilities(*predict.joint_and_prior(*self._encode_rows(X)))

    def predict_log_proba(self, X: object) -> Joint:
        """Return log P(y = k given x, data), exact also where the probability underflows."""
        return log_class_probabilities(*predict.joint_and_prior(*self._encode_rows(X)))

    def predict(self, X: object) -> Shaped[np.ndarray, " row"]:
        """Return the most probable class of each row; ties go to the first in `classes_`."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the share of rows whose most probable class is their label: the accuracy."""
        from sklearn.metrics import accuracy_score

        labels = validation.labels_to_score(y, self.classes_)
        return float(accuracy_score(labels, self.predict(X), sample_weight=sample_weight))

    def decision_function(self, X: object) -> Float[np.ndarray, "row ..."]:
        """Return log-odds of classes_[1], shape (row,), or of each class against the rest.

        They are the logits of `predict_proba`: log P - log(1 - P).
        """
        return log_odds(*predict.joint_and_prior(*self._encode_rows(X)))

    def score_samples(self, X: object) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), shape (row,): low for rows unlike every class."""
        return predict.log_density(self.predict_joint_log_proba(X))

    def predict_interval(self, X: object, prob: float = 0.9) -> Float[np.ndarray, "row class 2"]:
        """Return lower and upper ends of P(y = k given x, theta) that hold `prob` of its posterior.

        Central intervals over theta given the data and the row. predict_proba is the mean over the
        same distribution, and may lie outside when that is skewed.
        """
        prob = arguments.share("prob", prob)
        return predict.interval(*self._encode_rows(X), prob)

    def predict_draws(self, X: object) -> DataArray:
        """Return an xarray.DataArray (draw, row, class) of P(y = k given x, theta).

        Its coordinate "weight" (draw, row) sums to one for each row: the weighted mean over draws
        is predict_proba.
        """
        return predict.class_draws(*self._encode_rows(X), self.classes_)

    def sample(self, n: int = 1, random_state: object = None) -> tuple[object, np.ndarray]:
        """Return n rows, in the kind of table that fit saw, and their labels.

        Each row comes from its own draw of the parameters: rows of the posterior predictive.
        """
        self._fitted_posterior()
        n, rng = arguments.count("n", n), validation.generator(random_state)
        encoded, y = self._simulate(n, rng)
        return self.state_.schema.decode(encoded, n), self.classes_[y]

    def _simulate(
        self, n: int, rng: np.random.Generator
    ) -> tuple[dict[str, Traceable], np.ndarray]:
        """Return n rows as encoding returns rows, and their class codes."""
        posterior = self._fitted_posterior()
        simulated, y = predict.simulate(posterior, n, rng)
        return self.state_.restored(posterior, simulated, n), y

    def _simulated(self, n: int) -> dict[str, Traceable]:
        """Return n rows of the posterior predictive, encoded, from the seed of the fit."""
        return self._simulate(n, np.random.default_rng(self._seed))[0]

    # -- decisions ---------------------------------------------------------------------------------

    @overload
    def decide(
        self,
        X: object,
        loss: Loss = ...,
        reject: float | int | None = ...,
        *,
        novelty: float | None = ...,
        reject_label: object = ...,
        return_loss: Literal[False] = ...,
    ) -> Decisions: ...
    @overload
    def decide(
        self,
        X: object,
        loss: Loss = ...,
        reject: float | int | None = ...,
        *,
        novelty: float | None = ...,
        reject_label: object = ...,
        return_loss: Literal[True],
    ) -> tuple[Decisions, Float[np.ndarray, " row"]]: ...
    def decide(
        self,
        X: object,
        loss: Loss = None,
        reject: float | int | None = None,
        *,
        novelty: float | None = None,
        reject_label: object = None,
        return_loss: bool = False,
    ) -> Decisions | tuple[Decisions, Float[np.ndarray, " row"]]:
        """Return for each row the decision of least posterior expected loss.

        The expected loss of deciding d is the sum over classes k of P(y = k given x) loss[k, d]
        (Berger 1985, section 4.4; with a constant cost of rejecting it is Chow's rule, 1970).

        Args:
            X: rows.
            loss: None (a wrong class costs 1), a matrix (true class, decided class) in the order of
                `classes_`, or {(true, decided): cost} for every pair of different labels. In a
                mapping decisions may be actions of your own: {("ill", "treat"): 0, ...}.
            reject: cost of leaving a row undecided, in the unit of loss; None: never.
            novelty: rows of a `typicality` below this are rejected whatever their loss.
            reject_label: what stands for undecided; None: "reject", or -1 among numbers.
            return_loss: also return expected losses; NaN where novelty rejects without a cost.

        Raises:
            InvalidLoss, InvalidArgument: no decision follows from the loss; novelty is no share.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> clf = bg.NaiveBayes().fit(X, y)
            >>> clf.decide(X.iloc[[0, 2, 15]], {("yes", "no"): 5, ("no", "yes"): 1}, reject=0.3)
            array(['yes', 'yes', 'reject'], dtype='<U6')
        """
        rule = decide.rule(loss, self.classes_, reject, novelty, reject_label)
        rows, strange = self._encode_rows(X), None
        proba = class_probabilities(*predict.joint_and_prior(*rows))
        if novelty is not None:
            draws = decide.enough_draws(novelty)
            strange = decide.typicality(*rows, self._simulated(draws), draws) < novelty
        labels, expected = decide.decisions(rule, proba, strange, reject)
        return (labels, expected) if return_loss else labels

    def typicality(self, X: object, *, draws: int = diagnostics.DRAWS) -> Float[np.ndarray, " row"]:
        """Return P(p(x_rep given D) <= p(x given D)) for each row: small for no known class.

        The share of rows simulated from the posterior predictive, the same cells missing, that are
        no likelier than the row. For rows that do come from the model it is uniform between 0 and 1
        (or larger, where rows tie), so a threshold has a meaning: .01 flags one in a hundred. By
        simulation: the Monte Carlo standard error is sqrt(t (1 - t) / draws).

        Source: Box (1980), Journal of the Royal Statistical Society A 143, 383-430.

        Args:
            X: rows.
            draws: simulated rows.
        """
        draws = arguments.count("draws", draws, default=diagnostics.DRAWS)
        return decide.typicality(*self._encode_rows(X), self._simulated(draws), draws)

    # -- explanations ------------------------------------------------------------------------------

    @overload
    def evidence(
        self,
        X: object,
        target: Hashable = ...,
        against: Hashable = ...,
        *,
        order: str = ...,
        interval: None = ...,
        return_error: Literal[False] = ...,
        random_state: object = ...,
    ) -> DataFrame: ...
    @overload
    def evidence(
        self,
        X: object,
        target: Hashable = ...,
        against: Hashable = ...,
        *,
        order: str = ...,
        interval: float | str | None = ...,
        return_error: bool = ...,
        random_state: object = ...,
    ) -> tuple[DataFrame, ...]: ...
    def evidence(
        self,
        X: object,
        target: Hashable = None,
        against: Hashable = None,
        *,
        order: str = "columns",
        interval: float | str | None = None,
        return_error: bool = False,
        random_state: object = 0,
    ) -> DataFrame | tuple[DataFrame, ...]:
        """Return what each cell of each row says for a class, in nats: its weight of evidence.

        A DataFrame (row, feature), in front "(prior)", the log-odds before anything is seen. A cell
        adds log p(x_j given x_before, y = target) - log p(x_j given x_before, y = against),
        parameters integrated out (Good 1985); missing cells, unseen levels and columns without a
        say add 0. Rows sum to the log-odds of the pair: `decision_function`, of two classes.

        Args:
            X: rows.
            target: the class spoken for; None: the second of two, or all, in columns of pairs.
            against: the class spoken against; None: the other of two, or the mean of all.
            order: "columns", or "shapley" for the mean over all orders of dependent columns.
            interval: also return lower and upper ends, of this posterior share or over "orders".
            return_error: also return, last, Monte Carlo standard errors; 0 where none was sampled.
            random_state: seed of sampled orders and draws.

        Raises:
            InvalidArgument: no such class, order or interval.
            NoPosterior, UnsupportedInference: an interval of a point; a program of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> bg.NaiveBayes().fit(X, y).evidence(X.iloc[:1]).round(2)
               (prior)   sex   age  passengerClass
            0    -0.48  1.45 -0.07            0.96
        """
        explain.check_reading(order, interval)
        names, contrast = explain.contrast_of(self.classes_.tolist(), target, against)
        rows, rng = self._rows_of_cells(X, "evidence()"), validation.generator(random_state)
        reading, arrays = explain.weights_of_evidence(
            rows, contrast, order, rng, interval, return_error=return_error
        )
        index = validation.index_of(X)
        frames = [explain.by_feature(a, reading, rows.cells, names, index) for a in arrays]
        return frames[0] if len(frames) == 1 else tuple(frames)

    @overload
    def impute(self, X: T, draws: Literal[1] = ..., *, random_state: object = ...) -> T: ...
    @overload
    def impute(self, X: T, draws: int, *, random_state: object = ...) -> list[T]: ...
    @deduplicate_warnings()
    def impute(self, X: T, draws: int = 1, *, random_state: object = None) -> T | list[T]:
        """Return the table with its missing cells drawn from p(missing given observed, data).

        The class of a row is drawn from what the row shows, then its cells given that class, with
        the parameters integrated out: rows are filled in one by one, each from the predictive
        distribution that `score_samples` is the density of. Observed cells come back bit for bit,
        in the same kind of table with the same index and, where they can hold it, types; an absent
        column is added. Cells of columns that no likelihood reads, or that say nothing (constant or
        never observed at fit), stay missing.

        A program of your own (story=) marks what is missing by masks: each cell that
        `dist.Normal(...).mask(observed)` leaves out is drawn from the distribution without the
        mask, and read from the (x, y) that the program returns (models/README.md).

        Args:
            X: rows.
            draws: 1 returns one table; more return a list of tables, each filled in anew.
            random_state: seed.

        Raises:
            UnsupportedInference: a likelihood that cannot fill its cells (words of a text).
            ProgramRefuses: a missing cell that a program of your own does not mark.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> rows = X.iloc[:2].assign(petal_width=[0.2, None])
            >>> bg.QDA().fit(X, y).impute(rows, random_state=0).petal_width.round(1).tolist()
            [0.2, 0.2]
        """
        draws = arguments.count("draws", draws)
        rng = validation.generator(random_state)
        return self._imputed(X, draws, rng)

    def _imputed(self, X: T, draws: int, rng: np.random.Generator) -> T | list[T]:
        """Return the table with its missing cells drawn, or a list of several such tables."""
        return explain.imputed(X, self._imputable_rows(X, "impute()"), draws, rng)

    @overload
    def feature_value(
        self,
        X: object,
        loss: Loss = ...,
        *,
        draws: int = ...,
        return_error: Literal[False] = ...,
        random_state: object = ...,
    ) -> DataFrame: ...
    @overload
    def feature_value(
        self,
        X: object,
        loss: Loss = ...,
        *,
        draws: int = ...,
        return_error: Literal[True],
        random_state: object = ...,
    ) -> tuple[DataFrame, DataFrame]: ...
    @deduplicate_warnings()
    def feature_value(
        self,
        X: object,
        loss: Loss = None,
        *,
        draws: int = CELLS,
        return_error: bool = False,
        random_state: object = 0,
    ) -> DataFrame | tuple[DataFrame, DataFrame]:
        """Return how much measuring each missing cell is expected to tell of the class.

        A DataFrame (row, feature), NaN where a cell is observed, else at least 0: the expected fall
        of the entropy of the class, in nats (Lindley 1956), or with a loss of the least expected
        loss, in its unit (Raiffa and Schlaifer 1961). Values do not add up: cells may tell the
        same. Levels and counts (up to a probability of 1e-9) are summed, numbers simulated.

        Args:
            X: rows; an absent column is missing in all of them.
            loss: as in `decide`.
            draws: simulated cells for each class, of each missing number, at least 2.
            return_error: also return a DataFrame of Monte Carlo standard errors; 0 of sums.
            random_state: seed of simulated cells.

        Raises:
            InvalidLoss: a loss from which no decision follows.
            UnsupportedInference: nothing can fill the cells: words of a text, your own program.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> stranger = X.iloc[:1].assign(sex=None, passengerClass=None)
            >>> bg.NaiveBayes().fit(X, y).feature_value(stranger).round(3)
                 sex  age  passengerClass
            0  0.138  NaN           0.047
        """
        draws = arguments.count("draws", draws, least=2, default=CELLS)
        gain, seed = explain.gain_of(loss, self.classes_), validation.drawn_seed(random_state)
        rows, index = self._imputable_rows(X, "feature_value()"), validation.index_of(X)
        values, errors = explain.expected_gains(rows, gain, draws, seed)
        frames = diagnose.frame(values, index), diagnose.frame(errors, index)
        return frames if return_error else frames[0]

    def _rows_of_cells(self, X: object, what: str) -> explain.Rows:
        """Return rows whose cells can be blanked one by one, for the method that asks."""
        posterior, cells = self._fitted_posterior(), self._cells(what)
        table, encoded = self._read_encoded(X)
        if any(issparse(x) for x in encoded.values()):
            raise UnsupportedTable.sparse_for(what)
        return explain.Rows(posterior, encoded, table.n_rows, table, self._schema(), cells)

    def _cells(self, what: str) -> dict[Name, explain.Cell]:
        """Return where each column is encoded."""
        places = self.state_.column_positions()
        cells: dict[Name, explain.Cell] = {name: (place,) for name, place in places.items()}
        if not cells:
            raise UnsupportedInference.because(
                f"{what} of a program of your own",
                "it reads a row as a whole, and need not know what to do with missing cells",
                "Read the columns by likelihoods instead.",
            )
        return cells

    def _imputable_rows(self, X: object, what: str) -> explain.Rows:
        """Return rows whose missing cells can be drawn, for the method that asks."""
        rows = self._rows_of_cells(X, what)
        if self._derived_columns():
            raise UnsupportedInference.because(
                f"{what} of levels that are read as numbers",
                "a normal distribution over indicators draws no level",
                "Use a classifier that reads levels, such as NaiveBayes().",
            )
        return rows

    # -- diagnostics -------------------------------------------------------------------------------

    def to_datatree(
        self,
        X: object = None,
        y: object = None,
        *,
        draws: int = diagnostics.DRAWS,
        replicates: int = diagnostics.REPLICATES,
        random_state: object = 0,
    ) -> DataTree:
        """Return an arviz DataTree under the names of your classes, columns and levels.

        Groups: posterior, sample_stats (of NUTS), prior, log_prior (the log density of each part's
        prior at the posterior's draws), and of the rows X, y: log_likelihood (log p(y given x,
        theta), which arviz's loo wants), log_likelihood_joint (log p(x, y given theta)),
        posterior_predictive and prior_predictive (tables simulated for the same labels),
        observed_data and constant_data. Levels stand as codes. Every row counts once, whatever its
        weight at fit. An improper prior has no groups; log_prior is absent with it, and wherever
        there is no density of the whole prior (maximum likelihood, forests of columns, learned
        prior strengths).

        A column keeps its name; one that is also the name of a dim beside it (row, chain, draw,
        sample) ends in an underscore, and a slash, which names no variable, becomes one.

        Args:
            X: rows; by default those of the last fit.
            y: their labels.
            draws: of a closed-form posterior, and of the prior.
            replicates: simulated tables in the predictive groups.
            random_state: seed of what is drawn here.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> tree = bg.QDA().fit(X, y).to_datatree(draws=100, replicates=5)
            >>> tree["posterior"]["normal.mean"].sel({"class": "setosa"}).shape
            (4, 25, 4)

            Sensitivity to powers of prior and likelihood. arviz reads log_likelihood, where the
            likelihood that the parameters were learned from belongs:

            >>> import arviz_stats as az
            >>> tree["log_likelihood"] = tree["log_likelihood_joint"]
            >>> found = az.psense_summary(tree, var_names=["class.probs"])
            >>> bool((found["prior"] < found["likelihood"]).all())
            True
        """
        if X is None or y is None:
            X, y, _ = self._rows_of_fit("to_datatree")
        rng, fitted = validation.generator(random_state), self._fitted_posterior()
        words = self._words()
        posterior = diagnose.draws_of(fitted, rng, draws)
        encoded, codes = self._encode_rows(X)[1], validation.class_codes(y, self.classes_)
        prior = self._prior(rng, draws, encoded, codes)
        shown = {"posterior": posterior.params, "prior": prior}
        groups = {name: self._shown(params, words) for name, params in shown.items()}
        groups |= {
            "log_prior": diagnose.Group(self._log_priors(posterior, encoded, codes)),
            "observed_data": self._observed(encoded, len(codes)),
        }
        parts = self.state_, fitted, posterior, prior, encoded, codes
        groups |= diagnostics.row_groups(*parts, rng, replicates)
        attrs = {"inference": self.inference_, "verdict": self.report_.verdict}
        return diagnose.datatree(groups, words.coords(), attrs)

    def summary(
        self, *, draws: int = diagnostics.DRAWS, random_state: object = 0, **options: Any
    ) -> DataFrame:
        """Return a DataFrame of every parameter: mean, sd, interval, effective draws, r_hat.

        Args:
            draws: of a closed-form posterior.
            random_state: seed of these draws.
            options: of arviz's `summary`, such as var_names, ci_prob, kind.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> table = bg.NaiveBayes().fit(X, y).summary(kind="stats", ci_prob=0.9)
            >>> round(float(table.loc["normal.mean[setosa, petal_length]", "mean"]), 1)
            1.5
        """
        rng, words = validation.generator(random_state), self._words()
        posterior = diagnose.draws_of(self._fitted_posterior(), rng, draws)
        groups = {"posterior": self._shown(posterior.params, words)}
        return diagnose.summary(diagnose.datatree(groups, words.coords(), {}), options)

    @overload
    def loo(
        self,
        X: object = ...,
        y: object = ...,
        sample_weight: object = ...,
        *,
        kind: Literal["rows"] = ...,
    ) -> DataFrame: ...
    @overload
    def loo(
        self,
        X: object = ...,
        y: object = ...,
        sample_weight: object = ...,
        *,
        kind: Literal["elpd"],
    ) -> ELPDData: ...
    def loo(
        self,
        X: object = None,
        y: object = None,
        sample_weight: object = None,
        *,
        kind: str = "rows",
    ) -> DataFrame | ELPDData:
        """Return leave-one-out log densities, a DataFrame with a line for each row.

        Columns: log_proba, log p(y_i given x_i, D without i), and log_joint, log p(x_i, y_i given D
        without i), in nats. Their sums score the classifier and the whole model out of sample.
        Where the posterior is a closed form they are exact: the row's statistics are taken away
        from those of all rows, so nothing is fitted again. Draws by NUTS, of a program of your own
        (story=) too, are reweighed by Pareto smoothed importance sampling, with a warning that
        names rows whose weights vary too much (Pareto k); guesses of the prior that come from the
        columns stay those of all rows.

        kind="elpd" gives log_proba as arviz's ELPDData, for arviz's `compare`: elpd is its sum, se
        the standard error of that, and p, the effective number of parameters, is sum of
        log p(y_i given x_i, D) - elpd. Where nothing is estimated by importance sampling, n_samples
        is 0, and pareto_k is None.

        A row is taken away with all of its weight. In the DataFrame it has one line whatever that
        is; in ELPDData a row of weight w counts w times, and one of weight 0 is absent.

        Args:
            X: the rows of the fit; by default those of the last one.
            y: their labels.
            sample_weight: their weights, if the fit had some.
            kind: "rows" or "elpd".

        Raises:
            UnsupportedInference: the fit was neither a closed form nor draws by NUTS.
            NoRows: these are not the rows of the fit.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> lda, qda = bg.LDA().fit(X, y), bg.QDA().fit(X, y)
            >>> float(lda.loo()["log_proba"].mean().round(3))
            -0.069
            >>> import arviz_stats as az
            >>> found = az.compare({"lda": lda.loo(kind="elpd"), "qda": qda.loo(kind="elpd")})
            >>> found.index.tolist(), float(found.loc["lda", "elpd"])
            (['qda', 'lda'], -10.0)
        """
        if kind not in ("rows", "elpd"):
            raise InvalidArgument.not_one_of("kind", kind, ["rows", "elpd"])
        self._fitted_posterior().require_loo()
        if X is None or y is None:
            X, y, sample_weight = self._rows_of_fit("loo")
        else:
            names, used = self._column_names(), self._used_columns()
            validation.check_complete(X, names, used, self._schema().container)
        posterior, encoded, n_rows = self._encode_rows(X)
        codes = validation.class_codes(y, self.classes_)
        weight = validation.weights_of(sample_weight, n_rows)
        training.check_rows_of_fit(self.classes_, self._class_counts(), codes, weight)
        left_out = self._left_out(encoded, codes, weight)
        found = diagnostics.leave_one_out_rows(posterior, left_out.joint, codes)
        if kind == "rows":
            return diagnose.frame(found)
        return diagnostics.elpd(posterior, encoded, found["log_proba"], codes, weight, left_out)

    def _left_out(self, encoded: Encoded, codes: Labels, weight: Weights) -> diagnose.LeaveOneOut:
        """Return the log densities of the rows of the fit, each given the others."""
        draws = self._fitted_posterior().reweighable
        if draws is not None:
            return diagnose.left_out_by_importance(draws, encoded, codes, weight)
        return diagnose.LeaveOneOut(self._leave_one_out(encoded, codes, weight))

    def _leave_one_out(self, encoded: Encoded, codes: Labels, weight: Weights) -> Joint:
        """Return log p(x_i, y = k given the rows without i), shape (row, class)."""
        prior, posterior = self.class_prior, self._fitted_posterior()
        joint, classes = self.state_.leave_one_out(prior, encoded, codes, weight, weight)
        return posterior.log_joint_from(classes, joint)

    def _class_counts(self) -> Weights:
        """Return the weight of the fitted rows of each class."""
        return self.state_.statistics.count

    def _rows_of_fit(self, what: str) -> tuple[object, object, object]:
        """Return the rows, labels and weights of the last fit, as they were passed."""
        if len(self._training) != 1:
            raise NoRows.pass_them(what)
        (rows,) = self._training
        return rows.X, rows.y, rows.sample_weight

    def _words(self) -> diagnose.Words:
        """Return the user's own words for the axes of parameters."""
        return diagnostics.axis_labels(self.state_, self._fitted_posterior())

    def _prior(
        self, rng: np.random.Generator, draws: int, encoded: Encoded, y: Labels
    ) -> diagnose.Params:
        """Return draws of every parameter before rows were seen."""
        return diagnostics.prior_draws(self.state_, self.class_prior, rng, draws)

    def _log_priors(
        self, posterior: DrawsPosterior, encoded: Encoded, y: Labels
    ) -> dict[str, np.ndarray]:
        """Return the log density of each part's prior at the draws; none of maximum likelihood."""
        mle = self.inference_ == "mle"
        return {} if mle else diagnostics.log_priors(self.state_, self.class_prior, posterior)

    def _shown(self, params: diagnose.Params, words: diagnose.Words) -> diagnose.Group:
        """Return parameters under the user's names and in the user's units."""
        posterior = self._fitted_posterior()
        return diagnostics.named_parameters(self.state_, posterior, params, words)

    def _observed(self, encoded: Encoded, n_rows: int) -> diagnose.Group:
        """Return the group of what was seen."""
        return diagnostics.observed(self.state_, self._fitted_posterior(), encoded)

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""
        posterior = self._fitted_posterior()
        return posterior.shifted(self.state_.kept_origin(posterior.reader))

    @property
    def log_evidence_(self) -> float:
        """Log p(rows, labels), parameters integrated out: a closed form of exact fits.

        Raises:
            NoEvidence: the fit was not exact, or a prior or likelihood has no evidence.
        """
        self._fitted_posterior()
        return training.log_evidence(self.state_, self.class_prior, self.inference_)

    @property
    def temperature_(self) -> float:
        """What log-odds are divided by: 1 over the (geometric mean) power of the likelihood.

        1 where nothing is tempered. 2 says that features repeat each other so much that evidence
        counts half; the model's own probabilities are overconfident.
        """
        return 1 / self._fitted_posterior().power

    @property
    def coef_(self) -> Float[np.ndarray, "discriminant feature"]:
        """Weights of the linear discriminants; only where a point estimate makes one."""
        return linear_discriminant(self.posterior_)[0]

    @property
    def intercept_(self) -> Float[np.ndarray, " discriminant"]:
        """Constants of the linear discriminants; only where a point estimate makes one."""
        return linear_discriminant(self.posterior_)[1]

    # -- keeping and changing ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted classifier to a file, which `bayesgen.load` reads.

        The file is a zip of a JSON text and NumPy arrays, no code: loading it runs nothing. Of a
        program of your own it holds the draws and the import path. An older file is replaced at
        once, or not at all.

        Args:
            path: of the file, taken as it is, by custom one that ends in .bgm.

        Raises:
            UnsavableModel: a part is not data, such as a function.
            UnwritableFile: the path takes no file.
        """
        check_is_fitted(self)
        save(self, path)

    def with_class_prior(self, class_prior: Spec) -> Self:
        """Return a fitted copy that answers under other, known class probabilities.

        Args:
            class_prior: "uniform", an array in the order of `classes_`, or {class: probability}; a
                class of probability 0 is ruled out.
        """
        posterior, prior = self._fitted_posterior(), stated_prior(class_prior, self.classes_)
        other = copy.copy(self)
        other.class_prior, other._posterior = class_prior, posterior.with_classes(prior)
        return other

    def __sklearn_tags__(self) -> Tags:
        """Say that missing cells, levels and text are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = self._reads_sparse()
        return tags

    def __getstate__(self) -> dict[str, object]:
        """Return what is copied and kept: all but the rows of the fit, which are the user's."""
        return {key: part for key, part in super().__getstate__().items() if key != "_training"}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether any rows were seen."""
        return hasattr(self, "state_")

    @deduplicate_warnings()
    def plot_densities(
        self, X: object, y: ArrayLike, features: tuple = (0, 1), **options: Option
    ) -> plots.DensityDisplay:
        """Draw contours of each class over two columns; options of `DensityDisplay`."""
        return plots.DensityDisplay.from_estimator(self, X, y, features=features, **options)

    @deduplicate_warnings()
    def plot_regions(
        self, X: object, y: ArrayLike, features: tuple = (0, 1), **options: Option
    ) -> plots.RegionDisplay:
        """Draw which class is decided where, over two columns; options of `RegionDisplay`."""
        return plots.RegionDisplay.from_estimator(self, X, y, features=features, **options)

    @deduplicate_warnings()
    def plot_features(self, X: object, y: ArrayLike, **options: Option) -> plots.FeatureDisplay:
        """Draw what the model expects of each column; options of `FeatureDisplay`."""
        return plots.FeatureDisplay.from_estimator(self, X, y, **options)

    @deduplicate_warnings()
    def plot_reliability(
        self, X: object, y: ArrayLike, **options: Option
    ) -> plots.ReliabilityDisplay:
        """Draw how often stated probabilities come true; options of `ReliabilityDisplay`."""
        return plots.ReliabilityDisplay.from_estimator(self, X, y, **options)

    @deduplicate_warnings()
    def plot_intervals(
        self, X: object, y: ArrayLike | None = None, target: Hashable = None, **options: Option
    ) -> plots.IntervalDisplay:
        """Draw probabilities of one class with intervals; options of `IntervalDisplay`."""
        return plots.IntervalDisplay.from_estimator(self, X, y, target=target, **options)

    @deduplicate_warnings()
    def plot_evidence(
        self, row: object, target: Hashable = None, against: Hashable = None, **options: Option
    ) -> plots.EvidenceDisplay:
        """Draw what each cell of one row says for a class; options of `EvidenceDisplay`."""
        return plots.EvidenceDisplay.from_estimator(self, row, target, against, **options)


@contextlib.contextmanager
def restore_on_failure(estimator: object) -> Generator[None]:
    """Restore the attributes of an estimator if a fit stops early, by Ctrl-C or an error.

    What was fitted before goes on answering, with the names and the number of its own columns.
    The error about an invalid prior names the estimator that was made with it, not the likelihood
    that the estimator makes of its own arguments.
    """
    before = dict(vars(estimator))
    try:
        yield
    except BaseException as error:
        vars(estimator).clear()
        vars(estimator).update(before)
        inner = getattr(estimator, "_likelihood_names", ())
        if isinstance(error, InvalidPrior) and inner:
            own = type(estimator).__name__
            error.args = (re.sub(rf"\b({'|'.join(inner)})\b", own, str(error)),)
        raise
