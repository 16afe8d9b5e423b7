"""A stack says why, whom it trusts, and what its members cannot answer."""

import warnings

import numpy as np
import pandas as pd
import pytest
from paces import fast_only
from stacked_tables import flower_stack, holed, iris, mixed_stack, passengers

import bayesgen as bg
from bayesgen.errors import NoAttribute, UnsupportedOperation
from bayesgen.estimators.stack.member import FittedMember
from bayesgen.inference.stacking import dealt
from bayesgen.plots import WeightDisplay

PRIOR = "(prior)"


@pytest.fixture
def mixed():
    return mixed_stack()


@pytest.fixture
def flowers():
    return flower_stack()


# --- evidence ------------------------------------------------------------------------------------


@pytest.mark.parametrize("temper", fast_only([0.5], [None, 0.5, "learn"]))
@pytest.mark.parametrize("order", ["columns", "shapley"])
def test_evidence_sums_to_log_odds_of_the_stack(temper, order):
    X, y = passengers(20)
    stack = bg.StackedClassifier(temper=temper, random_state=0).fit(X, y)
    rows, gaps = holed(X)
    parts = stack.evidence(rows, order=order)
    log = stack.predict_log_proba(rows)
    np.testing.assert_allclose(parts.sum(axis=1), log[:, 1] - log[:, 0], rtol=1e-9, atol=1e-9)
    assert list(parts) == [PRIOR, *X] and (parts.to_numpy()[:, 1:][gaps] == 0).all()
    np.testing.assert_allclose(stack.evidence(rows, "no", order=order), -parts, atol=1e-12)


@pytest.mark.parametrize("order", ["columns", "shapley"])
def test_evidence_of_three_classes(flowers, order):
    stack, X, _ = flowers
    rows, gaps = holed(X)
    log = stack.predict_log_proba(rows)
    pair = stack.evidence(rows, "virginica", "versicolor", order=order)
    np.testing.assert_allclose(pair.sum(axis=1), log[:, 2] - log[:, 1], rtol=1e-9, atol=1e-9)
    assert (pair.to_numpy()[:, 1:][gaps] == 0).all()
    every = stack.evidence(rows, order=order)
    for k, name in enumerate(stack.classes_):
        wanted = log[:, k] - log.mean(axis=1)
        np.testing.assert_allclose(every[name].sum(axis=1), wanted, rtol=1e-9, atol=1e-9)


def test_the_order_of_columns_changes_no_shapley_mean():
    X, y = iris()
    other = X.columns[[2, 0, 3, 1]]
    parts = [
        bg.StackedClassifier([bg.NaiveBayes(), bg.QDA()])
        .fit(X[names], y)
        .evidence(X[names][::5], "virginica", "versicolor", order="shapley")[[PRIOR, *X]]
        for names in (X.columns, other)
    ]
    pd.testing.assert_frame_equal(*parts, rtol=1e-7, atol=1e-8)


def test_a_stack_of_one_says_what_its_member_says():
    X, y = passengers()
    member = bg.NaiveBayes()
    stack = bg.StackedClassifier([member], temper=None, pool=None).fit(X, y)
    rows, _ = holed(X)
    for order in ("columns", "shapley"):
        expected = member.fit(X, y).evidence(rows, order=order)
        pd.testing.assert_frame_equal(stack.evidence(rows, order=order), expected, atol=1e-9)


def test_intervals_are_those_of_the_members_drawn_by_weight():
    """Of one member its own quantiles, within 5 standard errors of 1,000 draws; of two between."""
    X, y = passengers()
    alone = {name: bg.NaiveBayes(likelihood).fit(X[["age"]], y) for name, likelihood in
             (("own", bg.Normal()), ("shared", bg.Normal(spread="shared")))}  # fmt: skip
    row = pd.DataFrame({"age": [60.0]})
    ends = {}
    for names in (["own"], ["shared"], ["own", "shared"]):
        members = {name: alone[name] for name in names}
        stack = bg.StackedClassifier(members, temper=None, pool=None).fit(X[["age"]], y)
        ends[tuple(names)] = [part.iloc[0]["age"] for part in stack.evidence(row, interval=0.8)]
    wanted = [part.iloc[0]["age"] for part in alone["own"].evidence(row, interval=0.8)]
    assert ends["own",][0] == pytest.approx(wanted[0])
    np.testing.assert_allclose(ends["own",], wanted, atol=0.2 * (wanted[2] - wanted[1]))
    both, single = ends["own", "shared"], (ends["own",], ends["shared",])
    for end in (1, 2):
        low, high = sorted(one[end] for one in single)
        assert low - 0.1 < both[end] < high + 0.1


