"""Decisions: least expected loss by brute force, doubt and strange rows."""

import copy
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import bayesgen as bg
from bayesgen.errors import InvalidArgument
from bayesgen.estimators import fitted
from bayesgen.estimators.fitted import Fitted


@pytest.fixture(scope="module")
def iris():
    X, y = bg.datasets.load_iris()
    return bg.QDA(random_state=0).fit(X, y), X


@pytest.fixture(scope="module")
def titanic():
    X, y = bg.datasets.load_titanic_passengers()
    return bg.NaiveBayes(random_state=0).fit(X, y), X


def test_without_a_loss_it_is_the_most_probable_class(iris):
    clf, X = iris
    assert (clf.decide(X) == clf.predict(X)).all()


@pytest.mark.parametrize("seed", range(5))
def test_least_expected_loss_by_brute_force(iris, seed):
    clf, X = iris
    loss = np.random.default_rng(seed).gamma(1.0, 2.0, (3, 3))
    decided, expected = clf.decide(X, loss, return_loss=True)
    proba = clf.predict_proba(X)
    for i in range(len(X)):
        costs = [sum(proba[i, k] * loss[k, d] for k in range(3)) for d in range(3)]
        assert decided[i] == clf.classes_[int(np.argmin(costs))]
        assert expected[i] == pytest.approx(min(costs), rel=1e-12)


def test_a_mapping_is_the_matrix(iris):
    clf, X = iris
    loss = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 0.5], [9.0, 3.0, 0.0]])
    labels = clf.classes_.tolist()
    pairs = {(labels[k], labels[d]): loss[k, d] for k in range(3) for d in range(3) if k != d}
    assert (clf.decide(X, pairs) == clf.decide(X, loss)).all()


def test_decisions_may_be_actions(titanic):
    clf, X = titanic
    loss = {("yes", "look"): 0, ("no", "look"): 1, ("yes", "leave"): 4, ("no", "leave"): 0}
    decided = clf.decide(X, loss)
    # look where 4 P(yes) > P(no)
    assert (decided == np.where(clf.predict_proba(X)[:, 1] > 0.2, "look", "leave")).all()


def test_threshold_of_two_costs(titanic):
    """Costs a for a false alarm and b for a miss: alarm where P > a / (a + b)."""
    clf, X = titanic
    decided = clf.decide(X, {("yes", "no"): 5, ("no", "yes"): 1})
    assert (decided == np.where(clf.predict_proba(X)[:, 1] > 1 / 6, "yes", "no")).all()


def test_chow_rejects_where_no_class_is_probable_enough(titanic):
    clf, X = titanic
    decided, expected = clf.decide(X, reject=0.2, return_loss=True)
    best = clf.predict_proba(X).max(axis=1)
    assert ((decided == "reject") == (1 - best > 0.2)).all()
    np.testing.assert_allclose(expected, np.minimum(1 - best, 0.2), rtol=1e-12)


def test_a_tie_goes_to_the_first(iris):
    clf, X = iris
    assert (clf.decide(X, np.ones((3, 3))) == clf.classes_[0]).all()
    assert (clf.decide(X, np.ones((3, 3)), reject=1.0) == clf.classes_[0]).all()


def test_reject_labels():
    X = np.random.default_rng(0).normal(size=(30, 2))
    numbers = bg.NaiveBayes(random_state=0).fit(X, np.arange(30) % 2)
    assert set(numbers.decide(X, reject=0.0)) == {-1}
    assert numbers.decide(X, reject=0.0).dtype.kind == "i"
    assert set(numbers.decide(X, reject=0.0, reject_label="?")) == {"?"}
    truths = bg.NaiveBayes(random_state=0).fit(X, np.arange(30) % 2 == 0)
    assert set(truths.decide(X, reject=0.0)) == {"reject"}
    negative = bg.NaiveBayes(random_state=0).fit(X, np.arange(30) % 2 - 1)
    with pytest.raises(InvalidArgument, match="reject_label -1 is already a class"):
        negative.decide(X, reject=0.0)


