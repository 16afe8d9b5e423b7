"""The multivariate t: its densities against scipy and its limits, and its guesses."""

import itertools
import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from case import N_CLASSES
from cases_normal import JOINT, NORMALS, ORIGIN, SCALE, UNITS, some_params, some_rows
from laws import story_density
from numpyro import handlers
from scipy.special import gammaln
from scipy.stats import kstest, multivariate_t
from scipy.stats import t as student_t

from bayesgen.errors import InvalidArgument
from bayesgen.likelihoods import MultivariateNormal, MultivariateStudentT
from bayesgen.likelihoods.multivariate_student_t import log_gamma_ratio, median

FAMILIES = ["MultivariateStudentT", "MultivariateStudentT shared"]
PATTERNS = [np.array(seen) for seen in itertools.product([False, True], repeat=3) if any(seen)]
PROGRAM = Path(__file__).parents[2] / "models" / "robust_student_t.py"


def astray(rng, n=40, gaps=0.0):
    x, y = some_rows(rng, n)
    return np.where(rng.random(x.shape) < gaps, np.nan, x), y


def completed(part, x, y):
    rows = part.statistics(x, y, np.ones(len(x)), n_classes=N_CLASSES)
    return part.complete(rows), rows


# --- densities --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("n_draws", [1, 40])
@pytest.mark.parametrize("seen", PATTERNS)
def test_density_is_that_of_scipy(rng, name, n_draws, seen):
    """Few draws and many go different ways; what is seen has the same degrees."""
    part, _ = completed(NORMALS[name].prior, *astray(rng))
    params = some_params(part, rng, n_draws)
    x = astray(rng, 6)[0]
    found = part.log_density_fn(params)(np.where(seen, x, np.nan))
    assert found.shape == (6, n_draws, N_CLASSES)
    degrees = params.get("degrees", np.full(n_draws, 5.0))
    for d, k in itertools.product({0, n_draws - 1}, range(N_CLASSES)):
        factor = params["cholesky"][d, min(k, params["cholesky"].shape[1] - 1)]
        shape = (factor @ factor.T)[np.ix_(seen, seen)]
        law = multivariate_t(params["mean"][d, k][seen], shape, degrees[d])
        np.testing.assert_allclose(found[:, d, k], law.logpdf(x[:, seen]), rtol=1e-9)


def test_rows_of_all_patterns_together_are_scored_as_alone(rng):
    part, _ = completed(NORMALS["MultivariateStudentT"].prior, *astray(rng))
    x = np.concatenate([astray(rng, 20, gaps=0.4)[0], np.full((1, 3), np.nan)])
    for n_draws in (2, 40):
        density = part.log_density_fn(some_params(part, rng, n_draws))
        alone = np.concatenate([density(row[None]) for row in x])
        np.testing.assert_allclose(density(x), alone, rtol=1e-11, atol=1e-11)
        assert (density(x)[-1] == 0).all()


def test_many_degrees_are_the_normal(rng):
    """They differ by squares of distances over 4 v, which is nothing at v = 1e12."""
    x, y = astray(rng, gaps=0.2)
    heavy, rows = completed(MultivariateStudentT(**JOINT, scale=SCALE, degrees=1e12), x, y)
    params = some_params(heavy, rng, 3)
    direct = MultivariateNormal()
    expected = direct.log_density_fn(params)(x)
    np.testing.assert_allclose(heavy.log_density_fn(params)(x), expected, rtol=1e-8, atol=1e-8)
    moments = direct.statistics(x, y, np.ones(len(x)), n_classes=N_CLASSES)
    both = heavy.log_likelihood(params, rows), direct.log_likelihood(params, moments)
    np.testing.assert_allclose(*both, rtol=1e-8)


