"""Trees: parameters given a forest, estimates, simulated rows, and the way through estimators."""

import itertools

import laws
import numpy as np
import pandas as pd
import pytest
from case import N_CLASSES
from cases import CASES
from cases_trees import TREES
from rooted_forests import rooted_forests
from scipy import stats

import bayesgen as bg
from bayesgen.errors import UnsupportedInference
from bayesgen.likelihoods.trees import forest_sums


@pytest.mark.parametrize("name", TREES)
def test_densities_of_complete_rows_add_up_to_the_likelihood_of_pairs(name):
    case, rng = CASES[name], np.random.default_rng(3)
    x, y = case.rows(rng, 30)
    weight = rng.integers(0, 3, 30)
    rows = laws.statistics(case, case.prior, x, y, weight)
    prior = case.prior.complete(rows)
    params = prior.posterior(rows).draw(rng, 7)
    by_row = prior.log_density_fn(params)(x)[np.arange(30), :, y]
    laws.close(weight @ by_row, prior.log_likelihood(params, rows))
    gaps = laws.statistics(case, case.prior, *case.rows(rng, 30, gaps=True))
    with pytest.raises(UnsupportedInference, match="incomplete rows"):
        prior.log_likelihood(params, gaps)
    with pytest.raises(UnsupportedInference, match="maximum likelihood"):
        prior.maximum_likelihood(gaps)


@pytest.mark.parametrize("name", TREES)
def test_updated_draws_of_rows_with_missing_values_average_to_the_predictive(name):
    """Their own class alone, 5 standard errors; fitted rows have missing values too."""
    case, n = CASES[name], 4000
    after = laws.fitted(case, case.prior)[1]
    x, y = case.rows(np.random.default_rng(5), 40, gaps=True)
    after = after.posterior(laws.statistics(case, after, x, y))
    x = x[15:24]
    assert case.missing(x).any(axis=1).sum() > 3
    probs = laws.softmax(after.log_predictive(x))
    rng = np.random.default_rng(7)
    strata = (np.arange(n) + rng.random(n)) / n
    own = (strata[:, None, None] > probs.cumsum(axis=1)[:, :-1]).sum(axis=2)
    score = after.log_density_draws_given_row(rng, n)
    updated = score(x, own)
    laws.averages_to(laws.softmax(updated), probs, axis=0)
    # a row's answer does not depend on its company
    np.testing.assert_array_equal(score(x[3:5], own[:, 3:5]), updated[:, 3:5])


@pytest.mark.parametrize("name", TREES)
def test_simulated_rows_have_the_density(name):
    """Levels: every cell. Numbers: quantiles of a column given the others' mean."""
    case, n = CASES[name], 30_000
    after = laws.fitted(case, case.prior)[1]
    one = {k: v[0] for k, v in after.draw(np.random.default_rng(8), 1).items()}
    x = after.simulate(one, np.full(n, 1), np.random.default_rng(9))
    if name == "TreeNormal":
        covariance = one["cholesky"][1] @ one["cholesky"][1].T
        z = (x - one["mean"][1]) / np.sqrt(np.diag(covariance))
        for pair in itertools.combinations(range(3), 2):
            a = z[:, pair].prod(axis=1)
            sizes = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
            expected = (covariance / sizes)[pair]
            assert abs(a.mean() - expected) < 5 * a.std() / np.sqrt(n)
        assert stats.kstest(z[:, 0], "norm").pvalue > 1e-4
        return
    table = np.stack(np.unravel_index(np.arange(12), case.n_levels), axis=1)
    expected = np.exp(after.log_density_fn(one)(table)[:, 1])
    shown = (x[:, None] == table).all(axis=-1).mean(axis=0)
    error = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs(shown - expected) <= 5 * error + 1e-12).all()


@pytest.mark.parametrize("name", TREES)
def test_no_tree_has_a_higher_likelihood(name):
    """Chow and Liu against every tree: the best of tree k has its own moments or frequencies."""
    case = CASES[name]
    x, y = case.rows(np.random.default_rng(1), 60)
    rows = laws.statistics(case, case.prior, x, y)
    prior = case.prior.complete(rows)
    best, findings = prior.maximum_likelihood(rows)
    assert not findings
    top = prior.log_likelihood(best, rows)
    forest = rooted_forests(3)
    found = []
    for parent in forest:
        parents = np.tile(parent, (N_CLASSES, 1))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(forest_sums, "heaviest", lambda w, *, whole, p=parents: p)
            found.append(prior.log_likelihood(prior.maximum_likelihood(rows)[0], rows))
    assert max(found) <= top + 1e-9 and (np.array(found) < top - 1e-6).any()
    if name == "TreeNormal":
        one = prior.maximum_likelihood(rows, bias_corrected=True)[0]["cholesky"]
        ratio = (one @ np.swapaxes(one, 1, 2)) / (
            best["cholesky"] @ np.swapaxes(best["cholesky"], 1, 2)
        )
        n = np.bincount(y)[:, None, None]
        np.testing.assert_allclose(ratio, np.broadcast_to(n / (n - 1), ratio.shape))


