"""Quadratic discriminant analysis: classes are clouds, each with its own center and shape.

Each class has its share of the rows, its mean and its covariance matrix. A row picks its class
and is drawn from that class's normal. The borders between classes are conic sections.

The guess `scale` of a covariance is worth `covariance_rows` rows in each class, the guess of a
mean `mean_rows` rows. The columns taken one at a time have the prior of gaussian_naive_bayes.py.

A missing column is integrated out exactly: its row and column of the covariance matrix are replaced
by those of a stranger, uncorrelated with the rest, whose density at its own mean is one. A normal
with variance 1 / (2 pi) has that density.

    class_probs ──▶ y ──▶ x ◀── (mean ◀── covariance)
                    └ row ┘      └───── class ─────┘

Source: Hastie, Tibshirani and Friedman, The Elements of Statistical Learning, 2nd ed., section
4.3; Geisser, "Posterior odds for multivariate normal classifications", JRSS B 26 (1964) 69-76.
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
    scale=None,
    covariance_rows=3.0,
):
    """Tell the story of numbers x (row, feature), NaN where missing, and classes y (row,).

    scale is a (feature, feature) guess of each covariance matrix, the identity if None.
    """
    if x is None:  # simulate whole rows
        observed = jnp.ones((n_rows, n_features), bool)
    else:  # put a harmless number where one is missing, and remember not to look at it
        observed = ~jnp.isnan(x)
        x = jnp.where(observed, x, 0.0)
    n_rows, n_features = observed.shape
    both = observed[:, :, None] & observed[:, None, :]  # (row, feature, feature)
    left_out = jnp.eye(n_features) / (2 * jnp.pi)
    mean = mean * jnp.ones(n_features)
    scale = jnp.eye(n_features) if scale is None else scale
    degrees = n_features - 1 + covariance_rows

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes):
        covariance = numpyro.sample(
            "covariance", dist.InverseWishart(degrees, scale_matrix=covariance_rows * scale)
        )
        mean = numpyro.sample("mean", dist.MultivariateNormal(mean, covariance / mean_rows))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        centre = jnp.where(observed, mean[y], 0.0)
        spread = jnp.where(both, covariance[y], left_out)
        x = numpyro.sample("x", dist.MultivariateNormal(centre, spread), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "covariance": jnp.array([[[1.0, 0.6], [0.6, 1.0]], [[2.0, -0.5], [-0.5, 0.5]]]),
        "mean": jnp.array([[0.0, 1.0], [2.0, -1.0]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_rows=60, n_features=2)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2)
    found = summary(mcmc.get_samples(group_by_chain=True))

    # the textbook: rows add up, the mean moves towards the data, the scatters add up
    share = jax.nn.one_hot(y, 2).T
    n = share.sum(1)[:, None]
    average = share @ x / n
    away = x - average[y]
    scatter = jnp.einsum("kr,rf,rg->kfg", share, away, away)
    pull = (0.1 * n / (0.1 + n))[:, :, None] * average[:, :, None] * average[:, None, :]
    covariance = (3.0 * jnp.eye(2) + scatter + pull) / (2 - 1 + 3.0 + n[:, :, None] - 2 - 1)
    exact = {"mean": n * average / (0.1 + n), "covariance": covariance}
    worst = 0.0
    for site, value in exact.items():
        error = jnp.abs(found[site]["mean"] - value) / found[site]["std"]
        worst = max(worst, float(jnp.max(error * jnp.sqrt(found[site]["n_eff"]))))
    assert worst < 5, worst
    print(f"posterior means: NUTS is within {worst:.1f} Monte Carlo errors of the closed form")
