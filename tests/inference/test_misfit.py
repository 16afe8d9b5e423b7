"""The misfit of a stack: sums over pairs of rows, what they find, and draws that differ by it."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

import bayesgen as bg
from bayesgen.estimators.stack.interactions import thirds
from bayesgen.inference import class_draws, misfit, residual_kernels
from bayesgen.inference.class_draws import ClassDraws, no_logits
from bayesgen.inference.residual_kernels import LeafKernel
from bayesgen.interactions import Cell, Forest, growing
from bayesgen.interactions import forest as forests

COLUMNS = 5


def levels(n, rng, missing=0.0):
    columns = rng.integers(0, 3, (COLUMNS, n))
    return [np.where(rng.random(n) < missing, -1, x) for x in columns]


def judged(n, sd, seed):
    """Return rows of a model without columns, whose log-odds differ by a table of two columns."""
    rng = np.random.default_rng(seed)
    columns = levels(n, rng)
    table = rng.standard_normal((3, 3))
    f = (sd * (table - table.mean()) / table.std())[columns[1], columns[3]]
    y = (rng.random(n) < expit(f)).astype(int)
    return columns, np.full((n, 2), np.log(0.5)), y, np.ones(n)


def kernel(columns, fractions, i, j):
    """Return K of two rows from its definition."""
    both = [
        (x[i] == x[j]) / p[x[i]] - 1
        for x, p in zip(columns, fractions, strict=True)
        if min(x[i], x[j]) >= 0
    ]
    return sum(both) + sum(a * b for a, b in itertools.combinations(both, 2))


@pytest.mark.parametrize("floats", [10, 10_000])
def test_sums_over_pairs_are_those_of_the_definition(floats, monkeypatch, rng):
    monkeypatch.setattr(residual_kernels, "PAIRED_FLOATS", floats)
    n, columns = 12, levels(12, rng, missing=0.2)
    weight, residual = rng.uniform(0.5, 3, n), rng.standard_normal((n, 4))
    proba = rng.dirichlet(np.ones(4), n)
    covariance = [np.diag(p) - np.outer(p, p) for p in proba]
    count = [np.bincount(x[x >= 0], weight[x >= 0], minlength=3) for x in columns]
    fractions = [c / c.sum() for c in count]
    expected = np.zeros(3)
    for i, j in itertools.product(range(n), range(n)):
        pairs = weight[i] * weight[j] - (i == j) * weight[i]
        k, c = kernel(columns, fractions, i, j), (covariance[i] * covariance[j]).sum()
        expected += pairs * np.array([k * (residual[i] @ residual[j]), c, k**2 * c])
    found = residual_kernels.ColumnKernel.of(columns, weight)
    (sums,) = residual_kernels.pair_sums([found], residual, proba, weight)
    np.testing.assert_allclose(sums, expected, rtol=1e-9)
    size = COLUMNS * 2 + COLUMNS * (COLUMNS - 1) / 2 * 4
    assert residual_kernels.n_functions(found.functions) == size


def test_a_row_of_weight_two_is_two_rows():
    columns, log_proba, y, weight = judged(40, 1.0, 0)
    twice = np.concatenate([np.arange(40), np.arange(10)])
    weight[:10] = 2
    one = misfit.learned_misfit(columns, log_proba, y, weight)
    copies = [x[twice] for x in columns]
    two = misfit.learned_misfit(copies, log_proba[twice], y[twice], np.ones(50))
    np.testing.assert_allclose(one.weight, two.weight, atol=1e-12)
    np.testing.assert_allclose(one.sd, two.sd, rtol=1e-12)


@pytest.mark.parametrize("sd", [0.0, 0.7, 1.5])
def test_the_posterior_is_around_the_misfit(sd):
    """The means over tables lie near the truth: of so many rows the prior hardly matters."""
    means = [
        float(found.weight @ misfit.SDS)
        for found in (misfit.learned_misfit(*judged(800, sd, seed)) for seed in range(8))
    ]
    assert abs(np.mean(means) - sd) < 0.2


def test_more_rows_leave_less_unknown():
    """Of a standard deviation of 1.5, what so many rows do not resolve of 50 functions."""
    at = int(np.searchsorted(misfit.SDS, 1.5 - 1e-9))
    for n in (100, 2000):
        found = misfit.learned_misfit(*judged(n, 1.5, 1))
        information = n * 0.25 / (1 + np.pi / 8 * 1.5**2)
        expected = 1.5 / np.sqrt(1 + 1.5**2 * information / 50)
        assert found.sd[at] == pytest.approx(expected)


def test_rows_of_an_impossible_class_tell_nothing():
    columns, log_proba, y, weight = judged(100, 1.0, 2)
    # label 1, of probability 0
    log_proba[y.argmax()] = 0.0, -np.inf
    found = misfit.learned_misfit(columns, log_proba, y, weight)
    weight[y.argmax()] = 0.0
    without = misfit.learned_misfit(columns, log_proba, y, weight)
    np.testing.assert_array_equal(found.weight, without.weight)


# -- functions that are constant in leaves ---------------------------------------------------------


def grown(x, y):
    """Return a forest and its kernel."""
    encoded, cells = {"a": x}, [Cell("a", j, 0) for j in range(x.shape[1])]
    weight = np.ones(len(y))
    forest = Forest.grown(cells, encoded, y, weight, 2)
    outside = forest.outside(encoded, y, weight)
    return forest, LeafKernel.of(forest.inside(encoded), outside, forest.root, weight)


def test_leaves_are_shared_as_trees_without_both_rows_say(monkeypatch, rng):
    monkeypatch.setattr(growing, "FEWEST", 20)
    monkeypatch.setattr(growing, "MOST", 20)
    n = 15
    x, y = rng.standard_normal((n, 3)), rng.integers(0, 2, n)
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 0] = np.arange(n)  # no row is another
    forest, kernel = grown(x, y)
    entry = forests.row_positions(forest.key, x, y)
    share = np.zeros((n, 20, len(forest.column)))
    for row, tree, leaf, part in zip(*forest.leaves_of(x), strict=True):
        share[row, tree, leaf] += part
    expected = np.zeros((n, n))
    for i, j in itertools.product(range(n), range(n)):
        agree = (share[i] * share[j]).sum(axis=1)
        out = (forest.bag[:, entry[i]] == 0) & (forest.bag[:, entry[j]] == 0)
        expected[i, j] = agree[out].mean() if out.any() else 0
    center = np.eye(n) - 1 / n
    expected = center @ expected @ center
    np.testing.assert_allclose(kernel.of_rows(slice(None)), expected, atol=1e-12)
    # averages over few trees have eigenvalues below 0
    values = np.linalg.eigvalsh(expected)
    values = values[-len(kernel.shares()) :]
    assert values[0] > 0
    np.testing.assert_allclose(np.sort(kernel.shares()), values / values.sum(), atol=1e-9)


def quadrants(seed, n, size):
    """Return rows of numbers and labels that the sign of a product decides, and their forest."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, 3))
    y = (rng.random(n) < expit(size * np.sign(x[:, 0] * x[:, 1]))).astype(int)
    columns = [thirds(column, np.ones(n)) for column in x.T]
    return columns, np.full((n, 2), np.log(0.5)), y, np.ones(n), grown(x, y)[1]


