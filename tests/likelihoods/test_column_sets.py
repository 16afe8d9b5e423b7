"""Averages over sets of columns: enumeration of all sets, and the laws of the family."""

import dataclasses
import itertools

import laws
import numpy as np
import pandas as pd
import pytest
from agree import agree
from cases import CASES
from paces import fast_only
from scipy.special import logsumexp

import bayesgen as bg
from bayesgen.errors import InvalidArgument, UnsupportedOperation
from bayesgen.likelihoods import column_sets
from bayesgen.likelihoods.column_sets import ColumnSets
from bayesgen.likelihoods.selection import Selection

SHARE = 0.3
FAMILIES = ["Normal", "Normal shared", "Categorical", "Bernoulli", "Poisson"]
OBEYED = [
    *(laws.law_addition, laws.law_weight, laws.law_sequence, laws.law_story, laws.law_average),
    *(laws.law_update, laws.law_total, laws.law_units, laws.law_marginal),
]


def alike(prior):
    """Return a family with the first class's guesses for all classes."""
    stated = {f.name: getattr(prior, f.name) for f in dataclasses.fields(prior) if f.init}
    return dataclasses.replace(prior, **{n: v[:1] for n, v in stated.items() if np.ndim(v) == 2})


def case_of(name):
    """Return the case of a family, averaged over sets of columns."""
    case = CASES[name]

    def sets(part):
        return ColumnSets.of(part, SHARE)

    def other(x, prior):
        changed = [case.other(x, member) for member in prior.members]
        return changed[0][0], prior.with_arrays({"members": tuple(m for _, m in changed)})

    prior, vague = sets(alike(case.prior)), sets(case.vague)
    return dataclasses.replace(case, prior=prior, vague=vague, other=other)


@pytest.mark.parametrize("law", OBEYED, ids=lambda law: law.__name__)
@pytest.mark.parametrize("name", fast_only(["Normal", "Categorical"], FAMILIES))
def test_law(law, name):
    case = case_of(name)
    law(case, case.prior)


def column(case, j, part, rows, x):
    """Return one column of a likelihood, of statistics and of rows."""
    sizes = case.n_levels or (1, 1, 1)
    index = np.flatnonzero(np.repeat(range(3), sizes) == j)
    selection = Selection(index, case.n_levels)
    return selection.take(part), selection.take(rows), selection.read(x)


@pytest.mark.parametrize("name", FAMILIES)
def test_it_is_the_average_over_all_sets_of_columns(name):
    """Evidence, predictive and probabilities by enumeration of the eight sets of three columns."""
    case = case_of(name)
    family = alike(CASES[name].prior)
    prior, after, rows, x, y = laws.fitted(case, case.prior, 20, gaps=True)
    fresh = np.concatenate([case.rows(np.random.default_rng(3), 5)[0], x[:4]])
    one_class = laws.statistics(case, family, x, 0 * y)
    one_class = one_class.take("class", np.array([0]))
    apart, common = family.complete(rows), family.complete(one_class)
    evidence, sets, scores = [], list(itertools.product([0, 1], repeat=3)), []
    for members in sets:
        log_evidence, score = 0.0, np.zeros((len(fresh), 3))
        for j, depends in enumerate(members):
            part, sums = (apart, rows) if depends else (common, one_class)
            part, sums, cells = column(case, j, part, sums, fresh)
            log_evidence += part.log_evidence(sums) + np.log(SHARE if depends else 1 - SHARE)
            score += part.posterior(sums).log_predictive(cells)
        evidence.append(log_evidence)
        scores.append(score)
    agree(prior.log_evidence(rows), logsumexp(evidence))
    weight = np.exp(evidence - logsumexp(evidence))
    np.testing.assert_allclose(after.relevance, weight @ np.array(sets), atol=1e-10)
    expected = logsumexp(np.array(scores), axis=0, b=weight[:, None, None])
    np.testing.assert_allclose(after.log_predictive(fresh), expected, atol=1e-10, rtol=1e-10)


def test_a_fault_is_caught(monkeypatch):
    """Columns weighed by their prior probability alone, whatever the rows say."""
    right = ColumnSets.posterior

    def forgets_the_evidence(self, statistics):
        return right(self, statistics).with_arrays({"log_weight": self.log_weight})

    monkeypatch.setattr(ColumnSets, "posterior", forgets_the_evidence)
    with pytest.raises(AssertionError):
        test_it_is_the_average_over_all_sets_of_columns("Normal")


@pytest.mark.parametrize("name", FAMILIES)
def test_the_evidence_is_that_of_one_step_at_a_time(name):
    case = case_of(name)
    prior, _, rows, x, y = laws.fitted(case, case.prior, 14, gaps=True)
    steps = 0.0
    for i, k in enumerate(y):
        before = prior.posterior(laws.statistics(case, prior, x[:i], y[:i]))
        steps += before.log_predictive(x[i : i + 1])[0, k]
    agree(steps, prior.log_evidence(rows))


