"""The composed NumPyro program: its terms, its coordinates, and the same stories in models/."""

import runpy
from pathlib import Path

import cases_words
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from cases import CASES, LEVELS, MEAN, N_CLASSES, PROB, SCALE, TOLD, VARIANCE, WORTH
from cases_words import URNS
from laws import story_density
from numpyro import handlers
from paces import fast_only
from scipy import stats

from bayesgen.classes import ClassPrior
from bayesgen.inference.log_density import arrays, model_log_density
from bayesgen.inference.missing import complete_statistics
from bayesgen.likelihoods import Bernoulli, Categorical, Multinomial, MultivariateNormal, Normal
from bayesgen.model import model_statistics
from bayesgen.problem import Problem
from bayesgen.program import program

N = 30
DIRICHLET = ClassPrior(np.array([0.2, 0.3, 0.5]), 6.0)


def build(blocks: dict, classes: ClassPrior = DIRICHLET, table: dict | None = None) -> Problem:
    """Return the problem of blocks over incomplete rows."""
    rng = np.random.default_rng(1)
    cases = {name: CASES[name] for name in blocks}
    rows = {name: case.rows(np.random.default_rng(2), N, gaps=True) for name, case in cases.items()}
    x = {name: rows[name][0] for name in blocks} if table is None else table
    y, weight = next(iter(rows.values()))[1], rng.integers(1, 3, N).astype(float)
    levels = {name: case.n_levels for name, case in cases.items()}
    found = model_statistics(blocks, x, y, weight, n_classes=N_CLASSES, n_levels=levels)
    return Problem.of(classes, blocks, found)


def evaluate(model: object, statistics: object, seed: int = 3) -> tuple[dict, dict, dict]:
    """Return the terms, the parameters and the numeric log Jacobians at random coordinates."""
    rng = np.random.default_rng(seed)
    with jax.enable_x64(True):
        density = model_log_density(model, statistics)
        tree = arrays(model, statistics, complete_statistics(model, statistics))
        tree = jax.tree.map(jnp.asarray, tree)
        centre = density.centre(tree)
        u = {s: jnp.asarray(rng.normal(0, 0.7, zeros.shape)) for s, zeros in centre.items()}

        def jacobian(site: str) -> object:
            size, block = u[site].shape, site.rsplit(".", 1)[0]
            beside = {s: v for s, v in u.items() if s.rsplit(".", 1)[0] == block}

            def free(flat: object) -> object:
                # given the other parameters of its block: volumes of a shear are those of its steps
                value = density.values(tree, beside | {site: flat.reshape(size)})[site]
                return value[free_entries(site, value.shape)]

            return jnp.linalg.slogdet(jax.jacfwd(free)(u[site].ravel()))[1]

        def everything(u: dict) -> tuple:
            return density.terms(tree, u), density.values(tree, u), {s: jacobian(s) for s in u}

        return jax.device_get(jax.jit(everything)(u))


