"""Several probability vectors laid side by side in one array: one segment of levels per column.

Levels of all columns share one flat axis, so columns with different numbers of levels need no
padding. `segments` is the 0/1 matrix that says which level belongs to which column.
"""

import functools

import numpy as np
from jaxtyping import Float, Num
from scipy.special import digamma, polygamma

from bayesgen.typing import Traceable

Segments = Float[np.ndarray, "level feature"]


def segments(n_levels: tuple[int, ...]) -> Segments:
    """Return 1 where a flat level belongs to a column, else 0."""
    out = np.zeros((sum(n_levels), len(n_levels)))
    out[np.arange(len(out)), np.repeat(np.arange(len(n_levels)), n_levels)] = 1.0
    return out


def starts(n_levels: tuple[int, ...]) -> np.ndarray:
    """Return the flat position of each column's first level."""
    return np.concatenate([[0], np.cumsum(n_levels)[:-1]]).astype(int)


def kept_levels(n_levels: tuple[int, ...], index: np.ndarray) -> tuple[int, ...]:
    """Return how many levels each column keeps when flat positions `index` are kept."""
    column = np.repeat(np.arange(len(n_levels)), n_levels)[index]
    return tuple(int(n) for n in np.bincount(column, minlength=len(n_levels)))


def log_gammas(rng: np.random.Generator, shape: np.ndarray, n: int) -> np.ndarray:
    """Return logs of n Gamma(shape, 1) draws that do not underflow for small shapes.

    log Gamma(a) is distributed as log Gamma(a + 1) + log(U) / a (Marsaglia and Tsang 2000).
    """
    gamma = rng.standard_gamma(shape + 1.0, (n, *shape.shape))
    return np.log(gamma) + np.log(rng.random(gamma.shape)) / shape


def log_sums(log_values: np.ndarray, n_levels: tuple[int, ...]) -> np.ndarray:
    """Return the log of the sum over each column's levels, shape (..., feature)."""
    parts = np.split(log_values, starts(n_levels)[1:], axis=-1)
    empty = np.zeros(log_values.shape[:-1])
    sums = [np.logaddexp.reduce(part, axis=-1) if part.shape[-1] else empty for part in parts]
    return np.stack(sums, axis=-1)


def baseline(weight: Float[np.ndarray, " level"], n_levels: tuple[int, ...]) -> np.ndarray:
    """Return the 0/1 matrix (free, level) that leaves out each column's heaviest level.

    Log-ratios against the heaviest level are nearly uncorrelated: their covariance is
    diag(1/c) + 1/c_heaviest.
    """
    free = np.ones(len(weight), dtype=bool)
    for first, count in zip(starts(n_levels), n_levels, strict=True):
        if count:
            free[first + int(np.argmax(weight[first : first + count]))] = False
    return np.eye(len(weight))[free]


def log_ratios(
    concentration: Num[np.ndarray, "*batch level"], n_levels: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the free-level matrix and mean and sd of log-ratios under Dirichlet(concentration)."""
    place = baseline(concentration.reshape(-1, concentration.shape[-1]).sum(axis=0), n_levels)
    reference = segments(n_levels) @ (segments(n_levels).T * (1 - place.sum(axis=0)))
    contrast = place @ (np.eye(len(reference)) - reference)
    centre = digamma(concentration) @ contrast.T
    width = np.sqrt(polygamma(1, concentration) @ np.abs(contrast).T)
    return place, centre, width


@functools.cache
def dirichlets() -> type:
    """Return the numpyro distribution of independent Dirichlet vectors side by side."""
    import jax
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from jax.scipy.special import gammaln

    class Dirichlets(dist.Distribution):
        """Independent Dirichlet(concentration) vectors, one for each column's levels."""

        support = dist.constraints.positive
        pytree_aux_fields = ("n_levels",)

        def __init__(self, concentration: Traceable, n_levels: tuple[int, ...]) -> None:
            self.concentration, self.n_levels = concentration, n_levels
            super().__init__(
                concentration.shape[:-1], concentration.shape[-1:], validate_args=False
            )

        def sample(self, key: Traceable, sample_shape: tuple[int, ...] = ()) -> Traceable:
            shape = (*sample_shape, *self.concentration.shape)
            gammas = jax.random.loggamma(key, self.concentration, shape)
            return jnp.exp(log_normalise(gammas, self.n_levels))

        def log_prob(self, value: Traceable) -> Traceable:
            # a column of which no level stayed has the total 0 and no density
            total = self.concentration @ segments(tuple(n for n in self.n_levels if n))
            constant = gammaln(total).sum(-1) - gammaln(self.concentration).sum(-1)
            return constant + ((self.concentration - 1) * jnp.log(value)).sum(-1)

    return Dirichlets


def log_normalise(logits: Traceable, n_levels: tuple[int, ...]) -> Traceable:
    """Return logits minus their column's log-sum-exp (traced)."""
    import jax
    import jax.numpy as jnp

    column = jnp.repeat(
        jnp.arange(len(n_levels)), jnp.array(n_levels), total_repeat_length=sum(n_levels)
    )
    rows = jnp.moveaxis(logits, -1, 0)
    top = jax.lax.stop_gradient(jax.ops.segment_max(rows, column, len(n_levels)))
    sums = jax.ops.segment_sum(jnp.exp(rows - top[column]), column, len(n_levels))
    return jnp.moveaxis(rows - (top + jnp.log(sums))[column], 0, -1)


@functools.cache
def simplexes_transform() -> type:
    """Return the numpyro transform from free log-ratios to probability vectors side by side."""
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from numpyro.distributions.transforms import ParameterFreeTransform

    class SimplexesTransform(ParameterFreeTransform):
        """u -> softmax of (centre + width u) spread over the levels; the heaviest level gets 0."""

        domain = dist.constraints.real_vector
        codomain = dist.constraints.positive

        def __init__(
            self, place: Traceable, centre: Traceable, width: Traceable, n_levels: tuple
        ) -> None:
            self.place, self.centre, self.width, self.n_levels = place, centre, width, n_levels

        def __call__(self, u: Traceable) -> Traceable:
            return jnp.exp(
                log_normalise((self.centre + self.width * u) @ self.place, self.n_levels)
            )

        def log_abs_det_jacobian(
            self, u: Traceable, probs: Traceable, intermediates: Traceable | None = None
        ) -> Traceable:
            # d softmax has determinant prod(p) over all levels, the left-out one included
            return jnp.log(probs).sum(-1) + jnp.log(self.width).sum(-1)

        def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
            # a column of which no level stayed has no heaviest level to leave out
            return (*shape[:-1], shape[-1] - sum(n > 0 for n in self.n_levels))

    return SimplexesTransform
