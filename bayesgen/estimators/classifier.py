"""Base class of all classifiers: the scikit-learn API on top of a posterior."""

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast, overload

import numpy as np
from jaxtyping import Float, Shaped
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, decide, diagnose, explain, plots, predict, report
from bayesgen.decide import Loss
from bayesgen.errors import BayesgenWarning, UnsupportedOperation, deduplicate_warnings, warn
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.sources import needs_rows_in_memory
from bayesgen.estimators import (
    group_summary,
    in_sample,
    model_description,
    parameters,
    prior_model,
    stated_parameters,
    unlabelled_fit,
    validation,
)
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.fitted import DRAWS, REPLICATES, rows_of_table
from bayesgen.estimators.fitting import fitting, labels_in_column
from bayesgen.estimators.judged_rows import ACCURACY
from bayesgen.estimators.linear import linear_discriminant
from bayesgen.estimators.model_description import ModelDescription, Ranges
from bayesgen.estimators.new_population import PopulationModel
from bayesgen.estimators.prediction_sets import PredictionSets, Sets
from bayesgen.estimators.program_text import IMPORTS
from bayesgen.estimators.sources.fit import LabelledSource, fit_by_column, learned_from
from bayesgen.estimators.sources.predict import answers_sources
from bayesgen.estimators.updates import forgetting, merging
from bayesgen.estimators.updates.accumulation import with_its_rows
from bayesgen.inference import (
    Posterior,
)
from bayesgen.plots.style import Axes, Option, pyplot
from bayesgen.predict import ReadRows
from bayesgen.prevalence import Prevalence, Request, require_prevalence
from bayesgen.table import Table, require_same_order
from bayesgen.typing import DataArray, DataFrame, DataTree, ELPDData, Joint, Self

if TYPE_CHECKING:
    from bayesgen.plots import (
        DensityDisplay,
        EvidenceDisplay,
        FeatureDisplay,
        IntervalDisplay,
        PriorDisplay,
        RegionDisplay,
        RelevanceDisplay,
        ReliabilityDisplay,
    )
else:  # loaded where something is drawn
    DensityDisplay = EvidenceDisplay = FeatureDisplay = IntervalDisplay = Any
    PriorDisplay = RegionDisplay = RelevanceDisplay = ReliabilityDisplay = Any

T = TypeVar("T")
"""A table of any kind, which is answered by another of the same kind."""

SetMethod = Literal["auto", "full", "left_out"]
PrevalenceMethod = Literal["auto", "density", "left_out"]
Decisions = Shaped[np.ndarray, " row"]
SIMULATED_CELLS = 256
"""Simulated cells for each class, of each missing number, of `conditional` and `feature_value`."""


