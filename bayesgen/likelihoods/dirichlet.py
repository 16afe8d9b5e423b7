"""Dirichlet vectors of several columns, stored side by side on one axis of levels.

Levels of all columns share one axis, so columns with different numbers of levels need no padding.
`segments` is the 0/1 matrix of levels by columns; `starts` are the first levels of the columns.
"""

import functools

import numpy as np
from jaxtyping import Bool, Float, Int, Num
from scipy.special import digamma, gammaln, polygamma

from bayesgen.typing import Block, LevelCounts, Traceable

Segments = Float[np.ndarray, "level feature"]

SMALL_CONCENTRATION = 1.0
"""Below it the log of a Gamma variate is so skewed that its two sides need different scales."""
RIGHT_WIDTH = 0.7
"""Width of the right side then. NUTS on ten cells worth .01 to 300 rows: 0 divergences and 7 steps
a draw at .3, .7 and 1, where one scale had 321 of 4,000 and 74 steps."""


def segments(n_levels: LevelCounts) -> Segments:
    """Return 1 where a flat level belongs to a column, else 0."""
    out = np.zeros((sum(n_levels), len(n_levels)))
    out[np.arange(len(out)), np.repeat(np.arange(len(n_levels)), n_levels)] = 1.0
    return out


def starts(n_levels: LevelCounts) -> np.ndarray:
    """Return the flat position of each column's first level."""
    return np.concatenate([[0], np.cumsum(n_levels)[:-1]]).astype(int)


def kept_levels(n_levels: LevelCounts, index: np.ndarray) -> tuple[int, ...]:
    """Return the number of levels of each column among flat positions `index`."""
    column = np.repeat(np.arange(len(n_levels)), n_levels)[index]
    return tuple(int(n) for n in np.bincount(column, minlength=len(n_levels)))


def kept_codes(index: np.ndarray, n_levels: LevelCounts) -> list[np.ndarray]:
    """Return the kept levels of each column, as codes within the column."""
    firsts = zip(starts(n_levels), n_levels, strict=True)
    return [index[(index >= first) & (index < first + n)] - first for first, n in firsts]


def narrowed(x: Block, index: np.ndarray, n_levels: LevelCounts) -> Block:
    """Return codes among the kept levels; a code that was not kept is missing."""
    out = np.full_like(x, -1)
    for j, kept in enumerate(kept_codes(index, n_levels)):
        # the last entry serves missing cells
        code = np.full(n_levels[j] + 1, -1)
        code[kept] = np.arange(len(kept))
        out[:, j] = code[x[:, j]]
    return out


def widened(x: Block, index: np.ndarray, n_levels: LevelCounts) -> Block:
    """Return codes among all levels: the inverse of `narrowed`."""
    out = np.full_like(x, -1)
    for j, kept in enumerate(kept_codes(index, n_levels)):
        out[:, j] = np.append(kept, -1)[x[:, j]]
    return out


def without_levels(x: Block, lost: Bool[np.ndarray, "row level"], n_levels: LevelCounts) -> Block:
    """Return codes, missing where their level is lost; lost: the flat levels, of each row."""
    if not lost.shape[1]:
        return x  # no column has a level
    place = np.where(x < 0, 0, starts(n_levels) + x)
    return np.where(np.take_along_axis(lost, place, axis=1), -1, x)


def log_gammas(rng: np.random.Generator, shape: np.ndarray, n: int) -> np.ndarray:
    """Return logs of n Gamma(shape, 1) draws that do not underflow for small shapes.

    log Gamma(a) is distributed as log Gamma(a + 1) + log(U) / a (Marsaglia and Tsang 2000).
    """
    gamma = rng.standard_gamma(shape + 1.0, (n, *shape.shape))
    with np.errstate(divide="ignore"):  # a shape of 0: a class that is ruled out
        return np.log(gamma) + np.log(rng.random(gamma.shape)) / shape


def log_sums(log_values: np.ndarray, n_levels: LevelCounts) -> np.ndarray:
    """Return the log of the sum over each column's levels, shape (..., feature)."""
    parts = np.split(log_values, starts(n_levels)[1:], axis=-1)
    empty = np.zeros(log_values.shape[:-1])
    sums = [np.logaddexp.reduce(part, axis=-1) if part.shape[-1] else empty for part in parts]
    return np.stack(sums, axis=-1)


def heaviest(
    weight: Num[np.ndarray, "*batch level"], n_levels: LevelCounts
) -> Int[np.ndarray, "*batch level"]:
    """Return the flat position of each level's reference: the heaviest level of its column.

    Log-ratios against the heaviest level are nearly uncorrelated: their covariance is
    diag(1/c) + 1/c_heaviest.
    """
    firsts = zip(starts(n_levels), np.split(weight, starts(n_levels)[1:], axis=-1), strict=True)
    rivals = [
        np.broadcast_to(first + part.argmax(axis=-1, keepdims=True), part.shape)
        for first, part in firsts
        if part.shape[-1]
    ]
    return np.concatenate([np.empty((*weight.shape[:-1], 0), dtype=int), *rivals], axis=-1)


