"""Prediction sets: new rows, as ones of each class, ranked among the rows of the fit."""

import dataclasses
import functools
from collections.abc import Hashable

import numpy as np
from jaxtyping import Bool

from bayesgen import arguments, predict
from bayesgen.classes import stated_prior
from bayesgen.errors import (
    BayesgenWarning,
    Cure,
    InvalidArgument,
    LowSampleSize,
    UnsupportedOperation,
    deduplicate_warnings,
    warn,
)
from bayesgen.errors.arguments import not_one_of
from bayesgen.errors.operations import unsupported
from bayesgen.estimators.estimator import Estimator
from bayesgen.estimators.judged_rows import JudgedRows, judged_rows
from bayesgen.estimators.training import TrainingState, check_rows_of_fit
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.estimators.updates.forgetting import require_among
from bayesgen.inference import log_class_probabilities
from bayesgen.inference.components import take_rows
from bayesgen.inference.conformal import (
    AugmentedFit,
    Groups,
    fewest_rows,
    in_set,
    left_out_p_values,
    odds,
)
from bayesgen.likelihoods.base import is_missing
from bayesgen.prevalence import LeftOutRows
from bayesgen.table import SPARSE, Table, read_table
from bayesgen.typing import Encoded, Joint, Labels, Weights

MOST_NUMBERS = 20
"""Distinct numbers of a column within whose values rows are compared."""

GAPS = "expected missing cells of joint blocks"
"""What is not made again where a new row misses a cell of such a block."""

Sets = Bool[np.ndarray, "row class"]


