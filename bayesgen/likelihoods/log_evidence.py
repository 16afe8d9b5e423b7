"""Log evidence as a function of worths that JAX can differentiate: what learns them by sampling.

Each function here is the twin of a family's `log_evidence`, which is NumPy and takes worths that
are there already; the tests hold them equal. A family is served when it stands in EVIDENCES.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bayesgen.likelihoods.base import Likelihood, Statistics
from bayesgen.likelihoods.bernoulli import Bernoulli
from bayesgen.likelihoods.categorical import Categorical
from bayesgen.likelihoods.multivariate_normal import MultivariateNormal
from bayesgen.likelihoods.normal import Normal
from bayesgen.likelihoods.poisson import Poisson
from bayesgen.typing import Traceable

SHRINKAGE_PATH = "correlation"
"""The setting that slides the guess of a covariance from diagonal to pooled."""

Numbers = Mapping[str, Traceable]
"""Arrays of a completed prior and of statistics; worths stand in place of the prior's own."""


def normal(at: Numbers, *, shared: bool) -> Traceable:
    """Return the log evidence of `Normal`; shared: one variance for all classes."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    def pool(values: Traceable) -> Traceable:
        return values.sum(axis=0, keepdims=True) if shared else values

    n, k = at["count"], at["mean_rows"]
    squares = at["scatter"] + k * n / (k + n) * (at["average"] - at["mean"]) ** 2
    rows = at["variance_rows"] * jnp.ones_like(at["variance"])
    before, after = rows * at["variance"], rows * at["variance"] + pool(squares)
    late = rows + pool(n)
    means = 0.5 * jnp.log(k / (k + n)) - 0.5 * n * jnp.log(jnp.pi)
    spreads = gammaln(late / 2) - gammaln(rows / 2)
    spreads += rows / 2 * jnp.log(before) - late / 2 * jnp.log(after)
    return means.sum() + spreads.sum()


def multivariate_normal(at: Numbers, *, shared: bool) -> Traceable:
    """Return the log evidence of `MultivariateNormal`: one factorisation before and one after.

    scale + correlation slope is the guess of the covariance.
    """
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    def pool(values: Traceable) -> Traceable:
        return values.sum(axis=0, keepdims=True) if shared else values

    n, k = at["count"], at["mean_rows"] * jnp.ones_like(at["count"])
    p = at["mean"].shape[-1]
    delta = at["average"] - at["mean"]
    outer = (k * n / (k + n))[:, None, None] * delta[:, :, None] * delta[:, None, :]
    scale = at["scale"] + at["correlation"] * at["slope"]
    rows = at["covariance_rows"] * jnp.ones(len(scale))
    before = rows[:, None, None] * scale
    means = p / 2 * (jnp.log(k / (k + n)) - n * jnp.log(jnp.pi))

    def normaliser(rows: Traceable, total: Traceable) -> Traceable:
        half = (p - 1 + rows) / 2
        factor = jnp.linalg.cholesky(total)
        log_det = 2 * jnp.log(jnp.diagonal(factor, axis1=-2, axis2=-1)).sum(axis=-1)
        gammas = gammaln(half[:, None] - jnp.arange(p) / 2).sum(axis=-1)
        return (gammas - half * log_det).sum()

    after = normaliser(rows + pool(n), before + pool(at["scatter"] + outer))
    return means.sum() + after - normaliser(rows, before)


def categorical(at: Numbers, *, shared: bool) -> Traceable:
    """Return the log evidence of `Categorical`."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    usual = at["probs"] > 0
    # 0 has no gradient in the branch that is not taken either
    before = at["rows"] * jnp.where(usual, at["probs"], 1.0)
    levels = jnp.where(usual, gammaln(before + at["count"]) - gammaln(before), 0.0)
    rows = at["rows"] * jnp.ones_like(at["observed"])
    return levels.sum() + (gammaln(rows) - gammaln(rows + at["observed"])).sum()


def bernoulli(at: Numbers, *, shared: bool) -> Traceable:
    """Return the log evidence of `Bernoulli`."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    def log_beta(yes: Traceable, no: Traceable) -> Traceable:
        return gammaln(yes) + gammaln(no) - gammaln(yes + no)

    rows = at["rows"] * jnp.ones_like(at["prob"])
    yes, no = rows * at["prob"], rows * at["other"]
    return (log_beta(yes + at["yes"], no + at["no"]) - log_beta(yes, no)).sum()


def poisson(at: Numbers, *, shared: bool) -> Traceable:
    """Return the log evidence of `Poisson`."""
    import jax.numpy as jnp
    from jax.scipy.special import gammaln

    rows = at["rows"] * jnp.ones_like(at["rate"])
    shape, late = rows * at["rate"], rows * at["rate"] + at["total"]
    before = gammaln(shape) - shape * jnp.log(rows)
    after = gammaln(late) - late * jnp.log(rows + at["count"])
    return (after - before - at["log_factorials"]).sum()


EVIDENCES: dict[type[Likelihood], Callable[..., Traceable]] = {
    Normal: normal,
    MultivariateNormal: multivariate_normal,
    Categorical: categorical,
    Bernoulli: bernoulli,
    Poisson: poisson,
}


def shares(family: Likelihood) -> bool:
    """Return whether all classes of a family share one spread."""
    return getattr(family, "spread", None) == "shared" or bool(getattr(family, "shared", False))


def shrinkage_path(members: Sequence[Likelihood]) -> tuple[np.ndarray, np.ndarray]:
    """Return the guess of the covariance at correlation 0, and what it gains for each unit of it.

    The slope is 0 where all members have one correlation, whichever that is.
    """
    ordered = sorted(members, key=lambda member: member.correlation)
    low, high = ordered[0], ordered[-1]
    if low.correlation == high.correlation:
        return low.scale, np.zeros_like(low.scale)
    slope = (high.scale - low.scale) / (high.correlation - low.correlation)
    return low.scale - low.correlation * slope, slope


def numbers(members: Sequence[Likelihood], statistics: Statistics) -> dict[str, np.ndarray]:
    """Return the arrays that the evidence of a completed family takes, its members given."""
    family = members[0]
    counted = dict(statistics.arrays())
    if isinstance(family, Normal | MultivariateNormal):
        counted["average"] = counted.pop("mean")
    if isinstance(family, MultivariateNormal):
        counted = {name: counted[name] for name in ("count", "average", "scatter")}
        scale, slope = shrinkage_path(members)
        counted |= {"scale": scale, "slope": slope, "correlation": np.zeros(())}
    if isinstance(family, Categorical):
        counted["observed"] = statistics.per_column()
    return family.arrays() | counted


def given(members: Sequence[Likelihood], prior_strengths: Mapping[str, float]) -> Likelihood:
    """Return the completed family under worths of its own."""
    family, arrays = members[0], {}
    for name, value in prior_strengths.items():
        if name == SHRINKAGE_PATH:
            scale, slope = shrinkage_path(members)
            arrays |= {SHRINKAGE_PATH: float(value), "scale": scale + value * slope}
        else:
            arrays[name] = np.full_like(getattr(family, name), value)
    return family.with_arrays(arrays)
