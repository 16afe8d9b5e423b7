"""Tied rows share a cell, whether they are labeled or new."""

import numpy as np
import pytest
from scipy import stats

import bayesgen as bg
from bayesgen.prevalence import cells, left_out
from bayesgen.prevalence.cells import are_tied, edges_between
from bayesgen.table import copies_of, read_table


def rows(y, rng, *, tied):
    """Return two columns, of whole numbers from 1 on if tied; most rows of class 0 are (1, 1)."""
    x = rng.normal(np.where(y, 4.0, -0.5)[:, None], np.where(y, 2.0, 1.5)[:, None], (len(y), 2))
    return np.clip(np.round(x), 1, 10) if tied else x


def populations(seed, *, tied):
    """Return a classifier fitted to 200 rows, a third of class 1, and 250 rows, a tenth of it."""
    rng = np.random.default_rng(seed)
    y, new = rng.binomial(1, 0.35, 200), rng.binomial(1, 0.1, 250)
    clf = bg.NaiveBayes(random_state=0).fit(rows(y, rng, tied=tied), y)
    return clf, rows(new, rng, tied=tied)


def share_found(runs, *, tied, moved=0.0):
    """Return the share of runs in which a line of the check is below .05, by line."""
    found = []
    for seed in range(runs):
        clf, new = populations(seed, tied=tied)
        step = moved * new[:, 0].std()
        new[:, 0] += np.round(step) if tied else step
        found.append(clf.check_label_shift(new).p_value < 0.05)
    return np.mean(found, axis=0)


def law_size(runs, *, tied):
    assert share_found(runs, tied=tied)[-1] <= stats.binom.ppf(0.999, runs, 0.05) / runs


@pytest.mark.slow
def test_size_where_rows_tie():
    law_size(10, tied=True)


@pytest.mark.nightly
@pytest.mark.parametrize("tied", [True, False])
def test_size_of_more_runs(tied):
    """At most .08, and 2 standard errors of 300 runs; the density of few distinct rows has less."""
    size = share_found(300, tied=tied)
    assert (size <= 0.08 + 2 * 0.013).all() and (size[: 2 if tied else 3] >= 0.03 - 2 * 0.013).all()


@pytest.mark.nightly
@pytest.mark.parametrize("tied", [True, False])
def test_a_column_that_moved_is_found(tied):
    assert share_found(40, tied=tied, moved=1.0)[0] > 0.9


def edges_at_scores(scores, n_cells):
    return np.unique(np.quantile(scores, np.arange(1, n_cells) / n_cells, method="lower"))


@pytest.mark.slow
def test_fault_all_labeled_rows_left_out(monkeypatch):
    monkeypatch.setattr(cells, "are_tied", lambda scores: np.zeros(len(scores), dtype=bool))
    monkeypatch.setattr(cells, "edges_between", edges_at_scores)
    with pytest.raises(AssertionError):
        law_size(10, tied=True)


def law_prevalence(runs=3):
    """Left-out predictions of one column of whole numbers find a tenth in each run, within .1."""
    X, y = bg.datasets.load_biopsy()
    sick = (y == "malignant").to_numpy()
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        rest = order[200:]
        new = np.append(rest[sick[rest]][:25], rest[~sick[rest]][:225])
        clf = bg.NaiveBayes(random_state=0).fit(X[["V4"]].iloc[order[:200]], y.iloc[order[:200]])
        found = clf.estimate_prevalence(X[["V4"]].iloc[new], random_state=0)
        assert found.report.method == "left_out"
        assert abs(found.mean["malignant"] - 0.1) < 0.1


def test_prevalence_where_rows_tie():
    law_prevalence()


def test_fault_edges_of_left_out_rows_at_their_scores(monkeypatch):
    monkeypatch.setattr(left_out, "edges_between", edges_at_scores)
    with pytest.raises(AssertionError):
        law_prevalence()


def test_edges_lie_between_tied_scores():
    scores = np.array([1.0, 1.0 + 1e-13, 1.0, 3.0, 5.0, 5.0])
    np.testing.assert_allclose(edges_between(scores, 3), [2.0, 4.0])
    assert are_tied(scores).tolist() == [True, True, True, False, True, True]
    assert not len(edges_between(np.ones(4), 3)) and are_tied(np.ones(4)).all()


def test_rows_tied_among_the_labeled_ones_keep_the_cells_of_new_ones():
    """Cells of log-odds: no class of a tied group lies on the other side of an edge."""
    clf, _ = populations(0, tied=True)
    X, y, _ = clf._rows_of_fit("this test")
    labeled = clf._population_model().left_out_rows()
    edges = left_out._edges(labeled)
    X = np.asarray(X)
    # rows that stand for copies of themselves
    codes = (y == np.unique(y)[1]).astype(int)
    rows, _ = copies_of([read_table(X)], codes, np.ones(len(y))).standing(np.ones(len(y)))
    X, y = X[rows], y[rows]
    whole = clf.with_class_prior("uniform").predict_log_proba(X)
    same = left_out.cells(labeled.log_proba, edges) == left_out.cells(whole, edges)
    most = (X == 1).all(axis=1)
    assert most.sum() > 50 and set(y[most]) == {0, 1} and same[most].all()
