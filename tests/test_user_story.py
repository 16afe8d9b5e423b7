"""A program of one's own as the story: what it answers, and in which forms rows come and go.

The programs are in stories.py. The gallery of models/ is in test_user_story_gallery.py, what breaks
the form in test_user_story_refusals.py.
"""

import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import stories
from sklearn.base import clone
from stories_told import HOLES, RANDOM, X, Y, told

import bayesgen as bg
from bayesgen.errors import InvalidStory, NoPosterior, NotConverged, StoryRows
from bayesgen.inference.compiled_nuts import STATS

TINY = bg.NUTS(draws=60, warmup=100, chains=2)

pytestmark = pytest.mark.usefixtures("compile_quickly")


@pytest.fixture(scope="module")
def by_map():
    return told().fit(HOLES, Y)


@pytest.fixture(scope="module")
def by_nuts():
    with pytest.warns(NotConverged):
        return told(inference=TINY, random_state=0).fit(X, Y)


def normal(x: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the log density of the observed cells of each row, unit variances."""
    return np.nansum(-0.5 * (x - mean) ** 2 - 0.5 * np.log(2 * np.pi), axis=1)


# --- point estimates --------------------------------------------------------------------------


def test_mode_is_the_closed_form(by_map):
    """Normal(0, 2) times n cells of unit variance: mean sum / (n + 1/4); probs (1 + n_k) / ...."""
    values = by_map.posterior_.values
    rows = [HOLES[cls == Y] for cls in by_map.classes_]
    means = [np.nansum(x, axis=0) / ((~np.isnan(x)).sum(axis=0) + 1 / 4) for x in rows]
    np.testing.assert_allclose(values["mean"][0], means, atol=1e-8)
    # a Dirichlet's mode in log-odds
    np.testing.assert_allclose(values["probs"][0], 1 / 3)
    joint = np.stack([normal(HOLES, mean) for mean in means], axis=1) - np.log(3)
    np.testing.assert_allclose(by_map.predict_joint_log_proba(HOLES), joint, atol=1e-7)
    np.testing.assert_allclose(by_map.score_samples(HOLES), np.logaddexp.reduce(joint, axis=1))
    assert (by_map.predict(HOLES) == by_map.classes_[joint.argmax(axis=1)]).all()
    assert by_map.inference_ == "map" and by_map.report_.converged
    assert by_map.n_features_in_ == 2


def test_maximum_likelihood_ignores_priors():
    keep = np.arange(len(Y)) != 0
    clf = told(functools.partial(stories.bells, guess=5.0), "mle").fit(X[keep], Y[keep])
    values = clf.posterior_.values
    means = [X[keep][Y[keep] == cls].mean(axis=0) for cls in clf.classes_]
    np.testing.assert_allclose(values["mean"][0], means, atol=1e-7)
    np.testing.assert_allclose(values["probs"][0], [4 / 14, 5 / 14, 5 / 14], atol=1e-7)


def test_weights_are_repetitions():
    times = np.array([2, 1, 1, 0, 3] * 3)
    weighted = told().fit(HOLES, Y, sample_weight=times)
    repeated = told().fit(np.repeat(HOLES, times, axis=0), np.repeat(Y, times))
    found, expected = (clf.predict_joint_log_proba(HOLES) for clf in (weighted, repeated))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_point_has_no_spread(by_map):
    with pytest.raises(NoPosterior):
        by_map.predict_interval(X)


def test_class_probabilities_can_be_replaced(by_map):
    shares = {"ash": 0.7, "beech": 0.2, "oak": 0.1}
    other = by_map.with_class_prior(shares)
    shift = other.predict_joint_log_proba(HOLES) - by_map.predict_joint_log_proba(HOLES)
    expected = np.log([0.7, 0.2, 0.1]) - np.log(1 / 3)
    np.testing.assert_allclose(shift, np.tile(expected, (15, 1)), atol=1e-7)
    again = told(class_prior=shares).fit(HOLES, Y)
    np.testing.assert_allclose(again.predict_proba(X), other.predict_proba(X))


def test_columns_in_a_plate_of_their_own(by_map):
    """Plates to the left of the rows are summed: no .to_event(1) is needed."""
    clf = told(stories.columns_in_a_plate).fit(HOLES, Y)
    found, expected = (c.predict_joint_log_proba(HOLES) for c in (clf, by_map))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_labels_may_follow_the_row():
    clf = told(stories.labels_follow_x).fit(X, Y)
    point = {site: value[0] for site, value in clf.posterior_.values.items()}
    logits = X[:, :1] * point["slope"]
    log_probs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    expected = np.stack([normal(X, mean) for mean in point["mean"]], axis=1) + log_probs
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), expected, atol=1e-9)
    with pytest.raises(InvalidStory, match='site "y" other probabilities in other rows'):
        clf.with_class_prior("uniform")


def test_copies_answer_alike(by_map):
    twin = clone(by_map).fit(HOLES, Y)
    kept = pickle.loads(pickle.dumps(by_map))
    for other in (twin, kept):
        np.testing.assert_array_equal(other.predict_proba(X), by_map.predict_proba(X))


# --- draws ------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")  # of 120 draws
def test_draws_answer_what_other_draws_do(by_nuts, capfd):
    posterior = by_nuts.posterior_
    assert posterior.shape == (2, 60) and by_nuts.inference_ == "nuts"
    assert posterior.params["story"]["mean"].shape == (2, 60, 3, 2)
    assert posterior.params["story"]["mean"].dtype == np.float64
    assert set(posterior.sample_stats) == set(STATS)
    proba = by_nuts.predict_proba(X)
    interval = by_nuts.predict_interval(X, 0.8)
    assert (interval[..., 0] < interval[..., 1]).all()
    drawn = by_nuts.predict_draws(X)
    np.testing.assert_allclose(drawn["weight"].sum("draw"), 1)
    mean = (drawn * drawn["weight"]).sum("draw")
    np.testing.assert_allclose(mean, proba, atol=1e-12)
    values = posterior.values
    densities = np.stack([[normal(X, m) for m in means] for means in values["mean"]])
    joint = densities + np.log(values["probs"])[:, :, None]
    expected = np.logaddexp.reduce(joint, axis=0).T - np.log(120)
    np.testing.assert_allclose(by_nuts.predict_joint_log_proba(X), expected, rtol=1e-9)
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")  # of 120 draws
def test_equal_seeds_and_no_second_compilation(by_nuts):
    """Tables of about one size share compiled code; the caller's configuration stays."""
    by_nuts.predict_proba(X)
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **_: compiled.append(event) if "backend_compile" in event else None
    )
    with pytest.warns(NotConverged):
        again = clone(by_nuts).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), by_nuts.predict_proba(X))
    told(inference=TINY)
    by_nuts.predict_proba(X[3:])
    assert compiled == []
    assert jnp.ones(1).dtype == np.float32 and not jax.config.jax_enable_x64


