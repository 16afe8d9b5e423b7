"""Leave-one-out: taking statistics away is fitting again without the row, for every family."""

import contextlib
import dataclasses
import warnings

import laws
import numpy as np
import pandas as pd
import pytest
from cases import CASES
from leaving import weights_without
from scipy import stats
from scipy.sparse import csr_array

import bayesgen as bg
from bayesgen.errors import LowSampleSize, UnsupportedOperation
from bayesgen.inference import leave_one_out
from bayesgen.inference.leave_one_out import Block, LabelledRows, scored
from bayesgen.inference.scores import Scores
from bayesgen.likelihoods.column_sets import over_column_sets
from bayesgen.likelihoods.hyperparameter_mixture import resolve_family
from bayesgen.likelihoods.selection import Selection
from bayesgen.membership import Entries

CONJUGATE = [
    name
    for name, case in CASES.items()
    if case.prior.conjugate and "leave_one_out" not in case.exempt
]


def left_out(prior, whole, x, rows, n_classes=laws.N_CLASSES):
    """Return what the other rows say of each row, taken out of the statistics of all."""
    completed = prior.complete(whole)
    selection = Selection.of(completed, completed.uninformative())
    informative = selection.take(completed)
    return Block(prior, informative, selection, whole, x, rows, n_classes).scores()


def alone(prior, case, x, y, weight, i):
    """Return what the other rows say of row i, fitted again without it."""
    others = np.delete(np.arange(len(y)), i)
    rest = laws.statistics(case, prior, x[others], y[others], weight[others])
    return scored(prior, rest, x[i : i + 1], laws.N_CLASSES)


@pytest.mark.parametrize("guess", ["prior", "vague"])
@pytest.mark.parametrize("name", CONJUGATE)
def test_every_family_leaves_a_row_out(name, guess):
    """Guesses that come from the columns are made again without the row, which has its weight."""
    case, rng = CASES[name], np.random.default_rng(3)
    prior = getattr(case, guess).equivalent_family()
    x, y = case.rows(rng, 24, gaps=not prior.joint)
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    whole = laws.statistics(case, prior, x, y, weight)
    found = left_out(prior, whole, x, LabelledRows({}, y, weight, weight))
    expected = [alone(prior, case, x, y, weight, i) for i in range(len(y))]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def law_copies_leave_together(case, prior, left_out=left_out):
    """Of rows that are there twice, half with another weight: what a fit without both says."""
    rng = np.random.default_rng(3)
    x, y = case.rows(rng, 16, gaps=not prior.joint)
    again = np.r_[np.arange(16), np.arange(0, 16, 2)]
    x, y, weight = x[again], y[again], rng.choice([0.5, 1.0, 2.0], len(again))
    away = np.bincount(again, weight)[again]
    whole = laws.statistics(case, prior, x, y, weight)
    found = left_out(prior, whole, x, LabelledRows({}, y, weight, away, copies=again))
    for i in range(16):
        others = np.flatnonzero(again != i)
        rest = laws.statistics(case, prior, x[others], y[others], weight[others])
        expected = scored(prior, rest, x[i : i + 1], laws.N_CLASSES)
        np.testing.assert_allclose(found[again == i], [expected] * (again == i).sum(), atol=1e-8)


@pytest.mark.parametrize("guess", ["prior", "vague"])
@pytest.mark.parametrize("name", CONJUGATE)
def test_every_family_leaves_copies_out(name, guess):
    case = CASES[name]
    law_copies_leave_together(case, getattr(case, guess).equivalent_family())


def copies_stay(prior, whole, x, rows):
    alone = dataclasses.replace(rows, away=rows.weight, copies=None)
    return left_out(prior, whole, x, alone)


@pytest.mark.parametrize("name", ["Normal", "Categorical", "KernelDiscriminant"])
def test_fault_of_copies_is_caught(name):
    with pytest.raises(AssertionError):
        law_copies_leave_together(CASES[name], CASES[name].prior.equivalent_family(), copies_stay)