def test_ratio_of_gammas():
    """Against SciPy where a difference keeps its digits, against the product where it does not."""
    half = np.arange(12) / 2
    for a in np.array([1e-3, 0.3, 1.0, 7.7, 50.0])[:, None]:
        direct = gammaln(a + half) - gammaln(a)
        np.testing.assert_allclose(log_gamma_ratio(a, half), direct, rtol=1e-12, atol=1e-12)
    for a in np.array([1e3, 1e6, 1e12])[:, None]:
        product = [np.log(a + np.arange(k)).sum() for k in range(6)]
        np.testing.assert_allclose(log_gamma_ratio(a, np.arange(6.0)), product, rtol=1e-14)
        # two halves are a whole
        halves = log_gamma_ratio(a, np.array(0.5)) + log_gamma_ratio(a + 0.5, np.array(0.5))
        np.testing.assert_allclose(halves, np.log(a), rtol=1e-14)


@pytest.mark.slow
def test_traced_likelihood_is_that_of_numpy(rng):
    """With missing values and a row 1e6 deviations out: value, and a finite gradient."""
    x, y = astray(rng, gaps=0.2)
    x[7] = ORIGIN + 1e6 * UNITS
    part, rows = completed(NORMALS["MultivariateStudentT"].prior, x, y)
    params = {k: v[0] for k, v in some_params(part, rng, 1).items()}
    with jax.enable_x64(True):
        arrays = {k: jax.numpy.asarray(v) for k, v in rows.arrays().items()}

        def height(params, arrays):
            return part.log_likelihood(params, rows.with_arrays(arrays))

        params_there = {k: jax.numpy.asarray(v) for k, v in params.items()}
        value, slope = jax.jit(jax.value_and_grad(height))(params_there, arrays)
    np.testing.assert_allclose(value, part.log_likelihood(params, rows), rtol=1e-10)
    assert all(np.isfinite(leaf).all() for leaf in slope.values())


@pytest.mark.slow
def test_one_column_is_the_direct_program(rng):
    """models/robust_student_t.py is naive; in one column naive and joint are the same story."""
    x, y = astray(rng, 30, gaps=0.2)
    x = x[:, 1:2]
    guess = {"mean": np.array([4.0]), "mean_rows": 0.7}
    prior, rows = completed(MultivariateStudentT(**guess, scale=4.0, covariance_rows=3.0), x, y)
    draws = some_params_of_one_column(prior, rng, 5)
    ours = story_density(prior, draws) + prior.log_likelihood(draws, rows)
    variance = draws["cholesky"][..., 0] ** 2
    values = {"mean": draws["mean"], "variance": variance, "degrees": draws["degrees"][:, None]}
    values["class_probs"] = np.full((5, N_CLASSES), 1 / N_CLASSES)
    settings = guess | {"variance": np.array([4.0]), "variance_rows": 3.0}
    direct = runpy.run_path(str(PROGRAM))["model"]

    def log_density(params):
        seeded = handlers.seed(handlers.substitute(direct, params), 0)
        trace = handlers.trace(seeded).get_trace(x, y, n_classes=N_CLASSES, **settings)
        drawn = [site for site in trace.values() if site["type"] == "sample"]
        drawn = [site for site in drawn if site["name"] not in ("class_probs", "y")]
        return sum(site["fn"].log_prob(site["value"]).sum() for site in drawn)

    with jax.enable_x64(True):
        theirs = jax.device_get(jax.jit(jax.vmap(log_density))(values))
    # d variance = 2 L dL
    jacobian = np.log(2 * draws["cholesky"]).sum(axis=(1, 2, 3))
    np.testing.assert_allclose(theirs + jacobian, ours, rtol=1e-9)


def some_params_of_one_column(part, rng, n):
    mean = part.mean + rng.standard_normal((n, N_CLASSES, 1))
    factor = np.exp(rng.normal(0.5, 0.3, (n, N_CLASSES, 1, 1)))
    return {"mean": mean, "cholesky": factor, "degrees": rng.uniform(2, 9, n)}


