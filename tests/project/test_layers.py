"""Imports go downhill, third parties have a home, heavy ones are imported inside functions only."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import layers
import pytest

PACKAGE = Path(__file__).parents[2] / "bayesgen"

ORDER = (
    *(
        "on_demand",
        "version",
        "typing",
        "errors",
        "arguments",
        "calls",
        "progress_bar",
        "optimize",
        "membership",
        "table",
        "sources",
        "schema",
        "likelihoods",
        "persist",
    ),
    *("classes", "model", "problem", "program", "interactions", "inference", "user_program"),
    *("predict", "decide", "calibrate", "diagnose", "explain", "plots", "prevalence", "page"),
    *("compare", "report", "estimators", "datasets", "app", "cli", "__init__"),
)
EVERYWHERE = {*sys.stdlib_module_names, "numpy", "scipy", "jaxtyping"}
FRAMES = (
    "table",
    "sources",
    "datasets",
    "cli",
    "calibrate",
    "compare",
    "diagnose",
    "prevalence",
    "report",
)
TRACED = ("likelihoods", "classes", "program", "user_program", "inference")
ARVIZ = ("diagnose", "inference.chain_diagnostics")
HOMES = {
    "sklearn": ("estimators", "calibrate", "compare", "interactions"),
    **dict.fromkeys(("arviz", "arviz_base", "arviz_stats", "arviz_plots"), ARVIZ),
    "matplotlib": ("plots", "page"),
    "jinja2": ("page",),
    **dict.fromkeys(("narwhals", "pandas", "polars", "pyarrow"), FRAMES),
    **dict.fromkeys(("jax", "jaxlib"), TRACED),
    "numpyro": (*TRACED, "persist"),
    "xarray": ("predict", "diagnose"),
    **dict.fromkeys(("cyclopts", "rich"), ("cli",)),
    "tqdm": ("progress_bar",),
    **dict.fromkeys(("starlette", "uvicorn"), ("app",)),
    **dict.fromkeys(("dask", "pyspark"), ("sources",)),
}
LAZY = {
    "jax",
    "jaxlib",
    "numpyro",
    "matplotlib",
    "dask",
    "pyspark",
    "uvicorn",
    *(name for name in HOMES if "arviz" in name),
}


def imports(node: ast.AST, *, inside: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield each imported module below a node, and whether a function contains the import."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            # never runs: type checkers alone read it
            yield from imports(ast.Module(child.orelse, []), inside=inside)
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name, inside) for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            source = "." * child.level + (child.module or "")
            names = [a.name for a in child.names] if source == "bayesgen" else [None]
            yield from ((f"{source}.{n}" if n in ORDER else source, inside) for n in names)
        in_function = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield from imports(child, inside=inside or in_function)


def violations(module: str, source: str) -> list[str]:
    """Name every import of one module ("likelihoods.normal") that breaks a rule."""
    layer = module.split(".")[0]
    if layer not in ORDER:
        return [f"{module} has no place in the order"]
    found = []
    for name, inside in imports(ast.parse(source)):
        top, _, rest = name.partition(".")
        below = rest.split(".")[0] or "__init__"
        if name.startswith("."):
            found.append(f"{module} imports {name}: write it absolute")
        elif top == "bayesgen" and (below not in ORDER or ORDER.index(below) > ORDER.index(layer)):
            found.append(f"{module} imports {name}, which is not below it")
        elif top in LAZY and not inside:
            found.append(f"{module} imports {name} outside a function")
        elif top != "bayesgen" and top not in EVERYWHERE and not at_home(module, top):
            found.append(f"{module} imports {name}, whose home is {HOMES.get(top, 'nowhere')}")
    return found


def at_home(module: str, package: str) -> bool:
    """Say whether a module lies in one of the homes of a third-party package."""
    return any(f"{module}.".startswith(f"{home}.") for home in HOMES.get(package, ()))


def module_name(path: Path) -> str:
    """Return "likelihoods.normal" for likelihoods/normal.py, "likelihoods" for its __init__.py."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if len(parts) > 1 and parts[-1] == "__init__" else parts)


def test_imports_go_downhill():
    paths = sorted(PACKAGE.rglob("*.py"))
    assert len(paths) > 150
    found = [violations(module_name(path), path.read_text(encoding="utf-8")) for path in paths]
    assert [sentence for sentences in found for sentence in sentences] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("table", "from bayesgen.schema import Schema"),
        ("table", "from bayesgen import schema"),
        (
            "likelihoods.normal",
            "def story():\n    from bayesgen.inference.chain_diagnostics import NUTS",
        ),
        ("predict", "import bayesgen"),
        ("errors", "from bayesgen.unheard_of import x"),
        ("unheard_of", ""),
        ("likelihoods.normal", "from .base import Likelihood"),
        ("likelihoods.normal", "import jax.numpy as jnp"),
        (
            "inference.chain_diagnostics",
            "try:\n    from numpyro.infer import MCMC\nexcept ImportError:\n    pass",
        ),
        ("plots", "class Plot:\n    import matplotlib.pyplot as plt"),
        ("predict", "def draws():\n    import jax"),
        ("inference.exact", "def report():\n    import arviz_stats"),
        ("table", "from sklearn.utils.validation import check_array"),
        ("schema", "import pandas as pd"),
        ("estimators", "def plot():\n    import matplotlib.pyplot"),
        ("decide", "import seaborn"),
    ],
)
def test_planted_violation_is_found(module, source):
    assert len(violations(module, source)) == 1


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("schema", "from bayesgen import table\nfrom bayesgen.errors import BayesgenError"),
        ("likelihoods.normal", "import numpy as np\nfrom bayesgen.likelihoods.base import Block"),
        (
            "inference.chain_diagnostics",
            "def ess():\n    import arviz_stats\n    import jax, numpyro.infer",
        ),
        ("estimators.naive_bayes", "from sklearn.base import BaseEstimator"),
        ("__init__", "from bayesgen.cli import main"),
    ],
)
def test_allowed_import_passes(module, source):
    assert violations(module, source) == []


def test_the_picture_of_the_page_is_that_of_the_imports():
    page = PACKAGE.parent / "docs" / "explanation" / "architecture.md"
    assert f"```\n{layers.picture()}\n```" in page.read_text(encoding="utf-8")


def test_a_layer_stands_on_those_below_it():
    drawn = [name for layer in reversed(layers.layers()) for name in layer]
    assert drawn.index("table") < drawn.index("likelihoods") < drawn.index("inference")
    assert {"estimators", "schema", "cli"} <= set(drawn) and not layers.SHARED & set(drawn)
