"""Every program of models/ as a program of one's own: same mode as the library's, same densities.

Each is fitted once, on a table with missing values, by MAP. The oracles: the library's own
estimator, whose modes are closed forms or EM, and formulas for one row in NumPy and SciPy
(model_formulas.py).
"""

import functools
import importlib.util
import runpy
from pathlib import Path

import jax
import numpy as np
import pandas as pd
import pytest
from model_formulas import CASES, LKJ, NORMAL, ROWS, TABLE, URN, WISHART, Y
from numpyro.infer.util import log_density
from paces import fast_only
from test_models import take
from test_nuts import agrees

import bayesgen as bg
from bayesgen.errors import UnsupportedOperation
from bayesgen.likelihoods import Likelihood

MODELS = Path(__file__).parents[2] / "models"
PROGRAMS = {name: runpy.run_path(str(MODELS / f"{name}.py"))["model"] for name in CASES}
JOINT = ("multivariate_student_t", "shared_correlation")
"""Programs of correlated columns, which no family of the library has."""
FEW = ("mixed_naive_bayes", "lda", "categorical_naive_bayes", "robust_student_t", *JOINT)
every_program = pytest.mark.parametrize(
    "name", fast_only([], CASES, slow=(*FEW, "mixed_naive_bayes"))
)


def rows_of(name: str) -> tuple[object, np.ndarray]:
    """Return rows and labels; standard deviations of columns take more rows than those of CASES."""
    x = CASES[name][0]
    if name.endswith("lkj") or name == "shared_correlation":
        random = np.random.default_rng(5)
        x = random.normal(size=(45, 3))
        return np.where(random.random(x.shape) < 0.2, np.nan, x), np.tile(Y, 5)
    # the library fits whole texts only
    return (np.nan_to_num(x, nan=2.0) if name.startswith("multinomial") else x), Y


def as_new(x: object) -> object:
    """Return rows that are no centers of kernels, though they may lie on them."""
    return x | {"own": np.full(len(x["own"]), -1)} if isinstance(x, dict) and "own" in x else x


@functools.cache
def fitted(name: str) -> bg.GenerativeClassifier:
    """Return the program, fitted by MAP."""
    story = functools.partial(PROGRAMS[name], **CASES[name][1])
    return bg.GenerativeClassifier(story=story, inference="map").fit(*rows_of(name))


def levels(codes: np.ndarray) -> pd.Categorical:
    """Return codes, -1 where missing, as levels of which there are as many as are declared."""
    return pd.Categorical.from_codes(codes, categories=range(3 if codes.max() == 2 else 2))


def as_frame(x: object) -> pd.DataFrame | np.ndarray:
    """Return rows as the library takes them: codes as levels."""
    if isinstance(x, dict) and "value" in x:
        return x["value"]
    if isinstance(x, dict):
        return pd.DataFrame({k: levels(v) if v.dtype.kind == "i" else v for k, v in x.items()})
    if x.dtype.kind == "i":
        return pd.DataFrame({f"x{j}": levels(column) for j, column in enumerate(x.T)})
    return x


BAG = {"prob": 0.3, "rows": 4.0}
OURS: dict[str, Likelihood | dict] = {
    "gaussian_naive_bayes": bg.Normal(**NORMAL),
    "gaussian_naive_bayes_shared_variance": bg.Normal(**NORMAL, spread="shared"),
    "lda": bg.MultivariateNormal("shared", **WISHART),
    "qda": bg.MultivariateNormal(**WISHART),
    "lda_lkj": bg.MultivariateNormal("shared", prior="lkj", **LKJ),
    "qda_lkj": bg.MultivariateNormal(prior="lkj", **LKJ),
    "categorical_naive_bayes": {
        j: bg.Categorical(probs=1 / n, rows=TABLE["rows"]) for j, n in enumerate(TABLE["n_levels"])
    },
    "joint_table": bg.JointCategorical(probs=1 / 6, rows=TABLE["rows"]),
    "bernoulli_bag_of_words": bg.Bernoulli(**BAG),
    "multinomial_bag_of_words": bg.Multinomial(**URN),
    "mixed_naive_bayes": {
        "income": bg.Normal(mean=0.3, mean_rows=0.1, variance=1.0, variance_rows=3.0),
        "state": bg.Categorical(probs=1 / 3, rows=3.0),
        "voted": bg.Bernoulli(prob=0.5, rows=2.0),
        "rallies": bg.Poisson(rate=1.0, rows=2.0),
    },
}
"""The library's own estimators, one likelihood or one for each column."""


