"""Bernoulli bag of words: a text is the set of words that occur in it.

Each class has its share of the texts and, for every word of the vocabulary, a probability that
the word occurs. A text picks its class, and then each word tosses its own coin: in, or not in.
Words that stay away count as evidence too, which is what sets this story apart from word counts.

The guess `prob` is worth `rows` texts; one half worth two texts is Laplace's rule.

    class_probs ──▶ y ──▶ x ◀── prob
                    └ row ┘     class
                          └ feature ┘

Source: McCallum and Nigam, "A comparison of event models for naive Bayes text classification",
AAAI-98 workshop on learning for text categorization (1998), section 2.1.
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
    prob=0.5,
    rows=2.0,
):
    """Tell the story of x (row, feature), 1 or 0 or NaN where unknown, and classes y (row,)."""
    if x is None:  # simulate whole texts
        observed = jnp.ones((n_rows, n_features), bool)
    else:  # put "not in" where nobody looked, and remember not to count it
        observed = ~jnp.isnan(x)
        x = jnp.where(observed, x, 0.0)
    n_rows, n_features = observed.shape

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    with (
        numpyro.plate("class", n_classes, dim=-2),
        numpyro.plate("feature", n_features, dim=-1),
    ):
        prob = numpyro.sample("prob", dist.Beta(rows * prob, rows * (1 - prob)))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        words = dist.Bernoulli(prob[y])
        x = numpyro.sample("x", words.mask(observed).to_event(1), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "prob": jnp.array([[0.8, 0.5, 0.1], [0.2, 0.6, 0.05]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_rows=80, n_features=3)
    x = jnp.where(jax.random.bernoulli(jax.random.key(1), 0.1, x.shape), jnp.nan, x)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2)
    found = summary(mcmc.get_samples(group_by_chain=True))["prob"]

    # Laplace: one text with the word and one without it join the texts that were looked at
    share = jax.nn.one_hot(y, 2).T
    exact = (share @ (x == 1) + 1) / (share @ ~jnp.isnan(x) + 2)
    error = jnp.abs(found["mean"] - exact) * jnp.sqrt(found["n_eff"]) / found["std"]
    worst = float(error.max())
    assert worst < 5, worst
    print(f"word probabilities: NUTS is within {worst:.1f} Monte Carlo errors of Laplace's rule")
