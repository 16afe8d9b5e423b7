"""Programs and rows without a label: a run for each class, and classes are summed out."""

import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

import bayesgen as bg
from bayesgen.errors import UnsupportedOperation

X, SPECIES = bg.datasets.load_iris()
PETALS = X[["petal_length", "petal_width"]].iloc[::2].reset_index(drop=True)
Y = np.asarray(SPECIES, dtype=object)[::2]
FEW = np.where(np.arange(75) % 5 == 0, Y, None)


def normals(x, y=None, *, n_classes):
    """Independent normals with flat priors on probabilities, means and log deviations."""
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes, dim=-2), numpyro.plate("column", 2, dim=-1):
        mean = numpyro.sample("mean", dist.Normal(3.0, 10.0))
        spread = numpyro.sample("spread", dist.LogNormal(0.0, 3.0))
    with numpyro.plate("row", len(x)):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        cells = dist.Normal(mean[y], spread[y]).to_event(1)
        numpyro.sample("x", cells, obs=x)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.0, 0.2])
def test_maximum_likelihood_is_that_of_em(weight):
    theirs = bg.GenerativeClassifier(story=normals, inference="mle", unlabelled=weight)
    theirs.fit(PETALS, FEW)
    ours = bg.NaiveBayes(inference="mle", unlabelled=weight).fit(PETALS, FEW)
    np.testing.assert_allclose(theirs.predict_proba(PETALS), ours.predict_proba(PETALS), atol=1e-4)
    np.testing.assert_allclose(theirs.label_distributions_, ours.label_distributions_, atol=1e-4)
    assert theirs.unlabelled_weight_ == weight
    assert theirs.transduction_[0] == FEW[0]


@pytest.mark.slow
def test_weight_0_leaves_the_rows_out():
    none = bg.GenerativeClassifier(story=normals, inference="map", unlabelled=0).fit(PETALS, FEW)
    there = FEW != None  # noqa: E711
    alone = bg.GenerativeClassifier(story=normals, inference="map").fit(PETALS[there], FEW[there])
    np.testing.assert_allclose(none.predict_proba(PETALS), alone.predict_proba(PETALS), atol=1e-9)


def test_a_weight_is_stated():
    with pytest.raises(UnsupportedOperation, match="State it: unlabelled=1"):
        bg.GenerativeClassifier(story=normals).fit(PETALS, FEW)


@pytest.mark.slow
def test_nuts_sums_classes_out():
    few = bg.NUTS(draws=300, warmup=300, chains=2)
    clf = bg.GenerativeClassifier(story=normals, inference=few, unlabelled=1, random_state=0)
    clf.fit(PETALS, FEW)
    point = bg.NaiveBayes(inference="mle", unlabelled=1).fit(PETALS, FEW)
    assert (clf.predict(PETALS) == point.predict(PETALS)).mean() > 0.95
    np.testing.assert_allclose(clf.label_distributions_.sum(axis=1), 1.0)
