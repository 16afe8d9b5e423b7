"""What the lectures on generative classification compute, from the public names: the models.

Rows 1 to 8 of the table in docs/evidence/lectures.md; 9 to 13 are in test_lectures_columns.py, 14
to 24 in test_lectures_use.py and test_lectures_scenarios.py. Each docstring is the row's
number and name, and what is reproduced.
"""

import numpy as np
import pandas as pd
import pytest
from references import ORACLES, TABLES, assert_meets, table
from scipy import stats
from sklearn.naive_bayes import MultinomialNB

import bayesgen as bg

MATCH = ["Sunny", "Cool", "High", "Strong"]
DAY = pd.DataFrame([MATCH], columns=["Outlook", "Temperature", "Humidity", "Wind"])
SIX_DIGITS = {"rtol": 0, "atol": 5e-7}


# -- discriminants -------------------------------------------------------------------------------


@pytest.mark.parametrize("data", TABLES)
@pytest.mark.parametrize("divisor", ["mle", "moment"])
def test_row_1_lda(data, divisor):
    """1 LDA: a mean for each class, one covariance, divided by n or (lectures) n - g: R's MASS."""
    X, y = table(TABLES[data])
    clf = bg.LDA(inference=bg.MLE(bias_corrected=divisor == "moment")).fit(X, y)
    assert_meets(clf, X, f"{data}_lda_{divisor}_MASS", 1e-9)


def test_row_1_two_classes():
    """1 LDA: the boundary of two classes is linear, with w = Sigma^-1 (mu+ - mu-)."""
    X, y = table("biopsy_complete")
    low, high = (X[y == c] for c in ("benign", "malignant"))
    squares = sum((g - g.mean()).T @ (g - g.mean()) for g in (low, high))
    w = np.linalg.solve(squares / (len(X) - 2), high.mean() - low.mean())
    clf = bg.LDA(inference=bg.MLE(bias_corrected=True)).fit(X, y)
    np.testing.assert_allclose(clf.coef_[0], w, rtol=1e-9)
    odds = X.to_numpy() @ w + clf.intercept_[0]
    np.testing.assert_allclose(clf.decision_function(X), odds, rtol=0, atol=1e-8)


@pytest.mark.parametrize("data", TABLES)
def test_row_2_qda(data):
    """2 QDA: a covariance for each class, and the Student-t that exact Bayes makes of it."""
    X, y = table(TABLES[data])
    for divisor in ("mle", "moment"):
        clf = bg.QDA(inference=bg.MLE(bias_corrected=divisor == "moment")).fit(X, y)
        assert_meets(clf, X, f"{data}_qda_{divisor}_MASS", 1e-9)
    clf = bg.QDA(prior="reference", class_prior="empirical").fit(X, y)
    assert_meets(clf, X, f"{data}_qda_bayes_reference_exact", 1e-8)


def test_row_3_gaussian_naive_bayes():
    """3 Gaussian naive Bayes: two sepal columns of iris, 117 of 150 right.

    Means and standard deviations (divisor n - 1) are as every table of this data prints them.
    """
    X, y = bg.datasets.load_iris()
    X = X[["sepal_length", "sepal_width"]]
    clf = bg.NaiveBayes(inference=bg.MLE(bias_corrected=True)).fit(X, y)
    params = {k: v[0, 0] for k, v in clf.posterior_.components.params["normal"].items()}
    printed_mean = [[5.006, 3.428], [5.936, 2.770], [6.588, 2.974]]
    printed_sd = [[0.3524897, 0.3790644], [0.5161711, 0.3137983], [0.6358796, 0.3224966]]
    np.testing.assert_allclose(params["mean"], printed_mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.sqrt(params["variance"]), printed_sd, rtol=0, atol=5e-8)
    groups = X.groupby(y)
    density = stats.norm.logpdf(
        X.to_numpy()[:, None], groups.mean().to_numpy(), groups.std().to_numpy()
    )
    joint = density.sum(axis=2) + np.log(1 / 3)
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), joint, rtol=1e-12)
    assert (clf.predict(X) == y).sum() == 117


def test_row_3_shared_variances():
    """3 Gaussian naive Bayes: with shared variances it is linear, with the logistic form."""
    X, y = bg.datasets.load_iris()
    X, y = X.iloc[50:, :2], y[50:]
    clf = bg.NaiveBayes(bg.Normal(spread="shared"), inference="mle").fit(X, y)
    low, high = (X[y == c] for c in ("versicolor", "virginica"))
    squares = sum(((part - part.mean()) ** 2).sum() for part in (low, high))
    weight = ((high.mean() - low.mean()) / (squares / len(X))).to_numpy()
    constant = ((low.mean() ** 2 - high.mean() ** 2) / (2 * squares / len(X))).sum()
    np.testing.assert_allclose(clf.coef_[0], weight, rtol=1e-12)
    np.testing.assert_allclose(clf.intercept_[0], constant, rtol=1e-12)
    odds = X.to_numpy() @ weight + constant
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 1 / (1 + np.exp(-odds)), atol=1e-12)


# -- levels --------------------------------------------------------------------------------------


def test_row_4_categorical_naive_bayes():
    """4 categorical naive Bayes: play tennis, joint .005291 against .020571, P(Yes) = .204583."""
    X, y = bg.datasets.load_play_tennis()
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    joint = np.exp(clf.predict_joint_log_proba(DAY))
    np.testing.assert_allclose(joint, [[0.0205714285714286, 0.00529100529100529]], rtol=1e-12)
    np.testing.assert_allclose(clf.predict_proba(DAY)[0, 1], 0.204583, **SIX_DIGITS)
    # "Overcast" never meets "No": zero, not a floor
    grid = pd.read_csv(ORACLES / "playtennis_grid36.csv")
    found = clf.predict_proba(grid[list(X)])
    np.testing.assert_allclose(found, grid[["mle_No", "mle_Yes"]], rtol=0, atol=1e-12)


