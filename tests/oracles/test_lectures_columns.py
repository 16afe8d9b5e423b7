"""What the lectures on generative classification compute, from the public names: columns.

Rows 9 to 13 of the table in docs/evidence/lectures.md: mixed columns, missing
cells, numbers of no shape.
"""

import numpy as np
import pandas as pd
import pytest
from references import ORACLES, assert_meets
from scipy import stats
from scipy.special import logsumexp

import bayesgen as bg

SMOOTH = bg.Categorical.laplace(1)

# -- mixed and missing columns -------------------------------------------------------------------

# one added count; log10 of the income has a guess of 2 worth one row, its variance .05 worth four
VOTER = {
    "Voted2012": SMOOTH,
    "LogIncome": bg.Normal(mean=2.0, mean_rows=1, variance=0.05, variance_rows=4),
    "State": SMOOTH,
}
STATES = sorted(set(bg.datasets.load_voters()[0]["State"]))


def voters(X):
    """Return columns as the lecture reads them: logarithms of incomes, all states declared."""
    state = pd.Categorical(X["State"], categories=STATES)
    return X.drop(columns="IncomeK").assign(LogIncome=np.log10(X["IncomeK"]), State=state)


@pytest.mark.parametrize("train", ["complete", "missing"])
def test_rows_9_to_11_voters(train):
    """9 mixed columns, 10 missing at predict, 11 missing at fit: yes/no, income and state."""
    load = bg.datasets.load_voters if train == "complete" else bg.datasets.load_voters_missing
    X, y = load()
    clf = bg.NaiveBayes(VOTER).fit(voters(X), y)
    new = pd.DataFrame({"Voted2012": ["N", None], "IncomeK": 100, "State": "NY"})
    # a point is written with two commas in it: pandas makes an index of what stands before them
    answers = pd.read_csv(ORACLES / "voters_exact_bayes.csv").loc[train]
    np.testing.assert_allclose(
        clf.predict_proba(voters(new)), answers[list(clf.classes_)], rtol=0, atol=1e-12
    )


def test_row_10_missing_at_predict():
    """10 missing at predict: the factor is left out; house votes as R's e1071 answers."""
    X, y = bg.datasets.load_housevotes84()
    clf = bg.NaiveBayes(SMOOTH, class_prior="empirical").fit(X, y)
    assert_meets(clf, X, "housevotes84_nb_e1071_laplace1", 1e-9)


def test_row_10_missing_in_a_model_that_is_not_naive():
    """10 missing at predict: other models need an integral, and QDA takes it by itself."""
    X, y = bg.datasets.load_iris()
    X = X.iloc[:, :2]
    clf = bg.QDA(inference="mle").fit(X, y)
    widths = np.linspace(-3, 9, 2001)
    filled = pd.DataFrame({"sepal_length": 5.5, "sepal_width": widths})
    joint = np.exp(clf.predict_joint_log_proba(filled)).sum(axis=0)  # a sum for an integral
    found = clf.predict_proba(pd.DataFrame({"sepal_length": [5.5], "sepal_width": [np.nan]}))
    np.testing.assert_allclose(found[0], joint / joint.sum(), rtol=0, atol=1e-12)


def test_row_11_missing_at_fit():
    """11 missing at fit: of 103 yes, 54 no and 25 silent, P(yes) = 103 / 157."""
    vote = ["yes"] * 103 + ["no"] * 54 + [None] * 25 + ["yes"] * 30 + ["no"] * 70
    y = ["Clinton"] * 182 + ["Trump"] * 100
    clf = bg.NaiveBayes(inference="mle").fit(pd.DataFrame({"vote": vote}), y)
    yes = clf.with_class_prior("uniform").predict_joint_log_proba(pd.DataFrame({"vote": ["yes"]}))
    np.testing.assert_allclose(2 * np.exp(yes[0]), [103 / 157, 30 / 100], rtol=1e-12)


# -- numbers of no known shape -------------------------------------------------------------------


@pytest.fixture(scope="module")
def flowers():
    X, y = bg.datasets.load_iris()
    return X, y.to_numpy(), np.unique(y, return_inverse=True)[1]


