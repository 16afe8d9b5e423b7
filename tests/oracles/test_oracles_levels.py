"""Levels: answers of the lectures, of R and of scikit-learn, met through the public estimators."""

import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from references import DATA, ORACLES
from sklearn.naive_bayes import BernoulliNB, CategoricalNB

import bayesgen as bg


@cache
def play_tennis():
    X, y = bg.datasets.load_play_tennis()
    grid = pd.read_csv(ORACLES / "playtennis_grid36.csv")
    return X, y, grid


TEST_DAY = pd.DataFrame(
    {"Outlook": ["Sunny"], "Temperature": ["Cool"], "Humidity": ["High"], "Wind": ["Strong"]}
)


def test_play_tennis_by_relative_frequencies():
    X, y, grid = play_tennis()
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    joint = np.exp(clf.predict_joint_log_proba(TEST_DAY))
    np.testing.assert_allclose(joint, [[0.0205714285714286, 0.00529100529100529]], rtol=1e-12)
    np.testing.assert_allclose(
        clf.predict_proba(TEST_DAY)[0, 1], 0.204582651391162, rtol=0, atol=1e-12
    )
    # "Overcast" never meets "No": zero, not a floor
    np.testing.assert_allclose(
        clf.predict_proba(grid[list(X)]), grid[["mle_No", "mle_Yes"]], rtol=0, atol=1e-12
    )