class Classifier(Estimator):
    """Base class of all classifiers: fit, predict and sample; subclasses define the blocks.

    Args:
        likelihood: "auto" (numbers -> Normal, everything else -> Categorical), one likelihood for
            all columns, or {column or (column, ...): likelihood}, columns by name or by position.
        remainder: columns that a mapping of likelihoods omits are rejected (None), modeled as under
            likelihood="auto" ("auto"), or ignored even if absent ("drop").
        class_prior: Dirichlet rows per class (1.0), "empirical", "uniform", or probabilities as an
            array, {class: probability} or a Series, whose index names the classes. Under maximum
            likelihood a number means class frequencies. All but a number are put in the place of
            the learned probabilities after the fit, as by `with_class_prior`: what is learned from
            rows left out is learned under their own frequencies. Rows without a label are the
            exception: which class they are likely to have depends on the prior.
        inference: "auto", "exact", "expected", "augmentation", "mle", "map", "svi"
            (bg.MAP(solver="svi")), "nuts", or bg.Exact(), bg.Expected(), bg.Augmentation(),
            bg.MLE(), bg.MAP(), bg.NUTS(). Where rows of the fit miss cells of dependent columns,
            "auto" draws from the exact posterior by importance sampling while its weights hold,
            else by data augmentation if that is estimated to take at most 10 seconds (from the
            sizes of the table, so that every machine does the same), else it is "expected", with a
            warning (`NarrowIntervals`).
        unseen: "missing" treats a level absent from the training rows as missing, with a warning;
            "error" raises.
        power_transform: True applies a Yeo-Johnson power transform to each numeric column of a
            normal likelihood, with a power learned from the rows, so that skewed columns become
            closer to normal given the class. Densities refer to the original values; parameters and
            stated prior guesses refer to transformed values, which agree with the original ones
            near a column's mean. `loo` keeps the powers when it leaves a row out.
        bins: the maximum number of levels into which numeric columns are cut, at quantiles, for
            likelihoods of levels ("auto": the square root of the number of rows, between 4 and 24);
            a value shared by many rows, such as 0, ends a bin. None: each number is a level.
            Densities are those of bins, and bins cannot be imputed. `loo` keeps the edges when it
            leaves a row out.
        missing: how the missing pattern enters the model. "ignorable": it carries no information
            about the class. "informative": it has a likelihood of its own: for each column with
            missing values at fit, an indicator of a missing cell ~ Bernoulli given the class.
            "learn": a power of that likelihood, averaged over 0, 1/4, 1/2 and 1 by leave-one-out
            score (under temper="columns" it has weights like those of columns). A column absent
            from a whole table at predict is marginalized. "informative" and "learn" are invalid if
            the reason why cells are missing changes.
        temper: None, no tempering; a power > 0 of the likelihood; "learn": an average over powers
            from .1 to 2, extended where the rows favor an end, weighted by leave-one-out score (see
            `temperature_`); or "columns": a power of its own for each block, learned by penalized
            logistic regression on leave-one-out densities. In NaiveBayes every column is then a
            block (see `weights_`).
        unlabelled: the weight of rows without a label (y is None, NaN or NA; see `fit`). "learn":
            averaged over 0, .01, .03, .1, .3 and 1, stacked by leave-one-out of the labeled rows
            (see `unlabelled_weight_`); a number >= 0: the weight of each such row, 1 if the model
            is right, 0 to use them for prior guesses only; None: such rows are rejected.
        groups: the name of a column that says which group a row is from: a site, a hospital, a
            batch. It is no feature. Parameters and class frequencies of a group are shrunk toward
            those of the other groups, as much as their rows support; a row of a new group, or
            without one, is predicted as one of a new group (see `group_summary`), with a warning if
            its value is of another type than those of the fit; unseen="error" refuses new groups.
            `sample`, `summary` and `to_datatree` are those of a new group. None: all rows are of
            one population.
        random_state: seed of simulated draws, fixed once per fit; also of methods that are called
            with random_state=None.

    Attributes:
        classes_: the labels in sorted order, shape (class,).
        inference_: the method that ran ("exact", "expected", "mle", "map", "nuts", "importance",
            "augmentation"); inference="svi" yields "map".
        report_: report of the inference: seconds, verdict, details.
        posterior_: the posterior in the units of the columns.
        log_evidence_: log p(rows, labels), parameters integrated out; exact fits only. With
            data-dependent prior guesses (None) it is an empirical-Bayes quantity.
        state_: the additive training state: schema, classes and sufficient statistics.
        n_features_in_, feature_names_in_: number and names of the columns at fit.
    """

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Fill in the documentation of the constructor's arguments."""
        super().__init_subclass__(**kwargs)
        cls.__doc__ = parameters.documented(cls, Classifier)

    # -- fitting -----------------------------------------------------------------------------------

    @fitting
    @labels_in_column
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit to rows X and labels y; returns self.

        The rows are kept for `loo`, `predict_set` and the like, without a copy: do not edit X, y or
        the weights in place while these are used.

        Args:
            X: DataFrame (pandas, polars, pyarrow) or array of shape (row, feature); NaN, None and
                NA are missing cells. If every likelihood accepts sparse rows (Multinomial,
                Bernoulli, Poisson), a sparse matrix is allowed too; its absent cells are 0. In
                later calls columns of a DataFrame are matched by name: their order is free, absent
                ones are treated as missing (with one warning that names them), and unknown ones are
                rejected. Columns of an array are matched by position. With y="column" the rows may
                also come from a source that is read part by part and may exceed memory: a path of
                Parquet, CSV or Arrow files, a pyarrow Dataset, RecordBatchReader or other Arrow
                stream, a polars LazyFrame, a DuckDB relation, an iterator of DataFrames, or a Dask
                or Spark DataFrame.
            y: one label for each row, or the name of the column of X that holds the labels. None,
                NaN and NA mark unlabeled rows, which the fit uses too (see `unlabelled`); -1 marks
                them as well if the labels are text or include at least two other whole numbers,
                none of them negative. Classes without a labeled row are not discovered;
                `typicality` finds rows unlike every class. Or the probability of each class, a
                table (row, class) of numbers of at least 0 that sum to one in every row: columns of
                a DataFrame name the classes, those of an array are the classes 0, 1, ... A row
                counts as these fractions of a row in each class; zeros or missing cells alone mark
                an unlabeled row.
                Rows are matched by position; a Series or DataFrame with the index labels of X in
                another order is refused, here and wherever rows have labels or weights.
            sample_weight: one non-negative number for each row: 2 counts the row twice, 0 ignores
                it; they sum to 1e15 at most. With y="column" also the name of a column.

        Raises:
            BayesgenError: invalid rows, labels, weights or prior; the message names the column, the
                class and the remedy.

        Examples:
            One of three annotators calls every other flower versicolor:

            >>> import pandas as pd
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> votes = pd.get_dummies(y).astype(float)
            >>> votes.iloc[::2] = (2 * votes[::2] + [0, 1, 0]) / 3
            >>> clf = bg.LDA().fit(X, votes)
            >>> clf.predict_proba(X[:2]).round(2).tolist()
            [[0.99, 0.01, 0.0], [0.98, 0.02, 0.0]]
        """
        rows = self._training_rows(X, y, sample_weight, reset=True)
        return self._fit_rows(rows, rows.classes)

    def _fit_by_column(
        self, fit: Callable[..., Self], X: object, y: str, sample_weight: object
    ) -> Self:
        """Fit to a table with names, or to a source; y: the column of the labels."""
        return fit_by_column(fit, self, X, y, sample_weight)

    @deduplicate_warnings()
    def _fit_source(self, source: LabelledSource) -> Self:
        """Fit to a source: the states of its parts are added, then inference runs once.

        Memory is needed for one part and its state. The result is that of `fit` with all rows: new
        classes and levels may appear in any part.
        """
        if learns := self._recipe().learned_from(()):
            name, value = next(iter(learns.items()))
            raise needs_rows_in_memory(f"{name}={value!r}")
        if getattr(self, "story", None) is not None:
            raise needs_rows_in_memory("a program of your own")
        for name in ("fitted_", "classes_"):
            vars(self).pop(name, None)
        self._training = ()
        learner, state = learned_from(self, source, getattr(self, "progress", "auto"))
        vars(self).update(vars(learner))
        return self._hold(self._inferred_from(state), self._seed)

    @fitting
    def partial_fit(
        self,
        X: object,
        y: object,
        classes: ArrayLike | None = None,
        sample_weight: object = None,
        *,
        discount: float = 1.0,
    ) -> Self:
        """Add rows to the fit; any split of the rows, in any order, gives the same fit.

        New classes and levels may appear in later calls. `classes` declares classes before their
        rows arrive, which are then predicted from their priors; labels outside these and the
        classes seen so far are rejected.

        After the first call, and in it if all rows are of one class, inference is deferred, with
        its errors and warnings, until its result is needed: for a prediction, a copy, a saved file
        or `report_`.

        Args:
            X: rows, as `fit` takes them.
            y: their labels.
            classes: labels of classes, or None.
            sample_weight: as in `fit`.
            discount: factor, above 0 and at most 1, that multiplies the weights of all earlier rows
                before these rows are added, so that the fit follows a drifting population. With
                batches of m rows the effective number of rows approaches m / (1 - discount). 1
                discounts nothing.

        Raises:
            BayesgenError: as in `fit`, or a discount outside (0, 1].
            UnsupportedOperation: a user program, which has no additive statistics.
        """
        self._require_statistics("partial_fit")
        reset = not hasattr(self, "fitted_")
        rows = self._training_rows(X, y, sample_weight, reset=reset, classes=classes)
        waiting, seed, seen = self._discounted(discount)._accumulated(rows, classes)
        # rows of one class may not determine what is predicted of others: that is seen when asked
        several = np.count_nonzero(waiting.state.statistics.count) >= 2
        if (reset and several) or not self._defers(waiting, seen):
            return self._finish_fit(waiting, seed, seen)
        self._wait(waiting)
        self._seed, self._training = seed, ()
        return self

    @fitting
    def merge(self, other: Self) -> Self:
        """Return a new classifier fitted to the rows of both; neither original changes.

        Statistics add: up to rounding, the result equals a fit to the concatenated tables, for any
        number of classifiers in any order, including ones loaded from files. Classes and levels
        known to only one of them are included. Posterior draws are generated anew. If something is
        learned from all rows (power transforms, bins, a learned temper, unlabeled rows), both
        classifiers must have kept their rows. The result keeps no rows for `loo`.

        Args:
            other: a classifier of the same type, with the same arguments, fitted to the same
                columns.

        Raises:
            UnsupportedOperation: they differ in an argument, a column, a likelihood or a prior;
                something is learned from all rows, and a classifier kept none; a user program,
                which has no additive statistics.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> one, other = bg.QDA().fit(X[::2], y[::2]), bg.QDA().fit(X[1::2], y[1::2])
            >>> whole = bg.QDA().fit(X, y)
            >>> bool(abs(one.merge(other).predict_proba(X) - whole.predict_proba(X)).max() < 1e-12)
            True
        """
        self._require_statistics("merge")
        merging.require_same_model(self, other)
        earlier, later = self._training, other._training
        learned = self._recipe().learned_from((*earlier, *later))
        if self.state_.unlabelled is not None or other.state_.unlabelled is not None:
            learned.setdefault("unlabelled", self.unlabelled)
        if not learned:
            return self._holding(self._inferred_from(merging.merged(self.state_, other.state_)))
        merging.require_rows(learned, earlier, later)
        both = with_its_rows(self)
        for rows in later:
            both.partial_fit(rows.X, rows.y, sample_weight=rows.sample_weight)
        return both

    @fitting
    def forget(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Remove rows from the fit, in place; returns self, which equals a fit to the other rows.

        The statistics of the rows are subtracted, so no trace of them remains and no other row is
        needed. Classes and levels left without rows are dropped, unless they were declared. Rows
        that cannot have been in the fit are rejected: subtracting them would make a count negative
        or a scatter matrix not positive semidefinite, or a level or class is unknown. Other rows
        that were not in the fit cannot be detected, and make the result meaningless. Where
        cancellation could change what is left of a weight, of a count or of squares by 1e-9 of
        itself, nothing is forgotten. The rows kept for `loo` are dropped.

        Args:
            X: rows of the fit, each at most as often as it was fitted.
            y: their labels.
            sample_weight: their weights in the fit.

        Raises:
            UnsupportedOperation: the rows cannot have been in the fit, too much precision would be
                lost, or something is learned from all rows.
            InvalidData: fewer than two classes would remain.
            UnsupportedOperation: a user program, which has no additive statistics.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> clf = bg.QDA().fit(X, y).forget(X[:10], y[:10])
            >>> rest = bg.QDA().fit(X[10:], y[10:])
            >>> bool(abs(clf.predict_proba(X) - rest.predict_proba(X)).max() < 1e-12)
            True
        """
        self._require_statistics("forget")
        check_is_fitted(self)
        learned = self._recipe().learned_from(self._training)
        if self.state_.unlabelled is not None:
            learned["unlabelled"] = self.unlabelled
        forgetting.require_statistics(learned)
        rows = self._training_rows(X, y, sample_weight, reset=False)
        return self._hold(self._inferred_from(forgetting.remaining(self.state_, rows)), self._seed)

    # -- predictions -------------------------------------------------------------------------------

    @answers_sources
    def predict_proba(self, X: object) -> Joint:
        """Return P(y = k given x, data), shape (row, class), missing cells marginalized.

        As in all methods, columns absent from a DataFrame are treated as missing, with one warning;
        a row that is impossible under every class gets the class prior, with a warning.

        For sources that are read part by part (see `fit`) the result is a pyarrow RecordBatchReader
        with the columns probability_K; columns that the classifier does not use are ignored.
        Intervals have the columns lower_K and upper_K; draws are the list columns draws_K and
        weight.
        """
        return self._read_rows(X).proba()

    def predict_log_proba(self, X: object) -> Joint:
        """Return log P(y = k given x, data), shape (row, class), accurate where P underflows."""
        return self._read_rows(X).log_proba()

    @answers_sources
    def predict(self, X: object) -> Shaped[np.ndarray, " row"]:
        """Return the most probable class of each row, shape (row,); ties go to the first."""
        proba = self._read_rows(X).proba()
        return self.classes_[np.argmax(proba, axis=1)]

    def score(self, X: object, y: object, sample_weight: object = None) -> float:
        """Return the accuracy: the fraction of rows whose most probable class is their label.

        Unlabeled rows are ignored. Warns (`InSampleScore`) if the others are those of the fit, all
        and no others, and says their accuracy where each is left out, unless that takes other
        fits. Filter the warning by its class where that is intended, as in scikit-learn's learning
        curves.
        """
        from sklearn.metrics import accuracy_score

        require_same_order(X, y=y, sample_weight=sample_weight)
        labels, found, weight = validation.labels_to_score(
            y, self.predict(X), sample_weight, self.classes_
        )
        seen = in_sample.recognized(self._fit_with_rows(), X, y, sample_weight)
        if seen is not None:
            warn(in_sample.in_sample_score(seen, ACCURACY))
        return float(accuracy_score(labels, found, sample_weight=weight))

    def decision_function(self, X: object) -> Float[np.ndarray, "row ..."]:
        """Return log-odds of classes_[1], shape (row,), or of each class against the rest.

        These are the logits of `predict_proba`, log P - log(1 - P): infinite where a probability is
        0, as by maximum likelihood for a level that no row of a class has. What calibrates them
        (scikit-learn's CalibratedClassifierCV) needs finite ones, those of inference="exact".
        """
        return self._read_rows(X).log_odds()

    def score_samples(self, X: object) -> Float[np.ndarray, " row"]:
        """Return log p(x given data), shape (row,): low for rows unlike every class."""
        return predict.log_density(self.predict_joint_log_proba(X))

    @answers_sources
    def predict_interval(self, X: object, prob: float = 0.9) -> Float[np.ndarray, "row class 2"]:
        """Return central credible intervals of P(y = k given x, theta), shape (row, class, 2).

        An interval has probability `prob` given the data and the row. predict_proba is the mean of
        that distribution, which may lie outside the interval if it is skewed.
        """
        prob = arguments.share("prob", prob)
        return self._read_rows(X).interval(prob)

    @answers_sources
    def predict_draws(self, X: object) -> DataArray:
        """Return an xarray.DataArray (draw, row, class) of P(y = k given x, theta).

        Its coordinate "weight" (draw, row) sums to one for each row: the weighted mean over draws
        is predict_proba, up to Monte Carlo error.
        """
        return self._read_rows(X).class_draws(self.classes_)

    @overload
    def predict_set(
        self,
        X: object,
        coverage: float = ...,
        *,
        by: Hashable = ...,
        method: SetMethod = ...,
        return_method: Literal[False] = ...,
        X_fit: object = ...,
        y_fit: object = ...,
        weight_fit: object = ...,
    ) -> Sets: ...
    @overload
    def predict_set(
        self,
        X: object,
        coverage: float = ...,
        *,
        by: Hashable = ...,
        method: SetMethod = ...,
        return_method: Literal[True],
        X_fit: object = ...,
        y_fit: object = ...,
        weight_fit: object = ...,
    ) -> tuple[Sets, str]: ...
    @answers_sources
    def predict_set(
        self,
        X: object,
        coverage: float = 0.9,
        *,
        by: Hashable = None,
        method: SetMethod = "auto",
        return_method: bool = False,
        X_fit: object = None,
        y_fit: object = None,
        weight_fit: object = None,
    ) -> Sets | tuple[Sets, str]:
        """Return which classes are in the prediction set of each row, shape (row, class).

        A class k is in the set of x unless (x, k) is too strange beside the rows of the fit: its
        p-value is the share of rows, itself among them, whose class has log-odds, given all other
        rows, of at most its own; the set has the classes with p > 1 - coverage. Sets may be empty.
        A row of weight w counts as w rows, one of several classes in each by its share; where class
        probabilities are stated, at fit or by `with_class_prior`, one of class k counts as many
        times more as k is more frequent than in the fit. Where few rows can be compared, no class
        is left out, with a warning.

        Args:
            X: rows.
            coverage: above 0 and below 1.
            by: None compares (x, k) with all rows; "class", with those of class k, so that every
                class is covered, under label shift too; the name of a column, with those of its
                value there (missing cells are one more value).
            method: "full" adds (x, k) to the fit before each row is left out. If rows are
                exchangeable, new ones of a class of the fit are covered with a probability of at
                least `coverage`, over fits and rows, whatever the model and the number of rows
                (Vovk, Gammerman and Shafer 2005). It needs a closed form, and nothing that is
                learned from the rows of the fit alone. "left_out" leaves out the rows of the fit
                without (x, k): nothing is guaranteed, and coverage comes close. "auto" is "full"
                where the fit allows that for every row and a row takes some hundredths of a second:
                not with joint blocks (`LDA`, `QDA`, `JointTable`), to which rows with all of their
                cells alone can be added.
            return_method: also return the method that ran, "full" or "left_out".
            X_fit: the rows of the fit; by default those of the last one, which are not copied: if
                they were edited in place since, pass them as they were.
            y_fit: their labels.
            weight_fit: their weights, if the fit was weighted.

        Raises:
            InvalidArgument: coverage, by or method is none of these.
            UnsupportedOperation: a point estimate, which leaves no row out; method="full" where it
                would be wrong; the rows of the fit were not kept, or these are others.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> clf = bg.LDA().fit(X[::2], y[::2])
            >>> sets = clf.predict_set(X[1::2], coverage=0.98)
            >>> sets[[0, 38]].tolist()
            [[True, False, False], [False, True, True]]
            >>> round(float(sets.sum(axis=1).mean()), 2)
            1.21
        """
        fit = self._fit_with_rows()
        sets, ran = PredictionSets(fit, X_fit, y_fit, weight_fit, coverage, by, method).of(X)
        return (sets, ran) if return_method else sets

    def sample(
        self, n: int = 1, y: Hashable = None, random_state: object = None
    ) -> tuple[object, np.ndarray]:
        """Return n simulated rows, in the container type of the training table, and their labels.

        Each row has its own draw of the parameters, so rows follow the posterior predictive: p(x, y
        given data), or p(x given y, data) if a class is stated. If the missing pattern is part of
        the model, it is simulated too and its cells are missing. Cells are neither rounded nor
        clipped: whole or nonnegative numbers that are read as normal are simulated as normal. Each
        row of a stack is from a member, drawn with probability proportional to its weight.

        Args:
            n: number of rows.
            y: the class of all rows, one of `classes_`; None: the class of each row is drawn from
                P(y given data).
            random_state: seed; None: that of the classifier.

        Raises:
            InvalidArgument: n is not a count, or y is not a class.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> rows, labels = bg.QDA().fit(X, y).sample(3, y="setosa", random_state=0)
            >>> rows.shape, labels.tolist()
            ((3, 4), ['setosa', 'setosa', 'setosa'])
        """
        fitted, own = self._fitted(), validation.code_of("y", y, self.classes_)
        n = arguments.count("n", n)
        rows, codes = fitted.sampled(n, self._source_of(random_state), own)
        return rows, self.classes_[codes]

    def sample_prior(
        self, n: int, X: object, y: object, *, random_state: object = None
    ) -> prior_model.PriorSample:
        """Draw n parameters from the prior and simulate a row from each; no fit is needed.

        X and y determine the columns, classes and levels, and the prior guesses left at None, such
        as the overall mean of a column; they have no other influence. Compare the simulated rows
        with X (`plot_prior`): if they are implausible, state guesses.

        Args:
            n: number of draws.
            X: rows, as `fit` takes them.
            y: their labels.
            random_state: seed; None: that of the classifier.

        Raises:
            UnsupportedOperation: the prior is improper, the likelihood consists of kernels around
                rows, or the classifier is a stack.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> prior = bg.NaiveBayes().sample_prior(500, X, y, random_state=0)
            >>> prior.X.shape, prior.parameters["class.probs"].shape
            ((500, 4), (500, 3))
        """
        n, rng = arguments.count("n", n), self._generator(random_state)
        # rows that are read first set attributes
        return prior_model.sampled(clone(self)._prior_model(X, y), n, (X, y), rng)

    def _prior_model(self, X: object, y: object) -> prior_model.PriorModel:
        """Return the prior, with the guesses that are not stated from the first rows X, y."""
        rows = self._without_identifiers(self._training_rows(X, y, None, reset=True)).labelled
        return self._recipe().prior(rows)

    # -- new populations ---------------------------------------------------------------------------

    @deduplicate_warnings()
    def estimate_prevalence(
        self,
        X_new: object,
        *,
        prior: object = 1.0,
        method: PrevalenceMethod = "auto",
        draws: int = 1000,
        sample_weight: object = None,
        random_state: object = None,
    ) -> Prevalence:
        """Estimate the class frequencies of a population from its unlabeled rows.

        Under label shift only these frequencies differ from those of the fit; `check_label_shift`
        tests that assumption. The result has a mean, a mode, draws, intervals and a plot, and can
        be passed to `with_class_prior`. For subpopulations, call it for each group of
        `X_new.groupby(...)`.

        method="density" draws frequencies given draws of the class densities, which are assumed
        correct and are not updated by X_new (the cut posterior, Plummer 2015; a point estimate has
        one set of densities). method="left_out" counts the classes that rows are assigned to and
        corrects the counts by the leave-one-out assignments of the labeled rows (Bayesian
        classify-and-count, Czyz and Stan 2023): its intervals are wider, and valid under label
        shift even if the densities are misspecified, provided that the labeled rows of each class
        are a random sample of it. "auto" chooses "left_out" if each class has at least 15 labeled
        rows (40 for a stack) and exact leave-one-out is available, else "density".

        With `groups=` densities are those of the row's group, and left-out rows those of the group
        of X_new: "left_out" needs rows of one group of the fit, and no stack. Pass the rows of one
        group at a time, since label shift is tested among the rows of the groups of X_new together.

        Every column is tested for label shift. Where it is rejected at p < .001 over all columns, a
        warning and the result say so; the column that defines a population, and what it determines,
        must not be features.

        Args:
            X_new: rows.
            prior: Dirichlet rows per class, one number, an array in the order of `classes_` or
                {class: rows}, also as a Series; a class of 0 is excluded.
            method: "auto", "density" or "left_out".
            draws: of the posterior.
            sample_weight: one whole number for each row: 2 counts it twice.
            random_state: seed; None: that of the classifier.

        Raises:
            InvalidArgument, InvalidData: an invalid prior, weight or method.
            UnsupportedOperation: method="left_out" without the rows of the fit, or without a closed
                form.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> found = bg.NaiveBayes().fit(X, y).estimate_prevalence(X[30:100], random_state=0)
            >>> found.mean.round(1).to_dict()
            {'setosa': 0.3, 'versicolor': 0.7, 'virginica': 0.0}
        """
        source = self._source_of(random_state)
        request = Request(prior, method, draws, sample_weight, source)
        return self._population_model().prevalence(X_new, request)

    @deduplicate_warnings()
    def check_label_shift(
        self,
        X_new: object,
        prevalence: Prevalence | None = None,
        X: object = None,
        y: object = None,
        sample_weight: object = None,
    ) -> DataFrame:
        """Test, column by column, whether more than the class frequencies of new rows differs.

        Returns a DataFrame with one line per column and a line "(density)" for log p(x):
        discrepancy, the chi-square statistic of the counts of new rows by bin (sixths, levels,
        missing) against those expected at their prevalence, divided by its expected value; and
        p_value, which is valid under label shift even if the model is misspecified. A small p-value
        in a single line indicates that this column shifted; in "(density)" alone, that rows became
        noisier or their columns depend on each other differently. The smallest p_value times the
        number of lines is the p-value of the whole table (Bonferroni). A shift of all columns
        toward another class cannot be distinguished from a change in prevalence. With `groups=` new
        rows are tested beside the rows of their groups, if the fit had any: pass one at a time.

        Args:
            X_new: rows without labels.
            prevalence: of the rows; None: `estimate_prevalence(X_new)`.
            X: the rows of the fit; by default those of the last one.
            y: their labels.
            sample_weight: their weights, if the fit was weighted.

        Raises:
            UnsupportedOperation: the rows of the fit are not kept, or these are others.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> clf = bg.LDA().fit(X[::2], y[::2])
            >>> moved = X[1::2].assign(sepal_width=X.sepal_width[1::2] + 1)
            >>> clf.check_label_shift(moved).p_value.drop("(density)").idxmin()
            'sepal_width'
        """
        model = self._population_model()
        if X is None or y is None:
            cure = "Pass check_label_shift(X_new, X=X, y=y)."
            X, y, sample_weight = self._rows_of_fit("check_label_shift", cure)
        if prevalence is None:
            request = Request(1.0, "auto", 1000, None, random_state=0)
            prevalence = model.prevalence(X_new, request, checked=False)
        estimate = require_prevalence(prevalence)
        return model.label_shift(X_new, estimate, X, y, sample_weight)

    def group_summary(self) -> DataFrame:
        """Return what was learned of each group; only with groups=.

        Returns:
            DataFrame, one line for each group, with `rows`, their weight, and that of each class;
            the `strength` of the guess of each block, and of the class frequencies, the median in
            rows (0: groups have nothing in common; infinity: they are one population); and
            `divergence`, how much more probable a row and its label are in their group than in a
            new one: the mean of log p(x, y) less that of a new group's, in nats (Kullback and
            Leibler 1951), over 1,000 rows drawn with the seed of the fit.

        Raises:
            NoAttribute: groups is None, or a stack, whose members have groups.

        Example:
            >>> import bayesgen as bg
            >>> X, species = bg.datasets.load_penguins()
            >>> X = X.assign(species=species)[X.sex.notna()].drop(columns="island")
            >>> clf = bg.NaiveBayes(groups="species", random_state=0)
            >>> summary = clf.fit(X.drop(columns="sex"), X.sex).group_summary()
            >>> summary["strength of class"].to_dict()  # one frequency of the sexes
            {'Adelie': inf, 'Chinstrap': inf, 'Gentoo': inf}
        """
        return group_summary.table(self._fitted(), self._seed)

    def _population_model(self) -> PopulationModel:
        """Return the fitted classifier, as populations are compared by it."""
        return PopulationModel(self._fit_with_rows())

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
        """Return the decision of minimum posterior expected loss for each row.

        The expected loss of deciding d is the sum over classes k of P(y = k given x) loss[k, d]
        (Berger 1985, section 4.4; with a constant cost of rejecting it is Chow's rule, 1970). Where
        no costs are known, `predict_set` returns the classes that a row may have.

        Args:
            X: rows.
            loss: None (a wrong class costs 1), a matrix (true class, decided class) in the order of
                `classes_`, or {(true, decided): cost} for every pair of different labels. In a
                mapping decisions may be actions of your own: {("ill", "treat"): 0, ...}. A
                DataFrame is read by its labels: true classes as index, decisions as columns.
            reject: cost of leaving a row undecided, in the unit of loss; None: no row is rejected.
            novelty: rows whose `typicality` is below this are rejected regardless of their loss.
            reject_label: label of undecided rows; None: "reject", or -1 among numbers.
            return_loss: also return expected losses; NaN for rows rejected by novelty if `reject`
                is None.

        Raises:
            InvalidArgument: the loss does not determine a decision; novelty is not between 0 and 1.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> clf = bg.NaiveBayes().fit(X, y)
            >>> clf.decide(X.iloc[[0, 2, 15]], {("yes", "no"): 5, ("no", "yes"): 1}, reject=0.3)
            array(['yes', 'yes', 'reject'], dtype='<U6')
        """
        rule = decide.rule(loss, self.classes_, reject, novelty, reject_label)
        rows, strange = self._read_rows(X), None
        proba = rows.proba()
        if novelty is not None:
            strange = self._typicality(rows, decide.enough_draws(novelty)) < novelty
        decisions, losses = decide.decisions(rule, proba, strange, reject)
        return (decisions, losses) if return_loss else decisions

    def typicality(self, X: object, *, draws: int = DRAWS) -> Float[np.ndarray, " row"]:
        """Return P(p(x_rep given D) <= p(x given D)) for each row: small for atypical rows.

        A posterior predictive p-value: the fraction of rows simulated from the posterior
        predictive, with the same cells missing, whose density is at most that of the row. For rows
        from the model it is uniform on (0, 1), or larger if densities tie, so a threshold of .01
        flags one in a hundred of them. The missing pattern itself is not scored. The Monte Carlo
        standard error is sqrt(t (1 - t) / draws).

        Source: Box (1980), Journal of the Royal Statistical Society A 143, 383-430.

        Args:
            X: rows.
            draws: simulated rows.
        """
        draws = arguments.count("draws", draws, default=DRAWS)
        return self._typicality(self._read_rows(X), draws)

    def _typicality(self, rows: ReadRows, draws: int) -> Float[np.ndarray, " row"]:
        fitted = self._fitted()
        shown = dataclasses.replace(rows, encoded=fitted.without_pattern(rows.encoded))
        return decide.typicality(shown, fitted.reference(draws, self._seed), draws)

    # -- explanations ------------------------------------------------------------------------------

    @overload
    def evidence(
        self,
        X: object,
        target: Hashable = ...,
        against: Hashable = ...,
        *,
        order: Literal["columns", "shapley"] = ...,
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
        order: Literal["columns", "shapley"] = ...,
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
        order: Literal["columns", "shapley"] = "columns",
        interval: float | str | None = None,
        return_error: bool = False,
        random_state: object = 0,
    ) -> DataFrame | tuple[DataFrame, ...]:
        """Return the weight of evidence of each cell for a class, in nats.

        A DataFrame (row, feature) with "(prior)", the prior log-odds, as its first column. A cell
        contributes log p(x_j given x_before, y = target) - log p(x_j given x_before, y = against),
        parameters integrated out (Good 1985); missing cells, unseen levels and uninformative
        columns contribute 0. Rows sum to the log-odds of the pair: `decision_function`, for two
        classes.

        Args:
            X: rows.
            target: the class that evidence supports; None: the second of two, or all in turn, in
                columns of pairs.
            against: the alternative class; None: the other of two classes, or the mean over all.
            order: "columns", or "shapley" for the mean over all orders of dependent columns.
            interval: also return interval ends: of this posterior probability, or over "orders".
            return_error: also return Monte Carlo standard errors, last; 0 if nothing was sampled.
            random_state: seed of sampled orders and draws.

        Raises:
            InvalidArgument: no such class, order or interval.
            NoAttribute, UnsupportedOperation: an interval of a point estimate; a user program.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> bg.NaiveBayes().fit(X, y).evidence(X.iloc[:1]).round(2)
               (prior)   sex   age  passengerClass
            0    -0.48  1.45 -0.07            0.96
        """
        explain.check_reading(order, interval)
        check_is_fitted(self)
        names, contrast = explain.contrast_of(self.classes_.tolist(), target, against)
        rows, rng = self._rows_of_cells(X, "evidence()"), self._generator(random_state)
        arrays = explain.weights_of_evidence(
            rows, contrast, order, rng, interval, return_error=return_error
        )
        index = validation.index_of(X)
        frames = [explain.by_feature(array, rows.cells, names, index) for array in arrays]
        return frames[0] if len(frames) == 1 else tuple(frames)

    def evidence_table(self, X: object, *, random_state: object = 0) -> dict[str, Any]:
        """Return the arguments of `shap.Explanation(**table)`, without that package.

        `evidence(order="shapley")` is the Shapley value of the log-odds, and shap's convention
        holds: base_values[i] + values[i].sum() is the log-odds of row i, in nats. The base value is
        the prior log-odds; cells that are not shown are integrated out given the class, and no
        other rows stand in for them.

        Args:
            X: rows.
            random_state: seed of sampled orders, of more than 8 dependent columns.

        Returns:
            values (row, column) and base_values (row,), of two classes the second against the
            first, of more every class against their mean, in a last axis named by output_names;
            data (row, column), the cells, NaN where missing; feature_names.

        Raises:
            UnsupportedOperation: a user program.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> table = bg.NaiveBayes().fit(X, y).evidence_table(X.iloc[:1])
            >>> table["base_values"].round(2), table["values"].round(2)
            (array([-0.48]), array([[ 1.45, -0.07,  0.96]]))
        """
        check_is_fitted(self)
        names, contrast = explain.contrast_of(self.classes_.tolist(), None, None)
        rows, rng = self._rows_of_cells(X, "evidence_table()"), self._generator(random_state)
        (parts,) = explain.weights_of_evidence(rows, contrast, "shapley", rng)
        return explain.as_arrays(rows, parts, names)

    def relevance(self, X: object = None, *, random_state: object = 0) -> DataFrame:
        """Return how much each column says about the class, the most telling one first.

        `weight_of_evidence` is the mean over rows of |w|, in nats: of two classes w is the
        `evidence` of the cell; of K it is that of class k against the mean of the others, averaged
        over k: |w| = sum_k |e_k| / (K - 1), with e_k as in `evidence`. Missing cells have 0.
        Dependent columns share what they say (order="shapley"), by fewer sampled orders the more
        columns there are beyond 8.

        With `NaiveBayes(columns="average")`, also as a member of a stack: `probability`, that the
        column depends on the class, averaged over all sets of columns, and `log_bayes_factor`, the
        log of p(column given classes) if it does over that if it does not.

        Args:
            X: rows; by default those of the fit, weighted as there, or 300 of them, evenly spaced.
            random_state: seed of sampled orders.

        Raises:
            UnsupportedOperation: the rows of the fit were not kept; a user program.
            InvalidData: texts of more than 500 words, or as many columns of sparse rows.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> X["noise"] = [0.0, 1.0, 2.0, 3.0, 4.0] * 30
            >>> clf = bg.NaiveBayes(columns="average").fit(X, y)
            >>> clf.relevance().loc["noise"].round(2).to_dict()
            {'weight_of_evidence': 0.0, 'probability': 0.04, 'log_bayes_factor': -4.9}
        """
        rng, of_fit, weight = self._generator(random_state), X is None, None
        if of_fit:
            X, _, weight = self._rows_of_fit("relevance", "Pass rows: {what}(X).")
        rows = self._rows_of_cells(X, "relevance()")
        weight = validation.weights_of(weight, rows.n_rows)
        if of_fit:
            few = explain.evenly_spaced(weight)
            rows, weight = rows.take(few), weight[few]
        columns = {"weight_of_evidence": explain.mean_weights(rows, weight, rng)}
        frame = diagnose.frame(columns, list(rows.cells)).rename_axis("column")
        if (dependence := self._fitted().dependence()) is not None:
            frame = frame.join(dependence)
        return frame.sort_values("weight_of_evidence", ascending=False, kind="stable")

    @overload
    def impute(self, X: T, draws: Literal[1] = ..., *, random_state: object = ...) -> T: ...
    @overload
    def impute(self, X: T, draws: int, *, random_state: object = ...) -> list[T]: ...
    @deduplicate_warnings()
    def impute(self, X: T, draws: int = 1, *, random_state: object = None) -> T | list[T]:
        """Return the table with its missing cells drawn from p(missing given observed, data).

        The class of each row is drawn given its observed cells, then the missing cells given that
        class, with the parameters integrated out: rows are imputed independently, each from the
        predictive distribution whose density is `score_samples`. Observed cells are returned
        unchanged, in the same container type with the same index and, if possible, the same dtypes;
        absent columns are added. Cells stay missing in columns that no likelihood models or that
        are uninformative (constant or never observed at fit).

        Cells are draws from the likelihood, neither rounded nor clipped: of a column of whole or of
        nonnegative numbers that is read as normal they may be fractions, or below 0. Give counts
        `bg.Poisson()`, and fit the logarithm of amounts.

        A user program (story=) marks missing cells by masks: each cell that
        `dist.Normal(...).mask(observed)` excludes is drawn from the unmasked distribution and taken
        from the pair (x, y) that the program returns (models/README.md).

        Args:
            X: rows.
            draws: 1 returns one table; more return a list of independent imputations.
            random_state: seed; None: that of the classifier.

        Raises:
            UnsupportedOperation: a likelihood whose cells cannot be imputed, such as word counts; a
                missing cell that a user program does not mark.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> rows = X.iloc[:2].assign(petal_width=[0.2, None])
            >>> bg.QDA().fit(X, y).impute(rows, random_state=0).petal_width.round(1).tolist()
            [0.2, 0.2]
        """
        draws = arguments.count("draws", draws)
        rng = self._generator(random_state)
        return self._imputed(X, draws, rng)

    @deduplicate_warnings()
    def conditional(
        self,
        X: object,
        *,
        prob: float = 0.9,
        draws: int = SIMULATED_CELLS,
        random_state: object = 0,
    ) -> DataFrame:
        """Return the distribution of each missing cell given the observed cells of its row.

        Returns a DataFrame with one line per missing number (mean, and lower and upper ends of a
        central interval) and one line per level of every other missing cell (level and
        probability). p(cell given observed cells, data) is a mixture over the classes with the
        parameters integrated out; `impute` draws from it. Columns that would be empty are omitted;
        cells that no likelihood models have NaN.

        Levels, counts and numbers under Normal and MultivariateNormal likelihoods are exact. Other
        numbers (NUTS draws, stacks, power transforms) are computed from `draws` imputations;
        `error` is the Monte Carlo standard error of the mean, 0 for exact results.

        Args:
            X: rows; an absent column is missing in all of them.
            prob: probability of the intervals.
            draws: imputations per class if no closed form exists.
            random_state: seed of these.

        Raises:
            UnsupportedOperation: a likelihood whose cells cannot be imputed, or a user program; use
                `impute` for the latter.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> stranger = X.iloc[:1].assign(sex=None, age=None)
            >>> bg.NaiveBayes().fit(X, y).conditional(stranger).round(2)
               row column   level  probability   mean  lower  upper  error
            0    0    sex  female         0.48    NaN    NaN    NaN    NaN
            1    0    sex    male         0.52    NaN    NaN    NaN    NaN
            2    0    age     NaN          NaN  29.54   5.35  53.63    0.0
        """
        question = explain.Question(
            arguments.share("prob", prob),
            arguments.count("draws", draws, least=2, default=SIMULATED_CELLS),
        )
        rng, rows = self._generator(random_state), self._imputable_rows(X, "conditional()")
        index = validation.index_of(X)
        labels = list(range(rows.n_rows)) if index is None else list(cast(Iterable, index))
        return diagnose.frame(explain.conditional_table(rows, question, rng, labels))

    def _imputed(self, X: T, draws: int, rng: np.random.Generator) -> T | list[T]:
        """Return the table with imputed cells, or a list of such tables."""
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
        draws: int = SIMULATED_CELLS,
        return_error: bool = False,
        random_state: object = 0,
    ) -> DataFrame | tuple[DataFrame, DataFrame]:
        """Return the expected value of observing each missing cell, for predicting the class.

        Returns a DataFrame (row, feature): NaN for observed cells, else the expected reduction, at
        least 0, in the entropy of the class in nats (Lindley 1956) or, given a loss, in the minimum
        expected loss in its unit (Raiffa and Schlaifer 1961). Values are not additive, since cells
        may be redundant. Expectations over levels and counts are sums (up to a probability of
        1e-9); those over numbers are simulated.

        Args:
            X: rows; an absent column is missing in all of them.
            loss: as in `decide`.
            draws: number of simulated values per class of each missing number, at least 2.
            return_error: also return a DataFrame of Monte Carlo standard errors; 0 of sums.
            random_state: seed of simulated cells.

        Raises:
            InvalidArgument: the loss does not determine a decision.
            UnsupportedOperation: cells that cannot be imputed (word counts, user programs).

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> stranger = X.iloc[:1].assign(sex=None, passengerClass=None)
            >>> bg.NaiveBayes().fit(X, y).feature_value(stranger).round(3)
                 sex  age  passengerClass
            0  0.138  NaN           0.047
        """
        draws = arguments.count("draws", draws, least=2, default=SIMULATED_CELLS)
        gain, seed = (
            explain.gain_of(loss, self.classes_),
            arguments.drawn_seed(self._source_of(random_state)),
        )
        rows, index = self._imputable_rows(X, "feature_value()"), validation.index_of(X)
        values, errors = (
            diagnose.frame(columns, index)
            for columns in explain.expected_gains(rows, gain, draws, seed)
        )
        return (values, errors) if return_error else values

    # -- diagnostics -------------------------------------------------------------------------------

    @deduplicate_warnings(BayesgenWarning)
    def describe(self, *, draws: int = DRAWS) -> ModelDescription:
        """Return the columns that the model reads, its rows, and what of these it holds.

        Ranges of numbers are those of the rows of the fit where the classifier keeps these, else of
        rows that it simulates: a file holds no minimum and no maximum of a column, which are cells
        of some row, and which `forget` could not take back.

        Args:
            draws: simulated rows, where the classifier keeps none.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_titanic_passengers()
            >>> found = bg.NaiveBayes().fit(X, y).describe()
            >>> found.columns.levels["sex"], found.columns.loc["age", ["lower", "upper"]].tolist()
            (('female', 'male'), [5.0, 57.0])
            >>> found.holds, found.classes
            ('rows', {'no': 809.0, 'yes': 500.0})
        """
        fitted = self._fitted()
        ranges, table = self._rows_of_ranges(arguments.count("draws", draws, default=DRAWS))
        return model_description.described(fitted, table, ranges, kept=len(self._training) > 0)

    def _rows_of_ranges(self, draws: int) -> tuple[Ranges, Table | None]:
        """Return rows that show the ranges of columns, if there are any, and what rows they are."""
        if not model_description.is_dense(self._fitted()):
            return "none", None
        if len(self._training) == 1:
            return "fit", self._read(self._rows_of_fit("describe")[0], reset=False)
        with contextlib.suppress(UnsupportedOperation):
            return "simulated", self._read(self.sample(draws, random_state=0)[0], reset=False)
        return "none", None

    def to_datatree(
        self,
        X: object = None,
        y: object = None,
        *,
        draws: int = DRAWS,
        replicates: int | str = REPLICATES,
        random_state: object = 0,
    ) -> DataTree:
        """Return an arviz DataTree labeled with the names of classes, columns and levels.

        Groups: posterior, sample_stats (of NUTS), prior, log_prior (the log density of each part's
        prior at the posterior's draws), and of the rows X, y: log_likelihood (log p(y given x,
        theta), which arviz's loo wants), log_likelihood_joint (log p(x, y given theta)),
        posterior_predictive and prior_predictive (tables simulated for the same labels),
        observed_data and constant_data. Levels are stored as codes. Every row counts once,
        regardless of its weight at fit. The tree of a NumPyro program (story=) has no predictive
        groups; `sample` simulates its rows. That of a stack has a tree for each member. Where
        `loo(kind="elpd")` is exact there is no log_likelihood, from which arviz's loo would
        estimate the same with an alarm; log p(y given x, theta) is then in
        log_likelihood_conditional. With replicates="draws", for arviz's plot_loo_pit,
        log_likelihood is that of a row, x and y, for each of its columns: a row is left out with
        all of its cells. Prior groups are omitted for improper priors, and log_prior also if the
        prior as a whole has no density (maximum likelihood, learned prior strengths).

        Columns keep their names, except that an underscore is appended to a name that clashes with
        a dim (row, chain, draw, sample) and replaces a slash, which arviz does not allow.

        Args:
            X: rows; by default those of the last fit.
            y: their labels.
            draws: of a closed-form posterior, and of the prior.
            replicates: simulated tables in the predictive groups; "draws": one for each draw of the
                posterior, with the density that arviz's plot_loo_pit reads, of complete rows.
            random_state: seed of these draws.

        Raises:
            MissingPackage: numpyro, which computes log_prior, is not installed.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> tree = bg.QDA().fit(X, y).to_datatree(draws=100, replicates=5)
            >>> tree["posterior"]["normal.mean"].sel({"class": "setosa"}).shape
            (4, 25, 4)

            Sensitivity to powers of prior and likelihood. For this, arviz's log_likelihood must be
            the likelihood that the parameters were learned from, the joint one:

            >>> import arviz_stats as az
            >>> tree["log_likelihood"] = tree["log_likelihood_joint"]
            >>> found = az.psense_summary(tree, var_names=["class.probs"])
            >>> bool((found["prior"] < found["likelihood"]).all())
            True
        """
        if X is None or y is None:
            X, y, _ = self._rows_of_fit("to_datatree")
        require_same_order(X, y=y)
        source, fitted = self._source_of(random_state), self._fitted()
        encoded, codes = self._read_rows(X).encoded, validation.class_codes(y, self.classes_)
        return fitted.datatree(encoded, codes, source, draws, replicates)

    def summary(
        self,
        member: str | None = None,
        *,
        draws: int = DRAWS,
        random_state: object = 0,
        **options: Any,
    ) -> DataFrame:
        """Return a DataFrame of every parameter: mean, sd, interval, effective draws, r_hat.

        Of a stack it has a row for each member and interaction instead, the greatest weight first,
        with the columns of `members_table`; `summary(member="linear")` has the parameters of one.

        Args:
            member: of a stack, whose parameters are asked for.
            draws: of a closed-form posterior.
            random_state: seed of these draws.
            options: of `arviz_stats.summary`, such as var_names, ci_prob, kind.

        Raises:
            InvalidArgument: no member has this name, which lists those that there are; options,
                and a stack without a member.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> table = bg.NaiveBayes().fit(X, y).summary(kind="stats", ci_prob=0.9)
            >>> round(float(table.loc["normal.mean[setosa, petal_length]", "mean"]), 1)
            1.5
            >>> stack = bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()]).fit(X, y)
            >>> stack.summary().weight.round(2).to_dict()
            {'lda': 0.78, 'naivebayes': 0.22}
        """
        return self._fitted().summary(self._source_of(random_state), draws, options, member)

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
        """Return leave-one-out log densities, a DataFrame with one line per row.

        Columns: log_proba, log p(y_i given x_i, D without i), and log_joint, log p(x_i, y_i given D
        without i), in nats. Their sums are out-of-sample scores of the classifier and of the whole
        model. For closed-form posteriors they are exact and need no refit: the statistics of the
        row are subtracted from those of all rows. NUTS draws, including those of a user program
        (story=), are reweighted by Pareto smoothed importance sampling, with a warning that names
        rows whose weights vary too much (Pareto k); data-dependent prior guesses then remain those
        of all rows.

        kind="elpd" gives log_proba as ELPDData, for `arviz_stats.compare`: elpd is its sum, se its
        standard error, and p, the effective number of parameters, the sum of log p(y_i given x_i,
        D) minus elpd. Without importance sampling n_samples is 0 and pareto_k is None.

        Where labels are probabilities (see `fit`), a row is left out of all of its classes, and its
        scores are expected ones, sums over classes of its probability times the logarithm.

        Unlabeled rows have no line, and their expected labels stay fixed when a row is left out. A
        row leaves with its copies: with its whole weight, and with the rows that equal it, where
        equal rows are improbable; where chance explains them, with a weight of 1, as one of its
        equals (see "What is learned from rows left out" in the documentation). It has one line in
        the DataFrame, regardless of its weight; in ELPDData a row of weight w counts w times, and
        rows of weight 0 are omitted.

        Args:
            X: the rows of the fit; by default those of the last one.
            y: their labels.
            sample_weight: their weights, if the fit was weighted.
            kind: "rows" or "elpd".

        Raises:
            UnsupportedOperation: the posterior is neither in closed form nor NUTS draws; these are
                not the rows of the fit.

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
            raise not_one_of("kind", kind, ["rows", "elpd"])
        fitted = self._fitted()
        fitted.require_loo()
        if X is None or y is None:
            X, y, sample_weight = self._rows_of_fit("loo")
        else:
            columns = self._columns_of_fit()
            validation.check_complete(X, columns.names, columns.used, columns.container)
            require_same_order(X, y=y, sample_weight=sample_weight)
        read, y = self._read_rows(X), validation.membership(y, self.classes_)
        weight = validation.weights_of(sample_weight, read.n_rows)
        rows = rows_of_table(self._read(X, reset=False), read.encoded, y, weight)
        return fitted.loo(rows, kind)

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""
        fitted = self._fitted()
        return fitted.posterior.shifted(fitted.origins())

    @property
    def log_evidence_(self) -> float:
        """Log evidence, log p(rows, labels) with parameters integrated out; exact fits only.

        Raises:
            NoAttribute: the fit is not exact, or a prior or likelihood has no evidence.
        """
        return self._fitted().log_evidence()

    @property
    def temperature_(self) -> float:
        """Divisor of the log-odds: 1 over the (geometric mean) power of the likelihood.

        It is 1 without tempering. At 2 the evidence is halved because features are redundant; the
        untempered probabilities would be overconfident.
        """
        return 1 / self._fitted_posterior().readout.power

    @property
    def unlabelled_weight_(self) -> float:
        """Mean weight of a row without a label, from 0 to 1 if learned; 0 without such rows."""
        self._fitted_posterior()
        return float(self.report_.details.get("unlabelled.weight", 0.0))

    @property
    def label_distributions_(self) -> Joint:
        """P(y_i = k given all rows) of every fitted row, shape (row, class).

        A given label has probability 1. For an unlabeled row these are the shares of the classes
        that the fit expected (means over draws in programs of your own), which differ from
        `predict_proba` because the row itself was fitted. Rows of weight 0 are omitted. The
        attribute is neither saved nor copied.
        """
        self._fitted_posterior()
        return unlabelled_fit.distributions(self._training, self.classes_, self._labels_found())

    @property
    def transduction_(self) -> Shaped[np.ndarray, " row"]:
        """The label of every fitted row: the given one, or else the most probable one."""
        return self.classes_[np.argmax(self.label_distributions_, axis=1)]

    @property
    def coef_(self) -> Float[np.ndarray, "discriminant feature"]:
        """Coefficients of the linear discriminants; point estimates with linear log-odds only."""
        return linear_discriminant(self.posterior_)[0]

    @property
    def intercept_(self) -> Float[np.ndarray, " discriminant"]:
        """Intercepts of the linear discriminants; point estimates with linear log-odds only."""
        return linear_discriminant(self.posterior_)[1]

    # -- keeping and changing ----------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted classifier to a file, which `bayesgen.load` reads.

        The file is a zip of JSON and NumPy arrays without code, so loading it executes nothing. For
        a user program it holds the draws and the import path. An existing file is replaced
        atomically.

        Args:
            path: of the file, used as given; by convention it ends in .bgm.

        Raises:
            InvalidFile: part of the model is not data but, for example, a function; no file can be
                written to the path.
        """
        from bayesgen.estimators.saving import save

        check_is_fitted(self)
        save(self, path)

    @deduplicate_warnings()
    def report_html(self, path: str | os.PathLike, X: object, y: object, **options: Option) -> None:
        """Write a report of the fitted classifier as one self-contained HTML page.

        Sections: verdict, intended use and limits (if stated), calibration, scores by subgroup (if
        asked for), drivers of the decision, confusion and costs, notable rows with intervals, what
        to measure next (if cells are missing), data, parameters, method and program, reproduction.
        Scores, rows and values of cells are out of fold: clones of the classifier are
        cross-validated on the rows. The page says whether these are the rows of the fit, and
        what is then the log loss of the fit itself on rows left out, if the fit has it.

        Args:
            path: of the file, which is replaced.
            X: rows to report on, usually those of the fit; columns that the fit did not have are
                left out, but for `by`.
            y: their labels.
            options: title; loss, as in `decide`; reject, the cost of leaving a row undecided
                (two fifths of the way from the least cost to the largest that the best decision can
                be expected to have); by, a column whose levels are scored apart, as in `compare`;
                notes, text on intended use and limits (Markdown of headings (#), items (-, *, 1.)
                and paragraphs, whose other marks stay as typed); cv (5), the number of
                folds; random_state (0), their seed; date (today), a datetime.date.

        Raises:
            BayesgenError: rows that cannot be cross-validated, or an unwritable path.

        Example:
            >>> import tempfile, pathlib
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.html"
            >>> bg.NaiveBayes().fit(X, y).report_html(path, X, y)
            >>> "<h2>Verdict</h2>" in path.read_text(encoding="utf-8")
            True
        """
        check_is_fitted(self)
        words = functools.partial(in_sample.in_words, self._fit_with_rows())
        report.write_report(self, path, X, y, in_sample=words, **options)

    def program(self) -> str:
        """Return the model as a NumPyro program: source text that needs jax and numpyro alone.

        The text defines `model(x, y)`, which `GenerativeClassifier(story=model)` takes too: x maps
        columns to arrays (row,), as its comments say. Guesses that the rows filled in are written
        as numbers, in the units of the columns, so that the posterior given the same rows is that
        of the fit; weights, tempering and rows without a label are no part of it. Prior strengths
        that are learned are the likeliest ones. A stack has one function for each member, and a
        comment in place of those without a program.

        Raises:
            UnsupportedOperation: kernels, a joint table, an average over sets of columns, more than
                50 words, an improper prior, or a likelihood of your own.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> scope = {}
            >>> exec(bg.NaiveBayes().fit(X, y).program(), scope)
            >>> scope["model"].__doc__.splitlines()[0]
            'Draw the class y of each row, then its cells given the class.'
        """
        # members of a stack may call the same function
        return "\n\n\n".join(dict.fromkeys([IMPORTS, *self._fitted().functions("model")])) + "\n"

    def with_parameters(self, parameters: Mapping[str, ArrayLike]) -> Self:
        """Return a fitted copy with stated parameters: the Bayes rule if they are the true ones.

        Columns, classes and levels remain those of the fit; its rows have no other influence. In
        simulation studies the result is the optimal classifier to compare others with.

        Args:
            parameters: every parameter by its name in `summary`, such as "class.probs" (class,),
                "normal.mean" (class, feature), "normal.variance" (class, feature) or
                "normal.covariance" ((class, feature, feature), or (feature, feature) where shared),
                classes in the order of `classes_`, in the units of the columns.

        Raises:
            InvalidArgument: a parameter is absent or unknown, or has the wrong shape or range.
            UnsupportedOperation: a stack, or a user program.

        Example:
            >>> import bayesgen as bg
            >>> clf = bg.NaiveBayes().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
            >>> truth = {"class.probs": [0.5, 0.5], "normal.mean": [[-1], [1]],
            ...     "normal.variance": [[1], [1]]}
            >>> float(clf.with_parameters(truth).decision_function([[0.7]])[0].round(9))
            1.4
        """
        return self._holding(stated_parameters.stated(self._fitted(), parameters))

    def plot_prior(
        self,
        X: object = None,
        y: object = None,
        *,
        n: int = DRAWS,
        random_state: object = 0,
        features: list | tuple | None = None,
        ax: Axes = None,
    ) -> PriorDisplay:
        """Draw n rows simulated from the prior beside rows X; features as in `PriorDisplay`.

        X and y are by default the rows of the last fit.
        """
        pyplot()  # refuse before anything is computed
        if X is None or y is None:
            X, y, _ = self._rows_of_fit("plot_prior")
        prior = self.sample_prior(n, X, y, random_state=random_state)
        return plots.PriorDisplay(prior, features).plot(ax)

    @deduplicate_warnings()
    def plot_densities(
        self, X: object, y: ArrayLike, features: tuple = (0, 1), **options: Option
    ) -> DensityDisplay:
        """Draw contours of each class over two columns; options of `DensityDisplay`."""
        return plots.DensityDisplay.from_estimator(self, X, y, features=features, **options)

    @deduplicate_warnings()
    def plot_regions(
        self, X: object, y: ArrayLike, features: tuple = (0, 1), **options: Option
    ) -> RegionDisplay:
        """Draw decision regions over two columns; options of `RegionDisplay`."""
        return plots.RegionDisplay.from_estimator(self, X, y, features=features, **options)

    @deduplicate_warnings()
    def plot_features(self, X: object, y: ArrayLike, **options: Option) -> FeatureDisplay:
        """Draw the predictive density of each column; options of `FeatureDisplay`."""
        return plots.FeatureDisplay.from_estimator(self, X, y, **options)

    @deduplicate_warnings()
    def plot_reliability(self, X: object, y: ArrayLike, **options: Option) -> ReliabilityDisplay:
        """Draw reliability curves; options of `ReliabilityDisplay`."""
        return plots.ReliabilityDisplay.from_estimator(self, X, y, **options)

    @deduplicate_warnings()
    def plot_intervals(
        self, X: object, y: ArrayLike | None = None, target: Hashable = None, **options: Option
    ) -> IntervalDisplay:
        """Draw probabilities of one class with intervals; options of `IntervalDisplay`."""
        return plots.IntervalDisplay.from_estimator(self, X, y, target=target, **options)

    @deduplicate_warnings()
    def plot_evidence(
        self, row: object, target: Hashable = None, against: Hashable = None, **options: Option
    ) -> EvidenceDisplay:
        """Draw the weight of evidence of each cell of one row; options of `EvidenceDisplay`."""
        return plots.EvidenceDisplay.from_estimator(self, row, target, against, **options)

    def plot_relevance(
        self, X: object = None, *, most: int = 25, ax: Axes = None
    ) -> RelevanceDisplay:
        """Draw `relevance`, of at most so many columns."""
        pyplot()  # refuse before anything is computed
        return plots.RelevanceDisplay(self.relevance(X), arguments.count("most", most)).plot(ax)
