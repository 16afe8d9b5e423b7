"""Priors of covariances as numpyro sees them, LKJ among them, and coordinates to sample in."""

import functools

import numpy as np

from bayesgen.likelihoods import supports
from bayesgen.likelihoods.base import Likelihood
from bayesgen.typing import Params, Traceable

MANY_ROWS = 2
"""Rows for each column from which the scatter of rows has a say in every direction."""
FAINT = 1e-8
"""Share of the rows that a guess is worth where it shall say nothing, but keep a matrix from being
singular: squares of standard deviations down to 1e-4 of a column's are told apart from it."""


@functools.cache
def lkj_covariance_cholesky() -> type:
    """Return the numpyro distribution of the Cholesky factor of a covariance matrix.

    Sigma = diag(s) R diag(s) with R ~ LKJ(concentration) and s_j ~ HalfNormal(spread_j). The
    factor L of Sigma has rows s_i c_i, c_i of unit length; with i entries left of the diagonal,
    dL_i = s_i^i / c_ii ds_i dc_i, so log p(L) = log p(s) + log p(c) + sum_i log c_ii - i log s_i.

    Source: Lewandowski, Kurowicka and Joe (2009); the Jacobian is that of polar coordinates.
    """
    import jax
    import jax.numpy as jnp
    import numpyro.distributions as dist

    class LKJCovarianceCholesky(dist.Distribution):
        """Lower Cholesky factor of a covariance, shape (..., feature, feature)."""

        support = dist.constraints.lower_cholesky

        def __init__(self, concentration: float, spread: Traceable) -> None:
            n = spread.shape[-1]
            self.spread = spread
            self.correlation = dist.LKJCholesky(n, concentration) if n > 1 else None
            super().__init__(spread.shape[:-1], (n, n), validate_args=False)

        def sample(self, key: Traceable, sample_shape: tuple[int, ...] = ()) -> Traceable:
            shape = (*sample_shape, *self.batch_shape)
            key_sd, key_correlation = jax.random.split(key)
            sd = dist.HalfNormal(self.spread).sample(key_sd, sample_shape)
            if self.correlation is None:
                return sd[..., None]
            return sd[..., None] * self.correlation.sample(key_correlation, shape)

        def log_prob(self, value: Traceable) -> Traceable:
            sd = jnp.sqrt((value**2).sum(-1))
            unit = value / sd[..., None]
            out = dist.HalfNormal(self.spread).log_prob(sd).sum(-1)
            if self.correlation is not None:
                out += self.correlation.log_prob(unit)
            diagonal = jnp.diagonal(unit, axis1=-2, axis2=-1)
            return out + (jnp.log(diagonal) - jnp.arange(sd.shape[-1]) * jnp.log(sd)).sum(-1)

    return LKJCovarianceCholesky


