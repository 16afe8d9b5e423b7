"""Small programs of the kind that users bring, some that break the form, and rows for them."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist

import bayesgen as bg

RANDOM = np.random.default_rng(0)
Y = np.array(["ash", "beech", "oak"] * 5)
X = RANDOM.normal(size=(15, 2)) + 2.0 * (Y == "oak")[:, None]
INCOMPLETE = np.where(RANDOM.random(X.shape) < 0.2, np.nan, X)


def bells(x, y=None, *, n_classes, n_rows=None, n_features=None, guess=0.0):
    """Columns are normal with unit variance; NaN is missing."""
    observed = jnp.ones((n_rows, n_features), bool) if x is None else ~jnp.isnan(x)
    x = x if x is None else jnp.where(observed, x, 0.0)
    n_rows, n_features = observed.shape
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes, dim=-2), numpyro.plate("feature", n_features, dim=-1):
        mean = numpyro.sample("mean", dist.Normal(guess, 2.0))
    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        x = numpyro.sample("x", dist.Normal(mean[y], 1.0).mask(observed).to_event(1), obs=x)
    return x, y


def priors(n_classes, n_features=2):
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes, dim=-2), numpyro.plate("feature", n_features, dim=-1):
        mean = numpyro.sample("mean", dist.Normal(0.0, 2.0))
    return probs, mean


def no_label(x, y=None, *, n_classes):
    _, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def label_drawn(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs))
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def no_plate(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    y = numpyro.sample("y", dist.Categorical(probs), obs=y)
    numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def data_outside(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
    numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def total_outside(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)
    numpyro.factor("fit", -((x - mean[y]) ** 2).sum())


def plate_of_wrong_size(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", 1):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def plate_of_wrong_dim(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x), dim=-2):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y[:, None])
        with numpyro.plate("column", 2, dim=-1):
            numpyro.sample("x", dist.Normal(mean[y[:, 0]], 1.0), obs=x)


def hidden_factor(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        size = numpyro.sample("size", dist.Normal(0.0, 1.0))
        numpyro.sample("x", dist.Normal(mean[y] + size[:, None], 1.0).to_event(1), obs=x)


def not_observed(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1))


def no_event(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0), obs=x)


def no_event_in_a_column(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y].T, 1.0), obs=x.T)


def discrete_parameter(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    shift = numpyro.sample("shift", dist.Bernoulli(0.5))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y] + shift, 1.0).to_event(1), obs=x)


def flax_parameter(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    shift = numpyro.param("shift", 0.0)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y] + shift, 1.0).to_event(1), obs=x)


def nothing_to_learn(x, y=None, *, n_classes):
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(jnp.ones(n_classes) / n_classes), obs=y)
        numpyro.sample("x", dist.Normal(1.0 * y[:, None], 1.0).to_event(1), obs=x)


def blind(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=jnp.zeros(x.shape))


def labels_only(x, y=None, *, n_classes):
    probs, _ = priors(n_classes)
    with numpyro.plate("row", len(x)):
        numpyro.sample("y", dist.Categorical(probs), obs=y)


def centred_on_company(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x - x.mean(0))


def python_branch(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    scale = 1.0 if x.max() > 0 else 2.0
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], scale).to_event(1), obs=x)


def array_of_numpy(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    shift = np.arange(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y] + shift[y][:, None], 1.0).to_event(1), obs=x)


def positive_only(x, y=None, *, n_classes):
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes, dim=-2), numpyro.plate("feature", 2, dim=-1):
        rate = numpyro.sample("rate", dist.Gamma(1.0, 1.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Gamma(2.0, rate[y]).to_event(1), obs=x)


def negative_scale(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    scale = numpyro.sample("scale", dist.Normal(0.0, -1.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], jnp.exp(scale)).to_event(1), obs=x)


def with_setting(x, y=None, *, n_classes, scale, shift):
    return bells(x - shift, y, n_classes=n_classes)


def no_classes(x, y=None):
    return bells(x, y, n_classes=2)


def labels_follow_x(x, y=None, *, n_classes):
    _, mean = priors(n_classes)
    with numpyro.plate("class", n_classes):
        slope = numpyro.sample("slope", dist.Normal(0.0, 1.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(logits=x[:, :1] * slope), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def columns_in_a_plate(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    observed = ~jnp.isnan(x).T
    x = jnp.where(observed, x.T, 0.0)
    with numpyro.plate("row", x.shape[1], dim=-1):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        with numpyro.plate("column", len(x), dim=-2):
            numpyro.sample("x", dist.Normal(mean.T[:, y], 1.0).mask(observed), obs=x)


def columns_all_there(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def joint_columns(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.MultivariateNormal(mean[y], jnp.eye(mean.shape[1])), obs=x)


def codes(x, y=None, *, n_classes, n_levels):
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes, dim=-2), numpyro.plate("column", x.shape[1], dim=-1):
        levels = numpyro.sample("levels", dist.Dirichlet(jnp.ones(n_levels)))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        level = dist.Categorical(levels[y]).mask(x >= 0)
        x = numpyro.sample("x", level.to_event(1), obs=jnp.where(x >= 0, x, 0))
    return x, y


def two_kinds(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("class", n_classes):
        share = numpyro.sample("share", dist.Beta(1.0, 1.0))
    with numpyro.plate("row", len(x["kind"])):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("sizes", dist.Normal(mean[y], 1.0).to_event(1), obs=x["sizes"])
        numpyro.sample("kind", dist.Bernoulli(share[y]), obs=x["kind"])


def own_spread(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    with numpyro.plate("class", n_classes):
        spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        cells = dist.Normal(mean[y], spread[y][:, None])
        numpyro.sample("x", cells.to_event(1), obs=x)


def centred_hierarchy(x, y=None, *, n_classes):
    """Means of classes around a mean: unbounded density where the spread tends to 0."""
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    centre = numpyro.sample("centre", dist.Normal(0.0, 2.0))
    spread = numpyro.sample("spread", dist.HalfNormal(1.0))
    with numpyro.plate("class", n_classes, dim=-2), numpyro.plate("feature", 2, dim=-1):
        mean = numpyro.sample("mean", dist.Normal(centre, spread))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def impossible_factor(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    numpyro.factor("tilt", jnp.log(mean.sum() * 0.0 - 1.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        numpyro.sample("x", dist.Normal(mean[y], 1.0).to_event(1), obs=x)


def failing(x, y=None, *, n_classes):
    return {}["missing"]


def factor_alone(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    observed = ~jnp.isnan(x)
    filled = jnp.where(observed, x, 0.0)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        cells = jnp.where(observed, dist.Normal(mean[y], 1.0).log_prob(filled), 0.0)
        numpyro.factor("x", cells.sum(axis=1))
    return x, y


def one_column_marked(x, y=None, *, n_classes):
    probs, mean = priors(n_classes)
    observed = ~jnp.isnan(x)
    filled = jnp.where(observed, x, 0.0)
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        marked = dist.Normal(mean[y, 0], 1.0).mask(observed[:, 0])
        first = numpyro.sample("first", marked, obs=filled[:, 0])
        log_prob = dist.Normal(mean[y, 1], 1.0).log_prob(filled[:, 1])
        numpyro.factor("second", jnp.where(observed[:, 1], log_prob, 0.0))
    return jnp.stack([first, x[:, 1]], axis=1), y


def standardised(x, y=None, *, n_classes):
    return bells(10.0 * x, y, n_classes=n_classes)


def one_column_back(x, y=None, *, n_classes):
    x, y = bells(x, y, n_classes=n_classes)
    return x[:, :1], y


def classifier(
    story: object = bells, inference: object = "map", **options: object
) -> bg.GenerativeClassifier:
    """Return an unfitted classifier with a program of one's own."""
    return bg.GenerativeClassifier(story=story, inference=inference, **options)