@dataclasses.dataclass(frozen=True, eq=False)
class RowsOfFit:
    """Rows of a fit among which new rows are ranked; see `Classifier.predict_set`.

    classifier: fitted. X, y, sample_weight: the rows as they were passed to it; None: those that it
    kept. coverage: of the sets. by: None, "class" or the name of a column.
    """

    classifier: Estimator
    X: object = None
    y: object = None
    sample_weight: object = None
    coverage: float = 0.9
    by: Hashable = None

    def sets(self, X: object, method: str) -> tuple[Sets, str]:
        """Return the prediction sets of new rows, and the method that ran.

        method: "auto", "full" or "left_out". Raises: see `Classifier.predict_set`.
        """
        coverage, clf = arguments.share("coverage", self.coverage), self.classifier
        self.require(method)
        table, encoded = clf._read_encoded(X)
        obstacle = self._obstacle
        gaps = np.ones(table.n_rows, dtype=bool) if obstacle else self._gaps(encoded, table)
        if method == "full" and gaps.any():
            raise UnsupportedOperation(
                "predict_set(method='full') adds new rows to those of the fit, but would leave "
                "{obstacle} as they are.",
                "Pass method='left_out'.",
                obstacle=obstacle or GAPS,
            )
        every = method == "full" or (method == "auto" and not obstacle and self._fit.cheap)
        full = np.flatnonzero(~gaps) if every else np.empty(0, dtype=int)
        rest = np.setdiff1d(np.arange(table.n_rows), full)
        found = np.empty((table.n_rows, len(clf.classes_)))
        with deduplicate_warnings():
            if len(full):
                groups = self._groups(X, self._fit.rows.y, self._fit.rows.weight, table, full)
                found[full] = self._full(table.only(full), take_rows(encoded, full), groups)
            if len(rest):
                found[rest] = self._ranked(X, table, encoded, rest)
        ran = "mixed" if len(full) and len(rest) else "left_out" if len(rest) else "full"
        return in_set(found, coverage), ran

    def require(self, method: str) -> None:
        """Refuse a classifier that has no sets, before any new row is read.

        method: as in `sets`. Raises: see `Classifier.predict_set`.
        """
        arguments.one_of("method", method, ["auto", "full", "left_out"])
        components = self.classifier._fitted_posterior().components
        if not self._stacked and not (self._draws and method != "full"):
            components.require_leave_one_out("predict_set", "Pass inference='nuts'")
        passed = {"X_fit": self.X, "y_fit": self.y, "weight_fit": self.sample_weight}
        absent = [name for name in ("X_fit", "y_fit") if passed[name] is None]
        if absent and any(value is not None for value in passed.values()):
            raise InvalidArgument(
                "the rows of the fit are passed without {absent:joined}.",
                "Pass both, X_fit=X, y_fit=y, or none of them where the classifier keeps its rows.",
                absent=absent,
            )
        if not self._stacked or self.by not in (None, "class"):
            self._passed  # noqa: B018, raises where it keeps none

    @property
    def _draws(self) -> bool:
        return self.classifier._fitted_posterior().components.reweighable and not self._stacked

    @property
    def _stacked(self) -> bool:
        return self.classifier._left_out is not None

    # -- the rows of the fit -----------------------------------------------------------------------

    @functools.cached_property
    def _passed(self) -> tuple[object, object, object]:
        """The rows of the fit, their labels and weights, as they were passed."""
        if self.X is None or self.y is None:
            cure = Cure(
                "Pass them: predict_set(X_new, X_fit=X, y_fit=y).",
                "Fit a stack, whose file has what sets need: --model stacked.",
            )
            return self.classifier._rows_of_fit("predict_set", cure)
        return self.X, self.y, self.sample_weight

    @functools.cached_property
    def _rows(self) -> TrainingRows:
        """The rows of the fit that have a label, read; those of a stack in its order."""
        clf, (X, y, weight) = self.classifier, self._passed
        with deduplicate_warnings(BayesgenWarning):  # of which the fit has warned
            rows = clf._training_rows(X, y, weight, reset=False)
        rows = (rows.by_content() if self._stacked else rows).labelled
        if rows.shares is not None and self._stacked:
            raise unsupported(
                f"predict_set(by={self.by!r}) of soft labels",
                "left-out rows count in several classes, and are not matched with cells",
                "Pass by=None or by='class', or fit to the most probable classes, "
                "y.idxmax(axis=1).",
            )
        if rows.shares is not None:
            raise unsupported(
                "predict_set of soft labels",
                "rows are ranked by the log-odds of one class each",
                "Fit to the most probable classes, y.idxmax(axis=1), or pass a stack, whose "
                "left-out rows count in each class by their share.",
            )
        codes, count = rows.codes_among(clf.classes_), clf._fitted().state.statistics.count
        check_rows_of_fit(clf.classes_, count, codes, rows.weight)
        if self.X is not None and not self._stacked and not clf._learned_from(clf._training):
            require_among(clf.state_, rows)
        return rows

    # -- left out of the fit -----------------------------------------------------------------------

    def _ranked(self, X: object, table: Table, encoded: Encoded, rows: np.ndarray) -> Joint:
        """Return the p-values of some of the new rows among left-out rows of the fit."""
        log_proba, left_out = self._log_proba(take_rows(encoded, rows), len(rows)), self._left_out
        groups = self._groups(X, left_out.codes, left_out.weight, table, rows)
        scores = odds(left_out.log_proba, left_out.codes)
        return left_out_p_values(scores, left_out.weight, log_proba, groups)

    @functools.cached_property
    def _left_out(self) -> LeftOutRows:
        """Predictions of rows of the fit, each from the others."""
        clf, fitted = self.classifier, self.classifier._fitted()
        if clf._left_out is not None:
            log_proba = self._under_class_prior(clf._left_out.log_proba)
            return dataclasses.replace(clf._left_out, log_proba=log_proba)
        posterior, rows = fitted.posterior, fitted.state.labelled((self._rows,), clf.unseen)
        if posterior.components.reweighable:
            joint = fitted.left_out(rows.encoded, rows.y, rows.weight).joint
            log_proba = log_class_probabilities(joint, posterior.log_classes())
            return LeftOutRows(log_proba, rows.y, rows.weight)
        scores = fitted.leave_one_out(rows.judging(self._judged.rows))
        y = rows.y[self._judged.rows]
        return LeftOutRows(posterior.log_proba(scores), y, self._judged.weight)

    @functools.cached_property
    def _judged(self) -> JudgedRows:
        """The rows that are left out: all, or a sample of many."""
        width = sum(not column.is_missing for column in self._rows.table.columns)
        return judged_rows((self._rows,), self.classifier.classes_, width)

    def _log_proba(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log P(y = k given x) of new rows, up to a constant of the row."""
        posterior = self.classifier._fitted_posterior()
        if self._stacked:
            posterior = posterior.with_classes(stated_prior("uniform", self.classifier.classes_))
        joint = predict.joint_and_prior(posterior, encoded, n_rows)
        return self._under_class_prior(log_class_probabilities(*joint))

    def _under_class_prior(self, log_proba: Joint) -> Joint:
        """Return log probabilities under the class prior: those of a stack are under even ones."""
        if not self._stacked:
            return log_proba
        return log_proba + self.classifier._fitted_posterior().log_classes()

    # -- added to the fit --------------------------------------------------------------------------

    @functools.cached_property
    def _obstacle(self) -> str:
        """What is not made again when a row is added to the fit; "": nothing."""
        clf = self.classifier
        if self._stacked:
            return "the weights of a stack"
        if self._draws:
            return "draws"
        learned = clf._learned_from(clf._training)
        if clf.missing == "informative":  # columns with a missing cell have an indicator
            learned["missing"] = clf.missing
        obstacles = {
            "the columns of texts, sparse rows or indicators": (
                clf.state_.schema.container in SPARSE or clf._derived_columns()
            ),
            "the labels of unlabeled rows": clf.state_.unlabelled is not None,
            "what groups have in common": bool(clf.state_.statistics.groups),
            **{f"the results of {name}={value!r}": True for name, value in learned.items()},
        }
        found = [words for words, is_so in obstacles.items() if is_so]
        if not found and not self._fit.exact:
            found = ["kernels, constant columns or missing cells of joint blocks"]
        return found[0] if found else ""

    def _gaps(self, encoded: Encoded, table: Table) -> Bool[np.ndarray, " row"]:
        """Return the new rows that miss a cell of a joint block, which would be expected."""
        likelihoods = self.classifier.state_.likelihoods
        joint = [encoded[name] for name, part in likelihoods.items() if part.joint]
        missing = [is_missing(x).any(axis=1) for x in joint]
        return np.logical_or.reduce([np.zeros(table.n_rows, dtype=bool), *missing])

    @functools.cached_property
    def _fit(self) -> AugmentedFit:
        """The fit to which new rows are added."""
        return self._fit_under(self.classifier.state_)

    def _fit_under(self, state: TrainingState) -> AugmentedFit:
        """Return the fit in a state of its rows that may know more levels."""
        clf, schema = self.classifier, state.schema
        return AugmentedFit(
            state.problem(clf.class_prior),
            state.labelled((self._rows,), clf.unseen),
            {block: schema.n_levels(block) for block in schema.blocks},
            clf._fitted_posterior().log_proba,
        )

    def _full(self, table: Table, encoded: Encoded, groups: Groups) -> Joint:
        """Return the p-values of full conformal prediction.

        The levels of a column are those of the fit and of the new row.
        """
        state = self.classifier.state_
        schema, new = state.schema.merge(table), range(table.n_rows)
        if all(schema.n_levels(name) == state.schema.n_levels(name) for name in schema.blocks):
            return self._fit.p_values(encoded, groups)
        if len(new) > 1:  # an answer does not depend on the levels of other new rows
            rows = [np.array([i]) for i in new]
            return np.concatenate(
                [self._full(table.only(i), take_rows(encoded, i), groups.of_new(i)) for i in rows]
            )
        try:
            fit = self._fit_under(state.under(schema, state.classes))
        except InvalidArgument:  # a prior is stated for the levels of the fit
            return self._fit.p_values(encoded, groups)
        return fit.p_values(schema.encode(table), groups)

    # -- groups ------------------------------------------------------------------------------------

    def _groups(
        self, X: object, codes: Labels, weight: Weights, table: Table, rows: np.ndarray
    ) -> Groups:
        """Return the groups of rows, and warn of those that are too small.

        Args:
            X: new rows.
            codes: classes of rows of the fit.
            weight: of these rows.
            table: read from X.
            rows: positions of the new rows that are compared.
        """
        classes, names = self.classifier.classes_.tolist(), ["the fit"]
        fitted, new = np.zeros_like(codes), np.zeros((table.n_rows, len(classes)), dtype=int)
        if self.by == "class":
            fitted, new = codes, new + np.arange(len(classes))
            names = [f"class {label!r}" for label in classes]
        elif self.by is not None:
            cells, new_cells = self._cells(self._passed[0]), self._cells(X)
            positions = self._rows.positions()
            if len(codes) < len(positions):
                positions = positions[self._judged.rows]
            code = {cell: i for i, cell in enumerate(dict.fromkeys([*cells, *new_cells]))}
            fitted = np.array([code[cells[i]] for i in positions.tolist()])
            new = new + np.array([code[cell] for cell in new_cells])[:, None]
            names = [f"{self.by} = {cell!r}" for cell in code]
        new = new[rows]
        present, fewest = np.unique(new), fewest_rows(self.coverage)
        small = present[np.bincount(fitted, weight, minlength=len(names))[present] < fewest]
        if len(small):
            warn(
                LowSampleSize(
                    "a class is left out of a set only by comparison with at least {fewest:rows} "
                    "(coverage={coverage!r}), and there are fewer in {groups:joined}.",
                    "Fit to more rows, or ask for a lower coverage=."
                    if self.by is None
                    else "Pass by=None, or fit to more rows.",
                    fewest=fewest,
                    coverage=self.coverage,
                    groups=[names[group] for group in small.tolist()],
                )
            )
        return Groups(fitted, new)

    def _cells(self, X: object) -> list[Hashable]:
        """Return the cells of the column within whose values rows are compared; None: missing."""
        table = read_table(X, only=[self.by])
        column = next((column for column in table.columns if column.name == self.by), None)
        if column is None:
            raise not_one_of("by", self.by, [None, "class", *table.names])
        values = np.unique(column.values[~column.missing])
        if column.kind == "number" and len(values) > MOST_NUMBERS:
            raise InvalidArgument(
                "by is {by!r}, a column of {count:,} different numbers; at most {most} are "
                "allowed.",
                "Pass by=None, or a column of levels.",
                by=self.by,
                count=len(values),
                most=MOST_NUMBERS,
            )
        cells = [column.levels[int(value)] if column.levels else value.item() for value in values]
        place = np.where(column.missing, -1, np.searchsorted(values, column.values))
        return [*np.array([*cells, None], dtype=object)[place]]
