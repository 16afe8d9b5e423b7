"""Every likelihood with a stated prior, for simulation: hyperparameters differ by class and column.

A new family gets a line in SUBJECTS; tests/inference/test_sbc.py asks for one.
"""

import numpy as np
from simulated import GUESS, N_CLASSES, Subject, stated

from bayesgen.likelihoods import (
    Bernoulli,
    Categorical,
    Family,
    JointCategorical,
    KernelDensity,
    Likelihood,
    Multinomial,
    MultivariateNormal,
    Normal,
    Poisson,
)

MEAN = np.array([[0.0, 1.0], [1.0, -1.0]])
VARIANCE = np.array([[1.0, 2.0], [0.5, 1.5]])
STRENGTHS = np.array([[1.0, 2.0], [0.7, 3.0]])
SCALE = np.array([[1.0, 0.4], [0.4, 1.5]])
SCALES = SCALE * np.array([1.0, 0.6])[:, None, None]
LEVELS, PROBS = (2, 3), np.array([[0.4, 0.6, 0.2, 0.3, 0.5], [0.7, 0.3, 0.4, 0.4, 0.2]])
CELLS = np.array([[0.1, 0.2, 0.1, 0.2, 0.2, 0.2], [0.3, 0.1, 0.1, 0.2, 0.1, 0.2]])
URNS = np.array([[0.5, 0.3, 0.2], [0.2, 0.5, 0.3]])

OWN = {"mean": MEAN, "mean_rows": STRENGTHS, "variance": VARIANCE, "variance_rows": 3 * STRENGTHS}
ONE = {
    "mean": MEAN,
    "mean_rows": STRENGTHS,
    "variance": VARIANCE[0],
    "variance_rows": 3 * STRENGTHS[0],
}
JOINT = {"mean": MEAN, "mean_rows": np.array([1.0, 2.0])}
LEARN = dict.fromkeys(("mean_rows", "variance_rows"), "learn")
LEARN_JOINT = dict.fromkeys(("mean_rows", "covariance_rows"), "learn")


def line(
    likelihood: Likelihood,
    *inferences: str,
    width: int = 2,
    n_levels: tuple[int, ...] = (),
) -> Subject:
    """Return a subject; without names of inferences those of a closed form, exact and nuts."""

    def prior() -> Likelihood:
        return stated(likelihood, width, n_levels)

    return Subject(prior, inferences or ("exact", "nuts"), width, n_levels)


def family(distribution: str, x: np.ndarray, **settings: object) -> Subject:
    """Return a subject of any distribution; where no prior is stated, the one that x gives."""

    def prior() -> Likelihood:
        import numpyro.distributions as dist

        priors = {name: getattr(dist, of)(*at) for name, (of, *at) in settings.items()}
        part, y = (
            Family(getattr(dist, distribution), priors=priors, rows=4.0),
            np.arange(len(x)) % 2,
        )
        return part.complete(part.statistics(x, y, np.ones(len(x)), n_classes=N_CLASSES))

    return Subject(prior, ("nuts",))


SIZES = np.random.default_rng(5).gamma(3.0, size=(200, 2)) * np.array([1.0, 20.0])
COUNTS = np.random.default_rng(6).poisson(2.0, size=(200, 2)) * 1.0

SUBJECTS: dict[str, Subject] = {
    "Normal": line(Normal(**OWN)),
    "Normal shared": line(Normal(**ONE, spread="shared")),
    "MultivariateNormal": line(
        MultivariateNormal(**JOINT, scale=SCALES, covariance_rows=np.array([4.0, 6.0]))
    ),
    "MultivariateNormal shared": line(
        MultivariateNormal("shared", **JOINT, scale=SCALE, covariance_rows=4.0)
    ),
    "MultivariateNormal lkj": line(
        MultivariateNormal(**JOINT, scale=SCALES, prior="lkj", concentration=2.0), "nuts"
    ),
    "MultivariateNormal lkj shared": line(
        MultivariateNormal("shared", **JOINT, scale=SCALE, prior="lkj"), "nuts"
    ),
    "Categorical": line(Categorical(probs=PROBS, rows=4 * STRENGTHS), n_levels=LEVELS),
    "Bernoulli": line(Bernoulli(prob=np.array([[0.3, 0.5], [0.6, 0.2]]), rows=4 * STRENGTHS)),
    "Poisson": line(Poisson(rate=np.array([[0.7, 2.0], [1.5, 3.0]]), rows=2 * STRENGTHS)),
    "Multinomial": line(
        Multinomial(probs=URNS, rows=np.array([6.0, 9.0]), length=np.array([8.0])), width=3
    ),
    "JointCategorical": line(
        JointCategorical(probs=CELLS, rows=np.array([6.0, 9.0])), n_levels=LEVELS
    ),
    "KernelDensity": Subject(lambda: KernelDensity(bandwidth=GUESS), ("exact",)),
    "Family Gamma": family("Gamma", SIZES),
    "Family StudentT": family(
        "StudentT",
        SIZES,
        df=("Gamma", 4.0, 0.5),
        loc=("Normal", 0.0, 1.0),
        scale=("Gamma", 4.0, 4.0),
    ),
    "Family ZeroInflatedPoisson": family(
        "ZeroInflatedPoisson", COUNTS, rate=("Gamma", 4.0, 1.5), gate=("Beta", 2.0, 4.0)
    ),
    "Normal, prior strengths": line(Normal(mean=MEAN, variance=VARIANCE, **LEARN), "exact"),
    "MultivariateNormal, prior strengths": line(
        MultivariateNormal(mean=MEAN, scale=SCALE, **LEARN_JOINT), "exact"
    ),
    "Categorical, prior strengths": line(
        Categorical(probs=PROBS, rows="learn"), "exact", n_levels=LEVELS
    ),
    "Bernoulli, prior strengths": line(Bernoulli(prob=0.4, rows="learn"), "exact"),
    "Poisson, prior strengths": line(Poisson(rate=2.0, rows="learn"), "exact"),
}
"""By name; learned prior strengths are those of `bayesgen.likelihoods.hyperparameter_mixture`."""

TOGETHER = (
    ("Normal", "Normal shared"),
    ("MultivariateNormal", "MultivariateNormal shared"),
    ("Categorical", "Bernoulli", "Poisson", "Multinomial", "JointCategorical"),
)
"""Blocks of one model under NUTS: one program then serves them all."""

GROUPS = TOGETHER + tuple(
    (name,)
    for name, subject in SUBJECTS.items()
    if "nuts" in subject.inferences and not any(name in group for group in TOGETHER)
)
"""All models that NUTS samples; posteriors that are less round have one of their own."""
