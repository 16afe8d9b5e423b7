"""Robust naive Bayes: bells with heavy tails, so that one wild cell cannot drag a class away.

The story is that of gaussian_naive_bayes.py with Student's t in place of the normal. Far out, a
t's log density falls like a logarithm and not like a square: an outlying cell has a limited say,
in fitting and in prediction. This is the naive form, for outlying cells: each column judges for
itself whether a number is wild. (When it is whole rows that go astray, take a multivariate t.)

How heavy the tails are is learned, one number of degrees of freedom per column: 1 is Cauchy's bell,
30 is all but normal. The prior on it, Gamma(2, 0.1), is vague between these. `mean` and `variance`
are the center and the squared scale of the bell; their guesses are worth rows as in the normal.

    class_probs ──▶ y ──▶ x ◀── (mean ◀── variance),  degrees
                    └ row ┘      └──── class ────┘
                          └───────────── feature ───────────┘

Source: Lange, Little and Taylor, "Robust statistical modeling using the t distribution", JASA 84
(1989) 881-896; the prior on the degrees of freedom: Juárez and Steel, "Model-based clustering of
non-Gaussian panel data based on skew-t distributions", JBES 28 (2010) 52-66.
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
    with numpyro.plate("feature", n_features, dim=-1):
        degrees = numpyro.sample("degrees", dist.Gamma(2.0, 0.1))
        with numpyro.plate("class", n_classes, dim=-2):
            variance = numpyro.sample(
                "variance", dist.InverseGamma(variance_rows / 2, variance_rows * variance / 2)
            )
            mean = numpyro.sample("mean", dist.Normal(mean, jnp.sqrt(variance / mean_rows)))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        cells = dist.StudentT(degrees, mean[y], jnp.sqrt(variance[y]))
        x = numpyro.sample("x", cells.mask(observed).to_event(1), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "degrees": jnp.array([2.0, 4.0]),
        "variance": jnp.array([[1.0, 2.0], [0.5, 1.0]]),
        "mean": jnp.array([[0.0, 1.0], [2.0, -1.0]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_rows=200, n_features=2)
    x = jnp.where(jax.random.bernoulli(jax.random.key(1), 0.1, x.shape), jnp.nan, x)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2)
    draws = mcmc.get_samples()

    # no closed form: the truth must lie within five posterior standard deviations
    worst = 0.0
    for site, value in truth.items():
        error = jnp.abs(draws[site].mean(0) - value) / draws[site].std(0)
        worst = max(worst, float(error.max()))
    assert worst < 5, worst
    print(f"the truth lies within {worst:.1f} posterior standard deviations")
