"""What the lectures on generative classification compute, from the public names: using a model.

Rows 14 to 24 of the table in docs/evidence/lectures.md, and the lectures' known errors; the
models are in test_lectures.py. Each docstring is the row's number and name, and what is reproduced.
"""

import numpy as np
import pandas as pd
import pytest
from references import table
from scipy import stats
from sklearn import metrics
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import bayesgen as bg

FLAT = LogisticRegression(C=np.inf, max_iter=2000)
"""Logistic regression as the lectures fit it: by maximum likelihood, without a penalty."""


def standard_errors(differences):
    """Return how many of its own standard errors a mean difference is away from zero."""
    differences = np.asarray(differences)
    return differences.mean() / differences.std(ddof=1) * np.sqrt(len(differences))


# -- from densities to classes -------------------------------------------------------------------

DOCUMENT = pd.DataFrame([[0, 0, 1, 1]], columns=["king", "food", "equals", "proof"])


@pytest.mark.parametrize(
    ("class_prior", "science"),
    [
        ("uniform", 0.874975),
        ("empirical", 0.954536),
        (1.0, 0.933319),
        ({"Science": 0.75, "History": 0.25}, 0.954536),
    ],
)
def test_row_14_class_priors(class_prior, science):
    """14 class priors: uniform (the "ML rule"), frequencies, a Dirichlet posterior, or given."""
    X, y = bg.datasets.load_bow4()
    clf = bg.NaiveBayes(bg.Bernoulli(0.5, rows=2), class_prior=class_prior).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(DOCUMENT)[0, 1], science, rtol=0, atol=5e-7)


def test_row_14_the_prior_of_a_class_belongs_to_the_class():
    """14 class priors: one per class in every row; a demo multiplied them down the rows."""
    X, y = bg.datasets.load_iris()
    clf = bg.QDA(inference="mle").fit(X, y)
    prior = {"setosa": 0.1, "versicolor": 0.2, "virginica": 0.7}
    moved = clf.with_class_prior(prior).predict_joint_log_proba(X)
    expected = clf.predict_joint_log_proba(X) - np.log(1 / 3) + np.log([0.1, 0.2, 0.7])
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-9)


def test_row_15_rules_and_log_odds():
    """15 ML and MAP rules: argmax of the joint; of two classes f = log-odds and P = sigmoid(f)."""
    X, y = table("biopsy_complete")
    clf = bg.QDA(inference="mle").fit(X, y)
    joint = clf.predict_joint_log_proba(X)
    f = clf.decision_function(X)
    np.testing.assert_allclose(f, joint[:, 1] - joint[:, 0], rtol=1e-9)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 1 / (1 + np.exp(-f)), atol=1e-12)
    assert (clf.predict(X) == clf.classes_[joint.argmax(axis=1)]).all()
    assert (clf.predict(X) == np.where(f > 0, "malignant", "benign")).all()
    likelihood = joint - np.log((y.value_counts() / len(y))[clf.classes_].to_numpy())
    ml_rule = clf.with_class_prior("uniform").predict(X)
    assert (ml_rule == clf.classes_[likelihood.argmax(axis=1)]).all()


def test_row_15_regions():
    """15 decision boundaries: where f changes sign, a line for LDA and a conic for QDA."""
    X, y = bg.datasets.load_iris()
    X, y = X.iloc[50:, 2:].to_numpy(), y[50:]
    length, width = np.meshgrid(np.linspace(0, 10, 41), np.linspace(0, 4, 41))
    grid = np.column_stack([length.ravel(), width.ravel()])
    line = np.column_stack([np.ones(len(grid)), grid])
    conic = np.column_stack([line, grid**2, grid.prod(axis=1)])
    for model, shape in ((bg.LDA, line), (bg.QDA, conic)):
        clf = model(inference="mle").fit(X, y)
        f = clf.decision_function(grid)
        left = f - shape @ np.linalg.lstsq(shape, f)[0]
        assert np.abs(left).max() < 1e-9 * np.abs(f).max()
        assert ((clf.predict_proba(grid)[:, 1] > 0.5) == (f > 0)).all()


