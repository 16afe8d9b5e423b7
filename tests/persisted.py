"""Values and classifiers sent through a file, and compared bit for bit."""

import dataclasses

import numpy as np
from scipy import sparse

import bayesgen as bg
from bayesgen import persist


def through_file(value, path, classes=()):
    """Return a value that was written to a file and read back."""
    yours = {f"yours.{cls.__name__}": cls for cls in classes}
    known = persist.registry(yours=yours)
    record = persist.Record("nothing", {"value": value}, {})
    persist.write(path, record, known, unchanged, unchanged)
    return persist.read(path, known, unchanged).parameters["value"]


def unchanged(value):
    return value


def require_same(found, expected, where="it"):
    """Fail where two values differ in type, bits, or the order of their bits in memory."""
    assert type(found) is type(expected), where
    if dataclasses.is_dataclass(expected):
        for field in dataclasses.fields(expected):
            pair = (getattr(found, field.name), getattr(expected, field.name))
            require_same(*pair, f"{where}.{field.name}")
    elif isinstance(expected, np.ndarray):
        require_same_array(found, expected, where)
    elif isinstance(expected, sparse.csr_array):
        for name in ("data", "indices", "indptr", "shape"):
            require_same(getattr(found, name), getattr(expected, name), f"{where}.{name}")
    elif isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            require_same(found[key], expected[key], f"{where}[{key!r}]")
    elif isinstance(expected, tuple | list):
        assert len(found) == len(expected), where
        for i, pair in enumerate(zip(found, expected, strict=True)):
            require_same(*pair, f"{where}[{i}]")
    else:
        assert found == expected or (found != found and expected != expected), where


def require_same_array(found, expected, where="it"):
    """Fail where arrays differ in a bit, or one lies in memory by rows and the other by columns."""
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
    if expected.dtype == object:
        require_same(found.tolist(), expected.tolist(), where)
        return
    assert found.tobytes() == expected.tobytes(), where
    if expected.size and all(expected.strides):
        for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
            assert found.flags[flag] >= expected.flags[flag], where


def saved_and_loaded(clf, tmp_path, **options):
    path = tmp_path / "model.nc"
    clf.save(path)
    return bg.load(path, **options)


def passengers(n=200):
    X, y = bg.datasets.load_titanic_passengers()
    return X.iloc[:n].reset_index(drop=True), y.iloc[:n].reset_index(drop=True)


def holed(rng):
    X, y = bg.datasets.load_iris()
    return X.mask(rng.random(X.shape) < 0.05), y


def levels():
    X, y = bg.datasets.load_titanic()
    return X.iloc[::20].reset_index(drop=True), y.iloc[::20].reset_index(drop=True)


def texts(rng, n=40):
    """Return texts of some words, and which of two kinds each is."""
    words = np.array(["king", "food", "proof", "lemma", "the", "ate"])
    y = np.arange(n) % 2
    share = np.array([[3, 3, 1, 1, 2, 2], [1, 1, 3, 3, 2, 1]]) / np.array([[12], [11]])
    return np.array([" ".join(rng.choice(words, 9, p=share[k])) for k in y], object), y


MODELS = {
    "NaiveBayes": (bg.NaiveBayes, lambda rng: passengers()),
    "NaiveBayes shared": (
        lambda **options: bg.NaiveBayes(bg.Normal(spread="shared"), **options),
        lambda rng: bg.datasets.load_iris(),
    ),
    "LDA": (bg.LDA, lambda rng: bg.datasets.load_iris()),
    "QDA": (bg.QDA, lambda rng: bg.datasets.load_iris()),
    "QDA with holes": (bg.QDA, holed),
    "JointTable": (bg.JointTable, lambda rng: levels()),
    "BagOfWords": (bg.BagOfWords, lambda rng: texts(rng)),
}


def answers(clf, X):
    """Return everything a classifier says of rows."""
    out = {
        "proba": clf.predict_proba(X),
        "label": clf.predict(X),
        "density": clf.score_samples(X),
        "log": clf.predict_log_proba(X),
        "sample": clf.sample(3, random_state=0)[1],
    }
    if not clf._posterior.point:
        out["interval"] = clf.predict_interval(X[:5])
        out["draws"] = clf.predict_draws(X[:2]).values
    return out
