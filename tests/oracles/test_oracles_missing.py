"""Missing cells: answers of R, of SciPy, of quadrature and of a brute-force maximum."""

import numpy as np
import pandas as pd
import pytest
from references import DATA, INVERSE_WISHART, ORACLES, assert_meets, standardised_crabs, table
from scipy import optimize, stats

import bayesgen as bg


def test_house_votes_with_missing_votes():
    X, y = table("housevotes84")
    assert X.isna().sum().sum() == 392
    # e1071's class prior is n_k / n
    clf = bg.NaiveBayes(bg.Categorical.laplace(1), class_prior="empirical").fit(X, y)
    assert_meets(clf, X, "housevotes84_nb_e1071_laplace1", 1e-9)


def test_house_votes_from_observed_cells():
    # the first vote of the Democrats: 156 yes, 102 no, 9 silent
    X, y = table("housevotes84")
    clf = bg.NaiveBayes(inference="mle").fit(X, y)
    votes = X["V1"][y == "democrat"].value_counts()
    found = clf.posterior_.components.params["categorical"]["probs"][0, 0, 0, :2]
    np.testing.assert_allclose(found, [102 / 258, 156 / 258], rtol=1e-12)
    assert (votes["n"], votes["y"], (y == "democrat").sum()) == (102, 156, 267)


@pytest.mark.parametrize("train", ["complete", "missing"])
def test_voters(train):
    # the prior of the file, found from its numbers: one added count for classes, votes and the
    # seven states; inverse-gamma(2, 0.1) and a mean of 2 worth one row for log10 of the income
    frame = pd.read_csv(DATA / ("voters.csv" if train == "complete" else "voters_missing.csv"))
    frame["Income"] = np.log10(frame["IncomeK"])
    states = sorted(set(pd.read_csv(DATA / "voters.csv")["State"]))
    frame["State"] = pd.Categorical(frame["State"], categories=states)
    X, rows = frame[["Voted2012", "Income", "State"]], frame["split"] == "train"
    income = bg.Normal(mean=2.0, mean_rows=1, variance=0.05, variance_rows=4)
    laplace = bg.Categorical.laplace(1)
    likelihood = {"Voted2012": laplace, "Income": income, "State": laplace}
    clf = bg.NaiveBayes(likelihood).fit(X[rows], frame["Candidate"][rows])
    # a point is written with two commas in it: pandas makes an index of what stands before them
    answers = pd.read_csv(ORACLES / "voters_exact_bayes.csv").loc[train]
    np.testing.assert_allclose(
        clf.predict_proba(X[~rows]), answers[list(clf.classes_)], rtol=0, atol=1e-12
    )


def test_joint_normal_with_missing_cells_at_predict(rng):
    X, y, _ = standardised_crabs()
    gaps = X.mask(rng.random(X.shape) < 0.4)
    gaps.iloc[0] = np.nan
    for covariance, model in (("own", bg.QDA), ("shared", bg.LDA)):
        clf = model(**INVERSE_WISHART).fit(X, y)
        groups = [X[y == c].to_numpy() for c in clf.classes_]
        moments = [student_t(g, groups if covariance == "shared" else [g]) for g in groups]
        joint = np.log(np.array([len(g) + 1 for g in groups]) / 204) + np.zeros((len(X), 4))
        for i, row in enumerate(gaps.to_numpy()):
            seen = ~np.isnan(row)
            for k, (centre, shape, df) in enumerate(moments):
                if seen.any():
                    part = stats.multivariate_t(centre[seen], shape[np.ix_(seen, seen)], df)
                    joint[i, k] += part.logpdf(row[seen])
        found = clf.predict_joint_log_proba(gaps)
        np.testing.assert_allclose(found, joint, rtol=0, atol=1e-9)
        np.testing.assert_allclose(
            clf.score_samples(gaps), np.logaddexp.reduce(joint, axis=1), rtol=0, atol=1e-9
        )


def student_t(rows, groups):
    """Return center, shape and degrees of the predictive of `rows` under INVERSE_WISHART.

    The marginal of a multivariate t keeps its degrees of freedom.
    """
    n, total = len(rows), sum(len(g) for g in groups)
    squares = np.eye(rows.shape[1])
    for g in groups:
        mean = g.mean(axis=0)
        squares = squares + (g - mean).T @ (g - mean)
        squares = squares + 0.5 * len(g) / (0.5 + len(g)) * np.outer(mean, mean)
    df = 3 + total
    return n * rows.mean(axis=0) / (n + 0.5), squares / df * (1 + 1 / (n + 0.5)), df


def test_joint_normal_marginal_is_an_integral():
    X, y, _ = standardised_crabs()
    X = X[["FL", "RW"]]
    clf = bg.QDA(**INVERSE_WISHART).fit(X, y)
    row = pd.DataFrame([[0.3, np.nan]], columns=list(X))
    # the trapezoid rule in u with value = sinh(u): exact to rounding for an integrand of fat tails
    u = np.linspace(-30, 30, 4001)
    filled = pd.DataFrame({"FL": 0.3, "RW": np.sinh(u)})
    density = np.exp(clf.predict_joint_log_proba(filled)) * np.cosh(u)[:, None]
    expected = density.sum(axis=0) * (u[1] - u[0])
    found = np.exp(clf.predict_joint_log_proba(row))[0]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(
        clf.predict_proba(row)[0], expected / expected.sum(), rtol=0, atol=1e-9
    )


def test_joint_normal_with_missing_cells_at_fit(rng):
    # the observed-data likelihood of one class, maximized by brute force over mean and factor
    X, y, _ = standardised_crabs()
    X = X[["FL", "RW"]].mask(rng.random((len(X), 2)) < 0.25)
    clf = bg.QDA(inference="mle").fit(X, y)
    params = {k: v[0, 0] for k, v in clf.posterior_.components.params["normal"].items()}
    rows = X[y == clf.classes_[0]].to_numpy()

    def loss(theta):
        factor = np.array([[np.exp(theta[2]), 0.0], [theta[3], np.exp(theta[4])]])
        covariance, total = factor @ factor.T, 0.0
        for j in ([0], [1], [0, 1]):
            part = rows[(~np.isnan(rows) == np.isin([0, 1], j)).all(axis=1)][:, j]
            normal = stats.multivariate_normal(theta[:2][j], covariance[np.ix_(j, j)])
            total -= normal.logpdf(part).sum()
        return total

    best = optimize.minimize(loss, np.zeros(5), method="BFGS", options={"gtol": 1e-7})
    covariance = params["cholesky"][0] @ params["cholesky"][0].T
    found = np.linalg.cholesky(covariance)
    theta = np.array([*params["mean"][0], np.log(found[0, 0]), found[1, 0], np.log(found[1, 1])])
    assert loss(theta) <= best.fun + 1e-9
    np.testing.assert_allclose(theta, best.x, rtol=0, atol=1e-5)