def free_entries(site: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return which entries of a site are free: not the last level, nothing above the diagonal."""
    free = np.ones(shape, dtype=bool)
    if site == "class.probs":
        free[-1] = False
    elif site.endswith(".probs"):
        sizes = LEVELS if site.startswith("Categorical") else shape[-1:]
        free[:, np.cumsum(sizes) - 1] = False
    elif site.endswith(".cholesky"):
        free &= np.tri(shape[-1], dtype=bool)
    elif site.endswith(".correlation_cholesky"):
        free &= np.tri(shape[-1], k=-1, dtype=bool)
    return free


@pytest.fixture(scope="module")
def everything():
    problem = build({name: case.prior for name, case in TOLD.items()})
    model, statistics = problem.model, problem.statistics
    found, values, jacobians = evaluate(model, statistics)
    params = {name: {} for name in ("class", *model.blocks)}
    for site, value in values.items():
        name, parameter = site.rsplit(".", 1)
        params[name][parameter] = value
    return model, statistics, found, params, jacobians


@pytest.mark.slow
def test_prior_term_is_that_of_the_blocks(everything):
    model, _, found, params, _ = everything
    one = {n: {k: v[None] for k, v in params[n].items()} for n in model.blocks}
    blocks = sum(story_density(part, one[name])[0] for name, part in model.blocks.items())
    probs = params["class"]["probs"]
    classes = stats.dirichlet.logpdf(probs / probs.sum(), DIRICHLET.rows * DIRICHLET.probs)
    np.testing.assert_allclose(found["prior"], blocks + classes, rtol=1e-9)


@pytest.mark.slow
def test_rows_term_is_the_likelihood_in_numpy(everything):
    model, statistics, found, params, _ = everything
    rows = sum(
        part.log_likelihood(params[name], statistics.blocks[name])
        for name, part in model.blocks.items()
    )
    labels = statistics.count @ np.log(params["class"]["probs"])
    np.testing.assert_allclose(found["rows"], rows + labels, rtol=1e-9)


@pytest.mark.slow
def test_measure_term_is_that_of_numpy(everything):
    model, _, found, params, _ = everything
    measure = sum(part.log_scale_free_jacobian(params[name]) for name, part in model.blocks.items())
    measure += model.classes.log_scale_free_jacobian(params["class"])
    np.testing.assert_allclose(found["measure"], measure, rtol=1e-9)


@pytest.mark.slow
def test_jacobian_term_is_the_derivative(everything):
    _, _, found, _, jacobians = everything
    np.testing.assert_allclose(found["jacobian"], sum(jacobians.values()), rtol=1e-9)


def test_coordinates_have_unit_scale():
    """At 20,000 rows, posterior draws told in coordinates have mean 0 and deviation 1."""
    for name in ("Normal", "Normal shared", "MultivariateNormal", "MultivariateNormal shared"):
        case, rng = CASES[name], np.random.default_rng(4)
        x, y = case.table(rng, 20_000)
        rows = case.prior.statistics(x, y, np.ones(len(x)), n_classes=N_CLASSES)
        after = case.prior.complete(rows).posterior(rows)
        centre, width = case.prior.complete(rows).whitening(rows)["mean"]
        away = after.draw(rng, 2000)["mean"] - centre
        solve = name.startswith("Normal")
        u = away / width if solve else np.linalg.solve(width, away[..., None])[..., 0]
        np.testing.assert_allclose(u.mean(axis=0), 0, atol=0.12)
        np.testing.assert_allclose(u.std(axis=0), 1, atol=0.1)


def test_a_class_without_rows_is_no_nan():
    """0 rows times log 0: an empirical class prior gives an absent class the probability 0."""
    classes = ClassPrior(np.array([0.4, 0.6, 0.0]), np.inf)
    problem = build({"Bernoulli": Bernoulli()}, classes)
    model, statistics = problem.model, problem.statistics
    none = statistics.count * np.array([1.0, 1.0, 0.0])
    statistics = type(statistics)(none, statistics.blocks)
    assert np.isfinite(list(evaluate(model, statistics)[0].values())).all()


@pytest.mark.slow
def test_a_column_of_levels_never_observed():
    case = CASES["Categorical"]
    x = case.rows(np.random.default_rng(2), N)[0]
    x[:, 1] = -1
    problem = build({"Categorical": Categorical()}, table={"Categorical": x})
    model, statistics, reader = problem.model, problem.statistics, problem.reader
    assert model.blocks["Categorical"].n_levels == (2, 0, 5)
    assert (reader.read({"Categorical": x})["Categorical"][:, 1] == -1).all()
    values = parameters_at_the_centre(model, statistics)
    probs = values["Categorical.probs"]
    np.testing.assert_allclose([probs[:, :2].sum(1), probs[:, 2:].sum(1)], 1)


def parameters_at_the_centre(model: object, statistics: object) -> dict:
    with jax.enable_x64(True):
        density = model_log_density(model, statistics)
        tree = jax.tree.map(jnp.asarray, arrays(model, statistics, statistics))
        u = density.centre(tree)
        found, values = jax.device_get((density.terms(tree, u), density.values(tree, u)))
    assert np.isfinite(list(found.values())).all()
    return values


def test_log_densities_of_equal_settings_are_equal():
    def key(**settings):
        problem = build({"Normal": Normal(**settings)})
        model, statistics = problem.model, problem.statistics
        return model_log_density(model, statistics)

    assert key(mean=0.0) == key(mean=1.0, variance=3.0, variance_rows=7)
    assert hash(key(mean=0.0)) == hash(key(mean=1.0))
    assert key() != key(spread="shared")


@pytest.mark.slow
def test_program_simulates_from_the_prior():
    """Without rows the program is the prior: proportions average to the guess."""
    problem = build({"Bernoulli": CASES["Bernoulli"].prior})
    model, statistics = problem.model, problem.statistics
    with jax.enable_x64(True):
        story = program(model, statistics)
        keys = jax.random.split(jax.random.key(1), 4000)
        drawn = jax.vmap(lambda key: handlers.seed(story, key)()["Bernoulli"]["prob"])(keys)
        drawn = np.asarray(drawn)
    error = drawn.std(axis=0) / np.sqrt(4000)
    assert (np.abs(drawn.mean(axis=0) - PROB) <= 5 * error).all()


# --- models/ ----------------------------------------------------------------------------------

MODELS = Path(__file__).parents[2] / "models"
NORMAL = {"mean": MEAN, "mean_rows": WORTH, "variance": VARIANCE, "variance_rows": 4 * WORTH}
SHARED = {"variance": VARIANCE[0], "variance_rows": 4 * WORTH[0]}
JOINT = {"mean": MEAN[0], "mean_rows": 0.7, "scale": SCALE}
STORIES = {
    "gaussian_naive_bayes": ("Normal", Normal(**NORMAL), NORMAL),
    "gaussian_naive_bayes_shared_variance": (
        "Normal shared",
        Normal(**NORMAL | SHARED, spread="shared"),
        NORMAL | SHARED,
    ),
    "qda": (
        "MultivariateNormal",
        MultivariateNormal(**JOINT, covariance_rows=3.0),
        JOINT | {"covariance_rows": 3.0},
    ),
    "lda": (
        "MultivariateNormal shared",
        MultivariateNormal("shared", **JOINT, covariance_rows=3.0),
        JOINT | {"covariance_rows": 3.0},
    ),
    "qda_lkj": (
        "MultivariateNormal lkj",
        MultivariateNormal(**JOINT, prior="lkj", concentration=2.0),
        JOINT | {"concentration": 2.0},
    ),
    "lda_lkj": (
        "MultivariateNormal shared",
        MultivariateNormal("shared", **JOINT, prior="lkj", concentration=2.0),
        JOINT | {"concentration": 2.0},
    ),
    "categorical_naive_bayes": (
        "Categorical",
        Categorical(probs="uniform", rows=4.0),
        {"n_levels": LEVELS, "rows": 4.0},
    ),
    "bernoulli_bag_of_words": (
        "Bernoulli",
        Bernoulli(prob=PROB, rows=4 * WORTH),
        {"prob": PROB, "rows": 4 * WORTH},
    ),
    "multinomial_bag_of_words": (
        "Multinomial",
        Multinomial(probs=URNS, rows=cases_words.WORTH),
        {"probs": URNS, "rows": cases_words.WORTH[:, None]},
    ),
}


@pytest.mark.parametrize("story", fast_only(["qda_lkj"], STORIES))
def test_direct_program_agrees(story):
    """Prior and rows of models/ minus those of the composed story: the Jacobian, nothing else."""
    name, likelihood, settings = STORIES[story]
    case, rng = CASES[name], np.random.default_rng(5)
    x, y = case.rows(rng, N, gaps=True)
    rows = likelihood.statistics(x, y, np.ones(N), n_classes=N_CLASSES, n_levels=case.n_levels)
    prior = likelihood.complete(rows)
    draws = prior.draw(rng, 3)
    expected = story_density(prior, draws) + prior.log_likelihood(draws, rows)
    values, jacobian = as_in_models(story, draws)
    probs = {"class_probs": np.full(N_CLASSES, 1 / N_CLASSES)}
    direct = runpy.run_path(str(MODELS / f"{story}.py"))["model"]

    def log_density(params: dict) -> object:
        seeded = handlers.seed(handlers.substitute(direct, params | probs), 0)
        trace = handlers.trace(seeded).get_trace(x, y, n_classes=N_CLASSES, **settings)
        drawn = [site for site in trace.values() if site["type"] == "sample"]
        drawn = [site for site in drawn if site["name"] not in ("class_probs", "y")]
        return sum(site["fn"].log_prob(site["value"]).sum() for site in drawn)

    with jax.enable_x64(True):
        found = jax.device_get(jax.jit(jax.vmap(log_density))(values))
    np.testing.assert_allclose(found + jacobian, expected, rtol=1e-9)


def as_in_models(story: str, draws: dict) -> tuple[dict, np.ndarray]:
    """Return parameters as models/ name them, and log d(theirs) / d(ours) of each draw."""
    if story == "categorical_naive_bayes":
        parts = np.split(draws["probs"], np.cumsum(LEVELS)[:-1], axis=-1)
        return {f"probs.{j}": part for j, part in enumerate(parts)}, np.zeros(3)
    if "cholesky" not in draws:
        shared = story.endswith("shared_variance")
        return draws | ({"variance": draws["variance"][:, 0]} if shared else {}), np.zeros(3)
    factor = draws["cholesky"][:, 0] if story.startswith("lda") else draws["cholesky"]
    covariance = factor @ np.swapaxes(factor, -1, -2)
    diagonal = np.log(np.diagonal(factor, axis1=-2, axis2=-1))
    jacobian = 3 * np.log(2) + (diagonal * np.arange(3, 0, -1)).sum(-1)
    values = {"mean": draws["mean"], "covariance": covariance}
    if story.endswith("lkj"):
        deviation = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        values["deviation"] = deviation
        values["correlation"] = covariance / (deviation[..., :, None] * deviation[..., None, :])
        # d Sigma = 2^p prod s^p ds dR: s_i^2 alone on the diagonal, s_i s_j below it
        jacobian = jacobian - 3 * np.log(2) - 3 * np.log(deviation).sum(-1)
    return values, jacobian.reshape(3, -1).sum(axis=1)
