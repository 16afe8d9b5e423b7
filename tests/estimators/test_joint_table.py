"""The joint table: answers of the lectures and of R, missing values, late levels, bad input."""

import itertools
import json
from functools import cache

import numpy as np
import pandas as pd
import pytest
from excused import conforms
from paces import fast_only
from references import ORACLES
from sklearn.utils.estimator_checks import parametrize_with_checks

import bayesgen as bg

TEST_DAY = pd.DataFrame(
    {"Outlook": ["Sunny"], "Temperature": ["Cool"], "Humidity": ["High"], "Wind": ["Strong"]}
)
LAPLACE = bg.JointCategorical.laplace(1)


@cache
def titanic():
    X, y = bg.datasets.load_titanic()
    return X, y, pd.read_csv(ORACLES / "titanic_cells16.csv")


def holed(X, rng, share=0.2):
    return X.mask(rng.random(X.shape) < share)


# --- answers that are known -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spelling", "inference"),
    [
        *((spelling, "exact") for spelling in ("laplace", "number", "uniform", "array", "table")),
        ("laplace", "map"),
    ],
)
def test_play_tennis_with_one_row_in_each_cell(spelling, inference):
    settings = {"class_prior": "empirical", "inference": inference}
    probs = {
        "number": 1 / 36,
        "uniform": "uniform",
        "array": np.full(36, 1 / 36),
        "table": np.full((2, 3, 3, 2, 2), 1 / 36),
    }
    if spelling == "laplace":
        clf = bg.GenerativeClassifier(LAPLACE, **settings)
    else:
        clf = bg.JointTable(probs=probs[spelling], rows=36, **settings)
    answers = json.loads((ORACLES / "playtennis_test_point.json").read_text(encoding="utf-8"))
    found = clf.fit(*bg.datasets.load_play_tennis()).predict_proba(TEST_DAY)[0, 1]
    expected = answers["full_joint_dirichlet1_mlclass"]["Yes"]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_titanic_sixteen_cells():
    X, y, cells = titanic()
    grid = cells[["Class", "Sex", "Age"]]
    full = bg.GenerativeClassifier(LAPLACE, class_prior="empirical").fit(X, y)
    expected = cells[["joint_dirichlet1_No", "joint_dirichlet1_Yes"]]
    np.testing.assert_allclose(full.predict_proba(grid), expected, rtol=0, atol=1e-12)
    seen = cells["joint_mle_Yes"].notna().to_numpy()
    mle = bg.JointTable(inference="mle").fit(X, y)
    found = mle.predict_proba(grid[seen])[:, 1]
    np.testing.assert_allclose(found, cells["joint_mle_Yes"][seen], rtol=0, atol=1e-12)
    naive = bg.NaiveBayes(inference="mle").fit(X, y)
    assert mle.score(X, y) > naive.score(X, y)


# --- missing values
# ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inference", "missing"),
    [
        ("exact", ["Age"]),
        ("exact", ["Class", "Sex"]),
        ("map", ["Class", "Age"]),
        (bg.Augmentation(draws=50, warmup=9), ["Class", "Age"]),
    ],
)
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")
def test_missing_columns_are_summed_out(inference, missing, rng):
    X, y, cells = titanic()
    rows = X if not isinstance(inference, bg.Augmentation) else holed(X, rng)
    clf = bg.JointTable(inference=inference, random_state=0).fit(rows, y)
    grid = cells[["Class", "Sex", "Age"]]
    joint = np.exp(clf.predict_joint_log_proba(grid))
    given = [c for c in grid if c not in missing]
    total = pd.DataFrame(joint).groupby([grid[c] for c in given]).transform("sum")
    gaps = grid.assign(**dict.fromkeys(missing))
    found = np.exp(clf.predict_joint_log_proba(gaps))
    np.testing.assert_allclose(found, total, rtol=1e-10)
    with pytest.warns(bg.errors.CountsAsMissing):
        absent = np.exp(clf.predict_joint_log_proba(grid[given]))
    np.testing.assert_allclose(absent, found, rtol=1e-12)
    nothing = clf.predict_proba(grid.iloc[:1].assign(**dict.fromkeys(grid)))
    np.testing.assert_allclose(nothing, np.exp(clf.posterior_.log_classes())[None], rtol=1e-9)


