"""What a missing cell is worth: enumeration, sums and quadrature as oracles."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import xlogy

import bayesgen as bg
from bayesgen import explain
from bayesgen.errors import CountsAsMissing, InvalidArgument, UnsupportedOperation
from bayesgen.inference import ClosedForm

LOSS = np.array([[0.0, 1.2], [1.0, 0.0]])


def entropy(proba):
    return -xlogy(proba, proba).sum(axis=-1)


def least(proba):
    return (proba @ LOSS).min(axis=-1)


def by_enumeration(clf, row, name, every, score, weights=1.0):
    """Return score before - expected score after, over every value of a cell, weighed."""
    filled = pd.concat([row] * len(every), ignore_index=True).assign(**{name: list(every)})
    logs = clf.predict_joint_log_proba(filled)
    joint = np.exp(logs - logs.max()) * np.atleast_1d(weights)[:, None]
    joint = joint[joint.sum(axis=1) > 1e-200]
    before = joint.sum(axis=0) / joint.sum()
    after = joint / joint.sum(axis=1, keepdims=True)
    return score(before) - (joint.sum(axis=1) / joint.sum()) @ score(after)


@pytest.fixture(scope="module")
def tennis():
    return bg.datasets.load_play_tennis()


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.JointTable])
@pytest.mark.parametrize("loss", [None, LOSS])
def test_levels_by_enumeration(make, loss, tennis):
    X, y = tennis
    clf = make(random_state=0).fit(X, y)
    rows = X.mask(np.random.default_rng(0).random(X.shape) < 0.5)
    found, error = clf.feature_value(rows, loss, return_error=True)
    assert (found.isna() == rows.notna()).all(axis=None)
    for i, name in np.argwhere(rows.isna()):
        name = X.columns[name]
        score = entropy if loss is None else least
        expected = by_enumeration(clf, rows.iloc[[i]], name, sorted(set(X[name])), score)
        assert found.loc[i, name] == pytest.approx(expected, abs=1e-9)
        assert error.loc[i, name] == 0
    assert (found.min() >= 0).all()


def test_draws_and_tempered_models_by_enumeration(tennis):
    X, y = tennis
    row = X.iloc[[3]].assign(Outlook=None)
    levels = sorted(set(X["Outlook"]))
    for clf in (bg.NaiveBayes(inference="map"), bg.NaiveBayes(temper=0.4)):
        clf.fit(X, y)
        expected = by_enumeration(clf, row, "Outlook", levels, entropy)
        assert clf.feature_value(row).loc[3, "Outlook"] == pytest.approx(expected, abs=1e-9)


def test_answers_and_counts_by_enumeration():
    rng = np.random.default_rng(1)
    y = np.arange(50) % 2
    X = pd.DataFrame({"seen": rng.random(50) < 0.3 + 0.4 * y, "visits": rng.poisson(2 + 3 * y)})
    stories = {"seen": bg.Bernoulli(), "visits": bg.Poisson()}
    clf = bg.GenerativeClassifier(stories, random_state=0).fit(X, y)
    row = pd.DataFrame({"seen": [None], "visits": [np.nan]})
    found, error = clf.feature_value(row, return_error=True)
    for name, every in (("seen", [False, True]), ("visits", range(300))):
        expected = by_enumeration(clf, row, name, every, entropy)
        assert found.loc[0, name] == pytest.approx(expected, abs=1e-9)
    assert (error.loc[0] == 0).all()


def test_large_counts_are_simulated():
    """Within 5 standard errors of the sum over counts that hold all but 1e-9."""
    rng = np.random.default_rng(2)
    y = np.arange(40) % 2
    X = pd.DataFrame({"n": rng.poisson(4500.0 + 60 * y).astype(float)})
    clf = bg.NaiveBayes(bg.Poisson(), random_state=0).fit(X, y)
    found, error = clf.feature_value(pd.DataFrame({"n": [np.nan]}), draws=2000, return_error=True)
    expected = by_enumeration(clf, X[:1], "n", np.arange(3000.0, 6500.0), entropy)
    assert 0 < error.loc[0, "n"] < 0.01
    again = [
        clf.feature_value(
            pd.DataFrame({"n": [np.nan]}), draws=200, random_state=seed, return_error=True
        )
        for seed in range(60)
    ]
    # the spread of 60 values has a standard error of 9 %
    spread = np.std([value.loc[0, "n"] for value, _ in again], ddof=1)
    assert np.mean([stated.loc[0, "n"] for _, stated in again]) == pytest.approx(spread, rel=0.3)
    assert abs(found.loc[0, "n"] - expected) < 5 * error.loc[0, "n"]


def grid(values_, n=4000):
    """Return nodes far beyond the values, and weights of the trapezoid rule."""
    away = 60 * np.std(values_)
    nodes = np.linspace(values_.min() - away, values_.max() + away, n)
    return nodes, np.full(n, nodes[1] - nodes[0])


def check_numbers(clf, row, seen, name):
    """Assert that both values lie within 5 standard errors of the integral."""
    nodes, weights = grid(seen)
    for loss, score in ((None, entropy), (LOSS, least)):
        found, error = clf.feature_value(row, loss, draws=2000, return_error=True)
        expected = by_enumeration(clf, row, name, nodes, score, weights)
        value, error = (part.iloc[0][name] for part in (found, error))
        assert expected > 0.001 and 0 < error < 0.1 * expected
        assert abs(value - expected) < 5 * error


@pytest.fixture(scope="module")
def two_numbers():
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    a = rng.normal(size=60) + y
    return pd.DataFrame({"a": a, "b": 10 * (a + rng.normal(size=60) + 0.8 * y)}), y


@pytest.mark.parametrize("shown", [np.nan, 0.3])
@pytest.mark.parametrize(
    "make",
    [
        bg.NaiveBayes,
        bg.QDA,
        lambda **o: bg.QDA(inference="mle", **o),
        lambda **o: bg.NaiveBayes(bg.KernelDensity(), **o),
        lambda **o: bg.NaiveBayes(temper=0.5, **o),
    ],
)
def test_numbers_by_quadrature(make, shown, two_numbers):
    X, y = two_numbers
    clf = make(random_state=0).fit(X, y)
    row = pd.DataFrame({"a": [shown], "b": [np.nan]})
    check_numbers(clf, row, X["b"], "b")


def test_cells_of_a_row_are_drawn_and_scored_together(monkeypatch, two_numbers):
    X, y = two_numbers
    clf = bg.NaiveBayes(random_state=0).fit(X.assign(c=X["b"] - X["a"]), y)
    asked, score = list[int](), ClosedForm.log_joint

    def counted(self, encoded, n_rows):
        asked.append(n_rows)
        return score(self, encoded, n_rows)

    monkeypatch.setattr(ClosedForm, "log_joint", counted)
    clf.feature_value(pd.DataFrame({"a": [np.nan], "b": [np.nan], "c": [np.nan]}), draws=50)
    # the classes of the row, then three cells with 50 values in each of two classes
    assert asked == [1, 300]


def test_values_do_not_depend_on_how_many_are_scored_at_once(monkeypatch, tennis):
    X, y = tennis
    mixed = X.assign(number=np.random.default_rng(4).normal(size=len(X)))
    clf = bg.NaiveBayes(random_state=0).fit(mixed, y)
    rows = mixed.mask(np.random.default_rng(5).random(mixed.shape) < 0.5)
    at_once, error = clf.feature_value(rows, return_error=True)
    monkeypatch.setattr(explain.cell_values, "FLOATS", 100)
    one_by_one, other = clf.feature_value(rows, return_error=True)
    levels, number = list(X.columns), at_once["number"].notna()
    assert np.allclose(one_by_one[levels], at_once[levels], atol=1e-12, equal_nan=True)
    away = (one_by_one["number"] - at_once["number"])[number]
    assert (away.abs() < 5 * np.hypot(error["number"], other["number"])[number]).all()
    assert (away != 0).any()  # other draws


def test_a_fault_in_the_fill_is_found(monkeypatch, two_numbers):
    """Cells drawn without a look at what the row shows."""
    X, y = two_numbers
    clf = bg.QDA(random_state=0).fit(X, y)
    right = ClosedForm.impute

    def blind(posterior, encoded, n_rows, rng, own=None):
        nothing = {name: np.full_like(x, np.nan) for name, x in encoded.items()}
        return right(posterior, nothing, n_rows, rng, own)

    row = pd.DataFrame({"a": [0.3], "b": [np.nan]})
    check_numbers(clf, row, X["b"], "b")
    monkeypatch.setattr(ClosedForm, "impute", blind)
    with pytest.raises(AssertionError):
        check_numbers(clf, row, X["b"], "b")


def test_a_fault_in_the_weights_is_found(monkeypatch, tennis):
    """A gain that forgets what was believed before."""
    X, y = tennis
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    row = X.iloc[[0]].assign(Outlook=None)
    expected = by_enumeration(clf, row, "Outlook", sorted(set(X["Outlook"])), entropy)
    wrong = clf.feature_value(row, np.array([[0.0, 1.0], [1.0, 0.0]])).loc[0, "Outlook"]
    assert clf.feature_value(row).loc[0, "Outlook"] == pytest.approx(expected, abs=1e-9)
    assert wrong != pytest.approx(expected, abs=1e-3)


def test_mixed_rows_of_nothing():
    X, y = bg.datasets.load_titanic_passengers()
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    nothing = pd.DataFrame({name: [None, None] for name in X.columns}).astype(X.dtypes)
    nothing.index = ["p", "q"]
    found, error = clf.feature_value(nothing, return_error=True)
    assert list(found.index) == ["p", "q"] and (found > 0).all(axis=None)
    assert (error[["sex", "passengerClass"]] == 0).all(axis=None) and (error["age"] > 0).all()
    # the sex tells most of who survived
    assert (found["sex"] > found["passengerClass"]).all()
    with pytest.warns(CountsAsMissing, match="'sex'"):
        absent = clf.feature_value(X[:3].drop(columns="sex"))
    assert absent["sex"].notna().all() and absent["age"].isna().equals(X[:3]["age"].notna())
    pd.testing.assert_frame_equal(clf.feature_value(nothing), found)


def test_what_says_nothing_is_strength_nothing():
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "same": [5.0] * 4})
    with pytest.warns(UserWarning, match="'same'"):
        clf = bg.NaiveBayes(random_state=0).fit(X, [0, 0, 1, 1])
    found = clf.feature_value(pd.DataFrame({"a": [np.nan], "same": [np.nan]}))
    assert found.loc[0, "same"] == 0 and found.loc[0, "a"] > 0


def test_an_unseen_level_is_no_missing_value(tennis):
    X, y = tennis
    clf = bg.NaiveBayes().fit(X, y)
    with pytest.warns(UserWarning, match="Fog"):
        found = clf.feature_value(X.iloc[[0]].assign(Outlook="Fog"))
    assert found.isna().all(axis=None)


def test_refused(tennis):
    X, y = tennis
    clf = bg.NaiveBayes().fit(X, y)
    with pytest.raises(InvalidArgument, match="need \\(2, 2\\)"):
        clf.feature_value(X, np.eye(3))
    counts = np.random.default_rng(0).poisson(2.0, (20, 3)).astype(float)
    words = bg.NaiveBayes(bg.Multinomial()).fit(counts, np.arange(20) % 2)
    with pytest.raises(UnsupportedOperation, match="Multinomial"):
        words.feature_value(np.where(np.arange(3) == 1, np.nan, counts[:2]))


def test_stories_of_your_own_are_read_as_a_whole():
    import numpyro
    import numpyro.distributions as dist

    def story(x, y=None, *, n_classes):
        with numpyro.plate("class", n_classes):
            mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(np.full(n_classes, 1 / n_classes)), obs=y)
            numpyro.sample("x", dist.Normal(mean[y], 1.0), obs=x[:, 0])

    X = stats.norm.rvs(size=(30, 1), random_state=0)
    clf = bg.GenerativeClassifier(story=story, inference="map").fit(X, np.arange(30) % 2)
    for call in (clf.evidence, clf.feature_value):
        with pytest.raises(UnsupportedOperation, match="program of your own"):
            call(X)
    with pytest.raises(
        UnsupportedOperation, match="program of your own marks as missing by a mask"
    ):
        clf.impute(X)


def test_levels_read_as_numbers_are_refused():
    X, y = bg.datasets.load_titanic_passengers()
    clf = bg.LDA(levels="indicators").fit(X, y)
    parts = clf.evidence(X[:5])
    np.testing.assert_allclose(parts.sum(axis=1), clf.decision_function(X[:5]), atol=1e-9)
    for call in (clf.feature_value, clf.impute):
        with pytest.raises(UnsupportedOperation, match="indicators does not draw levels"):
            call(X[:5].assign(sex=None))
