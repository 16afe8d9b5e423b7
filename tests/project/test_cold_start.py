"""A fresh process loads what it uses: an import nothing, an exact fit nothing heavy."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

FIT = """
import sys
import sklearn.naive_bayes
before = set(sys.modules)
import numpy as np
import bayesgen as bg

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 20)
X = rng.normal(size=(40, 3)) + y[:, None]
clf = bg.{}
clf.fit(X, y).predict_proba(X)
clf.predict(X)
print(*set(sys.modules) - before)
"""
PACKAGE = Path(__file__).parents[2] / "bayesgen"
SAMPLERS_AND_PICTURES = {"jax", "jaxlib", "numpyro", "matplotlib", "jinja2", "xarray", "IPython"}
SCIPY = {"scipy.stats", "scipy.interpolate"}
COMMAND_AND_FORESTS = {
    "tqdm",
    "cyclopts",
    "sklearn.model_selection",
    "sklearn.metrics",
    "sklearn.feature_extraction",
    "sklearn.ensemble",
    "sklearn.linear_model",
}
OWN_ROOMS = {
    *("cli", "compare.cross_validation", "report.contents", "plots.display", "user_program.draws"),
    *("estimators.stacked", "estimators.saving", "interactions.forest", "likelihoods.kernels"),
}
"""Modules of this library that a fit of naive Bayes has no use for."""


def loaded_by(code):
    """Return the modules that a fresh process prints."""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    return set(run.stdout.split())


@pytest.mark.parametrize(
    ("classifier", "light"),
    [
        ("NaiveBayes()", True),
        ("LDA()", True),
        ("QDA()", True),
        ("StackedClassifier(random_state=0)", False),
    ],
)
def test_exact_fit_and_predict_load_nothing_heavy(classifier, light):
    """Beside what scikit-learn's naive Bayes loads, scipy.stats and pandas among it."""
    loaded = loaded_by(FIT.format(classifier))
    heavy = SAMPLERS_AND_PICTURES | (COMMAND_AND_FORESTS | SCIPY if light else set())
    assert not loaded & heavy
    assert not [name for name in loaded if name.startswith("arviz")]


def test_a_fit_of_naive_bayes_stays_out_of_other_rooms():
    loaded = loaded_by(FIT.format("NaiveBayes()"))
    assert not loaded & {f"bayesgen.{name}" for name in OWN_ROOMS}


def test_an_import_alone_loads_no_package():
    loaded = loaded_by("import sys, bayesgen; dir(bayesgen); print(*sys.modules)")
    assert "bayesgen" in loaded
    assert not loaded & {"numpy", "scipy", "pandas", "sklearn", "pyarrow", "bayesgen.estimators"}


def test_scipy_of_seconds_is_imported_inside_functions():
    """scikit-learn loads them itself today; no file of this library is to ask for them as well."""
    found = [
        (path.name, node.lineno)
        for path in PACKAGE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom) and node.module in SCIPY
    ]
    assert found == []


HELP = """
import contextlib, io, sys
from bayesgen.cli.main import main

with contextlib.redirect_stdout(io.StringIO()) as shown:
    assert main([*{!r}, "--help"]) == 0
assert "Usage: bayesgen" in shown.getvalue()
print(*sys.modules)
"""
COMMANDS = ((), ("compare",), ("fit",), ("merge",), ("predict",), ("report",), ("datasets",))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda words: " ".join(words) or "alone")
def test_help_loads_no_model_and_no_table(command):
    loaded = loaded_by(HELP.format(command))
    assert not loaded & {"pandas", "scipy", "sklearn", "pyarrow", "narwhals"}
    assert not loaded & {"bayesgen.table", "bayesgen.estimators.classifier", "bayesgen.inference"}


def test_the_help_of_sampling_is_that_of_nuts():
    import bayesgen as bg
    from bayesgen.cli import options

    sampler = bg.NUTS()
    assert (
        sampler.draws,
        sampler.warmup,
        sampler.chains,
    ) == (options.DRAWS, options.WARMUP, options.CHAINS)


# -- names on demand -------------------------------------------------------------------------------


def on_demand(path):
    """Return names with their modules, as static checkers read them, and the call's argument."""
    (branch,) = (
        node
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    )
    folder = ".".join(path.parent.relative_to(PACKAGE.parent).parts)
    stated = {
        alias.asname: f"{node.module}.".removeprefix(f"{folder}.").removesuffix(".")
        for node in branch.body
        for alias in node.names
    }
    places = next(node for node in ast.walk(branch) if isinstance(node, ast.Dict))
    return folder, stated, ast.literal_eval(places)


FOLDERS = [
    path for path in PACKAGE.rglob("__init__.py") if "TYPE_CHECKING" in path.read_text("utf-8")
]


@pytest.mark.parametrize("path", FOLDERS, ids=lambda path: path.parent.name)
def test_names_on_demand_are_those_that_checkers_see(path):
    folder, stated, places = on_demand(path)
    assert stated == {name: module for module, names in places.items() for name in names}
    loaded = importlib.import_module(folder)
    assert set(stated) <= set(dir(loaded))
    assert all(getattr(loaded, name) is not None for name in stated)
    modules = {other.stem for other in path.parent.iterdir()} - set(places.get("", ()))
    # the function `compare` stands beside a folder of this name, which gives way
    assert set(stated) & modules <= ({"compare"} if folder == "bayesgen" else set())


def test_all_names_are_imported_by_an_asterisk():
    code = "from bayesgen import *; print(*(name for name in dir() if name[0] != '_'))"
    _, stated, _ = on_demand(PACKAGE / "__init__.py")
    assert loaded_by(code) == {*stated} - {"__version__"}


def test_a_name_that_is_not_there_is_refused():
    from bayesgen import plots

    with pytest.raises(AttributeError, match=r"module 'bayesgen\.plots' has no attribute 'Plot'"):
        getattr(plots, "Pl" + "ot")


def test_the_function_compare_is_not_hidden_by_its_folder():
    code = "import bayesgen.compare.folds; import bayesgen as bg; print(bg.compare.__module__)"
    assert loaded_by(code) == {"bayesgen.estimators.compared"}
