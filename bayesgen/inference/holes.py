"""Joint normals with missing cells: where they stand in the way, and statistics that see past them."""

from bayesgen.inference import em
from bayesgen.likelihoods import Statistics
from bayesgen.likelihoods.multivariate_normal import MultivariateNormalStatistics
from bayesgen.model import Model, ModelStatistics


def has_holes(statistics: Statistics) -> bool:
    """Whether rows lack cells that a closed form would need."""
    return isinstance(statistics, MultivariateNormalStatistics) and statistics.has_holes


def complete_statistics(model: Model, statistics: ModelStatistics) -> ModelStatistics:
    """Return the statistics with expected ones in place of rows with holes.

    They say where the posterior sits and how wide it is, for samplers and optimisers; no answer is
    computed from them.
    """
    blocks = {}
    for name, part in model.blocks.items():
        rows = statistics.blocks[name]
        if has_holes(rows):
            conjugate = part.with_arrays({"prior": "conjugate"})
            rows = em.expected(rows, em.mode(conjugate, rows)[0])
        blocks[name] = rows
    return ModelStatistics(statistics.count, blocks)
