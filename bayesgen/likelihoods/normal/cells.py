"""The log density of a normal cell, linear in x^2, x and 1: for families of independent cells."""

import numpy as np
from jaxtyping import Float

from bayesgen.typing import Numbers, Traceable, Transform


def features(x: Numbers) -> Float[np.ndarray, "row natural"]:
    """Return x^2, x and 1 of observed cells, 0 of missing ones."""
    observed = ~np.isnan(x)
    known = np.where(observed, x, 0.0)
    return np.concatenate([known**2, known, observed], axis=1)


def natural(mean: Traceable, variance: Traceable) -> Traceable:
    """Return -1/(2 v), m/v and -(log 2 pi v + m^2/v)/2, shape (..., class, 3 feature).

    variance broadcasts to the shape of mean, (..., class, feature).
    """
    xp = mean.__array_namespace__()
    variance = xp.broadcast_to(variance, mean.shape)
    constant = -0.5 * (xp.log(2 * np.pi * variance) + mean**2 / variance)
    return xp.concat([-0.5 / variance, mean / variance, constant], axis=-1)


def transform(parameter: str, *arrays: Traceable) -> Transform:
    """Return centre + width u for the mean, exp of it for the variance."""
    from numpyro.distributions.transforms import AffineTransform, ComposeTransform, ExpTransform

    affine = AffineTransform(*arrays)
    return affine if parameter == "mean" else ComposeTransform([affine, ExpTransform()])