@functools.cache
def whitened_cholesky() -> type:
    """Return the numpyro transform u -> L = centre @ A(u), A near the identity.

    A has exp(width_ii u) on its diagonal and width_ij u below it. At the posterior's own factor as
    centre and its standard errors as widths, u is about standard normal and uncorrelated, however
    collinear the columns. |dL/dA| = prod centre_ii^(i+1).
    """
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from numpyro.distributions.transforms import ParameterFreeTransform

    class WhitenedCholesky(ParameterFreeTransform):
        """Real vectors of length p (p + 1) / 2 to lower Cholesky factors."""

        domain = dist.constraints.real_vector
        codomain = dist.constraints.lower_cholesky

        def __init__(self, centre: Traceable, width: Traceable) -> None:
            self.centre, self.width = centre, width

        def _near_identity(self, u: Traceable) -> tuple[Traceable, Traceable]:
            n = self.centre.shape[-1]
            log_diagonal = self.width[..., 0, None] * u[..., :n]
            below = self.width[..., 1, None] * u[..., n:]
            i, j = np.tril_indices(n, -1)
            matrix = jnp.zeros((*u.shape[:-1], n, n)).at[..., i, j].set(below)
            return matrix + jnp.exp(log_diagonal)[..., None] * jnp.eye(n), log_diagonal

        def __call__(self, u: Traceable) -> Traceable:
            return self.centre @ self._near_identity(u)[0]

        def log_abs_det_jacobian(
            self, u: Traceable, value: Traceable, intermediates: Traceable | None = None
        ) -> Traceable:
            n = self.centre.shape[-1]
            diagonal = jnp.diagonal(self.centre, axis1=-2, axis2=-1)
            constant = (jnp.arange(1, n + 1) * jnp.log(diagonal)).sum(-1)
            widths = n * jnp.log(self.width[..., 0]) + n * (n - 1) / 2 * jnp.log(self.width[..., 1])
            return constant + widths + self._near_identity(u)[1].sum(-1)

        def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
            n = shape[-1]
            return (*shape[:-2], n * (n + 1) // 2)

    return WhitenedCholesky


def covariance_prior(prior: Likelihood) -> object:
    """Return numpyro's distribution of the Cholesky factor: inverse-Wishart, or LKJ."""
    import jax.numpy as jnp

    if prior.conjugate:
        return inverse_wishart(prior)
    variance = jnp.diagonal(prior.scale, axis1=1, axis2=2)
    return lkj_covariance_cholesky()(prior.concentration, (variance * jnp.pi / 2) ** 0.5)


def inverse_wishart(prior: Likelihood) -> object:
    """Return numpyro's distribution of the Cholesky factor of an inverse-Wishart covariance."""
    import numpyro.distributions as dist

    matrix = prior.covariance_rows[:, None, None] * prior.scale
    degrees = prior.mean.shape[1] - 1 + prior.covariance_rows
    return dist.InverseWishartCholesky(degrees, scale_matrix=matrix)


def sample_normal(name: str, prior: Likelihood, covariance: object) -> Params:
    """Sample the Cholesky factors from `covariance`, then the means given them (traced)."""
    import numpyro
    import numpyro.distributions as dist

    with numpyro.plate(f"{name}.covariance", prior.scale.shape[0], dim=-1):
        factor = numpyro.sample(f"{name}.cholesky", covariance)
    with numpyro.plate(f"{name}.class", prior.mean.shape[0], dim=-1):
        spread = factor / prior.mean_rows[:, None, None] ** 0.5
        mean = numpyro.sample(
            f"{name}.mean", dist.MultivariateNormal(prior.mean, scale_tril=spread)
        )
    return {"mean": mean, "cholesky": factor}


def log_scale_free_jacobian(factor: Traceable) -> Traceable:
    """Return log(d factor / d |Sigma|^-(p+1)/2 dSigma): sum of (i + 1) log L_ii, i from 0.

    The density of L is that of Sigma times prod 2 L_ii^(p - i), and |Sigma|^(p+1)/2 is
    prod L_ii^(p + 1).
    """
    return supports.log_diagonal(factor, 1)


def conjugate_twin(prior: Likelihood, count: np.ndarray) -> Likelihood:
    """Return a conjugate prior with about the same posterior: the prior itself, or one for LKJ.

    To LKJ a correlation of .9999 is as good as another. An inverse-Wishart guess worth p rows holds
    collinear columns for hundreds of times less collinear than they are, so that rows, where they
    are many, speak alone.

    count: rows of each class.
    """
    if prior.conjugate:
        return prior
    rows = prior.covariance_rows
    n = count.sum(axis=-1, keepdims=True) if rows.shape[-1] < count.shape[-1] else count
    many = n >= MANY_ROWS * prior.mean.shape[-1]
    faint = np.where(many, FAINT * n, rows)
    return prior.with_arrays({"prior": "conjugate", "covariance_rows": faint})


def widths(rows: np.ndarray) -> np.ndarray:
    """Return the standard errors that a factor whitened by itself has after so many rows.

    Shape (covariance, 2): of logarithms on the diagonal, and below it.
    """
    rows = np.maximum(rows, 1.0)
    return np.stack([1 / np.sqrt(2 * rows), 1 / np.sqrt(rows)], axis=-1)
