"""A joint table whose rows lack cells: its mode, and posterior draws by data augmentation.

A row with missing values could lie in any of the cells S that fit what it shows, so that rows of
weight w have the likelihood (sum of p over S)^w. Spreading w over S in the proportions of p gives
its gradient (`observed_table`). Augmentation draws that spread from a multinomial.

Integer weights. Rows of one pattern have no cell in common, so that given the other patterns'
fillings each S has shares Dirichlet(concentration + count) of its own: a pattern is filled anew
with p integrated out. Chains then forget two to seven times as fast as where p is drawn in between
(measured on 480 cells with a fifth of the levels missing).

Weights that are no integers. Write p = g / sum(g). Rows say nothing of the sum, so it may have any
density: that of a Gamma whose shape is all concentrations, counts and weights together gives g

    product over cells of g^(concentration + count - 1) exp(-g)  *  product over S of (g_S)^w,

g_S the sum of g over S. With m the integer at or above w, (g_S)^w = (g_S)^m (g_S)^-(m - w). The
first factor is a multinomial of m, the second the integral of u^(m - w - 1) exp(-u g_S) over u > 0
up to a constant. Given the fillings and the u's, the g's are independent Gamma variates again: all
steps are Gibbs steps, whatever the weights.

Source: Dempster, Laird and Rubin (1977), section 4.1.1; Tanner and Wong (1987); Schafer, Analysis
of Incomplete Multivariate Data (1997), 7.3. The form for weights is derived here.
"""

import dataclasses
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesgen.inference.incomplete_data import IncompleteData, missing_cells
from bayesgen.inference.newton import OptimumReport, maximise
from bayesgen.inference.observed_table import TablePoint
from bayesgen.likelihoods import JointCategorical, Repair
from bayesgen.likelihoods.dirichlet import log_gammas
from bayesgen.likelihoods.joint_categorical import JointStatistics, tables
from bayesgen.typing import Params

WATCHED = 100
"""Cells whose chains are held against each other: 2 s of looking for 4,000 draws."""

ROUNDING = 1e-12
"""Share by which a sum of weights may lie above an integer and still be that integer."""

Gammas = Float[np.ndarray, "chain cell"]
"""Logs of the Gamma variates of all classes, their tables side by side."""


@dataclasses.dataclass(frozen=True, eq=False)
class IncompleteTable(IncompleteData):
    """Tables of rows of which some lack cells."""

    likelihood: JointCategorical
    statistics: JointStatistics

    def maximum_likelihood(
        self, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair], OptimumReport]:
        """Return the table of greatest likelihood of what was observed.

        Rows with missing values may leave several such tables, alike for whatever was observed; the
        one returned is where the climb leads from the overall fractions with one row of the guess
        added.
        """
        start = self.likelihood.initial_params(self.statistics)
        start, _ = self.likelihood.maximum_likelihood(self._filled(start))
        params, report = self._iterate(start, np.zeros_like(self.likelihood.probs))
        params, findings = self.likelihood.maximum_likelihood(self._filled(params))
        return params, findings, report

    def mode(self) -> tuple[Params, OptimumReport]:
        """Return the mode of the posterior in log-odds."""
        start = self.likelihood.initial_params(self.statistics)
        start = self.likelihood.posterior(self._filled(start)).mode()
        return self._iterate(start, self.likelihood.concentration())

    def gibbs(self, rng: np.random.Generator, chains: int) -> Iterator[Params]:
        """Yield tables, step by step: exact for weights of any size."""
        start = self._filled(self.likelihood.initial_params(self.statistics)).count
        prior = self.likelihood.concentration()
        gammas = log_gammas(rng, (prior + start).ravel(), chains)
        shape, gaps = (prior + self.statistics.count).ravel(), _gaps(self.statistics)
        walk = _uneven_walk if any(gap.uneven.any() for gap in gaps) else _even_walk
        for state in walk(gammas, shape, gaps, rng):
            logs = state.reshape(chains, *prior.shape)
            yield {"probs": np.exp(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))}

    def compared(self, params: Params) -> Float[np.ndarray, "chain draw value"]:
        """Return the most uncertain of the cells in which incomplete rows may lie."""
        probs = params["probs"]
        return _varied(probs.reshape(*probs.shape[:2], -1), _gaps(self.statistics))

    def expected(self) -> tuple[JointStatistics, OptimumReport]:
        """Return expected counts at the mode."""
        params, account = self.mode()
        return self._filled(params), account

    def _filled(self, params: Params) -> JointStatistics:
        return self.statistics.expected(params["probs"])

    def _iterate(
        self, start: Params, added: Float[np.ndarray, "class cell"]
    ) -> tuple[Params, OptimumReport]:
        """Climb log likelihood + sum of added * log p."""
        top, converged, steps = maximise(TablePoint(self.statistics, added, start["probs"]))
        one_draw = {"probs": top.params["probs"][None]}
        log_likelihood = float(self.likelihood.log_likelihood(one_draw, self.statistics)[0])
        return top.params, OptimumReport(converged, steps, top.gradient_norm, log_likelihood)


