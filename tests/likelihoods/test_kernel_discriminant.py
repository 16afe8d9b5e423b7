"""The kernel discriminant against sums of SciPy's densities, refits, and hostile tables."""

import kernel_coverage
import numpy as np
import pytest
from scipy import stats

import bayesgen as bg
from bayesgen.errors import InvalidArgument, NoAttribute, UnsupportedOperation
from bayesgen.inference.leave_one_out import Block, LabelledRows, scored
from bayesgen.likelihoods.kernels import guesses
from bayesgen.likelihoods.kernels import left_out as leaving_out
from bayesgen.likelihoods.kernels.fitted import GRID
from bayesgen.likelihoods.kernels.interpolation import ERROR, interpolated
from bayesgen.likelihoods.selection import Selection

close = np.testing.assert_allclose


def table(n=40, p=3, classes=3, seed=0):
    """Return correlated columns of different units, and weights other than one."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.resize(np.arange(classes), n))
    mix = np.eye(p) + 0.6 * rng.standard_normal((p, p))
    x = (rng.standard_normal((n, p)) @ mix + y[:, None]) * 10.0 ** np.arange(p)
    return x, y, rng.choice([0.5, 1.0, 2.0], n)


def fitted(prior, x, y, weight, classes=3):
    rows = prior.statistics(x, y, weight, n_classes=classes)
    return prior.complete(rows).posterior(rows)


def spread(x, y, weight):
    """Return the covariance of the kernels, by hand."""
    means = [np.average(x[y == k], axis=0, weights=weight[y == k]) for k in range(3)]
    away = x - np.array(means)[y]
    scatter = (weight[:, None] * away).T @ away
    rows, p = weight.sum() - 3, x.shape[1]
    share = np.where(np.eye(p) > 0, 1.0, rows / (rows + p + 1))
    return scatter / weight.sum() * share


@pytest.mark.parametrize("seen", [[0, 1, 2], [1], [0, 2]])
def test_the_density_is_a_sum_of_kernels_and_a_student_t(seen):
    x, y, weight = table()
    part = fitted(bg.KernelDiscriminant(0.4, base_rows=2.5), x, y, weight)
    matrix = spread(x, y, weight)
    overall = np.average(x, axis=0, weights=weight)
    normal = bg.MultivariateNormal(mean=overall, scale=matrix, covariance_rows=16)
    broad = np.exp(fitted(normal, x, y, weight).log_predictive(rows := gaps(x[:6] + 1.0, seen)))
    for k in range(3):
        mine, own = x[y == k], weight[y == k]
        kernel = stats.multivariate_normal(cov=0.16 * matrix[np.ix_(seen, seen)])
        each = [own @ kernel.pdf(row[seen] - mine[:, seen]) for row in rows]
        expected = (each + 2.5 * broad[:, k]) / (own.sum() + 2.5)
        close(part.log_predictive(rows)[:, k], np.log(expected), rtol=1e-10)


def gaps(x, seen):
    return np.where(np.isin(np.arange(x.shape[1]), seen), x, np.nan)


def scores(x, y, weight):
    """Return log p_h(x_i given its class and the rows that differ from it), by refits."""
    out = np.empty((len(y), len(GRID)))
    for i, g in np.ndindex(out.shape):
        kept = (x != x[i]).any(axis=1) | (y != y[i])
        part = fitted(bg.KernelDiscriminant(float(GRID[g])), x[kept], y[kept], weight[kept])
        out[i, g] = part.log_predictive(x[i : i + 1])[0, y[i]]
    return out


def in_choice(x, y, weight):
    """Return the weight of each row's score: equal rows count once, and at most one."""
    out = np.zeros(len(y))
    for i in range(len(y)):
        same = (x == x[i]).all(axis=1) & (y == y[i])
        if np.flatnonzero(same)[0] == i:
            out[i] = min(weight[same].sum(), 1.0)
    return out


