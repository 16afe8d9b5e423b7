"""Importance sampling: independent exact draws given few incomplete rows in joint blocks."""

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float, Int

from bayesgen.errors import Words
from bayesgen.inference.chain_diagnostics import reliable_k, smoothed_weights
from bayesgen.inference.draws import CHAINS, Draws, chained
from bayesgen.inference.missing import IncompleteData, em, missing_cells
from bayesgen.inference.report import Report
from bayesgen.likelihoods.protocols import Conjugate, required
from bayesgen.problem import Problem
from bayesgen.typing import Params

LEAST_DRAWS = 1000
"""Proposals drawn at least: the shape of a tail needs about 200 draws of it."""
PILOT = 250
"""Proposals that show whether the others are worth their time."""
HOPELESS = 2.5
"""Standard deviation of the pilot's log weights from which Pareto k can no longer be below .7."""
WEIGHED_FLOATS = 2_000_000
"""Numbers in the parameters of draws weighted at once: 16 MB, a small part of all draws."""
EM_STEPS = 30
"""Steps of EM at most; few missing cells need few, and weights are right wherever it stops."""


@dataclasses.dataclass(frozen=True)
class ImportanceSampling:
    r"""Independent draws of the posterior given incomplete rows, while their weights hold.

    A proposal theta of a block with missing values is an exact draw from the closed-form posterior
    q given expected statistics at the end of EM. With the prior in both, its weight is

        w(theta) = p(theta) prod_i p(observed x_i | theta) / q(theta)
                 = p(observed cells | theta) / p(expected statistics | theta)

    up to a constant factor. Blocks are independent given the labels, and so are the classes of a
    block unless they share parameters: each has weights of its own. They are smoothed, and draws
    resampled by them (systematically) to equal weights. Where the Pareto k of some weights is .7 or
    more the proposals miss a part of the posterior, and there are no draws. Learned prior strengths
    are averaged over: w does not depend on them, and a block's classes share its weights.

    Source: Robert and Casella, Monte Carlo Statistical Methods (2nd ed., 2004), section 3.3;
    Vehtari, Simpson, Gelman, Yao and Gabry, Pareto smoothed importance sampling, Journal of Machine
    Learning Research 25 (2024).

    Args:
        draws: in each of four chains, which are independent here.
    """

    draws: int = 1000

    def infer(self, problem: Problem, seed: int) -> Draws | None:
        """Return draws of every parameter; None if weights vary too much."""
        rng, n = np.random.default_rng(seed), CHAINS * self.draws
        model, statistics = problem.model, problem.statistics
        params = {"class": model.classes.posterior(statistics.count).draw(rng, n)}
        pareto_k, effective, families = 0.0, float(n), dict(model.blocks)
        for name, part in model.blocks.items():
            gaps = missing_cells(part, statistics.blocks[name])
            if gaps is None:
                # kernels at rows are kept by the posterior, and not by the prior
                posterior = required(part, Conjugate).posterior(statistics.blocks[name])
                families[name] = posterior
                params[name] = posterior.draw(rng, n)
                continue
            sample = importance_sample(gaps, rng, n)
            if sample is None:
                return None
            params[name] = sample.params
            pareto_k, effective = max(pareto_k, sample.pareto_k), min(effective, sample.effective)
        details = {"pareto_k": pareto_k, "effective draws": effective}
        verdict = (
            "Independent draws from the posterior of expected statistics, weighed: Pareto k "
            f"{pareto_k:.2f} (reliable below .7), at least {effective:.0f} effective draws of {n}."
        )
        report = Report("importance", converged=True, outcome=Words(verdict), details=details)
        return Draws(problem.reader, report, chained(params, n), families)


@dataclasses.dataclass(frozen=True, eq=False)
class WeighedDraws:
    """Resampled draws (draw, ...), the largest Pareto k and the least effective number of draws."""

    params: Params
    pareto_k: float
    effective: float


def importance_sample(
    data: IncompleteData, rng: np.random.Generator, n: int
) -> WeighedDraws | None:
    """Return n draws of equal weight; None if the weights vary too much to be trusted."""
    centre, _, _ = em(data, data.start(), EM_STEPS)
    size = max(n, LEAST_DRAWS)
    proposal = data.conjugate.posterior(data.filled(centre))
    draws = proposal.draw(rng, size)
    log_weights, logs = data.log_importance(centre), []
    width = sum(value[0].size for value in draws.values())
    at_once = max(PILOT, WEIGHED_FLOATS // width)
    for start, end in itertools.pairwise([0, *range(PILOT, size, at_once), size]):
        part = {name: value[start:end] for name, value in draws.items()}
        logs.append(log_weights(part))
        if not np.isfinite(logs[-1]).all() or logs[0].std(axis=0).max() > HOPELESS:
            return None
    weight, pareto_k = smoothed_weights(np.concatenate(logs))
    if pareto_k.max() >= reliable_k(size):
        return None
    effective = float((1 / (weight**2).sum(axis=0)).min())
    picks = resampled(weight, rng, n)
    params = {name: _taken(value, picks) for name, value in draws.items()}
    return WeighedDraws(params, float(pareto_k.max()), min(effective, n))


def resampled(
    weight: Float[np.ndarray, "draw independent"], rng: np.random.Generator, n: int
) -> Int[np.ndarray, "n independent"]:
    """Return which draws are kept, one as often as n times its weight, rounded up or down.

    Systematic resampling; draws stay in order, so that averages over batches see repeated ones.
    """
    places = (np.arange(n)[:, None] + rng.random(weight.shape[1])) / n
    steps = np.cumsum(weight, axis=0)
    positions = [
        np.searchsorted(s, place * s[-1]) for s, place in zip(steps.T, places.T, strict=True)
    ]
    return np.minimum(np.stack(positions, axis=1), len(weight) - 1)


def _taken(value: np.ndarray, picks: Int[np.ndarray, "n independent"]) -> np.ndarray:
    """Return the draws of each class, or of all where there is one set of weights."""
    if picks.shape[1] == 1:
        return value[picks[:, 0]]
    return value[picks, np.arange(picks.shape[1])]
