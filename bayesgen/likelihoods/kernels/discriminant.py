"""Kernel discriminant likelihood: arguments, and draws of the weights of kernels."""

import dataclasses
import itertools
from collections.abc import Callable
from typing import ClassVar, Literal

import numpy as np

from bayesgen import arguments
from bayesgen.errors.arguments import not_one_of
from bayesgen.likelihoods.base import LEARN, is_learned
from bayesgen.likelihoods.distinct_rows import Rows, gather
from bayesgen.likelihoods.kernels.fitted import BASE_ROWS, CENTERS, FittedKernels
from bayesgen.likelihoods.kernels.sums import Squares
from bayesgen.likelihoods.protocols import Conjugate
from bayesgen.likelihoods.special_functions import log_sum_exp
from bayesgen.typing import Block, Joint, Labels, LevelCounts, Params, Traceable, Weights


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class KernelDiscriminant(Conjugate[Rows]):
    r"""x | class ~ a mixture of normal kernels at the class's training rows and a broad Student t.

    With n rows x_i of the class, of weights w_i that sum to n, and p columns,

        p(x) = (sum_i w_i N(x; x_i, h^2 W) + base_rows t(x)) / (n + base_rows).

    W is the covariance within classes, pooled over the classes: the columns' variances, and their
    correlations times v / (v + p + 1), where v is the number of rows less that of the classes. t is
    the predictive of a `MultivariateNormal` of the class whose guess of the covariance is W, with
    covariance_rows=16: it dominates far from all training rows. Classes may have any shape, such as
    curves or several clusters.

    Under bandwidth="learn" the density is averaged over h = 1, 1 / sqrt 2, ..., .088, with weights
    proportional to prod_i p_h(x_i given y_i and the other rows)^min(w_i, 1) over distinct rows,
    each scored without its own kernel and without its part in W and in t, in closed form. (Equal
    rows are scored once, by the rows that differ from them; copies would drive h to 0.)
    Leave-one-out densities, including `loo()`, equal those of refits for every h; the weight of h
    without row i is its weight divided by the row's factor.

    Missing cells of rows to predict are integrated out exactly, in every kernel and in t. Those of
    training rows are replaced by their expectation given the observed cells, under class means and
    one covariance W (EM); when a row is left out, the expectations of the others are kept. If there
    are more distinct rows than `centers`, only that many have kernels: rows evenly spaced within
    each class in the order of their values, which carry the weight of all rows and determine the
    weights of the bandwidths.

    Predictions of 200 or more rows of a single column interpolate its log density, within 1e-11
    of its absolute value, or of 1 if that is larger.

    The parameters are h and the Dirichlet weights of the rows (w_i each) and of t (base_rows); the
    centers, W and t are fixed, so intervals refer to the probability under the smoothed densities.
    There is no evidence.

    Source: Silverman, Density Estimation (1986), section 4.2 and 6.1 (kernels whitened by the
    covariance, discrimination); Ferguson (1973), Annals of Statistics 1, 209-230 (base measure);
    Habbema, Hermans and van den Broek (1974), COMPSTAT (leave-one-out likelihood).

    Args:
        bandwidth: h, > 0, in standard deviations within classes, or "learn".
        base_rows: prior strength of t in rows, > 0.
        centers: the largest number of kernels.

    Raises:
        InvalidArgument: a bandwidth or base_rows not above 0; centers below 1, or a string other
            than "learn".

    Example:
        >>> import numpy as np
        >>> import bayesgen as bg
        >>> rng = np.random.default_rng(0)
        >>> y = rng.integers(0, 2, 300)
        >>> angle, radius = rng.uniform(0, 2 * np.pi, 300), 1.0 + 2.0 * y
        >>> X = (radius * [np.cos(angle), np.sin(angle)]).T + rng.normal(0, 0.2, (300, 2))
        >>> clf = bg.GenerativeClassifier(bg.KernelDiscriminant()).fit(X, y)  # rings
        >>> clf.predict_proba([[0.0, 1.0], [0.0, 3.0]]).round(2)
        array([[1., 0.],
               [0., 1.]])
    """

    bandwidth: float | int | Literal["learn"] = LEARN
    base_rows: float | int = BASE_ROWS
    centers: int = CENTERS
    fitted: FittedKernels | None = dataclasses.field(default=None, init=False)

    kind: ClassVar[str] = "numbers"
    no_program: ClassVar[str] = "its kernels are the rows of the fit"
    only_exact: ClassVar = (
        "its kernels are the training rows themselves, whose weights have only a posterior in "
        "closed form",
        "Use inference='exact'.",
    )
    distribution_words: ClassVar[str] = "kernel discriminant (classes of similar rows, weighted)"
    keeps_rows: ClassVar[bool] = True
    joint: ClassVar[bool] = True
    centred: ClassVar[bool] = True
    param_axes: ClassVar = {"row_weight": ("center",), "base_weight": ("class",), "bandwidth": ()}
    param_words: ClassVar = {
        "row_weight": "weight of a kernel",
        "base_weight": "weight of the Student t",
        "bandwidth": "bandwidth, in standard deviations within classes",
    }

    hyperparameters: ClassVar = {"bandwidth": "width", "base_rows": "positive"}
    scalars: ClassVar = ("bandwidth", "base_rows")
    words: ClassVar = {"bandwidth": (LEARN,)}

    def __post_init__(self) -> None:
        """Validate the bandwidth, the rows of the base and the number of centers."""
        if isinstance(self.bandwidth, str) and not is_learned(self.bandwidth):
            raise not_one_of("bandwidth", self.bandwidth, ["learn", 0.5])
        super().__post_init__()
        arguments.count("centers", self.centers, default=2000)

    # -- rows ---------------------------------------------------------------------------------

    def statistics(
        self, x: Block, y: Labels, weight: Weights, *, n_classes: int, n_levels: LevelCounts = ()
    ) -> Rows:
        """Return the distinct rows."""
        return gather(x, y, weight, n_classes)

    def complete(self, statistics: Rows) -> "KernelDiscriminant":
        """Fill in the guess of the covariance; rows come in by `posterior`, part by part."""
        guessed = FittedKernels.guessed(statistics, self.bandwidth, self.base_rows, self.centers)
        return self._at(guessed)

    def _at(self, fitted: FittedKernels) -> "KernelDiscriminant":
        return self.with_arrays({"fitted": fitted})

    @property
    def mixture(self) -> FittedKernels:
        """The kernels and the Student t, once completed."""
        if self.fitted is None:
            raise ValueError("complete the likelihood first")
        return self.fitted

    def arrays(self) -> dict[str, Traceable]:
        """Return the numbers that densities rest on, by name; none before the fit."""
        return {} if self.fitted is None else self.fitted.arrays()

    @property
    def caveat(self) -> str:
        """Which rows are not centers, and which cells were filled."""
        return "" if self.fitted is None else self.fitted.caveat

    def take(self, axis: str, index: np.ndarray) -> "KernelDiscriminant":
        """Return the likelihood of some of the columns, in the order of `index`."""
        return self._at(self.mixture.take(axis, index))

    def shifted(self, origin: np.ndarray) -> "KernelDiscriminant":
        """Return the likelihood of x + origin when this one is of x."""
        return self if self.fitted is None else self._at(self.fitted.shifted(origin))

    def uninformative(self) -> np.ndarray:
        """Return which columns have no unit: constant or never observed."""
        return self.mixture.uninformative()

    def posterior(self, statistics: Rows) -> "KernelDiscriminant":
        """Return the likelihood with these rows as centers too, and bandwidths weighed by all."""
        return self._at(self.mixture.posterior(statistics))

    def leave_one_out(
        self, statistics: Rows, x: Block, y: Labels, weight: Weights, away: Weights
    ) -> Joint:
        """Return log p(x_i given y = k, the rows without i), (row, class) (see `LeaveOneOut`)."""
        return self.mixture.leave_one_out(statistics, x, y, away)

    def predictive(self) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(x given y = k), shape (row, class), over all bandwidths."""
        return self.mixture.predictive()

    # -- parameters -------------------------------------------------------------------------------

    def _gammas(
        self, rng: np.random.Generator, n: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return n draws of Gamma variables of centers and of t, and their sums by class.

        Shapes: (draw, center), (draw, class), (draw, class). Divided by their sum they are
        Dirichlet weights.
        """
        kernels = self.mixture.kernels
        weight, parts = kernels.weight, kernels.parts
        rows = rng.gamma(weight, size=(n, len(weight)))
        base = rng.gamma(float(self.base_rows), size=(n, len(parts)))
        return rows, base, base + np.stack([rows[:, part].sum(axis=1) for part in parts], axis=1)

    def draw(self, rng: np.random.Generator, n: int) -> Params:
        """Return n draws: the weight of every center and of t within its class, and h."""
        rows, base, total = self._gammas(rng, n)
        mixture = self.mixture
        which = rng.choice(len(mixture.grid), n, p=np.exp(mixture.log_weight))
        return {
            "row_weight": rows / total[:, mixture.kernels.y],
            "base_weight": base / total,
            "bandwidth": mixture.grid[which],
        }

    def log_density_fn(self, params: Params) -> Callable[[Block], np.ndarray]:
        """Return x -> log p(observed part of x given y = k, params), (row, *draws, class).

        Draws of one bandwidth share its kernels, which are one matrix product with their weights.
        """
        kernels, base = self.mixture.kernels, self.mixture.base.predictive()
        lead, bandwidth = params["bandwidth"].shape, params["bandwidth"].reshape(-1)
        order = np.argsort(bandwidth, kind="stable")
        rows, bases = (
            params[f"{n}_weight"].reshape(len(order), -1)[order] for n in ("row", "base")
        )
        weights = [
            np.column_stack([rows[:, a], bases[:, k]]).T for k, a in enumerate(kernels.parts)
        ]
        distinct, starts = np.unique(bandwidth[order], return_index=True)
        groups = list(
            zip(distinct.tolist(), itertools.pairwise([*starts, len(order)]), strict=True)
        )

        def log_density(x: Block) -> np.ndarray:
            out = np.zeros((len(x), kernels.n_classes, len(order)))
            broad, size = base(x), (~np.isnan(x)).sum(axis=1)
            for rows, squares, height in kernels.located(x):
                for (h, (start, end)), k in itertools.product(groups, range(len(weights))):
                    top = height - size[rows] * np.log(h)
                    density, level = _components(squares[k], top, broad[rows, k], h)
                    total = density @ weights[k][:, start:end]
                    np.log(total, out=total)
                    total += level[:, None]
                    out[rows, k, start:end] = total
            if len(groups) > 1:
                out = out[:, :, np.argsort(order)]
            return np.swapaxes(out, 1, 2).reshape(len(x), *lead, kernels.n_classes)

        return log_density

    def log_density_draws_given_row(
        self, rng: np.random.Generator, n: int
    ) -> Callable[[Block, np.ndarray], np.ndarray]:
        """Return (x, own) -> log p(x given y = k, theta), (draw, row, class) (see `Conjugate`).

        Of class own[draw, row], the row's density weighs the bandwidths; a component is picked by
        its share of the density, and the Gamma variable of its weight gains one of shape 1.
        """
        mixture = self.mixture.pruned()
        kernels, base = mixture.kernels, mixture.base.predictive()
        log_densities = mixture.log_densities()
        gamma, base_gamma, total = self._gammas(rng, n)
        more = rng.exponential(size=n)
        which_bandwidth, which_component = rng.random((2, n))
        weights = [np.append(kernels.weight[centers], self.base_rows) for centers in kernels.parts]

        def log_density(x: Block, own: np.ndarray) -> np.ndarray:
            out = np.zeros((*own.shape, kernels.n_classes))
            broad, size, logs = base(x), (~np.isnan(x)).sum(axis=1), log_densities(x)
            steps = np.exp(logs - log_sum_exp(logs)[..., None]).cumsum(axis=2)[:, :, :-1]
            picked = (which_bandwidth[:, None, None] >= steps[np.arange(len(x)), own]).sum(axis=2)
            for rows, squares, height in kernels.located(x):
                for j in np.unique(picked[:, rows]):
                    drawn, h = picked[:, rows] == j, float(mixture.grid[j])
                    top = height - size[rows] * np.log(h)
                    for k, weight in enumerate(weights):
                        density, level = _components(squares[k], top, broad[rows, k], h)
                        value = gamma[:, kernels.parts[k]] @ density[:, :-1].T
                        value += base_gamma[:, [k]] * density[:, -1]
                        norm = np.tile(total[:, [k]], len(rows))
                        update = drawn & (own[:, rows] == k)
                        for r in np.flatnonzero(update.any(axis=0)):
                            draws = np.flatnonzero(update[:, r])
                            ends = (weight * density[r]).cumsum()
                            share = which_component[draws] * ends[-1]
                            pick = np.searchsorted(ends[:-1], share, "right")
                            value[draws, r] += more[draws] * density[r, pick]
                            norm[draws, r] += more[draws]
                        logs = level + np.log(value) - np.log(norm)
                        out[:, rows, k] = np.where(drawn, logs, out[:, rows, k])
            return out

        return log_density

    def log_likelihood(self, params: Params, statistics: Rows) -> Traceable:
        """Return the sum over rows of weight times log density of their observed columns."""
        if not len(statistics.x):
            return np.zeros(np.shape(params["bandwidth"]))
        logs = self.log_density_fn(params)(statistics.x)
        by_row = np.moveaxis(logs, -1, 1)[np.arange(len(logs)), statistics.y]
        return np.tensordot(statistics.weight, by_row, axes=1)

    # -- rows drawn -----------------------------------------------------------------------------

    def simulate(self, params: Params, y: Labels, rng: np.random.Generator) -> Block:
        """Return rows of components drawn by weight: centers plus noise, or draws of t."""
        return self.fill_given(params, np.full((len(y), self.mixture.n_columns), np.nan), y, rng)

    def fill(self, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn: exactly, a bandwidth and component each."""
        return self.mixture.fill(x, own, rng)

    def fill_given(self, params: Params, x: Block, own: Labels, rng: np.random.Generator) -> Block:
        """Return rows whose missing cells are drawn given one draw of the parameters."""
        return self.mixture.fill_given(params, x, own, rng)


def _components(
    squares: Squares, height: np.ndarray, base: np.ndarray, h: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return densities of the components of a class, relative to the largest, and its log.

    Shapes: (row, component), (row,). height, base: logs of the kernels' height and of t, (row,).
    """
    nearest = squares.min(axis=1, initial=np.inf)
    level = np.maximum(height - nearest / (2 * h**2), base)
    # as distances lie in memory, the rows of a center side by side
    out = np.empty((squares.shape[1] + 1, len(squares))).T
    np.multiply(squares, -0.5 / h**2, out=out[:, :-1])
    out[:, :-1] += (height - level)[:, None]
    out[:, -1] = base - level
    return np.exp(out, out=out), level
