"""The log density of joint tables given rows that lack cells, around a table, to second order.

With c rows in each cell, and w rows that could lie in any cell of S, coordinates v change p to
p e^v / sum(p e^v). With q = p / sum of p over S on S, and N the sum of all c and w of a class,

    gradient = c + sum of w q - N p,
    minus Hessian = N (diag p - p p') - sum of w (diag q - q q').
"""

import numpy as np
from jaxtyping import Float

from bayesgen.inference.newton import Flat, Point
from bayesgen.likelihoods.joint_categorical import JointStatistics, tables

Table = Float[np.ndarray, "class cell"]


class TablePoint(Point):
    """Tables of all classes, and the density around them.

    Args:
        statistics: of rows with missing values.
        added: prior counts.
        probs: the tables; a probability of 0 stays one.
    """

    def __init__(self, statistics: JointStatistics, added: Table, probs: Table) -> None:
        self.statistics, self.added, self.params = statistics, added, {"probs": probs}
        known = statistics.count + added
        logs = np.log(np.where(known > 0, probs, 1.0))
        terms = [(known * logs).ravel()]
        self._ratio, spread = [], np.zeros_like(probs)
        n_levels = statistics.n_levels
        for pattern, at in statistics.by_pattern():
            own = statistics.partial_class[at]
            cell = tables.cells(statistics.partial[at], n_levels, pattern)
            weight = statistics.partial_weight[at]
            fits = tables.summed(probs, n_levels, pattern)
            terms.append(weight * np.log(fits[own, cell]))
            ratio, squared = np.zeros_like(fits), np.zeros_like(fits)
            ratio[own, cell] = weight / fits[own, cell]
            squared[own, cell] = ratio[own, cell] / fits[own, cell]
            spread += tables.repeated(ratio, n_levels, pattern)
            self._ratio.append((pattern, squared))
        self.value = float(sum(part.sum() for part in terms))
        self.scale = float(sum(np.abs(part).sum() for part in terms))
        self._spread = probs * spread
        filled = known + self._spread
        self._rows = filled.sum(axis=1, keepdims=True)
        self.gradient = (filled - self._rows * probs).ravel()
        curvature = (self._rows * probs).ravel()
        self.curvature = np.where(curvature > 0, curvature, 1.0)

    @property
    def gradient_norm(self) -> float:
        """Norm of the gradient per row."""
        return float(np.sqrt((self.gradient**2).sum()) / max(self._rows.sum(), 1.0))

    def product(self, direction: Flat) -> Flat:
        """Return minus the Hessian times a direction."""
        probs, v = self.params["probs"], direction.reshape(self.added.shape)
        pv, n_levels = probs * v, self.statistics.n_levels
        out = self._rows * (pv - probs * pv.sum(axis=1, keepdims=True)) - self._spread * v
        for pattern, squared in self._ratio:
            both = squared * tables.summed(pv, n_levels, pattern)
            out += probs * tables.repeated(both, n_levels, pattern)
        return out.ravel()

    def moved(self, direction: Flat) -> "TablePoint":
        """Return the point there."""
        odds = self.params["probs"] * np.exp(direction.reshape(self.added.shape))
        probs = odds / odds.sum(axis=1, keepdims=True)
        return TablePoint(self.statistics, self.added, probs)
