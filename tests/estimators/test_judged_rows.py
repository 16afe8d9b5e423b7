"""One rule for the rows that judge: all of them, or a sample within classes by content."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.estimators.judged_rows import CELLS, FEWEST, JUDGED, ROWS_JUDGED, judged_rows
from bayesgen.estimators.validation import training_rows
from bayesgen.table import read_table


def rows_of(X, y, weight=None):
    rows = training_rows(read_table(X), X, y, weight)
    return [rows], rows.classes


def labels(n):
    """Return codes of three classes, one of them rare."""
    codes = np.repeat(np.arange(3), np.diff([0, int(0.7 * n), int(0.99 * n), n]))
    return np.random.default_rng(0).permutation(codes)


@pytest.mark.parametrize("n", [4, JUDGED, JUDGED + 1, 5 * JUDGED])
def test_every_class_has_its_share_of_the_judges(n, rng):
    y, X = labels(n) if n > 4 else np.arange(n) % 3, rng.normal(size=(n, 2))
    judged = judged_rows(*rows_of(X, y))
    assert len(judged.rows) == min(n, JUDGED) and (np.diff(judged.rows) > 0).all()
    share = np.bincount(y, minlength=3) / n
    found = np.bincount(y[judged.rows], minlength=3)
    assert (np.abs(found - share * len(judged.rows)) <= 1).all()
    weight = np.bincount(y[judged.rows], judged.weight, minlength=3)
    np.testing.assert_allclose(weight, share * len(judged.rows))


def test_judges_do_not_depend_on_the_order_of_rows(rng):
    y, X, turned = labels(3000), rng.normal(size=(3000, 2)), rng.permutation(3000)
    judged, other = (judged_rows(*rows_of(X[o], y[o])) for o in (np.arange(3000), turned))
    np.testing.assert_array_equal(np.sort(turned[other.rows]), judged.rows)


def test_copies_of_a_row_are_one_row_of_their_weight(rng):
    X, times = rng.normal(size=(1500, 2)), rng.integers(1, 4, 1500)
    y = labels(1500)
    judged = judged_rows(*rows_of(np.repeat(X, times, axis=0), np.repeat(y, times)))
    assert np.repeat(np.arange(1500), times)[judged.rows].tolist() == list(range(1500))
    # all copies of a row leave together, and count for as many rows as Kish says
    scale = times.sum() / (times**2).sum()
    np.testing.assert_allclose(judged.weight, scale * times)
    np.testing.assert_allclose(judged.lost, judged.weight)


def test_a_sample_estimates_sums_of_weighted_rows():
    """Of 40 tables, within 4 standard errors of the mean error."""
    errors = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y, X, weight = labels(2500), rng.normal(size=(2500, 1)), rng.integers(1, 9, 2500)
        judged = judged_rows(*rows_of(X, y, weight), cells=10**9)
        errors.append(
            np.average(X[judged.rows, 0], weights=judged.weight)
            - np.average(X[:, 0], weights=weight)
        )
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(40)


@pytest.mark.parametrize(
    ("cells", "wanted"), [(0, JUDGED), (20, JUDGED), (40, CELLS // 40), (10**9, FEWEST)]
)
def test_fewer_rows_judge_where_each_costs_more(cells, wanted, rng):
    judged = judged_rows(*rows_of(rng.normal(size=(10_000, 1)), np.arange(10_000) % 2), cells)
    assert len(judged.rows) == wanted


def test_reports_state_how_many_rows_judged():
    rng = np.random.default_rng(0)
    y = np.arange(2100) % 2
    X = pd.DataFrame({"a": rng.normal(y), "b": rng.normal(size=2100)})
    gaps = X.mask(rng.random(X.shape) < 0.1)
    judges = {
        "score": (bg.NaiveBayes(), X, JUDGED),
        "pattern": (bg.LDA(missing="learn", inference="expected"), gaps, JUDGED),
        "columns": (bg.NaiveBayes(temper="columns"), X, 2100),
        "stack": (bg.StackedClassifier([bg.LDA(), bg.NaiveBayes()]), X, JUDGED),
    }
    for clf, table, wanted in judges.values():
        assert clf.fit(table, y).report_.details[ROWS_JUDGED] == wanted
    assert ROWS_JUDGED not in bg.LDA().fit(X, y).report_.details
