"""Do the hierarchical programs of models/ predict better than the plain classifiers, and where?

Log loss (nats a row, lower is better) of models/hierarchical_naive_bayes.py beside exact naive
Bayes, and of models/shrunken_qda.py beside exact LDA and QDA (missing values: data augmentation),
each with 24 rows to fit (stated draws, two rows of each class among them) and in five stratified
folds. Numbers are standardized for the programs, by the fitted rows; the others need no units.

The tables are those of the package, or of a folder: NAME.csv with a column `class`, and schema.json
with {NAME: {"features": {column: "numeric" | other kinds}}}.
"""

import argparse
import dataclasses
import functools
import json
import runpy
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

import bayesgen as bg

MODELS = Path(__file__).parents[1] / "models"
BUNDLED = ("iris", "crabs", "penguins", "biopsy", "housevotes84", "titanic_passengers")
SMALL = 24
MOST_SCORED = 400
"""Rows scored after a fit: a standard error of the log loss of one fit of about .03."""


@dataclasses.dataclass(frozen=True, eq=False)
class Table:
    """Rows with levels declared, so that every sample knows all of them."""

    name: str
    X: pd.DataFrame
    y: np.ndarray

    @property
    def numbers(self) -> list:
        """The names of the numeric columns."""
        return list(self.X.select_dtypes("number"))

    @property
    def levels(self) -> list:
        """The names of the others."""
        return [column for column in self.X if column not in self.numbers]


@dataclasses.dataclass(frozen=True, eq=False)
class Rival:
    """A classifier and how it wants its rows: `read(table, rows to fit)` gives all rows."""

    name: str
    make: Callable[[Table], object]
    read: Callable[[Table, np.ndarray], object]


def frame(table: Table, train: np.ndarray) -> pd.DataFrame:
    """Return the rows as they are."""
    return table.X


def standardised(table: Table, train: np.ndarray) -> np.ndarray:
    """Return the numbers in units of the fitted rows, NaN where missing."""
    numbers = table.X[table.numbers].to_numpy(float)
    if not numbers.size:
        return numbers
    given = numbers[train]
    spread = np.nanstd(given, axis=0)
    # a column that the fitted rows hold constant
    spread = np.where(spread > 0, spread, np.nanstd(numbers, axis=0))
    return (numbers - np.nanmean(given, axis=0)) / spread


def mixed(table: Table, train: np.ndarray) -> dict[str, np.ndarray]:
    """Return numbers and codes of levels apart, as models/hierarchical_naive_bayes.py asks."""
    codes = [table.X[column].cat.codes.to_numpy(int) for column in table.levels]
    n = len(table.X)
    levels = np.column_stack(codes) if codes else np.zeros((n, 0), int)
    return {"numbers": standardised(table, train), "levels": levels}


def rivals(table: Table, nuts: bg.NUTS) -> list[Rival]:
    """Return the classifiers that suit a table."""
    found = [
        Rival("naive Bayes", lambda _: bg.NaiveBayes(), frame),
        Rival("hierarchical", lambda t: story("hierarchical_naive_bayes", t, nuts), mixed),
    ]
    if table.levels:
        return found
    return [
        *found,
        Rival("LDA", lambda _: bg.LDA(random_state=0), frame),
        Rival("QDA", lambda _: bg.QDA(random_state=0), frame),
        Rival("shrunken QDA", lambda t: story("shrunken_qda", t, nuts), standardised),
    ]


def story(name: str, table: Table, nuts: bg.NUTS) -> bg.GenerativeClassifier:
    """Return a program of models/ as a classifier."""
    program = _program(name)
    if table.levels or name == "hierarchical_naive_bayes":
        n_levels = tuple(len(table.X[column].cat.categories) for column in table.levels)
        program = functools.partial(program, n_levels=n_levels)
    return bg.GenerativeClassifier(story=program, inference=nuts, random_state=0)


@functools.cache
def _program(name: str) -> Callable:
    return runpy.run_path(str(MODELS / f"{name}.py"))["model"]


# -- which rows ----------------------------------------------------------------------------------


