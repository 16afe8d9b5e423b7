"""Supports of parameters: the map from unconstrained values to each, and its Jacobian.

A family that declares `supports = {"rate": "positive"}` gets its bijector, its scale-free Jacobian
and its whitening from here. Source: NumPyro and Stan, constraint transforms.
"""

import dataclasses
from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.likelihoods.dirichlet import simplexes_transform
from bayesgen.typing import Params, Traceable, Transform

EDGE = 1e-300
"""Draws closer than this to the end of their support are moved there before a logarithm."""
LOWER, UPPER = 0.15865525393145707, 0.8413447460685429
"""Probabilities of a normal variate below -1 and below 1: half the distance between these quantiles
is the standard deviation of a normal, and finite where a variance is not."""


def _log_odds(value: np.ndarray) -> np.ndarray:
    value = np.clip(value, EDGE, 1 - np.finfo(float).epsneg)
    return np.log(value) - np.log1p(-value)


def _log_probability_jacobian(value: Traceable) -> Traceable:
    xp = value.__array_namespace__()
    return (xp.log(value) + xp.log1p(-value)).sum()


def _log_sum(value: Traceable) -> Traceable:
    return value.__array_namespace__().log(value).sum()


def _affine(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import AffineTransform

    return AffineTransform(centre, width)


def _exp(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import ComposeTransform, ExpTransform

    return ComposeTransform([_affine(centre, width), ExpTransform()])


def _sigmoid(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import ComposeTransform, SigmoidTransform

    return ComposeTransform([_affine(centre, width), SigmoidTransform()])


def _softmax(side: Traceable, *arrays: Traceable) -> Transform:
    return simplexes_transform()(side, *arrays, side.shape[-1:])


@dataclasses.dataclass(frozen=True)
class Support:
    """The values a parameter may take.

    bijector: arrays of `whitening` -> the numpyro transform from unit-scale values.
    log_jacobian: value -> sum of log |d value / d unconstrained|, NumPy or traced.
    unconstrain: value -> real numbers (NumPy).
    """

    bijector: Callable[..., Transform]
    log_jacobian: Callable[[Traceable], Traceable]
    unconstrain: Callable[[np.ndarray], np.ndarray]


SUPPORTS: Mapping[str, Support] = {
    "real": Support(_affine, lambda value: 0.0, lambda value: value),
    "positive": Support(_exp, _log_sum, lambda value: np.log(np.maximum(value, EDGE))),
    "probability": Support(_sigmoid, _log_probability_jacobian, _log_odds),
    "simplex": Support(_softmax, _log_sum, np.log),
}
"""Supports that a family may declare for a parameter. A simplex is the last axis, and its arrays
are those of `dirichlet.log_ratios`; the others are one value a cell, u -> center + width u."""


def log_jacobian(supports: Mapping[str, str], params: Params) -> Traceable:
    """Return log |d params / d unconstrained|, summed over the parameters (NumPy or traced)."""
    terms = (SUPPORTS[support].log_jacobian(params[n]) for n, support in supports.items())
    return sum(terms, np.zeros(()))


def whitening(
    supports: Mapping[str, str], draws: Params
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return center and width, from quantiles, of unconstrained draws (draw, ...) by parameter."""
    out = {}
    for name, support in supports.items():
        free = SUPPORTS[support].unconstrain(draws[name])
        low, centre, high = np.quantile(free, [LOWER, 0.5, UPPER], axis=0)
        out[name] = (centre, (high - low) / 2)
    return out
