"""Densities under draws of the weights of rows and base, and of the bandwidth.

Within a class the weights are Dirichlet: Gamma variables divided by their sum.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.kernel_discriminant.kernels import Bandwidths, Kernels
from bayesgen.typing import Block, Joint, Numbers, Params

Base = Callable[[Block], Joint]


def _heights(squares: Numbers, height: np.ndarray, size: np.ndarray, h: float) -> tuple:
    """Return kernels relative to the nearest center's, and the log of that one's."""
    near = squares.min(axis=1) if squares.shape[1] else np.full(len(squares), np.inf)
    finite = np.where(np.isfinite(near), near, 0.0)
    kernel = np.exp((squares - finite[:, None]) * (-0.5 / h**2))
    return kernel, height - near / (2 * h**2) - size * np.log(h)


def density_given(kernels: Kernels, base: Base, params: Params) -> Callable[[Block], np.ndarray]:
    """Return x -> log p(observed part of x given y = k, params), shape (row, *draws, class).

    Draws of one bandwidth share its kernels, which are one matrix product with their weights.
    """
    lead = params["bandwidth"].shape
    bandwidth = params["bandwidth"].reshape(-1)
    order = np.argsort(bandwidth, kind="stable")
    weight = params["row_weight"].reshape(len(bandwidth), -1)[order]
    base_weight = params["base_weight"].reshape(len(bandwidth), -1)[order]
    widths, starts = np.unique(bandwidth[order], return_index=True)
    ends = np.append(starts[1:], len(order))
    # of each class the weights of its centers and, last, of the base: (center, draw)
    weights = [
        np.concatenate([weight[:, part].T, base_weight[None, :, k]])
        for k, part in enumerate(kernels.parts)
    ]
    moved = (np.diff(order) < 0).any()

    def log_density(x: Block) -> np.ndarray:
        out = np.zeros((len(x), kernels.n_classes, len(bandwidth)))
        broad, size = base(x), (~np.isnan(x)).sum(axis=1)
        for rows, squares, height in kernels.located(x):
            whole = np.array_equal(rows, np.arange(len(x)))
            found = out if whole else np.empty((len(rows), *out.shape[1:]))
            room = np.empty(len(rows) * len(bandwidth))
            for k, square in enumerate(squares):
                for h, start, end in zip(widths, starts, ends, strict=True):
                    kernel, top = _heights(square, height, size[rows], float(h))
                    ref = np.maximum(top, broad[rows, k])
                    # as distances lie in memory, the rows of a center side by side
                    each = np.empty((kernel.shape[1] + 1, len(rows))).T
                    np.multiply(kernel, np.exp(top - ref)[:, None], out=each[:, :-1])
                    each[:, -1] = np.exp(broad[rows, k] - ref)
                    # fresh memory costs as much as the product
                    total = room[: len(rows) * (end - start)].reshape(len(rows), -1)
                    np.matmul(each, weights[k][:, start:end], out=total)
                    np.log(total, out=total)
                    np.add(total, ref[:, None], out=found[:, k, start:end])
            if not whole:
                out[rows] = found
        if moved:
            out = out[:, :, np.argsort(order)]
        return np.swapaxes(out, 1, 2).reshape(len(x), *lead, kernels.n_classes)

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
    gamma = rng.gamma(kernels.weight, size=(n, len(kernels.weight)))
    base_gamma = rng.gamma(base_rows, size=(n, kernels.n_classes))
    more, which_bandwidth, which_component = rng.exponential(size=n), rng.random(n), rng.random(n)
    total = base_gamma + np.stack([gamma[:, part].sum(axis=1) for part in kernels.parts], axis=1)

    def log_density(x: Block, own: np.ndarray) -> np.ndarray:
        out = np.zeros((*own.shape, kernels.n_classes))
        broad, size, logs = base(x), (~np.isnan(x)).sum(axis=1), log_densities(x)
        share = np.exp(logs - np.logaddexp.reduce(logs, axis=2, keepdims=True))
        steps = share.cumsum(axis=2)[:, :, :-1]
        picked = (which_bandwidth[:, None, None] >= steps[np.arange(len(x)), own]).sum(axis=2)
        for rows, squares, height in kernels.located(x):
            for j in np.unique(picked[:, rows]):
                here = picked[:, rows] == j
                for k, part in enumerate(kernels.parts):
                    h = float(bandwidth[j])
                    kernel, top = _heights(squares[k], height, size[rows], h)
                    ref = np.maximum(top, broad[rows, k])
                    scale, other = np.exp(top - ref), np.exp(broad[rows, k] - ref)
                    value = (gamma[:, part] @ kernel.T) * scale + base_gamma[:, k, None] * other
                    norm = np.broadcast_to(total[:, k, None], value.shape).copy()
                    mine = here & (own[:, rows] == k)
                    for r in np.flatnonzero(mine.any(axis=0)):
                        draws = np.flatnonzero(mine[:, r])
                        each = np.append(kernel[r] * scale[r], other[r])
                        ends = np.append(kernels.weight[part], base_rows) * each
                        ends = ends.cumsum()
                        place = np.searchsorted(ends, which_component[draws] * ends[-1], "right")
                        value[draws, r] += more[draws] * each[np.minimum(place, len(each) - 1)]
                        norm[draws, r] += more[draws]
                    found = ref + np.log(value) - np.log(norm)
                    out[:, rows, k] = np.where(here, found, out[:, rows, k])
        return out

    return log_density
