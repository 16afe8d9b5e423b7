r"""Test of label shift: whether more than the class frequencies differs from the labeled rows.

Under label shift any function t(x) of a row satisfies p_new(t) = sum_k pi_k p_fit(t given y = k),
whether or not a model describes t well. For cells b of t, shares f_b of m new rows and phi_kb of
the labeled rows of class k, the discrepancy is

    X2 = m sum_b e_b^2 / q_b,  e_b = f_b - sum_k pi~_k phi_kb,  q_b = sum_k pi_k phi_kb

with the adjusted prevalence pi~ of `replicates`. Then e is the mean over new rows of a function
that is 0 on average in the labeled rows of each class: prevalence cancels, whose estimate rests on
the same rows (Neyman 1959, in Probability and Statistics, 213-234: residuals orthogonal to what is
estimated). X2 is compared with that of replicates, adjusted likewise: a predictive check (Gelman,
Meng and Stern 1996, Statistica Sinica 6, 733-807) that estimates again. Replicates that keep the
estimate of the rows vary more than these do about what is expected: of pure shifts of prevalence
.02 and less were found at .05. Rows simulated by the model are not a suitable reference: real
tables differ from them for any class frequencies.

`columns_rejected` runs within every estimate, without replicates: X2 is referred to an F
distribution of the same mean, whose degrees of freedom follow from the covariance of e (moments as
in Satterthwaite 1946, Biometrics Bulletin 2, 110-114), and that from the shares of cells in labeled
and new rows together, since those of few labeled rows alone hardly vary where no row lies.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int
from scipy import special

from bayesgen.inference import log_class_probabilities
from bayesgen.likelihoods.base import row_chunks
from bayesgen.prevalence.left_out import LeftOutRows
from bayesgen.prevalence.replicates import Replicates, adjustment, class_means, replicated
from bayesgen.prevalence.result import Prevalence
from bayesgen.prevalence.score_edges import are_tied, edges_between
from bayesgen.table import Name, Table, TableColumn
from bayesgen.typing import DataFrame, Joint, Labels, Weights

QUANTILES = 6
"""Cells of a column of numbers: sixths of the labeled rows."""
DENSITY = "(density)"
SEED = 0
"""Of the replicates, which then do not differ between calls."""
REJECTED = 0.001
"""P-value over all columns below which an estimate says that label shift is rejected."""
MOST_CELLS = 20
"""Cells of a column that are tested within an estimate; the rarest levels share the last one."""
TESTED_FLOATS = 1_000_000
"""Numbers held at once while columns are tested together, about: 8 MB."""
SHARING_STEPS = 20
"""Steps of EM to the shares of cells in labeled and new rows together."""

Cells = Int[np.ndarray, " _"]


@dataclasses.dataclass(frozen=True, eq=False)
class Labeled:
    """Labeled rows: their table, class codes and weights; (row,) each but the table.

    joint: log p(x, y = k) of each from the others, at the prevalence of the new rows; None where no
    row can be left out. fitted: the same from all rows.
    """

    table: Table
    codes: Labels
    weight: Weights
    joint: Joint | None
    fitted: Joint


@dataclasses.dataclass(frozen=True, eq=False)
class Populations:
    """The tables of labeled rows and of new ones; class codes and weights of the labeled rows."""

    labeled: Table
    codes: Labels
    weight: Weights
    new: Table


@dataclasses.dataclass(frozen=True, eq=False)
class Adjustment:
    """An estimate of prevalence, and how it is adjusted so that label shift cancels it.

    proba: class probabilities of labeled rows at the prevalence, each from the others, (row,
    class). new: their mean over the new rows, (class,). gain: G of `replicates`, or 0.
    prevalence, covariance: of the estimate.
    """

    proba: Joint
    new: Float[np.ndarray, " class"]
    gain: Float[np.ndarray, "class class"]
    prevalence: Float[np.ndarray, " class"]
    covariance: Float[np.ndarray, "class class"]


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
    codes, prevalence = populations.codes, draws.mean(axis=0)
    proba, gain = np.eye(len(prevalence))[codes], np.zeros((len(prevalence), len(prevalence)))
    if left_out is not None and np.array_equal(left_out.codes, codes):
        proba = _at_prevalence(left_out.log_proba, prevalence)
        gain = adjustment(proba, codes, populations.weight, prevalence)[1]
    new = weight @ _at_prevalence(log_proba, prevalence) / weight.sum()
    estimate = Adjustment(proba, new, gain, prevalence, np.cov(draws.T))
    common = _common(populations.labeled, populations.new)
    cells = [_fewer(*_occurring(*_cells(*columns))) for _, *columns in common]
    p_values = dict(
        zip(
            (name for name, *_ in common),
            _p_values(cells, populations, weight, estimate).tolist(),
            strict=True,
        )
    )
    rejected: list[Name] = []
    for name in sorted(p_values, key=p_values.__getitem__):
        if p_values[name] * (len(p_values) - len(rejected)) >= REJECTED:
            break
        rejected.append(name)
    return tuple(rejected)


def _at_prevalence(
    log_proba: Joint, prevalence: Float[np.ndarray, " class"]
) -> Float[np.ndarray, "row class"]:
    """Return class probabilities at a prevalence from the logs of those under even classes."""
    with np.errstate(divide="ignore"):
        prior = np.log(prevalence)
    return np.exp(log_class_probabilities(log_proba + prior, prior))


def _fewer(labeled: Cells, new: Cells) -> tuple[Cells, Cells]:
    """Return cells of which the rarest share one, if there are more than MOST_CELLS."""
    counts = np.bincount(np.concatenate([labeled, new]))
    if len(counts) <= MOST_CELLS:
        return labeled, new
    place = np.empty(len(counts), dtype=int)
    place[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    place = np.minimum(place, MOST_CELLS - 1)
    return place[labeled], place[new]


def _p_values(
    cells: list[tuple[Cells, Cells]],
    populations: Populations,
    weight: Weights,
    estimate: Adjustment,
) -> Float[np.ndarray, " column"]:
    """Return the p-value of the discrepancy X2 of each column, by its mean and its variance.

    e is the mean over new rows of psi(x) = (x in cell b) - A h(x), with A = phi G, minus its
    expectation; its covariance is that of the mean of new rows, plus pi_k^2 times that of the mean
    of labeled rows of each class, plus that of the prevalence as far as it is not adjusted.

    Args:
        cells: of the labeled and of the new rows, by column.
        populations: labeled and new rows.
        weight: of the new rows.
        estimate: of the prevalence.
    """
    n_cells = np.array([int(max(own.max(), new.max())) + 1 for own, new in cells], dtype=int)
    p_values = np.ones(len(cells))
    tested = np.flatnonzero(n_cells > 1)
    if not len(tested):
        return p_values
    n_classes = len(estimate.prevalence)
    n_floats = n_cells.max() * (n_classes**2 + n_classes * n_cells.max()) + n_classes**3
    n_floats += len(populations.codes) + len(weight)
    for chunk in row_chunks(len(tested), max(1, TESTED_FLOATS // int(n_floats))):
        columns = tested[chunk]
        own, new = (np.stack([cells[j][side] for j in columns]) for side in (0, 1))
        p_values[columns] = _p_values_of_chunk(
            own, new, n_cells[columns], populations, weight, estimate
        )
    return p_values


def _p_values_of_chunk(
    labeled: Int[np.ndarray, "column labeled"],
    new: Int[np.ndarray, "column new"],
    n_cells: Int[np.ndarray, " column"],
    populations: Populations,
    weight: Weights,
    estimate: Adjustment,
) -> Float[np.ndarray, " column"]:
    """Return the p-values of columns whose cells fill arrays (column, cell); cells beyond are 0."""
    codes, pi, n_new = populations.codes, estimate.prevalence, float(weight.sum())
    n_columns, most, n_classes = len(n_cells), int(n_cells.max()), len(pi)
    # one more row of each class, spread over the cells of a column
    added = (np.arange(most) < n_cells[:, None]) / n_cells[:, None]
    place = np.arange(n_columns)[:, None] * most
    of_class, shape = (place + labeled) * n_classes + codes, (n_columns, most, n_classes)

    def counted(values: Float[np.ndarray, " labeled"]) -> Float[np.ndarray, "column cell class"]:
        repeated = np.tile(populations.weight * values, n_columns)
        return np.bincount(of_class.ravel(), repeated, minlength=np.prod(shape)).reshape(shape)

    n_labeled = np.bincount(codes, populations.weight, minlength=n_classes)
    means = class_means(estimate.proba, codes, populations.weight)
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
    return np.where(able, special.fdtrc(np.where(able, degrees, 1.0), freedom, value), 1.0)


def _ratio(above: np.ndarray, below: np.ndarray) -> np.ndarray:
    """Return a quotient, 0 where the divisor is 0: in cells that a column does not have."""
    return np.divide(above, below, out=np.zeros_like(above, dtype=float), where=below > 0)


def table_of_shift(labeled: Labeled, new: Table, joint: Joint, found: Prevalence) -> DataFrame:
    """Return discrepancies and p-values by column, and of log p(x).

    Args:
        labeled: rows of the fit.
        new: rows without labels; columns that they lack are left out.
        joint: log p(x, y = k) of the new rows, at their prevalence.
        found: their prevalence.
    """
    import pandas as pd

    rng = np.random.default_rng(SEED)
    cells = {name: _cells(own, other) for name, own, other in _common(labeled.table, new)}
    own = None
    if labeled.joint is not None:
        own = _class_probabilities(labeled.joint, found)
        cells[DENSITY] = _densities(labeled.joint, joint, labeled.fitted)
    proba = _class_probabilities(joint, found)
    others = replicated(labeled.codes, labeled.weight, own, proba, found.draws, rng)
    lines = [_compared(*_occurring(*pair), labeled, others, rng) for pair in cells.values()]
    index = pd.Index(list(cells), name="column")
    return pd.DataFrame(lines, index=index, columns=["discrepancy", "p_value"])


def _class_probabilities(joint: Joint, found: Prevalence) -> Joint:
    with np.errstate(divide="ignore"):
        return np.exp(log_class_probabilities(joint, np.log(found.draws.mean(axis=0))))


def _common(own: Table, new: Table) -> list[tuple[Name, TableColumn, TableColumn]]:
    """Return the columns that both tables have; none of sparse tables, which may have thousands."""
    if own.is_sparse or new.is_sparse:
        return []
    there = {column.name: column for column in new.columns}
    return [(c.name, c, there[c.name]) for c in own.columns if c.name in there]


def _compared(
    own: Cells, new: Cells, labeled: Labeled, others: Replicates, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the discrepancy of cells, relative to that of replicates, and its p-value."""
    n_cells, n_rows = int(max(own.max(), new.max())) + 1, len(new)
    phi = np.full((len(others.prevalence), n_cells), 1 / n_cells)
    np.add.at(phi, (labeled.codes, own), labeled.weight)
    phi /= phi.sum(axis=1, keepdims=True)

    counts = others.rows @ np.eye(n_cells)[own]
    counts += rng.multinomial(others.unseen.sum(axis=1), np.full(n_cells, 1 / n_cells))
    counts = np.concatenate([np.bincount(new, minlength=n_cells)[None], counts])
    expected = n_rows * np.concatenate([others.here[None], others.there]) @ phi
    scale = n_rows * others.prevalence @ phi
    here, *there = ((counts - expected) ** 2 / scale).sum(axis=1).tolist()
    p_value = (1 + sum(other >= here for other in there)) / (1 + len(there))
    return here / max(float(np.mean(there)), np.finfo(float).tiny), p_value


