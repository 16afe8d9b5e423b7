"""Gaussian naive Bayes: within a class, every column is normal and knows nothing of the others.

Each class has its share of the rows. Each class has a variance and a mean for every column.
A row picks its class, and then each of its numbers is drawn on its own from that class's normal.

The guess of a variance is worth `variance_rows` rows. The guess of a mean is worth `mean_rows`
rows, so a class that varies widely is given a wide choice of means. A cell that was not measured
says nothing: its factor is left out, which is exactly what integrating over it would do.

    class_probs ──▶ y ──▶ x ◀── (mean ◀── variance)
                    └ row ┘      └──── class ────┘
                          └──────── feature ─────┘

Source: Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.3 (the normal with a conjugate
prior); Mitchell, Machine Learning, online chapter "Naive Bayes and logistic regression", section 3.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def model(
    x,
    y=None,
    *,
    n_classes,
    n_rows=None,
    n_features=None,
    class_rows=1.0,
    mean=0.0,
    mean_rows=0.1,
    variance=1.0,
    variance_rows=3.0,
):
    """Tell the story of numbers x (row, feature), NaN where missing, and classes y (row,)."""
    if x is None:  # simulate whole rows
        observed = jnp.ones((n_rows, n_features), bool)
    else:  # put a harmless number where one is missing, and remember not to look at it
        observed = ~jnp.isnan(x)
        x = jnp.where(observed, x, 0.0)
    n_rows, n_features = observed.shape

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with (
        numpyro.plate("class", n_classes, dim=-2),
        numpyro.plate("feature", n_features, dim=-1),
    ):
        variance = numpyro.sample(
            "variance", dist.InverseGamma(variance_rows / 2, variance_rows * variance / 2)
        )
        mean = numpyro.sample("mean", dist.Normal(mean, jnp.sqrt(variance / mean_rows)))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        cells = dist.Normal(mean[y], jnp.sqrt(variance[y]))
        x = numpyro.sample("x", cells.mask(observed).to_event(1), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "variance": jnp.array([[1.0, 2.0], [0.5, 1.0]]),
        "mean": jnp.array([[0.0, 1.0], [2.0, -1.0]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_rows=60, n_features=2)
    x = jnp.where(jax.random.bernoulli(jax.random.key(1), 0.1, x.shape), jnp.nan, x)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2)
    found = summary(mcmc.get_samples(group_by_chain=True))

    # the textbook: rows add up, the mean moves towards the data, the squares add up
    cells = (y[:, None] == jnp.arange(2))[:, :, None] & ~jnp.isnan(x)[:, None, :]
    n, total = cells.sum(0), jnp.where(cells, x[:, None, :], 0).sum(0)
    squares = (jnp.where(cells, x[:, None, :] - total / n, 0) ** 2).sum(0)
    squares = 3.0 * 1.0 + squares + 0.1 * n / (0.1 + n) * (total / n) ** 2
    exact = {"mean": total / (0.1 + n), "variance": squares / (3.0 + n - 2)}
    worst = 0.0
    for site, value in exact.items():
        error = jnp.abs(found[site]["mean"] - value) / found[site]["std"]
        worst = max(worst, float(jnp.max(error * jnp.sqrt(found[site]["n_eff"]))))
    assert worst < 5, worst
    print(f"posterior means: NUTS is within {worst:.1f} Monte Carlo errors of the closed form")
