"""First guesses of parameters from moments, in every scale that suits a distribution."""

import dataclasses
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.family.declaration import Declaration


@dataclasses.dataclass(frozen=True, eq=False)
class Moments:
    """Mean and standard deviation of each group of values in one scale, (group,)."""

    mean: np.ndarray
    sd: np.ndarray

    def unit(self) -> np.ndarray:
        """Return the standard deviation; where there is none, another size of the values."""
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
    found = []
    for scale in _scales(declaration):
        cells = scale(values.value)
        mean = average(cells)
        found.append(Moments(mean, np.sqrt(average((cells - mean[group, None]) ** 2))))
    return found


def _scales(declaration: Declaration) -> list[Callable[[np.ndarray], np.ndarray]]:
    low, high = (getattr(declaration.support, f"{end}_bound", None) for end in ("lower", "upper"))
    if declaration.discrete or low is None:
        return [lambda x: x]
    if high is None:
        return [lambda x: x, lambda x: np.log(x - low)]
    return [lambda x: x, lambda x: np.log(x - low) - np.log(high - x)]


def first_guesses(declaration: Declaration, scales: list[Moments]) -> np.ndarray:
    """Return guesses in real coordinates, (guess, group, parameter).

    Names say what a parameter is: locations are means, scales deviations, rates their inverse,
    pure numbers 1 or 1/2. The second guess is that of Gamma's moments: mean^2 / variance for pure
    numbers, mean / variance for rates.
    """
    import jax

    out = []
    with jax.enable_x64(True):
        for scale in scales:
            for gamma in (False, True):
                columns = [
                    _guess(declaration, name, scale, gamma=gamma) for name in declaration.names
                ]
                out.append(np.stack(columns, axis=-1))
    return np.stack(out)


def _guess(declaration: Declaration, name: str, scale: Moments, *, gamma: bool) -> np.ndarray:
    mean, sd = scale.mean, scale.unit()
    index = declaration.names.index(name)
    pure = declaration.pure()[index]
    if declaration.real()[index]:
        return mean
    gamma = gamma and bool((mean > 0).any())
    ratio = np.where(mean > 0, mean, sd) / sd
    value = {
        "mean": mean,
        "scale": sd,
        "rate": ratio / sd if gamma else 1 / sd,
    }.get(name, ratio**2 if gamma and pure else None)
    if value is None:
        return np.zeros_like(mean)
    u = np.asarray(declaration.bijection(name).inv(value))
    # a value that the parameter cannot have says nothing
    return np.where(np.isfinite(u), u, 0.0)
