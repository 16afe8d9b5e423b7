"""Joint tables with incomplete rows: Newton's method for the mode, data augmentation for draws.

A row with missing values could lie in any of the cells S consistent with its observed levels, so
that rows of weight w have the likelihood (sum of p over S)^w. Spreading w over S in the proportions
of p gives its gradient (`_TablePoint`). Augmentation draws that spread from a multinomial.

Integer weights. Rows of one pattern have no cell in common, so that given the other patterns'
fillings each S has shares Dirichlet(concentration + count) of its own: a pattern is filled anew
with p integrated out. Chains then mix two to seven times as fast as where p is drawn in between
(measured on 480 cells with a fifth of the levels missing).

Non-integer weights. Write p = g / sum(g). The likelihood does not depend on the sum, which may have
any density: that of a Gamma whose shape is all concentrations, counts and weights together gives g

    product over cells of g^(concentration + count - 1) exp(-g)  *  product over S of (g_S)^w,

g_S the sum of g over S. With m the integer at or above w, (g_S)^w = (g_S)^m (g_S)^-(m - w). The
first factor is a multinomial of m, the second the integral of u^(m - w - 1) exp(-u g_S) over u > 0
up to a constant. Given the fillings and the u's, the g's are independent Gamma variates again: all
steps are Gibbs steps, for any weights.

Source: Dempster, Laird and Rubin (1977), section 4.1.1; Tanner and Wong (1987); Schafer, Analysis
of Incomplete Multivariate Data (1997), 7.3. The form for weights is derived here.
"""

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.inference.missing import IncompleteData, LogWeights, OptimumReport, missing_cells
from bayesgen.likelihoods import JointCategorical, Repair
from bayesgen.likelihoods import contingency_tables as tables
from bayesgen.likelihoods.dirichlet import log_gammas
from bayesgen.likelihoods.joint_categorical import JointStatistics
from bayesgen.optimize import Chart, Flat, Point, newton_cg
from bayesgen.typing import Params

PER_PATTERN, PER_CELL, PER_FIT = 9.4e-6, 9e-8, 6.2e-8
"""Seconds of a draw for each missing pattern, for each cell, and for each cell in which rows of a
pattern, class and observed levels may lie. Processor seconds of the 4,800 draws, and by these (rows
x levels, share missing): 200 x 3 x 3 x 2, .1: .3 and .3; 1,000 x 4^4, .1: 1.4 and 1.4, .3: 2.6 and
2.4; 3,000 x 4^5, .2: 10 and 10; 3,000 x 2^12, .02: 6.4 and 6.4, .2: 51 and 46; 1,000 x 10^4, .1: 12
and 13."""
WATCHED = 100
"""Cells whose chains are compared: 2 s of diagnostics for 4,000 draws."""

ROUNDING = 1e-12
"""Share by which a sum of weights may lie above an integer and still be that integer."""

