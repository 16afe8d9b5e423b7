"""Every reading of one joint agrees: probabilities, log-odds, densities, decisions and evidence.

Over every estimator and inference, on rows that are ordinary, far away (40 standard deviations),
lack cells, show nothing at all, or are impossible under every class.
"""

import functools

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

import bayesgen as bg
from bayesgen.errors import DegenerateEstimate

DRAWS = bg.Augmentation(draws=60, warmup=10, chains=2)


def classes(n: int, n_classes: int) -> np.ndarray:
    """Return codes of classes of unequal size: the class prior is not even."""
    return np.resize([0, 1, 0, 2, 1, 0], n) % n_classes


def levels(n_classes: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of levels in which each class lacks some that others have."""
    rng = np.random.default_rng(n_classes)
    y = classes(30, n_classes)
    a = np.array(list("uvwx"))[(y + rng.integers(0, 2, 30)) % 4]
    b = np.array(list("uvwx"))[(y + rng.integers(0, 2, 30)) % 4]
    return pd.DataFrame({"a": a, "b": b}), np.array(["k", "l", "m"])[y]


def asked_of_levels(X: pd.DataFrame) -> pd.DataFrame:
    every = pd.MultiIndex.from_product([[*list("uvwx"), None]] * 2, names=["a", "b"])
    return every.to_frame(index=False)


def numbers(n_classes: int) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(10 + n_classes)
    y = classes(36, n_classes)
    x = rng.standard_normal((36, 2)) @ [[1.0, 0.5], [0.0, 1.0]] + y[:, None]
    return pd.DataFrame(x, columns=["a", "b"]), np.array(["k", "l", "m"])[y]


def asked_of_numbers(X: pd.DataFrame) -> pd.DataFrame:
    far = X.mean() + 40 * X.std() * pd.DataFrame([[1, 1], [-1, 1], [1, -1]], columns=list(X))
    lacking = X[:4].assign(a=np.nan)
    nothing = X[:1] * np.nan
    return pd.concat([X[:6], far, lacking, far.assign(b=np.nan), nothing], ignore_index=True)


def counts(n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return counts of four things, of which each class never has one."""
    rng = np.random.default_rng(20 + n_classes)
    y = classes(30, n_classes)
    return rng.poisson(2.0 * (np.arange(4) != y[:, None])).astype(float), y


def asked_of_counts(X: np.ndarray) -> np.ndarray:
    nowhere = np.ones((2, 4))
    nowhere[1, 3] = 400.0
    nothing = np.full((1, 4), np.nan)
    return np.concatenate([X[:6], nowhere, np.eye(4), 300 * np.eye(4), nothing])


TABLES = {
    "levels": (levels, asked_of_levels),
    "numbers": (numbers, asked_of_numbers),
    "counts": (counts, asked_of_counts),
}


def stack(**options):
    inference = options.pop("inference")
    members = [bg.NaiveBayes(inference=inference), bg.JointTable(inference=inference)]
    return bg.StackedClassifier(members, random_state=0, **options)


def stack_of_numbers(**options):
    inference = options.pop("inference")
    members = [bg.NaiveBayes(inference=inference), bg.LDA(inference=inference)]
    return bg.StackedClassifier(members, random_state=0, **options)


MAKERS = {
    "levels": {
        "NaiveBayes": bg.NaiveBayes,
        "JointTable": bg.JointTable,
        "StackedClassifier": stack,
    },
    "numbers": {
        "NaiveBayes": bg.NaiveBayes,
        "LDA": bg.LDA,
        "QDA": bg.QDA,
        "KernelDensity": functools.partial(bg.NaiveBayes, bg.KernelDensity()),
        "KernelDiscriminant": functools.partial(bg.GenerativeClassifier, bg.KernelDiscriminant()),
        "StackedClassifier": stack_of_numbers,
    },
    "counts": {
        "Poisson": functools.partial(bg.NaiveBayes, bg.Poisson()),
        "Multinomial": functools.partial(bg.NaiveBayes, bg.Multinomial()),
    },
}
INFERENCES = {"exact": "exact", "mle": "mle", "draws": DRAWS}
CASES = [
    (table, name, inference, temper, n_classes)
    for table, makers in MAKERS.items()
    for name in makers
    for inference in (["exact"] if name.startswith("Kernel") else INFERENCES)
    for temper, n_classes in ((None, 3), (0.4, 2))
    if temper is None or inference == "exact"
]


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize(("table", "name", "inference", "temper", "n_classes"), CASES)
def test_every_reading_of_a_row_agrees(table, name, inference, temper, n_classes):
    make, ask = TABLES[table]
    X, y = make(n_classes)
    options = {"inference": INFERENCES[inference], "temper": temper}
    clf = MAKERS[table][name](**options).fit(X, y)
    found = readings_agree(clf, ask(X))
    # what the test is for: rows that the zero counts of the maximum likelihood estimate rule out
    assert found == (inference == "mle" and table != "numbers")


def readings_agree(clf, X) -> bool:
    """Hold all readings of rows, the last of which shows nothing, against the joint.

    Returns whether some rows are impossible under every class.
    """
    joint = clf.predict_joint_log_proba(X)
    impossible = np.isneginf(joint).all(axis=1)
    proba, logs, odds = clf.predict_proba(X), clf.predict_log_proba(X), clf.decision_function(X)
    # sums over at most three classes of numbers of which a double has 16 digits; logarithms of
    # joints down to -1e5, the far rows, have 11 behind the point left
    close = functools.partial(np.testing.assert_allclose, rtol=1e-9, atol=1e-12)
    close(proba.sum(axis=1), 1)
    close(proba[~impossible], softmax(joint[~impossible], axis=1))
    close(logs[~impossible], log_softmax(joint[~impossible], axis=1))
    close(np.exp(logs), proba)
    of_odds = (lambda each: each[:, 1]) if len(clf.classes_) == 2 else lambda each: each
    close(expit(odds), of_odds(proba))
    close(log_expit(odds), of_odds(logs))
    close(clf.score_samples(X), logsumexp(joint, axis=1))
    close(proba[impossible], np.broadcast_to(proba[-1], joint.shape)[impossible])
    best = clf.classes_[proba.argmax(axis=1)]
    np.testing.assert_array_equal(clf.predict(X), best)
    np.testing.assert_array_equal(clf.decide(X), best)
    evidence_adds_up(clf.evidence(X).to_numpy(), odds, proba)
    return bool(impossible.any())


def evidence_adds_up(evidence, odds, proba) -> None:
    """Of two classes rows sum to log-odds; of more, rows summed by class are logs of proba."""
    with np.errstate(invalid="ignore"):
        if proba.shape[1] == 2:
            total, expected = evidence.sum(axis=1), odds
        else:
            total = evidence.reshape(len(proba), proba.shape[1], -1).sum(axis=2)
            total, expected = softmax(total, axis=1), proba
    # where single cells rule classes out, infinite parts have no sum
    finite = np.isfinite(evidence).all(axis=1)
    assert finite.any()
    # parts of the far rows are 1e4 large, and sums of them have 12 digits behind the point
    np.testing.assert_allclose(total[finite], expected[finite], rtol=1e-8, atol=1e-8)


def test_log_odds_of_an_impossible_row_are_those_of_the_class_prior():
    """The lecture's row: no class ever saw it, and the answer is what is known without it."""
    X, y = bg.datasets.load_play_tennis()
    clf = bg.JointTable(inference="mle").fit(X, y)
    row = pd.DataFrame([["Sunny", "Cool", "High", "Strong"]], columns=list(X))
    with pytest.warns(DegenerateEstimate, match="1 of 1 row"):
        odds = clf.decision_function(row)
    # 9 of 14 days
    np.testing.assert_allclose(odds, np.log(9 / 5), rtol=1e-12)
    with pytest.warns(DegenerateEstimate):
        np.testing.assert_allclose(clf.predict_proba(row)[0, 1], expit(odds[0]), rtol=1e-12)
    with pytest.warns(DegenerateEstimate):
        tempered = bg.JointTable(inference="mle", temper=0.5).fit(X, y).decision_function(row)
    np.testing.assert_allclose(tempered, odds, rtol=1e-12)
