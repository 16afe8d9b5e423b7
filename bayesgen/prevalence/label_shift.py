r"""Test of label shift: whether more than the class frequencies differs from the labeled rows.

Under label shift any function t(x) of a row satisfies p_new(t) = sum_k pi_k p_fit(t given y = k),
whether or not a model describes t well. For cells b of t, shares f_b of m new rows and phi_kb of
the labeled rows of class k, the discrepancy is

    X2 = m sum_b e_b^2 / q_b,  e_b = f_b - sum_k pi~_k phi_kb,  q_b = sum_k pi_k phi_kb.

Let h(x) be the class probabilities of a row and M_jk the mean of h_j over labeled rows of class k.
Of any first estimate pi the adjusted prevalence of new rows with mean h,

    pi~ = pi + G (mean h - M pi),  G the pseudo-inverse of M,

is linear in the rows, and its expectation under label shift is the true one, right model or wrong
(adjusted classify-and-count: Bella et al. 2010, IEEE ICDM, 737-742; Lipton, Wang and Smola 2018,
ICML, 3122-3130). So e is the mean over new rows of a function that is 0 on average in the labeled
rows of each class: prevalence cancels, whose estimate rests on the same rows (Neyman 1959, in
Probability and Statistics, 213-234: residuals orthogonal to what is estimated).

X2 is referred to an F distribution of the same mean, whose degrees of freedom follow from the
covariance of e (moments as in Satterthwaite 1946, Biometrics Bulletin 2, 110-114), and that from
the shares of cells in labeled and new rows together, since those of few labeled rows alone hardly
vary where no row lies. Rows simulated by the model are not a suitable reference: real tables differ
from them for any class frequencies. The tests compare its p-values with those of replicates of the
new rows, drawn from the labeled ones and treated in the same way.
"""

import dataclasses

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy import special

from bayesgen.inference import log_class_probabilities
from bayesgen.likelihoods.base import row_chunks
from bayesgen.prevalence.cells import Cells, cells_by_column, cells_by_density
from bayesgen.prevalence.left_out import LeftOutRows
from bayesgen.table import Name, Table
from bayesgen.typing import DataFrame, Joint, Labels, Weights

DENSITY = "(density)"
REJECTED = 0.001
"""P-value over all columns below which an estimate says that label shift is rejected."""
INDISTINCT = 0.1
"""Singular value of M, relative to the largest, below which classes are too alike for h to tell
their prevalence; there the first estimate stands."""
TESTED_FLOATS = 1_000_000
"""Numbers held at once while columns are tested together, about: 8 MB."""
SHARING_STEPS = 20
"""Steps of EM to the shares of cells in labeled and new rows together."""


@dataclasses.dataclass(frozen=True, eq=False)
class Populations:
    """Labeled rows and new ones: tables, and class codes and weights of the labeled rows."""

    labeled: Table
    codes: Labels
    weight: Weights
    new: Table


@dataclasses.dataclass(frozen=True, eq=False)
class Adjustment:
    """An estimate of prevalence, and how it is adjusted so that label shift cancels it.

    proba: class probabilities of labeled rows at the prevalence, each from the others, (row,
    class). means: M, of labeled rows by class. gain: G, or 0. new: mean probabilities of the new
    rows, (class,). weight: of these rows. prevalence, covariance: of the estimate.
    """

    proba: Joint
    means: Float[np.ndarray, "class_predicted class"]
    gain: Float[np.ndarray, "class class_predicted"]
    new: Float[np.ndarray, " class"]
    weight: Float[np.ndarray, " other"]
    prevalence: Float[np.ndarray, " class"]
    covariance: Float[np.ndarray, "class class"]


def adjusted(
    populations: Populations,
    left_out: Joint | None,
    new: Float[np.ndarray, "other class"],
    weight: Float[np.ndarray, " other"],
    draws: Float[np.ndarray, "draw class"],
) -> Adjustment:
    """Return how the mean of draws of a prevalence is adjusted.

    Args:
        populations: labeled and new rows.
        left_out: log p(x, y = k) of the labeled rows, each from the others, up to a constant of
            each row and the class probabilities in them; None: unknown, and nothing adjusts.
        new: the same of the new rows.
        weight: of the new rows, not all 0.
        draws: of their prevalence; classes that it excludes stay so.
    """
    codes, prevalence = populations.codes, draws.mean(axis=0)
    able, gain = prevalence > 0, np.zeros((len(prevalence), len(prevalence)))
    with np.errstate(divide="ignore"):
        prior = np.log(prevalence)
    proba = np.eye(len(prevalence))[codes]
    if left_out is not None:
        proba = np.exp(log_class_probabilities(left_out, prior))
    # certainty for a class without rows
    means, counts = np.eye(len(prevalence)), np.bincount(codes, populations.weight, len(prevalence))
    for k in np.flatnonzero(counts):
        means[:, k] = populations.weight[codes == k] @ proba[codes == k] / counts[k]
    if left_out is not None:
        gain[able] = np.linalg.pinv(means[:, able], rcond=INDISTINCT)
    mean = weight @ np.exp(log_class_probabilities(new, prior)) / weight.sum()
    return Adjustment(proba, means, gain, mean, weight, prevalence, np.cov(draws.T))


