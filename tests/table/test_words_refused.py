"""What counts, sparse matrices and texts cannot be, each refused with a sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

import bayesgen as bg
from bayesgen import errors

TEXTS, LABELS = ["the king and food", "a proof", "proof and proof"], ["a", "b", "b"]
FRESH = ["food for the king"]


def words(x: object, y: list) -> bg.NaiveBayes:
    return bg.NaiveBayes(bg.Multinomial()).fit(x, y)


def counts(x: object, y: list) -> bg.NaiveBayes:
    return bg.NaiveBayes(bg.Poisson()).fit(x, y)


def bag(**settings: object) -> bg.BagOfWords:
    return bg.BagOfWords(**settings)


X = sp.csr_array(np.array([[0, 2, 1], [1, 0, 0], [0, 0, 3]]))
Y = ["a", "b", "b"]


def changed(value: float) -> sp.csr_array:
    return sp.csr_array(np.where([[0, 0, 0], [0, 0, 1], [0, 0, 0]], value, X.toarray()))


SPARSE = {
    "Normal": (
        lambda: bg.NaiveBayes().fit(X, Y),
        errors.InvalidData,
        "Normal does not read sparse rows; Multinomial, Bernoulli and Poisson do. Pass X.toarray",
    ),
    "Categorical": (
        lambda: bg.NaiveBayes({(0, 1): bg.Poisson(), 2: bg.Categorical()}).fit(X, Y),
        errors.InvalidData,
        "Categorical does not read sparse rows",
    ),
    "at predict": (
        lambda: bg.NaiveBayes().fit(X.toarray(), Y).predict(X),
        errors.InvalidData,
        "Normal does not read sparse rows",
    ),
    "negative": (
        lambda: words(changed(-2), Y),
        errors.InvalidData,
        "Negative values in data: column 'x2' holds -2.0",
    ),
    "fractions": (lambda: counts(changed(0.5), Y), errors.InvalidData, "'x2' holds 0.5"),
    "no answer": (
        lambda: bg.NaiveBayes(bg.Bernoulli()).fit(X, Y),
        errors.InvalidData,
        "column 'x1' holds 2",
    ),
    "infinity": (
        lambda: counts(changed(np.inf), Y),
        errors.InvalidData,
        "column 'x2' holds infinity .* in 1 row",
    ),
    "too large": (lambda: counts(changed(1e160), Y), errors.InvalidData, "'x2' holds 1e"),
    "complex": (
        lambda: counts(X.astype(complex), Y),
        ValueError,
        "Complex data not supported",
    ),
    "missing words at fit": (
        lambda: words(changed(np.nan), Y),
        errors.InvalidData,
        r"'x2' is missing \(NaN\) in 1 of 3 rows; Multinomial fits complete rows only.*X\.data\[",
    ),
    "another number of columns": (
        lambda: counts(X, Y).predict(X[:, :2]),
        ValueError,
        "X has 2 features, but NaiveBayes is expecting 3 features",
    ),
}

BAGS = {
    "weights of words": (
        lambda: bag(vectorizer=TfidfVectorizer()).fit(TEXTS, LABELS),
        errors.InvalidData,
        "column 'and' holds 0.*those of CountVectorizer",
    ),
    "signed hashes": (
        lambda: bag(vectorizer=HashingVectorizer(norm=None)).fit(TEXTS, LABELS),
        errors.InvalidData,
        "Negative values in data",
    ),
    "fractions": (
        lambda: bag(binary=True).fit([[0.5], [1]], ["a", "b"]),
        errors.InvalidData,
        "0.5",
    ),
    **{
        f"a missing text, {dtype}": (
            lambda dtype=dtype: (
                bag().fit(TEXTS, LABELS).predict(pd.Series(["a", None], dtype=dtype))
            ),
            errors.InvalidData,
            r"no text \(None, NaN or NA\) in 1 of 2 rows",
        )
        for dtype in ("object", "string", "str")
    },
    "rows_per_word of texts": (
        lambda: bag(binary=True, rows_per_word=1).fit(TEXTS, LABELS),
        errors.InvalidArgument,
        "rows_per_word is 1; allowed: None",
    ),
}


@pytest.mark.parametrize(("call", "kind", "sentence"), (SPARSE | BAGS).values(), ids=SPARSE | BAGS)
def test_refused_with_a_sentence(call, kind, sentence):
    with pytest.raises(kind, match=sentence) as caught:
        call()
    assert isinstance(caught.value, ValueError | TypeError)
