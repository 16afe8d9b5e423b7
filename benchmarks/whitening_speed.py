"""QDA with an LKJ prior by NUTS: effective draws per gradient, in whitened coordinates and without.

Five tables whose columns within a class are collinear (condition number of their correlations over
1e3). Columns are standardized for both sides. Ours: `QDA(prior="lkj")`, sampled in coordinates
in which the likelihood is round. Beside it: the same story over the same statistics as one would
write it, log deviations and the Cholesky factor of the correlations in numpyro's own coordinates,
sampled by numpyro's MCMC with as many draws and chains. Effective draws are those of the worst
mean or covariance, gradients the leapfrog steps of the kept draws: no clock is read.
"""

import warnings

import numpy as np
from measure import Options, main
from numpyro_mcmc import numpyro_mcmc
from results import Result
from sklearn.datasets import load_breast_cancer, load_wine

import bayesgen as bg

Rows = tuple[np.ndarray, np.ndarray]


def measure(options: Options) -> list[Result]:
    """Return the gain of whitening on every table, and its median."""
    warnings.simplefilter("ignore", bg.errors.NotConverged)
    chosen = dict(list(tables().items())[: options.size(5, 1)])
    lines = [whitened(name, *rows, options) for name, rows in chosen.items()]
    gains = [line.measured for line in lines]
    work = f"effective draws per gradient, QDA with LKJ: median of {len(lines)} tables"
    return [*lines, Result(work, ">= 20", float(np.median(gains)), "x", min(gains), max(gains))]


def tables() -> dict[str, Rows]:
    """Return rows and labels of five tables by name: three as they are, two with squares."""
    cells, iris, wine = load_breast_cancer(), bg.datasets.load_iris(), load_wine()
    crabs, flowers, tasted = bg.datasets.load_crabs(), iris[0].to_numpy(), wine.data[:, :5]
    named = {
        "crabs": (crabs[0].to_numpy(), crabs[1]),
        "breast cancer, sizes": (cells.data[:, [0, 2, 3, 20, 22, 23]], cells.target),
        "breast cancer, means": (cells.data[:, :10], cells.target),
        "iris and its squares": (np.column_stack([flowers, flowers**2]), iris[1]),
        "wine, five columns and squares": (np.column_stack([tasted, tasted**2]), wine.target),
    }
    codes = {name: np.unique(y, return_inverse=True)[1] for name, (_, y) in named.items()}
    return {n: ((X - X.mean(axis=0)) / X.std(axis=0), codes[n]) for n, (X, _) in named.items()}


def whitened(name: str, X: np.ndarray, y: np.ndarray, options: Options) -> Result:
    """Return the ratio of effective draws per gradient on one table."""
    draws = options.size(300, 30)
    sampler = bg.NUTS(draws=draws, warmup=options.size(500, 60), progress=False)
    ours = bg.QDA(prior="lkj", inference=sampler, random_state=0).fit(X, y)
    posterior = ours.posterior_.components
    normal = posterior.params["normal"]
    mine = effective(normal["mean"], normal["cholesky"]), posterior.sample_stats["n_steps"].sum()
    theirs = unwhitened(ours.posterior_.components.blocks["normal"], X, y, sampler)
    rates = [draws_had / steps for draws_had, steps in (mine, theirs)]
    worst = max(np.linalg.cond(np.corrcoef(X[y == k].T)) for k in np.unique(y))
    note = (
        f"condition number {worst:,.0f}; {mine[0]:,.0f} effective draws of {4 * draws:,} in "
        f"{mine[1]:,.0f} gradients against {theirs[0]:,.0f} in {theirs[1]:,.0f}"
    )
    work = f"effective draws per gradient, QDA with LKJ, {name}"
    return Result(work, ">= 20", float(rates[0] / rates[1]), note=note)


def effective(mean: np.ndarray, factor: np.ndarray) -> float:
    """Return the effective draws of the worst mean or covariance; axes (chain, draw, ...)."""
    from numpyro.diagnostics import effective_sample_size

    i, j = np.tril_indices(factor.shape[-1])
    covariance = (factor @ np.swapaxes(factor, -1, -2))[..., i, j]
    return min(float(np.min(effective_sample_size(part))) for part in (mean, covariance))


def unwhitened(
    prior: bg.MultivariateNormal, X: np.ndarray, y: np.ndarray, sampler: bg.NUTS
) -> tuple[float, float]:
    """Return effective draws and gradients of the same story in numpyro's own coordinates."""
    n_classes, p = len(np.unique(y)), X.shape[1]
    statistics = prior.statistics(X, y, np.ones(len(y)), n_classes=n_classes)
    guess = np.sqrt(np.diagonal(prior.scale, axis1=1, axis2=2) * np.pi / 2)

    def story() -> None:
        import jax.numpy as jnp
        import numpyro
        import numpyro.distributions as dist

        with numpyro.plate("class", n_classes):
            deviation = numpyro.sample("deviation", dist.HalfNormal(guess).to_event(1))
            factor = numpyro.sample("factor", dist.LKJCholesky(p, prior.concentration))
            cholesky = numpyro.deterministic("cholesky", deviation[:, :, None] * factor)
            spread = cholesky / jnp.sqrt(prior.mean_rows)[:, None, None]
            around = dist.MultivariateNormal(prior.mean, scale_tril=spread)
            mean = numpyro.sample("mean", around)
        params = {"mean": mean, "cholesky": cholesky}
        numpyro.factor("rows", prior.log_likelihood(params, statistics))

    mcmc = numpyro_mcmc(story, sampler, seed=0)
    found = mcmc.get_samples(group_by_chain=True)
    steps = float(np.asarray(mcmc.get_extra_fields()["num_steps"]).sum())
    return effective(np.asarray(found["mean"]), np.asarray(found["cholesky"])), steps


if __name__ == "__main__":
    # nothing is timed
    main(__file__, __doc__, measure, threads=("default",))
