"""Importance sampling given incomplete rows: against closed forms, mixtures and quadrature.

Comparisons of draws are in Monte Carlo standard errors; seeds are fixed.
"""

import dataclasses
import functools

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from test_data_augmentation import LIMIT, P, closed_form, prior_of, worst_deviate

import bayesgen as bg
from bayesgen.inference import importance_sampling, incomplete_normal_weights
from bayesgen.inference.data_augmentation import augment
from bayesgen.inference.importance_sampling import EM_STEPS, importance_sample, resampled
from bayesgen.inference.missing import em, missing_cells
from bayesgen.likelihoods import JointCategorical, MultivariateNormal

LEVELS = (2, 3, 2)
FEW = bg.Exact(draws=20)


def normal_rows(rng, covariance, *, n=40, share=0.15, weighted=False, p=4):
    """Return the inference of a normal from rows, some cells of which are missing."""
    y = np.arange(n) % 2
    x = rng.standard_normal((n, p)) @ rng.standard_normal((p, p)) + y[:, None]
    # units far apart
    x *= 10.0 ** np.arange(-2, p - 2)
    x[rng.random(x.shape) < share] = np.nan
    weight = rng.uniform(0.2, 2.0, n) if weighted else np.ones(n)
    likelihood = MultivariateNormal(covariance=covariance)
    statistics = likelihood.statistics(x, y, weight, n_classes=2)
    return missing_cells(likelihood.complete(statistics), statistics)


def table_rows(rng, *, n=60, share=0.15, weighted=False):
    """Return the inference of a joint table from rows, some cells of which are missing."""
    y = np.arange(n) % 2
    x = np.stack([rng.integers(size, size=n) for size in LEVELS], axis=1)
    x[rng.random(x.shape) < share] = -1
    weight = rng.uniform(0.2, 2.0, n) if weighted else np.ones(n)
    likelihood = JointCategorical()
    statistics = likelihood.statistics(x, y, weight, n_classes=2, n_levels=LEVELS)
    return missing_cells(likelihood.complete(statistics), statistics)


DATA = {
    "per class": lambda rng, **how: normal_rows(rng, "per_class", **how),
    "shared": lambda rng, **how: normal_rows(rng, "shared", **how),
    "table": table_rows,
}


# -- weights -------------------------------------------------------------------------------------


def start(data):
    return em(data, data.likelihood.initial_params(data.statistics), EM_STEPS)[0]


def weight_gap(data, rng):
    """Return the range of the differences to the weights that two log likelihoods define."""
    centre = start(data)
    filled = data.filled(centre)
    draws = data.likelihood.posterior(filled).draw(rng, 30)
    found = data.log_importance(centre)(draws)
    one = data.likelihood
    ratio = one.log_likelihood(draws, data.statistics) - one.log_likelihood(draws, filled)
    return np.ptp(found.sum(axis=1) - ratio), np.ptp(ratio)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DATA)
def test_weights_are_ratios_of_likelihoods(rng, name, weighted):
    gap, size = weight_gap(DATA[name](rng, share=0.3, weighted=weighted), rng)
    assert gap < 1e-8 < 0.1 < size


def test_a_lost_pattern_changes_the_weights(rng, monkeypatch):
    right = incomplete_normal_weights._of_cells
    monkeypatch.setattr(
        incomplete_normal_weights,
        "_of_cells",
        lambda lines, missing, *a: right(lines, missing, *a) if missing.shape[1] < 2 else 0.0,
    )
    assert weight_gap(normal_rows(rng, "shared", share=0.3), rng)[0] > 0.01


@pytest.mark.parametrize(("name", "parts"), [("per class", 2), ("shared", 1), ("table", 2)])
def test_what_is_independent_has_weights_of_its_own(rng, name, parts):
    data = DATA[name](rng)
    draws = data.likelihood.posterior(data.filled(start(data))).draw(rng, 5)
    assert data.log_importance(start(data))(draws).shape == (5, parts)


# -- draws ---------------------------------------------------------------------------------------


def monotone_deviate(rng, covariance):
    """Return the worst deviate from the closed form of rows that show 3 columns, or the first."""
    n, y = 50, np.arange(50) % 2
    x = rng.standard_normal((n, P)) @ rng.standard_normal((P, P)) + y[:, None]
    shown = np.where(rng.random(n) < 0.2, rng.integers(1, P, n), P)
    x[np.arange(P) >= shown[:, None]] = np.nan
    prior = prior_of(covariance)
    statistics = prior.statistics(x, y, np.ones(n), n_classes=2)
    prior = prior.complete(statistics)
    found = importance_sample(missing_cells(prior, statistics), rng, 4000)
    chains = {name: v.reshape(4, 1000, *v.shape[1:]) for name, v in found.params.items()}
    return worst_deviate(chains, closed_form(prior, x, y, np.ones(n), rng))


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_monotone_missing_values_give_the_closed_form(rng, covariance):
    assert monotone_deviate(rng, covariance) < LIMIT


