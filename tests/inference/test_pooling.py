"""Log-linear pools: the weights' posterior, its leave-one-out, and what a pool must never do."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import bayesgen as bg
from bayesgen.inference import pooling, stacking
from bayesgen.inference.scores import contrasts, normalized

BLEND = np.array([8.0, 4.0])


def some_parts(n, parts, classes, seed=0):
    """Return parts of rows that tell their class, log class probabilities, labels and weights."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    x = rng.standard_normal((n, parts, classes))
    x[np.arange(n), :, y] += np.linspace(0.0, 1.5, parts)
    uneven = np.log(np.arange(1.0, classes + 1) / np.arange(classes + 1).sum())
    return x, np.tile(uneven, (n, 1)), y, rng.integers(1, 4, n).astype(float)


def objective(weights, parts, log_classes, y, weight, center, scale):
    logits = normalized(log_classes + contrasts(parts) @ weights)
    prior = 0.5 * (((weights - center) / scale) ** 2).sum()
    return prior - logits[np.arange(len(y)), y] @ weight


@pytest.mark.parametrize("classes", [2, 4, 20])
def test_weights_are_the_mode(classes):
    """SciPy finds no lower point, and the root is that of the inverse Hessian there."""
    table = some_parts(60, 5, classes)
    center, scale = np.full(5, 0.2), np.array([0.5, 0.1, 1.0, 0.3, 0.2])
    pool, _ = pooling.learned_pool(*table, centers=center[None], scales=scale[None])
    arguments = (*table, center, scale)
    found = minimize(objective, np.zeros(5), arguments, method="BFGS", options={"gtol": 1e-9})
    np.testing.assert_allclose(pool.weights[0], found.x, atol=1e-4)
    step, hessian = 1e-4, np.empty((5, 5))
    for i, j in np.ndindex(5, 5):
        corners = [
            objective(pool.weights[0] + step * (a * np.eye(5)[i] + b * np.eye(5)[j]), *arguments)
            for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))
        ]
        hessian[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * step**2)
    np.testing.assert_allclose(pool.roots[0] @ pool.roots[0].T @ hessian, np.eye(5), atol=1e-4)


def test_left_out_rows_are_predicted_as_without_them():
    """One Newton step without a row meets the refit within .01 of a log probability."""
    parts, log_classes, y, _ = some_parts(80, 4, 3, seed=1)
    prior = {"centers": np.full((1, 4), 0.3), "scales": np.full((1, 4), 0.5)}
    weight = np.ones(80)
    _, left_out = pooling.learned_pool(parts, log_classes, y, weight, **prior)
    away = []
    for i in range(0, 80, 4):
        rest = np.arange(80) != i
        again, _ = pooling.learned_pool(
            parts[rest], log_classes[rest], y[rest], weight[rest], **prior
        )
        away.append(left_out[i] - again.log_proba(log_classes[i], parts[[i]])[0])
    assert np.abs(away).max() < 0.01
    # the prediction by all rows is farther off: the step leaves the row out indeed
    whole, _ = pooling.learned_pool(parts, log_classes, y, weight, **prior)
    same = whole.log_proba(log_classes, parts)[::4] - left_out[::4]
    assert np.abs(same).max() > 3 * np.abs(away).max()


def test_a_row_of_weight_two_is_two_rows():
    parts, log_classes, y, weight = some_parts(40, 3, 3, seed=2)
    twice = np.repeat(np.arange(40), weight.astype(int))
    prior = pooling.column_priors(parts)
    once, left_out = pooling.learned_pool(parts, log_classes, y, weight, **prior)
    many, each = pooling.learned_pool(
        parts[twice], log_classes[twice], y[twice], np.ones(len(twice)), **prior
    )
    np.testing.assert_allclose(once.mean_weights, many.mean_weights, atol=1e-6)
    np.testing.assert_allclose(left_out[twice], each, atol=1e-6)