def columns_rejected(
    populations: Populations,
    left_out: LeftOutRows | None,
    weight: Weights,
    log_proba: Joint,
    draws: Float[np.ndarray, "draw class"],
) -> tuple[Name, ...]:
    """Return the columns by which label shift is rejected at REJECTED over all, smallest p first.

    By Holm's step-down procedure (1979, Scandinavian Journal of Statistics 6, 65-70).

    Args:
        populations: labeled and new rows.
        left_out: predictions of the labeled rows, each from the others. The estimate is not
            adjusted, and has the error of its draws, if they are None or not of all labeled rows.
        weight: of the new rows, not all 0.
        log_proba: of the new rows, under even class probabilities.
        draws: of their prevalence.
    """
    with np.errstate(divide="ignore"):
        prior = np.log(draws.mean(axis=0))
    joint = None
    if left_out is not None and np.array_equal(left_out.codes, populations.codes):
        joint = left_out.log_proba + prior
    estimate = adjusted(populations, joint, log_proba + prior, weight, draws)
    cells = cells_by_column(populations.labeled, populations.new)
    p_values = tested(list(cells.values()), populations, estimate)[:, 1]
    rejected: list[Name] = []
    names = list(cells)
    for i in np.argsort(p_values, kind="stable"):
        if p_values[i] * (len(names) - len(rejected)) >= REJECTED:
            break
        rejected.append(names[i])
    return tuple(rejected)


def table_of_shift(
    populations: Populations,
    left_out: Joint | None,
    fitted: Joint,
    new: Float[np.ndarray, "other class"],
    draws: Float[np.ndarray, "draw class"],
) -> DataFrame:
    """Return discrepancies and p-values by column, and of log p(x) where rows are left out.

    Columns that the new rows lack are left out.

    Args:
        populations: labeled and new rows.
        left_out: log p(x, y = k) of the labeled rows at the prevalence, each from the others; None
            where no row can be left out.
        fitted: the same from all rows.
        new: the same of the new rows.
        draws: of their prevalence.
    """
    cells = cells_by_column(populations.labeled, populations.new)
    if left_out is not None:
        cells[DENSITY] = cells_by_density(left_out, new, fitted)
    estimate = adjusted(populations, left_out, new, np.ones(len(new)), draws)
    lines = tested(list(cells.values()), populations, estimate)
    index = pd.Index(list(cells), name="column")
    return pd.DataFrame(lines, index=index, columns=["discrepancy", "p_value"])


