"""A program of one's own: its answers, and in which forms rows come and go.

The programs are in user_programs.py. The gallery of models/ is in test_user_program_gallery.py,
what breaks the form in test_user_program_refusals.py.
"""

import functools
import pickle

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import pandas as pd
import pytest
import user_programs
from numpyro import distributions as dist
from scipy import stats
from sklearn.base import clone
from user_programs import INCOMPLETE, RANDOM, X, Y, classifier

import bayesgen as bg
from bayesgen.errors import (
    CountsAsMissing,
    InvalidData,
    InvalidProgram,
    LowSampleSize,
    NoAttribute,
    NotConverged,
    UnsupportedOperation,
)
from bayesgen.inference.nuts import STATS

TINY = bg.NUTS(draws=60, warmup=100, chains=2)


@pytest.fixture(scope="module")
def by_map():
    return classifier().fit(INCOMPLETE, Y)


@pytest.fixture(scope="module")
def by_nuts():
    with pytest.warns(NotConverged):
        return classifier(inference=TINY, random_state=0).fit(X, Y)


def normal(x: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return the log density of the observed cells of each row, unit variances."""
    return np.nansum(-0.5 * (x - mean) ** 2 - 0.5 * np.log(2 * np.pi), axis=1)


# --- point estimates --------------------------------------------------------------------------


@pytest.mark.slow
def test_mode_is_the_closed_form(by_map):
    """Normal(0, 2) times n cells of unit variance: mean sum / (n + 1/4); probs (1 + n_k) / ...."""
    values = by_map.posterior_.components.values
    rows = [INCOMPLETE[cls == Y] for cls in by_map.classes_]
    means = [np.nansum(x, axis=0) / ((~np.isnan(x)).sum(axis=0) + 1 / 4) for x in rows]
    np.testing.assert_allclose(values["mean"][0], means, atol=1e-8)
    # a Dirichlet's mode in log-odds
    np.testing.assert_allclose(values["probs"][0], 1 / 3)
    joint = np.stack([normal(INCOMPLETE, mean) for mean in means], axis=1) - np.log(3)
    np.testing.assert_allclose(by_map.predict_joint_log_proba(INCOMPLETE), joint, atol=1e-7)
    np.testing.assert_allclose(by_map.score_samples(INCOMPLETE), np.logaddexp.reduce(joint, axis=1))
    assert (by_map.predict(INCOMPLETE) == by_map.classes_[joint.argmax(axis=1)]).all()
    assert by_map.inference_ == "map" and by_map.report_.converged
    assert by_map.n_features_in_ == 2


@pytest.mark.slow
def test_maximum_likelihood_ignores_priors():
    keep = np.arange(len(Y)) != 0
    clf = classifier(functools.partial(user_programs.bells, guess=5.0), "mle").fit(X[keep], Y[keep])
    values = clf.posterior_.components.values
    means = [X[keep][Y[keep] == cls].mean(axis=0) for cls in clf.classes_]
    np.testing.assert_allclose(values["mean"][0], means, atol=1e-7)
    np.testing.assert_allclose(values["probs"][0], [4 / 14, 5 / 14, 5 / 14], atol=1e-7)


@pytest.mark.slow
def test_weights_are_repetitions():
    # as many rows, so that one compiled program fits both
    times = np.array([3, 1, 0, 0, 1] * 3)
    weighted = classifier().fit(INCOMPLETE, Y, sample_weight=times)
    repeated = classifier().fit(np.repeat(INCOMPLETE, times, axis=0), np.repeat(Y, times))
    found, expected = (clf.predict_joint_log_proba(INCOMPLETE) for clf in (weighted, repeated))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_point_has_no_spread(by_map):
    with pytest.raises(NoAttribute):
        by_map.predict_interval(X)


def test_class_probabilities_can_be_replaced(by_map):
    shares = {"ash": 0.7, "beech": 0.2, "oak": 0.1}
    other = by_map.with_class_prior(shares)
    shift = other.predict_joint_log_proba(INCOMPLETE) - by_map.predict_joint_log_proba(INCOMPLETE)
    expected = np.log([0.7, 0.2, 0.1]) - np.log(1 / 3)
    np.testing.assert_allclose(shift, np.tile(expected, (15, 1)), atol=1e-7)
    again = classifier(class_prior=shares).fit(INCOMPLETE, Y)
    np.testing.assert_allclose(again.predict_proba(X), other.predict_proba(X))


@pytest.mark.slow
def test_columns_in_a_plate_of_their_own(by_map):
    """Plates to the left of the rows are summed: no .to_event(1) is needed."""
    clf = classifier(user_programs.columns_in_a_plate).fit(INCOMPLETE, Y)
    found, expected = (c.predict_joint_log_proba(INCOMPLETE) for c in (clf, by_map))
    np.testing.assert_allclose(found, expected, atol=1e-7)


def test_labels_may_follow_the_row():
    clf = classifier(user_programs.labels_follow_x).fit(X, Y)
    point = {site: value[0] for site, value in clf.posterior_.components.values.items()}
    logits = X[:, :1] * point["slope"]
    log_probs = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    expected = np.stack([normal(X, mean) for mean in point["mean"]], axis=1) + log_probs
    np.testing.assert_allclose(clf.predict_joint_log_proba(X), expected, atol=1e-9)
    with pytest.raises(InvalidProgram, match='site "y" other probabilities in other rows'):
        clf.with_class_prior("uniform")


def test_axes_that_grow_with_columns_and_classes_have_their_names():
    """Four species and four columns: their numbers are equal, and their axes told apart."""
    columns, species = ["bill", "wing", "tail", "foot"], ["auk", "coot", "rail", "wren"]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 4)), columns=columns)
    clf = classifier().fit(rows, species * 2)
    mean = clf.to_datatree(replicates=2)["posterior"]["mean"]
    assert mean.dims == ("chain", "draw", "class", "x.feature")
    assert mean["x.feature"].values.tolist() == columns and mean["class"].values.tolist() == species
    assert "mean[auk, foot]" in clf.summary(kind="stats").index


def test_axes_of_other_sizes_have_no_names():
    """K - 1 logits and p + 1 coefficients grow with classes and columns, and are not of them."""

    def contrasts(x, y=None, *, n_classes):
        logits = numpyro.sample("logits", dist.Normal(0, 1).expand([n_classes - 1]).to_event(1))
        slope = numpyro.sample("slope", dist.Normal(0, 1).expand([x.shape[1] + 1]).to_event(1))
        mean = numpyro.sample("mean", dist.Normal(0, 9).expand([n_classes]).to_event(1))
        with numpyro.plate("row", len(x)):
            y = numpyro.sample("y", dist.Categorical(logits=jnp.append(logits, 0.0)), obs=y)
            centre = mean[y][:, None] + slope[1:] + slope[0]
            numpyro.sample("x", dist.Normal(centre, 1.0).to_event(1), obs=x)

    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(8, 2)), columns=["bill", "wing"])
    clf = classifier(contrasts).fit(rows, ["auk", "coot", "rail", "wren"] * 2)
    posterior = clf.to_datatree(replicates=2)["posterior"]
    assert posterior["mean"].dims == ("chain", "draw", "class")
    assert posterior["logits"].shape[2:] == posterior["slope"].shape[2:] == (3,)
    assert "mean[auk]" in clf.summary(kind="stats").index


def test_prior_draws_are_of_parameters_alone(by_map):
    """Rows and labels are data: they have no place among the parameters."""
    prior = clone(by_map).sample_prior(3, X, Y, random_state=0)
    assert set(prior.parameters) == set(by_map.to_datatree()["posterior"].data_vars)
    assert all(len(draws) == 3 for draws in prior.parameters.values())


def test_copies_answer_alike(by_map):
    twin = clone(by_map).fit(INCOMPLETE, Y)
    kept = pickle.loads(pickle.dumps(by_map))
    for other in (twin, kept):
        np.testing.assert_array_equal(other.predict_proba(X), by_map.predict_proba(X))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgen.errors.NotConverged")  # a funnel, and 200 draws
def test_a_spread_near_0_is_no_start_of_a_sampler():
    """Classes that are alike: the density has no bound, and every draw from its peak diverges."""
    method = bg.NUTS(draws=200, warmup=200, chains=2, progress=False)
    random = np.random.default_rng(0)
    clf = classifier(user_programs.centred_hierarchy, method, random_state=0)
    clf.fit(random.normal(size=(60, 2)), np.tile(["ash", "beech", "oak"], 20))
    assert clf.report_.details["divergences"] < 100  # of 400; some at the neck of the funnel
    assert np.median(clf.posterior_.components.values["spread"]) > 0.02


# --- draws ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgen.errors.LowSampleSize")  # of 120 draws
def test_draws_answer_what_other_draws_do(by_nuts, capfd):
    draws = by_nuts.posterior_.components
    assert draws.shape == (2, 60) and by_nuts.inference_ == "nuts"
    assert draws.params["program"]["mean"].shape == (2, 60, 3, 2)
    assert draws.params["program"]["mean"].dtype == np.float64
    assert set(draws.sample_stats) == set(STATS)
    proba = by_nuts.predict_proba(X)
    interval = by_nuts.predict_interval(X, 0.8)
    assert (interval[..., 0] < interval[..., 1]).all()
    drawn = by_nuts.predict_draws(X)
    np.testing.assert_allclose(drawn["weight"].sum("draw"), 1)
    mean = (drawn * drawn["weight"]).sum("draw")
    np.testing.assert_allclose(mean, proba, atol=1e-12)
    values = draws.values
    densities = np.stack([[normal(X, m) for m in means] for means in values["mean"]])
    joint = densities + np.log(values["probs"])[:, :, None]
    expected = np.logaddexp.reduce(joint, axis=0).T - np.log(120)
    np.testing.assert_allclose(by_nuts.predict_joint_log_proba(X), expected, rtol=1e-9)
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
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
    classifier(inference=TINY)
    by_nuts.predict_proba(X[3:])
    assert compiled == []
    assert jnp.ones(1).dtype == np.float32 and not jax.config.jax_enable_x64


@pytest.mark.parametrize("name", ["by_map", pytest.param("by_nuts", marks=pytest.mark.slow)])
def test_sample_draws_parameters_anew(name, request):
    clf = request.getfixturevalue(name)
    simulated, labels = clf.sample(400, random_state=1)
    assert simulated.shape == (400, 2) and simulated.dtype == np.float64
    assert set(labels) == set(Y)
    again, _ = clf.sample(400, random_state=1)
    np.testing.assert_array_equal(again, simulated)
    values = clf.posterior_.components.values
    oak = simulated[labels == "oak"]
    spread = np.sqrt(1 + values["mean"][:, 2].var(axis=0))
    error = spread / np.sqrt(len(oak))
    assert (np.abs(oak.mean(axis=0) - values["mean"][:, 2].mean(axis=0)) < 5 * error).all()


# --- leave-one-out ----------------------------------------------------------------------------

SOME = np.random.default_rng(3)
CLASS = np.arange(60) % 3
ROWS = SOME.normal(size=(60, 2)) + 2.0 * (CLASS == 2)[:, None]
ROWS[SOME.random(ROWS.shape) < 0.2] = np.nan
WEIGHT = np.where(np.arange(60) == 4, 0.0, np.where(np.arange(60) == 7, 2.0, 1.0))


@pytest.fixture(scope="module")
def many_draws():
    """Draws and rows enough for importance weights."""
    method = bg.NUTS(draws=1000, warmup=200, chains=2)
    clf = classifier(inference=method, random_state=0).fit(ROWS, CLASS, sample_weight=WEIGHT)
    assert clf.report_.details["ess"] > 500
    return clf


def without(i: int) -> np.ndarray:
    """Return log p(x_i, y = k) of a fit without row i, in closed form: every column is normal."""
    rest, joint = np.where(np.arange(60) == i, 0.0, WEIGHT), []
    for k in range(3):
        own = np.where(k == CLASS, rest, 0.0)[:, None] * ~np.isnan(ROWS)
        variance = 1 / (own.sum(axis=0) + 1 / 4)
        mean = variance * np.nansum(own * ROWS, axis=0)
        cells = stats.norm.logpdf(ROWS[i], mean, np.sqrt(1 + variance))
        joint.append(np.nansum(cells) + np.log((1 + rest[k == CLASS].sum()) / (3 + rest.sum())))
    return np.array(joint)


def errors(clf: bg.GenerativeClassifier) -> np.ndarray:
    """Return the Monte Carlo error of each row's log p(x_i, y = k) without it, (row, class)."""
    values = clf.posterior_.components.values
    densities = np.stack([[normal(ROWS, m) for m in means] for means in values["mean"]])
    joint = np.exp(densities + np.log(values["probs"])[:, :, None]).transpose(2, 0, 1)
    own = joint[np.arange(60), :, CLASS] ** -WEIGHT[:, None]
    share = (own / own.mean(axis=1, keepdims=True))[:, :, None]
    mean = (share * joint).mean(axis=1, keepdims=True)
    spread = np.sqrt(((share * (joint / mean - 1)) ** 2).mean(axis=1))
    return spread / np.sqrt(clf.report_.details["ess"])


@pytest.mark.slow
def test_loo_is_fitting_again_without_the_row(many_draws):
    """With missing cells and weights; the oracle is exact.

    Eight standard errors: with tails of shape .4 those are themselves estimates of some spread, and
    3.8 was the most among 60 rows and four seeds.
    """
    found = many_draws.loo()
    exact = np.stack([without(i) for i in range(60)])
    own, error = (np.arange(60), CLASS), 8 * errors(many_draws)
    log_proba = exact[own] - np.logaddexp.reduce(exact, axis=1)
    assert (np.abs(found["log_joint"] - exact[own]) < error[own]).all()
    assert (np.abs(found["log_proba"] - log_proba) < error[own] + error.max(axis=1)).all()
    assert error[own].mean() < 0.1 and found.columns.tolist() == ["log_proba", "log_joint"]
    again = many_draws.loo(ROWS, CLASS, WEIGHT)
    np.testing.assert_array_equal(again, found)


@pytest.mark.slow
def test_loo_as_elpd(many_draws):
    import arviz_stats as az

    rows, found = many_draws.loo()["log_proba"], many_draws.loo(kind="elpd")
    assert found.elpd == pytest.approx((WEIGHT * rows).sum(), rel=1e-12)
    assert (found.n_samples, found.n_data_points, found.warning) == (2000, 59, False)
    assert found.pareto_k.shape == (59,) and (found.pareto_k < found.good_k).all()
    assert found.good_k == pytest.approx(1 - 1 / np.log10(2000)) and found.p > 0
    other = many_draws.with_class_prior("uniform").loo(ROWS, CLASS, WEIGHT, kind="elpd")
    table = az.compare({"learned": found, "uniform": other})
    assert set(table.index) == {"learned", "uniform"}


@pytest.mark.slow
def test_loo_warns_of_rows_that_decide_alone(many_draws):
    x = ROWS.copy()
    x[3] = 15.0
    clf = clone(many_draws).fit(x, CLASS)
    with pytest.warns(LowSampleSize, match=r"row .*\b3\b.* given.*Pareto k.*bg.compare"):
        assert clf.loo(kind="elpd").warning


def test_loo_needs_draws(by_map):
    with pytest.raises(UnsupportedOperation, match=r"inference_ is 'map'. Pass inference='nuts'"):
        by_map.loo()
    with pytest.warns(NotConverged):
        few = classifier(inference=bg.NUTS(draws=10, warmup=100, chains=2)).fit(X, Y)
    with pytest.raises(UnsupportedOperation, match="at least 25 are needed"):
        few.loo()


# --- missing cells ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["by_map", "by_nuts"])
def test_impute_follows_the_conditional_distribution(name, request):
    """Moments of x_2 given x_1: a mixture of normals over draws and classes, in closed form."""
    clf, n = request.getfixturevalue(name), 4000
    rows = np.tile([1.5, np.nan], (n, 1))
    found = clf.impute(rows, random_state=0)
    assert (found[:, 0] == 1.5).all() and np.isnan(rows[:, 1]).all()
    values = clf.posterior_.components.values
    weight = values["probs"] * np.exp(-0.5 * (1.5 - values["mean"][:, :, 0]) ** 2)
    weight, mean = weight / weight.sum(), values["mean"][:, :, 1]
    moments = [(weight * part).sum() for part in (mean, mean**2 + 1)]
    for power, expected in enumerate(moments, start=1):
        cells = found[:, 1] ** power
        assert abs(cells.mean() - expected) < 5 * cells.std() / np.sqrt(n)
    again = clf.impute(rows, random_state=0)
    np.testing.assert_array_equal(again, found)
    one, two = clf.impute(INCOMPLETE, 2, random_state=1)
    gaps = np.isnan(INCOMPLETE)
    np.testing.assert_array_equal(one[~gaps], INCOMPLETE[~gaps])
    assert (one != two)[gaps].all() and not np.isnan(one).any()


@pytest.mark.slow
def test_impute_of_a_frame(by_map):
    frame = pd.DataFrame(INCOMPLETE, columns=["height", "girth"], index=list("abcdefghijklmno"))
    clf = classifier().fit(frame, Y)
    filled = clf.impute(frame, random_state=0)
    np.testing.assert_array_equal(filled, by_map.impute(INCOMPLETE, random_state=0))
    assert filled.index.equals(frame.index) and filled.columns.equals(frame.columns)
    with pytest.warns(CountsAsMissing):
        added = clf.impute(frame[["girth"]], random_state=0)
    assert added["height"].notna().all() and not frame["height"].notna().all()
    np.testing.assert_array_equal(X, by_map.impute(X))


@pytest.mark.slow
@pytest.mark.parametrize("framed", [False, True])
def test_impute_of_codes(framed):
    """Levels are codes, -1 where missing: drawn as often as they are probable given the class."""
    codes, n = RANDOM.integers(0, 3, (15, 2)), 3000
    codes[:5, 1] = -1
    program = functools.partial(user_programs.codes, n_levels=3)
    as_table = functools.partial(pd.DataFrame, columns=["a", "b"]) if framed else np.asarray
    clf = classifier(program).fit(as_table(codes), Y)
    found = np.asarray(clf.impute(as_table(np.tile([1, -1], (n, 1))), random_state=0))
    values = clf.posterior_.components.values
    weight = values["probs"][0] * values["levels"][0, :, 0, 1]
    expected = weight @ values["levels"][0, :, 1] / weight.sum()
    share = np.bincount(found[:, 1], minlength=3) / n
    assert (np.abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / n)).all()
    assert found.dtype.kind == "i" and (found[:, 0] == 1).all()


