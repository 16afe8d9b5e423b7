"""A stack says which missing cell to ask for, and what missing cells may hold."""

import copy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import xlogy
from stacked_tables import flower_stack, holed, iris, mixed_stack, passengers

import bayesgen as bg
from bayesgen.inference import mixture
from bayesgen.inference.misfit import Misfit

ERRORS = 5.0


@pytest.fixture
def mixed():
    return mixed_stack()


@pytest.fixture
def flowers():
    return flower_stack()


def test_values_of_levels_by_enumeration(mixed):
    stack, X, _ = mixed
    row = X.iloc[[3]].assign(passengerClass=None).astype(X.dtypes)
    levels = X["passengerClass"].cat.categories
    every = pd.concat([row] * len(levels)).assign(
        passengerClass=pd.Categorical(levels, categories=levels)
    )
    share = np.exp(stack.score_samples(every))
    share, after = share / share.sum(), stack.predict_proba(every)
    before = share @ after
    expected = share @ xlogy(after, after).sum(axis=1) - xlogy(before, before).sum()
    found, error = stack.feature_value(row, return_error=True)
    assert found.loc[3, "passengerClass"] == pytest.approx(expected, abs=1e-9)
    assert error.loc[3, "passengerClass"] == 0 and found.loc[3].drop("passengerClass").isna().all()


@pytest.mark.parametrize("loss", [None, np.array([[0.0, 1.2], [1.0, 0.0]])])
def test_values_of_numbers_by_quadrature(loss):
    """Within 5 standard errors of the trapezoid rule."""
    rng = np.random.default_rng(3)
    y = np.arange(60) % 2
    X = pd.DataFrame({"a": rng.normal(size=60) + y})
    X["b"] = 10 * (X["a"] + rng.normal(size=60) + 0.8 * y)
    stack = bg.StackedClassifier([bg.NaiveBayes(), bg.QDA()], random_state=0).fit(X, y)
    row = pd.DataFrame({"a": [0.3], "b": [np.nan]})
    nodes = np.linspace(X["b"].min() - 300, X["b"].max() + 300, 4000)
    many = pd.DataFrame({"a": 0.3, "b": nodes})
    share = np.exp(stack.score_samples(many))
    share, after = share / share.sum(), stack.predict_proba(many)
    before = share @ after
    if loss is None:
        expected = share @ xlogy(after, after).sum(axis=1) - xlogy(before, before).sum()
    else:
        expected = (before @ loss).min() - share @ (after @ loss).min(axis=1)
    found, error = stack.feature_value(row, loss, draws=2000, return_error=True)
    assert 0 < error.loc[0, "b"] < 0.1 * expected
    assert abs(found.loc[0, "b"] - expected) < ERRORS * error.loc[0, "b"]


def test_values_of_a_stack_of_one_are_its_members():
    X, y = passengers()
    rows = holed(X)[0][:20]
    one = bg.NaiveBayes().fit(X, y)
    stack = bg.StackedClassifier([bg.NaiveBayes()], temper=None, pool=None).fit(X, y)
    expected, e = one.feature_value(rows, draws=1000, return_error=True)
    found, f = stack.feature_value(rows, draws=1000, return_error=True)
    assert (found.isna() == expected.isna()).all(axis=None)
    away = (found - expected).abs().fillna(0).to_numpy()
    assert (away <= ERRORS * np.hypot(e, f).fillna(0).to_numpy() + 1e-9).all()


def test_filled_cells_follow_the_density_of_the_stack(flowers):
    """Shares of 4,000 draws below some values within 5 standard errors of the quadrature."""
    stack, X, _ = flowers
    row = X.iloc[[20]].assign(petal_width=np.nan)
    many = pd.concat([row] * 4000, ignore_index=True)
    drawn = np.sort(stack.impute(many, random_state=1)["petal_width"].to_numpy())
    nodes = np.linspace(-8, 12, 6001)
    grid = pd.concat([row] * len(nodes), ignore_index=True).assign(petal_width=nodes)
    share = np.exp(stack.score_samples(grid))
    below = share.cumsum() / share.sum()
    for q in (0.05, 0.25, 0.5, 0.75, 0.95):
        limit = nodes[np.searchsorted(below, q)]
        error = ERRORS * np.sqrt(q * (1 - q) / 4000) + 2e-3
        assert abs((drawn <= limit).mean() - q) < error


def test_a_fault_in_the_picks_is_found(flowers, monkeypatch):
    """Members picked by the place alone, whatever the row shows."""
    monkeypatch.setattr(mixture, "picked", lambda probs, place: np.zeros(len(place), dtype=int))
    with pytest.raises(AssertionError):
        test_filled_cells_follow_the_density_of_the_stack(flowers)


