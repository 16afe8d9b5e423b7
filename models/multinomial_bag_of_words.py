"""Multinomial bag of words: a text is a handful of words drawn from its class's urn.

Each class has its share of the texts and one urn: a probability for every word of the vocabulary.
A text picks its class, and then draws its words from that urn, with replacement. How many words
it draws is not part of the story: the length is taken as given.

The guess of an urn is worth `rows` words spread as `probs` says; left alone, one of each word.
Because all words of a text share one uncertain urn, averaging over urns (the Dirichlet-multinomial)
is far less sure about a long text than the urn's mean is.

A word that was not counted (NaN) is taken out of the urn: the counted words are then draws from
the urn of counted words, given how many of them there were.

    class_probs ──▶ y ──▶ x ◀── probs
                    └ row ┘    └ class ┘        x and probs: one number per word

Source: McCallum and Nigam, "A comparison of event models for naive Bayes text classification",
AAAI-98 workshop (1998), section 2.2; Madsen, Kauchak and Elkan, "Modeling word burstiness using
the Dirichlet distribution", ICML 2005.
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
    length=100,
    class_rows=1.0,
    probs=None,
    rows=None,
):
    """Tell the story of word counts x (row, feature), NaN where not counted, and classes y (row,).

    length is the number of words in each simulated text; real texts bring their own.
    """
    if x is None:  # simulate texts of `length` words
        counted = jnp.ones((n_rows, n_features), bool)
    else:  # put no words where nobody counted, and take those words out of the urn
        counted = ~jnp.isnan(x)
        x = jnp.where(counted, x, 0.0)
        length = x.sum(-1)
    n_rows, n_features = counted.shape

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    guess = jnp.ones(n_features) / n_features if probs is None else probs
    strength = n_features if rows is None else rows
    with numpyro.plate("class", n_classes):
        probs = numpyro.sample("probs", dist.Dirichlet(strength * guess))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        urn = jnp.where(counted, jnp.log(probs)[y], -1e9)  # e^-1e9 is zero
        x = numpyro.sample("x", dist.Multinomial(length, logits=urn), obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.diagnostics import summary
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "probs": jnp.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.1, 0.2, 0.6]]),
    }
    story = numpyro.handlers.seed(numpyro.handlers.condition(model, truth), rng_seed=0)
    x, y = story(None, n_classes=2, n_rows=20, n_features=4, length=10)

    mcmc = MCMC(NUTS(model), num_warmup=300, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(2), x, y, n_classes=2)
    found = summary(mcmc.get_samples(group_by_chain=True))["probs"]

    # one of each word is added to what the texts of a class hold together
    counts = jax.nn.one_hot(y, 2).T @ x + 1
    exact = counts / counts.sum(1, keepdims=True)
    error = jnp.abs(found["mean"] - exact) * jnp.sqrt(found["n_eff"]) / found["std"]
    worst = float(error.max())
    assert worst < 5, worst
    print(f"urns: NUTS is within {worst:.1f} Monte Carlo errors of the closed form")
