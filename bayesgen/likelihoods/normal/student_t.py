"""Log Student-t densities, column by column or with one chi-square: predictives of normals."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Num

from bayesgen.likelihoods.row_chunks import row_chunks
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.typing import Block

LARGEST_DEGREES = 1e6
"""A product of terms 1 + r is rounded to 1e-16 of itself, which times half the degrees of freedom
is the error of the log density: 1e-10 a column up to here. Beyond, logarithms are summed."""


def student_t(
    centre: Float[np.ndarray, "class feature"],
    scale2: Num[np.ndarray, "#class feature"],
    degrees: Num[np.ndarray, "#class feature"],
) -> Callable[[Block], np.ndarray]:
    """Return x -> sum over observed columns of log Student-t densities, shape (row, class).

    Where a class has one number of degrees for all columns, sum log(1 + r_j) is the logarithm of
    one product: a logarithm a row instead of one a cell.
    """
    df = np.broadcast_to(degrees, centre.shape)
    spread2 = df * scale2
    constant = log_rising_factorial(df / 2, 0.5) - 0.5 * np.log(np.pi * spread2)
    power = (df + 1) / 2
    even = (df == df[:, :1]).all(axis=1) & (df[:, 0] <= LARGEST_DEGREES)

    def log_density(x: Block) -> np.ndarray:
        out = np.empty((len(x), len(centre)))
        for rows in row_chunks(len(x)):
            # rows side by side: NumPy then works along 2,048 numbers at a time and not along 20,
            # which halves the time (measured)
            block = np.ascontiguousarray(x[rows].T)
            observed = ~np.isnan(block)
            missing_cells = not observed.all()
            for k in range(len(centre)):
                ratio = block - centre[k][:, None]
                ratio *= ratio
                ratio /= spread2[k][:, None]
                if missing_cells:
                    ratio[~observed] = 0.0
                logs = _log_products(ratio, power[k, 0]) if even[k] else power[k] @ np.log1p(ratio)
                out[rows, k] = (
                    constant[k] @ observed if missing_cells else constant[k].sum()
                ) - logs
        return out

    return log_density


def log_student_t(
    x: Num[np.ndarray, "..."],
    centre: Num[np.ndarray, "..."],
    scale2: Num[np.ndarray, "..."],
    degrees: Num[np.ndarray, "..."],
) -> Num[np.ndarray, "..."]:
    """Return the log density of Student's t, cell by cell."""
    constant = log_rising_factorial(degrees / 2, 0.5)
    spread2 = degrees * scale2
    ratio = (x - centre) ** 2 / spread2
    return constant - 0.5 * np.log(np.pi * spread2) - (degrees + 1) / 2 * np.log1p(ratio)


def spherical_t(
    squares: Num[np.ndarray, "..."],
    columns: int | Num[np.ndarray, "..."],
    degrees: Num[np.ndarray, "..."],
    scale2: float | Num[np.ndarray, "..."],
) -> Num[np.ndarray, "..."]:
    """Return the log density of the t of some columns with matrix scale2 I, by squared distance."""
    power, spread2 = (degrees + columns) / 2, degrees * scale2
    constant = log_rising_factorial(degrees / 2, columns / 2) - columns / 2 * np.log(
        np.pi * spread2
    )
    return constant - power * np.log1p(squares / spread2)


def diagonal_t(
    centre: Float[np.ndarray, "class feature"],
    scale2: Float[np.ndarray, "#class"],
    stretch: Float[np.ndarray, "class feature"],
    degrees: Num[np.ndarray, "#class"],
) -> Callable[[Block], np.ndarray]:
    """Return x -> log multivariate t of the observed columns, shape (row, class).

    Its matrix is scale2 diag(stretch): columns without correlation that share one chi-square.
    """
    df = np.broadcast_to(degrees, len(centre))
    spread2 = df * scale2

    def log_density(x: Block) -> np.ndarray:
        observed = ~np.isnan(x)
        seen = observed.sum(axis=1)
        out = np.empty((len(x), len(centre)))
        for k in range(len(centre)):
            squares = np.where(observed, (x - centre[k]) ** 2 / stretch[k], 0.0).sum(axis=1)
            power = (df[k] + seen) / 2
            constant = log_rising_factorial(df[k] / 2, seen / 2) - seen / 2 * np.log(
                np.pi * spread2[k]
            )
            wide = observed @ np.log(stretch[k]) / 2
            out[:, k] = constant - wide - power * np.log1p(squares / spread2[k])
        return out

    return log_density


def _log_products(ratio: Float[np.ndarray, "feature row"], power: float) -> np.ndarray:
    with np.errstate(over="ignore"):
        products = np.multiply.reduce(ratio + 1.0, axis=0)
    logs = np.log(products)
    far = np.isinf(logs)
    if far.any():
        logs[far] = np.log1p(ratio[:, far]).sum(axis=0)
    return power * logs
