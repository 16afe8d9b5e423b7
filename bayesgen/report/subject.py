"""The subject of a report: a fitted classifier, rows, and predictions of them out of fold."""

import dataclasses
import functools
from collections.abc import Mapping
from typing import Any, cast

import narwhals.stable.v2 as nw
import numpy as np

from bayesgen import decide
from bayesgen.compare import Comparison, FittedFolds, compare_keeping
from bayesgen.compare.subgroups import Subgroups
from bayesgen.decide import Loss, Losses
from bayesgen.errors import BayesgenError, BayesgenWarning, InvalidData, Words
from bayesgen.errors.wording import Language, listed
from bayesgen.plots.fitted import FittedClassifier, Model, Stack
from bayesgen.schema import in_numbers
from bayesgen.schema.matching import check_number
from bayesgen.table import Table, TableColumn, from_dicts, read_table, read_target
from bayesgen.typing import Joint, Labels

Values = dict[str, Any]
"""What the template of the report is filled with."""

REJECT = 0.4
"""Cost of leaving a row undecided where none is stated, as a share of the way from the least cost
to the largest that the best decision can be expected to have: at more than that, every row is
decided."""
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

    clf: the classifier, fitted to all rows. X, table: the rows in the columns of the fit, and the
    same read.
    comparison: with logistic regression and the class frequencies on the same folds. left_out: the
    classifier as it was fitted without each fold, which is asked about the rows of that fold.
    at: positions of the scored rows in X, rising. proba: their probabilities out of fold, shape
    (row, class). codes: their true classes.
    loss, rule, reject: costs of decisions, and of leaving a row undecided. by: column of subgroups,
    as stated. cv, seed: of the folds. language: in which cures of sentences are to be typed.
    """

    clf: FittedClassifier
    X: object
    table: Table
    comparison: Comparison
    left_out: FittedFolds
    at: Labels
    proba: Joint
    codes: Labels
    loss: Loss
    rule: Losses
    reject: float
    by: object
    cv: int
    seed: int
    language: Language = "python"

    def worded(
        self, problem: BayesgenError | BayesgenWarning | Words | str, *, cure: bool = True
    ) -> str:
        """Return a sentence of the library, with what to type in the language of the report.

        cure: whether to say what to type instead.
        """
        if isinstance(problem, BayesgenError | BayesgenWarning):
            words = problem.written(self.language, cure=cure)
        else:
            words = problem if isinstance(problem, str) else problem.text(self.language)
        return f"{words[:1].upper()}{words[1:]}"

    def in_python(self, call: str) -> str:
        """Return a call of the classifier; for readers of the command line, of its file."""
        if self.language == "python":
            return f"clf.{call}"
        return f'bayesgen.load("FILE").{call} in Python (FILE: that of bayesgen fit --out FILE)'

    @property
    def name(self) -> str:
        """The classifier in words."""
        return named(self.clf)

    @property
    def stack(self) -> Stack | None:
        """The classifier, if it is a stack."""
        return self.clf if isinstance(self.clf, Stack) else None

    @property
    def models(self) -> Mapping[str, Model]:
        """The members of a stack by name, or the classifier by itself."""
        return self.stack.members_ if self.stack else {self.name: cast(Model, self.clf)}

    @property
    def classes(self) -> list:
        """The labels, sorted."""
        return self.comparison.classes.tolist()

    @functools.cached_property
    def columns(self) -> tuple[TableColumn, ...]:
        """The columns of the table, those that are read as numbers as such."""
        return tuple(in_numbers(self.table).columns)

    @property
    def right(self) -> np.ndarray:
        """Which scored rows are predicted right, shape (row,)."""
        return self.proba.argmax(axis=1) == self.codes


def named(clf: FittedClassifier) -> str:
    """Return the name of a classifier in words."""
    if clf.get_params(deep=False).get("story"):
        return "program of the user"
    return NAMES.get(type(clf).__name__, type(clf).__name__)


def _require_classes(clf: FittedClassifier, y: object) -> None:
    labels, fitted = set(read_target(y).labels.tolist()), set(clf.classes_.tolist())
    if labels - fitted:
        raise InvalidData(
            f"y holds {listed(sorted(labels - fitted))}, and the classifier was fitted to "
            f"{listed(sorted(fitted))}; a report needs the same classes. Fit it to these rows: "
            "clf.fit(X, y)."
        )
    if fitted - labels:
        raise InvalidData(
            f"no row of y has the class {listed(sorted(fitted - labels))}, which the classifier "
            "was fitted to; a report needs rows of every class. Pass the rows of the fit."
        )


def columns_of_fit(clf: FittedClassifier, X: object) -> object:
    """Return the rows without columns that the fit did not have: clones are to be the same model.

    Raises:
        InvalidData: columns without names are of another number.
    """
    names = getattr(clf, "feature_names_in_", None)
    frame = nw.from_native(from_dicts(X), eager_only=True, pass_through=True)
    if names is None or not isinstance(frame, nw.DataFrame):
        number = range(cast(Any, clf).n_features_in_)
        check_number(tuple(number), read_table(X), type(clf).__name__)
        return X
    known = set(names)
    if known.issuperset(frame.columns):
        return X
    return frame.select([name for name in frame.columns if name in known]).to_native()


def judged(
    clf: FittedClassifier,
    X: object,
    y: object,
    language: Language,
    *,
    loss: Loss = None,
    reject: float | None = None,
    by: object = None,
    cv: int = 5,
    random_state: int = 0,
) -> Subject:
    """Return the subject of a report: clones of the classifier predict rows left out of their fit.

    language: in which cures of sentences are to be typed. Other arguments are those of
    `Classifier.report_html`.

    Raises:
        BayesgenError: rows or labels that cannot be compared on, or invalid costs.
    """
    # imports scikit-learn's pipelines, which would slow down every import
    from bayesgen.compare.rivals import rival

    _require_classes(clf, y)
    rule = decide.rule(loss, clf.classes_)
    if reject is None:
        least = float(rule.cost.min())
        reject = max(float(f"{least + REJECT * (rule.worst() - least):.3g}"), least)
    decide.rule(loss, clf.classes_, reject)  # refuses a cost that never leaves a row undecided
    levels = None if by is None else Subgroups.read(by, read_table(X), X)
    X = columns_of_fit(clf, X)
    table, name = read_table(X), named(clf)
    rivals = {LOGISTIC: rival("logistic"), FREQUENCIES: rival("frequencies")}
    options = clf.get_params(deep=False)
    quiet = {"progress": False} if "progress" in options else {}
    clone = type(clf)(**options | quiet)
    classifiers = {name: clone, **rivals}
    comparison, left_out = compare_keeping(
        name, classifiers, X, y, cv=cv, by=levels, random_state=random_state
    )
    order = np.argsort(comparison.rows, kind="stable")
    return Subject(
        clf=clf,
        X=X,
        table=table,
        comparison=comparison,
        left_out=left_out,
        at=comparison.rows[order],
        proba=comparison.probabilities[name][order],
        codes=comparison.y[order],
        loss=loss,
        rule=rule,
        reject=reject,
        by=by,
        cv=cv,
        seed=random_state,
        language=language,
    )