# -- the classifier --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    """Return two columns that tell classes apart, 8 and a level that do not, and labels."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    X = pd.DataFrame(rng.standard_normal((40, 9))).rename(columns=lambda j: f"x{j}")
    X = X.rename(columns={"x0": "a"})
    X["a"] += 2.0 * y
    X["e"] = np.where(rng.random(40) < 0.8, y, 0).astype(str)
    X["f"] = rng.choice(["u", "v"], 40)
    return X.mask(rng.random(X.shape) < 0.1), y


@pytest.fixture(scope="module")
def averaged(table):
    return bg.NaiveBayes(columns="average").fit(*table)


def test_the_missing_pattern_has_no_relevance(table):
    X, y = table
    clf = bg.NaiveBayes(columns="average", missing="informative").fit(X, y)
    known = clf.relevance().probability.dropna()
    assert sorted(known.index) == sorted(X.columns)


def test_relevant_columns_come_first(averaged):
    frame = averaged.relevance()
    assert set(frame.index[:2]) == {"a", "e"}
    assert (frame.probability[:2] > 0.95).all()
    assert frame.probability[2:].mean() < 0.4
    assert frame.weight_of_evidence.is_monotonic_decreasing


def test_leave_one_out_is_that_of_refits(averaged, table):
    X, y = table
    loo = averaged.loo(X, y)["log_proba"].to_numpy()
    by_hand = []
    for i in range(0, 40, 8):
        others = np.arange(40) != i
        again = bg.NaiveBayes(columns="average").fit(X[others], y[others])
        by_hand.append(again.predict_log_proba(X.iloc[[i]])[0, y[i]])
    np.testing.assert_allclose(loo[::8], by_hand, atol=1e-9)


def test_order_parts_and_files_do_not_matter(averaged, table, tmp_path):
    X, y = table
    expected = averaged.predict_proba(X)
    order = np.random.default_rng(1).permutation(40)
    shuffled = bg.NaiveBayes(columns="average").fit(X.iloc[order, ::-1], y[order])
    np.testing.assert_allclose(shuffled.predict_proba(X[X.columns[::-1]]), expected, atol=1e-9)
    first = bg.NaiveBayes(columns="average").fit(X[:20], y[:20])
    second = bg.NaiveBayes(columns="average").fit(X[20:], y[20:])
    first_alone, merged = first.predict_proba(X), first.merge(second)
    np.testing.assert_allclose(merged.predict_proba(X), expected, atol=1e-9)
    parts = first.partial_fit(X[20:], y[20:])
    np.testing.assert_allclose(parts.predict_proba(X), expected, atol=1e-9)
    forgotten = parts.forget(X[20:], y[20:])
    np.testing.assert_allclose(forgotten.predict_proba(X), first_alone, atol=1e-9)
    averaged.save(tmp_path / "sets.bgm")
    loaded = bg.load(tmp_path / "sets.bgm")
    np.testing.assert_array_equal(loaded.predict_proba(X), expected)
    pd.testing.assert_frame_equal(loaded.relevance(X), averaged.relevance(X))


def test_intervals_hold_the_prediction(averaged, table):
    X, _ = table
    interval = averaged.predict_interval(X[:8])
    probs = averaged.predict_proba(X[:8])
    assert (interval[..., 0] <= probs + 1e-9).all()
    assert (probs - 1e-9 <= interval[..., 1]).all()
    assert (interval[..., 1] - interval[..., 0]).max() > 0.05
    assert averaged.impute(X, random_state=0).notna().all().all()


def test_what_has_no_average_is_refused(table):
    X, y = table
    with pytest.raises(UnsupportedOperation, match=r"columns='average' with KernelDensity"):
        bg.NaiveBayes({"a": bg.KernelDensity()}, remainder="drop", columns="average").fit(X, y)
    with pytest.raises(UnsupportedOperation, match=r"Normal\(prior='reference'\)"):
        bg.NaiveBayes(bg.Normal(prior="reference"), columns="average").fit(X[["a"]], y)
    with pytest.raises(InvalidArgument, match=r"Normal\.mean differs between the classes"):
        prior = bg.Normal(mean=np.array([[0.0], [1.0], [2.0]]))
        bg.NaiveBayes({"a": prior}, remainder="drop", columns="average").fit(X, y)
    with pytest.raises(InvalidArgument, match="columns"):
        bg.NaiveBayes(columns="some").fit(X, y)


def test_shares_are_weighed_by_evidence(averaged):
    """The share of the prior that fits few columns of a block is the heaviest."""
    block = averaged.posterior_.families["normal"]
    assert len(block.members) == len(column_sets.SHARES)
    heaviest = block.heaviest().share
    assert heaviest <= 0.3