def test_row_16_asymmetric_losses():
    """16 asymmetric losses: the decision of least expected loss, with doubt at a price."""
    X, y = bg.datasets.load_biopsy()
    clf = bg.NaiveBayes(bg.Normal(spread="shared")).fit(X, y)
    proba = clf.predict_proba(X)
    # lines: the true class; columns: what is decided; a missed cancer costs 20 false alarms
    loss = np.array([[0.0, 1.0], [20.0, 0.0]])
    decided = clf.decide(X, loss)
    assert (decided == clf.classes_[(proba @ loss).argmin(axis=1)]).all()
    assert (decided == np.where(proba[:, 1] > 1 / 21, "malignant", "benign")).all()
    assert ((decided == "benign") & (y == "malignant")).sum() < (
        (clf.predict(X) == "benign") & (y == "malignant")
    ).sum()
    # Chow's rule: with a doubt at .1 the best class needs a probability of .9
    doubt = clf.decide(X, reject=0.1) == "reject"
    assert (doubt == (proba.max(axis=1) < 0.9)).all() and doubt.any()


def test_row_17_outliers():
    """17 outliers: far from every class p(x) is small, where logistic regression stays certain."""
    X, y = bg.datasets.load_iris()
    X, y = X.iloc[50:, 2:].to_numpy(), y[50:]
    far = np.array([[40.0, 1.0]])  # a petal of 40 cm, 1 cm wide
    clf = bg.QDA().fit(X, y)
    assert FLAT.fit(X, y).predict_proba(far).max() > 1 - 1e-9
    assert clf.score_samples(far)[0] < clf.score_samples(X).min() - 20


def test_row_18_naive_bayes_is_overconfident():
    """18 overconfidence: d copies of a column (means -1 and 1, sd 1) give log-odds 2dx, not 2x."""
    x, y = np.array([-2.0, 0.0, 0.0, 2.0]), [0, 0, 1, 1]
    new = np.linspace(-3, 3, 7)
    for copies in (1, 2, 10):
        clf = bg.NaiveBayes(inference="mle").fit(np.tile(x[:, None], copies), y)
        found = clf.decision_function(np.tile(new[:, None], copies))
        np.testing.assert_allclose(found, 2 * copies * new, rtol=0, atol=1e-9)


def test_row_19_underflow():
    """19 underflow: products of thousands of factors are 0 = 0 / 0; log-sum-exp is not."""
    words = np.random.default_rng(0).integers(0, 2, (60, 5000))
    clf = bg.NaiveBayes(bg.Bernoulli()).fit(words, np.repeat(["a", "b"], 30))
    joint = clf.predict_joint_log_proba(words)
    assert np.exp(joint).max() == 0
    proba = clf.predict_proba(words)
    np.testing.assert_allclose(proba.sum(axis=1), 1, rtol=0, atol=1e-12)
    odds = joint[:, 1] - joint[:, 0]
    np.testing.assert_allclose(proba[:, 1], stats.logistic.cdf(odds), rtol=0, atol=1e-12)


# -- evaluation and rivals -----------------------------------------------------------------------


