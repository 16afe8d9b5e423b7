"""Word counts: closed forms, the plug-in that is not one, missing words, and the plain programs."""

import runpy
from pathlib import Path

import jax
import numpy as np
import pytest
from cases_words import URNS, WORTH, some_words
from numpyro import handlers
from scipy import stats
from scipy.sparse import csr_array
from scipy.special import logsumexp
from sklearn.naive_bayes import MultinomialNB

import bayesgen as bg
from bayesgen import errors
from bayesgen.likelihoods.special_functions import log_rising_factorial

MODELS = Path(__file__).parents[2] / "models"
PRIOR = bg.Multinomial(probs=URNS, rows=WORTH)
Y = np.arange(9) % 2


def fitted(prior: bg.Multinomial = PRIOR, n: int = 60) -> bg.Multinomial:
    """Return the posterior of three words in three classes."""
    x, y = some_words(np.random.default_rng(1), n)
    rows = prior.statistics(x, y, np.ones(n), n_classes=3)
    return prior.complete(rows).posterior(rows)


@pytest.mark.parametrize("form", [np.asarray, csr_array])
def test_predictive_is_the_dirichlet_multinomial(form):
    """Longer texts and larger counts than the look-up table holds are among them."""
    after, rng = fitted(), np.random.default_rng(2)
    x = np.concatenate([rng.poisson(size, (20, 3)) for size in (0.3, 2, 8, 300)]).astype(float)
    found = after.log_predictive(form(x))
    for k, concentration in enumerate(after.concentration()):
        oracle = [
            stats.dirichlet_multinomial(concentration, int(row.sum())).logpmf(row.astype(int))
            for row in x
        ]
        np.testing.assert_allclose(found[:, k], oracle, rtol=1e-10, atol=1e-10)


def test_rare_words_that_are_repeated_and_frequent_ones_beyond_the_table():
    """5,000 words, of which the larger counts of 4,096 stand in the table."""
    rng = np.random.default_rng(3)
    prior = bg.Multinomial(probs=rng.dirichlet(np.ones(5000)), rows=800.0)
    y = np.array([0, 1])
    rows = prior.statistics(np.zeros((2, 5000)), y, np.ones(2), n_classes=2)
    after = prior.complete(rows).posterior(rows)
    x = (rng.random((6, 5000)) < 0.01) * rng.integers(0, 60, (6, 5000))
    oracle = stats.dirichlet_multinomial(after.concentration()[0], x.sum(axis=1)).logpmf(x)
    np.testing.assert_allclose(after.log_predictive(csr_array(x))[:, 0], oracle, rtol=1e-10)


@pytest.mark.parametrize("n", [0, 1, 2, 7, 1000])
def test_rising_factorials_keep_their_digits(n):
    a = np.array([1e-300, 1e-5, 0.3, 15.9, 16.0, 17.2, 1e3, 1e6, 1e12])
    terms = np.longdouble(a)[:, None] + np.arange(n, dtype=np.longdouble)
    exact = np.log(terms).sum(axis=1).astype(float)
    found = log_rising_factorial(a, np.full(len(a), float(n)))
    np.testing.assert_allclose(found, exact, rtol=1e-14, atol=1e-14)


def test_rising_factorials_of_halves_keep_their_digits():
    """Gamma(a + 1/2) / Gamma(a) times Gamma(a + 1) / Gamma(a + 1/2) is a: t densities need both."""
    a = np.array([1e-5, 0.3, 15.9, 16.0, 1e3, 1e8, 1e14])
    both = log_rising_factorial(a, 0.5) + log_rising_factorial(a + 0.5, 0.5)
    np.testing.assert_allclose(both, np.log(a), rtol=1e-14, atol=1e-14)


def test_the_mode_is_what_scikit_learn_plugs_in():
    x, y = some_words(np.random.default_rng(3), 50)
    ours = bg.NaiveBayes(bg.Multinomial.laplace(0.7), class_prior="empirical", inference="map")
    theirs = MultinomialNB(alpha=0.7)
    found = ours.fit(x, y).predict_proba(x), theirs.fit(x, y).predict_proba(x)
    np.testing.assert_allclose(*found, rtol=1e-10)


