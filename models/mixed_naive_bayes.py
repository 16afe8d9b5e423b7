"""Mixed naive Bayes: each column its own kind of number, all in one story.

Voters have an income, a state, an answer to "did you vote last time?" and a number of rallies they
went to. A voter picks a class (a candidate). Given the class, the income is normal, the state is
one level of several, the answer is the toss of a coin, and the rallies are a Poisson count, each
drawn on its own. That independence is what allows four kinds of column to sit side by side: their
log densities just add up. Swap the columns for yours.

Every prior is a guess and how many voters it is worth: `income_mean` and `income_mean_rows`,
`income_variance` and `income_variance_rows`, and `state_rows`, `voted_rows`, `rallies_rows`.

    class_probs ──▶ y ──┬──▶ x.income  ◀── (income.mean ◀── income.variance)
                    │   ├──▶ x.state   ◀──  state.probs
                    │   ├──▶ x.voted   ◀──  voted.prob
                    │   └──▶ x.rallies ◀──  rallies.rate
                    └────── row ─────┘      └──────────── class ──────────┘

Source: Mitchell, Machine Learning (1997), section 6.9; the four conjugate pairs in Gelman et al.,
Bayesian Data Analysis, 3rd ed., sections 2.4, 2.6, 3.3 and 3.4.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

COLUMNS = ("income", "state", "voted", "rallies")


def inverse_gamma(variance, rows):
    """Return the prior of a variance, guessed as `variance`."""
    return dist.InverseGamma(rows / 2, rows * variance / 2)


def dirichlet(n_levels, probs, rows):
    """Return the prior of the probabilities of levels; by default all alike, worth a row each."""
    probs = jnp.ones(n_levels) / n_levels if probs is None else probs
    return dist.Dirichlet((n_levels if rows is None else rows) * probs)


def beta(prob, rows):
    """Return the prior of a probability, guessed as `prob`."""
    return dist.Beta(rows * prob, rows * (1 - prob))


def cells_of(x, n_rows):
    """Return the columns, a harmless 0 where a cell is missing, and which cells are observed."""
    if x is None:  # simulate whole rows
        return dict.fromkeys(COLUMNS), dict.fromkeys(COLUMNS, jnp.ones(n_rows, bool))
    observed = {name: jnp.where(jnp.isnan(x[name]), -1, x[name]) >= 0 for name in COLUMNS}
    observed["income"] = ~jnp.isnan(x["income"])  # the one column that may be negative
    return {name: jnp.where(observed[name], x[name], 0) for name in COLUMNS}, observed


def model(
    x,
    y=None,
    *,
    n_classes,
    n_states,
    n_rows=None,
    class_rows=1.0,
    income_mean=0.0,
    income_mean_rows=0.1,
    income_variance=1.0,
    income_variance_rows=3.0,
    state_probs=None,
    state_rows=None,
    voted_prob=0.5,
    voted_rows=2.0,
    rallies_rate=1.0,
    rallies_rows=1.0,
):
    """Tell the story of x, a dict of four columns (row,), and classes y (row,).

    state holds codes, -1 where missing; income, voted (0 or 1) and rallies are NaN where missing.
    """
    x, observed = cells_of(x, n_rows)
    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes):
        prior = inverse_gamma(income_variance, income_variance_rows)
        variance = numpyro.sample("income.variance", prior)
        deviation = jnp.sqrt(variance / income_mean_rows)
        mean = numpyro.sample("income.mean", dist.Normal(income_mean, deviation))
        probs = numpyro.sample("state.probs", dirichlet(n_states, state_probs, state_rows))
        prob = numpyro.sample("voted.prob", beta(voted_prob, voted_rows))
        rate = numpyro.sample("rallies.rate", dist.Gamma(rallies_rows * rallies_rate, rallies_rows))

    with numpyro.plate("row", len(observed["income"])):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        given = {
            "income": dist.Normal(mean[y], jnp.sqrt(variance[y])),
            "state": dist.Categorical(probs[y]),
            "voted": dist.Bernoulli(prob[y]),
            "rallies": dist.Poisson(rate[y]),
        }
        for name in COLUMNS:
            x[name] = numpyro.sample(f"x.{name}", given[name].mask(observed[name]), obs=x[name])
    return x, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "income.mean": jnp.array([-0.5, 0.5]),
        "income.variance": jnp.array([1.0, 2.0]),
        "state.probs": jnp.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]]),
        "voted.prob": jnp.array([0.8, 0.5]),
        "rallies.rate": jnp.array([0.5, 2.0]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_states=3, n_rows=80)
    silent = jax.random.bernoulli(jax.random.key(1), 0.2, (80,))
    x = x | {"voted": jnp.where(silent, jnp.nan, x["voted"])}

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2, n_states=3)
    found = summary(mcmc.get_samples(group_by_chain=True))

    share = jax.nn.one_hot(y, 2).T
    n = share.sum(1)
    exact = {
        "income.mean": share @ x["income"] / (0.1 + n),
        "state.probs": (share @ jax.nn.one_hot(x["state"], 3) + 1) / (n[:, None] + 3),
        "voted.prob": (share @ (x["voted"] == 1) + 1) / (share @ ~silent + 2),
        "rallies.rate": (share @ x["rallies"] + 1) / (n + 1),
    }
    worst = 0.0
    for site, value in exact.items():
        error = jnp.abs(found[site]["mean"] - value) / found[site]["std"]
        worst = max(worst, float(jnp.max(error * jnp.sqrt(found[site]["n_eff"]))))
    assert worst < 5, worst
    print(f"four kinds of column: NUTS is within {worst:.1f} Monte Carlo errors of closed forms")