@pytest.fixture(scope="module")
def spam_halves():
    """P(spam) of logistic regression and LDA over four random halves: train and test."""
    X, y = bg.datasets.load_spam()
    rivals = (make_pipeline(StandardScaler(), FLAT), bg.LDA(inference="mle"))
    halves = []
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = order[: len(X) // 2], order[len(X) // 2 :]
        fitted = [rival.fit(X.iloc[train], y.iloc[train]) for rival in rivals]
        for rows in (train, test):
            proba = [clf.predict_proba(X.iloc[rows])[:, 1] for clf in fitted]
            halves.append(((y.iloc[rows] == "spam").to_numpy(), *proba))
    return halves


@pytest.mark.slow
def test_row_20_area_under_the_curve(spam_halves):
    """20 evaluation: spam over random halves, AUC .969 (logistic regression) and .950 (LDA)."""
    areas = np.array([[metrics.roc_auc_score(y, p) for p in ps] for y, *ps in spam_halves])
    train, test = areas[::2], areas[1::2]
    # two standard errors of the mean of four halves are .003 and .005
    np.testing.assert_allclose(test.mean(axis=0), [0.969, 0.950], rtol=0, atol=0.003)
    assert standard_errors(test[:, 0] - test[:, 1]) > 5
    assert (train.mean(axis=0) > test.mean(axis=0)).all()


def test_row_20_confusion(spam_halves):
    """20 evaluation: at .5 LDA has FEWER false positives than logistic regression; at .95 fewer."""
    for y, logistic, lda in spam_halves[1::2]:
        for proba in (logistic, lda):
            (tn, fp), (fn, tp) = metrics.confusion_matrix(y, proba > 0.5)
            assert metrics.recall_score(y, proba > 0.5) == tp / (tp + fn)  # sensitivity
            assert metrics.precision_score(y, proba > 0.5) == tp / (tp + fp)
            assert metrics.f1_score(y, proba > 0.5) == pytest.approx(2 * tp / (2 * tp + fp + fn))
            false, true, _ = metrics.roc_curve(y, proba, drop_intermediate=False)
            assert (fp / (fp + tn), tp / (tp + fn)) in set(zip(false, true, strict=True))
            assert (~y & (proba > 0.95)).sum() < fp  # 1 - specificity at a stricter threshold
    at_half = np.array([[(~y & (p > 0.5)).sum() for p in ps] for y, *ps in spam_halves[1::2]])
    assert standard_errors(at_half[:, 0] - at_half[:, 1]) > 2


@pytest.mark.slow
def test_row_21_rivals():
    """21 rivals: logistic regression and nearest neighbors of scikit-learn in bg.compare."""
    X, y = table("biopsy_complete")
    rivals = {"LDA": bg.LDA(), "logistic": FLAT, "15 nearest": KNeighborsClassifier(15)}
    found = bg.compare(rivals, X, y, cv=5, random_state=0, progress=False)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    for name, rival in rivals.items():
        proba = cross_val_predict(rival, X, y, cv=folds, method="predict_proba")
        right = (proba[:, 1] > 0.5) == (y == "malignant")
        assert found.table.loc[name, "accuracy"] == pytest.approx(right.mean())
    assert found.table.loc["LDA", "log_loss"] > found.table.loc["logistic", "log_loss"]
    # neighbors that all agree say 0 and 1, and are wrong once: an infinite loss
    assert np.isinf(found.table.loc["15 nearest", "log_loss"])


def test_row_22_learning_curves():
    """22 learning curves: LDA is right more often with 30 rows, logistic regression with 480."""
    X, y = table("biopsy_complete")
    X = X.drop(columns="V9")  # constant in many a sample of 30
    rivals = (bg.LDA(), clone(FLAT).set_params(solver="newton-cholesky"))
    gain = {30: [], 480: []}
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(X))
        for n in gain:
            train, test = order[:n], order[480:]
            fitted = [rival.fit(X.iloc[train], y.iloc[train]) for rival in rivals]
            right = [clf.score(X.iloc[test], y.iloc[test]) for clf in fitted]
            gain[n].append(right[0] - right[1])
    assert standard_errors(gain[30]) > 3
    assert standard_errors(gain[480]) < -3


def test_row_24_titanic():
    """24 Titanic: three categorical columns, confusion 1364 / 362 / 126 / 349, accuracy .77828."""
    X, y = bg.datasets.load_titanic()
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    found = metrics.confusion_matrix(y, clf.predict(X))
    np.testing.assert_array_equal(found, [[1364, 126], [362, 349]])
    assert clf.score(X, y) == pytest.approx(0.77828, abs=5e-6)


# -- known errors of the lectures ----------------------------------------------------------------


