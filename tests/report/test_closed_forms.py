"""Closed-form marginals of parameters: against SciPy, and against draws of the same posterior."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesgen as bg
from bayesgen.report import closed_forms

DRAWS = 20_000
SPREAD = 5.0
"""Standard errors: one in two million of a normal, and a few hundred are compared."""


def table():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], [30, 20, 10])
    shift = np.repeat([0.0, 1.0, 2.0], [30, 20, 10])
    numbers = rng.normal(size=(60, 3)) + shift[:, None] * [1, 0, -1]
    X = pd.DataFrame(numbers, columns=["u", "v", "w"])
    X["color"] = rng.choice(["red", "green", "blue"], 60)
    X["size"] = rng.choice(["small", "large"], 60)
    X["binary"], X["count"] = rng.integers(0, 2, 60), rng.poisson(2 + shift)
    return X, y


CASES = {
    "normal": (bg.Normal(), ["u", "v"]),
    "shared normal": (bg.Normal(spread="shared"), ["u", "v"]),
    "categorical": (bg.Categorical(), ["color", "size"]),
    "learned categorical": (bg.Categorical(rows="learn"), ["color", "size"]),
    "bernoulli": (bg.Bernoulli(), ["binary"]),
    "poisson": (bg.Poisson(), ["count"]),
    "multinomial": (bg.Multinomial(), ["binary", "count"]),
    "joint categorical": (bg.JointCategorical(), ["color", "size"]),
    "quadratic": (bg.MultivariateNormal(), ["u", "v", "w"]),
    "linear": (bg.MultivariateNormal("shared"), ["u", "v", "w"]),
}


def fitted(case):
    X, y = table()
    likelihood, columns = CASES[case]
    return bg.GenerativeClassifier({tuple(columns): likelihood}).fit(X[columns], y)


def draws_of(family, name):
    drawn = family.draw(np.random.default_rng(1), DRAWS)
    if name in ("covariance", "variance") and "cholesky" in drawn:
        covariance = drawn["cholesky"] @ np.swapaxes(drawn["cholesky"], -1, -2)
        if name == "variance":
            return np.diagonal(covariance, axis1=-2, axis2=-1)
        first, second = np.triu_indices(covariance.shape[-1], 1)
        return covariance[..., first, second]
    return drawn.get(name, drawn.get("probs", drawn.get("prob")))


@pytest.mark.parametrize("case", CASES)
def test_marginals_agree_with_draws(case):
    (family,) = fitted(case).posterior_.families.values()
    for one in closed_forms.of_likelihood(family):
        drawn = draws_of(family, one.name)
        mean, sd = np.broadcast_to(one.mean, drawn.shape[1:]), one.sd
        np.testing.assert_array_less(
            np.abs(drawn.mean(axis=0) - mean), SPREAD * drawn.std(axis=0) / np.sqrt(DRAWS) + 1e-12
        )
        fourth = ((drawn - drawn.mean(axis=0)) ** 4).mean(axis=0)
        error = np.sqrt(np.maximum(fourth - drawn.var(axis=0) ** 2, 0) / DRAWS)
        off = np.abs(drawn.var(axis=0) - sd**2)
        np.testing.assert_array_less(off, SPREAD * error + 1e-12)
        if one.name == "covariance":
            assert np.isnan(one.low).all() and np.isnan(one.high).all()
            continue
        for end, share in ((one.low, 0.05), (one.high, 0.95)):
            below = (drawn <= end).mean(axis=0)
            error = np.sqrt(share * (1 - share) / DRAWS)
            np.testing.assert_array_less(np.abs(below - share), SPREAD * error)


def test_normal_intervals_are_those_of_scipy():
    """Student's t and the inverse chi-square, updated by hand."""
    X, y = table()
    prior = bg.Normal(mean=0.0, mean_rows=2.0, variance=1.0, variance_rows=4.0)
    clf = bg.NaiveBayes(prior).fit(X[["u"]], y)
    (family,) = clf.posterior_.families.values()
    mean, variance = closed_forms.of_likelihood(family)
    for k, label in enumerate("abc"):
        x = X.u[y == label].to_numpy()
        rows, degrees, n = 2.0 + len(x), 4.0 + len(x), len(x)
        center = n * x.mean() / rows
        squares = 4.0 + ((x - x.mean()) ** 2).sum() + 2.0 * n / rows * x.mean() ** 2
        t = stats.t(degrees, center, np.sqrt(squares / degrees / rows))
        np.testing.assert_allclose(
            [mean.mean[k, 0], mean.sd[k, 0], mean.low[k, 0], mean.high[k, 0]],
            [t.mean(), t.std(), t.ppf(0.05), t.ppf(0.95)],
        )
        np.testing.assert_allclose(
            [variance.low[k, 0], variance.high[k, 0]],
            squares / stats.chi2(degrees).ppf([0.95, 0.05]),
        )


def test_class_probabilities_are_beta():
    clf = fitted("normal")
    found = closed_forms.of_classes(clf.posterior_.model.classes)
    beta = stats.beta([31, 21, 11], [32, 42, 52])
    np.testing.assert_allclose(found.mean, beta.mean())
    np.testing.assert_allclose([found.low, found.high], [beta.ppf(0.05), beta.ppf(0.95)])


def test_stated_class_probabilities_have_no_spread():
    X, y = table()
    clf = bg.NaiveBayes(class_prior="uniform").fit(X[["u"]], y)
    found = closed_forms.of_classes(clf.posterior_.model.classes)
    assert found.sd.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(found.low, found.high)


def test_cells_have_the_names_of_their_levels():
    """The marginal of the largest cell is that of the most frequent combination."""
    X, y = table()
    clf = fitted("joint categorical")
    posterior, state = clf.posterior_, clf.state_
    ((block, family),) = posterior.families.items()
    names = closed_forms.cell_names(state.level_names(posterior.reader, block), family.n_levels)
    (found,) = closed_forms.of_likelihood(family)
    first = X[y == "a"]
    common = (first.color + "/" + first["size"]).value_counts().idxmax().split("/")
    assert names[int(found.mean[0].argmax())] == f"color={common[0]}, size={common[1]}"


def test_family_without_formulas_has_none():
    X, y = table()
    clf = bg.GenerativeClassifier({("u", "v"): bg.KernelDensity()}).fit(X[["u", "v"]], y)
    (family,) = clf.posterior_.families.values()
    assert closed_forms.of_likelihood(family) is None
