"""Result of a comparison: score tables and the out-of-fold predictions behind them."""

import dataclasses
import math
from collections.abc import Hashable, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Shaped

from bayesgen import arguments, calibrate, plots
from bayesgen.calibrate.thresholds import THRESHOLDS
from bayesgen.compare.scores import LEVEL
from bayesgen.errors import InvalidArgument
from bayesgen.errors.base import merge_warnings
from bayesgen.plots.style import Axes, pyplot
from bayesgen.typing import Joint, Labels

HEADS = {
    "log_loss": "log loss",
    "brier": "Brier",
    "miscalibration": "miscalibr.",
    "discrimination": "discrim.",
    "calibration_error": "calib. error",
    "accuracy": "accuracy",
    "auc": "AUC",
}
LEGEND = (
    "Rows left out of the fit; ± is one standard error over folds. Lower is better for log loss "
    "(nats), Brier = miscalibration - discrimination + uncertainty (0 to 2) and calibration error "
    f"(top label, {calibrate.BINS} bins of equal width). vs first: difference of the log loss and "
    f"its {LEVEL:.0%} interval (corrected resampled t)."
)
MEMBERS_LEGEND = (
    "Members of a stack: log loss (nats) of each alone, by leave-one-out; log evidence where there "
    "is one; weights in the linear and the log-linear pool."
)

