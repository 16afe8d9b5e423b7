"""Class probabilities in closed form, against one call of scikit-learn's QDA.

One predict_proba call, table reading and checks included. Missing values: a fifth of the cells
missing at random, which makes hundreds of patterns of ten columns, against the same rows whole.
A stack's fit is in seconds, leave-one-out of all members included.
"""

from functools import partial

import numpy as np
from measure import Options, compared, in_turn, main, ratio, seconds
from results import Result
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from tables import normal_rows

import bayesgen as bg

N_CLASSES, N_FEATURES = 5, 20


def measure(options: Options) -> list[Result]:
    """Return what exact prediction costs, whole, with missing values, by a stack."""
    return [*exact(options), gaps(options), *stack(options)]


def exact(options: Options) -> list[Result]:
    """Return the cost of exact predictions in calls of scikit-learn's QDA."""
    n = options.size(100_000, 2_000)
    X, y = normal_rows(n, N_FEATURES, N_CLASSES)
    peer = QuadraticDiscriminantAnalysis().fit(X, y)
    results = []
    for name, ours in (("naive Bayes", bg.NaiveBayes()), ("QDA", bg.QDA())):
        ours.fit(X, y)
        work = f"exact predict_proba {n:,} x {N_FEATURES}, {name}: calls of scikit-learn's QDA"
        calls = partial(ours.predict_proba, X), partial(peer.predict_proba, X)
        found = ratio(in_turn(*calls, options.repeats), faster=False)
        results.append(compared(work, "<= 0.8", found))
    return results


def gaps(options: Options) -> Result:
    """Return what QDA's predictions cost where a fifth of the cells is missing."""
    n, p, k = options.size(20_000, 500), 10, 3
    X, y = normal_rows(n, p, k)
    ours = bg.QDA().fit(X, y)
    empty = np.random.default_rng(0).random(X.shape) < 0.2
    full = partial(ours.predict_proba, X)
    found = ratio(
        in_turn(partial(ours.predict_proba, np.where(empty, np.nan, X)), full, options.repeats),
        faster=False,
    )
    note = f"{len(np.unique(empty, axis=0)):,} patterns"
    work = f"predict_proba {n:,} x {p}, QDA, 20 % of cells missing: over complete rows"
    return compared(work, "<= 10", found, note)


def stack(options: Options) -> list[Result]:
    """Return the seconds of a stack's fit, and its predictions in calls of scikit-learn's QDA."""
    n, k = options.size(1_000, 200), 3
    X, y = normal_rows(n, N_FEATURES, k)
    peer = QuadraticDiscriminantAnalysis().fit(X, y)
    ours, size = bg.StackedClassifier(), f"{n:,} x {N_FEATURES}, {k} classes"
    ours.fit(X, y)
    took = [seconds(partial(ours.fit, X, y)) for _ in range(options.repeats)]
    note = f"{len(ours.members_)} members: {', '.join(ours.members_)}"
    work = f"fit {size}, StackedClassifier"
    fit = Result(work, None, float(np.median(took)), "s", min(took), max(took), note=note)
    work = f"predict_proba {size}, StackedClassifier: calls of scikit-learn's QDA"
    calls = partial(ours.predict_proba, X), partial(peer.predict_proba, X)
    return [fit, compared(work, None, ratio(in_turn(*calls, options.repeats), faster=False))]


if __name__ == "__main__":
    main(__file__, __doc__, measure)