def test_what_was_observed_comes_back(mixed):
    stack, X, _ = mixed
    rows, gaps = holed(X)
    filled = stack.impute(rows, random_state=0)
    assert filled.notna().all(axis=None) and (filled.dtypes == X.dtypes).all()
    assert (filled.index == rows.index).all()
    assert (filled.to_numpy()[~gaps] == rows.to_numpy()[~gaps]).all()
    pd.testing.assert_frame_equal(filled, stack.impute(rows, random_state=0))
    several = stack.impute(rows[:9], draws=3, random_state=0)
    assert len(several) == 3 and not several[0].equals(several[1])
    absent = stack.impute(rows[["age"]][:5].assign(sex=None, passengerClass=None)[list(X)])
    assert absent.notna().all(axis=None)


def test_arrays_and_polars_are_filled():
    X, y = iris()
    stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()]).fit(X.to_numpy(), y)
    rows = holed(X)[0].to_numpy()
    filled = stack.impute(rows, random_state=0)
    assert isinstance(filled, np.ndarray) and np.isfinite(filled).all()
    assert stack.feature_value(rows[:3]).shape == (3, 4)
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0, 4.0] * 5, "b": ["u", "v", "v", "u"] * 5})
    stack = bg.StackedClassifier().fit(frame, [0, 1, 1, 0] * 5)
    out = stack.impute(pl.DataFrame({"a": [None, 2.0], "b": ["u", None]}), random_state=0)
    assert out.null_count().sum_horizontal().item() == 0
    assert np.isfinite(stack.feature_value(frame[:1].with_columns(a=None))).any(axis=None)


def test_whole_numbers_may_be_levels_to_one_member_and_numbers_to_another():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.integers(0, 3, 60), "z": rng.normal(size=60)})
    y = (X["n"] + rng.normal(size=60) > 1).to_numpy()
    members = {
        "levels": bg.GenerativeClassifier({"n": bg.Categorical(), "z": bg.Normal()}),
        "numbers": bg.NaiveBayes(),
    }
    stack = bg.StackedClassifier(members).fit(X, y)
    row = pd.DataFrame({"n": [np.nan], "z": [0.3]})
    assert stack.feature_value(row).loc[0, "n"] > 0
    assert stack.impute(row, random_state=0).loc[0, "n"] == pytest.approx(1, abs=3)
    parts = stack.evidence(X)
    np.testing.assert_allclose(parts.sum(axis=1), stack.decision_function(X), atol=1e-9)


@pytest.fixture
def all_members():
    X, y = iris()
    return bg.StackedClassifier(random_state=0).fit(X, y), X, y


def test_intervals_of_a_row_are_its_own(all_members):
    """Whatever rows come with it, complete or not; rounding may exchange neighboring draws."""
    stack, X, _ = all_members
    rows = X.iloc[::5].reset_index(drop=True)
    rows.loc[::3, rows.columns[0]] = np.nan
    together = stack.predict_interval(rows)
    alone = np.concatenate([stack.predict_interval(rows.iloc[[i]]) for i in range(len(rows))])
    assert np.quantile(np.abs(together - alone), 0.9) < 1e-9
    assert stack.predict_draws(rows).shape[1] == len(rows)


def test_members_of_little_weight_need_few_draws(all_members, monkeypatch):
    """All draws of every member move ends by half of what other draws do, without the misfit."""
    monkeypatch.setattr(Misfit, "spread", lambda self, draws, observed, seed: draws)
    stack, X, y = all_members
    few, size = stack.predict_interval(X), len(stack.predict_draws(X[:2]))
    for name in ("SMALL", "NEGLIGIBLE"):
        monkeypatch.setattr(mixture, name, 0.0)
    every = copy.deepcopy(stack)
    assert len(every.predict_draws(X[:2])) > size
    ends, others = every.predict_interval(X), stack.set_params(random_state=1).fit(X, y)
    moved, noise = (np.square(e - ends).mean() for e in (few, others.predict_interval(X)))
    assert np.sqrt(moved) < 0.75 * np.sqrt(noise)
    assert np.diff(few).mean() == pytest.approx(np.diff(ends).mean(), rel=0.05)


@pytest.mark.slow
def test_many_incomplete_columns_do_not_mislead_the_stack(rng):
    """Of 20 columns a tenth of the cells is missing, so that one row in eight is complete.

    Quadratic members shrunken toward correlations of the complete rows alone would lose .15 nats.
    """

    def table(n):
        y = rng.integers(3, size=n)
        x = rng.standard_normal((n, 20))
        x[:, ::5] += 0.5 * y[:, None]
        return pd.DataFrame(np.where(rng.random(x.shape) < 0.1, np.nan, x)), y

    X, y = table(200)
    new, truth = table(4000)
    losses = []
    for clf in (bg.StackedClassifier(random_state=0), bg.NaiveBayes()):
        p = clf.fit(X, y).predict_proba(new)
        losses.append(-np.log(p[np.arange(len(truth)), truth]).mean())
    assert losses[0] < losses[1] + 0.03
