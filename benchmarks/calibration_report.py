"""The calibration benchmark's cache as Markdown: losses, wins, paired differences, calibration."""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
import pandas as pd
from calibration_cache import Cache
from calibration_regimes import REGIMES
from calibration_scores import (
    Splits,
    best_temperature,
    calibration,
    difference,
    losses,
    zeros,
)

STATED = (
    "Log loss in nats a row, lower is better; probabilities below 1e-15 count as 1e-15 (a true "
    "class given 0 costs 34.5). The mean is over the open tables; below it, tables that nobody "
    "chose anything by. -: not run; fails: a fit raised an error. Paired differences are on the "
    "splits that both have, over rows (cross-validation; seeds averaged first) or over draws; "
    "their standard errors take the rows, or the draws, for independent. Best temperature: what "
    "the log probabilities should have been divided by (above 1: overconfident). Calibration "
    "error: top label, 15 bins; noise floor: its mean when labels are simulated from the stated "
    "probabilities; within: tables where it is below the 95 % point of those."
)


@dataclasses.dataclass(frozen=True)
class Results:
    """All answers of one regime.

    regime: its name. splits: answers by (table, column of the report). open: the tables of the
    means, wins and ranks, all tables where no open ones were run; extra: the others. columns: the
    classifiers that have any, in order.
    """

    regime: str
    splits: dict[tuple[str, str], Splits]
    open: list[str]
    extra: list[str]
    columns: list[str]

    @classmethod
    def read(
        cls,
        cache: Cache,
        regime: str,
        columns: dict[str, tuple[str, str]],
        only: Sequence[str] = (),
    ) -> "Results":
        """Read the answers of a regime.

        Args:
            cache: holds the answers.
            regime: its name.
            columns: (classifier, version) of each column of the report.
            only: tables; all without it.
        """
        splits: dict[tuple[str, str], Splits] = {}
        for table, column, split, answers in cache.answers(regime, columns):
            if not only or table in only:
                splits.setdefault((table, column), {})[split] = answers
        origin = {t: next(iter(found.values())).origin for (t, _), found in splits.items()}
        by_origin = {o: [t for t in origin if origin[t] == o] for o in ("open", "extra")}
        shown = [c for c in columns if any(column == c for _, column in splits)]
        if not by_origin["open"]:
            by_origin = {"open": by_origin["extra"], "extra": []}
        return cls(regime, splits, by_origin["open"], by_origin["extra"], shown)

    @property
    def by_row(self) -> bool:
        """Whether every row is scored as often."""
        return REGIMES[self.regime].folds > 0

    @functools.cached_property
    def loss(self) -> pd.DataFrame:
        """Mean log loss, (table, column); NaN where not run or failed."""
        found = pd.DataFrame(np.nan, index=[*self.open, *self.extra], columns=self.columns)
        for (table, column), splits in self.splits.items():
            if not self.failed(table, column):
                found.loc[table, column] = losses(splits, self.by_row).mean()
        return found

    def failed(self, table: str, column: str) -> bool:
        """Return whether a fit of the classifier raised an error."""
        return any(answers.failed for answers in self.splits.get((table, column), {}).values())

    def of(self, column: str) -> dict[str, Splits]:
        """Return the answers of a classifier by table, failures left out."""
        return {t: self.splits[t, column] for t in self.loss.index[self.loss[column].notna()]}


def markdown(results: list[Results], ours: str, notes: list[str]) -> str:
    """Return the report of several regimes.

    Args:
        results: of each regime.
        ours: the column that is set against every other.
        notes: sentences on what is left out.
    """
    parts = [STATED, *notes, "## Means over the open tables", grid(_means(results))]
    for of in results:
        parts += [f"## {of.regime}: {REGIMES[of.regime].words}", grid(_loss(of))]
        if ours in of.columns:
            parts += [f"### {ours} against each", grid(_wins(of, ours))]
            parts += [
                f"### {ours} minus each: difference +- standard error",
                grid(_paired(of, ours)),
            ]
        parts += ["### Calibration (medians over all tables)", grid(_calibration(of))]
    return "\n\n".join(parts) + "\n"