def test_draws_are_dealt_by_weight():
    rng = np.random.default_rng(0)
    for _ in range(20):
        weights = rng.dirichlet(np.ones(6))
        counts = dealt(weights, 1000)
        assert counts.sum() == 1000 and (np.abs(counts - 1000 * weights) < 1).all()


def test_a_point_estimate_has_no_intervals():
    X, y = iris()
    stack = bg.StackedClassifier([bg.NaiveBayes(inference="mle")]).fit(X, y)
    with pytest.raises(NoAttribute, match="evidence"):
        stack.evidence(X, interval=0.9)


def law_the_order_of_members_does_not_matter():
    """Whose blocks join the pool is decided by how members are judged, not by which comes first."""
    X, y = passengers()
    members = {"point": bg.NaiveBayes(inference="map"), "exact": bg.NaiveBayes()}
    one, other = (
        bg.StackedClassifier({name: members[name] for name in names}, random_state=0).fit(X, y)
        for names in (("point", "exact"), ("exact", "point"))
    )
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    ends = one.predict_interval(X[:20])
    assert (ends[..., 0] < ends[..., 1]).all()


def test_the_order_of_members_does_not_matter():
    law_the_order_of_members_does_not_matter()


def test_fault_blocks_of_a_member_that_is_judged_as_a_whole(monkeypatch):
    monkeypatch.setattr(FittedMember, "subtracts_rows", True)
    with pytest.raises((AssertionError, ValueError, UnsupportedOperation)):
        law_the_order_of_members_does_not_matter()


# --- members that cannot answer ------------------------------------------------------------------


def test_densities_over_other_columns_are_no_part_of_p_of_x():
    X, y = passengers()
    members = {
        "all": bg.NaiveBayes(),
        "indicators": bg.LDA(levels="indicators"),
        "age": bg.GenerativeClassifier({"age": bg.Normal()}, remainder="drop"),
    }
    stack = bg.StackedClassifier(members, pool=None, random_state=0).fit(X, y)
    assert stack.posterior_.components.densities == (True, False, False)
    expected = stack.members_["all"].score_samples(X)
    np.testing.assert_allclose(stack.score_samples(X), expected, rtol=1e-9)
    parts = stack.evidence(X, order="shapley")
    np.testing.assert_allclose(parts.sum(axis=1), stack.decision_function(X), atol=1e-9)
    assert list(parts) == [PRIOR, *X]


def test_the_density_of_rows_is_that_of_their_log_joint(mixed):
    clf, X, _ = mixed
    rows = clf._read_rows(X[:20])
    posterior = rows.posterior
    assert not all(posterior.components.densities)
    joint = posterior.log_joint(rows.encoded, 20)
    found = posterior.log_density(rows.encoded, 20)
    assert found == pytest.approx(np.logaddexp.reduce(joint, axis=1), abs=1e-10)


def test_a_stack_over_indicators_alone_answers_but_cannot_fill():
    X, y = passengers()
    members = [bg.LDA(levels="indicators")]
    stack = bg.StackedClassifier(members, temper=None, pool=None).fit(X, y)
    alone = bg.LDA(levels="indicators").fit(X, y)
    np.testing.assert_allclose(stack.predict_proba(X), alone.predict_proba(X), rtol=1e-9)
    parts = stack.evidence(X[:9])
    np.testing.assert_allclose(parts.sum(axis=1), stack.decision_function(X[:9]), atol=1e-9)
    for ask in (stack.impute, stack.feature_value):
        with pytest.raises(UnsupportedOperation, match="no member models the distribution"):
            ask(holed(X)[0])


