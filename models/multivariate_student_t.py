"""Robust discriminant analysis: clouds with heavy tails, so that rows astray have a limited say.

The story is that of qda.py with a multivariate t in place of the normal. A row of a t is a row of a
normal divided by a number of its own, which is small in few rows: these lie far out, in all columns
at once. A wild row then neither drags its class away nor is sure of its class itself. (When it is
single cells that go astray, each column should judge for itself: robust_student_t.py.)

How heavy the tails are is learned, one number of degrees of freedom for all classes: 1 is Cauchy's
cloud, 30 is all but normal. The prior on it, Gamma(2, 0.1), is vague between these. The guesses of
means and matrices are worth rows as in qda.py; `covariance` is the matrix of squared scales.

Some columns of a t are a t of as many columns: a missing cell leaves its row and column of the
matrix out, and one off the number of columns.

    class_probs ──▶ y ──▶ x ◀── (mean ◀── covariance), degrees
                    └ row ┘      └───── class ─────┘

Source: Lange, Little and Taylor, "Robust statistical modeling using the t distribution", JASA 84
(1989) 881-896; the prior on the degrees of freedom: Juárez and Steel, "Model-based clustering of
non-Gaussian panel data based on skew-t distributions", JBES 28 (2010) 52-66.
"""

import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax.scipy.linalg import solve_triangular
from jax.scipy.special import gammaln


class ObservedStudentT(dist.Distribution):
    """The multivariate t of the observed columns of each row; missing ones add nothing."""

    support = dist.constraints.real_vector
    pytree_data_fields = ("degrees", "centre", "spread", "observed")

    def __init__(self, degrees, centre, spread, observed):
        self.degrees, self.centre = degrees, centre
        self.spread, self.observed = spread, observed
        super().__init__(batch_shape=centre.shape[:-1], event_shape=centre.shape[-1:])

    def sample(self, key, sample_shape=()):
        """Return whole rows."""
        degrees = jnp.broadcast_to(self.degrees, self.batch_shape)  # a divisor for each row
        root = jnp.linalg.cholesky(self.spread)
        return dist.MultivariateStudentT(degrees, self.centre, root).sample(key, sample_shape)

    def log_prob(self, value):
        """Return the log density of the observed columns."""
        both = self.observed[..., :, None] & self.observed[..., None, :]
        root = jnp.linalg.cholesky(jnp.where(both, self.spread, jnp.eye(value.shape[-1])))
        away = jnp.where(self.observed, value - self.centre, 0.0)[..., None]
        square = (solve_triangular(root, away, lower=True) ** 2).sum((-2, -1))
        log_det = jnp.log(jnp.diagonal(root, axis1=-2, axis2=-1)).sum(-1)
        n, nu = self.observed.sum(-1), self.degrees
        constant = gammaln((nu + n) / 2) - gammaln(nu / 2) - n / 2 * jnp.log(nu * jnp.pi) - log_det
        return constant - (nu + n) / 2 * jnp.log1p(square / nu)


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
):
    """Tell the story of numbers x (row, feature), NaN where missing, and classes y (row,).

    scale is a (feature, feature) guess of each covariance matrix, the identity if None.
    """
    if x is None:  # simulate whole rows
        observed = jnp.ones((n_rows, n_features), bool)
    else:  # put a harmless number where one is missing, and remember not to look at it
        observed = ~jnp.isnan(x)
        x = jnp.where(observed, x, 0.0)
    n_rows, n_features = observed.shape
    mean = mean * jnp.ones(n_features)
    scale = jnp.eye(n_features) if scale is None else scale
    wishart_degrees = n_features - 1 + covariance_rows

    class_probs = numpyro.sample("class_probs", dist.Dirichlet(class_rows * jnp.ones(n_classes)))
    degrees = numpyro.sample("degrees", dist.Gamma(2.0, 0.1))
    with numpyro.plate("class", n_classes):
        covariance = numpyro.sample(
            "covariance", dist.InverseWishart(wishart_degrees, scale_matrix=covariance_rows * scale)
        )
        mean = numpyro.sample("mean", dist.MultivariateNormal(mean, covariance / mean_rows))

    with numpyro.plate("row", n_rows):
        y = numpyro.sample("y", dist.Categorical(class_probs), obs=y)
        rows = ObservedStudentT(degrees, mean[y], covariance[y], observed)
        x = numpyro.sample("x", rows, obs=x)
    return x, y


if __name__ == "__main__":
    from numpyro.infer import MCMC, NUTS

    numpyro.enable_x64()
    truth = {
        "class_probs": jnp.array([0.4, 0.6]),
        "degrees": jnp.array(3.0),
        "covariance": jnp.array([[[1.0, 0.6], [0.6, 1.0]], [[2.0, -0.5], [-0.5, 0.5]]]),
        "mean": jnp.array([[0.0, 1.0], [4.0, -1.0]]),
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
