"""Labels as probabilities: a row is its shares of several classes, in fits and left out."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

import bayesgen as bg
from bayesgen import calibrate
from bayesgen.estimators import judged_rows
from bayesgen.estimators.prediction_sets import PredictionSets
from bayesgen.estimators.stack.kept_rows import rows_together
from bayesgen.estimators.training_rows import TrainingRows
from bayesgen.inference import misfit, pooling, powers
from bayesgen.interactions import Cell, Forest, Pair
from bayesgen.interactions.forest import row_positions
from bayesgen.membership import Entries, shares_of
from bayesgen.table import read_table

X, Y = bg.datasets.load_iris()
X, Y = X[::3], Y[::3]
CLASSES = np.unique(Y)
ONE_HOT = pd.DataFrame(shares_of(np.searchsorted(CLASSES, Y), 3), columns=CLASSES)


def soft(share=0.6, seed=0):
    """Return probabilities, those of every third row of one class alone."""
    rng = np.random.default_rng(seed)
    out = share * ONE_HOT + (1 - share) * rng.dirichlet(np.ones(3), len(Y))
    out.iloc[::3] = ONE_HOT.iloc[::3]
    return out


P = soft()
LEVELS = X.round(0).astype(int).astype(str)
MODELS = {
    "naive": bg.NaiveBayes(),
    "shared": bg.LDA(),
    "apart": bg.QDA(),
    "transformed": bg.NaiveBayes(power_transform=True),
    "bins": bg.NaiveBayes(likelihood=bg.Categorical(), bins=3),
    "kernels": bg.NaiveBayes(likelihood=bg.KernelDensity()),
    "point": bg.NaiveBayes(inference="mle"),
    "columns": bg.NaiveBayes(columns="average"),
}
LEARNED = {
    "power": bg.NaiveBayes(temper="learn"),
    "powers": bg.NaiveBayes(temper="columns"),
    "stack": bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()], random_state=0),
}


def entries(X, P):
    """Return the rows, labels and weights of which each row consists."""
    row, code = np.nonzero(P.to_numpy())
    return X.iloc[row].reset_index(drop=True), P.columns.to_numpy()[code], P.to_numpy()[row, code]


def close(one, other, X=X, **tolerance):
    tolerance = {"rtol": 1e-9, "atol": 1e-12} | tolerance
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), **tolerance)


def apart(model):
    return type(model)(**model.get_params(deep=False))


# -- laws ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*MODELS, *LEARNED])
def test_certain_probabilities_are_labels(name):
    model = (MODELS | LEARNED)[name]
    one, other = apart(model).fit(X, ONE_HOT), apart(model).fit(X, Y)
    close(one, other, rtol=1e-12)
    if name != "point":
        np.testing.assert_allclose(one.loo(), other.loo(), rtol=1e-12)


def rows_are_their_shares(model):
    close(apart(model).fit(X, P), apart(model).fit(*entries(X, P)))


@pytest.mark.parametrize("name", MODELS)
def test_a_row_counts_as_its_shares(name):
    rows_are_their_shares(MODELS[name])


def test_the_law_catches_a_row_that_counts_whole_in_every_class(monkeypatch):
    of = Entries.of
    monkeypatch.setattr(
        Entries, "of", lambda y, weight: of((y > 0) * 1.0 if y.ndim == 2 else y, weight)
    )
    with pytest.raises(AssertionError):
        rows_are_their_shares(MODELS["naive"])


def rows_left_out(model, every=7):
    """Check `loo` against fits to the other rows."""
    found = apart(model).fit(X, P).loo()["log_proba"]
    for i in range(0, len(X), every):
        others = np.arange(len(X)) != i
        rest = apart(model).fit(X[others], P[others])
        expected = P.iloc[i].to_numpy() @ rest.predict_log_proba(X.iloc[[i]])[0]
        np.testing.assert_allclose(found[i], expected, rtol=1e-8)


@pytest.mark.parametrize("name", ["naive", "shared", "apart", "kernels"])
def test_the_score_of_a_row_is_expected_and_given_all_others(name):
    rows_left_out(MODELS[name])


def test_the_law_catches_a_row_of_which_one_class_alone_is_left_out(monkeypatch):
    whole = Entries.in_turn
    monkeypatch.setattr(Entries, "in_turn", lambda y, weight: [next(iter(whole(y, weight)))])
    with pytest.raises(AssertionError):
        rows_left_out(MODELS["naive"])


def test_a_stack_weighs_members_by_expected_scores_of_rows_left_out():
    stack = apart(LEARNED["stack"]).fit(X, P)
    for name, member in (("naivebayes", "naive"), ("lda", "shared")):
        alone = apart(MODELS[member]).fit(X, P).loo()["log_proba"].mean()
        found = stack.members_table().loc[name, "leave_one_out_log_loss"]
        np.testing.assert_allclose(found, -alone, rtol=1e-9)


def judged(n=60, seed=0):
    """Return log densities of two parts, log class probabilities, codes and weights."""
    rng = np.random.default_rng(seed)
    parts = rng.normal(size=(n, 2, 3))
    return parts, np.full((n, 3), -np.log(3)), parts.sum(axis=1).argmax(axis=1), np.ones(n)


def test_what_is_learned_from_scores_is_the_same_of_codes_and_shares():
    parts, log_classes, y, weight = judged()
    shares, joint = shares_of(y, 3), log_classes + parts.sum(axis=1)
    priors = pooling.column_priors(parts)
    log_proba = joint - np.logaddexp.reduce(joint, axis=1, keepdims=True)
    columns = [parts[:, 0].argmax(axis=1)]
    for learn in (
        lambda y: powers.learned_powers(log_classes, joint, y, weight)[1],
        lambda y: pooling.learned_pool(parts, log_classes, y, weight, **priors)[1],
        lambda y: misfit.learned_misfit(columns, log_proba, y, weight).weight,
    ):
        np.testing.assert_allclose(learn(shares), learn(y), rtol=1e-12)


def test_a_pool_of_shares_has_the_mode_of_their_entries_and_leaves_rows_out_whole():
    parts, log_classes, y, weight = judged()
    shares = 0.7 * shares_of(y, 3) + 0.1
    single = {"centers": np.ones((1, 2)), "scales": np.full((1, 2), 0.5)}
    pool, left_out = pooling.learned_pool(parts, log_classes, shares, weight, **single)
    part = Entries.of(shares, weight)
    repeated = parts[part.row], log_classes[part.row], part.code, part.weight
    again, of_entries = pooling.learned_pool(*repeated, **single)
    np.testing.assert_allclose(pool.weights, again.weights, rtol=1e-9)
    assert np.abs(left_out[part.row] - of_entries).max() > 1e-3
    for i in range(0, 60, 20):
        others = np.arange(60) != i
        rest = (parts[others], log_classes[others], shares[others], weight[others])
        refit, _ = pooling.learned_pool(*rest, **single)
        expected = refit.log_proba(log_classes[[i]], parts[[i]])[0]
        error = np.abs(left_out[i] - expected).max()
        # one Newton step is nearer to the refit than the fit to all rows is
        assert (
            error < 0.2 * np.abs(pool.log_proba(log_classes[[i]], parts[[i]])[0] - expected).max()
        )


def test_a_forest_and_a_pair_leave_a_row_out_of_all_of_its_classes():
    rng = np.random.default_rng(0)
    encoded = {"u": rng.normal(size=(40, 1)), "w": rng.integers(0, 3, (40, 1))}
    encoded["z"] = (encoded["w"] + rng.integers(0, 2, (40, 1))) % 3
    shares, weight = rng.dirichlet(np.ones(2), 40), np.ones(40)
    forest = Forest.grown((Cell("u", 0, 0), Cell("w", 0, 3)), encoded, shares, weight, 2)
    row = {name: x[:1] for name, x in encoded.items()}
    found = forest.left_out(row, shares[:1], weight[:1])
    x = np.concatenate([encoded["u"][:1], (encoded["w"][:1] == np.arange(3)) * 1.0], axis=1)
    bag = forest.bag[:, [row_positions(forest.key, x, np.array([k]))[0] for k in range(2)]]
    without = forest.with_arrays({"root": forest.root[~bag.any(axis=1)]})
    pi = np.bincount(forest.y, forest.weight, minlength=2) - shares[0] + 1
    # of trees that have no entry of the row, by the class fractions without it
    means = np.exp(without.log_density(row)) * (forest._fractions())
    assert 0.2 < (~bag.any(axis=1)).mean() < 0.55  # exp(-1): the row in no bag
    np.testing.assert_allclose(np.exp(found) * pi / pi.sum(), means, rtol=0.05)
    cells, names = (Cell("w", 0, 3), Cell("z", 0, 3)), ("w", "z")
    pair = Pair.counted(cells, names, encoded, shares, weight, 2)
    others = {name: x[1:] for name, x in encoded.items()}
    rest = Pair.counted(cells, names, others, shares[1:], weight[1:], 2)
    np.testing.assert_allclose(pair.left_out(row, shares[:1], weight[:1]), rest.log_density(row))


# -- rows that judge -------------------------------------------------------------------------------


def kept(X, P, weight):
    codes, classes = P.argmax(axis=1), np.arange(P.shape[1])
    return TrainingRows.of_table(read_table(X), codes, weight, classes, P)


def test_a_sample_of_the_rows_counts_a_row_once_and_copies_as_one():
    rng = np.random.default_rng(0)
    X, P = rng.normal(size=(3000, 2)), rng.dirichlet(np.ones(3), 3000)
    classes = np.arange(3)
    one = judged_rows.judged_rows([kept(X, P, np.full(3000, 2.0))], classes)
    assert len(one.rows) == len(np.unique(one.rows)) == judged_rows.JUDGED
    twice = kept(np.tile(X, (2, 1)), np.tile(P, (2, 1)), np.ones(6000))
    other = judged_rows.judged_rows([twice], classes)
    np.testing.assert_array_equal(np.sort(other.rows % 3000), one.rows)
    np.testing.assert_allclose(one.weight.sum(), other.weight.sum())


# -- verbs -----------------------------------------------------------------------------------------


def test_any_container_is_read_alike():
    one = bg.LDA().fit(X, P)
    tables = pl.from_pandas(P), pa.Table.from_pandas(P), P.astype("Float64"), P[CLASSES[::-1]]
    for table in tables:
        close(one, bg.LDA().fit(X, table), rtol=1e-12)
    array = bg.LDA().fit(X, P.to_numpy())
    assert array.classes_.tolist() == [0, 1, 2]
    close(one, array, rtol=1e-12)


@pytest.mark.parametrize("clf", [bg.QDA(), LEARNED["stack"]])
def test_calls_add_rows_and_take_them_away(clf, tmp_path):
    whole = apart(clf).fit(X, P)
    parts = apart(clf).fit(X[:30], P[:30]).partial_fit(X[30:], P[30:])
    close(whole, parts, rtol=1e-7)
    merged = apart(clf).fit(X[:30], P[:30]).merge(apart(clf).fit(X[30:], P[30:]))
    close(whole, merged, rtol=1e-7)
    less = apart(clf).fit(X, P).forget(X[:20], P[:20])
    close(less, apart(clf).fit(X[20:], P[20:]), rtol=1e-6, atol=1e-9)
    weighted = apart(clf).fit(X, P, np.full(len(X), 2.0))
    twice = pd.concat([X, X], ignore_index=True), pd.concat([P, P], ignore_index=True)
    if not isinstance(clf, bg.StackedClassifier):  # left out are rows, not halves of them
        close(weighted, apart(clf).fit(*twice), rtol=1e-7)
    rows = {"rows": True} if isinstance(clf, bg.StackedClassifier) else {}
    whole.save(tmp_path / "soft.bgm", **rows)
    loaded = bg.load(tmp_path / "soft.bgm")
    close(whole, loaded, rtol=0, atol=0)
    if rows:
        np.testing.assert_array_equal(loaded.loo(), whole.loo())
        close(loaded.forget(X[:20], P[:20]), less, rtol=1e-6, atol=1e-9)


def test_labels_may_be_soft_in_one_call_and_certain_in_another():
    whole = pd.concat([P[:30], ONE_HOT[30:]])
    for clf in (bg.LDA(), LEARNED["stack"]):
        parts = apart(clf).fit(X[:30], P[:30]).partial_fit(X[30:], Y[30:])
        close(parts, apart(clf).fit(X, whole), rtol=1e-7)


def test_rows_of_zeros_or_missing_cells_have_no_label():
    some = np.arange(len(Y)) % 4 == 1
    gone = np.repeat(some[:, None], 3, axis=1)
    zeros, missing = P.mask(gone, 0.0), P.mask(gone)
    one, other = (bg.LDA().fit(X, y) for y in (zeros, missing))
    close(one, other, rtol=0, atol=0)
    assert one.unlabelled_weight_ > 0
    assert len(one.loo()) == (~some).sum()
    np.testing.assert_array_equal(one.label_distributions_[~some], P[~some])
    close(bg.LDA().fit(X, ONE_HOT.mask(gone)), bg.LDA().fit(X, Y.where(~some, None)))


def test_a_class_may_have_small_shares_alone_or_none():
    rare = P.assign(other=0.02)
    rare = rare.div(rare.sum(axis=1), axis=0)
    assert "other" in bg.LDA().fit(X, rare).classes_
    none = bg.NaiveBayes().fit(X, P.assign(other=0.0))
    declared = bg.NaiveBayes().partial_fit(X, P, classes=[*CLASSES, "other"])
    close(none, declared, rtol=1e-12)


@pytest.mark.slow
def test_a_stack_of_all_structures_leaves_kernels_out_by_folds():
    stack = bg.StackedClassifier(random_state=0).fit(X, P)
    assert not stack.left_out_
    order = np.random.default_rng(0).permutation(len(X))
    close(stack, bg.StackedClassifier(random_state=0).fit(X.iloc[order], P.iloc[order]), rtol=1e-6)
    assert np.isfinite(stack.loo()["log_proba"]).all()
    rows = rows_together([kept(X, P.to_numpy(), np.ones(len(X)))] * 2)
    assert rows.shares.shape == (2 * len(X), 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_draws_leave_no_soft_row_out():
    with pytest.raises(bg.errors.UnsupportedOperation, match="soft labels, given draws"):
        bg.NaiveBayes(inference=bg.NUTS(draws=20, warmup=20, chains=1)).fit(X, P).loo()


# -- comparison ------------------------------------------------------------------------------------


def test_a_comparison_has_the_expected_scores_of_each_row():
    found = bg.compare({"lda": bg.LDA(), "naive": bg.NaiveBayes()}, X, P, cv=3)
    proba, shares = found.probabilities["lda"], P.to_numpy()[found.rows]
    losses = -(shares * np.log(proba)).sum(axis=1)
    np.testing.assert_allclose(found.table.loc["lda", "log_loss"], losses.mean())
    certain = bg.compare({"lda": bg.LDA()}, X, ONE_HOT, cv=3)
    labels = bg.compare({"lda": bg.LDA()}, X, Y, cv=3)
    timed = [name for name in labels.table if "seconds" in name]
    pd.testing.assert_frame_equal(
        certain.table.drop(columns=timed), labels.table.drop(columns=timed)
    )


def test_expected_scores_are_means_over_the_classes_that_a_row_may_have():
    rng = np.random.default_rng(0)
    shares, proba = rng.dirichlet(np.ones(3), 6), rng.dirichlet(np.ones(3), 6)
    part = Entries.of(shares, np.ones(6))
    for score in (calibrate.log_loss, calibrate.brier, calibrate.accuracy):
        one = [score(part.code[[i]], proba[part.row[[i]]], range(3)) for i in range(len(part.row))]
        np.testing.assert_allclose(score(shares, proba), part.weight @ one / 6)
    parts = calibrate.brier_decomposition(shares, proba)
    total = parts.miscalibration - parts.discrimination + parts.uncertainty
    np.testing.assert_allclose(total, calibrate.brier(shares, proba))
    whole = np.rint(4 * shares[:, 0]).astype(int)  # of four rows as many are of class 0
    event = np.concatenate([np.arange(4) < n for n in whole]).astype(int)
    copies = np.repeat(proba[:, :2] / proba[:, :2].sum(axis=1, keepdims=True), 4, axis=0)
    quarters = np.column_stack([whole / 4, 1 - whole / 4])
    np.testing.assert_allclose(
        calibrate.area_under_roc(quarters, copies[::4]),
        calibrate.area_under_roc(1 - event, copies),
    )


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")  # of NumPy's matrix
@pytest.mark.parametrize(
    "kind", [lambda p: p.tolist(), np.matrix, csr_array, lambda p: pd.DataFrame(p).astype(object)]
)
def test_probabilities_in_another_container_are_refused_with_one_that_is_read(kind):
    with pytest.raises(bg.errors.InvalidData, match=r"\(50, 3\).*a DataFrame or an array of num"):
        bg.NaiveBayes().fit(X, kind(np.asarray(P, dtype=float)))


@pytest.mark.parametrize("kind", ["features", "densities", "regions", "intervals", "reliability"])
def test_plots_of_labels_need_one_class_each(kind):
    plot = getattr(bg.LDA().fit(X, P), f"plot_{kind}")
    with pytest.raises(bg.errors.InvalidData, match=r"y\.(idxmax|argmax)\(axis=1\)"):
        plot(X, P)


def law_sets_rank_among_rows_in_each_class_by_their_share(by):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=14), "site": rng.choice(["a", "b"], 14)})
    share = rng.choice([0.0, 0.2, 0.7, 1.0], 14)
    y, new = pd.DataFrame({"no": 1 - share, "yes": share}), table[:5].assign(x=rng.normal(size=5))
    odds = np.empty((14, 2))
    for i in range(14):
        others = bg.NaiveBayes().fit(table.drop(index=i), y.drop(index=i))
        odds[i] = others.decision_function(table[i : i + 1]) * [-1, 1]
    clf = bg.NaiveBayes().fit(table, y)
    sets, own = clf.predict_set(new, 0.6, by=by, return_method=True), clf.decision_function(new)
    assert sets[1] == "left_out"
    for i, k in np.ndindex(5, 2):
        weight = y.to_numpy() * (np.arange(2) == k if by == "class" else 1)
        if by == "site":
            weight = weight * (table.site == new.site[i]).to_numpy()[:, None]
        p = (1 + weight[odds <= own[i] * (2 * k - 1) + 1e-9].sum()) / (1 + weight.sum())
        assert sets[0][i, k] == (p > 0.4 + 1e-12)


@pytest.mark.parametrize("by", [None, "class", "site"])
def test_sets_rank_among_rows_in_each_class_by_their_share(by):
    law_sets_rank_among_rows_in_each_class_by_their_share(by)


def test_fault_entries_of_other_rows_have_the_cells(monkeypatch):
    cells = PredictionSets._cells_of_fit
    monkeypatch.setattr(PredictionSets, "_cells_of_fit", lambda *a, **b: cells(*a, **b)[::-1])
    with pytest.raises(AssertionError):
        law_sets_rank_among_rows_in_each_class_by_their_share("site")


@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
def test_a_stack_has_sets_of_shares_within_a_column():
    table = X.assign(site=0.0)
    stack = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()], random_state=0).fit(table, P)
    sets, within = (stack.predict_set(table[:9], 0.6, by=by) for by in (None, "site"))
    np.testing.assert_array_equal(within, sets)
    with pytest.raises(bg.errors.UnsupportedOperation, match="the shares of soft labels"):
        bg.NaiveBayes().fit(X, P).predict_set(X[:3], method="full")


def test_an_estimate_of_prevalence_does_not_deny_that_rows_were_kept():
    found = repr(bg.NaiveBayes().fit(X, P).estimate_prevalence(X, random_state=0))
    assert "not checked, which takes the rows of the fit, of one class each" in found
