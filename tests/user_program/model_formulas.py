"""Incomplete tables for the programs in models/, and their densities in NumPy and SciPy.

The formulas look at one row at a time and pick out its observed cells, so that they share none of
the programs' tricks. Parameters `p` have the programs' site names; `k` is the class of row `x`.
"""

import itertools

import numpy as np
from scipy import stats

N = 9  # rows in each table
Y = np.arange(N) % 3
KINDS = np.random.default_rng(0)


def gaps(values, missing):
    """Return a copy with about a quarter of the cells missing, and nothing at all in row 0."""
    hidden = np.random.default_rng(1).random(values.shape) < 0.25
    hidden[0] = True
    return np.where(hidden, missing, values)


NUMBERS = gaps(KINDS.normal(size=(N, 3)), np.nan)
LEVELS = gaps(KINDS.integers(0, (3, 2), size=(N, 2)), -1)
COUNTS = gaps(KINDS.poisson(2.0, size=(N, 4)).astype(float), np.nan)
BINARY = gaps(KINDS.integers(0, 2, size=(N, 3)).astype(float), np.nan)
MIXED = {
    "income": NUMBERS[:, 0],
    "state": LEVELS[:, 0],
    "voted": BINARY[:, 1],
    "rallies": COUNTS[:, 0],
}
OWN = {"value": NUMBERS, "own": np.arange(N)}
BOTH = {"numbers": NUMBERS, "levels": LEVELS}

NORMAL = {"mean": 0.3, "mean_rows": 0.7, "variance": 2.0, "variance_rows": 5.0}
SCALE = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.2], [0.0, 0.2, 1.5]])
WISHART = {"mean": 0.3, "mean_rows": 0.7, "scale": SCALE, "covariance_rows": 4.0}
LKJ = {"mean": 0.3, "mean_rows": 0.7, "scale": SCALE, "concentration": 2.0}
TABLE = {"n_levels": (3, 2), "rows": 4.0}
URN = {"probs": np.array([0.1, 0.2, 0.3, 0.4]), "rows": 5.0}
SEEN = {"centres": NUMBERS, "centre_classes": Y}

# program: a table with missing values, its keywords, and the sizes that a simulation is told
CASES = {
    "gaussian_naive_bayes": (NUMBERS, NORMAL, {"n_features": 3}),
    "gaussian_naive_bayes_shared_variance": (NUMBERS, NORMAL, {"n_features": 3}),
    "robust_student_t": (NUMBERS, NORMAL, {"n_features": 3}),
    "kernel_density_naive_bayes": (OWN, SEEN, {}),
    "lda": (NUMBERS, WISHART, {"n_features": 3}),
    "qda": (NUMBERS, WISHART, {"n_features": 3}),
    "lda_lkj": (NUMBERS, LKJ, {"n_features": 3}),
    "qda_lkj": (NUMBERS, LKJ, {"n_features": 3}),
    "shrunken_qda": (NUMBERS, WISHART, {"n_features": 3}),
    "multivariate_student_t": (NUMBERS, WISHART, {"n_features": 3}),
    "shared_correlation": (NUMBERS, LKJ, {"n_features": 3}),
    "categorical_naive_bayes": (LEVELS, TABLE, {}),
    "joint_table": (LEVELS, TABLE, {}),
    "bernoulli_bag_of_words": (BINARY, {"prob": 0.3, "rows": 4.0}, {"n_features": 3}),
    "multinomial_bag_of_words": (COUNTS, URN, {"n_features": 4, "length": 20}),
    "mixed_naive_bayes": (MIXED, {"n_states": 3, "income_mean": 0.3, "rallies_rows": 2.0}, {}),
    "hierarchical_naive_bayes": (BOTH, {"n_levels": (3, 2)}, {"n_features": 3}),
}


def cells(logpdf, observed):
    """Add up the log densities of the observed cells of one row."""
    return sum(logpdf(j) for j in np.flatnonzero(observed))


