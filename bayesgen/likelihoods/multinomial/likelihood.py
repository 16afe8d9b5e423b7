"""Word counts: a text is drawn word by word from its class's urn, with a Dirichlet prior."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import numpy as np
from jaxtyping import Num
from scipy.sparse import csr_array, hstack, issparse

from bayesgen.errors import InvalidPrior, UnsupportedInference
from bayesgen.likelihoods.base import (
    Guess,
    Repair,
    broadcast_guess,
    require_one_of,
    require_positive,
)
from bayesgen.likelihoods.dirichlet import (
    dirichlets,
    log_gammas,
    log_ratios,
)
from bayesgen.likelihoods.exponential_family import ExponentialFamily
from bayesgen.likelihoods.multinomial.hyperparameters import stated_urns
from bayesgen.likelihoods.multinomial.scores import averaged, given_urns
from bayesgen.likelihoods.multinomial.statistics import (
    MultinomialStatistics,
    log_coefficients,
    weighed,
)
from bayesgen.likelihoods.multinomial.urns import urn_scores
from bayesgen.likelihoods.sparse import (
    all_cells,
    class_sums,
    kept_columns,
    row_blocks,
    widened,
)
from bayesgen.likelihoods.special_functions import log_rising_factorial
from bayesgen.typing import Block, Kept, Labels, Params, Traceable, Weights

ROWS_PER_WORD = 5.0  # chosen by log loss on texts, see `Multinomial`
MOST_TRACED = 5000
"""Words up to which NUTS and stochastic optimisers are let run: every draw holds all of them."""


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Multinomial(ExponentialFamily[MultinomialStatistics]):
    r"""x | class, N ~ Multinomial(N, p): counts of words, with p ~ Dirichlet(rows * probs).

    N is the length of the text, the sum of its counts. It is taken as given: p(N) is no part of the
    model, a long text is no likelier in one class than in another, and densities are those of the
    counts given N, multinomial coefficient included. Update with counts c of n words, per class:
    rows' = rows + n, probs' = (rows probs + c) / rows'. The predictive is the
    Dirichlet-multinomial, N! / prod x_j! Gamma(A) / Gamma(A + N) prod Gamma(a_j + x_j) / Gamma(a_j)
    with a = rows' probs' and A their sum: all words of a text share one uncertain urn. (The mean
    urn, which others plug in, made .956 of a text of 75 words whose probability is .829.)

    A word that is missing at predict is taken out of the urn: the others are draws from what is
    left, given how many they are. Fitted rows must be complete. Words that no fitted row has and
    nobody guessed, are left out of texts. A text of no words has the class prior.

    Exact. Source: Mosimann (1962), Biometrika 49, 65-82; Madsen, Kauchak and Elkan (2005), Modeling
    word burstiness using the Dirichlet distribution.

    Args:
        probs: guess of the words' probabilities. None: the fractions over all classes; "uniform";
            a number (then words * probs must be 1); or one per word, or (class, feature).
        rows: how many WORDS that guess is worth, > 0; a number or one per class.
        rows_per_word: unless `rows` is given, rows = rows_per_word * (number of words that have a
            guess). The default is chosen by log loss: over 23 samples of 40 to 2,000 sentences,
            paragraphs and whole docstrings of scikit-learn and SciPy, six classes each, the mean
            was 1.16 (1: 1.71, 2: 1.35, 10: 1.18, 30: 1.30). `laplace(1)` had 2.80, and its plug-in
            (scikit-learn's MultinomialNB) 3.73.
        length, length_weight: how long simulated texts are, and how common each length is, shape
            (entry,). None: as long as the fitted ones.

    Raises:
        InvalidPrior: probabilities that are not positive or do not sum to one, a prior strength not
            above 0.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([[2.0, 1.0, 0.0], [0.0, 1.0, 1.0]]), np.array([0, 1])
        >>> laplace = Multinomial.laplace(1)
        >>> statistics = laplace.statistics(x, y, np.ones(2), n_classes=2)
        >>> laplace.complete(statistics).posterior(statistics).probs
        array([[0.5       , 0.33333333, 0.16666667],
               [0.2       , 0.4       , 0.4       ]])
    """

    probs: float | Num[np.ndarray, "..."] | Sequence[float] | Literal["uniform"] | None = None
    rows: Guess = None
    rows_per_word: float | int = ROWS_PER_WORD
    length: Num[np.ndarray, " entry"] | None = None
    length_weight: Num[np.ndarray, " entry"] | None = None

    kind: ClassVar[str] = "counts"
    sparse: ClassVar[bool] = True
    allows_missing_at_fit: ClassVar[bool] = False
    warns_uninformative: ClassVar[bool] = False
    axes: ClassVar = {
        "probs": ("class", "feature"),
        "rows": ("class",),
        "length": ("entry",),
        "length_weight": ("entry",),
    }
    supports: ClassVar = {"probs": "simplex"}
    param_axes: ClassVar = {"probs": ("class", "feature")}

    def __post_init__(self) -> None:
        """Refuse prior strengths that are not positive and guesses that are no probabilities."""
        require_positive(self, "rows", "rows_per_word")
        if isinstance(self.probs, str):
            require_one_of(self, "probs", ("uniform",))
        elif self.probs is not None:
            probs = np.asarray(self.probs, dtype=float)
            if not np.isfinite(probs).all() or (probs <= 0).any():
                raise InvalidPrior.not_probabilities("Multinomial", "probs", self.probs)

    @classmethod
    def laplace(cls, count: float | int = 1) -> "Multinomial":
        """Return the prior that adds `count` to every word: (c + count) / (n + count V)."""
        return cls(probs="uniform", rows_per_word=count)

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> MultinomialStatistics:
        """Return word counts, coefficients and lengths; a missing cell would count as 0."""
        length, coefficient = np.zeros(len(y)), np.zeros(len(y))
        for rows, cells in row_blocks(x):
            length[rows] = cells.sums(cells.data)
            coefficient[rows] = log_coefficients(cells, length[rows])
        return MultinomialStatistics(
            class_sums(x, y, weight, n_classes),
            np.bincount(y, weight * coefficient, minlength=n_classes),
            *weighed(length, weight),
        )

    def complete(self, statistics: MultinomialStatistics) -> "Multinomial":
        """Fill the guess from overall fractions and give every array its shape."""
        probs, words = stated_urns(self.probs, statistics.count)
        rows = self.rows_per_word * words if self.rows is None else self.rows
        stated = self.length is not None
        length = np.asarray(self.length, dtype=float) if stated else statistics.length
        weight = np.ones(len(length)) if stated else statistics.length_weight
        return self.with_arrays(
            {
                "probs": probs,
                "rows": broadcast_guess("Multinomial", "rows", rows, (len(probs),)),
                "length": length,
                "length_weight": weight if self.length_weight is None else self.length_weight,
            }
        )

    def uninformative(self) -> np.ndarray:
        """Return which words nobody guessed and no row has."""
        return self.probs.sum(axis=0) == 0

    def take(self, axis: str, index: np.ndarray) -> "Multinomial":
        """Keep classes, or words: the guess of what is left is worth the words it had."""
        kept = super().take(axis, index)
        if axis != "feature":
            return kept
        share = kept.probs.sum(axis=1)
        return kept.with_arrays({"probs": kept.probs / share[:, None], "rows": kept.rows * share})

    def select(self, x: Block, index: np.ndarray) -> Kept:
        """Return the words that were kept."""
        return kept_columns(x, index)

    def restore(self, x: Kept, index: np.ndarray, blank: Block) -> Block:
        """Return rows of all words: one that was left out is in no text."""
        if issparse(x):
            return widened(x, index, blank.shape[1])
        out = np.zeros_like(blank)
        out[:, index] = x
        return out

    def posterior(self, statistics: MultinomialStatistics) -> "Multinomial":
        """Return rows + n and (rows probs + count) / (rows + n)."""
        rows = self.rows + statistics.count.sum(axis=1)
        probs = (self.concentration() + statistics.count) / rows[:, None]
        return self.with_arrays({"probs": probs, "rows": rows})

    def concentration(self) -> Traceable:
        """Return the Dirichlet concentration rows * probs, shape (class, feature)."""
        return self.rows[:, None] * self.probs

    def log_evidence(self, statistics: MultinomialStatistics) -> float:
        """Return the sum of log Dirichlet-multinomial terms, coefficients included."""
        words = log_rising_factorial(self.concentration(), statistics.count).sum(axis=1)
        urns = log_rising_factorial(self.rows, statistics.count.sum(axis=1))
        return float((words - urns + statistics.log_coefficient).sum())

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log Dirichlet-multinomial of the observed words, shape (row, class)."""
        return averaged(self.concentration())

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of the probabilities, (draw, class, feature)."""
        logs = log_gammas(rng, self.concentration(), n)
        return {"probs": np.exp(logs - np.logaddexp.reduce(logs, axis=-1, keepdims=True))}

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class)."""
        return urn_scores(self.concentration(), rng, n)

    def mode(self) -> Params:
        """Return probs: the mode in log-odds, (count + rows probs) / (n + rows) after updating."""
        return {"probs": self.probs}

    def maximum_likelihood(
        self,
        statistics: MultinomialStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return relative frequencies; a class without a word takes those of all classes."""
        n = statistics.count.sum(axis=1, keepdims=True)
        pooled = statistics.count.sum(axis=0)
        pooled = pooled / pooled.sum() if pooled.any() else self.probs.mean(axis=0)
        probs = np.where(n > 0, statistics.count / np.where(n > 0, n, 1.0), pooled)
        return {"probs": probs}, [Repair("pooled", int(k)) for k in np.flatnonzero(n == 0)]

    def initial_params(self, statistics: MultinomialStatistics) -> Params:
        """Return the pooled fractions for every class, one word of the guess added."""
        pooled = statistics.count.sum(axis=0) + self.probs.mean(axis=0)
        return {"probs": np.broadcast_to(pooled / pooled.sum(), statistics.count.shape)}

    def features(self, x: Block) -> csr_array:
        """Return counts and the log coefficient of rows, (row, feature + 1); missing counts as 0.

        Always compressed: most words are in few texts.
        """
        cells = all_cells(x)
        coefficient = log_coefficients(cells, cells.sums(cells.data))
        return hstack([cells.compressed(), csr_array(coefficient[:, None])], format="csr")

    def natural(self, params: Params) -> Traceable:
        """Return log probs and 1, shape (..., class, feature + 1)."""
        probs = params["probs"]
        xp = probs.__array_namespace__()
        with np.errstate(divide="ignore"):
            return xp.concat([xp.log(probs), xp.ones_like(probs[..., :1])], axis=-1)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, N, params), shape (row, draw, class).

        Missing words are taken out of the urn: N log (sum of observed probs) is subtracted.
        """
        return given_urns(params["probs"], super().log_density_fn(params))

    @property
    def columns_inform_each_other(self) -> bool:
        """Whether a cell tells of others: of the urn and of how long the text is."""
        return True

    def require_fillable(self) -> None:
        """Refuse: how many words are missing is no part of the model."""
        raise self.cannot_fill()

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Refuse, as `require_fillable` does."""
        raise self.cannot_fill()

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return word counts of each row's class; lengths are those of fitted rows, at random.

        One distribution of lengths serves all classes, since the model has none of its own.
        """
        if not len(self.length):
            return np.zeros((len(y), params["probs"].shape[-1]))
        share = self.length_weight / self.length_weight.sum()
        length = rng.choice(self.length, len(y), p=share).astype(np.int64)
        return rng.multinomial(length, params["probs"][y]).astype(float)

    def story(self, name: str) -> Params:
        """Sample every class's urn."""
        import numpyro

        n_classes, n_words = self.probs.shape
        with numpyro.plate(f"{name}.class", n_classes, dim=-1):
            prior = dirichlets()(self.concentration(), (n_words,))
            return {"probs": numpyro.sample(f"{name}.probs", prior)}

    def whitening(self, statistics: MultinomialStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return which words are free, and centre and width of their posterior log-ratios."""
        n_words = self.probs.shape[1]
        if n_words > MOST_TRACED:
            raise UnsupportedInference.because(
                f"Multinomial over {n_words:,} words",
                f"every draw would hold them all; samplers and optimisers take {MOST_TRACED:,}",
                "Use inference='exact', 'map' or 'mle', which have closed forms.",
            )
        return {"probs": log_ratios(self.posterior(statistics).concentration(), (n_words,))}