def test_a_scale_of_zero_keeps_the_center():
    table = some_parts(30, 3, 2)
    pool, _ = pooling.learned_pool(
        *table, centers=np.array([[0.1, 0.7, 0.2]]), scales=np.array([[0.0, 0.5, 0.0]])
    )
    np.testing.assert_array_equal(pool.weights[0, [0, 2]], [0.1, 0.2])
    assert abs(pool.weights[0, 1] - 0.7) > 0.01
    assert not pool.roots[0][[0, 2]].any()


def test_rows_left_out_by_the_smaller_system_are_those_by_the_larger():
    """Parts that no class differs in change nothing, but make more parts than classes."""
    x, *rest = some_parts(40, 3, 7, seed=6)
    same = np.ones((40, 5, 7))
    priors = pooling.stack_priors(3, 3)
    few, by_parts = pooling.learned_pool(x, *rest, **priors)
    priors = {name: array[:, [0, 1, 2, 2, 2, 2, 2, 2]] for name, array in priors.items()}
    many, by_classes = pooling.learned_pool(np.concatenate([x, same], axis=1), *rest, **priors)
    np.testing.assert_allclose(by_parts, by_classes, atol=1e-7)
    np.testing.assert_allclose(few.weights, many.weights[:, :3], atol=1e-7)


@pytest.mark.parametrize("classes", [2, 3])
def test_more_parts_than_rows_have_the_answers_of_all_directions(classes, monkeypatch):
    """Modes, left-out rows and the covariance of draws are those of weights taken one by one."""
    table = some_parts(12, 40, classes, seed=5)
    priors = pooling.stack_priors(3, 40)
    wide, left_out = pooling.learned_pool(*table, **priors)
    with monkeypatch.context() as patch:
        patch.setattr(pooling.RowSpace, "of", lambda *_: None)
        primal, each = pooling.learned_pool(*table, **priors)
    assert wide.roots.shape[2] == 3 + 12 * (classes - 1)
    assert primal.row_space is None
    np.testing.assert_allclose(wide.share, primal.share, atol=1e-9)
    np.testing.assert_allclose(wide.weights, primal.weights, atol=1e-9)
    np.testing.assert_allclose(left_out, each, atol=1e-9)
    basis = wide.row_space.basis
    across = np.eye(40) - basis @ basis.T
    prior = wide.row_space.scales[:, :, None] * across * wide.row_space.scales[:, None]
    along = basis @ wide.roots @ np.swapaxes(wide.roots, 1, 2) @ basis.T
    expected = primal.roots @ np.swapaxes(primal.roots, 1, 2)
    np.testing.assert_allclose(along + prior, expected, atol=1e-9)


def test_draws_of_more_parts_than_rows_have_that_covariance():
    """By moments of many draws under one prior; weights of scale 0 stay at their center."""
    table = some_parts(5, 20, 2, seed=6)
    centers, scales = np.full((1, 20), 0.4), np.repeat([0.0, 0.6], [2, 18])[None]
    pool, _ = pooling.learned_pool(*table, centers=centers, scales=scales)
    draws = pool.draw(np.random.default_rng(0), 40_000)
    np.testing.assert_array_equal(draws[:, :2], 0.4)
    basis, roots = pool.row_space.basis[2:], pool.roots[0]
    expected = 0.36 * (np.eye(18) - basis @ basis.T) + basis @ roots @ roots.T @ basis.T
    np.testing.assert_allclose(np.cov(draws[:, 2:], rowvar=False), expected, atol=0.01)
    np.testing.assert_allclose(draws.mean(axis=0), pool.weights[0], atol=0.02)


def test_a_pool_of_more_columns_than_rows_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 30)), np.arange(12) % 3
    clf = bg.NaiveBayes(temper="columns").fit(X, y)
    clf.save(tmp_path / "wide.bgm")
    again = bg.load(tmp_path / "wide.bgm")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    for now, then in zip(again.predict_interval(X[:3]), clf.predict_interval(X[:3]), strict=True):
        np.testing.assert_array_equal(now, then)


def test_classes_ruled_out_and_rows_ruled_out():
    """A part that rules out a class cannot veto it; one that rules out all says nothing."""
    parts = np.array([[[0.0, -np.inf, -3.0], [-np.inf] * 3]])
    found = contrasts(parts)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[0, 0, 0] - found[0, 1, 0], 50.0)
    assert not found[0, :, 1].any()


