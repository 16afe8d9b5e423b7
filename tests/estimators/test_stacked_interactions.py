"""Interactions of a stack: which join, what is shown of them, and what they answer."""

import numpy as np
import pytest
from stacked_tables import interacting, interacting_stack, iris

import bayesgen as bg
from bayesgen.estimators import judged_rows
from bayesgen.estimators.stack import interactions, weighing
from bayesgen.interactions import Forest, Pair


def kinds(stack):
    return stack._weighed.interactions.joint is not None, [
        p.title for p in stack._weighed.interactions.pairs
    ]


def test_a_forest_and_the_pair_that_interacts_join():
    stack, X, y = interacting_stack()
    assert kinds(stack) == (True, ["a x b"])
    fresh, labels = interacting(1000, seed=8)
    simple = bg.StackedClassifier([*stack.members_], random_state=0).fit(X, y)
    assert kinds(simple) == (False, [])
    scores = [s.predict_log_proba(fresh) for s in (simple, stack)]
    code = np.searchsorted(stack.classes_, labels)
    loss = [-score[np.arange(len(code)), code].mean() for score in scores]
    assert loss[1] < loss[0] - 0.05


def test_nothing_joins_where_columns_do_not_interact():
    X, y = iris(1)
    assert kinds(bg.StackedClassifier(random_state=0).fit(X, y)) == (False, [])


def test_nothing_joins_members_of_the_users_own_or_a_stack_without_pool():
    X, y = interacting()
    for stack in (bg.StackedClassifier(pool=None), bg.StackedClassifier([bg.NaiveBayes()])):
        assert kinds(stack.fit(X, y)) == (False, [])


def test_a_forest_is_shown_among_the_members():
    stack, _, _ = interacting_stack()
    table = stack.members_table()
    assert list(table.index) == [*stack.members_, "forest", "a x b"]
    assert list(stack.weights_) == [*stack.members_, "forest"]
    assert sum(stack.weights_.values()) == pytest.approx(1)
    assert table.loc["forest"].drop("log_evidence").notna().all()
    assert table.loc["a x b"].notna().to_dict() == dict.fromkeys(table, False) | {
        "log_linear_weight": True
    }


def test_the_file_of_a_stack_has_its_interactions(tmp_path):
    stack, X, _ = interacting_stack()
    stack.save(tmp_path / "stack.bgm")
    loaded = bg.load(tmp_path / "stack.bgm")
    np.testing.assert_array_equal(loaded.predict_proba(X), stack.predict_proba(X))
    np.testing.assert_array_equal(loaded.predict_interval(X[:5]), stack.predict_interval(X[:5]))


def log_proba(stack, X, y):
    return stack.predict_log_proba(X)[np.arange(len(y)), np.searchsorted(stack.classes_, y)]


def require_left_out():
    stack, X, y = interacting_stack()
    left_out = stack.loo(X, y)["log_proba"].to_numpy()
    stated = -stack.report_.details["leave-one-out log loss"]
    assert left_out.mean() == pytest.approx(stated, abs=0.02)
    assert left_out.mean() < log_proba(stack, X, y).mean() - 0.1


def test_rows_are_left_out_of_interactions_too():
    require_left_out()


def test_fault_is_caught_a_forest_that_has_seen_the_row(monkeypatch):
    monkeypatch.setattr(
        Forest, "left_out", lambda self, encoded, y, away: self.log_density(encoded)
    )
    with pytest.raises(AssertionError):
        require_left_out()


def test_the_cells_of_a_row_add_up_to_its_evidence():
    stack, X, _ = interacting_stack()
    parts = stack.evidence(X[:3], "yes", "no", order="shapley")
    proba = stack.predict_proba(X[:3])
    odds = np.log(proba[:, 1] / proba[:, 0])
    np.testing.assert_allclose(parts.sum(axis=1), odds, rtol=0, atol=1e-9)


def test_a_row_without_cells_has_the_class_prior():
    stack, X, y = interacting_stack()
    share = (np.bincount(np.searchsorted(stack.classes_, y)) + 1) / (len(y) + 2)
    proba = stack.predict_proba(X[:1].assign(**dict.fromkeys(X)))
    np.testing.assert_allclose(proba[0], share, rtol=0, atol=1e-9)


def test_intervals_hold_the_probability():
    stack, X, _ = interacting_stack()
    proba, interval = stack.predict_proba(X), stack.predict_interval(X, 0.9)
    inside = (interval[..., 0] <= proba) & (proba <= interval[..., 1])
    assert inside.mean() > 0.95


def test_another_prevalence_keeps_the_interactions():
    stack, X, _ = interacting_stack()
    other = stack.with_class_prior({"no": 0.9, "yes": 0.1})
    before, after = stack.predict_proba(X)[:, 1], other.predict_proba(X)[:, 1]
    assert kinds(other) == kinds(stack)
    assert (after < before).all()


@pytest.mark.parametrize(
    ("before", "after", "joins"),
    [
        ([-1.0] * 40, [-0.9] * 40, True),
        ([-1.0] * 9, [-0.9] * 9, False),  # less than a nat in all
        ([-1.0] * 40, [-0.2, -1.8] * 20, False),  # less than its standard error
        ([-np.inf] * 40, [-0.1] * 40, False),  # rows impossible without themselves
    ],
)
def test_an_interaction_joins_where_it_gains(before, after, joins):
    y, weight = np.zeros(len(before), dtype=int), np.ones(len(before))
    assert interactions.gains(np.c_[before], np.c_[after], y, weight) == joins


def test_a_pair_is_named_by_its_columns():
    stack, _, _ = interacting_stack()
    (pair,) = stack._weighed.interactions.pairs
    assert isinstance(pair, Pair)
    assert pair.names == ("a", "b")


def test_cells_are_imputed_and_valued_by_the_members():
    stack, X, _ = interacting_stack()
    gaps = X[:3].assign(u=np.nan)
    assert stack.impute(gaps, random_state=0).u.notna().all()
    assert len(stack.feature_value(gaps)) == 3
    assert len(stack.sample(50, random_state=0)[1]) == 50
    assert "forest" in stack.to_datatree(draws=8, replicates=2)["weight"].coords["member"]


def test_rows_that_stand_for_others_are_no_more_rows(monkeypatch):
    weights = []

    def noted(before, after, y, weight):
        weights.append(weight)
        return interactions.gains(before, after, y, weight)

    monkeypatch.setattr(judged_rows, "JUDGED", 60)
    monkeypatch.setattr(judged_rows, "FEWEST", 60)
    monkeypatch.setattr(weighing, "gains", noted)
    X, y = interacting()
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    assert stack.report_.details["rows judged"] == 60
    assert [weight.sum() for weight in weights] == pytest.approx([60.0] * len(weights))
    assert weights


def test_a_member_with_each_column_apart_is_read_by_its_structure_not_its_name():
    stack, X, _ = interacting_stack()
    assert stack._weighed.interactions.reads == "naive"
    structures = stack._structures(stack._read(X, reset=False))
    apart = [name for name, structure in structures.items() if structure.columns_apart]
    assert apart == ["naive"]
