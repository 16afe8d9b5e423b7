"""The result of an estimate of prevalence: draws of class frequencies, and summaries of them."""

import dataclasses
import html
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Shaped

from bayesgen import arguments, plots
from bayesgen.calls import checked_calls
from bayesgen.classes import ClassPrior, Spec, kept, stated_prior
from bayesgen.errors.arguments import out_of_range, wrong_classes
from bayesgen.errors.operations import label_shift_rejected
from bayesgen.inference import Report
from bayesgen.plots.style import Axes
from bayesgen.table import Name
from bayesgen.typing import DataFrame, Series

if TYPE_CHECKING:
    from bayesgen.plots import PrevalenceDisplay
else:  # loaded where something is drawn
    PrevalenceDisplay = Any

SHOWN_CLASSES = 5
"""Classes in the line that stands for an estimate."""
UNCHECKED = (
    "label shift was not checked, which takes the rows of the fit, of one class each: where the "
    "classifier keeps none, clf.check_label_shift(X_new, X=X, y=y) checks it, given these rows"
)


@checked_calls
@dataclasses.dataclass(frozen=True, eq=False)
class Prevalence:
    """The posterior distribution of the class frequencies of a population.

    Returned by `estimate_prevalence`; accepted by `with_class_prior` in place of probabilities.

    Attributes:
        classes: the labels in sorted order, shape (class,).
        draws: of the frequencies, shape (draw, class); each sums to one.
        mode: the maximum likelihood estimate, a Series by class (Saerens, Latinne and Decaestecker
            2002, known as EMQ).
        trained: class probabilities of the fit, a Series by class.
        report: method, seconds, verdict and details: numbers of new rows and of labeled rows.
        rejected: the columns by which label shift is rejected (p < .001 over all columns, by
            Holm's procedure), smallest p-value first: if there are any, the estimate is of no use.
            None if label shift was not checked, because the classifier does not keep the rows of
            its fit, which `check_label_shift` takes, or their labels are probabilities.

    Example:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> clf = bg.NaiveBayes().fit(X, y)
        >>> found = clf.estimate_prevalence(X[30:100], random_state=0)
        >>> found.mean.round(1).to_dict()
        {'setosa': 0.3, 'versicolor': 0.7, 'virginica': 0.0}
        >>> clf.predict_proba(X[70:71]).round(2)
        array([[0.  , 0.15, 0.85]])
        >>> clf.with_class_prior(found).predict_proba(X[70:71]).round(2)
        array([[0.  , 0.84, 0.16]])
    """

    classes: Shaped[np.ndarray, " class"]
    draws: Float[np.ndarray, "draw class"]
    mode: Series
    trained: Series
    report: Report
    rejected: tuple[Name, ...] | None = None

    @property
    def mean(self) -> Series:
        """The posterior mean, a Series by class."""
        return by_class(self.classes, self.draws.mean(axis=0))

    def interval(self, prob: float = 0.9) -> DataFrame:
        """Return central intervals of probability `prob`, one line per class: lower and upper.

        Example:
            >>> import bayesgen as bg
            >>> X, y = bg.datasets.load_iris()
            >>> found = bg.QDA().fit(X, y).estimate_prevalence(X, random_state=0)
            >>> bool((found.interval(0.9)["upper"] > 1 / 3).all())
            True
        """
        tail = (1 - arguments.share("prob", prob)) / 2
        lower, upper = np.quantile(self.draws, [tail, 1 - tail], axis=0)
        return pd.DataFrame({"lower": lower, "upper": upper}, index=self.trained.index)

    def class_prior(self, classes: np.ndarray) -> ClassPrior:
        """Return the Dirichlet distribution with the same means and the same total variance.

        Args:
            classes: those of the classifier that will use it.

        Raises:
            InvalidArgument: they differ from the classes of the estimate.
        """
        if classes.tolist() != self.classes.tolist():
            raise wrong_classes(self.classes.tolist(), classes.tolist())
        mean, variance = self.draws.mean(axis=0), self.draws.var(axis=0).sum()
        rows = (mean * (1 - mean)).sum() / variance - 1 if variance > 0 else np.inf
        return ClassPrior(mean / mean.sum(), float(rows))

    def plot(self, prob: float = 0.9, ax: Axes = None) -> PrevalenceDisplay:
        """Draw means with intervals beside the class probabilities of the fit."""
        return plots.PrevalenceDisplay(self, prob).plot(ax)

    def __repr__(self) -> str:
        """Return one line: mean and interval of 90 % of the classes, and whether to use them."""
        lines = list(zip(self.classes.tolist(), self.mean, self.interval().to_numpy(), strict=True))
        shown = [
            f"{name} {mean:.3f} [{lower:.3f}, {upper:.3f}]"
            for name, mean, (lower, upper) in lines[:SHOWN_CLASSES]
        ]
        if len(lines) > SHOWN_CLASSES:
            shown.append(f"{len(lines) - SHOWN_CLASSES} more classes")
        n_rows = int(self.report.details["new rows"])
        return f"Prevalence in {n_rows:,} rows: {', '.join(shown)}{self._advice('; ')}"

    def __str__(self) -> str:
        """Return one line a class: mean, interval of 90 %, and the frequency at fit."""
        ends, n_rows = self.interval().to_numpy(), int(self.report.details["new rows"])
        names = [str(label) for label in self.classes.tolist()]
        wide = max(map(len, names))
        lines = [f"Prevalence in {n_rows:,} rows by method={self.report.method!r}:"]
        for name, mean, (lower, upper), trained in zip(
            names, self.mean, ends, self.trained, strict=True
        ):
            lines.append(
                f"  {name:<{wide}}  {mean:.3f} ({lower:.3f} to {upper:.3f}), at fit {trained:.3f}"
            )
        return "\n".join(lines) + self._advice("\n")

    def _repr_html_(self) -> str:
        """Return a table for notebooks: mean, interval of 90 % and frequency at fit by class."""
        table = self.interval().rename(columns="{} (90 %)".format)
        table.insert(0, "mean", self.mean)
        table["at fit"] = self.trained
        return table.to_html(float_format="{:.3f}".format) + html.escape(self._advice(""))

    def _advice(self, before: str) -> str:
        """Return the sentence that label shift is rejected or was not checked, if so."""
        if self.rejected is None:
            return f"{before}{UNCHECKED}"
        return f"{before}{label_shift_rejected(self.rejected)}" if self.rejected else ""


def class_prior_of(
    value: Spec | Prevalence, classes: np.ndarray, count: Float[np.ndarray, " class"]
) -> tuple[Spec, ClassPrior]:
    """Return the argument class_prior= of a user, as one to keep, and the class prior it states.

    count: weight of each class in the rows of the fit.
    """
    if isinstance(value, Prevalence):
        prior = value.class_prior(classes)
        return prior.probs, prior
    return kept(arguments.by_label("class_prior", value)), stated_prior(value, classes, count)


def require_prevalence(value: object) -> Prevalence:
    """Return the argument prevalence= of a user.

    Raises:
        InvalidArgument: it is not the result of an estimate.
    """
    if isinstance(value, Prevalence):
        return value
    allowed = "None, or the result of estimate_prevalence"
    cure = "Pass prevalence=clf.estimate_prevalence(X_new)."
    raise out_of_range("prevalence", value, allowed, cure)


def by_class(classes: np.ndarray, values: np.ndarray) -> Series:
    """Return one number for each class, as a pandas Series."""
    return pd.Series(values, index=pd.Index(classes.tolist(), name="class"))