def test_unweighted_draws_are_found(rng, monkeypatch):
    def even(log_weight):
        return np.full(log_weight.shape, 1 / len(log_weight)), np.zeros(log_weight.shape[1])

    monkeypatch.setattr(importance_sampling, "smoothed_weights", even)
    assert monotone_deviate(rng, "shared") > LIMIT


@pytest.mark.nightly
@pytest.mark.parametrize("name", DATA)
def test_draws_agree_with_long_augmentation(rng, name):
    data = DATA[name](rng, share=0.1)
    found = importance_sample(data, rng, 8000)
    mine = {key: v.reshape(4, 2000, *v.shape[1:]) for key, v in found.params.items()}
    theirs, _ = augment(data, rng, draws=4000, warmup=200, chains=4)
    mine, theirs = data.compared(mine), data.compared(theirs)
    if name == "table":
        # both runs pick the cells that vary most, in an order of their own
        mine, theirs = np.sort(mine.mean((0, 1))), np.sort(theirs.mean((0, 1)))
        np.testing.assert_allclose(mine, theirs, atol=0.01)
        return
    low, high = np.quantile(theirs, [0.25, 0.75], axis=(0, 1))
    for power in (1, 2):
        one, other = (np.tanh((v - low) / (high - low)) ** power for v in (mine, theirs))
        error2 = sum(
            v.var(axis=(0, 1)) / array_stats.ess(v, chain_axis=0, draw_axis=1, method="mean")
            for v in (one, other)
        )
        gap = one.mean(axis=(0, 1)) - other.mean(axis=(0, 1))
        assert (np.abs(gap) < LIMIT * np.sqrt(error2)).all()


def with_one_gap(rng, n=24):
    """Return rows of two classes, the first of which lacks its second cell."""
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 2)) @ np.array([[1.0, 0.7], [0.0, 0.6]]) + 0.8 * y[:, None]
    X[0, 1] = np.nan
    return X, y


def mixture(values, fill, score):
    """Return P(class), averaged over values of the missing cell by their evidence."""
    clfs = [fill(value) for value in values]
    evidence = np.array([clf.log_evidence_ for clf in clfs])
    weight = np.exp(evidence - evidence.max())
    return np.average([clf.predict_proba(score) for clf in clfs], axis=0, weights=weight)


def agrees(clf, new, exact):
    """Assert P(class) within 5 Monte Carlo standard errors, none above .005."""
    spread = clf.predict_draws(new).std("draw").to_numpy()
    error = spread / np.sqrt(clf.report_.details["effective draws"])
    assert error.max() < 0.005
    assert (np.abs(clf.predict_proba(new) - exact) < LIMIT * error).all()


STATED = {"mean": 0.0, "scale": 1.0, "mean_rows": 1.0, "covariance_rows": 4.0}


@pytest.mark.parametrize("covariance", ["per_class", "shared"])
def test_one_missing_number_gives_the_integral_over_it(rng, covariance):
    X, y = with_one_gap(rng)
    make = bg.GenerativeClassifier(
        MultivariateNormal(covariance=covariance, **STATED), random_state=0
    )
    clf = make.fit(X, y)
    assert clf.inference_ == "importance"
    new = X[1:7] + 0.5

    def fill(value):
        return bg.GenerativeClassifier(make.likelihood).fit(np.where(np.isnan(X), value, X), y)

    agrees(clf, new, mixture(np.linspace(-6, 6, 61), fill, new))


def test_one_missing_level_gives_the_mixture_over_it(rng):
    y = np.arange(30) % 2
    X = pd.DataFrame({"a": rng.choice([*"pq"], 30), "b": rng.choice([*"rst"], 30)})
    gap = X.assign(b=X["b"].mask(np.arange(30) == 0))
    make = functools.partial(bg.JointTable, probs="uniform", rows=3.0, random_state=0)
    clf, new = make().fit(gap, y), X.drop_duplicates()
    assert clf.inference_ == "importance"
    agrees(clf, new, mixture([*"rst"], lambda level: make().fit(gap.fillna(level), y), new))


# -- the choice ----------------------------------------------------------------------------------


