"""One rule for the rows that judge: all of them, or some that are evenly spaced within classes."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.estimators.judged_rows import (
    CELLS,
    FEWEST,
    JUDGED,
    ROWS_JUDGED,
    SORTED,
    judged_rows,
)

SIZES = [1, JUDGED, JUDGED + 1, SORTED, SORTED + 1, 2 * SORTED + 7, 10 * SORTED + 9]


def labels(n, order, shares=(0.7, 0.29, 0.01)):
    """Return codes of three classes, in the order of the classes, in turns, or at random."""
    codes = np.repeat(np.arange(3), np.diff([0, *(np.cumsum(shares) * n).round().astype(int)]))
    if order == "by class":
        return codes
    if order == "in turns":
        return np.arange(n) % 3
    return np.random.default_rng(0).permutation(codes)


@pytest.mark.parametrize("order", ["by class", "in turns", "at random"])
@pytest.mark.parametrize("n", SIZES)
def test_every_class_has_its_share_of_the_judges(n, order):
    """To one row; of large tables to five standard errors of the rows that are sorted."""
    codes = labels(n, order)
    judged = judged_rows(codes)
    assert len(judged) == min(n, JUDGED) and (np.diff(judged) > 0).all()
    share = np.bincount(codes, minlength=3) / n
    found = np.bincount(codes[judged], minlength=3)
    chance = 5 * np.sqrt(share * (1 - share) / SORTED) * len(judged) if n > SORTED else 0.0
    assert (np.abs(found - share * len(judged)) <= 1 + chance).all()
    for k in range(3):  # as many of the first half of the class as of the second
        place = np.searchsorted(np.flatnonzero(codes == k), judged[codes[judged] == k])
        halves = np.bincount(2 * place // max((codes == k).sum(), 1), minlength=2)
        assert abs(halves[0] - halves[1]) <= 2 + np.max(chance)


@pytest.mark.parametrize(
    ("cells", "wanted"), [(0, JUDGED), (20, JUDGED), (40, CELLS // 40), (10**9, FEWEST)]
)
def test_fewer_rows_judge_where_each_costs_more(cells, wanted):
    assert len(judged_rows(np.arange(10_000) % 2, cells)) == wanted


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
