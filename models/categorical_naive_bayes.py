"""Categorical naive Bayes: within a class, every column draws its level on its own.

Each class has its share of the rows and, for every column, one probability per level.
A row picks its class, and then each column picks one of its levels by that class's probabilities.

Before any data the probabilities of a column are worth `rows` rows spread as `probs` says. Left
alone, that is one row per level: Laplace's rule, (count + 1) / (n + levels). With `probs` the
overall fractions and `rows` equal to m it is the m-estimate, (count + m p) / (n + m).

Columns differ in their number of levels, so each has a site of its own: `probs.0`, `probs.1`, ...

    class_probs ──▶ y ──▶ x.j ◀── probs.j        for each column j
                    └─ row ─┘    └ class ┘

Source: Mitchell, Machine Learning (1997), section 6.9; Gelman et al., Bayesian Data Analysis,
3rd ed., section 3.4 (the multinomial with a Dirichlet prior).
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def model(x, y=None, *, n_classes, n_levels, n_rows=None, class_rows=1.0, probs=None, rows=None):
    """Tell the story of level codes x (row, feature), -1 where missing, and classes y (row,).

    n_levels has one number per column; probs, if given, has one vector of levels per column.
    """
    if x is None:  # simulate whole rows
        observed = jnp.ones((n_rows, len(n_levels)), bool)
    else:  # put level 0 where a level is missing, and remember not to look at it
        observed = x >= 0
        x = jnp.where(observed, x, 0)

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    level_probs = []
    with numpyro.plate("class", n_classes):
        for j, levels in enumerate(n_levels):
            guess = jnp.ones(levels) / levels if probs is None else probs[j]
            strength = levels if rows is None else rows
            level_probs.append(numpyro.sample(f"probs.{j}", dist.Dirichlet(strength * guess)))

    columns = []
    with numpyro.plate("row", len(observed)):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        for j in range(len(n_levels)):
            level = dist.Categorical(level_probs[j][y]).mask(observed[:, j])
            column = None if x is None else x[:, j]
            columns.append(numpyro.sample(f"x.{j}", level, obs=column))
    return jnp.stack(columns, axis=-1), y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "probs.0": jnp.array([[0.6, 0.3, 0.1], [0.1, 0.2, 0.7]]),
        "probs.1": jnp.array([[0.5, 0.5], [0.9, 0.1]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_levels=(3, 2), n_rows=80)
    x = jnp.where(jax.random.bernoulli(jax.random.key(1), 0.1, x.shape), -1, x)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2, n_levels=(3, 2))
    found = summary(mcmc.get_samples(group_by_chain=True))

    # Laplace: one row per level is added to the counts of the observed cells
    worst = 0.0
    for j, levels in enumerate((3, 2)):
        counts = jax.nn.one_hot(y, 2).T @ jax.nn.one_hot(x[:, j], levels)  # -1 counts nowhere
        exact = (counts + 1) / (counts.sum(1, keepdims=True) + levels)
        error = jnp.abs(found[f"probs.{j}"]["mean"] - exact) / found[f"probs.{j}"]["std"]
        worst = max(worst, float(jnp.max(error * jnp.sqrt(found[f"probs.{j}"]["n_eff"]))))
    assert worst < 5, worst
    print(f"level probabilities: NUTS is within {worst:.1f} Monte Carlo errors of Laplace's rule")
