"""Naive Bayes: columns are independent given the class."""

import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from bayesgen import plots
from bayesgen.arguments import one_of
from bayesgen.classes import Spec as ClassPriorSpec
from bayesgen.errors.operations import unsupported
from bayesgen.estimators import leave_one_out_score
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.column_blocks import (
    Blocks,
    Missing,
    Remainder,
    Spec,
    Unseen,
    assign,
    split,
)
from bayesgen.estimators.fitting import fitting, labels_in_column
from bayesgen.estimators.tempered import Temper
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.unlabelled_fit import Weight as Unlabelled
from bayesgen.inference import Asked, Pooled
from bayesgen.likelihoods.column_sets import over_column_sets
from bayesgen.plots.style import Axes
from bayesgen.table import Name, Table
from bayesgen.typing import Self

if TYPE_CHECKING:
    from bayesgen.plots import WeightDisplay
else:  # loaded where something is drawn
    WeightDisplay = Any

NO_WEIGHTS = "weights_ are learned under temper='columns': bg.NaiveBayes(temper='columns')"


@dataclasses.dataclass(eq=False, repr=False)
class NaiveBayes(Classifier):
    """Naive Bayes: columns are independent given the class; missing cells are marginalized.

    Args:
        likelihood, remainder, class_prior, inference, power_transform, bins, temper, missing: ...
        columns: "all"; or "average" over all sets of columns that may depend on the class, weighted
            by their evidence: for tables most of whose columns tell nothing. See `relevance`.
        unseen, unlabelled, groups, random_state: ...

    Attributes:
        weights_: ...
        classes_, inference_, report_, posterior_, log_evidence_, state_, temperature_: ...
        unlabelled_weight_, label_distributions_, transduction_: ...
        n_features_in_, feature_names_in_: number and names of the columns at fit.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_play_tennis()
        >>> tennis = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
        >>> row = {"Outlook": ["Sunny"], "Temperature": ["Cool"], "Humidity": ["High"],
        ...        "Wind": ["Strong"]}
        >>> import pandas as pd
        >>> tennis.predict_proba(pd.DataFrame(row)).round(6)
        array([[0.720067, 0.279933]])

        Numeric columns binned into levels, here at their quartiles:

        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import KBinsDiscretizer
        >>> quartiles = KBinsDiscretizer(4, encode="ordinal", quantile_method="linear")
        >>> X, y = bg.datasets.load_iris()
        >>> binned = make_pipeline(quartiles, bg.NaiveBayes(bg.Categorical.laplace(1)))
        >>> round(binned.fit(X, y).score(X, y), 2)
        0.97

        Columns that repeat each other, weighted by leave-one-out:

        >>> weighted = bg.NaiveBayes(temper="columns").fit(X, y)
        >>> {name: round(weight, 1) for name, weight in weighted.weights_.items()}
        {'sepal_length': 0.1, 'sepal_width': 0.0, 'petal_length': 0.7, 'petal_width': 0.6}
    """

    likelihood: Spec = "auto"
    _: dataclasses.KW_ONLY
    remainder: Remainder = None
    class_prior: ClassPriorSpec = 1.0
    inference: Asked = "auto"
    power_transform: bool = False
    bins: int | Literal["auto"] | None = None
    temper: Temper = None
    columns: Literal["all", "average"] = "all"
    missing: Missing = "ignorable"
    unseen: Unseen = "missing"
    unlabelled: Unlabelled = "learn"
    groups: Name | None = None
    random_state: object = None

    @fitting
    @labels_in_column
    def fit(self, X: object, y: object, sample_weight: object = None) -> Self:
        """Fit to rows X and labels y; warn if class frequencies predict better; returns self.

        For exact fits `report_.details` holds the exact leave-one-out log loss and that of the
        class frequencies, with the standard error of their difference and the number of scored
        rows: at most 2,000, chosen by content, and fewer for wide tables. The warning
        requires a difference of more than one standard error and at least 20 rows. Sparse tables
        and fits with temper= or missing="learn" are not scored.

        Args:
            X: table of rows (see `Classifier.fit`).
            y: one label for each row.
            sample_weight: one non-negative number for each row.

        Raises:
            BayesgenError: invalid rows, labels, weights or prior.
        """
        rows = self._training_rows(X, y, sample_weight, reset=True)
        self._fit_rows(rows, rows.classes)
        if self.temper is None and self.missing != "learn":
            self._judge(rows.labelled)
        return self

    def _judge(self, rows: TrainingRows) -> None:
        """Add the leave-one-out score of the rows of the fit to its report."""
        scores = leave_one_out_score.scored(self.fitted_, rows)
        if scores is not None:
            self.fitted_ = self.fitted_.with_details(scores)
            leave_one_out_score.warn_of(type(self).__name__, scores)

    def _blocks(self, table: Table) -> Blocks:
        blocks = assign(self.likelihood, table, self.remainder, self.groups)
        for likelihood, _ in blocks.values():
            if likelihood.joint:
                family = type(likelihood).__name__
                raise unsupported(
                    f"NaiveBayes treats columns one by one and cannot take {family}",
                    "its columns depend on each other",
                    "Use bg.LDA(), bg.QDA(), bg.JointTable() or bg.GenerativeClassifier(...).",
                )
        if one_of("columns", self.columns, ["all", "average"]) == "average":
            if self.groups is not None:
                raise unsupported(
                    "groups= with columns='average'",
                    "which columns depend on the class is learned from rows of one population",
                    "Leave out one of them.",
                )
            blocks = {n: (over_column_sets(part), names) for n, (part, names) in blocks.items()}
        return split(blocks) if self.temper == "columns" else blocks

    @property
    def weights_(self) -> dict[Name, float]:
        """The learned weight of each column, by name; temper="columns" only.

        A column of weight 1 counts in full, as in naive Bayes; one of weight 0 is ignored. Columns
        that cannot discriminate between classes are omitted.
        """
        posterior = self._fitted_posterior()
        if not isinstance(posterior.readout, Pooled) or self.temper != "columns":
            raise AttributeError(NO_WEIGHTS)
        names = [self.state_.schema.blocks[block][0].name for block in posterior.families]
        return dict(zip(names, posterior.readout.pool.mean_weights.tolist(), strict=True))

    def plot_weights(self, ax: Axes = None) -> WeightDisplay:
        """Draw the weight of each column; temper="columns" only."""
        return plots.WeightDisplay.from_estimator(self, ax=ax)
