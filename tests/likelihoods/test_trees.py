"""Trees: evidence, predictive and leave-one-out against every forest one by one."""

import laws
import numpy as np
import pandas as pd
import pytest
from case import N_CLASSES
from cases import CASES
from cases_trees import TREES
from rooted_forests import rooted_forests

import bayesgen as bg
from bayesgen.likelihoods import (
    Categorical,
    JointCategorical,
    MultivariateNormal,
    Normal,
    TreeCategorical,
    TreeNormal,
)

SIZES = (2, 3, 2, 2)


def some(name, q, n=40, seed=1):
    """Return a completed prior of one class over q columns, statistics, rows and fresh rows."""
    rng = np.random.default_rng(seed)
    if name == "TreeNormal":
        mix = np.tril(rng.standard_normal((q, q))) + np.eye(q)
        x = rng.standard_normal((n + 6, q)) @ mix.T
        part = TreeNormal(mean=0.3, mean_rows=0.7, variance=1.5, variance_rows=3.0, odds=0.4)
        sizes = ()
    else:
        sizes = SIZES[:q]
        x = np.stack([rng.integers(s, size=n + 6) for s in sizes], axis=1)
        x[:, -1] = np.where(rng.random(n + 6) < 0.7, x[:, 0] % 2, x[:, -1])
        probs = np.concatenate([rng.dirichlet(np.full(s, 3.0)) for s in sizes])
        part = TreeCategorical(probs=probs, rows=5.0, odds=0.4)
    rows = part.statistics(x[:n], np.zeros(n, int), np.ones(n), n_classes=1, n_levels=sizes)
    return part.complete(rows), rows, x[:n], x[n:]


def block(prior, columns):
    """Return the family that other files test, over some of the columns."""
    if isinstance(prior, TreeNormal):
        if len(columns) == 1:
            return Normal(mean=0.3, mean_rows=0.7, variance=1.5, variance_rows=3.0), ()
        return MultivariateNormal(mean=0.3, mean_rows=0.7, scale=1.5, covariance_rows=3.0), ()
    parts = np.split(prior.probs[0], np.cumsum(prior.n_levels)[:-1])
    sizes = tuple(prior.n_levels[j] for j in columns)
    if len(columns) == 1:
        return Categorical(probs=parts[columns[0]], rows=5.0), sizes
    outer = np.outer(parts[columns[0]], parts[columns[1]])
    return JointCategorical(probs=outer, rows=5.0), sizes


def answers(prior, columns, x, fresh):
    """Return log evidence of some of the columns, and their log predictive of fresh rows."""
    part, sizes = block(prior, columns)
    at = list(columns)
    labels = np.zeros(len(x), int)
    rows = part.statistics(x[:, at], labels, np.ones(len(x)), n_classes=1, n_levels=sizes)
    ready = part.complete(rows)
    return ready.log_evidence(rows), ready.posterior(rows).log_predictive(fresh[:, at])[:, 0]


def by_hand(prior, x, fresh):
    """Return log evidence and log predictive, summed over all forests."""
    q = x.shape[1]
    single = [answers(prior, (v,), x, fresh) for v in range(q)]
    pair = {(u, v): answers(prior, (u, v), x, fresh) for u in range(q) for v in range(q) if u != v}
    prior_logs, logs, scores = [], [], []
    for parent in rooted_forests(q):
        edges = [(u, v) for v, u in enumerate(parent) if u != v]
        prior_logs.append(len(edges) * np.log(0.4))
        log, score = (
            sum(s[i] for s in single)
            + sum(pair[u, v][i] - single[u][i] - single[v][i] for u, v in edges)
            for i in (0, 1)
        )
        logs.append(prior_logs[-1] + log)
        scores.append(score)
    total = np.logaddexp.reduce(logs)
    evidence = total - np.logaddexp.reduce(prior_logs)
    return evidence, np.logaddexp.reduce(np.array(logs)[:, None] + scores, axis=0) - total