def test_intervals_of_rows_with_missing_values_surround_their_mean(rng):
    X, y, cells = titanic()
    clf = bg.JointTable(random_state=0).fit(X[::20], y[::20])
    grid = holed(cells[["Class", "Sex", "Age"]], rng, 0.4)
    draws = clf.predict_draws(grid)
    mean = (draws * draws.weight).sum("draw").to_numpy()
    error = draws.std("draw").to_numpy() / np.sqrt(len(draws)) + 1e-12
    assert (np.abs(mean - clf.predict_proba(grid)) < 5 * error).all()
    alone = np.stack([clf.predict_interval(grid.iloc[[i]])[0] for i in range(len(grid))])
    np.testing.assert_allclose(alone, clf.predict_interval(grid), rtol=0, atol=1e-12)


def test_missing_values_at_fit_are_met_by_draws_and_em(rng):
    X, y, cells = titanic()
    rows, grid = holed(X, rng), cells[["Class", "Sex", "Age"]].iloc[[2, 6, 9]]
    auto = bg.JointTable(random_state=0).fit(rows, y)
    assert auto.inference_ == "importance"
    assert auto.report_.converged
    with pytest.warns(bg.errors.BayesgenWarning, match="joint block"):
        exact = bg.JointTable(inference="exact", random_state=0).fit(rows, y)
    np.testing.assert_array_equal(exact.predict_proba(grid), auto.predict_proba(grid))
    for inference in ("map", "mle"):
        clf = bg.JointTable(inference=inference).fit(rows, y)
        assert clf.report_.details["table.converged"] == 1
        np.testing.assert_allclose(clf.predict_proba(grid), auto.predict_proba(grid), atol=0.05)
    # whoever drops incomplete rows has half of the rows left
    assert rows.notna().all(axis=1).mean() < 0.55


@pytest.mark.slow
def test_mode_of_rows_with_missing_values_is_that_of_svi(rng):
    X, y, cells = titanic()
    rows, grid = holed(X, rng), cells[["Class", "Sex", "Age"]]
    em = bg.JointTable(inference="map").fit(rows, y).predict_proba(grid)
    svi = bg.JointTable(inference=bg.MAP(solver="svi")).fit(rows, y)
    assert svi.report_.converged
    np.testing.assert_allclose(svi.predict_proba(grid), em, atol=1e-4)


# --- levels ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", fast_only(["map"], ["map", "mle"]))
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_levels_arriving_late(inference, share, rng):
    X, y, cells = titanic()
    X, y = holed(X, rng, share)[::5], y[::5]
    # at first one level of Class and none of Age, whose cells are missing values all the same
    first = (X["Class"] == "Crew") | X["Class"].isna()
    X = X.assign(Age=X["Age"].mask(first))
    order = [np.flatnonzero(first), *np.array_split(np.flatnonzero(~first), 3)]
    parts = bg.JointTable(inference=inference)
    for rows in order:
        parts.partial_fit(X.iloc[rows], y.iloc[rows])
    whole = bg.JointTable(inference=inference).fit(X, y)
    grid = cells[["Class", "Sex", "Age"]].iloc[[2, 6, 9]]
    np.testing.assert_allclose(
        parts.predict_proba(grid), whole.predict_proba(grid), rtol=0, atol=1e-7
    )


def declared(X, **levels):
    return X.assign(**{c: pd.Categorical(X[c], categories=v) for c, v in levels.items()})


def test_levels_that_nobody_saw_or_stated_count_as_missing():
    X, y, _ = titanic()
    given = [*sorted(set(X["Class"])), "4th"]
    with_level = declared(X, Class=given)
    row = declared(X.iloc[:1].assign(Class="4th"), Class=given)
    direct = bg.JointTable().fit(X, y).predict_proba(X.iloc[:1].assign(Class=None))
    np.testing.assert_allclose(bg.JointTable().fit(with_level, y).predict_proba(row), direct)
    # under a stated guess every declared combination is a cell
    stated = bg.GenerativeClassifier(LAPLACE, class_prior="empirical").fit(with_level, y)
    n = y.value_counts()[["No", "Yes"]].to_numpy()
    joint = n / n.sum() / (n + 20)
    np.testing.assert_allclose(stated.predict_proba(row)[0], joint / joint.sum(), rtol=1e-12)


def test_a_column_never_observed_says_nothing(rng):
    X, y, _ = titanic()
    for column in (None, pd.Categorical([None] * len(X), categories=["a", "b"])):
        clf = bg.JointTable(random_state=0).fit(X.assign(extra=column), y)
        assert clf.inference_ == "exact"
        found = clf.predict_proba(X.assign(extra=column))
        np.testing.assert_allclose(found, bg.JointTable().fit(X, y).predict_proba(X), rtol=1e-12)
        rows, _ = clf.sample(3, random_state=0)
        assert list(rows) == [*X, "extra"] and rows["extra"].isna().all()