@pytest.mark.parametrize("name", TREES)
def test_nothing_near_the_mode_is_likelier(name):
    """Tables of levels by Dirichlet densities; regressions by the posterior of one edge."""
    case = CASES[name]
    after = laws.fitted(case, case.prior, 60)[1]
    mode = after.mode()
    if name == "TreeCategorical":
        root = mode["parent"] == np.arange(3)
        single = np.diagonal(after.concentration(), axis1=1, axis2=2)
        for k, v in np.argwhere(root):
            at = slice(*np.cumsum([0, *case.n_levels])[[v, v + 1]])
            expected = single[k, at] / single[k, at].sum()
            np.testing.assert_allclose(mode["probs"][k, 0, at], expected)
        child, above = 2, 0
        k = np.flatnonzero(mode["parent"][:, child] == above)[0]
        table = after.concentration()[k, :2, 5:]
        expected = table / table.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(mode["probs"][k, :2, 5:], expected)
        return
    # many rows: the mode is near the maximum
    many = laws.fitted(case, case.prior, 6000)
    best, top = many[1].mode(), many[0].maximum_likelihood(many[2])[0]
    np.testing.assert_allclose(best["mean"], top["mean"], rtol=0.05)
    spread = np.sqrt((top["cholesky"] ** 2).sum(axis=-1))
    error = (best["cholesky"] - top["cholesky"]) / spread[..., None]
    assert np.abs(error).max() < 0.05


# -- through estimators ------------------------------------------------------------------------


def mixed(n=80):
    rng = np.random.default_rng(0)
    y = pd.Series(rng.choice(["no", "yes"], n))
    a = rng.normal(size=n) + (y == "yes")
    X = pd.DataFrame({"a": a, "b": a + rng.normal(size=n), "c": rng.normal(size=n)})
    X["u"] = pd.Categorical(rng.choice(["x", "y", "z"], n))
    X["v"] = X["u"].where(rng.random(n) < 0.7, "x")
    X["w"] = np.where(rng.random(n) < 0.5, X["u"] == "x", y == "yes")
    return X, y


def trees(**options):
    likelihood = {("a", "b", "c"): bg.TreeNormal(), ("u", "v", "w"): bg.TreeCategorical()}
    return bg.GenerativeClassifier(likelihood=likelihood, random_state=0, **options)


@pytest.mark.parametrize("gaps", [False, True])
def test_every_answer_of_a_classifier(gaps, tmp_path):
    X, y = mixed()
    if gaps:
        X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    clf = trees().fit(X, y)
    assert clf.inference_ == "exact"
    probs, interval = clf.predict_proba(X[:6]), clf.predict_interval(X[:6])
    assert (interval[..., 0] <= interval[..., 1]).all()
    draws = clf.predict_draws(X[:6]).to_numpy()
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - probs) <= 5 * error + 1e-9).all()
    rows, labels = clf.sample(20, random_state=1)
    assert list(rows.columns) == list(X.columns) and len(labels) == 20
    assert np.isfinite(clf.log_evidence_) and np.isfinite(clf.score_samples(X)).all()
    clf.save(tmp_path / "trees.bayesgen")
    again = bg.load(tmp_path / "trees.bayesgen")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    halves = trees().partial_fit(X[:30], y[:30], classes=["no", "yes"]).partial_fit(X[30:], y[30:])
    np.testing.assert_allclose(halves.predict_proba(X), clf.predict_proba(X), rtol=1e-9)
    found = clf.to_datatree(draws=20)["posterior"]
    assert {"a_b_c.covariance", "u_v_w.parent", "u_v_w.probs"} <= set(found.data_vars)


@pytest.mark.parametrize("gaps", [False, True])
def test_leave_one_out_is_fitting_again(gaps):
    X, y = mixed(40)
    if gaps:
        X = X.mask(np.random.default_rng(1).random(X.shape) < 0.2)
    found = trees().fit(X, y).loo()["log_joint"].to_numpy()
    for i in (0, 7, 19, 39):
        rest = np.arange(40) != i
        other = trees().fit(X[rest], y[rest])
        joint = other.predict_joint_log_proba(X[i : i + 1])[0]
        np.testing.assert_allclose(found[i], joint[list(other.classes_).index(y[i])], rtol=1e-9)


def test_point_estimates_and_refusals(tmp_path):
    X, y = mixed()
    for inference in ("mle", "map"):
        clf = trees(inference=inference).fit(X, y)
        assert clf.score(X, y) > 0.6
        clf.save(tmp_path / inference)
        again = bg.load(tmp_path / inference)
        np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    for inference in ("nuts", bg.MAP(solver="svi")):
        with pytest.raises(UnsupportedInference, match="discrete"):
            trees(inference=inference).fit(X, y)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.UninformativeColumn")
def test_columns_and_levels_that_say_nothing():
    """They are left out: probabilities are those of the table without them."""
    X, y = mixed()
    X["u"] = X["u"].cat.add_categories(["never"])
    clf = bg.GenerativeClassifier(
        likelihood={
            ("a", "b"): bg.TreeNormal(odds=0.5),
            ("u", "v"): bg.TreeCategorical(odds=0.5),
        }
    ).fit(X[["a", "b", "u", "v"]], y)
    wide = X.assign(c=1.0, w=pd.Categorical([None] * len(X), categories=["p", "q"]))
    other = bg.GenerativeClassifier(
        likelihood={
            ("a", "b", "c"): bg.TreeNormal(odds=0.5),
            ("u", "v", "w"): bg.TreeCategorical(odds=0.5),
        }
    ).fit(wide, y)
    expected = clf.predict_proba(X[["a", "b", "u", "v"]])
    np.testing.assert_allclose(other.predict_proba(wide), expected, rtol=1e-9)
    assert np.isfinite(other.predict_interval(wide[:2])).all()
    other.sample(5, random_state=0)
