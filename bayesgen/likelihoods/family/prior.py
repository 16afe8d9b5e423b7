"""The default prior of a Family: what all classes together say, worth a few rows.

On the real line behind each parameter (its logarithm or log-odds where it is bounded) the
parameters of a column are normal around the maximum likelihood of all classes together, with the
precision of `rows` average rows, correlations included: Kass and Wasserman's unit-information
prior. It moves along with the unit of a column. Where the likelihood is flat (the degrees of
freedom of a t, when the column is normal) no row says anything, and a width of CAP stands in.

Source: Kass and Wasserman, "A reference Bayesian test for nested hypotheses and its relationship to
the Schwarz criterion", JASA 90 (1995) 928-934.
"""

import functools

import numpy as np

from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.family.declaration import Declaration
from bayesgen.likelihoods.family.hyperparameters import Moments, first_guesses, moments
from bayesgen.likelihoods.family.newton import Problem, newton_mode
from bayesgen.typing import Traceable

CAP = 2.0
"""Greatest standard deviation of a logarithm or of log-odds: a factor of e^4 covers 95 %."""
ANGLE = np.pi / 2
"""Greatest standard deviation of a direction."""
FAR = 100.0
"""Greatest standard deviation of any other real parameter, in deviations of its column."""
BOUND = 30.0
"""How far a logarithm or log-odds may go from where it starts: the density of a column of ties has
no maximum."""
LARGEST = 32.0
"""Logarithm or log-odds of a pure number, 8e13, beyond which densities of a row have no digit."""


def pooled(declaration: Declaration, values: Values, rows: float) -> tuple[np.ndarray, np.ndarray]:
    """Return centre (feature, parameter) and covariance's Cholesky factor of the default prior.

    Parameters with a stated prior have a centre too, where optimisers start, and zeros in the
    factor. Columns that say nothing hold NaN.
    """
    n_features, n_names = values.n_features, len(declaration.names)
    # as many groups and starts as `own` has: both run the same compiled code
    n_groups = values.n_classes * n_features
    scales = moments(declaration, values, values.column, n_groups)
    guesses = first_guesses(declaration, scales)
    starts = np.concatenate([guesses[:1], guesses])
    # a weak pull, worth a row, keeps pure numbers from running away
    ridge = np.diag(np.where(declaration.pure(), CAP**-2, 0.0))
    low, high = _bounds(declaration, starts, scales)
    problem = Problem(
        starts,
        np.zeros((n_groups, n_names)),
        np.broadcast_to(ridge, (n_groups, n_names, n_names)),
        low,
        high,
        priors=False,
    )
    top = newton_mode(declaration, values, values.column, problem)
    weight = values.count().sum(axis=0)
    information = (top.information[:n_features] - ridge) / np.maximum(weight, 1.0)[:, None, None]
    widest = _widest(declaration, scales)[:n_features]
    root = _root(rows * information, widest)
    silent = (weight == 0) | _constant(declaration, values)
    return (
        np.where(silent[:, None], np.nan, top.u[:n_features]),
        np.where(silent[:, None, None], np.nan, _factor(root, declaration.stated)),
    )