Event = tuple[Bool[np.ndarray, " row"], Float[np.ndarray, " row"]]
"""True where a class is the true one of a row, and the probability it was given."""


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of several classifiers on the same folds.

    Attributes:
        table: pandas DataFrame, one row for each classifier in the order they were given. Columns:
            log_loss (nats, inf if a true class got probability 0), brier (0 to 2) and its parts
            miscalibration, discrimination and uncertainty (brier = miscalibration - discrimination
            + uncertainty), calibration_error (top label, 15 bins of equal width), accuracy, each
            over all out-of-fold predictions; auc, the mean over folds of the area under the ROC
            curve (several classes: the mean of each against the rest; NaN where a fold lacks a
            class); each with its standard error over folds (log_loss_se, ...; NaN of inf);
            log_loss_difference, log_loss_lower, log_loss_upper: difference to the first classifier
            and its 95 % interval, see `differences`; fit_seconds and predict_seconds (mean of one
            fold, with standard errors); method (`inference_` of the classifier, empty where it has
            none); prepared_by (the preprocessing steps before a classifier that does not accept
            missing values or levels; empty if there are none).
        differences: DataFrame indexed by (classifier, score): difference to the first classifier,
            standard_error, and lower and upper end of a 95 % interval (corrected resampled t of
            Nadeau and Bengio 2003: folds are paired, and share most of the rows they fit).
        curves: DataFrame indexed by (classifier, rows): the scores of `table` after fits to so many
            rows of each fold; empty without train_sizes.
        members: DataFrame indexed by (classifier, member): the mean over folds of the stacks'
            `members_table()`. In a fold where a member was left out its weights are 0, and its
            other columns do not count. Empty without stacks.
        classes: labels in the order of the columns of `probabilities`, shape (class,).
        n_rows: rows compared on.
        n_missing_cells: cells of X without a value.
        n_rows_with_missing: rows of X with at least one such cell.
        folds: number of folds that ran.
        notes: remarks about the comparison as a whole.
        warnings: for each classifier the distinct warnings of its fits and predictions, in order.
            Printed, those that differ in columns, classes and numbers only are one sentence.
        probabilities: for each classifier its out-of-fold probabilities, shape (row, class), the
            rows of the first fold first.
        y: class codes of these rows, shape (row,).
        rows: their positions in X, shape (row,).
        fold: the number of the fold that scored them, shape (row,).
    """

    table: pd.DataFrame
    differences: pd.DataFrame
    curves: pd.DataFrame
    members: pd.DataFrame
    classes: Shaped[np.ndarray, " class"]
    n_rows: int
    n_missing_cells: int
    n_rows_with_missing: int
    folds: int
    notes: tuple[str, ...]
    warnings: dict[str, tuple[str, ...]]
    probabilities: dict[str, Joint]
    y: Labels
    rows: Labels
    fold: Labels

    def reliability(
        self, name: str, *, prob: float = 0.9, resamples: int = 500, random_state: int = 0
    ) -> tuple[calibrate.ReliabilityCurve, ...]:
        """Return the reliability curves of a classifier's out-of-fold probabilities.

        One for each class against the rest (of two classes the second alone), and one for the top
        label last; see `calibrate.reliability`.

        Args:
            name: of the classifier.
            prob: level of the consistency bands.
            resamples: number of simulated sets of events behind a band.
            random_state: seed of the simulation.
        """
        return calibrate.reliability(
            self.y,
            self._probabilities_of(name),
            self.classes.tolist(),
            rng=np.random.default_rng(arguments.seed(random_state)),
            prob=prob,
            resamples=resamples,
        )

    def thresholds(
        self,
        name: str,
        thresholds: Sequence[float | int] = THRESHOLDS,
        *,
        positive: Hashable = None,
    ) -> pd.DataFrame:
        """Return counts and rates of calling a class at thresholds of its probability.

        Args:
            name: of the classifier.
            thresholds: the class is called where its probability is at least that.
            positive: the class to call; None: the second of two.

        Returns:
            See `calibrate.threshold_table`.
        """
        return calibrate.threshold_table(*self._event(name, positive), thresholds)

    def confusion(self, name: str, *, threshold: float | None = None) -> pd.DataFrame:
        """Return the confusion table: rows by true class and decided class.

        Args:
            name: of the classifier.
            threshold: None decides for the most probable class; a number, of two classes, for the
                second where its probability is at least that.
        """
        proba = self._probabilities_of(name)
        return calibrate.confusion(self.y, proba, self.classes.tolist(), threshold=threshold)

    def roc(self, name: str, *, positive: Hashable = None) -> pd.DataFrame:
        """Return the points of the ROC curve of a class, over all folds together.

        The table's auc is the mean over folds and need not be the area under this curve.

        Args:
            name: of the classifier.
            positive: the class to call; None: the second of two.

        Returns:
            See `calibrate.roc`.
        """
        return calibrate.roc(*self._event(name, positive))

    def plot_reliability(self, name: str, *, ax: Axes = None) -> plots.ReliabilityDisplay:
        """Draw the reliability of a classifier's out-of-fold probabilities."""
        pyplot()  # refuse before anything is computed
        return plots.ReliabilityDisplay(self.reliability(name)).plot(ax=ax)

    def plot_roc(
        self, names: Sequence[str] | None = None, *, positive: Hashable = None, ax: Axes = None
    ) -> plots.RocDisplay:
        """Draw the ROC curves of some classifiers (all) for a class (of two the second)."""
        pyplot()  # refuse before anything is computed
        every = list(self.probabilities) if names is None else names
        curves = {name: self.roc(name, positive=positive) for name in every}
        event = self.classes.tolist()[-1] if positive is None else positive
        return plots.RocDisplay(curves, event).plot(ax=ax)

    def plot_confusion(
        self, name: str, *, threshold: float | None = None, ax: Axes = None
    ) -> plots.ConfusionDisplay:
        """Draw the confusion matrix of a classifier."""
        pyplot()  # refuse before anything is computed
        return plots.ConfusionDisplay(self.confusion(name, threshold=threshold)).plot(ax=ax)

    def plot_learning_curves(
        self, score: str = "log_loss", *, ax: Axes = None
    ) -> plots.LearningCurveDisplay:
        """Draw a score against training rows; compare(..., train_sizes=...) computes it."""
        pyplot()  # refuse before anything is computed
        if not len(self.curves):
            raise InvalidArgument.out_of_range(
                "train_sizes",
                None,
                "numbers or shares of rows to fit",
                "Compare again: bg.compare(..., train_sizes=[0.2, 0.5, 1.0]).",
            )
        return plots.LearningCurveDisplay(self.curves, score).plot(ax=ax)

    def _probabilities_of(self, name: str) -> Joint:
        if name not in self.probabilities:
            raise InvalidArgument.not_one_of("name", name, list(self.probabilities))
        return self.probabilities[name]

    def _event(self, name: str, positive: Hashable) -> Event:
        proba, classes = self._probabilities_of(name), self.classes.tolist()
        if positive is None and len(classes) == 2:
            positive = classes[1]
        if positive not in classes:
            raise InvalidArgument.not_one_of("positive", positive, classes)
        code = classes.index(positive)
        return self.y == code, proba[:, code]

    def __repr__(self) -> str:
        """Return the table with its header and notes."""
        tables = [table.to_string() for table in self._tables()]
        return "\n".join([self._heading(), *tables, *self._sentences()])

    def _repr_html_(self) -> str:
        from html import escape

        sentences = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._sentences())
        tables = "".join(table.to_html() for table in self._tables())
        return f"<p>{escape(self._heading())}</p>{tables}{sentences}"

    def _tables(self) -> list[pd.DataFrame]:
        """Return the scores and, of stacks, the members, as text."""
        members = [members_as_text(self.members)] if len(self.members) else []
        return [_score_table(self.table), *members]

    def _heading(self) -> str:
        missing = f"{self.n_missing_cells:,} missing cells in {self.n_rows_with_missing:,} rows"
        return f"{self.folds} folds over {self.n_rows:,} rows, {missing}"

    def _sentences(self) -> list[str]:
        members = [MEMBERS_LEGEND + " Means over folds."] if len(self.members) else []
        return [LEGEND, *members, *self.notes, *merge_warnings(self.warnings)]


