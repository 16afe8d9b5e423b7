"""Supports of parameters: the map from unconstrained values to each, and its Jacobian.

A family that declares `supports = {"rate": "positive"}` has its bijector, its scale-free Jacobian
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
is the width of a normal, and finite where a variance is not."""


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
    from numpyro.distributions.transforms import ExpTransform

    return onto(ExpTransform()).bijector(centre, width)


def _sigmoid(centre: Traceable, width: Traceable) -> Transform:
    from numpyro.distributions.transforms import SigmoidTransform

    return onto(SigmoidTransform()).bijector(centre, width)


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
are those of `dirichlet.log_ratios`; the others are one value a cell, u -> centre + width u."""


def onto(bijection: Transform) -> Support:
    """Return the support that is the image of the real line under a numpyro transform."""
    from numpyro.distributions.transforms import ComposeTransform

    return Support(
        lambda centre, width: ComposeTransform([_affine(centre, width), bijection]),
        lambda value: bijection.log_abs_det_jacobian(bijection.inv(value), value).sum(),
        bijection.inv,
    )


def support(name: str | Support) -> Support:
    """Return the support of a name."""
    return name if isinstance(name, Support) else SUPPORTS[name]


def log_jacobian(supports: Mapping[str, str | Support], params: Params) -> Traceable:
    """Return log |d params / d unconstrained|, summed over the parameters (NumPy or traced)."""
    terms = (support(named).log_jacobian(params[n]) for n, named in supports.items())
    return sum(terms, np.zeros(()))


def whitening(
    supports: Mapping[str, str], draws: Params
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return centre and width of unconstrained draws (draw, ...), by parameter: quantiles."""
    out = {}
    for name, support in supports.items():
        free = SUPPORTS[support].unconstrain(draws[name])
        low, centre, high = np.quantile(free, [LOWER, 0.5, UPPER], axis=0)
        out[name] = (centre, (high - low) / 2)
    return out
