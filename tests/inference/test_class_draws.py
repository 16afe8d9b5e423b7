"""Draws of P(y given x, theta): shared by rows and weighed, or updated by the row itself."""

import dataclasses

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.inference import closed_form
from bayesgen.inference.class_draws import joined, no_logits, weighed
from bayesgen.inference.closed_form import FEWEST
from bayesgen.inference.scores import contrasts
from bayesgen.inference.weighted_quantiles import quantiles

DRAWS, ERRORS = 4000, 5.0
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


def few_rows(rng, n=45, p=3):
    y = np.arange(n) % 3
    X = rng.standard_normal((n, p)) + 0.7 * y[:, None] * np.linspace(-1, 1, p)
    return pd.DataFrame(X).add_prefix("c"), y


def few_levels(rng, n=45):
    y = np.arange(n) % 3
    codes = (rng.random((n, 4)) < 0.2 + 0.25 * y[:, None]).astype(int)
    return pd.DataFrame(codes).add_prefix("c").map("ab".__getitem__), y


MODELS = {
    "naive": (bg.NaiveBayes(power_transform=False), few_rows),
    "naive, learned": (bg.NaiveBayes(bg.Normal(variance_rows="learn")), few_rows),
    "linear": (bg.LDA(), few_rows),
    "quadratic": (bg.QDA(), few_rows),
    "levels": (bg.NaiveBayes(), few_levels),
    "kernels": (bg.GenerativeClassifier(bg.KernelDiscriminant()), few_rows),
}


def fitted(name, **params):
    model, table = MODELS[name]
    X, y = table(np.random.default_rng(3))
    clf = type(model)(**model.get_params(deep=False))
    clf.set_params(inference=bg.Exact(draws=DRAWS), random_state=1, **params).fit(X, y)
    read = clf._read_rows(X)
    posterior, encoded, n = read.posterior, read.encoded, read.n_rows
    return posterior, encoded, n


def misfits(shared, updated, weight):
    """Return how many standard errors levels are off at each other's quantiles.

    Of a quantile of weighed draws the level among updated ones is known but for the error of both.
    """
    effective = 1 / np.square(weight).sum(axis=0)
    out = []
    for level, ends in zip(
        LEVELS, np.moveaxis(quantiles(shared, weight, LEVELS), -1, 0), strict=True
    ):
        found = (updated <= ends).mean(axis=0)
        error = np.sqrt(level * (1 - level) * (1 / effective + 1 / len(updated)))
        out.append((found - level) / error[:, None])
    return np.abs(out)


@pytest.mark.parametrize("name", MODELS)
def test_weighed_and_updated_draws_have_one_distribution(name):
    posterior, encoded, n = fitted(name)
    shared = joined(posterior.components._shared.class_draws(encoded, n))
    updated = joined(posterior.components._updated_draws(encoded, n)).probs
    enough = shared.effective > FEWEST * DRAWS
    assert enough.mean() > 0.8
    some, weight = shared.probs[:, enough], shared.weight[:, enough]
    assert misfits(some, updated[:, enough], weight).max() < ERRORS
    if name == "quadratic":  # draws that a row does not weigh are another distribution
        even = np.full_like(weight, 1 / DRAWS)
        assert misfits(some, updated[:, enough], even).max() > 2 * ERRORS


def test_rows_unlike_all_others_have_draws_of_their_own():
    posterior, encoded, n = fitted("naive")
    far = {name: x + 12.0 * (np.arange(n) == 7)[:, None] for name, x in encoded.items()}
    found, near = (joined(posterior.class_draws(rows, n)) for rows in (far, encoded))
    alone = {name: x[7:8] for name, x in far.items()}
    (updated,) = posterior.components._updated_draws(alone, 1)
    np.testing.assert_array_equal(found.probs[:, 7:8], updated.probs)
    assert (found.weight[:, 7] == 1 / DRAWS).all()
    others = np.arange(n) != 7
    np.testing.assert_allclose(found.probs[:, others], near.probs[:, others], rtol=1e-9)


def test_draws_too_large_to_share_are_updated(monkeypatch):
    monkeypatch.setattr(closed_form, "SHARED_FLOATS", 1000)
    posterior, encoded, n = fitted("linear", class_prior="uniform")
    assert posterior.components._shared is None
    found = joined(posterior.class_draws(encoded, n, weights=even))
    assert (found.weight == 1 / DRAWS).all()
    np.testing.assert_allclose(classified(posterior.log_classes(), found), found.probs, rtol=1e-9)


def even(size):
    return np.ones((size, 1))


def classified(log_classes, found):
    """Return class probabilities from the logits of draws."""
    logs = log_classes + found.logits
    return np.exp(logs - np.logaddexp.reduce(logs, axis=2, keepdims=True))


@pytest.mark.parametrize("name", ["naive", "levels", "linear"])
def test_logits_are_weighted_sums_of_contrasts_of_the_parts(name):
    posterior, encoded, n = fitted(name)
    shared = dataclasses.replace(posterior.components, draws=200)._shared
    weight = np.random.default_rng(5).normal(0.5, 0.5, (200, len(shared.families)))
    whole = joined(shared.class_draws(encoded, n))
    found = joined(shared.class_draws(encoded, n, weights=lambda size: weight[:size]))
    np.testing.assert_allclose(found.probs, whole.probs, rtol=1e-9)
    np.testing.assert_allclose(found.weight, whole.weight, rtol=1e-9)
    assert whole.logits.shape == (0, n, 3)
    expected = np.einsum("rdkp,dp->drk", contrasts(shared.each_part(encoded, n)), weight)
    offset = found.logits - expected
    np.testing.assert_allclose(offset - offset[..., :1], 0.0, atol=1e-9)


def test_a_row_without_density_has_the_class_prior_and_even_weights():
    prior = np.log(np.random.default_rng(0).dirichlet([3.0, 2.0], 5))
    joint = np.full((2, 5, 2), -np.inf)
    joint[1, :3] = [[-900.0, -901.0], [-5.0, -np.inf], [-5.0, -6.0]]
    found = weighed(np.arange(2), joint, prior, no_logits(2, 2))
    np.testing.assert_allclose(found.probs[:, 0], np.exp(prior))
    np.testing.assert_allclose(found.weight[:, 0], 0.2)
    np.testing.assert_allclose(found.probs.sum(axis=2), 1.0)
    odds = np.array([np.exp(-5.0), np.exp(-5.0) + np.exp(-6.0)])
    np.testing.assert_allclose(found.weight[:, 1], [0, *(odds / odds.sum()), 0, 0])
