"""Sentences about arguments, tables, columns and labels, for `cures`; and the rows they meet."""

import io
import warnings
from functools import cache, partial

import numpy as np
import pandas as pd
import polars as pl
from scipy.sparse import csr_array, hstack

import bayesgen as bg

Y = ["sick", "sick", "sick", "well", "well", "well"]
NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 9.0, 7.0]})
GAPS = NUMBERS.assign(b=[2.0, np.nan, 5.0, 4.0, 9.0, 7.0])
TEXTS = ["good film", "bad film", "good play", "bad play"]
LABELS = [1, 0, 1, 0]
BLANK = r"^\s*$"
GAPPED = ["red", " ", "blue", "blue", "red", ""]
SPELLINGS = pd.Series(["red", "Red", "red ", "blue", "blue", "blue"])
SIMILAR = pd.Series(["sick", "Sick", "sick", "well", "well ", "well"])
UNSURE = pd.Series([*Y[:5], " "])
DOSE = {"colour": bg.Categorical(), "smoker": bg.Bernoulli()}
COUNTS = csr_array([[1, 0], [0, 2], [1, 0], [0, 3]])


def table(**columns):
    """Return six good rows of one number, one text and one yes/no column, some replaced."""
    good = {
        "dose": [1.0, 2.0, 3.0, 4.0, 5.5, 6.5],
        "colour": ["red", "red", "blue", "blue", "red", "blue"],
        "smoker": [True, False, True, True, False, False],
    }
    return pd.DataFrame(good | columns)


def naive(X=None, y=Y, likelihood="auto", weight=None, **params):
    """Fit naive Bayes."""
    return bg.NaiveBayes(likelihood, **params).fit(table() if X is None else X, y, weight)


def qda(X=NUMBERS, y=Y, **params):
    return bg.QDA(random_state=0, **params).fit(X, y)


def lda(X=NUMBERS, y=Y, **params):
    return bg.LDA(random_state=0, **params).fit(X, y)


def general(likelihood, X=NUMBERS, y=Y, **params):
    return bg.GenerativeClassifier(likelihood, **params).fit(X, y)


def words(X=TEXTS, y=LABELS, **params):
    return bg.BagOfWords(**params).fit(X, y)


def only(likelihood, **columns):
    """Fit one column of six cells."""
    return naive(pd.DataFrame(columns), likelihood=likelihood)


@cache
def fitted():
    return naive()


@cache
def incomplete():
    """Return a QDA whose rows have a missing cell, drawn by augmentation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return qda(GAPS, inference=bg.Augmentation(50, 20, 2))


@cache
def iris():
    X, y = bg.datasets.load_iris()
    return X[::5].reset_index(drop=True), y[::5].reset_index(drop=True)


def compared(**options):
    return bg.compare({"lda": bg.LDA()}, *iris(), cv=2, progress=False, **options)


def compared_twice(k):
    X, y = iris()
    return bg.compare({"lda": bg.LDA()}, X.iloc[k], y.iloc[k], groups=k, cv=2, progress=False)


def stack(members="auto", X=None, y=Y):
    return bg.StackedClassifier(members).fit(table() if X is None else X, y)


def batches(*parts, **options):
    clf = bg.NaiveBayes(**options)
    for X, y, *classes in parts:
        clf.partial_fit(X, y, *classes)
    return clf


def durations():
    return pd.Series(pd.to_timedelta([1, 1, 1, 2, 2, 2], unit="h"))


def dates():
    return pd.date_range("2020-01-01", periods=6)


def transformed(**params):
    """Fit a column so skewed that its power is far from 1."""
    x = np.exp(np.linspace(-3, 3, 40))
    return naive(x[:, None], np.arange(40) % 2, **params)


def inf(*values):
    return table(dose=[*values, *range(6 - len(values))])


INF = table(dose=[1, 2, np.inf, 4, 5, -np.inf])


def quietly(call, *arguments):
    """Call while warnings of the library are not of interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
        return call(*arguments)


def halves():
    return pd.DataFrame(np.full((6, 2), 0.5), columns=["sick", "well"])


def declared():
    """Return the table whose colors say that teal is one."""
    colours = pd.Categorical(table()["colour"], ["red", "blue", "teal"])
    return table(colour=colours)


def identified(drop=None):
    X = pd.DataFrame({"name": [f"n{i}" for i in range(40)], "a": np.arange(40.0) % 7})
    return naive(X if drop is None else X.drop(columns=drop), np.arange(40) % 2)


def big_table(likelihood):
    """Fit columns of many levels."""
    rng = np.random.default_rng(0)
    n = 12 if isinstance(likelihood, bg.JointCategorical) else 3
    X = pd.DataFrame({f"c{j}": rng.permutation(np.arange(60) % 20).astype(str) for j in range(n)})
    return general(likelihood, X, np.arange(60) % 2)


