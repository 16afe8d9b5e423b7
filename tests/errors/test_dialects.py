"""Code in sentences is that of the table and the classifier at hand: each piece is typed and works.

Pieces of code are marked where sentences are written. A piece is an expression, which is passed in
place of X or of X and y, or statements, which change X.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import bayesgen as bg
from bayesgen import errors
from bayesgen.errors import dialect, wording

N = 40
Y = np.resize(["ill", "well"], N)
RNG = np.random.default_rng(0)
DOSE = RNG.normal(size=N).round(2)
TABLES = {
    "pandas": pd.DataFrame,
    "polars": lambda columns: pl.DataFrame({n: list(c) for n, c in columns.items()}, strict=False),
    "pyarrow": lambda columns: pa.table({n: list(c) for n, c in columns.items()}),
    "numpy": lambda columns: np.column_stack([np.asarray(c) for c in columns.values()]),
    "list": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
    "scipy": lambda columns: scipy.sparse.csr_array(np.column_stack([*columns.values()])),
}
FRAMES = ("pandas", "polars", "pyarrow")
NUMBERS = (*FRAMES, "numpy", "list")
LABELS = {
    "pandas": pd.Series,
    "polars": lambda y: pl.Series(np.asarray(y).tolist(), strict=False),
    "pyarrow": lambda y: pa.array(np.asarray(y).tolist()),
    "numpy": np.array,
    "list": list,
}


def text(*cells):
    return np.resize(np.array(cells, dtype=object), N)


def naive(**options):
    return lambda X, y: bg.NaiveBayes(**options).fit(X, y)


def joint(X, y):
    return bg.JointTable().fit(X, y)


def lda(X, y):
    return bg.LDA().fit(X, y)


def like(X, columns):
    """Return columns in the container of a table."""
    return TABLES[next(k for k in FRAMES if type(X).__module__.startswith(k))](columns)


def batches(X, y):
    earlier = like(X, {"x0": DOSE, "x1": text("1", "2", "3")})
    return bg.NaiveBayes().partial_fit(earlier, y).partial_fit(X, y)


def renamed(X, y):
    clf = bg.NaiveBayes().fit(like(X, {"x0": DOSE, "dose": DOSE**2}), y)
    return clf.predict(X)


COUNTS = np.where(np.arange(N) % 7 == 0, np.nan, RNG.poisson(3, N))
CLASSIFIER = bg.BagOfWords()
# what is refused or warned of, of a second column x1; the containers in which it can be
CASES = {
    "constant": (np.full(N, 2.5), naive(), NUMBERS),
    "key": (np.arange(N), naive(), FRAMES),
    "identifier": ([f"t{i}" for i in range(N)], naive(), FRAMES),
    "text numbers": ([*map(str, DOSE[:-1]), "low"], naive(), FRAMES),
    "commas": ([f"{dose:.2f}".replace(".", ",") for dose in DOSE], naive(), FRAMES),
    "points": ([f"1.{n:03d},5" for n in range(N)], naive(), FRAMES),
    "similar": (text("red", "Red ", "blue"), naive(), FRAMES),
    "blank": (text("red", " ", "blue"), naive(), FRAMES),
    "dates": (pd.date_range("2020-01-01", periods=N), naive(), FRAMES),
    "infinite": (np.where(np.arange(N) == 3, np.inf, DOSE), naive(), NUMBERS),
    "infinite of a stack": (
        np.where(np.arange(N) == 3, np.inf, DOSE),
        lambda X, y: bg.StackedClassifier(["naive"]).fit(X, y),
        NUMBERS,
    ),
    "missing counts": (
        COUNTS,
        lambda X, y: bg.GenerativeClassifier(bg.Multinomial()).fit(X, y),
        (*NUMBERS, "scipy"),
    ),
    "missing words": (COUNTS, lambda X, y: bg.BagOfWords().fit(X, y), (*NUMBERS, "scipy")),
    "fractions": (DOSE, joint, NUMBERS),
    "levels": (text("u", "v"), lda, FRAMES),
    "numbers as text": ([*map(str, DOSE)], naive(likelihood=bg.Normal()), FRAMES),
    "another type": (RNG.integers(0, 3, N), batches, FRAMES),
    "not binary": (
        RNG.integers(0, 3, N),
        naive(likelihood={"x1": bg.Bernoulli()}, remainder="auto"),
        NUMBERS,
    ),
    "groups": (DOSE, naive(groups="x1"), FRAMES),
    "another name": (DOSE, renamed, FRAMES),
    "bounds": ([*(f"{dose:.1f}" for dose in DOSE[:-1]), "< 5"], naive(), FRAMES),
    "ranges": ([f"{n}-{n + 4}" for n in range(N)], naive(), FRAMES),
    "units": ([f"{n} kg" if n % 3 else f"{n},000 g" for n in range(1, N + 1)], naive(), FRAMES),
    "code among amounts": ([*(f"${1000 + n:,}" for n in range(N - 1)), "?"], naive(), FRAMES),
}
FIRST = {"missing counts": RNG.poisson(2, N), "missing words": RNG.poisson(2, N)}
FIRST["fractions"] = RNG.integers(0, 3, N)
NO_LABEL = [None, *Y[1:]]
OF_LABELS = {
    "no label": (NO_LABEL, naive(unlabelled=None)),
    "blank label": ([" ", *Y[1:]], naive(unlabelled=None)),
    "no label of kernels": (NO_LABEL, naive(likelihood=bg.KernelDensity())),
    "no label to forget": (NO_LABEL, lambda X, y: bg.NaiveBayes().fit(X, Y).forget(X, y)),
    "infinite label": (np.where(np.arange(N) == 3, np.inf, np.arange(N) % 2), naive()),
    "fraction": (np.arange(N) % 2 + 0.5, naive()),
}


@pytest.fixture(autouse=True)
def marked(monkeypatch):
    """Mark code where sentences are written."""
    for name, write in dialect.TYPED.items():
        monkeypatch.setitem(dialect.TYPED, name, lambda *args, write=write: f"⟦{write(*args)}⟧")
    right = dialect.Typed.text
    monkeypatch.setattr(dialect.Typed, "text", lambda code, spoken: f"⟦{right(code, spoken)}⟧")


def said(call, X, y):
    """Return what a call raises and warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call(X, y)
        except errors.BayesgenError as error:
            return [error]
    return [w.message for w in caught if isinstance(w.message, errors.BayesgenWarning)]