@pytest.mark.parametrize("name", fast_only([], OURS, slow=FEW))
def test_same_mode_as_the_library(name):
    """Both end where the gradient is 1e-6 posterior widths or less; answers agree to that."""
    x, y = rows_of(name)
    ours = bg.GenerativeClassifier(OURS[name], inference="map").fit(as_frame(x), y)
    found = fitted(name).predict_joint_log_proba(as_new(x))
    np.testing.assert_allclose(found, ours.predict_joint_log_proba(as_frame(x)), atol=2e-6)


@every_program
def test_densities_follow_the_formula(name):
    """Log p(x, y = k given theta) for every row and class, at the mode."""
    x, y = rows_of(name)
    clf = fitted(name)
    assert clf.report_.converged and clf.inference_ == "map"
    point = {site: value[0] for site, value in clf.posterior_.components.values.items()}
    x = as_new(x)
    formula = [[ROWS[name](point, take(x, i), k) for k in range(3)] for i in range(len(y))]
    expected = np.log(point["class_probs"]) + formula
    np.testing.assert_allclose(clf.predict_joint_log_proba(x), expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(np.exp(clf.fitted_.posterior.log_classes()), point["class_probs"])


@pytest.mark.slow
@pytest.mark.parametrize("name", JOINT)
def test_programs_of_correlated_columns_serve_tables_with_gaps(name, tmp_path):
    """Rows of which nothing is seen tell nothing, and a file gives the same answers."""
    spec = importlib.util.spec_from_file_location(name, MODELS / f"{name}.py")
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    X, y = bg.datasets.load_iris()
    X = ((X - X.mean()) / X.std()).mask(np.random.default_rng(0).random(X.shape) < 0.1)
    clf = bg.GenerativeClassifier(story=program.model, inference="map").fit(X, y)
    assert clf.score(X, y) > 0.94
    nothing = clf.predict_proba(X[:1] * np.nan)
    np.testing.assert_allclose(nothing[0], np.exp(clf.fitted_.posterior.log_classes()), rtol=1e-9)
    clf.save(tmp_path / "model.bgm")
    again = bg.load(tmp_path / "model.bgm", story=program.model)
    np.testing.assert_array_equal(again.predict_proba(X), clf.predict_proba(X))
    assert {"mean[setosa, petal_width]", "class.probs[setosa]"} <= set(again.summary().index)


def log_scale_free_jacobian(point: dict[str, np.ndarray]) -> float:
    """Return the log measure of the two programs that the library cannot compose, site by site."""
    total = 0.0
    for site, value in point.items():
        if site in ("common", "covariance"):
            total += 2.0 * np.linalg.slogdet(value)[1].sum()  # (p + 1) / 2 with p = 3
        elif site.split(".")[-1] not in ("mean", "centre"):
            total += np.log(value).sum()  # positive numbers, and probabilities: log-odds
    return total


@pytest.mark.slow
@pytest.mark.parametrize("name", ["shrunken_qda", "hierarchical_naive_bayes"])
def test_mode_where_the_library_has_none(name):
    """By numpyro's own density: in steps of about a thousandth of a width nothing is higher."""
    x, y = rows_of(name)
    clf, random = fitted(name), np.random.default_rng(0)
    best = {site: value[0] for site, value in clf.posterior_.components.values.items()}
    settings = CASES[name][1] | {"n_classes": 3}

    @jax.jit
    def density(point):
        return log_density(PROGRAMS[name], (x, y), settings, point)[0]

    def height(size: float) -> float:
        near = {}
        for site, value in best.items():
            step = size * random.normal(size=value.shape)
            if "probs" in site or site.startswith("levels.centre"):
                near[site] = value * np.exp(step)
                near[site] /= near[site].sum(axis=-1, keepdims=True)
            elif value.ndim > 1 and site in ("common", "covariance"):
                root = np.linalg.cholesky(value) @ (np.eye(3) + step)
                near[site] = root @ np.swapaxes(root, -1, -2)
            else:
                near[site] = value + step * np.abs(value)
        with jax.enable_x64(True):
            return float(density(near)) + log_scale_free_jacobian(near)

    top = height(0.0)
    assert max(height(1e-3) for _ in range(40)) <= top + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lda", "categorical_naive_bayes", "mixed_naive_bayes"])
def test_sample_gives_rows_as_they_came(name):
    """An array of numbers, an array of codes, a dict of columns."""
    x = rows_of(name)[0]
    clf = fitted(name)
    simulated, y = clf.sample(7, random_state=0)
    assert jax.tree.map(lambda a: (a.dtype, a.shape[1:]), simulated) == jax.tree.map(
        lambda a: (a.dtype, a.shape[1:]), x
    )
    assert all(len(leaf) == 7 for leaf in jax.tree.leaves(simulated))
    assert y.shape == (7,) and np.isfinite(clf.score_samples(simulated)).all()


MARKED = {n for n in CASES if "naive" in n} | {"bernoulli_bag_of_words", "robust_student_t"}


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MARKED))
def test_impute_fills_what_is_masked(name):
    """NaN, and codes of -1, are filled; other cells stay."""
    x = CASES[name][0]
    for before, after in zip(*map(jax.tree.leaves, (x, fitted(name).impute(x))), strict=True):
        gaps = np.isnan(before) if before.dtype.kind == "f" else before < 0
        left = np.isnan(after) if after.dtype.kind == "f" else after < 0
        assert after.dtype == before.dtype and not left.any()
        np.testing.assert_array_equal(after[~gaps], before[~gaps])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({*CASES} - MARKED))