def _occurring(own: Cells, new: Cells) -> tuple[Cells, Cells]:
    """Return cells without those in which no row lies, where an unseen row would look strange."""
    _, places = np.unique(np.concatenate([own, new]), return_inverse=True)
    return places[: len(own)], places[len(own) :]


def _cells(own: TableColumn, new: TableColumn) -> tuple[Cells, Cells]:
    """Return the cells of labeled and of new rows; missing cells are one of their own."""
    if own.kind == "number" and new.kind == "number":
        return _numbers(own.values, new.values)
    own, new = _as_levels(own), _as_levels(new)
    names = {str(level): None for column in (own, new) for level in column.levels}
    place = {name: i for i, name in enumerate(names, start=1)}
    return _levels(own, place), _levels(new, place)


def _as_levels(column: TableColumn) -> TableColumn:
    """Return a column of numbers, which was one of levels in the other table, as levels."""
    if column.kind != "number":
        return column
    found, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    names = tuple(f"{value:g}" for value in found[~np.isnan(found)])
    codes = np.where(np.isnan(column.values), -1, codes)
    return dataclasses.replace(column, kind="level", values=codes, levels=names)


def _levels(column: TableColumn, place: dict[str, int]) -> Cells:
    """Return the places of the levels of a column, 0 where it is missing."""
    codes = np.array([0, *(place[str(level)] for level in column.levels)])
    return codes[column.values.astype(int) + 1]


def _numbers(own: Float[np.ndarray, " row"], new: Float[np.ndarray, " new"]) -> tuple[Cells, Cells]:
    """Return the cells between quantiles of the labeled rows, 0 where a number is missing."""
    observed = own[~np.isnan(own)]
    shares = np.arange(1, QUANTILES) / QUANTILES
    # between values, not at them: equal values then share a cell
    edges = np.unique(np.quantile(observed, shares, method="lower")) if len(observed) else observed
    first, second = (
        np.where(np.isnan(x), 0, 1 + np.searchsorted(edges, x, side="left")) for x in (own, new)
    )
    return first, second


def _densities(labeled: Joint, new: Joint, fitted: Joint) -> tuple[Cells, Cells]:
    """Return the cells of log p(x) of labeled rows and of new rows.

    Labeled rows are scored from the others, except that tied ones are scored from all, as the new
    rows that are tied with them are: the others of a group stand for the row anyway.
    """
    own, other, whole = (np.logaddexp.reduce(logs, axis=1) for logs in (labeled, new, fitted))
    own = np.where(are_tied(whole), whole, own)
    edges = edges_between(own, QUANTILES)
    return np.searchsorted(edges, own), np.searchsorted(edges, other)