# --- rows in and out --------------------------------------------------------------------------


def test_frame_of_numbers(by_map):
    frame = pd.DataFrame(INCOMPLETE, columns=["height", "girth"])
    clf = classifier().fit(frame, Y)
    assert clf.feature_names_in_.tolist() == ["height", "girth"]
    np.testing.assert_array_equal(clf.predict_proba(frame), by_map.predict_proba(INCOMPLETE))
    simulated, _ = clf.sample(3, random_state=0)
    assert simulated.columns.tolist() == ["height", "girth"]
    with pytest.raises(ValueError, match="feature names should match"):
        clf.predict(frame.rename(columns={"girth": "width"}))
    with pytest.raises(InvalidData, match=r"'wood' does not hold numbers.*dict of arrays"):
        classifier().fit(frame.assign(wood="hard"), Y)


@pytest.mark.slow
def test_whole_numbers_stay_whole():
    """Codes index into tables of parameters; a frame of them is an array of them."""
    codes = RANDOM.integers(0, 3, (15, 2))
    story = functools.partial(user_programs.codes, n_levels=3)
    clf = classifier(story).fit(codes, Y)
    framed = classifier(story).fit(pd.DataFrame(codes, columns=["a", "b"]), Y)
    expected = clf.predict_proba(codes)
    np.testing.assert_array_equal(
        framed.predict_proba(pd.DataFrame(codes, columns=["a", "b"])), expected
    )
    np.testing.assert_array_equal(clf.predict_proba(codes.astype(float)), expected)
    with pytest.raises(InvalidData, match="fractions or NaN, but held whole numbers at fit"):
        clf.predict(codes + 0.5)


DICT = {"sizes": X, "kind": np.arange(15) % 2}


@pytest.mark.slow
def test_dict_of_arrays():
    clf = classifier(user_programs.two_kinds).fit(DICT, Y)
    assert clf.predict_proba(DICT).shape == (15, 3)
    assert not hasattr(clf, "n_features_in_")
    one = {name: array[4:5] for name, array in DICT.items()}
    np.testing.assert_allclose(clf.predict_proba(one), clf.predict_proba(DICT)[4:5])
    for wrong, sentence in (
        ({"sizes": X}, "X has the arrays 'sizes'; the fit had 'sizes', 'kind'"),
        (X, "X is one array; at fit it was a dict of arrays"),
        (
            DICT | {"sizes": X[:, :1]},
            r"array 'sizes' of X has rows of the shape \(1,\); at fit it was",
        ),
        (DICT | {"kind": np.arange(3)}, "different numbers of rows .'sizes': 15, 'kind': 3"),
        (DICT | {"sizes": X * np.inf}, "Input X contains infinity: array 'sizes'"),
        (DICT | {"kind": Y}, "column 'kind' does not hold numbers"),
    ):
        with pytest.raises(InvalidData, match=sentence):
            clf.predict(wrong)
