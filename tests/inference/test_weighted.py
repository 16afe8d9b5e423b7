"""Averages of one model given different statistics, and mixtures of models: one of them each."""

import numpy as np
import pandas as pd
import pytest

import bayesgen as bg
from bayesgen.inference.mixture import Average, Mixture, Weighted

ROWS = 4000
WEIGHTS = np.array([0.7, 0.3])


def posterior(of_level, seed):
    """Return a posterior, and rows whose second level is missing; of_level: P(u) of a class."""
    rng = np.random.default_rng(seed)
    y = np.arange(120) % 2
    first = rng.random(120) < np.array(of_level)[y]
    second = first ^ (rng.random(120) < 0.1)
    X = pd.DataFrame({"a": np.where(first, "u", "v"), "b": np.where(second, "u", "v")})
    clf = bg.NaiveBayes(random_state=0).fit(X, y)
    new = pd.DataFrame({"a": ["u", "v"] * (ROWS // 2), "b": None}).astype(object)
    return clf.fitted_.posterior, clf._read_rows(new).encoded


def weighted(kind):
    """Return weighted models, rows for them, and the rows and the name of the block of each."""
    (low, rows), (high, _) = posterior((0.9, 0.6), 0), posterior((0.1, 0.4), 1)
    members = {"low": low, "high": high}
    (block,) = rows
    if kind is Average:
        components = Average(low.reader, low.report, members, WEIGHTS)
        return components, rows, {name: block for name in members}, rows
    encoded = {f"{name}/{block}": rows[block] for name in members}
    components = Mixture(low.reader, low.report, members, WEIGHTS, WEIGHTS, *[(True, True)] * 2)
    return components, encoded, {name: f"{name}/{block}" for name in members}, rows


def probabilities(components, rows, own):
    """Return the probability that the missing level is the first, of each row, by enumeration."""
    joints = []
    for code in (0, 1, -1):
        x = {name: np.where(np.arange(2) == 1, code, cells) for name, cells in rows.items()}
        joints.append([m.log_joint(x, ROWS) for m in components.members.values()])
    density = np.exp(joints)  # (level or none, member, row, class)
    density = density.sum(axis=-1) if own is None else density[..., np.arange(ROWS), own]
    return np.tensordot(WEIGHTS, density[0], 1) / np.tensordot(WEIGHTS, density[2], 1)


def require_one_member_each(kind, own):
    """Check frequencies of imputed levels, by the observed one, against enumeration."""
    components, encoded, keys, rows = weighted(kind)
    filled = components.impute(encoded, ROWS, np.random.default_rng(0), own)
    expected = probabilities(components, rows, own)
    changed = [filled[key][:, 1] for key in dict.fromkeys(keys.values())]
    # a row of a mixture is filled in for one of its members, and stays missing for others
    assert (np.sum([cells >= 0 for cells in changed], axis=0) == 1).all()
    found = np.max(changed, axis=0) == 0
    for level in (0, 1):
        at = np.flatnonzero(rows[next(iter(rows))][:, 0] == level)
        error = np.sqrt(0.25 / len(at))
        assert found[at].mean() == pytest.approx(expected[at].mean(), abs=4 * error)


@pytest.mark.parametrize("kind", [Average, Mixture])
@pytest.mark.parametrize("own", [None, np.arange(ROWS) // 2 % 2])
def test_a_row_is_imputed_by_a_member_by_weight_and_observed_cells(kind, own):
    require_one_member_each(kind, own)


@pytest.mark.parametrize("kind", [Average, Mixture])
def test_members_picked_by_weight_alone_are_caught(monkeypatch, kind):
    even = np.tile(WEIGHTS, (ROWS, 1))
    monkeypatch.setattr(Weighted, "likely_imputers", lambda *_: even)
    with pytest.raises(AssertionError):
        require_one_member_each(kind, None)


@pytest.mark.parametrize("kind", [Average, Mixture])
def test_scores_are_those_of_the_mean(kind):
    components, encoded, _, rows = weighted(kind)
    joints = np.exp([m.log_joint(rows, ROWS) for m in components.members.values()])
    probs = joints / joints.sum(axis=2, keepdims=True)
    scores = components.scores(encoded, ROWS)
    density = np.tensordot(WEIGHTS, joints.sum(axis=2), 1)
    mean = np.tensordot(WEIGHTS, probs, 1)
    np.testing.assert_allclose(np.exp(scores.joint), density[:, None] * mean, rtol=1e-12)
    # the block of an average, and the members of a mixture
    assert scores.parts.shape[1] == (1 if kind is Average else 2)
    uniform = components.with_classes(bg.classes.even_classes(2))
    np.testing.assert_allclose(np.exp(uniform.log_classes()), 0.5)
