"""The NumPyro program of docs/explanation/how-it-works.md is the model of the closed form."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import log_density
from pages import blocks, page

import bayesgen as bg

(PROGRAM,) = [
    code
    for language, code in blocks(page("docs/explanation/how-it-works.md"))
    if language == "python" and "def model(" in code
]


@pytest.mark.slow
def test_program_is_the_model_that_was_fitted():
    """Its log joint at exact draws differs from the library's evidence identity by a constant."""
    X, y = bg.datasets.load_titanic_passengers()
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    numbers, levels = (
        clf.posterior_.components.model.blocks[name] for name in ("normal", "categorical")
    )
    scope = {}
    exec(PROGRAM, scope)
    with jax.enable_x64(True):
        guesses = {
            "mean": X.age.mean(),
            "variance": X.age.groupby(y).transform(lambda a: (a - a.mean()) ** 2).mean(),
            "sex_share": jnp.asarray(X.sex.value_counts(normalize=True).sort_index().to_numpy()),
            "class_share": jnp.asarray(
                X.passengerClass.value_counts(normalize=True).sort_index().to_numpy()
            ),
        }
        codes = [np.unique(c, return_inverse=True)[1] for c in (X.sex, X.passengerClass, y)]
        args = (jnp.asarray(X.age.to_numpy()), *(jnp.asarray(c) for c in codes))
        gaps = []
        for seed in range(3):
            draw = clf.posterior_.components.parameters(np.random.default_rng(seed), 1)
            probs = draw["categorical"]["probs"][0]
            sites = {
                "probs": draw["class"]["probs"][0],
                "variance": draw["normal"]["variance"][0, :, 0],
                "mean": draw["normal"]["mean"][0, :, 0],
                "sex": probs[:, :2],
                "passengerClass": probs[:, 2:],
            }
            joint, _ = log_density(scope["model"], args, guesses, sites)
            gaps.append(float(joint) - _log_posterior(clf, numbers, levels, sites))
    np.testing.assert_allclose(gaps, clf.log_evidence_, rtol=1e-10)


def _log_posterior(clf, numbers, levels, sites):
    """Return the log density of the exact posterior at the sites, by numpyro's distributions."""
    classes = clf.posterior_.components.model.classes
    rows = numbers.variance_rows[:, 0]
    concentration = levels.concentration()
    parts = [
        dist.Dirichlet(classes.rows * classes.probs).log_prob(sites["probs"]),
        dist.InverseGamma(rows / 2, rows * numbers.variance[:, 0] / 2).log_prob(sites["variance"]),
        dist.Normal(
            numbers.mean[:, 0], np.sqrt(sites["variance"] / numbers.mean_rows[:, 0])
        ).log_prob(sites["mean"]),
        dist.Dirichlet(concentration[:, :2]).log_prob(sites["sex"]),
        dist.Dirichlet(concentration[:, 2:]).log_prob(sites["passengerClass"]),
    ]
    return float(sum(part.sum() for part in parts))