def test_one_word_at_a_time_is_a_level():
    """Texts of one word are rows of a Categorical column with as many levels as words."""
    rng = np.random.default_rng(4)
    word, y = rng.integers(4, size=40), rng.integers(3, size=40)
    x = np.eye(4)[word]
    words = bg.NaiveBayes(bg.Multinomial(rows=6)).fit(x, y)
    level = bg.NaiveBayes(bg.Categorical.m_estimate(6)).fit(word[:, None], y)
    np.testing.assert_allclose(words.predict_proba(x), level.predict_proba(word[:, None]))
    assert words.log_evidence_ == pytest.approx(level.log_evidence_, rel=1e-12)


# --- the laws that words cannot obey to the letter ---------------------------------------------


def test_weight_two_is_the_text_twice_and_weight_zero_no_text():
    rng = np.random.default_rng(5)
    x, y = some_words(rng, 20)
    times = rng.integers(0, 3, 20)
    weighed = PRIOR.statistics(x, y, times.astype(float), n_classes=3)
    repeated = PRIOR.statistics(
        x.repeat(times, 0), y.repeat(times), np.ones(times.sum()), n_classes=3
    )
    for name, value in weighed.arrays().items():
        np.testing.assert_allclose(value, getattr(repeated, name), rtol=1e-12, err_msg=name)


@pytest.mark.parametrize("predictive", [True, False])
def test_missing_words_leave_the_urn(predictive):
    """p(x given N) = p(how many words are known given N) p(known words given how many)."""
    after = fitted()
    urn = after.draw(np.random.default_rng(6), 1)["probs"][0]
    score = after.predictive() if predictive else after.log_density_fn({"probs": urn})
    x = np.array([[2.0, 3.0, 4.0], [0.0, 1.0, 7.0]])
    given = np.where([True, True, False], x, np.nan)
    n, m = x.sum(axis=1), x[:, :2].sum(axis=1)
    a = after.concentration()
    if predictive:
        lump = [
            stats.betabinom(int(n[i]), a[:, :2].sum(1), a[:, 2]).logpmf(int(m[i])) for i in (0, 1)
        ]
    else:
        lump = [stats.binom(int(n[i]), urn[:, :2].sum(1)).logpmf(int(m[i])) for i in (0, 1)]
    np.testing.assert_allclose(score(given) + lump, score(x), rtol=1e-10)
    np.testing.assert_allclose(score(csr_array(given)), score(given), rtol=1e-12)
    np.testing.assert_array_equal(score(np.full((1, 3), np.nan)), 0.0)


def test_a_model_without_the_missing_word():
    """A known word says what it says in the model of the known words alone."""
    after = fitted()
    part, x = after.take("feature", np.array([0, 2])), np.array([[2.0, np.nan, 4.0]])
    np.testing.assert_allclose(part.log_predictive(x[:, [0, 2]]), after.log_predictive(x))


def test_updated_draws_average_to_the_answer_with_words_missing():
    after, n = fitted(), 20_000
    x = np.array([[2.0, np.nan, 4.0]])
    probs = np.exp(after.log_predictive(x)[0])
    probs /= probs.sum()
    rng = np.random.default_rng(7)
    own = rng.choice(3, (n, 1), p=probs)
    joint = after.log_density_draws_given_row(rng, n)(x, own)[:, 0]
    found = np.exp(joint - logsumexp(joint, axis=1, keepdims=True))
    error = found.std(axis=0) / np.sqrt(n)
    # five standard errors: a right program fails with probability 1e-6
    assert (np.abs(found.mean(axis=0) - probs) <= 5 * error).all()


# --- corners --------------------------------------------------------------------------------------


def test_words_that_nobody_guessed_and_no_text_has_are_left_out():
    x, y = np.array([[2, 1, 0], [0, 3, 0], [1, 1, 0]]), np.array([0, 1, 1])
    whole = bg.NaiveBayes(bg.Multinomial()).fit(x, y)
    part = bg.NaiveBayes(bg.Multinomial()).fit(x[:, :2], y)
    fresh = np.array([[1, 0, 5], [0, 0, 5]])
    np.testing.assert_allclose(whole.predict_proba(fresh), part.predict_proba(fresh[:, :2]))
    np.testing.assert_allclose(whole.predict_proba(fresh)[1], [0.4, 0.6])
    stated = bg.NaiveBayes(bg.Multinomial(probs="uniform")).fit(x, y)
    assert not np.allclose(stated.predict_proba(fresh)[1], [0.4, 0.6])
    simulated, _ = whole.sample(50, random_state=0)
    assert (simulated[:, 2] == 0).all()