def own(
    declaration: Declaration, values: Values, centre: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mode and Cholesky factor of the covariance of each class's posterior.

    (class, feature, parameter) and (class, feature, parameter, parameter), in the real coordinates
    behind the parameters: the normal that has the posterior's curvature at the mode.
    """
    shape = (values.n_classes, values.n_features, len(declaration.names))
    n_groups, n_names = shape[0] * shape[1], shape[2]
    group = values.y * values.n_features + values.column
    around = centre.reshape(n_groups, n_names)
    scales = moments(declaration, values, group, n_groups)
    guesses = first_guesses(declaration, scales)
    starts = np.where(_spread_out(scales)[:, None], np.stack([around, *guesses]), around)
    precision = np.broadcast_to(
        _precision(factor, declaration.stated), (*shape[:2], n_names, n_names)
    )
    low, high = _bounds(declaration, starts, scales)
    problem = Problem(
        starts, around, precision.reshape(n_groups, n_names, n_names), low, high, priors=True
    )
    top = newton_mode(declaration, values, group, problem)
    root = _root(top.information, _widest(declaration, scales))
    return top.u.reshape(shape), _triangular(root).reshape(*shape, n_names)


@functools.cache
def resolvable_normal() -> type:
    """Return the class of normals whose density is 0 beyond LARGEST.

    There the densities of NumPyro's distributions are differences of larger numbers, of which
    rounding leaves anything: a chain that leapt to 1e16 degrees of freedom stayed for their sake.
    """
    import jax.numpy as jnp
    from numpyro.distributions import Normal

    class ResolvableNormal(Normal):
        def log_prob(self, value: Traceable) -> Traceable:
            return jnp.where(jnp.abs(value) <= LARGEST, super().log_prob(value), -jnp.inf)

    return ResolvableNormal


def _constant(declaration: Declaration, values: Values) -> np.ndarray:
    """Return which columns have one value only and no scale to judge it by."""
    column, _, value, _ = values.cells()
    low, high = np.full((2, values.n_features), np.nan)
    np.fmin.at(low, column, value)
    np.fmax.at(high, column, value)
    return (low == high) & (not declaration.discrete) & (not declaration.stated.all())


def _spread_out(scales: list[Moments]) -> np.ndarray:
    return np.all([scale.sd > 0 for scale in scales], axis=0)


def _bounds(
    declaration: Declaration, starts: np.ndarray, scales: list[Moments]
) -> tuple[np.ndarray, np.ndarray]:
    """Return how far each parameter may go from the starts, (group, parameter) each."""
    sd = np.max([scale.unit() for scale in scales], axis=0)
    reach = np.where(declaration.real(), FAR * sd[:, None], BOUND)
    return starts.min(axis=0) - reach, starts.max(axis=0) + reach


def _widest(declaration: Declaration, scales: list[Moments]) -> np.ndarray:
    """Return the greatest standard deviation of each parameter, (group, parameter)."""
    sd = np.max([scale.unit() for scale in scales], axis=0)
    far = np.full(len(sd), ANGLE) if declaration.circular else FAR * sd
    return np.where(declaration.real(), far[:, None], CAP)


def _root(information: np.ndarray, widest: np.ndarray) -> np.ndarray:
    """Return a matrix A with A A' = the inverse of information, no direction wider than `widest`.

    Never A A' itself, whose smallest variance is lost in rounding where one is 1e16 of another.
    """
    scaled = information * widest[:, :, None] * widest[:, None, :]
    scaled = np.nan_to_num(scaled + np.swapaxes(scaled, -1, -2)) / 2
    values, vectors = np.linalg.eigh(scaled)
    return widest[:, :, None] * vectors / np.sqrt(np.maximum(values, 1.0))[:, None, :]


def _triangular(root: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of A A'."""
    upper = np.linalg.qr(np.swapaxes(root, -1, -2), mode="r")
    sign = np.where(np.diagonal(upper, axis1=-2, axis2=-1) < 0, -1.0, 1.0)
    return np.swapaxes(upper * sign[..., None], -1, -2)


def _factor(root: np.ndarray, stated: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of the covariance of what has no stated prior, zeros elsewhere."""
    free = np.flatnonzero(~stated)
    out = np.zeros_like(root)
    out[np.ix_(range(len(out)), free, free)] = _triangular(root[:, free])
    return out


def _precision(factor: np.ndarray, stated: np.ndarray) -> np.ndarray:
    free = np.flatnonzero(~stated)
    out = np.zeros_like(factor)
    at = np.ix_(range(len(out)), free, free)
    inverse = np.linalg.inv(factor[at])
    out[at] = np.swapaxes(inverse, -1, -2) @ inverse
    return out
