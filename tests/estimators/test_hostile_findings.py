"""What hostile tables found, one small table for each."""

import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import bayesgen as bg
from bayesgen import errors, optimize
from bayesgen.inference import (
    chain_diagnostics,
    incomplete_normal,
    missing,
)
from bayesgen.inference.leave_one_out import Block, LabelledRows
from bayesgen.likelihoods.multivariate_normal import lkj_and_wishart
from bayesgen.likelihoods.multivariate_normal.likelihood import repaired_factor
from bayesgen.likelihoods.normal_statistics import class_moments
from bayesgen.likelihoods.selection import Selection


def test_names_of_two_types_are_refused_by_name(rng):
    X = pd.DataFrame(rng.standard_normal((6, 2)), columns=["a", 0])
    with pytest.raises(errors.InvalidData, match="column 'a' is named by text and column 0"):
        bg.NaiveBayes().fit(X, [0, 1] * 3)
    bg.NaiveBayes().fit(X.set_axis([1, 0], axis=1), [0, 1] * 3)


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA, bg.StackedClassifier])
def test_labels_that_are_fractions_are_refused_with_one(make, rng):
    with pytest.raises(errors.InvalidData, match=r"y holds 0.5; .*\.astype\(str\)"):
        make().fit(rng.standard_normal((4, 2)), [0.0, 0.5, 1.0, 0.0])
    bg.NaiveBayes().fit(rng.standard_normal((4, 2)), [0.0, 2.0, 1.0, 0.0])


@pytest.mark.parametrize("spread", ["per_class", "shared"])
def test_rows_are_left_out_beside_a_column_that_is_never_observed(spread, rng):
    """Every row has a missing value then, and none where columns say something."""
    x, y = rng.standard_normal((20, 2)), np.arange(20) % 2
    holed = np.column_stack([x[:, :1], np.full(20, np.nan), x[:, 1:]])
    prior, found = bg.MultivariateNormal(covariance=spread), []
    for table in (x, holed):
        rows = LabelledRows({}, y, np.ones(20), np.ones(20))
        whole = prior.statistics(table, y, np.ones(20), n_classes=2)
        completed = prior.complete(whole)
        selection = Selection.of(completed, completed.uninformative())
        informative = selection.take(completed)
        block = Block(prior, informative, selection, whole, table, rows, 2)
        found.append(block.scores())
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


@pytest.mark.parametrize("gaps", [False, True])
def test_weights_leave_no_variance_where_a_column_is_constant_within_classes(gaps, rng):
    """1.1 * 1.5 / 1.1 is not 1.5: what rounding left was taken for the variance within classes."""
    x = np.repeat([[1.5, 1.5], [0.1, 0.1], [0.3, 0.3]], 7, axis=0)
    if gaps:
        x[rng.random(x.shape) < 0.3] = np.nan
    y, weight = np.repeat([0, 1, 2], 7), rng.random(21) + 0.1
    statistics = bg.MultivariateNormal().statistics(x, y, weight, n_classes=3)
    assert (statistics.marginal().scatter == 0).all()
    total = np.nansum(weight[:, None] * (x - 0.5) ** 2, axis=0)
    assert (statistics.marginal().pooled()[1] > 1e-3 * total).all()


def test_moments_of_each_column_are_those_of_its_observed_cells(rng):
    x, y = rng.standard_normal((60, 3)) + 1e6, np.arange(60) % 2
    x[rng.random(x.shape) < 0.4] = np.nan
    found = bg.MultivariateNormal().statistics(x, y, np.ones(60), n_classes=2).marginal()
    for k in (0, 1):
        for j in range(3):
            cells_of = x[y == k, j][~np.isnan(x[y == k, j])]
            np.testing.assert_allclose(found.mean[k, j], cells_of.mean(), rtol=1e-14)
            np.testing.assert_allclose(found.scatter[k, j], len(cells_of) * cells_of.var())


