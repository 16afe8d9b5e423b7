"""The scale-free measure that a mode is taken against, for the parameters of any program."""

import numpy as np

from bayesgen.typing import Traceable, Transform


def log_scale_free_jacobian(
    support: object, transform: Transform, coordinate: Traceable, value: Traceable
) -> Traceable:
    r"""Return log of the Lebesgue measure of a parameter over its scale-free measure, summed.

    Scale-free is flat in real numbers, in the logarithm of positive ones, in the log-odds of
    probabilities: where numpyro's own coordinates are flat. Covariances Sigma with p columns have
    |Sigma|^-(p+1)/2, which does not depend on units. Their Cholesky factors, correlation matrices R
    and the factors of these have what that measure is for Sigma = L L' and Sigma = diag(s) R
    diag(s), with s flat in its logarithm:

        dSigma = prod 2 L_ii^(p+1-i) dL              log measure: sum i log L_ii
        dSigma = prod 2 s_i^p ds dR                  log measure: (p+1)/2 log |R|
        dR = prod_(i>1) L_ii^(p-i) dL                log measure: sum (i+1) log L_ii

    Source: Muirhead, Aspects of Multivariate Statistical Theory (1982), theorem 2.1.9, for the
    first Jacobian; the Stan Reference Manual, section 10.12, for the last.
    """
    import jax.numpy as jnp
    from numpyro.distributions import constraints

    while isinstance(support, constraints.independent):
        support = support.base_constraint
    diagonal = jnp.diagonal(value, axis1=-2, axis2=-1) if value.ndim > 1 else value
    size = value.shape[-1] if value.ndim else 0
    if _is(support, constraints.positive_definite) or _is(support, constraints.corr_matrix):
        factor = jnp.linalg.cholesky(value)
        return (size + 1) * jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)).sum()
    if _is(support, constraints.lower_cholesky):
        return (np.arange(1, size + 1) * jnp.log(diagonal)).sum()
    if _is(support, constraints.corr_cholesky):
        return (np.arange(2, size + 2) * jnp.log(diagonal)).sum()
    return transform.log_abs_det_jacobian(coordinate, value).sum()


def _is(support: object, constraint: object) -> bool:
    return type(support) is type(constraint)
