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
from bayesgen.explain.cell_values import CellValues, cell_values, class_probabilities
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

    The simulated cells of a row are the same for all of its columns.

    Args:
        rows: whose missing cells might be observed.
        gain: `information`, or `saving` of a loss.
        draws: simulated cells for each class, of a row.
        seed: of these.
    """
    missing = rows.missing()
    gaps = {name: missing[name][1] for name in rows.names}
    gains, errors = ({n: np.where(gap, 0.0, np.nan) for n, gap in gaps.items()} for _ in range(2))
    asked = {name: np.flatnonzero(gap) for name, gap in gaps.items()}
    for cells in cell_values(rows, asked, draws, np.random.default_rng(seed)):
        for cell, after in zip(cells, class_probabilities(cells), strict=True):
            hindsight = gain(np.broadcast_to(_before(cell, after), after.shape), after)
            gains[cell.name][cell.asked] = cell.mean(hindsight)
            errors[cell.name][cell.asked] = cell.error(hindsight)
    return gains, errors


def _before(cell: CellValues, after: Probs) -> Float[np.ndarray, "row class"]:
    """Return the probabilities before the cell is observed; after: those given each value."""
    if after.shape[1] > 1 and cell.rows.posterior.coherent:
        # strata of draws are classes, and their weights the probabilities before
        return cell.weight.T
    return cell.mean(after)
