r"""Bayesian classify-and-count: prevalence from the classes that new rows are assigned to.

Labeled rows, each predicted without itself, tell how often a row of class k falls into each cell b
(its most probable class, and how probable that is): n_kb rows do. The N_b new rows in each cell
then tell the prevalence pi,

    n_k. ~ Multinomial(phi_k),  N ~ Multinomial(sum_k pi_k phi_k),
    phi_k ~ Dirichlet(2 / B),  pi ~ Dirichlet(alpha),

whether or not the probabilities are right: the classifier is only an instrument, and its errors are
measured. Its predictions of fitted rows must be those of a fit without them.

Source: Czyz and Stan (2023), "From Data to Predictions: Bayesian Quantification", with rows held
out in place of leave-one-out.
"""

import dataclasses
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.base import Arrays
from bayesgen.membership import Entries
from bayesgen.prevalence.cells import edges_between
from bayesgen.prevalence.proportions import Alpha, Proportions, Rows, drawn
from bayesgen.typing import Joint, Keys, Labels, Membership, Weights

LEVELS = 3
"""Cells of each assigned class: thirds of the labeled rows assigned to it, by probability."""
PSEUDO_ROWS = 2.0
"""Dirichlet rows of the cells of a class, in all."""
SWEEPS = 60
"""Sweeps of Gibbs sampling, from draws given the cell probabilities of labeled rows alone."""


@dataclasses.dataclass(frozen=True, eq=False)
class LeftOutRows(Arrays):
    """Predictions of labeled rows, each from the others.

    log_proba: (row, class); a fit keeps those under even class probabilities. codes: their classes.
    weight: their weights. keys: of the rows by content, which a stack keeps in their place. A row
    of several classes is a row in each of them.
    """

    log_proba: Joint
    codes: Labels
    weight: Weights
    keys: Keys | None = None
    axes: ClassVar = {"log_proba": ("row", "class"), "codes": ("row",), "weight": ("row",)}

    @classmethod
    def of(
        cls, log_proba: Joint, y: Membership, weight: Weights, keys: Keys | None = None
    ) -> "LeftOutRows":
        """Return the predictions of rows in classes, or in shares of classes."""
        entries = Entries.of(y, weight)
        keys = None if keys is None else keys[entries.row]
        return cls(log_proba[entries.row], entries.code, entries.weight, keys)

    def counts(self) -> Float[np.ndarray, " class"]:
        """Return the weight of each class."""
        return np.bincount(self.codes, self.weight, minlength=self.log_proba.shape[1])


def left_out_draws(
    labeled: LeftOutRows,
    log_proba: Joint,
    weight: Rows,
    alpha: Alpha,
    start: Alpha,
    n_draws: int,
    rng: np.random.Generator,
) -> Proportions:
    """Return draws of the prevalence.

    Args:
        labeled: predictions of labeled rows.
        log_proba: the same of new rows.
        weight: of the new rows, whole numbers.
        alpha: Dirichlet rows of every class; those of 0 are excluded.
        start: prevalence to search modes from.
        n_draws: number of draws.
        rng: random numbers.
    """
    able, edges = np.flatnonzero(alpha > 0), _edges(labeled)
    n_cells = edges.shape[0] * (edges.shape[1] + 1)
    own, new = (cells(logs, edges) for logs in (labeled.log_proba, log_proba))
    seen = np.zeros((len(alpha), n_cells))
    np.add.at(seen, (labeled.codes, own), labeled.weight)
    prior, found = seen[able] + PSEUDO_ROWS / n_cells, np.bincount(new, weight, minlength=n_cells)
    phi = np.stack([rng.dirichlet(row, n_draws) for row in prior], axis=1)
    there = np.flatnonzero(found)
    found, tiny = found[there].astype(np.int64), np.finfo(float).tiny
    phi = np.maximum(phi[:, :, there], tiny)
    pi, _ = drawn(phi, found.astype(float), alpha[able], start[able], rng)
    for _ in range(SWEEPS):
        joint = np.swapaxes(pi[..., None] * phi, 1, 2)
        split = rng.multinomial(found, joint / joint.sum(axis=2, keepdims=True))
        after = np.repeat(prior[None], n_draws, axis=0)
        after[:, :, there] += np.swapaxes(split, 1, 2)
        phi = rng.standard_gamma(after)
        phi = np.maximum((phi / phi.sum(axis=2, keepdims=True))[:, :, there], tiny)
        pi = rng.standard_gamma(alpha[able] + split.sum(axis=1))
        pi = np.maximum(pi / pi.sum(axis=1, keepdims=True), tiny)
    out = np.zeros((n_draws, len(alpha)))
    out[:, able] = pi
    return out


def cells(log_proba: Joint, edges: Float[np.ndarray, "class edge"]) -> Int[np.ndarray, " row"]:
    """Return the cell of each row: its most probable class, and where its log-odds lie."""
    best, odds = _assigned(log_proba)
    return best * (edges.shape[1] + 1) + (odds[:, None] > edges[best]).sum(axis=1)


def _edges(labeled: LeftOutRows) -> Float[np.ndarray, "class edge"]:
    """Return the log-odds that divide the rows assigned rightly to each class into thirds.

    Leaving a row out lowers the log-odds of its own class. Rows assigned wrongly are thus above the
    new rows that they are tied with, and those assigned rightly below them: no edge may lie between
    the two.
    """
    best, odds = _assigned(labeled.log_proba)
    out = np.full((labeled.log_proba.shape[1], LEVELS - 1), np.inf)
    for k in np.unique(best):
        edges = edges_between(odds[(best == k) & (labeled.codes == k)], LEVELS)
        out[k, : len(edges)] = edges
    return out


def _assigned(log_proba: Joint) -> tuple[Labels, Float[np.ndarray, " row"]]:
    """Return the most probable class of each row and its log-odds, which do not round to one."""
    best = np.argmax(log_proba, axis=1)
    rest = log_proba.copy()
    rest[np.arange(len(best)), best] = -np.inf
    top = np.take_along_axis(log_proba, best[:, None], axis=1)[:, 0]
    return best, np.minimum(top - np.logaddexp.reduce(rest, axis=1), np.finfo(float).max)
