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
SPELLINGS = ["red", "Red", "red ", "blue", "blue", "blue"]
UNSURE = [*Y[:5], " "]
BLANK = r"^\s*$"
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


def stack(members="auto", X=None, y=Y):
    return bg.StackedClassifier(members).fit(table() if X is None else X, y)


def batches(*parts, **options):
    clf = bg.NaiveBayes(**options)
    for X, y, *classes in parts:
        clf.partial_fit(X, y, *classes)
    return clf


def dates():
    return pd.date_range("2020-01-01", periods=6)


def transformed(**params):
    """Fit a column so skewed that its power is far from 1."""
    x = np.exp(np.linspace(-3, 3, 40))
    return naive(x[:, None], np.arange(40) % 2, **params)


def inf(*values):
    return table(dose=[*values, *range(6 - len(values))])


INF = table(dose=[1, 2, np.inf, 4, 5, -np.inf])
ARGUMENTS = {
    "InvalidArgument.not_one_of": (
        lambda: naive(unseen="ignore"),
        "unseen='missing'",
        lambda: naive(unseen="missing"),
    ),
    "InvalidArgument.out_of_range": (
        lambda: fitted().sample(0),
        "n=1",
        lambda: fitted().sample(n=1),
    ),
    "InvalidArgument.not_named": (
        lambda: bg.compare([bg.LDA()], *iris()),
        "{'LDA 0': classifiers[0]}",
        lambda: bg.compare({"LDA 0": bg.LDA()}, *iris(), cv=2, progress=False),
    ),
    "InvalidArgument.not_an_instance": (
        lambda: naive(NUMBERS, likelihood=bg.Normal),
        "likelihood=bg.Normal()",
        lambda: naive(NUMBERS, likelihood=bg.Normal()),
    ),
    "InvalidArgument.no_arguments": (
        lambda: bg.NaiveBayes().set_params(likelihood__mean_rows=2),
        "set_params(likelihood=bg.Normal(), likelihood__mean_rows=...)",
        lambda: bg.NaiveBayes().set_params(likelihood=bg.Normal(), likelihood__mean_rows=2),
    ),
    "InvalidArgument.no_block": (
        lambda: bg.NaiveBayes({"a": bg.Normal()}).set_params(likelihood__z__mean_rows=2),
        "likelihood__a__",
        lambda: bg.NaiveBayes({"a": bg.Normal()}).set_params(likelihood__a__mean_rows=2),
    ),
    "InvalidArgument.unknown_to": (
        lambda: bg.Normal().set_params(mean_row=2),
        "Did you mean mean_rows",
        lambda: bg.Normal().set_params(mean_rows=2),
    ),
    "InvalidArgument.no_member_left": (
        lambda: quietly(stack, [bg.LDA()]),
        "members={'name': classifier}",
        lambda: stack({"name": bg.NaiveBayes()}),
    ),
    "UnknownArgument.named": (
        lambda: bg.NaiveBayes(priors=[0.5, 0.5]),
        "class_prior",
        lambda: bg.NaiveBayes(class_prior=[0.5, 0.5]),
    ),
    "UnknownArgument.by_position": (
        lambda: bg.NaiveBayes("auto", "drop"),
        "NaiveBayes(remainder=...)",
        lambda: bg.NaiveBayes("auto", remainder="drop"),
    ),
}


