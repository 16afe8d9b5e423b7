"""Joint normal incomplete rows, their likelihood row by row, and its maximum by brute force."""

import numpy as np
from scipy.optimize import minimize

from bayesgen.likelihoods import MultivariateNormal

P, K = 3, 2


def table(rng, *, n=90, p=P, n_classes=K, gaps=0.2):
    """Correlated normal rows of each class, cells missing at random, one row with nothing."""
    y = rng.integers(n_classes, size=n)
    x = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + 2.0 * y[:, None]
    x[rng.random((n, p)) < gaps] = np.nan
    x[0] = np.nan
    return x, y, rng.integers(1, 4, size=n).astype(float)


def table_statistics(rng):
    return MultivariateNormal().statistics(*table(rng), n_classes=K)


def prior_of(covariance):
    matrix = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, -0.2], [0.0, -0.2, 1.5]])
    return MultivariateNormal(
        covariance=covariance, mean=0.5, mean_rows=2.0, scale=matrix, covariance_rows=5.0
    )


def patterns(x, y, weight, n_classes):
    """Return the observed cells by missing pattern and class: (class, columns, cells, weight)."""
    out, seen = [], ~np.isnan(x)
    for mask in np.unique(seen[seen.any(axis=1)], axis=0):
        for k in range(n_classes):
            rows = (y == k) & (seen == mask).all(axis=1)
            out.append((k, np.flatnonzero(mask), x[np.ix_(rows, mask)], weight[rows]))
    return out


def log_likelihood(parts, mean, covariance):
    """Sum the log densities of the observed cells, pattern by pattern."""
    total = 0.0
    for k, columns, cells, weight in parts:
        part = covariance[min(k, len(covariance) - 1)][columns[:, None], columns]
        off = cells - mean[k][columns]
        squares = (off * np.linalg.solve(part, off.T).T).sum(axis=1)
        log_det = np.linalg.slogdet(2 * np.pi * part)[1]
        total -= 0.5 * (weight * (squares + log_det)).sum()
    return total


def row_log_likelihood(x, y, weight, mean, covariance):
    """Sum over rows of the log density of their observed part, pattern by pattern."""
    return log_likelihood(patterns(x, y, weight, len(mean)), mean, covariance)


def unpack(flat, wide):
    """Means, and factors whose diagonal is an exponential."""
    mean, rest = flat[: K * P].reshape(K, P), flat[K * P :].reshape(wide, -1)
    factor = np.zeros((wide, P, P))
    factor[:, *np.tril_indices(P)] = rest
    diagonal = np.arange(P)
    factor[:, diagonal, diagonal] = np.exp(factor[:, diagonal, diagonal])
    return mean, factor


def brute_force(objective, wide):
    """Maximise by BFGS with central differences, from means of 1 and factors of 1."""

    def loss(flat):
        mean, factor = unpack(flat, wide)
        return -objective(mean, factor @ np.swapaxes(factor, 1, 2))

    def gradient(flat):
        steps = 1e-5 * np.eye(len(flat))
        return np.array([(loss(flat + step) - loss(flat - step)) / 2e-5 for step in steps])

    start = np.r_[np.ones(K * P), np.zeros(wide * P * (P + 1) // 2)]
    found = minimize(loss, start, jac=gradient, method="BFGS", options={"gtol": 1e-6})
    assert np.abs(gradient(found.x)).max() < 1e-4
    return unpack(found.x, wide)


def log_prior(prior, mean, covariance):
    """Normal-inverse-Wishart against |Sigma|^-(p+1)/2, up to a constant."""
    wide = np.broadcast_to(covariance, (K, P, P))
    off = mean - prior.mean
    squares = prior.mean_rows * np.einsum(
        "ki,ki->k", off, np.linalg.solve(wide, off[..., None])[..., 0]
    )
    matrices = prior.covariance_rows[:, None, None] * prior.scale
    traces = np.trace(np.linalg.solve(covariance, matrices), axis1=1, axis2=2)
    log_dets = np.linalg.slogdet(covariance)[1]
    spread = (prior.degrees * log_dets + traces).sum() + np.linalg.slogdet(wide)[1].sum()
    return -0.5 * (spread + squares.sum())


def agrees(params, mean, factor):
    return np.allclose(params["mean"], mean, rtol=1e-6, atol=1e-6) and np.allclose(
        params["cholesky"], factor, rtol=1e-6, atol=1e-6
    )


def maximum(x, y, weight, prior):
    parts = patterns(x, y, weight, K)

    def objective(mean, covariance):
        return log_likelihood(parts, mean, covariance)

    return brute_force(objective, len(prior.scale))


def highest_posterior(x, y, weight, prior):
    parts = patterns(x, y, weight, K)

    def objective(mean, covariance):
        return log_likelihood(parts, mean, covariance) + log_prior(prior, mean, covariance)

    return brute_force(objective, len(prior.scale))


def around(x, y, weight, prior, mean, factor):
    """Return the log posterior of moves of means by L u and of covariances to L (I + U) L'.

    U is symmetric with norm |u|.
    """
    wide = len(prior.scale)

    def objective(move):
        i, j = np.triu_indices(P)
        change = np.zeros((wide, P, P))
        change[:, i, j] = move[K * P :].reshape(wide, -1) * np.where(i == j, 1.0, np.sqrt(0.5))
        change[:, j, i] = change[:, i, j]
        covariance = factor @ (np.eye(P) + change) @ np.swapaxes(factor, 1, 2)
        moved = mean + np.einsum(
            "kij,kj->ki", np.broadcast_to(factor, (K, P, P)), move[: K * P].reshape(K, P)
        )
        return row_log_likelihood(x, y, weight, moved, covariance) + log_prior(
            prior, moved, covariance
        )

    return objective, np.eye(K * P + wide * P * (P + 1) // 2)
