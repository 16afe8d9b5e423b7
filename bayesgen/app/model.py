"""The model that a page serves: its fields, and what its users shall know."""

import contextlib
import dataclasses
import datetime
import functools
import math
import warnings
from collections.abc import Generator, Mapping, Sequence
from importlib.metadata import version

from bayesgen.app.fields import Cell, Field
from bayesgen.errors import BayesgenError, BayesgenWarning, CountsAsMissing, InvalidArgument
from bayesgen.errors.wording import listed
from bayesgen.estimators.classifier import Classifier
from bayesgen.estimators.judged_rows import ACCURACY, LOSS
from bayesgen.page import notes_as_blocks
from bayesgen.report.subject import named

Row = Mapping[object, Cell]
MOST_FIELDS = 500
"""Fields of a form that a person may still read."""
HOLDS = {
    "rows": "every row of its fit, which whoever has the model has too.",
    "cells": "no table of them, but cells of some, or what was predicted of each.",
    "sums": "none, but counts, means and the like; prediction sets need rows.",
}


@dataclasses.dataclass(frozen=True)
class Case:
    """A row, and the circumstances in which it is judged.

    row: column -> cell. prevalence: of each class; None: that of the model. costs: of decisions,
    by true and decided class; None: unknown.
    """

    row: Row
    prevalence: tuple[float, ...] | None = None
    costs: dict[tuple, float] | None = None

    def of(self, row: Row) -> "Case":
        """Return another row in the same circumstances."""
        return Case(row, self.prevalence, self.costs)


class ServedModel:
    """A fitted classifier with its fields, its title, and what its users shall know.

    Args:
        classifier: fitted.
        title: of the page.
        notes: on intended use.
        cost_of: costs of measuring columns, by name.

    Raises:
        InvalidArgument: a cost of no column; no column, or too many.
    """

    def __init__(
        self, classifier: Classifier, title: str, notes: str, cost_of: Mapping[str, float | int]
    ) -> None:
        self.described, self.version = classifier.describe(), version("bayesgen")
        self.classifier, self.title, self.notes = classifier, title, notes_as_blocks(notes)
        ranges = self.described.ranges
        self.fields = [
            Field(key=key, cost=cost_of.get(str(key)), ranges=ranges, **line)
            for key, line in self.described.columns.to_dict("index").items()
        ]
        self.names = [field.name for field in self.fields]
        self.form_names = [f"x.{name}" for name in self.names]
        self.labels: list = classifier.classes_.tolist()
        if not 0 < len(set(self.names)) == len(self.names) <= MOST_FIELDS:
            problem = "a form has 1 to {most} fields, each of another name, and the model {found}."
            raise InvalidArgument(problem, most=MOST_FIELDS, found=len(self.names))
        for name, cost in cost_of.items():
            if name not in self.names or not 0 <= cost < math.inf:
                problem = "cost_of: {name!r}={cost!r} is no cost of at least 0 of one of {names}."
                raise InvalidArgument(problem, name=name, cost=cost, names=listed(self.names))
        self.under = functools.lru_cache(maxsize=32)(self._under)

    def _under(self, prevalence: tuple[float, ...] | None) -> Classifier:
        """Return the classifier in a population of other class frequencies."""
        if prevalence is None:
            return self.classifier
        return self.classifier.with_class_prior(dict(zip(self.labels, prevalence, strict=True)))

    def facts(self) -> dict[str, str]:
        """Return what a page says of the model, by its heading."""
        details, classes = self.classifier.report_.details, self.described.classes
        counts = ", ".join(f"{label} {count:,.12g}" for label, count in classes.items())
        scores = "none were computed of rows left out"
        if (loss := details.get(LOSS)) is not None:
            right = f", {details[ACCURACY]:.0%} right" if ACCURACY in details else ""
            scores = f"log loss {loss:.3f}{right}, each row left out of the fit"
        now = f"{datetime.datetime.now().astimezone():%Y-%m-%d %H:%M}"
        return {
            "model": f"{named(self.classifier)}, bayesgen {self.version}",
            "rows of the fit": f"{self.described.rows:,.12g}: {counts}",
            "scores": scores,
            "rows it holds": HOLDS[self.described.holds],
            "page of": f"{now}; what is typed is neither stored nor logged",
        }

    def table(self, rows: Sequence[Row]) -> list:
        """Return rows as verbs of the classifier take them, with every column of the fit.

        They are never text alone, which those verbs would read as the path of a file.
        """
        if self.fields[0].kind == "text":
            return [row.get(self.fields[0].key) or "" for row in rows]
        return [{field.key: row.get(field.key) for field in self.fields} for row in rows]

    def remarks(self, row: Row) -> list[str]:
        """Return what is odd about the cells of a row."""
        return [words for f in self.fields if (words := f.remark(row.get(f.key)))]


def sentence(problem: BayesgenError | BayesgenWarning) -> str:
    """Return what is wrong in one line, without what to type in Python."""
    return " ".join(problem.written("python", cure=False).split())


@contextlib.contextmanager
def remarking(remarks: list[str]) -> Generator[None]:
    """Add to remarks what the block is refused by, or warns of, each once.

    That unseen levels count as missing is said by the field.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        except BayesgenError as error:
            remarks.append(sentence(error))
    found = [w.message for w in caught if isinstance(w.message, BayesgenWarning)]
    words = [sentence(warning) for warning in found if not isinstance(warning, CountsAsMissing)]
    remarks[:] = dict.fromkeys([*remarks, *words])