def test_maximum_likelihood_of_a_class_without_words_warns_and_pools():
    x, y = np.array([[2, 1], [0, 3], [0, 0]]), ["a", "b", "c"]
    with pytest.warns(
        errors.DegenerateEstimate, match="'x0', 'x1' are never observed in class 'c'"
    ):
        clf = bg.NaiveBayes(bg.Multinomial(), inference="mle").fit(x, y)
    params = clf.posterior_.components.params["multinomial"]["probs"][0, 0]
    np.testing.assert_allclose(params, [[2 / 3, 1 / 3], [0, 1], [1 / 3, 2 / 3]])


def test_simulated_texts_have_the_lengths_of_fitted_ones_and_the_words_of_their_class():
    rng = np.random.default_rng(8)
    y = rng.integers(2, size=400)
    x = rng.multinomial(
        rng.choice([3, 10, 30], 400), np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]])[y]
    )
    clf = bg.NaiveBayes(bg.Multinomial(), random_state=0).fit(x, y)
    simulated, labels = clf.sample(4000, random_state=1)
    length = simulated.sum(axis=1)
    assert set(length) == {3.0, 10.0, 30.0}
    for k in (0, 1):
        share = np.array([(length[labels == k] == n).mean() for n in (3, 10, 30)])
        expected = np.array([(x.sum(axis=1) == n).mean() for n in (3, 10, 30)])
        assert (np.abs(share - expected) < 5 * np.sqrt(0.25 / 1500)).all()
        urn = simulated[labels == k].sum(axis=0) / simulated[labels == k].sum()
        np.testing.assert_allclose(urn, x[y == k].sum(axis=0) / x[y == k].sum(), atol=0.02)


@pytest.mark.parametrize(
    ("call", "kind", "sentence"),
    [
        (lambda: bg.Multinomial(rows=0), errors.InvalidArgument, "rows is 0"),
        (lambda: bg.Multinomial(rows_per_word=-1), errors.InvalidArgument, "rows_per_word is -1"),
        (
            lambda: bg.Multinomial(probs=[0.5, 0.0, 0.5]),
            errors.InvalidArgument,
            "probabilities above",
        ),
        (lambda: fitted(bg.Multinomial(probs=[0.5, 0.3, 0.1])), errors.InvalidArgument, "sum to"),
        (lambda: fitted(bg.Multinomial(probs=[0.5, 0.5])), errors.InvalidArgument, "has the shape"),
        (
            lambda: bg.NaiveBayes(bg.Multinomial(), inference="nuts").fit(np.ones((9, 5001)), Y),
            errors.UnsupportedOperation,
            "5,001 words",
        ),
    ],
)
def test_refused(call, kind, sentence):
    with pytest.raises(kind, match=sentence):
        call()


# --- the plain program ----------------------------------------------------------------------------


@pytest.mark.slow
def test_rows_follow_the_direct_program_with_words_missing():
    """models/multinomial_bag_of_words.py takes uncounted words out of the urn likewise."""
    program = runpy.run_path(str(MODELS / "multinomial_bag_of_words.py"))["model"]
    x, y = some_words(np.random.default_rng(9), 12)
    x = np.where(np.random.default_rng(10).random(x.shape) < 0.3, np.nan, x)
    urn = fitted().draw(np.random.default_rng(11), 1)["probs"][0]
    given = {"probs": urn, "class_probs": np.full(3, 1 / 3)}
    with jax.enable_x64(True):
        story = handlers.seed(handlers.substitute(program, given), 0)
        trace = handlers.trace(story).get_trace(x, y, n_classes=3)
        oracle = np.asarray(trace["x"]["fn"].log_prob(trace["x"]["value"]))
    found = fitted().log_density_fn({"probs": urn})(x)[np.arange(12), y]
    np.testing.assert_allclose(found, oracle, rtol=1e-9, atol=1e-9)


def test_log_density_of_a_stated_urn_is_the_multinomial():
    urn = URNS
    x = np.array([[3.0, 0.0, 2.0], [0.0, 0.0, 0.0]])
    found = PRIOR.log_density_fn({"probs": urn})(x)
    oracle = [[stats.multinomial(int(row.sum()), p).logpmf(row) for p in urn] for row in x]
    np.testing.assert_allclose(found, oracle, atol=1e-12)
    never = PRIOR.log_density_fn({"probs": np.array([[1.0, 0.0, 0.0]] * 3)})(x)
    assert np.isneginf(never[0]).all() and (never[1] == 0).all()
