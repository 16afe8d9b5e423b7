"""The measure in which modes of constrained parameters are taken is that of a density."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpyro.distributions import biject_to, constraints

from bayesgen.likelihoods.supports import log_scale_free_jacobian


def measure(constraint: object, value: jax.Array) -> jax.Array:
    to_site = biject_to(constraint)
    return log_scale_free_jacobian(constraint, to_site, to_site.inv(value), value)


def lower(matrix: jax.Array) -> jax.Array:
    return matrix[jnp.tril_indices(matrix.shape[-1])]


@pytest.mark.slow
def test_measures_of_matrices_are_one_measure():
    """That of Sigma, of its factor, and of deviations and correlations: by numerical Jacobians."""
    p = 3
    below = jnp.tril_indices(p, -1)

    def factor(free: jax.Array) -> jax.Array:
        return jnp.zeros((p, p)).at[jnp.tril_indices(p)].set(free)

    def half(free: jax.Array) -> jax.Array:
        return jnp.zeros((p, p)).at[below].set(free)

    def covariance(free: jax.Array) -> jax.Array:
        sd = jnp.exp(free[:p])
        off = half(free[p:])
        return lower((off + off.T + jnp.eye(p)) * sd * sd[:, None])

    def correlation(free: jax.Array) -> jax.Array:
        unit = half(free) + jnp.diag(jnp.sqrt(1 - (half(free) ** 2).sum(axis=1)))
        return (unit @ unit.T)[below]

    def volume(function, free: jax.Array) -> jax.Array:
        return jnp.linalg.slogdet(jax.jacobian(function)(free))[1]

    @jax.jit
    def gaps(sigma: jax.Array) -> jax.Array:
        own, sd = jnp.linalg.cholesky(sigma), jnp.sqrt(jnp.diag(sigma))
        r = sigma / sd / sd[:, None]
        c = jnp.linalg.cholesky(r)
        whole = measure(constraints.positive_definite, sigma)
        by_factor = volume(lambda f: lower(factor(f) @ factor(f).T), lower(own))
        by_r = volume(covariance, jnp.concatenate([jnp.log(sd), r[below]]))
        of_r = measure(constraints.corr_matrix, r)
        return jnp.stack(
            [
                measure(constraints.lower_cholesky, own) + by_factor - whole,
                of_r + by_r - whole,
                measure(constraints.corr_cholesky, c) + volume(correlation, c[below]) - of_r,
            ]
        )

    random = np.random.default_rng(0)
    with jax.enable_x64(True):
        found = np.stack([gaps(np.cov(random.normal(size=(p, 3 * p)))) for _ in range(3)])
    np.testing.assert_allclose(found, found[:1].repeat(3, axis=0), atol=1e-9)


def test_measures_of_numbers():
    """Flat in the logarithm and in log-odds; numbers in a vector are as many measures."""
    with jax.enable_x64(True):
        x = jnp.asarray([0.2, 0.3, 0.5])
        assert measure(constraints.real, x) == 0
        np.testing.assert_allclose(measure(constraints.positive, x), jnp.log(x).sum())
        np.testing.assert_allclose(measure(constraints.simplex, x), jnp.log(x).sum())
        odds = jnp.log(x * (1 - x)).sum()
        np.testing.assert_allclose(measure(constraints.unit_interval, x), odds)
        grouped = constraints.independent(constraints.positive, 1)
        np.testing.assert_allclose(measure(grouped, x), jnp.log(x).sum())
