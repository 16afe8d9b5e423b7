"""Missing columns eliminated from precisions, against Cholesky factors of the observed part."""

import numpy as np
import pytest

from bayesgen.likelihoods.multivariate_normal import elimination
from bayesgen.likelihoods.multivariate_normal.elimination import DrawnPrecisions, Precisions

CLOSE = 1e-9
KINDS = [("correlated", 2), ("correlated", 30), ("near-collinear", 5), ("units", 30)]
"""With 30 columns some rows miss more than are eliminated column by column."""
every_covariance = pytest.mark.parametrize(
    ("kind", "p", "shared"), [*((*kind, False) for kind in KINDS), ("correlated", 5, True)]
)


def covariances(kind, p, lead, rng):
    """Return covariances (*lead, feature, feature) whose columns repeat each other more or less."""
    factor = rng.standard_normal((*lead, p, 2 * p))
    out = factor @ factor.mT / (2 * p)
    if kind == "near-collinear":  # variance inflation factors of some 30,000
        direction = np.ones(p) / np.sqrt(p)
        out = out + 2e4 * p * direction[:, None] * direction
    if kind == "units":
        unit = 10.0 ** np.linspace(-8, 8, p)
        out = out * unit[:, None] * unit
    return out


def rows_and_gaps(p, rng, n=40):
    """Return complete rows, and which of their cells are observed: few, many, none, all."""
    observed = rng.random((n, p)) > rng.choice([0.1, 0.4, 0.9], size=(n, 1))
    observed[0], observed[1] = False, True
    return rng.standard_normal((n, p)), observed


def by_cholesky(off, covariance):
    """Return the squared distance and log determinant of some columns."""
    factor = np.linalg.cholesky(covariance)
    log_det = 2 * np.log(np.diagonal(factor)).sum()
    return (np.linalg.solve(factor, off) ** 2).sum(), log_det


def log_normal(off, covariance):
    square, log_det = by_cholesky(off, covariance)
    return -0.5 * (square + log_det + len(off) * np.log(2 * np.pi))


def law_of_distances(kind, p, *, shared, rng):
    """Squared distances and log determinants over observed columns, of three classes."""
    lead = (1,) if shared else (3,)
    covariance = covariances(kind, p, lead, rng)
    unit = np.sqrt(np.diagonal(covariance[0]))
    mean = rng.standard_normal((3, p)) * unit
    x, observed = rows_and_gaps(p, rng)
    x = x * unit
    precisions = Precisions.of(np.linalg.cholesky(covariance))
    assert precisions.eliminable
    squares, log_dets = precisions.distances(x, observed, mean)
    for i, seen in enumerate(observed):
        for k in range(3):
            f = k % len(covariance)
            part = covariance[f][np.ix_(seen, seen)]
            square, log_det = by_cholesky((x[i] - mean[k])[seen], part)
            scale = max(1.0, square)
            assert abs(squares[i, k] - square) <= CLOSE * scale
            assert abs(log_dets[i, f] - log_det) <= CLOSE * max(1.0, abs(log_det))


def law_of_inverses(kind, p, rng):
    """Inverses of the observed parts of one covariance, 0 in missing columns."""
    covariance = covariances(kind, p, (1,), rng)
    unit = np.sqrt(np.diagonal(covariance[0]))
    _, observed = rows_and_gaps(p, rng)
    precisions = Precisions.of(np.linalg.cholesky(covariance))
    inverses, log_dets = precisions.of_observed(observed)
    for seen, inverse, log_det in zip(observed, inverses, log_dets, strict=True):
        part = (covariance[0] / unit / unit[:, None])[np.ix_(seen, seen)]
        root = np.linalg.inv(np.linalg.cholesky(part))
        expected = np.zeros((p, p))
        expected[np.ix_(seen, seen)] = root.T @ root
        gap = np.abs(inverse * unit * unit[:, None] - expected)
        assert gap.max() <= CLOSE * max(1.0, np.abs(expected).max())
        exact = by_cholesky(np.zeros(seen.sum()), covariance[0][np.ix_(seen, seen)])[1]
        assert abs(log_det - exact) <= CLOSE * max(1.0, abs(exact))