def kernel_joint(X, codes, bandwidth, *, leave_out):
    """Return log p(x, y = k), shape (row, class), with or without a row's own kernel."""
    x = X.to_numpy()
    kernel = stats.norm.logpdf(x[:, None], x, bandwidth[codes])  # (row, kernel, feature)
    if leave_out:
        kernel[np.arange(len(x)), np.arange(len(x))] = -np.inf
    joint = []
    for k in range(3):
        count = (codes == k).sum() - (leave_out & (codes == k))
        mean = logsumexp(kernel[:, codes == k], axis=1) - np.log(count)[:, None]
        joint.append(mean.sum(axis=1) + np.log(count / (len(x) - leave_out)))
    return np.transpose(joint)


@pytest.mark.parametrize(
    ("bandwidth", "training", "left_out"),
    [(0.001, 0.967, 0.933), (0.05, 0.967, 0.947), (0.2, 0.967, 0.960), (1.6, 0.920, 0.900)],
)
def test_row_12_bandwidths(flowers, bandwidth, training, left_out):
    """12 kernel density naive Bayes: small bandwidths overfit, training accuracy does not tell."""
    X, y, codes = flowers
    kernels = bg.KernelDensity(bandwidth=bandwidth)
    clf = bg.NaiveBayes(kernels, class_prior="empirical").fit(X, y)
    every = np.full((3, 4), bandwidth)
    joint = kernel_joint(X, codes, every, leave_out=False)
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), joint, rtol=1e-12, atol=1e-9)
    assert clf.score(X, y) == pytest.approx(training, abs=5e-4)
    left = kernel_joint(X, codes, every, leave_out=True)
    assert np.mean(left.argmax(axis=1) == codes) == pytest.approx(left_out, abs=5e-4)
    for i in (0, 70, 106, 133):  # refitted without the row
        alone = clf.fit(X.drop(index=i), np.delete(y, i)).predict_joint_log_proba(X.iloc[[i]])
        np.testing.assert_allclose(alone[0], left[i], rtol=1e-9)


def test_row_12_rule_of_thumb(flowers):
    """12 kernel density naive Bayes: R's nrd0, .9 min(sd, IQR / 1.34) n^-1/5, class by class."""
    X, y, codes = flowers
    groups = X.groupby(y)
    quartiles = groups.quantile(0.75) - groups.quantile(0.25)
    nrd0 = 0.9 * np.minimum(groups.std(), quartiles / 1.34) * 50**-0.2
    clf = bg.NaiveBayes(bg.KernelDensity(), class_prior="empirical").fit(X, y)
    joint = kernel_joint(X, codes, nrd0.to_numpy(), leave_out=False)
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), joint, rtol=1e-9)


def test_row_12_learned_bandwidth(flowers):
    """12 kernel density naive Bayes: the likeliest bandwidths, learned from other values: .96."""
    X, y, codes = flowers
    kernels = bg.KernelDensity(bandwidth="learn")
    clf = bg.NaiveBayes(kernels, class_prior="empirical").fit(X, y)
    part = clf.posterior_.families["kernel_density"]
    units = [column.grid[column.log_weight.argmax()] for column in part.columns]
    within = np.sqrt([column.covariance[0, 0] for column in part.columns])
    found = np.tile(units * within, (3, 1))
    assert ((found > 0.1) & (found < 0.6)).all()
    left = kernel_joint(X, codes, found, leave_out=True)
    assert np.mean(left.argmax(axis=1) == codes) == pytest.approx(0.96, abs=5e-4)


def test_row_13_quartiles():
    """13 a numeric column cut into levels: iris, sepal length at its quartiles, width normal: .76.

    The lecture shows five digits of a row's probabilities and two of the accuracy.
    """
    X, y = bg.datasets.load_iris()
    level = pd.qcut(X["sepal_length"], [0, 0.25, 0.75, 1], labels=["short", "middle", "long"])
    sepals = X[["sepal_width"]].assign(sepal_length=level)
    clf = bg.NaiveBayes(inference=bg.MLE(bias_corrected=True)).fit(sepals, y)
    found = clf.predict_proba(sepals)
    np.testing.assert_allclose(found[0], [0.98239, 0.00897, 0.00864], rtol=0, atol=5e-6)
    assert clf.score(sepals, y) == 114 / 150
    shares = pd.crosstab(y, level, normalize="index")[level].to_numpy().T
    width = X["sepal_width"].groupby(y)
    normal = stats.norm.pdf(X[["sepal_width"]], width.mean(), width.std())
    joint = shares * normal / 3
    by_hand = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found, by_hand, rtol=0, atol=1e-12)