def test_row_4_a_joint_is_no_probability_of_a_class():
    """4 categorical naive Bayes: a lecture's "P(Yes given x) = .0053" is the joint p(Yes, x)."""
    X, y = bg.datasets.load_play_tennis()
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    joint = np.exp(clf.predict_joint_log_proba(DAY)[0])
    assert joint[1] == pytest.approx(0.0053, abs=5e-5)
    assert np.exp(clf.score_samples(DAY)[0]) == pytest.approx(joint.sum())
    assert clf.predict_proba(DAY)[0, 1] == pytest.approx(joint[1] / joint.sum())


@pytest.mark.parametrize(
    ("likelihood", "yes"),
    [
        (bg.Categorical.laplace(1), 0.279933),
        (bg.Categorical.m_estimate(1), 0.245603),
        (bg.Categorical.m_estimate(2), 0.281714),
        (bg.Categorical.m_estimate(4), 0.340263),
    ],
)
def test_row_5_smoothing(likelihood, yes):
    """5 smoothing: Laplace .279933, m-estimates .245603, .281714, .340263 for m = 1, 2, 4."""
    X, y = bg.datasets.load_play_tennis()
    clf = bg.NaiveBayes(likelihood, class_prior="empirical").fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(DAY)[0, 1], yes, **SIX_DIGITS)


def test_row_6_joint_table():
    """6 joint table: not naive, one probability for each of 36 combinations; .621212 smoothed."""
    X, y = bg.datasets.load_play_tennis()
    mle = bg.JointTable(inference="mle").fit(X, y)
    joint = np.exp(mle.predict_joint_log_proba(X.iloc[:1])[0, 0])  # Sunny, Hot, High, Weak
    assert joint / (5 / 14) == pytest.approx(1 / 5)
    # no day of either class is like the new one: 0 / 0, so the class prior answers, and says so
    with pytest.warns(bg.errors.DegenerateEstimate):
        np.testing.assert_allclose(mle.predict_proba(DAY), [[5 / 14, 9 / 14]])
    one_each = bg.JointTable(probs="uniform", rows=36, class_prior="empirical").fit(X, y)
    np.testing.assert_allclose(one_each.predict_proba(DAY)[0, 1], 0.621212, **SIX_DIGITS)


# -- words ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("class_prior", "science"), [("uniform", 0.874975), ("empirical", 0.954536), (1.0, 0.933319)]
)
def test_row_7_bernoulli_bag_of_words(class_prior, science):
    """7 Bernoulli bag of words: Beta(1, 1) says .874975, .954536 or .933319 by class prior."""
    X, y = bg.datasets.load_bow4()
    document = pd.DataFrame([[0, 0, 1, 1]], columns=list(X))
    for rows, new in ((X, document), (texts(X), ["equals proof"])):
        bag = bg.BagOfWords(binary=True, probs="uniform", rows=2, class_prior=class_prior)
        found = bag.fit(rows, y).predict_proba(new)
        np.testing.assert_allclose(found[0, 1], science, **SIX_DIGITS)


def test_row_7_without_smoothing():
    """7 Bernoulli bag of words: maximum likelihood is certain of Science."""
    X, y = bg.datasets.load_bow4()
    bag = bg.BagOfWords(binary=True, inference="mle").fit(texts(X), y)
    assert bag.predict_proba(["equals proof"])[0, 1] == 1


def texts(X):
    """Return rows of words present or not as texts."""
    return [" ".join(X.columns[row == 1]) for row in X.to_numpy()]


def test_row_8_word_counts():
    """8 word counts: Dirichlet-multinomial, of texts of any length, against the closed form."""
    counts = np.array([[3, 0, 1], [5, 2, 0], [0, 4, 4], [1, 1, 2]])
    new = np.array([[1, 0, 0], [2, 3, 1], [20, 30, 10], [400, 600, 200]])
    bag = bg.BagOfWords(probs="uniform", rows_per_word=1, class_prior="uniform")
    found = bag.fit(counts, [0, 0, 1, 1]).predict_joint_log_proba(new)
    urns = 1 + np.array([counts[:2].sum(axis=0), counts[2:].sum(axis=0)])
    expected = [stats.dirichlet_multinomial(urn, new.sum(axis=1)).logpmf(new) for urn in urns]
    np.testing.assert_allclose(found, np.transpose(expected) + np.log(1 / 2), rtol=0, atol=1e-10)


def test_row_8_a_document_of_75_words():
    """8 word counts: where the mean urn, plugged in, says .956, all urns together say .829."""
    counts, document = np.array([[5, 20], [35, 35]]), np.array([[24, 51]])
    plugged = MultinomialNB(alpha=1, fit_prior=False).fit(counts, ["a", "b"])
    bag = bg.BagOfWords(probs="uniform", rows_per_word=1, class_prior="uniform")
    exact = bag.fit(counts, ["a", "b"])
    np.testing.assert_allclose(plugged.predict_proba(document)[0, 0], 0.956, rtol=0, atol=5e-4)
    np.testing.assert_allclose(exact.predict_proba(document)[0, 0], 0.829, rtol=0, atol=5e-4)
