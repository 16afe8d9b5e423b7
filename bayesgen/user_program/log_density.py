"""Log density of a user's program over its rows, and the scale-free measure of its parameters."""

import dataclasses
from collections.abc import Mapping

import numpy as np

from bayesgen.inference.log_density import Shapes
from bayesgen.typing import Traceable, Transform
from bayesgen.user_program.program import Site, UserProgram, split

Tree = Mapping[str, Mapping | Traceable]


@dataclasses.dataclass(frozen=True)
class ProgramLogDensity:
    """Log densities of a program over coordinates u, unconstrained value = centre + width u.

    shapes: of the coordinates of each parameter. The numbers travel as a tree: x, y and weight of
    the rows, centre and width of the coordinates.
    """

    program: UserProgram
    shapes: Shapes

    def centre(self, tree: Tree) -> dict[str, Traceable]:
        """Return the coordinates of the centre, by site: zeros."""
        import jax.numpy as jnp

        return {name: jnp.zeros(shape) for name, shape in self.shapes}

    def terms(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities "prior", "rows", "jacobian" and "measure" at u (traced)."""
        return self._terms_and_values(tree, u)[0]

    def values(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site (traced)."""
        return self._terms_and_values(tree, u)[1]

    def _terms_and_values(self, tree: Tree, u: Mapping[str, Traceable]) -> tuple[dict, dict]:
        import jax.numpy as jnp
        from numpyro.distributions import biject_to

        values: dict[str, Traceable] = {}
        found = {"jacobian": jnp.zeros(()), "measure": jnp.zeros(())}

        def value_of(site: Site) -> Traceable | None:
            name = site["name"]
            if name not in u:
                return None
            width, support = tree["width"][name], site["fn"].support
            free, to_site = tree["centre"][name] + width * u[name], biject_to(support)
            value = values[name] = to_site(free)
            jacobian = to_site.log_abs_det_jacobian(free, value).sum()
            found["jacobian"] += jacobian + jnp.log(width).sum()
            found["measure"] += log_scale_free_jacobian(support, to_site, free, value)
            return value

        labels, rows, prior = split(self.program.sites(tree["x"], tree["y"], value_of))
        rows = ((labels + rows) * tree["weight"]).sum()
        return {"prior": prior, "rows": rows, **found}, values


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
