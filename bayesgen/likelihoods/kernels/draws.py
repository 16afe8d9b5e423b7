"""Densities under draws of the weights of rows and base, and of the bandwidth.

Within a class the weights are Dirichlet: Gamma variables divided by their sum. The components of a
class are its kernels and, last, the base.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.kernels.joint import Kernels
from bayesgen.likelihoods.kernels.sums import Bandwidths, Squares
from bayesgen.typing import Block, Joint, Params

Base = Callable[[Block], Joint]


def gammas(
    kernels: Kernels, base_rows: float, rng: np.random.Generator, n: int
) -> list[Float[np.ndarray, "draw component"]]:
    """Return n draws of the Gamma variables of the components of each class."""
    rows = rng.gamma(kernels.weight, size=(n, len(kernels.weight)))
    base = rng.gamma(base_rows, size=(n, kernels.n_classes))
    return [np.column_stack([rows[:, part], base[:, k]]) for k, part in enumerate(kernels.parts)]


def _components(
    squares: Squares, height: np.ndarray, base: np.ndarray, h: float
) -> tuple[Float[np.ndarray, "row component"], Float[np.ndarray, " row"]]:
    """Return densities of the components of a class relative to the largest, and its log.

    height, base: logs of the kernels' height and of the density of the base, (row,).
    """
    nearest = squares.min(axis=1, initial=np.inf)
    level = np.maximum(height - nearest / (2 * h**2), base)
    # as distances lie in memory, the rows of a center side by side
    out = np.empty((squares.shape[1] + 1, len(squares))).T
    np.multiply(squares, -0.5 / h**2, out=out[:, :-1])
    out[:, :-1] += (height - level)[:, None]
    out[:, -1] = base - level
    return np.exp(out, out=out), level


def density_given(kernels: Kernels, base: Base, params: Params) -> Callable[[Block], np.ndarray]:
    """Return x -> log p(observed part of x given y = k, params), shape (row, *draws, class).

    Draws of one bandwidth share its kernels, which are one matrix product with their weights.
    """
    lead, bandwidth = params["bandwidth"].shape, params["bandwidth"].reshape(-1)
    n = len(bandwidth)
    rows, bases = (params[name].reshape(n, -1) for name in ("row_weight", "base_weight"))
    weights = [np.column_stack([rows[:, a], bases[:, k]]).T for k, a in enumerate(kernels.parts)]
    groups = [(float(h), np.flatnonzero(bandwidth == h)) for h in np.unique(bandwidth)]
    groups = [(h, draws, [weight[:, draws] for weight in weights]) for h, draws in groups]

    def log_density(x: Block) -> np.ndarray:
        out = np.zeros((kernels.n_classes, n, len(x)))
        broad, size = base(x), (~np.isnan(x)).sum(axis=1)
        for rows, squares, height in kernels.located(x):
            for h, draws, weights in groups:
                top = height - size[rows] * np.log(h)
                for k, weight in enumerate(weights):
                    density, level = _components(squares[k], top, broad[rows, k], h)
                    total = (density @ weight).T
                    out[k, draws[:, None], rows] = np.log(total, out=total) + level
        return out.T.reshape(len(x), *lead, kernels.n_classes)

    return log_density


def updated_density_draws(
    kernels: Kernels,
    base: Base,
    log_densities: Callable[[Block], Float[np.ndarray, "row class bandwidth"]],
    bandwidth: Bandwidths,
    base_rows: float,
    rng: np.random.Generator,
    n: int,
) -> Callable[[Block, np.ndarray], np.ndarray]:
    """Return (x, own) -> log p(x given y = k, theta), shape (draw, row, class).

    theta is updated by the row x itself: its density by class own[draw, row] weighs the bandwidths;
    a component of that class is picked by its share of the density, and the Gamma variable of its
    weight gains one of shape 1.

    log_densities: x -> log of weight times density by class and bandwidth.
    """
    gamma = gammas(kernels, base_rows, rng, n)
    more, which_bandwidth, which_component = rng.exponential(size=n), rng.random(n), rng.random(n)
    weights = [np.append(kernels.weight[part], base_rows) for part in kernels.parts]
    totals = [variables.sum(axis=1) for variables in gamma]

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        out = np.zeros((*own.shape, kernels.n_classes))
        broad, size, logs = base(x), (~np.isnan(x)).sum(axis=1), log_densities(x)
        share = np.exp(logs - np.logaddexp.reduce(logs, axis=2, keepdims=True))
        steps = share.cumsum(axis=2)[:, :, :-1]
        picked = (which_bandwidth[:, None, None] >= steps[np.arange(len(x)), own]).sum(axis=2)
        for rows, squares, height in kernels.located(x):
            for j in np.unique(picked[:, rows]):
                here, h = picked[:, rows] == j, float(bandwidth[j])
                top = height - size[rows] * np.log(h)
                for k, weight in enumerate(weights):
                    density, level = _components(squares[k], top, broad[rows, k], h)
                    value = gamma[k] @ density.T
                    norm = np.tile(totals[k][:, None], len(rows))
                    update = here & (own[:, rows] == k)
                    for r in np.flatnonzero(update.any(axis=0)):
                        draws = np.flatnonzero(update[:, r])
                        ends = (weight * density[r]).cumsum()
                        place = np.searchsorted(ends, which_component[draws] * ends[-1], "right")
                        value[draws, r] += more[draws] * density[r, place.clip(max=len(ends) - 1)]
                        norm[draws, r] += more[draws]
                    logs = level + np.log(value) - np.log(norm)
                    out[:, rows, k] = np.where(here, logs, out[:, rows, k])
        return out

    return log_density
