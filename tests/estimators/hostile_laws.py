"""What holds for any table: probabilities that obey the laws, or an error that says what to do."""

import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hostile import Hostile
from scipy.sparse import csr_array

import bayesgen as bg

Make = Callable[[], object]
CURE = re.compile(
    r"\b(Pass|Use|Leave|Choose|Rename|Give|Check|Reshape|Declare|Fit|Say|Unpack|Name|Add|State|"
    r"Select|Call|Cut|Type|Divide|Convert|Score)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Model:
    """An estimator with its inference.

    suits: the tables that it is made for. never: laws that it does not claim, with the reason.
    atol: of probabilities that two fits give. A column 1e6 of its deviations away from zero loses 6
        of 16 digits, and log-odds of some tens multiply what is left.
    cost: of a fit, in those of naive Bayes: so many fewer tables are tried.
    """

    make: Make
    suits: str
    never: tuple[str, ...] = ()
    atol: float = 1e-7
    cost: int = 1


# --- fitting and answering --------------------------------------------------------------------


def answers(make: Make, X: object, y: object, weight: object, new: object) -> tuple:
    """Return the fitted classifier and its probabilities of the new rows."""
    clf = make().fit(X, y, weight)
    return clf, clf.predict_proba(new)


def check_sentence(error: bg.errors.BayesgenError, names: list) -> None:
    """The error names the column, where one is to blame, and a cure."""
    text = str(error)
    assert CURE.search(text), text
    if isinstance(error, bg.errors.InvalidData):
        assert any(repr(name) in text for name in names), text


def check_probabilities(proba: np.ndarray, n: int) -> None:
    assert proba.shape[0] == n
    assert ((proba >= 0) & (proba <= 1)).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)


def same(found: np.ndarray, expected: np.ndarray, atol: float = 1e-7) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=atol)


def check_imputed(clf, t: Hostile) -> float:
    """Observed cells stay, and numbers that vary are filled."""
    found = clf.impute(t.new, random_state=0)
    for name in t.frame:
        seen = t.new[name].notna()
        assert list(found[name][seen]) == list(t.new[name][seen])
        if t.weight is None and t.frame[name].dtype == np.float64 and t.frame[name].nunique() > 1:
            assert np.isfinite(found[name]).all()
    return 0.0


# --- laws: (model, table, fitted, probabilities, generator) ------------------------------------


def law_methods(model: Model, t: Hostile, clf, proba, rng) -> None:
    """Every other answer is finite too, and fits the probabilities."""
    log = clf.predict_log_proba(t.new)
    assert (log <= 1e-12).all()
    same(np.exp(log), proba)
    assert not np.isnan(clf.decision_function(t.new)).any()
    assert not np.isnan(clf.score_samples(t.new)).any()
    assert set(clf.predict(t.new)) <= set(clf.classes_)
    for ask in (
        lambda: clf.predict_interval(t.new),
        lambda: clf.sample(3, random_state=0)[1],
        lambda: clf.decide(t.new, reject=0.1),
        lambda: clf.loo().to_numpy() if hasattr(clf, "loo") else 0,
        lambda: clf.evidence(t.new.iloc[[0, -1]]).to_numpy(),
        lambda: check_imputed(clf, t),
        lambda: clf.with_class_prior("uniform").predict_proba(t.new),
    ):
        try:
            found = np.asarray(ask())
        except bg.errors.BayesgenError as error:
            check_sentence(error, list(t.frame))
            continue
        assert found.dtype.kind not in "fc" or not np.isnan(found).any()


def law_order(model: Model, t: Hostile, clf, proba, rng) -> None:
    """The order of rows says nothing."""
    rows = rng.permutation(len(t.frame))
    weight = None if t.weight is None else t.weight[rows]
    y = np.asarray(t.y)[rows]
    same(answers(model.make, t.frame.iloc[rows], y, weight, t.new)[1], proba, model.atol)


def law_names(model: Model, t: Hostile, clf, proba, rng) -> None:
    """Classes by other names, in another order, have the same probabilities."""
    codes = np.searchsorted(clf.classes_, np.asarray(t.y))
    names = np.array([f"{9 - k} class" for k in range(9)])
    other = answers(model.make, t.frame, names[codes], t.weight, t.new)[1]
    same(other[:, ::-1], proba, model.atol)


def law_units(model: Model, t: Hostile, clf, proba, rng) -> None:
    """Another unit of a column of floats changes no probability."""
    if model.suits.endswith(("levels", "counts")):
        return
    frame, new = t.frame.copy(), t.new.copy()
    for name in frame:
        column = frame[name]
        if column.dtype == np.float64 and np.isfinite(column).any():
            scale, shift = rng.choice([-0.125, 8.0, 3.0]), rng.choice([0.0, 1.0]) * column.max()
            frame[name], new[name] = column * scale + shift, new[name] * scale + shift
    same(answers(model.make, frame, t.y, t.weight, new)[1], proba, model.atol)


