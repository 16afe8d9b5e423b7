"""Stacks and rows without a label: each member its own weight, judges among labeled rows alone."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import bayesgen as bg
from bayesgen.errors import BayesgenWarning, SuspiciousColumn

X, SPECIES = bg.datasets.load_iris()
RNG = np.random.default_rng(0)
TEST = RNG.permutation(150)[:60]
REST = np.setdiff1d(np.arange(150), TEST)
Y = np.asarray(SPECIES, dtype=object)
FEW = np.full(150, None, dtype=object)
for species in np.unique(SPECIES):
    some = REST[Y[REST] == species][:5]
    FEW[some] = species
THERE = np.flatnonzero(FEW != None)  # noqa: E711


def loss(clf):
    place = np.searchsorted(clf.classes_, Y[TEST].astype(str))
    return -np.log(clf.predict_proba(X.iloc[TEST])[np.arange(60), place]).mean()


@pytest.fixture(scope="module")
def stack():
    return bg.StackedClassifier(random_state=0).fit(X.iloc[REST], FEW[REST])


@pytest.mark.slow
def test_members_learn_their_own_weights_and_those_that_keep_rows_none(stack):
    weights = {name: member.unlabelled_weight_ for name, member in stack.members_.items()}
    assert weights["kernels"] == weights["naive_kernels"] == 0.0
    assert len({round(weight, 6) for weight in weights.values()}) > 4
    assert 0.0 < stack.unlabelled_weight_ < 1.0
    assert stack.left_out_ == {}
    assert stack.report_.details["unlabelled.rows"] == 75
    assert stack.report_.details["rows judged"] == 15
    kernels = stack.members_["kernels"]
    alone = clone(kernels).fit(X.iloc[THERE], FEW[THERE])
    np.testing.assert_allclose(kernels.predict_proba(X), alone.predict_proba(X), atol=1e-12)


def test_unlabelled_rows_help_a_stack(stack):
    alone = bg.StackedClassifier(random_state=0).fit(X.iloc[THERE], FEW[THERE])
    assert loss(stack) < loss(alone)


def test_every_answer_of_a_stack(stack, tmp_path):
    rows = X.iloc[:3]
    assert stack.predict_interval(rows).shape == (3, 3, 2)
    assert stack.predict_draws(rows).sizes["row"] == 3
    np.testing.assert_allclose(stack.label_distributions_.sum(axis=1), 1.0)
    given = FEW[REST] != None  # noqa: E711
    assert (stack.transduction_[given] == FEW[REST][given]).all()
    assert len(stack.loo()) == 15
    stack.evidence(rows)
    stack.sample(3)
    stack.impute(rows.assign(petal_width=[0.2, None, 1.0]), random_state=0)
    stack.save(tmp_path / "stack.bgm")
    loaded = bg.load(tmp_path / "stack.bgm")
    np.testing.assert_array_equal(loaded.predict_proba(X), stack.predict_proba(X))
    with pytest.raises(AttributeError):
        _ = bg.StackedClassifier().label_distributions_


def test_parts_of_a_stack_are_fitted_as_a_whole():
    members = {"naive": bg.NaiveBayes(), "linear": bg.LDA()}
    whole = bg.StackedClassifier(members, random_state=0).fit(X.iloc[REST], FEW[REST])
    split = bg.StackedClassifier(members, random_state=0)
    order = np.concatenate([THERE, np.setdiff1d(REST, THERE)])
    for part in (order[:40], order[40:]):
        split.partial_fit(X.iloc[part], FEW[part], classes=np.unique(SPECIES))
    np.testing.assert_allclose(split.predict_proba(X), whole.predict_proba(X), atol=1e-5)


def test_members_that_cannot_learn_a_weight_read_labelled_rows():
    members = {"point": bg.NaiveBayes(inference="map"), "without": bg.LDA(unlabelled=None)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", BayesgenWarning)
        stack = bg.StackedClassifier(members, random_state=0).fit(X.iloc[REST], FEW[REST])
    alone = bg.LDA().fit(X.iloc[THERE], FEW[THERE])
    found = stack.members_["without"].predict_proba(X)
    np.testing.assert_allclose(found, alone.predict_proba(X), atol=1e-12)
    assert stack.unlabelled_weight_ == 0.0


def test_no_unlabelled_row_changes_nothing():
    plain = bg.StackedClassifier(random_state=0).fit(X[::3], SPECIES[::3])
    none = bg.StackedClassifier(random_state=0, unlabelled=None).fit(X[::3], SPECIES[::3])
    np.testing.assert_array_equal(plain.predict_proba(X), none.predict_proba(X))
    assert plain.unlabelled_weight_ == 0.0
    assert (plain.label_distributions_.max(axis=1) == 1).all()


def test_an_identifier_is_named_once_though_some_members_see_fewer_rows():
    table = X.iloc[REST].assign(name=[f"iris {i}" for i in REST])
    half = np.where(np.arange(90) % 2 == 0, Y[REST], None)
    with pytest.warns(SuspiciousColumn, match="'name' has 90 levels in 90 rows") as caught:
        bg.StackedClassifier(["naive", "naive_kernels"], random_state=0).fit(table, half)
    assert sum(issubclass(one.category, SuspiciousColumn) for one in caught) == 1
