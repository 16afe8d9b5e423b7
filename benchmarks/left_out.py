"""Are rows that are left out really out? Scores by leave-one-out beside those of new rows.

Simulated tables whose new rows are at hand. Rows get weights, or are there several times, as where
a rare class is oversampled; a class prior other than the frequencies of the table is stated; label
shift holds, or does not; columns outnumber rows. Each line is a mean over tables and its standard
error. Only what users call is called: an older version prints its own figures.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

import bayesgen as bg

NEW = 5000
SCORE = "leave-one-out log loss"
Table = tuple[pd.DataFrame, np.ndarray]


def independent(n: int, seed: int) -> Table:
    """Return rows of three numbers, of which one tells of the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return pd.DataFrame(rng.normal(size=(n, 3)) + y[:, None] * [1, 0, 0], columns=list("abc")), y


def exclusive_or(n: int, seed: int) -> Table:
    """Return rows of five numbers, the signs of two of which tell of the class together."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    y = rng.random(n) < 1 / (1 + np.exp(-3 * np.sign(X[:, 0] * X[:, 1])))
    return pd.DataFrame(X, columns=list("abcde")), y.astype(int)


def mixed(n: int, seed: int) -> Table:
    """Return rows of two numbers and two columns of levels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = pd.DataFrame(rng.normal(size=(n, 2)) + 0.7 * y[:, None], columns=list("ab"))
    X["g"] = np.where(rng.random(n) < 0.3 + 0.4 * y, "u", rng.choice(list("vw"), n))
    return X.assign(h=rng.choice(list("xy"), n)), y


