"""Data augmentation as a method: holes in joint blocks, everything conjugate."""

import dataclasses
import time

import numpy as np

from bayesgen import arguments
from bayesgen.inference.convergence import agree, disagreement
from bayesgen.inference.holes import holes
from bayesgen.inference.posterior import Draws
from bayesgen.inference.report import Report
from bayesgen.model import Model, ModelStatistics, Reader


@dataclasses.dataclass(frozen=True)
class Augmentation:
    """Posterior draws by data augmentation (Tanner and Wong 1987), in NumPy.

    Blocks with holes alternate between the missing part given theta and theta given the complete
    table; blocks without holes are drawn from their closed form.

    Args:
        draws: kept draws of each chain. warmup: draws thrown away. chains: independent chains.
    """

    draws: int = 1000
    warmup: int = 200
    chains: int = 4

    def __post_init__(self) -> None:
        """Refuse what is no number of draws or chains."""
        arguments.count("draws", self.draws, default=1000)
        arguments.count("warmup", self.warmup, least=0, default=200)
        arguments.count("chains", self.chains, default=4)

    def infer(self, model: Model, statistics: ModelStatistics, reader: Reader, seed: int) -> Draws:
        """Return draws of every parameter and the verdict on them."""
        rng = np.random.default_rng(seed)
        shape = (self.chains, self.draws)
        start = time.perf_counter()
        classes = model.classes.posterior(statistics.count).draw(rng, self.chains * self.draws)
        params = {"class": _chained(classes, shape)}
        details: dict[str, float] = {"r_hat": 1.0, "ess": float(self.chains * self.draws)}
        for name, part in model.blocks.items():
            rows = statistics.blocks[name]
            gaps = holes(part, rows)
            if gaps is None:
                drawn = part.posterior(rows).draw(rng, self.chains * self.draws)
                params[name] = _chained(drawn, shape)
                continue
            params[name], found = gaps.augment(
                rng, draws=self.draws, warmup=self.warmup, chains=self.chains
            )
            # unlike max and min, these keep NaN, which says that draws are too few to tell
            details["r_hat"] = float(np.maximum(details["r_hat"], found["r_hat"]))
            details["ess"] = float(np.minimum(details["ess"], found["ess_bulk"]))
        seconds = time.perf_counter() - start
        good = agree(details, self.chains)
        verdict = f"r_hat {details['r_hat']:.3f}, {details['ess']:.0f} effective draws at least."
        if not good:
            defaults = Augmentation()
            more = max(2 * self.draws, defaults.draws), max(2 * self.warmup, defaults.warmup)
            alone = ", chains=1" if self.chains == 1 else ""
            verdict += (
                f" {disagreement(self.chains)}: ask for more, "
                f"bg.Augmentation(draws={more[0]}, warmup={more[1]}{alone}), state guesses "
                "worth more rows, or leave out columns with few observed cells."
            )
        report = Report("augmentation", seconds, good, verdict, details)
        return Draws(reader, report, params, model.blocks)


def _chained(params: dict[str, np.ndarray], shape: tuple[int, int]) -> dict[str, np.ndarray]:
    return {name: value.reshape(*shape, *value.shape[1:]) for name, value in params.items()}