def tested(
    cells: list[tuple[Cells, Cells]], populations: Populations, estimate: Adjustment
) -> Float[np.ndarray, "column 2"]:
    """Return the discrepancy X2 of each column, relative to its expectation, and its p-value.

    e is the mean over new rows of psi(x) = (x in cell b) - A h(x), with A = phi G, minus its
    expectation; its covariance is that of the mean of new rows, plus pi_k^2 times that of the mean
    of labeled rows of each class, plus that of the prevalence as far as it is not adjusted.

    Args:
        cells: of the labeled and of the new rows, by column.
        populations: labeled and new rows.
        estimate: of the prevalence.
    """
    n_cells = np.array([int(max(labeled.max(), new.max())) + 1 for labeled, new in cells], int)
    out = np.tile([0.0, 1.0], (len(cells), 1))
    several = np.flatnonzero(n_cells > 1)
    if not len(several):
        return out
    n_classes = len(estimate.prevalence)
    n_floats = n_cells.max() * (n_classes**2 + n_classes * n_cells.max()) + n_classes**3
    n_floats += len(populations.codes) + len(estimate.weight)
    for chunk in row_chunks(len(several), max(1, TESTED_FLOATS // int(n_floats))):
        columns = several[chunk]
        labeled, new = (np.stack([cells[j][side] for j in columns]) for side in (0, 1))
        out[columns] = _tested_together(labeled, new, n_cells[columns], populations, estimate)
    return out


def _tested_together(
    labeled: Int[np.ndarray, "column labeled"],
    new: Int[np.ndarray, "column new"],
    n_cells: Int[np.ndarray, " column"],
    populations: Populations,
    estimate: Adjustment,
) -> Float[np.ndarray, "column 2"]:
    """Return what `tested` does; cells fill arrays (column, cell), with 0 beyond those of each."""
    codes, pi, weight = populations.codes, estimate.prevalence, estimate.weight
    n_new, means = float(weight.sum()), estimate.means
    n_columns, most, n_classes = len(n_cells), int(n_cells.max()), len(pi)
    # one more row of each class, spread over the cells of a column
    added = (np.arange(most) < n_cells[:, None]) / n_cells[:, None]
    place = np.arange(n_columns)[:, None] * most
    of_class, shape = (place + labeled) * n_classes + codes, (n_columns, most, n_classes)

    def counted(values: Float[np.ndarray, " labeled"]) -> Float[np.ndarray, "column cell class"]:
        repeated = np.tile(populations.weight * values, n_columns)
        return np.bincount(of_class.ravel(), repeated, minlength=np.prod(shape)).reshape(shape)

    n_labeled = np.bincount(codes, populations.weight, minlength=n_classes)
    sums = np.stack([counted(column) for column in estimate.proba.T], axis=3)
    sums += added[:, :, None, None] * means.T
    counts = counted(np.ones(len(codes))) + added[:, :, None]
    slope = counts / counts.sum(axis=1, keepdims=True) @ estimate.gain
    prevailing = counts / counts.sum(axis=1, keepdims=True) - slope @ means
    repeated = np.tile(weight, n_columns)
    seen = np.bincount((place + new).ravel(), repeated, minlength=n_columns * most)
    seen = seen.reshape(n_columns, most)
    discrepancy = seen / n_new - slope @ estimate.new - prevailing @ pi
    shares = counts / counts.sum(axis=1, keepdims=True)
    for _ in range(SHARING_STEPS):
        joint = shares * pi
        joint *= _ratio(seen, joint.sum(axis=2))[:, :, None]
        shares = counts + joint
        shares /= shares.sum(axis=1, keepdims=True)
    change = _ratio(shares, counts)
    sums *= change[:, :, :, None]
    reweighed = populations.weight * change.reshape(-1)[of_class]
    scale = shares @ pi
    center, second = np.zeros((n_columns, most)), np.zeros((n_columns, most, most))
    errors = []
    for k in range(n_classes):
        rows = np.flatnonzero(codes == k)
        proba = estimate.proba[rows]
        products = (proba[:, :, None] * proba[:, None]).reshape(-1, n_classes**2)
        squares = (reweighed[:, rows] @ products).reshape(n_columns, n_classes, n_classes)
        # the added row has the mean probabilities of its class
        extra = (change[:, :, k] * added).sum(axis=1)
        squares += extra[:, None, None] * np.outer(means[:, k], means[:, k])
        total = sums[:, :, k].sum(axis=1)
        mean = shares[:, :, k] - (slope @ total[:, :, None])[:, :, 0]
        cross = sums[:, :, k] @ np.swapaxes(slope, 1, 2)
        moment = slope @ squares @ np.swapaxes(slope, 1, 2) - cross - np.swapaxes(cross, 1, 2)
        moment += shares[:, :, k, None] * np.eye(most)
        center, second = center + pi[k] * mean, second + pi[k] * moment
        error = pi[k] ** 2 * (moment - mean[:, :, None] * mean[:, None]) / max(n_labeled[k], 1.0)
        errors.append((error, n_labeled[k] - 1))
    errors.append(((second - center[:, :, None] * center[:, None]) / n_new, n_new - 1))
    covariance = prevailing @ estimate.covariance @ np.swapaxes(prevailing, 1, 2)
    spread = np.zeros(n_columns)
    for error, degrees in errors:
        covariance = covariance + error
        trace = _ratio(np.diagonal(error, axis1=1, axis2=2), scale).sum(axis=1)
        spread += trace**2 / max(degrees, 1.0)
    relative = _ratio(covariance, np.sqrt(scale[:, :, None] * scale[:, None]))
    expected = np.trace(relative, axis1=1, axis2=2)
    able = expected > 0
    degrees = _ratio(expected**2, (relative**2).sum(axis=(1, 2)))
    freedom = np.maximum(_ratio(expected**2, spread), 1.0)
    value = _ratio(_ratio(discrepancy**2, scale).sum(axis=1), expected)
    tail = special.fdtrc(np.where(able, degrees, 1.0), freedom, value)
    return np.column_stack([value, np.where(able, tail, 1.0)])


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient, 0 where the divisor is 0: in cells that a column does not have."""
    return np.divide(above, below, out=np.zeros_like(above, dtype=float), where=below > 0)