def test_play_tennis_with_one_added_count():
    X, y, grid = play_tennis()
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
    expected = grid[["laplace1_No", "laplace1_Yes"]]
    np.testing.assert_allclose(clf.predict_proba(grid[list(X)]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("key", "likelihood", "class_prior"),
    [
        ("posterior_laplace1_mlclass", bg.Categorical.laplace(1), "empirical"),
        ("posterior_dirichlet1_all", bg.Categorical.laplace(1), 1.0),
        ("m1", bg.Categorical.m_estimate(1), "empirical"),
        ("m2", bg.Categorical.m_estimate(2), "empirical"),
        ("m4", bg.Categorical.m_estimate(4), "empirical"),
    ],
)
@pytest.mark.parametrize("inference", ["exact", "map"])
def test_play_tennis_smoothed(key, likelihood, class_prior, inference):
    answers = json.loads((ORACLES / "playtennis_test_point.json").read_text(encoding="utf-8"))
    answers |= answers["m_estimate_posterior_Yes"]
    expected = answers[key]["Yes"] if isinstance(answers[key], dict) else answers[key]
    X, y, _ = play_tennis()
    clf = bg.NaiveBayes(likelihood, class_prior=class_prior, inference=inference).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(TEST_DAY)[0, 1], expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")
@pytest.mark.parametrize("how", ["empty cell", "absent column"])
@pytest.mark.parametrize("column", list(TEST_DAY))
def test_play_tennis_leaves_a_missing_factor_out(column, how):
    answers = json.loads((ORACLES / "playtennis_test_point.json").read_text(encoding="utf-8"))
    X, y, _ = play_tennis()
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
    row = TEST_DAY.drop(columns=column) if how == "absent column" else TEST_DAY.copy()
    if how == "empty cell":
        row[column] = None
    expected = answers["laplace1_missing_one"][f"{column}.Yes"]
    np.testing.assert_allclose(clf.predict_proba(row)[0, 1], expected, rtol=0, atol=1e-12)


def combined(X, levels):
    """Return one declared column of all combinations of levels: a joint table."""
    text = X.astype(str).agg("/".join, axis=1)
    return pd.DataFrame({"cell": pd.Categorical(text, categories=levels)})


def test_play_tennis_joint_table():
    X, y, grid = play_tennis()
    levels = list(grid[list(X)].agg("/".join, axis=1))
    cells, day = combined(X, levels), combined(TEST_DAY, levels)
    mle = bg.NaiveBayes(inference="mle").fit(cells, y)
    hot = combined(X.iloc[:1], levels)
    joint = np.exp(mle.predict_joint_log_proba(hot))[0]
    np.testing.assert_allclose(joint[0] / (5 / 14), 1 / 5, rtol=1e-12)
    # no day of either class has the cell: 0/0, answered by the class prior and said so
    mle = bg.NaiveBayes(bg.Categorical.laplace(1), inference="mle").fit(cells, y)
    with pytest.warns(bg.errors.DegenerateEstimate, match="1 of 1 row"):
        np.testing.assert_allclose(mle.predict_proba(day), [[5 / 14, 9 / 14]], rtol=1e-12)
    dirichlet = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(cells, y)
    np.testing.assert_allclose(
        dirichlet.predict_proba(day)[0, 1], 0.62121212121212122, rtol=0, atol=1e-12
    )


def test_titanic_confusion_and_tables():
    X, y = bg.datasets.load_titanic()
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    answers = json.loads((ORACLES / "titanic_e1071.json").read_text(encoding="utf-8"))
    found = pd.crosstab(clf.predict(X), y.to_numpy())
    assert found.loc["No"].tolist() == [1364, 362]
    assert found.loc["Yes"].tolist() == [126, 349]
    assert clf.score(X, y) == pytest.approx(answers["accuracy"], abs=1e-15)
    fractions = np.exp(clf.posterior_.log_classes())
    np.testing.assert_allclose(fractions, list(answers["apriori"].values()), atol=1e-15)
    probs = clf.posterior_.components.params["categorical"]["probs"][0, 0]
    expected = [
        [answers["tables"][column][c][level] for column in X for level in sorted(set(X[column]))]
        for c in clf.classes_
    ]
    np.testing.assert_allclose(probs, expected, rtol=0, atol=1e-15)


def test_titanic_sixteen_cells():
    X, y = bg.datasets.load_titanic()
    cells = pd.read_csv(ORACLES / "titanic_cells16.csv")
    grid = cells[["Class", "Sex", "Age"]]

    def answer(clf, rows=X, at=grid):
        return clf.fit(rows, y).predict_proba(at)

    mle = answer(bg.NaiveBayes(inference="mle"))
    np.testing.assert_allclose(mle, cells[["nb_No", "nb_Yes"]], rtol=0, atol=1e-12)
    laplace = answer(bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical"))
    np.testing.assert_allclose(
        laplace, cells[["nb_laplace1_No", "nb_laplace1_Yes"]], rtol=0, atol=1e-12
    )
    levels = list(grid.agg("/".join, axis=1))
    joint, at = combined(X, levels), combined(grid, levels)
    full = answer(bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical"), joint, at)
    expected = cells[["joint_dirichlet1_No", "joint_dirichlet1_Yes"]]
    np.testing.assert_allclose(full, expected, rtol=0, atol=1e-12)
    seen = cells["joint_mle_Yes"].notna().to_numpy()
    table_mle = answer(bg.NaiveBayes(inference="mle"), joint, at[seen])
    np.testing.assert_allclose(table_mle[:, 1], cells["joint_mle_Yes"][seen], rtol=0, atol=1e-12)


@cache
def words():
    frame = pd.read_csv(DATA / "bow4.csv")
    train = frame["split"] == "train"
    X = frame[["king", "food", "equals", "proof"]]
    return X[train], frame["label"][train], X[~train]


CLASS_PRIORS = {"uniform(ML rule)": "uniform", "n_k/n (MAP rule)": "empirical", "Dirichlet(1)": 1.0}


@pytest.mark.parametrize("answer", pd.read_csv(ORACLES / "bow4_answers.csv").to_dict("records"))
def test_bag_of_words(answer):
    X, y, document = words()
    alpha, prior = answer["alpha"], CLASS_PRIORS[answer["classprior"]]
    if alpha == 0:
        clf = bg.NaiveBayes(bg.Bernoulli(), class_prior=prior, inference="mle")
    else:
        clf = bg.NaiveBayes(bg.Bernoulli(prob=0.5, rows=2 * alpha), class_prior=prior)
    clf.fit(X, y)
    likelihood = np.exp(clf.with_class_prior("uniform").predict_joint_log_proba(document))[0] * 2
    expected = [answer["lik_History"], answer["lik_Science"]]
    np.testing.assert_allclose(likelihood, expected, rtol=1e-12)
    np.testing.assert_allclose(
        clf.predict_proba(document)[0, 1], answer["post_Science"], rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.5])
def test_categorical_meets_scikit_learn(alpha, rng):
    X = np.concatenate([np.tile(np.arange(4)[:, None], 3), rng.integers(0, 4, (60, 3))])
    y = rng.integers(0, 3, len(X))
    theirs = CategoricalNB(alpha=alpha).fit(X, y)
    ours = bg.NaiveBayes(bg.Categorical.laplace(alpha), class_prior="empirical").fit(X, y)
    np.testing.assert_allclose(
        ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=0, atol=1e-12
    )
    expected = theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("alpha", [0.1, 1.0, 3.5])
def test_bernoulli_meets_scikit_learn(alpha, rng):
    X, y = rng.integers(0, 2, (80, 5)), rng.integers(0, 3, 80)
    theirs = BernoulliNB(alpha=alpha).fit(X, y)
    prior = bg.Bernoulli(prob=0.5, rows=2 * alpha)
    ours = bg.NaiveBayes(prior, class_prior="empirical").fit(X, y)
    expected = theirs.predict_joint_log_proba(X)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), expected, rtol=0, atol=1e-12)
