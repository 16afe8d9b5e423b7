"""Optimizers against SciPy, and where a function is not concave or has no value."""

import numpy as np
from scipy.optimize import minimize

from bayesgen.optimize import Quadratic, mixture_weights, newton


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