def test_simulated_rows_follow_the_t(rng):
    """Each column by itself is Student's t; false alarm 1e-4 each."""
    part, _ = completed(NORMALS["MultivariateStudentT"].prior, *astray(rng))
    one = {k: v[0] for k, v in some_params(part, rng, 1).items()}
    x = part.simulate(one, np.ones(5000, int), rng)
    sd = np.sqrt((one["cholesky"][1] ** 2).sum(axis=1))
    for j in range(3):
        law = student_t(one["degrees"], one["mean"][1, j], sd[j])
        assert kstest(x[:, j], law.cdf).pvalue > 1e-4
    # g is the row's own: squares go together, even where columns are uncorrelated
    far = np.abs(np.linalg.solve(one["cholesky"][1], (x - one["mean"][1]).T))
    assert np.corrcoef(far > 3)[0, 1] > 0.05


def test_far_out_no_class_is_certain():
    """With one number of degrees log-odds stay within bounds however far out a row lies."""
    part = MultivariateStudentT(degrees=3)
    params = {"mean": np.array([[0.0, 0.0], [3.0, 1.0]]), "cholesky": np.stack([np.eye(2)] * 2)}
    far = 10.0 ** np.arange(3, 12)[:, None] * np.array([1.0, 2.0])
    odds = np.diff(part.log_density_fn(params)(far), axis=1)
    assert np.abs(odds).max() < 0.1 and np.isfinite(odds).all()


# --- guesses ----------------------------------------------------------------------------------


def test_medians_with_weights():
    x = np.array([5.0, 1.0, 3.0, 2.0])
    assert median(x, np.ones(4)) == 2.5
    assert median(x, np.array([1.0, 1.0, 1.0, 0.5])) == 3.0
    times = np.array([1, 3, 2, 4])
    assert median(x, times.astype(float)) == np.median(np.repeat(x, times))


def test_guesses_are_medians(rng):
    x, y = astray(rng, gaps=0.2)
    part, _ = completed(MultivariateStudentT(), x, y)
    np.testing.assert_allclose(part.mean[0], np.nanmedian(x, axis=0))
    away = np.abs(x - np.array([np.nanmedian(x[y == k], axis=0) for k in range(3)])[y])
    spread = 1.4826 * np.nanmedian(np.where(away > 0, away, np.nan), axis=0)
    np.testing.assert_allclose(part.scale[2], np.diag(spread**2))


def test_guesses_bear_wild_rows_and_other_units(rng):
    x, y = astray(rng)
    part, _ = completed(MultivariateStudentT(), x, y)
    a, b = np.array([2.5, -0.1, 60.0]), np.array([-3.0, 7.0, 100.0])
    other, _ = completed(MultivariateStudentT(), x * a + b, y)
    np.testing.assert_allclose(other.mean, part.mean * a + b)
    np.testing.assert_allclose(other.scale, part.scale * a[:, None] * a)
    wild = np.where(np.arange(40)[:, None] == 5, 1e6, x)
    near, _ = completed(MultivariateStudentT(), wild, y)
    assert (np.abs(near.mean - part.mean) < np.sqrt(np.diag(part.scale[0]))).all()
    assert (np.abs(np.diag(near.scale[0]) / np.diag(part.scale[0]) - 1) < 0.3).all()


def test_columns_without_a_unit(rng):
    """Constant or never observed: uninformative. Mostly equal cells: the rest has a spread."""
    x, y = astray(rng)
    x[:, 0], x[:, 1] = 3.0, np.nan
    x[:30, 2] = 0.0
    part, _ = completed(MultivariateStudentT(), x, y)
    np.testing.assert_array_equal(part.uninformative(), [True, True, False])
    assert not completed(MultivariateStudentT(scale=1.0), x, y)[0].uninformative().any()


def test_refused():
    with pytest.raises(InvalidArgument, match="degrees is 0"):
        MultivariateStudentT(degrees=0)
    typo = MultivariateStudentT().with_arrays({"covariance": "diagonal"})
    with pytest.raises(InvalidArgument, match="covariance is 'diagonal'; allowed"):
        typo.__post_init__()


def test_shown_as_typed():
    assert repr(MultivariateStudentT("shared", degrees=4)) == (
        "MultivariateStudentT(covariance='shared', degrees=4)"
    )