def test_regression_on_observed_columns_bears_any_units(rng):
    """With columns of 1e70 and 1e-70 the precision lost its digits."""
    x, y = rng.standard_normal((30, 3)), np.arange(30) % 2
    x[rng.random(x.shape) < 0.2] = np.nan
    units = np.array([1.0, 1e70, 1e-70])
    factor = np.linalg.cholesky(np.eye(3) + 0.5)[None]
    found = []
    for unit in (np.ones(3), units):
        rows = bg.MultivariateNormal().statistics(x * unit, y, np.ones(30), n_classes=2)
        params = {"mean": np.zeros((2, 3)), "cholesky": factor * unit[:, None]}
        filled = incomplete_normal.expected(rows, params)
        found.append((filled.mean / unit, filled.scatter / unit / unit[:, None]))
    for direct, moved in zip(*found, strict=True):
        np.testing.assert_allclose(moved, direct, rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_leaps_of_em_stay_above_the_floors(make, rng):
    """A column twice, and missing values: the likelihood has no bound below the floors.

    The floor is a share of the variance of observed cells; that of filled ones shrinks with it.
    """
    x = rng.standard_normal((40, 2)) + 1e6
    twice = np.column_stack([x, x[:, 0], np.arange(40) % 2])
    twice[rng.random(twice.shape) < 0.3] = np.nan
    clf = make(inference="mle").fit(twice, np.arange(40) % 2)
    floor = 1e-9 * clf.state_.statistics.blocks["normal"].marginal().pooled()[1]
    for factor in clf.posterior_.components.params["normal"]["cholesky"][0, 0]:
        assert is_above(factor, floor)
    assert np.isfinite(clf.predict_proba(twice)).all()


def is_above(factor, floor):
    """Whether variances, by a factor, and eigenvalues of correlations keep the floors (to 1 %)."""
    variance = (factor**2).sum(axis=1)
    unit = factor / np.sqrt(variance)[:, None]
    return (variance >= 0.99 * floor).all() and np.linalg.svd(unit)[1][-1] ** 2 >= 0.99e-9


def test_repaired_factors_are_above_the_floors():
    floor = np.array([1e-9, 1e-9])
    for wild in (np.diag([1.0, 1e-6]), np.array([[1.0, 0.0], [1.0, 1e-6]])):
        assert not is_above(wild, floor)
        assert is_above(*repaired_factor(wild @ wild.T, floor)[:1], floor)
    assert is_above(repaired_factor(np.ones((2, 2)), floor)[0], floor)
    assert is_above(np.eye(2), floor)


def test_a_class_of_equal_cells_varies_by_nothing(rng):
    """A weighted mean is off by rounding, which was taken for a variance within classes."""
    for _ in range(200):
        X, y = np.array([[rng.normal()], [1e3 * rng.normal()]]), np.array([0, 1])
        weight = rng.random(2) + 0.1
        assert not class_moments(X, y, weight, 2)[2].any()
    again = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    parts = bg.NaiveBayes().partial_fit(X[:1], y[:1], [0, 1], weight[:1])
    parts.partial_fit(X[1:], y[1:], None, weight[1:])
    np.testing.assert_allclose(parts.predict_proba(X), again.predict_proba(X), atol=1e-9)


def test_loo_where_one_row_holds_all_that_varies():
    """Without it every class is one row: rounding of what was taken away was no variance."""
    X, y = np.array([[1e6 - 2.8], [1e6 + 1.1], [1e6 + 1.3], [1e6 + 0.9]]), np.array([0, 0, 1, 2])
    for clf in (bg.LDA(), bg.QDA(), bg.NaiveBayes()):
        found = clf.fit(X, y).loo()["log_proba"]
        for i in (0, 1):
            rest = np.arange(4) != i
            again = type(clf)().fit(X[rest], y[rest]).predict_log_proba(X[i : i + 1])
            np.testing.assert_allclose(found[i], again[0, 0], atol=1e-9)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.LDA, bg.QDA])
