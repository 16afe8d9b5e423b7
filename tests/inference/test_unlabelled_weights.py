"""The learned weight of rows without a label: scores, answers, splits, and what is refused."""

import copy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from unlabelled_cases import FEW, MODELS, TABLE, few_labels, fitted, harmless

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, UnlabelledHurts, UnsupportedOperation
from bayesgen.estimators import unlabelled_fit
from bayesgen.inference import unlabelled_weights
from bayesgen.inference.leave_one_out import LabelledRows, leave_one_out
from bayesgen.inference.missing import missing_cells, modes
from bayesgen.model import model_statistics

# -- learned weights -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MODELS)
def test_left_out_scores_are_those_of_statistics_without_the_row(name):
    X, marked, _ = few_labels()
    clf = MODELS[name]().fit(X, marked)
    state, prior = clf.state_, clf.class_prior
    problem = state.problem(prior)
    model, reader = problem.model, problem.reader
    (rows,) = clf._training
    encoded = rows.labelled.encode(state.schema, "missing")
    y = rows.labelled.codes
    part = state.unlabelled.added[0]
    judges = LabelledRows(encoded, y, np.ones(12), np.ones(12))
    found = leave_one_out(problem.plus(part), judges)
    for i in range(12):
        others = np.delete(np.arange(12), i)
        cells = {block: x[others] for block, x in encoded.items()}
        n_levels = dict.fromkeys(encoded, ())
        rest = model_statistics(
            model.blocks, cells, y[others], np.ones(11), n_classes=3, n_levels=n_levels
        )
        after = model.posterior(reader.take(rest + part))
        one = reader.read({block: x[i : i + 1] for block, x in encoded.items()})
        joint = after.classes.log_predictive() + sum(
            family.log_predictive(one[block])[0] for block, family in after.blocks.items()
        )
        np.testing.assert_allclose(found.joint[i], joint, atol=1e-8)


@pytest.mark.parametrize("name", ["linear", "quadratic"])
def test_a_left_out_row_loses_the_expectation_of_its_missing_cells(name):
    """Zeros in their place once made covariances of learned prior strengths singular."""
    X, marked, _ = few_labels(8)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.25)
    clf = MODELS[name](covariance_rows="learn").fit(X, marked)
    problem, part = clf.state_.problem(clf.class_prior), clf.state_.unlabelled.added[-1]
    (rows,) = clf._training
    encoded, y = rows.labelled.encode(clf.state_.schema, "missing"), rows.labelled.codes
    assert np.isnan(*encoded.values()).any(axis=1).sum() > 10
    whole = problem.plus(part)
    centers = modes(whole.model, whole.statistics)
    judges = LabelledRows(encoded, y, np.ones(24), np.ones(24))
    scores = leave_one_out(whole, judges, centers)
    sizes = {"n_classes": 3, "n_levels": dict.fromkeys(encoded, ())}
    for i in range(0, 24, 3):
        one = {block: x[i : i + 1] for block, x in encoded.items()}
        row = model_statistics(problem.model.blocks, one, y[i : i + 1], np.ones(1), **sizes)
        others = whole.minus(row).statistics
        filled = others.each_block(
            lambda block, part: missing_cells(problem.model.blocks[block], part).filled(
                centers[block]
            )
        )
        after = problem.model.posterior(filled)
        joint = after.classes.log_predictive() + sum(
            family.log_predictive(problem.reader.read(one)[block])[0]
            for block, family in after.blocks.items()
        )
        # only what their expectation leaves of their variance is not subtracted
        log_odds = joint - joint[0]
        np.testing.assert_allclose(scores.joint[i] - scores.joint[i, 0], log_odds, atol=0.005)


def test_answers_are_averaged_over_weights():
    X, marked, _ = few_labels()
    clf = bg.NaiveBayes().fit(X, marked)
    found = clf.fitted_.posterior.components
    assert clf.inference_ == "expected"
    assert found.weights.sum() == pytest.approx(1.0)
    read = clf._read_rows(X)
    encoded, n = read.encoded, read.n_rows
    each = [
        np.exp(
            m.log_joint(encoded, n) - np.logaddexp.reduce(m.log_joint(encoded, n), axis=1)[:, None]
        )
        for m in found.members.values()
    ]
    mean = np.tensordot(found.weights, np.array(each), 1)
    np.testing.assert_allclose(clf.predict_proba(X), mean, atol=1e-12)
    assert 0.0 < clf.unlabelled_weight_ < 1.0
    details = clf.report_.details
    assert details["unlabelled.rows"] == 138
    # of those at no weight, which have 2.4 of 12 + 3 rows at least
    assert details["unlabelled.loo_with"] > details["unlabelled.loo_without"] + np.log(2.4 / 15)