def gaps(rng, share, n=60):
    y = np.arange(n) % 2
    X = rng.standard_normal((n, 4)) + y[:, None]
    X[rng.random(X.shape) < share] = np.nan
    return X, y


@pytest.mark.parametrize("make", [bg.QDA, bg.LDA])
def test_few_missing_cells_are_weighed(rng, make):
    few, y = gaps(rng, 0.03)
    auto = make(inference="auto", random_state=0).fit(few, y)
    with pytest.warns(bg.errors.BayesgenWarning, match="by importance sampling"):
        exact = make(inference="exact", random_state=0).fit(few, y)
    assert auto.inference_ == exact.inference_ == "importance"
    np.testing.assert_array_equal(auto.predict_proba(few), exact.predict_proba(few))


@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@pytest.mark.parametrize(
    ("share", "inference"), [(0.6, FEW), (0.03, bg.Augmentation(draws=20, warmup=5))]
)
def test_many_missing_cells_are_augmented_and_few_where_asked(rng, share, inference):
    clf = bg.LDA(inference=inference, random_state=0).fit(*gaps(rng, share))
    assert clf.inference_ == "augmentation"


@dataclasses.dataclass
class Narrow:
    """A target N(0, 1) whose proposals are N(0, width^2); data and prior in one."""

    width: float
    prior = None

    @property
    def conjugate(self):
        return self

    def start(self):
        return {"x": np.zeros(1)}

    def filled(self, params):
        return self

    def posterior(self, statistics):
        return self

    def mode(self):
        return {"x": np.zeros(1)}

    def change(self, before, after):
        return 0.0

    def draw(self, rng, n):
        return {"x": self.width * rng.standard_normal((n, 1))}

    def log_importance(self, centre):
        return lambda draws: -0.5 * draws["x"] ** 2 * (1 - 1 / self.width**2)


@pytest.mark.parametrize(("width", "taken"), [(0.3, False), (0.9, True), (1.5, True)])
def test_proposals_that_are_too_narrow_are_found(rng, width, taken):
    found = importance_sample(Narrow(width), rng, 4000)
    assert (found is not None) == taken
    if taken:
        error = 1 / np.sqrt(found.effective)
        assert abs(found.params["x"].mean()) < LIMIT * error
        assert abs(found.params["x"].var() - 1) < LIMIT * np.sqrt(2) * error


def test_weights_that_are_not_finite_are_refused(rng):
    class Impossible(Narrow):
        def log_importance(self, centre):
            return lambda draws: np.where(draws["x"] > 2.5, np.inf, 0.0)

    assert importance_sample(Impossible(1.0), rng, 4000) is None


def test_a_draw_is_kept_as_often_as_its_weight_says(rng):
    weight = rng.dirichlet(np.full(50, 0.5), size=2).T
    some = resampled(weight, rng, 333)
    for k in range(2):
        often = np.bincount(some[:, k], minlength=50)
        assert (np.abs(often - 333 * weight[:, k]) < 1 + 1e-9).all()
    assert (np.diff(some, axis=0) >= 0).all()


# -- afterwards ----------------------------------------------------------------------------------


def test_a_fit_answers_like_any_other_is_reproduced_and_saved(rng, tmp_path):
    X, y = gaps(rng, 0.03)
    clf, again = (bg.QDA(random_state=3).fit(X, y) for _ in range(2))
    proba = clf.predict_proba(X)
    np.testing.assert_array_equal(proba, again.predict_proba(X))
    other = bg.QDA(random_state=4).fit(X, y).predict_proba(X)
    assert 0 < np.abs(other - proba).max() < 0.05
    details = clf.report_.details
    assert details["pareto_k"] < 0.7 and 400 < details["effective draws"] <= 4000
    assert "Pareto k" in clf.report_.verdict and clf.report_.converged
    clf.save(tmp_path / "clf.bgm")
    back = bg.load(tmp_path / "clf.bgm")
    assert back.inference_ == "importance"
    np.testing.assert_array_equal(back.predict_proba(X), proba)
    low, high = np.moveaxis(clf.predict_interval(X[:3]), -1, 0)
    assert (low <= proba[:3]).all() and (proba[:3] <= high).all()
    assert next(iter(clf.posterior_.components.params["class"].values())).shape[:2] == (4, 1000)
    assert np.isfinite(clf.with_class_prior([0.5, 0.5]).predict_proba(X)).all()
    assert np.isfinite(clf.evidence(X[:2]).to_numpy()).all()
    assert np.isfinite(clf.impute(X[:9], random_state=0)).all()