def test_loo_where_one_row_keeps_a_column_from_being_constant(make):
    """The mean of class means 3 and 3 by fractional weights was no 3, which left a variance."""
    X, y = np.array([[0.0, 1.0], [3.0, 5.0], [3.0, 2.0]]), np.array([1, 1, 0])
    weight = np.array([0.450721837262101, 0.7716681917429432, 0.6049044823847334])
    found = make().fit(X, y, weight).loo()["log_proba"]
    again = make().fit(X[1:], y[1:], weight[1:]).predict_log_proba(X[:1])
    np.testing.assert_allclose(found[0], again[0, 1], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", [bg.MAP, bg.MLE])
def test_a_column_of_one_level_has_no_coordinates(method):
    """NumPyro divided by the number of them."""
    X, y = pd.DataFrame({"a": ["x"] * 4, "b": [1.0, 2.0, 4.0, 3.0]}), [0, 0, 1, 1]
    by_svi, closed = (bg.NaiveBayes(inference=method(solver=s)).fit(X, y) for s in ("svi", "auto"))
    np.testing.assert_allclose(by_svi.predict_proba(X), closed.predict_proba(X), rtol=1e-6)


@pytest.mark.slow
def test_an_optimiser_that_ends_nowhere_says_so():
    """A level with 1e-6 of the weight: probabilities under e^-700 have no gradients."""
    X, weight = pd.DataFrame({"a": [False, True]}), [1.0, 1e6]
    with pytest.raises(
        errors.UnsupportedOperation, match=r"exceed the range of float64.*solver='auto'"
    ):
        bg.NaiveBayes(inference=bg.MAP(solver="svi")).fit(X, [1, 0], weight)


@pytest.mark.parametrize("last", ["b", None])
def test_levels_of_rows_without_weight_are_never_heard_of(last):
    """They counted as levels that other rows might have had."""
    X = pd.DataFrame({"a": ["r", "g", "r", last], "b": pd.Categorical(["u", "v", "u", "w"])})
    y, weight = np.array([0, 1, 1, 0]), np.array([1.0, 1.0, 1.0, 0.0])
    found = bg.NaiveBayes().fit(X, y, sample_weight=weight).predict_proba(X[:3])
    np.testing.assert_array_equal(found, bg.NaiveBayes().fit(X[:3], y[:3]).predict_proba(X[:3]))


@pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate")
@pytest.mark.parametrize("inference", ["exact", "mle", "map"])
@pytest.mark.parametrize("beside", [[], ["b"]])
def test_a_column_of_text_without_any_cell(inference, beside):
    """A block without a level has parameters of size 0, of which -1 axes cannot be made out."""
    X = pd.DataFrame({"a": pd.array([None] * 4, dtype="string"), "b": [1.0, 2.0, 3.0, 5.0]})
    y, model = [1, 0, 0, 1], bg.NaiveBayes(inference=inference)
    alone = model.fit(X[beside], y).predict_proba(X[beside]) if beside else np.full((4, 2), 0.5)
    X = X[["a", *beside]]
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), alone)
    assert len(model.sample(3)[1]) == 3
    if inference == "exact":
        assert np.isfinite(model.predict_interval(X)).all()


def test_a_step_that_lands_infinitely_high_is_not_taken(monkeypatch):
    """A column twice, and a missing value: a matrix rounds to a singular one without a bound."""
    monkeypatch.setattr(optimize, "MAX_STEPS", 60)
    a, c = [-0.536953, 0.581118, 1.364572, 2.294132, 0.028422], [-0.05, 1262.67, -7.7, 0.001, 25.5]
    X = pd.DataFrame({"a": a, "b": [2, 2, np.nan, 1.5, 2], "c": c, "d": a})
    weight = [1.1, 1e3, 1e6, 1e6, 1e6]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.NotConverged)
        clf = bg.LDA(inference="map").fit(X, list("zzyxz"), sample_weight=weight)
    assert (clf.predict(X) == list("zzyxz")).all()
    assert np.isfinite(clf.posterior_.components.params["normal"]["cholesky"]).all()


@pytest.mark.parametrize("make", [bg.JointTable, bg.QDA])
def test_expected_statistics_say_where_em_did_not_converge(make, monkeypatch):
    """They rested on wherever EM stood, and called it a closed form."""
    cell = ["u", "v"] if make is bg.JointTable else [1.0, 2.5]
    X = pd.DataFrame({"a": [*cell, None, cell[0]], "b": [cell[1], cell[0], cell[0], None]})
    monkeypatch.setattr(optimize, "MAX_STEPS", 1)
    monkeypatch.setattr(missing, "STEPS", 1)
    with pytest.warns(errors.NotConverged, match=r"optimizer stopped.*inference='exact'"):
        clf = make(inference="expected").fit(X, [0, 1, 0, 1])
    assert not clf.report_.converged
    assert [v for k, v in clf.report_.details.items() if k.endswith(".converged")] == [0]
    monkeypatch.undo()
    assert make(inference="expected").fit(X, [0, 1, 0, 1]).report_.converged


def test_chains_that_stand_still_apart_do_not_agree():
    still = np.broadcast_to(np.array([1.0, 2.0])[:, None, None], (2, 20, 1))
    assert not chain_diagnostics.has_converged(chain_diagnostics.chain_diagnostics(still), 2)


def test_indicators_of_columns_without_a_second_level():
    """Nothing was left of the table, and the first column of nothing was looked at."""
    X = pd.DataFrame({"a": ["u", "u"], "b": pd.array([None, None], dtype="string")})
    with pytest.warns(errors.SuspiciousColumn, match="column '[ab]' is"):
        clf = bg.LDA(levels="indicators", inference="expected").fit(X, [0, 1])
    np.testing.assert_allclose(clf.predict_proba(X), 0.5)


