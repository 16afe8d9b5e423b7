"""Do 90 % prediction sets hold the true class, how large are they, and what do they cost?

Naive Bayes on every table, LDA on those of numbers alone without missing cells, fitted to 30, 100
and 300 random rows; and, asked for by --stack, the default stack. Beside them MAPIE's split and
cross-conformal sets of the same model on the same rows, where MAPIE is installed
(uv run --with mapie). New rows are those of classes that the fit knows. Errors are over splits.
"""

import argparse
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from calibration_tables import Benchmark, load
from sklearn.base import clone

import bayesgen as bg

COVERAGE, SIZES, NEW_ROWS, FEWEST = 0.9, (30, 100, 300), 50, 30
"""Of sets; rows of a fit; new rows of a split; rows of a class whose own coverage is reported."""
LEAST, MOST, PER_CLASS, SECONDS = 0.885, 0.935, 0.87, 0.005
"""Goals: of coverage over splits, at most where scores do not tie, of a class, seconds a row."""


def main() -> None:
    """Print Markdown: by table, and the means."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, metavar="DIR", help="as calibration.py takes them")
    parser.add_argument("--only", nargs="+", default=[], metavar="TABLE", help="these tables")
    parser.add_argument("--open", action="store_true", help="the folder's tables alone")
    parser.add_argument("--splits", type=int, default=20, metavar="N")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="ROWS")
    parser.add_argument("--stack", action="store_true", help="the default stack alone")
    parser.add_argument("--json", type=Path, metavar="FILE", help="keep every figure here")
    arguments = parser.parse_args()
    tables = [
        t
        for t in load(arguments.tables, arguments.only)
        if t.origin == "open" or not arguments.open
    ]
    lines = []
    for table in tables:
        for n_rows in arguments.sizes:
            if n_rows + NEW_ROWS > len(table.y):
                continue
            for name, clf in models(table, stack=arguments.stack).items():
                lines.append({"table": table.name, "rows": n_rows, "model": name})
                lines[-1] |= {"numbers": not table.levels} | measured(
                    table, clf, n_rows, arguments.splits
                )
                print(json.dumps(lines[-1]), flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(lines, indent=1), encoding="utf-8")
    print(markdown(lines))


def models(table: Benchmark, *, stack: bool) -> dict[str, object]:
    """Return the models of a table."""
    if stack:
        return {"stack": bg.StackedClassifier(progress=False, random_state=0)}
    complete = not table.levels and not table.X.isna().to_numpy().any()
    return {"naive": bg.NaiveBayes()} | ({"lda": bg.LDA()} if complete else {})


def measured(table: Benchmark, clf: object, n_rows: int, splits: int) -> dict:
    """Return coverage, size and seconds a row by kind of set, each a mean over splits."""
    found, by_class, methods = defaultdict(list), defaultdict(list), set()
    for split in range(splits):
        order = np.random.default_rng(split).permutation(len(table.y))
        fit, new = order[:n_rows], order[n_rows:]
        new = new[np.isin(table.y[new], table.y[fit])][:NEW_ROWS]
        if len(np.unique(table.y[fit])) < 2 or not len(new):
            continue
        X, y, X_new, y_new = table.X.iloc[fit], table.y[fit], table.X.iloc[new], table.y[new]
        for kind, sets, classes, seconds in kinds_of_sets(clf, X, y, X_new, methods):
            covered = sets[np.arange(len(y_new)), np.searchsorted(classes, y_new)]
            found[f"{kind} coverage"].append(covered.mean())
            found[f"{kind} size"].append(sets.sum(axis=1).mean())
            found[f"{kind} seconds"].append(seconds / len(y_new))
            if kind == "by class":
                for k in classes[np.bincount(y, minlength=classes.max() + 1)[classes] >= FEWEST]:
                    by_class[str(table.classes[k])].extend(covered[y_new == k].tolist())
    means = {name: float(np.mean(values)) for name, values in found.items()}
    errors = {
        f"{name} error": float(np.std(values) / np.sqrt(len(values)))
        for name, values in found.items()
        if name.endswith("coverage")
    }
    shares = {k: [float(np.mean(c)), len(c)] for k, c in by_class.items()}
    return means | errors | {"classes": shares, "methods": sorted(methods)}


def kinds_of_sets(
    clf: object, X: object, y: np.ndarray, X_new: object, methods: set
) -> Iterator[tuple[str, np.ndarray, np.ndarray, float]]:
    """Yield kind, sets, their classes, and seconds of the processor for all new rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(clf).fit(X, y)
        start = time.process_time()
        fitted.predict_proba(X_new)
        yield (
            "proba",
            np.ones((len(X_new), len(fitted.classes_)), bool),
            fitted.classes_,
            time.process_time() - start,
        )
        full = {"method": "full"} if isinstance(fitted, bg.LDA) else {}  # "auto" is not, there
        asked = {
            "sets": full,
            "by class": full | {"by": "class"},
            "left out": {"method": "left_out"},
        }
        for kind, options in asked.items():
            start = time.process_time()
            sets, method = fitted.predict_set(X_new, COVERAGE, return_method=True, **options)
            if kind == "sets":
                methods.add(method)
            yield kind, sets, fitted.classes_, time.process_time() - start
        for kind, conformal in rivals(clf, X, y).items():
            start = time.process_time()
            try:
                sets = conformal(X_new)
            except Exception:  # a fold or a half without some class
                continue
            yield kind, sets, np.unique(y), time.process_time() - start


