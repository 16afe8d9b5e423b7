"""Prevalence by the artificial-prevalence protocol: error, coverage, width, and answers after it.

A stated number of rows is fitted; bags of other rows, without replacement, come from populations
whose class frequencies are drawn from an even Dirichlet distribution. Reported for each table and
estimator: coverage of the frequencies of the population, and of those of the bag, by intervals of
90 %, their width, mean absolute error, relative absolute error (smoothed by 1 / (2 bag), as in
quantification), and the log loss of the rows of a bag as predicted at fit, with the estimate, and
with the true frequencies of the bag. EMQ is the maximum likelihood estimate of the same
probabilities (Saerens, Latinne and Decaestecker 2002); EMQ logistic that of logistic regression.

--cost times 10,000 rows, --simulated measures coverage where the model is right and where columns
repeat each other, --labels coverage with few labels over several truths and real tables, and how
often label shift is rejected there (names are then those of estimators), --shift the size and power
of check_label_shift.
"""

import argparse
import time
import warnings
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesgen as bg
from bayesgen.prevalence import Prevalence

Tables = dict[str, tuple[pd.DataFrame, np.ndarray, int, int, int]]

ESTIMATORS: dict[str, tuple[Callable, str]] = {
    "density, NB": (lambda: bg.NaiveBayes(random_state=0), "density"),
    "density, NB temper='learn'": (
        lambda: bg.NaiveBayes(temper="learn", random_state=0),
        "density",
    ),
    "left_out, NB": (lambda: bg.NaiveBayes(random_state=0), "left_out"),
    "density, stack": (lambda: bg.StackedClassifier(random_state=0), "density"),
    "left_out, stack": (lambda: bg.StackedClassifier(random_state=0), "left_out"),
    "auto, stack": (lambda: bg.StackedClassifier(random_state=0), "auto"),
}


def tables() -> Tables:
    """Return name -> (rows, labels, rows of a fit, rows of a bag, bags of a fit)."""
    cancer, wine = (load(as_frame=True) for load in (load_breast_cancer, load_wine))
    votes, party = bg.datasets.load_housevotes84()
    return {
        "breast cancer": (cancer.data, cancer.target.to_numpy(), 150, 80, 8),
        "votes": (votes, party.to_numpy(), 120, 60, 8),
        "wine": (wine.data, wine.target.to_numpy(), 60, 40, 6),
    }


Bag = tuple[np.ndarray, np.ndarray]
"""Positions of rows, and the class frequencies of the population that they come from."""


def bag_of(codes: np.ndarray, n_classes: int, size: int, rng: np.random.Generator) -> Bag | None:
    """Return a bag from a population of random class frequencies; None if too few rows remain."""
    population = rng.dirichlet(np.ones(n_classes))
    counts = rng.multinomial(size, population)
    rows = [np.flatnonzero(codes == k) for k in range(n_classes)]
    if any(len(some) < n for some, n in zip(rows, counts, strict=True)):
        return None
    chosen = (rng.choice(some, n, replace=False) for some, n in zip(rows, counts, strict=True))
    return np.concatenate(list(chosen)), population


def splits(
    y: np.ndarray, fitted: int, size: int, bags: int, repeats: int
) -> Iterator[tuple[np.ndarray, list[Bag]]]:
    """Yield the rows of a fit, stratified at random, and the bags of other rows."""
    classes, codes = np.unique(y, return_inverse=True)
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        train, rest = order[:fitted], order[fitted:]
        found = (bag_of(codes[rest], len(classes), size, rng) for _ in range(50 * bags))
        yield train, [(rest[bag[0]], bag[1]) for bag in found if bag is not None][:bags]


def emq(proba: np.ndarray, trained: np.ndarray) -> np.ndarray:
    """Return the maximum likelihood frequencies by EM from predicted probabilities."""
    pi = trained
    for _ in range(2000):
        odds = proba * (pi / trained)
        before, pi = pi, (odds / odds.sum(axis=1, keepdims=True)).mean(axis=0)
        if np.abs(pi - before).max() < 1e-9:
            break
    return pi


def log_loss(proba: np.ndarray, codes: np.ndarray) -> float:
    """Return the mean log loss, of probabilities of at least 1e-12."""
    return float(-np.log(np.maximum(proba[np.arange(len(codes)), codes], 1e-12)).mean())


