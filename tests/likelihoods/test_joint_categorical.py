"""Joint tables: EM against a general optimizer, look-ups, and the plain program.

Data augmentation and NUTS are in test_joint_categorical_draws.py.
"""

import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from incomplete_tables import (
    CELLS,
    LEVELS,
    PRIOR,
    PROBS,
    K,
    completed,
    fitting,
    log_likelihood,
    table,
)
from numpyro import handlers
from scipy.optimize import minimize
from scipy.special import softmax

from bayesgen.classes import ClassPrior
from bayesgen.inference.missing import complete_statistics, missing_cells
from bayesgen.likelihoods import JointCategorical, Repair
from bayesgen.likelihoods import contingency_tables as tables
from bayesgen.model import Model, ModelStatistics
from bayesgen.program import program

# --- EM ---------------------------------------------------------------------------------------


def highest(x, y, weight, added):
    """Return the table that maximizes log likelihood + added log p by a general optimiser."""

    def loss(logits):
        probs = softmax(logits.reshape(K, CELLS), axis=1)
        return -log_likelihood(probs, x, y, weight) - (added * np.log(probs)).sum()

    found = minimize(loss, np.zeros(K * CELLS), method="BFGS", options={"gtol": 1e-7})
    return softmax(found.x.reshape(K, CELLS), axis=1), -found.fun


def test_maximum_likelihood_is_that_of_an_optimiser_on_rows(rng):
    x, y, weight = table(rng)
    found = missing_cells(*completed(x, y, weight))
    params, findings, report = found.maximum_likelihood(bias_corrected=False, variance_floor=0.0)
    probs, top = highest(x, y, weight, 0.0)
    np.testing.assert_allclose(params["probs"], probs, atol=2e-5)
    assert report.log_likelihood == pytest.approx(log_likelihood(params["probs"], x, y, weight))
    assert report.log_likelihood >= top - 1e-9
    assert report.converged and report.gradient_norm < 1e-8
    assert findings == []


def test_mode_is_that_of_an_optimiser_on_rows(rng):
    x, y, weight = table(rng)
    prior, statistics = completed(x, y, weight)
    params, report = missing_cells(prior, statistics).mode()
    concentration = prior.rows[:, None] * prior.probs
    np.testing.assert_allclose(params["probs"], highest(x, y, weight, concentration)[0], atol=2e-5)
    assert report.converged and report.gradient_norm < 1e-8


def test_accelerated_em_rests_at_the_mode(rng):
    x, y, weight = table(rng)
    found = missing_cells(*completed(x, y, weight))
    params, report = found.settled(found.start())
    np.testing.assert_allclose(params["probs"], found.mode()[0]["probs"], atol=1e-8)
    assert report.converged


def test_dropping_or_spreading_evenly_is_found(rng):
    x, y, weight = table(rng)
    prior, statistics = completed(x, y, weight)
    expected = highest(x, y, weight, prior.concentration())[0]
    dropped = statistics.with_arrays({"partial_weight": 0 * statistics.partial_weight})
    evenly = prior.posterior(statistics.expected(np.ones_like(prior.probs))).mode()
    for wrong in (missing_cells(prior, dropped).mode()[0], evenly):
        assert np.abs(wrong["probs"] - expected).max() > 0.01


@pytest.mark.parametrize("seed", range(4))
def test_mode_under_uneven_weights_has_no_gradient(seed):
    """Weights of 1e-4 to 1e5, half of the cells missing."""
    rng = np.random.default_rng(seed)
    x, y, _ = table(rng, some=0.5)
    weight = 10.0 ** rng.integers(-4, 6, len(y))
    prior, statistics = completed(x, y, weight)
    params, report = missing_cells(prior, statistics).mode()
    probs, filled = params["probs"], prior.concentration().copy()
    for k, times, fits in zip(y, weight, fitting(x), strict=True):
        filled[k] += times * fits * probs[k] / (fits * probs[k]).sum() * fits.any()
    total = filled.sum(axis=1, keepdims=True)
    # a sum of so many terms rounds to as many ulp; rows with nothing observed weigh nothing
    error = np.abs(filled / total - probs).max()
    assert report.converged and error < 1e-9


def test_without_missing_values_nothing_stands_in_for_the_closed_form(rng):
    x, y, weight = table(rng, some=0.0)
    assert missing_cells(*completed(x, y, weight)) is None
    # a missing value in a column of one level leaves no choice
    constant = np.where(x < 0, x, x * [0, 1])
    statistics = PRIOR.statistics(constant, y, weight, n_classes=K, n_levels=(1, 3))
    part = JointCategorical.laplace(1).complete(statistics)
    constant[5, 0] = -1
    again = PRIOR.statistics(constant, y, weight, n_classes=K, n_levels=(1, 3))
    assert missing_cells(part, again) is None
    np.testing.assert_array_equal(part.posterior(again).probs, part.posterior(statistics).probs)


