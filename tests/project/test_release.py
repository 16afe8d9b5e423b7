"""What a release states several times is stated alike."""

import re
import tomllib

import pytest
import yaml
from pages import page

from bayesgen.errors.packages import CURES

PROJECT = tomllib.loads(page("pyproject.toml"))["project"]
CONDA_NAMES = {"xarray-einstats": "arviz-stats[xarray]"}
"""Packages of the recipe that stand for an extra, which conda does not have."""


def recipe():
    return yaml.safe_load(page("conda/recipe.yaml"))


def test_version_is_one():
    citation = yaml.safe_load(page("CITATION.cff"))
    assert citation["version"] == recipe()["context"]["version"] == PROJECT["version"]
    assert citation["license"] == recipe()["about"]["license"] == PROJECT["license"]


def test_conda_requires_what_the_wheel_requires():
    # a package of conda without code of its own cannot depend on the processor: no marker
    wheel = [
        re.sub(r"\[\w+\]|; .*", "", line).replace(">=", " >=") for line in PROJECT["dependencies"]
    ]
    conda = [line for line in recipe()["requirements"]["run"] if not line.startswith("python ")]
    assert [line for line in conda if line not in CONDA_NAMES] == wheel
    for name in {*conda} & {*CONDA_NAMES}:
        assert any(line.startswith(CONDA_NAMES[name]) for line in PROJECT["dependencies"])


def test_extras_install_what_errors_ask_for():
    extras = PROJECT["optional-dependencies"]
    for package, cure in CURES.items():
        extra = re.search(r"bayesgen\[(\w+)\]", cure)
        lines = extras[extra[1]] if extra else PROJECT["dependencies"]
        assert any(line.startswith(f"{package}>=") for line in lines)
    assert extras["numpyro"] == []  # typed by those who had it as an extra
    wheel = {line.replace(">=", " >=") for lines in extras.values() for line in lines}
    limits = recipe()["requirements"]["run_constraints"]
    assert {line.replace("matplotlib-base", "matplotlib") for line in limits} == wheel


def test_addresses_are_of_one_repository():
    urls = PROJECT["urls"]
    assert {"Documentation", "Changelog", "Issues", "Repository"} <= {*urls}
    assert urls["Changelog"] == f"{urls['Repository']}/blob/main/CHANGELOG.md"
    assert urls["Issues"] == f"{urls['Repository']}/issues"


@pytest.mark.parametrize("workflow", ["ci", "release"])
def test_workflows_run_what_exists(workflow):
    """Python versions tested are those named in the package's metadata; scripts are in .ci."""
    text = page(f".github/workflows/{workflow}.yml")
    jobs = yaml.safe_load(text)["jobs"]
    for script in re.findall(r"bash (\.ci/\w+)", text):
        assert page(script).startswith("#!")
    if workflow == "ci":
        named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
        assert jobs["locked"]["strategy"]["matrix"]["python"] == named
    else:
        assert jobs["publish"]["permissions"] == {"id-token": "write"}