def soft_rows_left_out(name):
    """Check rows of several classes, and of one, against fits to the other rows."""
    case, rng = CASES[name], np.random.default_rng(4)
    prior = case.prior.equivalent_family()
    x, y = case.rows(rng, 24, gaps=not prior.joint)
    shares = np.eye(laws.N_CLASSES)[y]
    shares[::2] = 0.6 * shares[::2] + 0.4 * rng.dirichlet(np.ones(laws.N_CLASSES), 12)
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    row, code = np.nonzero(shares)
    weights = weight[row] * shares[row, code]
    whole = laws.statistics(case, prior, x[row], code, weights)
    found = left_out(prior, whole, x, LabelledRows({}, shares, weight, weight))
    for i in range(0, len(y), 3):
        kept = row != i
        rest = laws.statistics(case, prior, x[row[kept]], code[kept], weights[kept])
        expected = scored(prior, rest, x[i : i + 1], laws.N_CLASSES)
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", CONJUGATE)
def test_every_family_leaves_a_row_out_of_all_of_its_classes(name):
    soft_rows_left_out(name)


@pytest.mark.parametrize("name", ["Normal", "MultivariateNormal"])
def test_the_law_catches_a_row_that_stays_in_its_other_classes(name, monkeypatch):
    whole = Entries.in_turn
    monkeypatch.setattr(Entries, "in_turn", lambda y, weight: [next(iter(whole(y, weight)))])
    with pytest.raises(AssertionError):
        soft_rows_left_out(name)


def test_a_column_that_is_constant_without_the_row_says_nothing_of_it():
    x = np.array([[0.0, 1.0], [0.0, 2.0], [5.0, 4.0], [0.0, 3.0]])
    y, weight = np.array([0, 0, 1, 1]), np.ones(4)
    for prior in (bg.Normal(), bg.MultivariateNormal(), bg.Normal(spread="shared")):
        whole = prior.statistics(x, y, weight, n_classes=2)
        found = left_out(prior, whole, x, LabelledRows({}, y, weight, weight), 2)
        rest = prior.statistics(x[[0, 1, 3], 1:], y[[0, 1, 3]], weight[:3], n_classes=2)
        np.testing.assert_allclose(
            found[2], prior.complete(rest).posterior(rest).log_predictive(x[2:3, 1:])[0]
        )


@pytest.mark.parametrize(
    "prior", [bg.Normal(), bg.Normal(spread="shared"), bg.MultivariateNormal()]
)
def test_a_value_that_one_row_alone_has_leaves_no_rounding_behind(prior):
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.standard_normal(12), np.full(12, 0.1)])
    x[5, 1] = 0.37
    y, weight = np.arange(12) % 2, np.ones(12)
    whole = prior.statistics(x, y, weight, n_classes=2)
    found = left_out(prior, whole, x, LabelledRows({}, y, weight, weight), 2)
    others = np.arange(12) != 5
    rest = prior.statistics(x[others], y[others], weight[others], n_classes=2)
    np.testing.assert_allclose(found[5], scored(prior, rest, x[5:6], 2), rtol=1e-9)


def rows_of_rare_levels(rng, n=24, levels=9):
    """Return rows of levels that a third of the rows hold alone, with gaps, and their classes."""
    x = rng.choice([0, 1, -1], (n, 3), p=[0.5, 0.4, 0.1])
    for column in range(3):
        x[rng.choice(n, levels - 2, replace=False), column] = np.arange(2, levels)
    return x, rng.integers(2, size=n), (levels,) * 3


LEVELS = {
    "plain": bg.Categorical(),
    "uniform": bg.Categorical.laplace(1),
    "learned": resolve_family(bg.Categorical(rows="learn")),
    "sets": over_column_sets(bg.Categorical()),
    "sets, learned": over_column_sets(resolve_family(bg.Categorical(rows="learn"))),
}


