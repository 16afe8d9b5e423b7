"""Prior strengths learned from incomplete rows: averaged over by draws, chosen by a mode."""

import numpy as np
import pytest

import bayesgen as bg
from bayesgen.inference.data_augmentation import augment
from bayesgen.inference.importance_sampling import importance_sample
from bayesgen.inference.missing import em, missing_cells
from bayesgen.likelihoods import MultivariateNormal
from bayesgen.likelihoods.hyperparameter_mixture import averaged

STRENGTHS = MultivariateNormal.hyperparameter_grid["covariance_rows"]


def few_rows_of_many_columns(unlabelled=0):
    """Return a table in which the first and weakest of the strengths is far from the best."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 8)) + 0.6 * y[:, None]
    X[rng.random(X.shape) < 0.05] = np.nan
    labels = y.astype(object)
    labels[:unlabelled] = labels[60 - unlabelled :] = None
    return X, labels if unlabelled else y


@pytest.mark.parametrize(
    ("model", "unlabelled"),
    [(bg.LDA, 0), (bg.QDA, 0), (bg.LDA, 5), pytest.param(bg.QDA, 5, marks=pytest.mark.slow)],
)
def test_a_mode_is_that_of_the_likeliest_strength(model, unlabelled):
    X, y = few_rows_of_many_columns(unlabelled)
    options = {"inference": "map"} | ({"unlabelled": 1} if unlabelled else {})
    learned = model(covariance_rows="learn", **options).fit(X, y)
    assert "Learned prior strengths are the likeliest of their grid." in learned.report_.verdict
    proba = {
        strength: model(covariance_rows=strength, **options).fit(X, y).predict_proba(X)
        for strength in STRENGTHS
    }
    gaps = [np.abs(learned.predict_proba(X) - proba[strength]).max() for strength in STRENGTHS]
    likeliest = int(np.argmin(gaps))
    # guesses rest on the expected labels, which average over the strengths before
    assert gaps[likeliest] < (2e-3 if unlabelled else 1e-6) and gaps[0] > 0.1
    assert likeliest > 2
    stated = model(covariance_rows=8.0, **options).fit(X, y)
    assert "Learned" not in stated.report_.verdict


def test_maximum_likelihood_has_no_prior_to_choose():
    X, y = few_rows_of_many_columns()
    fits = [bg.LDA(inference="mle", covariance_rows=rows).fit(X, y) for rows in ("learn", 8.0)]
    assert fits[0].report_.verdict == fits[1].report_.verdict
    np.testing.assert_array_equal(*(fit.predict_proba(X) for fit in fits))


def values(params):
    """Return numbers of each draw whose means are compared."""
    covariance = params["cholesky"] @ params["cholesky"].mT
    spread = np.diagonal(covariance, axis1=-2, axis2=-1)
    numbers = np.log(spread), covariance[..., 0, 1], params["mean"]
    return np.concatenate([x.reshape(len(params["mean"]), -1) for x in numbers], axis=1)


@pytest.mark.parametrize(
    ("sampler", "covariance"),
    [
        ("importance", "shared"),
        ("importance", "per_class"),
        ("augmentation", "per_class"),
        pytest.param("augmentation", "shared", marks=pytest.mark.slow),
    ],
)
def test_draws_are_of_all_strengths_by_their_evidence(sampler, covariance):
    """Against the weighted means of one posterior for each strength, weighted by p(observed)."""
    rng = np.random.default_rng(2)
    y = np.arange(24) % 2
    x = rng.normal(size=(24, 3)) + 1.0 * rng.normal(size=(24, 1)) + y[:, None]
    x[rng.random(x.shape) < 0.1] = np.nan
    family = MultivariateNormal(covariance=covariance)
    mixture = averaged(family, {"covariance_rows": (4.0, 60.0), "mean_rows": (1.0, 3.0)})
    statistics = mixture.statistics(x, y, np.ones(24), n_classes=2)
    data = missing_cells(mixture.complete(statistics), statistics)
    centre = em(data, data.start(), 30)[0]
    filled, log_weights = data.filled(centre), data.log_importance(centre)
    logs, means = [], []
    for member in data.prior.members:
        draws = member.posterior(filled).draw(rng, 20_000)
        weight = log_weights(draws).sum(axis=1)
        logs.append(member.log_evidence(filled) + np.logaddexp.reduce(weight) - np.log(20_000))
        weight = np.exp(weight - np.logaddexp.reduce(weight))
        means.append(weight @ values(draws))
    share = np.exp(logs - np.logaddexp.reduce(logs))
    assert share.max() < 0.7
    expected = share @ np.array(means)
    if sampler == "importance":
        sample = importance_sample(data, rng, 20_000)
        params, size = sample.params, sample.effective
    else:
        params, details = augment(data, rng, draws=500, warmup=50, chains=4)
        params, size = {k: v.reshape(-1, *v.shape[2:]) for k, v in params.items()}, details["ess"]
    found = values(params)
    error = found.std(axis=0) * np.sqrt(1 / size + 1 / 5000)
    deviates = (found.mean(axis=0) - expected) / error
    assert np.abs(deviates).max() < 4
    weakest = (np.array(means)[0] - expected) / error
    assert np.abs(weakest).max() > 6