def test_a_weight_is_scored_by_fits_without_the_labeled_row(monkeypatch):
    monkeypatch.setattr(unlabelled_weights, "GRID", (0.0, 0.3))
    monkeypatch.setattr(unlabelled_weights, "PRIOR_ROWS", np.array([1.0, 0.5]))
    monkeypatch.setattr(unlabelled_weights, "STEPS", 5000)
    monkeypatch.setattr(unlabelled_weights, "TOLERANCE", 1e-9)
    logs = np.empty((2, 4))
    for i in range(4):
        others = np.arange(12) != i
        y = [label for label, kept in zip(FEW, others, strict=True) if kept]
        for at, weight in enumerate((0.0, 0.3)):
            clf = fitted(y, TABLE[others], unlabelled=weight, inference="expected")
            logs[at, i] = np.log(clf.predict_proba(TABLE[~others])[0, FEW[i]])
    clf = fitted()
    details = clf.report_.details
    assert details["unlabelled.loo_without"] == pytest.approx(logs[0].mean(), abs=1e-9)
    grid = np.linspace(0, 1, 10_001)[1:-1]
    mixed = np.log(np.exp(logs.T) @ np.stack([1 - grid, grid]))
    best = np.argmax(mixed.sum(axis=0) + np.log(1 - grid) + 0.5 * np.log(grid))
    assert clf.unlabelled_weight_ == pytest.approx(0.3 * grid[best], abs=1e-4)
    assert details["unlabelled.loo_with"] == pytest.approx(mixed[:, best].mean(), abs=1e-4)


def test_labels_known_to_unlabelled_rows_earn_them_no_weight():
    """Under a wrong model EM assigns rows near a labeled one to its class, which proves nothing."""
    X, y = bg.datasets.load_crabs()
    y = np.asarray(y, dtype=object)
    order = np.random.default_rng(0).permutation(len(y))
    few = np.concatenate([order[y[order] == k][:20] for k in np.unique(y)])
    marked = np.where(np.isin(np.arange(len(y)), few), y, None)
    # .16 with the responsibilities that know the label, .05 without, .06 by the prior
    assert bg.QDA().fit(X, marked).unlabelled_weight_ < 0.08


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_order_does_not_matter_where_folds_hold_several_rows(name):
    X, marked, _ = few_labels(10)
    clf, order = MODELS[name]().fit(X, marked), np.random.default_rng(0).permutation(150)
    again = MODELS[name]().fit(X.iloc[order], marked[order])
    np.testing.assert_allclose(again.predict_proba(X), clf.predict_proba(X), atol=1e-6)


