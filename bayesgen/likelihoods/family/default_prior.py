"""Default prior of a `Family`: centered at the pooled estimate, with the strength of a few rows.

The unconstrained parameters of a column (the logarithm or log-odds of a bounded parameter) are
normal around the maximum likelihood estimate of all classes together, with the precision of `rows`
average rows, correlations included: Kass and Wasserman's unit-information prior. It is equivariant
under changes of a column's unit. Where the likelihood is flat (the degrees of freedom of a t, when
the column is normal) rows carry no information, and the standard deviation is CAP instead.

Modes of all classes and columns are found at once, by Newton's method from moment estimates; their
derivatives are compiled once for each declaration.

Source: Kass and Wasserman, "A reference Bayesian test for nested hypotheses and its relationship to
the Schwarz criterion", JASA 90 (1995) 928-934.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.family.declaration import Declaration
from bayesgen.optimize import DAMPING, Quadratic, newton
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
    """Return center (feature, parameter) and covariance's Cholesky factor of the default prior.

    Parameters with a stated prior have a center too, where optimizers start, and zeros in the
    factor. Uninformative columns hold NaN.
    """
    # as many groups as `own` has, for the same compiled code
    n_features, n_groups = values.n_features, values.n_classes * values.n_features
    # a weak prior, of strength one row, keeps pure numbers from diverging
    ridge = np.diag(np.where(declaration.pure, CAP**-2, 0.0))
    precision = np.broadcast_to(ridge, (n_groups, *ridge.shape))
    found = modes(declaration, values, values.column, precision)
    u, information, widest = (array[:n_features] for array in found)
    weight = values.count().sum(axis=0)
    root = _root(rows * (information - ridge) / np.maximum(weight, 1.0)[:, None, None], widest)
    free = np.ix_(range(n_features), *[np.flatnonzero(~declaration.stated)] * 2)
    factor = np.zeros_like(root)
    factor[free] = _triangular(root[:, ~declaration.stated])
    silent = (weight == 0) | _constant(declaration, values)
    return np.where(silent[:, None], np.nan, u), np.where(silent[:, None, None], np.nan, factor)


def own(
    declaration: Declaration, values: Values, centre: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mode and Cholesky factor of the covariance of each class's posterior.

    (class, feature, parameter) and (class, feature, parameter, parameter), in the real coordinates
    behind the parameters: the normal that has the posterior's curvature at the mode.
    """
    n_names = centre.shape[-1]
    free = np.ix_(range(len(factor)), *[np.flatnonzero(~declaration.stated)] * 2)
    inverse, precision = np.linalg.inv(factor[free]), np.zeros_like(factor)
    precision[free] = np.swapaxes(inverse, -1, -2) @ inverse
    precision = np.tile(precision, (values.n_classes, 1, 1))
    group = values.y * values.n_features + values.column
    around = centre.reshape(-1, n_names)
    u, information, widest = modes(declaration, values, group, precision, around)
    root = _root(information, widest)
    return u.reshape(centre.shape), _triangular(root).reshape(*centre.shape, n_names)