def scored(table: tuple, repeats: int, draws: int) -> pd.DataFrame:
    """Return one line for each bag and estimator."""
    X, y, fitted, size, bags = table
    classes, codes = np.unique(y, return_inverse=True)
    lines = []
    for train, parts in splits(y, fitted, size, bags, repeats):
        done: dict[object, bg.NaiveBayes] = {}
        for name, (build, method) in ESTIMATORS.items():
            key = name.split(", ", 1)[1]
            if key not in done:
                done[key] = build().fit(X.iloc[train], y[train])
            lines += [_line(name, done[key], X, codes, bag, method, draws) for bag in parts]
        for key, clf in done.items():
            even = clf.with_class_prior("uniform")
            flat = np.full(len(classes), 1 / len(classes))
            for bag, _ in parts:
                found = emq(even.predict_proba(X.iloc[bag]), flat)
                lines.append({"estimator": f"EMQ, {key}"} | _errors(found, codes[bag]))
        if all(dtype.kind == "f" for dtype in X.dtypes):
            rival = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            rival.fit(X.iloc[train], y[train])
            trained = np.bincount(codes[train], minlength=len(classes)) / len(train)
            for bag, _ in parts:
                found = emq(rival.predict_proba(X.iloc[bag]), trained)
                lines.append({"estimator": "EMQ, logistic"} | _errors(found, codes[bag]))
    return pd.DataFrame(lines)


def _line(
    name: str,
    clf: bg.NaiveBayes,
    X: pd.DataFrame,
    codes: np.ndarray,
    bag: Bag,
    method: str,
    draws: int,
) -> dict:
    rows, own = X.iloc[bag[0]], codes[bag[0]]
    found = clf.estimate_prevalence(rows, method=method, draws=draws, random_state=0)
    ends, true = found.interval(0.9), _frequencies(own, len(found.mean))
    lower, upper = ends.to_numpy().T
    inside = [(lower <= some) & (some <= upper) for some in (bag[1], true)]
    losses = {
        "as fitted": log_loss(clf.predict_proba(rows), own),
        "with estimate": log_loss(clf.with_class_prior(found).predict_proba(rows), own),
        "with truth": log_loss(
            clf.with_class_prior((true + 1e-3) / (true + 1e-3).sum()).predict_proba(rows), own
        ),
    }
    width = float((ends.upper - ends.lower).mean())
    parts = {"estimator": name, "coverage": inside[0].mean(), "of the bag": inside[1].mean()}
    parts["width"] = width
    return parts | _errors(found.mean.to_numpy(), own) | losses


def _frequencies(codes: np.ndarray, n_classes: int) -> np.ndarray:
    return np.bincount(codes, minlength=n_classes) / len(codes)


def _errors(found: np.ndarray, codes: np.ndarray) -> dict:
    """Return the absolute error, and the relative one of smoothed frequencies."""
    true, smooth = _frequencies(codes, len(found)), 1 / (2 * len(codes))
    each = (np.abs(found - true)) / (true + smooth)
    return {"MAE": np.abs(found - true).mean(), "RAE": each.mean()}


# -- simulated tables ------------------------------------------------------------------------------


def simulated(runs: int, *, correlation: float, labeled: int, new: int) -> pd.DataFrame:
    """Return coverage where a naive Bayes model is right (0), or reads correlated columns."""
    lines, p, n_classes = [], 5, 3
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        if correlation:
            variance = np.ones((n_classes, p))
            mean = 0.7 * rng.standard_normal((n_classes, p))
        else:  # classes from the prior that is fitted
            variance = 4 * 1.0 / rng.chisquare(4, (n_classes, p))
            mean = rng.standard_normal((n_classes, p)) * np.sqrt(variance)
        root = np.linalg.cholesky((1 - correlation) * np.eye(p) + correlation)

        def rows(codes, rng=rng, mean=mean, variance=variance, root=root):
            noise = rng.standard_normal((len(codes), p)) @ root.T
            return mean[codes] + np.sqrt(variance[codes]) * noise

        y = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=labeled - 3)])
        pi = rng.dirichlet(np.ones(n_classes))
        own = rng.choice(n_classes, size=new, p=pi)
        X, X_new = rows(y), rows(own)
        prior = bg.Normal(mean=0, mean_rows=1, variance=1, variance_rows=4)
        for name, clf, method in (
            ("density", bg.NaiveBayes(prior, random_state=0), "density"),
            ("density, temper='learn'", bg.NaiveBayes(prior, temper="learn"), "density"),
            ("left_out", bg.NaiveBayes(prior, random_state=0), "left_out"),
            ("auto", bg.NaiveBayes(prior, random_state=0), "auto"),
        ):
            found = clf.fit(X, y).estimate_prevalence(X_new, method=method, random_state=seed)
            ends = found.interval(0.9).to_numpy()
            lines.append(
                {
                    "estimator": name,
                    "MAE": np.abs(found.mean.to_numpy() - pi).mean(),
                    "MAE of EMQ": np.abs(found.mode.to_numpy() - pi).mean(),
                    "coverage": ((ends[:, 0] <= pi) & (pi <= ends[:, 1])).mean(),
                    "width": (ends[:, 1] - ends[:, 0]).mean(),
                }
            )
    return pd.DataFrame(lines)


