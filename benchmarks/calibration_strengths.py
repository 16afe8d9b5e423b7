"""Scan how many rows the default guesses should be worth, by the log loss of rows left out."""

import dataclasses
import itertools
import sys
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from calibration_regimes import FOLDS, cross_validation, draws
from calibration_report import grid
from calibration_tables import Benchmark
from sklearn.base import BaseEstimator
from tqdm import tqdm

import bayesgen as bg
from bayesgen.compare.folds import Fold

FRESH = 1000
"""Seed of the scan's splits: other rows than those of the table that the choice is judged by."""

Setting = tuple
"""One point of a scan: what it sets, in the order of the scan's names."""


@dataclasses.dataclass(frozen=True)
class Scan:
    """Which prior strengths are tried, on which columns.

    names: what a setting holds. settings: all of them. default: the library's own when the scan was
    last run. make: builds the classifier of a table and a setting. numbers_only: the scan sees
    the columns of numbers alone, complete rows only, and tables with at least two of them.
    """

    names: tuple[str, ...]
    settings: tuple[Setting, ...]
    default: Setting
    make: Callable[..., BaseEstimator]
    numbers_only: bool = False

    def few(self) -> tuple[Setting, ...]:
        """Return the default and two others, for a quick look."""
        return tuple(dict.fromkeys((self.default, *self.settings[:2])))

    def tables(self, tables: list[Benchmark]) -> list[Benchmark]:
        """Return the tables that have columns of the kind that is scanned."""
        if self.numbers_only:
            return [_numbers(t) for t in tables if len(t.numbers) > 1]
        wanted = {"mean_rows": "numbers", "guess": "levels"}.get(self.names[0])
        return [t for t in tables if wanted is None or getattr(t, wanted)]


def _numbers(table: Benchmark) -> Benchmark:
    X = table.X[table.numbers]
    complete = X.notna().all(axis=1).to_numpy()
    return dataclasses.replace(table, X=X[complete], y=table.y[complete])


def _naive(table: Benchmark, **blocks: object) -> BaseEstimator:
    families = {"numbers": bg.Normal(), "levels": bg.Categorical(), **blocks}
    columns = {kind: tuple(getattr(table, kind)) for kind in families}
    return bg.NaiveBayes({columns[kind]: families[kind] for kind in families if columns[kind]})


def _normal(table: Benchmark, mean_rows: float, variance_rows: float) -> BaseEstimator:
    return _naive(table, numbers=bg.Normal(mean_rows=mean_rows, variance_rows=variance_rows))


def _categorical(table: Benchmark, guess: str, unit: str, rows: float) -> BaseEstimator:
    probs = None if guess == "fractions" else "uniform"
    strength = {"rows": rows} if unit == "column" else {"rows_per_level": rows}
    return _naive(table, levels=bg.Categorical(probs=probs, **strength))


def _class_prior(table: Benchmark, class_prior: float | str) -> BaseEstimator:
    return bg.NaiveBayes(class_prior=class_prior)


def _lda(table: Benchmark, mean_rows: float, covariance_rows: float) -> BaseEstimator:
    return bg.LDA(mean_rows=mean_rows, covariance_rows=covariance_rows)


def _qda(table: Benchmark, mean_rows: float, covariance_rows: float) -> BaseEstimator:
    return bg.QDA(mean_rows=mean_rows, covariance_rows=covariance_rows)


def _grid(*axes: tuple) -> tuple[Setting, ...]:
    return tuple(itertools.product(*axes))


