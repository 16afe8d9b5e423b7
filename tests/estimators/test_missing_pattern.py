"""missing=: the missing pattern of a table as one more likelihood, and its learned power."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from scipy.special import logsumexp

import bayesgen as bg
from bayesgen.errors import (
    CountsAsMissing,
    InformativePattern,
    InvalidArgument,
    InvalidData,
    UnsupportedOperation,
)
from bayesgen.inference import class_probabilities
from bayesgen.inference.leave_one_out import LabelledRows
from bayesgen.table import read_table

POWERS = np.array([0.0, 0.25, 0.5, 1.0])


def gaps(n=150, seed=0):
    """Return rows whose cells are missing more often in one class, in two of three columns."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, "ill", "well")
    X = pd.DataFrame({"age": rng.normal(size=n) + (y == "ill"), "dose": rng.normal(size=n)})
    X["sex"] = rng.choice(["f", "m"], n)
    X.loc[rng.random(n) < np.where(y == "ill", 0.3, 0.2), "age"] = np.nan
    X.loc[rng.random(n) < 0.2, "sex"] = None
    return X, y


def stack_of_two(**settings):
    """Return a stack that is fitted in a quarter of the time that all members take.

    Of members by name: those that are typed say themselves how they take the pattern.
    """
    return bg.StackedClassifier(["naive", "indicators"], **settings)


@cache
def fitted(make, missing):
    """Return a classifier that tests ask and leave as it is."""
    return make(missing=missing, random_state=0).fit(*gaps())


def by_hand(X):
    """Return the same rows with the missing pattern of two columns as columns of 0 and 1."""
    return X.assign(no_age=X["age"].isna().astype(float), no_sex=X["sex"].isna().astype(float))


AS_THEY_ARE = {"age": bg.Normal(), "dose": bg.Normal(), "sex": bg.Categorical()}
BY_HAND = AS_THEY_ARE | {("no_age", "no_sex"): bg.Bernoulli()}
JOINT = {("age", "dose"): bg.MultivariateNormal(), "sex": bg.Categorical()}
JOINT_BY_HAND = JOINT | {("no_age", "no_sex"): bg.Bernoulli()}


