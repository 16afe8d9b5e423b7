"""Which rows leave together: one of equals that chance explains, all copies of a measured row."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.table import copies, copies_of, read_table


def found(X, y, weight=None, parts=1):
    y, weight = np.asarray(y), np.ones(len(y)) if weight is None else np.asarray(weight, float)
    codes = np.unique(y, return_inverse=True)[1]
    places = np.array_split(np.arange(len(y)), parts)
    tables = [X.iloc[rows] if hasattr(X, "iloc") else X[rows] for rows in places]
    return copies_of([read_table(table) for table in tables], codes, weight)


def away(X, y, weight=None):
    return found(X, y, weight).away


def bundled(name):
    X, y = getattr(bg.datasets, f"load_{name}")()
    return X, np.asarray(y)


def measured(n, rng):
    return pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc")), rng.integers(0, 2, n)


def of_levels(n, columns, levels, rng):
    cells = rng.choice(np.array(list("uvwx"))[:levels], (n, columns))
    return pd.DataFrame(cells, columns=[*"abcdefgh"[:columns]]), rng.integers(0, 2, n)


def mixed(n, rng):
    X, y = of_levels(n, 2, 3, rng)
    return X.assign(x=rng.normal(size=n)), y


# --- all copies of what is measured leave ---------------------------------------------------------


@pytest.mark.parametrize("make", [measured, mixed, lambda n, rng: bundled("crabs")])
@pytest.mark.parametrize("weight", [1.0, 1.2, 2.0, 10.0])
def test_all_copies_of_a_measured_row_leave(make, weight, rng):
    X, y = make(60, rng)
    equal = found(X, y, np.full(len(y), weight))
    np.testing.assert_allclose(equal.away, weight, rtol=1e-12)
    assert equal.counting == pytest.approx(1 / weight, rel=1e-12)


@pytest.mark.parametrize("make", [measured, mixed])
def test_copies_of_half_of_the_rows_and_of_a_rare_class_leave(make, rng):
    X, y = make(60, rng)
    y[:] = np.arange(60) < 9
    for again in (np.arange(0, 60, 2), rng.integers(0, 9, 42)):
        rows = np.r_[np.arange(60), again]
        times = np.bincount(rows, minlength=60)[rows]
        np.testing.assert_allclose(away(X.iloc[rows], y[rows]), times, rtol=1e-12)


def test_weights_that_balance_classes_leave_whole(rng):
    X, y = measured(100, rng)
    y[:] = np.arange(100) < 12
    weight = np.where(y == 1, 50 / 12, 50 / 88)
    np.testing.assert_allclose(away(X, y, weight), weight, rtol=1e-12)


# --- one leaves of equals that chance explains ----------------------------------------------------


@pytest.mark.parametrize("name", ["titanic_passengers", "housevotes84", "titanic", "biopsy"])
def test_equal_rows_of_tables_of_levels_are_different_rows(name):
    """Of the mean row: housevotes84 has dependent columns, biopsy 236 equal rows of nine scores."""
    assert 1 <= away(*bundled(name)).mean() < 1.12


def test_three_binary_columns(rng):
    X, y = of_levels(500, 3, 2, rng)
    for weight in (1.0, 2.0):
        assert away(X, y, np.full(500, weight)).max() < 1.01
        assert away((X == "u").astype(float), y, np.full(500, weight)).max() < 1.01


def test_columns_that_outnumber_rows_have_no_equals(rng):
    X, y = rng.normal(size=(60, 500)), np.arange(60) % 2
    assert (away(X, y) == 1).all() and (away(X, y, np.full(60, 2.0)) == 2).all()


@pytest.mark.parametrize("weight", [2.0, 10.0])
def test_repeated_rows_of_a_table_of_levels_leave_as_one(weight):
    """Of a content of n rows of this weight: about the weight of one of them, not all n."""
    X, y = bundled("housevotes84")
    equal = found(X, y, np.full(len(y), weight))
    assert equal.leaving.mean() == pytest.approx(weight, rel=0.05)
    frequent = equal.total > 5 * weight
    assert frequent.any() and (equal.leaving < 0.6 * equal.total)[frequent].all()


def test_a_table_of_one_column(rng):
    x, y = rng.normal(size=(200, 1)), np.arange(200) % 2
    assert (away(x, y) == 1).all() and away(x, y, np.full(200, 2.0)).mean() > 1.8
    assert away(np.round(10 * x), y).mean() < 1.05
    levels = pd.DataFrame({"g": np.where(x[:, 0] > 0, "u", "v")})
    assert (away(levels, y, np.full(200, 2.0)) == 1).all()


# --- laws -----------------------------------------------------------------------------------------


def law_weight_is_repetition(found):
    rng = np.random.default_rng(1)
    for make in (measured, mixed, lambda n, rng: of_levels(n, 4, 3, rng)):
        X, y = make(50, rng)
        times = rng.integers(1, 4, 50)
        rows = np.repeat(np.arange(50), times)
        once, repeated = found(X, y, times), found(X.iloc[rows], y[rows])
        np.testing.assert_allclose(once.away[rows], repeated.away, rtol=1e-12)
        assert once.counting == pytest.approx(repeated.counting, rel=1e-12)


def law_frequencies_are_rows(found):
    X, y = bundled("titanic")
    counts = X.assign(y=y).value_counts().reset_index()
    of_rows = found(X, y)
    table = found(counts[[*X.columns]], counts["y"].to_numpy(), counts["count"])
    np.testing.assert_allclose(np.sort(of_rows.leaving), np.sort(table.leaving), rtol=1e-12)


def law_continuous_in_weights(found):
    """Where what leaves changes most between two weights, it does so in many small steps."""
    X, y = bundled("titanic_passengers")
    X, y, low, high = X.iloc[::6], y[::6], 1.0, 2.0
    for _ in range(3):
        weights = np.linspace(low, high, 31)
        leaving = np.stack([found(X, y, np.full(len(y), w)).leaving for w in weights])
        steps = np.abs(np.diff(leaving, axis=0)).max(axis=1)
        low, high = weights[steps.argmax()], weights[steps.argmax() + 1]
    assert steps.max() < 0.02


def law_names_and_order_say_nothing(found):
    rng = np.random.default_rng(2)
    X, y = mixed(80, rng)
    X = pd.concat([X, X.iloc[:20]], ignore_index=True)
    y, turned = np.r_[y, y[:20]], rng.permutation(100)
    expected = found(X, y).away
    renamed = X.rename(columns={"a": "zz", "x": "0"}).replace({"a": {"u": "w", "w": "u"}})
    others = {
        "columns": found(X[["x", "b", "a"]], y),
        "names": found(renamed, y),
        "classes": found(X, 1 - y),
        "units": found(X.assign(x=-2.54 * X.x), y),
        "constant": found(X.assign(k=7.5, g="same", never=np.nan), y),
        "calls": found(X, y, parts=3),
    }
    for name, equal in others.items():
        np.testing.assert_allclose(equal.away, expected, rtol=1e-12, err_msg=name)
    rows = found(X.iloc[turned], y[turned]).away
    np.testing.assert_allclose(rows, expected[turned], rtol=1e-12)


LAWS = [
    law_weight_is_repetition,
    law_frequencies_are_rows,
    law_continuous_in_weights,
    law_names_and_order_say_nothing,
]


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    law(found)


def by_positions(X, y, weight=None, parts=1):
    """Count weights alone: repeated rows stay behind."""
    weight = np.ones(len(y)) if weight is None else np.asarray(weight, float)
    every = np.arange(len(y))
    return copies.Copies(every, every, weight, weight)


def in_steps(X, y, weight=None, parts=1):
    equal = found(X, y, weight, parts)
    whole = np.where(equal.leaving > 1.5, equal.total, np.minimum(equal.total, 1.0))
    return copies.Copies(equal.content, equal.first, equal.total, whole)


def by_the_first_column(X, y, weight=None, parts=1):
    return found(X[[X.columns[0]]], y, weight, parts)


FAULTS = [
    (law_weight_is_repetition, by_positions),
    (law_frequencies_are_rows, by_positions),
    (law_continuous_in_weights, in_steps),
    (law_names_and_order_say_nothing, by_the_first_column),
]


@pytest.mark.parametrize(("law", "fault"), FAULTS)
def test_fault_is_caught(law, fault):
    with pytest.raises(AssertionError):
        law(fault)
