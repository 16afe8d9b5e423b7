r"""A linear discriminant of more columns than rows, in the space of the rows.

Columns are divided by their standard deviations, around their means, and
x given y = k ~ N(mu_k, Sigma) with the conjugate prior mu_k given Sigma ~ N(0, Sigma / m) and
Sigma ~ inverse-Wishart(p - 1 + c, c I): that of `bg.LDA` with a diagonal guess. With Z the n rows,
w their weights, n_k those of class k, and a_k = w / (m + n_k) for the rows of class k, else 0,

    p(x given k) is t with c + n degrees of freedom in D_k / (1 + 1 / (m + n_k)),
    D_k = (e'e - (Z e)' M^-1 (Z e)) / c,  e = x - Z' a_k,  M = Z Z' + c (diag(1 / w) + B / m),

where B_ij is 1 for rows of one class, else 0, by Woodbury's identity: no matrix is larger than the
rows are many. A row left out changes M by rank one. Class probabilities are averaged over c and m
by the log score of the rows left out; evidence prefers strengths that predict wide tables worse.
The part of the pool is p(y = k given x) / pi_k, with pi the class fractions of the rows.

Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.6.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.interactions.forest import features, origins, row_keys, row_positions, varying
from bayesgen.interactions.term import Cell, Term
from bayesgen.likelihoods.base import row_chunks, sample_positions
from bayesgen.likelihoods.distinct_rows import gather
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Encoded, Joint, Labels, Numbers, Weights

COVARIANCE_ROWS, MEAN_ROWS = (100.0, 300.0, 1000.0, 3000.0), (32.0, 128.0, 512.0, 2048.0)
"""Prior strengths c and m in rows. On seven kinds of tables of 60 x 500 the log loss was higher by
.007 to .02 on six with m of 1 to 32, under which classes are nearly disjoint a priori, and by .001
to .03 on five with c of 3 to 10,000."""
STRENGTHS = np.array([*itertools.product(COVARIANCE_ROWS, MEAN_ROWS)])
CHUNK_FLOATS = 2_000_000
"""Numbers of rows by class and row of the fit that are held at once: 16 MB."""

Square = Float[np.ndarray, "entry entry"]


@dataclasses.dataclass(frozen=True, eq=False)
class Discriminant(Term):
    """Rows of many columns, with one covariance within classes.

    A missing cell counts as the mean of its column, an approximation; a row at every mean, as one
    without cells, says nothing.

    cells: where rows have the columns. x: distinct rows, standardized. center, unit: means and
    standard deviations of the features; 0 of one that is constant. y, weight: classes and weights
    of the rows. key: a digest of the cells and the class of each. n_classes: number of classes.
    """

    cells: tuple[Cell, ...]
    x: Float[np.ndarray, "entry feature"]
    center: Float[np.ndarray, " feature"]
    unit: Float[np.ndarray, " feature"]
    y: Int[np.ndarray, " entry"]
    weight: Float[np.ndarray, " entry"]
    key: Int[np.ndarray, " entry"]
    n_classes: int
    axes: ClassVar = {
        "x": ("entry", "feature"),
        **dict.fromkeys(("center", "unit"), ("feature",)),
        **dict.fromkeys(("y", "weight", "key"), ("entry",)),
    }

    @property
    def title(self) -> str:
        """The word "discriminant"."""
        return "discriminant"

    @property
    def splits(self) -> bool:
        """Whether some column varies."""
        return bool(self.unit.any())

    @classmethod
    def of(
        cls, cells: Sequence[Cell], encoded: Encoded, y: Labels, weight: Weights, n_classes: int
    ) -> "Discriminant":
        """Return the discriminant of rows, in any order; arguments as of `Forest.grown`."""
        cells = varying(cells, encoded) or cells
        rows = gather(features(cells, encoded), y, weight, n_classes)
        share = rows.weight[:, None] * ~np.isnan(rows.x)
        share /= np.maximum(share.sum(axis=0), np.finfo(float).tiny)
        center = (share * np.nan_to_num(rows.x)).sum(axis=0)
        unit = np.sqrt((share * np.nan_to_num(rows.x - center) ** 2).sum(axis=0))
        # rounding of the mean of equal cells is no spread
        unit[unit <= 1e-12 * np.abs(center)] = 0.0
        x, key = standardized(rows.x, center, unit), row_keys(rows.x, rows.y)
        return cls(tuple(cells), x, center, unit, rows.y, rows.weight, key, n_classes)

    @functools.cached_property
    def gram(self) -> Square:
        """Inner products of the rows."""
        return self.x @ self.x.T

    @functools.cached_property
    def labels(self) -> Bool[np.ndarray, "entry class"]:
        """Which class each row has."""
        return self.y[:, None] == np.arange(self.n_classes)

    def inverse(self, strengths: Float[np.ndarray, " 2"], weight: Weights) -> Square:
        """Return M^-1 of rows of these weights."""
        covariance_rows, mean_rows = strengths
        alike = self.y[:, None] == self.y
        ridge = np.diag(1 / weight) + alike / mean_rows
        return np.linalg.inv(self.gram + covariance_rows * ridge)

    def log_ratio(
        self,
        x: Numbers,
        strengths: Float[np.ndarray, " 2"],
        inverse: Square,
        weight: Float[np.ndarray, "#row entry"],
        downdate: Float[np.ndarray, "row entry"] | None = None,
    ) -> Joint:
        """Return log P(y = k given x) - log pi_k of rows under one prior.

        Args:
            x: standardized rows.
            strengths: c and m.
            inverse: M^-1.
            weight: of the rows of the fit, for each row.
            downdate: v of each row, for which M^-1 is less by v v'; None: 0.
        """
        covariance_rows, mean_rows = strengths
        count, cross = weight @ self.labels, x @ self.x.T
        after = mean_rows + count
        share = (weight[:, None] * self.labels.T) / after[..., None]
        pulled = share @ self.gram
        z = cross[:, None] - pulled
        squares = (x**2).sum(axis=1)[:, None] - 2 * (share @ cross[..., None])[..., 0]
        squares += (pulled * share).sum(axis=2) - (z * (z @ inverse)).sum(axis=2)
        if downdate is not None:
            squares += (z @ downdate[..., None])[..., 0] ** 2
        total, p = count.sum(axis=1, keepdims=True), np.count_nonzero(self.unit)
        stretch, power = 1 + 1 / after, (covariance_rows + total + p) / 2
        logs = -power * np.log1p(squares / covariance_rows / stretch) - p / 2 * np.log(stretch)
        logs -= log_sum_exp(logs + np.log((count + 1) / (total + self.n_classes)))[:, None]
        return np.where(x.any(axis=1)[:, None], logs, 0.0)

    @functools.cached_property
    def inverses(self) -> list[Square]:
        """M^-1 under each prior."""
        return [self.inverse(strengths, self.weight) for strengths in STRENGTHS]

    @functools.cached_property
    def scores(self) -> Float[np.ndarray, "prior entry"]:
        """Log P(y_i given x_i) - log pi of each row, without it, by prior.

        All of its weight leaves: where columns outnumber rows, equal rows are copies.
        """
        every = np.arange(len(self.y))
        return self.without(self.x, every, self.weight)[:, every, self.y]

    def without(
        self, x: Numbers, entry: Int[np.ndarray, " row"], away: Weights
    ) -> Float[np.ndarray, "prior row class"]:
        """Return the log ratio under each prior, a part of the weight of each row left out.

        Args:
            x: standardized rows.
            entry: which of the rows of the fit each is.
            away: the part of its weight; 0: none, whichever row it is.
        """
        out = np.empty((len(STRENGTHS), len(x), self.n_classes))
        for rows in self.chunks(len(x)):
            at, lost, place = entry[rows], away[rows], np.arange(len(entry[rows]))
            weight = np.tile(self.weight, (len(at), 1))
            after = np.maximum(weight[place, at] - lost, 0.0)
            weight[place, at] = after
            for g, (strengths, inverse) in enumerate(zip(STRENGTHS, self.inverses, strict=True)):
                # Sherman and Morrison's formula; where no weight stays, 1 / w is infinite
                corner = lost * inverse[at, at] + self.weight[at] * after / strengths[0]
                downdate = inverse[at] * np.sqrt(lost / corner)[:, None]
                out[g, rows] = self.log_ratio(x[rows], strengths, inverse, weight, downdate)
        return out

    def chunks(self, n_rows: int) -> Iterator[slice]:
        """Return chunks of rows whose products with those of the fit are small."""
        return row_chunks(n_rows, max(1, CHUNK_FLOATS // (len(self.y) * self.n_classes)))

    def standardized(self, encoded: Encoded) -> Numbers:
        """Return rows in the units of the fit."""
        return standardized(features(self.cells, encoded), self.center, self.unit)

    def log_density(self, encoded: Encoded) -> Joint:
        """Return log P(y = k given x) - log pi_k, averaged over priors."""
        x, log_weight = self.standardized(encoded), (self.scores @ self.weight)[:, None]
        none = np.zeros(len(x), dtype=int)
        logs = self.without(x, none, none.astype(float))
        log_weight = log_weight - log_sum_exp(log_weight, axis=0)
        return log_sum_exp(log_weight[..., None] + logs, axis=0)

    def left_out(self, encoded: Encoded, y: Labels, away: Weights) -> Joint:
        """Return the same for rows of the fit, each without itself, also in the priors' weights."""
        entry = row_positions(self.key, features(self.cells, encoded), y)
        lost = np.where(entry >= 0, away, 0.0)
        log_weight = (self.scores @ self.weight)[:, None] - lost * self.scores[:, entry]
        log_weight -= log_sum_exp(log_weight, axis=0)
        logs = self.without(self.standardized(encoded), entry, lost)
        return log_sum_exp(log_weight[..., None] + logs, axis=0)

    def draws(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Encoded], Float[np.ndarray, "row class draw"]]:
        """Return rows -> the log ratio under one prior, where rows have Gamma weights.

        Source: Rubin (1981), Annals of Statistics 9, 130-134 (the Bayesian bootstrap).
        """
        weight = np.maximum(rng.gamma(self.weight, size=(n, len(self.y))), 1e-9)
        prior = STRENGTHS[sample_positions(np.tile(self.scores @ self.weight, (n, 1)), rng)]

        def given_draws(encoded: Encoded) -> Float[np.ndarray, "row class draw"]:
            x = self.standardized(encoded)
            out = np.empty((len(x), self.n_classes, n))
            for d, (strengths, drawn) in enumerate(zip(prior, weight, strict=True)):
                inverse = self.inverse(strengths, drawn)
                for rows in self.chunks(len(x)):
                    out[rows, :, d] = self.log_ratio(x[rows], strengths, inverse, drawn[None])
            return out

        return given_draws

    def shifted(self, origin: Mapping[str, np.ndarray]) -> "Discriminant":
        """Return the discriminant of x + origin when this one is of x; origin: by block."""
        return self.with_arrays({"center": self.center + origins(self.cells, origin)})


def standardized(
    x: Numbers, center: Float[np.ndarray, " feature"], unit: Float[np.ndarray, " feature"]
) -> Numbers:
    """Return cells in units around centers; 0 where missing, or without a unit."""
    away = np.nan_to_num(x - center)
    return np.divide(away, unit, out=np.zeros_like(away), where=unit > 0)
