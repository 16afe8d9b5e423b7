"""Base class of families with one probability vector per class and a Dirichlet prior.

Word counts and joint tables differ in how a row selects entries of the vector; prior, update,
evidence of counts, estimates and program are the same. Source: Gelman et al., Bayesian Data
Analysis (3rd ed.), section 3.4.
"""

import abc
import dataclasses
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Float

from bayesgen.likelihoods.base import Repair, Statistics
from bayesgen.likelihoods.dirichlet import dirichlets, log_gammas, log_ratios
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.typing import Params, Traceable


@dataclasses.dataclass(frozen=True, eq=False)
class VectorStatistics(Statistics):
    """Counts of the entries of the vector within each class."""

    count: np.ndarray

    @abc.abstractmethod
    def totals(self) -> Float[np.ndarray, "class entry"]:
        """Return the counts of all rows.

        Raises:
            UnsupportedOperation: rows with missing cells have unknown counts.
        """


S = TypeVar("S", bound=VectorStatistics)
V = TypeVar("V", bound="DirichletVector")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class DirichletVector(Conjugate[S]):
    """p ~ Dirichlet(rows * probs) in each class; probs is (class, entry), rows (class,)."""

    probs: Traceable
    rows: Traceable

    param_words: ClassVar = {"probs": "probability"}
    supports: ClassVar = {"probs": "simplex"}
    words: ClassVar = {"probs": ("uniform",)}

    def concentration(self) -> Traceable:
        """Return the Dirichlet concentration rows * probs, (class, entry)."""
        return self.rows[:, None] * self.probs

    def posterior(self: V, statistics: S) -> V:
        """Return rows + n and (rows probs + count) / (rows + n)."""
        count = statistics.totals()
        rows = self.rows + count.sum(axis=1)
        probs = (self.concentration() + count) / rows[:, None]
        return self.with_arrays({"probs": probs, "rows": rows})

    def log_evidence(self, statistics: S) -> float:
        """Return the sum of log Dirichlet-multinomial terms (sequences, not counts)."""
        count = statistics.totals()
        entries = log_rising_factorial(self.concentration(), count).sum(axis=1)
        return float((entries - log_rising_factorial(self.rows, count.sum(axis=1))).sum())

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the probabilities, (draw, class, entry)."""
        logs = log_gammas(rng, self.concentration(), n)
        logs -= np.logaddexp.reduce(logs, axis=-1, keepdims=True)
        return {"probs": np.exp(logs, out=logs)}

    def mode(self) -> Params:
        """Return probs: the mode in log-odds, (count + rows probs) / (n + rows) after updating."""
        return {"probs": self.probs}

    def maximum_likelihood(
        self, statistics: S, *, bias_corrected: bool = False, variance_floor: float = 0.0
    ) -> tuple[Params, list[Repair]]:
        """Return relative frequencies; a class without a count takes the pooled ones."""
        count = statistics.totals()
        n, pooled = count.sum(axis=1, keepdims=True), count.sum(axis=0)
        # no count at all: the guess
        pooled = pooled / pooled.sum() if pooled.any() else self.probs.mean(axis=0)
        probs = np.where(n > 0, count / np.where(n > 0, n, 1.0), pooled)
        return {"probs": probs}, [Repair("pooled", int(k)) for k in np.flatnonzero(n == 0)]

    def initial_params(self, statistics: S) -> Params:
        """Return the pooled fractions for every class, with one row of the guess added."""
        pooled = statistics.count.sum(axis=0) + self.probs.mean(axis=0)
        return {"probs": np.broadcast_to(pooled / pooled.sum(), statistics.count.shape)}

    def log_likelihood(self, params: Params, statistics: S) -> Traceable:
        """Return the sum of counts times log probabilities, (*draws,); NumPy or traced."""
        probs, count = params["probs"], statistics.count
        xp = probs.__array_namespace__()
        with np.errstate(divide="ignore"):
            logs = xp.where(count == 0, 0.0, xp.log(probs))
        return (logs * count).sum(axis=(-2, -1))

    def story(self, name: str) -> Params:
        """Sample the vector of every class."""
        import numpyro

        with numpyro.plate(f"{name}.class", self.probs.shape[0], dim=-1):
            prior = dirichlets()(self.concentration(), self.probs.shape[-1:])
            return {"probs": numpyro.sample(f"{name}.probs", prior)}

    def whitening(self, statistics: S) -> dict[str, tuple[np.ndarray, ...]]:
        """Return which entries are free, and center and width of their posterior log-ratios."""
        after = self.posterior(statistics).concentration()
        return {"probs": log_ratios(after, after.shape[-1:])}