def test_a_row_whose_class_is_impossible_without_it_changes_no_weight():
    parts, log_classes, y, weight = some_parts(40, 3, 3, seed=3)
    alone = log_classes.copy()
    alone[0, y[0]] = -np.inf
    prior = pooling.column_priors(parts)
    found, _ = pooling.learned_pool(parts, alone, y, weight, **prior)
    others, _ = pooling.learned_pool(parts[1:], log_classes[1:], y[1:], weight[1:], **prior)
    np.testing.assert_allclose(found.mean_weights, others.mean_weights, atol=1e-6)


def test_few_rows_without_signal_go_to_the_mean():
    """With 12 rows of noise the pool has little of the weight, with 2,000 of signal most."""
    rng = np.random.default_rng(0)
    shares = []
    for n, signal in ((12, 0.0), (2000, 1.0)):
        y = rng.integers(0, 2, n)
        parts = rng.standard_normal((n, 6, 2))
        parts[np.arange(n), :2, y] += 2 * signal
        log_classes, weight = np.full((n, 2), np.log(0.5)), np.ones(n)
        _, left_out = pooling.learned_pool(
            parts, log_classes, y, weight, **pooling.stack_priors(2, 6)
        )
        both = np.stack([log_classes[np.arange(n), y], left_out[np.arange(n), y]])
        shares.append(stacking.weights_of(both, weight, prior_rows=BLEND)[1])
    assert shares[0] < 0.45 and shares[1] > 0.9


# -- naive Bayes by columns ------------------------------------------------------------------------


