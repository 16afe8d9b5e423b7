"""Bad input: one sentence that names the column, the class and the cure, or a right answer."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen import errors


def table(**columns):
    """Return six good rows of one number, one text and one yes/no column, some replaced."""
    good = {
        "dose": [1.0, 2.0, 3.0, 4.0, 5.5, 6.5],
        "colour": ["red", "red", "blue", "blue", "red", "blue"],
        "smoker": [True, False, True, True, False, False],
    }
    return pd.DataFrame(good | columns)


Y = ["sick", "sick", "sick", "well", "well", "well"]
NUMBERS = pd.DataFrame({"a": [1.0, 2.0, 4.0, 7.0, 5.0, 6.0], "b": [2.0, 1.0, 5.0, 4.0, 9.0, 7.0]})


def naive(likelihood="auto", **params):
    return bg.NaiveBayes(likelihood, **params)


def after(clf, X=None, y=Y):
    """Return a fitted classifier."""
    return clf.fit(table() if X is None else X, y)


DOSE = {"colour": bg.Categorical(), "smoker": bg.Bernoulli()}

REFUSED = [
    # name, call, error class, sentence
    (
        "infinity",
        lambda: after(naive(), table(dose=[1, 2, np.inf, 4, 5, -np.inf])),
        errors.InvalidValues,
        "column 'dose' holds infinity .* in 2 rows; .* X.replace",
    ),
    (
        "infinity at predict",
        lambda: after(naive()).predict(table(dose=[1, 2, np.inf, 4, 5, 6])),
        errors.InvalidValues,
        "column 'dose' holds infinity .* in 1 row;",
    ),
    (
        "infinity in an array",
        lambda: bg.QDA().fit([[1.0, 2.0], [np.inf, 3.0]], [0, 1]),
        errors.InvalidValues,
        "column 'x0' holds infinity",
    ),
    (
        "too large to square",
        lambda: after(naive(), table(dose=[1, 2, 1e200, 4, 5, 6])),
        errors.InvalidValues,
        "column 'dose' holds 1e\\+200; magnitudes up to 1e150",
    ),
    (
        "text in a Normal column",
        lambda: after(naive({"dose": bg.Normal(), "colour": bg.Normal(), "smoker": bg.Normal()})),
        errors.NotNumeric,
        "column 'colour' holds the levels 'blue', 'red'; .*likelihood={'colour': bg.Categorical",
    ),
    (
        "text for LDA",
        lambda: after(bg.LDA()),
        errors.NotNumeric,
        "column 'colour' holds the levels 'blue', 'red'",
    ),
    (
        "1.7 in a Bernoulli column",
        lambda: after(naive({"dose": bg.Bernoulli(), **DOSE}), table(dose=[0, 1, 1.7, 0, 1, 0])),
        errors.NotBinary,
        "column 'dose' holds 1.7; .*Pass X\\[column\\] > 0",
    ),
    (
        "text in a Bernoulli column",
        lambda: after(naive({("colour", "smoker"): bg.Bernoulli(), "dose": bg.Normal()})),
        errors.NotBinary,
        "column 'colour' holds 2 levels, 'blue', 'red'; .*Use Categorical",
    ),
    (
        "1.7 in a Categorical column",
        lambda: after(naive(bg.Categorical()), table(dose=[0, 1, 1.7, 0, 1, 0])),
        errors.NotLevels,
        "column 'dose' holds 1.7; .*pandas.cut",
    ),
    (
        "an unseen level, refused",
        lambda: after(naive(unseen="error")).predict(table(colour=["teal"] * 6)),
        errors.UnseenLevelError,
        "column 'colour' has the level 'teal' in 6 of 6 rows; the fit had 'blue', 'red'",
    ),
    (
        "a missing class",
        lambda: after(naive(unlabelled=None), y=["sick", None, "sick", "well", "well", None]),
        errors.MissingLabels,
        "y is missing .* in 2 of 6 rows; .*pandas.notna",
    ),
    (
        "a missing class among numbers",
        lambda: after(naive(unlabelled=None), y=[0, 1, np.nan, 0, 1, 1]),
        errors.MissingLabels,
        "y is missing .* in 1 of 6 rows",
    ),
    (
        "an infinite class",
        lambda: after(naive(), y=[0, 1, np.inf, 0, 1, 1]),
        errors.InvalidTarget,
        "y is infinite in 1 of 6 rows",
    ),
    (
        "no classes",
        lambda: after(naive(), y=None),
        errors.InvalidTarget,
        "requires y to be passed",
    ),
    (
        "one class only",
        lambda: after(naive(), y=["well"] * 6),
        errors.TooFewClasses,
        "y has 1 class, 'well'; at least two",
    ),
    (
        "one class left by weights",
        lambda: naive().fit(table(), Y, sample_weight=[1, 1, 1, 0, 0, 0]),
        errors.TooFewClasses,
        "y has 1 class, 'sick'",
    ),
    (
        "one row",
        lambda: naive().fit(table().iloc[:1], Y[:1]),
        errors.TooFewClasses,
        "y has 1 class, 'sick'",
    ),
    (
        "zero total weight",
        lambda: naive().fit(table(), Y, sample_weight=np.zeros(6)),
        errors.InvalidWeights,
        "sample_weight is zero in every row; at least one must be above 0",
    ),
    (
        "negative weights",
        lambda: naive().fit(table(), Y, sample_weight=[1, 1, -1, 1, 1, np.nan]),
        errors.InvalidWeights,
        "sample_weight is negative, infinite or NaN in 2 rows",
    ),
    (
        "too few weights",
        lambda: naive().fit(table(), Y, sample_weight=[1.0, 2.0]),
        errors.InvalidWeights,
        "sample_weight has the shape \\(2,\\), X has 6 rows",
    ),
    (
        "too few labels",
        lambda: naive().fit(table(), Y[:4]),
        errors.InvalidTarget,
        "X has 6 rows and y has 4 labels",
    ),
    (
        "wrong columns",
        lambda: after(naive()).predict(table().rename(columns={"dose": "doses"})),
        errors.UnknownColumns,
        "unseen at fit time:\n- doses\n.*missing:\n- dose\n.*X.rename\\(columns={'doses': 'dose'}",
    ),
    (
        "an extra column",
        lambda: after(naive()).predict(table(extra=1.0)),
        errors.UnknownColumns,
        "unseen at fit time:\n- extra\n",
    ),
    (
        "another number of columns",
        lambda: bg.QDA().fit(NUMBERS.to_numpy(), Y).predict([[1.0]]),
        ValueError,
        "X has 1 features, but QDA is expecting 2 features",
    ),
    (
        "a likelihood for a column that is not there",
        lambda: after(naive({"height": bg.Normal()})),
        errors.UnknownColumns,
        "X has no column 'height'; it has 'dose', 'colour', 'smoker'",
    ),
    (
        "a column without a likelihood",
        lambda: after(naive({"dose": bg.Normal(), "smoker": bg.Bernoulli()})),
        errors.UnknownColumns,
        "'colour'",
    ),
    (
        "a column with two likelihoods",
        lambda: after(naive({"dose": bg.Normal(), ("dose", "colour"): bg.Categorical()})),
        errors.UnknownColumns,
        "'dose'",
    ),
    (
        "dates",
        lambda: after(naive(), table(dose=pd.date_range("2020-01-01", periods=6))),
        errors.UnsupportedColumn,
        "column 'dose' holds dates",
    ),
    (
        "a mixture of types",
        lambda: after(naive(), table(dose=[1, "two", 3, 4, 5, 6])),
        errors.UnsupportedColumn,
        "column 'dose' mixes values of the types int, str",
    ),
]


@pytest.mark.parametrize(
    ("call", "kind", "sentence"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED]
)
def test_refused_with_one_sentence(call, kind, sentence):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, ValueError | TypeError)
    assert isinstance(caught.value, errors.BayesgenError) or kind is ValueError
    assert re.search(sentence, str(caught.value), re.DOTALL), str(caught.value)