def test_weights_of_bandwidths_are_products_of_leave_one_out_densities():
    x, y, weight = table(30)
    x[4], y[4] = x[5], y[5]
    logs = in_choice(x, y, weight) @ scores(x, y, weight)
    part = fitted(bg.KernelDiscriminant(), x, y, weight)
    close(part.mixture.log_weight, logs - np.logaddexp.reduce(logs), rtol=1e-9, atol=1e-9)


def left_out(prior, x, y, weight, away, classes=3):
    whole = prior.statistics(x, y, weight, n_classes=classes)
    rows = LabelledRows({}, y, weight, away)
    completed = prior.complete(whole)
    selection = Selection.of(completed, completed.uninformative())
    informative = selection.take(completed)
    return Block(prior, informative, selection, whole, x, rows, classes).scores()


@pytest.mark.parametrize("lose", ["one", "all"])
def test_leaving_out_is_a_mixture_of_refits_at_every_bandwidth(lose):
    """The weight of h without row i is its weight over p_h(x_i given its class and the others)."""
    x, y, weight = table(30)
    x[4], y[4] = x[5], y[5]
    away = weight if lose == "all" else np.minimum(weight, 1.0)
    found = left_out(bg.KernelDiscriminant(), x, y, weight, away)
    log_weight = fitted(bg.KernelDiscriminant(), x, y, weight).mixture.log_weight
    compared = [0, 4, 5, 11, 18, 29]  # two of them are equal
    refits = np.empty((len(compared), 3, len(GRID)))
    for at, g in np.ndindex(len(compared), len(GRID)):
        i = compared[at]
        less = weight - away * (np.arange(30) == i)
        kept = less > 0
        part = fitted(bg.KernelDiscriminant(float(GRID[g])), x[kept], y[kept], less[kept])
        refits[at, :, g] = part.log_predictive(x[i : i + 1])[0]
    total = np.array([weight[(x == row).all(axis=1)].sum() for row in x])
    less = np.minimum(total, 1) - np.minimum(total - away, 1)
    own = log_weight - less[:, None] * scores(x, y, weight)
    own -= np.logaddexp.reduce(own, axis=1, keepdims=True)
    expected = np.logaddexp.reduce(refits + own[compared, None], axis=2)
    close(found[compared], expected, rtol=1e-9, atol=1e-9)


def test_one_of_the_two_rows_of_a_class_is_left_out_as_by_a_refit():
    x, y, weight = table(20)
    y[:] = 0
    y[[3, 7]], x[3, 0], x[9, 0] = 1, 0.0, 0.0
    weight[:], signed = 1.0, x.copy()
    signed[3, 0] = -0.0
    prior = bg.KernelDiscriminant(0.5)
    found = left_out(prior, x, y, weight, weight, classes=2)
    for i in (3, 7):
        kept = np.arange(20) != i
        again = fitted(prior, x[kept], y[kept], weight[kept], classes=2)
        close(found[i], again.log_predictive(x[i : i + 1])[0], rtol=1e-9)
    close(left_out(prior, signed, y, weight, weight, classes=2), found, rtol=1e-12)


@pytest.mark.parametrize("bandwidth", ["learn", 0.4])
def test_a_row_without_weight_is_predicted_by_all_others(bandwidth):
    x, y, weight = table(30)
    weight[::7] = 0.0
    prior = bg.KernelDiscriminant(bandwidth)
    found = left_out(prior, x, y, weight, weight)
    close(found[::7], fitted(prior, x, y, weight).log_predictive(x[::7]), rtol=1e-9)