def _means(results: list[Results]) -> pd.DataFrame:
    """Return mean log losses, classifiers by regimes; a classifier needs every open table."""
    found = pd.DataFrame({of.regime: of.loss.loc[of.open].mean(skipna=False) for of in results})
    columns = list(dict.fromkeys(c for of in results for c in of.columns))
    counts = [f"{of.regime} ({len(of.open)})" for of in results]
    shown = found.reindex(columns).set_axis(counts, axis=1).map(_number)
    return shown.rename_axis("classifier")


def _loss(of: Results) -> pd.DataFrame:
    shown = of.loss.map(_number)
    for table, column in of.splits:
        if of.failed(table, column):
            shown.loc[table, column] = "fails"
    means = of.loss.loc[of.open].mean(skipna=False).map(_number).to_frame("**mean**").T
    return pd.concat([shown.loc[of.open], means, shown.loc[of.extra]]).rename_axis("table")


def _wins(of: Results, ours: str) -> pd.DataFrame:
    """Return, over the open tables: won, lost, clearly so, and the mean difference."""
    found = {}
    for other in of.columns:
        pairs = _differences(of, ours, other, of.open)
        if other == ours or not pairs:
            continue
        mean = np.array([d.mean for d in pairs.values()])
        clear = np.array([d.clear for d in pairs.values()])
        reach = 1.96 * mean.std(ddof=1) / np.sqrt(len(mean)) if len(mean) > 1 else np.nan
        found[other] = {
            "tables": len(mean),
            "won": (mean < 0).sum(),
            "lost": (mean >= 0).sum(),
            "won by 2 se": (clear & (mean < 0)).sum(),
            "lost by 2 se": (clear & (mean > 0)).sum(),
            "mean difference (95 % interval over tables)": f"{_number(mean.mean())} "
            f"({_number(mean.mean() - reach)} to {_number(mean.mean() + reach)})",
            "not won": ", ".join(t for t, d in pairs.items() if d.mean >= 0) or "none",
        }
    return pd.DataFrame(found).T.rename_axis("against")


def _paired(of: Results, ours: str) -> pd.DataFrame:
    found = {
        other: {
            table: f"{_number(d.mean)} +- {_number(d.error)}"
            for table, d in _differences(of, ours, other, [*of.open, *of.extra]).items()
        }
        for other in of.columns
        if other != ours
    }
    frame = pd.DataFrame(found).reindex([*of.open, *of.extra])
    return frame.where(frame.notna(), "-").rename_axis("table")


def _differences(of: Results, ours: str, other: str, tables: list[str]) -> dict:
    mine, theirs = of.of(ours), of.of(other)
    found = {
        t: difference(mine[t], theirs[t], of.by_row) for t in tables if t in mine and t in theirs
    }
    return {table: pair for table, pair in found.items() if pair is not None}


def _calibration(of: Results) -> pd.DataFrame:
    found = {}
    for column in of.columns:
        tables = list(of.of(column).values())
        if not tables:
            continue
        errors = [calibration(splits) for splits in tables]
        within = sum(c.error <= c.limit for c in errors)
        seconds = [np.median([a.seconds for a in splits.values()]) for splits in tables]
        temperature = [best_temperature(splits) for splits in tables]
        found[column] = {
            "tables": len(tables),
            "best temperature (range)": f"{_number(np.median(temperature))} "
            f"({_number(min(temperature))} to {_number(max(temperature))})",
            "calibration error": _number(np.median([c.error for c in errors])),
            "noise floor": _number(np.median([c.floor for c in errors])),
            "within": f"{within} of {len(tables)}",
            "% of rows at 0": f"{100 * np.mean([zeros(splits) for splits in tables]):.2g}",
            "seconds a fit": f"{np.median(seconds):.2g}",
        }
    return pd.DataFrame(found).T.rename_axis("classifier")


def _number(value: float) -> str:
    if np.isnan(value):
        return "-"
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def grid(table: pd.DataFrame) -> str:
    """Return a table of text in Markdown, its first column the index."""
    rows = [[table.index.name or "", *map(str, table.columns)]]
    rows += [list(map(str, row)) for row in table.itertuples()]
    width = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "| " + " | ".join(c.ljust(w) for c, w in zip(row, width, strict=True)) + " |"
        for row in rows
    ]
    lines.insert(1, "| " + " | ".join("-" * w for w in width) + " |")
    return "\n".join(lines)
