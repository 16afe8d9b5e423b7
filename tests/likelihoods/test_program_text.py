"""Programs as plain text state the densities of the library's own programs, of every family."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from cases import CASES, TOLD
from laws_program import law_program
from numpyro import handlers
from paces import fast_only

import bayesgen as bg
from bayesgen.likelihoods import Bernoulli, MultivariateNormal, Normal, program_text

WRITTEN = [name for name in TOLD if not name.startswith(("JointCategorical", "KernelDensity"))]
"""Families whose program is written as text."""
COMPILED = ("Normal shared", "MultivariateNormal", "Categorical", "Family", "Multinomial")
SLOW = {name for name in WRITTEN if name.startswith((*COMPILED, "Bernoulli", "Poisson"))}
"""Those that take seconds to compile; a family that is new is tried in the fast suite."""


@pytest.mark.parametrize("name", fast_only(set(WRITTEN) - SLOW, WRITTEN))
def test_text_states_the_program(name):
    law_program(CASES[name], CASES[name].prior)


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
        law_program(CASES[name], CASES[name].prior)


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
