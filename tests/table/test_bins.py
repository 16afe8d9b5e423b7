"""Bins of numeric columns: their edges, and likelihoods of levels that read them."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.errors import BayesgenError, InvalidArgument, InvalidData, UnsupportedOperation
from bayesgen.schema.readings.bins import quantile_edges


@pytest.fixture
def table(rng):
    """Return 90 rows of three classes: a skewed column, one with zeros, one of text; gaps."""
    y = np.arange(90) % 3
    amount = np.exp(rng.standard_normal(90)) * (rng.random(90) < (y + 1) / 4)
    X = pd.DataFrame({"size": np.exp(rng.standard_normal(90) + 0.5 * y), "amount": amount})
    X["color"] = np.where(rng.random(90) < (y + 1) / 4, "red", "blue")
    X.loc[::7, "size"] = np.nan
    return X, y


def binned(bins=5, **options):
    return bg.NaiveBayes(bg.Categorical(), bins=bins, **options)


@pytest.mark.parametrize("bins", [2, 5, 8])
def test_edges_are_quantiles(bins, rng):
    x = rng.exponential(size=101).round(1)
    expected = np.quantile(x, np.arange(1, bins) / bins, method="inverted_cdf")
    found = quantile_edges(np.append(x, np.nan), np.ones(102), bins)
    np.testing.assert_array_equal(found, np.unique(expected))


@pytest.mark.parametrize("power", [1, 2])
def test_bins_of_the_negative_column_are_the_same(power, rng):
    """Cells between observed values included, whatever the order of the rows and the unit."""
    x, new = rng.exponential(size=90).round(power), rng.exponential(size=500)
    up = np.searchsorted(quantile_edges(x, np.ones(90), "auto"), new)
    down = np.searchsorted(quantile_edges(-x, np.ones(90), "auto"), -new)
    np.testing.assert_array_equal(up, up.max() - down)
    assert up.max() == 8
    other = quantile_edges(-4 * rng.permutation(x), np.ones(90), "auto")
    np.testing.assert_array_equal(down, np.searchsorted(other, -4 * new))


def test_a_stack_is_the_same_for_the_negative_table(rng):
    y = np.arange(120) % 2
    X = pd.DataFrame(rng.gamma(2, size=(120, 3)).round(2) + 0.3 * y[:, None]).add_prefix("x")
    expected = bg.StackedClassifier(["naive", "bins", "linear"]).fit(X, y).predict_proba(X)
    found = bg.StackedClassifier(["naive", "bins", "linear"]).fit(-X, y).predict_proba(-X)
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_levels_are_named_by_the_shorter_end(rng):
    X = pd.DataFrame({"x": -rng.exponential(size=60).round(1)})
    clf = binned(3).fit(X, np.arange(60) % 2)
    first, *_, last = clf.state_.schema.blocks["categorical"][0].levels
    assert first.startswith("below -") and len(first) < 12 and last.startswith("from -")


def test_a_row_of_weight_2_counts_as_two_rows(rng):
    x, weight = rng.standard_normal(40).round(1), rng.integers(1, 4, 40)
    copies = np.repeat(x, weight)
    for bins in (3, "auto"):
        expected = quantile_edges(copies, np.ones(len(copies)), bins)
        assert quantile_edges(x, weight.astype(float), bins) == expected


@pytest.mark.parametrize(("rows", "bins"), [(9, 4), (100, 10), (2000, 24)])
def test_bins_are_the_square_root_of_the_rows(rows, bins):
    assert len(quantile_edges(np.arange(float(rows)), np.ones(rows), "auto")) == bins - 1


def test_a_value_that_many_rows_share_ends_a_bin():
    x = np.concatenate([np.zeros(60), np.arange(1.0, 41.0)])
    assert quantile_edges(x, np.ones(100), 5) == (0.0, 20.0)
    assert quantile_edges(np.full(9, 3.0), np.ones(9), 4) == ()


def test_likelihoods_of_levels_read_bins(table):
    """The same classifier after pandas.cut, missing cells and another column of text included."""
    X, y = table
    clf, levels = binned().fit(X, y), X.copy()
    for name in ("size", "amount"):
        x = X[name].to_numpy()
        edges = quantile_edges(x, np.ones(90), 5)
        levels[name] = pd.cut(X[name], [-np.inf, *edges, np.inf])
    other = bg.NaiveBayes(bg.Categorical()).fit(levels, y)
    np.testing.assert_allclose(clf.predict_proba(X), other.predict_proba(levels), rtol=1e-12)
    np.testing.assert_allclose(clf.score_samples(X), other.score_samples(levels), rtol=1e-12)
    assert clf.log_evidence_ == pytest.approx(other.log_evidence_, rel=1e-12)
    assert clf.evidence(X.iloc[[1]], 1, 0).columns.tolist() == ["(prior)", *X]


def test_integers_of_an_array_are_binned(rng):
    X, y = rng.integers(0, 1000, (60, 3)), np.arange(60) % 2
    whole, fraction = binned().fit(X, y), binned().fit(X.astype(float), y)
    np.testing.assert_array_equal(whole.predict_proba(X), fraction.predict_proba(X + 0.0))
    assert max(whole.state_.schema.n_levels("categorical")) == 5


@pytest.mark.parametrize("bins", [5, "auto"])
def test_edges_do_not_depend_on_how_rows_are_split(bins, table):
    X, y = table
    parts = binned(bins).partial_fit(X[:20], y[:20]).partial_fit(X[20:], y[20:])
    expected = binned(bins).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(parts.predict_proba(X), expected, rtol=1e-12)


def test_a_batch_without_a_number_moves_no_edge(table):
    X, y = table
    clf, blank = binned().fit(X, y), X[:6].assign(amount=None)
    more = binned().partial_fit(X, y).partial_fit(blank.astype({"amount": object}), y[:6])
    edges = [one.state_.schema.blocks["categorical"][1].edges for one in (clf, more)]
    assert edges[0] == edges[1]


def test_the_stack_learns_edges_from_all_rows(table):
    X, y = table
    expected = bg.StackedClassifier(random_state=0).fit(X, y)
    found = bg.StackedClassifier(random_state=0).partial_fit(X[:45], y[:45])
    found = found.partial_fit(X[45:], y[45:])
    for stack in (expected, found):
        assert "bins" in stack.members_
    parts = (stack.members_["bins"].predict_proba(X) for stack in (expected, found))
    np.testing.assert_allclose(*parts, rtol=1e-12)


def test_files_keep_edges(table, tmp_path):
    X, y = table
    clf = binned("auto").fit(X, y)
    clf.save(tmp_path / "clf.bayesgen")
    again = bg.load(tmp_path / "clf.bayesgen")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))


def test_absent_numbers_are_missing_and_text_is_refused(table):
    X, y = table
    clf = binned().fit(X, y)
    with pytest.warns(UserWarning, match="size"):
        absent = clf.predict_proba(X.drop(columns="size"))
    np.testing.assert_array_equal(absent, clf.predict_proba(X.assign(size=np.nan)))
    with pytest.raises(InvalidData):
        clf.predict_proba(X.assign(size="large"))


def test_bins_are_simulated_and_not_imputed(table):
    X, y = table
    clf = binned().fit(X, y)
    rows, _ = clf.sample(5, random_state=0)
    assert set(rows["amount"]) <= set(clf.state_.schema.blocks["categorical"][1].levels)
    with pytest.raises(UnsupportedOperation, match="bins"):
        clf.impute(X)


@pytest.mark.parametrize("bins", [1, 2.5, "many", True])
def test_other_bins_are_refused(bins, table):
    with pytest.raises(InvalidArgument, match="bins"):
        binned(bins).fit(*table)


def test_a_program_has_no_bins(table):
    with pytest.raises(BayesgenError, match="bins"):
        bg.GenerativeClassifier(story=lambda x, y=None: None, bins=5).fit(
            table[0][["size"]], table[1]
        )


def test_a_stack_sees_that_zeros_tell_classes_apart(rng):
    """Amounts given that there is one are alike in both classes; the classes differ in zeros."""
    y = np.arange(400) % 2
    amounts = np.exp(rng.standard_normal((400, 4)))
    X = amounts * (rng.random((400, 4)) < np.where(y, 0.4, 0.75)[:, None])
    stack = bg.StackedClassifier(random_state=0).fit(X[:200], y[:200])
    zeros = bg.NaiveBayes(bg.Bernoulli()).fit((X[:200] > 0).astype(float), y[:200])
    own = np.arange(200), y[200:]
    best = -zeros.predict_log_proba((X[200:] > 0).astype(float))[own].mean()
    assert -stack.predict_log_proba(X[200:])[own].mean() < best + 0.05
