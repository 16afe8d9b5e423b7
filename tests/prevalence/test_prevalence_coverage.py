"""Intervals of 90 % cover the prevalence in 90 % of populations where the model is right."""

import numpy as np
import pytest
from scipy import stats

import bayesgen as bg
from bayesgen.inference import ClosedForm

# of a thousand populations whose prevalence alone differs, one is warned of
pytestmark = pytest.mark.filterwarnings("ignore::bayesgen.errors.LabelShiftRejected")
RUNS = 200
PRIOR = bg.Normal(mean=0.0, mean_rows=1.0, variance=1.0, variance_rows=4.0)


def coverage(method, labeled, runs=RUNS):
    """Return the share of frequencies within intervals, over tables drawn from the prior."""
    inside = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        variance = 4 / rng.chisquare(4, (3, 5))
        mean = rng.standard_normal((3, 5)) * np.sqrt(variance)
        pi = rng.dirichlet(np.ones(3))
        y = np.concatenate([np.arange(3), rng.integers(3, size=labeled - 3)])
        new = rng.choice(3, size=200, p=pi)
        X, X_new = (
            mean[c] + np.sqrt(variance[c]) * rng.standard_normal((len(c), 5)) for c in (y, new)
        )
        clf = bg.NaiveBayes(PRIOR, random_state=0).fit(X, y)
        ends = clf.estimate_prevalence(X_new, method=method, draws=400, random_state=0).interval()
        inside.append(((ends.lower <= pi) & (pi <= ends.upper)).mean())
    return np.mean(inside)


def law_coverage():
    """Of 40 labeled rows; the standard error of 200 runs is at most .02."""
    assert 0.85 < coverage("density", 40) < 0.95


@pytest.mark.nightly
def test_densities_cover():
    law_coverage()


@pytest.mark.nightly
def test_left_out_rows_cover():
    assert 0.85 < coverage("left_out", 200) < 0.96


@pytest.mark.nightly
@pytest.mark.parametrize(("labels", "least"), [(15, 0.80), (40, 0.85)])
def test_stacks_cover(labels, least):
    """Of 150 tables whose columns correlate; the standard error is .03, of the bound two."""
    inside = []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        mean, root = 0.6 * rng.standard_normal((2, 4)), 0.7 * rng.standard_normal((4, 4))
        pi = rng.dirichlet(np.ones(2))
        y, new = np.repeat([0, 1], labels), rng.choice(2, 200, p=pi)
        X, X_new = (
            mean[codes] + rng.standard_normal((len(codes), 4)) @ (np.eye(4) + root)
            for codes in (y, new)
        )
        clf = bg.StackedClassifier([bg.NaiveBayes(), bg.LDA()], random_state=0).fit(X, y)
        ends = clf.estimate_prevalence(X_new, draws=400, random_state=0).interval()
        inside.append(((ends.lower <= pi) & (pi <= ends.upper)).all())
    assert least - 2 * 0.03 < np.mean(inside)


@pytest.mark.nightly
def test_fault_predictive_density_in_place_of_draws(monkeypatch):
    monkeypatch.setattr(ClosedForm, "point", True)
    with pytest.raises(AssertionError):
        law_coverage()


@pytest.mark.nightly
def test_p_values_of_prevalence_shift_alone_are_not_small():
    """Not more than .15 of 60 are below .05: one line is tested, so .05 are expected."""
    small = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X, y = bg.datasets.load_penguins()
        order = rng.permutation(len(y))
        train, rest = order[:200], order[200:]
        kept = rest[(y.iloc[rest] != "Adelie").to_numpy() | (rng.random(len(rest)) < 0.3)]
        clf = bg.NaiveBayes(random_state=0).fit(X.iloc[train], y.iloc[train])
        small += clf.check_label_shift(X.iloc[kept]).p_value["(density)"] < 0.05
    assert small / 60 <= stats.binom.ppf(0.999, 60, 0.05) / 60 <= 0.15