def normal_row(p, x, k):
    variance = np.broadcast_to(p["variance"], p["mean"].shape)
    return cells(
        lambda j: stats.norm.logpdf(x[j], p["mean"][k, j], variance[k, j] ** 0.5), ~np.isnan(x)
    )


def student_row(p, x, k):
    t = stats.t(p["degrees"], p["mean"][k], np.sqrt(p["variance"][k]))
    return np.nansum(t.logpdf(x))


def multivariate_row(p, x, k):
    seen = np.flatnonzero(~np.isnan(x))
    if "deviation" in p:
        p = p | {"covariance": outer(p["deviation"]) * p["correlation"]}
    covariance = p["covariance"] if p["covariance"].ndim == 2 else p["covariance"][k]
    if not seen.size:
        return 0.0
    mean, block = p["mean"][k, seen], covariance[np.ix_(seen, seen)]
    return stats.multivariate_normal.logpdf(x[seen], mean, block)


def heavy_row(p, x, k):
    seen = np.flatnonzero(~np.isnan(x))
    if not seen.size:
        return 0.0
    block = p["covariance"][k][np.ix_(seen, seen)]
    return stats.multivariate_t.logpdf(x[seen], p["mean"][k, seen], block, p["degrees"])


def outer(deviation):
    return deviation[..., :, None] * deviation[..., None, :]


def level_row(p, x, k, name="probs"):
    return cells(lambda j: np.log(p[f"{name}.{j}"][k, x[j]]), x >= 0)


def joint_row(p, x, k):
    table = p["cell_probs"][k].reshape(3, 2)
    fits = [
        cell
        for cell in itertools.product(range(3), range(2))
        if all(x[j] in (-1, cell[j]) for j in range(2))
    ]
    return np.log(sum(table[cell] for cell in fits))


def count_row(p, x, k):
    seen = ~np.isnan(x)
    if not seen.any():
        return 0.0
    urn = p["probs"][k, seen] / p["probs"][k, seen].sum()
    return stats.multinomial.logpmf(x[seen], x[seen].sum(), urn)


def mixed_row(p, x, k):
    parts = (
        stats.norm.logpdf(x["income"], p["income.mean"][k], np.sqrt(p["income.variance"][k])),
        np.log(p["state.probs"][k, x["state"]]) if x["state"] >= 0 else np.nan,
        stats.bernoulli.logpmf(x["voted"], p["voted.prob"][k]),
        stats.poisson.logpmf(x["rallies"], p["rallies.rate"][k]),
    )
    return np.nansum(parts)


def hierarchical_row(p, x, k):
    numbers = {"mean": p["numbers.mean"], "variance": p["numbers.variance"]}
    return normal_row(numbers, x["numbers"], k) + level_row(p, x["levels"], k, "levels.probs")


def kernel_row(p, x, k):
    def logpdf(j):
        others = (np.arange(N) != x["own"]) & ~np.isnan(NUMBERS[:, j])
        mine = others & (k == Y)
        bumps = NUMBERS[mine if mine.any() else others, j]
        return np.log(stats.norm.pdf(x["value"][j], bumps, p["variance"][k, j] ** 0.5).mean())

    return cells(logpdf, ~np.isnan(x["value"]))


def bernoulli_row(p, x, k):
    return np.nansum(stats.bernoulli.logpmf(x, p["prob"][k]))


ROWS = {
    "gaussian_naive_bayes": normal_row,
    "gaussian_naive_bayes_shared_variance": normal_row,
    "robust_student_t": student_row,
    "kernel_density_naive_bayes": kernel_row,
    "lda": multivariate_row,
    "qda": multivariate_row,
    "lda_lkj": multivariate_row,
    "qda_lkj": multivariate_row,
    "shrunken_qda": multivariate_row,
    "multivariate_student_t": heavy_row,
    "shared_correlation": multivariate_row,
    "categorical_naive_bayes": level_row,
    "joint_table": joint_row,
    "bernoulli_bag_of_words": bernoulli_row,
    "multinomial_bag_of_words": count_row,
    "mixed_naive_bayes": mixed_row,
    "hierarchical_naive_bayes": hierarchical_row,
}


