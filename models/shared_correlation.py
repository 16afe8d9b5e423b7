"""Clouds of one correlation: classes have their own centers and sizes, and share the correlations.

The story is that of qda_lkj.py: matrices are put together from standard deviations and a
correlation matrix. Here every class has its own deviations, and one correlation matrix serves all:
p (p - 1) / 2 correlations are learned from all rows, so that even small classes can have sizes of
their own. The model lies between lda_lkj.py, whose classes share the deviations too, and
qda_lkj.py, whose classes share nothing.

A standard deviation has a half-normal prior whose mean is the guess, the square root of the
diagonal of `scale`. The correlation matrix has the LKJ prior: `concentration` 1 makes all
correlation matrices equally likely, more pulls the correlations towards zero. It takes at least two
columns.

A missing column is integrated out exactly: its row and column of the covariance matrix are replaced
by those of a stranger, uncorrelated with the rest, whose density at its own mean is one. A normal
with variance 1 / (2 pi) has that density.

    class_probs ──▶ y ──▶ x ◀── (mean ◀── covariance ◀── deviation), correlation
                    └ row ┘      │                        feature │
                                 └───────────── class ────────────┘

Source: Manly and Rayner, "The comparison of sample covariance matrices using likelihood ratio
tests", Biometrika 74 (1987) 841-847, the model of equal correlations; Lewandowski, Kurowicka and
Joe, "Generating random correlation matrices based on vines and extended onion method", Journal of
Multivariate Analysis 100 (2009) 1989-2001.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def normal(mean, covariance, observed):
    """Return the distribution of the observed columns of each row: missing ones are strangers."""
    both = observed[:, :, None] & observed[:, None, :]  # (row, feature, feature)
    left_out = jnp.eye(observed.shape[1]) / (2 * jnp.pi)
    spread = jnp.where(both, covariance, left_out)
    return dist.MultivariateNormal(jnp.where(observed, mean, 0.0), spread)


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
    concentration=1.0,
):
    """Tell the story of numbers x (row, feature), NaN where missing, and classes y (row,).

    scale is a (feature, feature) guess of each covariance matrix; only its diagonal is used.
    """
    if x is None:  # simulate whole rows
        observed = jnp.ones((n_rows, n_features), bool)
    else:  # put a harmless number where one is missing, and remember not to look at it
        observed = ~jnp.isnan(x)
        x = jnp.where(observed, x, 0.0)
    n_rows, n_features = observed.shape
    mean = mean * jnp.ones(n_features)
    scale = jnp.eye(n_features) if scale is None else scale

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with (
        numpyro.plate("class", n_classes, dim=-2),
        numpyro.plate("feature", n_features, dim=-1),
    ):
        guess = jnp.sqrt(jnp.diag(scale) * jnp.pi / 2)
        deviation = numpyro.sample("deviation", dist.HalfNormal(guess))
    correlation = numpyro.sample("correlation", dist.LKJ(n_features, concentration))
    covariance = numpyro.deterministic(
        "covariance", deviation[:, :, None] * correlation * deviation[:, None, :]
    )
    with numpyro.plate("class", n_classes):
        mean = numpyro.sample("mean", dist.MultivariateNormal(mean, covariance / mean_rows))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        x = numpyro.sample("x", normal(mean[y], covariance[y], observed), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "deviation": jnp.array([[1.0, 1.5], [0.5, 2.0]]),
        "correlation": jnp.array([[1.0, 0.6], [0.6, 1.0]]),
        "mean": jnp.array([[0.0, 1.0], [2.0, -1.0]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_rows=150, n_features=2)
    x = jnp.where(jax.random.bernoulli(jax.random.key(1), 0.1, x.shape), jnp.nan, x)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2)
    draws = mcmc.get_samples()

    # no closed form: the truth must lie within five posterior standard deviations
    worst = 0.0
    for site in ("mean", "deviation", "correlation"):
        error = jnp.abs(draws[site].mean(0) - truth[site]) / (draws[site].std(0) + 1e-9)
        worst = max(worst, float(error.max()))
    assert worst < 5, worst
    print(f"the truth lies within {worst:.1f} posterior standard deviations")