_MEANS = (0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
_COVARIANCE = ("mean_rows", "covariance_rows")

SCANS = {
    "normal": Scan(("mean_rows", "variance_rows"), _grid(_MEANS, _STRENGTHS), (1.0, 8.0), _normal),
    "categorical": Scan(
        ("guess", "worth per", "rows"),
        _grid(("fractions", "uniform"), ("column", "level"), _STRENGTHS),
        ("fractions", "level", 2.0),
        _categorical,
    ),
    "class prior": Scan(
        ("class_prior",), _grid((*_STRENGTHS, "empirical", "uniform")), (1.0,), _class_prior
    ),
    "lda": Scan(_COVARIANCE, _grid(_MEANS, _STRENGTHS), (1.0, 1.0), _lda, numbers_only=True),
    "qda": Scan(_COVARIANCE, _grid(_MEANS, _STRENGTHS), (1.0, 8.0), _qda, numbers_only=True),
}


def scan(
    name: str, tables: list[Benchmark], splits: dict[str, int], settings: tuple[Setting, ...]
) -> list[dict]:
    """Return the mean log loss of every setting on every table, in each regime.

    Args:
        name: of SCANS.
        tables: all tables; those without such columns are left out.
        splits: draws of 24 rows ("small"), seeds of 10-fold cross-validation ("full").
        settings: those of the scan, or some of them.
    """
    about = SCANS[name]
    records = []
    for table in tqdm(about.tables(tables), file=sys.stderr, desc=name, unit="table"):
        for regime, folds in _splits(table, splits).items():
            losses = {s: [] for s in settings}
            for fold, setting in itertools.product(folds, settings):
                losses[setting].append(_log_loss(about.make(table, *setting), table, fold))
            records += [
                {"scan": name, "table": table.name, "regime": regime, "setting": list(s)}
                | {"log_loss": float(np.mean(found))}
                for s, found in losses.items()
                if found
            ]
    return records


def _splits(table: Benchmark, splits: dict[str, int]) -> dict[str, list[Fold]]:
    seeds = {regime: range(FRESH, FRESH + number) for regime, number in splits.items()}
    return {
        "small": draws(table, 24, seeds["small"]),
        "full": cross_validation(table, FOLDS, seeds["full"]),
    }


def _log_loss(clf: BaseEstimator, table: Benchmark, fold: Fold) -> float:
    fit, scored = fold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(table.X.iloc[fit], table.y[fit])
        log_p = clf.predict_log_proba(table.X.iloc[scored])
    # every class has at least two rows to fit in a table of this benchmark
    return float(-log_p[np.arange(len(scored)), table.y[scored]].mean())


def report(records: list[dict], default: tuple, halves: dict[str, str]) -> str:
    """Return the scan of one kind of prior strengths as Markdown.

    For each setting: the mean over tables of the log loss at 24 rows and in 10-fold, how many
    tables it wins against the default, and by how much the table that it serves worst rises. Then
    what the halves of the tables choose: the lowest mean at 24 rows among settings that lose
    nothing in 10-fold (mean not above the default's), and what that brings on the other half.
    """
    frame = pd.DataFrame(records)
    frame["setting"] = frame["setting"].map(tuple)
    loss = frame.pivot_table(index="setting", columns=["regime", "table"], values="log_loss")
    small, full = loss["small"], loss["full"]
    mine = [default]
    found = pd.DataFrame(
        {
            "24 rows": small.mean(axis=1),
            "10-fold": full.mean(axis=1),
            "24 rows, geometric": np.exp(np.log(small).mean(axis=1)),
            "10-fold, geometric": np.exp(np.log(full).mean(axis=1)),
            "won, 24 rows": (small < small.loc[mine].to_numpy()).sum(axis=1),
            "won, 10-fold": (full < full.loc[mine].to_numpy()).sum(axis=1),
            "worst, 24 rows": (small - small.loc[mine].to_numpy()).max(axis=1),
            "worst, 10-fold": (full - full.loc[mine].to_numpy()).max(axis=1),
        }
    ).sort_values("24 rows")
    found.index = [_named(s) + (" (default)" if s == default else "") for s in found.index]
    found = found.rename_axis(f"{frame['scan'].iloc[0]}: {len(small.columns)} tables")
    shown = found.map(lambda v: f"{v:.4f}" if isinstance(v, float) else str(v))
    return "\n\n".join([grid(shown), _halves(small, full, default, halves)])


def _halves(small: pd.DataFrame, full: pd.DataFrame, default: tuple, halves: dict[str, str]) -> str:
    lines = []
    if len({halves[table] for table in small}) < 2:
        return "Only one half has such tables."
    for mine, other in ("AB", "BA"):
        a = [table for table in small if halves[table] == mine]
        b = [table for table in small if halves[table] == other]
        lossless = full[a].mean(axis=1) <= full[a].mean(axis=1)[default]
        best = small.loc[lossless, a].mean(axis=1).idxmin()
        reported = [
            f"{words} {part[tables].mean(axis=1)[default]:.4f} -> "
            f"{part[tables].mean(axis=1)[best]:.4f}"
            for tables in (a, b)
            for words, part in {"24 rows": small, "10-fold": full}.items()
        ]
        lines.append(
            f"* Half {mine} ({len(a)} tables) chooses {_named(best)}: {reported[0]}, {reported[1]}"
            f"; on the other half ({len(b)} tables): {reported[2]}, {reported[3]}."
        )
    return "\n".join(lines)


def _named(setting: tuple) -> str:
    return ", ".join(map(str, setting))