def law_rare_levels_leave_with_their_rows(prior):
    x, y, n_levels = rows_of_rare_levels(np.random.default_rng(1))
    weight = np.random.default_rng(2).choice([0.5, 1.0, 2.0], len(y))
    whole = prior.statistics(x, y, weight, n_classes=2, n_levels=n_levels)
    found = left_out(prior, whole, x, LabelledRows({}, y, weight, weight), 2)
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        rest = prior.statistics(
            x[others], y[others], weight[others], n_classes=2, n_levels=n_levels
        )
        expected = scored(prior, rest, x[i : i + 1], 2)
        np.testing.assert_allclose(found[i], expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", LEVELS)
def test_levels_that_one_row_alone_has_leave_with_it(name, monkeypatch):
    law_rare_levels_leave_with_their_rows(LEVELS[name])
    # not one by one: these are most rows of many a table
    refits = []
    monkeypatch.setattr(Block, "refitted", lambda self, i: refits.append(i) or np.zeros(2))
    with contextlib.suppress(AssertionError):
        law_rare_levels_leave_with_their_rows(LEVELS[name])
    assert not refits


def test_the_law_catches_a_level_that_stays(monkeypatch):
    monkeypatch.setattr(leave_one_out, "without_levels", lambda x, lost, n_levels: x)
    with pytest.raises(AssertionError):
        law_rare_levels_leave_with_their_rows(LEVELS["plain"])


def refitted(clf, X, y, weight=None):
    from sklearn.base import clone

    out = []
    weight = np.ones(len(y)) if weight is None else weight
    for i in range(len(y)):
        rest = weights_without(X, y, weight, i)
        other = clone(clf).fit(X[rest > 0], y[rest > 0], sample_weight=rest[rest > 0])
        k = list(other.classes_).index(y.iloc[i])
        joint = other.predict_joint_log_proba(X[i : i + 1])[0]
        out.append((joint[k] - np.logaddexp.reduce(joint), joint[k]))
    return np.array(out)


@pytest.mark.parametrize(
    "clf",
    [
        bg.LDA(),
        bg.QDA(),
        bg.NaiveBayes(),
        bg.NaiveBayes(bg.Normal(spread="shared"), class_prior="uniform"),
        bg.QDA(mean=3.0, scale=2.0, covariance_rows=5.0),
        bg.NaiveBayes(class_prior="empirical"),
    ],
)
def test_loo_is_fitting_again(clf):
    X, y = bg.datasets.load_iris()
    X, y = X[::6].reset_index(drop=True), y[::6].reset_index(drop=True)
    found = clf.fit(X, y).loo()
    np.testing.assert_allclose(found, refitted(clf, X, y), rtol=1e-9, atol=1e-9)


def test_loo_of_a_mixed_table_with_missing_values_and_weights():
    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[::60].reset_index(drop=True), y[::60].reset_index(drop=True)
    X["sex"] = X["sex"].astype("category")
    X["passengerClass"] = X["passengerClass"].astype("category")
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    clf = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    expected = refitted(clf, X, y, weight)
    np.testing.assert_allclose(clf.loo(), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(clf.loo(X, y, weight), expected, rtol=1e-9, atol=1e-9)


def test_the_last_row_of_a_class_is_predicted_from_the_prior():
    X = pd.DataFrame({"x": [0.0, 1.0, 2.0, 9.0]})
    y = pd.Series(["a", "a", "a", "b"])
    clf = bg.NaiveBayes(bg.Normal(mean=0.0, variance=4.0, variance_rows=4.0)).fit(X, y)
    found = clf.loo()
    assert np.isfinite(found).all(axis=None)
    # class a after its three rows (mean 1, squares 2) against class b before any, 4/5 to 1/5
    own = stats.t(4, 0, np.sqrt(8)).logpdf(9) + np.log(1 / 5)
    other = stats.t(7, 0.75, np.sqrt(18.75 / 7 * 1.25)).logpdf(9) + np.log(4 / 5)
    expected = [own - np.logaddexp(own, other), own]
    np.testing.assert_allclose(found.iloc[3], expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_loo_of_arviz_agrees():
    """Of 4,000 draws: within 5 Monte Carlo standard errors where importance sampling is good."""
    import arviz_stats as az

    X, y = bg.datasets.load_titanic_passengers()
    X, y = X[::4].reset_index(drop=True), y[::4].reset_index(drop=True)
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    tree = clf.to_datatree(draws=4000, replicates=2)
    tree["log_likelihood"] = tree["log_likelihood_conditional"]
    found = az.loo(tree, pointwise=True)
    exact = clf.loo()["log_proba"].to_numpy()
    good = found.pareto_k.values < 0.5
    assert good.mean() > 0.9
    error = found.elpd_i.values[good] - exact[good]
    assert np.abs(error).max() < 0.05 and abs(error.mean()) < 0.002


def test_what_has_no_exact_loo():
    X, y = bg.datasets.load_iris()
    with pytest.raises(UnsupportedOperation, match="inference_ is 'mle'"):
        bg.LDA(inference="mle").fit(X, y).loo()
    with pytest.raises(UnsupportedOperation, match=r"loo\(X, y\)"):
        bg.LDA().partial_fit(X, y).loo()


@pytest.mark.parametrize("name", CONJUGATE)
def test_every_family_leaves_a_part_of_a_row_out(name):
    """A row of weight 2 is the row twice, and one of the two stays."""
    case, rng = CASES[name], np.random.default_rng(4)
    prior = case.vague.equivalent_family()
    x, y = case.rows(rng, 12, gaps=not prior.joint)
    times = np.tile([1.0, 2.0, 3.0], 4)
    whole = laws.statistics(case, prior, x, y, times)
    found = left_out(prior, whole, x, LabelledRows({}, y, times, np.ones(12)))
    for i in range(12):
        rest = times - (np.arange(12) == i)
        some = rest > 0
        others = laws.statistics(case, prior, x[some], y[some], rest[some])
        expected = scored(prior, others, x[i : i + 1], laws.N_CLASSES)
        np.testing.assert_allclose(found[i], expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("weight", [[1.9, 1.6, 0.7], [1.0, 1.0, 1.0]])
@pytest.mark.parametrize(
    "make", [lambda: bg.NaiveBayes(temper="learn"), lambda: bg.StackedClassifier()]
)
def test_a_row_that_holds_all_that_varies_may_come_in_a_batch_of_its_own(make, weight):
    """Without the row in the middle the column is constant, whatever rows came with it."""
    X, y, weight = pd.DataFrame({"a": [1.5, 0.0, 1.5]}), np.array([0, 1, 0]), np.array(weight)
    whole, parts = make().fit(X, y, sample_weight=weight), make()
    parts.partial_fit(X[:2], y[:2], sample_weight=weight[:2])
    parts.partial_fit(X[2:], y[2:], sample_weight=weight[2:])
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_a_column_that_is_constant_without_a_fold_keeps_its_guess():
    """One row alone differs in a column: where a cell is missing, rows are left out by folds."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    X[:, 2] = 1.0
    X[7, 2] = 4.0
    X[3, 0] = np.nan
    scores = bg.LDA(inference="expected").fit(X, y).loo(X, y).to_numpy()
    assert np.isfinite(scores).all()
    without = bg.LDA(inference="expected").fit(X[:, :2], y).loo(X[:, :2], y).to_numpy()
    assert np.abs(scores - without)[[7]].max() > 0.1


def test_rows_that_the_fit_did_not_see_cannot_be_taken_away():
    X, y = bg.datasets.load_iris()
    with pytest.raises(
        UnsupportedOperation, match=r"class 'setosa' has 49 rows here.*had 50 in the fit"
    ):
        bg.LDA().fit(X, y).loo(X[1:], y[1:])


@pytest.mark.parametrize("temper", [None, "learn"])
def test_joint_table_leaves_rows_with_missing_cells_out(temper):
    """Under inference="expected": what a fit to the other rows says, for every row."""
    rng = np.random.default_rng(2)
    X = pd.DataFrame({n: rng.choice(["u", "v"], 14) for n in "ab"}).astype("category")
    X.loc[[0, 5], "a"], y = None, np.arange(14) % 2
    clf = bg.JointTable(inference="expected", temper=temper).fit(X, y)
    found = clf.loo()["log_joint"]
    for i in range(14):
        weight = weights_without(X, y, np.ones(14), i)
        there = weight > 0
        rest = bg.JointTable(inference="expected").fit(X[there], y[there], weight[there])
        joint = rest.predict_joint_log_proba(X.loc[[i]])
        if temper is not None:
            log_classes = rest.posterior_.log_classes()
            joint = clf.posterior_.log_joint_from(Scores(joint, log_classes, joint[:, None]))
        own = joint[0, y[i]]
        # each mode is found to where rounding hides the gain, 1e-13 of the terms: parameters to the
        # root of that, 3e-7, and a log density to that over the smallest probability, above .01
        np.testing.assert_allclose(found[i], own, atol=3e-5)


# --- as arviz's ELPDData ------------------------------------------------------------------------


def test_elpd_is_the_exact_leave_one_out():
    X, y = bg.datasets.load_iris()
    clf = bg.LDA().fit(X, y)
    found, exact = clf.loo(kind="elpd"), clf.loo()["log_proba"].to_numpy()
    np.testing.assert_array_equal(found.elpd_i.values, exact)
    assert found.elpd == pytest.approx(exact.sum(), rel=1e-12)
    # the standard error of a sum of 150 independent terms
    assert found.se == pytest.approx(np.sqrt(150 * np.mean((exact - exact.mean()) ** 2)), rel=1e-12)
    own = np.searchsorted(clf.classes_, y)
    whole = clf.predict_log_proba(X)[np.arange(150), own].sum()
    assert found.p == pytest.approx(whole - exact.sum(), rel=1e-9) and found.p > 0
    assert (found.kind, found.scale, found.n_data_points) == ("loo", "log", 150)
    # nothing was sampled or smoothed
    assert (found.n_samples, found.pareto_k, found.good_k) == (0, None, None)
    assert f"{found.elpd:.2f}" in str(found) and "Pareto" not in str(found)


def test_compare_of_arviz_ranks_by_exact_values():
    import arviz_stats as az

    X, y = bg.datasets.load_iris()
    parts = {"lda": bg.LDA(), "qda": bg.QDA(), "naive": bg.NaiveBayes()}
    elpds = {name: clf.fit(X, y).loo(kind="elpd") for name, clf in parts.items()}
    found = az.compare(elpds, round_to="none")
    expected = {name: clf.loo()["log_proba"] for name, clf in parts.items()}
    assert found.index.tolist() == sorted(expected, key=lambda name: -expected[name].sum())
    best = expected[found.index[0]]
    for name in found.index[1:]:
        difference = expected[name] - best
        assert found.loc[name, "elpd_diff"] == pytest.approx(difference.sum(), rel=1e-9)
        error = np.sqrt(150) * difference.std(ddof=0)
        assert found.loc[name, "dse"] == pytest.approx(error, rel=1e-9)
    assert (found["diag_elpd"] == "").all()


def test_elpd_counts_a_row_by_its_weight():
    """A row of weight w is taken away whole and counts w times; of weight 0 it is absent."""
    X, y = bg.datasets.load_iris()
    X, y = X[::5].reset_index(drop=True), y[::5].reset_index(drop=True)
    weight = np.tile([0.0, 1.0, 2.5], 10)
    clf = bg.NaiveBayes().fit(X, y, sample_weight=weight)
    found, seen = clf.loo(kind="elpd"), weight > 0
    rows = clf.loo()["log_proba"].to_numpy()
    np.testing.assert_allclose(found.elpd_i.values, (weight * rows)[seen], rtol=1e-12)
    np.testing.assert_array_equal(found.elpd_i["row"].values, np.flatnonzero(seen))
    alone = bg.NaiveBayes().fit(X[seen], y[seen], sample_weight=weight[seen]).loo(kind="elpd")
    assert found.n_data_points == alone.n_data_points == 20
    for name in ("elpd", "se", "p"):
        assert found[name] == pytest.approx(alone[name], rel=1e-9)


def test_loo_of_an_unknown_kind():
    X, y = bg.datasets.load_iris()
    with pytest.raises(bg.errors.InvalidArgument, match="kind is 'waic'; allowed: 'rows', 'elpd'"):
        bg.LDA().fit(X, y).loo(kind="waic")


@pytest.mark.slow
@pytest.mark.parametrize("power_transform", [False, True])
def test_draws_of_nuts_are_reweighed(power_transform):
    """Of 2,000 draws, priors stated, where Pareto k is below .5.

    A row's weights vary by less than 1, so that its standard error is below .022: five of them.
    Densities that know the row are .2 higher in the mean (measured).
    """
    X, y = bg.datasets.load_iris()
    X, y = X[::3], y[::3]
    likelihood = bg.Normal(mean=X.to_numpy().mean(axis=0), variance=X.to_numpy().var(axis=0))
    options = {"random_state": 0, "power_transform": power_transform}
    exact = bg.NaiveBayes(likelihood, **options).fit(X, y)
    nuts = bg.NUTS(draws=1000, warmup=300, chains=2)
    drawn = bg.NaiveBayes(likelihood, inference=nuts, **options).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LowSampleSize)
        found, good = drawn.loo(), drawn.loo(kind="elpd").pareto_k.values < 0.5
    away = (found - exact.loo()).to_numpy()[good]
    assert good.mean() > 0.5
    assert np.abs(away).max() < 0.11 and np.abs(away.mean(axis=0)).max() < 0.022


A = np.array([0.3, np.nan, 1.1, -0.4, 2.0, np.nan, 0.7, 1.6, -1.2, 0.1])
GAPS_TOGETHER = pd.DataFrame({"a": A, "b": A**2})
CONSTANT = {"numbers": 7.5, "numbers with gaps": np.where(np.arange(10) < 2, np.nan, 7.5)}


@pytest.mark.parametrize("constant", CONSTANT)
@pytest.mark.parametrize("columns", [["a"], ["a", "b"]])
@pytest.mark.parametrize("make", [bg.LDA, bg.QDA])
def test_rows_without_any_informative_cell_beside_a_constant_column(make, columns, constant):
    """They have one cell each, of a column that says nothing: they count as without cells."""
    y, X = np.arange(10) % 2, GAPS_TOGETHER[columns]
    alone = make(inference="expected").fit(X, y).loo()
    with pytest.warns(bg.errors.SuspiciousColumn):
        clf = make(inference="expected").fit(X.assign(c=CONSTANT[constant]), y)
    np.testing.assert_allclose(clf.loo().log_proba, alone.log_proba, rtol=0, atol=1e-12)


def test_a_stack_of_one_number_with_gaps_beside_a_constant_column():
    y = np.array([0, 1, 0, 1, 0, 0, 1, 1, 0, 1])
    with pytest.warns(bg.errors.SuspiciousColumn):
        clf = bg.StackedClassifier(progress=False).fit(pd.DataFrame({"a": A, "c": 7.5}), y)
    assert np.isfinite(clf.loo().log_proba).all()


def of_one_content(*values):
    """Return whether all values have one digest."""
    return len({leave_one_out._digest(value) for value in values}) == 1


def test_blocks_are_recognized_by_their_content():
    X, y = bg.datasets.load_iris()
    one, other = (bg.NaiveBayes(bg.Normal(mean_rows=n)).fit(X, y).state_ for n in (1, 2))
    same = bg.NaiveBayes(bg.Normal(mean_rows=1)).fit(X, y).state_
    assert of_one_content(one.likelihoods, same.likelihoods)
    assert of_one_content(one.statistics, same.statistics)
    assert not of_one_content(one.likelihoods, other.likelihoods)
    number = np.arange(6.0)
    assert of_one_content(number, np.asfortranarray(number), number.copy())
    for changed in (
        number[::-1],
        number.reshape(2, 3),
        number.astype(int),
        number[:5],
        list(number),
    ):
        assert not of_one_content(number, changed)
    words = np.array(["a", None], dtype=object)
    assert of_one_content(words, words.copy()) and not of_one_content(words, words[::-1])
    sparse = csr_array(np.eye(3))
    assert of_one_content(sparse, sparse.copy()) and not of_one_content(sparse, 2 * sparse)
    assert not of_one_content(("ab", "c"), ("a", "bc"))


def test_what_holds_a_function_has_no_digest():
    assert leave_one_out._digest(np.arange(3), lambda x: x) is None