def test_impute_refuses_where_nothing_is_masked(name):
    with pytest.raises(UnsupportedOperation, match="this one has no mask"):
        fitted(name).impute(CASES[name][0])


# --- slow: NUTS -------------------------------------------------------------------------------

METHOD = bg.NUTS(draws=1500, warmup=800, progress=False)


def clouds(n: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three classes, two columns."""
    random, y = np.random.default_rng(3), np.arange(n) % 3
    return random.normal(size=(n, 2)) + np.array([1.0, -0.5]) * y[:, None], y


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["gaussian_naive_bayes", "qda"])
def test_draws_agree_with_the_closed_form(name):
    """Means and variances of every parameter, 5 Monte Carlo standard errors; some 60 numbers."""
    x, y = clouds()
    guess = NORMAL if name == "gaussian_naive_bayes" else WISHART | {"scale": np.eye(2)}
    ours = bg.Normal(**NORMAL) if name == "gaussian_naive_bayes" else bg.MultivariateNormal(**guess)
    story = functools.partial(PROGRAMS[name], **guess)
    clf = bg.GenerativeClassifier(story=story, inference=METHOD, random_state=1).fit(x, y)
    assert clf.report_.converged, clf.report_
    exact = bg.GenerativeClassifier(ours).fit(x, y)
    drawn = exact.posterior_.components.parameters(np.random.default_rng(4), 40_000)
    (block,) = drawn.keys() - {"class"}
    expected = dict(drawn[block])
    if "cholesky" in expected:
        factor = expected.pop("cholesky")
        expected["covariance"] = factor @ np.swapaxes(factor, -1, -2)
    expected["class_probs"] = drawn["class"]["probs"]
    found = clf.posterior_.components.params["program"]
    assert found.keys() == expected.keys()
    for site, value in expected.items():
        agrees(found[site].reshape(4, 1500, -1), value.reshape(4, 10_000, -1))
    gap = clf.predict_proba(x) - exact.predict_proba(x)
    assert np.abs(gap).max() < 0.02  # 1,500 effective draws: .5 / sqrt(1500) is .013
    ends = clf.predict_interval(x) - exact.predict_interval(x)
    assert np.abs(ends).mean() < 0.02


@pytest.mark.nightly
def test_draws_agree_with_direct_numpyro():
    """A program without a closed form, sampled here and by numpyro's own MCMC."""
    from numpyro.infer import MCMC
    from numpyro.infer import NUTS as PlainNUTS

    x, y = clouds()
    rows = {"numbers": x, "levels": np.stack([(y + np.arange(60) // 20) % 3, y % 2], axis=1)}
    settings = {"n_levels": (3, 2)}
    story = functools.partial(PROGRAMS["hierarchical_naive_bayes"], **settings)
    method = bg.NUTS(draws=800, warmup=800, target_accept=0.95, progress=False)
    clf = bg.GenerativeClassifier(story=story, inference=method, random_state=2).fit(rows, y)
    assert clf.report_.details["r_hat"] < 1.02, clf.report_
    with jax.enable_x64(True):
        kernel = PlainNUTS(PROGRAMS["hierarchical_naive_bayes"], target_accept_prob=0.95)
        options = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
        mcmc = MCMC(kernel, num_warmup=500, num_samples=400, **options)
        mcmc.run(jax.random.key(6), rows, y, n_classes=3, **settings)
        direct = jax.device_get(mcmc.get_samples(group_by_chain=True))
    found = clf.posterior_.components.params["program"]
    assert found.keys() == direct.keys()
    for site, value in direct.items():
        # prior strengths and variances have heavy tails: their logarithms have variances to compare
        real = site.endswith(("mean", "centre"))
        pair = [v if real else np.log(v) for v in (found[site], value)]
        agrees(*(v.reshape(*v.shape[:2], -1) for v in pair))