def log_ratios(
    concentration: Num[np.ndarray, "*batch level"], n_levels: LevelCounts
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return side, center, width and tail, which turn normal variates u into log-ratios.

    center + width u - tail softplus(-u)^2 / 2 is distributed approximately as the log-ratio of a
    level against the heaviest one of its column under Dirichlet(concentration). For a concentration
    a of at least 1 it is normal with the same mean and sd (tail 0). For smaller a the left tail is
    exponential with rate a, which a quadratic in u reproduces, and the right tail is as short as
    that of a few rows.

    side (*batch, level): -1 before the heaviest level of the column, 0 for that, 1 behind it. The
    others have the shape (*batch, free): the heaviest levels are left out.
    """
    rival = heaviest(concentration, n_levels)
    side = np.sign(np.arange(rival.shape[-1]) - rival)
    shape = (*side.shape[:-1], side.shape[-1] - sum(n > 0 for n in n_levels))
    mine = concentration[side != 0].reshape(shape)
    theirs = np.take_along_axis(concentration, rival, axis=-1)[side != 0].reshape(shape)
    small = mine < SMALL_CONCENTRATION
    power = np.where(small, mine, 1.0)
    mean = np.where(small, gammaln(power + 1) / power, digamma(mine)) - digamma(theirs)
    sd = np.sqrt(polygamma(1, mine) + polygamma(1, theirs))
    return side, mean, np.where(small, RIGHT_WIDTH, sd), np.where(small, 1 / power, 0.0)


def free_positions(n_levels: LevelCounts) -> tuple[np.ndarray, np.ndarray]:
    """Return a level's position among the free ones if it is before, or behind, its reference."""
    sizes = [n for n in n_levels if n]
    before = np.arange(sum(sizes)) - np.repeat(np.arange(len(sizes)), sizes)
    most = max(sum(sizes) - len(sizes) - 1, 0)
    return np.minimum(before, most), np.clip(before - 1, 0, most)


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

        def __init__(self, concentration: Traceable, n_levels: LevelCounts) -> None:
            self.concentration, self.n_levels = concentration, n_levels
            super().__init__(
                concentration.shape[:-1], concentration.shape[-1:], validate_args=False
            )

        def sample(self, key: Traceable, sample_shape: tuple[int, ...] = ()) -> Traceable:
            shape = (*sample_shape, *self.concentration.shape)
            gammas = jax.random.loggamma(key, self.concentration, shape)
            return jnp.exp(log_normalise(gammas, self.n_levels))

        def log_prob(self, value: Traceable) -> Traceable:
            # a column without kept levels has the total 0 and no density
            total = self.concentration @ segments(tuple(n for n in self.n_levels if n))
            constant = gammaln(total).sum(-1) - gammaln(self.concentration).sum(-1)
            return constant + ((self.concentration - 1) * jnp.log(value)).sum(-1)

    return Dirichlets


def log_normalise(logits: Traceable, n_levels: LevelCounts) -> Traceable:
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
    import jax
    import jax.numpy as jnp
    import numpyro.distributions as dist
    from numpyro.distributions.transforms import ParameterFreeTransform

    class SimplexesTransform(ParameterFreeTransform):
        """u -> softmax of the log-ratios of `log_ratios`; the heaviest level of a column gets 0."""

        domain = dist.constraints.real_vector
        codomain = dist.constraints.positive

        def __init__(
            self,
            side: Traceable,
            centre: Traceable,
            width: Traceable,
            tail: Traceable,
            n_levels: LevelCounts,
        ) -> None:
            self.side, self.centre, self.width, self.tail = side, centre, width, tail
            self.n_levels = n_levels

        def __call__(self, u: Traceable) -> Traceable:
            left = jax.nn.softplus(-u)
            ratios = self.centre + self.width * u - self.tail * left**2 / 2
            if not ratios.shape[-1]:
                return jnp.ones((*ratios.shape[:-1], self.side.shape[-1]))
            before, behind = (ratios[..., at] for at in free_positions(self.n_levels))
            logits = jnp.where(self.side < 0, before, jnp.where(self.side > 0, behind, 0.0))
            return jnp.exp(log_normalise(logits, self.n_levels))

        def log_abs_det_jacobian(
            self, u: Traceable, probs: Traceable, intermediates: Traceable | None = None
        ) -> Traceable:
            # d softmax has determinant prod(p) over all levels, the left-out one included
            slope = self.width + self.tail * jax.nn.softplus(-u) * jax.nn.sigmoid(-u)
            return jnp.log(probs).sum(-1) + jnp.log(slope).sum(-1)

        def inverse_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
            # a column without kept levels has no heaviest level to leave out
            return (*shape[:-1], shape[-1] - sum(n > 0 for n in self.n_levels))

    return SimplexesTransform