def test_densities_have_the_2_in_2_pi():
    """Two lectures write pi^(p/2) for (2 pi)^(p/2); a density must integrate to one."""
    X, y = table("biopsy_complete")
    clf = bg.QDA(inference="mle").fit(X, y)
    rows = X[y == "benign"]
    normal = stats.multivariate_normal(rows.mean(), np.cov(rows.T, ddof=0))
    expected = normal.logpdf(X) + np.log(len(rows) / len(X))
    np.testing.assert_allclose(clf.predict_joint_log_proba(X)[:, 0], expected, rtol=1e-9)


def test_maximum_likelihood_divides_by_n():
    """Variances that divide by n - 1 are not those of maximum likelihood: these are likelier."""
    X, y = table("crabs4class")
    fits = [bg.QDA(inference=bg.MLE(bias_corrected=b)).fit(X, y) for b in (False, True)]
    codes = np.searchsorted(fits[0].classes_, y)
    likelihood = [c.predict_joint_log_proba(X)[np.arange(len(X)), codes].sum() for c in fits]
    assert likelihood[0] > likelihood[1]


# -- beyond the 24 rows ----------------------------------------------------------------------------


def test_the_bayes_rule_is_the_floor():
    """The Bayes rule under stated parameters: nothing learned from 40 rows is as good."""
    truth = {
        "class.probs": [0.6, 0.4],
        "normal.mean": [[0.0, 0.0], [1.5, 1.0]],
        "normal.covariance": [[[1.0, 0.5], [0.5, 1.0]], [[0.5, -0.2], [-0.2, 1.5]]],
    }
    corners = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]
    rule = bg.QDA().fit(corners, [0, 0, 1, 1]).with_parameters(truth)
    rows, labels = rule.sample(2000, random_state=0)
    parts = zip(truth["normal.mean"], truth["normal.covariance"], strict=True)
    density = np.stack([stats.multivariate_normal(*part).pdf(rows) for part in parts], axis=1)
    joint = density * truth["class.probs"]
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(rule.predict_proba(rows), expected, rtol=0, atol=1e-12)
    own = np.arange(len(labels)), labels
    gaps = []
    for seed in range(1, 9):
        learned = bg.QDA().fit(*rule.sample(40, random_state=seed)).predict_proba(rows)
        gaps.append(np.mean(np.log(expected[own]) - np.log(learned[own])))
    assert standard_errors(gaps) > 3


def test_conditional_normal():
    """mu_m + S_mo S_oo^-1 (x_o - mu_o), and S_mm - S_mo S_oo^-1 S_om around it."""
    X, y = bg.datasets.load_iris()
    one = bg.QDA(inference="mle").fit(X, y).with_class_prior([0, 1, 0])
    own, row = X[y == "versicolor"].to_numpy(), X.iloc[[60]].assign(petal_width=np.nan)
    mean, matrix = own.mean(axis=0), np.cov(own.T, bias=True)
    gain = np.linalg.solve(matrix[:3, :3], matrix[:3, 3])
    center = mean[3] + gain @ (row.to_numpy()[0, :3] - mean[:3])
    half = stats.norm.ppf(0.975) * np.sqrt(matrix[3, 3] - gain @ matrix[:3, 3])
    found = one.conditional(row, prob=0.95)[["mean", "lower", "upper"]].to_numpy()[0]
    np.testing.assert_allclose(found, [center, center - half, center + half], rtol=1e-9)


def test_nearest_neighbors_in_discriminant_scores():
    """Scores have the identity as covariance within classes; neighbors err less often.

    The folds are ten; the notebook leaves out each crab.
    """
    X, y = bg.datasets.load_crabs()
    lda, neighbors = bg.LDA(inference=bg.MLE(bias_corrected=True)), KNeighborsClassifier(5)
    scores = lda.fit(X, y).transform(X)
    within = np.mean([np.cov(scores[y == name].T) for name in np.unique(y)], axis=0)
    np.testing.assert_allclose(within, np.eye(3), atol=1e-8)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    wrong = [
        (cross_val_predict(clf, X, y, cv=folds) != y).sum()
        for clf in (neighbors, make_pipeline(lda, neighbors))
    ]
    assert wrong[0] > 30 and wrong[1] < 20
