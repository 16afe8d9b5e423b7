"""Prior guesses are completed once, of all rows: the prior does not change with drawn labels."""

import itertools

import numpy as np
import pytest
from unlabelled_cases import FEW, TABLE, harmless

import bayesgen as bg
from bayesgen.model import model_statistics

READ = {"a": bg.Normal(variance_rows=200), "b": bg.Categorical()}
"""Guesses of None, and one that counts for more rows than there are."""
HIDDEN = 4
FEWER = bg.Augmentation(draws=60, warmup=15)


def sampled():
    """A fit to eight rows, and over draws the standard deviation of 1 / variance of each class."""
    n = 4 + HIDDEN
    clf = bg.GenerativeClassifier(READ, unlabelled=1, inference=FEWER, random_state=0)
    clf.fit(TABLE[:n], FEW[:n])
    variance = clf.posterior_.components.params["a"]["variance"][..., 0]
    return clf, (1 / variance).std(axis=(0, 1))


def enumerated(clf):
    """The same over all labelings, under the prior that the fit completed."""
    problem = clf.state_.problem(clf.class_prior)
    model = problem.model
    (rows,) = clf._training
    encoded = rows.unlabelled.encode(clf.state_.schema, "missing")
    sizes = {"n_classes": 2, "n_levels": {"a": (), "b": (3,)}}
    logs, moments = [], []
    for y in itertools.product([0, 1], repeat=HIDDEN):
        own = model_statistics(model.blocks, encoded, np.array(y), np.ones(HIDDEN), **sizes)
        whole = problem.plus(own).statistics
        logs.append(model.log_evidence(whole))
        after = model.posterior(whole).blocks["a"]
        # of a Gamma law, of half as many rows
        mean, spread = 1 / after.variance[:, 0], 2 / after.variance_rows[:, 0]
        moments.append([mean, mean**2 * (1 + spread)])
    weight = np.exp(np.array(logs) - max(logs))
    first, second = np.tensordot(weight / weight.sum(), np.array(moments), 1)
    return np.sqrt(second - first**2)


@harmless
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")
@pytest.mark.parametrize("fault", [False, True])
def test_guesses_are_not_made_again_from_drawn_labels(fault, monkeypatch):
    if fault:
        for name, likelihood in READ.items():
            owner = type(likelihood)

            def anew(self, statistics, right=owner.posterior, unstated=READ[name]):
                return right(unstated.complete(statistics), statistics)

            monkeypatch.setattr(owner, "posterior", anew)
    clf, found = sampled()
    monkeypatch.undo()
    exact = enumerated(clf)
    # a standard deviation of 240 draws has a relative standard error of 1 / sqrt(480)
    near = np.abs(found / exact - 1) < 4 / np.sqrt(480)
    assert not near.any() if fault else near.all()
