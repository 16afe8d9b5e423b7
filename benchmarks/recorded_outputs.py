"""Record what models answer on many tables, or compare two records, line by line.

    python benchmarks/recorded_outputs.py record before.npz
    python benchmarks/recorded_outputs.py compare before.npz after.npz

A change of structure must change no answer: closed forms agree to 1e-12, what an optimizer or EM
reaches to 1e-7, draws of equal seeds to 1e-7 too. Records are not committed: rounding differs from
machine to machine.
"""

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import bayesgen as bg

ROWS = 200
"""Rows of a table that are fitted; twenty more are predicted."""
NEW_ROWS = 20
TOLERANCES = {"closed form": 1e-12, "optimizer": 1e-7, "draws": 1e-7}
"""Largest difference of two records, relative to values above 1."""

Table = tuple[pd.DataFrame, pd.Series]
Answers = dict[str, np.ndarray]


def tables() -> dict[str, Table]:
    """Return the bundled tables, at most 220 rows of each, and three of them with missing cells."""
    out: dict[str, Table] = {}
    for name in bg.datasets.names():
        X, y = getattr(bg.datasets, f"load_{name}")()
        order = np.random.default_rng(0).permutation(len(X))[: ROWS + NEW_ROWS]
        out[name] = X.iloc[order].reset_index(drop=True), y.iloc[order].reset_index(drop=True)
    for name in ("iris", "penguins", "titanic_passengers"):
        X, y = out[name]
        missing = np.random.default_rng(1).random(X.shape) < 0.15
        out[f"{name}, 15 % missing"] = X.mask(missing), y
    return out


def models(name: str, X: pd.DataFrame) -> Iterator[tuple[str, str, object]]:
    """Yield (name, kind of its answers, classifier) for one table."""
    numeric = all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)
    missing = bool(X.isna().to_numpy().any())
    counts = name in ("bow4", "spam")
    yield "naive Bayes", "closed form", bg.NaiveBayes(random_state=0)
    yield "naive Bayes, MLE", "closed form", bg.NaiveBayes(inference="mle")
    yield "naive Bayes, MAP", "closed form", bg.NaiveBayes(inference="map")
    yield "naive Bayes, tempered", "optimizer", bg.NaiveBayes(temper="columns", random_state=0)
    yield (
        "naive Bayes, transformed",
        "optimizer",
        bg.NaiveBayes(power_transform=True, random_state=0),
    )
    if name == "bow4":
        yield "bag of words", "closed form", bg.BagOfWords(random_state=0)
    if X.shape[1] <= 4 and not numeric:
        yield "joint table", "closed form", bg.JointTable(random_state=0)
    if numeric and not counts and X.shape[1] < 12:
        for model in (bg.LDA, bg.QDA):
            kind = "optimizer" if missing else "closed form"
            title = model.__name__
            yield f"{title}, MLE", kind, model(inference="mle")
            yield f"{title}, MAP", kind, model(inference="map")
            yield title, "draws" if missing else kind, model(random_state=0)
            yield f"{title}, expected", "optimizer", model(inference="expected", random_state=0)
            yield f"{title}, learned", "optimizer", model(covariance_rows="learn", random_state=0)
        kernels = bg.GenerativeClassifier(bg.KernelDiscriminant(), random_state=0)
        yield "kernel discriminant", "optimizer", kernels
        yield "kernels", "optimizer", bg.NaiveBayes(bg.KernelDensity(), random_state=0)
    if len(X) > 30 and X.shape[1] < 20:
        members = ["naive", "linear"]
        yield "stack of two", "optimizer", bg.StackedClassifier(members, random_state=0)
        yield "stack", "optimizer", bg.StackedClassifier(random_state=0)
    if name in ("iris", "voters"):
        method = bg.NUTS(draws=50, warmup=100, chains=1, progress=False)
        yield "naive Bayes, NUTS", "draws", bg.NaiveBayes(inference=method, random_state=0)