def test_leaving_out_incomplete_rows_is_a_refit_with_the_same_expected_cells():
    x, y, weight = table(30)
    x[np.random.default_rng(1).random(x.shape) < 0.2] = np.nan
    x[7] = np.nan
    prior = bg.KernelDiscriminant(0.5)
    found = left_out(prior, x, y, weight, weight)
    assert (found[7] == 0).all()
    rows = prior.statistics(x, y, weight, n_classes=3)
    full = prior.complete(rows).mixture
    for i in np.flatnonzero(~np.isnan(x).all(axis=1)):
        others = np.arange(30) != i
        rest = prior.statistics(x[others], y[others], weight[others], n_classes=3)
        guess = guesses.guessed(guesses.moments(rest, full.class_mean, full.covariance))
        other = full.with_arrays(guess.arrays())
        alone = other.given(rest).after
        kernels = alone.with_arrays({"covariance": guess.scale[0]})
        close(found[i], kernels.predictive()(x[i : i + 1])[0], rtol=1e-9)


def named(value):
    return value if isinstance(value, str) else ""


def one_column():
    rng = np.random.default_rng(5)
    y = np.arange(400) % 3
    normal = rng.standard_normal((400, 1)) + y[:, None]
    yield "normal", normal, y
    yield "outlier", np.where(np.arange(400)[:, None] == 7, 1e9, normal), y
    yield "clusters far apart", normal + 1e3 * y[:, None], y
    yield "rounded", np.round(normal, 1), y
    yield "spikes", np.where(rng.random((400, 1)) < 0.7, 0.0, normal), y
    yield "log-normal", np.exp(3 * normal), y
    yield "missing", np.where(rng.random((400, 1)) < 0.1, np.nan, normal), y


@pytest.mark.parametrize(("what", "x", "y"), list(one_column()), ids=named)
def test_many_rows_of_one_column_are_interpolated_to_the_stated_error(what, x, y):
    part = fitted(bg.KernelDiscriminant(0.02 if what == "normal" else "learn"), x, y, np.ones(400))
    log_predictive = part.predictive()
    low, high = np.nanquantile(x, [0.02, 0.98])
    between = np.random.default_rng(6).uniform(2 * low - high, 2 * high - low, (5000, 1))
    rows = np.concatenate([x, between, [[np.nan], [-1e12], [1e100]]])
    few = [log_predictive(rows[i : i + 100]) for i in range(0, len(rows), 100)]
    exact = np.concatenate(few)
    error = np.abs(log_predictive(rows) - exact) / np.maximum(np.abs(exact), 1.0)
    assert error.max() < ERROR


@pytest.mark.parametrize(("what", "x", "y"), list(one_column()), ids=named)
@pytest.mark.parametrize("pieces", [8, 32, 1000])
def test_sums_of_kernels_on_a_grid_are_those_at_its_points(what, x, y, pieces):
    """Far from all centers too, and of a class without any."""
    part = fitted(bg.KernelDiscriminant("learn"), x, y, np.ones(400), classes=4).mixture
    kernels, (low, high) = part.kernels, np.nanquantile(x, [0.0, 1.0])
    edges = np.linspace(2 * low - high, 2 * high - low, pieces + 1)
    offset = np.linspace(-0.5, 0.5, 14) * (edges[1] - edges[0])
    middle = (edges[1:] + edges[:-1]) / 2
    every = kernels.log_sums((middle[:, None] + offset).reshape(-1, 1), part.grid)
    close(kernels.log_sums_on_grid(middle, offset, part.grid), every, rtol=1e-12, atol=1e-11)


def test_a_function_that_no_polynomial_follows_is_evaluated_itself():
    rows = []

    def kinked(x):
        rows.append(len(x))
        return np.abs(x - 0.1) + np.array([0.0, 1.0])

    found = interpolated(kinked, -1.0, 1.0)
    x = np.linspace(-1.2, 1.2, 2401)[:, None]
    before = sum(rows)
    close(found(x), kinked(x), rtol=0, atol=ERROR)
    assert sum(rows) - before < 2401 + 500


