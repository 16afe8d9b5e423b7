"""A program on its rows, as optimisers and samplers see it: log densities over coordinates."""

import dataclasses
from collections.abc import Mapping

from bayesgen.typing import Traceable
from bayesgen.user_story.measures import log_scale_free_jacobian
from bayesgen.user_story.program import Site, UserStory, parted

Tree = Mapping[str, Mapping | Traceable]


@dataclasses.dataclass(frozen=True)
class StoryTarget:
    """Log densities of a program over coordinates u, unconstrained value = centre + width u.

    shapes: of the coordinates of each parameter. The numbers travel as a tree: x, y and weight of
    the rows, centre and width of the coordinates.
    """

    story: UserStory
    shapes: tuple[tuple[str, tuple[int, ...]], ...]

    def centre(self, tree: Tree) -> dict[str, Traceable]:
        """Return the coordinates of the centre: zeros."""
        import jax.numpy as jnp

        return {name: jnp.zeros(shape) for name, shape in self.shapes}

    def terms(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities at coordinates u (traced).

        prior: of the parameters. rows: of rows and labels given them. jacobian: of u to parameters.
        measure: of parameters against scale-free ones.
        """
        return self.terms_and_values(tree, u)[0]

    def values(self, tree: Tree, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at coordinates u (traced)."""
        return self.terms_and_values(tree, u)[1]

    def terms_and_values(self, tree: Tree, u: Mapping[str, Traceable]) -> tuple[dict, dict]:
        """Return both, from one run of the program."""
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

        trace = self.story.sites(tree["x"], tree["y"], value_of)
        labels, rows, prior = parted(trace)
        rows = ((labels + rows) * tree["weight"]).sum()
        return {"prior": prior, "rows": rows, **found}, values