def questions(clf: object, X: pd.DataFrame, new: pd.DataFrame) -> dict[str, Callable]:
    """Return what is asked of a fitted classifier, by name."""
    return {
        "predict_proba": lambda: clf.predict_proba(new),
        "predict_interval": lambda: clf.predict_interval(new),
        "score_samples": lambda: clf.score_samples(new),
        "log_evidence_": lambda: clf.log_evidence_,
        "loo": lambda: clf.loo().to_numpy(),
        "impute": lambda: pd.get_dummies(clf.impute(X, random_state=0)).to_numpy(float),
        "sample": lambda: pd.get_dummies(pd.DataFrame(clf.sample(9, random_state=0)[0])).to_numpy(),
        "evidence": lambda: clf.evidence(new.iloc[:2]).select_dtypes("number").to_numpy(float),
        "saved": lambda: _loaded(clf).predict_proba(new),
    }


def _loaded(clf: object) -> object:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bgm"
        clf.save(path)
        return bg.load(path)


def record() -> Answers:
    """Return every answer by "kind | table | model | question"; refusals are left out."""
    out: Answers = {}
    for name, (X, y) in tables().items():
        n = max(len(X) - NEW_ROWS, len(X) // 2)
        if name.startswith(("bow4", "voters", "play_tennis", "titanic")) and len(X) < 30:
            n = len(X)
        fitted, labels, new = X.iloc[:n], y.iloc[:n], X.iloc[-NEW_ROWS:]
        for title, kind, clf in models(name, X):
            print(f"{name}: {title}", file=sys.stderr, flush=True)
            for source, fit in _fits(clf, fitted, labels).items():
                try:
                    after = fit()
                except bg.errors.BayesgenError:
                    continue
                asked = questions(after, fitted, new)
                for question, ask in asked.items() if source == "frame" else [*asked.items()][:1]:
                    try:
                        answer = np.asarray(ask(), dtype=float)
                    except (bg.errors.BayesgenError, AttributeError):
                        continue
                    draws = kind == "draws" or question in ("impute", "sample", "predict_interval")
                    line = f"{'draws' if draws else kind} | {name} | {title}"
                    out[f"{line} | {question}, {source}"] = answer
    return out


def _fits(clf: object, X: pd.DataFrame, y: pd.Series) -> dict[str, Callable]:
    """Return the ways to fit a classifier: in memory, and for some from a file of two formats."""

    def of_file(suffix: str) -> object:
        with tempfile.TemporaryDirectory() as folder:
            path, frame = Path(folder) / f"rows{suffix}", X.assign(target=y.to_numpy())
            if suffix == ".csv":
                frame.to_csv(path, index=False)
            else:
                frame.to_parquet(path)
            return type(clf)(**clf.get_params(deep=False)).fit(path, y="target")

    fits: dict[str, Callable] = {"frame": lambda: clf.fit(X, y)}
    if type(clf) in (bg.NaiveBayes, bg.LDA, bg.QDA, bg.StackedClassifier) and len(X) > 30:
        fits |= {s: lambda s=s: of_file(s) for s in (".csv", ".parquet")}
    return fits


def compare(before: Answers, after: Answers) -> int:
    """Print the lines that differ by more than their kind allows, and return their number."""
    wrong = [f"gone: {line}" for line in before if line not in after]
    largest = dict.fromkeys(TOLERANCES, 0.0)
    for line in before.keys() & after.keys():
        old, new = before[line], after[line]
        kind = line.split(" | ")[0]
        if old.shape != new.shape or (np.isfinite(old) != np.isfinite(new)).any():
            wrong.append(f"other shape or missing entries: {line}")
            continue
        finite = np.isfinite(old)
        scale = np.maximum(np.abs(old[finite]), 1.0)
        difference = float((np.abs(old[finite] - new[finite]) / scale).max(initial=0.0))
        largest[kind] = max(largest[kind], difference)
        if difference > TOLERANCES[kind]:
            wrong.append(f"{difference:.1e}: {line}")
    print(*sorted(wrong), sep="\n")
    print(f"{len(before)} answers before, {len(after)} after, {len(wrong)} differ")
    print("largest differences:", ", ".join(f"{k} {v:.1e}" for k, v in largest.items()))
    return len(wrong)


def main() -> int:
    """Run one of the two commands."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=("record", "compare"))
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    arguments = parser.parse_args()
    if arguments.command == "compare":
        before, after = (dict(np.load(path)) for path in arguments.files)
        return int(compare(before, after) > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.savez_compressed(arguments.files[0], **record())
    return 0


if __name__ == "__main__":
    sys.exit(main())