# --- typicality --------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", [False, True])
def test_typicality_is_uniform_for_rows_of_the_model(iris, gaps):
    """Kolmogorov-Smirnov, false alarm 1e-3; both samples have 4,000 rows."""
    clf, _ = iris
    rows = clf.sample(4000, random_state=1)[0]
    if gaps:
        mask = np.random.default_rng(2).random(rows.shape) < 0.3
        rows = rows.mask(mask & ~mask.all(axis=1, keepdims=True))
    seen = clf.typicality(rows, draws=4000)
    # the reference is a sample too: the statistic has the law of two samples
    limit = stats.distributions.kstwobign.isf(1e-3) * np.sqrt(2 / 4000)
    assert stats.kstest(seen, "uniform").statistic < limit


def test_typicality_of_one_normal_column_is_its_tail():
    """One class pair at the same place: p falls with |x|, so the tail is that of the t."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2000, 1))
    clf = bg.NaiveBayes(random_state=0).fit(X, np.arange(2000) % 2)
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    tail = 2 * stats.norm.sf(np.abs(x[:, 0]), scale=X.std())
    error = 5 * np.sqrt(tail * (1 - tail) / 20000) + 0.03
    assert (np.abs(clf.typicality(x, draws=20000) - tail) < error).all()


@pytest.mark.slow
def test_novel_rows_are_rejected_and_others_not(iris):
    clf, X = iris
    far = X.iloc[:3] + 30
    assert (clf.predict_proba(far).max(axis=1) > 0.99).all()
    decided, expected = clf.decide(far, novelty=0.01, return_loss=True)
    assert (decided == "reject").all() and np.isnan(expected).all()
    expected = clf.decide(far, reject=0.3, novelty=0.01, return_loss=True)[1]
    assert (expected == 0.3).all()
    decided = clf.decide(X, novelty=0.001)
    kept = decided != "reject"
    assert kept.mean() > 0.98
    assert (decided[kept] == clf.predict(X)[kept]).all()


def test_typicality_repeats_and_does_not_look_at_company(titanic):
    clf, X = titanic
    whole = clf.typicality(X)
    assert (clf.typicality(X) == whole).all()
    assert (clf.typicality(X.iloc[[700, 15, 3]]) == whole[[700, 15, 3]]).all()


def test_a_row_of_missing_values_is_typical(titanic):
    clf, X = titanic
    blank = pd.DataFrame({name: [None] for name in X.columns}).astype(X.dtypes)
    assert clf.typicality(blank)[0] == 1.0


@pytest.fixture
def simulations(monkeypatch) -> Iterator[list[int]]:
    """The number of rows of every simulation."""
    found, simulate = list[int](), Fitted.simulate

    def counted(self, n, *arguments):
        found.append(n)
        return simulate(self, n, *arguments)

    monkeypatch.setattr(Fitted, "simulate", counted)
    yield found


@pytest.mark.parametrize("stacked", [False, True])
def test_rows_are_simulated_once_for_a_fit(simulations, stacked):
    X, y = bg.datasets.load_iris()
    model = bg.StackedClassifier([bg.LDA()], random_state=0) if stacked else bg.QDA(random_state=0)
    clf = model.fit(X, y)
    first = clf.typicality(X[:2])
    assert (clf.typicality(X[:2]) == first).all()
    assert simulations == [1000]
    clf.typicality(X[:2], draws=500)
    assert simulations == [1000, 500]
    again = clf.fit(X[50:], y[50:]).typicality(X[:2], draws=500)
    assert simulations == [1000, 500, 500]
    assert (again < 0.01).all() and (first > 0.01).any()


@pytest.mark.parametrize("stacked", [False, True])
def test_a_copy_or_a_file_holds_no_simulated_row(simulations, stacked, tmp_path):
    X, y = bg.datasets.load_iris()
    model = bg.StackedClassifier([bg.LDA()], random_state=0) if stacked else bg.QDA(random_state=0)
    clf = model.fit(X, y)
    before = len(pickle.dumps(clf))
    seen = clf.typicality(X[:2])
    assert len(pickle.dumps(clf)) < before + 1000
    clf.save(tmp_path / "model.bgm")
    others = [copy.deepcopy(clf), pickle.loads(pickle.dumps(clf)), bg.load(tmp_path / "model.bgm")]
    for other in others:
        assert (other.typicality(X[:2]) == seen).all()
    assert len(simulations) == 4


def test_many_simulated_rows_are_not_kept(iris, simulations, monkeypatch):
    monkeypatch.setattr(fitted, "KEPT_BYTES", 700 * 4 * 8 - 1)
    clf, X = iris
    clf.typicality(X[:1], draws=700)
    clf.typicality(X[:1], draws=700)
    assert simulations == [700, 700]
    clf.typicality(X[:1], draws=699)
    clf.typicality(X[:1], draws=699)
    assert simulations == [700, 700, 699]


def test_threads_that_ask_at_once_are_answered_alike(iris):
    clf, X = iris
    expected = [clf.typicality(X[i : i + 1], draws=400 + i % 2)[0] for i in range(16)]
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda i: clf.typicality(X[i : i + 1], draws=400 + i % 2)[0], range(16))
        assert list(found) == expected


def test_a_true_class_that_is_none_is_refused(iris):
    clf, X = iris
    with pytest.raises(InvalidArgument, match="true class 'rose'"):
        clf.decide(X, loss={("rose", "setosa"): 1})


# -- costs with labels -----------------------------------------------------------------------------


@pytest.mark.parametrize("order", [[2, 0, 1], [1, 2, 0], [2, 1, 0]])
def test_frame_of_costs_is_read_by_its_labels(iris, order):
    clf, X = iris
    cost = np.random.default_rng(0).gamma(1.0, 2.0, (3, 3))
    frame = pd.DataFrame(cost, index=clf.classes_, columns=clf.classes_)
    shuffled = frame.iloc[order, order[::-1]]
    assert (clf.decide(X, shuffled) == clf.decide(X, cost)).all()
    assert (clf.decide(X, shuffled.stack()) == clf.decide(X, cost)).all()


def test_columns_of_a_frame_may_be_actions(iris):
    clf, X = iris
    cost = np.random.default_rng(1).gamma(1.0, 2.0, (3, 2))
    frame = pd.DataFrame(cost, index=clf.classes_, columns=["treat", "wait"])
    pairs = {(k, d): frame.loc[k, d] for k in frame.index for d in frame.columns}
    assert (clf.decide(X, frame) == clf.decide(X, pairs)).all()
    assert set(clf.decide(X, frame)) <= {"treat", "wait"}


@pytest.mark.parametrize(
    "index", [["sitosa", "versicolor", "virginica"], [0, 1, 2], ["setosa"] * 3]
)
def test_index_of_a_frame_must_be_the_classes(iris, index):
    clf, X = iris
    with pytest.raises(InvalidArgument, match="loss is a DataFrame with the index"):
        clf.decide(X, pd.DataFrame(1 - np.eye(3), index=index, columns=clf.classes_))


def test_frame_without_an_index_is_refused(iris):
    clf, X = iris
    frame = pl.DataFrame(1 - np.eye(3), schema=clf.classes_.tolist())
    with pytest.raises(InvalidArgument, match="the index nothing"):
        clf.decide(X, frame)


@pytest.mark.parametrize(
    "loss",
    [
        {"setosa": {"virginica": 1}},
        {"setosa:virginica": 1},
        {"ab": 1},
        "0-1",
        [["a"] * 3] * 3,
        {("setosa", "virginica"): None},
    ],
)
def test_other_forms_of_costs_are_refused_in_one_sentence(iris, loss):
    clf, X = iris
    with pytest.raises(InvalidArgument, match=r"loss holds .*allowed are numbers as a matrix"):
        clf.decide(X, loss)