@pytest.mark.parametrize("make", [bg.QDA, bg.StackedClassifier])
def test_a_covariance_that_rounds_to_a_singular_one_is_reported_by_its_columns(
    make, rng, monkeypatch
):
    """A column twice, missing values, weights from 1e-9 to 1e8: which round so, machines say."""

    def singular(*_):
        raise np.linalg.LinAlgError("Matrix is not positive definite")

    monkeypatch.setattr(missing, "em", singular)
    X = pd.DataFrame(rng.standard_normal((30, 2)), columns=["height", "weight"])
    X.iloc[0, 0] = np.nan
    says = r"columns 'height', 'weight' is numerically singular: .* Leave out a column"
    if make is bg.QDA:
        with pytest.raises(errors.InvalidData, match=says):
            bg.QDA(inference="expected").fit(X, np.arange(30) % 2)
        return
    with pytest.warns(errors.BayesgenWarning, match=says):
        make(random_state=0).fit(X, np.arange(30) % 2)


@pytest.mark.parametrize("step", ["predictive", "log_predictive_updated"])
def test_matrices_that_round_to_singular_ones_are_reported_by_fit_and_by_loo(
    step, rng, monkeypatch
):
    """The matrix below, of a column twice whose classes lie far apart, lost all that held it."""
    one = np.ones(1)
    after = {"mean": np.zeros((1, 2)), "mean_rows": one, "covariance_rows": one}
    after["scale"] = np.ones((1, 2, 2))

    def singular(*_):
        return lkj_and_wishart.log_normaliser(bg.MultivariateNormal().with_arrays(after))

    X = pd.DataFrame(rng.standard_normal((30, 2)), columns=["height", "weight"])
    monkeypatch.setattr(bg.MultivariateNormal, step, singular)
    with pytest.raises(errors.InvalidData, match="'height', 'weight' is numerically singular"):
        bg.QDA().fit(X, np.arange(30) % 2).loo()


@pytest.mark.parametrize("make", [bg.NaiveBayes, lambda: bg.LDA(levels="indicators")])
def test_intervals_that_arrow_holds_are_refused_by_name(make, rng):
    """They come as dictionaries, which have no hash."""
    X = pa.Table.from_pandas(pd.DataFrame({"a": pd.cut(rng.standard_normal(20), 3)}))
    with pytest.raises(errors.InvalidData, match=r"column 'a' holds .*Unpack"):
        make().fit(X, np.arange(20) % 2)


def test_indicators_are_of_levels_of_rows_with_weight(rng):
    """A level without weight was the one left out, and the others had a column too many."""
    X = pd.DataFrame({"a": rng.choice(["b", "c", "d"], 30), "x": rng.standard_normal(30)})
    more = pd.concat([X, pd.DataFrame({"a": ["a"], "x": [0.0]})], ignore_index=True)
    y, lda = np.arange(31) % 2, bg.LDA(levels="indicators")
    found = lda.fit(more, y, sample_weight=[1.0] * 30 + [0.0]).predict_proba(X)
    np.testing.assert_array_equal(found, lda.fit(X, y[:30]).predict_proba(X))


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.parametrize("missing", ["ignorable", "learn"])
def test_columns_weighed_one_by_one_where_none_tells_classes_apart(missing):
    """A pool of no parts: sums over them were of the wrong shape, and the picture had no width."""
    X, y = np.ones((20, 3)), np.arange(20) % 4 == 0
    clf = bg.NaiveBayes(temper="columns", missing=missing).fit(X, y)
    prior = bg.NaiveBayes().fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X), prior.predict_proba(X), rtol=1e-12)
    low, high = clf.predict_interval(X)[0, 1]
    assert 0 < low <= high < 1
    assert clf.weights_ == {} and clf.temperature_ == 1
    assert clf.plot_weights().weights.size == 0


@pytest.mark.parametrize("dtype", ["float32", "float16", "Float32", "Float64"])
def test_imputed_cells_have_the_precision_of_their_column(dtype, rng):
    """Pandas takes no number of 64 bits into a column of 32 unless it is exact there."""
    X = pd.DataFrame({"a": rng.standard_normal(20), "b": rng.standard_normal(20)}).astype(dtype)
    X.loc[3, "a"] = None
    filled = bg.NaiveBayes().fit(X, np.arange(20) % 2).impute(X, random_state=0)
    assert (filled.dtypes == X.dtypes).all() and np.isfinite(filled["a"][3])
    assert (filled["b"] == X["b"]).all()


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.parametrize("name", [0, ""])
def test_a_pattern_of_a_column_whose_name_is_false_is_saved(name, rng, tmp_path):
    """Such a name was taken for none."""
    X = pd.DataFrame({name: rng.standard_normal(30)})
    X.iloc[::5] = np.nan
    clf = bg.NaiveBayes(missing="informative").fit(X, np.arange(30) % 2)
    clf.save(tmp_path / "m.bgm")
    again = bg.load(tmp_path / "m.bgm")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert list(again.evidence(X)) == ["(prior)", name, f"{name} missing"]