@pytest.mark.parametrize("q", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TREES)
def test_all_forests_one_by_one(name, q):
    prior, rows, x, fresh = some(name, q)
    evidence, scores = by_hand(prior, x, fresh)
    np.testing.assert_allclose(prior.log_evidence(rows), evidence, rtol=1e-10)
    found = prior.posterior(rows).log_predictive(fresh)[:, 0]
    np.testing.assert_allclose(found, scores, rtol=1e-10)


@pytest.mark.parametrize("name", TREES)
def test_evidence_is_that_of_one_step_at_a_time(name):
    case = CASES[name]
    prior, _, rows, x, y = laws.fitted(case, case.prior, 14)
    steps = 0.0
    for i, k in enumerate(y):
        before = prior.posterior(laws.statistics(case, prior, x[:i], y[:i]))
        steps += before.log_predictive(x[i : i + 1])[0, k]
    laws.close(steps, prior.log_evidence(rows))


def test_cells_of_a_small_table_sum_to_one():
    """Incomplete rows at fit included, where pairs know less than columns do."""
    prior, _, x, _ = some("TreeCategorical", 4)
    gaps = np.where(np.random.default_rng(2).random(x.shape) < 0.3, -1, x)
    table = np.stack(np.unravel_index(np.arange(24), SIZES), axis=1)
    for seen in (x, gaps):
        rows = prior.statistics(
            seen, np.zeros(len(x), int), np.ones(len(x)), n_classes=1, n_levels=SIZES
        )
        total = np.exp(prior.posterior(rows).log_predictive(table)).sum()
        np.testing.assert_allclose(total, 1.0, rtol=1e-12)


def test_densities_of_numbers_with_missing_values_at_fit_integrate_to_one():
    prior, _, x, _ = some("TreeNormal", 2)
    x = np.where(np.random.default_rng(2).random(x.shape) < 0.3, np.nan, x)
    rows = prior.statistics(x, np.zeros(len(x), int), np.ones(len(x)), n_classes=1)
    t, weight = np.polynomial.legendre.leggauss(120)
    line, weight = 4 * t / (1 - t**2), weight * 4 * (1 + t**2) / (1 - t**2) ** 2
    grid = np.stack(np.meshgrid(line, line), axis=-1).reshape(-1, 2)
    density = np.exp(prior.posterior(rows).log_predictive(grid))[:, 0]
    np.testing.assert_allclose(density @ np.outer(weight, weight).ravel(), 1.0, rtol=1e-6)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("guess", ["prior", "vague"])
@pytest.mark.parametrize("name", TREES)
def test_priors_along_a_leading_axis_are_those_without_a_row(name, guess, gaps):
    case = CASES[name]
    part = getattr(case, guess)
    x, y = case.rows(np.random.default_rng(3), 25, gaps)
    weight = np.random.default_rng(4).integers(1, 3, 25).astype(float)
    whole = laws.statistics(case, part, x, y, weight)
    alone = part.statistics(x, np.arange(25), weight, n_classes=25, n_levels=case.n_levels)
    apart = {k: np.zeros((25, N_CLASSES, *v.shape[1:])) for k, v in alone.arrays().items()}
    for k, v in alone.arrays().items():
        apart[k][np.arange(25), y] = v
    rest = whole - alone.with_arrays(apart)
    found = part.complete(rest).posterior(rest).log_predictive_paired(x)
    evidence = part.complete(rest).log_evidence(rest)
    for i in range(25):
        others = np.arange(25) != i
        rows = laws.statistics(case, part, x[others], y[others], weight[others])
        prior = part.complete(rows)
        laws.close(found[i], prior.posterior(rows).log_predictive(x[i : i + 1])[0])
        laws.close(evidence[i], prior.log_evidence(rows))


