"""Leave-one-out: taking statistics away is fitting again without the row, for every family."""

import laws
import numpy as np
import pandas as pd
import pytest
from cases import CASES
from scipy import stats

import bayesgen as bg
from bayesgen.errors import NoRows, UnsupportedInference


@pytest.mark.parametrize("name", CASES)
def test_taking_away_undoes_adding(name):
    """Statistics of a and b, without b, are those of a: any split, holes included where allowed."""
    case = CASES[name]
    x, y = case.rows(np.random.default_rng(1), 30, holes=not case.prior.joint)
    for cut in (1, 12, 29, 30):
        part = laws.statistics(case, case.prior, x[:cut], y[:cut])
        rest = laws.statistics(case, case.prior, x[cut:], y[cut:])
        whole = laws.statistics(case, case.prior, x, y)
        for field, value in (whole - rest).arrays().items():
            size = np.nan_to_num(np.abs(getattr(whole, field).astype(float))).max(initial=0.0)
            expected = getattr(part, field).astype(float)
            np.testing.assert_allclose(value, expected, atol=1e-12 * size, err_msg=field)


def refitted(clf, X, y, weight=None):
    from sklearn.base import clone

    out = []
    weight = np.ones(len(y)) if weight is None else weight
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        other = clone(clf).fit(X[rest], y[rest], sample_weight=weight[rest])
        k = list(other.classes_).index(y.iloc[i])
        joint = other.predict_joint_log_proba(X[i : i + 1])[0]
        out.append((joint[k] - np.logaddexp.reduce(joint), joint[k]))
    return np.array(out)


@pytest.mark.parametrize(
    "clf",
    [
        bg.LDA(),
        bg.QDA(),
        bg.NaiveBayes(),
        bg.NaiveBayes(bg.Normal(spread="shared"), class_prior="uniform"),
        bg.QDA(mean=3.0, scale=2.0, covariance_rows=5.0),
    ],
)
def test_loo_is_fitting_again(clf):
    X, y = bg.datasets.load_iris()
    X, y = X[::6].reset_index(drop=True), y[::6].reset_index(drop=True)
    found = clf.fit(X, y).loo()
    np.testing.assert_allclose(found, refitted(clf, X, y), rtol=1e-9, atol=1e-9)


def test_loo_of_a_mixed_table_with_holes_and_weights():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[::60].reset_index(drop=True), y[::60].reset_index(drop=True)
    X["sex"] = X["sex"].astype("category")
    X["passengerClass"] = X["passengerClass"].astype("category")
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    clf = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    expected = refitted(clf, X, y, weight)
    np.testing.assert_allclose(clf.loo(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(clf.loo(X, y, weight), expected, rtol=1e-9, atol=1e-9)


def test_the_last_row_of_a_class_is_predicted_from_the_prior():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0]})
    y = pd.Series(["a", "a", "a", "b"])
    clf = bg.NaiveBayes(bg.Normal(mean=0.0, variance=4.0, variance_rows=4.0)).fit(X, y)
    found = clf.loo()
    assert np.isfinite(found).all(axis=None)
    # class a after its three rows (mean 1, squares 2) against class b before any, 4/5 to 1/5
    own = stats.t(4, 0, np.sqrt(8)).logpdf(9) + np.log(1 / 5)
    other = stats.t(7, 0.75, np.sqrt(18.75 / 7 * 1.25)).logpdf(9) + np.log(4 / 5)
    expected = [own - np.logaddexp(own, other), own]
    np.testing.assert_allclose(found.iloc[3], expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_loo_of_arviz_agrees():
    """Of 4,000 draws: within 5 Monte Carlo standard errors where importance sampling is good."""
    import arviz_stats as az

    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[::4].reset_index(drop=True), y[::4].reset_index(drop=True)
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    found = az.loo(clf.to_datatree(draws=4000, replicates=2), pointwise=True)
    exact = clf.loo()["log_proba"].to_numpy()
    good = found.pareto_k.values < 0.5
    assert good.mean() > 0.9
    error = found.elpd_i.values[good] - exact[good]
    assert np.abs(error).max() < 0.05 and abs(error.mean()) < 0.002


def test_what_has_no_exact_loo():
    X, y = bg.datasets.load_iris()
    with pytest.raises(UnsupportedInference, match="inference was 'mle'"):
        bg.LDA(inference="mle").fit(X, y).loo()
    with pytest.raises(NoRows, match=r"loo\(X, y\)"):
        bg.LDA().partial_fit(X, y).loo()