def copies(n=300, seed=0):
    """Return one column that tells the class, nine noisy copies of it, and one of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    one = y + rng.standard_normal(n)
    X = pd.DataFrame({f"copy{i}": one + 0.05 * rng.standard_normal(n) for i in range(9)})
    return X.assign(other=1.5 * y + rng.standard_normal(n), noise=rng.standard_normal(n)), y


@pytest.mark.filterwarnings("ignore::bayesgen.errors.WorseThanFrequencies")
def test_copies_share_a_weight_and_noise_has_little():
    X, y = copies()
    clf = bg.NaiveBayes(temper="columns").fit(X, y)
    weights = pd.Series(clf.weights_)
    assert list(weights.index) == list(X)
    assert 0.6 < weights.filter(like="copy").sum() < 1.6
    assert 0.6 < weights["other"] < 1.4 and abs(weights["noise"]) < 0.5
    fresh = copies(4000, seed=1)
    loss = {
        temper: -np.log(bg.NaiveBayes(temper=temper).fit(X, y).predict_proba(fresh[0]))[
            np.arange(4000), fresh[1]
        ].mean()
        for temper in (None, "learn", "columns")
    }
    assert loss["columns"] < loss["learn"] < loss[None]
    assert clf.plot_weights().names[0] == weights.idxmax()


def test_evidence_is_additive_and_blank_rows_have_the_class_prior():
    X, y = copies(120)
    clf = bg.NaiveBayes(temper="columns").fit(X, y)
    rows = X[:5].mask(np.random.default_rng(2).random((5, 11)) < 0.3)
    parts = clf.evidence(rows, 1, 0)
    log = clf.predict_log_proba(rows)
    np.testing.assert_allclose(parts.sum(axis=1), log[:, 1] - log[:, 0], atol=1e-9)
    assert (parts.drop(columns="(prior)")[rows.isna()].fillna(0.0) == 0).all(axis=None)
    prior = (np.bincount(y) + 1) / (len(y) + 2)
    np.testing.assert_allclose(clf.predict_proba(X[:1] * np.nan)[0], prior, rtol=1e-9)


def test_another_prevalence_multiplies_the_odds(tmp_path):
    X, y = copies(120)
    clf = bg.NaiveBayes(temper="columns", class_prior="uniform").fit(X, y)
    log = clf.predict_log_proba(X)
    other = clf.with_class_prior([0.1, 0.9]).predict_log_proba(X)
    # averaged over priors of the weights, so nearly
    odds = (other[:, 1] - other[:, 0]) - (log[:, 1] - log[:, 0])
    np.testing.assert_allclose(odds, np.log(9), atol=0.05)
    clf.save(tmp_path / "model.bgm")
    again = bg.load(tmp_path / "model.bgm")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert again.weights_ == clf.weights_


def test_intervals_hold_the_mean_and_narrow_with_rows():
    widths = []
    for n in (60, 600):
        X, y = copies(n)
        clf = bg.NaiveBayes(temper="columns", random_state=0).fit(X, y)
        low, high = np.moveaxis(clf.predict_interval(X[:40]), -1, 0)
        proba = clf.predict_proba(X[:40])
        assert ((low <= proba + 0.02) & (proba - 0.02 <= high)).mean() > 0.95
        widths.append((high - low).mean())
    assert widths[1] < 0.7 * widths[0]


def test_rows_may_come_in_parts():
    X, y = copies(90)
    whole = bg.NaiveBayes(temper="columns").fit(X, y)
    parts = bg.NaiveBayes(temper="columns")
    for rows in (slice(0, None, 2), slice(1, None, 2)):
        parts.partial_fit(X[rows], y[rows])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-9)


def test_loo_keeps_the_weights():
    X, y = copies(60)
    clf = bg.NaiveBayes(temper="columns").fit(X, y)
    found = clf.loo()["log_proba"]
    for i in (0, 17, 44):
        rest = np.arange(60) != i
        other = bg.NaiveBayes(temper="columns").fit(X[rest], y[rest])
        read = other._read_rows(X.iloc[[i]])
        posterior, rows, n = read.posterior, read.encoded, read.n_rows
        scores = posterior.scores(rows, n)
        assert found[i] == pytest.approx(clf.fitted_.posterior.log_proba(scores)[0, y[i]], abs=1e-9)


def coverage(priors, tables, *, shrunk=1.0, n=100, classes=3):
    """Return the share of rows whose 90 % interval holds the true P, and its standard error.

    Weights are drawn from their prior, labels given parts and weights, intervals from the pool.
    """
    rng, inside = np.random.default_rng(0), []
    size = priors["centers"].shape[1]
    log_classes = np.full((n, classes), -np.log(classes))
    for _ in range(tables):
        prior = rng.integers(len(priors["centers"]))
        noise = rng.standard_normal(size)
        weights = priors["centers"][prior] + priors["scales"][prior] * noise
        parts = 2 * rng.standard_normal((n, size, classes))
        truth = np.exp(normalized(log_classes + contrasts(parts) @ weights))
        y = (rng.random((n, 1)) > truth.cumsum(axis=1)[:, :-1]).sum(axis=1)
        pool, _ = pooling.learned_pool(parts, log_classes, y, np.ones(n), **priors)
        draws = pool.draw(rng, 200)
        draws = pool.mean_weights + shrunk * (draws - pool.mean_weights)
        fresh = contrasts(2 * rng.standard_normal((20, size, classes)))
        true = np.exp(normalized(fresh @ weights))[:, 0]
        probs = np.exp(normalized(np.einsum("rkp,dp->drk", fresh, draws)))[..., 0]
        low, high = np.quantile(probs, [0.05, 0.95], axis=0)
        inside.append(((low <= true) & (true <= high)).mean())
    return np.mean(inside), np.std(inside) / np.sqrt(tables)


POOLS = {
    "stack": pooling.stack_priors(2, 4),
    "columns": pooling.column_priors(np.zeros((1, 4, 3))),
}


@pytest.mark.nightly
@pytest.mark.parametrize("name", POOLS)
def test_intervals_of_pools_cover(name):
    """Within four standard errors of .9; draws nearer to their mean by a third do not."""
    found, error = coverage(POOLS[name], 400)
    assert abs(found - 0.9) < 4 * error < 0.04
    found, error = coverage(POOLS[name], 400, shrunk=2 / 3)
    assert found < 0.9 - 4 * error