Table = Float[np.ndarray, "class cell"]
Gammas = Float[np.ndarray, "chain cell"]
"""Logs of the Gamma variates of all classes, their tables side by side."""


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteTable(IncompleteData[JointCategorical]):
    """Inference for a joint table from incomplete rows."""

    statistics: JointStatistics

    def maximum_likelihood(
        self, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return the maximum likelihood table given the observed cells.

        With missing values the maximum need not be unique, all maxima being equal on the observed
        cells; the search starts from the overall fractions with one row of the guess added.
        """
        start, _ = self.family.maximum_likelihood(self.filled(self.start()))
        params, report = self._iterate(start, np.zeros_like(self.family.probs))
        params, findings = self.family.maximum_likelihood(self.filled(params))
        return params, findings, report

    def mode(self, start: Params | None = None) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior in log-odds."""
        if start is None:
            start = self.likelihood.posterior(self.filled(self.start())).mode()
        return self._iterate(start, self.likelihood.concentration())

    def point(self, params: Params) -> Point:
        """Return the log density of the posterior in log-odds around tables."""
        return _TablePoint(self.statistics, self.likelihood.concentration(), params["probs"])

    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield the tables of a Gibbs sampler: exact for all weights."""
        start = self.filled(self.start()).count
        prior = self.likelihood.concentration()
        gammas = log_gammas(rng, (prior + start).ravel(), chains)
        shape, gaps = (prior + self.statistics.count).ravel(), _gaps(self.statistics)
        walk = _uneven_walk if any(gap.uneven.any() for gap in gaps) else _even_walk
        for state in walk(gammas, shape, gaps, rng):
            logs = state.reshape(chains, *prior.shape)
            yield {"probs": np.exp(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))}

    @property
    def seconds_per_draw(self) -> float:
        """About how long a step of `gibbs` takes for each chain."""
        gaps, size = _gaps(self.statistics), self.statistics.count.size
        fits = sum(gap.fits.size for gap in gaps)
        return PER_PATTERN * len(gaps) + PER_CELL * size + PER_FIT * fits

    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return the most uncertain of the cells in which incomplete rows may lie."""
        probs = params["probs"]
        return _varied(probs.reshape(*probs.shape[:2], -1), _gaps(self.statistics))

    def change(self, before: Params, after: Params) -> float:
        """Return the largest relative change of a probability."""
        return float(np.max(np.abs(after["probs"] / before["probs"] - 1)))

    @functools.cached_property
    def optimum(self) -> tuple[Params, OptimumReport]:
        """The mode, under the likeliest of several priors, and the report of its search."""
        return self.settled(self.start())

    def chart(self, origin: Params) -> Chart:
        """Return the changes of probabilities over the roots of those at the origin."""
        return _TableChart(origin["probs"])

    def filled(self, params: Params) -> JointStatistics:
        """Return expected counts at given parameters."""
        return self.statistics.expected(params["probs"])

    def log_importance(self, centre: Params) -> LogWeights:
        """Return draws -> log importance weights by class."""
        statistics = self.statistics
        # a cell in which no incomplete row may lie has no part, whatever its probability
        added = self.filled(centre).count - statistics.count

        def log_weights(draws: Params) -> Float[np.ndarray, "draw class"]:
            probs = draws["probs"]
            # probabilities that underflow leave weights that are not finite: they cannot be used
            with np.errstate(divide="ignore", invalid="ignore"):
                out = -np.where(added > 0, added * np.log(probs), 0.0).sum(axis=-1)
                for pattern, label, cell, weight in statistics.by_pattern():
                    fits = np.log(tables.summed(probs, statistics.n_levels, pattern))
                    member = np.equal(label[:, None], np.arange(out.shape[1]))
                    out += (fits[:, label, cell] * weight) @ member
            return out

        return log_weights

    def _iterate(self, start: Params, added: Table) -> tuple[Params, OptimumReport]:
        """Maximize log likelihood + sum of added * log p."""
        top, converged, steps = newton_cg(_TablePoint(self.statistics, added, start["probs"]))
        height = self.log_likelihood(top.params)
        return top.params, OptimumReport(converged, steps, top.gradient_norm, height)


@missing_cells.register(JointCategorical)
def incomplete_table_of(
    likelihood: JointCategorical, statistics: JointStatistics
) -> IncompleteData | None:
    """Return the inference of a joint table, if cells are missing."""
    return IncompleteTable(likelihood, statistics) if statistics.has_missing else None


@dataclasses.dataclass(frozen=True, eq=False)
class _TableChart(Chart):
    """Probabilities p as (p - q) / sqrt(q), those of 0 as 0, with q at the origin."""

    probs: Table

    def coordinates(self, params: Params) -> Flat:
        """Return the coordinates of tables."""
        unit = np.sqrt(self.probs)
        gap = params["probs"] - self.probs
        return np.divide(gap, unit, out=np.zeros_like(gap), where=unit > 0).ravel()

    def params(self, coordinates: Flat) -> Params:
        """Return the tables there, which are some if no probability above 0 vanishes."""
        probs = self.probs + np.sqrt(self.probs) * coordinates.reshape(self.probs.shape)
        if (probs[self.probs > 0] <= 0).any():
            raise np.linalg.LinAlgError("a probability is not positive")
        return {"probs": probs}


# -- the log density to second order ---------------------------------------------------------------


class _TablePoint(Point):
    """Tables of all classes, and the log density around them to second order.

    With c rows in each cell, and w rows that could lie in any cell of S, coordinates v change p to
    p e^v / sum(p e^v). With q = p / sum of p over S on S, and N the sum of all c and w of a class,

        gradient = c + sum of w q - N p,
        minus Hessian = N (diag p - p p') - sum of w (diag q - q q').

    Args:
        statistics: of rows with missing values.
        added: prior counts.
        probs: the tables; a probability of 0 stays one.
    """

    def __init__(self, statistics: JointStatistics, added: Table, probs: Table) -> None:
        self.statistics, self.added, self.params = statistics, added, {"probs": probs}
        count = statistics.count + added
        terms = [(count * np.log(np.where(count > 0, probs, 1.0))).ravel()]
        self._ratio, spread = [], np.zeros_like(probs)
        n_levels = statistics.n_levels
        for pattern, label, cell, weight in statistics.by_pattern():
            fits = tables.summed(probs, n_levels, pattern)
            terms.append(weight * np.log(fits[label, cell]))
            ratio, squared = np.zeros_like(fits), np.zeros_like(fits)
            ratio[label, cell] = weight / fits[label, cell]
            squared[label, cell] = ratio[label, cell] / fits[label, cell]
            spread += tables.repeated(ratio, n_levels, pattern)
            self._ratio.append((pattern, squared))
        self.value = float(sum(part.sum() for part in terms))
        self.scale = float(sum(np.abs(part).sum() for part in terms))
        self._spread = probs * spread
        filled = count + self._spread
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
            terms = squared * tables.summed(pv, n_levels, pattern)
            out += probs * tables.repeated(terms, n_levels, pattern)
        return out.ravel()

    def moved(self, direction: Flat) -> "_TablePoint":
        """Return the point there."""
        odds = self.params["probs"] * np.exp(direction.reshape(self.added.shape))
        probs = odds / odds.sum(axis=1, keepdims=True)
        return _TablePoint(self.statistics, self.added, probs)


# -- Gibbs steps -----------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True, eq=False)
class _Gap:
    """Rows of one pattern: the cells that fit each, m, m - w, and where that is above 0."""

    fits: Int[np.ndarray, "entry fit"]
    ceiling: Int[np.ndarray, " entry"]
    excess: Float[np.ndarray, " entry"]
    uneven: Bool[np.ndarray, " entry"]


def _gaps(statistics: JointStatistics) -> list[_Gap]:
    n_levels, size, gaps = statistics.n_levels, statistics.count.shape[1], []
    for pattern, label, cell, weight in statistics.by_pattern():
        ceiling = np.ceil(weight * (1 - ROUNDING))
        excess = np.maximum(ceiling - weight, 0.0)
        fits = (label * size)[:, None] + tables.fitting(n_levels, pattern)[cell]
        gaps.append(_Gap(fits, ceiling.astype(int), excess, excess > ROUNDING * ceiling))
    return gaps


def _spread(
    logs: Float[np.ndarray, "chain entry fit"], gap: _Gap, rng: np.random.Generator
) -> Int[np.ndarray, "chain entry fit"]:
    """Spread the rows of a pattern over the cells that fit, in proportion to exp(logs)."""
    share = np.exp(logs - logs.max(axis=-1, keepdims=True))
    share /= share.sum(axis=-1, keepdims=True)
    return rng.multinomial(gap.ceiling, share)


def _even_walk(
    gammas: Gammas, shape: Float[np.ndarray, " cell"], gaps: list[_Gap], rng: np.random.Generator
) -> Iterator[Gammas]:
    """Yield Gamma variates given filled rows; patterns are filled in turn, given the others."""
    fills = [_spread(gammas[:, gap.fits], gap, rng) for gap in gaps]
    count = np.zeros(gammas.shape, dtype=int)
    for gap, fill in zip(gaps, fills, strict=True):
        count[:, gap.fits] += fill
    while True:
        for i, gap in enumerate(gaps):
            others = count[:, gap.fits] - fills[i]
            fills[i] = _spread(log_gammas(rng, shape[gap.fits] + others, 1)[0], gap, rng)
            count[:, gap.fits] = others + fills[i]
        yield log_gammas(rng, shape + count, 1)[0]


def _uneven_walk(
    gammas: Gammas, shape: Float[np.ndarray, " cell"], gaps: list[_Gap], rng: np.random.Generator
) -> Iterator[Gammas]:
    """Yield Gamma variates given filled rows and u's, which are drawn given the variates before."""
    while True:
        filled = np.repeat(shape[None], len(gammas), axis=0)
        log_rate = np.zeros_like(gammas)
        for gap in gaps:
            logs = gammas[:, gap.fits]
            filled[:, gap.fits] += _spread(logs, gap, rng)
            at = gap.fits[gap.uneven]
            excess = np.repeat(gap.excess[None, gap.uneven], len(gammas), axis=0)
            total = np.logaddexp.reduce(logs[:, gap.uneven], axis=-1)
            log_u = log_gammas(rng, excess, 1)[0] - total
            log_rate[:, at] = np.logaddexp(log_rate[:, at], log_u[..., None])
        gammas = log_gammas(rng, filled, 1)[0] - log_rate
        yield gammas


def _varied(
    probs: Float[np.ndarray, "chain draw cell"], gaps: list[_Gap]
) -> Float[np.ndarray, "chain draw some"]:
    """Return draws of the most uncertain of the cells in which incomplete rows may lie.

    Chains cannot disagree on other cells, and nearly certain cells hardly affect any result; the
    probability of a single cell, 1 in every draw, has no effect.
    """
    touched = np.unique(np.concatenate([gap.fits.ravel() for gap in gaps]))
    spread = probs[..., touched].var(axis=(0, 1))
    touched, spread = touched[spread > 0], spread[spread > 0]
    return probs[..., touched[np.argsort(-spread, kind="stable")[:WATCHED]]]