def _score_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return the scores of `Comparison.table` as text, each with its standard error."""
    scores = {
        head: [with_error(a, b) for a, b in zip(table[name], table[f"{name}_se"], strict=True)]
        for name, head in HEADS.items()
    }
    columns = {"log loss": scores.pop("log loss"), "vs first": _against_first(table), **scores}
    columns["fit + predict s"] = [
        f"{a:.2g} + {b:.2g}"
        for a, b in zip(table["fit_seconds"], table["predict_seconds"], strict=True)
    ]
    columns["ran"] = table["method"].to_list()
    if table["prepared_by"].any():
        columns["prepared by"] = table["prepared_by"].to_list()
    return pd.DataFrame(columns, index=table.index)


def members_as_text(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table of members as text, without numbers that are not there."""
    heads = {
        "leave_one_out_log_loss": ("log loss", "{:.3f}"),
        "log_evidence": ("evidence", "{:,.0f}"),
        "weight": ("linear", "{:z.2f}"),
        "log_linear_weight": ("log-lin.", "{:z.2f}"),
    }
    columns = {
        head: ["" if math.isnan(value) else form.format(value) for value in table[name]]
        for name, (head, form) in heads.items()
    }
    return pd.DataFrame(columns, index=table.index)


def _against_first(table: pd.DataFrame) -> list[str]:
    columns = [table[f"log_loss_{name}"] for name in ("difference", "lower", "upper")]
    return [_interval(*numbers) for numbers in zip(*columns, strict=True)]


def _interval(value: float, low: float, high: float) -> str:
    if math.isnan(value):
        return ""
    # a difference to or of an infinite loss has no spread
    return f"{value:+z.3f}" + ("" if math.isnan(low) else f" [{low:+z.3f}, {high:+z.3f}]")


def with_error(value: float, error: float) -> str:
    """Return "0.466±.013", or the value alone where there is no standard error."""
    text = "" if math.isnan(value) else f"{value:z.3f}"
    return text if math.isnan(error) else f"{text}±{error:.3f}".replace("±0.", "±.")
