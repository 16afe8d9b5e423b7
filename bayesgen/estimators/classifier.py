"""The classifier that all others are: scikit-learn's contract around one posterior."""

import abc
import copy
import os
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from bayesgen import arguments, predict
from bayesgen.classes import Spec, stated_prior
from bayesgen.errors import InvalidPrior, NoEvidence, TooFewClasses
from bayesgen.estimators import rows
from bayesgen.estimators.asking import Asking
from bayesgen.estimators.fitted import TrainingState, complete
from bayesgen.estimators.inferring import infer
from bayesgen.estimators.learning import Learning
from bayesgen.estimators.linear import Linear
from bayesgen.estimators.parameters import Estimator
from bayesgen.estimators.plotting import Plotting
from bayesgen.estimators.saved import save
from bayesgen.estimators.seeds import generator
from bayesgen.estimators.tempering import Seen, temperature, tempered
from bayesgen.estimators.undoing import restore_on_failure
from bayesgen.inference import Posterior, Report, any_missing
from bayesgen.schema import check_columns
from bayesgen.table import SparseTable, Table
from bayesgen.typing import Self, Traceable


class Classifier(Learning, Linear, Plotting, Asking, ClassifierMixin, Estimator, abc.ABC):
    """Fit, predict and sample; a subclass says only which blocks it builds.

    Attributes:
        classes_: the labels in sorted order, shape (class,).
        inference_: the method that ran ("exact", "expected", "mle", "map", "nuts",
            "augmentation"); inference="svi" is a way to the "map".
        report_: its account: seconds, verdict, details.
        posterior_: the posterior in the units of the columns.
        log_evidence_: log p(rows, labels), parameters integrated out; exact fits only. Where
            guesses come from the columns (None) it is an empirical-Bayes number.
        n_features_in_, feature_names_in_: what fit saw.
    """

    class_prior: Spec
    _likelihood_names: ClassVar[tuple[str, ...]] = ()
    """The likelihoods that it makes of arguments of its own; errors of priors name it instead."""

    # -- fitting ---------------------------------------------------------------------------------

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
            table, labels, weight = self._training_rows(X, y, sample_weight, reset=True)
            classes = rows.distinct(labels)
            if len(classes) < 2:
                raise TooFewClasses.found(classes.tolist())
            learned = self._learned(table, labels, classes, weight)
            self._finish_fit(learned, self._new_seed(), (Seen(table, labels, weight),))
            self._training = (X, y, sample_weight)
        return self

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> Self:
        """Add rows to what was fitted; any split in any order gives the fit of the whole.

        Classes and levels may arrive late. `classes` names those of this call before their rows
        come; labels outside it, and outside the classes known so far, are refused.
        """
        with restore_on_failure(self):
            return self._finish_fit(*self._accumulate(X, y, classes, sample_weight))

    def _finish_fit(
        self, learned: TrainingState, seed: int, seen: tuple[Seen, ...] | None = None
    ) -> Self:
        """Run inference and set what a fit leaves behind, last and all at once.

        seen: the rows, which are kept only where powers are learned from them.
        """
        enough = np.count_nonzero(learned.statistics.count) >= 2
        posterior = self._infer(learned, seed) if enough else None
        if posterior is not None:
            posterior = tempered(
                posterior, learned, self.temper, self.class_prior, seen, unseen=self.unseen
            )
        self._state_, self._posterior, self._seed = learned, posterior, seed
        self._seen = seen if self._from_rows() else None
        self._training = None
        self.classes_ = learned.classes
        if posterior is not None:
            self.report_: Report = posterior.report
            self.inference_ = posterior.report.method
        return self

    def _infer(self, learned: TrainingState, seed: int) -> Posterior:
        return infer(learned, self.inference, self.class_prior, seed)

    # -- rows in and out -------------------------------------------------------------------------

    def _encode_rows(self, X: object) -> tuple[Posterior, dict[str, Traceable], int]:
        posterior = self._fitted_posterior()
        table = self._read(X, reset=False)
        rows.check_sparse(table, self._state_.likelihoods)
        return posterior, self._encode(table), table.n_rows

    def _encode(self, table: Table) -> dict[str, Traceable]:
        """Return the rows of a table that `_read` has read."""
        name = type(self).__name__
        return self._state_.schema.encode(table, unseen=self.unseen, estimator=name)

    def _encode_plain(self, table: Table) -> dict[str, Traceable]:
        """Return the rows of a table of which nothing was made yet."""
        return self._encode(table)

    def _check_columns(self, table: Table) -> None:
        names = self._columns()
        if not isinstance(table, SparseTable) and tuple(table.names) != tuple(names):
            container = self._state_.schema.container
            check_columns(names, self._used(), container, table, type(self).__name__)

    def _fitted_posterior(self) -> Posterior:
        check_is_fitted(self, "_state_")
        if self._posterior is None:
            raise TooFewClasses.found(self.classes_.tolist())
        return self._posterior

    def sample(self, n: int = 1, random_state: object = None) -> tuple[object, np.ndarray]:
        """Return n rows, in the kind of table that fit saw, and their labels.

        Each row comes from its own draw of the parameters: rows of the posterior predictive.
        """
        self._fitted_posterior()
        n, rng = arguments.count("n", n), generator(random_state)
        encoded, y = self._simulate(n, rng)
        return self._state_.schema.decode(encoded, n), self.classes_[y]

    def _simulated(self, n: int) -> dict[str, Traceable]:
        self._fitted_posterior()
        return self._simulate(n, np.random.default_rng(self._seed))[0]

    def _simulate(
        self, n: int, rng: np.random.Generator
    ) -> tuple[dict[str, Traceable], np.ndarray]:
        """Return n rows as `_encode_rows` returns rows, and their class codes."""
        posterior = self._fitted_posterior()
        simulated, y = predict.simulate(posterior, n, rng)
        return rows.whole(self._state_, posterior, simulated, n), y

    # -- keeping -----------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike) -> None:
        """Write the fitted classifier to a netCDF file, which `bayesgen.load` reads.

        The file holds arrays and names, no code: loading it runs nothing. An older file is replaced
        at once, or not at all.

        Args:
            path: of the file, by custom one that ends in .nc.

        Raises:
            UnsavableModel: a part is no data, such as a program of your own.
            UnwritableFile: the path takes no file.
        """
        check_is_fitted(self, "_state_")
        save(self, path)

    # -- looking and changing ----------------------------------------------------------------------

    def with_class_prior(self, class_prior: Spec) -> Self:
        """Return a fitted copy that answers under other, known class probabilities.

        Args:
            class_prior: "uniform", an array in the order of `classes_`, or {class: probability}; a
                class of probability 0 is ruled out.
        """
        posterior = self._fitted_posterior()
        prior = stated_prior(class_prior, self.classes_)
        other = copy.copy(self)
        other.class_prior = class_prior
        other._posterior = posterior.with_classes(prior)
        return other

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""
        return self._fitted_posterior().shifted(self._kept_origin())

    def _kept_origin(self) -> dict[str, np.ndarray]:
        reader, origin = self._fitted_posterior().reader, self._state_.origin()
        return {
            name: origin[name]
            if index is None or reader.full[name].subset_axis != "feature"
            else origin[name][index]
            for name, index in reader.kept.items()
        }

    @property
    def log_evidence_(self) -> float:
        """Log p(rows, labels), parameters integrated out: a closed form of exact fits.

        Raises:
            NoEvidence: the fit was not exact, or a prior or likelihood has no evidence.
        """
        self._fitted_posterior()
        try:
            model, statistics, _ = complete(self._state_, self.class_prior, frequencies=False)
        except InvalidPrior as error:
            raise NoEvidence.invalid_prior(error) from error
        model.require_evidence()
        if any_missing(model, statistics):
            raise NoEvidence.missing_values()
        if self.inference_ != "exact":
            raise NoEvidence.not_exact(self.inference_)
        return model.log_evidence(statistics) + self._state_.log_abs_det_jacobian

    @property
    def temperature_(self) -> float:
        """What log-odds are divided by: 1 over the (geometric mean) power of the likelihood.

        1 where nothing is tempered. 2 says that features repeat each other so much that a row is
        worth half of what the story takes it for; the story's own probabilities are overconfident.
        """
        return temperature(self._fitted_posterior())

    def __sklearn_tags__(self) -> Tags:
        """Say that missing cells, levels and text are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = self._reads_sparse()
        return tags

    def _reads_sparse(self) -> bool:
        """Return whether rows may be a sparse matrix."""
        return False

    def __getstate__(self) -> dict[str, object]:
        """Return what is copied and kept: all but the rows of the fit, which are the user's."""
        return {**super().__getstate__(), "_training": None, "_seen": None}

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether any rows were seen."""
        return hasattr(self, "_state_")
