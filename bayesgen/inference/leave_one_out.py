"""Exact leave-one-out: each row predicted from all the others, its statistics taken away."""

from collections.abc import Callable, Mapping

import numpy as np

from bayesgen.inference.posterior import Exact
from bayesgen.inference.report import Report
from bayesgen.likelihoods import Likelihood
from bayesgen.model import Model, ModelStatistics, Reader, model_statistics
from bayesgen.typing import Encoded, Joint, Labels, Weights

Completion = Callable[[ModelStatistics], tuple[Model, ModelStatistics, Reader]]


def leave_one_out(
    likelihoods: Mapping[str, Likelihood],
    statistics: ModelStatistics,
    completion: Completion,
    encoded: Encoded,
    y: Labels,
    weight: Weights,
    *,
    n_levels: Mapping[str, tuple[int, ...]],
) -> Joint:
    """Return log p(x_i, y = k given the rows without i), shape (row, class).

    Exact for conjugate models: posterior(S - s_i) is the posterior without row i, guesses left to
    the columns included. A row counts with its whole weight.

    Args:
        likelihoods: of the blocks, guesses as the user left them.
        statistics: of all rows.
        completion: statistics -> (model, statistics, reader), as `complete_model`.
        encoded: the rows.
        y: their class codes.
        weight: their weights.
        n_levels: of each block.
    """
    out = np.empty((len(y), len(statistics.count)))
    report = Report("exact", 0.0, converged=True, verdict="")
    for i in range(len(y)):
        at = slice(i, i + 1)
        row = {name: x[at] for name, x in encoded.items()}
        own = model_statistics(
            likelihoods, row, y[at], weight[at], n_classes=out.shape[1], n_levels=n_levels
        )
        model, rest, reader = completion(statistics - own)
        posterior = Exact(reader, report, model.posterior(rest), seed=0)
        out[i] = posterior.log_joint(row, 1)
    return out