def normal_prior(p, name="", mean=0.3, mean_rows=0.7, variance=2.0, rows=5.0):
    sigma2 = p[f"{name}variance"]
    guess = stats.invgamma.logpdf(sigma2, rows / 2, scale=rows * variance / 2).sum()
    return guess + stats.norm.logpdf(p[f"{name}mean"], mean, np.sqrt(sigma2 / mean_rows)).sum()


def mean_prior(mean, covariance):
    pairs = zip(mean, np.broadcast_to(covariance, (3, 3, 3)), strict=True)
    normal = stats.multivariate_normal
    return sum(normal.logpdf(m, np.full(3, 0.3), s / 0.7) for m, s in pairs)


def wishart_prior(p):
    matrices = p["covariance"].reshape(-1, 3, 3)
    guess = sum(stats.invwishart.logpdf(m, 3 - 1 + 4.0, 4.0 * SCALE) for m in matrices)
    return guess + mean_prior(p["mean"], p["covariance"])


def lkj_prior(p):
    """Half-normals whose means are the guess, and LKJ(2) in three columns as a product of betas.

    Lewandowski et al. (2009), section 3: the correlations with column 0, and the partial
    correlation of the other two given it, are independent betas stretched to (-1, 1).
    """
    guess = np.sqrt(np.diag(SCALE))
    density = stats.halfnorm.logpdf(p["deviation"], scale=guess * np.sqrt(np.pi / 2)).sum()
    for r in p["correlation"].reshape(-1, 3, 3):
        shrink = np.sqrt((1 - r[0, 1] ** 2) * (1 - r[0, 2] ** 2))
        partial = (r[1, 2] - r[0, 1] * r[0, 2]) / shrink
        density += stats.beta.logpdf([r[0, 1], r[0, 2]], 2.5, 2.5, loc=-1, scale=2).sum()
        density += stats.beta.logpdf(partial, 2, 2, loc=-1, scale=2) - np.log(shrink)
    return density + mean_prior(p["mean"], outer(p["deviation"]) * p["correlation"])


def dirichlet_prior(probs, strength):
    return sum(stats.dirichlet.logpdf(p / p.sum(), strength) for p in probs)


def mixed_prior(p):
    return (
        normal_prior(p, "income.", mean_rows=0.1, variance=1.0, rows=3.0)
        + dirichlet_prior(p["state.probs"], np.ones(3))
        + stats.beta.logpdf(p["voted.prob"], 1, 1).sum()
        + stats.gamma.logpdf(p["rallies.rate"], 2.0, scale=1 / 2.0).sum()
    )


PRIORS = {
    "gaussian_naive_bayes": normal_prior,
    "gaussian_naive_bayes_shared_variance": normal_prior,
    "lda": wishart_prior,
    "qda": wishart_prior,
    "lda_lkj": lkj_prior,
    "qda_lkj": lkj_prior,
    "shared_correlation": lkj_prior,
    "multivariate_student_t": lambda p: (
        wishart_prior(p) + stats.gamma.logpdf(p["degrees"], 2.0, scale=10.0)
    ),
    "categorical_naive_bayes": lambda p: (
        dirichlet_prior(p["probs.0"], np.full(3, 4 / 3)) + dirichlet_prior(p["probs.1"], [2, 2])
    ),
    "joint_table": lambda p: dirichlet_prior(p["cell_probs"], np.full(6, 4 / 6)),
    "bernoulli_bag_of_words": lambda p: stats.beta.logpdf(p["prob"], 1.2, 2.8).sum(),
    "multinomial_bag_of_words": lambda p: dirichlet_prior(p["probs"], 5 * URN["probs"]),
    "mixed_naive_bayes": mixed_prior,
}
