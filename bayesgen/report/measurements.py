"""What to measure next: the expected gain of observing each missing cell, out of fold."""

import dataclasses
import functools
import math
import warnings

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.errors import BayesgenError
from bayesgen.page import Bar, Cell, Grid
from bayesgen.report.subject import Subject, Values
from bayesgen.report.words import number
from bayesgen.table.content import row_keys
from bayesgen.typing import Labels

MOST_ROWS = 30
"""Rows that lack a column whose values are averaged; fewer where these rows lack many cells."""
MOST_CELLS = 1000
"""Missing cells of all rows that are read. A stack of 13 members takes about 20 ms for each."""
DRAWS = 50
"""Simulated cells for each class, of each missing number."""
BEST = 2
"""Columns that are named beside a row."""
LEAST = 0.001
"""Share of the largest possible gain below which a cell is not worth naming."""


@dataclasses.dataclass(frozen=True, eq=False)
class CellValues:
    """Expected gains of missing cells and their Monte Carlo errors, each of shape (row, column).

    NaN where a cell is observed, or its value is not known.
    """

    value: Float[np.ndarray, "row column"]
    error: Float[np.ndarray, "row column"]


@dataclasses.dataclass(frozen=True, eq=False)
class Measurements:
    """Values of missing cells of a subject, each under a fit that has not seen the row.

    subject: of the report. shown: those of the scored rows whose best cells are named.
    """

    subject: Subject
    shown: Labels

    @functools.cached_property
    def missing(self) -> Bool[np.ndarray, "row column"]:
        """Which cells of the scored rows are missing."""
        columns = [column.missing[self.subject.at] for column in self.subject.columns]
        return np.column_stack(columns)

    @functools.cached_property
    def samples(self) -> dict[int, Labels]:
        """By column those of the scored rows that lack it whose values are averaged.

        They are evenly spaced in an order that the content of the rows determines.
        """
        table = self.subject.table.take(self.subject.at)
        order = np.argsort(row_keys(table)[1], kind="stable")
        some = np.flatnonzero(self.missing.any(axis=0)).tolist()
        lacking = {j: order[self.missing[order, j]] for j in some}
        size = MOST_ROWS
        while size > 1:
            samples = {j: evenly_spaced(rows, size) for j, rows in lacking.items()}
            read = np.unique(np.concatenate([*samples.values()])) if samples else order[:0]
            if self.missing[read].sum() <= MOST_CELLS:
                return samples
            size //= 2
        # the same rows for all columns
        incomplete = order[self.missing[order].any(axis=1)]
        size = max(1, int(MOST_CELLS / self.missing[incomplete].sum(axis=1).mean()))
        few = evenly_spaced(incomplete, size)
        return {j: rows for j in lacking if len(rows := few[self.missing[few, j]])}

    @functools.cached_property
    def read(self) -> Labels:
        """The scored rows whose missing cells have a value, rising.

        Those that are shown are not among them where they lack too many cells.
        """
        rows = [*self.samples.values()]
        if self.missing[self.shown].sum() <= MOST_CELLS:
            rows.append(self.shown)
        return np.unique(np.concatenate(rows)) if rows else self.shown[:0]

    @functools.cached_property
    def reason(self) -> str:
        """Why the classifier cannot tell; "" if it can."""
        try:
            unknown = np.isnan(self.values.value[self.missing[self.read]]).all()
        except BayesgenError as error:
            return error.written(self.subject.language, cure=False)
        return "the fits without each fold do not simulate cells." if unknown else ""

    @functools.cached_property
    def values(self) -> CellValues:
        """Values of the rows that are read.

        Raises:
            BayesgenError: the classifier cannot tell.
        """
        subject, rows = self.subject, self.read
        names = {column.name: j for j, column in enumerate(subject.columns)}
        value, error = np.full((2, len(rows), len(names)), np.nan)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of which the comparison has warned
            for places, clf, X in subject.left_out.of(subject.at[rows]):
                frames = clf.feature_value(X, subject.loss, draws=DRAWS, return_error=True)
                known = [names[name] for name in frames[0].columns]
                for out, frame in zip((value, error), frames, strict=True):
                    out[np.ix_(places, known)] = frame.to_numpy()
        return CellValues(value, error)

    def best(self, rows: Labels) -> list[str]:
        """Return for each of some rows that are shown the cells that are worth most, in words.

        Nothing is said where the classifier cannot tell, or too many cells are missing.
        """
        if not np.isin(rows, self.read).all() or self.reason:
            return [""] * len(rows)
        return [self._best(line) for line in self.values.value[np.searchsorted(self.read, rows)]]

    def _best(self, values: Float[np.ndarray, " column"]) -> str:
        known = np.flatnonzero(~np.isnan(values))
        order = known[np.argsort(-values[known], kind="stable")]
        named = [
            f"{self.subject.columns[j].name} {self.written(values[j])}"
            for j in order[:BEST]
            if values[j] >= LEAST * self.scale
        ]
        return ", ".join(named) or ("nothing" if len(known) else "")

    def written(self, value: float) -> str:
        """Return a value: three decimals of nats, three digits of costs."""
        return number(value, ".3f" if self.subject.loss is None else ".3g")

    @property
    def scale(self) -> float:
        """The largest gain that can be expected: of all that is not known of the class."""
        if self.subject.loss is None:
            return math.log(len(self.subject.classes))
        return self.subject.rule.worst() - float(self.subject.rule.cost.min())


