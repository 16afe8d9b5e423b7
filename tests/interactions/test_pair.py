"""Pairs of columns: their counts, rows left out, draws, and which of them are found."""

import itertools

import numpy as np
import pytest

from bayesgen.interactions import Cell, Pair, informative_pairs
from bayesgen.interactions.pair import LEVEL_ROWS, ROWS

CELLS = {name: Cell(name, 0, levels) for name, levels in (("a", 2), ("b", 3), ("c", 3))}


def table(seed=0, n=60):
    """Return rows with gaps, labels and weights."""
    rng = np.random.default_rng(seed)
    encoded = {name: rng.integers(-1, cell.levels, (n, 1)) for name, cell in CELLS.items()}
    return encoded, rng.integers(0, 2, n), rng.choice([0.5, 1.0, 2.0], n)


def counted(encoded, y, weight):
    return Pair.counted((CELLS["a"], CELLS["b"]), ("a", "b"), encoded, y, weight, 2)


def only(encoded, where):
    return {name: x[where] for name, x in encoded.items()}


def by_definition(encoded, y, weight, row):
    """Return d of a row of levels, in plain sums over the rows."""
    i, j = (int(x[row, 0]) for x in (encoded["a"], encoded["b"]))
    out = []
    for k in range(2):
        seen = [
            (int(a), int(b), w)
            for a, b, c, w in zip(encoded["a"][:, 0], encoded["b"][:, 0], y, weight, strict=True)
            if c == k and a >= 0 and b >= 0
        ]
        total = sum(w for *_, w in seen)
        p_i = (sum(w for a, _, w in seen if a == i) + LEVEL_ROWS) / (total + 2 * LEVEL_ROWS)
        p_j = (sum(w for _, b, w in seen if b == j) + LEVEL_ROWS) / (total + 3 * LEVEL_ROWS)
        both = sum(w for a, b, w in seen if (a, b) == (i, j))
        out.append(np.log((both + ROWS * p_i * p_j) / (total + ROWS)) - np.log(p_i * p_j))
    return np.array(out)


def test_density_is_that_of_the_definition():
    encoded, y, weight = table()
    density = counted(encoded, y, weight).log_density(encoded)
    seen = (encoded["a"][:, 0] >= 0) & (encoded["b"][:, 0] >= 0)
    wanted = np.stack([by_definition(encoded, y, weight, row) for row in np.flatnonzero(seen)])
    np.testing.assert_allclose(density[seen], wanted, rtol=0, atol=1e-12)
    assert (density[~seen] == 0).all()


def require_left_out_as_by_a_refit():
    encoded, y, weight = table()
    away = np.minimum(weight, 1.0)
    left_out = counted(encoded, y, weight).left_out(encoded, y, away)
    for row in range(len(y)):
        others = weight.copy()
        others[row] -= away[row]
        refit = counted(encoded, y, others).log_density(only(encoded, [row]))
        np.testing.assert_allclose(left_out[row], refit[0], rtol=0, atol=1e-12)


def test_a_row_left_out_is_scored_as_by_a_refit():
    require_left_out_as_by_a_refit()


def test_fault_is_caught_a_row_that_counts_in_its_own_table(monkeypatch):
    monkeypatch.setattr(Pair, "left_out", lambda self, encoded, y, away: self.log_density(encoded))
    with pytest.raises(AssertionError):
        require_left_out_as_by_a_refit()


def test_draws_have_the_mean_of_those_of_dirichlet_tables():
    encoded, y, weight = table()
    pair, n = counted(encoded, y, weight), 4000
    levels = np.array([*itertools.product(range(2), range(3))])
    every = {"a": levels[:, :1], "b": levels[:, 1:]}
    d = pair.draws(np.random.default_rng(0), n)(every)
    total = pair.count.sum(axis=(1, 2))
    margin_i = (pair.count.sum(axis=2) + LEVEL_ROWS) / (total[:, None] + 2 * LEVEL_ROWS)
    margin_j = (pair.count.sum(axis=1) + LEVEL_ROWS) / (total[:, None] + 3 * LEVEL_ROWS)
    cells = pair.count + ROWS * margin_i[:, :, None] * margin_j[:, None]
    reference = np.random.default_rng(1).dirichlet(cells[0].ravel(), n).reshape(n, 2, 3)
    wanted = np.log(reference) - np.log(reference.sum(axis=2, keepdims=True))
    wanted -= np.log(reference.sum(axis=1, keepdims=True))
    wanted = wanted.reshape(n, -1)
    error = np.sqrt(d[:, 0].var(axis=1) / n + wanted.var(axis=0) / n)
    assert (np.abs(d[:, 0].mean(axis=1) - wanted.mean(axis=0)) < 5 * error).all()


def found(odds, seed=0, n=300):
    """Return the names of the pairs found beside independent columns of 3 levels."""
    rng = np.random.default_rng(seed)
    columns = {name: rng.integers(0, 3, (n, 1)) for name in "abcde"}
    logit = odds(*(columns[name][:, 0] for name in "abcde"))
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)
    cells = {name: Cell(name, 0, 3) for name in columns}
    share = np.bincount(y, minlength=2) / n
    log_proba = np.log(np.tile(share, (n, 1)))
    return [
        p.names for p in informative_pairs(cells, columns, y, np.ones(n), np.ones(n), log_proba)
    ]


def test_the_pair_that_interacts_is_found():
    pairs = [found(lambda a, b, c, d, e: 2.0 * (a == c) - 1.0, seed) for seed in range(10)]
    assert all(("a", "c") in names for names in pairs)
    assert sum(len(names) for names in pairs) <= 12


def test_pairs_of_columns_that_do_not_interact_are_not_found():
    pairs = [found(lambda a, b, c, d, e: 0.7 * a - 0.5 * b + 0 * c, seed) for seed in range(40)]
    assert sum(len(names) for names in pairs) <= 2


def test_a_row_with_one_of_the_cells_missing_is_left_out_of_no_count():
    """A level of one row, which lacks the other column: 0 rows less 1 had a logarithm taken."""
    encoded = {"a": np.array([[0], [1], [0], [1]]), "b": np.array([[0], [0], [1], [-1]])}
    y, weight = np.array([0, 0, 0, 1]), np.ones(4)
    pair = counted(encoded, y, weight)
    assert (pair.left_out(encoded, y, weight)[3] == 0).all()
    others = counted(only(encoded, [0, 1, 2]), y[:3], weight[:3])
    kept = only(encoded, [0])
    np.testing.assert_array_equal(pair.log_density(kept), others.log_density(kept))
