"""What a comparison returns: a table of scores, and the predictions they were computed from."""

import dataclasses

import numpy as np
import pandas as pd
from jaxtyping import Shaped

from bayesgen.typing import Joint, Labels


@dataclasses.dataclass(frozen=True, eq=False)
class Comparison:
    """Scores of several classifiers on the same folds.

    Attributes:
        table: pandas DataFrame, one row for each classifier in the order they were given. Columns:
            log_loss (nats, inf if a true class got probability 0), brier (0 to 2),
            calibration_error (top label, 15 bins of equal width), accuracy, each over all
            out-of-fold predictions and each with its standard error over folds (log_loss_se, ...);
            fit_seconds and predict_seconds (mean of one fold); method (what the classifier says in
            `inference_`, empty if it says nothing).
        classes: labels in the order of the columns of `probabilities`, shape (class,).
        n_rows: rows compared on.
        n_missing_cells: cells of X without a value.
        n_rows_with_missing: rows of X with at least one such cell.
        folds: number of folds that ran.
        notes: sentences about the comparison as a whole.
        warnings: for each classifier the distinct warnings of its fits and predictions, in order.
        probabilities: for each classifier its out-of-fold probabilities, shape (row, class), the
            rows of the first fold first.
        y: class codes of these rows, shape (row,).
        rows: their positions in X, shape (row,).
        fold: the number of the fold that scored them, shape (row,).
    """

    table: pd.DataFrame
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

    def __repr__(self) -> str:
        """Return the table and what stands above and below it."""
        sentences = [*self.notes, *self._told()]
        return "\n".join([self._heading(), self.table.round(4).to_string(), *sentences])

    def _repr_html_(self) -> str:
        from html import escape

        sentences = "".join(f"<p>{escape(s)}</p>" for s in (*self.notes, *self._told()))
        return f"<p>{escape(self._heading())}</p>{self.table.round(4).to_html()}{sentences}"

    def _heading(self) -> str:
        holes = f"{self.n_missing_cells:,} missing cells in {self.n_rows_with_missing:,} rows"
        return f"{self.folds} folds over {self.n_rows:,} rows, {holes}"

    def _told(self) -> list[str]:
        return [f"{name}: {text}" for name, texts in self.warnings.items() for text in texts]