def modes(
    declaration: Declaration,
    values: Values,
    group: np.ndarray,
    precision: np.ndarray,
    around: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mode of each group of segments, minus the Hessian there, and greatest widths.

    precision: of a normal density that is added, (group, parameter, parameter), around `around`,
    (group, parameter); without it around 0, and stated priors are left out.
    """
    import jax

    scales = moments(declaration, values, group, len(precision))
    guesses = first_guesses(declaration, scales)
    unit = np.max([scale.unit() for scale in scales], axis=0)[:, None]
    if around is None:
        # as many starts as there are with it, for the same compiled code
        starts, centre = np.concatenate([guesses[:1], guesses]), np.zeros_like(guesses[0])
    else:
        varied = np.all([scale.sd > 0 for scale in scales], axis=0)[:, None]
        starts, centre = np.where(varied, np.stack([around, *guesses]), around), around
    reach = np.where(declaration.real, FAR * unit, BOUND)
    low, high = starts.min(axis=0) - reach, starts.max(axis=0) + reach
    with jax.enable_x64(True):
        run, priors = _compiled(declaration), around is not None
        ends = run(values.value, values.weight, group, starts, centre, precision, low, high, priors)
        u, height, information = jax.device_get(ends)
    best = np.argmax(height, axis=0), np.arange(len(unit))
    u, information = u[best], information[best]
    far = np.full_like(unit, ANGLE) if declaration.circular else FAR * unit
    return u, information, np.where(declaration.real, far, CAP)


@functools.cache
def resolvable_normal() -> type:
    """Return the class of normals whose density is 0 beyond LARGEST.

    Beyond it the densities of NumPyro's distributions are differences of large numbers, dominated
    by rounding error: a chain that jumped to 1e16 degrees of freedom stayed there for that reason.
    """
    import jax.numpy as jnp
    from numpyro.distributions import Normal

    class ResolvableNormal(Normal):
        def log_prob(self, value: Traceable) -> Traceable:
            return jnp.where(jnp.abs(value) <= LARGEST, super().log_prob(value), -jnp.inf)

    return ResolvableNormal


def _constant(declaration: Declaration, values: Values) -> np.ndarray:
    """Return a mask of the columns with a single value, and so without a scale."""
    column, _, value, _ = values.cells()
    low, high = np.full((2, values.n_features), np.nan)
    np.fmin.at(low, column, value)
    np.fmax.at(high, column, value)
    return (low == high) & (not declaration.discrete) & (not declaration.stated.all())


def _root(information: np.ndarray, widest: np.ndarray) -> np.ndarray:
    """Return a matrix A with A A' = the inverse of information, no direction wider than `widest`.

    A A' itself is never formed: its smallest variance is lost to rounding if variances differ by
    1e16.
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


# -- guesses by moments ----------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """Mean and standard deviation of each group of values in one scale, (group,)."""

    mean: np.ndarray
    sd: np.ndarray

    def unit(self) -> np.ndarray:
        """Return the standard deviation; where it is 0, another scale of the values."""
        size = np.where(self.mean == 0, 1.0, np.abs(self.mean))
        return np.where(self.sd > 0, self.sd, size)


def moments(
    declaration: Declaration, values: Values, group: np.ndarray, n_groups: int
) -> list[Moments]:
    """Return the moments of groups of segments: raw, and of logarithms or log-odds if any."""
    weight = np.bincount(group, values.weight.sum(axis=1), n_groups)
    safe = np.where(weight > 0, weight, 1.0)

    def average(cells: np.ndarray) -> np.ndarray:
        return np.bincount(group, (values.weight * cells).sum(axis=1), n_groups) / safe

    if declaration.circular:
        sine, cosine = average(np.sin(values.value)), average(np.cos(values.value))
        length = np.clip(np.hypot(sine, cosine), 1e-3, 1 - 1e-12)
        return [Moments(np.arctan2(sine, cosine), np.sqrt(-2 * np.log(length)))]
    low, high = (getattr(declaration.support, f"{end}_bound", None) for end in ("lower", "upper"))
    scales = [values.value]
    if not declaration.discrete and low is not None:
        logs = np.log(values.value - low)
        scales.append(logs if high is None else logs - np.log(high - values.value))
    found = []
    for cells in scales:
        mean = average(cells)
        found.append(Moments(mean, np.sqrt(average((cells - mean[group, None]) ** 2))))
    return found


def first_guesses(declaration: Declaration, scales: list[Moments]) -> np.ndarray:
    """Return guesses in real coordinates, (guess, group, parameter).

    The name of a parameter gives its role: locations are means, scales deviations, rates their
    inverse, pure numbers 1 or 1/2. The second guess is by Gamma's moments: mean^2 / variance for
    pure numbers, mean / variance for rates.
    """
    import jax

    parameters = range(len(declaration.names))
    with jax.enable_x64(True):
        guesses = [
            np.stack([_guess(declaration, i, scale, gamma=gamma) for i in parameters], axis=-1)
            for scale in scales
            for gamma in (False, True)
        ]
    return np.stack(guesses)


def _guess(declaration: Declaration, index: int, scale: Moments, *, gamma: bool) -> np.ndarray:
    mean, sd, name = scale.mean, scale.unit(), declaration.names[index]
    if declaration.real[index]:
        return mean
    ratio = np.where(mean > 0, mean, sd) / sd
    value = {
        "mean": mean,
        "scale": sd,
        "rate": ratio / sd if gamma else 1 / sd,
    }.get(name, ratio**2 if gamma and declaration.pure[index] else None)
    if value is None:
        return np.zeros_like(mean)
    u = np.asarray(declaration.bijection(name).inv(value))
    # a value outside the support of the parameter is not a valid guess
    return np.where(np.isfinite(u), u, 0.0)


# -- derivatives -----------------------------------------------------------------------------------


@functools.lru_cache(maxsize=32)
def _compiled(declaration: Declaration) -> Callable:
    import jax
    import jax.numpy as jnp

    def segment(u: Traceable, value: Traceable, weight: Traceable) -> Traceable:
        return (weight * declaration.build(declaration.params(u)).log_prob(value)).sum()

    @jax.jit
    def run(
        value: Traceable,
        weight: Traceable,
        group: Traceable,
        start: Traceable,
        centre: Traceable,
        precision: Traceable,
        low: Traceable,
        high: Traceable,
        priors: Traceable,
    ) -> tuple:
        def density(u: Traceable) -> Quadratic:
            rows = jax.vmap(_derivatives(segment))(u[group], value, weight)
            sums = tuple(jax.ops.segment_sum(a, group, len(u)) for a in rows)
            if declaration.stated.any():
                stated = jax.vmap(_derivatives(functools.partial(_log_priors, declaration)))(u)
                sums = jax.tree.map(lambda a, b: a + jnp.where(priors, b, 0.0), sums, stated)
            height, slope, hessian = sums
            off = u - centre
            pull = jnp.einsum("gij,gj->gi", precision, off)
            height -= (off * pull).sum(-1) / 2
            return Quadratic(height, slope - pull, hessian - precision)

        def mode(u: Traceable) -> tuple:
            loop = jax.lax.while_loop
            u, top = newton(density, u, low=low, high=high, damping=DAMPING, loop=loop)
            return u, top.value, -top.hessian

        return jax.lax.map(mode, start)

    return run


def _derivatives(f: Callable) -> Callable:
    """Return a function that gives value, gradient and Hessian by the first argument."""
    import jax

    def slope(*args: Traceable) -> tuple:
        value, gradient = jax.value_and_grad(f)(*args)
        return gradient, (value, gradient)

    def derivatives(*args: Traceable) -> tuple:
        hessian, (value, gradient) = jax.jacfwd(slope, has_aux=True)(*args)
        return value, gradient, hessian

    return derivatives


def _log_priors(declaration: Declaration, u: Traceable) -> Traceable:
    """Return the log density of stated priors against the scale-free measure."""
    total = 0.0
    for i, name in enumerate(declaration.names):
        prior, bijection = dict(declaration.priors).get(name), declaration.bijection(name)
        if prior is not None:
            value = bijection(u[i])
            total += prior.log_prob(value) + bijection.log_abs_det_jacobian(u[i], value)
    return total