TRUTHS = ("naive", "linear", "quadratic", "mixture")


def truth(kind: str, n_classes: int, p: int, rng: np.random.Generator) -> Callable:
    """Return a function that draws rows of stated classes, from a distribution drawn here.

    Columns independent given the class; normal with a shared covariance, and with one of each
    class; two normal clusters in each class.
    """
    if kind == "naive":
        sd = np.sqrt(4 / rng.chisquare(4, (n_classes, p)))
        mean = 0.7 * rng.standard_normal((n_classes, p)) * sd
        return lambda codes: mean[codes] + sd[codes] * rng.standard_normal((len(codes), p))
    if kind == "mixture":
        mean = 0.9 * rng.standard_normal((n_classes, 2, p))
        sd = rng.uniform(0.5, 1.2, (n_classes, 2, p))

        def clusters(codes: np.ndarray) -> np.ndarray:
            at = codes, rng.integers(0, 2, len(codes))
            return mean[at] + sd[at] * rng.standard_normal((len(codes), p))

        return clusters
    mean = (0.6 if kind == "linear" else 0.5) * rng.standard_normal((n_classes, p))
    factors = rng.standard_normal((1 if kind == "linear" else n_classes, p, p))
    covariance = factors @ np.swapaxes(factors, 1, 2) / p + 0.25 * np.eye(p)
    sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
    root = np.linalg.cholesky(covariance / sd[:, :, None] / sd[:, None])

    def normal(codes: np.ndarray) -> np.ndarray:
        noise = rng.standard_normal((len(codes), p, 1))
        return mean[codes] + (root[codes % len(root)] @ noise)[..., 0]

    return normal


BUILDERS: dict[str, Callable] = {
    "stack": lambda: bg.StackedClassifier(random_state=0),
    "naive Bayes and LDA": lambda: bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]),
    "naive Bayes": lambda: bg.NaiveBayes(random_state=0),
    "LDA": lambda: bg.LDA(random_state=0),
}
LABELS = (15, 40, 100)
BAG = 50
"""New rows of a real table."""


def few_labels(runs: int, labels: int, names: list[str]) -> pd.DataFrame:
    """Return the coverage of both methods, and of what "auto" chooses, with so many labels a class.

    names: of the estimators; none: all.
    """
    lines = []
    for kind in TRUTHS:
        for seed in range(runs):
            rng = np.random.default_rng([seed, labels, len(kind)])
            n_classes, size = 2 + seed % 2, (100, 200, 300)[seed % 3]
            rows = truth(kind, n_classes, 5, rng)
            pi, y = rng.dirichlet(np.ones(n_classes)), np.repeat(np.arange(n_classes), labels)
            X, X_new = rows(y), rows(rng.choice(n_classes, size, p=pi))
            for name, build in BUILDERS.items():
                if names and name not in names:
                    continue
                clf = build().fit(X, y)
                estimates = {"auto": clf.estimate_prevalence(X_new, random_state=0)}
                chosen = estimates["auto"].report.method
                other = {"density": "left_out", "left_out": "density"}[chosen]
                estimates |= {chosen: estimates["auto"]}
                estimates |= {other: clf.estimate_prevalence(X_new, method=other, random_state=0)}
                for method in ("density", "left_out", "auto"):
                    line = _covered(f"{name}, {method}", estimates[method], pi)
                    lines.append(line | {"truth": kind})
    return pd.DataFrame(lines)


