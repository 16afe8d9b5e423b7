"""Programs as plain text state the densities of the library's own programs, of every family."""

import os
import subprocess
import sys

import jax
import numpy as np
import pandas as pd
import pytest
from cases import CASES, TOLD
from laws import story_density
from numpyro import handlers
from numpyro.infer.util import log_density
from paces import fast_only

import bayesgen as bg
from bayesgen.classes import ClassPrior
from bayesgen.estimators.program_text import IMPORTS, model_functions
from bayesgen.likelihoods import Bernoulli, MultivariateNormal, Normal, program_text

DRAWS, CLASS_ROWS = 3, 2.0
WRITTEN = [name for name in TOLD if not name.startswith(("JointCategorical", "KernelDensity"))]
"""Families whose program is written as text."""
FAST = ("Normal",)


def columns_of(case, x):
    """Return rows as a program takes them: column -> array."""
    return {f"x{j}": x[:, j] for j in range(x.shape[1])}


def sites_of(case, part, params, block):
    """Return parameters as sites of the text, and log |d parameters / d sites|."""
    if part.joint or (part.kind == "counts" and "probs" in params):
        sites, jacobian = {f"{block}.{n}": value for n, value in params.items()}, 0.0
        if not part.conjugate:
            factor = sites.pop(f"{block}.cholesky")
            deviation = np.sqrt((factor**2).sum(-1))
            unit = factor / deviation[..., None]
            sites |= {f"{block}.deviation": deviation, f"{block}.correlation": unit}
            # polar coordinates of the rows of a triangular factor
            powers = np.arange(factor.shape[-1]) * np.log(deviation)
            jacobian = (powers - np.log(np.diagonal(unit, axis1=-2, axis2=-1))).sum()
        return {n: in_common(value) for n, value in sites.items()}, jacobian
    sites = {}
    for n, value in params.items():
        ends = np.cumsum(case.n_levels)[:-1]
        columns = np.split(value, ends, axis=-1) if case.n_levels else value.T
        sites |= {f"x{j}.{n}": in_common(column) for j, column in enumerate(columns)}
    return sites, 0.0


def in_common(value):
    """Return a parameter without the axis of classes where they have it in common."""
    return value[0] if len(value) == 1 else value


def law_text_states_the_program(name):
    """Log density of parameters, labels and rows, missing cells among them, to 1e-10."""
    case = CASES[name]
    x, y = case.rows(np.random.default_rng(1), 60, gaps=case.prior.allows_missing_at_fit)
    X = np.where(case.missing(x), np.nan, x)
    clf = bg.GenerativeClassifier(case.prior, class_prior=CLASS_ROWS)
    prior = clf.sample_prior(DRAWS, X, y, random_state=0)
    scope: dict = {}
    exec("\n".join([IMPORTS, *model_functions(prior.model.state, CLASS_ROWS, "model")]), scope)
    problem = prior.model.problem
    ((block, part),) = problem.model.blocks.items()
    rows, classes = problem.statistics.blocks[block], problem.model.classes
    draws, probs = prior.draws[block], prior.draws["class"]["probs"]
    expected = story_density(part, draws) + part.log_likelihood(draws, rows)
    expected += dirichlet(classes, probs) + np.log(probs) @ problem.statistics.count
    origin = prior.model.state.origins(problem.reader)[block]
    for i in range(DRAWS):
        one = {n: value[i] for n, value in draws.items()}
        sites, jacobian = sites_of(case, part, part.shift_params(one, origin), block)
        with jax.enable_x64(True):
            sites = jax.tree.map(jax.numpy.asarray, sites | {"class_probs": probs[i]})
            args = jax.tree.map(jax.numpy.asarray, (columns_of(case, x), y))
            found, trace = log_density(scope["model"], args, {}, sites)
        drawn = {n for n, s in trace.items() if s["type"] == "sample" and not s["is_observed"]}
        assert drawn == set(sites)
        np.testing.assert_allclose(float(found) - jacobian, expected[i], rtol=1e-10)


def dirichlet(classes: ClassPrior, probs: np.ndarray) -> np.ndarray:
    from scipy.special import gammaln

    a = classes.rows * classes.probs
    return gammaln(a.sum()) - gammaln(a).sum() + np.log(probs) @ (a - 1)


@pytest.mark.parametrize("name", fast_only(FAST, WRITTEN))
def test_text_states_the_program(name):
    law_text_states_the_program(name)


# -- planted faults --------------------------------------------------------------------------------


def swapped_strengths(self):
    numbers = Normal.__mro__[1].program_numbers(self)
    return numbers | {"mean_rows": numbers["variance_rows"], "variance_rows": numbers["mean_rows"]}


def of_one_column(code):
    """Read the data of the first column in place of those of each."""
    return code.replace("where(seen, x[column]", 'where(seen, jnp.nan_to_num(x["x0"])')


