"""Prediction sets: new rows, as ones of each class, ranked among the rows of the fit."""

import contextlib
import dataclasses
import functools
from collections.abc import Hashable

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen import arguments
from bayesgen.classes import even_classes, states_frequencies
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    InvalidArgument,
    LowSampleSize,
    UnsupportedOperation,
    Words,
    deduplicate_warnings,
    warn,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.estimators.judged_rows import JudgedRows, every_row, judged_rows, labelled_rows
from bayesgen.estimators.rows_of_fit import RowsOfFit
from bayesgen.estimators.state import TrainingState
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates.forgetting import require_among
from bayesgen.inference import conformal
from bayesgen.inference.conformal import AugmentedFit, Groups, in_set
from bayesgen.likelihoods.base import is_missing
from bayesgen.membership import Entries
from bayesgen.predict import ReadRows
from bayesgen.schema import Schema
from bayesgen.table import SPARSE, read_table, row_keys
from bayesgen.typing import Encoded, Joint, Labels, LevelCounts, Weights

MOST_NUMBERS = 20
"""Distinct numbers of a column within whose values rows are compared."""
Positions = Int[np.ndarray, " some"]
Sets = Bool[np.ndarray, "row class"]


@dataclasses.dataclass(frozen=True, eq=False)
class PredictionSets:
    """Prediction sets of a fitted classifier; see `Classifier.predict_set`.

    fit: its model and rows. X, y, sample_weight: the rows as they were passed to it; None: those
    that it kept. coverage, by, method: as there.
    """

    fit: RowsOfFit
    X: object = None
    y: object = None
    sample_weight: object = None
    coverage: float = 0.9
    by: Hashable = None
    method: str = "auto"

    def of(self, X: object) -> tuple[Sets, str]:
        """Return the sets of new rows, and the method that ran."""
        coverage = arguments.share("coverage", self.coverage)
        self.require()
        if self._stacked and self.X is not None:
            self._places  # noqa: B018, raises where these are others
        rows = self.fit.rows(X)
        is_full = self._is_full(X, rows.encoded)
        with deduplicate_warnings():
            found = (self._full if is_full else self._left_out)(X, rows.encoded, rows.n_rows)
        return in_set(found, coverage), "full" if is_full else "left_out"

    def require(self) -> None:
        """Refuse a classifier that has no sets, before any new row is read."""
        arguments.one_of("method", self.method, ["auto", "full", "left_out"])
        if not isinstance(self.by, Hashable):
            raise InvalidArgument(
                "by is of type {kind}; rows are compared within the values of a column of X, which "
                "the fit had too.",
                "Pass the name of the column.",
                kind=Words(type(self.by).__name__),
            )
        if self._draws and self.method == "full":
            raise _left_as_they_are("draws")
        if not self._stacked and not self._draws:
            self.fit.fitted.require_left_out("predict_set", "Pass inference='nuts'")
        passed = {"X_fit": self.X, "y_fit": self.y}
        absent = [name for name, part in passed.items() if part is None]
        if len(absent) == 1 or (absent and self.sample_weight is not None):
            raise InvalidArgument(
                "the rows of the fit are passed without {absent:joined}.",
                "Pass both, X_fit=X, y_fit=y, or none of them where the classifier keeps its rows.",
                absent=absent,
            )
        if not self._stacked or self.by not in (None, "class"):
            self._passed  # noqa: B018, raises where it keeps none

    @property
    def _state(self) -> TrainingState:
        return self.fit.fitted.state

    @property
    def _stacked(self) -> bool:
        return self.fit.fitted.left_out is not None

    @property
    def _draws(self) -> bool:
        return self.fit.fitted.posterior.components.reweighable and not self._stacked

    # -- the rows of the fit -----------------------------------------------------------------------

    @functools.cached_property
    def _passed(self) -> tuple[object, object, object]:
        """The rows of the fit, their labels and weights, as they were passed."""
        if self.X is not None:
            return self.X, self.y, self.sample_weight
        cure = Cure(
            "Pass them: predict_set(X_new, X_fit=X, y_fit=y).",
            "Fit a stack, whose file has what sets need: --model stacked.",
        )
        return self.fit.kept("predict_set", cure)

    @functools.cached_property
    def _rows(self) -> TrainingRows:
        """The rows of the fit that have a label, read."""
        rows = self.fit.labelled(*self._passed)
        if self.X is not None and not self._stacked:
            require_among(self._state, rows)
        return rows

    @functools.cached_property
    def _times(self) -> Float[np.ndarray, " class"]:
        """How often a row of each class counts: p_k / f_k, where p states other frequencies.

        A class without rows in the fit counts as if it had one.
        """
        fitted, count = self.fit.fitted, self._state.statistics.count
        if not states_frequencies(fitted.class_prior):
            return np.ones(len(count))
        stated = np.exp(fitted.posterior.log_classes())
        return stated * count.sum() / np.where(count > 0, count, 1.0)

    @functools.cached_property
    def _places(self) -> Positions:
        """Where each row that a stack left out stands among those of the fit, found by content."""
        keys, kept = row_keys(self._rows.table)[1], self.fit.fitted.left_out
        left_out = None if kept is None else kept.keys
        if left_out is None or not np.isin(left_out, keys).all():
            raise UnsupportedOperation(
                "these rows cannot have been in the fit: the stack kept what it predicts of each "
                "row, and rows that it predicted are not among them.",
                "Pass the rows and columns of the fit as they were.",
            )
        order = np.argsort(keys)
        return order[np.searchsorted(keys[order], left_out)]

    @functools.cached_property
    def _judged(self) -> JudgedRows:
        """The rows that are left out: all, or a sample of many."""
        if self._draws:
            return every_row((self._rows,), self._state.classes)
        width = sum(not column.is_missing for column in self._rows.table.columns)
        return judged_rows((self._rows,), self._state.classes, width)

    def _left_out(self, X: object, encoded: Encoded, n_rows: int) -> Joint:
        """Return the p-values of new rows among left-out rows of the fit."""
        posterior, left_out, prior = self.fit.fitted.posterior, self.fit.fitted.left_out, 0.0
        if left_out is not None:  # under even class probabilities
            prior, even = posterior.log_classes(), even_classes(len(self._state.classes))
            posterior = posterior.with_classes(even)
        else:
            rows = labelled_rows(self._state, (self._rows,), self.fit.fitted.unseen, self._judged)
            left_out = self.fit.fitted.left_out_rows(rows, self._judged.weight)
        rows_new = ReadRows(posterior, encoded, n_rows)
        codes, weight = left_out.codes, left_out.weight
        groups = self._groups(X, n_rows, codes, weight, left_out=True)
        scores = conformal.odds(left_out.log_proba + prior, codes)
        log_proba = rows_new.log_proba() + prior
        weight = weight * self._times[codes]
        return conformal.left_out_p_values(scores, weight, log_proba, groups, self._times)

    # -- new rows added to the fit -----------------------------------------------------------------

    def _is_full(self, X: object, encoded: Encoded) -> bool:
        """Return whether new rows are added to the fit; else they are ranked among left-out rows.

        "auto" asks the fit alone, so that a set depends on no other new row: rows may miss a cell
        of a joint block, or have a new level there, and then cannot be added.
        """
        joint = [name for name, part in self._state.likelihoods.items() if part.joint]
        if self.method == "left_out" or (self.method == "auto" and joint):
            return False
        if self.method == "auto":
            return not self._obstacle and self._fit.cheap
        if self._obstacle:
            raise _left_as_they_are(self._obstacle)
        for name in joint:
            if len(rows := np.flatnonzero(is_missing(encoded[name]).any(axis=1))):
                raise _left_as_they_are(self._obstacle_of(X, rows))
        return True

    @property
    def _obstacle(self) -> str:
        """What is not made again when a row is added to the fit; "": nothing."""
        state = self._state
        obstacles = {
            "the weights of a stack": self._stacked,
            "draws": self._draws,
            "the columns of texts or sparse rows": state.schema.container in SPARSE,
            "the labels of unlabeled rows": state.unlabelled is not None,
            "what groups have in common": state.statistics.groups,
            **{f"the results of {name}={value!r}": 1 for name, value in self.fit.learned.items()},
        }
        if found := [words for words, is_so in obstacles.items() if is_so]:
            return found[0]
        if self._rows.shares is not None:
            return "the shares of soft labels"
        return (
            "" if self._fit.exact else "kernels, constant columns or missing cells of joint blocks"
        )

    def _obstacle_of(self, X: object, rows: Positions) -> str:
        """What is not made again when new rows with cells that joint blocks miss are added."""
        with deduplicate_warnings(BayesgenWarning):  # of which encoding has warned
            later = self._state.schema.merge(self.fit.read(X).only(rows))
        grown = _n_levels(later) != _n_levels(self._state.schema)
        return "the levels of joint blocks" if grown else "expected missing cells of joint blocks"

    @functools.cached_property
    def _fit(self) -> AugmentedFit:
        """The fit to which new rows are added."""
        return self._fit_under(self._state)

    def _fit_under(self, state: TrainingState) -> AugmentedFit:
        """Return the fit in a state of its rows that may know more levels."""
        fitted, rows = self.fit.fitted, labelled_rows(state, (self._rows,), self.fit.fitted.unseen)
        problem, n_levels = state.problem(fitted.class_prior), _n_levels(state.schema)
        weight = rows.weight * self._rows.copies.counting
        log_proba = fitted.posterior.log_proba
        return AugmentedFit(problem, rows, weight, n_levels, log_proba, self._times)

    def _full(self, X: object, encoded: Encoded, n_rows: int) -> Joint:
        """Return the p-values of new rows, by full conformal prediction.

        The levels of a column are those of the fit and of the new row.
        """
        state, fit = self._state, self._fit
        with deduplicate_warnings(BayesgenWarning):  # of which encoding has warned
            table = self.fit.read(X)
        groups = self._groups(X, n_rows, fit.rows.y, fit.weight)
        p_values = fit.p_values(encoded, groups)
        if _n_levels(state.schema.merge(table)) == fit.n_levels:
            return p_values
        fits: dict[tuple, AugmentedFit] = {}  # which columns have a new level, whatever its name
        for i in np.arange(n_rows)[:, None]:  # whatever the levels of other new rows
            schema = state.schema.merge(table.only(i))
            sizes = _n_levels(schema)
            if sizes == fit.n_levels:
                continue
            # a prior may be stated for the levels of the fit
            with contextlib.suppress(InvalidArgument):
                if (key := tuple(sizes.items())) not in fits:
                    fits[key] = self._fit_under(state.under(schema, state.classes))
                of_row = Groups(groups.fitted, groups.new[i])
                p_values[i] = fits[key].p_values(schema.encode(table.only(i)), of_row)
        return p_values

    # -- groups ------------------------------------------------------------------------------------

    def _groups(
        self, X: object, n_rows: int, y: Labels, weight: Weights, *, left_out: bool = False
    ) -> Groups:
        """Return the groups of rows, and warn of those that are too small.

        Args:
            X: new rows.
            n_rows: their number.
            y: classes of the rows of the fit.
            weight: of these.
            left_out: whether these are the rows that are left out, in each of their classes.
        """
        labels, fewest = self._state.classes.tolist(), conformal.fewest_rows(self.coverage)
        fitted, candidate, names = np.zeros_like(y), np.zeros(1, dtype=int), ["the fit"]
        if self.by == "class":
            fitted, candidate = y, np.arange(len(labels))
            names = [f"class {label!r}" for label in labels]
        elif self.by is not None:
            cells, new_cells = self._cells_of_fit(left_out=left_out), self._cells(X)
            code = {cell: i for i, cell in enumerate(dict.fromkeys([*cells, *new_cells]))}
            fitted = np.array([code[cell] for cell in cells])
            candidate = np.array([code[cell] for cell in new_cells])[:, None]
            names = [f"{self.by} = {cell!r}" for cell in code]
        candidate = np.broadcast_to(candidate, (n_rows, len(labels)))
        counted = np.bincount(fitted, weight * self._times[y], minlength=len(names))
        small = counted[candidate] < fewest * self._times * (1 - conformal.ROUNDING)
        if small.any():
            warn(
                LowSampleSize(
                    "a class is left out of a set only by comparison with at least {fewest:rows} "
                    "(coverage={coverage!r}), and there are fewer in {groups:joined}.",
                    "Fit to more rows, or ask for a lower coverage=."
                    if self.by is None
                    else "Pass by=None, or fit to more rows.",
                    fewest=fewest,
                    coverage=self.coverage,
                    groups=[names[i] for i in np.unique(candidate[small]).tolist()],
                )
            )
        return Groups(fitted, candidate)

    def _cells_of_fit(self, *, left_out: bool) -> list[Hashable]:
        """Return the cells of rows of the fit: all, or those left out in each of their classes."""
        cells = self._cells(self._passed[0])
        if self._stacked:  # which keeps a row once in each of its classes
            return [cells[i] for i in self._rows.positions()[self._places].tolist()]
        judged = self._judged.rows if left_out else slice(None)
        y = self._rows.membership(self._state.classes)[judged]
        row = Entries.of(y, np.ones(len(y))).row
        return [cells[i] for i in self._rows.positions()[judged][row].tolist()]

    def _cells(self, X: object) -> list[Hashable]:
        """Return the cells of the column within whose values rows are compared; None: missing."""
        table = read_table(X, only=[self.by])
        column = next((column for column in table.columns if column.name == self.by), None)
        if column is None:
            raise not_one_of("by", self.by, [None, "class", *table.names])
        values = column.values
        if column.levels:
            values = np.array([*column.levels, None], dtype=object)[values]
        cells = [None if gap else x for x, gap in zip(values.tolist(), column.missing, strict=True)]
        if not column.levels and (count := len({*cells} - {None})) > MOST_NUMBERS:
            raise InvalidArgument(
                "by is {by!r}, a column of {count:,} different numbers; at most {most} are "
                "allowed.",
                "Pass by=None, or a column of levels.",
                by=self.by,
                count=count,
                most=MOST_NUMBERS,
            )
        return cells


def _left_as_they_are(obstacle: str) -> UnsupportedOperation:
    """Return the error about what is not made again when a row is added to the fit."""
    return UnsupportedOperation(
        "predict_set(method='full') adds new rows to those of the fit, but would leave "
        "{obstacle} as they are.",
        "Pass method='left_out'.",
        obstacle=obstacle,
    )


def _n_levels(schema: Schema) -> dict[str, LevelCounts]:
    """Return the number of levels of each column of each block."""
    return {block: schema.n_levels(block) for block in schema.blocks}
