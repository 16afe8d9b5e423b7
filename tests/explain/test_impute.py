"""Missing cells drawn: the right distribution, in the table that came in, the rest untouched."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from cases import CASES
from explained import FITS, WORDS, cells, fitted
from paces import fast_only

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, UnsupportedOperation
from bayesgen.likelihoods.multivariate_normal import density

FILLED = [(name, method) for name, method in FITS if name not in WORDS]
N = 4000
ERRORS = 5.0


def filled_many(clf, row, n=N):
    """Return n copies of a row, filled."""
    return np.asarray(clf.impute(np.repeat(row[None], n, axis=0), random_state=1), dtype=float)


def line(case, j):
    """Return everything that a column may hold, in rising order, and its weights."""
    values, weights = case.line(cells(case, 40, seed=3)[0], j)
    order = np.argsort(values)
    return values[order], weights[order]


def check_one(clf, case, row, j):
    """Assert that shares of draws below some values are those of p(x_j given the others).

    That is the joint density over the density without the cell, by enumeration or quadrature.
    """
    values, weights = line(case, j)
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, j] = values
    logs = np.logaddexp.reduce(clf.predict_joint_log_proba(rows), axis=1)
    share = np.exp(logs - logs.max()) * weights
    below = share.cumsum() / share.sum()
    drawn = filled_many(clf, row)
    assert (np.delete(drawn, j, axis=1) == np.delete(row, j)).all()
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        place = np.searchsorted(below, q)
        expected = below[place]
        # where cells are numbers, up to the middle between two nodes
        limit = values[place : place + 2].mean()
        error = ERRORS * np.sqrt(expected * (1 - expected) / N) + 1e-3
        if len(values) > 150 and (values != np.floor(values)).any():
            # a sum up to a node is not quite the integral up to the middle
            error += 0.1 * (below[place + 1] - below[place])
        assert abs((drawn[:, j] <= limit).mean() - expected) < error


def quiet_check(name, method):
    case = CASES[name]
    row = cells(case, 30, seed=8)[0][11]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesgenWarning)
        check_one(fitted(name, method), case, np.where(np.arange(3) == 1, np.nan, row), 1)


# others compile a program, or are a single draw: cells are drawn as under any of many
AT_ONCE = [fit for fit in FILLED if fit[1] == "exact"]
AT_ONCE += [(name, "draws") for name in ("Normal shared", "MultivariateNormal", "Categorical")]
AT_ONCE += [("KernelDiscriminant", "draws")]


@pytest.mark.parametrize("fit", fast_only(AT_ONCE, FILLED), ids="-".join)
def test_a_cell_follows_its_conditional_distribution(fit):
    quiet_check(*fit)


@pytest.mark.parametrize("name", ["MultivariateNormal", "JointCategorical"])
def test_two_cells_follow_their_joint_distribution(name):
    """Of the first two cells: means, and the mean product, within 5 standard errors.

    Moments are of ranks, cut into four parts by quantiles, which every distribution has.
    """
    case, clf = CASES[name], fitted(name, "exact")
    row = cells(case, 30, seed=8)[0][11]
    row[:2] = np.nan
    (a, wa), (b, wb) = line(case, 0), line(case, 1)
    rows = np.repeat(row[None], len(a) * len(b), axis=0)
    rows[:, 0], rows[:, 1] = np.repeat(a, len(b)), np.tile(b, len(a))
    logs = np.logaddexp.reduce(clf.predict_joint_log_proba(rows), axis=1)
    share = np.exp(logs - logs.max()).reshape(len(a), len(b)) * wa[:, None] * wb
    share /= share.sum()
    drawn = filled_many(clf, row)
    for q in (0.3, 0.5, 0.7):
        i = np.searchsorted(share.sum(axis=1).cumsum(), q)
        j = np.searchsorted(share.sum(axis=0).cumsum(), q)
        expected = share[: i + 1, : j + 1].sum()
        both = (drawn[:, 0] <= a[i : i + 2].mean()) & (drawn[:, 1] <= b[j : j + 2].mean())
        error = np.sqrt(expected * (1 - expected) / N) + 2e-3
        assert abs(both.mean() - expected) < ERRORS * error


def test_tempering_changes_no_draw():
    X, y = bg.datasets.load_iris()
    rows = X.mask(np.random.default_rng(0).random(X.shape) < 0.3)
    direct, tempered = (bg.QDA(temper=t, random_state=0).fit(X, y) for t in (None, 0.5))
    pd.testing.assert_frame_equal(
        direct.impute(rows, random_state=0), tempered.impute(rows, random_state=0)
    )


# --- planted faults ------------------------------------------------------------------------------


def test_faults_are_found(monkeypatch):
    """Cells that vary too much given the observed ones."""
    right = density.filled

    def fewer_degrees(x, own, rng, *, mean, matrices, degrees=np.inf):
        return right(x, own, rng, mean=mean, matrices=matrices * 1.5, degrees=degrees)

    monkeypatch.setattr(density, "filled", fewer_degrees)
    with pytest.raises(AssertionError):
        quiet_check("MultivariateNormal", "exact")


# --- tables --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def passengers():
    X, y = bg.datasets.load_titanic_passengers()
    X = X.assign(whole=X["age"].round(), alone=X["age"] > 30)
    X["sex"] = X["sex"].astype("category")
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    return clf, X.iloc[:40]


def holed(X, share=0.4):
    rng = np.random.default_rng(3)
    out = X.copy()
    out["whole"] = out["whole"].astype("Int64")
    out["alone"] = out["alone"].astype("boolean")
    return out.mask(rng.random(X.shape) < share)


def test_a_pandas_table_keeps_everything_but_its_missing_values(passengers):
    clf, X = passengers
    rows = holed(X).rename(index=lambda i: f"p{i}")
    found = clf.impute(rows, random_state=0)
    assert not found.isna().any(axis=None)
    assert (found.index == rows.index).all() and (found.columns == rows.columns).all()
    for name in rows:
        seen = rows[name].notna()
        assert (found[name][seen] == rows[name][seen]).all()
        if name != "whole":
            assert found[name].dtype == rows[name].dtype
    assert found["whole"].dtype == "Float64"
    again, other = clf.impute(rows, random_state=0), clf.impute(rows, random_state=1)
    pd.testing.assert_frame_equal(found, again)
    assert not found["age"].equals(other["age"])
    assert rows.isna().any(axis=None)


def test_other_tables(passengers):
    clf, X = passengers
    rows = holed(X)
    expected = clf.impute(rows, random_state=0)
    for convert in (pl.from_pandas, lambda frame: pa.Table.from_pandas(frame)):
        came = convert(rows.reset_index(drop=True))
        found = clf.impute(came, random_state=0)
        assert type(found) is type(came)
        back = found.to_pandas()
        for name in rows:
            assert back[name].tolist() == expected[name].tolist()


def test_arrays_and_lists():
    X, y = bg.datasets.load_iris()
    clf = bg.QDA(random_state=0).fit(X.to_numpy(), y)
    rows = X.to_numpy().copy()
    gaps = np.random.default_rng(0).random(rows.shape) < 0.3
    rows[gaps] = np.nan
    found = clf.impute(rows, random_state=0)
    assert isinstance(found, np.ndarray) and not np.isnan(found).any()
    assert (found[~gaps] == rows[~gaps]).all() and np.isnan(rows[gaps]).all()
    assert (clf.impute(rows.tolist(), random_state=0) == found).all()


def test_several_draws_are_a_list(passengers):
    clf, X = passengers
    tables = clf.impute(holed(X), draws=3, random_state=0)
    assert isinstance(tables, list) and len(tables) == 3
    assert not tables[0]["age"].equals(tables[1]["age"])


def test_an_absent_column_is_added(passengers):
    clf, X = passengers
    X = X.dropna()
    with pytest.warns(BayesgenWarning, match="lacks 2 of the 5 fitted columns") as caught:
        found = clf.impute(X.drop(columns=["sex", "age"]), random_state=0)
    assert len(caught) == 1
    assert list(found.columns) == list(X.columns) and not found.isna().any(axis=None)
    assert set(found["sex"]) <= {"female", "male"}
    pd.testing.assert_frame_equal(found.iloc[:, 2:], X.iloc[:, 2:])


def test_what_cannot_be_drawn_stays_missing(passengers):
    X = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "same": [5.0] * 4, "note": ["p", "q", "r", "s"]})
    with pytest.warns(BayesgenWarning, match="'same'"):
        clf = bg.GenerativeClassifier(
            {("a", "same"): bg.Normal()}, remainder="drop", random_state=0
        ).fit(X, [0, 0, 1, 1])
    found = clf.impute(X.assign(a=np.nan, same=[np.nan, 5.0, 5.0, 5.0], note=None))
    assert found["a"].notna().all() and found["same"].isna().sum() == 1
    assert found["note"].isna().all()


def test_an_unseen_level_stays(passengers):
    clf, X = passengers
    rows = X[:3].assign(passengerClass=["4th", None, "1st"])
    with pytest.warns(BayesgenWarning, match="4th"):
        found = clf.impute(rows, random_state=0)
    assert found["passengerClass"].tolist()[::2] == ["4th", "1st"]
    assert found["passengerClass"].iloc[1] in {"1st", "2nd", "3rd"}


def test_another_class_prior_and_a_loaded_model(passengers, tmp_path):
    clf, X = passengers
    rows = holed(X)
    clf.save(tmp_path / "model.bgm")
    loaded = bg.load(tmp_path / "model.bgm")
    pd.testing.assert_frame_equal(
        loaded.impute(rows, random_state=0), clf.impute(rows, random_state=0)
    )
    # all of them survivors: mostly women
    nothing = pd.DataFrame({name: [None] * 500 for name in X.columns}).astype({"age": float})
    found = clf.with_class_prior([1e-9, 1 - 1e-9]).impute(nothing, random_state=0)
    assert 0.6 < (found["sex"] == "female").mean() < 0.75


@pytest.mark.parametrize("method", ["exact", "map"])
def test_words_are_refused(method):
    counts = np.random.default_rng(0).poisson(2.0, (20, 3)).astype(float)
    clf = bg.NaiveBayes(bg.Multinomial(), inference=method).fit(counts, np.arange(20) % 2)
    with pytest.raises(UnsupportedOperation, match="Multinomial"):
        clf.impute(np.where(np.arange(3) == 1, np.nan, counts[:2]))
