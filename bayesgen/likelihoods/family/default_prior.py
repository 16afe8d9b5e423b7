"""Default prior of a `Family`: centered at the pooled estimate, with the strength of a few rows.

The unconstrained parameters of a column (the logarithm or log-odds of a bounded parameter) are
normal around the maximum likelihood estimate of all classes together, with the precision of `rows`
average rows, correlations included: Kass and Wasserman's unit-information prior. It is equivariant
under changes of a column's unit. Where the likelihood is flat (the degrees of freedom of a t, when
the column is normal) rows carry no information, and the standard deviation is CAP instead.

Modes of all classes and columns are found at once, by Newton's method from moment estimates,
compiled once for each declaration. (The Newton-CG of `inference` solves one problem in thousands of
dimensions; here there are thousands of problems in few dimensions, with full Hessians.)

Source: Kass and Wasserman, "A reference Bayesian test for nested hypotheses and its relationship to
the Schwarz criterion", JASA 90 (1995) 928-934.
"""

import dataclasses
import functools
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.family.declaration import Declaration
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
STEPS = 100
"""Newton steps at most; from moments it takes 10 to 25 (measured)."""
NOTHING = 1e-20
"""Rise of the log density that a step promises, below which a group has arrived."""
ROUNDING = 1e-12
"""Relative fall of the log density that may be rounding."""
DAMPING, SOFTER, HARDER = 1e-2, 0.1, 8.0
"""Levenberg's damping, in units of the curvature, at the start; after a good step; after a bad."""


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
    found = _modes(declaration, values, values.column, precision)
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
    u, information, widest = _modes(declaration, values, group, precision, around)
    root = _root(information, widest)
    return u.reshape(centre.shape), _triangular(root).reshape(*centre.shape, n_names)


def _modes(
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
    u, information = newton_mode(
        declaration,
        values,
        group,
        start=starts,
        centre=centre,
        precision=precision,
        low=starts.min(axis=0) - reach,
        high=starts.max(axis=0) + reach,
        priors=around is not None,
    )
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
    gamma = gamma and bool((mean > 0).any())
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


# -- Newton's method -------------------------------------------------------------------------------


def newton_mode(
    declaration: Declaration,
    values: Values,
    group: np.ndarray,
    *,
    start: np.ndarray,
    centre: np.ndarray,
    precision: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    priors: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the highest mode of each group that the starts lead to, and minus the Hessian there.

    Args:
        declaration: the distribution.
        values: of all groups.
        group: that of each segment of values, (segment,).
        start: (start, group, parameter), real coordinates.
        centre: of a normal density that is added, (group, parameter).
        precision: of the same, (group, parameter, parameter).
        low: bound of each parameter, (group, parameter).
        high: the same.
        priors: whether stated priors are added.
    """
    import jax
    import jax.numpy as jnp

    with jax.enable_x64(True):
        arrays = (values.value, values.weight, group, start, centre, precision, low, high, priors)
        found = jax.device_get(_compiled(declaration)(*map(jnp.asarray, arrays)))
    u, height, information = found
    best = np.argmax(np.where(np.isnan(height), -np.inf, height), axis=0)
    each = np.arange(len(best))
    return u[best, each], information[best, each]


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
        rows = jax.vmap(_derivatives(segment))
        stated = jax.vmap(_derivatives(lambda u: _log_priors(declaration, u)))

        def height(u: Traceable) -> tuple:
            sums = (jax.ops.segment_sum(a, group, len(u)) for a in rows(u[group], value, weight))
            top, slope, hessian = sums
            if declaration.stated.any():
                more = (jnp.where(priors, a, 0.0) for a in stated(u))
                top, slope, hessian = (
                    a + b for a, b in zip((top, slope, hessian), more, strict=True)
                )
            off = u - centre
            pull = jnp.einsum("gij,gj->gi", precision, off)
            return top - (off * pull).sum(-1) / 2, slope - pull, hessian - precision

        return jax.lax.map(lambda u: _walk(height, u, low, high), start)

    return run


def _derivatives(f: Callable) -> Callable:
    """Return a function that gives value, gradient and Hessian by the first argument."""
    import jax

    def derivatives(*args: Traceable) -> tuple:
        def slope(u: Traceable) -> tuple:
            top, gradient = jax.value_and_grad(f)(u, *args[1:])
            return gradient, (top, gradient)

        hessian, (top, gradient) = jax.jacfwd(slope, has_aux=True)(args[0])
        return top, gradient, hessian

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


def _walk(height: Callable, start: Traceable, low: Traceable, high: Traceable) -> tuple:
    """Return where Newton's method ends, how high that is, and the information there."""
    import jax
    import jax.numpy as jnp

    n, n_names = start.shape

    def step(state: tuple) -> tuple:
        i, point, best, damping, _, u = state
        there = height(u)
        finite = jnp.isfinite(there[0]) & jnp.isfinite(there[1]).all(-1)
        finite &= jnp.isfinite(there[2]).all((-1, -2))
        good = finite & (there[0] >= best[0] - ROUNDING * (1 + jnp.abs(best[0])))
        good |= finite & ~jnp.isfinite(best[0])
        best = tuple(
            jnp.where(good.reshape(n, *[1] * (new.ndim - 1)), new, old)
            for new, old in zip(there, best, strict=True)
        )
        point = jnp.where(good[:, None], u, point)
        damping = jnp.where(
            good, jnp.maximum(SOFTER * damping, 1e-12), jnp.minimum(HARDER * damping + 1e-6, 1e12)
        )
        target = jnp.clip(point + _damped(best[1], best[2], damping), low, high)
        promise = jnp.abs(best[1] * (target - point)).sum(-1)
        return i + 1, point, best, damping, jnp.where(good, promise, jnp.inf), target

    def go_on(state: tuple) -> Traceable:
        i, _, _, damping, promise, _ = state
        return (i < STEPS) & ((promise > NOTHING) & (damping < 1e12)).any()

    nothing = (jnp.full(n, -jnp.inf), jnp.zeros((n, n_names)), jnp.zeros((n, n_names, n_names)))
    begin = (0, start, nothing, jnp.full(n, DAMPING), jnp.full(n, jnp.inf), start)
    _, point, best, _, _, _ = jax.lax.while_loop(go_on, step, begin)
    return point, best[0], -best[2]


def _damped(slope: Traceable, hessian: Traceable, damping: Traceable) -> Traceable:
    """Return the step uphill, (group, parameter), from gradient, Hessian and damping of groups.

    Levenberg-Marquardt damping, in units of the curvature of each coordinate, keeps steps uphill
    where the density is not concave, and makes them independent of units.
    """
    import jax.numpy as jnp

    size = jnp.sqrt(jnp.abs(jnp.diagonal(hessian, axis1=-2, axis2=-1)))
    # a parameter without effect stays where it is
    size = jnp.where(size > 0, size, 1.0)
    weight = damping[:, None, None] * jnp.eye(slope.shape[-1])
    matrix = weight - hessian / size[:, :, None] / size[:, None]
    move = jnp.linalg.solve(matrix, (slope / size)[..., None])[..., 0] / size
    return jnp.where(jnp.isfinite(move), move, 0.0)