def test_unlabelled_rows_help_where_the_model_is_right_and_are_ignored_where_it_is_wrong():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 600)
    right = rng.normal(y[:, None], 1.0, (600, 4))
    marked = np.where(np.arange(600) < 40, y, None)
    assert bg.NaiveBayes().fit(right, marked).unlabelled_weight_ > 0.1
    # the classes are the corners of the diagonals: unlabeled rows pull toward columns
    corner = rng.integers(0, 2, (600, 2))
    wrong = corner * 4.0 + rng.normal(0, 0.4, (600, 2))
    wrong = np.column_stack([wrong, wrong + rng.normal(0, 0.1, (600, 2))])
    own = (corner.sum(axis=1) > 0).astype(int)
    own = np.where(rng.random(600) < 0.5, own, corner[:, 0])
    labels = np.where(np.arange(600) < 60, own, None)
    learned = bg.NaiveBayes().fit(wrong, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forced = bg.NaiveBayes(unlabelled=1, inference="expected").fit(wrong, labels)

    def loss(clf):
        return -np.log(clf.predict_proba(wrong[60:])[np.arange(540), own[60:]] + 1e-300).mean()

    assert loss(learned) < loss(forced)


def test_fixed_weights_that_hurt_warn():
    rng = np.random.default_rng(1)
    n = 400
    hidden = rng.integers(0, 2, n)
    y = rng.integers(0, 2, n)
    X = np.column_stack([6.0 * hidden + rng.normal(0, 1, n), 6.0 * hidden + rng.normal(0, 1, n)])
    X = np.column_stack([X, 1.5 * y + rng.normal(0, 1, n)])
    marked = np.where(np.arange(n) < 60, y, None)
    with pytest.warns(UnlabelledHurts, match=r"with 340 unlabeled rows at weight 1.* worse"):
        bg.NaiveBayes(unlabelled=1, inference="expected").fit(X, marked)
    bg.NaiveBayes().fit(X, marked)


def test_a_class_with_one_label_learns_no_weight():
    X, marked, _ = few_labels(3)
    marked[np.flatnonzero(marked == "setosa")[:2]] = None
    with pytest.warns(UnlabelledHurts, match="class 'setosa' has fewer than two labeled rows"):
        clf = bg.NaiveBayes().fit(X, marked)
    assert clf.unlabelled_weight_ == 0.0


def test_unlabelled_rows_do_not_judge(monkeypatch):
    X, marked, _ = few_labels()
    sizes = []

    def watched(problem, rows, centers=None):
        sizes.append(len(rows.y))
        return leave_one_out(problem, rows, centers)

    for module in (unlabelled_fit, unlabelled_weights):
        monkeypatch.setattr(module, "leave_one_out", watched)
    bg.NaiveBayes().fit(X, marked)
    # the guesses, then the weights: all twelve, and in folds
    assert sizes[: 1 + len(unlabelled_weights.GRID)] == [12] * (1 + len(unlabelled_weights.GRID))
    assert set(sizes) == {12, 2, 1}


# -- any model, any split --------------------------------------------------------------------------


def few_rows():
    """Return the labeled rows of iris and every third of the others."""
    X, marked, _ = few_labels()
    kept = np.flatnonzero((marked != None) | (np.arange(150) % 3 == 0))  # noqa: E711
    return X.iloc[kept].reset_index(drop=True), marked[kept]


@pytest.mark.parametrize(
    ("weight", "name"), [*(("learn", name) for name in MODELS), (0.5, "naive"), (0.5, "linear")]
)
def test_any_split_and_order_gives_the_same_fit(name, weight):
    X, marked = few_rows()
    options = {"unlabelled": weight, "inference": "expected"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnlabelledHurts)
        whole = MODELS[name](**options).fit(X, marked)
        split, classes = MODELS[name](**options), np.unique(marked[marked != None])  # noqa: E711
        for part in np.array_split(np.random.default_rng(0).permutation(len(X)), 3):
            split.partial_fit(X.iloc[part], marked[part], classes=classes)
    np.testing.assert_allclose(split.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    assert split.label_distributions_.shape == (len(X), 3)


@pytest.mark.parametrize("name", ["naive", "quadratic"])
def test_without_unlabelled_rows_nothing_changes(name):
    X, y = bg.datasets.load_iris()
    plain, none = MODELS[name]().fit(X, y), MODELS[name](unlabelled=None).fit(X, y)
    np.testing.assert_array_equal(plain.predict_proba(X), none.predict_proba(X))
    assert plain.inference_ == none.inference_ == "exact"
    assert plain.state_.unlabelled is None
    assert plain.unlabelled_weight_ == 0.0


def test_intervals_have_the_spread_of_both_weights_and_parameters():
    X, marked, _ = few_labels()
    clf = bg.NaiveBayes(random_state=0).fit(X, marked)
    draws = clf.predict_draws(X[::10])
    np.testing.assert_allclose(draws["weight"].sum("draw"), 1.0)
    mean = (draws * draws["weight"]).sum("draw")
    # 1,000 draws, fewer of small weights
    np.testing.assert_allclose(mean, clf.predict_proba(X[::10]), atol=0.05)
    few = clf.fitted_.posterior.components.with_draws(100)
    assert sum(member.components.draws for member in few.members.values()) <= 100 + len(few.members)


def test_a_copy_keeps_no_unlabelled_rows():
    X, marked, _ = few_labels()
    clf = bg.NaiveBayes().fit(X, marked)
    with pytest.raises(ValueError, match="copied or loaded keeps none"):
        copy.deepcopy(clf).partial_fit(X, marked)


def test_names_units_and_columns_do_not_matter():
    X, marked = few_rows()
    clf = bg.QDA().fit(X, marked)
    other = bg.QDA().fit(X[X.columns[::-1]] * 10.0, marked)
    np.testing.assert_allclose(
        other.predict_proba(X[X.columns[::-1]] * 10.0), clf.predict_proba(X), atol=1e-6
    )
    names = {"setosa": "z", "versicolor": "a", "virginica": "b", None: None}
    again = bg.QDA().fit(X, [names[label] for label in marked])
    np.testing.assert_allclose(
        again.predict_proba(X)[:, [2, 0, 1]], clf.predict_proba(X), atol=1e-6
    )


def test_a_level_of_unlabelled_rows_alone_is_known():
    X = pd.DataFrame({"b": list("uuvvuvww")})
    clf = bg.NaiveBayes().fit(X, [0, 0, 1, 1, 0, 1, None, None])
    assert clf.state_.schema.blocks["categorical"][0].levels == ("u", "v", "w")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clf.predict_proba(X)


@pytest.mark.slow
def test_missing_cells_texts_and_joint_tables():
    X, marked, y = few_labels(6)
    rng = np.random.default_rng(0)
    holed = X.mask((rng.random(X.shape) < 0.1) & (np.arange(4) < 2))
    clf = bg.QDA().fit(holed, marked)
    assert clf.inference_ == "expected"
    assert clf.score(holed, y) > 0.9
    words = csr_array(
        rng.poisson(1 + 2 * (np.arange(60) % 2)[:, None] * (np.arange(8) < 4), (60, 8))
    )
    labels = np.where(np.arange(60) < 10, np.arange(60) % 2, None)
    bag = bg.BagOfWords().fit(words, labels)
    dense = bg.BagOfWords().fit(words.toarray(), labels)
    np.testing.assert_allclose(bag.predict_proba(words), dense.predict_proba(words), atol=1e-9)
    assert bag.score(words, np.arange(60) % 2) > 0.7
    T, t = bg.datasets.load_titanic_passengers()
    levels = T[["sex", "passengerClass"]].iloc[:300]
    table = bg.JointTable().fit(levels, np.where(np.arange(300) < 60, t[:300], None))
    assert table.label_distributions_.shape == (300, 2)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"inference": "map"}, "State it: unlabelled=1"),
        ({"inference": "mle"}, "State it: unlabelled=1"),
        ({"inference": bg.Augmentation()}, "sum over their classes only in .*inference='auto'"),
        ({"inference": bg.Augmentation(), "unlabelled": 1}, "Use inference='auto'"),
        ({"inference": bg.Augmentation(), "unlabelled": 0.5}, "Use inference='auto'"),
        ({"inference": "nuts"}, "Use inference='auto'"),
        ({"inference": "nuts", "unlabelled": 1}, "Use inference='auto'"),
        ({"inference": "svi", "unlabelled": 1}, "Use inference='map'"),
    ],
)
def test_methods_that_cannot_take_them_say_what_can(options, sentence):
    with pytest.raises(UnsupportedOperation, match=sentence):
        fitted(**options)


