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


def test_play_tennis_with_one_added_count():
    X, y, grid = play_tennis()
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
    expected = grid[["laplace1_No", "laplace1_Yes"]]
    np.testing.assert_allclose(clf.predict_proba(grid[list(X)]), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("key", "likelihood", "class_prior", "inference"),
    [
        ("posterior_laplace1_mlclass", bg.Categorical.laplace(1), "empirical", "map"),
        ("posterior_dirichlet1_all", bg.Categorical.laplace(1), 1.0, "exact"),
        ("m2", bg.Categorical.m_estimate(2), "empirical", "map"),
    ],
)
def test_play_tennis_smoothed(key, likelihood, class_prior, inference):
    answers = json.loads((ORACLES / "playtennis_test_point.json").read_text(encoding="utf-8"))
    answers |= answers["m_estimate_posterior_Yes"]
    expected = answers[key]["Yes"] if isinstance(answers[key], dict) else answers[key]
    X, y, _ = play_tennis()
    clf = bg.NaiveBayes(likelihood, class_prior=class_prior, inference=inference).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(TEST_DAY)[0, 1], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("column", list(TEST_DAY))
def test_play_tennis_leaves_a_missing_factor_out(column):
    answers = json.loads((ORACLES / "playtennis_test_point.json").read_text(encoding="utf-8"))
    X, y, _ = play_tennis()
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
    expected = answers["laplace1_missing_one"][f"{column}.Yes"]
    found = clf.predict_proba(TEST_DAY.assign(**{column: None}))[0, 1]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


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
    mle = bg.NaiveBayes(inference="mle").fit(X, y)
    laplace = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
    for clf, name in ((mle, "nb"), (laplace, "nb_laplace1")):
        expected = cells[[f"{name}_No", f"{name}_Yes"]]
        np.testing.assert_allclose(clf.predict_proba(grid), expected, rtol=0, atol=1e-12)


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
