"""Marginal posteriors of parameters by their formulas: mean, standard deviation and interval."""

import dataclasses
import itertools
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesgen.classes import ClassPrior
from bayesgen.likelihoods import (
    Bernoulli,
    Categorical,
    JointCategorical,
    Likelihood,
    Multinomial,
    MultivariateNormal,
    Normal,
    Poisson,
)
from bayesgen.likelihoods.hyperparameter_mixture import HyperparameterMixture

PROB = 0.9
"""Share of the posterior between the ends of an interval."""
NEGLIGIBLE = 1e-9
"""Weight of a prior in a mixture below which it is left out."""
HALVINGS = 100

Array = Float[np.ndarray, "..."]
Distribution = Any
"""A frozen distribution of scipy.stats, elementwise over an array."""


@dataclasses.dataclass(frozen=True, eq=False)
class Marginals:
    """Marginal posteriors of the entries of one parameter.

    name: of the parameter. axes: their words, "class" first. mean, sd, low, high: arrays of these
    axes; NaN where no formula exists. A class axis of length one is shared by all classes.
    """

    name: str
    axes: tuple[str, ...]
    mean: Array
    sd: Array
    low: Array
    high: Array


@dataclasses.dataclass(frozen=True, eq=False)
class Mixture:
    """A weighted mean of distributions: weight, shape (part,)."""

    weight: Array
    parts: list[Distribution]

    def mean(self) -> Array:
        """Return the mean."""
        return sum(w * part.mean() for w, part in zip(self.weight, self.parts, strict=True))

    def std(self) -> Array:
        """Return the standard deviation: variance within the parts, and between them."""
        pairs = list(zip(self.weight, self.parts, strict=True))
        squares = sum(w * (part.var() + part.mean() ** 2) for w, part in pairs)
        return np.sqrt(np.maximum(squares - self.mean() ** 2, 0.0))

    def ppf(self, q: float) -> Array:
        """Return a quantile, by bisection between those of the parts."""
        ends = np.stack([part.ppf(q) for part in self.parts])
        low, high = ends.min(axis=0), ends.max(axis=0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            pairs = zip(self.weight, self.parts, strict=True)
            below = sum(w * part.cdf(middle) for w, part in pairs) < q
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return (low + high) / 2


def of_classes(classes: ClassPrior) -> Marginals:
    """Return the marginals of the class probabilities; fixed ones have no spread."""
    from scipy import stats

    if classes.is_fixed:
        still = np.zeros(len(classes.probs))
        return Marginals(
            "class probability", ("class",), classes.probs, still, *[classes.probs] * 2
        )
    first = classes.rows * classes.probs
    return _summarized("class probability", ("class",), stats.beta(first, classes.rows - first))


def of_likelihood(family: Likelihood) -> list[Marginals] | None:
    """Return the marginals of the parameters of an updated likelihood; None without formulas."""
    if isinstance(family, HyperparameterMixture):
        weight = np.exp(family.log_weight - np.logaddexp.reduce(family.log_weight))
        kept = np.flatnonzero(weight > NEGLIGIBLE)
        each = [_distributions(family.members[i]) for i in kept]
        found = [one for one in each if one is not None]
        if len(found) < len(each):
            return None
        share = weight[kept] / weight[kept].sum()
        names = found[0]
        return [
            _summarized(name, axes, Mixture(share, [one[name][1] for one in found]))
            for name, (axes, _) in names.items()
        ]
    found = _distributions(family)
    if found is None:
        return None
    out = [_summarized(name, axes, dist) for name, (axes, dist) in found.items()]
    return [*out, _covariances(family)] if isinstance(family, MultivariateNormal) else out


def _summarized(name: str, axes: tuple[str, ...], dist: Distribution) -> Marginals:
    with np.errstate(all="ignore"):
        low, high = dist.ppf((1 - PROB) / 2), dist.ppf((1 + PROB) / 2)
        return Marginals(name, axes, dist.mean(), dist.std(), low, high)


def _distributions(family: Likelihood) -> dict[str, tuple[tuple[str, ...], Distribution]] | None:
    """Return name -> (axes, marginal distribution) of a family that has formulas."""
    for kind, formulas in FORMULAS.items():
        if type(family) is kind and family.conjugate:
            return formulas(family)
    return None


def _normal(family: Any) -> dict:
    return _location_and_variance(
        family.mean, family.mean_rows, family.variance, family.variance_rows
    )


def _location_and_variance(mean: Array, rows: Array, variance: Array, degrees: Array) -> dict:
    """Return Student's t of a mean, and the scaled inverse chi-square of a variance.

    Source: Gelman et al., Bayesian Data Analysis (3rd ed.), section 3.3.
    """
    from scipy import stats

    cells = "class", "feature"
    location = stats.t(degrees, mean, np.sqrt(variance / rows))
    return {
        "mean": (cells, location),
        "variance": (cells, stats.invgamma(degrees / 2, scale=degrees * variance / 2)),
    }


def _multivariate_normal(family: Any) -> dict:
    variance = np.diagonal(family.scale, axis1=1, axis2=2)
    rows = family.mean_rows[:, None]
    return _location_and_variance(family.mean, rows, variance, family.covariance_rows[:, None])


def _covariances(family: Any) -> Marginals:
    """Return mean and standard deviation of covariances of two columns, without interval.

    Source: von Rosen (1988), Scandinavian Journal of Statistics 15, 97-109 (inverse Wishart).
    """
    n, p = len(family.scale), family.mean.shape[1]
    first, second = np.triu_indices(p, 1)
    rows = family.covariance_rows[:, None] * np.ones((n, 1))
    psi = rows[..., None] * family.scale
    own = psi[:, first, second]
    both = psi[:, first, first] * psi[:, second, second]
    with np.errstate(all="ignore"):
        mean = np.where(rows > 2, own / (rows - 2), np.nan)
        square = (rows * own**2 + (rows - 2) * both) / ((rows - 1) * (rows - 2) ** 2 * (rows - 4))
        sd = np.where(rows > 4, np.sqrt(square), np.inf)
    none = np.full(mean.shape, np.nan)
    return Marginals("covariance", ("class", "pair"), mean, sd, none, none)


def _bernoulli(family: Any) -> dict:
    from scipy import stats

    first, second = family.rows * family.prob, family.rows * family.other
    return {"probability of 1": (("class", "feature"), stats.beta(first, second))}


def _categorical(family: Any) -> dict:
    from scipy import stats

    concentration = family.concentration()
    total = np.repeat(family.rows, family.n_levels, axis=-1)
    other = np.maximum(total - concentration, np.finfo(float).tiny)
    dist = stats.beta(np.maximum(concentration, np.finfo(float).tiny), other)
    return {"probability": (("class", "level"), dist)}


def _poisson(family: Any) -> dict:
    from scipy import stats

    dist = stats.gamma(family.rows * family.rate, scale=1 / family.rows)
    return {"rate": (("class", "feature"), dist)}


def _dirichlet_vector(axis: str) -> Any:
    def formulas(family: Any) -> dict:
        from scipy import stats

        rows = np.asarray(family.rows).reshape(-1, 1)
        first = np.maximum(rows * family.probs, np.finfo(float).tiny)
        other = np.maximum(rows * (1 - family.probs), np.finfo(float).tiny)
        return {"probability": (("class", axis), stats.beta(first, other))}

    return formulas


FORMULAS: dict[type, Any] = {
    Normal: _normal,
    MultivariateNormal: _multivariate_normal,
    Bernoulli: _bernoulli,
    Categorical: _categorical,
    Poisson: _poisson,
    Multinomial: _dirichlet_vector("feature"),
    JointCategorical: _dirichlet_vector("cell"),
}
"""The marginal distributions of the parameters of each family."""


def cell_names(levels: list[str], n_levels: tuple[int, ...]) -> list[str]:
    """Return "a=x, b=y" for every combination of levels, the last column fastest."""
    starts = np.cumsum([0, *n_levels])
    parts = [levels[a:b] for a, b in itertools.pairwise(starts)]
    return [", ".join(cell) for cell in itertools.product(*parts)]
