"""Point estimates by SVI land on closed forms, on modes of incomplete rows, on LKJ's.

All families sit in one model, so that each objective is compiled once.
"""

import numpy as np
import pytest
from cases import CASES, CLOSED, N_CLASSES, TOLD
from laws import story_density
from paces import fast_only

from bayesgen.classes import ClassPrior
from bayesgen.errors import UnsupportedOperation
from bayesgen.inference import MAP, MLE
from bayesgen.inference.point_estimates import GRADIENT_TOLERANCE
from bayesgen.model import model_statistics
from bayesgen.problem import Problem

N = 300
CLASSES = ClassPrior(np.array([0.2, 0.3, 0.5]), 6.0)


BOTH = [name for name in CLOSED if name in TOLD]
"""With a closed form, and a program to optimise."""


def blocks_of(gaps: bool, names: list[str], vague: bool = False) -> Problem:
    """Return the problem of one block for each case."""
    rows = {name: CASES[name].rows(np.random.default_rng(1), N, gaps) for name in names}
    likelihoods = {name: CASES[name].vague if vague else CASES[name].prior for name in names}
    found = model_statistics(
        likelihoods,
        {name: x for name, (x, _) in rows.items()},
        rows[names[0]][1],
        np.random.default_rng(2).integers(1, 3, N).astype(float),
        n_classes=N_CLASSES,
        n_levels={name: CASES[name].n_levels for name in names},
    )
    return Problem.of(CLASSES, likelihoods, found)


def same_params(found: dict, expected: dict, rtol: float = 1e-4) -> None:
    assert found.keys() == expected.keys()
    for name, params in expected.items():
        assert found[name].keys() == params.keys()
        for parameter, value in params.items():
            size = np.abs(value).max()
            np.testing.assert_allclose(
                found[name][parameter],
                value,
                rtol=rtol,
                # a probability of 0 is left at 1e-13
                atol=max(rtol * size * (parameter == "cholesky"), 1e-9),
                err_msg=f"{name}.{parameter}",
            )


@pytest.fixture(scope="module")
def everything():
    return blocks_of(True, BOTH)


@pytest.mark.nightly
@pytest.mark.parametrize("method", [MAP, MLE])
def test_svi_lands_on_the_closed_form(method, everything):
    """Joint normals are incomplete here: Newton's method stands in for their closed form."""
    svi = method(solver="svi").infer(everything, seed=0)
    closed = method().infer(everything, seed=0)
    assert svi.report.converged, svi.report
    assert svi.report.details["gradient_norm"] < GRADIENT_TOLERANCE
    # missing values leave the likelihood of some cells of a joint table nearly flat
    flat = {n for n in closed.params if n.startswith("JointCategorical") and method is MLE}
    for name in flat:
        found, expected = (fit.params.pop(name)["probs"] for fit in (svi, closed))
        np.testing.assert_allclose(found, expected, rtol=0, atol=3e-3)
    same_params(svi.params, closed.params)
    assert svi.point and svi.shape == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize("method", [MAP, MLE])
def test_svi_lands_on_the_closed_form_of_a_few(method):
    blocks = blocks_of(True, ["Normal", "Categorical"])
    svi = method(solver="svi").infer(blocks, seed=0)
    assert svi.report.converged
    same_params(svi.params, method().infer(blocks, seed=0).params)


@pytest.mark.parametrize("gaps", fast_only([], [False, True], slow=[True]))
def test_mode_under_lkj(gaps):
    """No closed form: nothing near the answer is higher, in steps of a thousandth of a width."""
    name = "MultivariateNormal lkj"
    problem = blocks_of(gaps, [name, "Bernoulli"])
    model, statistics, found = problem.model, problem.statistics, MAP().infer(problem, 0)
    assert found.report.converged and "gradient_norm" in found.report.details
    part, rows = model.blocks[name], statistics.blocks[name]
    best = {k: v[0, 0] for k, v in found.params[name].items()}
    draws = part.draw(np.random.default_rng(3), 40)
    near = {
        k: np.concatenate([best[k][None], *(best[k] + s * (draws[k] - best[k]) for s in (e, -e))])
        for e in (1e-4,)
        for k in best
    }
    height = story_density(part, near) + part.log_likelihood(near, rows)
    height = height + [
        part.log_scale_free_jacobian({k: v[i] for k, v in near.items()}) for i in range(81)
    ]
    assert (height <= height[0] + 1e-7).all()
    closed = model.blocks["Bernoulli"].posterior(statistics.blocks["Bernoulli"]).mode()
    np.testing.assert_allclose(found.params["Bernoulli"]["prob"][0, 0], closed["prob"])


@pytest.mark.slow
def test_guesses_do_not_change_the_maximum(everything):
    """Maximum likelihood ignores priors: other guesses, same answer."""
    other = blocks_of(True, BOTH, vague=True)
    same_params(MLE().infer(other, seed=0).params, MLE().infer(everything, seed=0).params)


def test_bias_correction_is_no_optimum():
    with pytest.raises(UnsupportedOperation, match="n - 1"):
        MLE(bias_corrected=True, solver="svi").infer(blocks_of(False, ["Normal"]), seed=0)


def test_compiled_once_for_one_structure():
    from bayesgen.inference import point_estimates

    point_estimates._compiled.cache_clear()
    names = ["Normal"]
    for vague in (False, True):
        MAP(solver="svi").infer(blocks_of(False, names, vague), seed=0)
    assert point_estimates._compiled.cache_info().misses == 1
