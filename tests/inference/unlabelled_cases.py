"""Tables in which few rows have a label, and the models that are fitted to them."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg

TABLE = pd.DataFrame(
    {
        "a": [0.1, 1.4, 2.9, 4.2, 0.6, 1.1, 1.9, 2.3, 2.6, 3.3, 3.8, 5.0],
        "b": list("uvwwuuvvwvwu"),
    }
)
FEW = [0, 0, 1, 1] + 8 * [None]
NEW = pd.DataFrame({"a": [1.5, 2.4, 4.0], "b": list("uvw")})
READ = {
    "a": bg.Normal(mean=2, variance=2),
    "b": bg.Categorical(probs=[0.25, 0.25, 0.5], rows_per_level=2),
}
LABELLED_ALONE = [0.731607, 0.568356, 0.131692]
EXPECTED = [0.781897, 0.581028, 0.105828]
harmless = pytest.mark.filterwarnings("ignore::bayesgen.errors.UnlabelledHurts")


def fitted(y=FEW, X=TABLE, weight=None, **options):
    clf = bg.GenerativeClassifier(READ, random_state=0, **options)
    return clf.fit(X, y, sample_weight=weight)


def few_labels(n=4, seed=0):
    X, y = bg.datasets.load_iris()
    rng = np.random.default_rng(seed)
    some = np.concatenate([rng.choice(np.flatnonzero(y == k), n, replace=False) for k in set(y)])
    marked = np.full(150, None, dtype=object)
    marked[some] = y[some]
    return X, marked, np.asarray(y)


MODELS = {
    "naive": bg.NaiveBayes,
    "linear": bg.LDA,
    "quadratic": bg.QDA,
    "learned prior": lambda **o: bg.LDA(covariance_rows="learn", **o),
    "shared": lambda **o: bg.NaiveBayes(bg.Normal(spread="shared"), **o),
}