def require_noise_shows_nothing(seed):
    """Of labels that are noise leaves show nothing, although each was grown to have one class."""
    *model, leaves = quadrants(seed, 300, 0.0)
    without, found = misfit.learned_misfit(*model), misfit.learned_misfit(*model, leaves)
    assert found.weight @ found.sd < without.weight @ without.sd + 0.15


@pytest.mark.parametrize("seed", range(3))
def test_leaves_show_what_no_pair_of_thirds_does(seed):
    *model, leaves = quadrants(seed, 300, 3.0)
    without, found = misfit.learned_misfit(*model), misfit.learned_misfit(*model, leaves)
    assert found.weight @ found.sd > 2 > without.weight @ without.sd
    require_noise_shows_nothing(seed)


def test_fault_is_caught_rows_judged_by_trees_that_have_them_in_their_bag(monkeypatch):
    def every(self, encoded, y, away):
        return np.ones((len(self.root), len(y)))

    monkeypatch.setattr(Forest, "outside", every)
    with pytest.raises(AssertionError):
        require_noise_shows_nothing(0)


def test_a_forest_that_joined_has_learned_a_part():
    *model, leaves = quadrants(0, 300, 3.0)
    apart = misfit.learned_misfit(*model, leaves)
    joined = misfit.learned_misfit(*model, leaves, joined=True)
    assert 0.3 * (apart.weight @ apart.sd) < joined.weight @ joined.sd < apart.weight @ apart.sd


