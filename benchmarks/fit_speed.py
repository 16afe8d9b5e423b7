"""Maximum-likelihood fits of 1,000,000 x 20 with 5 classes, against scikit-learn.

Both sides check their input in full (scikit-learn by its defaults), read the same arrays and answer
alike, which is checked first.
"""

from functools import partial

from measure import Options, Result, assert_close, compared, in_turn, main, ratio
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from tables import level_rows, normal_rows

import bayesgen as bg

N_CLASSES, N_FEATURES, N_LEVELS = 5, 20, 6


def measure(options: Options) -> list[Result]:
    """Return how many times as fast as scikit-learn each fit is."""
    n = options.size(1_000_000, 5_000)
    numbers = normal_rows(n, N_FEATURES, N_CLASSES)
    levels = level_rows(n, N_FEATURES, N_CLASSES, N_LEVELS)
    # the least smoothing that scikit-learn takes without a warning
    categorical = bg.NaiveBayes(bg.Categorical(), inference="mle"), CategoricalNB(alpha=1e-9)
    cases = [
        ("naive Bayes", ">= 1", numbers, bg.NaiveBayes(inference="mle"), GaussianNB()),
        ("LDA", ">= 3", numbers, bg.LDA(inference="mle"), LinearDiscriminantAnalysis("lsqr")),
        ("QDA", ">= 4", numbers, bg.QDA(inference="mle"), QuadraticDiscriminantAnalysis()),
        ("categorical", ">= 4", levels, *categorical),
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


if __name__ == "__main__":
    main(__file__, __doc__, measure)
