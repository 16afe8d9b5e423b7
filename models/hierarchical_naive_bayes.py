"""Hierarchical naive Bayes: classes are relatives, and few rows of one borrow from the others.

Plain naive Bayes is told a guess for each class and how many rows the guess is worth. Here both
are learned from the classes themselves, column by column.

A column of numbers has a center, and the means of the classes are scattered around it; it has a
typical variance, and the variances of the classes are scattered around that. A column of levels
has typical probabilities, and those of the classes are scattered around them. How far they
scatter is the prior strength: if the classes agree in a column, it is found to be many rows, the
small classes lean on the typical values, and the column loses its say. If they differ, it
is few rows, and each class speaks for itself.

The prior strengths are log-normal around `mean_rows`, `variance_rows` and `level_rows`, within a
factor of about twenty either way; the center and typical variance of a column are guessed as `mean`
and `variance`, worth one and three rows.

    class_probs ──▶ y ──┬──▶ x.numbers  ◀── (mean ◀── variance) ◀── center, typical, two prior
    strengths
                    │   └──▶ x.levels.j ◀──  probs.j            ◀── centre.j, rows.j
                    └─────── row ─────┘      └───── class ────┘
                             └──────────────── feature, or column j ──────────────────────────┘

Source: Gelman et al., Bayesian Data Analysis, 3rd ed., chapter 5; for levels Azzimonti, Corani
and Zaffalon, "Hierarchical estimation of parameters in Bayesian networks", Computational
Statistics and Data Analysis 137 (2019) 67-91.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist


def strength(guess, spread):
    """Return the prior of a number of rows: log-normal with median `guess`."""
    return dist.LogNormal(jnp.log(guess), spread)


def cells_of(x, n_rows, n_features, n_columns):
    """Return numbers and levels, a harmless 0 where a cell is missing, and which are observed."""
    if x is None:  # simulate whole rows
        measured = jnp.ones((n_rows, n_features), bool)
        return None, None, measured, jnp.ones((n_rows, n_columns), bool)
    measured, given = ~jnp.isnan(x["numbers"]), x["levels"] >= 0
    numbers = jnp.where(measured, x["numbers"], 0.0)
    return numbers, jnp.where(given, x["levels"], 0), measured, given


def numbers_story(n_classes, n_features, mean, mean_rows, variance, variance_rows, spread):
    """Tell where the means and variances of numbers come from, (class, feature) both."""
    with numpyro.plate("feature", n_features, dim=-1):
        centre = numpyro.sample("numbers.centre", dist.Normal(mean, jnp.sqrt(variance)))
        typical = numpyro.sample("numbers.typical", dist.InverseGamma(1.5, 1.5 * variance))
        mean_rows = numpyro.sample("numbers.mean_rows", strength(mean_rows, spread))
        variance_rows = numpyro.sample("numbers.variance_rows", strength(variance_rows, spread))
        with numpyro.plate("class", n_classes, dim=-2):
            a, b = variance_rows / 2, variance_rows * typical / 2
            variance = numpyro.sample("numbers.variance", dist.InverseGamma(a, b))
            deviation = jnp.sqrt(variance / mean_rows)
            mean = numpyro.sample("numbers.mean", dist.Normal(centre, deviation))
    return mean, variance


def levels_story(n_classes, n_levels, level_rows, spread):
    """Tell where the probabilities of levels come from, (class, level) for each column."""
    probs = []
    for j, count in enumerate(n_levels):
        centre = numpyro.sample(f"levels.centre.{j}", dist.Dirichlet(jnp.ones(count)))
        rows = numpyro.sample(f"levels.rows.{j}", strength(level_rows, spread))
        with numpyro.plate("class", n_classes):
            probs.append(numpyro.sample(f"levels.probs.{j}", dist.Dirichlet(rows * centre)))
    return probs


def model(
    x,
    y=None,
    *,
    n_classes,
    n_levels=(),
    n_rows=None,
    n_features=0,
    class_rows=1.0,
    mean=0.0,
    mean_rows=0.5,
    variance=1.0,
    variance_rows=10.0,
    level_rows=10.0,
    spread=1.5,
):
    """Tell the story of x, {"numbers": (row, feature), "levels": (row, column)}, and y (row,).

    Missing is NaN in numbers and -1 in levels; either block may have no columns. n_levels has one
    number per column of levels; spread is the standard deviation of the log prior strengths.
    """
    numbers, levels, measured, given = cells_of(x, n_rows, n_features, len(n_levels))
    n_rows, n_features = measured.shape

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    if n_features:
        guesses = mean, mean_rows, variance, variance_rows, spread
        mean, variance = numbers_story(n_classes, n_features, *guesses)
    probs = levels_story(n_classes, n_levels, level_rows, spread)

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        if n_features:
            cells = dist.Normal(mean[y], jnp.sqrt(variance[y])).mask(measured)
            numbers = numpyro.sample("x.numbers", cells.to_event(1), obs=numbers)
        drawn = [jnp.zeros((n_rows, 0), int)]
        for j in range(len(n_levels)):
            level = dist.Categorical(probs[j][y]).mask(given[:, j])
            column = None if levels is None else levels[:, j]
            drawn.append(numpyro.sample(f"x.levels.{j}", level, obs=column)[:, None])
    numbers = jnp.zeros((n_rows, 0)) if numbers is None else numbers
    return {"numbers": numbers, "levels": jnp.concatenate(drawn, axis=1)}, y


if __name__ == "__main__":
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    sizes = {"n_classes": 6, "n_levels": (3,)}
    given = {
        "class_probs": jnp.array([0.4, 0.3, 0.1, 0.1, 0.05, 0.05]),
        "numbers.mean_rows": jnp.array([0.2, 20.0]),
        "levels.rows.0": jnp.array(5.0),
    }
    story = numpyro.handlers.condition(model, given)
    story = numpyro.handlers.trace(numpyro.handlers.seed(story, rng_seed=0))
    simulated = story.get_trace(None, n_rows=300, n_features=2, **sizes)
    truth = {site: simulated[site]["value"] for site in simulated if site not in ("y", "feature")}
    x = {"numbers": truth.pop("x.numbers"), "levels": truth.pop("x.levels.0")[:, None]}

    mcmc = MCMC(NUTS(model), num_warmup=400, num_samples=600, progress_bar=False)
    mcmc.run(jax.random.key(1), x, simulated["y"]["value"], **sizes)
    draws = mcmc.get_samples()

    # no closed form: of the true values, about nine in ten lie in their 90 % intervals
    inside, total = 0, 0
    for site in draws:
        low, high = jnp.quantile(draws[site], jnp.array([0.05, 0.95]), axis=0)
        inside += int(((low < truth[site]) & (truth[site] < high)).sum())
        total += truth[site].size
    assert 0.75 * total < inside, (inside, total)
    found = jnp.median(draws["numbers.mean_rows"], axis=0)
    print(
        f"{inside} of {total} true values lie in their 90 % intervals; the strength of a guess is "
        f"{found[0]:.1f} rows where classes differ and {found[1]:.1f} where they agree"
    )