def test_a_subset_of_rows_has_the_weight_of_all():
    x, y, weight = table(200)
    prior = bg.KernelDiscriminant(0.5, centers=30)
    part = fitted(prior, x, y, weight)
    counts = np.bincount(y, weight)
    kernels = part.mixture.kernels
    assert 27 <= len(kernels.x) <= 30
    close(np.bincount(kernels.y, kernels.weight), counts)
    assert len(np.unique(kernels.x, axis=0)) == len(kernels.x)
    assert "distinct rows" in part.caveat and "centers=30" in part.caveat
    own = left_out(prior, x, y, weight, weight)
    whole = part.log_predictive(x)
    at = np.flatnonzero(np.isin(x, kernels.x).all(axis=1))
    lower = own[at, y[at]] < whole[at, y[at]]
    assert lower.all()
    clf = bg.GenerativeClassifier(prior).fit(x, y)
    assert "are centers of the kernels" in clf.report_.verdict


def test_one_column_without_base_is_the_kernel_density_of_the_lectures():
    x, y, weight = table(60, p=1)
    part = fitted(bg.KernelDiscriminant(0.3, base_rows=1e-12), x, y, weight)
    width = 0.3 * np.sqrt(part.mixture.covariance[0, 0])
    other = fitted(bg.KernelDensity(bandwidth=width), x, y, weight)
    close(part.log_predictive(x), other.log_predictive(x), rtol=1e-9)


@pytest.mark.parametrize("far", [1e3, 1e8, 1e100])
def test_far_away_the_student_t_carries_the_density(far):
    x, y, weight = table(30)
    part = fitted(bg.KernelDiscriminant(), x, y, weight)
    rows = np.full((1, 3), far) * 10.0 ** np.arange(3)
    expected = part.mixture.base.log_predictive(rows) - np.log(part.mixture.kernels.count + 1.0)
    close(part.log_predictive(rows), expected, rtol=1e-9)
    out = part.log_density_draws_given_row(np.random.default_rng(0), 5)(rows, np.zeros((5, 1), int))
    assert np.isfinite(out).all()


def test_missing_cells_are_drawn_from_the_density_given_the_others():
    x, y, weight = table(25)
    part = fitted(bg.KernelDiscriminant(), x, y, weight)
    rng, n = np.random.default_rng(2), 20_000
    row = np.array([[x[0, 0], np.nan, x[0, 2]]])
    drawn = part.fill(np.repeat(row, n, axis=0), np.full(n, 1), rng)
    assert (drawn[:, [0, 2]] == row[0, [0, 2]]).all()
    line = np.linspace(x[:, 1].min() - 60, x[:, 1].max() + 60, 4001)
    full = np.repeat(row, len(line), axis=0)
    full[:, 1] = line
    density = np.exp(part.log_predictive(full)[:, 1] - part.log_predictive(row)[0, 1])
    mass = density * (line[1] - line[0])
    close(mass.sum(), 1.0, rtol=1e-4)
    for power in (1, 2):
        error = (drawn[:, 1] ** power).std() / np.sqrt(n)
        assert abs((drawn[:, 1] ** power).mean() - mass @ line**power) < 5 * error
    params = {name: value[0] for name, value in part.draw(rng, 1).items()}
    again = part.fill_given(params, np.repeat(row, 3, axis=0), np.full(3, 1), rng)
    assert np.isfinite(again).all() and (again[:, 0] == row[0, 0]).all()
    simulated = part.simulate(params, np.arange(3), rng)
    assert simulated.shape == (3, 3) and np.isfinite(simulated).all()


def hostile():
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    yield "duplicates", np.repeat(x[:4], 5, axis=0), np.repeat([0, 1, 0, 1], 5)
    yield "one row", x, np.r_[2, y[1:]]
    yield "two rows", x[:2], y[:2]
    yield "constant", np.column_stack([x, np.full(20, 7.0)]), y
    yield "unobserved", np.column_stack([x, np.full(20, np.nan)]), y
    yield "wide", rng.standard_normal((8, 30)), np.arange(8) % 2
    yield "very wide", rng.standard_normal((8, 70)), np.arange(8) % 2
    yield "one column", x[:, :1], y
    yield "far classes", x + 1e6 * y[:, None], y
    yield "almost constant", np.column_stack([x, np.r_[1.0, np.zeros(19)]]), y
    yield "constant within classes", np.column_stack([x, y]), y
    yield "collinear", np.column_stack([x, x[:, 0], -x[:, 0]]), y
    yield "outlier", np.where(np.arange(60).reshape(20, 3) == 30, 1e12, x), y
    yield "units", x * np.array([1e-100, 1.0, 1e100]), y
    yield "missing in a class", np.where((y[:, None] == 0) & (np.arange(3) == 1), np.nan, x), y