def small_samples(y: np.ndarray, repeats: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to fit, 24 of them with two of each class, and the others."""
    for seed in range(repeats):
        order = np.random.default_rng(seed).permutation(len(y))
        two = np.concatenate([order[y[order] == label][:2] for label in np.unique(y)])
        order = np.concatenate([two, order[~np.isin(order, two)]])
        yield order[:SMALL], order[SMALL:][:MOST_SCORED]


def folds(y: np.ndarray, repeats: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield rows to fit and to score of stratified folds, at most five."""
    splits = StratifiedKFold(5, shuffle=True, random_state=0).split(y, y)
    for _, (train, test) in zip(range(repeats), splits, strict=False):
        yield train, np.random.default_rng(0).permutation(test)[:MOST_SCORED]


REGIMES = {f"{SMALL} rows": small_samples, "5 folds": folds}


# -- scores --------------------------------------------------------------------------------------


def log_losses(
    table: Table, regime: str, repeats: int, nuts: bg.NUTS
) -> Iterator[dict[str, object]]:
    """Yield table, regime, split, classifier, log loss, seconds and R-hat (NaN without chains)."""
    for split, (train, test) in enumerate(REGIMES[regime](table.y, repeats)):
        for rival in rivals(table, nuts):
            rows = rival.read(table, train)
            began = time.perf_counter()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # R-hat is reported, constant columns are known
                clf = rival.make(table).fit(_take(rows, train), table.y[train])
                proba = clf.predict_proba(_take(rows, test))
            own = proba[np.arange(len(test)), np.searchsorted(clf.classes_, table.y[test])]
            yield {
                "table": table.name,
                "regime": regime,
                "split": split,
                "classifier": rival.name,
                "log_loss": float(-np.log(own).mean()),
                "seconds": time.perf_counter() - began,
                "r_hat": float(clf.report_.details.get("r_hat", np.nan)),
            }


def _take(rows: object, index: np.ndarray) -> object:
    if isinstance(rows, dict):
        return {name: array[index] for name, array in rows.items()}
    return rows.iloc[index] if isinstance(rows, pd.DataFrame) else rows[index]


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return mean log loss +- standard error by table, and the gain over the best plain one.

    The gain is that of the program over the plain classifier that did best on the table, split by
    split; its standard error is over splits (folds share rows, which makes theirs a little small).
    """
    lines = []
    for (regime, name), part in results.groupby(["regime", "table"], sort=False):
        loss = part.pivot(index="split", columns="classifier", values="log_loss")
        line = {"regime": regime, "table": name} | {c: _spread(loss[c]) for c in loss}
        direct = {"hierarchical": ["naive Bayes"], "shrunken QDA": ["LDA", "QDA"]}
        for program, others in direct.items():
            if program in loss:
                best = loss[others].mean().idxmin()
                line[f"{program}: gain"] = _spread(loss[best] - loss[program])
        lines.append(line)
    return pd.DataFrame(lines).fillna("")


def _spread(values: pd.Series) -> str:
    return f"{values.mean():.3f} +- {values.sem():.3f}"


# -- tables --------------------------------------------------------------------------------------


def bundled(name: str) -> Table:
    """Return a table of the package."""
    X, y = getattr(bg.datasets, f"load_{name}")()
    return Table(name, _declared(X, list(X.select_dtypes("number"))), y.to_numpy())


def of_folder(folder: Path, name: str) -> Table:
    """Return a table of a folder with schema.json."""
    kinds = json.loads((folder / "schema.json").read_text(encoding="utf-8"))[name]["features"]
    X = pd.read_csv(folder / f"{name}.csv")
    y = X.pop("class").astype(str).to_numpy()
    return Table(name, _declared(X, [c for c in X if kinds[c] == "numeric"]), y)


def _declared(X: pd.DataFrame, numbers: list) -> pd.DataFrame:
    types = {column: float if column in numbers else "category" for column in X}
    return X.astype(types)


def main() -> int:
    """Print one line for each table as it is done, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="TABLE", help=f"of {', '.join(BUNDLED)}")
    parser.add_argument("--tables", type=Path, metavar="DIR", help="folder with schema.json")
    parser.add_argument("--regime", choices=REGIMES, action="append")
    parser.add_argument("--repeats", type=int, default=10, help="samples of 24 rows (10)")
    parser.add_argument("--draws", type=int, default=250, help="of NUTS, and as many warm-up steps")
    parser.add_argument("--quick", action="store_true", help="one split: does everything run?")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all log losses here")
    options = parser.parse_args()
    draws, repeats = (30, 1) if options.quick else (options.draws, options.repeats)
    nuts = bg.NUTS(draws, warmup=draws, chains=2, target_accept=0.9, progress=False)
    read = functools.partial(of_folder, options.tables) if options.tables else bundled
    results = []
    for name in options.names or (BUNDLED[:1] if options.quick else BUNDLED):
        table = read(name)
        for regime in options.regime or list(REGIMES)[: 1 if options.quick else None]:
            results += log_losses(table, regime, repeats, nuts)
            done = pd.DataFrame(results)
            last = done[(done["table"] == name) & (done["regime"] == regime)]
            print(f"{name}, {regime}: {last['seconds'].sum():.0f} s", file=sys.stderr, flush=True)
            if options.json:
                options.json.write_text(json.dumps(results, indent=1))
    print(f"NUTS: {draws} draws after {draws} steps of warm-up in 2 chains, target .9")
    print(summary(done).to_string(index=False))
    r_hat = done.groupby("classifier")["r_hat"].quantile([0.5, 1.0]).unstack().dropna()
    print(
        "R-hat, median and largest: "
        + "; ".join(f"{n} {a:.2f}, {b:.2f}" for n, a, b in r_hat.itertuples())
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
