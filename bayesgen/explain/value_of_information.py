"""Value of information: the expected gain from measuring a missing cell.

The value is the mutual information of cell and class given the observed cells of the row, sum over
values v of p(v given x) KL(p(y given x, v) || p(y given x)), or with a loss the expected reduction
of the minimum expected loss. Both are expectations of gains relative to the probabilities, or the
decision, before the cell is observed; these gains are never negative. Under a mixture of posteriors
or a power posterior, the probabilities before need not equal the mean of those after the cell is
observed; that mean then replaces them.

Source: Lindley (1956), Annals of Mathematical Statistics 27, 986-1005; Raiffa and Schlaifer (1961),
Applied Statistical Decision Theory, chapter 4.
"""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from bayesgen import decide
from bayesgen.explain.cell_values import CellValues, cell_values
from bayesgen.explain.cells import Rows
from bayesgen.table import Name

Probs = Float[np.ndarray, "... class"]
GainFn = Callable[[np.ndarray, np.ndarray], np.ndarray]
"""(p(y) before, p(y) after), each (..., class) -> gain in hindsight, (...), never below 0."""


def information(before: Probs, after: Probs) -> np.ndarray:
    """Return KL(after || before) in nats, whose mean is the expected reduction in entropy."""
    tiny = np.finfo(float).tiny
    terms = after * (np.log(np.maximum(after, tiny)) - np.log(np.maximum(before, tiny)))
    # equal probabilities may differ in the last digits
    return np.maximum(terms.sum(axis=-1), 0.0)


def saving(cost: np.ndarray) -> GainFn:
    """Return the loss saved by a new decision, given costs (class, decision)."""

    def gain(before: Probs, after: Probs) -> np.ndarray:
        first, expected = (before @ cost).argmin(axis=-1), after @ cost
        kept = np.take_along_axis(expected, first[..., None], axis=-1)[..., 0]
        return kept - expected.min(axis=-1)

    return gain


def gain_of(loss: decide.Loss, classes: np.ndarray) -> GainFn:
    """Return the gain: in entropy, or in loss where there is one."""
    return information if loss is None else saving(decide.rule(loss, classes).cost)


def expected_gains(
    rows: Rows, gain: GainFn, draws: int, seed: int
) -> tuple[dict[Name, np.ndarray], dict[Name, np.ndarray]]:
    """Return expected gains of missing cells by column, NaN where observed, and standard errors.

    Every column has its own random numbers.

    Args:
        rows: whose missing cells might be observed.
        gain: `information`, or `saving` of a loss.
        draws: simulated cells for each class, of a row.
        seed: of these.
    """
    missing, gains, errors = rows.missing(), {}, {}
    for i, name in enumerate(rows.names):
        asked, rng = np.flatnonzero(missing[name][1]), np.random.default_rng((seed, i))
        gains[name], errors[name] = np.full((2, rows.n_rows), np.nan)
        gains[name][asked] = errors[name][asked] = 0.0
        for cell in cell_values(rows, name, asked, draws, rng):
            hindsight = _gain_by_value(cell, gain)
            gains[name][cell.asked] = cell.mean(hindsight)
            errors[name][cell.asked] = cell.error(hindsight)
    return gains, errors


def _gain_by_value(cell: CellValues, gain: GainFn) -> Float[np.ndarray, "stratum draw row"]:
    after = cell.class_probabilities()
    before = cell.mean(after)
    if after.shape[1] > 1 and cell.rows.posterior.coherent:
        # strata of draws are classes, and their weights the probabilities before
        before = cell.weight.T
    return gain(np.broadcast_to(before, after.shape), after)