@pytest.mark.parametrize(("what", "x", "y"), list(hostile()), ids=named)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
def test_hostile_tables(what, x, y):
    clf = bg.GenerativeClassifier(
        bg.KernelDiscriminant(), random_state=0, power_transform=False
    ).fit(x, y)
    probs = clf.predict_proba(x)
    assert np.isfinite(probs).all()
    assert np.isfinite(clf.loo()).all(axis=None)
    if what != "units":  # a refit of a single row
        prior = bg.KernelDiscriminant(0.3)
        found = left_out(prior, x, y, np.ones(len(y)), np.ones(len(y)), int(y.max()) + 1)
        rest = prior.statistics(x[1:], y[1:], np.ones(len(y) - 1), n_classes=int(y.max()) + 1)
        if not np.isnan(x).any():
            expected = scored(prior, rest, x[:1], int(y.max()) + 1)
            close(found[0], expected, rtol=1e-6, atol=1e-6)
    low, high = np.moveaxis(clf.predict_interval(x), -1, 0)
    assert (low <= high).all()
    drawn = np.asarray(clf.sample(3)[0], dtype=float)
    assert np.isfinite(drawn[:, :1]).all()


def test_a_class_without_rows_has_the_density_of_the_base():
    x, y, weight = table(20, classes=2)
    part = fitted(bg.KernelDiscriminant(), x, y, weight)
    rows = bg.KernelDiscriminant().statistics(x, y, weight, n_classes=3)
    base = bg.KernelDiscriminant().complete(rows).mixture.base
    close(part.log_predictive(x)[:, 2], base.log_predictive(x)[:, 2])


def test_the_model_saves_and_updates(tmp_path):
    x, y, _ = table(60)
    clf = bg.GenerativeClassifier(bg.KernelDiscriminant(centers=40), random_state=1).fit(x, y)
    clf.save(tmp_path / "kernels.bgm")
    assert (bg.load(tmp_path / "kernels.bgm").predict_proba(x) == clf.predict_proba(x)).all()
    parts = bg.GenerativeClassifier(bg.KernelDiscriminant(centers=40))
    parts.partial_fit(x[:25], y[:25], classes=[0, 1, 2]).partial_fit(x[25:], y[25:])
    close(parts.predict_proba(x), clf.predict_proba(x), rtol=1e-9)


def test_curved_classes_are_told_apart():
    rng = np.random.default_rng(5)
    y = np.arange(300) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, 300), 1.0 + 2.0 * y
    x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    x += 0.3 * rng.standard_normal(x.shape)
    clf = bg.GenerativeClassifier(bg.KernelDiscriminant()).fit(x, y)
    assert -clf.loo()["log_proba"].mean() < 0.05


def test_incomplete_training_rows_are_stated():
    x, y, _ = table(40)
    x[3, 1] = np.nan
    clf = bg.GenerativeClassifier(bg.KernelDiscriminant(), random_state=0).fit(x, y)
    assert clf.inference_ == "exact"
    assert "expectation of their missing cells" in clf.report_.verdict


@pytest.mark.parametrize("inference", ["mle", "map", "nuts", "svi"])
def test_other_inference_is_refused(inference):
    x, y, _ = table(30)
    with pytest.raises(UnsupportedOperation, match="inference='exact'"):
        bg.GenerativeClassifier(bg.KernelDiscriminant(), inference=inference).fit(x, y)


