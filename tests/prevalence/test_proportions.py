"""Draws of mixture proportions, against Dirichlet distributions and quadrature."""

import numpy as np
import pytest
from scipy import stats

from bayesgen.optimize import mixture_weights
from bayesgen.prevalence import proportions

N = 4000
FAR = 1.95 / np.sqrt(N) + 0.02
"""Distance of distribution functions: chance exceeds the first term once in 1,000 tests; .02 is
what the documentation of TRAJECTORIES allows."""


def drawn(density, weight, alpha, n=N, seed=0):
    start = np.full(len(alpha), 1 / len(alpha))
    rng = np.random.default_rng(seed)
    return proportions.drawn(density[None], weight, alpha, start, rng, n)[0]


def law_without_cells(draw=drawn):
    """Rows without a cell leave the prior as it is."""
    for alpha in (np.ones(2), np.array([0.5, 1.0, 3.0])):
        found = draw(np.ones((len(alpha), 50)), np.ones(50), alpha)
        _require_dirichlet(found, alpha)


def law_certain_rows(draw=drawn):
    """Rows whose class is certain are counts: Dirichlet(alpha + counts)."""
    counts, alpha = np.array([30, 9, 1]), np.array([1.0, 2.0, 0.5])
    found = draw(np.repeat(np.eye(3), counts, axis=1), np.ones(40), alpha)
    _require_dirichlet(found, alpha + counts)


def law_quadrature(draw=drawn):
    """Two classes that overlap: the distribution function of quadrature."""
    rng = np.random.default_rng(1)
    x = rng.normal(np.where(rng.random(60) < 0.3, 1.0, -0.5), 1.0)
    density = np.stack([stats.norm.pdf(x, -0.5), stats.norm.pdf(x, 1.0)])
    alpha = np.array([1.0, 1.5])
    grid = (np.arange(20_000) + 0.5) / 20_000
    logs = stats.beta.logpdf(grid, alpha[1], alpha[0])
    logs += np.log(density[0, :, None] * (1 - grid) + density[1, :, None] * grid).sum(axis=0)
    steps = np.exp(logs - logs.max()).cumsum()
    found = draw(density, np.ones(60), alpha)[:, 1]
    result = stats.kstest(found, lambda p: np.interp(p, grid, steps / steps[-1]))
    assert result.statistic < FAR


def _require_dirichlet(found, alpha):
    np.testing.assert_allclose(found.sum(axis=1), 1)
    for k in range(len(alpha)):
        marginal = stats.beta(alpha[k], alpha.sum() - alpha[k])
        assert stats.kstest(found[:, k], marginal.cdf).statistic < FAR


LAWS = [law_without_cells, law_certain_rows, law_quadrature]


@pytest.mark.parametrize("law", LAWS)
def test_law(law):
    law()


def gibbs(sweeps):
    """Return Gibbs sampling of labels and proportions from the mode, as a fault."""

    def draw(density, weight, alpha, n=N, seed=0):
        rng = np.random.default_rng(seed)
        best = mixture_weights(density, weight) * weight.sum() + alpha
        pi = np.tile(best / best.sum(), (n, 1))
        for _ in range(sweeps):
            joint = pi[:, :, None] * density
            steps = (joint / joint.sum(axis=1, keepdims=True)).cumsum(axis=1)
            z = (rng.random((n, 1, density.shape[1])) > steps[:, :-1]).sum(axis=1)
            counts = np.stack([(z == k).sum(axis=1) for k in range(len(alpha))], axis=1)
            gammas = rng.standard_gamma(alpha + counts)
            pi = gammas / gammas.sum(axis=1, keepdims=True)
        return pi

    return draw


def prior_twice(density, weight, alpha, n=N, seed=0):
    return drawn(density, weight, 2 * alpha, n, seed)


def mode_alone(density, weight, alpha, n=N, seed=0):
    return np.tile(drawn(density, weight, alpha, n, seed).mean(axis=0), (n, 1))


