"""The benchmarks run; what they measure is for people to read."""

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
SCRIPTS = [
    "run.py",
    "nuts_speed.py",
    "whitening_speed.py",
    "pymc_speed.py",
    "stories.py",
    "clusters.py",
    "guard.py",
    "gpu.py",
]


def run(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, str(FOLDER / arguments[0]), *arguments[1:]]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.nightly
def test_every_benchmark_runs_and_reports_its_figures(tmp_path):
    path = tmp_path / "figures.json"
    # the others compile for minutes, and what they run is tested elsewhere
    names = ("predict", "checkpoint", "cold", "growth", "scale")
    done = run("run.py", *names, "--quick", "--threads", "one", "--json", str(path))
    assert done.returncode == 0, done.stderr
    report = json.loads(path.read_text(encoding="utf-8"))
    assert report["failed"] == []
    assert report["machine"]["versions"]["scikit-learn"]
    topics = (
        "fit ",
        "partial_fit",
        "scatter matrices",
        "exact predict_proba",
        "predict_proba 500 x 10, QDA, 20 % of cells missing",
        "exact posterior draws",
        "400 draws",
        "fresh process",
        "texts: log loss",
        "scaling with rows",
        "out of core, fit",
        "out of core, predict_proba",
        "fit 20,000 x 20, QDA, Dask, 2 workers",
    )
    for topic in topics:
        lines = [line for line in report["results"] if line["work"].startswith(topic)]
        assert lines, topic
        # None: a peer, or Java, is not installed
        measured = [line["measured"] for line in lines if line["measured"] is not None]
        assert measured and all(math.isfinite(figure) for figure in measured)
        assert all(line["work"] in done.stdout for line in lines)


@pytest.mark.nightly
@pytest.mark.parametrize("script", SCRIPTS)
def test_every_script_explains_itself(script):
    done = run(script, "--help")
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout and "--json" in done.stdout


@pytest.mark.nightly
def test_the_guard_measures_everything(tmp_path):
    path = tmp_path / "figures.json"
    done = run("guard.py", "--quick", "--json", str(path))
    assert done.returncode == 0, done.stderr
    lines = json.loads(path.read_text(encoding="utf-8"))["results"]
    assert {line["work"].partition(",")[0].split(":")[0] for line in lines} >= {
        *("messy", "tidy", "predict_set", "stack", "LDA", "import", "bayesgen --help")
    }
    assert all(line["measured"] > 0 for line in lines)


@pytest.mark.nightly
def test_devices_are_compared_where_there_are_two(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    done = run("gpu.py", "--quick")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("| cpu: cpu |") == 2
    assert "JAX sees no accelerator here: the comparison was NOT run." in done.stdout


@pytest.mark.nightly
def test_prevalence_is_measured():
    done = run("prevalence.py", "--quick")
    assert done.returncode == 0, done.stderr
    for title in ("Cost", "Model right", "Label shift", "breast cancer", "votes", "wine"):
        assert f"\n{title}" in done.stdout


@pytest.mark.nightly
def test_stories_are_scored_beside_direct_classifiers(tmp_path):
    path = tmp_path / "losses.json"
    done = run("stories.py", "--quick", "--json", str(path))
    assert done.returncode == 0, done.stderr
    scored = {
        line["classifier"]: line["log_loss"]
        for line in json.loads(path.read_text(encoding="utf-8"))
    }
    assert set(scored) == {"naive Bayes", "hierarchical", "LDA", "QDA", "shrunken QDA"}
    assert all(0 < loss < math.log(3) for loss in scored.values())
    assert "hierarchical: gain" in done.stdout
