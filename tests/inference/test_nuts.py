"""NUTS: law 11 against exact draws and a plain program (slow), and how it treats its caller.

Averages may be 5 Monte Carlo standard errors off; seeds are fixed. Some 500 numbers are compared,
so a right sampler fails with a probability below 3e-4.
"""

import dataclasses
import runpy
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from arviz_stats.base import array_stats
from cases import CASES, CLOSED, MEAN, N_CLASSES, SCALE, TOLD

from bayesgen.classes import ClassPrior
from bayesgen.errors import UnsupportedOperation
from bayesgen.inference import NUTS, nuts
from bayesgen.inference.nuts import CHUNK, STATS, compiled
from bayesgen.likelihoods import MultivariateNormal, Normal
from bayesgen.model import model_statistics
from bayesgen.problem import Problem

CLASSES = ClassPrior(np.array([0.2, 0.3, 0.5]), 6.0)
TINY = NUTS(draws=70, warmup=120, chains=2)


def build(
    likelihoods: dict, n: int, *, gaps: bool = False, classes: ClassPrior = CLASSES, seed: int = 1
) -> tuple:
    """Return the problem of blocks named after their case, and the rows."""
    cases = {name: CASES[name] for name in likelihoods}
    rows = {n_: c.rows(np.random.default_rng(seed), n, gaps) for n_, c in cases.items()}
    y = next(iter(rows.values()))[1]
    x = {name: table for name, (table, _) in rows.items()}
    levels = {name: case.n_levels for name, case in cases.items()}
    found = model_statistics(likelihoods, x, y, np.ones(n), n_classes=N_CLASSES, n_levels=levels)
    return Problem.of(classes, likelihoods, found), x, y


# --- fast -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tiny():
    """Fit two unlike tables; return fits, compilations, sums of a caller."""
    compiled.cache_clear()
    heard: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: heard.append(event) if "compile" in event else None
    )
    caller, x = jax.jit(lambda x: jnp.sin(x) * x.sum()), jnp.linspace(0, 3, 7)
    before = np.asarray(caller(x))
    case = CASES["Bernoulli"]
    first = TINY.infer(build({"Bernoulli": case.prior}, 30)[0], seed=0)
    first_compiled = len(heard)
    second = TINY.infer(build({"Bernoulli": case.vague}, 500, seed=2)[0], seed=1)
    second_compiled = len(heard) - first_compiled
    after = np.asarray(caller(x))
    return first, second, (first_compiled, second_compiled), (before, after)


def test_second_fit_compiles_nothing(tiny):
    first, second = tiny[2]
    assert first > 0
    assert second == 0
    assert compiled.cache_info().misses == 1


def test_shapes_and_report(tiny):
    for fit in tiny[:2]:
        assert fit.shape == (2, 70)
        assert fit.params["Bernoulli"]["prob"].shape == (2, 70, N_CLASSES, 3)
        assert fit.params["Bernoulli"]["prob"].dtype == np.float64
        np.testing.assert_allclose(fit.params["class"]["probs"].sum(axis=-1), 1)
        assert {"r_hat", "ess", "divergences"} <= set(fit.report.details)
        assert fit.report.details["divergences"] == fit.sample_stats["diverging"].sum()
        assert set(fit.sample_stats) == set(STATS)
        assert all(value.shape == (2, 70) for value in fit.sample_stats.values())
        # no draw is kept twice, none is left over from before the warm-up
        assert len(np.unique(fit.params["Bernoulli"]["prob"][..., 0, 0])) > 120


def test_the_caller_keeps_single_precision(tiny):
    before, after = tiny[3]
    np.testing.assert_array_equal(before, after)
    assert after.dtype == np.float32
    assert not jax.config.jax_enable_x64
    assert jnp.ones(2).dtype == np.float32


def test_equal_seeds_give_equal_draws_and_silence(tiny, capfd):
    again = TINY.infer(build({"Bernoulli": CASES["Bernoulli"].prior}, 30)[0], seed=0)
    same = tiny[0].params["Bernoulli"]["prob"]
    np.testing.assert_array_equal(again.params["Bernoulli"]["prob"], same)
    assert capfd.readouterr() == ("", "")  # stderr is no terminal here


def test_progress_can_be_forced(tiny, capfd):
    method = NUTS(draws=70, warmup=120, chains=2, progress=True)
    method.infer(build({"Bernoulli": CASES["Bernoulli"].prior}, 30)[0], seed=0)
    assert "/190" in capfd.readouterr().err


@pytest.mark.slow
def test_options_of_numpyro_reach_its_kernel():
    """A tree of depth d has at most 2^d - 1 steps."""
    method = NUTS(draws=30, warmup=30, chains=2, max_tree_depth=2, dense_mass=True, step_size=0.01)
    method = dataclasses.replace(method, adapt_step_size=False, progress=False)
    found = method.infer(build({"Bernoulli": CASES["Bernoulli"].prior}, 30)[0], seed=0)
    assert (found.sample_stats["n_steps"] == 3).all()


@pytest.mark.parametrize(("warmup", "total"), [(120, 190), (0, 50), (50, 51), (100, 1100)])
def test_chunks_meet_at_the_warm_up(warmup, total):
    chunks = nuts._chunks(warmup, total)
    assert [begin for begin, _ in chunks] == [0, *(end for _, end in chunks)][:-1]
    assert chunks[-1][1] == total
    assert all(0 < end - begin <= CHUNK for begin, end in chunks)
    assert warmup in {begin for begin, _ in chunks}