@missing_cells.register(JointCategorical)
def incomplete_table_of(
    likelihood: JointCategorical, statistics: JointStatistics
) -> IncompleteData | None:
    """Return what stands in for the closed form of a joint table, if cells are missing."""
    return IncompleteTable(likelihood, statistics) if statistics.has_missing else None


@dataclasses.dataclass(frozen=True, eq=False)
class _Gap:
    """Rows of one pattern: the cells that fit each, m, m - w, and where that is above 0."""

    fits: Int[np.ndarray, "entry fit"]
    whole: Int[np.ndarray, " entry"]
    rest: Float[np.ndarray, " entry"]
    uneven: Bool[np.ndarray, " entry"]


def _gaps(statistics: JointStatistics) -> list[_Gap]:
    n_levels, size, gaps = statistics.n_levels, statistics.count.shape[1], []
    for pattern, at in statistics.by_pattern():
        cell = tables.cells(statistics.partial[at], n_levels, pattern)
        own = statistics.partial_class[at][:, None] * size
        weight = statistics.partial_weight[at]
        whole = np.ceil(weight * (1 - ROUNDING))
        rest = np.maximum(whole - weight, 0.0)
        fits = own + tables.fitting(n_levels, pattern)[cell]
        gaps.append(_Gap(fits, whole.astype(int), rest, rest > ROUNDING * whole))
    return gaps


def _spread(
    logs: Float[np.ndarray, "chain entry fit"], gap: _Gap, rng: np.random.Generator
) -> Int[np.ndarray, "chain entry fit"]:
    """Spread the rows of a pattern over the cells that fit, in proportion to exp(logs)."""
    share = np.exp(logs - logs.max(axis=-1, keepdims=True))
    share /= share.sum(axis=-1, keepdims=True)
    return rng.multinomial(gap.whole, share)


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
            rest = np.repeat(gap.rest[None, gap.uneven], len(gammas), axis=0)
            total = np.logaddexp.reduce(logs[:, gap.uneven], axis=-1)
            log_u = log_gammas(rng, rest, 1)[0] - total
            log_rate[:, at] = np.logaddexp(log_rate[:, at], log_u[..., None])
        gammas = log_gammas(rng, filled, 1)[0] - log_rate
        yield gammas


def _varied(
    probs: Float[np.ndarray, "chain draw cell"], gaps: list[_Gap]
) -> Float[np.ndarray, "chain draw some"]:
    """Return draws of the most uncertain of the cells in which incomplete rows may lie.

    Chains of the other cells cannot disagree, and certain ones hardly matter to any answer; the
    probability of the only cell, 1 in every draw, does not at all.
    """
    touched = np.unique(np.concatenate([gap.fits.ravel() for gap in gaps]))
    spread = probs[..., touched].var(axis=(0, 1))
    touched, spread = touched[spread > 0], spread[spread > 0]
    return probs[..., touched[np.argsort(-spread, kind="stable")[:WATCHED]]]
