"""Components without a density: what a term says of the classes of a row, and a class prior."""

import dataclasses
import functools
from collections.abc import Callable, Iterator

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.inference.class_draws import ClassDraws, PartWeights, no_logits, softmax
from bayesgen.inference.components import Components, Imputed, LogJointDraws
from bayesgen.interactions import Term
from bayesgen.likelihoods import Likelihood
from bayesgen.typing import Encoded, Joint, Labels, Params


@dataclasses.dataclass(frozen=True, eq=False)
class RelativeDensity(Components):
    """A term and class probabilities: P(y = k given x) is proportional to their product.

    Densities are relative to that of all rows: up to a constant of the row.

    term: of the rows. log_class: log P(y = k given data). seed: of the draws. n_draws: their
    number.
    """

    term: Term
    log_class: Float[np.ndarray, " class"]
    seed: int = 0
    n_draws: int = 1000

    @property
    def families(self) -> dict[str, Likelihood]:
        """No likelihood."""
        return {}

    def log_classes(self) -> Float[np.ndarray, " class"]:
        """Return log P(y = k given data)."""
        return self.log_class

    def log_joint(self, encoded: Encoded, n_rows: int) -> Joint:
        """Return log P(y = k) + log p(x given y = k), up to a constant of the row."""
        return self.log_class + self.term.log_density(encoded)

    def with_classes(self, classes: ClassPrior) -> "RelativeDensity":
        """Return the same under another class prior."""
        return dataclasses.replace(self, log_class=classes.log_predictive())

    def shifted(self, origin: dict[str, np.ndarray]) -> "RelativeDensity":
        """Return the same for rows shifted by the origin."""
        return dataclasses.replace(self, term=self.term.shifted(origin))

    def with_draws(self, n: int) -> "RelativeDensity":
        """Return the same with at most n draws."""
        return dataclasses.replace(self, n_draws=min(n, self.n_draws))

    @functools.cached_property
    def _given_draws(self) -> Callable[[Encoded], Float[np.ndarray, "row class draw"]]:
        return self.term.draws(np.random.default_rng(self.seed), self.n_draws)

    def class_draws(
        self, encoded: Encoded, n_rows: int, *, weights: PartWeights | None = None
    ) -> Iterator[ClassDraws]:
        """Yield draws of P(y = k given x, theta), of even weight."""
        probs = self._given_draws(encoded) + self.log_class[:, None]
        softmax(probs)
        even = np.full((self.n_draws, n_rows), 1 / self.n_draws)
        logits = no_logits(n_rows, len(self.log_class))
        yield ClassDraws(np.arange(n_rows), np.moveaxis(probs, -1, 0), even, logits)

    def log_joint_draws(
        self, rng: np.random.Generator, n: int, *, exactly: bool = False
    ) -> LogJointDraws:
        """Return the log joint given each of n draws."""
        given_draws = self.term.draws(rng, n)

        def densities(encoded: Encoded, n_rows: int) -> np.ndarray:
            return np.moveaxis(given_draws(encoded), -1, 1)

        return LogJointDraws(
            lambda encoded, n_rows: densities(encoded, n_rows) + self.log_class,
            n,
            lambda encoded, n_rows: densities(encoded, n_rows)[:, :, None],
        )

    def parameters(self, rng: np.random.Generator, n: int) -> dict[str, Params]:
        """Return no parameter: those of a term have no names."""
        return {}

    def require_leave_one_out(self, what: str, otherwise: str | None = None) -> None:
        """Accept: a term leaves its rows out by itself."""

    def impute(
        self, encoded: Encoded, n_rows: int, rng: np.random.Generator, own: Labels | None = None
    ) -> Imputed:
        """Return the rows as they are: without a density no cell can be drawn."""
        return dict(encoded)