def pieces(message):
    return [part.split("⟧")[0] for part in str(message).split("⟦")[1:]]


def typed(code, message, X, y):
    """Return X and y after a piece of code of a sentence."""
    names = {"numpy": np, "pandas": pd, "polars": pl, "X": X, "y": y}
    plain = str(message).replace("⟦", "").replace("⟧", "")
    if "keep = " in plain:
        exec("keep = " + plain.split("keep = ")[1].split(";")[0], names)
    code = code.removeprefix("pass ")
    if code.startswith("type ") or " = " in code:
        exec(code.removeprefix("type ").removeprefix("X after "), names)
        return names["X"], y
    value = eval(code, names)
    if isinstance(value, tuple):
        return value
    if code.startswith(("y", "numpy.asarray(y)")):
        return X, value.astype(str)
    if np.ndim(value) == 1:  # the column, or what is made of it
        assert len(value) == N
        return None
    return value, y


def law(X, y, call):
    """Every piece of code in what is said of rows works, and silences or changes the sentence."""
    messages = said(call, X, y)
    tried = 0
    for message in messages:
        for code in pieces(message):
            if code.startswith(("likelihood=", "bg.")):
                continue
            changed = typed(code, message, X, y)
            tried += 1
            if changed is not None:
                again = [str(m) for m in said(call, *changed)]
                assert str(message) not in again, code
                assert not any("of type" in sentence for sentence in again), (code, again)
    assert tried, messages


@pytest.mark.parametrize(
    ("case", "kind"), [(case, kind) for case in CASES for kind in CASES[case][2]]
)
def test_code_is_that_of_the_table(case, kind):
    column, call, _ = CASES[case]
    law(TABLES[kind]({"x0": FIRST.get(case, DOSE), "x1": column}), Y, call)


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("case", OF_LABELS)
def test_code_is_that_of_the_labels(case, kind):
    labels, call = OF_LABELS[case]
    rows = TABLES[kind]({"x0": DOSE, "x1": DOSE**2})
    law(rows, LABELS[kind](labels), call)


@pytest.mark.parametrize("kind", FRAMES)
def test_many_columns_that_the_fit_had_not_are_left_out(kind):
    columns = {"x0": DOSE, "x1": DOSE**2}
    clf = bg.NaiveBayes().fit(TABLES[kind](columns), Y)
    X = TABLES[kind](columns | {f"more {i}": DOSE for i in range(7)})
    (found,) = said(lambda X, y: clf.predict(X), X, Y)
    (code,) = pieces(found)
    assert clf.predict(eval(code, {"X": X, "clf": clf})).shape == (N,)