def rivals(clf: object, X: object, y: np.ndarray) -> dict:
    """Return kind -> (new rows -> MAPIE's sets, fit and all)."""
    try:
        from mapie.classification import CrossConformalClassifier, SplitConformalClassifier
    except ImportError:
        return {}

    def split(X_new: object) -> np.ndarray:
        half = len(y) // 2
        model = clone(clf).fit(X.iloc[:half], y[:half])
        conformal = SplitConformalClassifier(model, confidence_level=COVERAGE, prefit=True)
        conformal.conformalize(X.iloc[half:], y[half:])
        sets = np.zeros((len(X_new), len(np.unique(y))), dtype=bool)
        sets[:, np.searchsorted(np.unique(y), model.classes_)] = conformal.predict_set(X_new)[1][
            ..., 0
        ]
        return sets

    def cross(X_new: object) -> np.ndarray:
        conformal = CrossConformalClassifier(
            clone(clf), confidence_level=COVERAGE, cv=5, random_state=0
        )
        conformal.fit_conformalize(X, y)
        return conformal.predict_set(X_new)[1][..., 0]

    return {"MAPIE split": split, "MAPIE cross": cross}


def markdown(lines: list[dict]) -> str:
    """Return means over tables by model and rows, and where goals are missed."""
    text = [
        "| model | rows | tables | sets | coverage | size | ms a row |",
        "| - | - | - | - | - | - | - |",
    ]
    for model, n_rows in sorted({(line["model"], line["rows"]) for line in lines}):
        some = [line for line in lines if (line["model"], line["rows"]) == (model, n_rows)]
        for kind in ("sets", "by class", "left out", "MAPIE split", "MAPIE cross"):
            there = [line for line in some if f"{kind} size" in line]
            if not there:
                continue
            coverage, size, seconds = (
                np.mean([line[f"{kind} {what}"] for line in there])
                for what in ("coverage", "size", "seconds")
            )
            text.append(
                f"| {model} | {n_rows} | {len(there)} | {kind} | {coverage:.3f} | {size:.2f} "
                f"| {1e3 * seconds:.1f} |"
            )
    text += ["", *missed(lines), ""]
    for rival in ("MAPIE split", "MAPIE cross"):
        both = [line for line in lines if f"{rival} size" in line]
        smaller = sum(line["sets size"] < line[f"{rival} size"] for line in both)
        text.append(f"Sets are smaller than those of {rival} on {smaller} of {len(both)} lines.")
    return "\n".join(text)


def missed(lines: list[dict]) -> list[str]:
    """Return where a goal is missed; full sets alone have goals of coverage."""
    found = []
    for line in lines:
        where = f"{line['table']}, {line['rows']} rows, {line['model']}"
        full = line["methods"] == ["full"]
        coverage, error = line["sets coverage"], line["sets coverage error"]
        if full and coverage < LEAST:
            found.append(f"NO: {where}: coverage {coverage:.3f} +- {error:.3f}")
        if full and line["numbers"] and coverage > MOST:
            found.append(
                f"NO: {where}: coverage {coverage:.3f} +- {error:.3f}, more than asked for"
            )
        if full and line["sets seconds"] > SECONDS:
            found.append(f"NO: {where}: {1e3 * line['sets seconds']:.1f} ms a row")
        for label, (share, n) in line["classes"].items():
            if full and share < PER_CLASS:
                found.append(f"NO: {where}, class {label}: coverage {share:.3f} of {n} rows")
    return found


if __name__ == "__main__":
    main()