def few_labels_of_tables(runs: int, labels: int) -> pd.DataFrame:
    """Return the coverage of a stack's `method="auto"` in real tables with so many labels a class.

    Every run takes other rows of the table. Tables need BAG more rows of every class, so that the
    new rows may all be of one.
    """
    lines = []
    passengers, survived = bg.datasets.load_titanic_passengers()
    votes, party = bg.datasets.load_housevotes84()
    cancer = load_breast_cancer(as_frame=True)
    for name, (X, y) in {
        "breast cancer": (cancer.data, cancer.target),
        "votes": (votes, party),
        "biopsy": bg.datasets.load_biopsy(),
        "penguins": bg.datasets.load_penguins(),
        "passengers": (passengers, survived),
    }.items():
        classes, codes = np.unique(np.asarray(y), return_inverse=True)
        if np.bincount(codes).min() < labels + BAG:
            continue
        for seed in range(runs):
            rng = np.random.default_rng([seed, labels])
            order = rng.permutation(len(codes))
            of_class = [order[codes[order] == k] for k in range(len(classes))]
            labeled = np.concatenate([rows[:labels] for rows in of_class])
            pi = rng.dirichlet(np.ones(len(classes)))
            counts = rng.multinomial(BAG, pi)
            new = [rows[labels:][:n] for rows, n in zip(of_class, counts, strict=True)]
            clf = bg.StackedClassifier(random_state=0).fit(X.iloc[labeled], codes[labeled])
            estimate = clf.estimate_prevalence(X.iloc[np.concatenate(new)], random_state=0)
            lines.append(_covered(f"{name}, {estimate.report.method}", estimate, pi))
    return pd.DataFrame(lines)


def _covered(name: str, estimate: Prevalence, pi: np.ndarray) -> dict:
    """Return one line: coverage of the frequencies by 90 %, mean width and error, rejections."""
    lower, upper = estimate.interval().to_numpy().T
    return {
        "estimator": name,
        "coverage": ((lower <= pi) & (pi <= upper)).mean(),
        "width": (upper - lower).mean(),
        "MAE": np.abs(estimate.mean.to_numpy() - pi).mean(),
        "rejected": bool(estimate.rejected),
    }


# -- cost, and label shift -------------------------------------------------------------------------


def cost(repeats: int) -> pd.DataFrame:
    """Return the seconds of 10,000 rows of 10 columns and 3 classes, the least of some."""
    rng, (n_classes, p) = np.random.default_rng(0), (3, 10)
    mean = 0.5 * rng.standard_normal((n_classes, p))
    y, own = rng.integers(n_classes, size=600), rng.choice(n_classes, 10_000, p=[0.6, 0.3, 0.1])
    X, X_new = (mean[c] + rng.standard_normal((len(c), p)) for c in (y, own))
    lines = []
    for clf in (bg.NaiveBayes(), bg.QDA(), bg.StackedClassifier(random_state=0)):
        clf.fit(X, y)
        for method, draws in (("density", 200), ("density", 1000), ("left_out", 1000)):
            each = []
            for _ in range(repeats):
                start = time.process_time()
                clf.estimate_prevalence(X_new, method=method, draws=draws, random_state=0)
                each.append(time.process_time() - start)
            name = f"{type(clf).__name__}, {method}, {draws} draws"
            lines.append({"estimator": name, "seconds": min(each)})
    return pd.DataFrame(lines)


def shift(repeats: int) -> pd.DataFrame:
    """Return how often the check finds nothing but prevalence, noise, and a column that moved."""
    lines = []
    for table, (X, y, fitted, _, _) in tables().items():
        if any(dtype.kind != "f" for dtype in X.dtypes):
            continue
        sd, size = X.std().to_numpy(), 200 if len(X) > 400 else 80
        for name, build in (("NB", bg.NaiveBayes), ("LDA", bg.LDA)):
            for train, bags in splits(y, fitted, size, 1, repeats):
                rng = np.random.default_rng(len(lines))
                clf = build(random_state=0).fit(X.iloc[train], y[train])
                j = int(rng.integers(X.shape[1]))
                for bag, _ in bags:
                    rows = X.iloc[bag]
                    moved = rows.copy()
                    moved.iloc[:, j] += sd[j]
                    noise = rows + 0.7 * sd * rng.standard_normal(rows.shape)
                    for kind, some in (("size", rows), ("noise", noise), ("moved", moved)):
                        found = clf.check_label_shift(some).p_value
                        columns = found.drop("(density)")
                        least = min(1.0, columns.min() * len(columns))
                        lines.append(
                            {
                                "estimator": f"{table}, {name}, {kind}",
                                "density": found["(density)"] < 0.05,
                                "each column": (columns < 0.05).mean(),
                                "columns": least < 0.05,
                                "right column": columns.idxmin() == X.columns[j]
                                if kind == "moved" and least < 0.05
                                else np.nan,
                            }
                        )
    return pd.DataFrame(lines)


