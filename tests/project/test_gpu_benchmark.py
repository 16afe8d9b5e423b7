"""Whether two devices agree is judged in Monte Carlo standard errors of their posterior means."""

import gpu
import numpy as np


def fit(rng, shift=0.0):
    draws = rng.standard_normal((4, 400, 6)) + shift * (np.arange(6) == 2)
    factor = np.tril(np.ones((3, 3))) * rng.standard_normal((4, 400, 1, 1))
    mean, error = gpu.moments(
        {"a": {"mean": draws}, "b": {"cholesky": factor, "one": draws[:, :, :1] * 0}}
    )
    return gpu.Fit("cpu: cpu", 2.0, 0.5, mean, error)


def test_draws_of_one_posterior_agree_and_others_do_not(rng):
    one, same, other = fit(rng), fit(rng), fit(rng, shift=0.5)
    assert len(one.mean) == 6 + 6  # nothing that does not vary
    np.testing.assert_allclose(one.error[:6], 1 / 40, rtol=0.3)
    assert gpu.apart(one, same).max() < gpu.LIMIT < gpu.apart(one, other).max()
    assert "| agree: 12 means within" in gpu.line("QDA", same, one)
    assert "| DO NOT AGREE: 12 means" in gpu.line("QDA", other, one)


def test_seconds_are_told_apart(rng):
    assert "| 2.0 s | 0.5 s |" in gpu.line("QDA", fit(rng), None)
    assert "took too long" in gpu.line("QDA", None, None)
