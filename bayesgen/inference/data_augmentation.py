"""Data augmentation: Gibbs draws of the posterior given incomplete rows in joint blocks."""

import dataclasses
from itertools import islice

import numpy as np

from bayesgen import arguments
from bayesgen.errors import Cure, Words
from bayesgen.inference.chain_diagnostics import chain_diagnostics, disagreement, has_converged
from bayesgen.inference.draws import Draws, by_chain
from bayesgen.inference.missing import IncompleteData, missing_cells
from bayesgen.inference.report import Report
from bayesgen.likelihoods.protocols import Conjugate, required
from bayesgen.problem import Problem
from bayesgen.typing import Params


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """Posterior draws by data augmentation (Tanner and Wong 1987), in NumPy.

    In blocks with missing values, draws alternate between the missing cells given theta and theta
    given the completed table; the other blocks are drawn from their closed form. Learned prior
    strengths are averaged over: each step draws them given the completed table, and theta after.

    Args:
        draws: kept draws per chain.
        warmup: discarded draws per chain.
        chains: independent chains.

    Examples:
        >>> import bayesgen as bg
        >>> X, y = bg.datasets.load_iris()
        >>> X.loc[0, "petal_length"] = None
        >>> method = bg.Augmentation(draws=100, warmup=50)
        >>> bg.LDA(inference=method, random_state=0).fit(X, y).inference_
        'augmentation'
    """

    draws: int = 1000
    warmup: int = 200
    chains: int = 4

    def __post_init__(self) -> None:
        """Validate the numbers of draws and chains."""
        arguments.count("draws", self.draws, default=1000)
        arguments.count("warmup", self.warmup, least=0, default=200)
        arguments.count("chains", self.chains, default=4)

    def infer(self, problem: Problem, seed: int) -> Draws:
        """Return draws of every parameter and a report on their convergence."""
        rng = np.random.default_rng(seed)
        shape = (self.chains, self.draws)
        model, statistics = problem.model, problem.statistics
        classes = model.classes.posterior(statistics.count).draw(rng, self.chains * self.draws)
        params, families = by_chain({"class": classes}, shape), dict(model.blocks)
        details: dict[str, float] = {"r_hat": 1.0, "ess": float(self.chains * self.draws)}
        for name, part in model.blocks.items():
            rows = statistics.blocks[name]
            gaps = missing_cells(part, rows)
            if gaps is None:
                # kernels at rows are kept by the posterior, and not by the prior
                posterior = required(part, Conjugate).posterior(rows)
                families[name] = posterior
                params |= by_chain({name: posterior.draw(rng, self.chains * self.draws)}, shape)
                continue
            params[name], diagnostics = augment(
                gaps, rng, draws=self.draws, warmup=self.warmup, chains=self.chains
            )
            # unlike max and min these keep NaN, the diagnostic of too few draws
            details["r_hat"] = float(np.maximum(details["r_hat"], diagnostics["r_hat"]))
            details["ess"] = float(np.minimum(details["ess"], diagnostics["ess"]))
        report = self._report(details)
        return Draws(problem.reader, report, params, families)

    @property
    def all_draws(self) -> int:
        """The draws of all chains, kept or not."""
        return self.chains * (self.warmup + self.draws)

    def seconds(self, problem: Problem) -> float:
        """Return about how long all draws take, from the sizes of the table alone."""
        blocks = problem.statistics.blocks
        gaps = (missing_cells(part, blocks[n]) for n, part in problem.model.blocks.items())
        each = sum(data.seconds_per_draw for data in gaps if data is not None)
        return self.all_draws * each

    def _report(self, details: dict[str, float]) -> Report:
        """Return the report of draws, with a cure where chains disagree."""
        good = has_converged(details, self.chains)
        words = f"r_hat {details['r_hat']:.3f}, {details['ess']:.0f} effective draws at least."
        verdict = Words(words)
        if not good:
            defaults = Augmentation()
            draws, warmup = (
                max(2 * self.draws, defaults.draws),
                max(2 * self.warmup, defaults.warmup),
            )
            alone = ", chains=1" if self.chains == 1 else ""
            verdict += f" {disagreement(self.chains)}: "
            verdict += Cure(
                f"ask for more, bg.Augmentation(draws={draws}, warmup={warmup}{alone}), state "
                "stronger prior guesses, or leave out columns with few observed cells.",
                "leave out columns with few observed cells, or use --inference map.",
            )
        return Report("augmentation", good, verdict, details)


def augment(
    data: IncompleteData, rng: np.random.Generator, *, draws: int, warmup: int, chains: int
) -> tuple[Params, dict[str, float]]:
    """Return posterior draws (chain, draw, ...), with their largest r_hat and smallest ess."""
    kept: dict[str, np.ndarray] = {}
    for draw, params in enumerate(islice(data.gibbs(rng, chains), warmup, warmup + draws)):
        for name, value in params.items():
            if not draw:
                kept[name] = np.empty((chains, draws, *value.shape[1:]))
            kept[name][:, draw] = value
    return kept, chain_diagnostics(data.compared(kept))
