"""NUTS given unlabeled rows, whose classes are summed out of the density.

log p(theta) + log p(S given theta) + sum_i w_i log sum_k P(k) p(x_i given k, theta), S the
statistics of labeled rows. Densities of rows are products of features and natural parameters
(`bayesgen.likelihoods.exponential_family`), so a gradient costs rows x classes x features.
"""

import dataclasses
from collections.abc import Mapping
from typing import cast

import numpy as np
from scipy.sparse import issparse

from bayesgen.errors.operations import unsupported
from bayesgen.inference.log_density import ModelLogDensity, arrays, model_log_density, nested
from bayesgen.inference.missing import complete_statistics
from bayesgen.inference.nuts import NUTS
from bayesgen.inference.posterior import DrawsPosterior, take_rows
from bayesgen.inference.scores import class_probabilities
from bayesgen.inference.unlabelled_rows import ROWS, UnlabelledRows
from bayesgen.likelihoods import Likelihood
from bayesgen.likelihoods.base import is_missing, row_chunks
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.problem import Problem
from bayesgen.typing import Encoded, Joint, Traceable

OTHER = "unlabelled"
"""Name of the rows in the tree of numbers."""
FLOATS = 1_000_000
"""Log densities held at once: 8 MB."""


@dataclasses.dataclass(frozen=True)
class SummedLogDensity:
    """The log density of a model, with the classes of further rows summed out.

    base: that of the labeled rows. The tree has the others under OTHER: their weight, and the
    features of each block.
    """

    base: ModelLogDensity

    def centre(self, tree: dict) -> dict[str, Traceable]:
        """Return the coordinates of the center, by site: zeros."""
        return self.base.centre(tree)

    def values(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the parameters at u, by site (traced)."""
        return self.base.values(tree, u)

    def terms(self, tree: dict, u: Mapping[str, Traceable]) -> dict[str, Traceable]:
        """Return the log densities "prior", "rows", "jacobian" and "measure" at u (traced)."""
        import jax.numpy as jnp
        from jax.scipy.special import logsumexp

        model, _ = self.base.structure.filled(tree)
        params = nested(self.values(tree, u), model)
        joint = jnp.log(params["class"]["probs"])
        for name, part in model.blocks.items():
            natural = cast(ExponentialFamily, part).natural(params[name])
            joint = joint + tree[OTHER][name] @ natural.mT
        rows = tree[OTHER]["weight"] @ logsumexp(joint, axis=1)
        found = self.base.terms(tree, u)
        return {**found, "rows": found["rows"] + rows}


def sampled_by_nuts(
    method: NUTS,
    problem: Problem,
    rows: UnlabelledRows,
    shares: Joint,
    seed: int,
) -> tuple[DrawsPosterior, Joint]:
    """Return draws of every parameter, and the mean over draws of P(y = k given x_i, theta).

    Args:
        method: NUTS.
        problem: of the labeled rows.
        rows: those without a label, whose weights are those of the density.
        shares: P(y = k given x_i), which locates the posterior.
        seed: of draws.

    Raises:
        UnsupportedOperation: a block whose rows are not products of features and parameters.
    """
    model, statistics, reader = problem.model, problem.statistics, problem.reader
    read = reader.read(rows.encoded)
    whole = statistics + reader.kept_of(rows.statistics(reader.full, shares))
    tree = arrays(model, statistics, complete_statistics(model, whole))
    features = {name: _features(name, part, read[name]) for name, part in model.blocks.items()}
    tree[OTHER] = {**features, "weight": rows.weight}
    density = SummedLogDensity(model_log_density(model, statistics))
    values, stats, report = method.sample(density, tree, seed)
    params = nested(values, model)
    if model.classes.is_fixed:
        probs, shape = params["class"]["probs"], (method.chains, method.draws)
        params["class"]["probs"] = np.broadcast_to(probs, (*shape, len(probs)))
    report.details[ROWS] = float(rows.n_rows)
    posterior = DrawsPosterior(reader, report, params, model.blocks, stats)
    return posterior, mean_labels(posterior, rows.encoded, rows.n_rows)


def _features(name: str, part: Likelihood, x: Traceable) -> np.ndarray:
    """Return the features of the rows of a block.

    Raises:
        UnsupportedOperation: their density is not a product of features and parameters.
    """
    linear = isinstance(part, ExponentialFamily) and len(part.components) == 1
    if linear and not (part.improper or issparse(x) or (part.joint and is_missing(x).any())):
        return part.features(x)
    raise unsupported(
        f"rows without a label under NUTS, with block {name!r}, {part.title}",
        "summing over their classes needs complete dense rows, stated prior strengths and the "
        "density of an exponential family",
        "Leave these rows out: keep = pandas.notna(y); fit(X[keep], y[keep]).",
    )


def mean_labels(posterior: DrawsPosterior, encoded: Encoded, n_rows: int) -> Joint:
    """Return the mean over all draws of P(y = k given x_i, theta), shape (row, class).

    Of all draws only as many rows are held at once as make FLOATS log densities.
    """
    log_classes = posterior.log_classes()
    n_draws, n_classes = int(np.prod(posterior.shape)), len(log_classes)
    out = np.empty((n_rows, n_classes))
    for rows in row_chunks(n_rows, max(1, FLOATS // (n_draws * n_classes))):
        size = len(range(n_rows)[rows])
        joint = posterior.each_log_joint(take_rows(encoded, rows), size)
        proba = class_probabilities(joint.reshape(-1, n_classes), log_classes)
        out[rows] = proba.reshape(size, n_draws, n_classes).mean(axis=1)
    return out