def test_shares_of_functions_count_weights(monkeypatch, rng):
    root = rng.standard_normal((12, 5))
    kernel = LeafKernel(root @ root.T, np.arange(12) % 2 + 1.0)
    copies = np.repeat(np.arange(12), np.arange(12) % 2 + 1)
    many = LeafKernel((root @ root.T)[np.ix_(copies, copies)], np.ones(18))
    one, two = (np.sort(k.shares())[-5:] for k in (kernel, many))
    np.testing.assert_allclose(one, two, rtol=1e-9)
    assert LeafKernel(np.zeros((4, 4)), np.ones(4)).shares().tolist() == [1.0]
    # of many rows some stand for all
    monkeypatch.setattr(residual_kernels, "SPECTRUM_ROWS", 8)
    half = LeafKernel(np.tile(root @ root.T, (2, 2)), np.ones(24))
    assert len(half.shares()) <= 8


def test_standard_deviations_of_a_sum_are_its_quantiles(monkeypatch):
    monkeypatch.setattr(misfit, "LEVELS", 4)
    three, four = np.array([3.0, 0.0]), np.array([4.0, 0.0])
    even = np.full(2, 0.5)
    sd, weight = misfit._of_sum(three, even, four, even)
    assert sd.tolist() == [0, 3, 4, 5] and weight.tolist() == [0.25] * 4
    sd, _ = misfit._of_sum(three, np.array([0.9, 0.1]), four, np.array([0.0, 1.0]))
    assert sd.tolist() == [3, 3, 3, 3]  # of which a tenth is less than the middle of a fourth
    sd, _ = misfit._of_sum(three, np.array([0.8, 0.2]), four, np.array([0.0, 1.0]))
    assert sd.tolist() == [0, 3, 3, 3]


def test_rows_leave_what_a_gaussian_process_leaves():
    """The variance given the rows, on average, where each has the information h."""
    values, h = np.array([9.0, 3.0, 1.0]), 0.05
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 3)))[0]
    covariance = (basis * values) @ basis.T
    noise = np.eye(30) / h
    left = covariance - covariance @ np.linalg.solve(covariance + noise, covariance)
    at = int(np.searchsorted(misfit.SDS, 1.0 - 1e-9))
    # at a standard deviation of 1 the sum of the variances of all rows is 13
    shares, flattening = values / values.sum(), 1 / (1 + np.pi / 8)
    found = misfit._unknown(2 * 13 * h / flattening, shares)[at]
    assert found**2 == pytest.approx(np.trace(left) / np.trace(covariance))


def draws(probs):
    """Return draws of one probability vector a row."""
    n, rows = 400, len(probs)
    each = np.moveaxis(np.repeat(np.array(probs)[..., None], n, axis=-1), -1, 0)
    even = np.full((n, rows), 1 / n)
    return ClassDraws(np.arange(rows), each, even, no_logits(rows, each.shape[2]))


@pytest.mark.parametrize("floats", [10, class_draws.CACHED_FLOATS])
def test_draws_differ_by_the_misfit_around_the_same_mean(floats, monkeypatch):
    monkeypatch.setattr(class_draws, "CACHED_FLOATS", floats)
    probs = [[0.5, 0.3, 0.2], [0.85, 0.1, 0.05], [0.6, 0.4, 0.0]]
    whole, none = np.ones(3), np.zeros(3)
    noise = misfit.Misfit(np.array([0.6]), np.ones(1), np.ones(2))
    found = noise.spread(draws(probs), whole, 0).probs
    np.testing.assert_allclose(found.mean(axis=0), probs, atol=0.01)
    np.testing.assert_allclose(found.sum(axis=2), 1)
    assert (found[:, 2, 2] == 0).all()
    log_odds = np.log(found[:, 0, 0] / found[:, 0, 1])
    assert abs(log_odds.std() - 0.6) < 0.03
    half = noise.spread(draws(probs), whole / 4, 0).probs
    assert abs(np.log(half[:, 0, 0] / half[:, 0, 1]).std() - 0.3) < 0.02
    np.testing.assert_allclose(noise.spread(draws(probs), none, 0).probs, draws(probs).probs)


