"""Kernel density naive Bayes: a class's column looks like the rows already seen, slightly blurred.

Some rows have been seen, the centers. A new row picks its class. Then each of its numbers picks
one of the centers of that class, and lands near that centre's number: a normal bump around it.
No shape is assumed; what is unknown is how wide the bumps are, one bandwidth per class and column.

A row that is itself a center may not look at its own bump, or the best bandwidth would be zero.
So fitting uses the leave-one-out density: x["own"] says which center a row is, -1 for a new row.

    fitting      model({"value": X, "own": arange(n)}, y, centres=X, centre_classes=y, ...)
    predicting   model({"value": new, "own": all -1}, k, centres=X, centre_classes=y, ...)

The square of a bandwidth has the prior of a variance: the guess `bandwidth` squared, worth
`bandwidth_rows` rows. A missing cell is left out, as a row's cell and as a center. A class that
has no other center in a column borrows those of all classes.

    class_probs ──▶ y ──▶ x ◀── variance        x also looks at the centers, which are given
                    └ row ┘     class
                          └─ feature ──┘

Source: John and Langley, "Estimating continuous distributions in Bayesian classifiers", UAI 1995;
Zhang, King and Hyndman, "A Bayesian approach to bandwidth selection for multivariate kernel
density estimation", Computational Statistics and Data Analysis 50 (2006) 3009-3031.
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
    centres,
    centre_classes,
    n_rows=None,
    class_rows=1.0,
    bandwidth=0.5,
    bandwidth_rows=3.0,
):
    """Tell the story of x, {"value": (row, feature), "own": (row,)}, and classes y (row,).

    centers (center, feature) are the rows already seen, centre_classes (center,) their classes.
    Values and centers are NaN where missing. Keep the widths: square roots of site "variance".
    """
    n_features = centres.shape[1]
    if x is None:  # simulate new, whole rows
        value, own = None, jnp.full(n_rows, -1)
        observed = jnp.ones((n_rows, n_features), bool)
    else:  # put a harmless number where one is missing, and remember not to look at it
        own, observed = x["own"], ~jnp.isnan(x["value"])
        value = jnp.where(observed, x["value"], 0.0)
    seen = ~jnp.isnan(centres).T  # (feature, center)
    centres = jnp.where(seen, centres.T, 0.0)

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with (
        numpyro.plate("class", n_classes, dim=-2),
        numpyro.plate("feature", n_features, dim=-1),
    ):
        guess = dist.InverseGamma(bandwidth_rows / 2, bandwidth_rows * bandwidth**2 / 2)
        variance = numpyro.sample("variance", guess)

    with numpyro.plate("row", len(observed)):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        others = seen & (jnp.arange(centres.shape[1]) != own[:, None])[:, None, :]
        mine = others & (centre_classes == y[:, None])[:, None, :]  # (row, feature, center)
        mine = jnp.where(mine.any(-1, keepdims=True), mine, others)
        pick = dist.Categorical(logits=jnp.where(mine, 0.0, -1e9))  # e^-1e9 is zero
        bumps = dist.Normal(centres, jnp.sqrt(variance)[y][:, :, None])
        cells = dist.MixtureSameFamily(pick, bumps)
        value = numpyro.sample("x", cells.mask(observed).to_event(1), obs=value)
    return {"value": value, "own": own}, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    y = jnp.arange(60) % 2
    two_humps = jnp.where(jnp.arange(60) % 4 < 2, -2.0, 2.0) * y
    values = (two_humps + jax.random.normal(jax.random.key(0), (60,)))[:, None]
    seen = {"centres": values, "centre_classes": y}

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    x = {"value": values, "own": jnp.arange(60)}
    mcmc.run(jax.random.key(1), x, y, n_classes=2, **seen)
    found = summary(mcmc.get_samples(group_by_chain=True))["variance"]

    # each bandwidth is alone in its posterior, so a fine grid over log variance is exact
    grid = jnp.linspace(jnp.log(1e-3), jnp.log(1e2), 4001)
    exact = []
    for k in (0, 1):
        mine = values[y == k, 0]
        square = (mine[:, None] - mine) ** 2 + jnp.where(jnp.eye(len(mine)), jnp.inf, 0.0)
        bumps = -square / 2 / jnp.exp(grid)[:, None, None] - grid[:, None, None] / 2
        log_density = jax.scipy.special.logsumexp(bumps, axis=-1).sum(-1)
        log_density += -1.5 * grid - 3.0 * 0.5**2 / 2 / jnp.exp(grid)
        exact.append(jax.nn.softmax(log_density) @ jnp.exp(grid))
    error = jnp.abs(found["mean"][:, 0] - jnp.array(exact)) / found["std"][:, 0]
    worst = float(jnp.max(error * jnp.sqrt(found["n_eff"][:, 0])))
    assert worst < 5, worst
    print(f"squared bandwidths: NUTS is within {worst:.1f} Monte Carlo errors of quadrature")