def quietly(call, *arguments):
    """Call while warnings of the library are not of interest."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bg.errors.BayesgenWarning)
        return call(*arguments)


TABLES = {
    "UnsupportedTable.of_type": (
        lambda: lda(row for row in NUMBERS.to_numpy()),
        "pandas.DataFrame(X)",
        lambda: lda(pd.DataFrame(row for row in NUMBERS.to_numpy())),
    ),
    "UnsupportedTable.ragged": (
        lambda: lda([[1.0, 2.0], [3.0]] * 3),
        "None where a cell is missing",
        lambda: naive([[1.0, 2.0], [3.0, None], [4.0, 3.0]] * 2),
    ),
    "UnsupportedTable.path": (
        lambda: naive("table.csv"),
        "pandas.read_csv('table.csv')",
        lambda: naive(pd.read_csv(io.StringIO(table().to_csv(index=False)))),
    ),
    "UnsupportedTable.lazy": (
        lambda: naive(pl.from_pandas(table()).lazy()),
        "X.collect()",
        lambda: naive(pl.from_pandas(table()).lazy().collect()),
    ),
    "UnsupportedTable.columns": (
        lambda: naive(table().to_dict("list")),
        "pandas.DataFrame(X)",
        lambda: naive(pd.DataFrame(table().to_dict("list"))),
    ),
    "UnsupportedTable.sparse": (
        lambda: bg.compare({"lda": bg.LDA()}, COUNTS, LABELS),
        "X.toarray()",
        lambda: bg.compare({"lda": bg.LDA()}, COUNTS.toarray(), LABELS, cv=2, progress=False),
    ),
    "UnsupportedTable.sparse_for": (
        lambda: lda(COUNTS, LABELS),
        "likelihood=bg.Multinomial()",
        lambda: general(bg.Multinomial(), COUNTS, LABELS),
    ),
    "UnsupportedTable.sparse_pattern": (
        lambda: general(bg.Multinomial(), COUNTS, LABELS, missing="learn"),
        "X.toarray()",
        lambda: general(bg.Poisson(), COUNTS.toarray(), LABELS, missing="learn"),
    ),
    "InvalidTable.not_two_dimensional": (
        lambda: lda(NUMBERS["a"].to_numpy()),
        "numpy.reshape(X, (-1, 1))",
        lambda: lda(np.reshape(NUMBERS["a"].to_numpy(), (-1, 1))),
    ),
    "InvalidTable.series": (
        lambda: lda(NUMBERS["a"]),
        "X.to_frame()",
        lambda: lda(NUMBERS["a"].to_frame()),
    ),
    "InvalidTable.duplicate_names": (
        lambda: lda(NUMBERS.set_axis(["a", "a"], axis=1)),
        "X.columns = [...]",
        lambda: lda(NUMBERS.set_axis(["a", "b"], axis=1)),
    ),
    "InvalidValues.infinite": (
        lambda: naive(INF),
        "X.replace([numpy.inf, -numpy.inf], numpy.nan)",
        lambda: naive(INF.replace([np.inf, -np.inf], np.nan)),
    ),
    "InvalidValues.too_large": (
        lambda: naive(table(dose=[1e160, 2e160, 3e160, 4e160, 5e160, 6e160])),
        "divide the column by a constant",
        lambda: naive(table(dose=np.arange(6) * 1e160 / 1e160)),
    ),
    "InvalidValues.too_large_to_transform": (
        lambda: transformed(power_transform=True).predict([[1e140], [-1e140]]),
        "leave out power_transform=True",
        lambda: transformed().predict([[1e140], [-1e140]]),
    ),
    "InvalidValues.tiny_spread": (
        lambda: naive(table(dose=np.arange(6) * 1e-160)),
        "multiply the column by a constant",
        lambda: naive(table(dose=np.arange(6) * 1e-160 * 1e160)),
    ),
    "InvalidValues.complex_numbers": (
        lambda: naive(table(dose=np.arange(6) + 1j)),
        "numpy.real(X[column])",
        lambda: naive(table(dose=np.real(np.arange(6) + 1j))),
    ),
    "InvalidValues.complex_array of a sparse matrix": (
        lambda: words(COUNTS.astype(complex)),
        "scipy.sparse.hstack([X.real, X.imag])",
        lambda: words(hstack([COUNTS.real, COUNTS.real])),
    ),
    "InvalidValues.complex_array": (
        lambda: lda(NUMBERS.to_numpy() * (1 + 1j)),
        "numpy.hstack([X.real, X.imag])",
        lambda: lda(np.hstack([NUMBERS.to_numpy(), NUMBERS.to_numpy()[::-1]])),
    ),
    "UnsupportedColumn.date": (
        lambda: naive(table(dose=dates())),
        "X[column].dt.month",
        lambda: quietly(naive, table(dose=pd.Series(dates()).dt.month)),
    ),
    "UnsupportedColumn.nested": (
        lambda: naive(table(dose=[[1]] * 6)),
        "drop the column",
        lambda: naive(table().drop(columns="dose")),
    ),
    "UnsupportedColumn.mixed": (
        lambda: naive(table(dose=[1, "2", 3, 4, 5, 6])),
        "X['dose'] = pandas.to_numeric(X['dose'], errors='coerce')",
        lambda: naive(table(dose=pd.to_numeric(pd.Series([1, "2", 3, 4, 5, 6])))),
    ),
    "UnsupportedColumn.text_numbers": (
        lambda: naive(np.array([["red", 1.0], ["blue", 2.0]] * 3)),
        "dtype=object",
        lambda: naive(np.array([["red", 1.0], ["blue", 2.0]] * 3, dtype=object)),
    ),
    "UnsupportedColumn.name": (
        lambda: lda(NUMBERS.set_axis([("a", 1), 2.5], axis=1)),
        "X.set_axis([str(c) for c in X.columns], axis=1)",
        lambda: lda(NUMBERS.set_axis(["('a', 1)", "2.5"], axis=1)),
    ),
    "UnsupportedColumn.mixed_names": (
        lambda: lda(NUMBERS.set_axis(["a", 2], axis=1)),
        "X.set_axis([str(c) for c in X.columns], axis=1)",
        lambda: lda(NUMBERS.set_axis(["a", "2"], axis=1)),
    ),
}
COLUMNS = {
    "NotNumeric.column": (
        lambda: naive(likelihood={"colour": bg.Normal()}, remainder="auto"),
        "likelihood={'colour': bg.Categorical(), ...}",
        lambda: naive(likelihood={"colour": bg.Categorical()}, remainder="auto"),
    ),
    "BlankText.in_columns": (
        lambda: naive(table(colour=["red", " ", "blue", "blue", "red", ""])),
        r"X.replace(r'^\s*$', None, regex=True)",
        lambda: [
            naive(
                table(colour=["red", " ", "blue", "blue", "red", ""]).replace(BLANK, to, regex=True)
            )
            for to in ("blank", None)
        ],
    ),
    "SimilarLevels.column": (
        lambda: naive(table(colour=SPELLINGS)),
        "X['colour'] = X['colour'].str.split().str.join(' ').str.lower()",
        lambda: [
            naive(table(colour=pd.Series(SPELLINGS).str.split().str.join(" ").str.lower())),
            naive(table(colour=SPELLINGS).astype({"colour": "category"})),
        ],
    ),
    "MissingLabels.blank": (
        lambda: naive(table(), UNSURE, unlabelled=None),
        "keep = pandas.Series(y).str.strip() != ''",
        lambda: naive(table()[:5], pd.Series(UNSURE)[pd.Series(UNSURE).str.strip() != ""]),
    ),
    "BlankLabels.unlabelled": (
        lambda: naive(table(), UNSURE),
        r"pandas.Series(y).replace(r'^\s*$', 'blank', regex=True)",
        lambda: naive(table(), pd.Series(UNSURE).replace(BLANK, "blank", regex=True)),
    ),
    "SimilarClasses.among": (
        lambda: naive(table(), ["sick", "Sick", "sick", "well", "well ", "well"]),
        "pandas.Series(y).str.split().str.join(' ').str.lower()",
        lambda: naive(
            table(),
            pd.Series(["sick", "Sick", "sick", "well", "well ", "well"])
            .str.split()
            .str.join(" ")
            .str.lower(),
        ),
    ),
    "NotNumeric.discriminant": (
        lambda: lda(table(), Y),
        "bg.LDA(levels='indicators')",
        lambda: lda(table(), Y, levels="indicators"),
    ),
    "NotLevels.fractions": (
        lambda: naive(likelihood={"dose": bg.Categorical()}, remainder="auto"),
        "likelihood={'dose': bg.Normal(), ...}",
        lambda: naive(likelihood={"dose": bg.Normal()}, remainder="auto"),
    ),
    "NotLevels.changed": (
        lambda: batches((table(colour=list("123123")), Y), (table(colour=[1, 2, 3] * 2), Y)),
        "X[column].astype(str)",
        lambda: batches(*[(table(colour=list("123123")), Y)] * 2),
    ),
    "NotBinary.number": (
        lambda: naive(likelihood={"dose": bg.Bernoulli()}, remainder="auto"),
        "X[column] > 0",
        lambda: quietly(
            partial(naive, table(dose=table()["dose"] > 0)),
            Y,
            {"dose": bg.Bernoulli(), "colour": bg.Categorical(), "smoker": bg.Bernoulli()},
        ),
    ),
    "NotBinary.levels": (
        lambda: naive(likelihood={"colour": bg.Bernoulli()}, remainder="auto"),
        "likelihood={'colour': bg.Categorical(), ...}",
        lambda: naive(likelihood={"colour": bg.Categorical()}, remainder="auto"),
    ),
    "NotCounts.number": (
        lambda: naive(likelihood={"dose": bg.Poisson()}, remainder="auto"),
        "likelihood={'dose': bg.Normal(), ...}",
        lambda: naive(likelihood={"dose": bg.Normal()}, remainder="auto"),
    ),
    "MissingCells.at_fit": (
        lambda: general(bg.Multinomial(), GAPS),
        "X.fillna(0)",
        lambda: general(bg.Multinomial(), GAPS.fillna(0)),
    ),
    "UnknownColumns.not_in_table": (
        lambda: naive(likelihood={"height": bg.Normal()}, remainder="auto"),
        "'dose'",
        lambda: naive(likelihood={"dose": bg.Normal()}, remainder="auto"),
    ),
    "UnknownColumns.twice": (
        lambda: naive(likelihood={"dose": bg.Normal(), 0: bg.Normal()}, remainder="auto"),
        "Leave one of the entries out",
        lambda: naive(likelihood={"dose": bg.Normal()}, remainder="auto"),
    ),
    "UnknownColumns.left_out": (
        lambda: naive(likelihood={"dose": bg.Normal()}),
        'remainder="auto"',
        lambda: naive(likelihood={"dose": bg.Normal()}, remainder="auto"),
    ),
    "TooManyCells.block": (
        lambda: big_table(bg.JointCategorical()),
        "{'c0': bg.Categorical(), ('c1', 'c2'): bg.JointCategorical(), ...}",
        lambda: big_table({"c0": bg.Categorical(), ("c1", "c2"): bg.JointCategorical()}),
    ),
    "UnseenLevelError.in_column": (
        lambda: naive(unseen="error").predict(table(colour=["teal"] * 6)),
        "a pandas Categorical",
        lambda: naive(declared(), unseen="error").predict(table(colour=["teal"] * 6)),
    ),
    "UnseenLevel.in_column": (
        lambda: fitted().predict(table(colour=["teal"] * 6)),
        "a pandas Categorical",
        lambda: naive(declared()).predict(table(colour=["teal"] * 6)),
    ),
    "IdentifierColumn.column": (
        lambda: identified(),
        "X.drop(columns='name')",
        lambda: identified(drop="name"),
    ),
}


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


TARGETS = {
    "InvalidTarget.absent": (lambda: naive(y=None), "fit(X, y)", lambda: naive(y=Y)),
    "InvalidTarget.wrong_shape": (
        lambda: naive(y=np.eye(2)[[0, 0, 0, 1, 1, 1]]),
        "y.argmax(axis=1)",
        lambda: naive(y=np.eye(2)[[0, 0, 0, 1, 1, 1]].argmax(axis=1)),
    ),
    "InvalidTarget.ragged": (
        lambda: naive(y=[[1], [1, 2], [1], [2], [2], [2]]),
        "a list of labels",
        lambda: naive(y=[1, 1, 1, 2, 2, 2]),
    ),
    "InvalidTarget.mixed": (
        lambda: naive(y=np.array([1, "a", 1, 2, 2, 2], dtype=object)),
        "y.astype(str)",
        lambda: naive(y=np.array([1, "a", 1, 2, 2, 2], dtype=object).astype(str)),
    ),
    "InvalidTarget.infinite": (
        lambda: naive(y=[0, 1, np.inf, 0, 1, 1]),
        "keep = numpy.isfinite(y); fit(X[keep], y[keep])",
        lambda: kept(np.array([0, 1, np.inf, 0, 1, 1]), np.isfinite),
    ),
    "InvalidTarget.fractions": (
        lambda: naive(y=[0.5, 1.5, 0.5, 1.5, 2.5, 2.5]),
        "y.astype(str)",
        lambda: naive(y=np.array([0.5, 1.5, 0.5, 1.5, 2.5, 2.5]).astype(str)),
    ),
    "InvalidTarget.undeclared": (
        lambda: bg.NaiveBayes().partial_fit(table(), Y, ["sick", "dead"]),
        "partial_fit(X, y, classes=[...])",
        lambda: bg.NaiveBayes().partial_fit(table(), Y, classes=["sick", "well", "dead"]),
    ),
    "TooFewClasses.found": (
        lambda: bg.NaiveBayes().partial_fit(table(), ["sick"] * 6).predict(table()),
        "partial_fit(X, y, classes=[...])",
        lambda: batches((table(), ["sick"] * 6, ["sick", "well"]), (table(), Y)).predict(table()),
    ),
    "InvalidWeights.not_numeric": (
        lambda: naive(weight=["a", "b", "c", "d", "e", "f"]),
        "Pass None",
        lambda: naive(weight=None),
    ),
    "InvalidWeights.values": (
        lambda: naive(weight=[1, 1, -1, 1, 1, 1]),
        "numpy.clip(weight, 0, None)",
        lambda: naive(weight=np.clip([1, 1, -1, 1, 1, 1], 0, None)),
    ),
    "InvalidWeights.wrong_shape": (
        lambda: naive(weight=[1.0, 2.0]),
        "Pass None",
        lambda: naive(weight=None),
    ),
    "InvalidWeights.all_zero": (
        lambda: naive(weight=np.zeros(6)),
        "Pass None",
        lambda: naive(weight=None),
    ),
    "InvalidWeights.fractions": (
        lambda: fitted().estimate_prevalence(table(), sample_weight=np.full(6, 1.5)),
        "numpy.rint(sample_weight)",
        lambda: fitted().estimate_prevalence(table(), sample_weight=np.rint(np.full(6, 1.5))),
    ),
    "NoRows.to_leave_out": (
        lambda: batches((NUMBERS, Y)).estimate_prevalence(NUMBERS, method="left_out"),
        "method='density'",
        lambda: batches((NUMBERS, Y)).estimate_prevalence(NUMBERS, method="density"),
    ),
    "NoRows.for_label_shift": (
        lambda: batches((NUMBERS, Y)).check_label_shift(NUMBERS),
        "check_label_shift(X_new, X=X, y=y)",
        lambda: batches((NUMBERS, Y)).check_label_shift(NUMBERS, X=NUMBERS, y=Y),
    ),
    "NoRows.pass_them": (
        lambda: batches((NUMBERS, Y)).loo(),
        "loo(X, y)",
        lambda: batches((NUMBERS, Y)).loo(NUMBERS, Y),
    ),
    "NoRows.others": (
        lambda: fitted().loo(table()[1:], Y[1:]),
        "predict_log_proba",
        lambda: fitted().predict_log_proba(table()[1:]),
    ),
    "NoRows.to_learn_from": (
        lambda: again(naive(temper="learn")),
        "fit with all rows",
        lambda: naive(pd.concat([table()] * 2), Y * 2, temper="learn"),
    ),
}


def kept(y, good):
    keep = good(y)
    return naive(table()[keep], y[keep])


def again(clf):
    """Add rows to a copy, which has none of the earlier ones."""
    import copy

    return copy.deepcopy(clf).partial_fit(table(), Y)
