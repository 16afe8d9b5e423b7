"""Bags of words: texts and counts, presence, unknown words, batches, scikit-learn's contract."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import bayesgen as bg
from bayesgen import errors

TEXTS = [
    "the king ate the food",
    "proof that it equals",
    "a proof by the king",
    "food, food and more food",
    "it equals what was to prove",
    "proof by proof",
]
LABELS = np.array(["History", "Science", "Science", "History", "Science", "Science"])
FRESH = ["food for the king", "a proof of the food"]


def bag(**settings: object) -> bg.BagOfWords:
    return bg.BagOfWords(random_state=0, **settings)


# --- texts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
def test_texts_are_their_counts(binary):
    counter = CountVectorizer().fit(TEXTS)
    texts = bag(binary=binary).fit(TEXTS, LABELS)
    counts = bag(binary=binary).fit(counter.transform(TEXTS), LABELS)
    presence = (counter.transform(FRESH).toarray() > 0).astype(int)
    expected = counts.predict_proba(counter.transform(FRESH))
    np.testing.assert_array_equal(texts.predict_proba(FRESH), expected)
    np.testing.assert_allclose(texts.predict_proba(counter.transform(FRESH).toarray()), expected)
    if binary:
        np.testing.assert_allclose(texts.predict_proba(presence), expected)
    assert texts.n_features_in_ == counts.n_features_in_ == 15
    assert list(texts.vectorizer_.get_feature_names_out()) == list(counter.get_feature_names_out())
    assert not hasattr(counts, "vectorizer_")


CONTAINERS = {
    "tuple": tuple,
    "array of text": np.array,
    "array of objects": lambda x: np.array(x, dtype=object),
    "pandas": pd.Series,
    "pandas string": lambda x: pd.Series(x, dtype="string"),
    "pandas category": lambda x: pd.Series(x, dtype="category"),
    "polars": pl.Series,
    "pyarrow": lambda x: pa.chunked_array([x]),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_texts_come_in_many_containers(container):
    expected = bag().fit(TEXTS, LABELS).predict_proba(FRESH)
    make = CONTAINERS[container]
    np.testing.assert_array_equal(
        bag().fit(make(TEXTS), LABELS).predict_proba(make(FRESH)), expected
    )


def test_priors_are_passed_on():
    counts = CountVectorizer().fit_transform(TEXTS)
    pairs = [
        ({"probs": "uniform", "rows_per_word": 1}, bg.Multinomial.laplace(1)),
        ({"rows": 30.0}, bg.Multinomial(rows=30)),
        ({"probs": np.full(15, 1 / 15), "rows": 7}, bg.Multinomial(probs=1 / 15, rows=7)),
        ({"binary": True, "probs": "uniform", "rows": 2}, bg.Bernoulli(0.5, 2)),
        ({"binary": True}, bg.Bernoulli()),
    ]
    for settings, likelihood in pairs:
        x = (counts > 0).astype(int) if settings.get("binary") else counts
        expected = bg.NaiveBayes(likelihood).fit(x, LABELS).predict_proba(x)
        np.testing.assert_allclose(
            bag(**settings).fit(counts, LABELS).predict_proba(counts), expected
        )


def test_ones_own_vectorizer_is_cloned():
    own = CountVectorizer(ngram_range=(1, 2), stop_words=["the"])
    clf = bag(vectorizer=own).fit(TEXTS, LABELS)
    assert not hasattr(own, "vocabulary_") and clf.vectorizer_ is not own
    assert "king ate" in clf.vectorizer_.vocabulary_
    again = clone(clf)
    assert again.vectorizer is not own and not hasattr(again, "vectorizer_")
    np.testing.assert_array_equal(
        again.fit(TEXTS, LABELS).predict_proba(FRESH), clf.predict_proba(FRESH)
    )


def test_a_second_fit_forgets_the_first_vocabulary():
    clf = bag().fit(TEXTS, LABELS).fit(["red", "blue"], ["a", "b"])
    assert list(clf.vectorizer_.get_feature_names_out()) == ["blue", "red"]
    clf.fit([[1, 0], [0, 2]], ["a", "b"])
    assert not hasattr(clf, "vectorizer_")


def test_a_fit_that_fails_leaves_the_vocabulary_as_it_was():
    clf = bag().fit(TEXTS, LABELS)
    with pytest.raises(errors.InvalidData):
        clf.fit(["red", "blue"], ["a"])
    clf.n_features_in_ = 15
    clf.partial_fit(FRESH, LABELS[:2])
    assert "king" in clf.vectorizer_.vocabulary_


# --- unknown words --------------------------------------------------------------------------------


@pytest.mark.parametrize("texts", [["", "king"], ["unheard of", "king"], ["", "zzz", "king"]])
def test_no_given_word_is_the_class_prior(texts):
    clf = bag(class_prior={"History": 0.3, "Science": 0.7}).fit(TEXTS, LABELS)
    n = len(texts) - 1
    with pytest.warns(
        errors.BayesgenWarning, match=f"{n} of {n + 1} rows contain no word"
    ) as caught:
        found = clf.predict_proba(texts)
    assert len(caught) == 1
    np.testing.assert_allclose(found[:n], [[0.3, 0.7]] * n)
    assert abs(found[n, 0] - 0.3) > 0.01


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_counts_of_words_that_no_fitted_text_has(form):
    x, fresh = np.array([[2, 1, 0], [0, 3, 0]]), np.array([[0, 0, 4], [0, 0, 0], [1, 0, 1]])
    clf = bag().fit(form(x), ["a", "b"])
    with pytest.warns(errors.BayesgenWarning, match="2 of 3 rows"):
        np.testing.assert_allclose(clf.predict_proba(form(fresh))[:2], 0.5)


def test_under_presence_the_lacking_words_speak():
    clf = bag(binary=True, class_prior="uniform").fit(TEXTS, LABELS)
    with pytest.warns(errors.BayesgenWarning, match="1 of 1 row .* the absence of all words"):
        found = clf.predict_proba(["unheard of"])
    np.testing.assert_allclose(
        found,
        bg.NaiveBayes(bg.Bernoulli(), class_prior="uniform")
        .fit((CountVectorizer().fit_transform(TEXTS) > 0).astype(int), LABELS)
        .predict_proba(np.zeros((1, 15))),
    )
    assert abs(found[0, 0] - 0.5) > 0.01


def test_texts_without_any_word():
    with pytest.warns(errors.SuspiciousColumn):
        clf = bag().fit([[0, 0], [0, 0]], ["a", "b"])
    with pytest.warns(errors.BayesgenWarning, match="1 of 1 row"):
        np.testing.assert_allclose(clf.predict_proba([[0, 3]]), 0.5)


def test_empty_texts_are_fitted_as_members_of_their_class():
    clf = bag(class_prior="empirical").fit([*TEXTS, "", ""], [*LABELS, "History", "History"])
    with pytest.warns(errors.BayesgenWarning):
        np.testing.assert_allclose(clf.predict_proba([""]), [[0.5, 0.5]])


# --- batches --------------------------------------------------------------------------------------


@pytest.mark.parametrize("binary", [False, True])
@pytest.mark.parametrize("fixed", ["vocabulary", "hashes"])
@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
def test_batches_of_texts_are_one_fit_where_words_are_fixed(binary, fixed):
    hashes = HashingVectorizer(n_features=256, norm=None, alternate_sign=False)
    own = CountVectorizer(vocabulary=["king", "food", "proof"]) if fixed == "vocabulary" else hashes
    parts = bag(binary=binary, vectorizer=own)
    for i in range(6):
        parts.partial_fit(TEXTS[i : i + 1], LABELS[i : i + 1])
    whole = bag(binary=binary, vectorizer=own).fit(TEXTS, LABELS)
    np.testing.assert_allclose(parts.predict_proba(FRESH), whole.predict_proba(FRESH))


def test_the_first_batch_fixes_the_vocabulary():
    clf = bag().partial_fit(TEXTS[:3], LABELS[:3]).partial_fit(TEXTS[3:], LABELS[3:])
    assert "more" not in clf.vectorizer_.vocabulary_
    own = CountVectorizer().fit(TEXTS[:3])
    whole = bag().fit(own.transform(TEXTS), LABELS)
    np.testing.assert_allclose(
        clf.predict_proba(FRESH), whole.predict_proba(own.transform(FRESH)), rtol=1e-12
    )


# --- everything else ------------------------------------------------------------------------------


@pytest.mark.parametrize("own", [None, CountVectorizer(lowercase=False)])
def test_survives_pickling(own):
    clf = bag(vectorizer=own).fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(clf))
    np.testing.assert_array_equal(again.predict_proba(FRESH), clf.predict_proba(FRESH))


def test_survives_a_file(tmp_path):
    clf = bag().fit(TEXTS, LABELS)
    clf.save(tmp_path / "bag.bgm")
    again = bg.load(tmp_path / "bag.bgm")
    np.testing.assert_array_equal(again.predict_proba(FRESH), clf.predict_proba(FRESH))
    again.partial_fit(FRESH, LABELS[:2])


@pytest.mark.parametrize("inference", ["mle", "map", "exact"])
def test_every_answer(inference):
    clf = bag(inference=inference).fit(TEXTS, LABELS)
    assert clf.inference_ == inference
    np.testing.assert_allclose(clf.predict_proba(TEXTS).sum(axis=1), 1.0)
    assert clf.score(TEXTS, LABELS) == 1.0
    rows, labels = clf.sample(3)
    assert isinstance(rows, sp.csr_matrix) and rows.shape == (3, 15) and len(labels) == 3
    if inference == "exact":
        interval = clf.predict_interval(FRESH)
        assert (interval[..., 0] < interval[..., 1]).all()


def test_words_name_columns():
    clf = bag().fit(TEXTS, LABELS)
    assert list(clf.state_.schema.names)[:3] == ["and", "ate", "by"]


def test_scikit_learn_tools():
    texts, labels = TEXTS * 4, np.tile(LABELS, 4)
    assert cross_val_score(bag(), texts, labels, cv=3).mean() == 1.0
    search = GridSearchCV(bag(), {"binary": [False, True], "rows": [5, 50]}, cv=2)
    assert search.fit(texts, labels).best_score_ == 1.0
    pipe = make_pipeline(CountVectorizer(), bag(binary=True)).fit(texts, labels)
    np.testing.assert_array_equal(
        pipe.predict_proba(FRESH), bag(binary=True).fit(texts, labels).predict_proba(FRESH)
    )