@pytest.mark.parametrize("name", TREES)
def test_columns_that_repeat_each_other(name):
    """Evidence ratios of e^1000 and more: finite, and near what one of the two says."""
    rng = np.random.default_rng(5)
    if name == "TreeNormal":
        x, sizes = rng.standard_normal((3000, 1)).repeat(2, axis=1), ()
        x[:, 1] += 0.01 * rng.standard_normal(3000)
        x = np.concatenate([x, rng.standard_normal((3000, 1))], axis=1)
    else:
        x, sizes = rng.integers(8, size=(3000, 3)), (8, 8, 8)
        x[:, 1] = x[:, 0]
    part = TREES[name].vague
    y = np.zeros(3000, int)
    rows = part.statistics(x, y, np.ones(3000), n_classes=1, n_levels=sizes)
    prior = part.complete(rows)
    after = prior.posterior(rows)
    assert after.log_ratios()[0, 0, 1] > 1000
    assert np.isfinite(prior.log_evidence(rows)) and np.isfinite(after.log_predictive(x)).all()
    np.testing.assert_allclose(after.edges()[0, 0, 1], 1.0, rtol=1e-12)
    draws = after.draw_forests(rng, 200)
    assert ((draws[..., 0] == 1) | (draws[..., 1] == 0)).all()
    assert all(np.isfinite(value).all() for value in after.draw(rng, 20).values())


@pytest.mark.parametrize("name", TREES)
def test_edges_of_drawn_forests(name):
    """5 standard errors, 9 numbers."""
    case = CASES[name]
    after, n = laws.fitted(case, case.prior)[1], 20_000
    parent = after.draw_forests(np.random.default_rng(6), n)
    lean = parent[..., None] == np.arange(3)
    lean &= parent[..., None] != np.arange(3)[:, None]
    shown = (lean | np.swapaxes(lean, -1, -2))[..., np.arange(3)[:, None] != np.arange(3)]
    exact = after.edges()[:, np.arange(3)[:, None] != np.arange(3)]
    error = np.sqrt(exact * (1 - exact) / n)
    assert (np.abs(shown.mean(axis=0) - exact) <= 5 * error).all()


@pytest.mark.parametrize("name", TREES)
def test_one_column_is_naive(name):
    prior, rows, x, fresh = some(name, 1)
    evidence, scores = answers(prior, (0,), x, fresh)
    laws.close(prior.log_evidence(rows), evidence)
    laws.close(prior.posterior(rows).log_predictive(fresh)[:, 0], scores)
    assert (prior.posterior(rows).edges() == 0).all()


@pytest.mark.parametrize("name", TREES)
def test_small_odds_are_naive(name):
    prior, rows, x, fresh = some(name, 3)
    alone = sum(answers(prior, (v,), x, fresh)[1] for v in range(3))
    timid = prior.with_arrays({"odds": np.array([1e-300])})
    laws.close(timid.posterior(rows).log_predictive(fresh)[:, 0], alone)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.UninformativeColumn")
@pytest.mark.parametrize("scale", [1e140, 1e-140])
def test_units_of_any_size(scale, rng):
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    expected = bg.GenerativeClassifier(TreeNormal()).fit(X, y).predict_proba(X)
    found = bg.GenerativeClassifier(TreeNormal()).fit(X * scale, y).predict_proba(X * scale)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore::bayesgen.errors.UninformativeColumn")
@pytest.mark.parametrize("cells", [2.0, np.nan, "level", None])
def test_columns_without_a_say_leave_the_class_prior(cells):
    kind = TreeNormal() if isinstance(cells, float) else TreeCategorical()
    X, y = pd.DataFrame({"a": [cells] * 5, "b": [cells] * 5}), [0, 1, 0, 1, 1]
    clf = bg.GenerativeClassifier(kind).fit(X, y)
    np.testing.assert_allclose(clf.predict_proba(X)[:, 1], 4 / 7)
    # without a row of class 0: (3 + 1) / (4 + 2); without one of class 1: (2 + 1) / (4 + 2)
    expected = np.log([1 / 3, 1 / 2, 1 / 3, 1 / 2, 1 / 2])
    np.testing.assert_allclose(clf.loo()["log_proba"], expected)