def test_missing_cells_take_their_functions_with_them():
    """Two columns of 3 and 2 levels: 2 + 1 functions of one, 2 of both."""
    cells = (Cell("a", 0, 3), Cell("b", 0, 2))
    noise = misfit.Misfit(np.ones(1), np.ones(1), np.array([2.0, 1.0]), cells)
    rows = {"a": np.array([[0], [1], [-1], [-1]]), "b": np.array([[1], [-1], [0], [-1]])}
    np.testing.assert_allclose(noise.observed(rows, np.arange(4)), [1, 2 / 5, 1 / 5, 0])


def test_a_row_without_cells_has_the_probability_that_was_stated():
    X, y, *_ = interacting(0)
    stack = bg.StackedClassifier(class_prior="uniform", random_state=0, progress=False).fit(X, y)
    interval = stack.predict_interval(np.full((1, COLUMNS), None, dtype=object))
    np.testing.assert_allclose(interval, 0.5, atol=1e-9)


# -- the stack -------------------------------------------------------------------------------------


def interacting(seed, n=300):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 3, (n + 200, COLUMNS))
    tables = rng.normal(0, 1.5, (2, 3, 3))
    truth = expit(tables[0][x[:, 0], x[:, 1]] + tables[1][x[:, 2], x[:, 3]])
    y = (rng.random(n) < truth[:n]).astype(int)
    words = np.array(["a", "b", "c"], dtype=object)[x]
    return words[:n], y, words[n:], truth[n:]


def test_intervals_hold_the_truth_where_no_member_is_right():
    """The misfit of the stack with interactions, which have seen the rows, would give .70."""
    inside, distance = [], []
    for seed in range(6):
        X, y, fresh, truth = interacting(seed)
        stack = bg.StackedClassifier(random_state=0, progress=False).fit(X, y)
        low, high = np.moveaxis(stack.predict_interval(fresh)[:, 1], -1, 0)
        doubt = (truth > 0.1) & (truth < 0.9)
        inside.append(((low <= truth) & (truth <= high))[doubt].mean())
        found = stack.predict_draws(fresh)
        mean = (found * found.weight).sum("draw").to_numpy()
        distance.append(np.abs(mean - stack.predict_proba(fresh)).mean())
    assert np.mean(inside) > 0.82
    assert np.mean(distance) < 0.012


def test_intervals_hold_the_truth_where_numbers_interact_by_their_signs():
    """Without leaves the coverage is .4."""
    inside = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x = rng.standard_normal((500, 5))
        truth = expit(3 * np.sign(x[:, 0] * x[:, 1]))
        y = (rng.random(300) < truth[:300]).astype(int)
        stack = bg.StackedClassifier(random_state=0, progress=False).fit(x[:300], y)
        low, high = np.moveaxis(stack.predict_interval(x[300:])[:, 1], -1, 0)
        inside.append(((low <= truth[300:]) & (truth[300:] <= high)).mean())
    assert np.mean(inside) > 0.75


@pytest.mark.parametrize("options", [{"pool": None}, {"members": [bg.NaiveBayes(), bg.LDA()]}])
def test_a_stack_as_stated_has_no_misfit(options):
    X, y = bg.datasets.load_iris()
    stack = bg.StackedClassifier(random_state=0, progress=False, **options).fit(X, y)
    assert getattr(stack.posterior_.readout, "misfit", None) is None


def test_a_file_holds_the_misfit(tmp_path):
    X, y, fresh, _ = interacting(0)
    stack = bg.StackedClassifier(random_state=0, progress=False).fit(X, y)
    stack.save(tmp_path / "stack.bgm")
    loaded = bg.load(tmp_path / "stack.bgm")
    np.testing.assert_array_equal(loaded.predict_interval(fresh), stack.predict_interval(fresh))


def test_thirds_of_numbers_count_weights():
    x, weight = np.array([3.0, 1.0, np.nan, 2.0, 7.0, 9.0]), np.array([1.0, 1, 5, 1, 1, 2])
    assert thirds(x, weight).tolist() == [1, 0, -1, 0, 1, 2]
    copies = [*range(6), 5]
    np.testing.assert_array_equal(thirds(x[copies], np.ones(7)), thirds(x, weight)[copies])
    assert thirds(np.full(3, np.nan), np.ones(3)).tolist() == [-1, -1, -1]
