"""Joint normals with missing cells: found, and seen past by expected statistics."""

from bayesgen.inference import em
from bayesgen.likelihoods import Likelihood, MultivariateNormal, Statistics
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.model import Model, ModelStatistics


def with_holes(
    likelihood: Likelihood, statistics: Statistics
) -> tuple[MultivariateNormal, MultivariateNormalStatistics] | None:
    """Return a joint normal and its statistics if rows lack cells, else None."""
    if not isinstance(likelihood, MultivariateNormal):
        return None
    if not isinstance(statistics, MultivariateNormalStatistics) or not statistics.has_holes:
        return None
    return likelihood, statistics


def any_holes(model: Model, statistics: ModelStatistics) -> bool:
    """Return whether a joint normal of the model was fitted to rows with missing cells."""
    return any(with_holes(part, statistics.blocks[n]) for n, part in model.blocks.items())


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of rows with holes.

    They say where the posterior sits and how wide it is, for samplers and optimisers; no answer is
    computed from them.
    """
    blocks = {}
    for name, part in model.blocks.items():
        rows = statistics.blocks[name]
        found = with_holes(part, rows)
        if found:
            conjugate = found[0].with_arrays({"prior": "conjugate"})
            rows = em.expected(found[1], em.mode(conjugate, found[1])[0])
        blocks[name] = rows
    return ModelStatistics(statistics.count, blocks)