def law_of_draws(kind, p, *, shared, rng):
    """Log integrals over missing cells, of four draws of two classes."""
    draws, n_classes = 4, 2
    covariance = covariances(kind, p, (draws, 1 if shared else n_classes), rng)
    unit = np.sqrt(np.diagonal(covariance[0, 0]))
    mean = rng.standard_normal((draws, n_classes, p)) * unit
    x, observed = rows_and_gaps(p, rng, n=12)
    x = x * unit
    drawn = DrawnPrecisions.of({"mean": mean, "cholesky": np.linalg.cholesky(covariance)})
    assert drawn.eliminable
    integrals = drawn.log_integrals(x, observed).reshape(len(x), draws, n_classes)
    for i, seen in enumerate(observed):
        for d in range(draws):
            for k in range(n_classes):
                matrix, off = covariance[d, k % covariance.shape[1]], x[i] - mean[d, k]
                whole = log_normal(off, matrix)
                expected = log_normal(off[seen], matrix[np.ix_(seen, seen)]) - whole
                scale = max(1.0, abs(expected), abs(whole))
                assert abs(integrals[i, d, k] - expected) <= CLOSE * scale


@every_covariance
def test_missing_cells_are_those_of_factorized_covariances(kind, p, shared, rng):
    """Means and variances of missing cells, and distances of observed ones, row by row."""
    covariance = covariances(kind, p, (1,) if shared else (3,), rng)
    unit = np.sqrt(np.diagonal(covariance[0]))
    mean = rng.standard_normal((3, p)) * unit
    x, observed = rows_and_gaps(p, rng)
    x, own = x * unit, rng.integers(3, size=len(x))
    precisions = Precisions.of(np.linalg.cholesky(covariance))
    location, variance, squares = precisions.missing_cells(x, observed, own, mean)
    for i, (seen, k) in enumerate(zip(observed, own, strict=True)):
        matrix = covariance[k % len(covariance)]
        off, lacks = (x[i] - mean[k])[seen], ~seen
        square, _ = by_cholesky(off, matrix[np.ix_(seen, seen)])
        slope = np.linalg.solve(matrix[np.ix_(seen, seen)], matrix[np.ix_(seen, lacks)]).T
        spread = np.diagonal(matrix)[lacks] - (slope * matrix[np.ix_(lacks, seen)]).sum(axis=1)
        assert abs(squares[i] - square) <= CLOSE * max(1.0, square)
        assert np.isnan(location[i, seen]).all() and np.isnan(variance[i, seen]).all()
        error = np.abs(location[i, lacks] - (mean[k, lacks] + slope @ off)) / unit[lacks]
        assert (error <= 1e-8 * max(1.0, square)).all()
        np.testing.assert_allclose(
            variance[i, lacks] / unit[lacks] ** 2, spread / unit[lacks] ** 2, atol=1e-9
        )


@every_covariance
def test_distances_are_those_of_factorized_covariances(kind, p, shared, rng):
    law_of_distances(kind, p, shared=shared, rng=rng)


@pytest.mark.parametrize(("kind", "p"), KINDS)
def test_inverses_are_those_of_the_observed_part(kind, p, rng):
    law_of_inverses(kind, p, rng)


@every_covariance
def test_integrals_of_draws_are_those_of_factorized_covariances(kind, p, shared, rng):
    law_of_draws(kind, p, shared=shared, rng=rng)


@pytest.mark.parametrize("law", [law_of_distances, law_of_draws])
def test_elimination_without_the_last_column_is_found(law, rng, monkeypatch):
    exact = elimination.inverses_and_log_dets

    def without_the_last(blocks):
        short = blocks.copy()
        short[-1, :-1] = short[:-1, -1] = 0.0  # its correlation with the others is forgotten
        return exact(short)

    monkeypatch.setattr(elimination, "inverses_and_log_dets", without_the_last)
    with pytest.raises(AssertionError):
        law("correlated", 5, shared=False, rng=rng)


def test_rows_that_miss_about_equally_many_columns_are_filled_up(rng):
    observed = rng.random((90, 20)) > rng.uniform(0.0, 0.9, size=(90, 1))
    observed[0] = True
    chunks = list(elimination.by_similar_gaps(observed))
    assert 1 < len(chunks) < len(np.unique(observed.sum(axis=1))) / 2
    found = np.concatenate([rows for rows, _ in chunks])
    assert sorted(found) == np.flatnonzero(~observed.all(axis=1)).tolist()
    for rows, missing in chunks:
        for row, columns in zip(rows, missing.T, strict=True):
            assert columns[columns < 20].tolist() == np.flatnonzero(~observed[row]).tolist()
            beyond = columns[columns >= 20]
            assert beyond.tolist() == list(range(20, 20 + len(beyond)))


def test_complete_rows_have_no_gaps():
    assert list(elimination.by_similar_gaps(np.ones((3, 2), dtype=bool))) == []


def test_columns_that_repeat_each_other_are_not_eliminated(rng):
    factors = np.linalg.cholesky(covariances("correlated", 5, (1,), rng) + 1e7)
    assert not Precisions.of(factors).eliminable
    drawn = DrawnPrecisions.of({"mean": np.zeros((1, 1, 5)), "cholesky": factors[None]})
    assert not drawn.eliminable