def test_sample_draws_parameters_anew(by_nuts):
    simulated, labels = by_nuts.sample(400, random_state=1)
    assert simulated.shape == (400, 2) and simulated.dtype == np.float64
    assert set(labels) == set(Y)
    again, _ = by_nuts.sample(400, random_state=1)
    np.testing.assert_array_equal(again, simulated)
    values = by_nuts.posterior_.values
    oak = simulated[labels == "oak"]
    spread = np.sqrt(1 + values["mean"][:, 2].var(axis=0))
    error = spread / np.sqrt(len(oak))
    assert (np.abs(oak.mean(axis=0) - values["mean"][:, 2].mean(axis=0)) < 5 * error).all()


# --- rows in and out --------------------------------------------------------------------------


def test_frame_of_numbers(by_map):
    frame = pd.DataFrame(HOLES, columns=["height", "girth"])
    clf = told().fit(frame, Y)
    assert clf.feature_names_in_.tolist() == ["height", "girth"]
    np.testing.assert_array_equal(clf.predict_proba(frame), by_map.predict_proba(HOLES))
    simulated, _ = clf.sample(3, random_state=0)
    assert simulated.columns.tolist() == ["height", "girth"]
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame.rename(columns={"girth": "width"}))
    with pytest.raises(StoryRows, match=r"'wood' does not hold numbers.*dict of arrays"):
        told().fit(frame.assign(wood="hard"), Y)


def test_whole_numbers_stay_whole():
    """Codes index into tables of parameters; a frame of them is an array of them."""
    codes = RANDOM.integers(0, 3, (15, 2))
    story = functools.partial(stories.codes, n_levels=3)
    clf = told(story).fit(codes, Y)
    framed = told(story).fit(pd.DataFrame(codes, columns=["a", "b"]), Y)
    expected = clf.predict_proba(codes)
    np.testing.assert_array_equal(
        framed.predict_proba(pd.DataFrame(codes, columns=["a", "b"])), expected
    )
    np.testing.assert_array_equal(clf.predict_proba(codes.astype(float)), expected)
    with pytest.raises(StoryRows, match="fractions or NaN where fit saw whole numbers"):
        clf.predict(codes + 0.5)


DICT = {"sizes": X, "kind": np.arange(15) % 2}


def test_dict_of_arrays():
    clf = told(stories.two_kinds).fit(DICT, Y)
    assert clf.predict_proba(DICT).shape == (15, 3)
    assert not hasattr(clf, "n_features_in_")
    one = {name: array[4:5] for name, array in DICT.items()}
    np.testing.assert_allclose(clf.predict_proba(one), clf.predict_proba(DICT)[4:5])
    for wrong, sentence in (
        ({"sizes": X}, "X has the arrays 'sizes'; fit saw 'sizes', 'kind'"),
        (X, "X is one array; fit saw a dict of arrays"),
        (DICT | {"sizes": X[:, :1]}, r"array 'sizes' of X has rows of the shape \(1,\); fit saw"),
        (DICT | {"kind": np.arange(3)}, "different numbers of rows .'sizes': 15, 'kind': 3"),
        (DICT | {"sizes": X * np.inf}, "Input X contains infinity: array 'sizes'"),
        (DICT | {"kind": Y}, "column 'kind' does not hold numbers"),
    ):
        with pytest.raises(StoryRows, match=sentence):
            clf.predict(wrong)