def repetitions(X: pd.DataFrame, y: np.ndarray, seed: int) -> Iterator[tuple[str, Table, object]]:
    """Yield the same rows, weighted and repeated: name, rows, weights."""
    n, rng = len(y), np.random.default_rng(seed)
    for weight in (1.0, 2.0, 10.0):
        yield f"weight {weight:g}", (X, y), np.full(n, weight)
    twice = np.r_[np.arange(n), np.arange(0, n, 2)]
    yield "half of the rows twice", (X.iloc[twice], y[twice]), None
    rare = np.flatnonzero(y == 1)[: n // 10]
    few = np.r_[np.flatnonzero(y == 0), rare]
    again = np.r_[few, rng.choice(rare, (y == 0).sum() - len(rare))]
    yield "a tenth of one class", (X.iloc[few], y[few]), None
    yield "the same, oversampled", (X.iloc[again], y[again]), None


def line(values: list[float]) -> str:
    """Return a mean and its standard error."""
    return f"{np.mean(values):.4f} ± {np.std(values) / np.sqrt(len(values)):.4f}"


def as_table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return lines as a Markdown table."""
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def loss(clf: object, X: pd.DataFrame, y: np.ndarray) -> np.ndarray:
    """Return -log P of the class of each row."""
    return -clf.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(clf.classes_, y)]


def weights(make: Callable[[int, int], Table], n: int, tables: int) -> list[list[str]]:
    """Return lines on weights and copies: the log loss of new rows, and by rows left out."""
    found: dict[str, list[list[float]]] = {}
    for seed in range(tables):
        new, own = make(NEW, 10_000 + seed)
        for name, (X, y), weight in repetitions(*make(n, seed), seed):
            clf = bg.StackedClassifier(random_state=0).fit(X, y, sample_weight=weight)
            rare = "tenth" in name or "same" in name
            if rare:  # new rows have the classes of the table
                clf = clf.with_class_prior([0.5, 0.5])
            each = loss(clf, new, own)
            error = each.std() / np.sqrt(n)
            score = clf.report_.details[SCORE]
            sets = clf.predict_set(new.iloc[:500])
            covered = sets[np.arange(500), own[:500]].mean()
            far = np.nan if rare else (score - each.mean()) / error
            forest = clf.weights_.get("forest", 0.0)
            found.setdefault(name, []).append([each.mean(), score, far, covered, forest])
    lines = []
    for name, values in found.items():
        columns = np.array(values).T
        changed = columns[0] - np.array(found["weight 1"]).T[0]
        lines.append([name, line(columns[0]), line(changed), *map(line, columns[1:])])
    return lines


def stated_priors(tables: int) -> list[list[str]]:
    """Return lines on a case-control table whose population has 2 % of ill."""
    found: dict[str, list[float]] = {}

    def rows(ill: int, well: int, seed: int) -> Table:
        rng = np.random.default_rng(seed)
        y = np.r_[np.ones(ill, int), np.zeros(well, int)]
        return pd.DataFrame(rng.normal(size=(ill + well, 3)) + y[:, None] * [1.2, 0.8, 0]), y

    prior = [0.98, 0.02]
    for seed in range(tables):
        X, y = rows(150, 150, seed)
        X.columns = list("abc")
        new, own = rows(100, 4900, 10_000 + seed)
        new.columns = list("abc")
        for name, make in {
            "stack": lambda **o: bg.StackedClassifier(random_state=0, **o),
            "temper='learn'": lambda **o: bg.NaiveBayes(temper="learn", **o),
            "temper='columns'": lambda **o: bg.NaiveBayes(temper="columns", **o),
        }.items():
            stated, after = make(class_prior=prior).fit(X, y), make().fit(X, y)
            after = after.with_class_prior(prior)
            found.setdefault(f"{name}, class_prior= at fit", []).append(
                loss(stated, new, own).mean()
            )
            found.setdefault(f"{name}, with_class_prior", []).append(loss(after, new, own).mean())
            gap = np.abs(stated.predict_proba(new) - after.predict_proba(new)).max()
            found.setdefault(f"{name}, largest difference", []).append(gap)
    return [[name, line(values)] for name, values in found.items()]


def label_shift(tables: int) -> list[list[str]]:
    """Return how often label shift is rejected at .05 by each column, where it holds or not."""
    means = np.array([[0, 0, 0, 0], [1, 0.5, 0, -0.5], [-0.5, 1, 0.8, 0]])
    shifted = means.copy()
    shifted[2, 0] += 0.6
    y, lines = np.repeat(np.arange(3), 50), []
    for title, moved in (("holds", means), ("column a of a class moved", shifted)):
        for name, make in {
            "stack": lambda: bg.StackedClassifier(["naive", "linear"], random_state=0),
            "naive Bayes": lambda: bg.NaiveBayes(random_state=0),
        }.items():
            p = []
            for seed in range(tables):
                rng = np.random.default_rng([97, seed])

                def rows(y: np.ndarray, m: np.ndarray, rng: object = rng) -> pd.DataFrame:
                    return pd.DataFrame(rng.normal(size=(len(y), 4)) + m[y], columns=list("abcd"))

                clf = make().fit(rows(y, means), y)
                new = rows(rng.choice(3, 200, p=[0.2, 0.5, 0.3]), moved)
                p.append(clf.check_label_shift(new).p_value < 0.05)
            share = np.mean(p, axis=0)
            lines.append([title, name, " ".join(f"{s:.2f}" for s in share)])
    return lines


def wide(tables: int) -> list[list[str]]:
    """Return the left-out and the new log loss where columns outnumber rows."""
    found: dict[str, list[list[float]]] = {}
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        effect = rng.normal(size=500) * 0.15

        def rows(n: int, rng: object = rng, effect: np.ndarray = effect) -> Table:
            y = np.arange(n) % 2
            return pd.DataFrame(rng.normal(size=(n, 500)) + y[:, None] * effect).add_prefix("x"), y

        (X, y), (new, own) = rows(60), rows(1000)
        for name, options in {"temper='columns'": "columns", "temper='learn'": "learn"}.items():
            clf = bg.NaiveBayes(temper=options).fit(X, y)
            score = clf.report_.details.get(SCORE, np.nan)
            found.setdefault(name, []).append([loss(clf, new, own).mean(), score])
    return [[name, *map(line, np.array(values).T)] for name, values in found.items()]


PARTS = ("weights", "priors", "shift", "wide")
COLUMNS = ("rows", "new log loss", "against weight 1", "left-out log loss")
COLUMNS += ("off, standard errors", "sets cover", "forest's weight")


def main() -> None:
    """Print the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--tables", type=int, default=20, help="simulated tables a line")
    options = parser.parse_args()
    parts = options.parts or PARTS
    warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
    if "weights" in parts:
        for make, n in ((independent, 200), (exclusive_or, 300), (mixed, 200), (independent, 60)):
            print(f"\n{make.__name__}, {n} rows\n")
            print(as_table(COLUMNS, weights(make, n, options.tables)))
    if "priors" in parts:
        print(
            "\n" + as_table(("class prior stated", "new log loss"), stated_priors(options.tables))
        )
    if "shift" in parts:
        columns = ("label shift", "model", "rejected at .05: a b c d (density)")
        print("\n" + as_table(columns, label_shift(10 * options.tables)))
    if "wide" in parts:
        columns = ("60 rows x 500 columns", "new log loss", "left-out log loss")
        print("\n" + as_table(columns, wide(options.tables)))


if __name__ == "__main__":
    main()