def power(repeats: int) -> pd.DataFrame:
    """Return how often a column that moved is found, with few rows and with more."""
    lines = []
    for labeled, new in ((40, 50), (80, 100), (200, 200)):
        for seed in range(repeats):
            rng = np.random.default_rng(seed)
            rows, y = truth("linear", 2, 5, rng), np.arange(labeled) % 2
            X, X_new = rows(y), rows(rng.choice(2, new, p=rng.dirichlet(np.ones(2))))
            X_new[:, seed % 5] += X[:, seed % 5].std()
            clf = bg.NaiveBayes(random_state=0).fit(X, y)
            columns = clf.check_label_shift(X_new).p_value.drop("(density)")
            found = columns.min() * len(columns) < 0.05
            name = f"{labeled} labeled, {new} new rows"
            lines.append({"estimator": name, "columns": found})
    return pd.DataFrame(lines)


def _with_error(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines with the standard error of their mean coverage, tables independent."""
    error = lines.groupby("estimator").coverage.transform("sem")
    return lines.drop(columns="truth", errors="ignore").assign(**{"standard error": error})


def printed(title: str, lines: pd.DataFrame, runs: str) -> None:
    """Print means by estimator as a Markdown table."""
    means = lines.groupby("estimator", sort=False).mean(numeric_only=False)
    print(f"\n{title} ({runs})\n\n| estimator | {' | '.join(means.columns)} |")
    print(f"| {' | '.join(['---'] * (1 + len(means.columns)))} |")
    for name, line in means.iterrows():
        cells = ("" if pd.isna(value) else f"{float(value):.3f}" for value in line)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="tables (all)")
    parser.add_argument("--repeats", type=int, default=20, help="fits of a table")
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--runs", type=int, default=300, help="runs of simulated tables")
    parser.add_argument("--quick", action="store_true", help="few fits: does it run?")
    for part in ("cost", "simulated", "labels", "shift"):
        parser.add_argument(f"--{part}", action="store_true", help=f"{part} alone")
    given = parser.parse_args()
    repeats, runs = (2, 4) if given.quick else (given.repeats, given.runs)
    warnings.simplefilter("ignore")
    alone = given.cost or given.simulated or given.labels or given.shift
    if given.cost or given.quick:
        printed("Cost", cost(1 if given.quick else 3), "process seconds, least of the repeats")
    if given.simulated or given.quick:
        for label, options in (
            ("Model right", {"correlation": 0.0, "labeled": 40, "new": 200}),
            ("Columns correlated .6", {"correlation": 0.6, "labeled": 40, "new": 200}),
            ("Columns correlated .6", {"correlation": 0.6, "labeled": 200, "new": 500}),
        ):
            sizes = f"{options['labeled']} labeled rows, {options['new']} new, {runs} runs"
            printed(label, simulated(runs, **options), sizes)
    if given.labels or given.quick:
        for labels in LABELS[:1] if given.quick else LABELS:
            lines = few_labels(runs, labels, given.names)
            title = f"{labels} labeled rows a class"
            printed(title, _with_error(lines), f"{runs} tables of each of {len(TRUTHS)} truths")
            chosen = lines[lines.estimator == "stack, auto"]
            for kind, part in chosen.groupby("truth", sort=False):
                printed(f"{title}, {kind}", _with_error(part), f"{runs} tables")
            lines = few_labels_of_tables(given.repeats, labels)
            printed(f"{title}, stack, real tables", _with_error(lines), f"{given.repeats} fits")
    if given.shift or given.quick:
        printed("A column moved by 1 sd, share found at .05", power(repeats), f"{repeats} tables")
        printed(
            "Label shift, share found at .05",
            shift(repeats),
            f"{repeats} fits, 200 and 80 new rows",
        )
    if alone and not given.quick:
        return
    for name, table in tables().items():
        if not given.names or name in given.names:
            lines = scored(table, repeats, given.draws)
            n = (lines.estimator == "density, NB").sum()
            printed(name, lines, f"{repeats} fits to {table[2]} rows, {n} bags of {table[3]}")


if __name__ == "__main__":
    main()
