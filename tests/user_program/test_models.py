"""The gallery in models/: each program runs, simulates, and takes missing values.

The oracle of a density is a formula in NumPy and SciPy (model_formulas.py), one row at a time.
"""

import ast
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from model_formulas import CASES, PRIORS, ROWS, N, Y
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy
from paces import fast_only
from scipy import stats

MODELS = Path(__file__).parents[2] / "models"
every_program = pytest.mark.parametrize("name", CASES)
FAST = ("mixed_naive_bayes",)
FEW = ("lda_lkj", "hierarchical_naive_bayes", "robust_student_t")
some_programs = pytest.mark.parametrize("name", fast_only([], CASES, slow=FEW))
compiled_program = pytest.mark.parametrize("name", fast_only(FAST, CASES))
PROGRAMS = {name: runpy.run_path(str(MODELS / f"{name}.py"))["model"] for name in CASES}


@pytest.fixture
def x64():
    with jax.enable_x64(True):
        yield


def sites(name, x, y, params=None, seed=0):
    """Return the sampled sites of one run, split into those of the prior and those of the rows."""
    story = handlers.seed(PROGRAMS[name], seed)
    story = handlers.substitute(story, data=params or {})
    trace = handlers.trace(story).get_trace(x, y, n_classes=3, **CASES[name][1])
    drawn = {key: site for key, site in trace.items() if site["type"] == "sample"}
    in_row = {k for k, s in drawn.items() if any(f.name == "row" for f in s["cond_indep_stack"])}
    return (
        {key: site for key, site in drawn.items() if key not in in_row},
        {key: site for key, site in drawn.items() if key in in_row},
    )


def random_params(name, seed=0):
    """Return parameters that are half a unit from zero where they are free, and those free values.

    The shapes come from a run in the abstract: samplers of Gamma variates are slow to compile.
    """
    maps = {}

    def shapes():
        prior = sites(name, CASES[name][0], Y)[0]
        maps.update({key: biject_to(site["fn"].support) for key, site in prior.items()})
        return {key: site["value"] for key, site in prior.items()}

    random, free = np.random.default_rng(seed), {}
    for key, value in jax.eval_shape(shapes).items():
        free[key] = jnp.asarray(random.normal(0, 0.5, maps[key].inverse_shape(value.shape)))
    mapped = jax.jit(lambda free: {key: maps[key](value) for key, value in free.items()})(free)
    return mapped, free


@cache
def densities(name):
    """Return a compiled function of (x, y, params): log density of the prior, and of each row."""

    def both(x, y, params):
        parts = [
            [site["fn"].log_prob(site["value"]) for site in group.values()]
            for group in sites(name, x, y, params)
        ]
        return sum(part.sum() for part in parts[0]), sum(parts[1])

    return jax.jit(both)


def take(x, rows):
    """Return some rows of an array or of a dict of arrays."""
    return jax.tree.map(lambda column: column[rows], x)


# --- form -------------------------------------------------------------------------------------


def test_gallery_is_tested_whole():
    assert {path.stem for path in MODELS.glob("*.py")} == set(CASES)
    table = (MODELS / "README.md").read_text(encoding="utf-8")
    assert all(f"`{name}.py`" in table for name in CASES)


@every_program
def test_form(name):
    """It imports jax and numpyro only, tells its story and source, and fits on a board."""
    tree = ast.parse((MODELS / f"{name}.py").read_text(encoding="utf-8"))
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported <= {"jax", "numpyro"}
    text = ast.get_docstring(tree)
    assert "Source:" in text and "class_probs ──▶ y ──" in text and "row" in text
    (story,) = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "model"]
    first = story.body[1].lineno  # after the docstring
    assert 15 <= story.end_lineno - first + 1 <= 60


# --- every program ----------------------------------------------------------------------------


def is_double(value):
    return isinstance(value, np.ndarray) and value.dtype == np.float64


@some_programs
def test_simulates_what_it_takes(name):
    """Without rows it makes them up, in the shape in which it takes them, in single precision."""
    x, settings, sizes = CASES[name]
    story = handlers.seed(PROGRAMS[name], 3)
    # JAX converts doubles by programs that a long process may have compiled for doubles
    settings = {k: np.float32(v) if is_double(v) else v for k, v in settings.items()}
    simulated, y = story(None, n_classes=3, n_rows=N, **settings, **sizes)
    assert jax.tree.map(jnp.shape, simulated) == jax.tree.map(np.shape, x)
    assert y.shape == (N,) and set(np.unique(y)) <= {0, 1, 2}
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(simulated))


@some_programs
def test_gradient_is_finite_with_missing_values(name, x64):
    x, settings, _ = CASES[name]
    params = random_params(name)[1]
    settings = settings | {"n_classes": 3}
    energy = jax.value_and_grad(lambda p: potential_energy(PROGRAMS[name], (x, Y), settings, p))
    value, gradient = jax.jit(energy)(params)
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradient))
    assert all(np.any(leaf != 0) for leaf in jax.tree.leaves(gradient))


@compiled_program
def test_rows_stand_alone(name, x64):
    """A row's density is the same in any company; an empty row says nothing but its class."""
    x, params = CASES[name][0], random_params(name)[0]
    density = densities(name)(x, Y, params)[1]
    assert density.shape == (N,)
    some = np.array([7, 0, 4, 4, 4, 1, 0, 7, 7])
    again = densities(name)(take(x, some), Y[some], params)[1]
    np.testing.assert_allclose(again, density[some])
    np.testing.assert_allclose(density[0], np.log(params["class_probs"][Y[0]]), atol=1e-9)


# --- the oracles ------------------------------------------------------------------------------


@compiled_program
def test_rows_follow_the_formula(name, x64):
    x = CASES[name][0]
    for seed in (0, 1):
        params = {k: np.asarray(v) for k, v in random_params(name, seed)[0].items()}
        with np.errstate(divide="ignore"):
            formula = [ROWS[name](params, take(x, i), Y[i]) for i in range(N)]
        expected = np.log(params["class_probs"])[Y] + formula
        found = densities(name)(x, Y, params)[1]
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", fast_only(FAST, PRIORS, slow=PRIORS))
def test_priors_are_a_guess_and_its_strength(name, x64):
    x, params = CASES[name][0], random_params(name)[0]

    def log_prior(params):
        prior, _ = sites(name, x, Y, params)
        return sum(site["fn"].log_prob(site["value"]).sum() for site in prior.values())

    density = jax.jit(log_prior)(params)
    params = {key: np.asarray(value) for key, value in params.items()}
    shares = stats.dirichlet.logpdf(params["class_probs"], np.ones(3))
    np.testing.assert_allclose(density, PRIORS[name](params) + shares, rtol=1e-9)


# --- slow -------------------------------------------------------------------------------------


@pytest.mark.nightly
@every_program
def test_runs_and_finds_the_given_answer(name):
    """Each file simulates, fits and checks itself; five standard errors, fixed seeds."""
    command = [sys.executable, "-W", "error", str(MODELS / f"{name}.py")]
    run = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 1
