"""The subject of a report: a fitted classifier, rows, and predictions of them out of fold."""

import dataclasses
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from bayesgen import decide
from bayesgen.compare import Comparison, compare
from bayesgen.decide import Losses
from bayesgen.errors import InvalidData
from bayesgen.errors.wording import listed
from bayesgen.table import Table, TableColumn, read_marked_target, read_table
from bayesgen.typing import Joint, Labels

Fitted = Any
"""A fitted classifier of this library."""
Loss = decide.Loss

REJECT = 0.2
"""Cost of leaving a row undecided where none is stated, as a share of the largest cost."""
LOGISTIC = "logistic regression"
FREQUENCIES = "class frequencies"
NAMES = {
    "NaiveBayes": "naive Bayes",
    "LDA": "linear discriminant analysis",
    "QDA": "quadratic discriminant analysis",
    "JointTable": "joint table of all levels",
    "BagOfWords": "bag of words",
    "StackedClassifier": "stack of model structures",
    "GenerativeClassifier": "generative classifier",
}
"""Classifiers in words."""


@dataclasses.dataclass(frozen=True, eq=False)
class Subject:
    """Subject of a report: classifier, rows and out-of-fold predictions.

    clf: the classifier, fitted to all rows. name: in words.
    X, table: the rows, and the same read. labels: one for each row, None where there is none.
    comparison: with logistic regression and the class frequencies on the same folds.
    at: positions of the scored rows in X, rising. proba: their probabilities out of fold, shape
    (row, class). codes: their true classes.
    rule, reject: costs of decisions, and of leaving a row undecided. cv, seed: of the folds.
    notes: to be printed. leading: names of columns, those that drive the decision most first.
    """

    clf: Fitted
    name: str
    X: object
    table: Table
    labels: np.ndarray
    comparison: Comparison
    at: Labels
    proba: Joint
    codes: Labels
    loss: Loss
    rule: Losses
    reject: float
    cv: int
    seed: int
    notes: tuple[str, ...] = ()
    leading: tuple[str, ...] = ()

    @property
    def classes(self) -> list:
        """The labels, sorted."""
        return self.comparison.classes.tolist()

    @property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table."""
        return tuple(self.table.columns)

    @property
    def right(self) -> np.ndarray:
        """Which scored rows are predicted right, shape (row,)."""
        return self.proba.argmax(axis=1) == self.codes


def take(X: Any, rows: Labels) -> Any:
    """Return some rows of a dataframe or an array, in the container they came in."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return frame[rows].to_native()
    return np.asarray(X)[rows]


def named(clf: Fitted) -> str:
    """Return the name of a classifier in words."""
    if getattr(clf, "story", None) is not None:
        return "program of the user"
    return NAMES.get(type(clf).__name__, type(clf).__name__)


def _require_classes(clf: Fitted, y: object) -> None:
    found, fitted = set(read_marked_target(y).labels.tolist()), set(clf.classes_.tolist())
    if found - fitted:
        raise InvalidData(
            f"y holds {listed(sorted(found - fitted))}, and the classifier was fitted to "
            f"{listed(sorted(fitted))}; a report needs the same classes. Fit it to these rows: "
            "clf.fit(X, y)."
        )
    if fitted - found:
        raise InvalidData(
            f"no row of y has the class {listed(sorted(fitted - found))}, which the classifier was "
            "fitted to; a report needs rows of every class. Pass the rows of the fit."
        )


def unfitted(clf: Fitted) -> Fitted:
    """Return a classifier with the same arguments, not fitted, that shows no progress."""
    options = clf.get_params(deep=False)
    quiet = {"progress": False} if "progress" in options else {}
    return type(clf)(**options | quiet)


def judged(
    clf: Fitted,
    X: object,
    y: object,
    loss: Loss,
    reject: float | None,
    cv: int,
    seed: int,
    notes: tuple[str, ...],
) -> Subject:
    """Return the subject of a report: clones of the classifier predict rows left out of their fit.

    Raises:
        BayesgenError: rows or labels that cannot be compared on, or invalid costs.
    """
    # imports scikit-learn's pipelines, which would slow down every import
    from bayesgen.compare.preprocessing import class_frequencies, logistic_regression

    _require_classes(clf, y)
    rule = decide.rule(loss, clf.classes_)
    if reject is None:
        reject = max(REJECT * float(rule.cost.max()), float(rule.cost.min()))
    decide.rule(loss, clf.classes_, reject)  # refuses a cost that never leaves a row undecided
    table, name = read_table(X), named(clf)
    options = clf.get_params(deep=False)
    quiet = {"progress": False} if "progress" in options else {}
    rivals = {
        name: type(clf)(**options | quiet),
        LOGISTIC: logistic_regression(),
        FREQUENCIES: class_frequencies(),
    }
    comparison = compare(rivals, X, y, cv=cv, random_state=seed)
    order = np.argsort(comparison.rows, kind="stable")
    labels = np.full(table.n_rows, None)
    labels[comparison.rows] = comparison.classes[comparison.y]
    return Subject(
        clf=clf,
        name=name,
        X=X,
        table=table,
        labels=labels,
        comparison=comparison,
        at=comparison.rows[order],
        proba=comparison.probabilities[name][order],
        codes=comparison.y[order],
        loss=loss,
        rule=rule,
        reject=reject,
        cv=cv,
        seed=seed,
        notes=notes,
    )
