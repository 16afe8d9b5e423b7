"""Normal kernels of all columns together, around centers, at complete and incomplete rows.

The squared distance of row x from center c by the precision P is a product of two vectors, one of
the row and one of the center, so all distances are one matrix product; coordinates are relative to
the class's own center, so that little cancels. Where all rows have one P the vectors are
(-2Px, 1, x'Px) and (c, c'Pc, 1); where each row has its own they are (P, -2Px, x'Px) and (cc', c,
1). Missing columns have 0 in P.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.kernels.guesses import precisions
from bayesgen.likelihoods.kernels.sums import Bandwidths, Squares, Weight, log_sums
from bayesgen.likelihoods.multivariate_normal.density import LOG_2PI, by_pattern
from bayesgen.typing import Numbers

PAIRS = 1 << 19
"""Pairs of a row and a center of one product: 4 MB, so that centers are seldom read again."""
WIDE = 64
"""Columns above which distances by precisions of their own are computed row by row: the products of
two columns of 2,000 centers would take 80 MB at 100 columns, and grow with their square."""
EXPONENT = 100.0
"""Largest exponent by which kernels on a grid are products: no digit is then lost, nor a kernel."""
SHARED = 8
"""Rows of one pattern of missing cells from which they share one product."""

Centers = Float[np.ndarray, "center feature"]


@dataclasses.dataclass(frozen=True, eq=False)
class Kernels:
    """Centers with weights, in order of class, and the kernels' covariance at bandwidth 1.

    x: (center, feature). y: classes, (center,). weight: (center,). share: of each class, the weight
    of a center over that of its row. covariance: (feature, feature).
    """

    x: Centers
    y: Int[np.ndarray, " center"]
    weight: Weight
    share: Float[np.ndarray, " class"]
    covariance: Float[np.ndarray, "feature feature"]

    @property
    def n_classes(self) -> int:
        """The number of classes."""
        return len(self.share)

    @functools.cached_property
    def unit(self) -> Float[np.ndarray, " feature"]:
        """The kernels' standard deviations at bandwidth 1."""
        return np.sqrt(np.diagonal(self.covariance))

    @functools.cached_property
    def parts(self) -> list[slice]:
        """The positions of the centers of each class."""
        ends = np.searchsorted(self.y, np.arange(self.n_classes + 1)).tolist()
        return [slice(*pair) for pair in itertools.pairwise(ends)]

    @property
    def sizes(self) -> list[int]:
        """The number of centers of each class."""
        return [part.stop - part.start for part in self.parts]

    @functools.cached_property
    def count(self) -> Float[np.ndarray, " class"]:
        """The weight of the rows of each class."""
        return np.array([self.weight[part].sum() for part in self.parts])

    @functools.cached_property
    def relative(self) -> list[tuple[np.ndarray, Centers]]:
        """The origin of each class, and its centers relative to that in units of `unit`."""
        groups = [self.x[part] for part in self.parts]
        origins = [group.mean(axis=0) if len(group) else 0 * self.unit for group in groups]
        pairs = zip(groups, origins, strict=True)
        return [(origin, (group - origin) / self.unit) for group, origin in pairs]

    @functools.cached_property
    def products(self) -> list[np.ndarray]:
        """The vectors (cc', c, 1) of the centers of each class, (feature of center, center)."""
        i, j = np.triu_indices(len(self.unit))
        columns = [np.ascontiguousarray(center.T) for _, center in self.relative]
        return [np.concatenate([c[i] * c[j], c, np.ones((1, c.shape[1]))]) for c in columns]

    def squares(
        self,
        x: Numbers,
        precision: Float[np.ndarray, "#row feature feature"],
        classes: Iterable[int],
    ) -> list[Squares]:
        """Return squared distances of rows from the centers of some classes.

        The rows of one center are a line of memory, so that sums over centers, which are often few,
        add long lines.

        precision: of each row, or one of all; 0 for missing columns.
        """
        unit, p = self.unit, len(self.unit)
        precision = precision * (unit[:, None] * unit)
        i, j = np.triu_indices(p)
        pairs = np.empty((0, len(i)))
        if 1 < p <= WIDE and len(precision) > 1:
            # (i, j) stands for (j, i) too
            pairs = precision.reshape(-1, p * p).take(i * p + j, axis=1)
            pairs *= np.where(i == j, 1, 2)
        out = []
        for k in classes:
            origin, center = self.relative[k]
            row = np.where(np.isnan(x), 0.0, (x - origin) / unit)
            if p == 1:
                squares = center - row.T
                squares *= squares
                squares *= precision[:, 0].T
            elif p > WIDE and len(precision) > 1:
                squares = np.empty((len(center), len(row)))
                for r, matrix in enumerate(precision):
                    away = center - row[r]
                    squares[:, r] = ((away @ matrix) * away).sum(axis=1)
            else:
                shared = len(precision) == 1
                pulls = row @ precision[0] if shared else (precision @ row[..., None])[..., 0]
                norms = (pulls * row).sum(axis=1)
                if not shared:
                    squares = self.products[k].T @ np.column_stack([pairs, -2 * pulls, norms]).T
                else:
                    center_norms = ((center @ precision[0]) * center).sum(axis=1)
                    left = np.column_stack([center, center_norms, np.ones(len(center))])
                    squares = left @ np.column_stack([-2 * pulls, np.ones(len(row)), norms]).T
            # rounding of a product may leave less than 0
            out.append((squares if p == 1 else np.maximum(squares, 0.0, out=squares)).T)
        return out

    def located(
        self, x: Numbers
    ) -> Iterator[tuple[Int[np.ndarray, " row"], list[Squares], Float[np.ndarray, " row"]]]:
        """Yield (rows, squared distances by class, log of the kernels' height at bandwidth 1).

        Rows come by pattern of missing cells, in chunks; those without an observed cell are left
        out.
        """
        size = max(1, PAIRS // max(len(self.x), 1))
        for masks, groups in by_pattern(x):
            precision, log_det = precisions(self.covariance[None], masks)
            height = -0.5 * (log_det + masks.sum(axis=1) * LOG_2PI)
            batches = [(rows, np.full(len(rows), g)) for g, rows in enumerate(groups)]
            alone = [batch for batch in batches if len(batch[0]) < SHARED]
            if alone:
                batches = [batch for batch in batches if len(batch[0]) >= SHARED]
                batches.append(tuple(map(np.concatenate, zip(*alone, strict=True))))
            for rows, pattern in batches:
                for part in row_chunks(len(rows), size):
                    which = pattern[part]
                    shared = (which == which[0]).all()
                    matrices = precision[which[:1] if shared else which]
                    squares = self.squares(x[rows[part]], matrices, range(self.n_classes))
                    yield rows[part], squares, height[which]

    def log_sums(
        self, x: Numbers, bandwidth: Bandwidths
    ) -> Float[np.ndarray, "row class bandwidth"]:
        """Return log sum_c w_c N(x; c, h^2 W) over the observed columns of rows.

        In a row without an observed cell every kernel has density 1.
        """
        size = (~np.isnan(x)).sum(axis=1)[:, None]
        # bandwidths lie far apart in memory, so that each has its rows in one line
        out = np.empty((len(bandwidth), self.n_classes, len(x))).transpose(2, 1, 0)
        with np.errstate(divide="ignore"):
            out[:] = np.log(self.count)[:, None]
        for rows, squares, height in self.located(x):
            level = height[:, None] - size[rows] * np.log(bandwidth)
            for k, part in enumerate(self.parts):
                out[rows, k] = log_sums(squares[k], self.weight[part], bandwidth) + level
        return out

    def log_sums_on_grid(
        self,
        middle: Float[np.ndarray, " piece"],
        offset: Float[np.ndarray, " point"],
        bandwidth: Bandwidths,
    ) -> Float[np.ndarray, "row class bandwidth"]:
        """Return `log_sums` at every sum of a middle and an offset, of kernels of one column.

        (m + t - c)^2 = (m - c)^2 + t^2 + 2 t m - 2 t c, so that a sum of kernels at all of them is
        a product of a matrix of middles and centers with one of centers and offsets.
        """
        (unit,), n = self.unit, len(middle) * len(offset)
        size = max((np.abs(center).max(initial=0.0) for _, center in self.relative), default=0.0)
        steepest = bandwidth.min() ** 2
        if np.abs(offset).max() / unit * size > EXPONENT * steepest:
            return self.log_sums((middle[:, None] + offset).reshape(-1, 1), bandwidth)
        out = np.full((len(bandwidth), self.n_classes, n), -np.inf)
        t = offset / unit
        for k, ((origin,), center) in enumerate(self.relative):
            if not len(center):
                continue
            weight, m = self.weight[self.parts[k]], (middle - origin) / unit
            squares, pulls = (m - center) ** 2, center * t
            nearest = squares.min(axis=0)
            squares -= nearest
            for j, h in enumerate(bandwidth.tolist()):
                near = np.exp(-0.5 / h**2 * squares).T
                sums = (near * weight) @ np.exp(pulls / h**2)
                level = nearest[:, None] / 2 + t**2 / 2 + m[:, None] * t
                out[j, k] = (np.log(sums) - level / h**2).ravel()
            out[:, k] -= np.log(bandwidth * unit)[:, None] + LOG_2PI / 2
        return out.transpose(2, 1, 0)
