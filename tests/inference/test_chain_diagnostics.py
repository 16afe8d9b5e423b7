"""Whether draws of one chain and of several agree: r_hat of halves, against arviz and by hand."""

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy import stats
from scipy.signal import lfilter

import bayesgen as bg
from bayesgen.inference import chain_diagnostics

RNG = np.random.default_rng(0)
Y = np.arange(40) % 2
X = pd.DataFrame(RNG.standard_normal((40, 2)) + Y[:, None], columns=["a", "b"])
MISSING = X.mask(RNG.random(X.shape) < 0.1)


def by_hand(chain):
    """Return the rank-normalised split r_hat of one chain (Vehtari et al. 2021, section 3)."""
    half = len(chain) // 2
    found = []
    for values in (chain, np.abs(chain - np.median([*chain[:half], *chain[-half:]]))):
        both = np.concatenate([values[:half], values[-half:]])
        z = stats.norm.ppf((stats.rankdata(both) - 3 / 8) / (len(both) + 1 / 4))
        first, second = z[:half], z[half:]
        within = (first.var(ddof=1) + second.var(ddof=1)) / 2
        between = half * np.var([first.mean(), second.mean()], ddof=1)
        found.append(np.sqrt(((half - 1) / half * within + between / half) / within))
    return max(found)


@pytest.mark.parametrize("shape", [(2, 4, 3), (2, 101, 3), (4, 100, 20), (3, 7, 2)])
@pytest.mark.parametrize("walk", [False, True])
def test_agreement_of_chains_is_that_of_arviz(shape, walk):
    draws = RNG.standard_normal(shape)
    draws = draws.cumsum(axis=1) if walk else draws
    found = chain_diagnostics.chain_diagnostics(draws)
    expected = array_stats.rhat(draws, chain_axis=0, draw_axis=1).max()
    np.testing.assert_allclose(found["r_hat"], expected, rtol=1e-12)
    sizes = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="bulk")
    np.testing.assert_allclose(found["ess"], sizes.min(), rtol=1e-9)


@pytest.mark.parametrize("chains", [1, 4])
@pytest.mark.parametrize("share", [-0.95, 0.0, 0.5, 0.999])
def test_effective_draws_of_autocorrelated_chains_are_those_of_arviz(chains, share):
    for size in (4, 5, 6, 7, 10, 60):
        noise = RNG.standard_normal((chains, size, 3))
        draws = lfilter([1.0], [1.0, -share], noise, axis=1)
        for one in np.moveaxis(draws, 2, 0):
            found = chain_diagnostics.chain_diagnostics(one[:, :, None])["ess"]
            expected = array_stats.ess(one, chain_axis=0, draw_axis=1, method="bulk")
            np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("size", [4, 5, 200, 1001])
def test_agreement_of_one_chain_is_that_of_its_halves(size):
    draws = RNG.standard_normal((1, size, 4))
    expected = max(by_hand(chain) for chain in draws[0].T)
    np.testing.assert_allclose(
        chain_diagnostics.chain_diagnostics(draws)["r_hat"], expected, rtol=1e-12
    )


def test_one_chain_of_independent_draws_agrees_and_one_that_drifts_does_not():
    # r_hat^2 - 1 is about z^2 / 1000, z normal: 6 standard errors stay below the limit of 1.02
    draws = RNG.standard_normal((1, 1000, 1))
    assert chain_diagnostics.has_converged(chain_diagnostics.chain_diagnostics(draws), 1)
    drift = draws + np.linspace(0, 2, 1000)[:, None]
    assert not chain_diagnostics.has_converged(chain_diagnostics.chain_diagnostics(drift), 1)


@pytest.mark.parametrize("chains", [1, 2])
@pytest.mark.filterwarnings("error")
def test_chains_that_stand_still_do_not_agree(chains):
    draws = np.concatenate([np.ones((chains, 400, 1)), RNG.standard_normal((chains, 400, 1))], 2)
    assert not chain_diagnostics.has_converged(chain_diagnostics.chain_diagnostics(draws), chains)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.filterwarnings("error")
def test_a_few_draws_do_not_agree(size):
    found = chain_diagnostics.chain_diagnostics(RNG.standard_normal((1, size, 2)))
    assert np.isnan(found["r_hat"])
    assert not chain_diagnostics.has_converged(found, 1)


# -- what a user sees --------------------------------------------------------------------------


def test_augmentation_by_one_chain_has_an_r_hat():
    method = bg.Augmentation(draws=600, warmup=50, chains=1)
    clf = bg.QDA(inference=method, random_state=0).fit(MISSING, Y)
    drawn = clf.posterior_.components.params["normal"]
    factors = drawn["cholesky"][0][..., *np.tril_indices(2)].reshape(600, -1)
    values = np.concatenate([drawn["mean"][0].reshape(600, -1), factors], axis=1)
    expected = max(by_hand(chain) for chain in values.T)
    # the median lies midway between two draws: in the columns' own units rounding says which of the
    # two is nearer, that is, how two of 600 scores are ranked
    np.testing.assert_allclose(clf.report_.details["r_hat"], expected, rtol=1e-3)
    assert clf.report_.converged


@pytest.mark.parametrize("draws", [2, 20])
def test_augmentation_by_one_short_chain_says_what_to_type(draws):
    method = bg.Augmentation(draws=draws, warmup=5, chains=1)
    sentence = r"The halves of the chain do not .*bg\.Augmentation\(draws=1000, warmup=200, chains"
    with pytest.warns(bg.errors.NotConverged, match=sentence):
        clf = bg.QDA(inference=method, random_state=0).fit(MISSING, Y)
    assert not clf.report_.converged


def test_augmentation_of_the_only_level_converges():
    """Its probability is 1 in every draw, which no chain can disagree about."""
    table = pd.DataFrame({"u": ["x", "x", None, "x"] * 10})
    method = bg.Augmentation(draws=200, warmup=20, chains=1)
    clf = bg.JointTable(inference=method, random_state=0)
    assert clf.fit(table.assign(v=list("pq") * 20), Y).report_.converged


@pytest.mark.slow
def test_nuts_by_one_chain_converges():
    method = bg.NUTS(chains=1, draws=600, warmup=300, progress=False)
    clf = bg.NaiveBayes(inference=method, random_state=0).fit(X[["a"]], Y)
    assert clf.report_.converged
    assert 0.99 < clf.report_.details["r_hat"] < 1.02
    short = bg.NaiveBayes(inference=bg.NUTS(chains=1, draws=4, warmup=300, progress=False))
    sentence = r"The halves of the chain .* NUTS\(draws=1000, warmup=1000, chains=1\)"
    with pytest.warns(bg.errors.NotConverged, match=sentence):
        short.fit(X[["a"]], Y)
