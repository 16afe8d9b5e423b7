"""From what rows have said to a posterior, to what it says of rows left out, and to warnings."""

import contextlib
from collections.abc import Generator, Iterable

import numpy as np

from bayesgen.classes import Spec, class_prior, require_possible
from bayesgen.errors import (
    BayesgenWarning,
    DegenerateVariance,
    InvalidValues,
    NotConverged,
    PooledEstimate,
    SingularCovariance,
    UninformativeColumn,
    warn,
)
from bayesgen.estimators.fitted import TrainingState, columns, complete, lost_columns
from bayesgen.inference import MLE, Method, Posterior, choose
from bayesgen.inference import leave_one_out as loo
from bayesgen.likelihoods import Repair
from bayesgen.model import log_abs_det_jacobian
from bayesgen.typing import Encoded, Joint, Labels, Weights

MANY_COLUMNS = 20
"""Columns without a say above which one warning speaks of them all."""


def infer(learned: TrainingState, inference: str | Method, prior: Spec, seed: int) -> Posterior:
    """Return the posterior and warn of what a person should know about it."""
    frequencies = isinstance(inference, MLE) or inference == "mle"
    model, statistics, reader = complete(learned, prior, frequencies=frequencies)
    require_possible(prior, learned.classes)
    method = choose(inference, model, statistics)
    joint = [name for name, part in model.blocks.items() if part.joint]
    with name_columns_if_singular(
        name for block in joint for name in columns(learned, reader, block)
    ):
        posterior = method.infer(model, statistics, reader, seed)
    for name, positions in lost_columns(learned, reader).items():
        lost = [learned.schema.blocks[name][int(position)].name for position in positions]
        if len(lost) > MANY_COLUMNS:
            warn(UninformativeColumn.columns(lost))
            continue
        for column in lost:
            warn(UninformativeColumn.column(column))
    for name, finding in posterior.report.findings:
        warn(_warning(finding, columns(learned, reader, name), learned.classes))
    if not posterior.report.converged:
        warn(NotConverged(posterior.report.verdict))
    return posterior


def leave_one_out(
    learned: TrainingState, prior: Spec, encoded: Encoded, y: Labels, weight: Weights, away: Weights
) -> tuple[Joint, Joint]:
    """Return log p(x_i, y = k given the rows without i), and its part log P(y = k given them).

    Both of shape (row, class); exact where every likelihood is conjugate, given how columns are
    bent, which stays.

    Args:
        learned: what all rows have said.
        prior: of the classes.
        encoded: all rows.
        y: their class codes.
        weight: their weights.
        away: how much of its weight a row loses where it is left out.
    """
    origin, statistics = learned.origin(), learned.statistics
    size = len(learned.classes)
    classes_out = np.empty((len(y), size))
    pairs, which = np.unique(np.stack([y, away], axis=1), axis=0, return_inverse=True)
    for pair, (k, own) in enumerate(pairs):
        count = statistics.count - own * (np.arange(size) == k)
        count = np.where(count > 1e-9 * own, count, 0.0)
        classes = class_prior(prior, learned.classes, count, frequencies=False)
        classes_out[which == pair] = classes.posterior(count).log_predictive()
    out = classes_out + log_abs_det_jacobian(learned.schema.power_transforms(), encoded)
    for name, likelihood in learned.likelihoods.items():
        rows = loo.Rows(encoded[name], y, weight, away, size, learned.schema.n_levels(name))
        with name_columns_if_singular(column.name for column in learned.schema.blocks[name]):
            out += loo.leave_one_out(
                likelihood.shifted(-origin[name]), statistics.blocks[name], rows
            )
    return out, classes_out


@contextlib.contextmanager
def name_columns_if_singular(names: Iterable) -> Generator[None]:
    """Say of a matrix that rounds to a singular one which columns it is of."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        if not (among := list(names)):
            raise
        raise InvalidValues.no_covariance(among) from error


def _warning(finding: Repair, names: list, classes: np.ndarray) -> BayesgenWarning:
    label = None if finding.cls is None else classes[finding.cls]
    label = label.item() if isinstance(label, np.generic) else label
    if finding.kind == "singular":
        return SingularCovariance.mended(names, label)
    floored = finding.kind == "floored"
    if finding.feature is None:
        block = DegenerateVariance.floored_block if floored else PooledEstimate.pooled_block
        return block(names, label)
    make = DegenerateVariance.floored if floored else PooledEstimate.pooled
    return make(names[finding.feature], label)