@pytest.mark.parametrize("kind", NUMBERS)
@pytest.mark.parametrize("labels", LABELS)
def test_rows_are_repeated_by_their_weights(kind, labels):
    X, y = TABLES[kind]({"x0": DOSE, "x1": DOSE**2}), LABELS[labels](Y)
    weight = np.resize([1.0, 2.0], N)

    def weighted(X, y):
        return bg.compare({"a": bg.NaiveBayes()}, X, y, sample_weight=weight)

    (found,) = said(weighted, X, y)
    (code,) = pieces(found)
    k = np.repeat(range(N), np.asarray(weight, dtype=int))
    X, y = eval(code, {"X": X, "y": y, "k": k, "numpy": np})
    found = bg.compare({"a": bg.NaiveBayes()}, X, y, groups=k, cv=2, progress=False)
    assert found.n_rows == weight.sum()


def test_fault_code_is_that_of_pandas(monkeypatch):
    monkeypatch.setattr(dialect.Dialect, "of", lambda *call: dialect.Dialect())
    column, call, _ = CASES["constant"]
    for kind in ("polars", "numpy"):
        with pytest.raises((AttributeError, TypeError)):
            law(TABLES[kind]({"x0": DOSE, "x1": column}), Y, call)


@pytest.mark.parametrize(
    "make",
    [
        bg.NaiveBayes,
        bg.GenerativeClassifier,
        bg.LDA,
        bg.JointTable,
        bg.BagOfWords,
        bg.StackedClassifier,
    ],
)
def test_a_likelihood_is_advised_where_it_can_be_stated(make):
    """Others are told the classifier that takes one, and its call works."""
    X = pd.DataFrame({"a": [-1.5, 2.0, 0.5, 1.0], "b": [1.0, 2.0, 0.5, 1.0]})
    clf = make() if make is not bg.GenerativeClassifier else make(bg.Poisson())
    if make is bg.NaiveBayes:
        clf = make(bg.Poisson())
    found = [code for m in said(clf.fit, X, [0, 0, 1, 1]) for code in pieces(m)]
    for code in (c for c in found if "likelihood=" in c):
        assert code.startswith("bg.NaiveBayes(") != hasattr(clf, "likelihood")
        whole = code.replace("likelihood=", "bg.NaiveBayes(likelihood=") if code[0] == "l" else code
        whole = whole.replace(", ...}", "}, remainder='auto'") + ")" * (code[0] == "l")
        eval(whole).fit(X, [0, 0, 1, 1])
    assert found or make in (bg.LDA, bg.StackedClassifier)


def test_every_piece_of_code_has_every_dialect():
    """A column is named in each of them, so that a new one cannot be left out."""
    for kind in (*TABLES, "pandas"):
        for labels in LABELS:
            spoken = dialect.Dialect(kind, labels)
            for name, write in dialect.TYPED.items():
                extra = {
                    "as": ["float"],
                    "cut": ["3"],
                    "parts": ["3"],
                    "blank": ["None"],
                    "by": ["Normal"],
                }
                assert write(spoken, "x1", *extra.get(name, [])), name
            for code in (dialect.KEPT, dialect.ZEROS, dialect.FINITE, dialect.LABELS):
                assert code.text(spoken)


def test_the_outermost_call_with_rows_is_the_one_that_is_answered():
    X = pl.DataFrame({"x0": DOSE, "x1": np.where(np.arange(N) == 3, np.inf, DOSE)})
    (found,) = said(lambda X, y: bg.compare({"a": bg.NaiveBayes()}, X, y, cv=2), X, Y)
    assert "pass ⟦X.with_columns(" in str(found)
    assert dialect.CALL.get() is None
    assert wording.Writer("python", wording.Place()).dialect == dialect.Dialect()


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers_of_subgroups_are_cut(kind):
    X = TABLES[kind]({"x0": DOSE, "x1": DOSE**2})

    def scores(by):
        return bg.compare({"a": bg.NaiveBayes()}, X, Y, cv=2, by=by, progress=False).subgroups

    (by,) = said(lambda X, y: scores("x1"), X, Y)
    (code,) = pieces(by)
    assert len(scores(eval(code, {"pandas": pd, "numpy": np, "X": X}))) > 1
    (by,) = said(lambda X, y: scores(DOSE), X, Y)
    assert "Pass by=pandas.cut(by, 4)" in str(by)
    assert len(scores(pd.cut(DOSE, 4))) > 1


@pytest.mark.parametrize("kind", FRAMES)
def test_empty_columns_are_added_in_the_dialect_of_the_table(kind):
    whole = TABLES[kind]({"x0": DOSE, "x1": text("u", "v")})
    clf, X = naive()(whole, Y), TABLES[kind]({"x0": DOSE})
    with pytest.warns(errors.CountsAsMissing) as warned:
        expected = clf.predict_proba(X)
    (code,) = pieces(warned[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = clf.predict_proba(eval(code, {"X": X, "clf": clf}))
    np.testing.assert_array_equal(found, expected)
