"""Fits of 1,000,000 x 20 with 5 classes: by maximum likelihood, in batches; scatter matrices.

Maximum likelihood, against scikit-learn: both sides check their input in full (scikit-learn by its
defaults), read the same arrays and answer alike, which is checked first. Batches: partial_fit of a
hundredth of the rows at a time against one fit. Scatter matrices: counts, means and scatter of
every class against X.T @ X of all rows. Missing cells: QDA of rows that lack some cells against
the same rows complete.
"""

from functools import partial

import numpy as np
from measure import Options, assert_close, compared, in_turn, main, ratio
from results import Result
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from tables import level_rows, normal_rows

import bayesgen as bg

N_CLASSES, N_FEATURES, N_LEVELS = 5, 20, 6
N_BATCHES = 100

Rows = tuple[np.ndarray, np.ndarray]


def measure(options: Options) -> list[Result]:
    """Return how many times as fast as scikit-learn fits are, and what batches and scatter cost."""
    n = options.size(1_000_000, 5_000)
    numbers = normal_rows(n, N_FEATURES, N_CLASSES)
    some = tuple(array[: n // 10] for array in numbers)
    return [
        *maximum_likelihood(numbers, options),
        batches(bg.NaiveBayes(), numbers, options, "<= 1.2"),
        batches(bg.QDA(), numbers, options, "<= 1.3"),
        batches(bg.QDA(), some, options, "<= 2"),
        scatter(numbers, options),
        missing_cells(150, 4, 1, options, "<= 20"),
        missing_cells(options.size(10_000, 600), 20, None, options, "<= 10"),
    ]


def maximum_likelihood(numbers: Rows, options: Options) -> list[Result]:
    """Return how many times as fast as scikit-learn each fit is."""
    n = len(numbers[0])
    levels = level_rows(n, N_FEATURES, N_CLASSES, N_LEVELS)
    # the least smoothing that scikit-learn takes without a warning
    categorical = bg.NaiveBayes(bg.Categorical(), inference="mle"), CategoricalNB(alpha=1e-9)
    cases = [
        ("naive Bayes", ">= 2", numbers, bg.NaiveBayes(inference="mle"), GaussianNB()),
        ("LDA", ">= 4", numbers, bg.LDA(inference="mle"), LinearDiscriminantAnalysis("lsqr")),
        ("QDA", ">= 5", numbers, bg.QDA(inference="mle"), QuadraticDiscriminantAnalysis()),
        ("categorical", ">= 8", levels, *categorical),
    ]
    results = []
    for name, goal, (X, y), ours, theirs in cases:
        work = f"fit {n:,} x {N_FEATURES}, {name}: times as fast as {type(theirs).__name__}"
        ours.fit(X, y), theirs.fit(X, y)
        some = X[:1000]
        assert_close(ours.predict_proba(some), theirs.predict_proba(some), 1e-6, work)
        pairs = in_turn(partial(ours.fit, X, y), partial(theirs.fit, X, y), options.repeats)
        results.append(compared(work, goal, ratio(pairs, faster=True)))
    return results


def batches(classifier: object, rows: Rows, options: Options, goal: str) -> Result:
    """Return what fitting in 100 batches costs beside fitting at once."""
    X, y = rows
    parts = np.array_split(np.arange(len(X)), N_BATCHES)
    parts = [slice(part[0], part[-1] + 1) for part in parts]
    classes = np.unique(y)

    def one_by_one() -> np.ndarray:
        piecewise = type(classifier)()
        for part in parts:
            piecewise.partial_fit(X[part], y[part], classes=classes)
        # the posterior is worked out when it is asked for
        return piecewise.predict_proba(X[:100])

    def at_once() -> np.ndarray:
        return classifier.fit(X, y).predict_proba(X[:100])

    name = type(classifier).__name__
    work = f"partial_fit {len(X):,} x {N_FEATURES} in {N_BATCHES} batches, {name}: over one fit"
    assert_close(one_by_one(), at_once(), 1e-8, work)
    found = ratio(in_turn(one_by_one, at_once, options.repeats), faster=False)
    return compared(work, goal, found)


def scatter(rows: Rows, options: Options) -> Result:
    """Return what the scatter matrices of all classes cost beside X.T @ X."""
    X, y = rows
    ones = np.ones(len(X))
    gather = bg.MultivariateNormal().statistics
    ours = partial(gather, X, y, ones, n_classes=N_CLASSES)
    found = ratio(in_turn(ours, lambda: X.T @ X, options.repeats), faster=False)
    return compared(f"scatter matrices {len(X):,} x {N_FEATURES}: over X.T @ X", "<= 1.8", found)


def missing_cells(n: int, p: int, cells: int | None, options: Options, goal: str) -> Result:
    """Return what a QDA fit of rows with missing cells costs beside one of complete rows.

    cells: how many are missing; None: 2 % of them.
    """
    X, y = normal_rows(n, p, 3)
    rng, some = np.random.default_rng(0), X.copy()
    some.ravel()[rng.choice(X.size, X.size // 50 if cells is None else cells, replace=False)] = (
        np.nan
    )
    clf = bg.QDA(random_state=0)
    found = ratio(
        in_turn(partial(clf.fit, some, y), partial(clf.fit, X, y), options.repeats), faster=False
    )
    share = "2 % of cells" if cells is None else f"{cells} cell"
    method = clf.fit(some, y).inference_
    work = f"fit {n:,} x {p}, QDA, {share} missing: over complete rows"
    return compared(work, goal, found, f"inference_ = {method!r}")


if __name__ == "__main__":
    main(__file__, __doc__, measure)
