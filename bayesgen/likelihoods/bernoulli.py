"""Yes or no: one Bernoulli per class and column, with a Beta prior."""

import dataclasses
from collections.abc import Callable
from typing import ClassVar

import numpy as np
from jaxtyping import Float, Num
from scipy.sparse import issparse
from scipy.special import digamma, gammaln, polygamma

from bayesgen.errors import InvalidPrior
from bayesgen.likelihoods.base import Repair
from bayesgen.likelihoods.dirichlet import log_gammas
from bayesgen.likelihoods.exponential_family import ExponentialFamily, SufficientStatistics
from bayesgen.likelihoods.hyperparameters import Guess, broadcast_guess, require_positive
from bayesgen.likelihoods.normal_statistics import one_hot, row_chunks
from bayesgen.likelihoods.sparse_columns import answer_draws, answer_sums
from bayesgen.likelihoods.sparse_rows import kept_columns
from bayesgen.likelihoods.sparse_scores import dispatch_sparse, linear
from bayesgen.typing import (
    Block,
    Evidence,
    Joint,
    Kept,
    Labels,
    Params,
    Traceable,
    Transform,
    Weights,
)


@dataclasses.dataclass(frozen=True, eq=False)
class BernoulliStatistics(SufficientStatistics):
    """yes, no: weight of the cells that are 1 and 0, each of shape (class, feature)."""

    yes: np.ndarray
    no: np.ndarray
    axes: ClassVar = {"yes": ("class", "feature"), "no": ("class", "feature")}

    def total_features(self) -> Traceable:
        """Return the counts of 1 and of 0, shape (class, 2 feature)."""
        return self.yes.__array_namespace__().concat([self.yes, self.no], axis=-1)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Bernoulli(ExponentialFamily[BernoulliStatistics]):
    r"""x | class ~ Bernoulli(p) for each column, with p ~ Beta(rows * prob, rows * (1 - prob)).

    Update with s ones among n observed rows, per class and column: rows' = rows + n,
    prob' = (rows prob + s) / rows'. The predictive of a one is prob'.

    Exact. Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 2.4.

    Args:
        prob: guess of the probability of a 1, in (0, 1); a number, one per column, or
            (class, feature). None: the column's overall fraction.
        rows: how many rows that guess is worth, > 0. prob=0.5, rows=2 adds one to each count.

    Raises:
        InvalidPrior: prob outside (0, 1), or rows not above 0.

    Example:
        >>> import numpy as np
        >>> x, y = np.array([[1.0], [1.0], [0.0]]), np.array([0, 0, 1])
        >>> prior = Bernoulli(prob=0.5, rows=2)
        >>> statistics = prior.statistics(x, y, np.ones(3), n_classes=2)
        >>> prior.complete(statistics).posterior(statistics).prob
        array([[0.75      ],
               [0.33333333]])
    """

    prob: float | Num[np.ndarray, "..."] | None = None
    rows: Guess = 4.0
    # 1 - prob, whose digits prob loses where it comes close to 1
    other: np.ndarray | None = dataclasses.field(default=None, init=False)

    kind: ClassVar[str] = "binary"
    vectorised: ClassVar[bool] = True
    hyperparameter_grid: ClassVar = {"rows": (0.25, 1.0, 4.0, 16.0, 64.0, 256.0)}
    sparse: ClassVar[bool] = True
    axes: ClassVar = dict.fromkeys(("prob", "rows", "other"), ("class", "feature"))
    param_axes: ClassVar = {"prob": ("class", "feature")}

    def __post_init__(self) -> None:
        """Refuse a worth that is not positive and a guess outside (0, 1)."""
        require_positive(self, "rows")
        if (
            self.prob is not None
            and not ((np.asarray(self.prob) > 0) & (np.asarray(self.prob) < 1)).all()
        ):
            raise InvalidPrior.not_probabilities("Bernoulli", "prob", self.prob)

    def statistics(
        self,
        x: Block,
        y: Labels,
        weight: Weights,
        *,
        n_classes: int,
        n_levels: tuple[int, ...] = (),
    ) -> BernoulliStatistics:
        """Return the weight of ones and zeros of each class and column."""
        if issparse(x):
            return BernoulliStatistics(*answer_sums(x, y, weight, n_classes))
        counts = np.zeros((n_classes, 2 * x.shape[1]))
        for rows in row_chunks(len(x)):
            counts += (one_hot(y[rows], n_classes) * weight[rows]) @ self.features(x[rows])
        return BernoulliStatistics(*np.split(counts, 2, axis=1))

    def complete(self, statistics: BernoulliStatistics) -> "Bernoulli":
        """Fill the guess from overall fractions and give every array its shape.

        A column that is constant, or was never observed, has no usable fraction and no say.
        """
        shape = statistics.yes.shape
        if self.prob is None:
            yes, no = (s.sum(axis=-2, keepdims=True) for s in (statistics.yes, statistics.no))
            total = np.where((yes > 0) & (no > 0), yes + no, np.nan)
            prob, other = yes / total, no / total
        else:
            prob, other = self.prob, 1 - np.asarray(self.prob, dtype=float)
        prob = broadcast_guess("Bernoulli", "prob", prob, shape)
        rows = broadcast_guess("Bernoulli", "rows", self.rows, shape)
        other = np.broadcast_to(other if self.other is None else self.other, shape)
        return self.with_arrays({"prob": prob, "rows": rows, "other": other})

    def uninformative(self) -> np.ndarray:
        """Return which columns are constant or never observed, without a stated guess."""
        return np.isnan(self.prob).any(axis=-2)

    def select(self, x: Block, index: np.ndarray) -> Kept:
        """Return the columns that were kept."""
        return kept_columns(x, index)

    def posterior(self, statistics: BernoulliStatistics) -> "Bernoulli":
        """Return rows + n and (rows prob + ones) / (rows + n)."""
        rows = self.rows + statistics.yes + statistics.no
        prob = (self.rows * self.prob + statistics.yes) / rows
        other = (self.rows * self.other + statistics.no) / rows
        return self.with_arrays({"prob": prob, "rows": rows, "other": other})

    def log_evidence(self, statistics: BernoulliStatistics) -> Evidence:
        """Return the sum of log Beta ratios."""
        after = self.posterior(statistics)
        return (_log_beta(after) - _log_beta(self)).sum(axis=(-2, -1))

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> sum over observed columns of log prob, shape (row, class)."""
        return self.log_density_fn({"prob": self.prob, "other": self.other})

    def log_predictive_paired(self, x: Block) -> Joint:
        """Return what the i-th of priors along a leading axis says of row i, (row, class)."""
        cells = np.log(np.where(x[:, None] == 1, self.prob, self.other))
        return cells.sum(axis=-1, where=~np.isnan(x)[:, None])

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws of prob, (draw, class, feature)."""
        yes, no = self._log_gammas(rng, n)
        return {"prob": np.exp(yes - np.logaddexp(yes, no))}

    def _log_gammas(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        return tuple(log_gammas(rng, self.rows * part, n) for part in (self.prob, self.other))

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return densities under theta updated by each row's own class (see the base class).

        Gamma(a + 1) is Gamma(a) plus an exponential: the update adds one to the row's own answer.
        Compressed rows are read word by word.
        """
        seed = int(rng.integers(2**63))
        return dispatch_sparse(
            lambda: self._answer_draws(np.random.default_rng(seed), n),
            lambda: answer_draws(self.rows * self.prob, self.rows * self.other, seed, n),
        )

    def _answer_draws(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        yes, no = self._log_gammas(rng, n)
        both = np.logaddexp(yes, no)
        extra = np.log(rng.exponential(size=both.shape))

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            out = np.zeros((*own.shape, len(self.prob)))
            for k in range(len(self.prob)):
                plus = np.where((own == k)[..., None], extra[:, k, None], -np.inf)
                here = np.where(x == 1, yes[:, k, None], no[:, k, None])
                terms = np.logaddexp(here, plus) - np.logaddexp(both[:, k, None], plus)
                out[..., k] = np.where(np.isnan(x), 0.0, terms).sum(axis=-1)
            return out

        return log_density

    def mode(self) -> Params:
        """Return prob: the mode in log-odds."""
        return {"prob": self.prob}

    def log_scale_free_jacobian(self, params: Params) -> Traceable:
        """Return sum of log prob (1 - prob): the Jacobian of the logistic function."""
        xp = params["prob"].__array_namespace__()
        return (xp.log(params["prob"]) + xp.log1p(-params["prob"])).sum()

    def maximum_likelihood(
        self,
        statistics: BernoulliStatistics,
        *,
        bias_corrected: bool = False,
        variance_floor: float = 0.0,
    ) -> tuple[Params, list[Repair]]:
        """Return relative frequencies; a class without an observed cell takes the pooled one."""
        n = statistics.yes + statistics.no
        seen = n.sum(axis=0)
        # a column never observed has its stated guess
        pooled = np.divide(
            statistics.yes.sum(axis=0), seen, out=self.prob.mean(axis=0), where=seen > 0
        )
        prob = np.where(n > 0, statistics.yes / np.where(n > 0, n, 1.0), pooled)
        return {"prob": prob}, [Repair("pooled", *map(int, at)) for at in np.argwhere(n == 0)]

    def initial_params(self, statistics: BernoulliStatistics) -> Params:
        """Return the pooled fraction for every class, one row of the guess added."""
        yes = statistics.yes.sum(axis=0) + self.prob.mean(axis=0)
        n = (statistics.yes + statistics.no).sum(axis=0) + 1
        return {"prob": np.broadcast_to(yes / n, statistics.yes.shape)}

    def features(self, x: Block) -> Float[np.ndarray, "row natural"]:
        """Return which cells are 1 and which are 0, shape (row, 2 feature)."""
        return np.concatenate([x == 1, x == 0], axis=1).astype(float)

    def natural(self, params: Params) -> Traceable:
        """Return log prob and log(1 - prob), shape (..., class, 2 feature)."""
        return params["prob"].__array_namespace__().concat(_log_answers(params), axis=-1)

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k, params), shape (row, draw, class)."""
        dense = super().log_density_fn
        return dispatch_sparse(lambda: dense(params), lambda: linear(*_log_answers(params)[::-1]))

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return 0/1 rows of each row's class."""
        prob = params["prob"][y]
        return (rng.random(prob.shape) < prob).astype(float)

    def story(self, name: str) -> Params:
        """Sample the probability of a 1 for every class and column."""
        import numpyro
        import numpyro.distributions as dist

        n_classes, n_features = self.prob.shape
        feature = numpyro.plate(f"{name}.feature", n_features, dim=-1)
        with feature, numpyro.plate(f"{name}.class", n_classes, dim=-2):
            prior = dist.Beta(self.rows * self.prob, self.rows * self.other)
            return {"prob": numpyro.sample(f"{name}.prob", prior)}

    def whitening(self, statistics: BernoulliStatistics) -> dict[str, tuple[np.ndarray, ...]]:
        """Return mean and sd of the posterior log-odds."""
        after = self.posterior(statistics)
        yes, no = after.rows * after.prob, after.rows * after.other
        return {"prob": (digamma(yes) - digamma(no), np.sqrt(polygamma(1, yes) + polygamma(1, no)))}

    def bijector(self, parameter: str, *arrays: Traceable) -> Transform:
        """Return the logistic function of centre + width u."""
        from numpyro.distributions.transforms import (
            AffineTransform,
            ComposeTransform,
            SigmoidTransform,
        )

        return ComposeTransform([AffineTransform(*arrays), SigmoidTransform()])


def _log_beta(beta: Bernoulli) -> np.ndarray:
    yes, no = beta.rows * beta.prob, beta.rows * beta.other
    return gammaln(yes) + gammaln(no) - gammaln(beta.rows)


def _log_answers(params: Params) -> tuple[Traceable, Traceable]:
    """Return log prob and log(1 - prob); "other", where it is given, is 1 - prob by itself."""
    xp = params["prob"].__array_namespace__()
    with np.errstate(divide="ignore"):
        no = xp.log(params["other"]) if "other" in params else xp.log1p(-params["prob"])
        return xp.log(params["prob"]), no