@pytest.mark.slow
@pytest.mark.parametrize(
    ("owner", "attribute", "wrong", "name"),
    [
        (Normal, "program_numbers", swapped_strengths, "Normal"),
        (Normal, "program_cells", "dist.Normal(mean[y], variance[y])", "Normal"),
        (Bernoulli, "program_priors", {"prob": "dist.Beta(rows * prob, rows)"}, "Bernoulli"),
        (program_text, "BY_COLUMN", of_one_column(program_text.BY_COLUMN), "Normal"),
        (program_text, "BY_COLUMN", program_text.BY_COLUMN.replace(".mask(seen)", ""), "Normal"),
        (
            MultivariateNormal,
            "program_function",
            MultivariateNormal.program_function.replace("2 * jnp.pi", "jnp.pi"),
            "MultivariateNormal shared",
        ),
    ],
)
def test_planted_fault_is_caught(owner, attribute, wrong, name, monkeypatch):
    monkeypatch.setattr(owner, attribute, wrong)
    with pytest.raises(AssertionError):
        law_text_states_the_program(name)


# -- of fitted classifiers -------------------------------------------------------------------------


def titanic(**options):
    X, y = bg.datasets.load_titanic_passengers()
    return bg.NaiveBayes(**options).fit(X, y), X, y


def data_of(X, clf):
    """Return rows as the comments of a program say."""
    levels = {"sex": ["female", "male"], "passengerClass": ["1st", "2nd", "3rd"]}
    return {
        name: pd.Categorical(X[name], levels[name]).codes.astype(int)
        if name in levels
        else X[name].to_numpy()
        for name in X
    }


ALONE = """
import sys
sys.modules["bayesgen"] = None
import jax
from numpy import array, isfinite, nan
from numpyro import handlers
from numpyro.infer.util import log_density
{program}
x = {{"age": array([22.0, nan]), "sex": array([0, 1]), "passengerClass": array([2, -1])}}
y = array([1, 0])
with jax.enable_x64(True):
    drawn = handlers.trace(handlers.seed(model, 0)).get_trace(x, y)
    sites = {{n: s["value"] for n, s in drawn.items() if s["type"] == "sample"}}
    print(bool(isfinite(log_density(model, (x, y), {{}}, sites)[0])))
"""


@pytest.mark.slow
def test_text_runs_where_the_library_cannot_be_imported(tmp_path):
    text = ALONE.format(program=titanic()[0].program())
    environment = {n: v for n, v in os.environ.items() if n != "PYTHONPATH"}
    command = [sys.executable, "-c", text]
    run = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert run.stdout == "True\n", run.stderr


@pytest.mark.slow
def test_text_is_the_program_that_a_classifier_takes():
    """Its mode against the scale-free measure has the probabilities of that in closed form."""
    clf, X, _ = titanic(inference="map")
    scope: dict = {}
    exec(clf.program(), scope)
    x, y = data_of(X, clf), bg.datasets.load_titanic_passengers()[1]
    again = bg.GenerativeClassifier(story=scope["model"], inference="map").fit(x, y)
    np.testing.assert_allclose(again.predict_proba(x), clf.predict_proba(X), atol=1e-4)


def test_known_class_probabilities_and_likeliest_strengths_are_written():
    clf, *_ = titanic(
        class_prior="uniform", likelihood={"age": bg.Normal(mean_rows="learn")}, remainder="drop"
    )
    text = clf.program()
    assert "class_probs = jnp.array([0.5, 0.5])" in text and "these are the likeliest" in text


@pytest.mark.slow
def test_names_of_columns_stay_names():
    """Whatever a name holds, the text runs and has one line a statement."""
    names = ['a"""b', "it's {x}\n# y", "c\\"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=names)
    for clf in (bg.NaiveBayes(), bg.LDA()):
        scope: dict = {}
        exec(clf.fit(X, np.resize(["a\nb", "c"], 20)).program(), scope)
        x = {name: X[name].to_numpy() for name in names}
        trace = handlers.trace(handlers.seed(scope["model"], 0)).get_trace(x, np.resize([0, 1], 20))
        assert trace["y"]["is_observed"]


@pytest.mark.slow
def test_a_stack_writes_its_members():
    X, y = bg.datasets.load_penguins()
    stack = bg.StackedClassifier(random_state=0).fit(X, y)
    text, scope = stack.program(), {}
    exec(text, scope)
    written = {name.removeprefix("model_") for name in scope if name.startswith("model_")}
    assert {"naive", "linear", "quadratic"} <= written <= set(stack.members_)
    for member in set(stack.members_) - written:
        assert f"\n# {member}: " in text
    assert text.count("def observed_normal(") == 1
    assert max(map(len, text.splitlines())) <= 180


def test_a_subclass_with_a_program_of_its_own_has_no_text():
    class Flat(Normal):
        def story(self, name):
            return {}

    X, y = bg.datasets.load_iris()
    with pytest.raises(bg.errors.UnsupportedOperation, match="a family of your own states none"):
        bg.NaiveBayes(Flat()).fit(X, y).program()