@pytest.mark.slow
def test_a_story_of_your_own_is_named():
    import numpyro
    import numpyro.distributions as dist

    def petals(x, y=None, *, n_classes):
        probs = numpyro.sample("probs", dist.Dirichlet(np.ones(n_classes)))
        with numpyro.plate("class", n_classes):
            length = numpyro.sample("length", dist.Normal(3.0, 3.0))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(probs), obs=y)
            numpyro.sample("x", dist.Normal(length[y], 1.0), obs=x[:, 0])

    X, y = iris(10)
    X = X[["petal_length"]]
    members = {
        "told": bg.GenerativeClassifier(story=petals, inference="map"),
        "naive": bg.NaiveBayes(),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ten folds of few rows
        stack = bg.StackedClassifier(members, pool=None).fit(X, y)
    for ask in (stack.evidence, stack.feature_value):
        with pytest.raises(UnsupportedOperation, match=r"the member 'told'.*of your own"):
            ask(X)
    assert stack.posterior_.components.densities == (False, True)


# --- pictures ------------------------------------------------------------------------------------


@pytest.fixture
def agg():
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("agg")
    yield
    plt.close("all")


def test_who_is_trusted(agg, mixed):
    stack = mixed[0]
    shown = stack.plot_weights()
    assert shown.weights.tolist() == sorted(stack.weights_.values(), reverse=True)
    assert [stack.weights_[name] for name in shown.names] == shown.weights.tolist()
    assert [t.get_text() for t in shown.ax_.get_yticklabels()] == shown.names
    assert len(shown.ax_.patches) == len(stack.members_)
    assert " ".join(shown.ax_.get_title(loc="left").split()) == shown.words


@pytest.mark.parametrize(
    ("temperature", "words"),
    [(1.02, "as sure as"), (1.5, "divided by 1.50"), (0.8, "multiplied by 1.25")],
)
def test_the_temperature_in_words(temperature, words):
    shown = WeightDisplay(["a"], np.ones(1), temperature, [])
    assert words in shown.words


def test_every_picture_takes_a_stack(agg, flowers):
    stack, X, y = flowers
    displays = [
        stack.plot_evidence(X.iloc[[0]], order="shapley"),
        stack.plot_regions(X, y, points=8),
        stack.plot_densities(X, y, points=8),
        stack.plot_features(X, y),
        stack.plot_intervals(X, y),
        stack.plot_reliability(X, y),
    ]
    for display in displays:
        assert any(axes.has_data() for axes in display.figure_.axes), type(display).__name__


def test_levels_of_a_class_sum_to_one_in_a_picture_of_a_stack(agg):
    """Normals over indicators have densities of levels, which may exceed one."""
    X, y = bg.datasets.load_penguins()
    lda = bg.LDA(levels="indicators", inference="expected")
    members = {"indicators": lda, "naive": bg.NaiveBayes()}
    display = bg.StackedClassifier(members).fit(X, y).plot_features(X, y)
    levels = [column for column in display.columns if column.ticks]
    assert [column.name for column in levels] == ["island", "sex"]
    for column in levels:
        np.testing.assert_allclose(column.density.sum(axis=0), 1.0)


# --- rows in parts -------------------------------------------------------------------------------


def test_members_that_learn_from_all_rows_take_part_in_partial_fit():
    X, y = iris()
    members = {"tempered": bg.NaiveBayes(temper="learn"), "linear": bg.LDA()}
    whole = bg.StackedClassifier(members).fit(X, y)
    parts = bg.StackedClassifier(members)
    parts.partial_fit(X[::2], y[::2])
    earlier = parts.members_
    stated = {name: member.predict_proba(X) for name, member in earlier.items()}
    parts.partial_fit(X[1::2], y[1::2])
    assert list(parts.members_) == list(whole.members_)
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-6)
    for name, member in earlier.items():  # what was fitted before is not touched
        np.testing.assert_array_equal(member.predict_proba(X), stated[name])


def test_other_columns_are_refused_in_partial_fit():
    X, y = iris()
    stack = bg.StackedClassifier([bg.NaiveBayes()]).fit(X, y)
    with pytest.raises(ValueError, match="unseen at fit time:\n- extra\n"):
        stack.partial_fit(X.assign(extra=1.0), y)


# --- the table of members -------------------------------------------------------------------------


@pytest.mark.parametrize("pool", ["learn", None])
def test_table_of_members(pool):
    X, y = iris()
    members = {"linear": bg.LDA(), "naive": bg.NaiveBayes(), "point": bg.LDA(inference="mle")}
    stack = bg.StackedClassifier(members, pool=pool).fit(X, y)
    table = stack.members_table()
    assert list(table.index) == list(members) and table.index.name == "member"
    for name, member in stack.members_.items():
        row = table.loc[name]
        assert row["weight"] == stack.weights_[name]
        assert (
            row["leave_one_out_log_loss"]
            == (stack.report_.details[f"leave-one-out log loss of {name}"])
        )
        evidence = getattr(member, "log_evidence_", np.nan)
        np.testing.assert_equal(row["log_evidence"], evidence)
    assert table["log_evidence"].isna().tolist() == [False, False, True]
    assert table["log_linear_weight"].isna().all() == (pool is None)
    fitted = bg.NaiveBayes().fit(X, y).report_.details["leave-one-out log loss"]
    np.testing.assert_allclose(table.loc["naive", "leave_one_out_log_loss"], fitted, rtol=1e-9)