@pytest.mark.parametrize(
    ("stated", "hand", "options"),
    [
        (AS_THEY_ARE, BY_HAND, {}),
        (AS_THEY_ARE, BY_HAND, {"temper": "learn"}),
        (AS_THEY_ARE, BY_HAND, {"inference": "mle"}),
        (AS_THEY_ARE, BY_HAND, {"class_prior": "uniform"}),
        (JOINT, JOINT_BY_HAND, {"inference": "expected"}),
    ],
)
def test_the_pattern_is_a_bernoulli_of_columns_written_by_hand(stated, hand, options):
    X, y = gaps()
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    clf = bg.GenerativeClassifier(stated, missing="informative", **options).fit(X, y, weight)
    other = bg.GenerativeClassifier(hand, **options).fit(by_hand(X), y, weight)
    found, expected = (
        clf.predict_joint_log_proba(X),
        other.predict_joint_log_proba(by_hand(X)),
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    if options.get("inference") != "mle":
        pd.testing.assert_frame_equal(clf.loo(), other.loo(), rtol=0, atol=1e-10)
    if not options:
        assert abs(clf.log_evidence_ - other.log_evidence_) < 1e-10
    evidence, theirs = clf.evidence(X), other.evidence(by_hand(X))
    assert list(evidence) == ["(prior)", "age", "age missing", "dose", "sex", "sex missing"]
    renamed = theirs.rename(columns={"no_age": "age missing", "no_sex": "sex missing"})
    if "temper" not in options:  # columns depend on each other where powers are averaged
        pd.testing.assert_frame_equal(evidence, renamed[list(evidence)], rtol=0, atol=1e-10)
    np.testing.assert_allclose(evidence.sum(axis=1), clf.decision_function(X), atol=1e-10)


def test_a_weight_for_each_column_of_the_pattern():
    """Under temper="columns" the pattern is so many more columns of naive Bayes."""
    X, y = gaps()
    hand = bg.NaiveBayes(BY_HAND, temper="columns").fit(by_hand(X), y)
    for missing in ("informative", "learn"):
        clf = bg.NaiveBayes(AS_THEY_ARE, missing=missing, temper="columns").fit(X, y)
        np.testing.assert_allclose(
            clf.predict_proba(X), hand.predict_proba(by_hand(X)), rtol=0, atol=1e-9
        )
        assert list(clf.weights_) == ["age", "dose", "sex", "age missing", "sex missing"]


@pytest.mark.parametrize("make", [bg.NaiveBayes, bg.GenerativeClassifier])
def test_a_power_of_the_pattern_is_averaged_by_leave_one_out(make):
    X, y = gaps()
    own, codes = np.arange(len(y)), (y == "well").astype(int)
    ignored = make(AS_THEY_ARE, missing="ignorable").fit(X, y)
    pattern = make(bg.Bernoulli(), class_prior="uniform").fit(by_hand(X)[["no_age", "no_sex"]], y)
    clf = make(AS_THEY_ARE, missing="learn").fit(X, y)
    score, each = [], []
    state = clf.state_
    encoded = state.schema.encode(read_table(X))
    rows = LabelledRows(encoded, codes, *np.ones((2, len(y))))
    scores = clf.fitted_.leave_one_out(rows)
    others, mine = scores.parts[:, :3].sum(axis=1), scores.parts[:, 3:].sum(axis=1)
    for power in POWERS:
        joint = scores.log_classes + others + power * mine
        score.append((joint - logsumexp(joint, axis=1, keepdims=True))[own, codes].sum())
        joint = ignored.predict_log_proba(X) + power * pattern.predict_log_proba(
            by_hand(X)[["no_age", "no_sex"]]
        )
        each.append(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))
    # a power above 0 needs very strong evidence, of 5 nats
    score = np.array(score) - 5.0 * (np.array(POWERS) > 0)
    share = np.exp(score - score.max())
    share = np.where(share / share.sum() > 1e-4, share, 0.0)
    expected = np.einsum("g,gnk->nk", share / share.sum(), each)
    np.testing.assert_allclose(clf.predict_proba(X), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("missing", ["informative", "learn"])
def test_without_a_missing_value_at_fit_nothing_changes(missing):
    X, y = gaps()
    complete = X.assign(age=X["age"].fillna(0.0), sex=X["sex"].fillna("f"))
    for make in (bg.NaiveBayes, bg.LDA, stack_of_two):
        rows, new = (
            (complete, X) if make is not bg.LDA else (complete[["age", "dose"]], X[["age", "dose"]])
        )
        clf = make(missing=missing, random_state=0).fit(rows, y)
        plain = make(missing="ignorable", random_state=0).fit(rows, y)
        np.testing.assert_array_equal(clf.predict_proba(new), plain.predict_proba(new))
        assert list(clf.evidence(new[:2])) == list(plain.evidence(new[:2]))


def test_a_column_absent_from_the_table_is_not_counted_as_missing():
    X, y = gaps()
    clf = bg.NaiveBayes(AS_THEY_ARE, missing="informative").fit(X, y)
    hand = bg.NaiveBayes(BY_HAND).fit(by_hand(X), y)
    with pytest.warns(CountsAsMissing):
        absent = clf.predict_proba(X.drop(columns="age"))
    with pytest.warns(CountsAsMissing):
        expected = hand.predict_proba(by_hand(X).drop(columns=["age", "no_age"]))
    np.testing.assert_allclose(absent, expected, rtol=0, atol=1e-12)
    blank = clf.predict_proba(X.assign(age=np.nan))
    assert (blank[:, 0] > absent[:, 0]).all()  # missing more often among the ill
    with pytest.warns(CountsAsMissing):
        assert (clf.evidence(X.drop(columns="age"))["age missing"] == 0).all()


def test_an_unseen_level_is_observed():
    X, y = gaps()
    clf = bg.NaiveBayes(missing="informative").fit(X, y)
    row = X.iloc[[0]].assign(sex="other")
    with pytest.warns(bg.errors.CountsAsMissing):
        found = clf.evidence(row).iloc[0]
    assert found["sex"] == 0
    assert found["sex missing"] == clf.evidence(row.assign(sex="f")).iloc[0]["sex missing"] != 0


@pytest.mark.parametrize("make", [bg.NaiveBayes, stack_of_two])
@pytest.mark.parametrize("missing", ["informative", "learn"])
def test_any_split_of_the_rows_is_the_whole(make, missing):
    """Also where the first rows are complete, or lack a column."""
    X, y = gaps()
    whole = fitted(make, missing)
    order = np.argsort(X.isna().any(axis=1).to_numpy(), kind="stable")
    clf = make(missing=missing, random_state=0)
    if make is stack_of_two:  # whose indicators are those of the first rows
        order = order[::-1]
    for rows in np.array_split(order, 3):
        clf.partial_fit(X.iloc[rows], y[rows], classes=["ill", "well"])
    np.testing.assert_allclose(clf.predict_proba(X), whole.predict_proba(X), rtol=0, atol=1e-9)


def test_rows_without_a_column_leave_its_pattern_as_it_was():
    X, y = gaps()
    clf = bg.NaiveBayes(missing="informative").fit(X, y)
    before = clf.state_.statistics.blocks["missing"].arrays()["values"]
    with pytest.warns(CountsAsMissing):
        clf.partial_fit(X[["age", "dose"]], y)
    after = clf.state_.statistics.blocks["missing"].arrays()["values"]
    np.testing.assert_array_equal(after, before * [2, 2, 1])


@pytest.mark.parametrize(
    "clf",
    [
        bg.NaiveBayes(missing="informative"),
        bg.NaiveBayes(missing="learn"),
        bg.NaiveBayes(missing="learn", temper="columns"),
        bg.LDA(levels="indicators", missing="informative", inference="expected"),
        stack_of_two(missing="informative", random_state=0),
    ],
    ids=str,
)
def test_saved_models_predict_alike(clf, tmp_path):
    X, y = gaps()
    clf.fit(X, y).save(tmp_path / "model.bgm")
    again = bg.load(tmp_path / "model.bgm")
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    pd.testing.assert_frame_equal(again.evidence(X[:5]), clf.evidence(X[:5]))


@pytest.mark.parametrize("read", [pl.from_pandas, lambda X: X.to_numpy(dtype=object)])
def test_other_containers(read):
    X, y = gaps()
    clf = bg.NaiveBayes(missing="informative").fit(X, y)
    other = bg.NaiveBayes(missing="informative").fit(read(X), y)
    np.testing.assert_allclose(other.predict_proba(read(X)), clf.predict_proba(X), atol=1e-12)
    assert len(other.sample(3, random_state=0)[0]) == 3


@pytest.mark.slow
def test_a_column_may_bear_the_name():
    X, y = gaps()
    X["age missing"] = X["dose"]
    clf = bg.NaiveBayes(missing="informative").fit(X, y)
    found = clf.evidence(X)
    assert list(found)[1:3] == ["age", "age missing_"] and "age missing" in found
    np.testing.assert_allclose(found.sum(axis=1), clf.decision_function(X), atol=1e-10)
    assert "age missing_" in clf.to_datatree(draws=20, replicates=2)["observed_data"]


def test_levels_read_as_numbers_have_the_pattern_of_their_column():
    X, y = gaps()
    X["color"] = np.where(X["dose"] > 1, "red", np.where(X["dose"] > 0, "blue", "teal"))
    X.loc[::7, "color"] = None
    clf = bg.LDA(levels="indicators", missing="informative", inference="expected").fit(X, y)
    found = clf.evidence(X)
    assert [name for name in found if "missing" in name] == [
        "age missing",
        "sex missing",
        "color missing",
    ]
    np.testing.assert_allclose(found.sum(axis=1), clf.decision_function(X), atol=1e-10)
    assert tuple(clf.feature_names_in_) == tuple(X)


# -- simulated, imputed and typical rows -----------------------------------------------------------


def test_simulated_rows_have_the_missing_pattern():
    """Shares of 4,000 rows within 5 standard errors of the predictive."""
    X, y = gaps()
    clf = bg.NaiveBayes(missing="informative", random_state=0).fit(X, y)
    rows, labels = clf.sample(4000, random_state=0)
    assert list(rows) == list(X) and rows["dose"].notna().all()
    prob = clf.posterior_.families["missing"].prob
    for j, name in enumerate(["age", "sex"]):
        for k, label in enumerate(clf.classes_):
            found = rows.loc[labels == label, name].isna()
            error = np.sqrt(prob[k, j] * (1 - prob[k, j]) / len(found))
            assert abs(found.mean() - prob[k, j]) < 5 * error
    stack = stack_of_two(missing="informative", random_state=0).fit(X, y)
    assert stack.sample(300, random_state=0)[0][["age", "sex"]].isna().any().all()


@pytest.mark.parametrize("missing", ["informative", "learn"])
@pytest.mark.parametrize("make", [bg.NaiveBayes, stack_of_two])
def test_cells_are_imputed_and_valued_by_column(make, missing):
    X, _ = gaps()
    clf = fitted(make, missing)
    filled = clf.impute(X, random_state=0)
    assert list(filled) == list(X) and filled.notna().all(axis=None)
    value = clf.feature_value(X[:20], draws=4)
    assert list(value) == list(X)
    assert (value.isna() == X[:20].notna()).all(axis=None)


@pytest.mark.parametrize("make", [bg.NaiveBayes, stack_of_two])
def test_a_rare_gap_is_no_novelty(make):
    X, y = gaps()
    X["rare"] = np.where(np.arange(len(y)) == 3, np.nan, X["dose"] ** 2)
    row = X.iloc[[0]].assign(rare=np.nan)
    found = [make(missing=m, random_state=0).fit(X, y) for m in ("ignorable", "informative")]
    shares = [clf.typicality(row, draws=2000)[0] for clf in found]
    assert shares[1] > 0.02 and abs(shares[0] - shares[1]) < 0.1


# -- warnings and errors ---------------------------------------------------------------------------


def telling(n=200):
    X, y = gaps(n)
    gone = np.random.default_rng(2).random(n) < np.where(y == "ill", 0.8, 0.1)
    return X.assign(dose=X["dose"].mask(gone)), y


@pytest.mark.parametrize(
    "clf",
    [
        bg.NaiveBayes(missing="informative"),
        bg.NaiveBayes(missing="learn"),
        bg.NaiveBayes(missing="informative", inference="mle"),
        stack_of_two(),
    ],
    ids=str,
)
def test_a_pattern_that_carries_much_of_the_evidence_is_named(clf):
    X, y = telling()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clf.fit(X, y)
    (found,) = [str(one.message) for one in caught if one.category is InformativePattern]
    assert "column 'dose' are missing" in found and "missing='ignorable'" in found
    clf.set_params(missing="ignorable").fit(X, y)  # without a warning, which would be an error


def test_refusals():
    X, y = telling()
    with pytest.raises(InvalidArgument, match="missing is 'often'"):
        bg.NaiveBayes(missing="often").fit(X, y)
    with pytest.raises(InvalidArgument, match="missing is 'often'"):
        bg.StackedClassifier(missing="often").fit(X, y)
    with pytest.raises(UnsupportedOperation, match="temper='columns'"):
        bg.NaiveBayes(missing="learn", temper="learn").fit(X, y)
    with pytest.warns(InformativePattern), pytest.raises(UnsupportedOperation, match="expected"):
        bg.NaiveBayes(missing="learn", inference="mle").fit(X, y)
    with pytest.raises(InvalidData, match="missing='ignorable'"):
        bg.NaiveBayes(bg.Poisson(), missing="learn").fit(csr_array(np.eye(4)), [0, 1, 0, 1])
    with pytest.raises(UnsupportedOperation, match="missing='learn'"):
        bg.GenerativeClassifier(story=lambda x: x, missing="learn").fit(X[["age", "dose"]], y)


def test_draws_of_a_stack_read_the_pattern_as_its_probabilities_do():
    """Columns missing together count about once, in the draws of the member that is split too."""
    X, y = gaps(300)
    gone = np.random.default_rng(3).random(300) < np.where(y == "ill", 0.45, 0.2)
    X = X.assign(**{f"copy {i}": np.where(gone, np.nan, X["dose"] ** 2 + i) for i in range(4)})
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    mixture, encoded = stack.fitted_.posterior.components, stack._read_rows(X[:5]).encoded
    name, *_ = mixture.split
    own, member = list(mixture.members).index(name), mixture.members[name]
    weights = member.readout.pool.mean_weights
    assert 0 < weights[-1] < 0.75
    alone = np.arange(len(mixture.members) + len(member.families)) == own
    (found,) = mixture.class_draws(encoded, 5, weights=lambda n: np.tile(alone * 1.0, (n, 1)))
    logs = found.logits + member.log_classes()
    proba = np.exp(logs - logsumexp(logs, axis=2, keepdims=True)).mean(axis=0)
    expected = class_probabilities(
        member.log_joint(mixture.by_member(encoded)[name], 5), member.log_classes()
    )
    np.testing.assert_allclose(proba, expected, atol=0.02)