def test_sampled_rows_have_the_frequencies_of_the_table():
    X, y, _ = titanic()
    clf = bg.JointTable(random_state=0).fit(X, y)
    rows, labels = clf.sample(4000, random_state=1)
    found = pd.concat([rows, pd.Series(labels, name="y")], axis=1).value_counts() / 4000
    expected = pd.concat([X, y.rename("y")], axis=1).value_counts(normalize=True)
    gap = found.reindex(expected.index, fill_value=0) - expected
    error = np.sqrt(expected * (1 - expected) * (1 / 4000 + 1 / len(X)))
    assert (gap.abs() < 5 * error).all()


# --- beside other blocks, bad input, conformance --------------------------------------------------


def test_a_table_beside_other_blocks():
    X, y = bg.datasets.load_titanic_passengers()
    columns = {("sex", "passengerClass"): bg.JointCategorical(), "age": bg.Normal()}
    clf = bg.GenerativeClassifier(columns).fit(X, y)
    only_table = bg.JointTable().fit(X[["sex", "passengerClass"]], y)
    only_age = bg.NaiveBayes().fit(X[["age"]], y)
    joint = sum(
        c.predict_joint_log_proba(X[list(c.feature_names_in_)]) for c in (only_table, only_age)
    )
    joint -= only_age.posterior_.log_classes()
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), joint, rtol=0, atol=1e-9)


NUMBERS = pd.DataFrame(np.arange(60).reshape(20, 3) % 7, columns=list("abc"))
Y = np.arange(20) % 2

REFUSED = [
    (
        "fractions",
        lambda: bg.JointTable().fit(NUMBERS + 0.5, Y),
        bg.errors.InvalidData,
        "column 'a' holds 0.5; its likelihood needs levels",
    ),
    (
        "a table too large",
        lambda: bg.JointTable().fit(pd.concat([NUMBERS.add_suffix(s) for s in "xy"], axis=1), Y),
        bg.errors.InvalidData,
        r"'ax' \(7\), .* has 117,649 cells in each class; at most 10,000 .* Leave columns out",
    ),
    (
        "a probability of zero",
        lambda: bg.JointTable(probs=[0.5, 0.5, 0.0]).fit(NUMBERS, Y),
        bg.errors.InvalidArgument,
        "JointTable: probs has the entry 0.0; probabilities above 0",
    ),
    (
        "probabilities that sum to two",
        lambda: bg.JointTable(probs=2 / 343).fit(NUMBERS, Y),
        bg.errors.InvalidArgument,
        "sum to",
    ),
    (
        "a word for a guess",
        lambda: bg.JointTable(probs="flat").fit(NUMBERS, Y),
        bg.errors.InvalidArgument,
        "probs is 'flat'",
    ),
    (
        "a table in naive Bayes",
        lambda: bg.NaiveBayes(bg.JointCategorical()).fit(NUMBERS, Y),
        bg.errors.UnsupportedOperation,
        "cannot take JointCategorical",
    ),
]


@pytest.mark.parametrize(
    ("call", "error", "sentence"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED]
)
def test_bad_input_is_refused(call, error, sentence):
    with pytest.raises(error, match=sentence):
        call()


def test_a_batch_that_makes_the_table_too_large_changes_nothing():
    clf = bg.JointTable().partial_fit(NUMBERS, Y)
    before = clf.predict_proba(NUMBERS)
    wide = pd.DataFrame(list(itertools.product(range(30), repeat=3))[::9], columns=list("abc"))
    with pytest.raises(bg.errors.InvalidData, match="12,600 cells"):
        clf.partial_fit(wide, np.arange(len(wide)) % 2)
    np.testing.assert_array_equal(clf.predict_proba(NUMBERS), before)


FRACTIONS = "the check fits fractions, which are no levels: they are refused"
CHECKS = (
    "check_positive_only_tag_during_fit",
    "check_sample_weight_equivalence_on_dense_data",
    "check_decision_proba_consistency",
)


@pytest.mark.slow
# the suite fits columns that look like identifiers, and incomplete rows
@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.BayesgenWarning")
@parametrize_with_checks([bg.JointTable(inference=bg.Exact(draws=100))])
def test_conformance(estimator, check):
    conforms(estimator, check, dict.fromkeys(CHECKS, FRACTIONS))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgen.errors.SuspiciousColumn")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.CountsAsMissing")
@pytest.mark.filterwarnings("ignore::bayesgen.errors.DegenerateEstimate")
@parametrize_with_checks([bg.JointTable(inference=method) for method in ("mle", "map")])
def test_conformance_by_point_estimates(estimator, check):
    conforms(estimator, check, dict.fromkeys(CHECKS, FRACTIONS))
