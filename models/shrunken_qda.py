"""Shrunken QDA: class covariances drawn around a common one, as tightly as the data say.

LDA gives all classes one covariance matrix, QDA gives each its own. Here each class's matrix is
drawn around a common one, and `strength` says how closely: it is the number of rows that the
common matrix is worth in each class. A large strength is LDA, a small one QDA, and the posterior
of the strength tells how far between the two these data lie. A class with few rows borrows its
shape from the others, as far as the others resemble each other.

Compared with qda.py, only the guess and its strength have become unknown. The common matrix has the
guess `scale`, worth `covariance_rows` rows; the strength is log-normal with median `strength`.

A missing column is integrated out exactly: its row and column of the covariance matrix are replaced
by those of a stranger, uncorrelated with the rest, whose density at its own mean is one. A normal
with variance 1 / (2 pi) has that density.

    class_probs ──▶ y ──▶ x ◀── (mean ◀── covariance ◀── (common, strength))
                    └ row ┘      └───── class ─────┘

Source: Greene and Rayens, "Partially pooled covariance matrix estimation in discriminant
analysis", Communications in Statistics: Theory and Methods 18 (1989) 3679-3702; the idea in
Friedman, "Regularized discriminant analysis", JASA 84 (1989) 165-175.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def inverse_wishart(guess, rows):
    """Return the prior of a covariance matrix: a guess, and how many rows it is worth."""
    return dist.InverseWishart(guess.shape[-1] - 1 + rows, scale_matrix=rows * guess)


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
    covariance_rows=3.0,
    strength=10.0,
    strength_spread=1.5,
):
    """Tell the story of numbers x (row, feature), NaN where missing, and classes y (row,).

    scale is a (feature, feature) guess of the common matrix, the identity if None; strength_spread
    is the standard deviation of log strength.
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
    common = numpyro.sample("common", inverse_wishart(scale, covariance_rows))
    strength = numpyro.sample("strength", dist.LogNormal(jnp.log(strength), strength_spread))
    with numpyro.plate("class", n_classes):
        covariance = numpyro.sample("covariance", inverse_wishart(common, strength))
        mean = numpyro.sample("mean", dist.MultivariateNormal(mean, covariance / mean_rows))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        x = numpyro.sample("x", normal(mean[y], covariance[y], observed), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.ones(6) / 6,
        "common": jnp.array([[1.0, 0.6], [0.6, 1.0]]),
        "strength": jnp.array(20.0),
    }
    story = numpyro.handlers.trace(
        numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    ).get_trace(None, n_classes=6, n_rows=240, n_features=2)
    truth = {site: story[site]["value"] for site in ("common", "strength", "covariance", "mean")}

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), story["x"]["value"], story["y"]["value"], n_classes=6)
    draws = mcmc.get_samples()

    # no closed form: the truth must lie within five posterior standard deviations
    worst = 0.0
    for site, value in truth.items():
        error = jnp.abs(draws[site].mean(0) - value) / draws[site].std(0)
        worst = max(worst, float(error.max()))
    assert worst < 5, worst
    low, high = jnp.quantile(draws["strength"], jnp.array([0.05, 0.95]))
    print(
        f"the truth lies within {worst:.1f} posterior standard deviations; "
        f"strength 20 is found to be {low:.0f} to {high:.0f}"
    )
