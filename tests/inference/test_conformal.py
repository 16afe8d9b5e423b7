"""Full conformal prediction is fitting again without each row, for every family that subtracts."""

import dataclasses

import laws
import numpy as np
import pytest
from cases import CASES

from bayesgen.classes import class_prior
from bayesgen.inference import conformal, leave_one_out
from bayesgen.inference.conformal import AugmentedFit, Groups, left_out_p_values, odds, p_values
from bayesgen.inference.leave_one_out import LabelledRows, scored
from bayesgen.inference.readouts import BAYES
from bayesgen.inference.scores import log_class_probabilities
from bayesgen.model import ModelStatistics
from bayesgen.problem import Problem

CONJUGATE = [
    name
    for name, case in CASES.items()
    if case.prior.conjugate and "leave_one_out" not in case.exempt and "Kernel" not in name
]
N_FITTED, N_CLASSES = 12, laws.N_CLASSES


def augmented_fit(case, prior, x, y, weight, empirical=False):
    """Return the fit of one block, to which new rows are added."""
    count = np.bincount(y, weight, minlength=N_CLASSES)
    whole = ModelStatistics(count, {"": laws.statistics(case, prior, x, y, weight)})
    classes = class_prior("empirical" if empirical else 1.0, np.arange(3), count, frequencies=False)
    problem = Problem.of(classes, {"": prior}, whole, empirical=empirical)
    rows = LabelledRows({"": x}, y, weight, np.minimum(weight, 1.0))
    return AugmentedFit(problem, rows, weight, {"": case.n_levels}, BAYES.log_proba)


def refitted_odds(case, prior, x, y, weight, i, empirical):
    """Return the log-odds of the class of a row, fitted again without weight 1 of it."""
    weight = weight.copy()
    weight[i] -= min(weight[i], 1.0)
    others = np.flatnonzero(weight > 0)
    rest = laws.statistics(case, prior, x[others], y[others], weight[others])
    count = np.bincount(y[others], weight[others], minlength=N_CLASSES)
    spec = "empirical" if empirical else 1.0
    classes = class_prior(spec, np.arange(3), count, frequencies=False)
    log_classes = classes.posterior(count).log_predictive()
    joint = (log_classes + scored(prior, rest, x[i : i + 1], N_CLASSES))[None]
    return odds(log_class_probabilities(joint, log_classes), y[i : i + 1])[0]


def refitted_p_values(case, prior, x, y, weight, new, groups, empirical=False):
    """Return the p-values of new rows: each row of the augmented table is left out by a fit."""
    out = np.empty((len(new), N_CLASSES))
    for j, k in np.ndindex(out.shape):
        x_all, y_all = np.concatenate([x, new[j : j + 1]]), np.append(y, k)
        w_all = np.append(weight, 1.0)
        score = [
            refitted_odds(case, prior, x_all, y_all, w_all, i, empirical) for i in range(len(y_all))
        ]
        alike = np.append(groups.fitted == groups.new[j, k], True)
        as_strange = np.array(score) <= score[-1] + 1e-7 * (1 + abs(score[-1]))
        out[j, k] = w_all[alike & as_strange].sum() / w_all[alike].sum()
    return out


def law_full_is_refitting(case, prior, gaps=False, by_class=False, empirical=False):
    rng = np.random.default_rng(5)
    x, y = case.rows(rng, N_FITTED, gaps=gaps and not prior.joint)
    new = case.rows(np.random.default_rng(6), N_FITTED)[0][:2]
    new[1] = x[3]  # as one of its class it ties with the row
    if gaps and not prior.joint:
        new[0, 1] = case.blank
    weight = rng.choice([0.5, 1.0, 2.0], len(y))
    fitted = y if by_class else np.zeros(len(y), dtype=int)
    candidates = np.tile(np.arange(N_CLASSES), (2, 1))
    groups = Groups(fitted, candidates if by_class else np.zeros_like(candidates))
    fit = augmented_fit(case, prior, x, y, weight, empirical)
    assert fit.exact
    found = fit.p_values({"": new}, groups)
    expected = refitted_p_values(case, prior, x, y, weight, new, groups, empirical)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("guess", ["prior", "vague"])
@pytest.mark.parametrize("name", CONJUGATE)
def test_full_is_refitting(name, guess):
    case = CASES[name]
    law_full_is_refitting(case, getattr(case, guess).equivalent_family(), gaps=True)