def test_corners_end_finite_and_are_reported(rng):
    x, y, weight = table(rng)
    y[:] = 0
    prior, statistics = completed(x, y, weight)
    params, findings, _ = missing_cells(prior, statistics).maximum_likelihood(
        bias_corrected=False, variance_floor=0.0
    )
    assert findings == [Repair("pooled", 1)]
    np.testing.assert_allclose(params["probs"][1], params["probs"][0])
    # rows of one column each: many tables are equally likely, one of them is found
    x = np.array([[0, -1], [0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 2]])
    prior, statistics = completed(x, np.zeros(6, int), np.ones(6))
    params, _, report = missing_cells(prior, statistics).maximum_likelihood(
        bias_corrected=False, variance_floor=0.0
    )
    found = params["probs"][0].reshape(LEVELS)
    np.testing.assert_allclose(found.sum(axis=1), [2 / 3, 1 / 3], atol=1e-9)
    np.testing.assert_allclose(found.sum(axis=0), 1 / 3, atol=1e-9)
    assert report.converged


def test_expected_statistics_are_those_of_the_mode(rng):
    x, y, weight = table(rng)
    prior, statistics = completed(x, y, weight)
    model = Model(ClassPrior(np.array([0.4, 0.6]), 5.0), {"t": prior})
    rows = ModelStatistics(np.bincount(y, weight), {"t": statistics})
    found = complete_statistics(model, rows).blocks["t"]
    assert not found.has_missing
    mode = missing_cells(prior, statistics).mode()[0]["probs"]
    np.testing.assert_allclose(prior.posterior(found).probs, mode, atol=1e-9)
    share = fitting(x) * mode[y]
    share = weight[:, None] * share / share.sum(axis=1, keepdims=True)
    share[(x < 0).all(axis=1)] = 0
    expected = np.stack([share[y == k].sum(axis=0) for k in range(K)])
    np.testing.assert_allclose(found.count, expected, atol=1e-12)


# --- look-ups -----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 400])
def test_few_rows_are_scored_as_many_are(rng, n, monkeypatch):
    """A row is looked up in a folded table, or in the cells that fit it: the same number."""
    n_levels = (4, 3, 2, 5)
    params = {"probs": rng.dirichlet(np.ones(120), (7, K))}
    part = JointCategorical(n_levels=n_levels)
    x = rng.integers(-1, n_levels, size=(n, 4))
    kept = part.log_density_fn(params)(x)
    every = np.array(np.unravel_index(np.arange(120), n_levels)).T
    fits = ((x[:, None] == every) | (x[:, None] < 0)).all(axis=2)
    expected = np.log(np.einsum("rc,dkc->rdk", fits, params["probs"]))
    np.testing.assert_allclose(kept, expected, atol=1e-12)
    monkeypatch.setattr(tables, "CACHED_FLOATS", 0)
    np.testing.assert_allclose(part.log_density_fn(params)(x), expected, atol=1e-12)


def test_rows_of_tiny_probability_keep_their_logs(rng):
    """Shares of 1e-400 and less are compared in logarithms, also where cells are summed."""
    n_levels, gammas = (2, 3), np.log(rng.random((5, K, 6))) - np.array([2000.0, 0.0])[:, None]
    found = tables.look_up(gammas, n_levels, tables.log_summed)(np.array([[1, -1], [0, 2]]))
    summed = np.logaddexp.reduce(gammas[..., 3:], axis=-1)
    np.testing.assert_allclose(found, [summed, gammas[..., 2]], rtol=1e-13)


# --- the plain program --------------------------------------------------------------------------


@pytest.mark.slow
def test_the_program_on_the_board_tells_the_same_story(rng):
    """Log densities of rows and priors differ by one constant, whatever the parameters."""
    x, y, _ = table(rng)
    prior, statistics = completed(x, y, np.ones(len(y)))
    prior = prior.with_arrays({"probs": PROBS[[0, 0]], "rows": np.array([4.0, 4.0])})
    classes = ClassPrior(np.array([0.5, 0.5]), 2.0)
    count = np.bincount(y, minlength=K).astype(float)
    ours = program(Model(classes, {"t": prior}), ModelStatistics(count, {"t": statistics}))
    path = Path(__file__).parents[2] / "models" / "joint_table.py"
    theirs = runpy.run_path(str(path))["model"]
    settings = {"n_classes": K, "n_levels": LEVELS, "rows": 4.0, "probs": PROBS[0].reshape(LEVELS)}
    gaps = []
    for _ in range(4):
        shares, cells = rng.dirichlet(np.ones(K)), rng.dirichlet(np.ones(CELLS), K)
        with jax.enable_x64(True):
            mine = density(ours, (), {}, {"class.probs": shares, "t.probs": cells})
            board = {"class_probs": shares, "cell_probs": cells}
            gaps.append(mine - density(theirs, (x, y), settings, board))
    np.testing.assert_allclose(gaps, gaps[0], rtol=0, atol=1e-9)


def density(story, args, settings, params):
    seeded = handlers.seed(handlers.substitute(story, params), 0)
    trace = handlers.trace(seeded).get_trace(*args, **settings)
    sites = [site for site in trace.values() if site["type"] == "sample"]
    return float(sum(site["fn"].log_prob(site["value"]).sum() for site in sites))
