"""Row 23 of the table in docs/evidence/lectures.md: six simulated scenarios, who wins where.

Two columns, two classes; each scenario is simulated 30 times (seeds 0 to 29), fitted, and asked
about 1000 new rows. A line "A < B" demands that A errs less than B by more than `MARGIN` standard
errors of the mean paired difference: a false alarm once in 700 lines if they were equal.

Source: James, Witten, Hastie and Tibshirani (2013), An Introduction to Statistical Learning,
section 4.5; its findings in words are the docstrings of the scenarios.
"""

from functools import cache

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

import bayesgen as bg

MARGIN = 3


def standard_errors(differences):
    """Return how many of its own standard errors a mean difference is away from zero."""
    return differences.mean() / differences.std(ddof=1) * np.sqrt(len(differences))


def two_normals(rng, n, correlation, degrees=np.inf):
    """Return n rows of each class, means (0, 0) and (1, 1); t-distributed if degrees are finite."""
    y = np.repeat([0, 1], n)
    X = rng.standard_normal((2 * n, 2))
    r = np.broadcast_to(correlation, 2)[y]
    X[:, 1] = r * X[:, 0] + np.sqrt(1 - r**2) * X[:, 1]
    if np.isfinite(degrees):
        X /= np.sqrt(rng.chisquare(degrees, (2 * n, 1)) / degrees)
    return X + y[:, None], y


def one_normal(rng, n, log_odds):
    """Return 2n rows of one normal, whose classes follow stated log-odds."""
    X = rng.standard_normal((2 * n, 2))
    return X, (rng.random(2 * n) < 1 / (1 + np.exp(-log_odds(*X.T)))).astype(int)


def uncorrelated(rng, n=20):
    """1: normal, no correlation. The straight lines win; QDA is too flexible."""
    return two_normals(rng, n, 0.0)


def correlated(rng, n=20):
    """2: normal, correlation -.5 in both classes. The same; naive Bayes cannot see it."""
    return two_normals(rng, n, -0.5)


def heavy_tailed(rng, n=50):
    """3: t with 3 degrees. Logistic regression beats LDA, and the normal QDA suffers most."""
    return two_normals(rng, n, 0.0, degrees=3)


def own_correlations(rng, n=50):
    """4: normal, correlation .5 and -.5. The story of QDA, which beats all others."""
    return two_normals(rng, n, (0.5, -0.5))


def quadratic(rng, n=50):
    """5: a quadratic boundary. QDA first, then tuned neighbors; straight lines are lost."""
    return one_normal(rng, n, lambda a, b: 2 * (a * a + b * b + a * b - 2))


def worse_than_quadratic(rng, n=100):
    """6: a wavy boundary. Tuned neighbors first, then QDA; a single neighbor overfits."""
    return one_normal(rng, n, lambda a, b: np.sin(3 * a) + a * b)


SCENARIOS = {
    uncorrelated: "LDA<nearest logistic<nearest QDA<nearest naive<nearest nearest<1-nearest",
    correlated: "LDA<QDA logistic<QDA QDA<naive LDA<nearest nearest<1-nearest",
    heavy_tailed: "LDA<QDA logistic<QDA logistic<naive nearest<1-nearest",
    own_correlations: "QDA<LDA QDA<logistic QDA<naive QDA<nearest QDA<1-nearest",
    quadratic: "QDA<nearest QDA<naive nearest<1-nearest nearest<LDA nearest<logistic naive<LDA",
    worse_than_quadratic: "nearest<QDA QDA<LDA QDA<logistic nearest<1-nearest",
}


def nearest(X, y, candidates=(1, 3, 7, 15, 31)):
    """Return nearest neighbors, as many of them as leave-one-out on the rows prefers."""
    tree = NearestNeighbors(n_neighbors=max(candidates), algorithm="kd_tree").fit(X)
    around = tree.kneighbors(return_distance=False)  # without the row itself
    wrong = [((y[around[:, :k]].mean(axis=1) > 0.5) != y).mean() for k in candidates]
    return KNeighborsClassifier(candidates[int(np.argmin(wrong))], algorithm="kd_tree")


SMALL = ("LDA", "QDA", "logistic")


@cache
def errors(scenario, only=()):
    """Return {method: share of 1000 new rows that it gets wrong in each simulation}."""
    wrong = {}
    for seed in range(200 if only else 30):
        rng = np.random.default_rng(seed)
        X, y = scenario(rng)
        new, truth = scenario(rng, 500)
        methods = {
            "LDA": bg.LDA(),
            "QDA": bg.QDA(),
            "naive": bg.NaiveBayes(),
            "logistic": LogisticRegression(C=np.inf, solver="newton-cholesky"),
            "1-nearest": KNeighborsClassifier(1, algorithm="kd_tree"),
            "nearest": nearest(X, y),
        }
        for name in only or methods:
            clf = methods[name]
            wrong.setdefault(name, []).append((clf.fit(X, y).predict(new) != truth).mean())
    return {name: np.array(share) for name, share in wrong.items()}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scenario", "better", "worse"),
    [(s, *line.split("<")) for s, lines in SCENARIOS.items() for line in lines.split()],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_row_23_who_wins_where(scenario, better, worse):
    """23 six simulated scenarios: the order of the methods as the book has it."""
    wrong = errors(scenario)
    assert standard_errors(wrong[worse] - wrong[better]) > MARGIN


@pytest.mark.slow
def test_row_23_small_gaps():
    """23 six scenarios: gaps of .004 take 200 simulations: QDA in 1, LDA against logistic in 3."""
    first, third = errors(uncorrelated, SMALL), errors(heavy_tailed, SMALL)
    assert standard_errors(first["QDA"] - first["LDA"]) > MARGIN
    assert standard_errors(first["QDA"] - first["logistic"]) > MARGIN
    assert standard_errors(third["LDA"] - third["logistic"]) > MARGIN
