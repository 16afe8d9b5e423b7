"""Sums of normal kernels around centers, for many bandwidths, at complete and incomplete rows.

The squared distance of row x from center c by the precision P is a product of two vectors, one of
the row and one of the center, so all distances are one matrix product; coordinates are relative to
the class's own center, so that little cancels. Where all rows have one P the vectors are
(x, 1, x'Px) and (-2Pc, c'Pc, 1); where each row has its own they are (P, -2Px, x'Px) and (cc', c,
1). Missing columns have 0 in P.
"""

import dataclasses
import functools
import itertools
from collections.abc import Iterable, Iterator

import numpy as np
from jaxtyping import Float, Int

from bayesgen.likelihoods.base import row_chunks
from bayesgen.likelihoods.distinct_rows import ROUNDING
from bayesgen.likelihoods.kernel_discriminant.guesses import precisions
from bayesgen.likelihoods.multivariate_normal.density import LOG_2PI, by_pattern
from bayesgen.typing import Numbers

PAIRS = 1 << 19
"""Pairs of a row and a center of one product: 4 MB, so that centers are seldom read again."""
CACHED = 1 << 17
"""Pairs whose kernels are summed at once: 1 MB, which stay in a second-level cache."""
WIDE = 64
"""Columns above which distances by precisions of their own are computed row by row: the products of
two columns of 2,000 centers would take 80 MB at 100 columns, and grow with their square."""
SHARED = 8
"""Rows of one pattern of missing cells from which they share one product."""

Squares = Float[np.ndarray, "row center"]
Centers = Float[np.ndarray, "center feature"]
Weight = Float[np.ndarray, " center"]
Bandwidths = Float[np.ndarray, " bandwidth"]


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
        out = []
        for _, center in self.relative:
            columns = np.ascontiguousarray(center.T)
            out.append(
                np.concatenate([columns[i] * columns[j], columns, np.ones((1, len(center)))])
            )
        return out

    def squares(
        self,
        x: Numbers,
        precision: Float[np.ndarray, "#row feature feature"],
        classes: Iterable[int] | None = None,
    ) -> list[Squares]:
        """Return squared distances of rows from the centers of some classes, or of each.

        The rows of one center are a line of memory, so that sums over centers, which are often few,
        add long lines.

        precision: of each row, or one of all; 0 for missing columns.
        """
        classes, unit, p = classes or range(self.n_classes), self.unit, len(self.unit)
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
                found = center - row.T
                found *= found
                found *= precision[:, 0].T
            elif len(precision) == 1:
                there, here = center @ precision[0], row @ precision[0]
                own, others = (here * row).sum(axis=1), (there * center).sum(axis=1)
                left = np.column_stack([row, np.ones(len(row)), own])
                found = np.column_stack([-2 * there, others, np.ones(len(center))]) @ left.T
            elif p > WIDE:
                found = np.empty((len(center), len(row)))
                for r, matrix in enumerate(precision):
                    off = center - row[r]
                    found[:, r] = ((off @ matrix) * off).sum(axis=1)
            else:
                here = (precision @ row[..., None])[..., 0]
                own = (here * row).sum(axis=1)
                found = self.products[k].T @ np.column_stack([pairs, -2 * here, own]).T
            # rounding of a product may leave less than 0
            out.append((found if p == 1 else np.maximum(found, 0.0, out=found)).T)
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
            batches, few = [], [np.empty(0, dtype=int)]
            for g, rows in enumerate(groups):
                if len(rows) < SHARED:
                    few.append(np.full(len(rows), g))
                else:
                    batches.append((rows, np.full(len(rows), g), precision[g][None]))
            which = np.concatenate(few)
            alone = [rows for rows in groups if len(rows) < SHARED]
            if alone:
                batches.append((np.concatenate(alone), which, precision[which]))
            for rows, which, own in batches:
                for part in row_chunks(len(rows), size):
                    some, matrix = x[rows[part]], own if len(own) == 1 else own[part]
                    yield rows[part], self.squares(some, matrix), height[which[part]]

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
            out[:] = np.log([[self.weight[part].sum()] for part in self.parts])
        for rows, squares, height in self.located(x):
            level = height[:, None] - size[rows] * np.log(bandwidth)
            for k, part in enumerate(self.parts):
                out[rows, k] = log_sums(squares[k], self.weight[part], bandwidth) + level
        return out


def log_sums(
    squares: Squares, weight: Weight, bandwidth: Bandwidths
) -> Float[np.ndarray, "row bandwidth"]:
    """Return log sum_c w_c exp(-squares_c / 2 h^2) by row and bandwidth; -inf without centers.

    Relative to the nearest center, so that nothing underflows far away. squares is overwritten;
    infinite ones stand for centers that are left out.

    bandwidth: each the one before divided by the square root of 2, so that the kernels of one are
    the squares of those before.
    """
    out = np.full((len(bandwidth), len(squares)), -np.inf)
    if not weight.all():
        squares, weight = squares[:, weight > 0], weight[weight > 0]
    if not squares.size:
        return out.T
    nearest = squares.min(axis=1)
    finite = np.isfinite(nearest)
    near, total = np.where(finite, nearest, 0.0), np.zeros_like(out)
    for some in row_chunks(len(weight), max(1, CACHED // len(squares))):
        part = squares[:, some].T
        part -= near
        part *= -0.5 / bandwidth[0] ** 2
        np.exp(part, out=part)
        for j in range(len(bandwidth)):
            if j:
                part *= part
            total[j] += weight[some] @ part
    scale = 2 * bandwidth[:, None] ** 2
    out[:, finite] = np.log(total[:, finite]) - near[finite] / scale
    return out.T


def log_sums_without(
    squares: Squares,
    weight: Weight,
    own: Int[np.ndarray, " row"],
    lost: Float[np.ndarray, " row"],
    bandwidth: Bandwidths,
) -> Float[np.ndarray, "row bandwidth"]:
    """Return `log_sums` where each row's own center lacks the weight lost.

    own: the position of each row among the centers, -1 of a row that is none.
    """
    here = np.flatnonzero(own >= 0)
    at, away = own[here], lost[here]
    gone = weight[at] - away <= ROUNDING * weight[at]
    squares[here, at] = np.where(gone, np.inf, 0.0)
    out = log_sums(squares, weight, bandwidth)
    # of a center of weight above 1 the rest stays, at distance 0
    some = here[~gone]
    out[some] += np.log1p(-away[~gone, None] * np.exp(-out[some]))
    return out