@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (law_without_cells, prior_twice),
        (law_certain_rows, prior_twice),
        (law_quadrature, prior_twice),
        (law_without_cells, mode_alone),
        (law_certain_rows, mode_alone),
        (law_quadrature, mode_alone),
        (law_without_cells, gibbs(1)),
        (law_quadrature, gibbs(1)),
        (law_without_cells, gibbs(20)),
    ],
)
def test_fault_is_caught(law, wrong):
    with pytest.raises(AssertionError):
        law(wrong)


def test_a_row_of_weight_two_is_the_row_twice():
    rng = np.random.default_rng(4)
    density, weight = rng.random((3, 12)) + 0.1, rng.integers(1, 4, 12)
    alpha = np.array([1.0, 2.0, 0.7])
    whole = drawn(density, weight.astype(float), alpha, n=50)
    rows = drawn(np.repeat(density, weight, axis=1), np.ones(weight.sum()), alpha, n=50)
    np.testing.assert_allclose(whole, rows, rtol=1e-6)


def test_order_of_rows_and_of_classes_does_not_matter():
    rng = np.random.default_rng(5)
    density, alpha, ones = rng.random((3, 40)) + 0.05, np.array([1.0, 2.0, 0.7]), np.ones(40)
    whole = drawn(density, ones, alpha, n=30)
    np.testing.assert_allclose(drawn(density[:, ::-1], ones, alpha, n=30), whole, rtol=1e-6)
    order = [2, 0, 1]
    turned = drawn(density[order], ones, alpha[order], n=N)
    far = [
        stats.ks_2samp(turned[:, i], drawn(density, ones, alpha)[:, k]).statistic
        for i, k in enumerate(order)
    ]
    assert max(far) < 1.95 * np.sqrt(2 / N) + 0.02


def test_one_class_has_all():
    assert drawn(np.ones((1, 5)), np.ones(5), np.ones(1), n=3).tolist() == [[1.0]] * 3


def test_mode_is_the_fixed_point_of_em():
    rng = np.random.default_rng(6)
    density, weight = rng.random((4, 30)), np.ones(30)
    pi = np.full(4, 0.25)
    for _ in range(5000):
        shares = pi[:, None] * density
        pi = (shares / shares.sum(axis=0)).mean(axis=1)
    np.testing.assert_allclose(mixture_weights(density, weight), pi, atol=1e-6)


def test_rows_impossible_under_every_class_tell_nothing():
    logs = np.array([[0.0, -np.inf, -800.0], [1.0, -np.inf, -801.0]])
    expected = [[np.exp(-1), 1, 1], [1, 1, np.exp(-1)]]
    np.testing.assert_allclose(proportions.relative(logs), expected)


def test_strongly_uneven_counts_and_tiny_priors_stay_finite():
    density = np.repeat(np.eye(10), [5000, 300, 10, 1, 1, 1, 0, 0, 0, 0], axis=1)
    found = drawn(density, np.ones(density.shape[1]), np.full(10, 0.05), n=500)
    assert np.isfinite(found).all() and (found >= 0).all()
    np.testing.assert_allclose(found[:, 0].mean(), 5000.05 / 5313.5, atol=0.002)


@pytest.mark.parametrize("alpha", [1e-9, 1e-6, 1e-3])
def test_a_class_of_a_tiny_prior_narrows_no_other(alpha):
    """Its logit is nearly unbounded, and steps of that length would all be rejected."""
    counts, prior = np.array([30, 9, 0]), np.array([1.0, 1.0, alpha])
    found = drawn(np.repeat(np.eye(3), counts, axis=1), np.ones(39), prior)
    _require_dirichlet(found[:, :2] / found[:, :2].sum(axis=1, keepdims=True), np.array([31, 10.0]))
    assert found[:, 2].mean() < 0.02
