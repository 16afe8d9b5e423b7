"""The calibration benchmark runs on the bundled tables; its figures are for people to read."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "calibration.py"


def run(*arguments: str) -> str:
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.nightly
def test_it_scores_every_rival_and_counts_wins(tmp_path):
    path = tmp_path / "figures.json"
    rivals = ["NB MLE", "NB Bayes", "LDA Bayes", "sk NB", "sk QDA", "sk LDA, one-hot"]
    arguments = ["--only", "iris", "penguins", "--rivals", *rivals, "--quick"]
    arguments += ["--json", str(path)]
    report = run(*arguments)
    assert "NB Bayes against NB MLE" in report
    assert "| penguins |" in report
    records = json.loads(path.read_text(encoding="utf-8"))
    assert {r["regime"] for r in records} == {"small", "full"}
    assert {r["rival"] for r in records} == set(rivals)
    assert all(0 < r["log_loss_clipped"] < 34.6 for r in records if "failed" not in r)
    # nothing is run again
    assert run(*arguments) == report


@pytest.mark.nightly
def test_it_scans_strengths():
    report = run(
        "--only", "iris", "penguins", "crabs", "--strengths", "lda", "categorical", "--quick"
    )
    assert "lda: 3 tables" in report
    assert "categorical: 1 tables" in report
    assert "(default)" in report
