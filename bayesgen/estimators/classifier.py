"""The classifier that all others are: scikit-learn's contract around one posterior."""

import abc
import copy

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bayesgen import predict
from bayesgen.classes import ClassPrior, Spec, given_probabilities
from bayesgen.errors import NoPosterior, TooFewClasses
from bayesgen.estimators import rows
from bayesgen.estimators.blocks import Blocks, specs
from bayesgen.estimators.fitted import Learned, add, complete, infer, learn
from bayesgen.estimators.linear import linear_discriminant
from bayesgen.estimators.predicting import Predicting
from bayesgen.inference import Method, Posterior, Report
from bayesgen.schema import Schema
from bayesgen.table import Table


class Classifier(Predicting, ClassifierMixin, BaseEstimator, abc.ABC):
    """Fit, predict and sample; a subclass says only which blocks it builds.

    Attributes:
        classes_: the labels in sorted order, shape (class,).
        inference_: the method that ran ("exact", "mle", "map", "nuts", "augmentation").
        report_: its account: seconds, verdict, details.
        posterior_: the posterior in the units of the columns.
        log_evidence_: log p(rows, labels), parameters integrated out; exact fits only. Where
            guesses come from the columns (None) it is an empirical-Bayes number.
        n_features_in_, feature_names_in_: what fit saw.
    """

    inference: str | Method
    class_prior: Spec
    unseen: str
    random_state: object

    @abc.abstractmethod
    def _blocks(self, table: Table) -> Blocks:
        """Return the blocks of a table: name -> (likelihood, columns)."""

    # -- fitting ---------------------------------------------------------------------------------

    def fit(self, X: object, y: object, sample_weight: object = None) -> "Classifier":
        """Fit to rows X and labels y; returns self.

        Args:
            X: DataFrame (pandas, polars, pyarrow) or array of shape (row, feature); NaN, None and
                NA are missing cells.
            y: one label for each row.
            sample_weight: one non-negative number for each row: 2 is the row twice, 0 is no row.

        Raises:
            BayesgenError: a table, labels, weights or a prior that cannot be used; the sentence
                names the column, the class and the cure.
        """
        table, labels, weight = rows.training_rows(self, X, y, sample_weight, reset=True)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise TooFewClasses.found(classes.tolist())
        return self._settle(self._learned(table, labels, classes, weight), self._new_seed())

    def partial_fit(
        self, X: object, y: object, classes: ArrayLike | None = None, sample_weight: object = None
    ) -> "Classifier":
        """Add rows to what was fitted; any split in any order gives the fit of the whole.

        Classes and levels may arrive late. `classes` names those of this call before their rows
        come; labels outside it, and outside the classes known so far, are refused.
        """
        first = not hasattr(self, "_learned_")
        table, labels, weight = rows.training_rows(self, X, y, sample_weight, reset=first)
        if first:
            known = np.unique(labels) if classes is None else np.unique(classes)
            rows.check_declared(labels, known)
            return self._settle(self._learned(table, labels, known, weight), self._new_seed())
        earlier = self._learned_
        every = np.union1d(earlier.classes, np.unique(labels if classes is None else classes))
        rows.check_declared(labels, every)
        schema = earlier.schema.merge(table, estimator=type(self).__name__)
        later = learn(table, schema, earlier.likelihoods, labels, every, weight, unseen=self.unseen)
        return self._settle(add(earlier, later), self._seed)

    def _learned(
        self, table: Table, labels: np.ndarray, classes: np.ndarray, weight: np.ndarray
    ) -> Learned:
        blocks = self._blocks(table)
        schema = Schema.learn(table, specs(blocks))
        likelihoods = {name: likelihood for name, (likelihood, _) in blocks.items()}
        return learn(table, schema, likelihoods, labels, classes, weight, unseen=self.unseen)

    def _new_seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _settle(self, learned: Learned, seed: int) -> "Classifier":
        """Run inference and set what a fit leaves behind, last and all at once."""
        enough = np.count_nonzero(learned.statistics.count) >= 2
        posterior = infer(learned, self.inference, self.class_prior, seed) if enough else None
        self._learned_, self._posterior, self._seed = learned, posterior, seed
        self.classes_ = learned.classes
        if posterior is not None:
            self.report_: Report = posterior.report
            self.inference_ = posterior.report.method
        return self

    # -- rows in and out -------------------------------------------------------------------------

    def _encoded(self, X: object) -> tuple[Posterior, dict[str, np.ndarray], int]:
        posterior = self._answering()
        table = rows.prediction_rows(self, X)
        encoded = self._learned_.schema.encode(
            table, unseen=self.unseen, estimator=type(self).__name__
        )
        return posterior, encoded, table.n_rows

    def _answering(self) -> Posterior:
        check_is_fitted(self, "_learned_")
        if self._posterior is None:
            raise TooFewClasses.found(self.classes_.tolist())
        return self._posterior

    def sample(self, n: int = 1, random_state: object = None) -> tuple[object, np.ndarray]:
        """Return n rows, in the kind of table that fit saw, and their labels.

        Each row comes from its own draw of the parameters: rows of the posterior predictive.
        """
        posterior = self._answering()
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31 - 1))
        encoded, y = predict.simulate(posterior, n, rng)
        return rows.decoded(self._learned_, posterior, encoded, n), self.classes_[y]

    # -- looking and changing ----------------------------------------------------------------------

    def with_class_prior(self, class_prior: Spec) -> "Classifier":
        """Return a fitted copy that answers under other, known class probabilities.

        Args:
            class_prior: "uniform", an array in the order of `classes_`, or {class: probability}.
        """
        posterior = self._answering()
        size = len(self.classes_)
        uniform = isinstance(class_prior, str) and class_prior == "uniform"
        spec = np.full(size, 1 / size) if uniform else class_prior
        prior = ClassPrior(given_probabilities(spec, self.classes_), np.inf)
        other = copy.copy(self)
        other.class_prior = class_prior
        other._posterior = posterior.with_classes(prior)
        return other

    @property
    def posterior_(self) -> Posterior:
        """The posterior in the units of the columns."""
        posterior = self._answering()
        reader, origin = posterior.reader, self._learned_.origin()
        kept = {
            name: origin[name]
            if index is None or reader.full[name].inert_axis != "feature"
            else origin[name][index]
            for name, index in reader.kept.items()
        }
        return posterior.moved(kept)

    @property
    def log_evidence_(self) -> float:
        """Log p(rows, labels), parameters integrated out: a closed form of exact fits."""
        check_is_fitted(self, "_learned_")
        if self.inference_ != "exact":
            raise NoPosterior.point_estimate("log_evidence_", self.inference_)
        model, statistics, _ = complete(self._learned_, self.class_prior, frequencies=False)
        return model.log_evidence(statistics)

    @property
    def coef_(self) -> Float[np.ndarray, "discriminant feature"]:
        """Weights of the linear discriminants; only where a point estimate makes one."""
        return self._linear()[0]

    @property
    def intercept_(self) -> Float[np.ndarray, " discriminant"]:
        """Constants of the linear discriminants; only where a point estimate makes one."""
        return self._linear()[1]

    def _linear(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "_learned_")
        found = linear_discriminant(self.posterior_)
        if found is None:
            raise AttributeError(
                "coef_ and intercept_ exist for point estimates with one covariance for all: "
                "LDA(inference='mle') or NaiveBayes(Normal(spread='shared'), inference='mle')."
            )
        return found

    def __sklearn_tags__(self) -> object:
        """Say that missing cells, levels and text are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether any rows were seen."""
        return hasattr(self, "_learned_")
