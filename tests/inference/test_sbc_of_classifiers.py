"""Simulation-based calibration as users call it: of their classifier, or of their program."""

import numpy as np
import pandas as pd
import pytest
from faults_sbc import knows_the_mean_no_better

import bayesgen as bg
from bayesgen.calibrate.simulation import direction
from bayesgen.errors import InvalidArgument, NoAttribute, UnsupportedOperation
from bayesgen.likelihoods import Normal


def iris():
    return bg.datasets.load_iris()


def passengers():
    X, y = bg.datasets.load_titanic_passengers()
    return X.iloc[:200], y[:200]


def levels():
    X, y = bg.datasets.load_play_tennis()
    return X, y


def found(clf, data, **options):
    options = {"fits": 100, "rows": 30, "progress": False, **options}
    return bg.calibrate.sbc(clf, *data, **options)


@pytest.mark.parametrize(
    ("make", "data"),
    [
        (bg.NaiveBayes, iris),
        (bg.LDA, iris),
        (lambda: bg.QDA(class_prior="uniform"), iris),
        (bg.NaiveBayes, passengers),
        (lambda: bg.NaiveBayes(missing="informative"), passengers),
        (bg.JointTable, levels),
    ],
    ids=["naive Bayes", "LDA", "QDA", "mixed with missing cells", "missing pattern", "table"],
)
def test_posteriors_are_calibrated(make, data):
    result = found(make(), data())
    assert result.calibrated, result
    assert result.ranks.shape[0] == 100
    assert ((result.ranks >= 0) & (result.ranks <= 1)).all(axis=None)
    assert result.uniformity.index.tolist() == list(result.ranks)
    assert result.uniformity.index[-1] == "log likelihood"


def test_quantities_that_the_prior_fixes_have_no_rank():
    """Here the class probabilities, by class_prior="uniform"."""
    (X, y), options = iris(), {"fits": 20}
    named = [
        list(found(bg.NaiveBayes(class_prior=prior), (X[["sepal_width"]], y), **options).ranks)
        for prior in (1.0, "uniform")
    ]
    fixed = [f"class.probs[{k}]" for k in sorted(set(y))]
    assert named[0] == fixed + named[1]


def tells_less(right):
    """The posterior variance is too small by a factor of four."""

    def wrong(self, statistics):
        after = right(self, statistics)
        return after.with_arrays({"variance": after.variance / 4})

    return wrong


@pytest.mark.parametrize("wrong", [tells_less, knows_the_mean_no_better])
def test_a_wrong_variance_is_caught_and_named(wrong, monkeypatch):
    prior = bg.NaiveBayes()
    monkeypatch.setattr(Normal, "posterior", wrong(Normal.posterior))
    result = found(prior, iris())
    assert not result.calibrated
    words = "normal.variance" if wrong is tells_less else "normal.mean"
    out = result.uniformity.min(axis=1)
    assert out[out < result.threshold].index.str.startswith(words).any()
    assert "are not uniform" in repr(result) and "posterior too" in repr(result)


def test_directions_in_words(rng):
    uniform = rng.random(400)
    assert direction(uniform**2) == "posterior too high"
    assert direction(np.sqrt(uniform)) == "posterior too low"
    assert direction(rng.beta(3, 3, 400)) == "posterior too wide"
    assert direction(rng.beta(0.4, 0.4, 400)) == "posterior too narrow"


def test_verdict_in_words_and_the_same_twice():
    one, two = (found(bg.NaiveBayes(), iris(), fits=20) for _ in range(2))
    pd.testing.assert_frame_equal(one.ranks, two.ranks)
    words = "NaiveBayes by inference 'exact', 20 fits to 30 simulated rows, 28 quantities: ranks"
    assert repr(one).startswith(words)


def test_many_parameters_are_counted():
    result = found(bg.QDA(), iris(), fits=20)
    assert "41 of 46 quantities" in repr(result)
    assert result.ranks.shape[1] == 41


def test_plot_holds_every_curve():
    display = found(bg.NaiveBayes(), iris(), fits=20).plot()
    assert len(display.ax_.get_lines()) == len(display.ranks) + 1
    assert display.ax_.get_ylabel() == "ECDF - uniform"


@pytest.mark.parametrize("name", ["fits", "rows", "draws"])
def test_counts_are_validated(name):
    with pytest.raises(InvalidArgument, match=f"^{name} is 1;"):
        found(bg.LDA(), iris(), **{name: 1})


def test_what_cannot_be_calibrated_is_refused():
    with pytest.raises(NoAttribute, match=r"^sbc\(\) needs a posterior"):
        found(bg.LDA(inference="mle"), iris())
    with pytest.raises(UnsupportedOperation, match="improper"):
        found(bg.QDA(prior="reference"), iris())
    with pytest.raises(UnsupportedOperation, match="made of the rows"):
        found(bg.NaiveBayes(bg.KernelDensity()), iris())
    with pytest.raises(UnsupportedOperation, match="prior of a stack"):
        found(bg.StackedClassifier(), iris())


@pytest.mark.slow
def test_nuts_is_calibrated():
    sampler = bg.NUTS(draws=200, warmup=200, chains=1, progress=False)
    result = found(bg.NaiveBayes(inference=sampler), iris(), fits=20, draws=19)
    assert result.calibrated, result
    assert "by inference 'nuts'" in repr(result)


def lengths(x, y=None, *, n_classes, n_rows=None):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    size = n_rows if x is None else len(x)
    probs = numpyro.sample("probs", dist.Dirichlet(jnp.ones(n_classes)))
    with numpyro.plate("class", n_classes):
        mean = numpyro.sample("mean", dist.Normal(1.0, 1.0))
    with numpyro.plate("row", size):
        y = numpyro.sample("y", dist.Categorical(probs), obs=y)
        obs = None if x is None else x[:, 0]
        value = numpyro.sample("x", dist.Normal(mean[y], 0.5), obs=obs)
    return value[:, None], y


def program():
    sampler = bg.NUTS(draws=200, warmup=200, chains=1, progress=False)
    return bg.GenerativeClassifier(story=lengths, inference=sampler, random_state=0)


@pytest.mark.nightly
def test_a_program_is_calibrated_and_sampled():
    X, y = iris()
    X = X[["petal_length"]].to_numpy()
    prior = program().sample_prior(50, X, y, random_state=0)
    assert prior.X.shape == (50, 1) and set(prior.y) <= set(y)
    assert prior.parameters["mean"].shape == (50, 3)
    result = found(program(), (X, y), fits=20, draws=19)
    assert result.calibrated, result
    clf = program().fit(X, y)
    rows, labels = clf.sample(400, y="virginica", random_state=0)
    assert set(labels) == {"virginica"}
    own = X[y == "virginica"]
    assert abs(rows.mean() - own.mean()) < 5 * np.sqrt(0.25 / 400 + 0.25 / 50)
    with pytest.raises(UnsupportedOperation, match=r"^conditional\(\) of a program"):
        clf.conditional(X[:1])
    with pytest.raises(UnsupportedOperation, match=r"^with_parameters\(\)"):
        clf.with_parameters({})