@pytest.mark.parametrize("options", [{"by_class": True}, {"empirical": True}])
@pytest.mark.parametrize("name", ["Normal", "Categorical", "MultivariateNormal shared"])
def test_full_within_classes_and_with_their_frequencies_is_refitting(name, options):
    law_full_is_refitting(CASES[name], CASES[name].vague.equivalent_family(), **options)


@pytest.mark.parametrize("name", ["Normal", "Categorical", "MultivariateNormal shared"])
def test_new_rows_have_the_same_p_values_together_and_one_by_one(name, monkeypatch):
    case = CASES[name]
    prior = case.vague.equivalent_family()
    x, y = case.rows(np.random.default_rng(5), N_FITTED)
    new = case.rows(np.random.default_rng(6), N_FITTED)[0]
    groups = Groups(np.zeros_like(y), np.zeros((len(new), N_CLASSES), dtype=int))
    fit = augmented_fit(case, prior, x, y, np.ones(len(y)))
    together = fit.p_values({"": new}, groups)
    monkeypatch.setattr(conformal, "CHEAP_FLOATS", 1)
    monkeypatch.setattr(leave_one_out, "BATCH_FLOATS", 1)
    np.testing.assert_allclose(fit.p_values({"": new}, groups), together, rtol=1e-12)


def test_a_new_row_with_which_a_column_varies_is_refitting():
    case = CASES["Normal"]
    prior = case.vague
    x, y = case.rows(np.random.default_rng(5), N_FITTED)
    new = case.rows(np.random.default_rng(6), N_FITTED)[0][:3]
    x[:, 1], new[1:, 1] = 2.0, 2.0  # the first of the new rows has another value
    weight, groups = np.ones(len(y)), Groups(np.zeros_like(y), np.zeros((3, N_CLASSES), dtype=int))
    found = augmented_fit(case, prior, x, y, weight).p_values({"": new}, groups)
    expected = refitted_p_values(case, prior, x, y, weight, new, groups)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def counted_twice(p_values):
    return lambda fitted, weight, new, *own: p_values(
        np.append(fitted, new), np.append(weight, 1), new, *own
    )


def ties_lost(p_values):
    return lambda fitted, weight, new, *own: p_values(
        fitted + 1e-6 * (1 + np.abs(fitted)), weight, new, *own
    )


def not_left_out(subtracted):
    return lambda self, where, beside=None: subtracted(
        dataclasses.replace(self, rows=dataclasses.replace(self.rows, away=1e-9 * self.rows.away)),
        where,
        beside,
    )


FAULTS = {
    "the row itself is counted twice": (conformal, "p_values", counted_twice),
    "ties do not count": (conformal, "p_values", ties_lost),
    "the new row is not added": (
        leave_one_out.Block,
        "scores_beside",
        lambda _: lambda self, x, y: np.repeat(self.scores()[None], len(y), axis=0),
    ),
    "rows are not left out": (leave_one_out.Block, "subtracted", not_left_out),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_caught(fault, monkeypatch):
    owner, attribute, wrong = FAULTS[fault]
    monkeypatch.setattr(owner, attribute, wrong(getattr(owner, attribute)))
    with pytest.raises(AssertionError):
        for name in ("Categorical laplace", "Normal"):
            law_full_is_refitting(CASES[name], CASES[name].vague.equivalent_family())


def test_p_values_are_shares_of_the_rows_as_strange_and_ties_count():
    fitted, weight = np.array([2.0, 1.0, 3.0, 2.0]), np.array([1.0, 1.0, 2.0, 1.0])
    found = p_values(fitted, weight, np.array([0.5, 2.0, 2.0 - 1e-12, 4.0]))
    np.testing.assert_allclose(found, np.array([1, 4, 4, 6]) / 6)


def test_left_out_p_values_rank_within_groups():
    rng = np.random.default_rng(0)
    logs = np.log(rng.dirichlet(np.ones(3), 20))
    y, group = rng.integers(0, 3, 20), rng.integers(0, 2, 20)
    fitted, new_group = odds(logs, y), np.tile([[0], [1]], (2, 3))[:4]
    found = left_out_p_values(fitted, np.ones(20), logs[:4], Groups(group, new_group))
    for i, k in np.ndindex(4, 3):
        own = np.exp(logs[i, k]) / (1 - np.exp(logs[i, k]))
        alike = group == new_group[i, k]
        as_strange = np.exp(fitted[alike]) <= own * (1 + 1e-9)
        assert np.isclose(found[i, k], (1 + as_strange.sum()) / (1 + alike.sum()))