def evenly_spaced(rows: Labels, size: int) -> Int[np.ndarray, " few"]:
    """Return at most `size` of some rows, evenly spaced."""
    few = min(len(rows), size)
    return rows[np.arange(few) * len(rows) // few]


def mean_and_error(
    value: Float[np.ndarray, " row"], error: Float[np.ndarray, " row"], n: int
) -> tuple[float, float]:
    """Return the mean over a sample of n rows, and its standard error about the mean of them all.

    The error of simulated cells remains where all rows are read. The variance of the values of a
    sample, simulated ones, has it already.
    """
    size = len(value)
    share, simulated = size / n, (error**2).mean()
    if size == n:
        spread = 0.0
    elif size == 1:
        spread = math.inf
    else:
        spread = (1 - share) * value.var(ddof=1)
    return float(value.mean()), math.sqrt((spread + share * simulated) / size)


def what_to_measure(measurements: Measurements) -> Values:
    """Return the mean value of each column that rows lack, the largest first.

    Nothing if no cell is missing; or why the classifier cannot tell.
    """
    subject, samples = measurements.subject, measurements.samples
    if not samples:
        return {}
    if measurements.reason:
        return {"reason": measurements.reason}
    rows, values = measurements.read, measurements.values
    found, unknown = [], []
    for j, sample in samples.items():
        places, lacking = np.searchsorted(rows, sample), int(measurements.missing[:, j].sum())
        value, name = values.value[places, j], str(subject.columns[j].name)
        if np.isnan(value).any():
            unknown.append(name)
            continue
        mean, error = mean_and_error(value, values.error[places, j], lacking)
        found.append((mean, error, name, len(sample), lacking))
    found.sort(key=lambda line: -line[0])
    most = max(found[0][0], LEAST * measurements.scale)
    lines: list[list[Cell]] = [
        [
            name,
            Bar(mean / most, measurements.written(mean)),
            measurements.written(error),
            f"{lacking:,}",
            f"{read:,}",
        ]
        for mean, error, name, read, lacking in found
    ]
    unit = "nats" if subject.loss is None else "costs"
    heads = ["column", f"mean value, {unit}", "standard error", "rows that lack it", "rows read"]
    return {
        "grid": Grid(heads, lines, right=(2, 3, 4)),
        "unknown": unknown,
        "absent": int(measurements.missing.any(axis=0).sum()) - len(samples),
        "draws": DRAWS,
        "most": MOST_ROWS,
    }