def kept(y, good):
    keep = good(y)
    return naive(table()[keep], y[keep])


def again(clf):
    """Add rows to a copy, which has none of the earlier ones."""
    import copy

    return copy.deepcopy(clf).partial_fit(table(), Y)


def alike(names):
    return names.str.split().str.join(" ").str.lower()


MONEY = pd.DataFrame({"dose": [f"${i % 7 + 1},100.50" for i in range(100, 124)]})
RANGES = pd.DataFrame({"dose": [f"{7 * i % 40}-{7 * i % 40 + 5}" for i in range(24)]})
MIDDLES = (
    RANGES["dose"].str.extract(r"([\d.]+)\D+?([\d.]+)").astype(float).mean(axis=1).to_frame("dose")
)


CURES = """
naive(MONEY, np.arange(24) % 2)
    X.astype({'dose': 'category'})
    naive(MONEY.astype({"dose": "category"}), np.arange(24) % 2)
naive(RANGES, np.arange(24) % 2)
    X['dose'] = X['dose'].str.extract(r'([\\d.]+)\\D+?([\\d.]+)').astype(float).mean(axis=1)
    naive(MIDDLES, np.arange(24) % 2)
naive(table(colour=GAPPED))
    X.replace(r'^\\s*$', None, regex=True)
    [naive(table(colour=GAPPED).replace(BLANK, to, regex=True)) for to in ("blank", None)]
naive(table(colour=SPELLINGS))
    X['colour'] = X['colour'].str.split().str.join(' ').str.lower()
    naive(table(colour=alike(SPELLINGS)))
naive(table(colour=SPELLINGS))
    X.astype({'colour': 'category'})
    naive(table(colour=SPELLINGS).astype({"colour": "category"}))
naive(table(), UNSURE, unlabelled=None)
    keep = pandas.Series(y).str.strip().to_numpy() != ''
    naive(table()[:5], UNSURE[UNSURE.str.strip() != ""])
naive(table(), UNSURE)
    pandas.Series(y).replace(r'^\\s*$', 'blank', regex=True)
    naive(table(), UNSURE.replace(BLANK, "blank", regex=True))
naive(table(), SIMILAR)
    pandas.Series(y).str.split().str.join(' ').str.lower()
    naive(table(), alike(SIMILAR))
lda(table(), Y)
    bg.LDA(levels='indicators')
    lda(table(), Y, levels="indicators")
naive(unseen="ignore")
    unseen='missing'
    naive(unseen="missing")
fitted().sample(0)
    n=1
    fitted().sample(n=1)
compared(by="petal")
    Pass by='petal_width'.
    compared(by=pd.cut(iris()[0].sepal_length, 2))
compared(by=[1, 2])
    Pass by='sepal_length'.
compared(by="petal_length")
    Pass by=pandas.cut(X['petal_length'], 4).
    compared(by=pd.cut(iris()[0]["petal_length"], 4))
compared(by=iris()[0].sepal_length.gt(6).add_suffix("th"))
    Pass by=by.to_numpy()
    compared(by=iris()[0].sepal_length.gt(6).add_suffix("th").to_numpy())
compared(rivals=["lightgm"])
    Pass rivals='lightgbm'.
bg.compare([bg.LDA()], *iris())
    {'LDA 0': classifiers[0]}
    bg.compare({"LDA 0": bg.LDA()}, *iris(), cv=2, progress=False)
naive(NUMBERS, likelihood=bg.Normal)
    likelihood=bg.Normal()
    naive(NUMBERS, likelihood=bg.Normal())
bg.NaiveBayes().set_params(likelihood__mean_rows=2)
    set_params(likelihood=bg.Normal(), likelihood__mean_rows=...)
    bg.NaiveBayes().set_params(likelihood=bg.Normal(), likelihood__mean_rows=2)
bg.NaiveBayes({"a": bg.Normal()}).set_params(likelihood__z__mean_rows=2)
    likelihood__a__
bg.Normal().set_params(mean_row=2)
    Did you mean mean_rows
quietly(stack, [bg.LDA()])
    members={'name': classifier}
    stack({"name": bg.NaiveBayes()})
bg.NaiveBayes(priors=[0.5, 0.5])
    class_prior
bg.NaiveBayes("auto", "drop")
    NaiveBayes(remainder=...)
    bg.NaiveBayes("auto", remainder="drop")
lda([[1.0, 2.0], [3.0]] * 3)
    None where a cell is missing
bg.compare({"lda": bg.LDA()}, COUNTS, LABELS)
    X.toarray()
    bg.compare({"lda": bg.LDA()}, COUNTS.toarray(), LABELS, cv=2, progress=False)
lda(COUNTS, LABELS)
    bg.NaiveBayes(bg.Multinomial())
    general(bg.Multinomial(), COUNTS, LABELS)
general(bg.Multinomial(), COUNTS, LABELS, missing="learn")
    X.toarray()
    general(bg.Poisson(), COUNTS.toarray(), LABELS, missing="learn")
lda(NUMBERS["a"].to_numpy())
    numpy.reshape(X, (-1, 1))
    lda(np.reshape(NUMBERS["a"].to_numpy(), (-1, 1)))
lda(NUMBERS.set_axis(["a", "a"], axis=1))
    X.columns = ['a', 'a.1']
    lda(NUMBERS.set_axis(["a", "a.1"], axis=1))
naive(INF)
    X.replace([numpy.inf, -numpy.inf], numpy.nan)
    naive(INF.replace([np.inf, -np.inf], np.nan))
naive(table(dose=[1e+160, 2e+160, 3e+160, 4e+160, 5e+160, 6e+160]))
    divide the column by a constant
transformed(power_transform=True).predict([[1e+140], [-1e+140]])
    leave out power_transform=True
    transformed().predict([[1e+140], [-1e+140]])
naive(table(dose=np.arange(6) * 1e-160))
    multiply the column by a constant
naive(table(dose=np.arange(6) + 1j))
    numpy.real(X['dose'])
    naive(table(dose=np.real(np.arange(6) + 1j)))
words(COUNTS.astype(complex))
    scipy.sparse.hstack([X.real, X.imag])
    words(hstack([COUNTS.real, COUNTS.real]))
lda(NUMBERS.to_numpy() * (1 + 1j))
    numpy.hstack([X.real, X.imag])
    lda(np.hstack([NUMBERS.to_numpy(), NUMBERS.to_numpy()[::-1]]))
naive(table(dose=dates()))
    X['dose'].dt.month
    quietly(naive, table(dose=pd.Series(dates()).dt.month))
naive(table(dose=[[1]] * 6))
    drop the column
naive(table(dose=[1, "2", 3, 4, 5, 6]))
    X['dose'] = pandas.to_numeric(X['dose'], errors='coerce')
    naive(table(dose=pd.to_numeric(pd.Series([1, "2", 3, 4, 5, 6]))))
naive(np.array([["red", 1.0], ["blue", 2.0]] * 3))
    dtype=object
    naive(np.array([["red", 1.0], ["blue", 2.0]] * 3, dtype=object))
lda(NUMBERS.set_axis([("a", 1), 2.5], axis=1))
    X.set_axis([str(c) for c in X.columns], axis=1)
    lda(NUMBERS.set_axis(["('a', 1)", "2.5"], axis=1))
lda(NUMBERS.set_axis(["a", 2], axis=1))
    X.set_axis([str(c) for c in X.columns], axis=1)
    lda(NUMBERS.set_axis(["a", "2"], axis=1))
naive(likelihood={"colour": bg.Normal()}, remainder="auto")
    likelihood={'colour': bg.Categorical(), ...}
    naive(likelihood={"colour": bg.Categorical()}, remainder="auto")
naive(likelihood={"dose": bg.Categorical()}, remainder="auto")
    likelihood={'dose': bg.Normal(), ...}
    naive(likelihood={"dose": bg.Normal()}, remainder="auto")
batches((table(colour=list("123123")), Y), (table(colour=[1, 2, 3] * 2), Y))
    X.astype({'colour': str})
    batches(*[(table(colour=list("123123")), Y)] * 2)
naive(likelihood={"dose": bg.Bernoulli()}, remainder="auto")
    X['dose'] > 0
    quietly(naive, table(dose=table()["dose"] > 0))
naive(likelihood={"colour": bg.Bernoulli()}, remainder="auto")
    likelihood={'colour': bg.Categorical(), ...}
    naive(likelihood={"colour": bg.Categorical()}, remainder="auto")
naive(likelihood={"dose": bg.Poisson()}, remainder="auto")
    likelihood={'dose': bg.Normal(), ...}
    naive(likelihood={"dose": bg.Normal()}, remainder="auto")
general(bg.Multinomial(), GAPS)
    X.fillna(0)
    general(bg.Multinomial(), GAPS.fillna(0))
naive(likelihood={"height": bg.Normal()}, remainder="auto")
    'dose'
naive(likelihood={"dose": bg.Normal(), 0: bg.Normal()}, remainder="auto")
    Leave one of the entries out
naive(likelihood={"dose": bg.Normal()})
    remainder="auto"
    naive(likelihood={"dose": bg.Normal()}, remainder="auto")
big_table(bg.JointCategorical())
    {'c0': bg.Categorical(), ('c1', 'c2'): bg.JointCategorical(), ...}
    big_table({"c0": bg.Categorical(), ("c1", "c2"): bg.JointCategorical()})
naive(unseen="error").predict(table(colour=["teal"] * 6))
    a pandas Categorical
fitted().predict(table(colour=["teal"] * 6))
    a pandas Categorical
identified()
    X.drop(columns='name')
    identified(drop="name")
fitted().score(table(), Y)
    bg.compare({'clf': clf}, X, y)
    bg.compare({"clf": bg.LDA()}, *iris(), cv=2, progress=False)
naive(y=None)
    fit(X, y)
    naive(y=Y)
naive().score(fitted().sample(6)[0], np.eye(2)[[0, 0, 0, 1, 1, 1]])
    y.argmax(axis=1)
    naive(y=np.eye(2)[[0, 0, 0, 1, 1, 1]].argmax(axis=1))
bg.NaiveBayes().partial_fit(table(), Y).partial_fit(table(), np.full((6, 2), 0.5))
    pandas.DataFrame(y, columns=['sick', 'well'])
    bg.NaiveBayes().partial_fit(table(), Y).partial_fit(table(), halves())
naive(y=[[1], [1, 2], [1], [2], [2], [2]])
    a list of labels
naive(y=np.array([1, "a", 1, 2, 2, 2], dtype=object))
    y.astype(str)
    naive(y=np.array([1, "a", 1, 2, 2, 2], dtype=object).astype(str))
naive(y=durations())
    y.astype(str)
    naive(y=durations().astype(str))
naive(y=[0, 1, np.inf, 0, 1, 1])
    keep = numpy.isfinite(numpy.asarray(y)); fit(X[keep], numpy.asarray(y)[keep])
    kept(np.array([0, 1, np.inf, 0, 1, 1]), np.isfinite)
naive(y=[0.5, 1.5, 0.5, 1.5, 2.5, 2.5])
    numpy.asarray(y).astype(str)
    naive(y=np.array([0.5, 1.5, 0.5, 1.5, 2.5, 2.5]).astype(str))
bg.NaiveBayes().partial_fit(table(), Y, ["sick", "dead"])
    partial_fit(X, y, classes=[...])
    bg.NaiveBayes().partial_fit(table(), Y, classes=["sick", "well", "dead"])
bg.NaiveBayes().partial_fit(table(), ["sick"] * 6).predict(table())
    partial_fit(X, y, classes=[...])
    batches((table(), ["sick"] * 6, ["sick", "well"]), (table(), Y)).predict(table())
naive(weight=["a", "b", "c", "d", "e", "f"])
    Pass None
naive(weight=[1, 1, -1, 1, 1, 1])
    numpy.clip(weight, 0, None)
    naive(weight=np.clip([1, 1, -1, 1, 1, 1], 0, None))
naive(weight=[1.0, 2.0])
    Pass None
naive(weight=np.zeros(6))
    Pass None
naive(weight=np.full(6, 1e18))
    sample_weight / numpy.max(sample_weight)
    naive(weight=np.full(6, 1e18) / np.max(np.full(6, 1e18)))
naive(NUMBERS, pd.Series(Y)[::-1])
    y.loc[X.index]
    naive(NUMBERS, pd.Series(Y)[::-1].loc[NUMBERS.index])
naive(NUMBERS, pd.Series(Y)[::-1])
    y.to_numpy()
    naive(NUMBERS, pd.Series(Y)[::-1].to_numpy())
compared(sample_weight=np.full(30, 2))
    k = numpy.repeat(range(len(X)), numpy.asarray(sample_weight, dtype=int))
    compared_twice(np.repeat(range(30), np.full(30, 2)))
fitted().estimate_prevalence(table(), sample_weight=np.full(6, 1.5))
    numpy.rint(sample_weight)
    fitted().estimate_prevalence(table(), sample_weight=np.rint(np.full(6, 1.5)))
batches((NUMBERS, Y)).estimate_prevalence(NUMBERS, method="left_out")
    method='density'
    batches((NUMBERS, Y)).estimate_prevalence(NUMBERS, method="density")
batches((NUMBERS, Y)).check_label_shift(NUMBERS)
    check_label_shift(X_new, X=X, y=y)
    batches((NUMBERS, Y)).check_label_shift(NUMBERS, X=NUMBERS, y=Y)
batches((NUMBERS, Y)).loo()
    loo(X, y)
    batches((NUMBERS, Y)).loo(NUMBERS, Y)
fitted().loo(table()[1:], Y[1:])
    predict_log_proba
again(naive(temper="learn"))
    fit with all rows
"""
