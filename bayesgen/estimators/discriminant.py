"""Linear and quadratic discriminant analysis: one multivariate normal per class."""

import dataclasses
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Float
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors import Cure, InvalidData
from bayesgen.errors.arguments import not_one_of
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import Blocks, Missing, Unseen, features
from bayesgen.estimators.linear import discriminant_axes
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.inference import Asked
from bayesgen.likelihoods import MultivariateNormal
from bayesgen.likelihoods.base import Guess
from bayesgen.likelihoods.hyperparameter_mixture import resolve_family
from bayesgen.schema import IndicatorsOf, are_words, reads_as_numbers
from bayesgen.table import Name, Table

BLOCK = "normal"
Prior = Literal["conjugate", "reference", "lkj"]
Covariance = Literal["per_class", "shared"]


@dataclasses.dataclass(kw_only=True, eq=False, repr=False)
class Discriminant(Classifier):
    """Base class of LDA and QDA: one multivariate normal per class over all columns.

    Args:
        mean: guess of the mean; a number, one per column, or (class, feature). None: overall means.
        mean_rows: prior strength of that guess in rows, > 0; a number, one per class, or "learn".
        scale: guess of the covariance; a number (times the identity), one variance per column, a
            positive definite matrix, or "learn" (between diagonal and pooled). None: the diagonal
            of the columns' variances within classes.
        covariance_rows: prior strength of that guess in rows, > 0, or "learn". None: 1 for a shared
            covariance, 8 for class-specific ones (lowest log loss on small tables).
        prior: "conjugate", "reference" (improper, no guess is used) or "lkj" (for MAP and NUTS), as
            in `MultivariateNormal`.
        levels: "refuse" rejects columns of levels; "indicators" one-hot encodes levels that rows
            have, without the first. Which one that is changes no prediction: the guess of the
            covariance is the mean of the diagonal ones for each choice, and a number for mean or
            scale is meant for all levels alike; arrays are of the columns "name=level". A normal
            density of indicators is a working model for the class, linear in the levels as in
            logistic regression; it does not describe the rows. Levels may arrive with any batch.
    """

    _covariance: ClassVar[Covariance]
    _likelihood_names: ClassVar[tuple[str, ...]] = (MultivariateNormal.__name__,)

    mean: Guess = None
    mean_rows: Guess = 1.0
    scale: Guess = None
    covariance_rows: Guess = None
    prior: Prior = "conjugate"
    levels: Literal["refuse", "indicators"] = "refuse"
    power_transform: bool = False
    class_prior: ClassPriorSpec = 1.0
    inference: Asked = "auto"
    temper: Temper = None
    missing: Missing = "ignorable"
    unseen: Unseen = "missing"
    unlabelled: Unlabelled = "learn"
    groups: Name | None = None
    random_state: object = None

    def _require_numbers(self, table: Table) -> None:
        """Refuse columns of levels, but for numbers that are written as text."""
        kinds = (column for column in table.columns if column.name != self.groups)
        levels = [column for column in kinds if not reads_as_numbers(column)]
        names = [c.name for c in levels if not c.is_missing and are_words(c)]
        if names:
            raise InvalidData(
                "{estimator} needs numbers, and {names:named column} {hold} categories.",
                Cure(
                    "Pass bg.{estimator}(levels='indicators'), which encodes levels as 0 and 1, or "
                    "leave these columns out: {names:without}.",
                    "Use --model naive-bayes, or leave these columns out: --drop {names:option}.",
                ),
                names=names,
                hold="hold" if len(names) > 1 else "holds",
                estimator=type(self).__name__,
            )

    def _blocks(self, table: Table) -> Blocks:
        if self.levels not in ("refuse", "indicators"):
            raise not_one_of("levels", self.levels, ["refuse", "indicators"])
        names = features(table, self.groups)
        if self.levels == "indicators":
            names = IndicatorsOf(names)
        elif table.matrix is None:
            self._require_numbers(table)
        likelihood = MultivariateNormal(
            covariance=self._covariance,
            mean=self.mean,
            mean_rows=self.mean_rows,
            scale=self.scale,
            covariance_rows=self.covariance_rows,
            prior=self.prior,
        )
        return {BLOCK: (resolve_family(likelihood), names)}


class QDA(Discriminant):
    """Quadratic discriminant analysis: each class has its own mean and covariance.

    Missing cells are marginalized in the full covariance, at fit and at predict.

    Args:
        mean, mean_rows, scale, covariance_rows, prior, levels, power_transform: ...
        class_prior, inference, temper, missing, unseen, unlabelled, groups, random_state: ...

    Attributes:
        classes_, inference_, report_, posterior_, log_evidence_, state_, temperature_: ...
        unlabelled_weight_, label_distributions_, transduction_: ...
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> float(bg.QDA().fit(X, y).score(X, y))
        0.98
    """

    _covariance = "per_class"


class LDA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, Discriminant):
    """Linear discriminant analysis: class means differ, all classes share one covariance.

    Missing cells are marginalized in the full covariance, at fit and at predict. A point estimate
    has `coef_` and `intercept_`: log-odds are linear in x.

    Args:
        mean, mean_rows, scale, covariance_rows, prior, levels, power_transform: ...
        class_prior, inference, temper, missing, unseen, unlabelled, groups, random_state: ...

    Attributes:
        coef_, intercept_: ...
        classes_, inference_, report_, posterior_, log_evidence_, state_, temperature_: ...
        unlabelled_weight_, label_distributions_, transduction_: ...
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> lda = bg.LDA(inference="mle").fit(X, y)
        >>> lda.coef_.shape, lda.transform(X).shape
        ((3, 4), (150, 2))
    """

    _covariance = "shared"

    def transform(self, X: object) -> Float[np.ndarray, "row axis"]:
        """Return discriminant scores, shape (row, axis), scaled to within-class variance 1.

        They are computed at the center of the posterior. The origin is the weighted mean of the
        class means, which also replaces missing cells.
        """
        rows = self._read_rows(X)
        if BLOCK not in rows.posterior.families:
            return np.empty((rows.n_rows, 0))
        x, (axes, centre) = rows.posterior.reader.read(rows.encoded)[BLOCK], self._axes()
        return np.where(np.isnan(x), 0.0, x - centre) @ axes

    @property
    def _n_features_out(self) -> int:
        return self._axes()[0].shape[1] if BLOCK in self._fitted_posterior().families else 0

    def _axes(self) -> tuple[np.ndarray, np.ndarray]:
        centre = self._fitted_posterior().components.normal_centre(BLOCK)
        weight = self.state_.statistics.count / self.state_.statistics.count.sum()
        axes = discriminant_axes(centre["mean"], centre["covariance"], weight)
        return axes, weight @ centre["mean"]
