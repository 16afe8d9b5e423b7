"""Joint table: the classifier that is not naive, one probability for every combination of levels.

Each class has its share of the rows and one big table, with a cell for each combination of the
columns' levels. A row picks its class and then one cell of that class's table. Nothing is assumed
about how the columns hang together, and the price is a table that grows with every column.

Before any data the table is worth `rows` rows spread as `probs` says; left alone, one per cell.
Under counting alone a new row may be 0 against 0; under this prior it never is.

A row with missing columns could lie in any cell that fits what is known: add those cells up.

    class_probs ──▶ y ──▶ x ◀── cell_probs
                    └ row ┘    └── class ──┘        x: the cell of the table

Source: Mitchell, Machine Learning (1997), section 6.9 (the "impractical" full joint);
Gelman et al., Bayesian Data Analysis, 3rd ed., section 3.4.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def model(x, y=None, *, n_classes, n_levels, n_rows=None, class_rows=1.0, probs=None, rows=None):
    """Tell the story of level codes x (row, feature), -1 where missing, and classes y (row,).

    n_levels has one number per column; probs, if given, has the shape n_levels. Cells are counted
    like words in a dictionary: the last column turns fastest.
    """
    cells = jnp.stack(jnp.meshgrid(*map(jnp.arange, n_levels), indexing="ij"), axis=-1)
    cells = cells.reshape(-1, len(n_levels))  # (cell, feature): the level of each column
    guess = jnp.ones(len(cells)) / len(cells) if probs is None else jnp.ravel(probs)
    strength = len(cells) if rows is None else rows

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes):
        cell_probs = numpyro.sample("cell_probs", dist.Dirichlet(strength * guess))

    with numpyro.plate("row", n_rows if x is None else len(x)):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        if x is None:  # simulate: pick a cell and read off its levels
            x = cells[numpyro.sample("x", dist.Categorical(cell_probs[y]))]
        else:  # a cell fits a row if it has the row's level in each column that is known
            fits = ((x[:, None, :] == cells) | (x[:, None, :] < 0)).all(-1)
            numpyro.factor("x", jnp.log(jnp.where(fits, cell_probs[y], 0.0).sum(-1)))
    return x, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "cell_probs": jnp.array([[0.4, 0.05, 0.05, 0.2, 0.2, 0.1], [0.1, 0.4, 0.2, 0.1, 0.1, 0.1]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_levels=(3, 2), n_rows=80)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2, n_levels=(3, 2))
    found = summary(mcmc.get_samples(group_by_chain=True))["cell_probs"]

    # one row is added to each of the six cells
    counts = jax.nn.one_hot(y, 2).T @ jax.nn.one_hot(2 * x[:, 0] + x[:, 1], 6) + 1
    exact = counts / counts.sum(1, keepdims=True)
    error = jnp.abs(found["mean"] - exact) * jnp.sqrt(found["n_eff"]) / found["std"]
    worst = float(error.max())
    assert worst < 5, worst
    print(f"cells: NUTS is within {worst:.1f} Monte Carlo errors of the closed form")
