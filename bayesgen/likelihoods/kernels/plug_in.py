"""Kernels of one column whose bandwidth is stated, or follows from the values of each class."""

import dataclasses
from collections.abc import Callable

import numpy as np

from bayesgen.likelihoods.base import Arrays
from bayesgen.likelihoods.distinct_rows import Values
from bayesgen.likelihoods.kernels.rule_of_thumb import nrd0, nrd0_without
from bayesgen.likelihoods.kernels.sums import log_densities
from bayesgen.typing import Block, Joint, Labels, Weights


@dataclasses.dataclass(frozen=True, eq=False)
class PlugInKernels(Arrays):
    """Normal kernels at the values of each class, of one known bandwidth a class.

    centers: distinct values of each class, in rising order, and their weights; those of all classes
    where a class has none. bandwidth: of each class, (class,); NaN where there is none. by_rule:
    whether it is the rule of thumb. borrows: which classes take values or spread of all, (class,).
    """

    centers: tuple[tuple[np.ndarray, np.ndarray], ...]
    bandwidth: np.ndarray
    by_rule: bool
    borrows: np.ndarray

    @classmethod
    def of(
        cls, values: Values, feature: int, bandwidth: np.ndarray, *, by_rule: bool
    ) -> "PlugInKernels":
        """Return the kernels of one of the columns of values."""
        groups = [values.group(k, feature) for k in range(values.n_classes)]
        borrows = [not (nrd0(*group) if by_rule else len(group[0])) for group in groups]
        centers = tuple(values.borrowed(k, feature) for k in range(values.n_classes))
        return cls(centers, bandwidth, by_rule, np.array(borrows))

    def uninformative(self) -> np.ndarray:
        """Return whether the column is never observed, or constant without a stated bandwidth."""
        return np.isnan(self.bandwidth).any(keepdims=True)

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.centers)

    def predictive(self) -> Callable[[Block], Joint]:
        """Return x -> log mean kernels of observed values (row, 1), shape (row, class)."""

        def log_density(x: Block) -> Joint:
            each = zip(self.centers, self.bandwidth, strict=True)
            scores = [log_densities(x[:, 0], *centers, width) for centers, width in each]
            return np.stack(scores, axis=1)

        return log_density

    def leave_one_out(self, x: Block, y: Labels, away: Weights) -> Joint:
        """Return log p(x_i given y = k, the values without i), (row, class), x being observed.

        NaN where a class takes values or spread of all. Else without row i only the kernels of its
        own class change: one is lighter, and the rule of thumb is that of the other values.
        """
        out = self.predictive()(x)
        for k, (center, weight) in enumerate(self.centers):
            rows = np.flatnonzero((y == k) & (away > 0))
            own = np.searchsorted(center, x[rows, 0])
            width = np.full(len(rows), self.bandwidth[k])
            if self.by_rule and not self.borrows[k]:
                width = nrd0_without(center, weight, own, away[rows])
            left = {"own": own, "lost": away[rows]}
            out[rows, k] = log_densities(x[rows, 0], center, weight, width, **left)
        out[:, self.borrows] = np.nan
        return out

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return values, missing ones drawn: a center of the class by weight, plus noise."""
        out = x.copy()
        for k, (center, weight) in enumerate(self.centers):
            at = np.flatnonzero((own == k) & np.isnan(x[:, 0]))
            if len(at):
                picked = rng.choice(center, len(at), p=weight / weight.sum())
                out[at, 0] = picked + self.bandwidth[k] * rng.standard_normal(len(at))
        return out
