"""Result of a comparison: score tables and the out-of-fold predictions behind them."""

import dataclasses
import functools
import os
import textwrap
from collections.abc import Hashable, Sequence
from html import escape

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Shaped

from bayesgen import arguments, calibrate, plots
from bayesgen.calibrate.thresholds import THRESHOLDS
from bayesgen.calls import checked_calls
from bayesgen.compare.as_text import (
    MEMBERS_LEGEND,
    SUBGROUPS_LEGEND,
    WIDTH,
    aligned,
    fits_in_words,
    legend,
    members_as_text,
    scores_as_text,
    subgroups_as_text,
)
from bayesgen.compare.subgroups import Subgroups
from bayesgen.errors import UnsupportedOperation
from bayesgen.errors.arguments import not_one_of, out_of_range
from bayesgen.errors.notes import Note, merged_by_name
from bayesgen.errors.wording import rows as in_rows
from bayesgen.plots.style import Axes, pyplot
from bayesgen.typing import Joint, Labels, Membership

Event = tuple[Bool[np.ndarray, " row"], Float[np.ndarray, " row"]]
"""True where a class is the true one of a row, and the probability it was given."""


@checked_calls
@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of several classifiers on the same folds.

    Attributes:
        table: pandas DataFrame, one row for each classifier in the order they were given. Columns:
            log_loss (nats, inf if a true class got probability 0), brier (0 to 2) and its parts
            miscalibration, discrimination and uncertainty (brier = miscalibration - discrimination
            + uncertainty), calibration_error (top label, 15 bins of equal width), accuracy,
            set_size (classes in 90 % prediction sets, see `calibrate.set_size`), each over all
            out-of-fold predictions; auc, the mean over folds of the area under the ROC
            curve (several classes: the mean of each against the rest; NaN where a fold lacks a
            class); each with its standard error over folds (log_loss_se, ...; NaN of inf);
            log_loss_difference, log_loss_lower, log_loss_upper: difference from the first
            classifier and its 95 % interval, see `differences`; where a classifier states class
            probabilities, log_loss_under_class_prior, the log loss under these in a population that
            has them (see `calibrate.log_loss_at`), NaN of the others; fit_seconds and
            predict_seconds (mean of one fold, with standard errors); method (`inference_` of the
            classifier, empty where it has none); prepared_by (the preprocessing steps before a
            classifier that does not accept missing values or levels; empty if there are none).
        differences: DataFrame indexed by (classifier, score): difference from the first classifier,
            standard_error, and lower and upper end of a 95 % interval (corrected resampled t of
            Nadeau and Bengio 2003: folds are paired, and their training rows overlap).
        curves: DataFrame indexed by (classifier, rows): the scores of `table` after fits to this
            number of rows of each fold; empty without train_sizes.
        members: DataFrame indexed by (classifier, member): the mean over folds of the stacks'
            `members_table()`. If a member was left out of a fold, its weights there are 0 and its
            other columns are ignored. Empty without stacks.
        classes: labels in the order of the columns of `probabilities`, shape (class,).
        n_rows: number of rows compared on.
        n_missing_cells: cells of X without a value.
        n_rows_with_missing: number of rows of X with at least one such cell.
        folds: number of folds that ran.
        notes: remarks about the comparison as a whole.
        warnings: for each classifier the distinct warnings of its fits and predictions, in order.
            When printed, warnings that differ only in columns, classes and numbers are merged.
        probabilities: for each classifier its out-of-fold probabilities, shape (row, class), the
            rows of the first fold first. Of a classifier that states class probabilities they are
            those under the class frequencies of the fitted rows, which the scored rows have.
        y: class codes of these rows, shape (row,), or probabilities of the classes where labels
            are soft: every score is then the expected one.
        rows: their positions in X, shape (row,).
        fold: the number of the fold that scored them, shape (row,).
        train_size: number of rows fitted in each fold, drawn from its training rows; None: all of
            them.
        few: the same classifiers after fits to fewer rows, printed before; None: not asked for.
        by: the level of a column in each of these rows; None: not asked for.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> classifiers = {"naive": bg.NaiveBayes(), "LDA": bg.LDA()}
        >>> found = bg.compare(classifiers, X, y, progress=False)
        >>> found.table["log_loss"].idxmin(), found.folds
        ('LDA', 5)
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
    noted: tuple[Note, ...]
    warned: dict[str, tuple[Note, ...]]
    probabilities: dict[str, Joint]
    y: Membership
    rows: Labels
    fold: Labels
    train_size: int | None = None
    few: "Comparison | None" = None
    by: Subgroups | None = None

    @functools.cached_property
    def subgroups(self) -> pd.DataFrame:
        """Scores of the rows of each level of the column `by`; empty without it.

        DataFrame indexed by (classifier, level), missing cells a level of their own. Columns: rows;
        log_loss, brier and accuracy with standard errors over these rows as if independent
        (log_loss_se, ...; NaN of one row, or inf); expected_accuracy, the mean probability of the
        most probable class; overconfidence, see `calibrate.overconfidence`.
        """
        return pd.DataFrame() if self.by is None else self.by.scores(self.y, self.probabilities)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks about the comparison as a whole."""
        return tuple(map(str, self.noted))

    @property
    def warnings(self) -> dict[str, tuple[str, ...]]:
        """For each classifier the distinct warnings of its fits and predictions, in order."""
        return {name: tuple(map(str, notes)) for name, notes in self.warned.items()}

    def reliability(
        self, name: str, *, prob: float = 0.9, resamples: int = 500, random_state: int = 0
    ) -> tuple[calibrate.ReliabilityCurve, ...]:
        """Return the reliability curves of a classifier's out-of-fold probabilities.

        One curve for each class against the rest (of two classes only the second), followed by one
        for the top label; see `calibrate.reliability`.

        Args:
            name: of the classifier.
            prob: level of the consistency bands.
            resamples: number of simulated sets of events behind a band.
            random_state: seed of the simulation.
        """
        return calibrate.reliability(
            self.classes[self._codes],
            self._probabilities_of(name),
            self.classes,
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
            thresholds: the class is called if its probability is at least the threshold.
            positive: the class to call; None: the second of two.

        Returns:
            See `calibrate.threshold_table`.
        """
        return calibrate.threshold_table(*self._event(name, positive), thresholds)

    def confusion(self, name: str, *, threshold: float | None = None) -> pd.DataFrame:
        """Return the confusion table: rows by true class and decided class.

        Args:
            name: of the classifier.
            threshold: None decides for the most probable class; a number, for two classes only, for
                the second if its probability is at least that.
        """
        proba = self._probabilities_of(name)
        labels = self.classes[self._codes]
        return calibrate.confusion(labels, proba, self.classes, threshold=threshold)

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
        """Draw ROC curves of a class, by default the last, for the named classifiers, or all."""
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
            raise out_of_range(
                "train_sizes",
                None,
                "numbers or shares of rows to fit",
                "Compare again: bg.compare(..., train_sizes=[0.2, 0.5, 1.0]).",
            )
        return plots.LearningCurveDisplay(self.curves, score).plot(ax=ax)

    def to_html(self, path: str | os.PathLike, *, title: str = "Comparison of classifiers") -> None:
        """Write the comparison as one self-contained HTML page.

        Scores, those of subgroups, differences from the first classifier, calibration, ROC curves
        of two classes, learning curves, members of stacks, notes and warnings.

        Args:
            path: of the file, which is replaced.
            title: of the page.

        Raises:
            MissingPackage: matplotlib is not installed.
            InvalidFile: no file can be written to the path.

        Example:
            >>> import tempfile, pathlib
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> found = bg.compare({"LDA": bg.LDA(), "QDA": bg.QDA()}, X, y)
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "iris.html"
            >>> found.to_html(path)
            >>> path.read_text(encoding="utf-8").count("<section>")
            3
        """
        from bayesgen.compare.html_page import write_page

        pyplot()  # refuse before anything is computed
        write_page(self, path, title)

    def _probabilities_of(self, name: str) -> Joint:
        if name not in self.probabilities:
            raise not_one_of("name", name, list(self.probabilities))
        return self.probabilities[name]

    def _event(self, name: str, positive: Hashable) -> Event:
        proba, classes = self._probabilities_of(name), self.classes.tolist()
        if positive is None and len(classes) == 2:
            positive = classes[1]
        if positive not in classes:
            raise not_one_of("positive", positive, classes)
        code = classes.index(positive)
        return self._codes == code, proba[:, code]

    @property
    def _codes(self) -> Labels:
        """The class codes.

        Raises:
            UnsupportedOperation: labels are probabilities.
        """
        if self.y.ndim == 2:
            raise UnsupportedOperation(
                "curves and tables of this kind need one class for each row, and y holds "
                "probabilities.",
                "Compare by y.idxmax(axis=1), or read the scores in .table.",
            )
        return self.y

    @property
    def heading(self) -> str:
        """Folds, rows and missing cells in words."""
        missing = "no missing cells"
        if count := self.n_missing_cells:
            cells = "1 missing cell" if count == 1 else f"{count:,} missing cells"
            missing = f"{cells} in {in_rows(self.n_rows_with_missing)}"
        fits = "" if self.train_size is None else f", {self.train_size:,} rows drawn for each fit"
        return f"{self.folds} folds over {self.n_rows:,} rows{fits}, {missing}"

    @property
    def text(self) -> str:
        """The tables as text, scores after fits to fewer rows first, with their legends."""
        tables = [f"{heading}\n\n{aligned(table)}" for heading, table in self._tables()]
        return "\n\n".join([*tables, *(textwrap.fill(words, WIDTH) for words in self._legends())])

    def __repr__(self) -> str:
        """Return the text and the notes."""
        notes = self._notes()
        return "\n\n".join([self.text, "\n".join(notes)] if notes else [self.text])

    def _repr_html_(self) -> str:
        tables = [f"<p>{escape(head)}</p>{table.to_html()}" for head, table in self._tables()]
        sentences = [*self._legends(), *self._notes()]
        return "".join([*tables, *(f"<p>{escape(sentence)}</p>" for sentence in sentences)])

    def _tables(self) -> list[tuple[str, pd.DataFrame]]:
        """Return headings and tables of scores and, of stacks, the members."""
        tables = [
            (comparison.heading, scores_as_text(comparison.table, comparison.folds))
            for comparison in (self.few, self)
            if comparison is not None
        ]
        if self.by is not None:
            tables.append((f"Scores by {self.by.name}", subgroups_as_text(self.subgroups)))
        if len(self.members):
            tables.append(("Members, means over folds", members_as_text(self.members)))
        return tables

    def _legends(self) -> list[str]:
        members = [MEMBERS_LEGEND] if len(self.members) else []
        subgroups = [] if self.by is None else [SUBGROUPS_LEGEND]
        words = [*filter(None, [fits_in_words(self.table)]), legend(self.table)]
        return [*words, *subgroups, *members]

    def _notes(self) -> list[str]:
        return [*self.notes, *map(str, merged_by_name(self.warned))]