@pytest.mark.parametrize("likelihood", [bg.KernelDensity(), bg.KernelDiscriminant()])
def test_families_that_keep_rows_refuse_them(likelihood):
    X, marked, _ = few_labels()
    with pytest.raises(UnsupportedOperation, match="Leave these rows out: keep"):
        bg.GenerativeClassifier(likelihood).fit(X, marked)


@harmless
@pytest.mark.parametrize(
    ("options", "how"),
    [
        ({"inference": "exact"}, "expected ones, at weights learned from the labeled rows"),
        ({"inference": bg.Exact(draws=500), "unlabelled": 1}, r"expected ones \(inference_ says"),
    ],
)
def test_an_exact_fit_says_that_it_is_none(options, how):
    with pytest.warns(BayesgenWarning, match=how):
        assert fitted(**options).inference_ == "expected"


def test_draws_take_rows_of_weight_0():
    clf = fitted(inference=bg.Augmentation(draws=50, warmup=0), unlabelled=0)
    assert clf.inference_ == "augmentation"


def test_there_is_no_evidence():
    with pytest.raises(AttributeError, match="a sum over all their possible labels"):
        _ = fitted().log_evidence_


# -- prior guesses ---------------------------------------------------------------------------------


def test_guesses_rest_on_labeled_rows_alone_where_all_rows_mislead():
    """Columns of crabs repeat each other; naive Bayes of them assigns unlabeled rows wrongly."""
    tables = {"crabs": bg.datasets.load_crabs(), "iris": bg.datasets.load_iris()}
    rests = {}
    for name, (X, y) in tables.items():
        y = np.asarray(y, dtype=object)
        order = np.random.default_rng(0).permutation(len(y))
        few = np.concatenate([order[y[order] == k][:10] for k in np.unique(y)])
        marked = np.where(np.isin(np.arange(len(y)), few), y, None)
        expected = bg.NaiveBayes().fit(X, marked).state_.unlabelled
        rests[name] = expected.guesses.count.sum(), len(few), len(y)
    assert rests["crabs"][0] == rests["crabs"][1]
    assert rests["iris"][0] == pytest.approx(rests["iris"][2])
