"""Optimizers against SciPy, and where a function is not concave or has no value."""

import numpy as np
from scipy.optimize import minimize

from bayesgen.optimize import Chart, Quadratic, at_rest, mixture_weights, newton


def rosenbrock(points):
    """Minus Rosenbrock's function, whose only maximum is (1, 1): not concave on the way there."""
    x, y = points.T
    hessian = [[400 * (3 * x**2 - y) + 2, -400 * x], [-400 * x, np.full(len(x), 200.0)]]
    gradient = [2 * (1 - x) + 400 * x * (y - x**2), -200 * (y - x**2)]
    value = -((1 - x) ** 2) - 100 * (y - x**2) ** 2
    return Quadratic(value, np.stack(gradient, axis=1), -np.moveaxis(np.array(hessian), -1, 0))


def test_every_start_leads_to_the_maximum():
    start = np.random.default_rng(0).uniform(-3, 3, (20, 2))
    points, peak = newton(rosenbrock, start)
    np.testing.assert_allclose(points, 1.0, rtol=1e-9)
    np.testing.assert_allclose(peak.value, 0.0, atol=1e-18)


def test_no_coordinate_leaves_its_bounds():
    points, _ = newton(rosenbrock, np.zeros((1, 2)), low=-0.5, high=0.5)
    assert (np.abs(points) <= 0.5).all()


def test_steps_to_where_there_is_no_value_are_taken_back():
    def log_less_square(points):
        x = points[:, 0]
        with np.errstate(invalid="ignore"):
            value = np.log(x) - x**2
        return Quadratic(value, (1 / x - 2 * x)[:, None], (-(x**-2) - 2)[:, None, None])

    points, _ = newton(log_less_square, np.array([[8.0], [0.01]]))
    np.testing.assert_allclose(points, 0.5**0.5, rtol=1e-9)


def test_mixture_weights_are_those_of_a_descent():
    """With a prior, and rows that a component rules out."""
    rng = np.random.default_rng(1)
    possible = rng.random((3, 60)) < 0.7
    possible[0] = True
    density, weight = rng.random((3, 60)) * possible, rng.uniform(0.5, 2, 60)
    prior = np.array([0.5, 1.0, 2.0])

    def loss(logits):
        pi = np.exp(logits - np.logaddexp.reduce(logits))
        return -weight @ np.log(pi @ density) - prior @ np.log(pi)

    logits = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-8}).x
    expected = np.exp(logits - np.logaddexp.reduce(logits))
    np.testing.assert_allclose(mixture_weights(density, weight, prior), expected, atol=1e-6)


class Above(Chart):
    """Numbers above a bound."""

    def __init__(self, bound):
        self.bound = bound

    def coordinates(self, params):
        return params["x"]

    def params(self, coordinates):
        if (coordinates <= self.bound).any():
            raise np.linalg.LinAlgError
        return {"x": coordinates}


def test_a_linear_map_rests_after_a_step_for_each_rate_of_convergence():
    """By repetition alone the slowest of five rates would need 20,000 steps."""
    rng = np.random.default_rng(3)
    end, turn = rng.normal(size=12), np.linalg.qr(rng.normal(size=(12, 12)))[0]
    rates = np.repeat([0.999, 0.97, 0.8, 0.3, 0.0], [1, 2, 3, 3, 3])

    def step(params):
        return {"x": end + turn @ (rates * (turn.T @ (params["x"] - end)))}

    start = {"x": np.zeros(12)}
    params, steps, distance, _ = at_rest(step, start, Above(-np.inf), steps=50, still=1e-9)
    np.testing.assert_allclose(params["x"], end, atol=1e-8)
    assert distance <= 1e-9
    assert steps <= 8


def test_steps_to_where_there_are_no_parameters_are_not_taken():
    """Square roots of numbers near 0 rest at 1, and combinations of them are below 0."""
    start = {"x": np.array([1e-9, 0.04, 3.0])}
    seen = []

    def step(params):
        seen.append(params["x"])
        return {"x": np.sqrt(params["x"])}

    params, _, distance, _ = at_rest(step, start, Above(0.0), steps=100, still=1e-12)
    np.testing.assert_allclose(params["x"], 1.0, rtol=1e-11)
    assert distance <= 1e-12
    assert (np.array(seen) > 0).all()


def test_a_combination_without_a_next_step_is_taken_back():
    """Of three steps that halve the distance the combination is the end, where none is known."""
    refused = []

    def step(params):
        if abs(params["x"][0]) < 1e-3 and not refused:
            refused.append(True)
            raise np.linalg.LinAlgError
        return {"x": 0.5 * params["x"]}

    start = {"x": np.array([8.0])}
    params, _, distance, _ = at_rest(step, start, Above(-np.inf), steps=100, still=1e-9)
    assert refused
    assert distance <= 1e-9
    np.testing.assert_allclose(params["x"], 0.0, atol=1e-9)


def test_a_saddle_point_has_a_direction_that_leads_away():
    """Steps toward (-1, 0) and (1, 0), between which combinations rest at (0, 0)."""

    def step(params):
        x, y = params["x"]
        return {"x": np.array([x + 0.1 * (x - x**3), 0.5 * y])}

    chart = Above(-np.inf)
    rest = at_rest(step, {"x": np.array([0.01, 1.0])}, chart, steps=100, still=1e-9)
    np.testing.assert_allclose(rest.params["x"], 0.0, atol=1e-8)
    np.testing.assert_allclose(np.abs(rest.away), [1, 0], atol=1e-3)
    mode = at_rest(step, {"x": np.array([0.9, 1.0])}, chart, steps=100, still=1e-9)
    np.testing.assert_allclose(mode.params["x"], [1, 0], atol=1e-8)
    assert mode.away is None


def test_steps_that_run_out_say_so():
    start = {"x": np.array([1.0])}
    _, steps, distance, _ = at_rest(
        lambda params: {"x": params["x"] + 1.0}, start, Above(-np.inf), steps=3, still=1e-9
    )
    assert steps == 3
    assert distance > 1e-9
