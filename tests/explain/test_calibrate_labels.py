"""Scores take labels, probabilities and classes, in the order of scikit-learn's functions."""

import inspect

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import metrics

import bayesgen as bg
from bayesgen.calibrate import targets
from bayesgen.errors import InvalidArgument, InvalidData

N, NAMES = 40, np.array(["well", "ill", "dead"])
RNG = np.random.default_rng(0)
CODES = RNG.permutation(np.resize([0, 1, 2, 2], N))
PROBA = RNG.dirichlet(np.ones(3), N)
LABELS = NAMES[CODES]


def reliability(y, proba, classes=None):
    curves = bg.calibrate.reliability(y, proba, classes, rng=np.random.default_rng(0), resamples=2)
    return np.concatenate([curve.blocks.to_numpy().ravel() for curve in curves])


def log_loss_at(y, proba, classes=None):
    frequencies = np.array([0.2, 0.3, 0.5])
    return bg.calibrate.log_loss_at(y, np.log(proba), classes, frequencies=frequencies)


def decomposition(y, proba, classes=None):
    parts = bg.calibrate.brier_decomposition(y, proba, classes)
    return parts.miscalibration, parts.discrimination


SCORES = {
    "log_loss": bg.calibrate.log_loss,
    "brier": bg.calibrate.brier,
    "accuracy": bg.calibrate.accuracy,
    "calibration_error": bg.calibrate.calibration_error,
    "overconfidence": bg.calibrate.overconfidence,
    "area_under_roc": bg.calibrate.area_under_roc,
    "set_size": bg.calibrate.set_size,
    "confusion": lambda *given: bg.calibrate.confusion(*given).to_numpy(),
    "brier_decomposition": decomposition,
    "log_loss_at": log_loss_at,
    "reliability": reliability,
}
CONTAINERS = {
    "list": list,
    "array of objects": lambda y: np.array(y, dtype=object),
    "Series": lambda y: pd.Series(y, index=np.arange(N)[::-1]),
    "Categorical": lambda y: pd.Categorical(y, sorted({*y})),
    "polars": pl.Series,
}


def law(name):
    """Labels with the class of each column are codes; without classes, columns are sorted."""
    score, expected = SCORES[name], SCORES[name](CODES, PROBA, range(3))
    for make in CONTAINERS.values():
        for classes in (NAMES, NAMES.tolist(), pd.Index(NAMES)):
            found = score(make(LABELS), PROBA, classes)
            np.testing.assert_allclose(found, expected, rtol=1e-12)
    order = np.argsort(NAMES)
    by_columns = pd.DataFrame(PROBA[:, order], columns=NAMES[order])
    sorted_too = SCORES[name](LABELS, by_columns, NAMES[order])
    np.testing.assert_allclose(score(LABELS, by_columns), sorted_too, rtol=1e-12)
    if name != "log_loss_at":  # the frequencies are of three classes
        of_two = score(CODES == 1, PROBA[:, :2], [False, True])
        np.testing.assert_allclose(score(CODES == 1, PROBA[:, :2]), of_two)


@pytest.mark.parametrize("name", SCORES)
def test_labels_are_read_as_codes_are(name):
    law(name)


@pytest.mark.parametrize("name", SCORES)
def test_fault_labels_in_the_order_of_the_alphabet(name, monkeypatch):
    right = targets.names
    monkeypatch.setattr(targets, "names", lambda *given: sorted(right(*given), key=str))
    with pytest.raises(AssertionError):
        law(name)


def test_every_function_of_classes_has_the_arguments_of_scikit_learn():
    functions = {
        name: inspect.signature(getattr(bg.calibrate, name))
        for name in dir(bg.calibrate)
        if not name.startswith("__") and inspect.isfunction(getattr(bg.calibrate, name))
    }
    of_classes = {n: [*s.parameters] for n, s in functions.items() if "classes" in s.parameters}
    assert set(of_classes) == set(SCORES)
    for name, arguments in of_classes.items():
        assert arguments[0] == "y_true" and arguments[2] == "classes", name
        assert arguments[1] in ("proba", "log_proba"), name
        later = [*functions[name].parameters.values()][3:]
        assert all(p.kind is p.KEYWORD_ONLY for p in later), name
    assert next(iter(inspect.signature(metrics.log_loss).parameters)) == "y_true"


def test_what_scikit_learn_scores_is_scored_alike():
    own = bg.calibrate.log_loss(LABELS, PROBA[:, np.argsort(NAMES)])
    assert own == pytest.approx(metrics.log_loss(LABELS, PROBA[:, np.argsort(NAMES)]), rel=1e-12)
    X, y = bg.datasets.load_iris()
    clf = bg.LDA().fit(X, y)
    few = y[:60]  # without a row of the third class
    loss = bg.calibrate.log_loss(few, clf.predict_proba(X[:60]), clf.classes_)
    assert loss == pytest.approx(
        metrics.log_loss(few, clf.predict_proba(X[:60]), labels=clf.classes_), rel=1e-9
    )


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize(
    ("given", "sentence", "error"),
    [
        ((LABELS[CODES < 2], PROBA[CODES < 2]), "y_true holds the classes 'ill', 'well', and", 0),
        ((LABELS, PROBA, NAMES[:2]), "classes names the classes .* and proba has 3 columns", 0),
        ((np.where(CODES, LABELS, "gone"), PROBA, NAMES), "holds 'gone', which is none", 0),
        ((LABELS[1:], PROBA, NAMES), "39 labels and proba the shape", 1),
        ((LABELS, PROBA[:, 0], NAMES), r"the shape \(40,\); one row of class", 1),
    ],
)
def test_what_does_not_fit_is_one_sentence_whose_cure_works(name, given, sentence, error):
    with pytest.raises((InvalidArgument, InvalidData)[error], match=sentence) as caught:
        SCORES[name](*given)
    if "classes=clf.classes_" in str(caught.value) and len(given) == 2:
        SCORES[name](*given, NAMES)