def test_reference_prior_is_refused():
    with pytest.raises(UnsupportedOperation, match="improper"):
        TINY.infer(build({"Normal": Normal(prior="reference")}, 30)[0], seed=0)


# --- slow: law 11 -----------------------------------------------------------------------------

METHOD = NUTS(draws=900, warmup=600, chains=4)


def agrees(found: np.ndarray, expected: np.ndarray) -> None:
    """Compare means and variances of draws, (chain, draw, value), each with its own errors."""
    centre = expected.mean(axis=(0, 1))
    for power in (1, 2):
        a, b = (found - centre) ** power, (expected - centre) ** power
        error2 = sum(part.var(axis=(0, 1)) / effective(part) for part in (a, b))
        z = (a.mean(axis=(0, 1)) - b.mean(axis=(0, 1))) / np.sqrt(error2)
        assert np.abs(z).max() <= 5, (power, np.abs(z).max())


def effective(draws: np.ndarray) -> np.ndarray:
    return np.asarray(array_stats.ess(draws, chain_axis=0, draw_axis=1, method="mean"))


def flat(params: dict) -> np.ndarray:
    """Return parameters as (chain, draw, value), those that are positive as logarithms."""
    parts = []
    for name, value in params.items():
        if name == "cholesky":
            i, j = np.tril_indices(value.shape[-1], -1)
            diagonal = np.diagonal(value, axis1=-2, axis2=-1)
            value = np.concatenate([value[..., i, j], np.log(diagonal)], axis=-1)
        elif name != "mean":
            value = np.log(value)
        parts.append(value.reshape(*value.shape[:2], -1))
    return np.concatenate(parts, axis=-1)


@pytest.mark.nightly
def test_agrees_with_exact_draws():
    """All families at once: posterior means and variances of every parameter."""
    problem = build({n: c.prior for n, c in TOLD.items() if n in CLOSED}, 30)[0]
    fit = METHOD.infer(problem, seed=3)
    assert fit.report.converged, fit.report
    rng, exact = np.random.default_rng(4), problem.model.posterior(problem.statistics)
    for name, part in {**exact.blocks, "class": exact.classes}.items():
        if not fit.params[name]:  # a kernel density of known bandwidth
            continue
        draws = {k: v.reshape(4, 10_000, *v.shape[1:]) for k, v in part.draw(rng, 40_000).items()}
        agrees(flat(fit.params[name]), flat({k: draws[k] for k in fit.params[name]}))


@pytest.mark.slow
def test_given_class_probabilities_stay():
    given = ClassPrior(np.array([0.2, 0.3, 0.5]), np.inf)
    built = build({"Bernoulli": CASES["Bernoulli"].prior}, 30, classes=given)[0]
    fit = TINY.infer(built, seed=0)
    assert (fit.params["class"]["probs"] == given.probs).all()
    assert fit.params["class"]["probs"].shape == (2, 70, N_CLASSES)


@pytest.mark.parametrize(
    ("covariance", "program"),
    [
        pytest.param("per_class", "qda_lkj", marks=pytest.mark.nightly),
        pytest.param("shared", "lda_lkj", marks=pytest.mark.nightly),
    ],
)
def test_lkj_agrees_with_the_direct_program(covariance, program):
    """Statistics against rows, whitened coordinates against plain; a quarter is missing."""
    from numpyro.infer import MCMC
    from numpyro.infer import NUTS as PlainNUTS

    guess = {"mean": MEAN[0], "mean_rows": 0.7, "scale": SCALE, "concentration": 2.0}
    part = MultivariateNormal(covariance, prior="lkj", **guess)
    built, x, y = build({"MultivariateNormal lkj": part}, 80, gaps=True)
    # few rows in the smallest class leave its matrix almost singular: short steps
    fit = NUTS(draws=800, warmup=600, target_accept=0.95).infer(built, seed=5)
    assert fit.report.converged, fit.report
    model = runpy.run_path(str(Path(__file__).parents[2] / "models" / f"{program}.py"))["model"]
    with jax.enable_x64(True):
        mcmc = MCMC(
            PlainNUTS(model),
            num_warmup=600,
            num_samples=800,
            num_chains=4,
            chain_method="vectorized",
            progress_bar=False,
        )
        mcmc.run(jax.random.key(6), x["MultivariateNormal lkj"], y, n_classes=N_CLASSES, **guess)
        direct = jax.device_get(mcmc.get_samples(group_by_chain=True))
    found = fit.params["MultivariateNormal lkj"]
    factor = found["cholesky"]
    covariances = (factor @ np.swapaxes(factor, -1, -2)).reshape(4, 800, -1)
    agrees(found["mean"].reshape(4, 800, -1), direct["mean"].reshape(4, 800, -1))
    means = covariances.mean(axis=(0, 1)), direct["covariance"].reshape(4, 800, -1)
    error2 = covariances.var(axis=(0, 1)) / effective(covariances)
    error2 = error2 + means[1].var(axis=(0, 1)) / effective(means[1])
    assert (np.abs(means[0] - means[1].mean(axis=(0, 1))) <= 5 * np.sqrt(error2)).all()