def law_part(model: Model, t: Hostile, clf, proba, rng) -> None:
    """A column that is absent is one without cells, unless the missing pattern counts ("blank").

    A model without it says the same.
    """
    if t.frame.shape[1] < 2:
        return
    name = list(t.frame)[rng.integers(t.frame.shape[1])]
    rest = [other for other in t.frame if other != name]
    absent = clf.predict_proba(t.new[rest])
    if "blank" not in model.never:
        blank = t.new.copy()
        blank[name] = None
        same(clf.predict_proba(blank), absent, model.atol)
    if "part" not in model.never:
        same(answers(model.make, t.frame[rest], t.y, t.weight, t.new[rest])[1], absent, model.atol)


def law_weights(model: Model, t: Hostile, clf, proba, rng) -> None:
    """Weight 2 is the row twice, weight 0 no row."""
    times = rng.integers(0, 3, len(t.frame))
    times[np.unique(t.codes, return_index=True)[1]] += 1
    rows = np.repeat(np.arange(len(times)), times)
    weighed = answers(model.make, t.frame, t.y, times, t.new)[1]
    y = np.asarray(t.y)[rows]
    same(answers(model.make, t.frame.iloc[rows], y, None, t.new)[1], weighed, model.atol)


def law_frames(model: Model, t: Hostile, clf, proba, rng) -> None:
    """A polars frame or an Arrow table of the same cells gives the same probabilities."""
    try:
        both = pd.concat([t.frame, t.new], ignore_index=True)
        table = pa.Table.from_pandas(both.set_axis([repr(n) for n in both], axis=1))
        # the categories of a polars Categorical declare nothing
        arrow = rng.random() < 0.5 or "category" in {str(d) for d in t.frame.dtypes}
        other = table if arrow else pl.from_arrow(table)
    except (pa.ArrowException, pl.exceptions.PolarsError, TypeError, ValueError):
        return  # what Arrow does not hold
    n = len(t.frame)
    same(answers(model.make, other[:n], t.y, t.weight, other[n:])[1], proba, model.atol)


def law_arrays(model: Model, t: Hostile, clf, proba, rng) -> None:
    """Numbers in an array, and counts in a sparse matrix, are the numbers of the frame."""
    columns = [c.dtype.kind for c in map(np.asarray, (t.frame[n] for n in t.frame))]
    if not set(columns) <= set("fiu") or model.suits in ("any", "levels"):
        return
    table, new = (rows.to_numpy(dtype=float, na_value=np.nan) for rows in (t.frame, t.new))
    same(answers(model.make, table, t.y, t.weight, new)[1], proba, model.atol)
    if model.suits.endswith("counts"):
        sparse = answers(model.make, csr_array(table), t.y, t.weight, csr_array(new))[1]
        same(sparse, proba, model.atol)


def law_batches(model: Model, t: Hostile, clf, proba, rng) -> None:
    """Batches in any order are the whole."""
    parts = model.make()
    y, rows = np.asarray(t.y), rng.permutation(len(t.frame))
    weight = np.ones(len(y)) if t.weight is None else t.weight
    for batch in np.array_split(rows, 3):
        if len(batch) and weight[batch].any():
            parts.partial_fit(t.frame.iloc[batch], y[batch], np.unique(y), weight[batch])
    same(parts.predict_proba(t.new), proba, model.atol)


def law_saved(model: Model, t: Hostile, clf, proba, rng) -> None:
    """A classifier that was saved and loaded says the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bgm"
        clf.save(path)
        np.testing.assert_array_equal(bg.load(path).predict_proba(t.new), proba)


LAWS = {
    law.__name__.removeprefix("law_"): law
    for law in (
        law_methods,
        law_order,
        law_names,
        law_units,
        law_part,
        law_weights,
        law_frames,
        law_arrays,
        law_batches,
        law_saved,
    )
}


OF_ONE_FIT = ("methods", "saved")
SAMPLED = ("nuts", "importance", "augmentation")


def check(model: Model, t: Hostile, law: str, seed: int) -> str:
    """Return what was found, all of it allowed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
        try:
            clf, proba = answers(model.make, t.frame, t.y, t.weight, t.new)
        except bg.errors.BayesgenError as error:
            check_sentence(error, list(t.frame))
            assert t.fault or model.suits != "any", error
            return "refused with a sentence"
        check_probabilities(proba, len(t.new))
        if law in model.never and law != "part":
            return "probabilities; the law is not claimed"
        # an optimizer that stopped on its way may stop elsewhere at the next fit; draws are the
        # same for the same rows, however few they are
        settled = clf.report_.converged or clf.report_.method in SAMPLED
        if not settled and law not in OF_ONE_FIT:
            return "probabilities; the fit says that it did not converge"
        try:
            LAWS[law](model, t, clf, proba, np.random.default_rng(seed))
        except bg.errors.BayesgenError as error:  # as of a batch without a cell of some column
            check_sentence(error, list(t.frame))
            return "probabilities; the law's own fit was refused with a sentence"
        return "probabilities and the law"