def test_there_is_no_evidence():
    x, y, _ = table(30)
    with pytest.raises(NoAttribute, match="KernelDiscriminant has no evidence"):
        _ = bg.GenerativeClassifier(bg.KernelDiscriminant()).fit(x, y).log_evidence_


@pytest.mark.parametrize("wrong", [{"bandwidth": 0.0}, {"bandwidth": np.inf}, {"base_rows": -1.0}])
def test_settings_not_above_zero_are_refused(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        bg.KernelDiscriminant(**wrong)


@pytest.mark.parametrize("wrong", [{"bandwidth": "nrd0"}, {"centers": 0}, {"centers": 2.5}])
def test_other_settings_are_refused(wrong):
    with pytest.raises(InvalidArgument, match=next(iter(wrong))):
        bg.KernelDiscriminant(**wrong)


@pytest.mark.parametrize("seen", [[0, 1, 2], [1]])
def test_draws_have_the_moments_of_dirichlet_weights(seen):
    """Densities are means of kernels and t by Dirichlet weights: E = p, and a variance by hand."""
    x, y, weight = table()
    part = fitted(bg.KernelDiscriminant(0.4, base_rows=2.5), x, y, weight)
    matrix, rows = 0.16 * spread(x, y, weight)[np.ix_(seen, seen)], gaps(x[:6] + 1.0, seen)
    density = np.exp(part.log_density_fn(part.draw(np.random.default_rng(4), n := 20_000))(rows))
    broad = np.exp(part.mixture.base.log_predictive(rows))
    kernel = stats.multivariate_normal(cov=matrix)
    for k in range(3):
        mine, own = x[y == k], np.append(weight[y == k], 2.5)
        for r, row in enumerate(rows):
            heights = np.append(kernel.pdf(row[seen] - mine[:, seen]), broad[r, k])
            mean = own @ heights / own.sum()
            variance = own @ (heights - mean) ** 2 / (own.sum() * (own.sum() + 1))
            found = density[r, :, k]
            fourth = ((found - mean) ** 4).mean()
            assert abs(found.mean() - mean) < 5 * np.sqrt(variance / n)
            error = np.sqrt((fourth - variance**2) / n)
            assert abs(((found - mean) ** 2).mean() - variance) < 5 * error


@pytest.mark.nightly
def test_intervals_cover_the_probability_under_smoothed_classes():
    """A Bayesian bootstrap of a kernel density: with many rows it covers what kernels smooth to."""
    rng = np.random.default_rng(7)
    found = kernel_coverage.coverage(kernel_coverage.rings(), 0.5, 2000, 30, rng)
    share, error = found["smoothed"]
    assert abs(share - kernel_coverage.PROB) < 4 * error < 0.08
    # and no more than that: with so wide a kernel the true one lies elsewhere
    share, error = found["true"]
    assert share < kernel_coverage.PROB - 10 * error


def require_units_where_one_row_differs():
    """Without some row the column is constant, or constant within classes: up to rounding alone."""
    x, y = np.zeros((21, 1)), np.repeat([0, 1, 2, 3], [6, 5, 5, 5])
    x[20] = 1.0
    one = fitted(bg.KernelDiscriminant(), x, y, np.ones(21), 4)
    for unit, origin in ((12.0, -12.0), (-0.3, 0.0), (0.001, 0.7)):
        other = fitted(bg.KernelDiscriminant(), unit * x + origin, y, np.ones(21), 4)
        close(other.mixture.log_weight, one.mixture.log_weight, rtol=0, atol=1e-9)


def test_rounding_is_no_spread_of_a_column_without_one_row():
    require_units_where_one_row_differs()


def test_fault_is_caught_rounding_taken_for_spread(monkeypatch):
    monkeypatch.setattr(leaving_out, "NO_SPREAD", 0.0)
    with pytest.raises(AssertionError):
        require_units_where_one_row_differs()
